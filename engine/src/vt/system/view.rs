//! Textures as pictures: what sampling gives, flat, through the page table. Not a part of any frame.

use ash::vk::{
    AccessFlags2, BufferUsageFlags, CullModeFlags, Format, ImageAspectFlags, ImageLayout, ImageUsageFlags,
    PipelineStageFlags2, SampleCountFlags,
};

use super::{SampleSettings, VirtualTextures, VtError, VtResult};
use crate::vk::{
    Buffer, ColourTarget, CommandPool, GraphicsDesc, GraphicsPipeline, Image, ImageDesc, Load, Location,
    PassBindings, Timeline, shader,
};
use crate::vt::planner::PlannerError;
use crate::vt::sampling::{
    Anisotropy, FIRST_FEEDBACK_WORD, SampledTexture, Trilinear, VirtualTexture, VirtualTextureFrame,
    VtViewPush, bindings,
};
use crate::vt::{Region, TextureId};

const FORMAT: Format = Format::R8G8B8A8_UNORM;
/// What is behind the parts.
const BEHIND: [f32; 4] = [0.16, 0.19, 0.235, 1.0];
/// Into a level, so that rounding finds no other one.
const INTO_LEVEL: f32 = 0.25;

type StageAccess = (PipelineStageFlags2, AccessFlags2);
const ANY: StageAccess = (
    PipelineStageFlags2::ALL_COMMANDS,
    AccessFlags2::from_raw(AccessFlags2::MEMORY_READ.as_raw() | AccessFlags2::MEMORY_WRITE.as_raw()),
);
const HOST: StageAccess = (PipelineStageFlags2::HOST, AccessFlags2::HOST_READ);

/// A rectangle of a picture, and the part of a texture that it shows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ViewPart {
    /// Which texture.
    pub texture: TextureId,
    /// Which part of it. What lies outside of the texture is as its wrapping says.
    pub region: Region,
    /// Pages of this level, without anything that is painted over pages; nothing: as materials sample it at this size,
    /// with every bias.
    pub level: Option<u8>,
    /// Upper left corner of the rectangle, pixels.
    pub corner: [u32; 2],
    /// Width and height, pixels.
    pub extent: [u32; 2],
}

impl ViewPart {
    fn push(&self, slot: u32, sampled: &SampledTexture) -> VtViewPush {
        let extent = self.extent.map(|side| side.max(1) as f32);
        let size = [0, 1].map(|axis| self.region.max[axis] - self.region.min[axis]);
        // Pixels are counted from the corner of the picture.
        let first =
            |axis: usize| self.region.min[axis] - size[axis] * self.corner[axis] as f32 / extent[axis];
        let uv_first = [first(0), first(1)];
        let texels = [0, 1].map(|axis| {
            let of_texture = sampled.grid.tiles()[axis] as f32 * sampled.tile as f32;
            (size[axis] / extent[axis] * of_texture).abs()
        });
        let by_size = texels[0].max(texels[1]).max(f32::MIN_POSITIVE).log2();
        VtViewPush {
            uv_first,
            uv_last: [uv_first[0] + size[0], uv_first[1] + size[1]],
            extent,
            texture: slot,
            bias: self.level.map_or(0.0, |level| f32::from(level) + INTO_LEVEL - by_size),
            depth: 0.5,
            gives_feedback: 0,
        }
    }

    fn constants(&self, sampled: SampledTexture) -> VirtualTexture {
        match self.level {
            None => sampled.constants(),
            Some(_) => SampledTexture {
                anisotropy: Anisotropy::Off,
                most_anisotropy: 1.0,
                trilinear: Trilinear::Off,
                bias: 0.0,
                table_bias: 0.0,
                shows_levels: false,
                shows_borders: false,
                ..sampled
            }
            .constants(),
        }
    }
}

impl VirtualTextures {
    /// Draws parts of textures beside each other: RGBA, 8 bits a channel, rows from the top. Base colours are in steps
    /// that look even, heights go from black to white. Nobody may use the device meanwhile; it gives no feedback, so
    /// that looking changes nothing.
    ///
    /// # Errors
    /// A texture that is not there, or of which no frame was drawn; an extent that the device cannot draw; no memory.
    pub fn view(&self, parts: &[ViewPart], extent: [u32; 2]) -> VtResult<Vec<u8>> {
        let most = self.device.capabilities().limits.max_image_2d;
        if extent.iter().any(|side| !(1..=most).contains(side)) {
            return Err(VtError::ViewExtent { width: extent[0], height: extent[1], most });
        }
        let mut constants: Vec<VirtualTexture> = Vec::with_capacity(parts.len());
        let mut draws = Vec::with_capacity(parts.len());
        for (slot, part) in (0..).zip(parts) {
            let texture = part.texture;
            let (sampled, (table, layers)) = self
                .sampled(texture, SampleSettings::default())
                .zip(self.images(texture))
                .ok_or(PlannerError::NoTexture { texture })?;
            if !self.is_drawn(texture) {
                return Err(VtError::NotDrawn { texture });
            }
            constants.push(part.constants(sampled));
            let mut images = vec![(bindings::PAGE_TABLE, table)];
            // Kinds of fewer layers do not look at the others.
            let last = layers.last().copied();
            let layers = layers.into_iter().map(Some).chain(std::iter::repeat(last)).map_while(|layer| layer);
            images.extend(bindings::LAYERS.into_iter().zip(layers));
            draws.push((part, part.push(slot, &sampled), images));
        }
        let picture = self.picture(extent)?;
        let buffers = self.view_buffers(&constants)?;
        let bound = [(bindings::CONSTANTS, &buffers[0]), (bindings::FEEDBACK, &buffers[1])];
        let bytes = u64::from(extent[0]) * u64::from(extent[1]) * 4;
        let usage = BufferUsageFlags::TRANSFER_DST;
        let read = Buffer::committed(&self.device, "VirtualTexture.View", bytes, usage, Location::Readback)?;
        let pipeline = self.view_pipeline()?;
        let mut pool = CommandPool::new(&self.device, Timeline::Graphics)?;
        let mut encoder = pool.begin("VirtualTextureView")?;
        let colour = ImageAspectFlags::COLOR;
        let target = ImageLayout::COLOR_ATTACHMENT_OPTIMAL;
        encoder.memory_barrier(ANY, ANY);
        encoder.image_barrier(picture.raw(), colour, (ImageLayout::UNDEFINED, target), ANY, ANY);
        let load = Load::Clear(BEHIND);
        encoder.begin_rendering(extent, &[ColourTarget { view: picture.view(), load, resolve: None }], None);
        for (part, push, images) in &draws {
            let room =
                [0, 1].map(|axis| extent[axis].saturating_sub(part.corner[axis]).min(part.extent[axis]));
            if room.contains(&0) {
                continue;
            }
            encoder.set_viewport(part.corner, room);
            let bindings = PassBindings {
                buffers: &bound,
                images,
                second_sampler: Some(self.sampler()),
                ..Default::default()
            };
            if encoder.bind_graphics(&pipeline, &bindings, push) {
                encoder.draw(3, 1);
            }
        }
        encoder.end_rendering();
        let source = ImageLayout::TRANSFER_SRC_OPTIMAL;
        encoder.image_barrier(picture.raw(), colour, (target, source), ANY, ANY);
        encoder.copy_image_to_buffer(&picture, &read, 0);
        encoder.memory_barrier(ANY, HOST);
        let done = self.device.submit(Timeline::Graphics, vec![encoder.finish()?], &[])?;
        self.device.wait(&[done])?;
        Ok(read.mapped().map(<[u8]>::to_vec).unwrap_or_default())
    }

    /// Whether page table and atlas of a texture have contents.
    fn is_drawn(&self, id: TextureId) -> bool {
        let info = self.textures.iter().find(|texture| texture.id == id);
        let pool = info.and_then(|info| self.pools.iter().find(|pool| pool.pool == info.pool));
        let placement = self.planner.placement(id);
        pool.is_some_and(|pool| !pool.atlas.is_new())
            && placement.is_some_and(|placement| self.tables.is_painted(placement.space))
    }

    fn picture(&self, extent: [u32; 2]) -> VtResult<Image> {
        let usage = ImageUsageFlags::COLOR_ATTACHMENT | ImageUsageFlags::TRANSFER_SRC;
        let desc = ImageDesc::new_2d(FORMAT, extent, usage);
        Ok(Image::committed(&self.device, "VirtualTexture.View", desc)?)
    }

    /// Constants of every part, and a place for feedback that nobody gives.
    fn view_buffers(&self, textures: &[VirtualTexture]) -> VtResult<[Buffer; 2]> {
        let frame = VirtualTextureFrame {
            feedback_side: [1; 2],
            global_bias: self.options.bias,
            texture_count: textures.len() as u32,
            ..Default::default()
        };
        let head = size_of::<VirtualTextureFrame>() as u64;
        let bytes = head + size_of_val(textures).max(size_of::<VirtualTexture>()) as u64;
        let usage = BufferUsageFlags::STORAGE_BUFFER;
        let name = "VirtualTexture.ViewConstants";
        let constants = Buffer::committed(&self.device, name, bytes, usage, Location::Upload)?;
        constants.write_mapped(0, bytemuck::bytes_of(&frame))?;
        constants.write_mapped(head, bytemuck::cast_slice(textures))?;
        let bytes = 4 * (FIRST_FEEDBACK_WORD as u64 + 1);
        let name = "VirtualTexture.ViewFeedback";
        Ok([constants, Buffer::committed(&self.device, name, bytes, usage, Location::Device)?])
    }

    fn view_pipeline(&self) -> VtResult<GraphicsPipeline> {
        let desc = GraphicsDesc {
            name: "VirtualTextureView",
            shader: &shader::VT_VIEW,
            vertex: "view_vertex",
            fragment: Some("view_fragment"),
            colours: &[FORMAT],
            blends: &[],
            depth: None,
            cull: CullModeFlags::NONE,
            samples: SampleCountFlags::TYPE_1,
        };
        Ok(GraphicsPipeline::new(&self.device, &desc)?)
    }
}
