// The texels of a page of an atlas as the sampler decodes them, for reports and tests.

struct PageTexelsPush {
    // First texel of the page in the atlas.
    origin: vec2<u32>,
    // Texels a side, and where in the buffer, in texels.
    side: u32,
    first: u32,
}
var<immediate> pc: PageTexelsPush;

@group(1) @binding(0) var<storage, read_write> texels: array<vec4<f32>>;
@group(1) @binding(8) var atlas: texture_2d<f32>;

@compute @workgroup_size(8, 8)
fn page_texels(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < pc.side && id.y < pc.side {
        texels[pc.first + id.y * pc.side + id.x] = textureLoad(atlas, pc.origin + id.xy, 0);
    }
}
