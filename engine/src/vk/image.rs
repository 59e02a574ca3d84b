//! Images with memory of the static heap, and their views.

use std::sync::Arc;

use ash::vk;

use super::device::Device;
use super::error::{Error, Result};
use super::memory::{Location, StaticRange};
use super::retire::Garbage;

/// What an image is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ImageDesc {
    /// Texel format.
    pub format: vk::Format,
    /// Width and height in texels.
    pub extent: [u32; 2],
    /// Mip levels.
    pub mips: u32,
    /// Samples a texel.
    pub samples: vk::SampleCountFlags,
    /// How it is used.
    pub usage: vk::ImageUsageFlags,
}

impl ImageDesc {
    /// A 2D image with one mip and one sample.
    pub fn new_2d(format: vk::Format, extent: [u32; 2], usage: vk::ImageUsageFlags) -> Self {
        Self { format, extent, mips: 1, samples: vk::SampleCountFlags::TYPE_1, usage }
    }

    /// The aspect that its format has.
    pub fn aspect(&self) -> vk::ImageAspectFlags {
        match self.format {
            vk::Format::D32_SFLOAT | vk::Format::D16_UNORM => vk::ImageAspectFlags::DEPTH,
            _ => vk::ImageAspectFlags::COLOR,
        }
    }
}

/// A `VkImage` with one view of all its mips. Destroyed through the retire queue when dropped.
#[derive(Debug)]
pub struct Image {
    device: Arc<Device>,
    raw: vk::Image,
    view: vk::ImageView,
    desc: ImageDesc,
    allocation: Option<Box<StaticRange>>,
}

impl Image {
    /// An image with memory of its own.
    ///
    /// # Errors
    /// An extent of zero or over the device's limit, or out of memory.
    pub fn committed(device: &Arc<Device>, name: &str, desc: ImageDesc) -> Result<Self> {
        let limit = device.capabilities().limits.max_image_2d;
        for side in desc.extent {
            if side == 0 || side > limit {
                return Err(Error::Limit {
                    what: format!("side of the image {name} in texels (at least 1)"),
                    asked: u64::from(side),
                    limit: u64::from(limit),
                });
            }
        }
        let info = vk::ImageCreateInfo::default()
            .image_type(vk::ImageType::TYPE_2D)
            .format(desc.format)
            .extent(vk::Extent3D { width: desc.extent[0], height: desc.extent[1], depth: 1 })
            .mip_levels(desc.mips)
            .array_layers(1)
            .samples(desc.samples)
            .usage(desc.usage);
        // SAFETY: extents are within limits and `info` holds no pointers.
        let raw = unsafe { device.raw.create_image(&info, None) }
            .map_err(|r| device.noticed(Error::of("vkCreateImage")(r)))?;
        let made = Self::back(device, name, raw).and_then(|allocation| match view(device, raw, &desc) {
            Ok(view) => Ok((allocation, view)),
            Err(error) => {
                device.free_static(allocation);
                Err(error)
            }
        });
        let (allocation, view) = made.inspect_err(|_| {
            // SAFETY: just made and never used.
            unsafe { device.raw.destroy_image(raw, None) };
        })?;
        device.counters.made();
        device.counters.made();
        device.set_name(raw, name);
        device.set_name(view, name);
        Ok(Self { device: device.clone(), raw, view, desc, allocation: Some(Box::new(allocation)) })
    }

    fn back(device: &Arc<Device>, name: &str, raw: vk::Image) -> Result<StaticRange> {
        // SAFETY: the image was just made by this device.
        let requirements = unsafe { device.raw.get_image_memory_requirements(raw) };
        let allocation = device.allocate_static(name, requirements, Location::Device, false)?;
        // SAFETY: the allocation was made for exactly these requirements and the image is not bound yet.
        let bound = unsafe {
            device.raw.bind_image_memory(raw, allocation.allocation.memory(), allocation.allocation.offset())
        };
        if let Err(result) = bound {
            device.free_static(allocation);
            return Err(device.noticed(Error::of("vkBindImageMemory")(result)));
        }
        Ok(allocation)
    }

    /// The raw handle.
    pub fn raw(&self) -> vk::Image {
        self.raw
    }

    /// The view of all mips.
    pub fn view(&self) -> vk::ImageView {
        self.view
    }

    /// What it is.
    pub fn desc(&self) -> &ImageDesc {
        &self.desc
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        self.device.retire(Garbage::View(self.view));
        self.device.retire(Garbage::Image(self.raw));
        if let Some(allocation) = self.allocation.take() {
            self.device.retire(Garbage::Allocation(allocation));
        }
    }
}

fn view(device: &Device, raw: vk::Image, desc: &ImageDesc) -> Result<vk::ImageView> {
    let range =
        vk::ImageSubresourceRange::default().aspect_mask(desc.aspect()).level_count(desc.mips).layer_count(1);
    let info = vk::ImageViewCreateInfo::default()
        .image(raw)
        .view_type(vk::ImageViewType::TYPE_2D)
        .format(desc.format)
        .subresource_range(range);
    // SAFETY: the image is alive and bound; the range covers exactly its subresources.
    unsafe { device.raw.create_image_view(&info, None) }
        .map_err(|r| device.noticed(Error::of("vkCreateImageView")(r)))
}

/// A `VkSampler`. Destroyed through the retire queue when dropped.
#[derive(Debug)]
pub struct Sampler {
    device: Arc<Device>,
    raw: vk::Sampler,
}

/// How a sampler reads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SamplerDesc {
    /// Linear filtering in and between mips, or nearest.
    pub linear: bool,
    /// Repeat outside 0..1, or clamp to the edge.
    pub repeat: bool,
    /// Largest anisotropy; 1 is none. Cut to what the device has.
    pub anisotropy: f32,
}

impl Sampler {
    /// Makes a sampler.
    ///
    /// # Errors
    /// When the driver has no room for another.
    pub fn new(device: &Arc<Device>, name: &str, desc: SamplerDesc) -> Result<Self> {
        let filter = if desc.linear { vk::Filter::LINEAR } else { vk::Filter::NEAREST };
        let mip = if desc.linear { vk::SamplerMipmapMode::LINEAR } else { vk::SamplerMipmapMode::NEAREST };
        let address =
            if desc.repeat { vk::SamplerAddressMode::REPEAT } else { vk::SamplerAddressMode::CLAMP_TO_EDGE };
        let anisotropy = desc.anisotropy.min(device.capabilities().limits.max_anisotropy as f32);
        let info = vk::SamplerCreateInfo::default()
            .mag_filter(filter)
            .min_filter(filter)
            .mipmap_mode(mip)
            .address_mode_u(address)
            .address_mode_v(address)
            .address_mode_w(address)
            .anisotropy_enable(anisotropy > 1.0)
            .max_anisotropy(anisotropy.max(1.0))
            .max_lod(vk::LOD_CLAMP_NONE);
        // SAFETY: `info` holds no pointers; anisotropy is only enabled within the device's limit.
        let raw = unsafe { device.raw.create_sampler(&info, None) }
            .map_err(|r| device.noticed(Error::of("vkCreateSampler")(r)))?;
        device.counters.made();
        device.set_name(raw, name);
        Ok(Self { device: device.clone(), raw })
    }

    /// The raw handle.
    pub fn raw(&self) -> vk::Sampler {
        self.raw
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.device.retire(Garbage::Sampler(self.raw));
    }
}
