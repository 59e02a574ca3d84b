//! The passes of a frame, in order.

use std::sync::Arc;

use ash::vk::SampleCountFlags;

use super::base::{BasePass, BasePush};
use super::constants::{ConstantsBuffer, FrameConstants};
use super::culling::{Culled, Culling};
use super::edge_blend::EdgeBlend;
use super::error::Result;
use super::inset;
use super::quality::{Quality, sample_flags, target_bytes};
use super::targets::Targets;
use super::tone_map::ToneMap;
use super::view::View;
use crate::memory::UploadRing;
use crate::scene::Scene;
use crate::streaming::StreamedGround;
use crate::vk::capabilities::DeviceType;
use crate::vk::{Buffer, CommandEncoder, Device, Image, PassTimer};

/// How frames are drawn. By default everything is automatic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RenderOptions {
    /// Samples a pixel: 1, 2, 4 or 8; 0 is automatic: 4, or 1 on a software device.
    pub samples: u32,
    /// Largest anisotropy of the terrain's textures; 1 is none, 0 is automatic: 8, or none on a software device.
    pub anisotropy: u32,
}

impl RenderOptions {
    /// The same with nothing left automatic, for a device of that type.
    pub fn resolved(self, device_type: DeviceType) -> Self {
        let (samples, anisotropy) = if device_type == DeviceType::Cpu { (1, 1) } else { (4, 8) };
        Self {
            samples: if self.samples == 0 { samples } else { self.samples },
            anisotropy: if self.anisotropy == 0 { anisotropy } else { self.anisotropy },
        }
    }
}

/// Which frame is drawn, and how large.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameTarget {
    /// Width and height in pixels.
    pub extent: [u32; 2],
    /// Number of the frame.
    pub frame: u64,
    /// Its place among the frames in flight.
    pub place: usize,
}

/// What is drawn.
#[derive(Debug, Clone, Copy)]
pub struct World<'a> {
    /// Meshes, instances, terrain.
    pub scene: &'a Scene,
    /// A streamed ground plane under them.
    pub ground: Option<&'a StreamedGround>,
}

/// Pipelines, targets and per-frame buffers.
#[derive(Debug)]
pub struct Renderer {
    device: Arc<Device>,
    options: RenderOptions,
    quality: Quality,
    constants: ConstantsBuffer,
    culling: Culling,
    /// One for each quality that was used: number of samples and anisotropy.
    bases: Vec<((SampleCountFlags, u32), BasePass)>,
    tone_map: ToneMap,
    edge_blend: EdgeBlend,
    targets: Option<Targets>,
}

impl Renderer {
    /// Compiles the pipelines.
    ///
    /// # Errors
    /// When the driver refuses one, or has no memory.
    pub fn new(device: &Arc<Device>, options: RenderOptions, frames_in_flight: usize) -> Result<Self> {
        let options = options.resolved(device.capabilities().device_type);
        // One and four samples are guaranteed; of the others the device may have none.
        let samples = sample_flags(options.samples, device.capabilities().limits.sample_counts);
        if samples.as_raw() != options.samples {
            log::warn!("{} samples a pixel are not to be had here: {samples:?} are used", options.samples);
        }
        let options = RenderOptions { samples: samples.as_raw(), ..options };
        let base = BasePass::new(device, samples, options.anisotropy)?;
        Ok(Self {
            device: device.clone(),
            options,
            quality: Quality::FULL,
            constants: ConstantsBuffer::new(device, frames_in_flight)?,
            culling: Culling::new(device, frames_in_flight)?,
            bases: vec![((samples, options.anisotropy), base)],
            tone_map: ToneMap::new(device)?,
            edge_blend: EdgeBlend::new(device)?,
            targets: None,
        })
    }

    /// What the next frames may cost. Targets that do not fit it any more are dropped.
    pub fn set_quality(&mut self, quality: Quality) {
        if quality != self.quality {
            let samples = self.samples_and_anisotropy();
            self.quality = quality;
            let shown = self.targets.as_ref().map(|targets| targets.shown().desc().extent);
            let fits = |targets: &Targets| shown.is_some_and(|s| targets.extent == quality.drawn_extent(s));
            let same = samples.0 == self.samples_and_anisotropy().0;
            self.targets = self.targets.take().filter(|targets| same && fits(targets));
        }
    }

    /// What frames may cost now.
    pub fn quality(&self) -> Quality {
        self.quality
    }

    /// Bytes of the images that a picture of a size is drawn into with a quality.
    pub fn target_bytes(&self, extent: [u32; 2], quality: &Quality) -> u64 {
        target_bytes(extent, self.options.samples, quality)
    }

    fn samples_and_anisotropy(&self) -> (SampleCountFlags, u32) {
        let samples = self.options.samples.min(self.quality.samples);
        let flags = sample_flags(samples, self.device.capabilities().limits.sample_counts);
        (flags, self.options.anisotropy.min(self.quality.anisotropy).max(1))
    }

    /// The base pass for the present quality, compiled when it is first needed.
    fn base_index(&mut self) -> Result<usize> {
        let wanted = self.samples_and_anisotropy();
        if let Some(found) = self.bases.iter().position(|(key, _)| *key == wanted) {
            return Ok(found);
        }
        self.bases.push((wanted, BasePass::new(&self.device, wanted.0, wanted.1)?));
        Ok(self.bases.len() - 1)
    }

    /// Records a frame of a prepared scene.
    ///
    /// # Errors
    /// When targets of that size cannot be made.
    pub fn record(
        &mut self,
        encoder: &mut CommandEncoder,
        timer: &mut PassTimer,
        world: World<'_>,
        view: &View,
        target: FrameTarget,
        uploads: &mut UploadRing,
    ) -> Result<()> {
        let World { scene, ground } = world;
        let FrameTarget { extent: shown, frame, place } = target;
        let extent = self.quality.drawn_extent(shown);
        let base = self.base_index()?;
        let (samples, anisotropy) = self.bases[base].0;
        self.culling.reserve(scene.gpu().instances().len())?;
        if self.targets.as_ref().is_none_or(|t| t.extent != extent || t.shown().desc().extent != shown) {
            self.targets = None; // The old ones first: two sets at once may not fit.
            self.targets = Some(Targets::new(&self.device, extent, shown, samples)?);
        }
        let Some(targets) = &self.targets else { return Ok(()) };
        let constants = FrameConstants {
            anisotropic: (anisotropy > 1).into(),
            ..FrameConstants::new(view, scene, extent, frame)
        };
        self.constants.write(place, &constants)?;
        let frames = self.constants.buffer();
        let push = BasePush { frame_index: place as u32 };

        timer.begin(encoder, "Culling");
        self.culling.record(encoder, frames, place, scene);
        timer.end(encoder, "Culling");

        timer.begin(encoder, "BasePass");
        self.bases[base].1.record(encoder, targets, world, &self.culling, frames, &push);
        timer.end(encoder, "BasePass");

        timer.begin(encoder, "ToneMap");
        self.tone_map.record(encoder, targets, frames, place as u32);
        timer.end(encoder, "ToneMap");

        timer.begin(encoder, "EdgeBlend");
        self.edge_blend.record(encoder, targets);
        targets.enlarge(encoder);
        timer.end(encoder, "EdgeBlend");

        if let Some(ground) = ground.filter(|ground| ground.look.inset && ground.image().is_ready()) {
            timer.begin(encoder, "ResidencyInset");
            inset::record(encoder, targets.shown(), ground, &view.camera, uploads)?;
            timer.end(encoder, "ResidencyInset");
        }
        Ok(())
    }

    /// The last frame's display values (`R8G8B8A8_UNORM`, in the layout `TRANSFER_SRC_OPTIMAL`).
    pub fn output(&self) -> Option<&Image> {
        self.targets.as_ref().map(Targets::shown)
    }

    /// The last frame's `VkDrawIndexedIndirectCommand`s and, in the first word of the second buffer, their number:
    /// for tools and tests that read them back.
    pub fn draw_list(&self) -> (&Buffer, &Buffer) {
        self.culling.draw_list()
    }

    /// What a frame drew, once it is done.
    pub fn culled(&self, place: usize) -> Culled {
        self.culling.read(place)
    }
}
