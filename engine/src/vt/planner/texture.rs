//! Textures as the planner knows them: where they lie in a page table, and whose pages they show.

use super::edited::EditedPages;
use super::{Priority, TextureId};
use crate::vt::SpaceId;
use crate::vt::address::PageAddress;
use crate::vt::feedback::Word;
use crate::vt::grid::Grid;
use crate::vt::pool::PoolId;

/// A texture to be.
#[derive(Debug, Clone, PartialEq)]
pub struct TextureDesc {
    /// What it is called in tables, histories and markers.
    pub name: String,
    /// Pages of level 0 along u and v: 1 to 4096 each.
    pub tiles: [u32; 2],
    /// The coarsest levels that it goes without.
    pub removed_low_mips: u8,
    /// The pool of each group of layers, 1 to 4: group g uses channel g of the page table.
    pub groups: Vec<PoolId>,
    /// How urgent its pages are.
    pub priority: Priority,
    /// Its pages are refreshed all the time, in turns.
    pub continuous: bool,
    /// Levels from this one on come from data baked ahead, until an edit reaches them; 0: the whole texture is streamed.
    pub baked_from: Option<u8>,
    /// Shows the pages of another texture of the same grid and pools, in a place of its own.
    pub shares: Option<TextureId>,
}

impl TextureDesc {
    /// A texture that is drawn at run time, with one group of layers.
    pub fn new(name: &str, tiles: [u32; 2], pool: PoolId) -> Self {
        Self {
            name: name.into(),
            tiles,
            removed_low_mips: 0,
            groups: vec![pool],
            priority: Priority::Normal,
            continuous: false,
            baked_from: None,
            shares: None,
        }
    }
}

/// Where a texture lies, for the constants that shaders read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
pub struct Placement {
    /// Whose page table it is in.
    pub space: SpaceId,
    /// The corner of its square, in pages of level 0.
    pub offset: [u16; 2],
    /// How it is cut.
    pub grid: Grid,
    /// Whether it gives feedback. Where it does not, only what is locked or loaded ahead is ever there: 16 spaces are
    /// fed, and its space is a later one.
    pub fed: bool,
}

impl Placement {
    /// The page of the space that shows a page of the texture.
    pub fn in_space(&self, page: PageAddress) -> PageAddress {
        let shift = |at: u16| at.checked_shr(u32::from(page.level)).unwrap_or(0);
        let at = |axis: usize, page: u16| page.wrapping_add(shift(self.offset[axis]));
        PageAddress { level: page.level, x: at(0, page.x), y: at(1, page.y) }
    }

    /// The page of the texture that a page of the space shows.
    pub fn in_texture(&self, page: PageAddress) -> PageAddress {
        let shift = |at: u16| at.checked_shr(u32::from(page.level)).unwrap_or(0);
        let at = |axis: usize, page: u16| page.wrapping_sub(shift(self.offset[axis]));
        PageAddress { level: page.level, x: at(0, page.x), y: at(1, page.y) }
    }

    /// Its square, as a page of the space.
    pub fn square(&self) -> PageAddress {
        let corner = PageAddress { level: 0, x: self.offset[0], y: self.offset[1] };
        corner.ancestor(self.grid.log2_side())
    }

    /// The word of feedback that names a page of the texture.
    pub fn word(&self, page: PageAddress) -> u32 {
        let PageAddress { level, x, y } = self.in_space(page);
        Word { space: self.space, level: level as i8, x, y }.pack()
    }

    /// Upper bits of every word of its feedback: space << 28; all ones where it is not fed.
    pub fn feedback_id(&self) -> u32 {
        if self.fed { u32::from(self.space.0) << 28 } else { u32::MAX }
    }
}

/// A texture that is there.
#[derive(Debug, Clone)]
pub(crate) struct Texture {
    pub(crate) id: TextureId,
    pub(crate) name: String,
    pub(crate) placement: Placement,
    pub(crate) source: u16,
    pub(crate) groups: u8,
    pub(crate) pools: [u8; 4],
    pub(crate) priority: Priority,
    /// Feedback of earlier frames is not about it.
    pub(crate) created: u64,
}

/// Pages, and the textures that show them.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    /// Slots of the textures; never empty.
    pub(crate) users: Vec<u16>,
    pub(crate) grid: Grid,
    pub(crate) pools: Vec<PoolId>,
    pub(crate) continuous: bool,
    pub(crate) baked_from: Option<u8>,
    pub(crate) edited: EditedPages,
    /// The frame in which its producer took nothing more.
    pub(crate) saturated: Option<u64>,
}

impl Source {
    /// Whether data baked ahead will do for a page.
    pub(crate) fn is_baked(&self, page: PageAddress) -> bool {
        self.baked_from.is_some_and(|from| page.level >= from) && !self.edited.has(page)
    }
}
