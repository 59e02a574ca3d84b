// Moves ranges of words inside one buffer: thread = word on x, range on y. No range overlaps another or itself.

struct MoveJob {
    source: u32,
    destination: u32,
    words: u32,
    padding: u32,
}

struct MoveWordsPush {
    first_job: u32,
}
var<immediate> pc: MoveWordsPush;

@group(1) @binding(0) var<storage, read> jobs: array<MoveJob>;
@group(1) @binding(1) var<storage, read_write> buffer: array<u32>;

@compute @workgroup_size(256)
fn move_words(@builtin(global_invocation_id) thread: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let job = jobs[pc.first_job + thread.y];
    // More words than a dispatch has threads on x are walked in steps.
    for (var i = thread.x; i < job.words; i += groups.x * 256u) {
        buffer[job.destination + i] = buffer[job.source + i];
    }
}
