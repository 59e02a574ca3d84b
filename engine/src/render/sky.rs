//! The sky, wherever depth is empty. Drawn before the base pass, so that it can be while ambient occlusion is computed
//! beside it.

use std::sync::Arc;

use ash::vk::{CullModeFlags, SampleCountFlags};

use super::base::Colour;
use super::depth::Depth;
use super::targets::{COLOUR_FORMAT, DEPTH_FORMAT};
use crate::graph::{Access, Frame, Queue};
use crate::vk::layout::gpu_struct;
use crate::vk::{
    Buffer, ColourTarget, DepthTarget, Device, GraphicsDesc, GraphicsPipeline, Load, PassBindings, Result,
    shader,
};

gpu_struct! {
    /// Push constants of `shaders/sky.wgsl`.
    pub struct SkyPush {
        /// Place of this frame's constants.
        pub frame_index: u32,
    }
}

#[derive(Debug)]
pub(super) struct Sky {
    pipeline: GraphicsPipeline,
}

impl Sky {
    pub(super) fn new(device: &Arc<Device>, samples: SampleCountFlags) -> Result<Self> {
        let desc = GraphicsDesc {
            name: "Sky",
            shader: &shader::SKY,
            vertex: "sky_vertex",
            fragment: Some("sky_fragment"),
            colours: &[COLOUR_FORMAT],
            blends: &[],
            depth: Some((DEPTH_FORMAT, false)),
            cull: CullModeFlags::NONE,
            samples,
        };
        Ok(Self { pipeline: GraphicsPipeline::new(device, &desc)? })
    }

    /// Declares the pass, the first that draws into the colour.
    pub(super) fn declare<'f>(
        &'f self,
        frame: &mut Frame<'_, 'f>,
        colour: &mut Colour,
        depth: Depth,
        frames: &'f Buffer,
        extent: [u32; 2],
    ) {
        let push = SkyPush { frame_index: frame.place() as u32 };
        let pass = frame
            .pass("Sky", Queue::Graphics)
            .read(depth.tested, Access::DepthTest)
            .write(colour.drawn_mut(), Access::ColourAttachment);
        let drawn = *colour.drawn_mut();
        pass.record(move |pass| {
            let (encoder, resources) = pass.split();
            let view = resources.image(drawn)?.view();
            let target = ColourTarget { view, load: Load::Clear([0.0; 4]), resolve: None };
            let depth = DepthTarget::tested(resources.image(depth.tested)?.view());
            encoder.begin_rendering(extent, &[target], Some(depth));
            let bindings = PassBindings { buffers: &[(0, frames)], ..Default::default() };
            if encoder.bind_graphics(&self.pipeline, &bindings, &push) {
                encoder.draw(3, 1);
            }
            encoder.end_rendering();
            Ok(())
        });
    }
}
