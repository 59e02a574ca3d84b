//! The residency demo: an island of 16384 x 16384 texels, streamed tile by tile as a camera flies over it.
//!
//! ```text
//! shape (heights, regions) -> colours (filtered to a texel) -> tiles (BC1 blocks) -> vasa::streaming
//! ```
//!
//! Nothing is read from a file: any tile of any mip is made when it is wanted. A level plane carries the image, relief
//! and shadows are in it as in a photograph.

mod bc1;
mod colours;
mod flight;
mod label;
mod noise;
mod shape;
mod tiles;

use std::sync::Arc;

use glam::{Vec2, Vec3};
use vasa::Engine;
use vasa::ash::vk::Format;
use vasa::render::{Atmosphere, View};
use vasa::scene::Camera;
use vasa::streaming::{GroundDesc, GroundLook, GroundPlane, StreamedGround};

use super::Scene;
use crate::cli::ResidencyArgs;
use crate::failure::Result;
use crate::knobs::Settings;
use crate::output::Output;
use crate::pages;
use crate::progress::Progress;

use shape::SIDE;
use tiles::{IslandSource, TEXELS};

/// The island and its camera.
#[derive(Debug)]
pub struct ResidencyScene {
    seed: u32,
    dump_pages: bool,
}

impl ResidencyScene {
    /// The island with that seed.
    pub fn of_seed(seed: u32) -> Self {
        Self { seed, dump_pages: false }
    }

    /// The scene that the arguments name.
    pub fn new(args: &ResidencyArgs) -> Self {
        Self { seed: args.common.seed, dump_pages: args.dump_pages }
    }
}

impl Scene for ResidencyScene {
    fn name(&self) -> &'static str {
        "residency"
    }

    fn adjust(&self, settings: &mut Settings) {
        settings.sparse.check |= self.dump_pages;
    }

    fn load(&mut self, _: &Progress) -> Result<()> {
        Ok(())
    }

    fn build(&mut self, engine: &mut Engine, settings: &Settings, progress: &Progress) -> Result<()> {
        progress.step("reserving the image");
        let desc = GroundDesc {
            name: "Ground".into(),
            extent: [TEXELS; 2],
            format: Format::BC1_RGB_SRGB_BLOCK,
            plane: GroundPlane { corner: Vec3::new(-SIDE * 0.5, 0.0, -SIDE * 0.5), size: Vec2::splat(SIDE) },
            budget_bytes: settings.residency_budget,
            maps_per_frame: settings.residency_maps,
            keep_frames: settings.residency_keep_frames,
            taps: settings.residency_taps,
            beyond: colours::DEEP,
        };
        let source = Arc::new(IslandSource::new(self.seed, settings.sun_azimuth));
        let ground = StreamedGround::new(engine.sparse(), &desc, source)?;
        engine.set_ground(Some(ground));
        progress.share(1.0);
        Ok(())
    }

    fn before_frame(&mut self, engine: &mut Engine, settings: &Settings) {
        if let Some(ground) = engine.ground_mut() {
            ground.look = GroundLook {
                bias: settings.residency_bias,
                tint: settings.residency_tint,
                inset: settings.residency_inset,
            };
        }
    }

    fn flight(&self, share: f32) -> Camera {
        flight::camera(share)
    }

    fn ground(&self, _: f32, _: f32) -> f32 {
        0.0
    }

    fn speed(&self) -> f32 {
        60.0
    }

    fn view(&self, settings: &Settings, camera: Camera, time: f32) -> View {
        let atmosphere = Atmosphere {
            sun: Atmosphere::sun_at(settings.sun_azimuth, settings.sun_elevation),
            exposure: settings.exposure,
            haze_density: 1.0 / (settings.haze_kilometres * 1000.0),
            haze_base: 0.0,
            ..Atmosphere::morning()
        };
        View { camera: Camera { fov_y: settings.field_of_view.to_radians(), ..camera }, atmosphere, time }
    }

    fn conclude(&self, engine: &Engine, output: &Output, _: &Camera) -> Result<()> {
        if self.dump_pages { pages::write(engine.sparse().checker(), output) } else { Ok(()) }
    }
}
