//! Reserved images: what the driver says about their tiles.
//!
//! What is reported for an image that was made wins over what is reported for its format, and over every number that
//! is known beforehand. The list of an image without residency flags is not looked at: some drivers give one.

use ash::vk;
use serde::Serialize;

use super::device::Device;
use super::error::{Error, Result};
use super::image::{Dimensions, Image, ImageDesc};

/// How an image is reserved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct SparseImage {
    /// Single tiles can be bound (`SPARSE_RESIDENCY`); otherwise only byte ranges, and all before use.
    pub residency: bool,
    /// Its pages may be shared with a resource of the same description (`SPARSE_ALIASED`).
    pub aliased: bool,
}

/// The tiles of one aspect of a partially resident image, as the driver reported them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct SparseImageRequirements {
    /// Raw aspect bits.
    pub aspect: u32,
    /// Tile shape as reported: texels, or blocks on drivers that count so.
    pub granularity: [u32; 3],
    /// First mip of the tail; the number of mips where there is none.
    pub tail_first_lod: u32,
    /// Bytes of a tail.
    pub tail_bytes: u64,
    /// Where the tail of layer 0 starts, in bytes of opaque binds.
    pub tail_offset: u64,
    /// From the tail of one layer to that of the next, bytes.
    pub tail_stride: u64,
    /// One tail for all layers.
    pub single_tail: bool,
    /// Mips whose size is no multiple of the tile are in the tail.
    pub aligned_mip_size: bool,
}

impl SparseImage {
    pub(super) fn flags(self) -> vk::ImageCreateFlags {
        let mut flags = vk::ImageCreateFlags::SPARSE_BINDING;
        if self.residency {
            flags |= vk::ImageCreateFlags::SPARSE_RESIDENCY;
        }
        if self.aliased {
            flags |= vk::ImageCreateFlags::SPARSE_ALIASED;
        }
        flags
    }

    /// Whether a device can reserve such an image so.
    pub fn is_supported(self, device: &Device, desc: &ImageDesc) -> bool {
        self.check(device, "", desc).is_ok()
    }

    /// # Errors
    /// The missing feature by its Vulkan name, or a format that cannot be reserved so.
    pub(super) fn check(self, device: &Device, name: &str, desc: &ImageDesc) -> Result<()> {
        let support = device.capabilities().sparse;
        if !support.binding {
            return Err(device.unsupported(name, "sparseBinding"));
        }
        if self.aliased && !support.residency_aliased {
            return Err(device.unsupported(name, "sparseResidencyAliased"));
        }
        if !self.residency {
            return Ok(());
        }
        let (has, needs) = match desc.dimensions {
            Dimensions::One => (false, "an image of two or three dimensions"),
            Dimensions::Two => (support.residency_image_2d, "sparseResidencyImage2D"),
            Dimensions::Three => (support.residency_image_3d, "sparseResidencyImage3D"),
        };
        if !has {
            return Err(device.unsupported(name, needs));
        }
        match device.sparse_format(desc) {
            Some(_) => Ok(()),
            None => Err(Error::Unsupported {
                what: name.into(),
                needs: format!("sparse residency of {:?} for {:?}", desc.format, desc.usage),
                device: device.capabilities().name.clone(),
            }),
        }
    }
}

impl Device {
    /// The memory types that a partially resident image may lie in, asked of a dummy; one bit a type.
    pub(super) fn sparse_image_memory_types(&self) -> Result<u32> {
        let usage = vk::ImageUsageFlags::SAMPLED | vk::ImageUsageFlags::TRANSFER_DST;
        let desc = ImageDesc::new_2d(vk::Format::R8G8B8A8_UNORM, [256, 256], usage);
        if self.sparse_format(&desc).is_none() {
            return Ok(0);
        }
        let info = desc.create_info().flags(SparseImage { residency: true, aliased: false }.flags());
        // SAFETY: the features are enabled (the caller checked) and the format has tiles; the image is destroyed before
        // returning.
        let needs = unsafe {
            let raw = self.raw.create_image(&info, None).map_err(Error::of("vkCreateImage"))?;
            let needs = self.raw.get_image_memory_requirements(raw);
            self.raw.destroy_image(raw, None);
            needs
        };
        Ok(needs.memory_type_bits)
    }

    /// The tile shape that the driver reports for such images, before one is made; `None` when single tiles of them
    /// cannot be bound.
    pub fn sparse_format(&self, desc: &ImageDesc) -> Option<[u32; 3]> {
        // SAFETY: a plain query; the result is an owned vector.
        let all = unsafe {
            self.instance.raw().get_physical_device_sparse_image_format_properties(
                self.physical,
                desc.format,
                desc.image_type(),
                desc.samples,
                desc.usage,
                vk::ImageTiling::OPTIMAL,
            )
        };
        let ours = all.into_iter().find(|p| p.aspect_mask.intersects(desc.aspect()))?;
        let vk::Extent3D { width, height, depth } = ours.image_granularity;
        Some([width, height, depth])
    }
}

impl Image {
    /// The tiles of each aspect, metadata included. Empty for an image whose tiles cannot be bound singly.
    pub fn sparse_requirements(&self) -> Vec<SparseImageRequirements> {
        if !self.is_partially_resident() {
            return Vec::new();
        }
        // SAFETY: the image is alive; the result is an owned vector.
        let all = unsafe { self.device().raw.get_image_sparse_memory_requirements(self.raw()) };
        all.into_iter()
            .map(|r| {
                let vk::Extent3D { width, height, depth } = r.format_properties.image_granularity;
                let flags = r.format_properties.flags;
                SparseImageRequirements {
                    aspect: r.format_properties.aspect_mask.as_raw(),
                    granularity: [width, height, depth],
                    tail_first_lod: r.image_mip_tail_first_lod,
                    tail_bytes: r.image_mip_tail_size,
                    tail_offset: r.image_mip_tail_offset,
                    tail_stride: r.image_mip_tail_stride,
                    single_tail: flags.contains(vk::SparseImageFormatFlags::SINGLE_MIPTAIL),
                    aligned_mip_size: flags.contains(vk::SparseImageFormatFlags::ALIGNED_MIP_SIZE),
                }
            })
            .collect()
    }
}
