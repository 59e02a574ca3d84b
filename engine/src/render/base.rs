//! The base pass: everything that culling left, the streamed ground, then the sky behind both.

use std::sync::Arc;

use ash::vk::{CullModeFlags, SampleCountFlags};

use super::culling::{Culling, DrawList};
use super::ground::GroundPlaneDraw;
use super::renderer::World;
use super::targets::{COLOUR_FORMAT, DEPTH_FORMAT};
use crate::graph::{Access, Frame, ImageHandle, ImageInfo, Queue, ShaderStages};
use crate::scene::SceneBuffers;
use crate::streaming::StreamedImages;
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

/// What the base pass draws, and the resources of the frame that it reads for it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Drawn<'f> {
    pub(super) world: World<'f>,
    pub(super) buffers: SceneBuffers,
    pub(super) culling: &'f Culling,
    pub(super) list: DrawList,
    pub(super) ground: Option<StreamedImages>,
}

#[derive(Debug)]
pub(super) struct BasePass {
    samples: SampleCountFlags,
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
            samples,
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

    /// Declares the pass; returns linear light.
    pub(super) fn declare<'f>(
        &'f self,
        frame: &mut Frame<'_, 'f>,
        drawn: Drawn<'f>,
        frames: &'f Buffer,
        extent: [u32; 2],
    ) -> ImageHandle {
        let push = BasePush { frame_index: frame.place() as u32 };
        let several = self.samples != SampleCountFlags::TYPE_1;
        let info = ImageInfo::new_2d(COLOUR_FORMAT, extent);
        let mut colour = frame.image("Colour", info);
        // Linear light of each sample; where there is one a pixel, nothing.
        let mut samples = several.then(|| frame.image("Colour.Samples", info.with_samples(self.samples)));
        let depth = ImageInfo::new_2d(DEPTH_FORMAT, extent).with_samples(self.samples);
        let mut depth = frame.image("Depth", depth);
        let Drawn { world, buffers, list, ground, .. } = drawn;
        let draws = Access::StorageRead(ShaderStages::DRAW);
        let mut pass = frame
            .pass("BasePass", Queue::Graphics)
            .read_all([buffers.primitives, buffers.instances, buffers.payloads, buffers.vertices], draws)
            .read(buffers.indices, Access::Index)
            .read_all([list.commands, list.counters], Access::Indirect)
            .read_all(
                ground.into_iter().flat_map(|images| [images.image, images.map]),
                Access::Sampled(ShaderStages::DRAW),
            )
            .write(&mut colour, Access::ColourAttachment)
            .write(&mut depth, Access::DepthAttachment);
        if let Some(samples) = &mut samples {
            pass = pass.write(samples, Access::ColourAttachment);
        }
        pass.record(move |pass| {
            let (encoder, resources) = pass.split();
            let (view, load) = (resources.image(colour)?.view(), Load::Clear([0.0; 4]));
            let target = match samples {
                Some(samples) => {
                    ColourTarget { view: resources.image(samples)?.view(), load, resolve: Some(view) }
                }
                None => ColourTarget { view, load, resolve: None },
            };
            let depth = DepthTarget {
                view: resources.image(depth)?.view(),
                is_cleared: true,
                is_written: true,
                is_kept: false,
                resolve: None,
            };
            encoder.begin_rendering(extent, &[target], Some(depth));
            self.draw(encoder, world, drawn.culling, frames, &push);
            encoder.end_rendering();
            Ok(())
        });
        colour
    }

    fn draw(
        &self,
        encoder: &mut CommandEncoder,
        world: World<'_>,
        culling: &Culling,
        frames: &Buffer,
        push: &BasePush,
    ) {
        let World { scene, ground } = world;
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
    }
}
