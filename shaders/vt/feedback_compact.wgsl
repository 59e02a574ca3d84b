// Writes the elements of the table as pairs: thread = element. What does not fit into the list is counted.
//!include lib/vt_feedback.wgsl

@compute @workgroup_size(256)
fn feedback_compact(@builtin(global_invocation_id) thread: vec3<u32>) {
    let elements = atomicLoad(&args.elements);
    if thread.x == 0u {
        atomicStore(&compacted[0], min(elements, pc.pair_capacity));
    }
    if thread.x >= min(elements, pc.table_slots) {
        return;
    }
    let slot = hash_table_element_indices[thread.x];
    let count = atomicLoad(&hash_table_element_counts[slot]);
    if thread.x < pc.pair_capacity {
        let at = FIRST_PAIR + 2u * thread.x;
        atomicStore(&compacted[at], atomicLoad(&hash_table_keys[slot]));
        atomicStore(&compacted[at + 1u], count);
    } else {
        atomicAdd(&compacted[1], count);
    }
}
