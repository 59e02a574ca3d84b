//! A small BC1 encoder for pictures that are generated: fast, opaque, without search.
//!
//! A block's colours are laid along their principal axis (as every range fit since S3TC), the ends a little inside of
//! the extremes, and each texel takes the nearest of the four colours by its place on that axis.

use glam::Vec3;

/// The block of 4 x 4 texels, rows from the top: colours from 0 to 255, as stored.
pub fn encode(texels: &[Vec3; 16]) -> [u8; 8] {
    let mean = texels.iter().copied().sum::<Vec3>() / 16.0;
    // Covariance: xx, yy, zz and xy, xz, yz.
    let (mut squares, mut products) = (Vec3::ZERO, Vec3::ZERO);
    for texel in texels {
        let d = *texel - mean;
        squares += d * d;
        products += Vec3::new(d.x * d.y, d.x * d.z, d.y * d.z);
    }
    let mut axis = Vec3::new(0.3, 0.6, 0.1) + squares;
    for _ in 0..3 {
        let next = Vec3::new(
            squares.x * axis.x + products.x * axis.y + products.y * axis.z,
            products.x * axis.x + squares.y * axis.y + products.z * axis.z,
            products.y * axis.x + products.z * axis.y + squares.z * axis.z,
        );
        axis = next.normalize_or(Vec3::ONE);
    }
    let (mut low, mut high) = (f32::INFINITY, f32::NEG_INFINITY);
    for texel in texels {
        let t = axis.dot(*texel - mean);
        (low, high) = (low.min(t), high.max(t));
    }
    let inset = (high - low) / 32.0;
    let (a, b) = (pack(mean + axis * (high - inset)), pack(mean + axis * (low + inset)));
    // The larger number first means four colours; equal numbers mean three, of which the first is that colour.
    let (first, second) = (a.max(b), a.min(b));
    let mut indices = 0u32;
    if first != second {
        let (start, end) = (unpack(first), unpack(second));
        let along = end - start;
        let scale = 3.0 / along.length_squared();
        // Places along the line, in the order that the format numbers them: start, end, one third, two thirds.
        for (i, texel) in texels.iter().enumerate() {
            let third = ((*texel - start).dot(along) * scale + 0.5).clamp(0.0, 3.0) as usize;
            indices |= [0u32, 2, 3, 1][third] << (2 * i);
        }
    }
    let [a0, a1] = first.to_le_bytes();
    let [b0, b1] = second.to_le_bytes();
    let [i0, i1, i2, i3] = indices.to_le_bytes();
    [a0, a1, b0, b1, i0, i1, i2, i3]
}

fn pack(colour: Vec3) -> u16 {
    let part = |value: f32, most: f32| (value.clamp(0.0, 255.0) * most / 255.0 + 0.5) as u16;
    part(colour.x, 31.0) << 11 | part(colour.y, 63.0) << 5 | part(colour.z, 31.0)
}

fn unpack(packed: u16) -> Vec3 {
    let part = |value: u16, most: f32| f32::from(value) * 255.0 / most;
    Vec3::new(part(packed >> 11, 31.0), part(packed >> 5 & 63, 63.0), part(packed & 31, 31.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The format's own words: two colours, and what lies at one and two thirds between.
    fn decode(block: [u8; 8]) -> [Vec3; 16] {
        let (first, second) =
            (u16::from_le_bytes([block[0], block[1]]), u16::from_le_bytes([block[2], block[3]]));
        let (a, b) = (unpack(first), unpack(second));
        let colours = if first > second {
            [a, b, (a * 2.0 + b) / 3.0, (a + b * 2.0) / 3.0]
        } else {
            [a, b, (a + b) / 2.0, Vec3::ZERO]
        };
        let indices = u32::from_le_bytes([block[4], block[5], block[6], block[7]]);
        std::array::from_fn(|i| colours[(indices >> (2 * i) & 3) as usize])
    }

    proptest! {
        #[test]
        fn colours_on_a_line_come_back(
            a in prop::array::uniform3(0f32..255.0), b in prop::array::uniform3(0f32..255.0),
            places in prop::array::uniform16(0f32..=1.0),
        ) {
            let (a, b) = (Vec3::from(a), Vec3::from(b));
            let texels = places.map(|t| a + (b - a) * t);
            let worst = (a - b).length() / 6.0 + 9.0;
            for (was, is) in texels.iter().zip(decode(encode(&texels))) {
                prop_assert!((*was - is).length() <= worst, "{was} became {is}");
            }
        }
    }

    #[test]
    fn one_colour_is_that_colour() {
        for colour in [Vec3::ZERO, Vec3::splat(255.0), Vec3::new(12.0, 200.0, 99.0)] {
            for decoded in decode(encode(&[colour; 16])) {
                assert!((decoded - colour).abs().max_element() <= 4.2, "{colour} became {decoded}");
            }
        }
    }
}
