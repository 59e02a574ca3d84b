//! Collecting: every request of a frame, sorted by resource and address, each tile once.

use std::collections::BTreeMap;

use super::ordered::Ordered;
use super::plan::{BindPlan, ByteBind, ResourceBinds, TileBind};
use super::ranges::{Piece, Ranges, Tally};
use super::{BatchError, Phase, Place, Request};

/// How a batch is finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BatchOptions {
    /// Whether neighbours become one bind. Off for drivers that get merged binds wrong; each tile is still
    /// bound once.
    pub merge: bool,
}

impl Default for BatchOptions {
    fn default() -> Self {
        Self { merge: true }
    }
}

/// Which tile of a resource, in the order of the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct TileKey {
    aspect: u32,
    layer: u32,
    mip: u32,
    zyx: [u32; 3],
}

#[derive(Debug, Clone, Copy)]
struct TileEntry {
    bind: TileBind,
    phase: Phase,
    request: usize,
}

/// What is pending for one resource.
#[derive(Debug, Clone, Default)]
struct Pending {
    bytes: Ranges,
    metadata: Ranges,
    tiles: Ordered<TileKey, TileEntry>,
}

/// The sparse work of a frame so far.
#[derive(Debug, Clone, Default)]
pub struct Batcher {
    /// By the order of the first request.
    resources: Vec<(u64, Pending)>,
    order: BTreeMap<u64, usize>,
    tally: Tally,
    requests: u64,
    dropped: u64,
    delayed: u64,
}

impl Batcher {
    /// An empty batch.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether nothing is to be bound: no request came, or only ones about nothing.
    pub fn is_empty(&self) -> bool {
        self.resources.is_empty()
    }

    /// Adds a request; what earlier ones of this batch wanted for the same addresses is replaced.
    ///
    /// # Errors
    /// [`BatchError`] when the range or its memory ends past 64 bits. The batch is as before then.
    pub fn push(&mut self, request: Request) -> Result<(), BatchError> {
        let Request { resource, place, memory, phase } = request;
        let (bytes, is_nothing) = match place {
            Place::Bytes { bytes, .. } => (bytes, bytes == 0),
            Place::Tile { bytes, extent, .. } => (bytes, bytes == 0 || extent.contains(&0)),
        };
        if is_nothing {
            self.requests += 1;
            self.dropped += 1;
            return Ok(());
        }
        if let Some(memory) = memory.filter(|memory| memory.advanced(bytes).is_none()) {
            return Err(BatchError::PastMemory { resource, memory, bytes });
        }
        let phase = if memory.is_none() { Phase::Shrink } else { phase };
        let is_delayed = match place {
            Place::Bytes { offset, bytes, metadata } => {
                let past = BatchError::PastAddresses { resource, offset, bytes };
                let end = offset.checked_add(bytes).ok_or(past)?;
                let piece = Piece { end, memory, phase, request: self.tally.open() };
                let (pending, tally) = self.pending(resource);
                let ranges = if metadata { &mut pending.metadata } else { &mut pending.bytes };
                ranges.put(offset, piece, tally)
            }
            Place::Tile { aspect, layer, mip, tile: [x, y, z], offset, extent, bytes } => {
                let key = TileKey { aspect, layer, mip, zyx: [z, y, x] };
                let bind = TileBind { aspect, layer, mip, offset, extent, bytes, memory };
                let entry = TileEntry { bind, phase, request: self.tally.open() };
                let (pending, tally) = self.pending(resource);
                pending.put_tile(key, entry, tally)
            }
        };
        self.requests += 1;
        self.delayed += u64::from(is_delayed);
        Ok(())
    }

    /// What is pending for a resource; the first request gives it its place in the order.
    fn pending(&mut self, resource: u64) -> (&mut Pending, &mut Tally) {
        let next = self.resources.len();
        let index = *self.order.entry(resource).or_insert(next);
        if index == next {
            self.resources.push((resource, Pending::default()));
        }
        (&mut self.resources[index].1, &mut self.tally)
    }

    /// Turns the batch into binds and leaves it empty for the next frame.
    pub fn finish(&mut self, options: BatchOptions) -> BindPlan {
        let batch = std::mem::take(self);
        let mut plan = BindPlan {
            requests: batch.requests,
            dropped: batch.dropped,
            replaced: batch.tally.replaced(),
            split: batch.tally.split(),
            delayed: batch.delayed,
            ..Default::default()
        };
        for (resource, pending) in &batch.resources {
            for (phase, list) in [(Phase::Growth, &mut plan.growth), (Phase::Shrink, &mut plan.shrink)] {
                let mut run = Run { phase, merge: options.merge, merged: 0 };
                let bytes = run.bytes(pending);
                let tiles = run.tiles(pending);
                plan.merged += run.merged;
                if !bytes.is_empty() || !tiles.is_empty() {
                    list.push(ResourceBinds { resource: *resource, bytes, tiles });
                }
            }
        }
        plan
    }
}

impl Pending {
    /// The tile twin of [`Ranges::put`].
    fn put_tile(&mut self, key: TileKey, mut entry: TileEntry, tally: &mut Tally) -> bool {
        if self.tiles.last().is_none_or(|(last, _)| *last < key) {
            tally.add(entry.request);
            self.tiles.push(key, entry);
            return false;
        }
        let tiles = self.tiles.tree();
        let old = tiles.get(&key);
        let is_delayed = entry.phase == Phase::Growth && old.is_some_and(|old| old.phase == Phase::Shrink);
        if is_delayed {
            entry.phase = Phase::Shrink;
        }
        if let Some(old) = old {
            tally.remove(old.request);
        }
        tally.add(entry.request);
        tiles.insert(key, entry);
        is_delayed
    }
}

/// One resource in one phase, on its way into the plan.
struct Run {
    phase: Phase,
    merge: bool,
    merged: u64,
}

impl Run {
    fn bytes(&mut self, pending: &Pending) -> Vec<ByteBind> {
        let phase = self.phase;
        let mut all = Vec::new();
        for (metadata, ranges) in [(false, &pending.bytes), (true, &pending.metadata)] {
            let pieces = ranges.iter().filter(|(_, piece)| piece.phase == phase);
            let binds = pieces.map(|(offset, piece)| ByteBind {
                offset,
                bytes: piece.end - offset,
                memory: piece.memory,
                metadata,
            });
            all.extend(self.joined(binds, ByteBind::absorb));
        }
        all.sort_by_key(|bind| (bind.offset, bind.metadata));
        all
    }

    fn tiles(&mut self, pending: &Pending) -> Vec<TileBind> {
        let phase = self.phase;
        let entries = pending.tiles.iter().map(|(_, entry)| entry).filter(|entry| entry.phase == phase);
        self.joined(entries.map(|entry| entry.bind), TileBind::absorb)
    }

    /// The binds with neighbours joined, where that is wanted.
    fn joined<T>(&mut self, binds: impl Iterator<Item = T>, absorb: fn(&mut T, &T) -> bool) -> Vec<T> {
        let mut joined: Vec<T> = Vec::new();
        for bind in binds {
            let last = joined.last_mut().filter(|_| self.merge);
            if last.is_some_and(|last| absorb(last, &bind)) {
                self.merged += 1;
            } else {
                joined.push(bind);
            }
        }
        joined
    }
}
