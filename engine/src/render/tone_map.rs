//! From linear light to display values, which [`EdgeBlend`](super::edge_blend) takes up.

use std::sync::Arc;

use ash::vk::{
    AccessFlags2 as Access, CullModeFlags, ImageAspectFlags, ImageLayout, PipelineStageFlags2 as Stage,
    SampleCountFlags,
};

use super::targets::{OUTPUT_FORMAT, Targets};
use crate::vk::layout::gpu_struct;
use crate::vk::{
    Buffer, ColourTarget, CommandEncoder, Device, GraphicsDesc, GraphicsPipeline, Load, PassBindings, Result,
    shader,
};

gpu_struct! {
    /// Push constants of `shaders/tone_map.wgsl`.
    pub struct ToneMapPush {
        /// Place of this frame's constants.
        pub frame_index: u32,
    }
}

#[derive(Debug)]
pub(super) struct ToneMap {
    pipeline: GraphicsPipeline,
}

impl ToneMap {
    pub(super) fn new(device: &Arc<Device>) -> Result<Self> {
        let pipeline = GraphicsPipeline::new(
            device,
            &GraphicsDesc {
                name: "ToneMap",
                shader: &shader::TONE_MAP,
                vertex: "tone_map_vertex",
                fragment: Some("tone_map_fragment"),
                colours: &[OUTPUT_FORMAT],
                depth: None,
                cull: CullModeFlags::NONE,
                samples: SampleCountFlags::TYPE_1,
            },
        )?;
        Ok(Self { pipeline })
    }

    /// Leaves the display values to be read by the next pass.
    pub(super) fn record(
        &self,
        encoder: &mut CommandEncoder,
        targets: &Targets,
        frames: &Buffer,
        frame_index: u32,
    ) {
        let written = (Stage::COLOR_ATTACHMENT_OUTPUT, Access::COLOR_ATTACHMENT_WRITE);
        let colour = ImageAspectFlags::COLOR;
        encoder.image_barrier(
            targets.colour.raw(),
            colour,
            (ImageLayout::COLOR_ATTACHMENT_OPTIMAL, ImageLayout::SHADER_READ_ONLY_OPTIMAL),
            written,
            (Stage::FRAGMENT_SHADER, Access::SHADER_SAMPLED_READ),
        );
        encoder.image_barrier(
            targets.display.raw(),
            colour,
            (ImageLayout::UNDEFINED, ImageLayout::COLOR_ATTACHMENT_OPTIMAL),
            (Stage::FRAGMENT_SHADER | Stage::COLOR_ATTACHMENT_OUTPUT, Access::COLOR_ATTACHMENT_WRITE),
            written,
        );
        let target = ColourTarget { view: targets.display.view(), load: Load::Discard, resolve: None };
        encoder.begin_rendering(targets.extent, &[target], None);
        let bindings =
            PassBindings { buffers: &[(0, frames)], images: &[(8, &targets.colour)], ..Default::default() };
        if encoder.bind_graphics(&self.pipeline, &bindings, &ToneMapPush { frame_index }) {
            encoder.draw(3, 1);
        }
        encoder.end_rendering();
        encoder.image_barrier(
            targets.display.raw(),
            colour,
            (ImageLayout::COLOR_ATTACHMENT_OPTIMAL, ImageLayout::SHADER_READ_ONLY_OPTIMAL),
            written,
            (Stage::FRAGMENT_SHADER, Access::SHADER_SAMPLED_READ),
        );
    }
}
