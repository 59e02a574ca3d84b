//! What `shaders/vt/compress.wgsl` does, on the CPU and bit for bit the same: packing and the encoders of BC1, BC3, BC4
//! and BC5. And decoders, to measure what they do.
//!
//! ```text
//! texels of targets --pack(kind)--> texels of layers --block(format)--> words  <--decode-- values
//! ```
//!
//! There is no float in it: texels are 8 bits, everything after is whole numbers below 2^31. So equality of the two is a
//! test, and a page looks the same on every device.

mod colour;
mod decode;
mod pack;
mod scalar;
#[cfg(test)]
mod tests;

use crate::vt::Kind;
use crate::vt::LayerFormat;

pub use colour::encode as encode_colour;
pub use decode::{colour as decode_colour, scalar as decode_scalar};
pub use pack::{pack, scale, unit_normals, ycocg};
pub use scalar::encode as encode_scalar;

/// One channel of 16 texels, row after row, each 0..=255.
pub type Block = [i32; 16];
/// Four channels of 16 texels.
pub type Texels = [Block; 4];

/// Sum over a block.
fn sum(block: &Block, f: impl Fn(i32) -> i32) -> i32 {
    block.iter().map(|v| f(*v)).sum()
}

/// A block of a format: two words for those of 8 bytes, four for those of 16, nothing for formats without blocks. `scale`
/// is how much colour channels count, see [`encode_colour`].
pub fn block(format: LayerFormat, texels: &Texels, scale: [i32; 3]) -> Vec<u32> {
    let [r, g, b, a] = texels;
    let colour = || encode_colour(&[*r, *g, *b], scale);
    match format {
        LayerFormat::Bc1 => colour().to_vec(),
        LayerFormat::Bc3 => [encode_scalar(a), colour()].concat(),
        LayerFormat::Bc4 => encode_scalar(r).to_vec(),
        LayerFormat::Bc5 => [encode_scalar(r), encode_scalar(g)].concat(),
        _ => Vec::new(),
    }
}

/// What a block of a format holds, 0..=1; channels that it does not have are 0, alpha 1.
pub fn decode(format: LayerFormat, words: &[u32]) -> [[f32; 4]; 16] {
    let half = |at: usize| [word(words, at), word(words, at + 1)];
    let (one, two) = (half(0), half(2));
    match format {
        LayerFormat::Bc1 => decode_colour(one, false).map(|[r, g, b]| [r, g, b, 1.0]),
        LayerFormat::Bc3 => {
            let (alpha, colour) = (decode_scalar(one), decode_colour(two, true));
            std::array::from_fn(|i| [colour[i][0], colour[i][1], colour[i][2], alpha[i]])
        }
        LayerFormat::Bc4 => decode_scalar(one).map(|r| [r, 0.0, 0.0, 1.0]),
        LayerFormat::Bc5 => {
            let (red, green) = (decode_scalar(one), decode_scalar(two));
            std::array::from_fn(|i| [red[i], green[i], 0.0, 1.0])
        }
        _ => [[0.0; 4]; 16],
    }
}

fn word(words: &[u32], at: usize) -> u32 {
    words.get(at).copied().unwrap_or(0)
}

/// The layers of a page of a kind, packed: 8-bit texels, row after row. `targets` are those it is drawn into, RGBA of
/// `side` x `side` texels; what is missing counts as zeros.
pub fn texels(kind: Kind, targets: &[&[[u8; 4]]], side: usize) -> Vec<Vec<[u8; 4]>> {
    let mut layers = vec![vec![[0; 4]; side * side]; kind.blocks().len()];
    for_blocks(kind, targets, side, |corner, packed| {
        for (layer, texels) in layers.iter_mut().zip(packed) {
            let place = |i: usize| corner + i / 4 * side + i % 4;
            (0..16).for_each(|i| {
                if let Some(texel) = layer.get_mut(place(i)) {
                    *texel = std::array::from_fn(|c| texels[c][i] as u8);
                }
            });
        }
    });
    layers
}

/// The layers of a page of a kind, compressed: words of blocks, row after row. See [`texels`].
pub fn blocks(kind: Kind, targets: &[&[[u8; 4]]], side: usize) -> Vec<Vec<u32>> {
    let formats = kind.blocks();
    let mut layers = vec![Vec::new(); formats.len()];
    for_blocks(kind, targets, side, |_, packed| {
        for (index, format) in formats.iter().enumerate() {
            layers[index].extend(block(*format, &packed[index], scale(kind, index)));
        }
    });
    layers
}

fn for_blocks(kind: Kind, targets: &[&[[u8; 4]]], side: usize, mut f: impl FnMut(usize, &[Texels; 3])) {
    for y in (0..side / 4 * 4).step_by(4) {
        for x in (0..side / 4 * 4).step_by(4) {
            let corner = y * side + x;
            let target = |t: usize| -> Texels {
                std::array::from_fn(|c| {
                    std::array::from_fn(|i| {
                        let texel = targets.get(t).and_then(|all| all.get(corner + i / 4 * side + i % 4));
                        texel.map_or(0, |texel| i32::from(texel[c]))
                    })
                })
            };
            f(corner, &pack(kind, &[target(0), target(1), target(2)]));
        }
    }
}
