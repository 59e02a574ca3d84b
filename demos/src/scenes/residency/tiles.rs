//! The island as tiles: any part of any mip, made when it is asked for, as BC1 blocks.

use glam::{Vec2, Vec3};
use vasa::sparse::tiles::TexelRegion;
use vasa::streaming::TileSource;

use super::bc1;
use super::colours::{Colours, DEEP};
use super::label::Labels;
use super::shape::{Place, SIDE, Shape};

/// Width and height of the image.
pub const TEXELS: u32 = 16384;
/// The mip from which on mips are made by halving: its texels are as large as fields.
const HALVED_FROM: u32 = 6;
/// Texels from one point of the lattice to the next.
const LATTICE: u32 = 8;

/// Makes the texels of the island.
#[derive(Debug)]
pub struct IslandSource {
    shape: Shape,
    labels: Labels,
    seed: u32,
    to_srgb: Vec<f32>,
}

impl IslandSource {
    /// The island of a seed, in the light of a sun at a compass azimuth in degrees.
    pub fn new(seed: u32, azimuth: f32) -> Self {
        let srgb = |i: u32| {
            let x = i as f32 / 4095.0;
            255.0 * if x <= 0.003_130_8 { 12.92 * x } else { 1.055 * x.powf(1.0 / 2.4) - 0.055 }
        };
        Self {
            shape: Shape::new(seed, azimuth),
            labels: Labels { tile: [512, 256] },
            seed,
            to_srgb: (0..4096).map(srgb).collect(),
        }
    }

    /// Linear colours of a region of a mip, rows from the top.
    fn colours(&self, mip: u32, region: TexelRegion) -> Vec<Vec3> {
        if mip > HALVED_FROM {
            return self.halved(mip);
        }
        let side = SIDE / TEXELS as f32 * (1 << mip) as f32;
        let colours = Colours { shape: &self.shape, side, seed: self.seed };
        let [width, height, _] = region.extent;
        let [left, top, _] = region.offset;
        let columns = width.div_ceil(LATTICE) + 1;
        let step = LATTICE as f32 * side;
        let mut points = Vec::with_capacity((columns * (height.div_ceil(LATTICE) + 1)) as usize);
        for y in 0..=height.div_ceil(LATTICE) {
            for x in 0..columns {
                // A lattice of its own for each mip: neighbouring tiles share its points.
                let at = Vec2::new((left / LATTICE + x) as f32, (top / LATTICE + y) as f32) * step;
                points.push(self.shape.place(at, 1.5 * step));
            }
        }
        let mut texels = Vec::with_capacity((width * height) as usize);
        for y in 0..height {
            let (row, v) = (y / LATTICE * columns, ((y % LATTICE) as f32 + 0.5) / LATTICE as f32);
            for x in 0..width {
                let (column, u) = (x / LATTICE, ((x % LATTICE) as f32 + 0.5) / LATTICE as f32);
                let at = |row: u32, column: u32| -> Place { points[(row + column) as usize] };
                let upper = at(row, column).mix(at(row, column + 1), u);
                let lower = at(row + columns, column).mix(at(row + columns, column + 1), u);
                let p = (Vec2::new((left + x) as f32, (top + y) as f32) + 0.5) * side;
                let mut colour = colours.at(p, &upper.mix(lower, v));
                let (white, dark) = self.labels.ink((left + x) << mip, (top + y) << mip, 1 << mip);
                if white + dark > 0.0 {
                    colour = colour * (1.0 - 0.85 * white - 0.55 * dark) + Vec3::splat(0.85 * 0.72 * white);
                }
                texels.push(colour);
            }
        }
        texels
    }

    /// All of a mip, by halving a finer one.
    fn halved(&self, mip: u32) -> Vec<Vec3> {
        let mut side = TEXELS >> HALVED_FROM;
        let all = TexelRegion { offset: [0; 3], extent: [side, side, 1] };
        let mut texels = self.colours(HALVED_FROM, all);
        for _ in HALVED_FROM..mip {
            let (from, to) = (side as usize, (side / 2).max(1) as usize);
            let mean = |i: usize| {
                let (x, y) = (i % to * 2, i / to * 2);
                let at = |x: usize, y: usize| texels[y.min(from - 1) * from + x.min(from - 1)];
                (at(x, y) + at(x + 1, y) + at(x, y + 1) + at(x + 1, y + 1)) * 0.25
            };
            texels = (0..to * to).map(mean).collect();
            side = to as u32;
        }
        texels
    }

    fn stored(&self, colour: Vec3) -> Vec3 {
        let one = |x: f32| self.to_srgb[(x.clamp(0.0, 1.0) * 4095.0 + 0.5) as usize];
        Vec3::new(one(colour.x), one(colour.y), one(colour.z))
    }
}

impl TileSource for IslandSource {
    fn fill(&self, mip: u32, region: TexelRegion, bytes: &mut [u8]) {
        let texels: Vec<Vec3> = self.colours(mip, region).into_iter().map(|c| self.stored(c)).collect();
        let [width, height, _] = region.extent.map(|side| side as usize);
        let blocks = width.div_ceil(4);
        for (index, block) in bytes.chunks_exact_mut(8).enumerate() {
            let (x, y) = (index % blocks * 4, index / blocks * 4);
            // Mips of one or two texels are a block all the same.
            let texel =
                |i: usize| texels.get((y + i / 4).min(height - 1) * width + (x + i % 4).min(width - 1));
            let all: [Vec3; 16] = std::array::from_fn(|i| texel(i).copied().unwrap_or(DEEP));
            block.copy_from_slice(&bc1::encode(&all));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(x: u32, y: u32, width: u32, height: u32) -> TexelRegion {
        TexelRegion { offset: [x, y, 0], extent: [width, height, 1] }
    }

    #[test]
    fn a_coarser_mip_shows_the_mean_of_the_finer_one() {
        let source = IslandSource::new(1, 118.0);
        for mip in 0..HALVED_FROM {
            let (mut worst, mut sum, mut count) = (0f32, 0.0, 0);
            // Squares of 64 texels of the finer mip, all over the image.
            for i in 0..36 {
                let side = TEXELS >> mip;
                let (x, y) = ((side / 7 * (1 + i % 6)) / 64 * 64, (side / 7 * (1 + i / 6)) / 64 * 64);
                let mean = |texels: Vec<Vec3>| texels.iter().copied().sum::<Vec3>() / texels.len() as f32;
                let fine = source.stored(mean(source.colours(mip, region(x, y, 64, 64))));
                let coarse = source.stored(mean(source.colours(mip + 1, region(x / 2, y / 2, 32, 32))));
                let difference = (fine - coarse).abs().max_element();
                (worst, sum, count) = (worst.max(difference), sum + difference, count + 1);
            }
            let mean = sum / count as f32;
            println!("mip {mip}: mean {mean}, worst {worst}");
            assert!(mean < 4.0 && worst < 20.0, "mip {mip}: mean {mean}, worst {worst} of 255");
        }
    }

    #[test]
    fn tiles_fit_together_and_no_two_are_alike() {
        let source = IslandSource::new(1, 118.0);
        let both = source.colours(0, region(8192 - 32, 8000, 64, 32));
        let right = source.colours(0, region(8192, 8000, 32, 32));
        for y in 0..32 {
            assert_eq!(both[y * 64 + 32..y * 64 + 64], right[y * 32..y * 32 + 32], "row {y}");
        }
        let tile = |x: u32, y: u32| {
            let mut bytes = vec![0; 65536];
            source.fill(0, region(x * 512, y * 256, 512, 256), &mut bytes);
            bytes
        };
        assert!(tile(0, 0) != tile(1, 0) && tile(0, 0) != tile(0, 1), "open sea, told apart by its labels");
        assert!(tile(15, 30) == tile(15, 30));
    }

    #[test]
    fn the_edge_is_the_colour_of_what_lies_beyond() {
        let source = IslandSource::new(1, 118.0);
        // From here on without labels.
        for mip in 4..=6 {
            let side = TEXELS >> mip;
            for texel in source.colours(mip, region(0, 0, side, 4)) {
                assert!((source.stored(texel) - source.stored(DEEP)).abs().max_element() < 6.0, "mip {mip}");
            }
        }
    }
}
