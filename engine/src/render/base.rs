//! The base pass: everything that culling left and the streamed ground, lit, over the sky. Depth is there already.

use std::sync::Arc;

use ash::vk::{CullModeFlags, SampleCountFlags};

use super::culling::{Culling, DrawList};
use super::depth::{Depth, DepthPrePass};
use super::ground::GroundPlaneDraw;
use super::renderer::World;
use super::sky::Sky;
use super::targets::{COLOUR_FORMAT, DEPTH_FORMAT};
use super::virtual_ground::VirtualGround;
use crate::graph::{Access, Frame, ImageHandle, ImageInfo, Queue, ShaderStages};
use crate::scene::SceneBuffers;
use crate::scene::terrain::ChunkDraw;
use crate::streaming::StreamedImages;
use crate::vk::layout::gpu_struct;
use crate::vk::{
    Blend, Buffer, ColourTarget, CommandEncoder, DepthTarget, Device, GraphicsDesc, GraphicsPipeline, Image,
    Load, PassBindings, Result, Sampler, SamplerDesc, shader,
};
use crate::vt::VtImages;

gpu_struct! {
    /// Push constants of `shaders/base.wgsl`.
    pub struct BasePush {
        /// Place of this frame's constants.
        pub frame_index: u32,
        /// Slot of the virtual texture of the ground's surface.
        pub surface_texture: u32,
        /// Slot of that of the world's height; all ones for none.
        pub height_texture: u32,
        /// Slot of that of displacement; all ones for none.
        pub displacement_texture: u32,
        /// Metres from the camera where displacement begins to fade, and where it is gone.
        pub displacement_fade: [f32; 2],
        /// Metres from the camera within which what the finest page cannot show is evaluated in the pass.
        pub near_reach: f32,
        /// To a multiple of 8 bytes.
        pub padding: f32,
        /// Page of level 0 of the surface in which the camera is.
        pub surface_page: [i32; 2],
        /// How far into that page it is, 0 to 1.
        pub surface_fraction: [f32; 2],
        /// The same of height and displacement.
        pub second_page: [i32; 2],
        /// The same of height and displacement.
        pub second_fraction: [f32; 2],
    }
}

/// Ground that is near.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct NearGround<'f> {
    /// How near, metres.
    pub(super) reach: f32,
    pub(super) chunks: &'f [ChunkDraw],
}

/// What is drawn, and the resources of the frame that are read for it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Drawn<'f> {
    pub(super) world: World<'f>,
    pub(super) buffers: SceneBuffers,
    pub(super) culling: &'f Culling,
    pub(super) list: DrawList,
    pub(super) ground: Option<StreamedImages>,
    /// Virtual textures of the ground.
    pub(super) textures: Option<VirtualGround<'f>>,
    /// Ground that is near enough for its materials to be evaluated over its virtual textures.
    pub(super) near: NearGround<'f>,
    /// The ground has one material everywhere.
    pub(super) is_plain: bool,
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

    /// Push constants of the passes that draw it.
    pub(super) fn push(&self, frame_index: u32) -> BasePush {
        match &self.textures {
            Some(textures) => textures.push(frame_index, self.near.reach),
            None => BasePush { frame_index, ..bytemuck::Zeroable::zeroed() },
        }
    }

    /// Draws what culling left, with a pipeline bound.
    pub(super) fn draw(&self, encoder: &mut CommandEncoder) {
        encoder.bind_indices(self.world.scene.geometry().indices().buffer());
        self.culling.draw(encoder);
    }

    /// Draws near ground, with a pipeline bound.
    fn draw_near(&self, encoder: &mut CommandEncoder) {
        encoder.bind_indices(self.world.scene.geometry().indices().buffer());
        for chunk in self.near.chunks {
            encoder.draw_indexed(chunk.index_count, 1, (chunk.first_index, chunk.instance));
        }
    }
}

fn base_desc(samples: SampleCountFlags) -> GraphicsDesc<'static> {
    GraphicsDesc {
        name: "Base",
        shader: &shader::BASE,
        vertex: "base_vertex",
        fragment: Some("base_fragment"),
        colours: &[COLOUR_FORMAT],
        blends: &[],
        depth: Some((DEPTH_FORMAT, false)),
        cull: CullModeFlags::BACK,
        samples,
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

/// What draws the world with the ground's virtual textures.
#[derive(Debug)]
struct VirtualPipelines {
    /// All of it.
    whole: GraphicsPipeline,
    /// Near ground with its materials, over that.
    near: GraphicsPipeline,
}

impl VirtualPipelines {
    fn new(
        device: &Arc<Device>,
        samples: SampleCountFlags,
        [name, near_name]: [&str; 2],
        [whole, near]: [&str; 2],
    ) -> Result<Self> {
        let desc =
            GraphicsDesc { name, vertex: "base_vertex_virtual", fragment: Some(whole), ..base_desc(samples) };
        let over = [Blend { is_over: true, ..Blend::REPLACE }];
        let near = GraphicsDesc { name: near_name, fragment: Some(near), blends: &over, ..desc.clone() };
        Ok(Self { whole: GraphicsPipeline::new(device, &desc)?, near: GraphicsPipeline::new(device, &near)? })
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
    /// With the ground's virtual textures: without and with ambient occlusion.
    base_virtual: Option<[VirtualPipelines; 2]>,
    /// With one material everywhere on the ground.
    base_plain: Option<GraphicsPipeline>,
    sampler: Sampler,
}

impl BasePass {
    pub(super) fn new(device: &Arc<Device>, samples: SampleCountFlags, anisotropy: u32) -> Result<Self> {
        let base = base_desc(samples);
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
            base_virtual: None,
            base_plain: None,
            sampler: Sampler::new(device, "Trilinear", desc)?,
        })
    }

    /// Compiles what draws the ground with virtual textures, if that was not done yet.
    pub(super) fn prepare_virtual(&mut self, device: &Arc<Device>) -> Result<()> {
        self.depth.prepare_virtual(device)?;
        if self.base_virtual.is_none() {
            let open = VirtualPipelines::new(
                device,
                self.samples,
                ["Base.Virtual", "Base.Near"],
                ["base_fragment_virtual", "base_fragment_near"],
            )?;
            let occluded = VirtualPipelines::new(
                device,
                self.samples,
                ["Base.Virtual.Occluded", "Base.Near.Occluded"],
                ["base_fragment_virtual_occluded", "base_fragment_near_occluded"],
            )?;
            self.base_virtual = Some([open, occluded]);
        }
        Ok(())
    }

    /// Compiles what draws the ground with one material everywhere, if that was not done yet.
    pub(super) fn prepare_plain(&mut self, device: &Arc<Device>) -> Result<()> {
        if self.base_plain.is_none() {
            let desc = GraphicsDesc {
                name: "Base.Plain",
                fragment: Some("base_fragment_plain"),
                ..base_desc(self.samples)
            };
            self.base_plain = Some(GraphicsPipeline::new(device, &desc)?);
        }
        Ok(())
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
        images: Option<&mut VtImages>,
    ) {
        let push = drawn.push(frame.place() as u32);
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
        if let (Some(textures), Some(images)) = (drawn.textures, images) {
            pass = pass
                .read_all(textures.handles(images), VirtualGround::SAMPLED)
                .write(&mut images.feedback, Access::StorageReadWrite(ShaderStages::FRAGMENT));
        }
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
        let mut buffers = drawn.vertex_buffers(frames);
        let virtual_pipelines = self.base_virtual.as_ref().filter(|_| drawn.textures.is_some());
        if let Some(textures) = drawn.textures {
            buffers.extend(textures.buffers(true));
            images.extend(textures.images());
        }
        let storage_images: Vec<_> = occlusion.map(|image| (13, image)).into_iter().collect();
        let bindings = PassBindings {
            buffers: &buffers,
            images: &images,
            sampler: Some(&self.sampler),
            second_sampler: drawn.textures.map(|textures| textures.sampler()),
            storage_images: &storage_images,
            ..Default::default()
        };
        let plain = self.base_plain.as_ref().filter(|_| drawn.is_plain);
        let of_textures = virtual_pipelines.map(|both| &both[usize::from(occlusion.is_some())]);
        let (pipeline, near) = match (plain, of_textures, occlusion.is_some()) {
            (Some(plain), ..) => (plain, None),
            (None, Some(pipelines), _) => (&pipelines.whole, Some(&pipelines.near)),
            (None, None, false) => (&self.base, None),
            (None, None, true) => (&self.base_occluded, None),
        };
        if drawn.has_instances() && encoder.bind_graphics(pipeline, &bindings, push) {
            drawn.draw(encoder);
        }
        if let Some(near) = near.filter(|_| !drawn.near.chunks.is_empty())
            && encoder.bind_graphics(near, &bindings, push)
        {
            drawn.draw_near(encoder);
        }
        if let Some(ground) = drawn.world.ground {
            self.ground.draw(encoder, ground, frames, push.frame_index);
        }
    }
}
