// Drawing into a page of a runtime virtual texture: places, targets, and what is drawn, as engine/src/vt/runtime/draw says.
//
// A fragment's place follows from counting texels: the page's first texel in the texture's level is a whole number, so
// neighbouring pages compute the same bits for a texel that both hold. What a fragment shows depends on its place alone,
// not on interpolated values, wherever that is possible.
//!include lib/virtual_texture_kinds.wgsl

struct PagePush {
    // Where texel (0, 0) of the texture begins: x and z, metres.
    corner: vec2<f32>,
    // A texel of this level along u and along v, metres.
    step_u: vec2<f32>,
    step_v: vec2<f32>,
    // Texel of the level that the page's first texel is, border included.
    first_texel: vec2<i32>,
    // Texels a side, border included.
    side: f32,
    // World size of a texel, metres.
    texel: f32,
    level: u32,
    max_level: u32,
    kind: u32,
    flags: u32,
    // Of the stored height: lowest, and one over the range, metres.
    height_offset: f32,
    height_scale: f32,
    // Of what is seen: lowest, and one over the range, metres.
    depth_offset: f32,
    depth_scale: f32,
    // Meshes: the writer, and the first word of the vertices.
    writer: u32,
    first_word: u32,
    // Linear colour and roughness of a mesh.
    colour: vec3<f32>,
    roughness: f32,
}
var<immediate> pc: PagePush;

// Drawn as it is stored, in 16 bits a texel: see vt_pack_low.
const PAGE_LOW_QUALITY: u32 = 1u;

struct PageWriter {
    centre: vec2<f32>,
    along: vec2<f32>,
    half_size: vec2<f32>,
    opacity: f32,
    paint: u32,
    colour: vec3<f32>,
    roughness: f32,
    second: vec3<f32>,
    specular: f32,
    mask: vec4<f32>,
    relief: f32,
    period: f32,
    feather: f32,
    height: f32,
    displacement: f32,
    padding_a: f32,
    padding_b: f32,
    padding_c: f32,
    // Rows of a mesh's object-to-world matrix.
    rows: array<vec4<f32>, 3>,
}

@group(1) @binding(0) var<storage, read> writers: array<PageWriter>;

// The place (x and z) of a fragment's texel.
fn page_place(position: vec4<f32>) -> vec2<f32> {
    let at = vec2<f32>(pc.first_texel + vec2<i32>(floor(position.xy))) + 0.5;
    return pc.corner + (pc.step_u * at.x + pc.step_v * at.y);
}

// Clip position of a place. Texels are rounded to the steps of the rasteriser before the page's own are taken off, so
// that an edge runs through the same texels on every page that it crosses.
fn page_clip(place: vec2<f32>, depth: f32) -> vec4<f32> {
    let offset = place - pc.corner;
    let texel = vec2(dot(offset, pc.step_u) / dot(pc.step_u, pc.step_u), dot(offset, pc.step_v) / dot(pc.step_v, pc.step_v));
    let here = round(texel * 256.0) / 256.0 - vec2<f32>(pc.first_texel);
    return vec4(here * (2.0 / pc.side) - 1.0, depth, 1.0);
}

// Corner of a rectangle, grown by some texels: fragments decide for themselves whether they are inside.
fn page_corner(centre: vec2<f32>, along: vec2<f32>, half_size: vec2<f32>, vertex: u32, grown: f32) -> vec2<f32> {
    let sign = vec2(select(-1.0, 1.0, (0x32u >> vertex & 1u) != 0u), select(-1.0, 1.0, (0x2cu >> vertex & 1u) != 0u));
    let reach = (half_size + grown * pc.texel) * sign;
    return centre + along * reach.x + vec2(-along.y, along.x) * reach.y;
}

// Metres height as the share that the texture stores.
fn page_height(metres: f32) -> f32 {
    return (metres - pc.height_offset) * pc.height_scale;
}

fn page_targets(surface: VtSurface, opacity: f32) -> VtTargets {
    let a = vt_encode(surface);
    if (pc.flags & PAGE_LOW_QUALITY) != 0u {
        return VtTargets(
            vec4(a.base_colour * opacity, opacity), vec4(vec3(a.normal.xy, a.roughness) * opacity, opacity), vec4(0.0),
        );
    }
    return vt_targets(pc.kind, a, opacity);
}
