//! The base pass: everything that culling left and the streamed ground, lit, over the sky. Depth is there already.

use std::sync::Arc;

use ash::vk::{CullModeFlags, SampleCountFlags};

use super::culling::{Culling, DrawList};
use super::depth::{Depth, DepthPrePass};
use super::ground::GroundPlaneDraw;
use super::renderer::World;
use super::sky::Sky;
use super::targets::{COLOUR_FORMAT, DEPTH_FORMAT};
use crate::graph::{Access, Frame, ImageHandle, ImageInfo, Queue, ShaderStages};
use crate::scene::SceneBuffers;
use crate::streaming::StreamedImages;
use crate::vk::layout::gpu_struct;
use crate::vk::{
    Buffer, ColourTarget, CommandEncoder, DepthTarget, Device, GraphicsDesc, GraphicsPipeline, Image, Load,
    PassBindings, Result, Sampler, SamplerDesc, shader,
};

gpu_struct! {
    /// Push constants of `shaders/base.wgsl` and `shaders/sky.wgsl`.
    pub struct BasePush {
        /// Place of this frame's constants.
        pub frame_index: u32,
    }
}

/// What is drawn, and the resources of the frame that are read for it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Drawn<'f> {
    pub(super) world: World<'f>,
    pub(super) buffers: SceneBuffers,
    pub(super) culling: &'f Culling,
    pub(super) list: DrawList,
    pub(super) ground: Option<StreamedImages>,
}

impl<'f> Drawn<'f> {
    pub(super) fn has_instances(&self) -> bool {
        !self.world.scene.gpu().instances().is_empty()
    }

    /// What vertex shaders read, by binding.
    pub(super) fn vertex_buffers(&self, frames: &'f Buffer) -> Vec<(u32, &'f Buffer)> {
        let scene = self.world.scene;
        let gpu = scene.gpu();
        let mut buffers = vec![
            (0, frames),
            (1, gpu.primitives().buffer().buffer()),
            (2, gpu.instances().buffer().buffer()),
            (3, gpu.payloads().buffer().buffer()),
            (4, scene.geometry().vertices().buffer()),
        ];
        buffers.extend(scene.terrain().into_iter().flat_map(|terrain| terrain.textures().material_buffers()));
        buffers
    }

    /// Draws what culling left, with a pipeline bound.
    pub(super) fn draw(&self, encoder: &mut CommandEncoder) {
        encoder.bind_indices(self.world.scene.geometry().indices().buffer());
        self.culling.draw(encoder);
    }
}

/// Images that linear light is drawn into.
#[derive(Debug, Clone, Copy)]
pub(super) struct Colour {
    /// Linear light.
    pub(super) light: ImageHandle,
    /// That of each sample; where there is one a pixel, nothing.
    samples: Option<ImageHandle>,
}

impl Colour {
    /// What is drawn into.
    pub(super) fn drawn_mut(&mut self) -> &mut ImageHandle {
        self.samples.as_mut().unwrap_or(&mut self.light)
    }
}

/// What draws the world: depth, sky, base, for one number of samples.
#[derive(Debug)]
pub(super) struct BasePass {
    samples: SampleCountFlags,
    pub(super) depth: DepthPrePass,
    pub(super) sky: Sky,
    pub(super) ground: GroundPlaneDraw,
    base: GraphicsPipeline,
    base_occluded: GraphicsPipeline,
    sampler: Sampler,
}

impl BasePass {
    pub(super) fn new(device: &Arc<Device>, samples: SampleCountFlags, anisotropy: u32) -> Result<Self> {
        let base = GraphicsDesc {
            name: "Base",
            shader: &shader::BASE,
            vertex: "base_vertex",
            fragment: Some("base_fragment"),
            colours: &[COLOUR_FORMAT],
            blends: &[],
            depth: Some((DEPTH_FORMAT, false)),
            cull: CullModeFlags::BACK,
            samples,
        };
        let occluded =
            GraphicsDesc { name: "Base.Occluded", fragment: Some("base_fragment_occluded"), ..base.clone() };
        let desc = SamplerDesc { linear: true, repeat: true, anisotropy: anisotropy as f32 };
        Ok(Self {
            samples,
            depth: DepthPrePass::new(device, samples)?,
            sky: Sky::new(device, samples)?,
            ground: GroundPlaneDraw::new(device, samples)?,
            base: GraphicsPipeline::new(device, &base)?,
            base_occluded: GraphicsPipeline::new(device, &occluded)?,
            sampler: Sampler::new(device, "Trilinear", desc)?,
        })
    }

    /// The images that are drawn into.
    pub(super) fn colour(&self, frame: &mut Frame<'_, '_>, extent: [u32; 2]) -> Colour {
        let info = ImageInfo::new_2d(COLOUR_FORMAT, extent);
        let several = self.samples != SampleCountFlags::TYPE_1;
        Colour {
            light: frame.image("Colour", info),
            samples: several.then(|| frame.image("Colour.Samples", info.with_samples(self.samples))),
        }
    }

    /// Declares the pass, which leaves linear light in the colour. `occlusion` counts where somebody wrote it.
    pub(super) fn declare<'f>(
        &'f self,
        frame: &mut Frame<'_, 'f>,
        drawn: Drawn<'f>,
        colour: &mut Colour,
        (depth, occlusion): (Depth, ImageHandle),
        (frames, extent): (&'f Buffer, [u32; 2]),
    ) {
        let push = BasePush { frame_index: frame.place() as u32 };
        let Drawn { buffers, list, ground, .. } = drawn;
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
            .read_optional(occlusion, Access::StorageRead(ShaderStages::FRAGMENT))
            .read(depth.tested, Access::DepthTest);
        pass = match &mut colour.samples {
            Some(samples) => pass
                .write(samples, Access::ColourAttachmentOver)
                .write(&mut colour.light, Access::ColourAttachment),
            None => pass.write(&mut colour.light, Access::ColourAttachmentOver),
        };
        let Colour { light, samples } = *colour;
        pass.record(move |pass| {
            let (encoder, resources) = pass.split();
            let (view, load) = (resources.image(light)?.view(), Load::Keep);
            let target = match samples {
                Some(samples) => {
                    ColourTarget { view: resources.image(samples)?.view(), load, resolve: Some(view) }
                }
                None => ColourTarget { view, load, resolve: None },
            };
            let depth = DepthTarget::tested(resources.image(depth.tested)?.view());
            encoder.begin_rendering(extent, &[target], Some(depth));
            self.draw(encoder, drawn, resources.optional_image(occlusion)?, frames, &push);
            encoder.end_rendering();
            Ok(())
        });
    }

    fn draw(
        &self,
        encoder: &mut CommandEncoder,
        drawn: Drawn<'_>,
        occlusion: Option<&Image>,
        frames: &Buffer,
        push: &BasePush,
    ) {
        let mut images = Vec::new();
        if let Some(terrain) = drawn.world.scene.terrain() {
            let textures = terrain.textures();
            images.extend(textures.material_images());
            images.push((9, textures.light()));
        }
        let storage_images: Vec<_> = occlusion.map(|image| (13, image)).into_iter().collect();
        let bindings = PassBindings {
            buffers: &drawn.vertex_buffers(frames),
            images: &images,
            sampler: Some(&self.sampler),
            storage_images: &storage_images,
            ..Default::default()
        };
        let pipeline = if occlusion.is_some() { &self.base_occluded } else { &self.base };
        if drawn.has_instances() && encoder.bind_graphics(pipeline, &bindings, push) {
            drawn.draw(encoder);
        }
        if let Some(ground) = drawn.world.ground {
            self.ground.draw(encoder, ground, frames, push.frame_index);
        }
    }
}
