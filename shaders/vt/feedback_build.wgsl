// Counts how often each word was written: thread = entry. Open addressing, one slot a word. Who takes a slot notes it in
// the list of elements, so that the next pass does not look at all slots.
//!include lib/vt_feedback.wgsl

@compute @workgroup_size(256)
fn feedback_build(
    @builtin(global_invocation_id) thread: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
) {
    let index = thread.y * groups.x * GROUP + thread.x;
    if index >= args.entries {
        return;
    }
    let word = feedback[FIRST_ENTRY + index];
    if word == NONE {
        return;
    }
    var slot = first_slot(word);
    var probes = 0u;
    while probes < MOST_PROBES {
        // Most words are there already: looking is cheaper than exchanging.
        var found = atomicLoad(&hash_table_keys[slot]);
        if found == NONE {
            let result = atomicCompareExchangeWeak(&hash_table_keys[slot], NONE, word);
            if result.exchanged {
                let element = atomicAdd(&args.elements, 1u);
                hash_table_element_indices[element] = slot;
                found = word;
            } else {
                found = result.old_value;
            }
        }
        if found == word {
            atomicAdd(&hash_table_element_counts[slot], 1u);
            return;
        }
        // A weak exchange may fail for no reason: the same slot once more.
        if found != NONE {
            slot = (slot + 1u) & (pc.table_slots - 1u);
            probes++;
        }
    }
    atomicAdd(&compacted[1], 1u);
}
