//! A table by tile index that costs memory only where something was put.

const PAGE: usize = 4096;
const NONE: u32 = u32::MAX;

/// From tile index to a position in some list. An image of 2048 layers has tens of millions of tiles, of
/// which a view touches a few layers: pages appear when first written.
#[derive(Debug, Clone, Default)]
pub(super) struct TileTable {
    pages: Vec<Option<Box<[u32; PAGE]>>>,
}

impl TileTable {
    pub(super) fn get(&self, tile: u32) -> Option<u32> {
        let (page, at) = split(tile);
        let value = self.pages.get(page)?.as_ref()?[at];
        (value != NONE).then_some(value)
    }

    /// Positions are below `u32::MAX`, as there are fewer tiles than that.
    pub(super) fn set(&mut self, tile: u32, position: u32) {
        let (page, at) = split(tile);
        if page >= self.pages.len() {
            self.pages.resize(page + 1, None);
        }
        self.pages[page].get_or_insert_with(|| Box::new([NONE; PAGE]))[at] = position;
    }

    pub(super) fn clear(&mut self, tile: u32) {
        let (page, at) = split(tile);
        if let Some(Some(page)) = self.pages.get_mut(page) {
            page[at] = NONE;
        }
    }
}

fn split(tile: u32) -> (usize, usize) {
    (tile as usize / PAGE, tile as usize % PAGE)
}
