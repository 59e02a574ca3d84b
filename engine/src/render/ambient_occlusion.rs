//! Ambient occlusion from depth, at half the resolution; see `shaders/ambient_occlusion.wgsl`.
//!
//! On the compute queue where there is one: beside the sky.

use std::sync::Arc;

use ash::vk::Format;

use crate::graph::{Access, Frame, ImageHandle, ImageInfo, Queue, ShaderStages};
use crate::vk::layout::gpu_struct;
use crate::vk::{Buffer, ComputePipeline, Device, PassBindings, Result, shader};

gpu_struct! {
    /// Push constants of `shaders/ambient_occlusion.wgsl`.
    pub struct AmbientOcclusionPush {
        /// Place of this frame's constants.
        pub frame_index: u32,
        /// Width of the result in texels.
        pub width: u32,
        /// Height of the result in texels.
        pub height: u32,
        /// To a multiple of 16 bytes.
        pub padding: u32,
    }
}

/// Two halves a texel: every device can store so.
const FORMAT: Format = Format::R32_UINT;

#[derive(Debug)]
pub(super) struct AmbientOcclusion {
    find: ComputePipeline,
    blur: ComputePipeline,
}

impl AmbientOcclusion {
    pub(super) fn new(device: &Arc<Device>) -> Result<Self> {
        let pipeline = |entry| ComputePipeline::new(device, &shader::AMBIENT_OCCLUSION, entry);
        Ok(Self { find: pipeline("ambient_occlusion")?, blur: pipeline("ambient_occlusion_blur")? })
    }

    /// Declares the passes; returns what is left of ambient light.
    pub(super) fn declare<'f>(
        &'f self,
        frame: &mut Frame<'_, 'f>,
        depth: ImageHandle,
        (frames, extent): (&'f Buffer, [u32; 2]),
        is_on: bool,
    ) -> ImageHandle {
        let [width, height] = extent.map(|side| side.div_ceil(2));
        let info = ImageInfo::new_2d(FORMAT, [width, height]);
        let (mut found, mut smooth) =
            (frame.image("AmbientOcclusion.Found", info), frame.image("AmbientOcclusion", info));
        let push = AmbientOcclusionPush { frame_index: frame.place() as u32, width, height, padding: 0 };
        let (reads, writes) =
            (Access::Sampled(ShaderStages::COMPUTE), Access::StorageWrite(ShaderStages::COMPUTE));
        let find = frame
            .pass("AmbientOcclusion", Queue::Compute)
            .when(is_on)
            .read(depth, reads)
            .write(&mut found, writes);
        find.record(move |pass| {
            let (encoder, resources) = pass.split();
            let bindings = PassBindings {
                buffers: &[(0, frames)],
                images: &[(8, resources.image(depth)?)],
                storage_images: &[(13, resources.image(found)?)],
                ..Default::default()
            };
            encoder.dispatch(&self.find, &bindings, &push, self.find.groups([width, height, 1]));
            Ok(())
        });
        let blur = frame
            .pass("AmbientOcclusion.Blur", Queue::Compute)
            .when(is_on)
            .read(found, reads)
            .write(&mut smooth, writes);
        blur.record(move |pass| {
            let (encoder, resources) = pass.split();
            let bindings = PassBindings {
                images: &[(9, resources.image(found)?)],
                storage_images: &[(13, resources.image(smooth)?)],
                ..Default::default()
            };
            encoder.dispatch(&self.blur, &bindings, &push, self.blur.groups([width, height, 1]));
            Ok(())
        });
        smooth
    }
}
