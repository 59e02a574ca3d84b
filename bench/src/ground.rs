//! What benches of the terrain share: the ground of the elevation data, a view of it, and frames whose passes are timed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use glam::{Vec2, Vec3};
use vasa::Engine;
use vasa::render::{Atmosphere, RenderOptions, Switch, View};
use vasa::scene::Camera;
use vasa::scene::terrain::heightmap::HeightMap;
use vasa::scene::terrain::roads::{RoadsDesc, plan};
use vasa::scene::terrain::surface::Surface;
use vasa::scene::terrain::{Terrain, TerrainDesc};
use vasa::sparse::SparseKnobs;
use vasa::vk::Device;
use vasa::vt::{GroundTexturesDesc, Knobs, Options};

use crate::error::Error;
use crate::harness::is_software;
use crate::stats;

/// A frame of terrain whose canary is further than this from the median of all was drawn while the clock moved.
pub(crate) const CANARY_TOLERANCE: f64 = 0.15;
/// Passes that do the same work in every frame of a size, whatever the ground is drawn with.
const CANARY: [&str; 2] = ["Sky", "ToneMap"];
/// The elevation data that comes with the repository.
const DEM: &str = "anatolia_srtm3.tif";
/// Frames whose times are not counted after a change: the first two belong to what was before.
const TURN_FRAMES: u32 = 6;
/// Frames without a page after which a view is settled: all pixels said in them what they sampled, more than once.
const QUIET_FRAMES: u32 = 40;
/// Of so many pixels a side one gives feedback while a view settles: by the usual one, a page that a single pixel shows is
/// found hundreds of frames later, when something is measured.
const SETTLING_FACTOR: u32 = 4;
/// Metres of the eye above the ground.
const EYE: f32 = 300.0;

/// The ground, and where it is seen from.
#[derive(Debug)]
pub(crate) struct Ground {
    surface: Arc<Surface>,
    /// One view over it.
    pub(crate) view: View,
}

impl Ground {
    /// Reads the elevation data, and plans two roads on it.
    ///
    /// # Errors
    /// When the data is nowhere, or cannot be read.
    pub(crate) fn load() -> Result<Self, Error> {
        let map = HeightMap::open(&dem()?).map_err(engine)?;
        let surface = Surface::new(&map, 1.5);
        let places = [[6495.0, 8830.0], [6564.0, 7430.0], [4600.0, 6600.0]].map(Vec2::from).to_vec();
        let roads = plan(&surface, &RoadsDesc { count: 2, seed: 1, places });
        let surface = Arc::new(surface.with_overlays(roads));
        let eye = Vec3::new(8000.0, surface.height(8000.0, 9000.0, 0.0) + EYE, 9000.0);
        let camera = Camera::looking_at(eye, eye + Vec3::new(-7000.0, -1800.0, -5000.0));
        let haze_base = surface.base_height(eye.x, eye.z);
        let atmosphere = Atmosphere { haze_base, ..Atmosphere::morning() };
        Ok(Self { surface, view: View { camera, atmosphere, time: 0.0 } })
    }

    /// An engine that draws it with so many layers of material, one sample a pixel and no effects, one pass after the
    /// other.
    ///
    /// # Errors
    /// When the device has no memory for it.
    pub(crate) fn engine(&self, device: &Arc<Device>, layers: u32, quick: bool) -> Result<Engine, Error> {
        let knobs = SparseKnobs { check: false, ..Default::default() };
        let options = RenderOptions { async_compute: Switch::Off, ..RenderOptions::PLAIN };
        let mut engine = Engine::on_device(device.clone(), knobs, options, 2, 32 << 20)?;
        let layer_size = if quick { 128 } else { 0 };
        let desc = TerrainDesc { layers, layer_size, ..TerrainDesc::new(self.view.atmosphere.sun) };
        let terrain = Terrain::new(device, self.surface.clone(), &desc).map_err(vasa::Error::from)?;
        engine.scene_mut().set_terrain(Some(terrain)).map_err(vasa::Error::from)?;
        Ok(engine)
    }
}

/// Virtual textures for an engine that [`Ground::engine`] made.
///
/// # Errors
/// When the device has no memory for them.
pub(crate) fn use_textures(engine: &mut Engine, desc: &GroundTexturesDesc) -> Result<(), Error> {
    let software = is_software(engine.device());
    let pool_mib = if software { 64 } else { 512 };
    engine.use_textures(Options { planner: eager(), pool_mib, is_exact: true, ..Default::default() })?;
    engine.use_ground_textures(desc)?;
    Ok(())
}

/// Budgets that fill a view at once.
pub(crate) fn eager() -> Knobs {
    Knobs {
        max_uploads_per_frame: 64,
        max_tiles_produced_per_frame: 500,
        space_side: 2048,
        ..Knobs::default()
    }
}

/// Changes the options of an engine's virtual textures.
pub(crate) fn change(engine: &mut Engine, with: impl FnOnce(&mut Options)) {
    if let Some(textures) = engine.textures_mut() {
        let mut options = *textures.options();
        with(&mut options);
        textures.set_options(options);
    }
}

/// Pages that the last frame drew.
pub(crate) fn pages_drawn(engine: &Engine) -> usize {
    engine.textures().map_or(0, |textures| textures.plan().pages.len())
}

/// Draws until as many frames as show that nothing is missing drew no page, and at most so many frames. Frames until the
/// last page, and pages.
///
/// # Errors
/// When the device is lost or has no memory.
pub(crate) fn settle(
    engine: &mut Engine,
    view: &View,
    extent: [u32; 2],
    most: u32,
) -> Result<Settled, Error> {
    let usual = engine.textures().map(|textures| textures.options().feedback_factor);
    change(engine, |options| options.feedback_factor = SETTLING_FACTOR);
    let mut settled = Settled::default();
    let mut frames = 0;
    while frames < most && frames - settled.frames < QUIET_FRAMES {
        engine.render(view, extent, None)?;
        frames += 1;
        let pages = pages_drawn(engine);
        if pages > 0 {
            settled.frames = frames;
            settled.pages += pages as u64;
        }
    }
    settled.is_settled = frames - settled.frames >= QUIET_FRAMES;
    change(engine, |options| options.feedback_factor = usual.unwrap_or(options.feedback_factor));
    Ok(settled)
}

/// How a view got all its pages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Settled {
    /// Frames until the last page.
    pub(crate) frames: u32,
    /// Pages drawn.
    pub(crate) pages: u64,
    /// Whether there were enough frames without a page at the end.
    pub(crate) is_settled: bool,
}

/// Times of the passes of some frames.
#[derive(Debug, Clone, Default)]
pub(crate) struct Block {
    /// Milliseconds by pass, of each frame.
    frames: Vec<BTreeMap<&'static str, f64>>,
    /// Pages that each frame drew.
    pub(crate) pages: Vec<usize>,
}

/// Draws frames, and times their passes; `before` is called before each.
///
/// # Errors
/// When the device is lost or has no memory.
pub(crate) fn block(
    engine: &mut Engine,
    view: &View,
    extent: [u32; 2],
    frames: u32,
    mut before: impl FnMut(&mut Engine),
) -> Result<Block, Error> {
    let mut block = Block::default();
    for frame in 0..TURN_FRAMES + frames {
        before(engine);
        engine.render(view, extent, None)?;
        let times = engine.take_pass_times();
        if frame < TURN_FRAMES {
            continue;
        }
        let sums = times.samples().map(|(name, samples)| (name, samples.iter().sum()));
        block.frames.push(sums.collect());
        block.pages.push(pages_drawn(engine));
    }
    Ok(block)
}

impl Block {
    /// Median over the frames of what passes that are named so take together, milliseconds.
    pub(crate) fn ms(&self, is_meant: impl Fn(&str) -> bool) -> f64 {
        let sum = |frame: &BTreeMap<&'static str, f64>| {
            frame.iter().filter(|(name, _)| is_meant(name)).map(|(_, ms)| ms).fold(0.0, |sum, ms| sum + ms)
        };
        stats::median(&self.frames.iter().map(sum).collect::<Vec<f64>>()).unwrap_or(0.0)
    }

    /// Of one pass.
    pub(crate) fn pass_ms(&self, name: &str) -> f64 {
        self.ms(|pass| pass == name)
    }

    /// Of all passes of virtual textures.
    pub(crate) fn textures_ms(&self) -> f64 {
        self.ms(|pass| pass.starts_with("VirtualTexture"))
    }

    /// Of all passes.
    pub(crate) fn frame_ms(&self) -> f64 {
        self.ms(|_| true)
    }

    /// Of the passes that take the same time in every frame, if the clock does not move.
    pub(crate) fn canary_ms(&self) -> f64 {
        self.ms(|pass| CANARY.contains(&pass))
    }

    /// Median of the pages of a frame.
    pub(crate) fn pages_a_frame(&self) -> f64 {
        let pages: Vec<f64> = self.pages.iter().map(|pages| *pages as f64).collect();
        stats::median(&pages).unwrap_or(0.0)
    }
}

/// What a part of the engine said.
pub(crate) fn engine(error: impl std::fmt::Display) -> Error {
    Error::Engine(error.to_string())
}

/// The elevation data: where `VASA_ASSETS` says, beside the program, or in the source tree.
fn dem() -> Result<PathBuf, Error> {
    let asked = std::env::var_os("VASA_ASSETS").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let places: Vec<PathBuf> = match asked {
        Some(folder) => vec![folder],
        None => {
            let program = std::env::current_exe().ok();
            let folder = program.as_ref().and_then(|program| program.parent());
            let near = [folder, folder.and_then(Path::parent)];
            let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../assets");
            near.into_iter().flatten().map(|folder| folder.join("assets")).chain([source]).collect()
        }
    };
    let found = places.iter().map(|place| place.join(DEM)).find(|path| path.is_file());
    found.ok_or_else(|| {
        let looked: Vec<String> = places.iter().map(|place| place.display().to_string()).collect();
        engine(format!(
            "the file {DEM} is in none of {}: set VASA_ASSETS to the repository's assets folder",
            looked.join(", ")
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_of_a_frame_are_added_up_and_frames_are_not() {
        let frame =
            |base, page| BTreeMap::from([("BasePass", base), ("VirtualTextureClear", page), ("Sky", 1.0)]);
        let block =
            Block { frames: vec![frame(2.0, 0.5), frame(4.0, 0.25), frame(9.0, 0.75)], pages: vec![0, 8, 8] };
        assert_eq!((block.pass_ms("BasePass"), block.textures_ms()), (4.0, 0.5));
        assert_eq!((block.frame_ms(), block.canary_ms()), (5.25, 1.0));
        assert_eq!(block.pages_a_frame(), 8.0);
        assert_eq!(Block::default().frame_ms(), 0.0);
    }
}
