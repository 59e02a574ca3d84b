//! Anti-aliasing of the display values along edges, into the output; see `shaders/edge_blend.wgsl`.

use std::sync::Arc;

use ash::vk::{
    AccessFlags2 as Access, CullModeFlags, ImageAspectFlags, ImageLayout, PipelineStageFlags2 as Stage,
    SampleCountFlags,
};

use super::targets::{OUTPUT_FORMAT, Targets};
use crate::vk::layout::gpu_struct;
use crate::vk::{
    ColourTarget, CommandEncoder, Device, GraphicsDesc, GraphicsPipeline, Load, PassBindings, Result,
    Sampler, SamplerDesc, shader,
};

gpu_struct! {
    /// Push constants of `shaders/edge_blend.wgsl`.
    pub struct EdgeBlendPush {
        /// Width of the image in pixels.
        pub width: u32,
        /// Height of the image in pixels.
        pub height: u32,
    }
}

#[derive(Debug)]
pub(super) struct EdgeBlend {
    pipeline: GraphicsPipeline,
    sampler: Sampler,
}

impl EdgeBlend {
    pub(super) fn new(device: &Arc<Device>) -> Result<Self> {
        let pipeline = GraphicsPipeline::new(
            device,
            &GraphicsDesc {
                name: "EdgeBlend",
                shader: &shader::EDGE_BLEND,
                vertex: "edge_blend_vertex",
                fragment: Some("edge_blend_fragment"),
                colours: &[OUTPUT_FORMAT],
                depth: None,
                cull: CullModeFlags::NONE,
                samples: SampleCountFlags::TYPE_1,
            },
        )?;
        let desc = SamplerDesc { linear: true, repeat: false, anisotropy: 1.0 };
        Ok(Self { pipeline, sampler: Sampler::new(device, "Bilinear", desc)? })
    }

    /// Leaves the output in the layout `TRANSFER_SRC_OPTIMAL`.
    pub(super) fn record(&self, encoder: &mut CommandEncoder, targets: &Targets) {
        let written = (Stage::COLOR_ATTACHMENT_OUTPUT, Access::COLOR_ATTACHMENT_WRITE);
        encoder.image_barrier(
            targets.output.raw(),
            ImageAspectFlags::COLOR,
            (ImageLayout::UNDEFINED, ImageLayout::COLOR_ATTACHMENT_OPTIMAL),
            (Stage::ALL_TRANSFER | Stage::COLOR_ATTACHMENT_OUTPUT, Access::COLOR_ATTACHMENT_WRITE),
            written,
        );
        let target = ColourTarget { view: targets.output.view(), load: Load::Discard, resolve: None };
        encoder.begin_rendering(targets.extent, &[target], None);
        let images = [(8, &targets.display)];
        let bindings = PassBindings { images: &images, sampler: Some(&self.sampler), ..Default::default() };
        let [width, height] = targets.extent;
        if encoder.bind_graphics(&self.pipeline, &bindings, &EdgeBlendPush { width, height }) {
            encoder.draw(3, 1);
        }
        encoder.end_rendering();
        encoder.image_barrier(
            targets.output.raw(),
            ImageAspectFlags::COLOR,
            (ImageLayout::COLOR_ATTACHMENT_OPTIMAL, ImageLayout::TRANSFER_SRC_OPTIMAL),
            written,
            (Stage::ALL_TRANSFER, Access::TRANSFER_READ),
        );
    }
}
