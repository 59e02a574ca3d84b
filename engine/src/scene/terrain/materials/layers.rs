//! Making the layers' images: a few dispatches a layer, once, at load time.

use std::sync::Arc;

use ash::vk::{
    AccessFlags2, BufferUsageFlags, Format, ImageAspectFlags, ImageLayout, ImageUsageFlags,
    PipelineStageFlags2,
};

use super::table::{GroundKind, MAX_LAYERS};
use crate::vk::capabilities::DeviceType;
use crate::vk::layout::gpu_struct;
use crate::vk::{
    Buffer, CommandEncoder, CommandPool, ComputePipeline, Device, Image, ImageDesc, ImageRegion, Location,
    PassBindings, Result, Timeline, shader,
};

gpu_struct! {
    /// Push constants of `shaders/terrain_layers.wgsl`.
    pub struct TerrainLayerPush {
        /// Which of the kinds it is.
        pub kind: u32,
        /// Seed of what lies where.
        pub seed: u32,
        /// Texels along a side.
        pub size: u32,
        /// Mip that is made.
        pub level: u32,
        /// First texel of the mip in the chain.
        pub first: u32,
        /// First texel of the mip before.
        pub before: u32,
        /// Texels of all mips.
        pub total: u32,
        /// Height of the relief as a share of the tile's side.
        pub relief: f32,
    }
}

/// How many layers, and how fine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LayersDesc {
    /// Layers, 1 to [`MAX_LAYERS`].
    pub count: u32,
    /// Texels along a side, a power of two from 64 to 4096; 0 for what suits the device: 1024, and 512 where the
    /// processor draws.
    pub size: u32,
    /// Seed of what lies where.
    pub seed: u32,
}

impl LayersDesc {
    /// The numbers that are used on a device: within their bounds, none left open.
    pub fn resolved(self, device: &Device) -> Self {
        let is_software = device.capabilities().device_type == DeviceType::Cpu;
        let size = match self.size {
            0 if is_software => 512,
            0 => 1024,
            size => size.clamp(64, 4096).next_power_of_two(),
        };
        Self { count: self.count.clamp(1, MAX_LAYERS as u32), size, seed: self.seed }
    }
}

/// The two array images of all layers.
#[derive(Debug)]
pub struct Layers {
    count: u32,
    colours: Image,
    forms: Image,
}

/// Bytes of a texel: in the images, and while it is made.
const TEXEL_BYTES: u64 = 4;
const WIDE_BYTES: u64 = 16;

struct Pipelines {
    shapes: ComputePipeline,
    surfaces: ComputePipeline,
    mips: ComputePipeline,
    packs: ComputePipeline,
}

struct Scratch {
    shapes: Buffer,
    chain: Buffer,
    colours: Buffer,
    forms: Buffer,
}

impl Layers {
    /// Makes the images and waits for them.
    ///
    /// # Errors
    /// When the device has no memory, or is lost.
    pub fn new(device: &Arc<Device>, desc: LayersDesc) -> Result<Self> {
        let LayersDesc { count, size, seed } = desc.resolved(device);
        let image = |name| {
            let usage =
                ImageUsageFlags::SAMPLED | ImageUsageFlags::TRANSFER_DST | ImageUsageFlags::TRANSFER_SRC;
            let desc = ImageDesc::new_2d(Format::R8G8B8A8_UNORM, [size; 2], usage);
            // An image of one layer would have a view that is no array.
            Image::committed(device, name, ImageDesc { mips: desc.full_mips(), layers: count.max(2), ..desc })
        };
        let made =
            Self { count, colours: image("Terrain.LayerColours")?, forms: image("Terrain.LayerForms")? };
        let firsts = first_texels(size);
        let total = u64::from(firsts.last().copied().unwrap_or(0)) + 1;
        let scratch = |name, bytes| {
            let usage = BufferUsageFlags::STORAGE_BUFFER | BufferUsageFlags::TRANSFER_SRC;
            Buffer::committed(device, name, bytes, usage, Location::Device)
        };
        let scratch = Scratch {
            shapes: scratch("TerrainLayers.Shapes", u64::from(size * size) * WIDE_BYTES)?,
            chain: scratch("TerrainLayers.Chain", total * WIDE_BYTES)?,
            colours: scratch("TerrainLayers.Colours", total * TEXEL_BYTES)?,
            forms: scratch("TerrainLayers.Forms", total * TEXEL_BYTES)?,
        };
        let pipeline = |entry| ComputePipeline::new(device, &shader::TERRAIN_LAYERS, entry);
        let pipelines = Pipelines {
            shapes: pipeline("layer_shapes")?,
            surfaces: pipeline("layer_surfaces")?,
            mips: pipeline("layer_mips")?,
            packs: pipeline("layer_packs")?,
        };
        let mut pool = CommandPool::new(device, Timeline::Graphics)?;
        let mut encoder = pool.begin("TerrainLayers")?;
        for image in [&made.colours, &made.forms] {
            let layouts = (ImageLayout::UNDEFINED, ImageLayout::TRANSFER_DST_OPTIMAL);
            encoder.image_barrier(image.raw(), ImageAspectFlags::COLOR, layouts, NONE, COPIED_IN);
        }
        for layer in 0..count.max(2) {
            // The second of two where one is asked for is never looked at, but must hold something.
            let of = if layer < count { layer } else { 0 };
            let kind = GroundKind::of_layer(of as usize);
            let push = TerrainLayerPush {
                kind: kind as u32,
                seed: seed.wrapping_mul(0x9e37_79b9).wrapping_add(of),
                size,
                level: 0,
                first: 0,
                before: 0,
                total: total as u32,
                relief: kind.relief(),
            };
            dispatch(&mut encoder, &pipelines, &scratch, push, &firsts);
            made.copy(&mut encoder, &scratch, layer, &firsts);
        }
        for image in [&made.colours, &made.forms] {
            let layouts = (ImageLayout::TRANSFER_DST_OPTIMAL, ImageLayout::SHADER_READ_ONLY_OPTIMAL);
            encoder.image_barrier(image.raw(), ImageAspectFlags::COLOR, layouts, COPIED_IN, SAMPLED);
        }
        let done = device.submit(Timeline::Graphics, vec![encoder.finish()?], &[])?;
        device.wait(&[done])?;
        Ok(made)
    }

    /// Number of layers.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Relative colours (0.4 is the layer's mean) and heights (0.5 is the mean): `R8G8B8A8_UNORM`, with mips.
    pub fn colours(&self) -> &Image {
        &self.colours
    }

    /// Normals on x and z (-1 to 1), roughness, occlusion: `R8G8B8A8_UNORM`, with mips.
    pub fn forms(&self) -> &Image {
        &self.forms
    }

    fn copy(&self, encoder: &mut CommandEncoder, scratch: &Scratch, layer: u32, firsts: &[u32]) {
        encoder.memory_barrier(WRITTEN, COPIED_OUT);
        for (buffer, image) in [(&scratch.colours, &self.colours), (&scratch.forms, &self.forms)] {
            let copies: Vec<_> = (0u32..)
                .zip(firsts)
                .map(|(mip, first)| (u64::from(*first) * TEXEL_BYTES, ImageRegion::mip(image, layer, mip)))
                .collect();
            encoder.copy_buffer_to_regions(buffer, image, ImageLayout::TRANSFER_DST_OPTIMAL, &copies);
        }
        encoder.memory_barrier(COPIED_OUT, WRITTEN);
    }
}

const NONE: (PipelineStageFlags2, AccessFlags2) = (PipelineStageFlags2::NONE, AccessFlags2::NONE);
const COPIED_IN: (PipelineStageFlags2, AccessFlags2) =
    (PipelineStageFlags2::ALL_TRANSFER, AccessFlags2::TRANSFER_WRITE);
const COPIED_OUT: (PipelineStageFlags2, AccessFlags2) =
    (PipelineStageFlags2::ALL_TRANSFER, AccessFlags2::TRANSFER_READ);
const WRITTEN: (PipelineStageFlags2, AccessFlags2) =
    (PipelineStageFlags2::COMPUTE_SHADER, AccessFlags2::SHADER_STORAGE_WRITE);
const READ: (PipelineStageFlags2, AccessFlags2) =
    (PipelineStageFlags2::COMPUTE_SHADER, AccessFlags2::SHADER_STORAGE_READ);
const SAMPLED: (PipelineStageFlags2, AccessFlags2) =
    (PipelineStageFlags2::ALL_COMMANDS, AccessFlags2::SHADER_SAMPLED_READ);

/// Where the texels of each mip begin, finest first.
fn first_texels(size: u32) -> Vec<u32> {
    let levels = size.max(1).ilog2() + 1;
    let mut first = 0;
    (0..levels)
        .map(|level| {
            let here = first;
            first += (size >> level) * (size >> level);
            here
        })
        .collect()
}

fn dispatch(
    encoder: &mut CommandEncoder,
    pipelines: &Pipelines,
    scratch: &Scratch,
    push: TerrainLayerPush,
    firsts: &[u32],
) {
    let buffers = [(0, &scratch.shapes), (1, &scratch.chain), (2, &scratch.colours), (3, &scratch.forms)];
    let bindings = PassBindings { buffers: &buffers, ..Default::default() };
    let square = |pipeline: &ComputePipeline, side: u32| pipeline.groups([side, side, 1]);
    encoder.dispatch(&pipelines.shapes, &bindings, &push, square(&pipelines.shapes, push.size));
    encoder.memory_barrier(WRITTEN, READ);
    encoder.dispatch(&pipelines.surfaces, &bindings, &push, square(&pipelines.surfaces, push.size));
    for level in 1..firsts.len() as u32 {
        encoder.memory_barrier(WRITTEN, READ);
        let push = TerrainLayerPush {
            level,
            first: firsts[level as usize],
            before: firsts[level as usize - 1],
            ..push
        };
        encoder.dispatch(&pipelines.mips, &bindings, &push, square(&pipelines.mips, push.size >> level));
    }
    encoder.memory_barrier(WRITTEN, READ);
    // A row of groups for each row of texels keeps within the 65535 groups an axis may have.
    let groups = pipelines.packs.groups([push.size, 1, 1])[0];
    let rows = push.total.div_ceil(groups * 64);
    encoder.dispatch(&pipelines.packs, &bindings, &push, [groups, rows, 1]);
    encoder.memory_barrier(WRITTEN, WRITTEN);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mips_follow_one_another() {
        assert_eq!(first_texels(8), [0, 64, 80, 84]);
        assert_eq!(first_texels(1), [0]);
    }
}
