// The ways of writing that work with naga and Vulkan 1.3, kept compiling by a test. Not a pass.
//!include lib/bindless.wgsl

// Push constants: 128 bytes at most.
struct Push { a: u32, b: u32, texture: u32, smp: u32, out: u32, count: u32, uv: vec2<f32>, matrix: mat4x4<f32>, tail: vec4<f32> }
var<immediate> pc: Push;

// Views of one's own: a struct that ends in a run-time sized array, which may have members before it.
struct Vertex { position: vec3<f32>, normal: u32, uv: u32, color: u32 }
struct Vertices { data: array<Vertex> }
struct Counted { count: u32, padding: u32, data: array<vec2<u32>> }
@group(0) @binding(2) var<storage, read> vertices: binding_array<Vertices>;
@group(0) @binding(3) var<storage, read> counted: binding_array<Counted>;
@group(0) @binding(4) var<storage, read_write> counted_out: binding_array<Counted>;

struct Varyings {
    @builtin(position) clip: vec4<f32>,
    @location(0) uv: vec2<f32>,
    @location(1) @interpolate(flat) id: u32,
    @location(2) color: vec4<f32>,
}

// Vertex pulling; `instance_index` includes the first instance of the draw.
@vertex fn vertex_pulled(@builtin(vertex_index) i: u32, @builtin(instance_index) instance: u32) -> Varyings {
    let vertex = vertices[pc.a].data[i];
    let normal = unpack2x16snorm(vertex.normal);
    var out: Varyings;
    out.clip = pc.matrix * vec4(vertex.position + vec3(normal, 0.0), 1.0) + vectors[pc.b].data[instance];
    out.uv = unpack2x16float(vertex.uv);
    out.id = instance;
    out.color = unpack4x8unorm(vertex.color);
    return out;
}

@fragment fn sampled(in: Varyings, @builtin(front_facing) front: bool) -> @location(0) vec4<f32> {
    // Implicit derivatives: in uniform control flow only.
    var color = textureSample(textures[pc.texture], samplers[pc.smp], in.uv);
    color += textureSampleBias(textures[pc.texture], samplers[pc.smp], in.uv, 0.5);
    // A slot that differs between pixels: with explicit derivatives or level.
    color += textureSampleGrad(textures[in.id], samplers[pc.smp], in.uv, dpdx(in.uv), dpdy(in.uv));
    color += textureSampleLevel(textures[in.id], samplers[pc.smp], in.uv, 0.0);
    color += textureLoad(textures[pc.texture], vec2<i32>(in.uv * 4.0), 0);
    color += textureGather(0, textures[pc.texture], samplers[pc.smp], in.uv);
    let size = textureDimensions(textures[pc.texture], 0);
    let mips = textureNumLevels(textures[pc.texture]);
    return color + in.color + vec4(vec2<f32>(size), f32(mips), select(0.0, 1.0, front));
}

// Depth and stencil before the shader, though it writes to memory; integer targets.
@fragment @early_depth_test(force) fn feedback(in: Varyings) -> @location(0) vec4<u32> {
    atomicMax(&counters[pc.out].data[in.id], 7u);
    return vec4(in.id, 0u, 0u, 1u);
}

@fragment fn depth_only() {}

@fragment fn depth_written(@builtin(position) position: vec4<f32>) -> @builtin(frag_depth) f32 {
    return position.z;
}

var<workgroup> sum: atomic<u32>;
var<workgroup> tile: array<u32, 64>;

// Workgroup memory starts at zero.
@compute @workgroup_size(64)
fn everything(@builtin(global_invocation_id) thread: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    atomicAdd(&sum, 1u);
    tile[local] = local;
    workgroupBarrier();
    if thread.x < pc.count {
        let word = words[pc.a].data[thread.x];
        let pair = counted[pc.b].data[thread.x];
        let reserved = arrayLength(&words[pc.a].data);
        let old = atomicAdd(&counters[pc.out].data[0], 1u);
        let swap = atomicCompareExchangeWeak(&counters[pc.out].data[1], 0u, word);
        if swap.exchanged {
            atomicStore(&counters[pc.out].data[2], atomicLoad(&counters[pc.out].data[1]));
        }
        // Pointers stay in the function: storage pointers cannot be passed on.
        let place = &words_out[pc.out].data[thread.x + 8u];
        *place = word + reserved + old + tile[63u - local] + atomicLoad(&sum) + pair.x + counted[pc.b].count;
        // A slot that differs between threads.
        words_out[thread.x & 1u].data[0] = read_word(pc.a, thread.x);
        counted_out[pc.out].data[thread.x] = vec2(word, firstLeadingBit(word) + countOneBits(word));
        let texel = textureSampleLevel(textures[thread.x], samplers[pc.smp], pc.uv, 0.0);
        words_out[pc.out].data[3] = pack4x8unorm(texel) + pack2x16float(pc.tail.xy) + extractBits(word, 1u, 3u);
    }
}

// Slots go into functions as numbers: neither `textures[slot]` nor `&words[slot].data` can be an argument.
fn read_word(slot: u32, i: u32) -> u32 {
    return words[slot].data[i];
}
