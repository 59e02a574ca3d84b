//! Which entries show a page of an atlas: textures that share pages map one page many times.
//!
//! Each page has a list of its mappings, and an entry names the page it shows: so one finds the way in both directions.

use crate::vt::address::PageAddress;

/// The end of a list.
pub(crate) const END: u32 = u32::MAX;

/// One mapping: a page of a page table (counted over all spaces and channels).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mapping {
    /// Space * 4 + channel.
    pub(crate) table: u16,
    /// The page of the space.
    pub(crate) page: PageAddress,
}

/// The lists of all pages, in one arena.
#[derive(Debug, Clone)]
pub(crate) struct Mappings {
    nodes: Vec<(Mapping, u32)>,
    free: u32,
    len: u32,
}

impl Mappings {
    pub(crate) fn new() -> Self {
        Self { nodes: Vec::new(), free: END, len: 0 }
    }

    /// Mappings of all pages.
    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    /// Puts a mapping at the head of a list.
    pub(crate) fn push(&mut self, list: &mut u32, mapping: Mapping) {
        let node = (mapping, *list);
        *list = if let Some(reused) = self.nodes.get_mut(self.free as usize) {
            let at = self.free;
            self.free = reused.1;
            *reused = node;
            at
        } else {
            self.nodes.push(node);
            self.nodes.len() as u32 - 1
        };
        self.len += 1;
    }

    /// Takes the head of a list away.
    pub(crate) fn pop(&mut self, list: &mut u32) -> Option<Mapping> {
        let at = *list;
        let node = self.nodes.get_mut(at as usize)?;
        *list = node.1;
        node.1 = self.free;
        self.free = at;
        self.len -= 1;
        Some(node.0)
    }

    /// Takes those away for which `goes` says so.
    pub(crate) fn remove(&mut self, list: &mut u32, goes: impl Fn(Mapping) -> bool) {
        let mut kept = END;
        while let Some(mapping) = self.pop(list) {
            if !goes(mapping) {
                self.push(&mut kept, mapping);
            }
        }
        *list = kept;
    }

    /// The mappings of a list.
    pub(crate) fn iter(&self, list: u32) -> impl Iterator<Item = Mapping> + '_ {
        let mut at = list;
        std::iter::from_fn(move || {
            let (mapping, next) = *self.nodes.get(at as usize)?;
            at = next;
            Some(mapping)
        })
    }
}
