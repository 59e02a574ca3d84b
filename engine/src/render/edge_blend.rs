//! Anti-aliasing of the display values along edges, into the output; see `shaders/edge_blend.wgsl`. Only where there is
//! none over time.

use std::sync::Arc;

use ash::vk::{CullModeFlags, SampleCountFlags};

use super::targets::OUTPUT_FORMAT;
use crate::graph::{Access, Frame, ImageHandle, Queue, ShaderStages};
use crate::vk::layout::gpu_struct;
use crate::vk::{
    ColourTarget, Device, GraphicsDesc, GraphicsPipeline, Load, PassBindings, Result, Sampler, SamplerDesc,
    shader,
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
                blends: &[],
                depth: None,
                cull: CullModeFlags::NONE,
                samples: SampleCountFlags::TYPE_1,
            },
        )?;
        let desc = SamplerDesc { linear: true, repeat: false, anisotropy: 1.0 };
        Ok(Self { pipeline, sampler: Sampler::new(device, "Bilinear", desc)? })
    }

    /// Declares the pass, which draws over all of the output.
    pub(super) fn declare<'f>(
        &'f self,
        frame: &mut Frame<'_, 'f>,
        display: ImageHandle,
        output: &mut ImageHandle,
        extent: [u32; 2],
    ) {
        let pass = frame
            .pass("EdgeBlend", Queue::Graphics)
            .read(display, Access::Sampled(ShaderStages::FRAGMENT))
            .write(output, Access::ColourAttachment);
        let output = *output;
        pass.record(move |pass| {
            let (encoder, resources) = pass.split();
            let view = resources.image(output)?.view();
            encoder.begin_rendering(
                extent,
                &[ColourTarget { view, load: Load::Discard, resolve: None }],
                None,
            );
            let images = [(8, resources.image(display)?)];
            let bindings =
                PassBindings { images: &images, sampler: Some(&self.sampler), ..Default::default() };
            let [width, height] = extent;
            if encoder.bind_graphics(&self.pipeline, &bindings, &EdgeBlendPush { width, height }) {
                encoder.draw(3, 1);
            }
            encoder.end_rendering();
            Ok(())
        });
    }
}
