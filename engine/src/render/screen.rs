//! A pass that draws over a whole image with one triangle.

use std::sync::Arc;

use ash::vk::{CullModeFlags, Format, ImageView, SampleCountFlags};

use crate::vk::shader::ShaderSource;
use crate::vk::{
    ColourTarget, CommandEncoder, Device, GraphicsDesc, GraphicsPipeline, Load, PassBindings, Result,
};

#[derive(Debug)]
pub(super) struct ScreenPass {
    pipeline: GraphicsPipeline,
}

impl ScreenPass {
    /// The pass of a vertex and a fragment entry point, for targets of a format.
    pub(super) fn new(
        device: &Arc<Device>,
        name: &str,
        shader: &ShaderSource,
        (vertex, fragment): (&str, &str),
        format: Format,
    ) -> Result<Self> {
        let desc = GraphicsDesc {
            name,
            shader,
            vertex,
            fragment: Some(fragment),
            colours: &[format],
            blends: &[],
            depth: None,
            cull: CullModeFlags::NONE,
            samples: SampleCountFlags::TYPE_1,
        };
        Ok(Self { pipeline: GraphicsPipeline::new(device, &desc)? })
    }

    /// Draws over all of a view of a size.
    pub(super) fn draw<P: bytemuck::Pod>(
        &self,
        encoder: &mut CommandEncoder,
        (view, extent): (ImageView, [u32; 2]),
        bindings: &PassBindings<'_>,
        push: &P,
    ) {
        encoder.begin_rendering(extent, &[ColourTarget { view, load: Load::Discard, resolve: None }], None);
        if encoder.bind_graphics(&self.pipeline, bindings, push) {
            encoder.draw(3, 1);
        }
        encoder.end_rendering();
    }
}
