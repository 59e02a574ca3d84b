// Sampling virtual textures: all of it that touches no texture. The twin of engine/src/vt/sampling/twin.rs.
//
//   uv --vt_place--> page of level 0 and place in it      dx, dy --vt_level--> level, with every bias and noise
//                    \------------ VtRequest (vt_request) ------------/
//   VtRequest --vt_table_texel--> (texel, mip) --textureLoad--> entry --vt_page--> VtPage: where in the atlas
//   VtPage --textureSampleLevel(atlas, bilinear clamp, page.uv, 0.0)--> what is stored --vt_surface--> what is lit
//
// The mapped level may be coarser than the one asked for: VtPage is by the mapped one. The two fetches are in
// lib/virtual_texture_bindings.wgsl, for these bindings of group 1 (engine/src/vt/sampling/mod.rs):
//
//   24      constants: VirtualTextureFrame, then the array of VirtualTexture
//   25      feedback (lib/virtual_texture_feedback.wgsl: include it to write, leave it out to sample only)
//   15      page table               16, 17, 18   layers of the atlas
//   19      page table of a second   20           its layer (lib/virtual_texture_second.wgsl)
//   21      sampler: bilinear, clamp, anisotropic where textures are
//
// A pass with other bindings includes this file alone and writes the two fetches itself.
//
// Precision. A uv in 32 bits steps by 2^-24 below 1: with 4096 tiles of 256 texels that is 1/16 of a texel, and
// derivatives taken of it by differences are worthless. Give `vt_place_from` a page and a fraction of a page that were
// computed relative to something near (the camera's page) instead, and derivatives of their own: then a texel has
// at least 2^-16 steps at any size of the world.

//!include lib/virtual_texture_kinds.wgsl

// As in engine/src/vt/sampling/constants.rs.
struct VirtualTexture {
    // Logical tiles along u and v.
    tiles: vec2<f32>,
    // Corner of its square in the page table, in pages of level 0.
    offset: vec2<u32>,
    max_level: u32,
    // Space id << 28; 0xffffffff where it gets no feedback.
    feedback_id: u32,
    // Logical texels a side of a tile, and the border around them.
    tile: f32,
    border: f32,
    // Texels a side of the atlas.
    atlas_side: f32,
    // VT_*: see below.
    flags: u32,
    // Added to every level.
    bias: f32,
    // What the residency adds, last of all.
    table_bias: f32,
    // Height in metres = stored * scale + offset.
    height_scale: f32,
    height_offset: f32,
    // How much longer than wide a footprint may be before it counts as wider, and most taps along it.
    anisotropy: f32,
    // VT_KIND_*.
    kind: u32,
    // What a layer gives where nothing is resident.
    fallback: array<vec4<f32>, 3>,
}

// As in engine/src/vt/sampling/constants.rs.
struct VirtualTextureFrame {
    // Blocks of pixels along x and y.
    feedback_side: vec2<u32>,
    // Pixels a side of a block, as a logarithm.
    feedback_factor_log2: u32,
    // Words of feedback that there is room for.
    feedback_capacity: u32,
    frame: u32,
    // Added to every level of every texture.
    global_bias: f32,
    texture_count: u32,
    padding: u32,
}

const VT_ENTRIES_32: u32 = 1u;
const VT_WRAP_U_SHIFT: u32 = 1u;
const VT_WRAP_V_SHIFT: u32 = 3u;
const VT_ANISOTROPIC: u32 = 1u << 5u;
const VT_TRILINEAR: u32 = 1u << 6u;
const VT_STOCHASTIC: u32 = 1u << 7u;
const VT_SHOW_LEVELS: u32 = 1u << 8u;
const VT_SHOW_BORDERS: u32 = 1u << 9u;
// Anisotropy by several taps, for drivers whose samplers ignore it where gradients are explicit.
const VT_MANUAL_TAPS: u32 = 1u << 10u;
// Layers are those of low quality: see vt_unpack_low.
const VT_LOW_QUALITY: u32 = 1u << 11u;
const VT_CHANNEL_SHIFT: u32 = 12u;

const VT_WRAP_CLAMP: u32 = 0u;
const VT_WRAP_REPEAT: u32 = 1u;
const VT_WRAP_MIRROR: u32 = 2u;

// No feedback.
const VT_NO_WORD: u32 = 0xffffffffu;
// What is added to a level in feedback.
const VT_LEVEL_BIAS: i32 = 3;
const VT_MOST_TAPS: f32 = 16.0;

// A place in a texture: page of level 0, and how far into it.
struct VtPlace {
    page: vec2<u32>,
    // 0..1, both ends included.
    fraction: vec2<f32>,
    // -1 along axes that are mirrored here.
    turn: vec2<f32>,
}

// What a sample asks for.
struct VtRequest {
    place: VtPlace,
    // Derivatives of uv.
    dx: vec2<f32>,
    dy: vec2<f32>,
    // With every bias but the table's.
    level: f32,
    pixel: vec2<u32>,
}

// A page of the atlas, and the place in it.
struct VtPage {
    // In the atlas, 0..1.
    uv: vec2<f32>,
    // From derivatives of the texture's uv to those of the atlas.
    gradient: vec2<f32>,
    // Logical texels from the page's corner.
    texel: vec2<f32>,
    // Column and row in the atlas.
    page: vec2<u32>,
    // The level that is mapped here.
    level: u32,
    is_resident: bool,
}

// Tested by bits: a compiler may take it that no number is infinite.
fn vt_is_finite(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7f800000u) != 0x7f800000u;
}

fn vt_finite_or_zero(v: vec2<f32>) -> vec2<f32> {
    return vec2(select(0.0, v.x, vt_is_finite(v.x)), select(0.0, v.y, vt_is_finite(v.y)));
}

// A derivative of uv that can be multiplied: more than 64 textures a pixel is no step that anyone sees.
fn vt_step(d: vec2<f32>) -> vec2<f32> {
    return clamp(vt_finite_or_zero(d), vec2(-64.0), vec2(64.0));
}

// One axis of a place: page, whether it is mirrored, and whether it lies in front of (-1) or behind (1) a clamped axis.
fn vt_wrap(page: i32, tiles: i32, mode: u32) -> vec3<i32> {
    if mode == VT_WRAP_REPEAT {
        let rest = page % tiles;
        return vec3(select(rest, rest + tiles, rest < 0), 0, 0);
    }
    if mode == VT_WRAP_MIRROR {
        let rest = page % (2 * tiles);
        let turned = select(rest, rest + 2 * tiles, rest < 0);
        return select(vec3(turned, 0, 0), vec3(2 * tiles - 1 - turned, 1, 0), turned >= tiles);
    }
    return vec3(clamp(page, 0, tiles - 1), 0, select(0, -1, page < 0) + select(0, 1, page >= tiles));
}

// The place that lies `fraction` pages of level 0 from the corner of `page`; both may lie outside of the texture.
fn vt_place_from(vt: VirtualTexture, page: vec2<i32>, fraction: vec2<f32>) -> VtPlace {
    let way = clamp(vt_finite_or_zero(fraction), vec2(-1073741824.0), vec2(1073741824.0));
    let whole = floor(way);
    let at = clamp(page, vec2(-1073741824), vec2(1073741823)) + vec2<i32>(whole);
    let tiles = max(vec2<i32>(vt.tiles), vec2(1));
    let u = vt_wrap(at.x, tiles.x, (vt.flags >> VT_WRAP_U_SHIFT) & 3u);
    let v = vt_wrap(at.y, tiles.y, (vt.flags >> VT_WRAP_V_SHIFT) & 3u);
    let outside = vec2(u.z, v.z);
    let part = select(way - whole, 1.0 - (way - whole), vec2(u.y, v.y) == vec2(1));
    let clamped = select(part, vec2<f32>(outside) * 0.5 + 0.5, outside != vec2(0));
    return VtPlace(
        vec2(u32(u.x), u32(v.x)), clamped, select(vec2(1.0), vec2(-1.0), vec2(u.y, v.y) == vec2(1)),
    );
}

// The place at `uv`, whatever that is: no number and infinity count as 0.
fn vt_place(vt: VirtualTexture, uv: vec2<f32>) -> VtPlace {
    let at = clamp(vt_finite_or_zero(uv) * vt.tiles, vec2(-1073741824.0), vec2(1073741824.0));
    let whole = floor(at);
    return vt_place_from(vt, vec2<i32>(whole), at - whole);
}

// Taps along a footprint at most: the sampler may not look further than the border reaches.
fn vt_most_taps(vt: VirtualTexture) -> f32 {
    let most = clamp(vt.anisotropy, 1.0, VT_MOST_TAPS);
    return select(most, min(most, max(2.0 * (vt.border - 1.0), 1.0)), (vt.flags & VT_ANISOTROPIC) != 0u);
}

// The level of a footprint: of its smaller axis, unless the larger one is more than `anisotropy` times as long. By
// the same rule whether the sampler is anisotropic or not.
fn vt_footprint_level(vt: VirtualTexture, dx: vec2<f32>, dy: vec2<f32>) -> f32 {
    let size = vt.tiles * vt.tile;
    let x = dx * size;
    let y = dy * size;
    let a = dot(x, x);
    let b = dot(y, y);
    let most = vt_most_taps(vt);
    let square = max(min(a, b), max(a, b) / (most * most));
    // What has no size is seen from infinitely far: it gets the coarsest level, and asks for nothing finer.
    return select(16.0, clamp(0.5 * log2(max(square, 1e-10)), -16.0, 16.0), vt_is_finite(a + b));
}

// A surface with what a texture stores, by its kind and quality.
fn vt_stored_surface(vt: VirtualTexture, layers: VtLayers) -> VtSurface {
    if (vt.flags & VT_LOW_QUALITY) != 0u {
        return vt_decode(vt_unpack_low(layers));
    }
    return vt_surface(vt.kind, layers);
}

// Interleaved gradient noise (Jimenez 2014), 0..1, moved by frame. The inner sum is a fraction of 2^32 in whole numbers:
// in floats its last bits, which the factor makes large, differ from device to device.
fn vt_noise(pixel: vec2<u32>, frame: u32) -> f32 {
    let turn = pixel.x * 288237660u + pixel.y * 25070368u + (frame & 63u) * 1750839832u;
    return fract(52.9829189 * (f32(turn >> 8u) / 16777216.0));
}

// A level with the biases of texture and frame, and with noise where the texture is filtered by chance.
fn vt_explicit_level(vt: VirtualTexture, frame: VirtualTextureFrame, level: f32, pixel: vec2<u32>) -> f32 {
    let bounded = clamp(select(16.0, level, vt_is_finite(level)), -16.0, 16.0);
    var noise = 0.0;
    if (vt.flags & VT_STOCHASTIC) != 0u {
        noise = vt_noise(pixel, frame.frame);
    }
    return bounded + vt.bias + frame.global_bias + noise;
}

fn vt_level(
    vt: VirtualTexture, frame: VirtualTextureFrame, dx: vec2<f32>, dy: vec2<f32>, bias: f32, pixel: vec2<u32>,
) -> f32 {
    return vt_explicit_level(vt, frame, vt_footprint_level(vt, dx, dy) + bias, pixel);
}

// The level to look up. Clamped at the coarse end only: below 0 is what the texture has not, and feedback says so. The
// table's bias counts with its fraction, so that a bias that rises slowly moves the levels' borders slowly.
fn vt_whole_level(vt: VirtualTexture, level: f32) -> i32 {
    return i32(clamp(floor(level + vt.table_bias), -16.0, f32(vt.max_level)));
}

// How much of the next coarser level a trilinear sample takes.
fn vt_trilinear_share(vt: VirtualTexture, level: f32) -> f32 {
    let at = level + vt.table_bias;
    let is_between = at > 0.0 && at < f32(vt.max_level) && (vt.flags & VT_TRILINEAR) != 0u;
    return select(0.0, at - floor(at), is_between);
}

fn vt_request_at(
    vt: VirtualTexture, frame: VirtualTextureFrame, place: VtPlace, dx: vec2<f32>, dy: vec2<f32>, bias: f32,
    pixel: vec2<u32>,
) -> VtRequest {
    let level = vt_level(vt, frame, dx, dy, bias, pixel);
    return VtRequest(place, dx, dy, level, pixel);
}

fn vt_request(
    vt: VirtualTexture, frame: VirtualTextureFrame, uv: vec2<f32>, dx: vec2<f32>, dy: vec2<f32>, bias: f32,
    pixel: vec2<u32>,
) -> VtRequest {
    return vt_request_at(vt, frame, vt_place(vt, uv), dx, dy, bias, pixel);
}

// A request of a level that the caller chose; anisotropy has nothing to go by.
fn vt_request_level_at(
    vt: VirtualTexture, frame: VirtualTextureFrame, place: VtPlace, level: f32, pixel: vec2<u32>,
) -> VtRequest {
    let biased = vt_explicit_level(vt, frame, level, pixel);
    return VtRequest(place, vec2(0.0), vec2(0.0), biased, pixel);
}

fn vt_request_level(
    vt: VirtualTexture, frame: VirtualTextureFrame, uv: vec2<f32>, level: f32, pixel: vec2<u32>,
) -> VtRequest {
    return vt_request_level_at(vt, frame, vt_place(vt, uv), level, pixel);
}

// The level of a request that a page table has.
fn vt_table_level(whole_level: i32) -> u32 {
    return u32(max(whole_level, 0));
}

// Where a page table is read, in its mip `level`.
fn vt_table_texel(vt: VirtualTexture, place: VtPlace, level: u32) -> vec2<u32> {
    return (place.page >> vec2(level)) + (vt.offset >> vec2(level));
}

// One axis of the place in a page of level `level`, in its texels.
fn vt_texel_in_page(vt: VirtualTexture, page: u32, fraction: f32, level: u32, tiles: f32, wrap: u32) -> f32 {
    let texels = vt.tile / f32(1u << level);
    let corner = (page >> level) << level;
    let texel = (f32(page - corner) + fraction) * texels;
    // Where the texture ends, a sampler that clamps or mirrors sees its last texel go on: the last one whose centre
    // lies inside.
    let first = select(-1e9, 0.5, corner == 0u);
    let last = floor((tiles - f32(corner)) * texels + 0.5) - 0.5;
    return select(max(min(texel, last), first), texel, wrap == VT_WRAP_REPEAT);
}

// What a texel of the page table says about a place.
fn vt_page(vt: VirtualTexture, place: VtPlace, table_texel: vec4<u32>) -> VtPage {
    let entry = table_texel[(vt.flags >> VT_CHANNEL_SHIFT) & 3u];
    let bits = select(6u, 8u, (vt.flags & VT_ENTRIES_32) != 0u);
    let page = vec2(extractBits(entry, 4u, bits), extractBits(entry, 4u + bits, bits));
    let level = entry & 15u;
    let texel = vec2(
        vt_texel_in_page(
            vt, place.page.x, place.fraction.x, level, vt.tiles.x, (vt.flags >> VT_WRAP_U_SHIFT) & 3u,
        ),
        vt_texel_in_page(
            vt, place.page.y, place.fraction.y, level, vt.tiles.y, (vt.flags >> VT_WRAP_V_SHIFT) & 3u,
        ),
    );
    let corner = vec2<f32>(page) * (vt.tile + 2.0 * vt.border) + vt.border;
    let gradient = place.turn * vt.tiles * (vt.tile / (f32(1u << level) * vt.atlas_side));
    return VtPage((corner + texel) / vt.atlas_side, gradient, texel, page, level, any(page != vec2(0u)));
}

// A footprint in the atlas that stays within the border.
struct VtFootprint {
    dx: vec2<f32>,
    dy: vec2<f32>,
    // The longer of both, for taps along it.
    axis: vec2<f32>,
    // How many.
    taps: f32,
}

fn vt_footprint(vt: VirtualTexture, page: VtPage, dx: vec2<f32>, dy: vec2<f32>) -> VtFootprint {
    // A tap reaches half a texel further, and samplers round.
    let most = max(2.0 * (vt.border - 1.0), 0.0);
    let x = vt_step(dx) * page.gradient;
    let y = vt_step(dy) * page.gradient;
    let a = length(x) * vt.atlas_side;
    let b = length(y) * vt.atlas_side;
    let short_x = x * min(most / max(a, 1e-9), 1.0);
    let short_y = y * min(most / max(b, 1e-9), 1.0);
    // Of two steps that point almost the same way, a sampler sees an ellipse that is longer than either.
    let p = dot(short_x, short_x);
    let q = dot(short_y, short_y);
    let r = 2.0 * dot(short_x, short_y);
    let longest = sqrt(0.5 * (p + q + sqrt((p - q) * (p - q) + r * r))) * vt.atlas_side;
    let by = min(most / max(longest, 1e-9), 1.0);
    let taps = clamp(ceil(min(max(a, b), most)), 1.0, vt_most_taps(vt));
    return VtFootprint(short_x * by, short_y * by, select(short_y, short_x, a > b), taps);
}

fn vt_fallback(vt: VirtualTexture) -> VtLayers {
    return VtLayers(vt.fallback[0], vt.fallback[1], vt.fallback[2]);
}

// Layers that a kind has.
fn vt_layer_count(kind: u32) -> u32 {
    if kind == VT_KIND_BASE_COLOR || kind >= VT_KIND_MASK4 {
        return 1u;
    }
    return select(2u, 3u, kind >= VT_KIND_BASE_COLOR_NORMAL_SPECULAR_YCOCG);
}

// Metres, of what WorldHeight and Displacement store.
fn vt_height(vt: VirtualTexture, stored: f32) -> f32 {
    return stored * vt.height_scale + vt.height_offset;
}

// A colour a level; neighbours differ.
fn vt_level_colour(level: u32) -> vec3<f32> {
    var colours = array<vec3<f32>, 7>(
        vec3(0.98, 0.89, 0.35), vec3(0.96, 0.55, 0.20), vec3(0.86, 0.24, 0.31), vec3(0.60, 0.16, 0.49),
        vec3(0.33, 0.17, 0.55), vec3(0.17, 0.19, 0.45), vec3(0.10, 0.14, 0.25),
    );
    return colours[level % 7u];
}

// A linear colour with what the texture is asked to show of its pages; untouched where it is asked nothing.
fn vt_shown(vt: VirtualTexture, page: VtPage, colour: vec3<f32>) -> vec3<f32> {
    let tint = vt_level_colour(page.level);
    var shown = colour;
    if (vt.flags & VT_SHOW_LEVELS) != 0u {
        let light = dot(colour, vec3(0.2126, 0.7152, 0.0722));
        shown = mix(shown, tint * (0.25 + light), 0.6);
    }
    let edge = min(min(page.texel.x, page.texel.y), vt.tile - max(page.texel.x, page.texel.y));
    if (vt.flags & VT_SHOW_BORDERS) != 0u && edge < 1.0 {
        shown = tint;
    }
    return select(shown, colour, !page.is_resident);
}

// What a pixel has sampled so far, and what of it feedback will say: one of the samples, each as likely.
struct VtFeedback {
    word: u32,
    samples: u32,
    // Most pixels do not speak in a frame, and have nothing to choose.
    is_heard: bool,
}

// Of who never speaks.
fn vt_no_feedback() -> VtFeedback {
    return VtFeedback(VT_NO_WORD, 0u, false);
}

// PCG hash (Jarzynski and Olano 2020).
fn vt_hash(value: u32) -> u32 {
    let state = value * 747796405u + 2891336453u;
    let word = ((state >> ((state >> 28u) + 4u)) ^ state) * 277803737u;
    return (word >> 22u) ^ word;
}

// The page that is wished for, in the way of feedback: x, y, level + 3, space. Below level 0, x and y are those of
// level 0. VT_NO_WORD where the texture gets no feedback.
fn vt_feedback_word(vt: VirtualTexture, place: VtPlace, whole_level: i32) -> u32 {
    let texel = vt_table_texel(vt, place, vt_table_level(whole_level));
    let level = u32(clamp(whole_level + VT_LEVEL_BIAS, 0, 15));
    let word = (texel.x & 0xfffu) | ((texel.y & 0xfffu) << 12u) | (level << 24u) | vt.feedback_id;
    return select(word, VT_NO_WORD, vt.feedback_id == VT_NO_WORD);
}

// Counts a sample: of n samples of a pixel the n-th takes the place of the one kept with probability 1 / n.
fn vt_feedback_add(feedback: VtFeedback, word: u32, pixel: vec2<u32>, frame: u32) -> VtFeedback {
    if word == VT_NO_WORD || !feedback.is_heard {
        return feedback;
    }
    let samples = feedback.samples + 1u;
    let chance = vt_hash(pixel.x ^ vt_hash(pixel.y ^ vt_hash(frame ^ (samples << 24u))));
    return VtFeedback(select(feedback.word, word, chance % samples == 0u), samples, true);
}

// Whether this pixel is the one of its block that gives feedback in this frame. In as many frames as a block has pixels
// each has its turn once, in an order that spreads (the steps are close to Roberts's R2 sequence, 2018); other blocks are
// at other places of the same order.
fn vt_gives_feedback(frame: VirtualTextureFrame, pixel: vec2<u32>) -> bool {
    let log2 = frame.feedback_factor_log2;
    let side = 1u << log2;
    let block = pixel >> vec2(log2);
    let within = pixel & vec2(side - 1u);
    let step = (((side * 193u) >> 8u) << log2) | ((side * 146u) >> 8u) | 1u;
    let turn = ((block.x * 0x9e3779b1u + block.y * 0x85ebca77u) >> 8u) + frame.frame * step;
    return ((turn ^ (within.x | (within.y << log2))) & (side * side - 1u)) == 0u;
}
