//! The images a frame is drawn into; made anew when the size changes.

use std::sync::Arc;

use ash::vk::{
    AccessFlags2, Format, ImageAspectFlags, ImageLayout, ImageUsageFlags, PipelineStageFlags2,
    SampleCountFlags,
};

use crate::vk::{CommandEncoder, Device, Image, ImageDesc, Result};

/// Format of linear light.
pub(super) const COLOUR_FORMAT: Format = Format::R16G16B16A16_SFLOAT;
/// Format of depth, reversed.
pub(super) const DEPTH_FORMAT: Format = Format::D32_SFLOAT;
/// Format of display values.
pub(super) const OUTPUT_FORMAT: Format = Format::R8G8B8A8_UNORM;

#[derive(Debug)]
pub(super) struct Targets {
    /// What is drawn.
    pub(super) extent: [u32; 2],
    /// Samples of linear light; `None` when there is one a pixel.
    pub(super) samples: Option<Image>,
    /// Linear light.
    pub(super) colour: Image,
    pub(super) depth: Image,
    /// Display values before edges are smoothed, with brightness in alpha.
    pub(super) display: Image,
    /// Display values, as large as what is drawn.
    pub(super) output: Image,
    /// The output enlarged, where a smaller picture is drawn than is shown.
    pub(super) enlarged: Option<Image>,
}

impl Targets {
    /// Targets that are `extent` large, for a picture of `shown`.
    pub(super) fn new(
        device: &Arc<Device>,
        extent: [u32; 2],
        shown: [u32; 2],
        samples: SampleCountFlags,
    ) -> Result<Self> {
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
        let enlarged = (extent != shown).then(|| {
            let usage = ImageUsageFlags::TRANSFER_SRC | ImageUsageFlags::TRANSFER_DST;
            Image::committed(device, "Output.Enlarged", ImageDesc::new_2d(OUTPUT_FORMAT, shown, usage))
        });
        let (samples, enlarged) = (samples.transpose()?, enlarged.transpose()?);
        Ok(Self { extent, samples, colour, depth, display, output, enlarged })
    }

    /// What is shown, read back and written to files.
    pub(super) fn shown(&self) -> &Image {
        self.enlarged.as_ref().unwrap_or(&self.output)
    }

    /// Fills the enlarged picture. Both images are in the layout `TRANSFER_SRC_OPTIMAL` before and after.
    pub(super) fn enlarge(&self, encoder: &mut CommandEncoder) {
        let Some(enlarged) = &self.enlarged else { return };
        let copy = (PipelineStageFlags2::ALL_TRANSFER, AccessFlags2::TRANSFER_WRITE);
        let before = (PipelineStageFlags2::ALL_TRANSFER, AccessFlags2::NONE);
        let after =
            (PipelineStageFlags2::ALL_TRANSFER, AccessFlags2::TRANSFER_READ | AccessFlags2::TRANSFER_WRITE);
        let to_copy = (ImageLayout::UNDEFINED, ImageLayout::TRANSFER_DST_OPTIMAL);
        let to_read = (ImageLayout::TRANSFER_DST_OPTIMAL, ImageLayout::TRANSFER_SRC_OPTIMAL);
        let colour = ImageAspectFlags::COLOR;
        encoder.image_barrier(enlarged.raw(), colour, to_copy, before, copy);
        encoder.blit((self.output.raw(), self.extent), (enlarged.raw(), enlarged.desc().extent));
        encoder.image_barrier(enlarged.raw(), colour, to_read, copy, after);
    }
}
