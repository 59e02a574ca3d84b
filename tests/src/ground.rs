//! Hills whose ground is drawn with virtual textures of small pages, which software drivers draw fast.

use std::sync::Arc;

use glam::Vec3;
use vasa::render::{RenderOptions, View};
use vasa::scene::Camera;
use vasa::scene::terrain::surface::Surface;
use vasa::vk::Device;
use vasa::vt::{GroundTextures, GroundTexturesDesc, Knobs, Options, VirtualTextures, VtStats};
use vasa::{Engine, PresentTarget};

use crate::scenes::{EXTENT, add_hills, engine_with, flight, hills, view};

/// Frames without work after which a view counts as settled: each pixel says one of what it sampled, by chance, and so
/// all of it in a few frames.
pub const QUIET: u32 = 16;

/// The same run draws the same pages, every pixel gives feedback, and that has room; pools have room for any view of the hills.
pub fn options() -> Options {
    Options {
        is_exact: true,
        feedback_factor: 1,
        pool_mib: 8,
        planner: Knobs { space_side: 128, ..Knobs::editor() },
        ..Options::default()
    }
}

/// Pages of 64 texels: 4096 texels across the map, 0.8 m each.
pub fn small_pages() -> GroundTexturesDesc {
    GroundTexturesDesc { tiles: 64, height_tiles: 32, tile: 64 }
}

/// An engine with hills and virtual textures.
pub struct Ground {
    /// The engine.
    pub engine: Engine,
    /// The hills.
    pub surface: Arc<Surface>,
    /// Textures of the ground.
    pub ground: GroundTextures,
    /// Size of the pictures.
    pub extent: [u32; 2],
}

impl Ground {
    /// An engine that draws one sample a pixel.
    ///
    /// # Panics
    /// When anything is refused.
    pub fn new(device: &Arc<Device>, options: Options) -> Self {
        Self::try_new(device, options, RenderOptions::PLAIN).unwrap()
    }

    /// An engine that draws in some way.
    ///
    /// # Errors
    /// Whatever making the textures says.
    ///
    /// # Panics
    /// When the engine itself, or its terrain, cannot be made.
    pub fn try_new(device: &Arc<Device>, options: Options, render: RenderOptions) -> vasa::Result<Self> {
        let surface = hills();
        let mut engine = engine_with(device, 2, render);
        add_hills(&mut engine, &surface);
        engine.use_textures(options)?;
        let ground = engine.use_ground_textures(&small_pages())?;
        Ok(Self { engine, surface, ground, extent: EXTENT })
    }

    /// The same hills without virtual textures.
    ///
    /// # Panics
    /// When anything is refused.
    pub fn direct(device: &Arc<Device>) -> Engine {
        let mut engine = engine_with(device, 2, RenderOptions::PLAIN);
        add_hills(&mut engine, &hills());
        engine
    }

    /// A camera of the flight over the hills, `u` from 0 to 1.
    pub fn camera(&self, u: f32) -> Camera {
        flight(&self.surface, u)
    }

    /// A camera that looks down from some metres above the ground.
    pub fn above(&self, x: f32, z: f32, metres: f32) -> Camera {
        let foot = Vec3::new(x, self.surface.height(x, z, 0.0), z);
        Camera::looking_at(
            foot + Vec3::new(0.0, metres, 0.0),
            foot + Vec3::new(0.2 * metres, 0.0, 0.1 * metres),
        )
    }

    /// A view of a camera.
    pub fn view(camera: Camera) -> View {
        view(camera)
    }

    /// Virtual textures.
    ///
    /// # Panics
    /// When there are none.
    pub fn textures(&self) -> &VirtualTextures {
        self.engine.textures().unwrap()
    }

    /// The same, to change.
    ///
    /// # Panics
    /// When there are none.
    pub fn textures_mut(&mut self) -> &mut VirtualTextures {
        self.engine.textures_mut().unwrap()
    }

    /// Their numbers.
    pub fn stats(&self) -> VtStats {
        self.textures().stats()
    }

    /// Draws a frame.
    ///
    /// # Errors
    /// Whatever the engine says.
    pub fn try_draw(&mut self, camera: Camera) -> vasa::Result<()> {
        self.engine.render(&view(camera), self.extent, None::<PresentTarget<'_>>).map(drop)
    }

    /// Draws a frame.
    ///
    /// # Panics
    /// When the engine refuses.
    pub fn draw(&mut self, camera: Camera) {
        self.try_draw(camera).unwrap();
    }

    /// Draws cameras in turn until [`QUIET`] frames had nothing to do; gives how many frames came before.
    ///
    /// # Panics
    /// When it takes more than `most` frames.
    pub fn settle(&mut self, cameras: &[Camera], most: u32) -> u32 {
        let quiet = u64::from(QUIET) * cameras.len() as u64;
        let mut still = 0;
        for frame in 0..most {
            self.draw(cameras[frame as usize % cameras.len()]);
            let is_fed = self.textures().plan().counters.wished > 0 || self.stats().unfed_textures > 0;
            still = if self.textures().plan().is_empty() && is_fed { still + 1 } else { 0 };
            if still >= quiet {
                return frame + 1 - still as u32;
            }
        }
        let plan = self.textures().plan();
        panic!("not settled after {most} frames: {:?}\n{}", plan.counters, self.stats().pools_text());
    }

    /// The last frame.
    ///
    /// # Panics
    /// When it cannot be read.
    pub fn picture(&mut self) -> Vec<u8> {
        self.engine.read_back().unwrap()
    }
}

/// Largest and mean difference of two pictures, in 8-bit steps.
///
/// # Panics
/// When they are of different size.
pub fn difference(a: &[u8], b: &[u8]) -> (u8, f64) {
    assert_eq!(a.len(), b.len());
    let apart = a.iter().zip(b).map(|(a, b)| a.abs_diff(*b));
    let (most, sum) = apart.fold((0, 0u64), |(most, sum), d| (d.max(most), sum + u64::from(d)));
    (most, sum as f64 / a.len().max(1) as f64)
}

/// Whether two pictures show the same pages. Pages that lie elsewhere in the atlas are sampled with other roundings.
pub fn is_same(a: &[u8], b: &[u8]) -> bool {
    let (most, mean) = difference(a, b);
    most <= 2 && mean < 0.02
}
