//! Binds: what one `vkQueueBindSparse` call does to the page tables, and the rules it has to keep.

use std::collections::BTreeMap;
use std::ops::Range;

use super::log::Found;
use super::report::{MemoryPlace, Operation, Place, Report, ReportKind, tiles};
use super::runs::{RunMap, Slide};
use super::state::{Owner, Tile};
use super::{ChunkId, Order, ResourceId, Shadow, Users, is_ordered};
use crate::vk::Point;

/// One range bound to memory, or unbound. Bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BindRange {
    /// The resource.
    pub resource: ResourceId,
    /// Where in its tile space.
    pub offset: u64,
    /// How much.
    pub bytes: u64,
    /// The chunk and the offset in it; `None` unbinds.
    pub memory: Option<(ChunkId, u64)>,
}

/// One batch (`VkBindSparseInfo`) of a bind call.
#[derive(Debug, Clone, Copy)]
pub struct Batch<'a> {
    /// What it signals when done.
    pub at: Point,
    /// Its binds, never empty and in no order among themselves.
    pub binds: &'a [BindRange],
}

/// The ranges that a batch has changed so far.
type Touched = BTreeMap<ResourceId, RunMap<()>>;

impl Shadow {
    /// Tells of one `vkQueueBindSparse` call that the driver took, its batches in order.
    ///
    /// Returns what is wrong with it, and applies it all the same: what is misaligned at its bytes, what
    /// passes the end of the resource cut to it. Not applied are binds of no bytes and of unknown resources.
    pub fn bind(&mut self, batches: &[Batch<'_>], order: &dyn Order) -> Vec<Report> {
        let mut found = Found::default();
        if batches.is_empty() {
            found.push(bare(ReportKind::EmptyBatch, Operation::BindCall));
        }
        for batch in batches {
            if batch.binds.is_empty() {
                found.push(bare(ReportKind::EmptyBatch, Operation::Bind(batch.at)));
            }
            let mut touched = Touched::new();
            for bind in batch.binds {
                let Some(range) = self.check_shape(bind, batch.at, &mut found) else { continue };
                self.check_twice(bind, range.clone(), batch.at, &mut touched, &mut found);
                self.check_order(bind, range.clone(), batch.at, order, &mut found);
                self.apply(bind, range, batch.at, order);
            }
            // Only after the whole batch: memory may move from one tile to another within it.
            for (id, touched) in &touched {
                for (range, ()) in touched.iter() {
                    self.check_sharing(*id, range, batch.at, &mut found);
                }
            }
        }
        self.log.add(found)
    }

    /// Whether the ranges can be what was meant; the range to apply, cut to the resource.
    fn check_shape(&self, bind: &BindRange, at: Point, found: &mut Found) -> Option<Range<u64>> {
        let BindRange { resource: id, offset, bytes, memory } = *bind;
        let Some(resource) = self.resources.get(&id) else {
            found.push(bare(self.unknown_resource(id), Operation::Bind(at)));
            return None;
        };
        let (limit, tile_bytes) = (resource.desc.bytes, resource.desc.tile_bytes);
        let start = offset.min(limit);
        let end = offset.saturating_add(bytes).min(limit);
        let mut say = |kind| found.push(self.bind_report(kind, bind, start..end, at));
        if bytes == 0 {
            say(ReportKind::EmptyBind { offset });
            return None;
        }
        let is_past_end = bytes > limit.saturating_sub(offset);
        let size_fits = bytes.is_multiple_of(tile_bytes) || (end == limit && !is_past_end);
        let memory_offset = memory.map(|(_, offset)| offset);
        let memory_fits = memory_offset.is_none_or(|offset| offset.is_multiple_of(tile_bytes));
        if !offset.is_multiple_of(tile_bytes) || !size_fits || !memory_fits {
            say(ReportKind::Misaligned { offset, bytes, memory_offset, tile_bytes });
        }
        if is_past_end {
            say(ReportKind::PastResourceEnd { offset, bytes, limit });
        }
        if let Some((chunk, memory_offset)) = memory {
            match self.chunks.get(&chunk).map(|chunk| chunk.bytes) {
                Some(limit) if bytes > limit.saturating_sub(memory_offset) => {
                    say(ReportKind::PastChunkEnd { memory_offset, bytes, limit });
                }
                Some(_) => {}
                None => say(self.unknown_chunk(chunk)),
            }
        }
        (start < end).then_some(start..end)
    }

    fn check_twice(
        &self,
        bind: &BindRange,
        range: Range<u64>,
        at: Point,
        touched: &mut Touched,
        found: &mut Found,
    ) {
        let touched = touched.entry(bind.resource).or_default();
        for (piece, earlier) in touched.pieces(range.clone()) {
            if earlier.is_some() {
                found.push(self.bind_report(ReportKind::TileTwice, bind, piece, at));
            }
        }
        touched.set(range, Some(()));
    }

    /// Whether everything that this bind pulls the rug from is over by then.
    fn check_order(
        &self,
        bind: &BindRange,
        range: Range<u64>,
        at: Point,
        order: &dyn Order,
        found: &mut Found,
    ) {
        let Some(resource) = self.resources.get(&bind.resource) else { return };
        for (piece, tile) in resource.tiles.pieces(range.clone()) {
            let Some(tile) = tile else { continue };
            let running = tile.users.only(|user| !is_ordered(order, user, at));
            if !running.is_empty() {
                let kind = ReportKind::RunningReader { users: running };
                let report = self.bind_report(kind, bind, piece.clone(), at);
                found.push(Report { memory: self.memory_place(&tile, &piece, bind.resource), ..report });
            }
            if !is_ordered(order, tile.since, at) {
                let kind = ReportKind::UnorderedBind { since: tile.since };
                found.push(self.bind_report(kind, bind, piece, at));
            }
        }
        let Some((chunk, memory_offset)) = bind.memory else { return };
        let Some(chunk) = self.chunks.get(&chunk) else { return };
        let pages = chunk.cut(memory_offset, range.end - range.start);
        for (piece, page) in chunk.pages.pieces(pages.clone()) {
            let Some(released) = page.and_then(|page| page.released) else { continue };
            if !is_ordered(order, released, at) {
                let from = range.start + (piece.start - pages.start);
                let to = range.start + (piece.end - pages.start);
                let kind = ReportKind::MemoryNotReleased { released };
                found.push(self.bind_report(kind, bind, from..to, at));
            }
        }
    }

    fn apply(&mut self, bind: &BindRange, range: Range<u64>, at: Point, order: &dyn Order) {
        let Some(resource) = self.resources.get_mut(&bind.resource) else { return };
        for (piece, tile) in resource.tiles.pieces(range.clone()) {
            let Some((tile, (chunk, offset))) = tile.and_then(|t| Some((t.clone(), t.memory?))) else {
                continue;
            };
            if let Some(chunk) = self.chunks.get_mut(&chunk) {
                let owner = Owner { resource: bind.resource, offset: piece.start };
                let pages = chunk.cut(offset, piece.end - piece.start);
                chunk.release(pages, owner, Some(at), &tile.users);
            }
        }
        resource.binds.add(at);
        let tile = Tile { memory: bind.memory, since: at, users: Users::default() };
        resource.tiles.set(range.clone(), Some(tile));
        let Some((chunk, offset)) = bind.memory else { return };
        let Some(chunk) = self.chunks.get_mut(&chunk) else { return };
        let pages = chunk.cut(offset, range.end - range.start);
        // What the bind waits for is over once the bind is; what it does not wait for stays on record.
        chunk.pages.modify(pages.clone(), |page| {
            page.released = None;
            page.users = page.users.only(|user| !is_ordered(order, user, at));
        });
        chunk.acquire(pages, Owner { resource: bind.resource, offset: range.start });
    }

    /// Whether memory that a batch bound in `range` also lies elsewhere.
    fn check_sharing(&self, id: ResourceId, range: Range<u64>, at: Point, found: &mut Found) {
        let Some(resource) = self.resources.get(&id) else { return };
        for (piece, tile) in resource.tiles.pieces(range) {
            let Some((tile, (chunk, offset))) = tile.and_then(|t| Some((t.clone(), t.memory?))) else {
                continue;
            };
            let Some(chunk) = self.chunks.get(&chunk) else { continue };
            let pages = chunk.cut(offset, piece.end - piece.start);
            for (shared, page) in chunk.pages.pieces(pages.clone()) {
                let own = Owner { resource: id, offset: piece.start + (shared.start - pages.start) };
                let others = page.into_iter().flat_map(|page| page.owners).filter(|owner| *owner != own);
                for other in others {
                    let bytes = shared.end - shared.start;
                    self.check_pair((own, &tile.slid(own.offset - piece.start)), other, bytes, at, found);
                }
            }
        }
    }

    /// Whether `bytes` bytes from `own` on, bound in this batch, may share their memory with `other`.
    fn check_pair(
        &self,
        (own, tile): (Owner, &Tile),
        other: Owner,
        bytes: u64,
        at: Point,
        found: &mut Found,
    ) {
        let (Some(resource), Some(sharer)) =
            (self.resources.get(&own.resource), self.resources.get(&other.resource))
        else {
            return;
        };
        let both_aliased = resource.desc.aliased && sharer.desc.aliased;
        for (mine, own_tail) in resource.tails.pieces(own.offset..own.offset.saturating_add(bytes)) {
            let from = other.offset + (mine.start - own.offset);
            for (theirs, other_tail) in sharer.tails.pieces(from..from + (mine.end - mine.start)) {
                let tail = own_tail.is_some() || other_tail.is_some();
                if both_aliased && !tail {
                    continue;
                }
                for (theirs, their_tile) in sharer.tiles.pieces(theirs) {
                    // Two binds of one batch each see the other: the one with the higher address tells.
                    if own < other && their_tile.is_some_and(|tile| tile.since == at) {
                        continue;
                    }
                    let from = own.offset + (theirs.start - other.offset);
                    let mine = from..from + (theirs.end - theirs.start);
                    let memory = self.memory_place(&tile.slid(from - own.offset), &mine, own.resource);
                    let tiles = tiles(&theirs, sharer.desc.tile_bytes);
                    let kind = ReportKind::MemoryTwice { other: sharer.desc.name.clone(), tiles, tail };
                    let place = self.place(own.resource, mine);
                    found.push(Report { kind, during: Operation::Bind(at), place, memory });
                }
            }
        }
    }

    /// A report on a part of a bind, with the memory that the bind gives it.
    fn bind_report(&self, kind: ReportKind, bind: &BindRange, bytes: Range<u64>, at: Point) -> Report {
        let tile = Tile {
            memory: bind.memory.map(|(chunk, offset)| {
                (chunk, offset.saturating_add(bytes.start.saturating_sub(bind.offset)))
            }),
            since: at,
            users: Users::default(),
        };
        let memory = self.memory_place(&tile, &bytes, bind.resource);
        Report { kind, during: Operation::Bind(at), place: self.place(bind.resource, bytes), memory }
    }

    pub(super) fn place(&self, id: ResourceId, bytes: Range<u64>) -> Option<Place> {
        let desc = &self.resources.get(&id)?.desc;
        Some(Place { resource: id, name: desc.name.clone(), tile_bytes: desc.tile_bytes, bytes })
    }

    /// The memory of a tile that begins where `bytes` does.
    pub(super) fn memory_place(
        &self,
        tile: &Tile,
        bytes: &Range<u64>,
        id: ResourceId,
    ) -> Option<MemoryPlace> {
        let (chunk, offset) = tile.memory?;
        let tile_bytes = self.resources.get(&id)?.desc.tile_bytes;
        let end = offset.saturating_add(bytes.end.saturating_sub(bytes.start));
        Some(MemoryPlace { chunk, name: self.chunk_name(chunk), tile_bytes, bytes: offset..end })
    }

    pub(super) fn unknown_resource(&self, id: ResourceId) -> ReportKind {
        ReportKind::UnknownResource { id, name: self.removed.name(id).map(str::to_owned) }
    }

    pub(super) fn unknown_chunk(&self, id: ChunkId) -> ReportKind {
        match self.freed.name(id) {
            Some(name) => ReportKind::FreedChunk { id, name: name.to_owned() },
            None => ReportKind::UnknownChunk { id },
        }
    }
}

/// A report on nothing that has a range.
pub(super) fn bare(kind: ReportKind, during: Operation) -> Report {
    Report { kind, during, place: None, memory: None }
}
