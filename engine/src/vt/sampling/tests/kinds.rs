//! What goes in comes out, within what the formats hold.

use proptest::prelude::*;

use super::super::kinds::{decode_ycocg, encode_ycocg};
use super::super::*;

fn share() -> impl Strategy<Value = f32> {
    0.0f32..=1.0
}

fn surface() -> impl Strategy<Value = Surface> {
    let normal = (0.0f32..6.3, -0.999f32..0.999).prop_map(|(around, up)| {
        let flat = (1.0 - up * up).sqrt();
        [around.cos() * flat, up, around.sin() * flat]
    });
    (prop::array::uniform3(share()), share(), normal, share(), prop::array::uniform4(share()), share())
        .prop_map(|(base_colour, roughness, normal, specular, mask, height)| Surface {
            base_colour,
            roughness,
            normal,
            specular,
            mask,
            height,
        })
}

fn near(a: f32, b: f32) -> bool {
    (a - b).abs() < 2e-3
}

/// The nearest code of so many bits, widened to 8 as decoders do: by repeating its first bits.
fn rounded(x: f32, bits: u32) -> f32 {
    let code = (x * ((1u32 << bits) - 1) as f32).round() as u32;
    (code << (8 - bits) | code >> (2 * bits - 8)) as f32 / 255.0
}

proptest! {
    #[test]
    fn what_low_quality_stores_comes_back(surface in surface()) {
        let back = Attributes::unpack_low(surface.encode().pack_low()).decode();
        for (a, b) in surface.base_colour.into_iter().zip(back.base_colour) {
            prop_assert!(near(a, b), "{} {}", a, b);
        }
        prop_assert!(near(back.roughness, surface.roughness));
        if surface.normal[1] > 0.0 {
            let cosine: f32 = surface.normal.iter().zip(back.normal).map(|(a, b)| a * b).sum();
            prop_assert!(cosine > 0.9999, "{:?} {:?}", surface.normal, back.normal);
        }
    }

    #[test]
    fn what_a_kind_stores_comes_back(surface in surface(), kind in prop::sample::select(Kind::ALL.to_vec())) {
        let layers = surface.encode().pack(kind);
        prop_assert!(layers.iter().flatten().all(|code| (-1e-6..=1.000001).contains(code)), "{:?}", layers);
        let back = Attributes::unpack(kind, layers).decode();
        let number = kind as u32;
        if number <= 4 {
            for (a, b) in surface.base_colour.into_iter().zip(back.base_colour) {
                prop_assert!(near(a, b), "{} {}", a, b);
            }
        }
        // Kinds of two layers keep normals that look up.
        if (1..=2).contains(&number) && surface.normal[1] > 0.0 || (3..=4).contains(&number) {
            let cosine: f32 = surface.normal.iter().zip(back.normal).map(|(a, b)| a * b).sum();
            prop_assert!(cosine > 0.9999, "{:?} {:?}", surface.normal, back.normal);
        }
        prop_assert_eq!(near(back.roughness, surface.roughness), (1..=4).contains(&number) || near(surface.roughness, 1.0));
        if (2..=4).contains(&number) {
            prop_assert!(near(back.specular, surface.specular));
        }
        if number == 4 {
            prop_assert!(near(back.mask[0], surface.mask[0]));
        }
        if number == 5 {
            prop_assert_eq!(back.mask, surface.mask);
        }
        if number >= 6 {
            prop_assert_eq!(back.height, surface.height);
        }
        let length: f32 = back.normal.iter().map(|n| n * n).sum();
        prop_assert!((length - 1.0).abs() < 1e-4);
    }

    #[test]
    fn any_codes_give_a_normal_of_length_one(codes in prop::array::uniform3(prop::array::uniform4(share())), kind in prop::sample::select(Kind::ALL.to_vec())) {
        let normal = Attributes::unpack(kind, codes).decode().normal;
        let length: f32 = normal.iter().map(|n| n * n).sum();
        prop_assert!((length - 1.0).abs() < 1e-4, "{:?}", normal);
    }
}

#[test]
fn greys_stay_grey_in_the_bits_of_a_block() {
    for grey in 0..=255u8 {
        let grey = f32::from(grey) / 255.0;
        let [co, cg, scale, y] = encode_ycocg([grey; 3]);
        let [r, g, b] = decode_ycocg([rounded(co, 5), rounded(cg, 6), rounded(scale, 5), rounded(y, 8)]);
        assert!((r - g).abs() < 1e-6 && (g - b).abs() < 1e-6, "{r} {g} {b}");
        assert!((r - grey).abs() < 1e-6);
    }
    // Every corner of the cube stays in 0..1.
    for corner in 0..8u32 {
        let rgb = [corner & 1, corner >> 1 & 1, corner >> 2].map(|c| c as f32);
        assert!(encode_ycocg(rgb).iter().all(|code| (0.0..=1.0).contains(code)), "{rgb:?}");
        for (a, b) in decode_ycocg(encode_ycocg(rgb)).into_iter().zip(rgb) {
            assert!((a - b).abs() < 1e-5);
        }
    }
}
