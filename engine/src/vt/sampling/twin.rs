//! The twin of `shaders/lib/virtual_texture.wgsl`: the same numbers in the same order, in 32-bit floats.
//!
//! Where a GPU may round differently (fused products, its logarithm), levels agree to about 1e-4 and texels to about
//! 1e-3; all that is whole numbers agrees exactly away from such edges.

use super::constants::{VirtualTexture, VirtualTextureFrame, flags};
use crate::vt::{Entry, EntryFormat};

const FURTHEST: f32 = 1_073_741_824.0;
const MOST_TAPS: f32 = 16.0;

/// A place in a texture: page of level 0, and how far into it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Place {
    /// Column and row at level 0.
    pub page: [u32; 2],
    /// 0 to 1, both ends included.
    pub fraction: [f32; 2],
    /// -1 along axes that are mirrored here.
    pub turn: [f32; 2],
}

/// A page of the atlas, and the place in it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Page {
    /// Place in the atlas, 0 to 1.
    pub uv: [f32; 2],
    /// From derivatives of the texture's UV to those of the atlas.
    pub gradient: [f32; 2],
    /// Logical texels from the page's corner.
    pub texel: [f32; 2],
    /// What the page table says.
    pub entry: Entry,
}

/// A footprint in the atlas that stays within the border.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Footprint {
    /// Derivative along the picture's x.
    pub dx: [f32; 2],
    /// Derivative along the picture's y.
    pub dy: [f32; 2],
    /// The longer of both, for taps along it.
    pub axis: [f32; 2],
    /// How many.
    pub taps: f32,
}

fn finite_or_zero(x: f32) -> f32 {
    if x.is_finite() { x } else { 0.0 }
}

fn each(f: impl Fn(usize) -> f32) -> [f32; 2] {
    [f(0), f(1)]
}

fn wrap_mode(vt: &VirtualTexture, axis: usize) -> u32 {
    vt.flags >> [flags::WRAP_U_SHIFT, flags::WRAP_V_SHIFT][axis & 1] & 3
}

fn has(vt: &VirtualTexture, flag: u32) -> bool {
    vt.flags & flag != 0
}

/// One axis of a place that lies `way` pages from the corner of `page`: page, fraction, turn.
fn wrap(page: i32, way: f32, tiles: f32, mode: u32) -> (u32, f32, f32) {
    let way = finite_or_zero(way).clamp(-FURTHEST, FURTHEST);
    let whole = way.floor();
    let part = way - whole;
    let at = i64::from(page.clamp(-(1 << 30), (1 << 30) - 1)) + whole as i64;
    let tiles = (tiles as i64).max(1);
    match mode {
        1 => (at.rem_euclid(tiles) as u32, part, 1.0),
        2 => match at.rem_euclid(2 * tiles) {
            turned if turned >= tiles => ((2 * tiles - 1 - turned) as u32, 1.0 - part, -1.0),
            rest => (rest as u32, part, 1.0),
        },
        _ if at < 0 => (0, 0.0, 1.0),
        _ if at >= tiles => ((tiles - 1) as u32, 1.0, 1.0),
        _ => (at as u32, part, 1.0),
    }
}

/// The place that lies `fraction` pages of level 0 from the corner of `page`; both may lie outside of the texture. This
/// is how a world of tens of kilometres is sampled: both computed relative to something near.
pub fn place_from(vt: &VirtualTexture, page: [i32; 2], fraction: [f32; 2]) -> Place {
    let of = |axis: usize| wrap(page[axis], fraction[axis], vt.tiles[axis], wrap_mode(vt, axis));
    let (u, v) = (of(0), of(1));
    Place { page: [u.0, v.0], fraction: [u.1, v.1], turn: [u.2, v.2] }
}

/// The place at `uv`, whatever that is: no number and infinity count as 0.
pub fn place(vt: &VirtualTexture, uv: [f32; 2]) -> Place {
    let at = each(|axis| (finite_or_zero(uv[axis]) * vt.tiles[axis]).clamp(-FURTHEST, FURTHEST));
    let whole = at.map(f32::floor);
    place_from(vt, whole.map(|page| page as i32), each(|axis| at[axis] - whole[axis]))
}

fn most_taps(vt: &VirtualTexture) -> f32 {
    let most = vt.anisotropy.clamp(1.0, MOST_TAPS);
    if has(vt, flags::ANISOTROPIC) { most.min((2.0 * (vt.border - 1.0)).max(1.0)) } else { most }
}

/// The level of a footprint: of its smaller axis, unless the larger one is more than the largest anisotropy times as
/// long. -16 to 16; 16 for derivatives that are no numbers.
pub fn footprint_level(vt: &VirtualTexture, dx: [f32; 2], dy: [f32; 2]) -> f32 {
    let square = |d: [f32; 2]| {
        let [x, y] = each(|axis| d[axis] * (vt.tiles[axis] * vt.tile));
        x * x + y * y
    };
    let (a, b) = (square(dx), square(dy));
    if !(a + b).is_finite() {
        return 16.0;
    }
    let most = most_taps(vt);
    let square = a.min(b).max(a.max(b) / (most * most));
    (0.5 * square.max(1e-10).log2()).clamp(-16.0, 16.0)
}

/// Interleaved gradient noise (Jimenez 2014), 0 to 1, moved by frame.
pub fn noise(pixel: [u32; 2], frame: u32) -> f32 {
    let [x, y] = [pixel[0].wrapping_mul(288_237_660), pixel[1].wrapping_mul(25_070_368)];
    let turn = x.wrapping_add(y).wrapping_add((frame & 63).wrapping_mul(1_750_839_832));
    let noise = 52.982_918 * ((turn >> 8) as f32 / 16_777_216.0);
    noise - noise.floor()
}

/// A level with the biases of texture and frame, and with noise where the texture is filtered by chance.
pub fn explicit_level(vt: &VirtualTexture, frame: &VirtualTextureFrame, level: f32, pixel: [u32; 2]) -> f32 {
    let bounded = if level.is_finite() { level.clamp(-16.0, 16.0) } else { 16.0 };
    let noise = if has(vt, flags::STOCHASTIC) { noise(pixel, frame.frame) } else { 0.0 };
    bounded + vt.bias + frame.global_bias + noise
}

/// The level of a sample with these derivatives and a bias of its own.
pub fn level(
    vt: &VirtualTexture,
    frame: &VirtualTextureFrame,
    [dx, dy]: [[f32; 2]; 2],
    bias: f32,
    pixel: [u32; 2],
) -> f32 {
    explicit_level(vt, frame, footprint_level(vt, dx, dy) + bias, pixel)
}

/// The level to look up: at most the coarsest, and below 0 where the texture has nothing fine enough.
pub fn whole_level(vt: &VirtualTexture, level: f32) -> i32 {
    (level + vt.table_bias).floor().clamp(-16.0, vt.max_level as f32) as i32
}

/// How much of the next coarser level a trilinear sample takes.
pub fn trilinear_share(vt: &VirtualTexture, level: f32) -> f32 {
    let at = level + vt.table_bias;
    let is_between = at > 0.0 && at < vt.max_level as f32;
    if is_between && has(vt, flags::TRILINEAR) { at - at.floor() } else { 0.0 }
}

/// Where a page table is read, in its mip `level`.
pub fn table_texel(vt: &VirtualTexture, place: &Place, level: u32) -> [u32; 2] {
    let level = level.min(31);
    std::array::from_fn(|axis| (place.page[axis] >> level).wrapping_add(vt.offset[axis] >> level))
}

fn texel_in_page(vt: &VirtualTexture, place: &Place, level: u8, axis: usize) -> f32 {
    let level = u32::from(level & 15);
    let texels = vt.tile / (1u32 << level) as f32;
    let corner = place.page[axis] >> level << level;
    let texel = ((place.page[axis] - corner) as f32 + place.fraction[axis]) * texels;
    if wrap_mode(vt, axis) == 1 {
        return texel;
    }
    let first = if corner == 0 { 0.5 } else { -1e9 };
    let last = ((vt.tiles[axis] - corner as f32) * texels + 0.5).floor() - 0.5;
    texel.min(last).max(first)
}

/// What an entry of the page table says about a place; `packed` as the texture's channel holds it.
pub fn page(vt: &VirtualTexture, place: &Place, packed: u32) -> Page {
    let format = if has(vt, flags::ENTRIES_32) { EntryFormat::Bits32 } else { EntryFormat::Bits16 };
    let entry = Entry::unpack(packed, format);
    let texel = each(|axis| texel_in_page(vt, place, entry.level, axis));
    let corner = entry.page.map(|page| f32::from(page) * (vt.tile + 2.0 * vt.border) + vt.border);
    let scale = vt.tile / ((1u32 << u32::from(entry.level & 15)) as f32 * vt.atlas_side);
    Page {
        uv: each(|axis| (corner[axis] + texel[axis]) / vt.atlas_side),
        gradient: each(|axis| place.turn[axis] * vt.tiles[axis] * scale),
        texel,
        entry,
    }
}

/// A footprint in the atlas, cut so that no tap leaves the border.
pub fn footprint(vt: &VirtualTexture, page: &Page, dx: [f32; 2], dy: [f32; 2]) -> Footprint {
    let most = (2.0 * (vt.border - 1.0)).max(0.0);
    let cut = |d: [f32; 2]| {
        let d = each(|axis| finite_or_zero(d[axis]).clamp(-64.0, 64.0) * page.gradient[axis]);
        let long = (d[0] * d[0] + d[1] * d[1]).sqrt() * vt.atlas_side;
        (d.map(|d| d * (most / long.max(1e-9)).min(1.0)), long)
    };
    let ((dx, a), (dy, b)) = (cut(dx), cut(dy));
    // Of two steps that point almost the same way, a sampler sees an ellipse that is longer than either.
    let dot = |a: [f32; 2], b: [f32; 2]| a[0] * b[0] + a[1] * b[1];
    let (p, q, r) = (dot(dx, dx), dot(dy, dy), 2.0 * dot(dx, dy));
    let longest = (0.5 * (p + q + ((p - q) * (p - q) + r * r).sqrt())).sqrt() * vt.atlas_side;
    let by = (most / longest.max(1e-9)).min(1.0);
    let taps = a.max(b).min(most).ceil().max(1.0).min(most_taps(vt));
    let axis = if a > b { dx } else { dy };
    Footprint { dx: dx.map(|d| d * by), dy: dy.map(|d| d * by), axis, taps }
}
