//! From linear light to display values, which [`EdgeBlend`](super::edge_blend) takes up.

use std::sync::Arc;

use ash::vk::{CullModeFlags, SampleCountFlags};

use super::targets::OUTPUT_FORMAT;
use crate::graph::{Access, Frame, ImageHandle, ImageInfo, Queue, ShaderStages};
use crate::vk::layout::gpu_struct;
use crate::vk::{
    Buffer, ColourTarget, Device, GraphicsDesc, GraphicsPipeline, Load, PassBindings, Result, shader,
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

    /// Declares the pass; returns the display values.
    pub(super) fn declare<'f>(
        &'f self,
        frame: &mut Frame<'_, 'f>,
        colour: ImageHandle,
        frames: &'f Buffer,
        extent: [u32; 2],
    ) -> ImageHandle {
        let frame_index = frame.place() as u32;
        let mut display = frame.image("Display", ImageInfo::new_2d(OUTPUT_FORMAT, extent));
        let pass = frame
            .pass("ToneMap", Queue::Graphics)
            .read(colour, Access::Sampled(ShaderStages::FRAGMENT))
            .write(&mut display, Access::ColourAttachment);
        pass.record(move |pass| {
            let (encoder, resources) = pass.split();
            let view = resources.image(display)?.view();
            encoder.begin_rendering(
                extent,
                &[ColourTarget { view, load: Load::Discard, resolve: None }],
                None,
            );
            let images = [(8, resources.image(colour)?)];
            let bindings = PassBindings { buffers: &[(0, frames)], images: &images, ..Default::default() };
            if encoder.bind_graphics(&self.pipeline, &bindings, &ToneMapPush { frame_index }) {
                encoder.draw(3, 1);
            }
            encoder.end_rendering();
            Ok(())
        });
        display
    }
}
