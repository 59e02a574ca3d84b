// Frustum culling with a stable order: three passes, so that draws come in the order of instances in every run.
//
//   cull_test   thread = instance: visible? its rank in the group; the group's count
//   cull_scan   one group: counts become offsets; the total is the draw count
//   cull_emit   thread = instance: writes its draw at offset + rank
//!include lib/frame.wgsl
//!include lib/scene.wgsl

struct CullPush {
    // Place of this frame's constants.
    frame_index: u32,
    // Groups of 256 instances.
    groups: u32,
}
var<immediate> pc: CullPush;

const NOT_VISIBLE: u32 = 0xffffffffu;
// Radius in pixels below which instances that fade are not drawn.
const FADED_PIXELS: f32 = 1.5;

struct DrawIndexedIndirectCommand {
    index_count: u32,
    instance_count: u32,
    first_index: u32,
    vertex_offset: i32,
    first_instance: u32,
}
// A count a group, then a rank an instance.
@group(1) @binding(5) var<storage, read_write> work: array<u32>;
@group(1) @binding(6) var<storage, read_write> commands: array<DrawIndexedIndirectCommand>;
// Draws, triangles.
@group(1) @binding(7) var<storage, read_write> counters: array<atomic<u32>>;

var<workgroup> shared_sums: array<u32, 256>;

fn is_visible(index: u32) -> bool {
    let f = &frames[pc.frame_index];
    if index >= (*f).instance_count {
        return false;
    }
    let instance = instances[index];
    if (instance.flags & (INSTANCE_ALIVE | INSTANCE_HIDDEN)) != INSTANCE_ALIVE {
        return false;
    }
    let primitive = primitives[instance.primitive];
    let c = vec4(primitive.bounds_centre, 1.0);
    let rows = instance.transform;
    let centre = vec3(dot(rows[0], c), dot(rows[1], c), dot(rows[2], c)) - (*f).camera;
    let e = primitive.bounds_extent;
    let extent = vec3(dot(abs(rows[0].xyz), e), dot(abs(rows[1].xyz), e), dot(abs(rows[2].xyz), e));
    for (var i = 0; i < 5; i++) {
        let plane = (*f).frustum[i];
        if dot(plane.xyz, centre) + plane.w + dot(abs(plane.xyz), extent) < 0.0 {
            return false;
        }
    }
    if (instance.flags & INSTANCE_FADES) != 0u {
        let distance = max(length(centre), 1e-3);
        if length(extent) * (*f).pixels_per_metre / distance < FADED_PIXELS {
            return false;
        }
    }
    return true;
}

// Sum of the values of the threads before this one.
fn scan(lane: u32, value: u32) -> u32 {
    shared_sums[lane] = value;
    workgroupBarrier();
    for (var step = 1u; step < 256u; step <<= 1u) {
        var sum = shared_sums[lane];
        if lane >= step {
            sum += shared_sums[lane - step];
        }
        workgroupBarrier();
        shared_sums[lane] = sum;
        workgroupBarrier();
    }
    return shared_sums[lane] - value;
}

@compute @workgroup_size(256)
fn cull_test(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let index = group.x * 256u + lane;
    let visible = u32(is_visible(index));
    let rank = scan(lane, visible);
    work[pc.groups + index] = select(NOT_VISIBLE, rank, visible == 1u);
    if lane == 255u {
        work[group.x] = rank + visible;
    }
}

@compute @workgroup_size(256)
fn cull_scan(@builtin(local_invocation_index) lane: u32) {
    var carry = 0u;
    for (var first = 0u; first < pc.groups; first += 256u) {
        let group = first + lane;
        var count = 0u;
        if group < pc.groups {
            count = work[group];
        }
        let before = scan(lane, count);
        if group < pc.groups {
            work[group] = carry + before;
        }
        carry += shared_sums[255];
        workgroupBarrier();
    }
    if lane == 0u {
        atomicStore(&counters[0], carry);
    }
}

@compute @workgroup_size(256)
fn cull_emit(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let index = group.x * 256u + lane;
    let rank = work[pc.groups + index];
    if rank == NOT_VISIBLE {
        return;
    }
    let place = work[group.x] + rank;
    let primitive = primitives[instances[index].primitive];
    commands[place] =
        DrawIndexedIndirectCommand(primitive.index_count, 1u, primitive.first_index, 0, index);
    // A sum does not depend on the order of its parts.
    atomicAdd(&counters[1], primitive.index_count / 3u);
}
