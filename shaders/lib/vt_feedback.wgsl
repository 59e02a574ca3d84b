// Feedback of virtual textures, compacted: what its three passes share. The host's half is engine/src/vt/passes.
//
// feedback: word 0 counts the entries that were asked for, words 1 to 3 are reserved, entries lie from word 4 on. Only
// these four words are reset for a frame: nobody reads entries past the count.
// compacted: word 0 counts the pairs, word 1 the entries that no pair counts because table or list were full, word 2 the
// entries that were asked for, word 3 those past the feedback's capacity; pairs (word, count) lie from word 4 on.

struct FeedbackPush {
    // Entries that the feedback buffer holds.
    feedback_capacity: u32,
    // Pairs that the list holds.
    pair_capacity: u32,
    // Slots of the table, a power of two.
    table_slots: u32,
    padding: u32,
}
var<immediate> pc: FeedbackPush;

// Workgroups of the build, which reads them as the parameters of its dispatch, and what it counts.
struct BuildHashTableArgs {
    groups_x: u32,
    groups_y: u32,
    groups_z: u32,
    // Entries to go through.
    entries: u32,
    // Slots of the table that are taken.
    elements: atomic<u32>,
    padding_0: u32,
    padding_1: u32,
    padding_2: u32,
}

const FIRST_ENTRY: u32 = 4u;
const FIRST_PAIR: u32 = 4u;
// Nothing was written, and a slot that nobody has.
const NONE: u32 = 0xffffffffu;
// Slots that are looked at for a word. A word that finds all of them taken is dropped, with all of its entries: slots
// never become free, so that who comes later finds the same.
const MOST_PROBES: u32 = 64u;
const GROUP: u32 = 256u;

@group(1) @binding(0) var<storage, read> feedback: array<u32>;
@group(1) @binding(1) var<storage, read_write> hash_table_keys: array<atomic<u32>>;
@group(1) @binding(2) var<storage, read_write> hash_table_element_indices: array<u32>;
@group(1) @binding(3) var<storage, read_write> hash_table_element_counts: array<atomic<u32>>;
@group(1) @binding(4) var<storage, read_write> compacted: array<atomic<u32>>;
@group(1) @binding(5) var<storage, read_write> args: BuildHashTableArgs;

// Where the search for a word begins. Neighbours differ in their low bits only; every bit of them has to matter.
fn first_slot(word: u32) -> u32 {
    var hash = word;
    hash = (hash ^ (hash >> 16u)) * 0x85ebca6bu;
    hash = (hash ^ (hash >> 13u)) * 0xc2b2ae35u;
    return (hash ^ (hash >> 16u)) & (pc.table_slots - 1u);
}
