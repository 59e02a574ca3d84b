//! Samplers.

use std::sync::Arc;

use ash::vk;

use super::device::Device;
use super::error::{Error, Result};
use super::retire::Garbage;

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
        device.alive("vkCreateSampler")?;
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
