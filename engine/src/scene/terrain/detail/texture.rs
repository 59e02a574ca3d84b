//! Making the tile: noise, erosion, slopes, mips, half floats.

use glam::Vec2;

use super::erosion::erode;
use super::noise::{fractal, ridged};

/// Texels on a side of the finest level; a power of two.
pub const SIZE: usize = 512;
/// Lattice cells of the widest forms across the tile: about two pixels wide for the coarsest layer.
const WIDEST: u32 = 7;
/// Relief of the tile in texels while droplets run over it: steep enough for them to dig.
const EROSION_RELIEF: f32 = 42.0;
const DROPLETS: u32 = 90_000;

/// The detail texture with all its mips. See the [module](super) for what the channels mean.
#[derive(Clone, Debug, PartialEq)]
pub struct DetailTexture {
    /// Finest first; each level is its texels row by row, as half floats.
    levels: Vec<Vec<[u16; 4]>>,
    /// The same as floats, for the processor's use.
    decoded: Vec<Vec<[f32; 4]>>,
}

impl DetailTexture {
    /// Makes the tile of a seed. The same seed gives the same bits everywhere.
    pub fn generate(seed: u32) -> DetailTexture {
        let mut raw = vec![[0.0; 2]; SIZE * SIZE];
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(16);
        let rows = SIZE.div_ceil(threads);
        std::thread::scope(|scope| {
            for (part, texels) in raw.chunks_mut(rows * SIZE).enumerate() {
                scope.spawn(move || {
                    for (i, texel) in texels.iter_mut().enumerate() {
                        let (x, y) = (i % SIZE, part * rows + i / SIZE);
                        let (u, v) = ((x as f32 + 0.5) / SIZE as f32, (y as f32 + 0.5) / SIZE as f32);
                        *texel = [raw_height(u, v, seed), fractal(u, v, 5, 5, seed.wrapping_add(7001))];
                    }
                });
            }
        });
        let mut heights: Vec<f32> = raw.iter().map(|texel| texel[0]).collect();
        let mut tints: Vec<f32> = raw.iter().map(|texel| texel[1]).collect();
        normalise(&mut heights);
        for height in &mut heights {
            *height *= EROSION_RELIEF;
        }
        erode(&mut heights, SIZE, DROPLETS, seed.wrapping_add(9001));
        soften(&mut heights);
        normalise(&mut heights);
        normalise(&mut tints);

        let at = |x: usize, y: usize| heights[(y % SIZE) * SIZE + x % SIZE];
        let scale = 0.5 * SIZE as f32;
        let finest = (0..SIZE * SIZE).map(|i| {
            let (x, y) = (i % SIZE, i / SIZE);
            let slope_u = (at(x + 1, y) - at(x + SIZE - 1, y)) * scale;
            let slope_v = (at(x, y + 1) - at(x, y + SIZE - 1)) * scale;
            [heights[i], slope_u, slope_v, tints[i]]
        });
        DetailTexture::from_finest(finest.collect())
    }

    fn from_finest(finest: Vec<[f32; 4]>) -> DetailTexture {
        let mut floats = vec![finest];
        let mut size = SIZE;
        while size > 1 {
            let half = size / 2;
            let fine = &floats[floats.len() - 1];
            let coarse = (0..half * half)
                .map(|i| {
                    let (x, y) = (2 * (i % half), 2 * (i / half));
                    let block = [y * size + x, y * size + x + 1, (y + 1) * size + x, (y + 1) * size + x + 1];
                    std::array::from_fn(|c| 0.25 * block.iter().map(|&t| fine[t][c]).sum::<f32>())
                })
                .collect();
            floats.push(coarse);
            size = half;
        }
        let levels: Vec<Vec<[u16; 4]>> =
            floats.iter().map(|level| level.iter().map(|t| t.map(f32_to_f16)).collect()).collect();
        let decoded = levels.iter().map(|level| level.iter().map(|t| t.map(f16_to_f32)).collect()).collect();
        DetailTexture { levels, decoded }
    }

    /// Levels of the mip chain, down to one texel.
    pub fn level_count(&self) -> usize {
        self.levels.len()
    }

    /// Texels of a level as `RGBA16_SFLOAT`, `SIZE >> level` on a side; empty past the last level.
    pub fn level(&self, level: usize) -> &[[u16; 4]] {
        self.levels.get(level).map_or(&[], Vec::as_slice)
    }

    /// Trilinear sample at `uv` (one tile is 0 to 1, wrapping), at a level of detail.
    pub fn sample(&self, uv: Vec2, lod: f32) -> [f32; 4] {
        let last = self.decoded.len() - 1;
        let lod = lod.max(0.0).min(last as f32);
        let level = lod as usize;
        let fraction = lod - level as f32;
        let fine = self.bilinear(uv, level);
        if fraction <= 0.0 {
            return fine;
        }
        let coarse = self.bilinear(uv, (level + 1).min(last));
        std::array::from_fn(|c| fine[c] + (coarse[c] - fine[c]) * fraction)
    }

    fn bilinear(&self, uv: Vec2, level: usize) -> [f32; 4] {
        let size = SIZE >> level;
        let place = (uv - uv.floor()) * size as f32 - 0.5;
        let (floor, f) = (place.floor(), place - place.floor());
        // From -1 (just left of the first centre) to size - 1; casting saturates whatever else comes.
        let wrap = |i: f32| (i as i64).rem_euclid(size as i64) as usize;
        let (x0, y0) = (wrap(floor.x), wrap(floor.y));
        let (x1, y1) = ((x0 + 1) % size, (y0 + 1) % size);
        let texels = &self.decoded[level];
        let (a, b) = (texels[y0 * size + x0], texels[y0 * size + x1]);
        let (c, d) = (texels[y1 * size + x0], texels[y1 * size + x1]);
        std::array::from_fn(|i| {
            let top = a[i] + (b[i] - a[i]) * f.x;
            let bottom = c[i] + (d[i] - c[i]) * f.x;
            top + (bottom - top) * f.y
        })
    }
}

/// Relief before the water comes: crests bent by a slow warp, with some even ground between.
fn raw_height(u: f32, v: f32, seed: u32) -> f32 {
    let warp = |salt: u32| 0.035 * fractal(u, v, 5, 3, seed.wrapping_add(salt));
    let (u, v) = (u + warp(3001), v + warp(4001));
    let crests = ridged(u, v, WIDEST, 5, seed);
    let swell = fractal(u, v, WIDEST, 6, seed.wrapping_add(5001));
    0.75 * crests + 0.55 * swell
}

/// One light blur over the wrapping field: takes the single-texel scars that droplets leave.
fn soften(heights: &mut [f32]) {
    let pass = |from: &[f32], stride: usize| -> Vec<f32> {
        (0..from.len())
            .map(|i| {
                // Along rows (stride 1) or columns, wrapping inside the row or the column.
                let (line, along) =
                    if stride == 1 { (i / SIZE * SIZE, i % SIZE) } else { (i % SIZE, i / SIZE) };
                let at = |k: usize| from[line + (k % SIZE) * stride];
                0.2 * at(along + SIZE - 1) + 0.6 * at(along) + 0.2 * at(along + 1)
            })
            .collect()
    };
    let rows = pass(heights, 1);
    heights.copy_from_slice(&pass(&rows, SIZE));
}

/// Shifts and scales to mean 0 and a greatest distance of 1 from it.
fn normalise(values: &mut [f32]) {
    let mean = (values.iter().map(|&v| f64::from(v)).sum::<f64>() / values.len() as f64) as f32;
    let greatest = values.iter().map(|v| (v - mean).abs()).fold(0.0, f32::max).max(f32::MIN_POSITIVE);
    for value in values {
        *value = (*value - mean) / greatest;
    }
}

/// The nearest half float, ties to even; beyond the range, infinity.
pub fn f32_to_f16(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = (bits >> 16 & 0x8000) as u16;
    let magnitude = bits & 0x7fff_ffff;
    if magnitude > 0x7f80_0000 {
        return sign | 0x7e00;
    }
    // 65520 and above round to infinity.
    if magnitude >= 0x477f_f000 {
        return sign | 0x7c00;
    }
    if magnitude < 0x3880_0000 {
        // Subnormal: in units of 2^-24, which the product gives exactly; then round to even.
        let units = f32::from_bits(magnitude) * 16_777_216.0;
        return sign | units.round_ties_even() as u16;
    }
    let rounded = magnitude + 0x0fff + (magnitude >> 13 & 1);
    sign | ((rounded - 0x3800_0000) >> 13) as u16
}

/// The value of a half float.
pub fn f16_to_f32(half: u16) -> f32 {
    let sign = u32::from(half & 0x8000) << 16;
    let magnitude = u32::from(half & 0x7fff);
    let bits = match magnitude {
        0x7c00.. => 0x7f80_0000 | (magnitude & 0x3ff) << 13,
        0x0400.. => (magnitude << 13) + 0x3800_0000,
        _ => (magnitude as f32 / 16_777_216.0).to_bits(),
    };
    f32::from_bits(sign | bits)
}
