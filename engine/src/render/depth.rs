//! The depth pre-pass: everything that culling left, and the streamed ground, into depth.
//!
//! What reads depth alone - ambient occlusion, anti-aliasing over time - needs no colour for it, and the base pass
//! shades each pixel once.

use std::sync::Arc;

use ash::vk::{CullModeFlags, SampleCountFlags};

use super::base::Drawn;
use super::ground::GroundPlaneDraw;
use super::targets::DEPTH_FORMAT;
use super::virtual_ground::VirtualGround;
use crate::graph::{Access, Frame, ImageHandle, ImageInfo, Queue, ShaderStages};
use crate::vk::{Buffer, DepthTarget, Device, GraphicsDesc, GraphicsPipeline, PassBindings, Result, shader};
use crate::vt::VtImages;

/// Depth of a frame.
#[derive(Debug, Clone, Copy)]
pub(super) struct Depth {
    /// What draws test against.
    pub(super) tested: ImageHandle,
    /// The same with one sample a pixel, for shaders.
    pub(super) sampled: ImageHandle,
}

#[derive(Debug)]
pub(super) struct DepthPrePass {
    samples: SampleCountFlags,
    pipeline: GraphicsPipeline,
    /// With the displacement of virtual textures.
    pipeline_virtual: Option<GraphicsPipeline>,
}

fn depth_desc(samples: SampleCountFlags) -> GraphicsDesc<'static> {
    GraphicsDesc {
        name: "Base.Depth",
        shader: &shader::BASE,
        vertex: "base_vertex",
        fragment: None,
        colours: &[],
        blends: &[],
        depth: Some((DEPTH_FORMAT, true)),
        cull: CullModeFlags::BACK,
        samples,
    }
}

impl DepthPrePass {
    pub(super) fn new(device: &Arc<Device>, samples: SampleCountFlags) -> Result<Self> {
        let pipeline = GraphicsPipeline::new(device, &depth_desc(samples))?;
        Ok(Self { samples, pipeline, pipeline_virtual: None })
    }

    /// Compiles what draws ground that virtual textures displace, if that was not done yet.
    pub(super) fn prepare_virtual(&mut self, device: &Arc<Device>) -> Result<()> {
        if self.pipeline_virtual.is_none() {
            let desc = GraphicsDesc {
                name: "Base.Depth.Virtual",
                vertex: "base_vertex_virtual",
                ..depth_desc(self.samples)
            };
            self.pipeline_virtual = Some(GraphicsPipeline::new(device, &desc)?);
        }
        Ok(())
    }

    /// Declares the pass. `is_sampled`: whether anybody reads depth in shaders.
    pub(super) fn declare<'f>(
        &'f self,
        frame: &mut Frame<'_, 'f>,
        drawn: Drawn<'f>,
        ground: &'f GroundPlaneDraw,
        (frames, extent): (&'f Buffer, [u32; 2]),
        (is_sampled, images): (bool, Option<&VtImages>),
    ) -> Depth {
        let push = drawn.push(frame.place() as u32);
        let info = ImageInfo::new_2d(DEPTH_FORMAT, extent);
        let is_resolved = is_sampled && self.samples != SampleCountFlags::TYPE_1;
        let mut depth = frame.image("Depth", info.with_samples(self.samples));
        let mut resolved = is_resolved.then(|| frame.image("Depth.Resolved", info));
        let (buffers, list) = (drawn.buffers, drawn.list);
        let vertices = Access::StorageRead(ShaderStages::VERTEX);
        let mut pass = frame
            .pass("DepthPrePass", Queue::Graphics)
            .read_all([buffers.primitives, buffers.instances, buffers.payloads, buffers.vertices], vertices)
            .read(buffers.indices, Access::Index)
            .read_all([list.commands, list.counters], Access::Indirect)
            .write(&mut depth, Access::DepthAttachment);
        if let (Some(textures), Some(images)) = (drawn.textures, images) {
            pass = pass.read_all(textures.handles(images), VirtualGround::SAMPLED);
        }
        if let Some(resolved) = &mut resolved {
            pass = pass.write(resolved, Access::DepthResolve);
        }
        pass.record(move |pass| {
            let (encoder, resources) = pass.split();
            let resolve = resolved.map(|image| resources.image(image)).transpose()?;
            let target = DepthTarget {
                view: resources.image(depth)?.view(),
                is_cleared: true,
                is_written: true,
                is_kept: true,
                resolve: resolve.map(|image| image.view()),
            };
            encoder.begin_rendering(extent, &[], Some(target));
            let mut buffers = drawn.vertex_buffers(frames);
            buffers.extend(drawn.textures.iter().flat_map(|textures| textures.buffers(false)));
            let images = drawn.textures.map(|textures| textures.second_images()).unwrap_or_default();
            let bindings = PassBindings {
                buffers: &buffers,
                images: &images,
                second_sampler: drawn.textures.map(|textures| textures.sampler()),
                ..Default::default()
            };
            let displaced = self.pipeline_virtual.as_ref().filter(|_| drawn.textures.is_some());
            let pipeline = displaced.unwrap_or(&self.pipeline);
            if drawn.has_instances() && encoder.bind_graphics(pipeline, &bindings, &push) {
                drawn.draw(encoder);
            }
            if let Some(plane) = drawn.world.ground {
                ground.draw_depth(encoder, plane, frames, push.frame_index);
            }
            encoder.end_rendering();
            Ok(())
        });
        Depth { tested: depth, sampled: resolved.unwrap_or(depth) }
    }
}
