//! A page table's images on the host: a [`TableImage`] for every channel, laid out as the images on the GPU are.

use super::desc::PageTableDesc;
use super::error::TableResult;
use super::jobs;
use crate::vt::{Entry, SpaceId, TableImage, TableUpdate};

/// The images of one space's page table, as the GPU's should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableTwin {
    space: SpaceId,
    desc: PageTableDesc,
    channels: Vec<TableImage>,
}

impl TableTwin {
    /// A cleared page table.
    ///
    /// # Errors
    /// A description that no page table has.
    pub fn new(space: SpaceId, desc: PageTableDesc) -> TableResult<Self> {
        desc.check()?;
        let image = TableImage::new(desc.side.ilog2() as u8);
        Ok(Self { space, desc, channels: vec![image; desc.channels as usize] })
    }

    /// Paints an update of this space; those of others are left out.
    ///
    /// # Errors
    /// A part that the page table does not have, or a quad outside its mip: nothing is painted then.
    pub fn apply(&mut self, update: &TableUpdate) -> TableResult<()> {
        if update.space != self.space {
            return Ok(());
        }
        jobs::check(&self.desc, update)?;
        let channel = usize::from(update.texture) * 4 + usize::from(update.channel);
        if let Some(image) = self.channels.get_mut(channel) {
            image.apply(update);
        }
        Ok(())
    }

    /// Bytes of a mip of an image in the image's format: rows of texels, channels that nobody writes zero.
    pub fn bytes(&self, image: u32, mip: u32) -> Vec<u8> {
        let width = self.desc.format.bytes() as usize;
        let first = image.saturating_mul(4);
        let of_channel = |channel| self.channels.get(channel as usize).map(|of| of.mip(mip as u8));
        let channels: Vec<Option<&[Entry]>> =
            (first..first.saturating_add(self.desc.image_channels(image))).map(of_channel).collect();
        let texels = channels.first().copied().flatten().map_or(0, <[Entry]>::len);
        let mut bytes = Vec::with_capacity(texels * channels.len() * width);
        for texel in 0..texels {
            for channel in &channels {
                let entry = channel.and_then(|channel| channel.get(texel)).copied().unwrap_or(Entry::NONE);
                bytes.extend(entry.pack(self.desc.format).to_le_bytes().into_iter().take(width));
            }
        }
        bytes
    }
}
