//! Recording copies of image regions: mips, layers, boxes of texels.

use ash::vk;

use super::buffer::Buffer;
use super::command::CommandEncoder;
use super::image::Image;

/// A box of texels of one mip and layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageRegion {
    /// Mip level.
    pub mip: u32,
    /// Array layer.
    pub layer: u32,
    /// First texel.
    pub offset: [u32; 3],
    /// Size in texels.
    pub extent: [u32; 3],
}

impl ImageRegion {
    /// All of a mip of an image's layer.
    pub fn mip(image: &Image, layer: u32, mip: u32) -> Self {
        Self { mip, layer, offset: [0; 3], extent: image.desc().mip_extent(mip) }
    }

    fn layers(&self, aspect: vk::ImageAspectFlags) -> vk::ImageSubresourceLayers {
        vk::ImageSubresourceLayers::default()
            .aspect_mask(aspect)
            .mip_level(self.mip)
            .base_array_layer(self.layer)
            .layer_count(1)
    }

    fn origin(&self) -> vk::Offset3D {
        let [x, y, z] = self.offset.map(|texel| texel as i32);
        vk::Offset3D { x, y, z }
    }

    fn size(&self) -> vk::Extent3D {
        let [width, height, depth] = self.extent;
        vk::Extent3D { width, height, depth }
    }
}

impl CommandEncoder {
    /// Copies boxes out of a buffer (byte offset each, rows packed) into an image in the layout `layout`.
    pub fn copy_buffer_to_regions(
        &mut self,
        source: &Buffer,
        image: &Image,
        layout: vk::ImageLayout,
        copies: &[(u64, ImageRegion)],
    ) {
        let regions = buffer_regions(image, copies);
        if !regions.is_empty() {
            // SAFETY: recording; both are alive; the array is a local that outlives the call.
            unsafe {
                self.device().cmd_copy_buffer_to_image(
                    self.raw(),
                    source.raw(),
                    image.raw(),
                    layout,
                    &regions,
                );
            }
        }
    }

    /// Copies boxes of an image in the layout `layout` into a buffer (byte offset each, rows packed).
    pub fn copy_regions_to_buffer(
        &mut self,
        image: &Image,
        layout: vk::ImageLayout,
        destination: &Buffer,
        copies: &[(u64, ImageRegion)],
    ) {
        let regions = buffer_regions(image, copies);
        if !regions.is_empty() {
            // SAFETY: recording; both are alive; the array is a local that outlives the call.
            unsafe {
                self.device().cmd_copy_image_to_buffer(
                    self.raw(),
                    image.raw(),
                    layout,
                    destination.raw(),
                    &regions,
                );
            }
        }
    }

    /// Copies boxes of one image to other places of another, texel for texel: source box and first texel, mip and layer of
    /// the destination. Between an image of blocks and one of integers a texel stands for a block.
    pub fn copy_regions_to(
        &mut self,
        source: (&Image, vk::ImageLayout),
        destination: (&Image, vk::ImageLayout),
        copies: &[(ImageRegion, ImageRegion)],
    ) {
        let (from, to) = (source.0.desc().aspect(), destination.0.desc().aspect());
        let region = |(a, b): &(ImageRegion, ImageRegion)| {
            vk::ImageCopy::default()
                .src_subresource(a.layers(from))
                .src_offset(a.origin())
                .dst_subresource(b.layers(to))
                .dst_offset(b.origin())
                .extent(a.size())
        };
        let regions: Vec<_> = copies.iter().map(region).collect();
        if !regions.is_empty() {
            // SAFETY: recording; both images are alive; the array is a local that outlives the call.
            unsafe {
                self.device().cmd_copy_image(
                    self.raw(),
                    source.0.raw(),
                    source.1,
                    destination.0.raw(),
                    destination.1,
                    &regions,
                );
            }
        }
    }

    /// Fills all of a colour image that is in the layout `TRANSFER_DST_OPTIMAL` with one value of four words: floats of
    /// float formats as bits, integers as they are.
    pub fn clear_image(&mut self, image: &Image, words: [u32; 4]) {
        let range = vk::ImageSubresourceRange::default()
            .aspect_mask(vk::ImageAspectFlags::COLOR)
            .level_count(image.desc().mips)
            .layer_count(image.desc().layers);
        let colour = vk::ClearColorValue { uint32: words };
        let layout = vk::ImageLayout::TRANSFER_DST_OPTIMAL;
        // SAFETY: recording; the image is alive; the range covers exactly its subresources.
        unsafe { self.device().cmd_clear_color_image(self.raw(), image.raw(), layout, &colour, &[range]) };
    }

    /// Copies boxes of one image to the same places of another of the same description, both in the layout given.
    pub fn copy_regions(
        &mut self,
        source: (&Image, vk::ImageLayout),
        destination: (&Image, vk::ImageLayout),
        copies: &[ImageRegion],
    ) {
        let pairs: Vec<_> = copies.iter().map(|region| (*region, *region)).collect();
        self.copy_regions_to(source, destination, &pairs);
    }
}

fn buffer_regions(image: &Image, copies: &[(u64, ImageRegion)]) -> Vec<vk::BufferImageCopy> {
    let region = |(offset, r): &(u64, ImageRegion)| {
        vk::BufferImageCopy::default()
            .buffer_offset(*offset)
            .image_subresource(r.layers(image.desc().aspect()))
            .image_offset(r.origin())
            .image_extent(r.size())
    };
    copies.iter().map(region).collect()
}
