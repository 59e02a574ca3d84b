//! All virtual textures of an engine: what is planned, drawn, compressed, mapped and sampled in a frame.
//!
//! ```text
//! prepare   feedback of an earlier frame -> planner -> FramePlan -> what each pass needs          (host)
//! declare   Allocate, BeginUpdate, Clear, EndUpdate, FinalizeRequests, PageTableUpdates           (graph)
//!           ... passes that sample through VtImages and write feedback ...
//! declare_feedback                                                    VirtualTextureUpdate         (graph)
//! submitted | keep_unsubmitted
//! ```
//!
//! - `textures.rs`: textures and pools come and go. `frame.rs`: a frame. `constants.rs`: what shaders read.
//! - `totals.rs`: numbers over all frames. `ground.rs`: the textures of a terrain. `view.rs`: textures as pictures.

mod constants;
mod error;
mod frame;
mod ground;
mod textures;
mod totals;
mod view;

use std::collections::HashSet;
use std::sync::Arc;

use glam::Vec3;

use self::constants::Constants;
use self::textures::{PoolAtlas, TextureInfo};
use self::totals::Totals;
use super::compress::Compressor;
use super::passes::Feedback;
use super::planner::Planner;
use super::runtime::{Inputs, PageRenderer, Registry, WriterId};
use super::tables::PageTables;
use super::{FramePlan, Options};
use crate::scene::gpu_scene::InstanceSet;
use crate::vk::{Device, Sampler, SamplerDesc};

pub use constants::SampleSettings;
pub use error::{VtError, VtResult};
pub use frame::{VtAtlases, VtFrame, VtImages};
pub use ground::{GroundTextures, GroundTexturesDesc};
pub use textures::RuntimeTextureDesc;
pub use totals::FrameRecord;
pub use view::ViewPart;

/// The virtual textures of an engine.
#[derive(Debug)]
pub struct VirtualTextures {
    device: Arc<Device>,
    options: Options,
    planner: Planner,
    registry: Registry,
    inputs: Inputs,
    /// Instances of the scene that are hidden, by the writers of this revision.
    hidden: Vec<InstanceSet>,
    hidden_by: Option<u64>,
    /// Writers of which was told that their instances are gone.
    told_gone: HashSet<WriterId>,
    renderer: PageRenderer,
    compressor: Compressor,
    feedback: Feedback,
    tables: PageTables,
    pools: Vec<PoolAtlas>,
    textures: Vec<TextureInfo>,
    constants: Constants,
    /// Isotropic, and anisotropic.
    samplers: [Sampler; 2],
    /// What this frame does; empty once it is submitted.
    plan: FramePlan,
    /// Whether the plan is for a frame that is neither submitted nor given up.
    is_planned: bool,
    ground: Option<GroundTextures>,
    totals: Totals,
    told: bool,
    told_unfed: bool,
}

impl VirtualTextures {
    /// Compiles the passes. There are no textures yet.
    ///
    /// # Errors
    /// When the driver refuses a pipeline, or has no memory.
    pub fn new(device: &Arc<Device>, options: Options, frames_in_flight: usize) -> VtResult<Self> {
        let sampler = |name, anisotropy| {
            Sampler::new(device, name, SamplerDesc { linear: true, repeat: false, anisotropy })
        };
        Ok(Self {
            device: device.clone(),
            options,
            planner: Planner::new(options.planner),
            registry: Registry::new(),
            inputs: Inputs::default(),
            hidden: Vec::new(),
            hidden_by: None,
            told_gone: HashSet::new(),
            renderer: PageRenderer::new(device, frames_in_flight),
            compressor: Compressor::new(device, &[])?,
            feedback: Feedback::new(device, frames_in_flight)?,
            tables: PageTables::new(device, frames_in_flight)?,
            pools: Vec::new(),
            textures: Vec::new(),
            constants: Constants::new(frames_in_flight),
            samplers: [
                sampler("VirtualTexture.Sampler", 1.0)?,
                sampler("VirtualTexture.AnisotropicSampler", 8.0)?,
            ],
            plan: FramePlan::default(),
            is_planned: false,
            ground: None,
            totals: Totals::default(),
            told: false,
            told_unfed: false,
        })
    }

    /// How they work.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Changes how they work, from the next frame on. Sizes of pools stay what they are.
    pub fn set_options(&mut self, options: Options) {
        if options.planner != self.options.planner {
            self.planner.set_knobs(options.planner);
        }
        self.options = options;
    }

    /// What decides: to look at, and to lock, preload and invalidate.
    pub fn planner(&self) -> &Planner {
        &self.planner
    }

    /// The same, to change.
    pub fn planner_mut(&mut self) -> &mut Planner {
        &mut self.planner
    }

    /// Who draws into pages.
    pub fn writers(&self) -> &Registry {
        &self.registry
    }

    /// The same, to add, move and remove writers: pages under them are drawn again by themselves.
    pub fn writers_mut(&mut self) -> &mut Registry {
        &mut self.registry
    }

    /// The origin of the world's coordinates is another one from now on: what was at `by` is at 0. No page is drawn for it.
    ///
    /// # Errors
    /// Where terrain or a calibration pattern is among the writers: see [`Registry::shift_origin`].
    pub fn shift_origin(&mut self, by: Vec3) -> VtResult<()> {
        self.registry.shift_origin(by)?;
        for texture in &mut self.textures {
            texture.desc.volume = texture.desc.volume.moved(-by);
        }
        Ok(())
    }

    /// The textures that the ground of the scene is drawn with.
    pub fn ground(&self) -> Option<&GroundTextures> {
        self.ground.as_ref()
    }

    /// The plan of the frame that is being made, or of the last one.
    pub fn plan(&self) -> &FramePlan {
        &self.plan
    }

    /// The sampler that materials read atlases with.
    pub fn sampler(&self) -> &Sampler {
        let [plain, anisotropic] = &self.samplers;
        if self.options.anisotropy { anisotropic } else { plain }
    }
}
