// Writes an arithmetic sequence into a range of words: for a start value, and for tests that need known content.
//!include lib/bindless.wgsl

struct Fill {
    // Slot of the buffer.
    buffer: u32,
    // First word written.
    first: u32,
    // Words written.
    count: u32,
    // What the first word gets.
    value: u32,
    // By how much each word is more than the one before.
    step: u32,
}
var<immediate> pc: Fill;

// A grid may be no wider than 65535 groups, so long ranges run over into y.
@compute @workgroup_size(256)
fn fill(@builtin(global_invocation_id) thread: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let i = thread.y * groups.x * 256u + thread.x;
    if i < pc.count {
        words_out[pc.buffer].data[pc.first + i] = pc.value + i * pc.step;
    }
}
