//! Formats of the images a frame is drawn into, and the one that outlives it.

use std::sync::Arc;

use ash::vk::{Format, ImageUsageFlags};

use crate::vk::{Device, Image, ImageDesc, Result};

/// Format of linear light.
pub(super) const COLOUR_FORMAT: Format = Format::R16G16B16A16_SFLOAT;
/// Format of depth, reversed.
pub(super) const DEPTH_FORMAT: Format = Format::D32_SFLOAT;
/// Format of display values.
pub(super) const OUTPUT_FORMAT: Format = Format::R8G8B8A8_UNORM;

/// The image of display values: what is shown, read back and written to files. All other images of a frame are the
/// graph's.
pub(super) fn make_output(device: &Arc<Device>, extent: [u32; 2]) -> Result<Image> {
    // What is copied into it is the inset of the residency map.
    let usage =
        ImageUsageFlags::COLOR_ATTACHMENT | ImageUsageFlags::TRANSFER_SRC | ImageUsageFlags::TRANSFER_DST;
    Image::committed(device, "Output", ImageDesc::new_2d(OUTPUT_FORMAT, extent, usage))
}
