//! Anti-aliasing over time; see `shaders/temporal.wgsl`.
//!
//! ```text
//! light, depth (this frame, sampled off centre) --+
//! history (the last frame's picture) -------------+--> history (this frame's picture) -> bloom, exposure, tone map
//! ```
//!
//! Places are found in the last frame by depth and the two cameras: only the camera is taken to move. What moves by
//! itself is kept from leaving trails by what this frame has around it, and is less smooth.

use std::sync::Arc;

use super::screen::ScreenPass;
use super::targets::COLOUR_FORMAT;
use crate::graph::{Access, Frame, ImageHandle, ImageInfo, Queue, ShaderStages};
use crate::vk::layout::gpu_struct;
use crate::vk::{Buffer, Device, PassBindings, Result, Sampler, SamplerDesc, shader};

gpu_struct! {
    /// Push constants of `shaders/temporal.wgsl`.
    pub struct TemporalPush {
        /// Place of this frame's constants.
        pub frame_index: u32,
        /// 1 where there is a last frame to go on from.
        pub is_valid: u32,
    }
}

#[derive(Debug)]
pub(super) struct Temporal {
    screen: ScreenPass,
    sampler: Sampler,
}

impl Temporal {
    pub(super) fn new(device: &Arc<Device>) -> Result<Self> {
        let entries = ("temporal_vertex", "temporal_fragment");
        let desc = SamplerDesc { linear: true, repeat: false, anisotropy: 1.0 };
        Ok(Self {
            screen: ScreenPass::new(device, "Temporal", &shader::TEMPORAL, entries, COLOUR_FORMAT)?,
            sampler: Sampler::new(device, "Bilinear", desc)?,
        })
    }

    /// Declares the pass; returns linear light. `is_continuous`: whether this frame goes on from the last one.
    pub(super) fn declare<'f>(
        &'f self,
        frame: &mut Frame<'_, 'f>,
        (colour, depth): (ImageHandle, ImageHandle),
        (frames, extent): (&'f Buffer, [u32; 2]),
        is_continuous: bool,
    ) -> ImageHandle {
        let frame_index = frame.place() as u32;
        let (before, mut now) = frame.history_image("Temporal", ImageInfo::new_2d(COLOUR_FORMAT, extent));
        let reads = Access::Sampled(ShaderStages::FRAGMENT);
        let pass = frame
            .pass("Temporal", Queue::Graphics)
            .read_all([colour, depth, before], reads)
            .write(&mut now, Access::ColourAttachment);
        pass.record(move |pass| {
            let (encoder, resources) = pass.split();
            let view = resources.image(now)?.view();
            let images =
                [(8, resources.image(colour)?), (9, resources.image(depth)?), (10, resources.image(before)?)];
            let bindings = PassBindings {
                buffers: &[(0, frames)],
                images: &images,
                sampler: Some(&self.sampler),
                ..Default::default()
            };
            let is_valid = is_continuous && resources.is_valid(before);
            let push = TemporalPush { frame_index, is_valid: is_valid.into() };
            self.screen.draw(encoder, (view, extent), &bindings, &push);
            Ok(())
        });
        now
    }
}
