//! The tile wraps, is consistent and bounded; the layers fade without steps.

use proptest::prelude::*;

use super::*;

fn detail() -> Detail {
    Detail::for_pixel(80.0)
}

#[test]
fn the_same_seed_gives_the_same_tile_and_another_another() {
    let tile = DetailTexture::generate(DEFAULT_SEED);
    assert_eq!(&tile, detail().texture().as_ref());
    assert_ne!(tile.level(0), DetailTexture::generate(DEFAULT_SEED + 1).level(0));
}

#[test]
fn the_tile_has_mean_zero_and_amplitude_one() {
    let tile = detail().texture().clone();
    assert_eq!(tile.level_count(), 10);
    let mut greatest = [0.0_f32; 4];
    let mut sums = [0.0_f64; 4];
    for texel in tile.level(0) {
        for c in 0..4 {
            let value = f16_to_f32(texel[c]);
            greatest[c] = greatest[c].max(value.abs());
            sums[c] += f64::from(value) / (SIZE * SIZE) as f64;
        }
    }
    for c in [0, 3] {
        assert!((0.999..=1.0).contains(&greatest[c]), "{greatest:?}");
        assert!(sums[c].abs() < 1e-3, "{sums:?}");
    }
    // The slopes of a tile that wraps add up to nothing.
    assert!(sums[1].abs() < 0.01 && sums[2].abs() < 0.01, "{sums:?}");
    let last = tile.level(9);
    assert_eq!(last.len(), 1);
    assert!(tile.level(10).is_empty());
}

#[test]
fn half_floats_round_to_nearest_even() {
    for half in 0..=u16::MAX {
        let value = f16_to_f32(half);
        if value.is_nan() {
            assert!(f16_to_f32(f32_to_f16(value)).is_nan());
        } else {
            assert_eq!(f32_to_f16(value), half, "{value}");
        }
    }
    assert_eq!(f16_to_f32(0x3c00), 1.0);
    assert_eq!(f16_to_f32(0x0001), 2.0_f32.powi(-24));
    assert_eq!(f16_to_f32(0x7bff), 65504.0);
    assert_eq!(f32_to_f16(1.0 + 1.0 / 2048.0), 0x3c00, "a tie, down to even");
    assert_eq!(f32_to_f16(1.0 + 3.0 / 2048.0), 0x3c02, "a tie, up to even");
    assert_eq!(f32_to_f16(65520.0), 0x7c00);
    assert_eq!(f32_to_f16(-1.0e9), 0xfc00);
}

#[test]
fn the_seam_is_no_rougher_than_the_rest() {
    let tile = detail().texture().clone();
    let at = |x: usize, y: usize| f16_to_f32(tile.level(0)[y % SIZE * SIZE + x % SIZE][0]);
    let step = |x: usize| (0..SIZE).map(|y| (at(x + 1, y) - at(x, y)).abs()).sum::<f32>() / SIZE as f32;
    let inner: f32 = (0..SIZE - 1).map(step).fold(0.0, f32::max);
    assert!(step(SIZE - 1) <= inner, "{} against {inner}", step(SIZE - 1));
}

#[test]
fn slopes_are_those_of_the_heights() {
    let tile = detail().texture().clone();
    let sample =
        |x: usize, y: usize| tile.sample(Vec2::new(x as f32 + 0.5, y as f32 + 0.5) / SIZE as f32, 0.0);
    for i in 0..5000 {
        let (x, y) = (i * 37 % SIZE, i * 101 % SIZE);
        let scale = 0.5 * SIZE as f32;
        let slope_u = (sample(x + 1, y)[0] - sample(x + SIZE - 1, y)[0]) * scale;
        let slope_v = (sample(x, y + 1)[0] - sample(x, y + SIZE - 1)[0]) * scale;
        let [_, u, v, _] = sample(x, y);
        // Heights are half floats: each is off by up to 2^-12.
        assert!((u - slope_u).abs() < 0.15 && (v - slope_v).abs() < 0.15, "{u} {slope_u} {v} {slope_v}");
    }
}

#[test]
fn slopes_turn_with_their_layers() {
    let detail = detail();
    let (mut error, mut power) = (0.0, 0.0);
    for i in 0..4000 {
        let (x, z) = (i as f32 * 3.7, (i * i % 977) as f32 * 1.9 - 300.0);
        let (step, cell) = (0.5, 4.0);
        let slope = detail.gradient(x, z, 0.7, cell);
        let difference = |dx: f32, dz: f32| {
            (detail.height(x + dx, z + dz, 0.7, cell) - detail.height(x - dx, z - dz, 0.7, cell))
                / (2.0 * step)
        };
        let measured = Vec2::new(difference(step, 0.0), difference(0.0, step));
        error += (slope - measured).length_squared();
        power += measured.length_squared();
    }
    // Heights between texels go straight, slopes go over: that much they differ and no more.
    assert!(error < 0.15 * power, "{error} of {power}");
}

#[test]
fn layers_vanish_in_wide_cells() {
    let detail = detail();
    let coarsest = detail.params().layers[0].period;
    assert_eq!(detail.height(12.0, 34.0, 1.0, coarsest / 6.0), 0.0);
    assert_ne!(detail.height(12.0, 34.0, 1.0, coarsest / 12.0), 0.0);
}

proptest! {
    #[test]
    fn heights_stay_within_the_amplitude(
        x in -50_000.0_f32..50_000.0, z in -50_000.0_f32..50_000.0,
        slope in 0.0_f32..1.0, cell in 0.0_f32..300.0,
    ) {
        let detail = detail();
        prop_assert!(detail.height(x, z, slope, cell).abs() <= detail.amplitude(slope));
    }

    #[test]
    fn heights_are_continuous_in_place_and_cell(
        x in -5_000.0_f32..5_000.0, z in -5_000.0_f32..5_000.0, cell in 0.05_f32..200.0,
    ) {
        let detail = detail();
        let height = detail.height(x, z, 1.0, cell);
        let step = 0.002;
        // No slope of the tile is steeper than this: strength x layers x the greatest slope.
        prop_assert!((detail.height(x + step, z, 1.0, cell) - height).abs() < step * 12.0 + 1e-3);
        prop_assert!((detail.height(x, z, 1.0, cell * 1.0001) - height).abs() < 0.02);
    }

    #[test]
    fn samples_wrap(u in -3.0_f32..3.0, v in -3.0_f32..3.0, lod in 0.0_f32..9.0) {
        let tile = detail().texture().clone();
        let (a, b) = (tile.sample(Vec2::new(u, v), lod), tile.sample(Vec2::new(u + 1.0, v - 2.0), lod));
        for c in 0..4 {
            prop_assert!((a[c] - b[c]).abs() < 0.05, "{a:?} {b:?}");
        }
    }
}
