// Writes dirty elements of the GPU scene to their places: thread = word.
//!include lib/bindless.wgsl

struct ScatterPush {
    // Slot of the buffer that is written.
    target_slot: u32,
    // Slot and first word of the element indices.
    index_slot: u32,
    index_word: u32,
    // Slot and first word of the data.
    data_slot: u32,
    data_word: u32,
    // Words of all elements, and of one.
    words: u32,
    words_per_element: u32,
}
var<immediate> pc: ScatterPush;

@compute @workgroup_size(256)
fn scatter(@builtin(global_invocation_id) thread: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let i = thread.y * groups.x * 256u + thread.x;
    if i >= pc.words {
        return;
    }
    let element = i / pc.words_per_element;
    let place = words[pc.index_slot].data[pc.index_word + element];
    let word = words[pc.data_slot].data[pc.data_word + i];
    words_out[pc.target_slot].data[place * pc.words_per_element + i % pc.words_per_element] = word;
}
