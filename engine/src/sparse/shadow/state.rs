//! What is kept of a resource and of a chunk: the page table, and the same seen from the memory.

use std::collections::BTreeMap;
use std::ops::Range;

use super::runs::{RunMap, Slide};
use super::{ChunkId, ResourceDesc, ResourceId, Users};
use crate::vk::Point;

/// The state of a run of a resource that was bound at least once.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tile {
    /// The memory behind it; `None` when it was unbound.
    pub(super) memory: Option<(ChunkId, u64)>,
    /// The bind that made it so.
    pub(super) since: Point,
    /// The last users of this mapping.
    pub(super) users: Users,
}

impl Slide for Tile {
    fn slid(&self, bytes: u64) -> Self {
        let memory = self.memory.map(|(chunk, offset)| (chunk, offset.saturating_add(bytes)));
        Self { memory, ..*self }
    }
}

/// A reserved resource.
#[derive(Debug)]
pub(super) struct Resource {
    pub(super) desc: ResourceDesc,
    /// The page table; what is not in it was never bound.
    pub(super) tiles: RunMap<Tile>,
    /// Its mip tails.
    pub(super) tails: RunMap<()>,
    /// The last users of any of it, mapped or not.
    pub(super) users: Users,
    /// The last binds of any of it.
    pub(super) binds: Users,
}

impl Resource {
    pub(super) fn new(mut desc: ResourceDesc) -> Self {
        desc.tile_bytes = desc.tile_bytes.max(1);
        let mut tails = RunMap::default();
        for tail in &desc.tails {
            tails.set(tail.clone(), Some(()));
        }
        Self { desc, tiles: RunMap::default(), tails, users: Users::default(), binds: Users::default() }
    }

    pub(super) fn mapped_bytes(&self) -> u64 {
        let mapped = self.tiles.iter().filter(|(_, tile)| tile.memory.is_some());
        mapped.map(|(range, _)| range.end - range.start).sum()
    }
}

/// Whose address leads to a page of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Owner {
    pub(super) resource: ResourceId,
    /// Where in the resource, bytes.
    pub(super) offset: u64,
}

/// The state of a run of a chunk that was mapped at least once.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Page {
    /// Sorted. More than one only where memory is shared.
    pub(super) owners: Vec<Owner>,
    /// The last bind that took an owner away.
    pub(super) released: Option<Point>,
    /// The last users among the owners of the past.
    pub(super) users: Users,
}

impl Slide for Page {
    fn slid(&self, bytes: u64) -> Self {
        let slide = |owner: &Owner| Owner { offset: owner.offset.saturating_add(bytes), ..*owner };
        Self { owners: self.owners.iter().map(slide).collect(), ..*self }
    }
}

/// A chunk of device memory.
#[derive(Debug)]
pub(super) struct Chunk {
    pub(super) name: String,
    pub(super) bytes: u64,
    pub(super) pages: RunMap<Page>,
}

impl Chunk {
    pub(super) fn new(name: &str, bytes: u64) -> Self {
        Self { name: name.to_owned(), bytes, pages: RunMap::default() }
    }

    /// `bytes` bytes from `offset` on, cut to the chunk.
    pub(super) fn cut(&self, offset: u64, bytes: u64) -> Range<u64> {
        let start = offset.min(self.bytes);
        start..offset.saturating_add(bytes).min(self.bytes)
    }

    /// Adds an owner to the pages in `range`; `owner` holds at its start.
    pub(super) fn acquire(&mut self, range: Range<u64>, owner: Owner) {
        for (piece, page) in self.pages.pieces(range.clone()) {
            let mut page = page.unwrap_or_default();
            let owner = Owner { offset: owner.offset.saturating_add(piece.start - range.start), ..owner };
            if let Err(place) = page.owners.binary_search(&owner) {
                page.owners.insert(place, owner);
            }
            self.pages.set(piece, Some(page));
        }
    }

    /// Takes an owner from the pages in `range`; `released` is the bind that did so, with the users it had.
    pub(super) fn release(
        &mut self,
        range: Range<u64>,
        owner: Owner,
        released: Option<Point>,
        users: &Users,
    ) {
        for (piece, page) in self.pages.pieces(range.clone()) {
            let Some(mut page) = page else { continue };
            let owner = Owner { offset: owner.offset.saturating_add(piece.start - range.start), ..owner };
            let Ok(place) = page.owners.binary_search(&owner) else { continue };
            page.owners.remove(place);
            page.released = released.or(page.released);
            page.users.add_all(users);
            let is_new = page == Page::default();
            self.pages.set(piece, (!is_new).then_some(page));
        }
    }
}

/// Names of what is gone, so that reports can still say them: the most recent few thousand ids.
#[derive(Debug)]
pub(super) struct Graves<Id> {
    names: BTreeMap<Id, String>,
}

impl<Id> Default for Graves<Id> {
    fn default() -> Self {
        Self { names: BTreeMap::new() }
    }
}

impl<Id: Ord> Graves<Id> {
    const LIMIT: usize = 4096;

    pub(super) fn add(&mut self, id: Id, name: String) {
        self.names.insert(id, name);
        if self.names.len() > Self::LIMIT {
            self.names.pop_first();
        }
    }

    pub(super) fn name(&self, id: Id) -> Option<&str> {
        self.names.get(&id).map(String::as_str)
    }
}
