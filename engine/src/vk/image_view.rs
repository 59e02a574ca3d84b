//! Views of parts of images: one mip, one layer, or the blocks of a compressed image as integers.

use std::sync::Arc;

use ash::vk;

use super::device::Device;
use super::error::{Error, Result};
use super::image::{Dimensions, Image};
use super::retire::Garbage;

/// A `VkImageView` of a part of an image, which must outlive its use. Destroyed through the retire queue when dropped.
#[derive(Debug)]
pub struct ImageView {
    device: Arc<Device>,
    raw: vk::ImageView,
}

/// What of an image a view shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Part {
    format: vk::Format,
    view_type: vk::ImageViewType,
    mips: (u32, u32),
    layers: (u32, u32),
    /// `None`: whatever the image allows.
    usage: Option<vk::ImageUsageFlags>,
}

impl ImageView {
    /// One mip of one layer, as a 2D image: a target to draw into, or something to sample.
    ///
    /// # Errors
    /// A mip or layer that the image does not have, an image that is not 2D, or what the driver said.
    pub fn of_slice(image: &Image, mip: u32, layer: u32) -> Result<Self> {
        let usage = image.desc().block_views.then(|| image.desc().usage & !vk::ImageUsageFlags::STORAGE);
        let format = image.desc().format;
        let view_type = vk::ImageViewType::TYPE_2D;
        Self::new(image, Part { format, view_type, mips: (mip, 1), layers: (layer, 1), usage })
    }

    /// All layers of the first mip, as a 2D array image whatever their number is.
    ///
    /// # Errors
    /// An image that is not 2D, or what the driver said.
    pub fn of_layers(image: &Image) -> Result<Self> {
        let desc = image.desc();
        let view_type = vk::ImageViewType::TYPE_2D_ARRAY;
        let layers = (0, desc.layers);
        Self::new(image, Part { format: desc.format, view_type, mips: (0, 1), layers, usage: None })
    }

    /// The blocks of the first mip and layer of a block-compressed image made with
    /// [`block_views`](super::ImageDesc::block_views), as integers that shaders store: `R32G32_UINT` for blocks of 8
    /// bytes (BC1, BC4), `R32G32B32A32_UINT` for blocks of 16 (BC3, BC5). One texel of the view is one block. It is a 2D
    /// array image of one layer: shaders that also write arrays of intermediate images need one kind of binding.
    ///
    /// # Errors
    /// An image made without, or what the driver said.
    pub fn of_blocks(image: &Image) -> Result<Self> {
        let desc = image.desc();
        let format = match block_format(desc.format) {
            Some(format) if desc.block_views => format,
            _ => {
                return Err(Error::Other(format!(
                    "the image {} ({:?}) has no views of its blocks: make it with `block_views` and a BC format",
                    image.name(),
                    desc.format
                )));
            }
        };
        let usage = Some(vk::ImageUsageFlags::STORAGE);
        let view_type = vk::ImageViewType::TYPE_2D_ARRAY;
        Self::new(image, Part { format, view_type, mips: (0, 1), layers: (0, 1), usage })
    }

    fn new(image: &Image, part: Part) -> Result<Self> {
        let (device, desc) = (image.device(), image.desc());
        let fits =
            |(first, count): (u32, u32), all: u32| first.checked_add(count).is_some_and(|end| end <= all);
        if desc.dimensions != Dimensions::Two
            || !fits(part.mips, desc.mips)
            || !fits(part.layers, desc.layers)
        {
            return Err(Error::Other(format!(
                "mip {} and layer {} of the image {} cannot be viewed: it has {} dimensions, {} mips and {} layers",
                part.mips.0,
                part.layers.0,
                image.name(),
                desc.dimensions as u32 + 1,
                desc.mips,
                desc.layers
            )));
        }
        device.alive("vkCreateImageView")?;
        let range = vk::ImageSubresourceRange {
            aspect_mask: desc.aspect(),
            base_mip_level: part.mips.0,
            level_count: part.mips.1,
            base_array_layer: part.layers.0,
            layer_count: part.layers.1,
        };
        let mut usage = vk::ImageViewUsageCreateInfo::default().usage(part.usage.unwrap_or_default());
        let mut info = vk::ImageViewCreateInfo::default()
            .image(image.raw())
            .view_type(part.view_type)
            .format(part.format)
            .subresource_range(range);
        if part.usage.is_some() {
            info = info.push_next(&mut usage);
        }
        // SAFETY: the image is alive, and has the mips and layers that were just checked.
        let raw = unsafe { device.raw.create_image_view(&info, None) }
            .map_err(|r| device.noticed(Error::of("vkCreateImageView")(r)))?;
        device.counters.made();
        device.set_name(raw, image.name());
        Ok(Self { device: device.clone(), raw })
    }

    /// The raw handle.
    pub fn raw(&self) -> vk::ImageView {
        self.raw
    }
}

impl Drop for ImageView {
    fn drop(&mut self) {
        self.device.retire(Garbage::View(self.raw));
    }
}

/// The integer format of a compressed format's blocks.
fn block_format(format: vk::Format) -> Option<vk::Format> {
    use vk::Format as F;
    match format {
        F::BC1_RGB_UNORM_BLOCK
        | F::BC1_RGB_SRGB_BLOCK
        | F::BC1_RGBA_UNORM_BLOCK
        | F::BC1_RGBA_SRGB_BLOCK
        | F::BC4_UNORM_BLOCK
        | F::BC4_SNORM_BLOCK => Some(F::R32G32_UINT),
        F::BC2_UNORM_BLOCK
        | F::BC2_SRGB_BLOCK
        | F::BC3_UNORM_BLOCK
        | F::BC3_SRGB_BLOCK
        | F::BC5_UNORM_BLOCK
        | F::BC5_SNORM_BLOCK
        | F::BC7_UNORM_BLOCK
        | F::BC7_SRGB_BLOCK => Some(F::R32G32B32A32_UINT),
        _ => None,
    }
}
