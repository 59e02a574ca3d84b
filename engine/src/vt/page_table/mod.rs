//! The page table: for every page of every level, which page of the atlas shows there.
//!
//! ```text
//! map, unmap --PageTable--> quads, coarse first, one list a mip --(instanced draw, or TableImage on the CPU)--> entries
//! ```
//!
//! A mapping covers its quad in its own mip and in all finer ones where nothing finer is mapped; so the entry of a page
//! that is missing holds its nearest mapped ancestor, and a lookup is one fetch.

mod entry;
mod image;
mod nodes;
mod paint;
#[cfg(test)]
mod tests;

pub use entry::{Entry, EntryFormat};
pub use image::TableImage;
pub use nodes::PageTable;

use super::SpaceId;
use super::address::PageAddress;

/// One quad of an update: fills `2^log2_size x 2^log2_size` texels of a mip with one entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TableQuad {
    /// Column of its first texel in that mip, a multiple of its size.
    pub x: u16,
    /// Row of its first texel in that mip, a multiple of its size.
    pub y: u16,
    /// Its side in texels of that mip, as a logarithm.
    pub log2_size: u8,
    /// What it is filled with.
    pub entry: Entry,
}

impl TableQuad {
    /// The part of `page` (of the space) in mip `mip`, filled with `entry`; `mip` is at most the page's level.
    pub fn of(page: PageAddress, mip: u8, entry: Entry) -> Self {
        let log2_size = page.level.saturating_sub(mip);
        let corner = |at: u16| at.checked_shl(u32::from(log2_size)).unwrap_or(0);
        Self { x: corner(page.x), y: corner(page.y), log2_size, entry }
    }

    /// The page of the space that it is the part of, where it lies in mip `mip`.
    pub fn page(&self, mip: u8) -> PageAddress {
        let at = |at: u16| at.checked_shr(u32::from(self.log2_size)).unwrap_or(0);
        PageAddress { level: mip.saturating_add(self.log2_size), x: at(self.x), y: at(self.y) }
    }

    /// Morton code of its first texel in that mip: with the size it is all that a vertex shader needs.
    pub fn morton(&self) -> u32 {
        PageAddress { level: 0, x: self.x, y: self.y }.morton()
    }
}

/// Quads of one mip and one channel of a page table: one instanced draw, painted in order, coarse first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableUpdate {
    /// Whose page table.
    pub space: SpaceId,
    /// Which of its images; 0 while a texture has at most four groups.
    pub texture: u8,
    /// The mip that is painted.
    pub mip: u8,
    /// The channel that is written: 0 to 3, the group of the textures.
    pub channel: u8,
    /// What is painted, in this order.
    pub quads: Vec<TableQuad>,
}
