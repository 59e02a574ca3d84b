//! The terrain demo: a height map from a file, its ground, light and rocks.

use std::path::PathBuf;
use std::sync::Arc;

use glam::Vec3;
use vasa::Engine;
use vasa::render::{Atmosphere, Switch, View};
use vasa::scene::Camera;
use vasa::scene::terrain::heightmap::{HeightMap, HeightMapOptions};
use vasa::scene::terrain::roads::{self, RoadsDesc};
use vasa::scene::terrain::surface::Surface;
use vasa::scene::terrain::{Terrain, TerrainDesc};
use vasa::vt::GroundTexturesDesc;

use super::terrain_flight::TerrainFlight;
use super::{Scene, share_of};
use crate::assets;
use crate::cli::TerrainArgs;
use crate::failure::{Failure, Result};
use crate::knobs::Settings;
use crate::output::Output;
use crate::progress::Progress;
use crate::{vt_console, vt_report};

/// The elevation data that comes with the repository.
const DEM: &str = "anatolia_srtm3.tif";

const NOT_LOADED: &str = "the terrain was built before it was loaded";

/// Share of a run in which the camera has arrived and rests: pages that the last view wants are drawn meanwhile.
const REST: f32 = 0.15;

/// Below as many MiB virtual textures make do with less.
const LITTLE_MIB: u64 = 1024;

/// A landscape.
#[derive(Debug)]
pub struct TerrainScene {
    file: Option<PathBuf>,
    options: HeightMapOptions,
    exaggerate: f32,
    grow: bool,
    /// The camera is cut after so many frames.
    cut_every: Option<u32>,
    /// The ground's materials are evaluated in every pixel.
    is_direct: bool,
    /// Device memory that may be used, MiB.
    budget: Option<u64>,
    /// Where the report of virtual textures goes.
    report_folder: Option<PathBuf>,
    report: Option<Output>,
    /// Every frame makes pages, for captures.
    captures: bool,
    /// Draws of pages that are captured, one capture each.
    page_draws: u32,
    seed: u32,
    ground: Option<Ground>,
}

#[derive(Debug)]
struct Ground {
    /// Without roads, and with them.
    natural: Arc<Surface>,
    surface: Arc<Surface>,
    lowest: f32,
    flight: TerrainFlight,
    /// Share of the flight at which it begins.
    begin: f32,
}

impl TerrainScene {
    /// The scene that the arguments name; reads nothing yet.
    pub fn new(args: &TerrainArgs) -> Self {
        Self {
            file: args.dem.clone(),
            options: HeightMapOptions { pixel_size: args.pixel_size, ..HeightMapOptions::default() },
            exaggerate: args.exaggerate,
            grow: args.grow,
            cut_every: args.cut_every,
            is_direct: args.direct,
            budget: args.common.budget,
            report_folder: args.vt_report.clone(),
            report: None,
            captures: args.capture_vt,
            page_draws: args.capture_vt_draws.unwrap_or(0),
            seed: args.common.seed,
            ground: None,
        }
    }
}

impl TerrainScene {
    /// The ground's virtual textures; with little memory their page tables are smaller, and the ground less fine.
    fn textures(&self) -> GroundTexturesDesc {
        match self.budget {
            Some(mib) if mib < LITTLE_MIB => {
                GroundTexturesDesc { tiles: 1024, height_tiles: 256, ..GroundTexturesDesc::default() }
            }
            _ => GroundTexturesDesc::default(),
        }
    }
}

impl Scene for TerrainScene {
    fn name(&self) -> &'static str {
        "terrain"
    }

    fn adjust(&self, settings: &mut Settings) {
        if self.captures {
            settings.for_captures();
        }
        if self.page_draws > 0 {
            settings.render.async_compute = Switch::Off;
        }
        if let Some(mib) = self.budget {
            settings.vt.pool_mib = settings.vt.pool_mib.min((mib / 16).max(2));
        }
    }

    fn page_draws(&self) -> u32 {
        self.page_draws
    }

    fn before_frame(&mut self, engine: &mut Engine, settings: &Settings) {
        if let Some(textures) = engine.textures_mut() {
            textures.set_options(settings.vt);
        }
    }

    fn load(&mut self, progress: &Progress) -> Result<()> {
        let report = self.report_folder.as_deref().map(|folder| Output::open_by(folder, "--vt-report"));
        self.report = report.transpose()?;
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
        let flight = TerrainFlight::plan(&surface, Atmosphere::morning().sun);
        let begin = if self.grow { last_descent(&flight, &surface) } else { 0.0 };
        self.ground =
            Some(Ground { natural: surface.clone(), surface, lowest: low * self.exaggerate, flight, begin });
        Ok(())
    }

    fn build(&mut self, engine: &mut Engine, settings: &Settings, progress: &Progress) -> Result<()> {
        progress.step("planning roads");
        let seed = self.seed;
        let ground = self.ground.as_mut().ok_or_else(|| Failure::failed(NOT_LOADED))?;
        let places = ground.flight.places(&ground.natural, settings.terrain_roads as usize + 1);
        let overlays =
            roads::plan(&ground.natural, &RoadsDesc { count: settings.terrain_roads, seed, places });
        log::info!("{} roads, {} decals", overlays.roads().len(), overlays.decals().len());
        ground.surface = Arc::new(Surface::clone(&ground.natural).with_overlays(overlays));
        progress.step("computing light and shadow");
        let sun = Atmosphere::sun_at(settings.sun_azimuth, settings.sun_elevation);
        let desc = TerrainDesc {
            quads: settings.terrain_quads,
            reach: settings.terrain_reach,
            rock_distance: settings.terrain_rocks,
            layers: settings.terrain_layers,
            seed,
            ..TerrainDesc::new(sun)
        };
        let terrain = Terrain::new(engine.device(), ground.surface.clone(), &desc)?;
        engine.scene_mut().set_terrain(Some(terrain))?;
        if !self.is_direct {
            engine.use_textures(settings.vt)?;
            engine.use_ground_textures(&self.textures())?;
        }
        progress.share(1.0);
        Ok(())
    }

    fn flight(&self, share: f32) -> Camera {
        self.ground.as_ref().map_or_else(Camera::default, |ground| {
            let flown = (share / (1.0 - REST)).min(1.0);
            ground.flight.camera(ground.begin + flown * (1.0 - ground.begin))
        })
    }

    fn scripted(&self, frame: u32, frames: u32) -> (Camera, bool) {
        match self.cut_every {
            Some(every) => {
                (self.flight(place_of_view(frame / every)), frame > 0 && frame.is_multiple_of(every))
            }
            None => (self.flight(share_of(frame, frames)), false),
        }
    }

    fn ground(&self, x: f32, z: f32) -> f32 {
        self.ground.as_ref().map_or(0.0, |ground| ground.surface.height(x, z, 0.0))
    }

    fn page_at(&self, engine: &Engine, place: Vec3) -> Option<String> {
        let textures = engine.textures()?;
        vt_console::page_under(textures, textures.ground()?.surface, [place.x, place.z])
    }

    fn speed(&self) -> f32 {
        self.ground.as_ref().map_or(10.0, |ground| ground.surface.half_extent().min_element() * 0.01)
    }

    fn conclude(&self, engine: &Engine, _: &Output, camera: &Camera) -> Result<()> {
        let Some(report) = &self.report else { return Ok(()) };
        vt_report::write(engine, report, [camera.position.x, camera.position.z])
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

/// Where along the flight a view of those between cuts is from: far from the one before, and never twice the same.
fn place_of_view(view: u32) -> f32 {
    (0.05 + view as f32 * 0.618_034).fract() * (1.0 - REST)
}

/// Where the last descent begins, as a share of the flight: what `--grow` shows alone.
fn last_descent(flight: &TerrainFlight, surface: &Surface) -> f32 {
    let clearance = |u: f32| {
        let at = flight.camera(u).position;
        at.y - surface.base_height(at.x, at.z)
    };
    let steps = (100..=190).map(|i| i as f32 / 200.0);
    steps.max_by(|a, b| clearance(*a).total_cmp(&clearance(*b))).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_between_cuts_are_far_from_each_other() {
        let places: Vec<f32> = (0..40).map(place_of_view).collect();
        assert!(places.iter().all(|place| (0.0..1.0 - REST).contains(place)));
        assert!(places.windows(2).all(|pair| (pair[0] - pair[1]).abs() > 0.3));
    }

    #[test]
    fn the_last_descent_begins_high_and_ends_low() {
        let side = 128;
        let heights = (0..side * side).map(|i| 300.0 * ((i % side) as f32 * 0.11).sin()).collect();
        let map = HeightMap {
            width: side,
            height: side,
            heights,
            pixel_size_metres: (60.0, 60.0),
            filled: 0,
            georeferenced: true,
        };
        let surface = Surface::new(&map, 1.0);
        let flight = TerrainFlight::plan(&surface, Atmosphere::morning().sun);
        let clearance = |u: f32| {
            let at = flight.camera(u).position;
            at.y - surface.base_height(at.x, at.z)
        };
        let begin = last_descent(&flight, &surface);
        assert!(begin > 0.4 && begin < 0.96);
        assert!(clearance(begin) > 4.0 * clearance(1.0), "{} to {}", clearance(begin), clearance(1.0));
    }
}
