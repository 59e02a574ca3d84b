//! The images that pages are drawn into: `RenderTexture0/1/2`, a page a layer, made when the first page of a kind is drawn.

use std::sync::Arc;

use ash::vk::{Format, ImageUsageFlags};

use super::pipelines::{DEPTH, format};
use crate::vk::{Device, Image, ImageDesc, ImageView, Result};
use crate::vt::runtime::batch::BATCH_PAGES;
use crate::vt::runtime::kind::{MOST_TARGETS, TargetFormat};

const NAMES: [&str; MOST_TARGETS] = ["RenderTexture0", "RenderTexture1", "RenderTexture2"];

/// An image with a view of each of its layers.
#[derive(Debug)]
pub(super) struct Layered {
    pub(super) image: Image,
    pub(super) layers: Vec<ImageView>,
}

impl Layered {
    fn new(
        device: &Arc<Device>,
        name: &str,
        format: Format,
        side: u32,
        usage: ImageUsageFlags,
    ) -> Result<Self> {
        let layers = BATCH_PAGES as u32;
        let desc = ImageDesc { layers, ..ImageDesc::new_2d(format, [side; 2], usage) };
        let image = Image::committed(device, name, desc)?;
        let layers = (0..layers).map(|layer| ImageView::of_slice(&image, 0, layer)).collect::<Result<_>>()?;
        Ok(Self { image, layers })
    }
}

/// Targets of one set of formats and one size of pages.
#[derive(Debug)]
pub(super) struct TargetSet {
    pub(super) formats: &'static [TargetFormat],
    /// Texels a side of a page with its border.
    pub(super) side: u32,
    pub(super) colours: Vec<Layered>,
    /// Where a page showed a mesh.
    pub(super) depth: Option<Layered>,
}

/// All sets that were needed so far.
#[derive(Debug, Default)]
pub(super) struct Targets {
    sets: Vec<TargetSet>,
}

impl Targets {
    /// The place of a set, which is made if it is new.
    pub(super) fn find(
        &mut self,
        device: &Arc<Device>,
        (formats, side): (&'static [TargetFormat], u32),
        needs_depth: bool,
    ) -> Result<usize> {
        let index = match self.sets.iter().position(|set| set.formats == formats && set.side == side) {
            Some(found) => found,
            None => {
                let usage = ImageUsageFlags::COLOR_ATTACHMENT
                    | ImageUsageFlags::SAMPLED
                    | ImageUsageFlags::TRANSFER_SRC;
                let colour = |(target, name): (&TargetFormat, &&'static str)| {
                    Layered::new(device, name, format(*target), side, usage)
                };
                let colours = formats.iter().zip(&NAMES).map(colour).collect::<Result<_>>()?;
                self.sets.push(TargetSet { formats, side, colours, depth: None });
                self.sets.len() - 1
            }
        };
        if let Some(set) = self.sets.get_mut(index).filter(|set| needs_depth && set.depth.is_none()) {
            let usage = ImageUsageFlags::DEPTH_STENCIL_ATTACHMENT;
            set.depth = Some(Layered::new(device, "RenderTextureDepth", DEPTH, side, usage)?);
        }
        Ok(index)
    }

    pub(super) fn sets(&self) -> &[TargetSet] {
        &self.sets
    }

    /// Bytes of all images, as their formats count.
    pub(super) fn bytes(&self) -> u64 {
        let of = |set: &TargetSet| {
            let texels = u64::from(set.side) * u64::from(set.side) * BATCH_PAGES as u64;
            let depth = if set.depth.is_some() { 4 } else { 0 };
            texels * (set.formats.iter().map(|format| format.texel_bytes()).sum::<u64>() + depth)
        };
        self.sets.iter().map(of).sum()
    }
}
