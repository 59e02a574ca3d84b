//! The passes of a frame, in order.

use std::sync::Arc;

use ash::vk::SampleCountFlags;

use super::base::{BasePass, BasePush};
use super::constants::{ConstantsBuffer, FrameConstants};
use super::culling::{Culled, Culling};
use super::edge_blend::EdgeBlend;
use super::error::Result;
use super::inset;
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
    samples: SampleCountFlags,
    constants: ConstantsBuffer,
    culling: Culling,
    base: BasePass,
    tone_map: ToneMap,
    edge_blend: EdgeBlend,
    targets: Option<Targets>,
    anisotropic: bool,
}

impl Renderer {
    /// Compiles the pipelines.
    ///
    /// # Errors
    /// When the driver refuses one, or has no memory.
    pub fn new(device: &Arc<Device>, options: RenderOptions, frames_in_flight: usize) -> Result<Self> {
        let options = options.resolved(device.capabilities().device_type);
        // One and four samples are guaranteed; of the others the device may have none.
        let has = |n: u32| device.capabilities().limits.sample_counts & n != 0;
        let count = [8, 4, 2].into_iter().find(|n| *n <= options.samples && has(*n)).unwrap_or(1);
        if count != options.samples {
            log::warn!("{} samples a pixel are not to be had here: {count} are used", options.samples);
        }
        let samples = SampleCountFlags::from_raw(count);
        Ok(Self {
            device: device.clone(),
            samples,
            constants: ConstantsBuffer::new(device, frames_in_flight)?,
            culling: Culling::new(device, frames_in_flight)?,
            base: BasePass::new(device, samples, options.anisotropy)?,
            tone_map: ToneMap::new(device)?,
            edge_blend: EdgeBlend::new(device)?,
            targets: None,
            anisotropic: options.anisotropy > 1,
        })
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
        let FrameTarget { extent, frame, place } = target;
        self.culling.reserve(scene.gpu().instances().len())?;
        if self.targets.as_ref().is_none_or(|t| t.extent != extent) {
            self.targets = None; // The old ones first: two sets at once may not fit.
            self.targets = Some(Targets::new(&self.device, extent, self.samples)?);
        }
        let Some(targets) = &self.targets else { return Ok(()) };
        let constants = FrameConstants {
            anisotropic: self.anisotropic.into(),
            ..FrameConstants::new(view, scene, extent, frame)
        };
        self.constants.write(place, &constants)?;
        let frames = self.constants.buffer();
        let push = BasePush { frame_index: place as u32 };

        timer.begin(encoder, "Culling");
        self.culling.record(encoder, frames, place, scene);
        timer.end(encoder, "Culling");

        timer.begin(encoder, "BasePass");
        self.base.record(encoder, targets, world, &self.culling, frames, &push);
        timer.end(encoder, "BasePass");

        timer.begin(encoder, "ToneMap");
        self.tone_map.record(encoder, targets, frames, place as u32);
        timer.end(encoder, "ToneMap");

        timer.begin(encoder, "EdgeBlend");
        self.edge_blend.record(encoder, targets);
        timer.end(encoder, "EdgeBlend");

        if let Some(ground) = ground.filter(|ground| ground.look.inset && ground.image().is_ready()) {
            timer.begin(encoder, "ResidencyInset");
            inset::record(encoder, &targets.output, ground, &view.camera, uploads)?;
            timer.end(encoder, "ResidencyInset");
        }
        Ok(())
    }

    /// The last frame's display values (`R8G8B8A8_UNORM`, in the layout `TRANSFER_SRC_OPTIMAL`).
    pub fn output(&self) -> Option<&Image> {
        self.targets.as_ref().map(|t| &t.output)
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
