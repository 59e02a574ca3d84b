// Writes dirty elements of the GPU scene to their places: thread = word.

struct ScatterPush {
    // First word of the element indices in the upload.
    index_word: u32,
    // First word of the data in the upload.
    data_word: u32,
    // Words of all elements, and of one.
    words: u32,
    words_per_element: u32,
}
var<immediate> pc: ScatterPush;

@group(1) @binding(0) var<storage, read> indices: array<u32>;
@group(1) @binding(1) var<storage, read> data: array<u32>;
@group(1) @binding(2) var<storage, read_write> target_words: array<u32>;

@compute @workgroup_size(256)
fn scatter(@builtin(global_invocation_id) thread: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let i = thread.y * groups.x * 256u + thread.x;
    if i >= pc.words {
        return;
    }
    let element = i / pc.words_per_element;
    let place = indices[pc.index_word + element];
    target_words[place * pc.words_per_element + i % pc.words_per_element] = data[pc.data_word + i];
}
