//! Drawing a streamed ground plane: its depth in the pre-pass, its colour in the base pass.

use std::sync::Arc;

use ash::vk::{CullModeFlags, SampleCountFlags};

use super::targets::{COLOUR_FORMAT, DEPTH_FORMAT};
use crate::streaming::StreamedGround;
use crate::vk::layout::gpu_struct;
use crate::vk::{
    Buffer, CommandEncoder, Device, GraphicsDesc, GraphicsPipeline, PassBindings, Result, Sampler,
    SamplerDesc, shader,
};

gpu_struct! {
    /// Push constants of `shaders/streamed_ground.wgsl`.
    pub struct GroundPush {
        /// The image's north-western corner, metres.
        pub corner: [f32; 3],
        /// Place of this frame's constants.
        pub frame_index: u32,
        /// Width and height of the image in metres.
        pub size: [f32; 2],
        /// In texels of mip 0.
        pub texels: [f32; 2],
        /// In tiles of mip 0.
        pub tiles: [f32; 2],
        /// Samples along the longer axis of a footprint at most.
        pub taps: f32,
        /// Added to every wished level of detail.
        pub bias: f32,
        /// Linear colour of the water beyond the image.
        pub beyond: [f32; 3],
        /// How much of the colour of its resident mip every place shows.
        pub tint: f32,
    }
}

impl GroundPush {
    fn of(ground: &StreamedGround, frame_index: u32) -> Self {
        let (plane, layout) = (ground.plane(), ground.image().layout());
        let [width, height, _] = layout.mip_extent(0).map(|side| side as f32);
        let [tile_width, tile_height, _] = layout.tiling().granularity.map(|side| side as f32);
        Self {
            corner: plane.corner.to_array(),
            frame_index,
            size: plane.size.to_array(),
            texels: [width, height],
            tiles: [width / tile_width, height / tile_height],
            taps: ground.taps() as f32,
            bias: ground.bias(),
            beyond: ground.beyond().to_array(),
            tint: ground.look.tint,
        }
    }
}

#[derive(Debug)]
pub(super) struct GroundPlaneDraw {
    depth: GraphicsPipeline,
    pipeline: GraphicsPipeline,
    sampler: Sampler,
}

impl GroundPlaneDraw {
    pub(super) fn new(device: &Arc<Device>, samples: SampleCountFlags) -> Result<Self> {
        let pipeline = GraphicsDesc {
            name: "StreamedGround",
            shader: &shader::STREAMED_GROUND,
            vertex: "ground_vertex",
            fragment: Some("ground_fragment"),
            colours: &[COLOUR_FORMAT],
            blends: &[],
            depth: Some((DEPTH_FORMAT, false)),
            cull: CullModeFlags::NONE,
            samples,
        };
        let depth = GraphicsDesc {
            name: "StreamedGround.Depth",
            fragment: None,
            colours: &[],
            blends: &[],
            depth: Some((DEPTH_FORMAT, true)),
            ..pipeline.clone()
        };
        let (depth, pipeline) =
            (GraphicsPipeline::new(device, &depth)?, GraphicsPipeline::new(device, &pipeline)?);
        let desc = SamplerDesc { linear: true, repeat: false, anisotropy: 1.0 };
        Ok(Self { depth, pipeline, sampler: Sampler::new(device, "TrilinearClamp", desc)? })
    }

    /// Inside the pre-pass: only depth.
    pub(super) fn draw_depth(
        &self,
        encoder: &mut CommandEncoder,
        ground: &StreamedGround,
        frames: &Buffer,
        frame_index: u32,
    ) {
        let bindings = PassBindings { buffers: &[(0, frames)], ..Default::default() };
        if ground.image().is_ready()
            && encoder.bind_graphics(&self.depth, &bindings, &GroundPush::of(ground, frame_index))
        {
            encoder.draw(12, 1);
        }
    }

    /// Inside the base pass. Draws nothing until there is something in the image.
    pub(super) fn draw(
        &self,
        encoder: &mut CommandEncoder,
        ground: &StreamedGround,
        frames: &Buffer,
        frame_index: u32,
    ) {
        if !ground.image().is_ready() {
            return;
        }
        let bindings = PassBindings {
            buffers: &[(0, frames)],
            images: &[(8, ground.image().image()), (9, ground.image().map_image())],
            sampler: Some(&self.sampler),
            ..Default::default()
        };
        if encoder.bind_graphics(&self.pipeline, &bindings, &GroundPush::of(ground, frame_index)) {
            encoder.draw(12, 1);
        }
    }
}
