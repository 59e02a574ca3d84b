//! A page table's images on the host: every channel of every mip, painted quad by quad.

use super::desc::PageTableDesc;
use super::error::TableResult;
use super::jobs;
use crate::vt::{SpaceId, TableUpdate};

/// The images of one space's page table, as the GPU's should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableTwin {
    space: SpaceId,
    desc: PageTableDesc,
    /// Packed entries by image and mip: rows of texels, channels beside each other.
    mips: Vec<Vec<Vec<u32>>>,
}

impl TableTwin {
    /// A cleared page table.
    ///
    /// # Errors
    /// A description that no page table has.
    pub fn new(space: SpaceId, desc: PageTableDesc) -> TableResult<Self> {
        desc.check()?;
        let words = |image, mip| (desc.mip_side(mip).pow(2) * desc.image_channels(image)) as usize;
        let image = |image| (0..desc.mips()).map(|mip| vec![0; words(image, mip)]).collect();
        Ok(Self { space, desc, mips: (0..desc.images()).map(image).collect() })
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
        let image = u32::from(update.texture);
        let channels = self.desc.image_channels(image) as usize;
        let side = self.desc.mip_side(u32::from(update.mip)) as usize;
        let texels = self.mips.get_mut(image as usize).and_then(|mips| mips.get_mut(usize::from(update.mip)));
        let Some(texels) = texels else { return Ok(()) };
        for quad in &update.quads {
            let (x, y, size) = (usize::from(quad.x), usize::from(quad.y), 1usize << quad.log2_size);
            let entry = quad.entry.pack(self.desc.format);
            for row in texels.chunks_exact_mut(side * channels).skip(y).take(size) {
                let written = row.chunks_exact_mut(channels).skip(x).take(size);
                written
                    .filter_map(|texel| texel.get_mut(usize::from(update.channel)))
                    .for_each(|at| *at = entry);
            }
        }
        Ok(())
    }

    /// Packed entries of a mip of an image: rows of texels, the channels of the image's format beside each other.
    pub fn entries(&self, image: u32, mip: u32) -> &[u32] {
        let mips = self.mips.get(image as usize);
        mips.and_then(|mips| mips.get(mip as usize)).map_or(&[], Vec::as_slice)
    }

    /// The same as bytes of the image's format.
    pub fn bytes(&self, image: u32, mip: u32) -> Vec<u8> {
        let width = self.desc.format.bytes() as usize;
        self.entries(image, mip)
            .iter()
            .flat_map(|entry| entry.to_le_bytes().into_iter().take(width))
            .collect()
    }
}
