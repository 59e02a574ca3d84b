//! Spaces: page tables that textures are placed in, as squares along the Z-curve.
//!
//! ```text
//! texture (grid, layout) --Spaces--> space and offset --> its feedback is found by the code of a page
//! ```
//!
//! A square has a power of two as its side and is aligned to it, so it is one run of Morton codes and a page of any level
//! up to its own lies in it whole. Textures of the same layout share a space while there is room. Feedback has 4 bits for
//! the space: those from the 17th on work, but nobody hears what is sampled of them.

mod curve;
#[cfg(test)]
mod tests;

pub(crate) use curve::Square;

use super::SpaceId;
use super::address::{MOST_LEVEL, PageAddress};
use super::page_table::{EntryFormat, PageTable};

/// Spaces that there may be.
pub const MOST_SPACES: usize = 256;

/// What textures must have in common to share a page table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
pub struct SpaceLayout {
    /// Logical texels a side of a page.
    pub tile: u32,
    /// Texels around a page.
    pub border: u32,
    /// Channels of the page table: 1 to 4, one a group of layers.
    pub channels: u8,
    /// How wide an entry is.
    pub format: EntryFormat,
}

/// One page table and the textures in it.
#[derive(Debug, Clone)]
pub(crate) struct Space {
    pub(crate) layout: SpaceLayout,
    pub(crate) log2_side: u8,
    squares: Vec<Square>,
    /// One a channel.
    pub(crate) tables: Vec<PageTable>,
}

impl Space {
    /// Whose square holds this code.
    pub(crate) fn texture_at(&self, code: u32) -> Option<&Square> {
        let after = self.squares.partition_point(|square| square.start <= code);
        self.squares.get(after.wrapping_sub(1)).filter(|square| square.holds(code))
    }

    pub(crate) fn textures(&self) -> usize {
        self.squares.len()
    }
}

/// All spaces.
#[derive(Debug, Clone, Default)]
pub(crate) struct Spaces {
    spaces: Vec<Option<Space>>,
}

impl Spaces {
    pub(crate) fn get(&self, id: SpaceId) -> Option<&Space> {
        self.spaces.get(usize::from(id.0))?.as_ref()
    }

    pub(crate) fn get_mut(&mut self, id: SpaceId) -> Option<&mut Space> {
        self.spaces.get_mut(usize::from(id.0))?.as_mut()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (SpaceId, &Space)> {
        let ids = (0..=u8::MAX).map(SpaceId);
        ids.zip(&self.spaces).filter_map(|(id, space)| Some((id, space.as_ref()?)))
    }

    /// Places a texture in the first space of its layout that has room, or in a new one of at least `side` pages a side;
    /// gives the space and the corner of its square. Nothing when there are [`MOST_SPACES`] spaces.
    pub(crate) fn place(
        &mut self,
        layout: SpaceLayout,
        log2_square: u8,
        texture: u16,
        side: u32,
    ) -> Option<(SpaceId, PageAddress)> {
        for (id, space) in (0..=u8::MAX).map(SpaceId).zip(&mut self.spaces) {
            if let Some(space) = space.as_mut().filter(|space| space.layout == layout)
                && let Some(start) = curve::insert(&mut space.squares, space.log2_side, log2_square, texture)
            {
                return Some((id, PageAddress::from_morton(start, 0)));
            }
        }
        let vacant = self.spaces.iter().position(Option::is_none).unwrap_or(self.spaces.len());
        if vacant >= MOST_SPACES {
            return None;
        }
        let wished = side.clamp(1, 1 << MOST_LEVEL).next_power_of_two().trailing_zeros() as u8;
        let log2_side = wished.max(log2_square).min(MOST_LEVEL);
        let tables = (0..layout.channels).map(|_| PageTable::new(log2_side)).collect();
        let mut space = Space { layout, log2_side, squares: Vec::new(), tables };
        let start = curve::insert(&mut space.squares, log2_side, log2_square, texture)?;
        if vacant == self.spaces.len() {
            self.spaces.push(None);
        }
        self.spaces[vacant] = Some(space);
        Some((SpaceId(vacant as u8), PageAddress::from_morton(start, 0)))
    }

    /// Takes a texture out. An empty space goes, and its id is used again; whether it went.
    pub(crate) fn remove(&mut self, id: SpaceId, texture: u16) -> bool {
        let Some(slot) = self.spaces.get_mut(usize::from(id.0)) else { return false };
        let Some(space) = slot else { return false };
        space.squares.retain(|square| square.texture != texture);
        let goes = space.squares.is_empty();
        if goes {
            *slot = None;
        }
        goes
    }
}
