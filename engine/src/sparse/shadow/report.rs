//! What the checker finds: one line each, naming resource, tiles, memory, moments and what to do.

use std::fmt;
use std::ops::Range;

use super::{ChunkId, ResourceId, Users};
use crate::vk::Point;

/// What the caller was doing when something was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// A `vkQueueBindSparse` call without any batch.
    BindCall,
    /// The batch that signals this point.
    Bind(Point),
    /// The submission that signals this point.
    Use(Point),
    /// Freeing a chunk.
    FreeChunk,
    /// Destroying a resource.
    RemoveResource,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Operation::BindCall => f.write_str("in a bind call"),
            Operation::Bind(point) | Operation::Use(point) => write!(f, "at {}", PointText(*point)),
            Operation::FreeChunk => f.write_str("at the free of the chunk"),
            Operation::RemoveResource => f.write_str("at the destruction of the resource"),
        }
    }
}

/// `Graphics 40`.
pub(super) struct PointText(pub(super) Point);

impl fmt::Display for PointText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {}", self.0.timeline, self.0.value)
    }
}

/// ` at chunk offset n`, for binds that have memory.
struct OffsetText(Option<u64>);

impl fmt::Display for OffsetText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |offset| write!(f, " to chunk offset {offset}"))
    }
}

/// `"name" was removed` or `resource 7 was never added`.
struct GoneText<'a>(&'a str, u64, Option<&'a str>, &'a str);

impl fmt::Display for GoneText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(what, id, name, gone) = self;
        match name {
            Some(name) => write!(f, "{what} \"{name}\" was {gone} already"),
            None => write!(f, "{what} {id} was never added"),
        }
    }
}

/// What is wrong. The texts end with what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, serde::Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ReportKind {
    /// A bind call without batches or a batch without binds.
    #[error("there is nothing to bind: leave the call or batch out, drivers have lost the device over it")]
    EmptyBatch,
    /// A bind of zero bytes.
    #[error("a bind of 0 bytes at byte {offset}: leave it out")]
    EmptyBind {
        /// Where it was to begin, bytes.
        offset: u64,
    },
    /// A resource that was never added, or was removed.
    #[error(
        "{}: add resources when they are created, and touch none after its removal",
        GoneText("resource", id.0, name.as_deref(), "removed")
    )]
    UnknownResource {
        /// Its number.
        id: ResourceId,
        /// Its name, when it was removed not long ago.
        name: Option<String>,
    },
    /// A chunk that was never added.
    #[error("chunk {} was never added: add chunks when they are allocated", id.0)]
    UnknownChunk {
        /// Its number.
        id: ChunkId,
    },
    /// A bind to, or a second free of, memory that was freed.
    #[error("{}: keep it until nothing names it any more", GoneText("chunk", id.0, Some(name), "freed"))]
    FreedChunk {
        /// Its number.
        id: ChunkId,
        /// Its name.
        name: String,
    },
    /// Offset, size or memory offset of a bind is no multiple of the tile.
    #[error(
        "a bind of {bytes} bytes at byte {offset}{}: each must be a multiple of the tile ({tile_bytes} \
         bytes), only the size may end with the resource",
        OffsetText(*memory_offset)
    )]
    Misaligned {
        /// Where it begins, bytes.
        offset: u64,
        /// Its size in bytes.
        bytes: u64,
        /// Where in the chunk, bytes.
        memory_offset: Option<u64>,
        /// The tile in bytes.
        tile_bytes: u64,
    },
    /// A bind or a use past the end of the resource.
    #[error("{bytes} bytes at byte {offset} were asked for, but the resource ends at byte {limit}: cut them")]
    PastResourceEnd {
        /// Where it begins, bytes.
        offset: u64,
        /// Its size in bytes.
        bytes: u64,
        /// The resource's size in bytes.
        limit: u64,
    },
    /// A bind past the end of the chunk.
    #[error(
        "{bytes} bytes at chunk offset {memory_offset} were asked for, but the chunk ends at byte {limit}: \
         cut the bind there and continue in another chunk"
    )]
    PastChunkEnd {
        /// Where in the chunk, bytes.
        memory_offset: u64,
        /// Its size in bytes.
        bytes: u64,
        /// The chunk's size in bytes.
        limit: u64,
    },
    /// A tile bound or unbound twice in one batch.
    #[error("bound twice in one batch, in no defined order: keep the last bind, or put it in a later batch")]
    TileTwice,
    /// A mapped tile changes while an earlier submission may still use it.
    #[error("the mapping changes while {users} may still use it: let the bind wait for that")]
    RunningReader {
        /// The last submissions that the bind does not wait for.
        users: Users,
    },
    /// A tile changes while an earlier bind or unbind of it may still run.
    #[error("bound while {} of the same tiles may still run: let the bind wait for it", PointText(*since))]
    UnorderedBind {
        /// The earlier bind.
        since: Point,
    },
    /// One page of memory behind two tiles.
    #[error(
        "the memory lies behind tiles {}..{} of \"{other}\" too: unbind it there first, or {}",
        tiles.start, tiles.end,
        if *tail { "take other memory, since a mip tail never shares" } else { "create both aliased" }
    )]
    MemoryTwice {
        /// The other resource, or the same.
        other: String,
        /// Its tiles.
        tiles: Range<u64>,
        /// Whether a mip tail is involved, which no flag allows to share.
        tail: bool,
    },
    /// Memory bound again while the unbind that set it free may still run.
    #[error(
        "the memory is bound again while {} may still take it from its former tiles: let the bind wait for \
         that",
        PointText(*released)
    )]
    MemoryNotReleased {
        /// The earlier unbind.
        released: Point,
    },
    /// A submission uses a tile without memory.
    #[error(
        "used without memory behind it ({}): commit the range first, or keep shaders out of it",
        unbound.map_or_else(|| "never bound".to_owned(), |at| format!("unbound at {}", PointText(at)))
    )]
    UnmappedUse {
        /// The bind that took the memory away; `None` when there never was any.
        unbound: Option<Point>,
    },
    /// A submission uses a tile without waiting for its bind.
    #[error("used without waiting for its bind: let the submission wait for {}", PointText(*since))]
    UnorderedUse {
        /// The bind that mapped it.
        since: Point,
    },
    /// A submission uses a tile whose memory was freed.
    #[error("used after its memory was freed: rebind the tiles, and free chunks only when they are unbound")]
    FreedMemoryUse,
    /// A chunk was freed with tiles mapped to it.
    #[error("memory freed while mapped: unbind it, wait for the unbind, then free it")]
    FreedWhileMapped,
    /// A chunk was freed while its unbind, or a bind of a resource destroyed since, may still run.
    #[error("memory freed while {} of it may still run: free it after that", PointText(*released))]
    FreedWhileUnbinding {
        /// The unbind or bind.
        released: Point,
    },
    /// A chunk was freed while a user of a former mapping may still run.
    #[error("memory freed before its last users are done: free it after {users}")]
    FreedWhileUsed {
        /// The users that are not done.
        users: Users,
    },
    /// A resource was destroyed with a bind in flight.
    #[error("destroyed with a bind in flight: destroy it after {binds}")]
    DestroyedWhileBinding {
        /// The binds that are not done.
        binds: Users,
    },
    /// A resource was destroyed while a user may still run.
    #[error("destroyed before its last users are done: destroy it after {users}")]
    DestroyedWhileUsed {
        /// The users that are not done.
        users: Users,
    },
}

impl ReportKind {
    /// A stable name in snake case, for counters and tests; the same as `kind` in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            ReportKind::EmptyBatch => "empty_batch",
            ReportKind::EmptyBind { .. } => "empty_bind",
            ReportKind::UnknownResource { .. } => "unknown_resource",
            ReportKind::UnknownChunk { .. } => "unknown_chunk",
            ReportKind::FreedChunk { .. } => "freed_chunk",
            ReportKind::Misaligned { .. } => "misaligned",
            ReportKind::PastResourceEnd { .. } => "past_resource_end",
            ReportKind::PastChunkEnd { .. } => "past_chunk_end",
            ReportKind::TileTwice => "tile_twice",
            ReportKind::RunningReader { .. } => "running_reader",
            ReportKind::UnorderedBind { .. } => "unordered_bind",
            ReportKind::MemoryTwice { .. } => "memory_twice",
            ReportKind::MemoryNotReleased { .. } => "memory_not_released",
            ReportKind::UnmappedUse { .. } => "unmapped_use",
            ReportKind::UnorderedUse { .. } => "unordered_use",
            ReportKind::FreedMemoryUse => "freed_memory_use",
            ReportKind::FreedWhileMapped => "freed_while_mapped",
            ReportKind::FreedWhileUnbinding { .. } => "freed_while_unbinding",
            ReportKind::FreedWhileUsed { .. } => "freed_while_used",
            ReportKind::DestroyedWhileBinding { .. } => "destroyed_while_binding",
            ReportKind::DestroyedWhileUsed { .. } => "destroyed_while_used",
        }
    }

    /// The same finding on the tiles right after, as one; `None` when it is another.
    fn joined(&self, next: &Self) -> Option<Self> {
        match (self, next) {
            (
                ReportKind::MemoryTwice { other, tiles, tail },
                ReportKind::MemoryTwice { other: next_other, tiles: next_tiles, tail: next_tail },
            ) if other == next_other && tail == next_tail && tiles.end == next_tiles.start => {
                let (other, tail) = (other.clone(), *tail);
                Some(ReportKind::MemoryTwice { other, tiles: tiles.start..next_tiles.end, tail })
            }
            (ReportKind::MemoryTwice { .. }, _) => None,
            _ => (self == next).then(|| self.clone()),
        }
    }
}

/// A range of a resource.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Place {
    /// The resource.
    pub resource: ResourceId,
    /// Its name.
    pub name: String,
    /// Its tile in bytes.
    pub tile_bytes: u64,
    /// The range in bytes.
    pub bytes: Range<u64>,
}

impl Place {
    /// The tiles that the range touches.
    pub fn tiles(&self) -> Range<u64> {
        tiles(&self.bytes, self.tile_bytes)
    }
}

/// A range of a chunk.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct MemoryPlace {
    /// The chunk.
    pub chunk: ChunkId,
    /// Its name.
    pub name: String,
    /// The unit it is printed in: the tile of the resource beside it, bytes.
    pub tile_bytes: u64,
    /// The range in bytes.
    pub bytes: Range<u64>,
}

impl MemoryPlace {
    /// The tiles of the chunk that the range touches.
    pub fn tiles(&self) -> Range<u64> {
        tiles(&self.bytes, self.tile_bytes)
    }
}

/// The tiles that a range of bytes touches.
pub(super) fn tiles(bytes: &Range<u64>, tile_bytes: u64) -> Range<u64> {
    let tile = tile_bytes.max(1);
    bytes.start / tile..bytes.end.div_ceil(tile)
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Report {
    /// What is wrong.
    #[serde(flatten)]
    pub kind: ReportKind,
    /// What was being done.
    pub during: Operation,
    /// Where in a resource, when it is about a known one.
    pub place: Option<Place>,
    /// Where in a chunk, when it is about one.
    pub memory: Option<MemoryPlace>,
}

impl Report {
    /// The same finding on the range right after, as one report; `None` when it is another finding.
    pub(super) fn joined(&self, next: &Self) -> Option<Self> {
        let (Some(place), Some(next_place)) = (&self.place, &next.place) else { return None };
        let follows = place.resource == next_place.resource && place.bytes.end == next_place.bytes.start;
        if self.during != next.during || !follows {
            return None;
        }
        let memory = match (&self.memory, &next.memory) {
            (None, None) => None,
            (Some(a), Some(b)) if a.chunk == b.chunk && a.bytes.end == b.bytes.start => {
                Some(MemoryPlace { bytes: a.bytes.start..b.bytes.end, ..a.clone() })
            }
            _ => return None,
        };
        let kind = self.kind.joined(&next.kind)?;
        let place = Place { bytes: place.bytes.start..next_place.bytes.end, ..place.clone() };
        Some(Self { kind, during: self.during, place: Some(place), memory })
    }
}

/// `running_reader: "Name" tiles 3..5 in "Chunk" tiles 0..2, at Bind 13: what is wrong: what to do`
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.kind.name())?;
        if let Some(place) = &self.place {
            let tiles = place.tiles();
            write!(f, "\"{}\" tiles {}..{}", place.name, tiles.start, tiles.end)?;
        }
        if let Some(memory) = &self.memory {
            let tiles = memory.tiles();
            let joint = if self.place.is_some() { " in " } else { "" };
            write!(f, "{joint}\"{}\" tiles {}..{}", memory.name, tiles.start, tiles.end)?;
        }
        let joint = if self.place.is_some() || self.memory.is_some() { ", " } else { "" };
        write!(f, "{joint}{}: {}", self.during, self.kind)
    }
}

impl std::error::Error for Report {}
