//! Against marching every ray on its own, and against shadows whose length is known.

use proptest::prelude::*;

use super::super::heightmap::HeightMap;
use super::*;

fn surface(width: u32, height: u32, pixel: (f64, f64), height_at: impl Fn(u32, u32) -> f32) -> Surface {
    let heights = (0..width * height).map(|i| height_at(i % width, i / width)).collect();
    let map = HeightMap { width, height, heights, pixel_size_metres: pixel, filled: 0, georeferenced: false };
    Surface::new(&map, 1.0)
}

fn noise(x: u32, z: u32, seed: u32) -> f32 {
    let mut h = x.wrapping_mul(0x9e37_79b9) ^ z.wrapping_mul(0x85eb_ca6b) ^ seed.wrapping_mul(0xc2b2_ae35);
    h ^= h >> 15;
    h = h.wrapping_mul(0x2c1b_3c6d);
    h ^= h >> 12;
    (h % 1000) as f32
}

fn sun(azimuth: f32, elevation: f32) -> Vec3 {
    let flat = Vec2::from_angle(azimuth) * elevation.cos();
    Vec3::new(flat.x, elevation.sin(), flat.y)
}

/// How far beyond the edge the ground goes on, in samples: for rays through the samples, by rounding only.
const STRAIGHT_EDGE: f64 = 1.0e-4;
/// Slanted lines differ along the edge by the part of a sample that they need beside it; shadows that are the same with
/// both of these do not come from there.
const WITHIN: f64 = -1.5;
const BEYOND: f64 = 0.9999;

/// Bilinear height at a place in samples; none outside.
fn height_at(grid: &Grid<'_>, x: f64, z: f64, edge: f64) -> Option<f32> {
    let (last_x, last_z) = ((grid.width - 1) as f64, (grid.height - 1) as f64);
    if x < -edge || z < -edge || x > last_x + edge || z > last_z + edge {
        return None;
    }
    let (x, z) = (x.clamp(0.0, last_x), z.clamp(0.0, last_z));
    let (i, j) = ((x as usize).min(grid.width - 2), (z as usize).min(grid.height - 2));
    let (fx, fz) = ((x - i as f64) as f32, (z - j as f64) as f32);
    let at = |i: usize, j: usize| grid.heights[j * grid.width + i];
    let north = at(i, j) + (at(i + 1, j) - at(i, j)) * fx;
    let south = at(i, j + 1) + (at(i + 1, j + 1) - at(i, j + 1)) * fx;
    Some(north + (south - north) * fz)
}

/// Visits (distance in metres, height) on the way from a sample towards a direction, a sample at a time.
fn march(grid: &Grid<'_>, sample: usize, toward: Vec2, edge: f64, mut visit: impl FnMut(f32, f32)) {
    let (x, z) = ((sample % grid.width) as f64, (sample / grid.width) as f64);
    let per_metre = (toward / grid.pixel).as_dvec2();
    let step = 1.0 / (per_metre.x.abs().max(per_metre.y.abs()));
    for i in 1.. {
        let distance = step * f64::from(i);
        match height_at(grid, x + per_metre.x * distance, z + per_metre.y * distance, edge) {
            Some(height) => visit(distance as f32, height),
            None => break,
        }
    }
}

fn marched_shadow(grid: &Grid<'_>, sample: usize, toward: Vec2, drop: f32, edge: f64) -> f32 {
    let mut shadow = -1.0_f32;
    march(grid, sample, toward, edge, |distance, height| shadow = shadow.max(height - drop * distance));
    shadow
}

fn swept_shadow(grid: &Grid<'_>, toward: Vec2, drop: f32, none: f32, threads: usize) -> Vec<f32> {
    let store = Store::new(grid.heights.len());
    sweep(
        grid,
        toward,
        threads,
        |line, step, out| shadow_line(line, step, drop, none, out),
        |pixel, [height, _]| store.set(pixel, height),
    );
    store.into_values()
}

#[test]
fn flat_ground_has_no_shadow_and_all_of_the_sky() {
    let surface = surface(30, 20, (30.0, 40.0), |_, _| 500.0);
    let light = LightMaps::compute(&surface, sun(0.7, 0.05), 2);
    assert!(light.shadow_height.iter().all(|&h| h < 500.0));
    assert!(light.sky_visibility.iter().all(|&v| (v - 1.0).abs() < 1e-5));
    assert!(light.curvature.iter().all(|&c| c == 0.0));
    assert_eq!(light.sun_visibility(Vec3::new(10.0, 500.0, -50.0), 0.1), 1.0);
}

#[test]
fn a_wall_throws_a_shadow_of_the_right_length() {
    // A wall along the rows, three samples thick so that the spline keeps its height; the sun in the north.
    let (pixel, wall, elevation) = (10.0_f32, 300.0, 0.25_f32);
    let surface = surface(41, 161, (10.0, 10.0), |_, z| if (8..=12).contains(&z) { wall } else { 0.0 });
    let light = LightMaps::compute(&surface, sun(-std::f32::consts::FRAC_PI_2, elevation), 2);
    let length = wall / elevation.tan();
    let half = surface.half_extent();
    let crest = 12.0 * pixel - half.y;
    let seen = |beyond: f32| light.sun_visibility(Vec3::new(3.0, 0.0, crest + beyond), 0.5);
    // The sun's disc blurs the end, along the ground by this much; the grid by a sample.
    let blur = length * SUN_RADIUS / (elevation.sin() * elevation.cos());
    assert_eq!(seen(0.5 * length), 0.0);
    assert_eq!(seen(length - blur - 1.5 * pixel), 0.0, "length {length}, blur {blur}");
    assert_eq!(seen(length + blur + 1.5 * pixel), 1.0, "length {length}, blur {blur}");
    assert_eq!(light.sun_visibility(Vec3::new(3.0, 0.0, -half.y), 0.5), 1.0, "before the wall");
    // Half way, the shadow is half as high as the wall, and its thrower is that far away.
    let distance = light.bilinear(&light.occluder_distance, 3.0, crest + 0.5 * length);
    assert!((distance - 0.5 * length).abs() < 1.5 * pixel, "{distance}");
    let shadow = light.bilinear(&light.shadow_height, 3.0, crest + 0.5 * length);
    assert!((shadow - 0.5 * wall).abs() < 5.0, "{shadow}");
}

#[test]
fn shadows_soften_with_distance() {
    let surface = surface(41, 161, (10.0, 10.0), |_, z| if (8..=12).contains(&z) { 300.0 } else { 0.0 });
    let light = LightMaps::compute(&surface, sun(-std::f32::consts::FRAC_PI_2, 0.25), 1);
    let width = |z: f32| {
        let shadow = light.bilinear(&light.shadow_height, 0.0, z);
        let steps = 4000;
        let partly = (0..steps)
            .filter(|&i| {
                let y = shadow - 20.0 + 40.0 * i as f32 / steps as f32;
                let seen = light.sun_visibility(Vec3::new(0.0, y, z), 0.01);
                seen > 0.0 && seen < 1.0
            })
            .count();
        partly as f32 / steps as f32 * 40.0
    };
    let half = surface.half_extent();
    let (near, far) = (width(400.0 - half.y), width(1200.0 - half.y));
    assert!(near > 0.5 && far > 2.5 * near, "{near} m and {far} m");
}

#[test]
fn a_crest_is_convex_and_a_hollow_concave() {
    let valley = surface(60, 60, (30.0, 30.0), |x, _| (x as f32 * 0.35).sin() * 100.0);
    let light = LightMaps::compute(&valley, sun(0.0, 0.5), 1);
    let at = |x: usize| light.curvature[30 * 60 + x];
    // Crests at sin = 1: 0.35 x = pi / 2 + 2 pi; hollows half a turn further.
    assert!(at(22) > 0.5 && at(31) < -0.5, "{} {}", at(22), at(31));
    assert!(light.curvature.iter().all(|c| (-1.0..=1.0).contains(c)));
    let sky = |x: usize| light.sky_visibility[30 * 60 + x];
    assert!(sky(22) > 0.98 && sky(31) < 0.8, "{} {}", sky(22), sky(31));
}

#[test]
fn night_is_dark_and_noon_has_no_shadow() {
    let surface = surface(10, 10, (30.0, 30.0), |x, z| noise(x, z, 1));
    let night = LightMaps::compute(&surface, Vec3::new(1.0, -0.1, 0.0), 1);
    let noon = LightMaps::compute(&surface, Vec3::Y, 1);
    let point = Vec3::new(0.0, 1000.0, 0.0);
    assert_eq!(night.sun_visibility(point, 1.0), 0.0);
    assert_eq!(noon.sun_visibility(Vec3::new(0.0, surface.base_height(0.0, 0.0), 0.0), 0.1), 1.0);
    assert_eq!(noon.sky_visibility, night.sky_visibility);
}

#[test]
fn a_million_samples_take_no_time() {
    // Not a measurement (machines differ): a guard against anything more than linear.
    let surface = surface(1000, 1000, (71.0, 92.0), |x, z| noise(x / 16, z / 16, 5) * 0.5);
    let start = std::time::Instant::now();
    LightMaps::compute(&surface, sun(0.4, 0.2), 2);
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Along axes and diagonals lines run through the samples: the sweep is the march, exactly.
    #[test]
    fn straight_shadows_are_those_of_marched_rays(
        seed in any::<u32>(), width in 2_usize..24, height in 2_usize..24,
        eighth in 0_u32..8, drop in 0.05_f32..3.0,
    ) {
        let heights: Vec<f32> =
            (0..width * height).map(|i| noise((i % width) as u32, (i / width) as u32, seed)).collect();
        let pixel = Vec2::new(30.0, 30.0);
        let grid = Grid { width, height, pixel, heights: &heights };
        let toward = Vec2::from_angle(eighth as f32 * std::f32::consts::FRAC_PI_4);
        let swept = swept_shadow(&grid, toward, drop, -1.0, 2);
        for (sample, &swept) in swept.iter().enumerate() {
            let marched = marched_shadow(&grid, sample, toward, drop, STRAIGHT_EDGE);
            prop_assert!((swept - marched).abs() < 0.2, "sample {sample}: {swept}, marched {marched}");
        }
    }

    /// For any azimuth they agree closely on smooth ground, wherever the edge has no part in it.
    #[test]
    fn shadows_are_those_of_marched_rays(
        seed in any::<u32>(), azimuth in 0.0_f32..6.3, drop in 0.1_f32..1.0,
    ) {
        let (width, height) = (37, 29);
        let phase = |i: u32| noise(i, 0, seed) * 0.006_28;
        let heights: Vec<f32> = (0..width * height)
            .map(|i| {
                let (x, z) = ((i % width) as f32, (i / width) as f32);
                let wave = |i: u32, u: f32, v: f32| 100.0 * (x * u + z * v + phase(i)).sin();
                400.0 + wave(0, 0.5, 0.1) + wave(1, -0.2, 0.4) + wave(2, 0.3, 0.3)
            })
            .collect();
        let grid = Grid { width, height, pixel: Vec2::new(30.0, 45.0), heights: &heights };
        let toward = Vec2::from_angle(azimuth);
        let swept = swept_shadow(&grid, toward, drop, -1.0, 1);
        let (mut compared, mut total) = (0, 0.0);
        for (sample, &swept) in swept.iter().enumerate() {
            let within = marched_shadow(&grid, sample, toward, drop, WITHIN);
            if within == marched_shadow(&grid, sample, toward, drop, BEYOND) && within > -1.0 {
                compared += 1;
                total += (swept - within).abs();
            }
        }
        prop_assert!(compared > width * height / 5, "{compared} samples");
        let mean = total / compared as f32;
        prop_assert!(mean < 5.0, "they differ by {mean} m in the mean, of 600");
    }

    /// The horizon too, exactly along axes and diagonals.
    #[test]
    fn horizons_are_those_of_marched_rays(
        seed in any::<u32>(), width in 2_usize..24, height in 2_usize..24, eighth in 0_u32..8,
    ) {
        let heights: Vec<f32> =
            (0..width * height).map(|i| noise((i % width) as u32, (i / width) as u32, seed)).collect();
        let grid = Grid { width, height, pixel: Vec2::new(50.0, 50.0), heights: &heights };
        let toward = Vec2::from_angle(eighth as f32 * std::f32::consts::FRAC_PI_4);
        let store = Store::new(heights.len());
        sweep(&grid, toward, 1, horizon_line, |pixel, [open, _]| store.set(pixel, open));
        for (sample, open) in store.into_values().into_iter().enumerate() {
            let mut horizon = 0.0_f32;
            march(&grid, sample, toward, STRAIGHT_EDGE, |distance, height| {
                horizon = horizon.max((height - heights[sample]) / distance);
            });
            let marched = 1.0 / (1.0 + horizon * horizon);
            prop_assert!((open - marched).abs() < 1e-3, "sample {sample}: {open}, marched {marched}");
        }
    }

    /// Every sample is written, once, whatever the shape and the azimuth.
    #[test]
    fn a_sweep_writes_every_sample_once(
        width in 2_usize..30, height in 2_usize..30, azimuth in 0.0_f32..6.3,
        east in 1.0_f32..90.0, threads in 0_usize..9,
    ) {
        let heights = vec![1.0; width * height];
        let grid = Grid { width, height, pixel: Vec2::new(east, 40.0), heights: &heights };
        let written = Store::new(heights.len());
        let count = |line: &[f32], _: f32, out: &mut Vec<[f32; 2]>| out.extend(line.iter().map(|_| [1.0, 0.0]));
        sweep(&grid, Vec2::from_angle(azimuth), threads, count, |pixel, [one, _]| {
            written.set(pixel, written.get(pixel) + one);
        });
        prop_assert!(written.into_values().iter().all(|&times| (times - 1.0).abs() < 1e-6));
    }

    #[test]
    fn threads_do_not_show(seed in any::<u32>(), azimuth in 0.0_f32..6.3, threads in 2_usize..9) {
        let surface = surface(33, 21, (30.0, 45.0), |x, z| noise(x, z, seed));
        let one = LightMaps::compute(&surface, sun(azimuth, 0.2), 1);
        prop_assert_eq!(one, LightMaps::compute(&surface, sun(azimuth, 0.2), threads));
    }
}
