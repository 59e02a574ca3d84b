//! Which pages are mapped, and how many are below each: what quads are planned from.

use super::Entry;
use crate::vt::address::{MOST_LEVEL, PageAddress};
use crate::vt::map::KeyMap;

/// One channel of the page table of one space, on the CPU: the mapped pages, not the texels.
///
/// Changes are remembered until [`PageTable::paint`] turns them into quads.
#[derive(Debug, Clone)]
pub struct PageTable {
    /// By packed page: entry in 20 bits, whether it is mapped, and how many mapped pages lie strictly inside.
    nodes: KeyMap,
    pub(super) changed: Vec<PageAddress>,
    /// Lists that a paint needs, kept for their memory.
    pub(super) scratch: Option<super::paint::Scratch>,
    mapped: u32,
    top: u8,
}

const MAPPED: u64 = 1 << 20;
const BELOW_SHIFT: u32 = 32;

/// What is known of one page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) entry: Option<Entry>,
    pub(super) below: u32,
}

impl PageTable {
    /// An empty table of `2^log2_side` pages a side: its image is expected to hold zeros.
    pub fn new(log2_side: u8) -> Self {
        let top = log2_side.min(MOST_LEVEL);
        Self { nodes: KeyMap::new(), changed: Vec::new(), scratch: None, mapped: 0, top }
    }

    /// The coarsest level: that of the one page that holds the whole table.
    pub fn top(&self) -> u8 {
        self.top
    }

    /// Pages that are mapped.
    pub fn mapped(&self) -> u32 {
        self.mapped
    }

    pub(super) fn node(&self, page: PageAddress) -> Node {
        let value = self.nodes.get(u64::from(page.pack())).unwrap_or(0);
        Node {
            entry: (value & MAPPED != 0).then(|| Entry::unpack32(value as u32 & 0xf_ffff)),
            below: (value >> BELOW_SHIFT) as u32,
        }
    }

    /// Whether the table has this page.
    pub fn has(&self, page: PageAddress) -> bool {
        let side = 1u32.checked_shl(u32::from(self.top.saturating_sub(page.level))).unwrap_or(0);
        page.level <= self.top && u32::from(page.x) < side && u32::from(page.y) < side
    }

    /// What `page` itself is mapped to.
    pub fn get(&self, page: PageAddress) -> Option<Entry> {
        self.node(page).entry
    }

    /// What a lookup of `page` finds: its own mapping, or that of its nearest mapped ancestor.
    pub fn nearest(&self, page: PageAddress) -> Option<(PageAddress, Entry)> {
        let mut at = page;
        while at.level <= self.top {
            if let Some(entry) = self.get(at) {
                return Some((at, entry));
            }
            at = at.parent();
        }
        None
    }

    /// Maps a page, or maps it anew. What the table does not have is left alone.
    pub fn map(&mut self, page: PageAddress, entry: Entry) {
        if !self.has(page) {
            return;
        }
        let node = self.nodes.entry(u64::from(page.pack()));
        let was_mapped = *node & MAPPED != 0;
        *node = *node >> BELOW_SHIFT << BELOW_SHIFT | MAPPED | u64::from(entry.pack32());
        if !was_mapped {
            self.mapped += 1;
            let mut above = page;
            while above.level < self.top {
                above = above.parent();
                *self.nodes.entry(u64::from(above.pack())) += 1 << BELOW_SHIFT;
            }
        }
        self.changed.push(page);
    }

    /// Takes a mapping away; its entries will show the nearest ancestor. Whether there was one.
    pub fn unmap(&mut self, page: PageAddress) -> bool {
        if self.get(page).is_none() {
            return false;
        }
        self.mapped -= 1;
        self.lower(page, MAPPED | 0xf_ffff);
        let mut above = page;
        while above.level < self.top {
            above = above.parent();
            let value = self.nodes.entry(u64::from(above.pack()));
            *value -= 1 << BELOW_SHIFT;
            if *value == 0 {
                self.nodes.remove(u64::from(above.pack()));
            }
        }
        self.changed.push(page);
        true
    }

    fn lower(&mut self, page: PageAddress, bits: u64) {
        let value = self.nodes.entry(u64::from(page.pack()));
        *value &= !bits;
        if *value == 0 {
            self.nodes.remove(u64::from(page.pack()));
        }
    }

    /// The texels of `page` are to be painted again, though nothing changed: their last painting was lost.
    pub fn touch(&mut self, page: PageAddress) {
        if self.has(page) {
            self.changed.push(page);
        }
    }

    /// Whether there is something to paint.
    pub fn is_changed(&self) -> bool {
        !self.changed.is_empty()
    }

    /// All mapped pages, in no order.
    pub fn pages(&self) -> impl Iterator<Item = (PageAddress, Entry)> + '_ {
        self.nodes
            .iter()
            .filter(|(_, value)| value & MAPPED != 0)
            .map(|(key, value)| (PageAddress::unpack(key as u32), Entry::unpack32(value as u32 & 0xf_ffff)))
    }
}
