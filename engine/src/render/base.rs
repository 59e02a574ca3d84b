//! The base pass: everything that culling left, the streamed ground, then the sky behind both.

use std::sync::Arc;

use ash::vk::{
    AccessFlags2 as Access, CullModeFlags, ImageAspectFlags, ImageLayout, PipelineStageFlags2 as Stage,
    SampleCountFlags,
};

use super::culling::Culling;
use super::ground::GroundPlaneDraw;
use super::renderer::World;
use super::targets::{COLOUR_FORMAT, DEPTH_FORMAT, Targets};
use crate::vk::layout::gpu_struct;
use crate::vk::{
    Buffer, ColourTarget, CommandEncoder, DepthTarget, Device, GraphicsDesc, GraphicsPipeline, Load,
    PassBindings, Result, Sampler, SamplerDesc, shader,
};

gpu_struct! {
    /// Push constants of `shaders/base.wgsl` and `shaders/sky.wgsl`.
    pub struct BasePush {
        /// Place of this frame's constants.
        pub frame_index: u32,
    }
}

#[derive(Debug)]
pub(super) struct BasePass {
    base: GraphicsPipeline,
    sky: GraphicsPipeline,
    ground: GroundPlaneDraw,
    sampler: Sampler,
}

impl BasePass {
    pub(super) fn new(device: &Arc<Device>, samples: SampleCountFlags, anisotropy: u32) -> Result<Self> {
        let pipeline = |name, shader, vertex, fragment, write, cull| {
            GraphicsPipeline::new(
                device,
                &GraphicsDesc {
                    name,
                    shader,
                    vertex,
                    fragment,
                    colours: &[COLOUR_FORMAT],
                    depth: Some((DEPTH_FORMAT, write)),
                    cull,
                    samples,
                },
            )
        };
        let desc = SamplerDesc { linear: true, repeat: true, anisotropy: anisotropy as f32 };
        Ok(Self {
            sampler: Sampler::new(device, "Trilinear", desc)?,
            ground: GroundPlaneDraw::new(device, samples)?,
            base: pipeline(
                "Base",
                &shader::BASE,
                "base_vertex",
                Some("base_fragment"),
                true,
                CullModeFlags::BACK,
            )?,
            sky: pipeline(
                "Sky",
                &shader::SKY,
                "sky_vertex",
                Some("sky_fragment"),
                false,
                CullModeFlags::NONE,
            )?,
        })
    }

    pub(super) fn record(
        &self,
        encoder: &mut CommandEncoder,
        targets: &Targets,
        world: World<'_>,
        culling: &Culling,
        frames: &Buffer,
        push: &BasePush,
    ) {
        let World { scene, ground } = world;
        // The frame before may still read or write what is drawn over: its contents are discarded.
        let colour_before =
            (Stage::FRAGMENT_SHADER | Stage::COLOR_ATTACHMENT_OUTPUT, Access::COLOR_ATTACHMENT_WRITE);
        let colour_write = (Stage::COLOR_ATTACHMENT_OUTPUT, Access::COLOR_ATTACHMENT_WRITE);
        let layouts = (ImageLayout::UNDEFINED, ImageLayout::COLOR_ATTACHMENT_OPTIMAL);
        for image in [Some(&targets.colour), targets.samples.as_ref()].into_iter().flatten() {
            encoder.image_barrier(image.raw(), ImageAspectFlags::COLOR, layouts, colour_before, colour_write);
        }
        let tests = Stage::EARLY_FRAGMENT_TESTS | Stage::LATE_FRAGMENT_TESTS;
        let depth_access = Access::DEPTH_STENCIL_ATTACHMENT_READ | Access::DEPTH_STENCIL_ATTACHMENT_WRITE;
        encoder.image_barrier(
            targets.depth.raw(),
            ImageAspectFlags::DEPTH,
            (ImageLayout::UNDEFINED, ImageLayout::DEPTH_ATTACHMENT_OPTIMAL),
            (tests, Access::DEPTH_STENCIL_ATTACHMENT_WRITE),
            (tests, depth_access),
        );
        let target = match &targets.samples {
            Some(samples) => ColourTarget {
                view: samples.view(),
                load: Load::Clear([0.0; 4]),
                resolve: Some(targets.colour.view()),
            },
            None => ColourTarget { view: targets.colour.view(), load: Load::Clear([0.0; 4]), resolve: None },
        };
        let depth = DepthTarget {
            view: targets.depth.view(),
            is_cleared: true,
            is_written: true,
            is_kept: false,
            resolve: None,
        };
        encoder.begin_rendering(targets.extent, &[target], Some(depth));
        let gpu = scene.gpu();
        let mut buffers = vec![
            (0, frames),
            (1, gpu.primitives().buffer().buffer()),
            (2, gpu.instances().buffer().buffer()),
            (3, gpu.payloads().buffer().buffer()),
            (4, scene.geometry().vertices().buffer()),
        ];
        let mut images = Vec::new();
        if let Some(terrain) = scene.terrain() {
            let textures = terrain.textures();
            buffers.push((5, textures.constants()));
            images.extend([
                (8, textures.slope()),
                (9, textures.light()),
                (10, textures.detail()),
                (11, textures.grain()),
            ]);
        }
        let bindings = PassBindings {
            buffers: &buffers,
            images: &images,
            sampler: Some(&self.sampler),
            ..Default::default()
        };
        if !gpu.instances().is_empty() && encoder.bind_graphics(&self.base, &bindings, push) {
            encoder.bind_indices(scene.geometry().indices().buffer());
            culling.draw(encoder);
        }
        if let Some(ground) = ground {
            self.ground.draw(encoder, ground, frames, push.frame_index);
        }
        let bindings = PassBindings { buffers: &[(0, frames)], ..Default::default() };
        if encoder.bind_graphics(&self.sky, &bindings, push) {
            encoder.draw(3, 1);
        }
        encoder.end_rendering();
    }
}
