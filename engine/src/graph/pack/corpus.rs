//! A seeded corpus of random frames: what the packer's quality is measured on, in tests and by `bench pack`.
//!
//! Sizes are those of real frames: render targets at full, half, quarter and eighth resolution in several formats, shadow
//! maps and tables whose sides are powers of two, buffers from 64 B to 64 MiB. Most lifetimes are short, some are long.

use super::{Item, Numbers};

/// Frames that the measure is made on.
pub const FRAMES: u64 = 1000;
/// Fewest transients of a frame.
pub const FEWEST: u64 = 50;
/// Most transients of a frame.
pub const MOST: u64 = 1000;

/// The transients of one frame of the corpus, the same for a seed wherever it is made.
pub fn random_frame(seed: u64) -> Vec<Item> {
    let mut numbers = Numbers::new(seed);
    let count = numbers.logarithmic(FEWEST, MOST);
    let passes = (count / 2 + numbers.below(count)).max(8);
    let resolutions = [[1280, 720], [1920, 1080], [2560, 1440], [3840, 2160]];
    let screen = numbers.one_of(&resolutions).unwrap_or(resolutions[0]);
    let samples = numbers.one_of(&[1, 1, 1, 4]).unwrap_or(1);
    (0..count)
        .map(|_| {
            let (bytes, alignment) = match numbers.below(100) {
                0..45 => target(&mut numbers, screen, samples),
                45..60 => square(&mut numbers),
                _ => buffer(&mut numbers),
            };
            let (first, last) = lifetime(&mut numbers, passes);
            Item { bytes, alignment, first, last }
        })
        .collect()
}

/// A render target: a share of the screen.
fn target(numbers: &mut Numbers, screen: [u64; 2], samples: u64) -> (u64, u64) {
    let scale = numbers.one_of(&[1, 1, 2, 2, 4, 8]).unwrap_or(1);
    let texel = numbers.one_of(&[1, 2, 4, 4, 4, 8, 8, 16]).unwrap_or(4);
    let samples = if scale == 1 && numbers.below(4) == 0 { samples } else { 1 };
    let texels = screen[0].div_ceil(scale) * screen[1].div_ceil(scale);
    let mut bytes = texels * texel * samples;
    if numbers.below(6) == 0 {
        // All mips.
        bytes += bytes / 3;
    }
    image(bytes)
}

/// An image with sides of a power of two: shadow maps, tables, pyramids.
fn square(numbers: &mut Numbers) -> (u64, u64) {
    let side = 1u64 << (5 + numbers.below(7));
    let texel = numbers.one_of(&[2, 4, 4, 8]).unwrap_or(4);
    let layers = numbers.one_of(&[1, 1, 1, 2, 4, 6]).unwrap_or(1);
    let mut bytes = side * side * texel * layers;
    if numbers.below(3) == 0 {
        bytes += bytes / 3;
    }
    image(bytes)
}

/// As drivers place images: small ones in small steps.
fn image(bytes: u64) -> (u64, u64) {
    let alignment = match bytes {
        0..0x1_0000 => 0x400,
        0x1_0000..0x40_0000 => 0x1000,
        _ => 0x1_0000,
    };
    (bytes.next_multiple_of(alignment), alignment)
}

fn buffer(numbers: &mut Numbers) -> (u64, u64) {
    let bytes = numbers.logarithmic(64, 64 << 20);
    let alignment = numbers.one_of(&[256, 256, 256, 4096]).unwrap_or(256);
    // Counters and tables of whole words, and sizes that somebody rounded.
    let step = if numbers.below(2) == 0 { 16 } else { bytes.next_power_of_two() / 4 };
    (bytes.next_multiple_of(step.max(16)), alignment)
}

fn lifetime(numbers: &mut Numbers, passes: u64) -> (u32, u32) {
    let longest = match numbers.below(100) {
        0..72 => 4,
        72..92 => passes / 8,
        _ => passes,
    };
    let length = numbers.below(longest.clamp(1, passes)) + 1;
    let first = numbers.below(passes + 1 - length.min(passes));
    let last = (first + length - 1).min(passes - 1);
    (u32::try_from(first).unwrap_or(0), u32::try_from(last).unwrap_or(u32::MAX))
}
