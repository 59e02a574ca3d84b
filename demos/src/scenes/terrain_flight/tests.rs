//! The flight over the real map, and over maps that leave nothing to choose.

use std::path::Path;

use vasa::render::Atmosphere;
use vasa::scene::terrain::heightmap::HeightMap;

use super::*;

fn plan(surface: &Surface) -> TerrainFlight {
    TerrainFlight::plan(surface, Atmosphere::morning().sun)
}

fn anatolia() -> Surface {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../assets/anatolia_srtm3.tif");
    Surface::new(&HeightMap::open(&file).expect("the map that comes with the demos"), 1.6)
}

fn invented(width: u32, height: u32, pixel: f64, heights: impl Fn(u32, u32) -> f32) -> Surface {
    let heights = (0..width * height).map(|i| heights(i % width, i / width)).collect();
    let map = HeightMap {
        width,
        height,
        heights,
        pixel_size_metres: (pixel, pixel),
        filled: 0,
        georeferenced: false,
    };
    Surface::new(&map, 1.0)
}

/// The checks that hold over every ground; gives the heights above it. `turning`: radians in 1/`steps` of a flight,
/// times `steps`.
fn check(surface: &Surface, steps: usize, margin: f32, turning: f32) -> Vec<f32> {
    let flight = plan(surface);
    let half = surface.half_extent();
    let mut above = Vec::with_capacity(steps + 1);
    let mut before: Option<(Camera, Vec3)> = None;
    let mut longest = 0.0_f32;
    for step in 0..=steps {
        let camera = flight.camera(step as f32 / steps as f32);
        let p = camera.position;
        assert!(p.is_finite() && camera.yaw.is_finite() && camera.pitch.is_finite(), "{camera:?}");
        assert!(p.x.abs() <= half.x && p.z.abs() <= half.y, "{p} is outside of the map");
        let ground = surface.height(p.x, p.z, 0.0);
        assert!(p.y - ground >= margin, "{} m above the ground at step {step}", p.y - ground);
        above.push(p.y - ground);
        if let Some((last, velocity)) = before {
            let now = p - last.position;
            longest = longest.max(now.length());
            if step > 1 {
                let change = (now - velocity).length();
                assert!(
                    change <= 0.12 * longest + 1e-3,
                    "speed jumps by {change} of {longest} at step {step}"
                );
            }
            let turned = camera.forward().dot(last.forward()).clamp(-1.0, 1.0).acos();
            assert!(turned < turning / steps as f32, "turns by {turned} at step {step}");
            before = Some((camera, now));
        } else {
            before = Some((camera, Vec3::ZERO));
        }
    }
    above
}

#[test]
fn over_the_real_map_it_comes_down_and_climbs_three_times() {
    let above = check(&anatolia(), 4000, 5.0, 60.0);
    let (mut climbs, mut descents, mut high) = (0, 0, false);
    for height in &above {
        if !high && *height > 800.0 {
            (high, climbs) = (true, climbs + 1);
        } else if high && *height < 60.0 {
            (high, descents) = (false, descents + 1);
        }
    }
    assert!(climbs >= 3 && descents >= 3, "{climbs} climbs, {descents} descents");
    let (first, last) = (above[0], above[above.len() - 1]);
    assert!((8.0..45.0).contains(&first) && (8.0..45.0).contains(&last), "{first} and {last}");
}

#[test]
fn the_same_ground_gives_the_same_flight() {
    let surface = invented(120, 90, 60.0, |x, z| 300.0 * (x as f32 * 0.2).sin() * (z as f32 * 0.17).cos());
    let (a, b) = (plan(&surface), plan(&surface));
    for step in 0..=20 {
        assert_eq!(a.camera(step as f32 / 20.0), b.camera(step as f32 / 20.0));
    }
}

#[test]
fn flat_and_tiny_and_narrow_maps_are_flown_over_too() {
    check(&invented(200, 200, 50.0, |_, _| 120.0), 2000, 1.0, 110.0);
    check(&invented(2, 2, 30.0, |x, _| 5.0 * x as f32), 2000, 0.0, 110.0);
    check(&invented(400, 12, 40.0, |x, z| ((x * 7 + z * 13) % 31) as f32 * 8.0), 2000, 0.1, 110.0);
    check(&invented(60, 60, 1000.0, |x, z| (x * z) as f32), 2000, 5.0, 110.0);
}
