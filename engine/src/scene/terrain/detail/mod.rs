//! The shape of the ground below the distance of the map's samples.
//!
//! One tileable texture of rocky, gullied relief, laid over the world in a few layers of different
//! periods and angles, so that no repeat shows; each layer as strong as its period is long, and
//! stronger on steep ground. Layers too fine for the mesh fade out.
//!
//! # The formula, ready for a shader
//!
//! The texture is `RGBA16_SFLOAT` (filterable on every Vulkan device), [`SIZE`] texels square, a full
//! chain of mips, wrapping. No decoding: R = height from -1 to 1 with mean 0; G, B = dR/du, dR/dv for
//! u, v from 0 to 1 across the tile; A = a second, smooth noise from -1 to 1 for colours. Layers are in
//! [`DetailParams`]; `p` = (x, z), `steep` = `slope_factor` of the base surface:
//!
//! ```text
//! strength = mix(flat, steep_strength, steep)
//! for each layer:
//!     fade = 1 - smoothstep(period / 24, period / 6, cell)              skip the layer if 0
//!     lod  = clamp(log2(cell * SIZE / period), 0, levels - 1)           0 for cell = 0
//!     q    = (cos * x + sin * z, -sin * x + cos * z)
//!     t    = textureSampleLevel(texture, trilinear repeat, q / period + offset, lod)
//!     k    = fade * gain * strength
//!     height += k * period * t.r
//!     slope  += k * (cos * t.g - sin * t.b, sin * t.g + cos * t.b)      the period cancels
//! ```
//!
//! Samplers round a texel's fraction to 8 bits. Vertices that must meet other vertices exactly are to
//! use `textureLoad` and mix, as [`DetailTexture::sample`] does.

mod erosion;
mod noise;
#[cfg(test)]
mod tests;
mod texture;

use std::sync::{Arc, OnceLock};

use glam::{Mat2, Vec2};

pub use texture::{DetailTexture, SIZE, f16_to_f32, f32_to_f16};

/// The layers' number.
pub const LAYERS: usize = 4;
/// The seed of the texture that [`Detail::for_pixel`] uses.
pub const DEFAULT_SEED: u32 = 1;

/// One laying of the texture over the world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DetailLayer {
    /// Side of one tile in metres.
    pub period: f32,
    /// Cosine and sine of the angle by which the tile is turned.
    pub rotation: Vec2,
    /// Where the world's origin lies in the tile, in tiles.
    pub offset: Vec2,
    /// Strength beside the other layers: fine ground is a little smoother than coarse ground made small.
    pub gain: f32,
}

/// Everything that shapes the detail.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DetailParams {
    /// From the coarsest to the finest.
    pub layers: [DetailLayer; LAYERS],
    /// Height amplitude on flat ground, as a share of a layer's period.
    pub flat: f32,
    /// Height amplitude on ground of 45 degrees and more, as a share of a layer's period.
    pub steep: f32,
}

impl DetailParams {
    /// The usual detail for a map whose samples are `pixel` metres apart.
    ///
    /// Periods have no common multiple within a large map; the coarsest tile's widest forms are about two pixels
    /// wide, so that they take over where the data end, and four layers reach down to 1/250 of a pixel.
    pub fn for_pixel(pixel: f32) -> DetailParams {
        // (period in pixels, cosine, sine, offset, gain): Pythagorean turns, so that no two hosts differ.
        const TABLE: [(f32, f32, f32, [f32; 2], f32); LAYERS] = [
            (17.3, 12.0 / 13.0, 5.0 / 13.0, [0.137, 0.731], 1.0),
            (5.41, 4.0 / 5.0, -3.0 / 5.0, [0.519, 0.283], 0.8),
            (1.57, 8.0 / 17.0, 15.0 / 17.0, [0.853, 0.417], 0.6),
            (0.433, 20.0 / 29.0, -21.0 / 29.0, [0.271, 0.967], 0.5),
        ];
        let layers = TABLE.map(|(period, cos, sin, offset, gain)| DetailLayer {
            period: period * pixel,
            rotation: Vec2::new(cos, sin),
            offset: Vec2::from(offset),
            gain,
        });
        DetailParams { layers, flat: 0.005, steep: 0.024 }
    }
}

/// The texture and how it is laid.
#[derive(Clone, Debug)]
pub struct Detail {
    params: DetailParams,
    texture: Arc<DetailTexture>,
}

impl Detail {
    /// The usual detail for a map whose samples are `pixel` metres apart. The texture is made once and shared.
    pub fn for_pixel(pixel: f32) -> Detail {
        static TEXTURE: OnceLock<Arc<DetailTexture>> = OnceLock::new();
        let texture = TEXTURE.get_or_init(|| Arc::new(DetailTexture::generate(DEFAULT_SEED)));
        Detail::new(DetailParams::for_pixel(pixel), Arc::clone(texture))
    }

    /// Detail of one's own.
    pub fn new(params: DetailParams, texture: Arc<DetailTexture>) -> Detail {
        Detail { params, texture }
    }

    /// How the texture is laid.
    pub fn params(&self) -> &DetailParams {
        &self.params
    }

    /// The texture.
    pub fn texture(&self) -> &Arc<DetailTexture> {
        &self.texture
    }

    /// Height in metres to add at (x, z), for a steepness from 0 to 1 and mesh cells of `cell` metres.
    pub fn height(&self, x: f32, z: f32, slope_factor: f32, cell: f32) -> f32 {
        let strength = self.strength(slope_factor);
        self.taps(x, z, cell).map(|(layer, weight, t)| weight * strength * layer.period * t[0]).sum()
    }

    /// Slopes (d/dx, d/dz) of [`Detail::height`] at constant steepness.
    pub fn gradient(&self, x: f32, z: f32, slope_factor: f32, cell: f32) -> Vec2 {
        let strength = self.strength(slope_factor);
        self.taps(x, z, cell)
            .map(|(layer, weight, t)| {
                weight * strength * (turn(layer.rotation).transpose() * Vec2::new(t[1], t[2]))
            })
            .sum()
    }

    /// The texel of each layer at (x, z), with all that the texture has.
    pub fn texels(&self, x: f32, z: f32) -> impl Iterator<Item = (&DetailLayer, [f32; 4])> {
        self.taps(x, z, 0.0).map(|(layer, _, texel)| (layer, texel))
    }

    /// The most that [`Detail::height`] can be from 0 at this steepness, in metres.
    pub fn amplitude(&self, slope_factor: f32) -> f32 {
        self.strength(slope_factor)
            * self.params.layers.iter().map(|layer| layer.gain * layer.period).sum::<f32>()
    }

    fn strength(&self, slope_factor: f32) -> f32 {
        self.params.flat + (self.params.steep - self.params.flat) * slope_factor
    }

    /// (layer, fade times gain, texel) of every layer that shows.
    fn taps(&self, x: f32, z: f32, cell: f32) -> impl Iterator<Item = (&DetailLayer, f32, [f32; 4])> {
        self.params.layers.iter().filter_map(move |layer| {
            let fade = 1.0 - smoothstep(layer.period / 24.0, layer.period / 6.0, cell);
            if fade <= 0.0 {
                return None;
            }
            let lod = (cell * SIZE as f32 / layer.period).max(1.0).log2();
            let uv = turn(layer.rotation) * Vec2::new(x, z) / layer.period + layer.offset;
            Some((layer, fade * layer.gain, self.texture.sample(uv, lod)))
        })
    }
}

/// From the world's axes to the tile's.
fn turn(rotation: Vec2) -> Mat2 {
    Mat2::from_cols(Vec2::new(rotation.x, -rotation.y), Vec2::new(rotation.y, rotation.x))
}

fn smoothstep(low: f32, high: f32, value: f32) -> f32 {
    let t = ((value - low) / (high - low)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}
