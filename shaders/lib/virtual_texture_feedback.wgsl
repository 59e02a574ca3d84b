// Writing feedback: one pixel of each block says which page one of its samples wished for.
//
// Words: 0 how many were asked for (beyond the capacity they are lost, and counted by it), 1 to 3 reserved, from 4 on
// what was said: see vt_feedback_word.
//!include lib/virtual_texture_bindings.wgsl

@group(1) @binding(25) var<storage, read_write> vt_feedback: array<atomic<u32>>;

const VT_FIRST_FEEDBACK: u32 = 4u;

// Called once a pixel, when it has sampled all it samples.
fn vt_feedback_write(feedback: VtFeedback) {
    if feedback.word == VT_NO_WORD {
        return;
    }
    let place = atomicAdd(&vt_feedback[0], 1u);
    if place < virtual_textures.frame.feedback_capacity {
        atomicStore(&vt_feedback[VT_FIRST_FEEDBACK + place], feedback.word);
    }
}
