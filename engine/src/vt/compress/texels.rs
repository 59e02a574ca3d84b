//! Reading pages back as the sampler decodes them.

use std::sync::Arc;

use crate::graph::{Access, BufferHandle, Frame, PassId, Queue, ShaderStages};
use crate::vk::layout::gpu_struct;
use crate::vk::{Buffer, ComputePipeline, Device, PassBindings, shader};
use crate::vt::PhysicalPage;
use crate::vt::atlas::{Atlas, AtlasError, AtlasHandles};

gpu_struct! {
    /// Push constants of `shaders/vt/page_texels.wgsl`.
    pub struct PageTexelsPush {
        /// First texel of the page in the atlas.
        pub origin: [u32; 2],
        /// Texels a side.
        pub side: u32,
        /// Where in the buffer, in texels.
        pub first: u32,
    }
}

/// Decodes pages: for reports, which show what materials see, and for tests.
#[derive(Debug)]
pub struct PageTexels {
    pipeline: ComputePipeline,
}

impl PageTexels {
    /// Bytes of a texel in the buffer: four floats.
    pub const TEXEL_BYTES: u64 = 16;

    /// Makes the pipeline.
    ///
    /// # Errors
    /// What the driver said.
    pub fn new(device: &Arc<Device>) -> crate::vk::Result<Self> {
        Ok(Self { pipeline: ComputePipeline::new(device, &shader::VT_PAGE_TEXELS, "page_texels")? })
    }

    /// Declares that a page of a layer is decoded into a storage buffer, from texel number `first` on, rows packed.
    ///
    /// # Errors
    /// A page or a layer that the atlas does not have.
    pub fn declare<'f>(
        &'f self,
        frame: &mut Frame<'_, 'f>,
        (atlas, handles): (&'f Atlas, &AtlasHandles),
        (layer, page): (usize, PhysicalPage),
        (buffer, handle, first): (&'f Buffer, &mut BufferHandle, u32),
    ) -> Result<PassId, AtlasError> {
        let region = atlas.region(page)?;
        let source = atlas.handle(handles, layer)?;
        let side = atlas.tile();
        let pass = frame
            .pass("VirtualTexturePageTexels", Queue::Graphics)
            .read(source, Access::Sampled(ShaderStages::COMPUTE))
            .write(handle, Access::StorageReadWrite(ShaderStages::COMPUTE));
        Ok(pass.record(move |pass| {
            let (encoder, resources) = pass.split();
            let images = [(8, resources.image(source)?)];
            let buffers = [(0, buffer)];
            let bindings = PassBindings { buffers: &buffers, images: &images, ..Default::default() };
            let push = PageTexelsPush { origin: [region.offset[0], region.offset[1]], side, first };
            encoder.dispatch(&self.pipeline, &bindings, &push, self.pipeline.groups([side, side, 1]));
            Ok(())
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vk::layout::{GpuStruct as _, check_layouts};

    #[test]
    fn push_constants_are_what_the_shader_thinks() {
        check_layouts(&[PageTexelsPush::LAYOUT]).unwrap();
    }
}
