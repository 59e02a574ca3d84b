// How many workgroups build the table: as many as there are entries, which only the feedback buffer knows.
//!include lib/vt_feedback.wgsl

// Of a dispatch, on each axis: what every device has.
const MOST_GROUPS: u32 = 65535u;

@compute @workgroup_size(1)
fn feedback_args() {
    let asked = feedback[0];
    let entries = min(asked, pc.feedback_capacity);
    let groups = (entries + GROUP - 1u) / GROUP;
    args.groups_x = min(groups, MOST_GROUPS);
    args.groups_y = max((groups + MOST_GROUPS - 1u) / MOST_GROUPS, 1u);
    args.groups_z = 1u;
    args.entries = entries;
    atomicStore(&args.elements, 0u);
    atomicStore(&compacted[0], 0u);
    atomicStore(&compacted[1], 0u);
    atomicStore(&compacted[2], asked);
    atomicStore(&compacted[3], asked - entries);
}
