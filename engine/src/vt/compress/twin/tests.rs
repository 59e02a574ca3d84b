//! Encoders against the definition of the formats, and against what is asked of quality.

use proptest::prelude::*;

use super::*;
use crate::vt::compress::Kind;

fn channel(values: impl Fn(usize) -> i32) -> Block {
    std::array::from_fn(|i| values(i).clamp(0, 255))
}

/// Mean squared error in steps of 255.
fn colour_error(texels: &[Block; 3], words: [u32; 2], has_four: bool) -> f64 {
    let decoded = decode_colour(words, has_four);
    let of = |i: usize, c: usize| f64::from(decoded[i][c]) * 255.0 - f64::from(texels[c][i]);
    (0..48).map(|k| of(k / 3, k % 3).powi(2)).sum::<f64>() / 48.0
}

fn scalar_error(texels: &Block, words: [u32; 2]) -> f64 {
    let decoded = decode_scalar(words);
    (0..16).map(|i| (f64::from(decoded[i]) * 255.0 - f64::from(texels[i])).powi(2)).sum::<f64>() / 16.0
}

/// The least error of any two endpoints, when they are only tried at the corners of the block's box.
fn corner_error(texels: &[Block; 3]) -> f64 {
    let low: [f64; 3] = std::array::from_fn(|c| f64::from(*texels[c].iter().min().unwrap()));
    let high: [f64; 3] = std::array::from_fn(|c| f64::from(*texels[c].iter().max().unwrap()));
    let mut least = f64::MAX;
    for flip in 0..4 {
        let (mut a, mut b) = (low, high);
        for c in 0..2 {
            if flip >> c & 1 == 1 {
                std::mem::swap(&mut a[c], &mut b[c]);
            }
        }
        let top = [31.0, 63.0, 31.0];
        let q = |v: [f64; 3]| -> [f64; 3] {
            std::array::from_fn(|c| ((v[c] * top[c] / 255.0).round() * 255.0 / top[c]).round())
        };
        let (a, b) = (q(a), q(b));
        let error: f64 = (0..16)
            .map(|i| {
                (0..4)
                    .map(|k| {
                        let k = f64::from(k) / 3.0;
                        (0..3)
                            .map(|c| (a[c] * (1.0 - k) + b[c] * k - f64::from(texels[c][i])).powi(2))
                            .sum::<f64>()
                    })
                    .fold(f64::MAX, f64::min)
            })
            .sum();
        least = least.min(error / 48.0);
    }
    least
}

fn block_strategy() -> impl Strategy<Value = Block> {
    let noise = prop::array::uniform16(0i32..256);
    let ramp =
        (0i32..256, -20i32..20, -20i32..20, 0i32..6, any::<u32>()).prop_map(|(start, x, y, noise, seed)| {
            channel(|i| {
                let hash = (seed ^ i as u32).wrapping_mul(0x9e37_79b9) >> 16;
                start + x * (i as i32 % 4) + y * (i as i32 / 4) + (hash as i32 % (noise + 1))
            })
        });
    let two = (0i32..256, 0i32..256, any::<u16>())
        .prop_map(|(a, b, which)| channel(|i| if which >> i & 1 == 1 { a } else { b }));
    prop_oneof![noise, ramp, two]
}

#[test]
fn a_flat_colour_is_as_near_as_the_format_allows() {
    for value in 0..256 {
        for colour in [[value, value, value], [value, 255 - value, 7], [0, value, 255]] {
            let texels = colour.map(|v| [v; 16]);
            let decoded = decode_colour(encode_colour(&texels, [1; 3]), false)[0];
            for c in 0..3 {
                let off = (decoded[c] * 255.0 - colour[c] as f32).abs();
                // One third of the way between two levels of 5 bits, or of 6.
                assert!(off <= if c == 1 { 0.7 } else { 1.5 }, "{colour:?} became {decoded:?}");
            }
        }
    }
}

#[test]
fn one_channel_of_steps_of_one_is_exact() {
    for low in 0..=255 {
        for range in 0..=7 {
            let texels = channel(|i| (low + i as i32 % (range + 1)).min(255));
            assert!(scalar_error(&texels, encode_scalar(&texels)) < 1e-4, "{low} {range}");
        }
    }
}

#[test]
fn masks_of_nothing_and_everything_are_exact() {
    for bits in [0u16, 1, 0x00ff, 0x5555, 0xfffe, 0xffff] {
        let texels = channel(|i| if bits >> i & 1 == 1 { 255 } else { 0 });
        assert_eq!(scalar_error(&texels, encode_scalar(&texels)), 0.0, "{bits:x}");
    }
    // 0, 255 and a narrow band between them: the mode of six values.
    let texels = channel(|i| [0, 255, 100, 101, 102, 103, 104, 105][i % 8]);
    let words = encode_scalar(&texels);
    assert!(words[0] & 255 <= words[0] >> 8 & 255, "the smaller endpoint comes first: {words:x?}");
    assert!(scalar_error(&texels, words) < 1e-6);
}

#[test]
fn a_grey_ramp_stays_grey() {
    let (mut most, mut total, mut count) = (0.0f32, 0.0, 0);
    for start in 0..240 {
        for slope in 0..6 {
            let grey = channel(|i| start + slope * (i as i32 % 4) + i as i32 / 4);
            let decoded = decode_colour(encode_colour(&[grey; 3], [1; 3]), false);
            for [r, g, b] in decoded {
                assert_eq!(r, b);
                most = most.max((r - g).abs() * 255.0);
                total += (r - g).abs() * 255.0;
                count += 1;
            }
        }
    }
    let mean = total / count as f32;
    assert!(most <= 3.4 && mean <= 0.8, "red and green differ by at most {most}, {mean} on average");
}

#[test]
fn greys_have_no_chroma_at_all() {
    for value in 0..256 {
        let base = [[value; 16], [value; 16], [value; 16], [255; 16]];
        let [layer, ..] = pack(Kind::BaseColorNormalSpecularYCoCg, &[base, [[128; 16]; 4], [[128; 16]; 4]]);
        let words = block(LayerFormat::Bc3, &layer, [1; 3]);
        for [co, cg, b, y] in decode(LayerFormat::Bc3, &words) {
            let off = [co - 132.0 / 255.0, cg - 130.0 / 255.0, b - 231.0 / 255.0, y - value as f32 / 255.0];
            assert!(off.iter().all(|v| v.abs() < 1e-6), "{value}: {off:?}");
        }
    }
}

#[test]
fn blended_normals_become_unit_normals() {
    let mut most = 0.0f64;
    for i in 0..4096u32 {
        let (angle, tilt) = (f64::from(i) * 2.399_963, (f64::from(i) / 4096.0 * 1.3).sin());
        let n = [tilt * angle.cos(), tilt * angle.sin(), (1.0 - tilt * tilt).sqrt()];
        for length in [1.0, 0.7] {
            let code = |v: f64| (v * length * 127.0 + 128.0).round() as i32;
            let [x, y, z] = pack::unit_normals(&[code(n[0]); 16], &[code(n[1]); 16], &[code(n[2]); 16]);
            let got = [x[0], y[0], z[0]].map(|code| (f64::from(code) - 128.0) / 127.0);
            let norm = got.iter().map(|v| v * v).sum::<f64>().sqrt();
            assert!((norm - 1.0).abs() < 0.01, "{n:?} became {got:?}");
            let dot = (0..3).map(|c| n[c] * got[c] / norm).sum::<f64>().min(1.0);
            most = most.max(dot.acos().to_degrees());
        }
    }
    assert!(most < 0.9, "{most} degrees");
}

#[test]
fn the_weight_of_a_channel_is_felt() {
    // Two channels that have nothing to do with each other: the second is to come out better when it counts for more.
    let hash = |i: usize, salt: u32| ((i as u32 * 7 + salt).wrapping_mul(0x9e37_79b9) >> 24) as i32;
    let green_error = |scale| -> f64 {
        (0..64u32)
            .map(|salt| {
                let texels = [channel(|i| hash(i, salt)), channel(|i| hash(i, salt + 999)), [0; 16]];
                let decoded = decode_colour(encode_colour(&texels, scale), true);
                (0..16)
                    .map(|i| (f64::from(decoded[i][1]) * 255.0 - f64::from(texels[1][i])).powi(2))
                    .sum::<f64>()
            })
            .sum()
    };
    assert!(green_error([1, 2, 1]) < 0.5 * green_error([1; 3]));
}

proptest! {
    #[test]
    fn colour_is_in_the_mode_of_four_and_no_worse_than_the_box(
        r in block_strategy(), g in block_strategy(), b in block_strategy()
    ) {
        let texels = [r, g, b];
        let words = encode_colour(&texels, [1; 3]);
        let (first, last) = (words[0] & 0xffff, words[0] >> 16);
        prop_assert!(first > last || words[1] == 0);
        let error = colour_error(&texels, words, false);
        prop_assert!(error <= 1.05 * corner_error(&texels) + 0.5, "{error} of {}", corner_error(&texels));
        prop_assert_eq!(words[1] == 0 && first <= last || error == colour_error(&texels, words, true), true);
    }

    #[test]
    fn one_channel_is_within_half_a_step(texels in block_strategy()) {
        let words = encode_scalar(&texels);
        let range = f64::from(texels.iter().max().unwrap() - texels.iter().min().unwrap());
        let error = scalar_error(&texels, words);
        // Uniform in a step: its square by twelve; at most half a step.
        prop_assert!(error <= (range / 14.0).powi(2) + 1e-6, "{error} of a range of {range}");
    }

    #[test]
    fn what_is_decoded_lies_near_the_range_of_what_was_encoded(texels in block_strategy()) {
        let decoded = decode_scalar(encode_scalar(&texels));
        let (low, high) = (*texels.iter().min().unwrap(), *texels.iter().max().unwrap());
        let slack = ((high - low) as f32 / 7.0).max(8.0);
        for (got, was) in decoded.iter().zip(texels) {
            prop_assert!(got * 255.0 >= low as f32 - slack && got * 255.0 <= high as f32 + slack);
            prop_assert!((got * 255.0 - was as f32).abs() <= (high - low) as f32 / 4.0 + 1.0);
        }
    }

    #[test]
    fn packing_gives_bytes(values in prop::collection::vec(any::<u8>(), 12 * 16)) {
        let target = |t: usize| -> Texels {
            std::array::from_fn(|c| channel(|i| i32::from(values[(t * 4 + c) * 16 + i])))
        };
        for kind in Kind::ALL {
            for layer in pack(kind, &[target(0), target(1), target(2)]) {
                for channel in layer {
                    prop_assert!(channel.iter().all(|v| (0..=255).contains(v)));
                }
            }
        }
    }
}
