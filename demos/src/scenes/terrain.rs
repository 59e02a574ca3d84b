//! The terrain demo: a height map from a file, its ground, light and rocks.

use std::path::PathBuf;
use std::sync::Arc;

use glam::{Vec2, Vec3};
use vasa::Engine;
use vasa::render::{Atmosphere, View};
use vasa::scene::Camera;
use vasa::scene::terrain::heightmap::{HeightMap, HeightMapOptions};
use vasa::scene::terrain::surface::Surface;
use vasa::scene::terrain::{Terrain, TerrainDesc};

use super::Scene;
use super::flight::{Flight, Waypoint};
use crate::assets;
use crate::cli::TerrainArgs;
use crate::failure::{Failure, Result};
use crate::knobs::Settings;
use crate::progress::Progress;

/// The elevation data that comes with the repository.
const DEM: &str = "anatolia_srtm3.tif";

/// A landscape.
#[derive(Debug)]
pub struct TerrainScene {
    file: Option<PathBuf>,
    options: HeightMapOptions,
    exaggerate: f32,
    grow: bool,
    seed: u32,
    ground: Option<Ground>,
}

#[derive(Debug)]
struct Ground {
    surface: Arc<Surface>,
    lowest: f32,
    flight: Flight,
}

impl TerrainScene {
    /// The scene that the arguments name; reads nothing yet.
    pub fn new(args: &TerrainArgs) -> Self {
        Self {
            file: args.dem.clone(),
            options: HeightMapOptions { pixel_size: args.pixel_size, ..HeightMapOptions::default() },
            exaggerate: args.exaggerate,
            grow: args.grow,
            seed: args.common.seed,
            ground: None,
        }
    }

    fn ground_or_fail(&self) -> Result<&Ground> {
        self.ground.as_ref().ok_or_else(|| Failure::failed("the terrain was built before it was loaded"))
    }
}

impl Scene for TerrainScene {
    fn name(&self) -> &'static str {
        "terrain"
    }

    fn load(&mut self, progress: &Progress) -> Result<()> {
        let path = match &self.file {
            Some(path) => path.clone(),
            None => assets::find(DEM)?,
        };
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        progress.step(&format!("reading {name}"));
        let map = HeightMap::open_with(&path, self.options, &mut |share| progress.share(share))
            .map_err(Failure::failed)?;
        let (low, high) = map.height_range();
        let (east, north) = map.pixel_size_metres;
        log::info!(
            "{name}: {} x {} samples of {east:.1} x {north:.1} m, {low:.0} to {high:.0} m, {} filled",
            map.width,
            map.height,
            map.filled
        );
        progress.step("shaping the ground");
        let surface = Arc::new(Surface::new(&map, self.exaggerate));
        let flight = plan_flight(&surface, self.grow);
        self.ground = Some(Ground { surface, lowest: low * self.exaggerate, flight });
        Ok(())
    }

    fn build(&mut self, engine: &mut Engine, settings: &Settings, progress: &Progress) -> Result<()> {
        progress.step("computing light and shadow");
        let ground = self.ground_or_fail()?;
        let sun = Atmosphere::sun_at(settings.sun_azimuth, settings.sun_elevation);
        let desc = TerrainDesc {
            quads: settings.terrain_quads,
            reach: settings.terrain_reach,
            rock_distance: settings.terrain_rocks,
            seed: self.seed,
            ..TerrainDesc::new(sun)
        };
        let terrain = Terrain::new(engine.device(), ground.surface.clone(), &desc)?;
        engine.scene_mut().set_terrain(Some(terrain))?;
        progress.share(1.0);
        Ok(())
    }

    fn flight(&self, share: f32) -> Camera {
        self.ground.as_ref().map_or_else(Camera::default, |ground| {
            ground.flight.camera(share, |x, z| ground.surface.base_height(x, z))
        })
    }

    fn ground(&self, x: f32, z: f32) -> f32 {
        self.ground.as_ref().map_or(0.0, |ground| ground.surface.height(x, z, 0.0))
    }

    fn speed(&self) -> f32 {
        self.ground.as_ref().map_or(10.0, |ground| ground.surface.half_extent().min_element() * 0.01)
    }

    fn view(&self, settings: &Settings, camera: Camera, time: f32) -> View {
        let atmosphere = Atmosphere {
            sun: Atmosphere::sun_at(settings.sun_azimuth, settings.sun_elevation),
            exposure: settings.exposure,
            haze_density: 1.0 / (settings.haze_kilometres * 1000.0),
            haze_base: self.ground.as_ref().map_or(0.0, |ground| ground.lowest),
            ..Atmosphere::morning()
        };
        View { camera: Camera { fov_y: settings.field_of_view.to_radians(), ..camera }, atmosphere, time }
    }
}

/// Low over the ridges, up, and to a view of the highest summit: on any map, in shares of its size.
fn plan_flight(surface: &Surface, grow: bool) -> Flight {
    let half = surface.half_extent();
    let size = half.min_element();
    let summit = highest(surface);
    let inside = |place: Vec2| place.clamp(-half * 0.9, half * 0.9);
    let low = (size * 0.0022).clamp(1.0, 80.0);
    let high = (size * 0.11).clamp(4.0, 4000.0);
    // The summit is seen from where the sun lights it from the side.
    let from = Vec2::from_angle(62f32.to_radians()) * (size * 0.15).clamp(3.0, 6000.0);
    let last = Waypoint { place: inside(summit + from), clearance: (size * 0.011).clamp(1.5, 400.0) };
    let at = |x: f32, z: f32, clearance: f32| Waypoint {
        place: inside(summit + Vec2::new(x, z) * size),
        clearance,
    };
    let waypoints = if grow {
        vec![at(0.5, 0.6, high * 3.0), at(0.35, 0.4, high), at(0.22, 0.25, high * 0.3), last, last]
    } else {
        vec![
            at(-0.42, 0.2, low * 2.0),
            at(-0.3, 0.06, low),
            at(-0.2, -0.04, low),
            at(-0.08, -0.16, high * 0.5),
            at(0.1, -0.1, high),
            at(0.2, 0.05, high * 0.5),
            last,
        ]
    };
    let subject = Vec3::new(summit.x, surface.base_height(summit.x, summit.y), summit.y);
    Flight::new(waypoints, subject, (size * 0.004).clamp(0.5, 150.0))
}

/// The highest place that is not at the edge, to about a hundredth of the map.
fn highest(surface: &Surface) -> Vec2 {
    const STEPS: i32 = 64;
    let half = surface.half_extent() * 0.6;
    let place = |i: i32, j: i32| half * Vec2::new(i as f32, j as f32) / STEPS as f32;
    let all = (-STEPS..=STEPS).flat_map(|j| (-STEPS..=STEPS).map(move |i| (i, j)));
    let mut best = (f32::NEG_INFINITY, Vec2::ZERO);
    for (i, j) in all {
        let p = place(i, j);
        let height = surface.base_height(p.x, p.y);
        if height > best.0 {
            best = (height, p);
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn surface(side: u32, pixel: f64) -> Surface {
        let heights = (0..side * side)
            .map(|i| {
                let (x, z) = ((i % side) as f32 - 0.3 * side as f32, (i / side) as f32 - 0.6 * side as f32);
                1000.0 * (-(x * x + z * z) / (side * side) as f32 * 40.0).exp()
            })
            .collect();
        let map = HeightMap {
            width: side,
            height: side,
            heights,
            pixel_size_metres: (pixel, pixel),
            filled: 0,
            georeferenced: true,
        };
        Surface::new(&map, 1.0)
    }

    #[test]
    fn the_flight_fits_every_map_and_ends_looking_at_its_summit() {
        for (side, pixel) in [(2, 0.01), (2, 30.0), (64, 30.0), (200, 1000.0)] {
            for grow in [false, true] {
                let surface = surface(side, pixel);
                let flight = plan_flight(&surface, grow);
                let half = surface.half_extent();
                for i in 0..=100 {
                    let p = flight.camera(i as f32 / 100.0, |x, z| surface.base_height(x, z)).position;
                    assert!(p.x.abs() <= half.x * 1.2 && p.z.abs() <= half.y * 1.2, "{side} {pixel}: {p}");
                    assert!(p.y > surface.base_height(p.x, p.z), "{side} {pixel}: {p}");
                }
            }
        }
        let surface = surface(128, 30.0);
        let summit = highest(&surface);
        let half = surface.half_extent();
        // The hill is at (0.3, 0.6) of the map.
        assert!((summit - Vec2::new(-0.4, 0.2) * half).length() < 0.05 * half.x, "{summit} {half}");
    }
}
