//! The images a frame is drawn into; made anew when the size changes.

use std::sync::Arc;

use ash::vk::{Format, ImageUsageFlags, SampleCountFlags};

use crate::vk::{Device, Image, ImageDesc, Result};

/// Format of linear light.
pub(super) const COLOUR_FORMAT: Format = Format::R16G16B16A16_SFLOAT;
/// Format of depth, reversed.
pub(super) const DEPTH_FORMAT: Format = Format::D32_SFLOAT;
/// Format of display values.
pub(super) const OUTPUT_FORMAT: Format = Format::R8G8B8A8_UNORM;

#[derive(Debug)]
pub(super) struct Targets {
    pub(super) extent: [u32; 2],
    /// Samples of linear light; `None` when there is one a pixel.
    pub(super) samples: Option<Image>,
    /// Linear light.
    pub(super) colour: Image,
    pub(super) depth: Image,
    /// Display values before edges are smoothed, with brightness in alpha.
    pub(super) display: Image,
    /// Display values; what is shown, read back and written to files.
    pub(super) output: Image,
}

impl Targets {
    pub(super) fn new(device: &Arc<Device>, extent: [u32; 2], samples: SampleCountFlags) -> Result<Self> {
        let attachment = ImageUsageFlags::COLOR_ATTACHMENT;
        let colour_usage = attachment | ImageUsageFlags::SAMPLED;
        let colour =
            Image::committed(device, "Colour", ImageDesc::new_2d(COLOUR_FORMAT, extent, colour_usage))?;
        let depth_usage = ImageUsageFlags::DEPTH_STENCIL_ATTACHMENT;
        let depth = ImageDesc { samples, ..ImageDesc::new_2d(DEPTH_FORMAT, extent, depth_usage) };
        let depth = Image::committed(device, "Depth", depth)?;
        let several = samples != SampleCountFlags::TYPE_1;
        let samples = several.then(|| {
            let desc = ImageDesc { samples, ..ImageDesc::new_2d(COLOUR_FORMAT, extent, attachment) };
            Image::committed(device, "Colour.Samples", desc)
        });
        let display =
            Image::committed(device, "Display", ImageDesc::new_2d(OUTPUT_FORMAT, extent, colour_usage))?;
        // What is copied into it is the inset of the residency map.
        let output_usage = attachment | ImageUsageFlags::TRANSFER_SRC | ImageUsageFlags::TRANSFER_DST;
        let output =
            Image::committed(device, "Output", ImageDesc::new_2d(OUTPUT_FORMAT, extent, output_usage))?;
        Ok(Self { extent, samples: samples.transpose()?, colour, depth, display, output })
    }
}
