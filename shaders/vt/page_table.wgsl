// Paints entries into one mip of a page table: eight quads an instance, four vertices a quad, in the order of the list.
// The write mask of the pipeline leaves the other channels alone.

struct PageTablePush {
    // First quad of this draw in the buffer.
    first_quad: u32,
    // Quads of this draw; the last instance has more vertices than that.
    quads: u32,
    // Side of the mip in texels.
    side: u32,
    padding: u32,
}
var<immediate> pc: PageTablePush;

struct PageTableQuad {
    // Morton code of the first texel in this mip in 0..23, logarithm of the side in 24..27, mip in 28..31.
    address: u32,
    // The packed entry.
    entry: u32,
}
@group(1) @binding(0) var<storage, read> quads: array<PageTableQuad>;

struct Painted {
    @builtin(position) position: vec4<f32>,
    @location(0) @interpolate(flat) entry: u32,
}

// The even bits, together.
fn gather(code: u32) -> u32 {
    var bits = code & 0x55555555u;
    bits = (bits | (bits >> 1u)) & 0x33333333u;
    bits = (bits | (bits >> 2u)) & 0x0f0f0f0fu;
    bits = (bits | (bits >> 4u)) & 0x00ff00ffu;
    return (bits | (bits >> 8u)) & 0x0000ffffu;
}

@vertex
fn page_table_vertex(@builtin(vertex_index) vertex: u32, @builtin(instance_index) instance: u32) -> Painted {
    let index = instance * 8u + vertex / 4u;
    if index >= pc.quads {
        // All corners in one point: nothing is drawn.
        return Painted(vec4(2.0, 2.0, 0.0, 1.0), 0u);
    }
    let quad = quads[pc.first_quad + index];
    let code = quad.address & 0xffffffu;
    let side = 1u << ((quad.address >> 24u) & 15u);
    let corner = vec2(vertex & 1u, (vertex >> 1u) & 1u);
    let texel = vec2(gather(code), gather(code >> 1u)) + corner * side;
    // Powers of two: exact.
    let place = vec2<f32>(texel) / f32(pc.side) * 2.0 - 1.0;
    return Painted(vec4(place, 0.0, 1.0), quad.entry);
}

@fragment
fn page_table_fragment(painted: Painted) -> @location(0) vec4<u32> {
    return vec4(painted.entry);
}
