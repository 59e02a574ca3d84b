//! The growable buffer's planner: one line, the watermark, that moves only at the tail.
//!
//! ```text
//! [ committed: has memory | reserved only: addresses, no memory ]
//! 0                       ^ watermark                          capacity
//!
//! requested bytes --Governor--> target bytes --plan_commit--> Plan --(executor binds)--> apply
//! ```
//!
//! Everything here is pure: a [`Watermark`] says which tile of the buffer lies in which tile of which
//! *chunk* (a device memory allocation, known here only by its index), [`Watermark::plan_commit`] says
//! what would have to be allocated, bound, unbound and freed to move the line, and
//! [`Watermark::apply`] moves it. A plan that is never applied changes nothing; this is how running out
//! of memory half-way is rolled back.
//!
//! Six invariants hold after every step:
//!
//! 1. mapped tiles are exactly `[0, committed_tiles)`;
//! 2. there is no hole inside;
//! 3. chunks stand in tile order;
//! 4. only the last chunk may have slack (tiles with memory but without a mapping);
//! 5. growth and shrinking happen only at the tail;
//! 6. the prefix that stays keeps its mapping, so nothing is ever copied.
//!
//! The state cannot express a violation of 1, 2, 3 and 5 (the mapping is derived from the chunk list);
//! [`Watermark::check_invariants`] looks at the numbers all of it is derived from, and the tests replay
//! every plan on a page table that knows nothing of watermarks.
//!
//! Counting is from zero everywhere: the first tile, the first chunk and the first frame are 0.
//!
//! - `plan.rs`: what a commit does. `governor.rs`: when a commit is worth making.
//! - `stats.rs`: sizes to look at. The sum of all reservations is the device's: `vk::addresses`.

mod governor;
mod plan;
mod stats;
#[cfg(test)]
mod tests;

pub use governor::{CommitPolicy, Governor};
pub use plan::{Bind, ChunkReason, ChunkTiles, Plan, Unbind};
pub use stats::Sizes;

/// The tile size of every desktop driver; a driver that reports a larger alignment wins.
pub const DEFAULT_TILE_BYTES: u64 = 64 << 10;
/// The size of a full chunk, unless the caller turns the knob.
pub const DEFAULT_CHUNK_BYTES: u64 = 16 << 20;

/// What can be wrong with a layout or a commit. Nothing has changed when one of these comes back.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The reservation has no room for a single byte.
    #[error("a reserved buffer of zero bytes was asked for: the capacity must be at least one byte")]
    ZeroCapacity,
    /// The tile size is unusable.
    #[error(
        "a tile of {tile_bytes} bytes was asked for: it must be a power of two, as Vulkan alignments are"
    )]
    BadTile {
        /// What was asked for, in bytes.
        tile_bytes: u64,
    },
    /// The chunk size is unusable.
    #[error(
        "a chunk of {chunk_bytes} bytes was asked for: it must be a multiple of the tile \
         ({tile_bytes} bytes), and at least one tile"
    )]
    BadChunk {
        /// What was asked for, in bytes.
        chunk_bytes: u64,
        /// The tile it has to be a multiple of, in bytes.
        tile_bytes: u64,
    },
    /// Rounding the capacity up to whole tiles leaves 64 bits.
    #[error("a capacity of {asked} bytes cannot be rounded up to tiles of {tile_bytes} bytes: ask for less")]
    CapacityTooLarge {
        /// What was asked for, in bytes.
        asked: u64,
        /// The tile, in bytes.
        tile_bytes: u64,
    },
    /// More was requested than the buffer has addresses for.
    #[error(
        "a commit of {requested} bytes was requested, but the capacity is {capacity} bytes \
         ({committed} committed, unchanged): reserve more at creation, or pass u64::MAX to commit all"
    )]
    PastCapacity {
        /// What was requested, in bytes.
        requested: u64,
        /// The limit, in bytes.
        capacity: u64,
        /// What is committed and stays so, in bytes.
        committed: u64,
    },
    /// The plan was made from another state than the one it was applied to.
    #[error(
        "a plan made from revision {planned} was applied to revision {current}: plan again from the \
         present state"
    )]
    StalePlan {
        /// The revision that the plan was made from.
        planned: u64,
        /// The revision of the state.
        current: u64,
    },
}

/// How a reservation is cut into tiles and chunks. All sizes are bytes in 64 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    capacity_bytes: u64,
    tile_bytes: u64,
    chunk_bytes: u64,
}

impl Layout {
    /// Cuts `capacity_bytes` into tiles of `tile_bytes` and plans chunks of `chunk_bytes`.
    ///
    /// A capacity that is no multiple of the tile is rounded *up*: sizes of binds must be multiples of
    /// the alignment, and the caller gets at least what it asked for. Where a limit stands above the
    /// reservation, pass the capacity through [`clamp_capacity`] first, which rounds the limit down.
    ///
    /// # Errors
    /// Zero capacity, a tile that is no power of two, a chunk that is no multiple of the tile, or a
    /// capacity that cannot be rounded up in 64 bits.
    pub fn new(capacity_bytes: u64, tile_bytes: u64, chunk_bytes: u64) -> Result<Self, PlanError> {
        if capacity_bytes == 0 {
            return Err(PlanError::ZeroCapacity);
        }
        if !tile_bytes.is_power_of_two() {
            return Err(PlanError::BadTile { tile_bytes });
        }
        if chunk_bytes == 0 || !chunk_bytes.is_multiple_of(tile_bytes) {
            return Err(PlanError::BadChunk { chunk_bytes, tile_bytes });
        }
        let rounded = capacity_bytes
            .checked_next_multiple_of(tile_bytes)
            .ok_or(PlanError::CapacityTooLarge { asked: capacity_bytes, tile_bytes })?;
        Ok(Self { capacity_bytes: rounded, tile_bytes, chunk_bytes })
    }

    /// The reservation in bytes, a multiple of the tile.
    pub fn capacity_bytes(&self) -> u64 {
        self.capacity_bytes
    }

    /// One tile in bytes: the granularity of binds.
    pub fn tile_bytes(&self) -> u64 {
        self.tile_bytes
    }

    /// A full chunk in bytes.
    pub fn chunk_bytes(&self) -> u64 {
        self.chunk_bytes
    }

    /// The reservation in tiles.
    pub fn capacity_tiles(&self) -> u64 {
        self.capacity_bytes / self.tile_bytes
    }

    /// A full chunk in tiles.
    pub fn chunk_tiles(&self) -> u64 {
        self.chunk_bytes / self.tile_bytes
    }

    /// Tiles as bytes, for counts up to the capacity.
    pub fn bytes(&self, tiles: u64) -> u64 {
        tiles * self.tile_bytes
    }

    /// Whole tiles that hold `bytes`.
    pub fn tiles(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.tile_bytes)
    }
}

/// The capacity to reserve for a buffer that is bound whole as one storage buffer.
///
/// `asked` is rounded up to whole tiles and cut to `max_storage_buffer_range` floored to whole tiles
/// (4 GiB - 1 is 65535 tiles of 64 KiB). Zero comes back when the limit is below one tile; the creation
/// of the layout then reports it. `tile` must not be zero; zero is treated as one byte.
pub fn clamp_capacity(asked: u64, max_storage_buffer_range: u64, tile: u64) -> u64 {
    let tile = tile.max(1);
    let limit = max_storage_buffer_range / tile * tile;
    asked.checked_next_multiple_of(tile).map_or(limit, |rounded| rounded.min(limit))
}

/// How large a new chunk is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum ChunkPolicy {
    /// A full chunk, or what is left to capacity; what is not mapped yet is slack, so growth in small
    /// steps allocates rarely.
    #[default]
    Whole,
    /// As many tiles as are missing, at most a full chunk; a fresh chunk has no slack.
    Exact,
}

impl std::fmt::Display for ChunkPolicy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Whole => "whole",
            Self::Exact => "exact",
        })
    }
}

/// One chunk of memory, in the order of the tiles it backs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk {
    /// The first tile of the buffer that lies in this chunk (at chunk tile 0).
    pub first_tile: u64,
    /// The size of the chunk in tiles, slack included.
    pub tiles: u64,
}

impl Chunk {
    /// The tile after the last one this chunk can back.
    pub fn end_tile(&self) -> u64 {
        self.first_tile + self.tiles
    }
}

/// Where a byte of the buffer lies. All fields count from zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Location {
    /// Index of the chunk.
    pub chunk: usize,
    /// Tile inside the chunk.
    pub chunk_tile: u64,
    /// Byte inside the chunk (not inside the tile).
    pub offset: u64,
}

/// The state of one growable buffer: its chunks in tile order and where the line stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Watermark {
    layout: Layout,
    policy: ChunkPolicy,
    chunks: Vec<Chunk>,
    committed_tiles: u64,
    slack_tiles: u64,
    revision: u64,
}

impl Watermark {
    /// A reservation with nothing committed.
    pub fn new(layout: Layout, policy: ChunkPolicy) -> Self {
        Self { layout, policy, chunks: Vec::new(), committed_tiles: 0, slack_tiles: 0, revision: 0 }
    }

    /// How the reservation is cut.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// How new chunks are sized.
    pub fn policy(&self) -> ChunkPolicy {
        self.policy
    }

    /// The chunks in tile order; a [`Bind::chunk`] is an index into this.
    pub fn chunks(&self) -> &[Chunk] {
        &self.chunks
    }

    /// The line, in tiles: `[0, committed_tiles)` is mapped.
    pub fn committed_tiles(&self) -> u64 {
        self.committed_tiles
    }

    /// The line, in bytes.
    pub fn committed_bytes(&self) -> u64 {
        self.layout.bytes(self.committed_tiles)
    }

    /// Tiles at the end of the last chunk that have memory and no mapping.
    pub fn slack_tiles(&self) -> u64 {
        self.slack_tiles
    }

    /// Where `byte` lies, or `None` past the watermark.
    ///
    /// With 64 KiB tiles and full 16 MiB chunks, byte 17 MiB is tile 272: chunk 1 (the second one),
    /// chunk tile 16, offset 1 MiB.
    pub fn locate(&self, byte: u64) -> Option<Location> {
        let tile = byte / self.layout.tile_bytes;
        if tile >= self.committed_tiles {
            return None;
        }
        let chunk = self.chunks.partition_point(|chunk| chunk.first_tile <= tile).checked_sub(1)?;
        let chunk_tile = tile - self.chunks[chunk].first_tile;
        let offset = self.layout.bytes(chunk_tile) + byte % self.layout.tile_bytes;
        Some(Location { chunk, chunk_tile, offset })
    }

    /// The whole present mapping, one bind a chunk in tile order: what a shadow page table must show.
    pub fn mapping(&self) -> impl Iterator<Item = Bind> + '_ {
        let committed = self.committed_tiles;
        self.chunks.iter().enumerate().map(move |(chunk, c)| Bind {
            tile: c.first_tile,
            count: c.end_tile().min(committed) - c.first_tile,
            chunk,
            chunk_tile: 0,
        })
    }

    /// Checks everything the six invariants are derived from; the text says what is broken.
    ///
    /// # Errors
    /// The first violation found. None can be reached through this type's own methods.
    pub fn check_invariants(&self) -> Result<(), String> {
        let mut end = 0;
        for (index, chunk) in self.chunks.iter().enumerate() {
            let is_last = index + 1 == self.chunks.len();
            if chunk.first_tile != end {
                return Err(format!("chunk {index} starts at tile {}, expected {end}", chunk.first_tile));
            }
            if chunk.tiles == 0 || chunk.tiles > self.layout.chunk_tiles() {
                return Err(format!("chunk {index} has {} tiles", chunk.tiles));
            }
            if self.policy == ChunkPolicy::Whole
                && chunk.tiles != self.layout.chunk_tiles()
                && chunk.end_tile() != self.layout.capacity_tiles()
            {
                return Err(format!("chunk {index} is not whole and does not end at the capacity"));
            }
            end = chunk.end_tile();
            if !is_last && end >= self.committed_tiles {
                return Err(format!(
                    "chunk {index} is not the last one and has slack, or its successor is empty"
                ));
            }
        }
        if self.committed_tiles + self.slack_tiles != end {
            return Err(format!(
                "{} committed and {} slack tiles in chunks of {end} tiles",
                self.committed_tiles, self.slack_tiles
            ));
        }
        if self.chunks.last().is_some_and(|last| self.slack_tiles >= last.tiles) {
            return Err(format!(
                "the last chunk is all slack ({} tiles) and was not freed",
                self.slack_tiles
            ));
        }
        if end > self.layout.capacity_tiles() {
            return Err(format!("{end} tiles of memory behind {} tiles", self.layout.capacity_tiles()));
        }
        Ok(())
    }
}
