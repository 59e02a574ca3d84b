//! A page table as texels on the CPU: the twin of what the GPU paints.

use super::{Entry, TableQuad, TableUpdate};
use crate::vt::address::{MOST_LEVEL, PageAddress};

/// All mips of one channel of a page table, painted like the image on the GPU: later quads over earlier ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableImage {
    mips: Vec<Vec<Entry>>,
    log2_side: u8,
}

impl TableImage {
    /// An image of `2^log2_side` texels a side (at most 4096) and all its mips, of zeros.
    pub fn new(log2_side: u8) -> Self {
        let log2_side = log2_side.min(MOST_LEVEL);
        let mips = (0..=log2_side).map(|mip| vec![Entry::NONE; 1 << (2 * (log2_side - mip))]).collect();
        Self { mips, log2_side }
    }

    /// Texels a side of a mip.
    pub fn side(&self, mip: u8) -> u32 {
        1 << self.log2_side.saturating_sub(mip)
    }

    /// Paints an update of its channel; what lies outside is cut off. The texels that were written.
    pub fn apply(&mut self, update: &TableUpdate) -> u64 {
        update.quads.iter().map(|quad| self.fill(update.mip, quad)).sum()
    }

    fn fill(&mut self, mip: u8, quad: &TableQuad) -> u64 {
        let side = self.side(mip) as usize;
        let Some(texels) = self.mips.get_mut(usize::from(mip)) else { return 0 };
        let length = 1usize.checked_shl(u32::from(quad.log2_size)).unwrap_or(side);
        let range =
            |first: u16| usize::from(first).min(side)..usize::from(first).saturating_add(length).min(side);
        let mut written = 0;
        for y in range(quad.y) {
            let row = &mut texels[y * side..(y + 1) * side][range(quad.x)];
            row.fill(quad.entry);
            written += row.len() as u64;
        }
        written
    }

    /// The texel of a page: of mip `page.level`. Nothing is mapped outside.
    pub fn get(&self, page: PageAddress) -> Entry {
        let side = self.side(page.level) as usize;
        let (x, y) = (usize::from(page.x), usize::from(page.y));
        let texels = self.mips.get(usize::from(page.level)).filter(|_| x < side && y < side);
        texels.map_or(Entry::NONE, |texels| texels[y * side + x])
    }

    /// All texels of a mip, row by row.
    pub fn mip(&self, mip: u8) -> &[Entry] {
        self.mips.get(usize::from(mip)).map_or(&[], Vec::as_slice)
    }
}
