//! Between the plain descriptions of a declaration and those of Vulkan.

use ash::vk::{Format, ImageUsageFlags, SampleCountFlags};

use crate::graph::{BufferInfo, ImageInfo};
use crate::vk::{Dimensions, ImageDesc};

impl ImageInfo {
    /// A 2D image with one mip, one layer and one sample.
    pub fn new_2d(format: Format, [width, height]: [u32; 2]) -> Self {
        Self {
            format: format.as_raw(),
            extent: [width, height, 1],
            mips: 1,
            layers: 1,
            samples: SampleCountFlags::TYPE_1.as_raw(),
            usage: 0,
        }
    }

    /// The same with several samples a texel.
    pub fn with_samples(self, samples: SampleCountFlags) -> Self {
        Self { samples: samples.as_raw(), ..self }
    }

    /// Width and height in texels.
    pub fn extent_2d(&self) -> [u32; 2] {
        [self.extent[0], self.extent[1]]
    }

    pub(super) fn desc(&self) -> ImageDesc {
        let [width, height, depth] = self.extent;
        ImageDesc {
            format: Format::from_raw(self.format),
            dimensions: if depth > 1 { Dimensions::Three } else { Dimensions::Two },
            extent: [width, height],
            depth,
            layers: self.layers,
            mips: self.mips,
            samples: SampleCountFlags::from_raw(self.samples),
            usage: ImageUsageFlags::from_raw(self.usage),
            block_views: false,
        }
    }
}

impl From<&ImageDesc> for ImageInfo {
    fn from(desc: &ImageDesc) -> Self {
        Self {
            format: desc.format.as_raw(),
            extent: desc.extent3(),
            mips: desc.mips,
            layers: desc.layers,
            samples: desc.samples.as_raw(),
            usage: desc.usage.as_raw(),
        }
    }
}

impl BufferInfo {
    /// A buffer of so many bytes.
    pub fn new(bytes: u64) -> Self {
        Self { bytes, usage: 0 }
    }
}
