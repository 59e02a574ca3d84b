//! The images of one space's page table, with a view of every mip to draw into.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ash::vk::ImageUsageFlags;

use super::desc::PageTableDesc;
use super::error::TableResult;
use crate::graph::{Access, ImportState, LeftState, Queue, ShaderStages};
use crate::vk::{Device, Image, ImageDesc, ImageView};

/// How page tables rest between passes: in the layout for sampling.
pub(super) const AT_REST: Access = Access::Sampled(ShaderStages::DRAW.union(ShaderStages::COMPUTE));

#[derive(Debug)]
pub(super) struct TableImage {
    pub(super) image: Image,
    pub(super) mips: Vec<ImageView>,
    /// Whether nothing was ever written: it has no layout and no contents.
    pub(super) is_new: bool,
    /// Whether a submission of the present frame uses it.
    pub(super) is_used: AtomicBool,
}

impl TableImage {
    /// State that it is in where no frame knows better.
    pub(super) fn state(&self) -> ImportState {
        match self.is_new {
            true => ImportState::Undefined,
            false => ImportState::After(LeftState::after(AT_REST, Queue::Graphics, true)),
        }
    }
}

#[derive(Debug)]
pub(super) struct Table {
    pub(super) desc: PageTableDesc,
    pub(super) images: Vec<TableImage>,
}

impl Table {
    pub(super) fn new(device: &Arc<Device>, desc: PageTableDesc) -> TableResult<Self> {
        desc.check()?;
        let images =
            (0..desc.images()).map(|image| make(device, &desc, image)).collect::<TableResult<_>>()?;
        Ok(Self { desc, images })
    }
}

fn make(device: &Arc<Device>, desc: &PageTableDesc, image: u32) -> TableResult<TableImage> {
    let usage = ImageUsageFlags::COLOR_ATTACHMENT
        | ImageUsageFlags::SAMPLED
        | ImageUsageFlags::TRANSFER_SRC
        | ImageUsageFlags::TRANSFER_DST;
    let info =
        ImageDesc { mips: desc.mips(), ..ImageDesc::new_2d(desc.image_format(image), [desc.side; 2], usage) };
    let image = Image::committed(device, &desc.image_name(image), info)?;
    let mips = (0..desc.mips()).map(|mip| ImageView::of_slice(&image, mip, 0)).collect::<Result<_, _>>()?;
    Ok(TableImage { image, mips, is_new: true, is_used: AtomicBool::new(false) })
}
