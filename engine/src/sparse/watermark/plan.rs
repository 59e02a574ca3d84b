//! What a commit does: chunks to allocate, tiles to bind, tiles to unbind, chunks to free.

use std::fmt;
use std::ops::Range;

use super::{Chunk, ChunkPolicy, PlanError, Watermark};

/// Tiles of the buffer that get memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bind {
    /// First tile of the buffer.
    pub tile: u64,
    /// How many tiles, never zero in a plan.
    pub count: u64,
    /// Index of the chunk.
    pub chunk: usize,
    /// First tile inside the chunk.
    pub chunk_tile: u64,
}

/// Tiles of the buffer that lose their memory, and the memory they lose. Same fields as a [`Bind`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unbind {
    /// First tile of the buffer.
    pub tile: u64,
    /// How many tiles, never zero.
    pub count: u64,
    /// Index of the chunk that backs them until the unbind is done.
    pub chunk: usize,
    /// First tile inside the chunk.
    pub chunk_tile: u64,
}

/// Why a new chunk has its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChunkReason {
    /// A full chunk. Only these are worth caching and reusing.
    Full,
    /// Policy [`ChunkPolicy::Whole`], and fewer tiles are left to the capacity.
    LeftToCapacity,
    /// Policy [`ChunkPolicy::Exact`], and fewer tiles are missing.
    Missing,
}

/// A chunk to allocate before the binds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkTiles {
    /// The index it gets: new chunks are appended in order.
    pub chunk: usize,
    /// Its size in tiles.
    pub tiles: u64,
    /// Why it has this size.
    pub reason: ChunkReason,
}

/// How to move the watermark. Growth has new chunks and binds, shrinking has unbinds and freed chunks,
/// and a commit to the same number of tiles has none of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    revision: u64,
    slack_after: u64,
    /// The line before, in tiles.
    pub from_tiles: u64,
    /// The line after, in tiles.
    pub target_tiles: u64,
    /// Chunks to allocate, in order of their index.
    pub new_chunks: Vec<ChunkTiles>,
    /// Tiles to bind, ascending; at most one a chunk, since adjacent ones are merged.
    pub binds: Vec<Bind>,
    /// Tiles to unbind, walking back from the last chunk; one a chunk.
    pub unbinds: Vec<Unbind>,
    /// Indexes of the chunks that no tile uses after the unbinds: always the last ones.
    pub freed_chunks: Range<usize>,
}

impl Plan {
    /// Whether there is nothing to do. Empty bind lists must never reach a driver.
    pub fn is_empty(&self) -> bool {
        self.binds.is_empty() && self.unbinds.is_empty()
    }

    /// Slack that the last chunk has once the plan is applied, in tiles.
    pub fn slack_after(&self) -> u64 {
        self.slack_after
    }

    /// All unbinds as one contiguous range of tiles: unbinding needs no memory, so one bind of no memory
    /// does for all of them.
    pub fn unbound_tiles(&self) -> Option<Range<u64>> {
        (self.target_tiles < self.from_tiles).then_some(self.target_tiles..self.from_tiles)
    }
}

impl Watermark {
    /// Plans to move the line to `requested_bytes`, rounded up to whole tiles.
    ///
    /// `u64::MAX` commits all, 0 gives everything back, and the number of tiles that is committed
    /// already gives an empty plan. Growth first uses the slack of the last chunk, then new chunks.
    ///
    /// # Errors
    /// [`PlanError::PastCapacity`] for any other value past the capacity.
    pub fn plan_commit(&self, requested_bytes: u64) -> Result<Plan, PlanError> {
        let capacity = self.layout().capacity_bytes();
        let target_tiles = match requested_bytes {
            u64::MAX => self.layout().capacity_tiles(),
            bytes if bytes <= capacity => self.layout().tiles(bytes),
            requested => {
                let committed = self.committed_bytes();
                return Err(PlanError::PastCapacity { requested, capacity, committed });
            }
        };
        let mut plan = Plan {
            revision: self.revision,
            slack_after: self.slack_tiles,
            from_tiles: self.committed_tiles,
            target_tiles,
            new_chunks: Vec::new(),
            binds: Vec::new(),
            unbinds: Vec::new(),
            freed_chunks: self.chunks.len()..self.chunks.len(),
        };
        if target_tiles > self.committed_tiles {
            self.plan_growth(&mut plan);
        } else {
            self.plan_shrink(&mut plan);
        }
        Ok(plan)
    }

    fn plan_growth(&self, plan: &mut Plan) {
        let mut tile = self.committed_tiles;
        if let Some(last) = self.chunks.last().filter(|_| self.slack_tiles > 0) {
            let count = self.slack_tiles.min(plan.target_tiles - tile);
            let chunk_tile = last.tiles - self.slack_tiles;
            plan.binds.push(Bind { tile, count, chunk: self.chunks.len() - 1, chunk_tile });
            plan.slack_after -= count;
            tile += count;
        }
        while tile < plan.target_tiles {
            let chunk = self.chunks.len() + plan.new_chunks.len();
            let missing = plan.target_tiles - tile;
            let (wanted, otherwise) = match self.policy {
                ChunkPolicy::Whole => (self.layout.capacity_tiles() - tile, ChunkReason::LeftToCapacity),
                ChunkPolicy::Exact => (missing, ChunkReason::Missing),
            };
            let tiles = wanted.min(self.layout.chunk_tiles());
            let reason = if tiles == self.layout.chunk_tiles() { ChunkReason::Full } else { otherwise };
            let count = tiles.min(missing);
            plan.new_chunks.push(ChunkTiles { chunk, tiles, reason });
            plan.binds.push(Bind { tile, count, chunk, chunk_tile: 0 });
            plan.slack_after = tiles - count;
            tile += count;
        }
    }

    fn plan_shrink(&self, plan: &mut Plan) {
        let mut watermark = self.committed_tiles;
        for (chunk, c) in self.chunks.iter().enumerate().rev() {
            if watermark <= plan.target_tiles {
                break;
            }
            let tile = c.first_tile.max(plan.target_tiles);
            let count = watermark - tile;
            plan.unbinds.push(Unbind { tile, count, chunk, chunk_tile: tile - c.first_tile });
            if tile == c.first_tile {
                plan.freed_chunks.start = chunk;
                plan.slack_after = 0;
            } else {
                plan.slack_after = c.end_tile() - tile;
            }
            watermark = tile;
        }
    }

    /// Moves the state to where `plan` leads. Call it once the plan has been executed (for an unbind:
    /// once it is certain to be executed); drop the plan instead and nothing has changed.
    ///
    /// # Errors
    /// [`PlanError::StalePlan`] when another plan was applied since this one was made.
    pub fn apply(&mut self, plan: &Plan) -> Result<(), PlanError> {
        if plan.revision != self.revision {
            return Err(PlanError::StalePlan { planned: plan.revision, current: self.revision });
        }
        self.chunks.truncate(plan.freed_chunks.start);
        for new in &plan.new_chunks {
            let first_tile = self.chunks.last().map_or(0, Chunk::end_tile);
            self.chunks.push(Chunk { first_tile, tiles: new.tiles });
        }
        self.committed_tiles = plan.target_tiles;
        self.slack_tiles = plan.slack_after;
        self.revision += 1;
        Ok(())
    }
}

/// One line a decision, with its reason.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (from, to) = (self.from_tiles, self.target_tiles);
        match to.cmp(&from) {
            std::cmp::Ordering::Equal => return writeln!(f, "keep {to} tiles: as requested already"),
            std::cmp::Ordering::Greater => {
                writeln!(f, "grow {from} -> {to} tiles: {} more requested", to - from)?;
            }
            std::cmp::Ordering::Less => {
                writeln!(f, "shrink {from} -> {to} tiles: {} fewer requested", from - to)?;
            }
        }
        for new in &self.new_chunks {
            let why = match new.reason {
                ChunkReason::Full => "a full chunk",
                ChunkReason::LeftToCapacity => "all that is left to the capacity",
                ChunkReason::Missing => "all that is missing",
            };
            writeln!(f, "  allocate chunk {}, {} tiles: {why}", new.chunk, new.tiles)?;
        }
        let first_new = self.new_chunks.first().map_or(usize::MAX, |new| new.chunk);
        for bind in &self.binds {
            let Bind { tile, count, chunk, chunk_tile } = *bind;
            let why = if chunk >= first_new { "new memory" } else { "slack of the last chunk" };
            writeln!(f, "  bind {tile}..{} to chunk {chunk} at tile {chunk_tile}: {why}", tile + count)?;
        }
        for unbind in &self.unbinds {
            let Unbind { tile, count, chunk, chunk_tile } = *unbind;
            let why = if self.freed_chunks.contains(&chunk) { "all of it goes" } else { "becomes slack" };
            writeln!(f, "  unbind {tile}..{} from chunk {chunk} at tile {chunk_tile}: {why}", tile + count)?;
        }
        for chunk in self.freed_chunks.clone() {
            writeln!(f, "  free chunk {chunk}: no tile uses it")?;
        }
        writeln!(f, "  slack {} tiles", self.slack_after)
    }
}
