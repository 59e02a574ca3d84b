//! What lies on the ground at one's feet: a tile of angular stones of all sizes, and of tufts.
//!
//! Stones are cut pyramids of five sides at jittered places, in a few sizes, the highest of them showing; only
//! shading sees them, the mesh does not. `RGBA8_UNORM` (software filters it fast), wrapping, with mips: R = height
//! from 0 (between stones) to 1, in units of 1/[`STEEPNESS`] tiles; G, B = slopes along u and v from
//! -[`GREATEST_SLOPE`] to its opposite; A = tufts from -1 to 1.

use super::noise::{fractal, hash, unit};

/// Texels on a side.
pub const GRAIN_SIZE: usize = 256;
/// Mips, down to one texel.
pub const GRAIN_LEVELS: usize = 9;
/// R for a height of one tile.
const STEEPNESS: f32 = 16.0;
/// The mean of R, that `shaders/lib/ground.wgsl` subtracts.
#[cfg(test)]
const MEAN_HEIGHT: f32 = 0.08;
/// The slope of a full G or B.
const GREATEST_SLOPE: f32 = 2.0;

/// Cells along a side, and the share of them that holds a stone, for each size.
const SIZES: [(u32, f32); 4] = [(8, 0.30), (17, 0.45), (37, 0.60), (79, 0.75)];
/// Cosines and sines of a stone's five sides.
const SIDES: [(f32, f32); 5] =
    [(1.0, 0.0), (0.309, 0.951), (-0.809, 0.588), (-0.809, -0.588), (0.309, -0.951)];

/// All mips of the tile, finest first, texels row by row. The same seed gives the same bits everywhere.
pub fn grain(seed: u32) -> Vec<Vec<[u8; 4]>> {
    let size = GRAIN_SIZE;
    let place = |i: usize| ((i % size) as f32 + 0.5, (i / size) as f32 + 0.5);
    let heights: Vec<f32> = (0..size * size)
        .map(|i| {
            let (x, y) = place(i);
            stones(x / size as f32, y / size as f32, seed)
        })
        .collect();
    let at = |x: usize, y: usize| heights[(y % size) * size + x % size];
    let mut level: Vec<[f32; 4]> = (0..size * size)
        .map(|i| {
            let (x, y) = (i % size, i / size);
            let half = 0.5 * size as f32;
            let (u, v) = place(i);
            let tufts = fractal(u / size as f32, v / size as f32, 26, 4, seed.wrapping_add(77));
            [
                at(x, y) * STEEPNESS,
                0.5 + 0.5 / GREATEST_SLOPE * (at(x + 1, y) - at(x + size - 1, y)) * half,
                0.5 + 0.5 / GREATEST_SLOPE * (at(x, y + 1) - at(x, y + size - 1)) * half,
                0.5 + 0.5 * tufts,
            ]
        })
        .collect();
    let mut levels = Vec::with_capacity(GRAIN_LEVELS);
    for mip in 0..GRAIN_LEVELS {
        levels.push(level.iter().map(|texel| texel.map(to_unorm)).collect());
        let side = size >> mip;
        let half = side / 2;
        level = (0..half * half)
            .map(|i| {
                let (x, y) = (2 * (i % half), 2 * (i / half));
                let four = [y * side + x, y * side + x + 1, (y + 1) * side + x, (y + 1) * side + x + 1];
                std::array::from_fn(|c| 0.25 * four.iter().map(|t| level[*t][c]).sum::<f32>())
            })
            .collect();
    }
    levels
}

fn to_unorm(value: f32) -> u8 {
    (value.clamp(0.0, 1.0) * 255.0).round() as u8
}

/// Height of the highest stone at (u, v), in tiles; 0 between stones.
fn stones(u: f32, v: f32, seed: u32) -> f32 {
    let mut highest = 0.0_f32;
    for (size, (cells, share)) in SIZES.into_iter().enumerate() {
        let (x, y) = (u * cells as f32, v * cells as f32);
        let (column, row) = (x as i32, y as i32);
        for dy in -1..=1 {
            for dx in -1..=1 {
                let wrap = |i: i32| i.rem_euclid(cells as i32) as u32;
                let h = hash(wrap(column + dx) ^ hash(wrap(row + dy) ^ hash(seed.wrapping_add(size as u32))));
                let random = |salt: u32| unit(hash(h ^ salt.wrapping_mul(0x9e37_79b9)));
                if random(1) > share {
                    continue;
                }
                let centre = ((column + dx) as f32 + random(2), (row + dy) as f32 + random(3));
                let (px, py) = (x - centre.0, y - centre.1);
                // Turned and drawn out, so that no two are alike. A direction without sines: two halves of -1 to 1.
                let (a, b) = (random(4) * 2.0 - 1.0, random(5) * 2.0 - 1.0);
                let length = (a * a + b * b).sqrt().max(1e-3);
                let (cos, sin) = (a / length, b / length);
                let (px, py) = (cos * px + sin * py, (cos * py - sin * px) * (1.0 + 0.7 * random(6)));
                let radius = 0.22 + 0.24 * random(7);
                let out = SIDES
                    .iter()
                    .zip(10..)
                    .map(|((c, s), side)| (c * px + s * py) * (0.65 + 0.6 * random(side)))
                    .fold(0.0, f32::max);
                // A slope up from the rim, then a top that is tilted a little.
                let top = radius * (0.55 + 0.3 * random(8)) + 0.25 * px * (random(9) - 0.5);
                let height = ((radius - out) * 1.9).min(top);
                highest = highest.max(height / cells as f32);
            }
        }
    }
    highest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tile_is_whole_and_has_stones_and_ground_between_them() {
        let levels = grain(3);
        assert_eq!(levels.len(), GRAIN_LEVELS);
        for (mip, level) in levels.iter().enumerate() {
            assert_eq!(level.len(), (GRAIN_SIZE >> mip).pow(2));
        }
        let heights: Vec<f32> = levels[0].iter().map(|texel| f32::from(texel[0]) / 255.0).collect();
        let bare = heights.iter().filter(|h| **h <= 0.0).count();
        let highest = heights.iter().copied().fold(0.0, f32::max);
        assert!(bare * 20 > heights.len() && bare * 2 < heights.len(), "{bare} of {} bare", heights.len());
        assert!((0.4..1.0).contains(&highest), "{highest}");
        let mean = f32::from(levels[GRAIN_LEVELS - 1][0][0]) / 255.0;
        assert!((mean - MEAN_HEIGHT).abs() < 0.02, "{mean}: shaders subtract {MEAN_HEIGHT}");
        assert_ne!(grain(3), grain(4));
    }

    #[test]
    fn the_seam_is_no_rougher_than_the_rest() {
        let heights: Vec<f32> = grain(1)[0].iter().map(|texel| f32::from(texel[0])).collect();
        let step = |column: usize| {
            let next = (column + 1) % GRAIN_SIZE;
            (0..GRAIN_SIZE)
                .map(|row| row * GRAIN_SIZE)
                .map(|row| (heights[row + column] - heights[row + next]).abs())
                .sum::<f32>()
        };
        let inner = (0..GRAIN_SIZE - 1).map(step).fold(0.0, f32::max);
        assert!(step(GRAIN_SIZE - 1) <= inner);
    }
}
