//! Slopes, edges, bounds.

use proptest::prelude::*;

use super::*;

fn map(width: u32, height: u32, pixel: (f64, f64), height_at: impl Fn(u32, u32) -> f32) -> HeightMap {
    let heights = (0..width * height).map(|i| height_at(i % width, i / width)).collect();
    HeightMap { width, height, heights, pixel_size_metres: pixel, filled: 0, georeferenced: false }
}

/// A well mixed height from 0 to 1000 for a place.
fn noise(x: u32, z: u32, seed: u32) -> f32 {
    let mut h = x.wrapping_mul(0x9e37_79b9) ^ z.wrapping_mul(0x85eb_ca6b) ^ seed.wrapping_mul(0xc2b2_ae35);
    h ^= h >> 15;
    h = h.wrapping_mul(0x2c1b_3c6d);
    h ^= h >> 12;
    (h % 1000) as f32
}

#[test]
fn a_plane_stays_a_plane() {
    let surface =
        Surface::new(&map(20, 30, (50.0, 80.0), |x, z| 100.0 + 5.0 * x as f32 - 4.0 * z as f32), 2.0);
    let half = surface.half_extent();
    assert_eq!(half, Vec2::new(19.0 * 25.0, 29.0 * 40.0));
    // Two samples from the edge on, where no sample is repeated.
    for (x, z) in [(0.0, 0.0), (-300.0, 700.0), (312.5, -900.0)] {
        let expected = 2.0 * (100.0 + 5.0 * (x + half.x) / 50.0 - 4.0 * (z + half.y) / 80.0);
        assert!((surface.base_height(x, z) - expected).abs() < 1e-2);
        assert!((surface.base_gradient(x, z) - Vec2::new(0.2, -0.1)).length() < 1e-4);
    }
    let normal = surface.normal(0.0, 0.0, 1.0e6);
    assert!((normal - Vec3::new(-0.2, 1.0, 0.1).normalize()).length() < 1e-4, "{normal}");
}

#[test]
fn north_is_negative_z_and_east_positive_x() {
    let surface = Surface::new(&map(9, 9, (10.0, 10.0), |x, z| x as f32 + 100.0 * z as f32), 1.0);
    assert!(surface.base_height(0.0, -40.0) < surface.base_height(0.0, 40.0));
    assert!(surface.base_height(-40.0, 0.0) < surface.base_height(40.0, 0.0));
}

#[test]
fn sample_heights_are_the_surface_at_the_samples() {
    let surface = Surface::new(&map(13, 7, (30.0, 40.0), |x, z| noise(x, z, 3)), 1.5);
    let half = surface.half_extent();
    for (i, height) in surface.sample_heights().into_iter().enumerate() {
        let (x, z) = ((i % 13) as f32 * 30.0 - half.x, (i / 13) as f32 * 40.0 - half.y);
        assert!((surface.base_height(x, z) - height).abs() < 0.05, "sample {i}");
    }
}

#[test]
fn beyond_the_edge_the_ground_goes_on() {
    let surface = Surface::new(&map(5, 4, (30.0, 30.0), |x, z| noise(x, z, 1)), 1.0);
    let half = surface.half_extent();
    assert_eq!(surface.base_height(half.x, 3.0), surface.base_height(1.0e9, 3.0));
    assert_eq!(surface.base_height(2.0, -half.y), surface.base_height(2.0, f32::NEG_INFINITY));
    assert!(surface.height(f32::NAN, 0.0, 1.0).is_finite() || surface.base_height(f32::NAN, 0.0).is_finite());
}

proptest! {
    #[test]
    fn slopes_are_derivatives(seed in any::<u32>(), u in -0.95_f32..0.95, v in -0.95_f32..0.95) {
        let surface = Surface::new(&map(12, 17, (60.0, 90.0), |x, z| noise(x, z, seed)), 1.0);
        let half = surface.half_extent();
        let (x, z, step) = (u * half.x, v * half.y, 0.5);
        let slope = surface.base_gradient(x, z);
        let measured = Vec2::new(
            surface.base_height(x + step, z) - surface.base_height(x - step, z),
            surface.base_height(x, z + step) - surface.base_height(x, z - step),
        ) / (2.0 * step);
        prop_assert!((slope - measured).length() < 0.02, "{slope} {measured}");
    }

    #[test]
    fn the_spline_does_not_ring(seed in any::<u32>(), u in -1.0_f32..1.0, v in -1.0_f32..1.0) {
        let map = map(10, 10, (30.0, 30.0), |x, z| if noise(x, z, seed) < 500.0 { 0.0 } else { 1000.0 });
        let surface = Surface::new(&map, 1.0);
        let half = surface.half_extent();
        let height = surface.base_height(u * half.x, v * half.y);
        prop_assert!((-0.01..=1000.01).contains(&height));
    }

    #[test]
    fn heights_never_leave_their_bounds(
        seed in any::<u32>(), width in 2_u32..40, height in 2_u32..40,
        corners in prop::array::uniform4(-1.2_f32..1.2),
        places in prop::collection::vec((0.0_f32..1.0, 0.0_f32..1.0, 0.0_f32..60.0), 40),
    ) {
        let surface = Surface::new(&map(width, height, (60.0, 90.0), |x, z| noise(x, z, seed) * 0.3), 1.3);
        let half = surface.half_extent();
        let [x0, z0, x1, z1] = corners;
        let (x0, x1, z0, z1) = (x0 * half.x, x1 * half.x, z0 * half.y, z1 * half.y);
        let (low, high) = surface.height_bounds(x0, z0, x1, z1);
        for (s, t, cell) in places {
            let y = surface.height(x0 + (x1 - x0) * s, z0 + (z1 - z0) * t, cell);
            prop_assert!(low <= y && y <= high, "{y} outside {low} to {high}");
        }
    }

    #[test]
    fn bounds_are_not_idle(seed in any::<u32>()) {
        // A high peak far away must not show in the bounds of a small place.
        let map = map(64, 64, (30.0, 30.0), |x, z| if (x, z) == (60, 60) { 5000.0 } else { noise(x, z, seed) * 0.01 });
        let surface = Surface::new(&map, 1.0);
        let half = surface.half_extent();
        let (low, high) = surface.height_bounds(-half.x, -half.y, -half.x + 100.0, -half.y + 100.0);
        let widest = surface.detail().amplitude(slope_factor(Vec2::new(0.5, 0.0)));
        prop_assert!(high < 10.0 + widest && low > -widest - 1.0, "{low} {high} {widest}");
        prop_assert!(surface.height_bounds(-half.x, -half.y, half.x, half.y).1 > 2000.0);
    }
}
