//! Who owns which page of which chunk, for resources whose tiles are mapped at random.
//!
//! A partially resident image or a paged buffer has no watermark: any tile may come and go. Its memory is
//! a pool of *chunks* (device memory allocations of one size) cut into *pages* (as large as one tile). Random
//! coming and going leaves chunks half empty; defragmentation moves pages together, so that whole chunks can
//! be given back.
//!
//! ```text
//! tiles wanted --allocate_many / allocate_run--> PagePool --PageRef--> binds
//! tiles gone   --free, or free_later ... release-->  |
//!                                                    v
//!                plan(pool, budget) -> DefragPlan -> apply_begin: targets are reserved
//!                                                      (copy contents, queue the remaps)
//!                                                    apply_end: owners move, sources are vacated
//!                                                      (release them once the remaps are done)
//!                                                    empty_chunks -> remove_chunk
//! ```
//!
//! Everything here is pure: chunks are known by their index, pages by their number in the chunk, and nobody
//! is told about binds but through what comes back.
//!
//! A page is in exactly one [`PageState`]:
//!
//! ```text
//!             allocate                    apply_begin               apply_end
//!   free ----------------> used or pinned -----------> moving out -----------> free or quarantined
//!   free ---------------------------------------------> moving in  -----------> used
//!   used, pinned, moving out -- free --> free;   -- free_later --> quarantined -- release --> free
//!   moving out -- cancel --> used                moving in -- cancel --> free or quarantined
//! ```
//!
//! - `pool.rs`: the state and its transitions. `free_pages.rs`: which pages of one chunk are free.
//! - `allocate.rs`: where new pages go. `defrag.rs`: which pages are worth moving. `moves.rs`: moving them.

mod allocate;
mod defrag;
mod free_pages;
mod moves;
mod pool;
#[cfg(test)]
mod tests;

use std::fmt;

pub use allocate::PageRun;
pub use defrag::{DefragOptions, DefragPlan, PageMove, StopReason, plan};
pub use moves::{BegunMoves, DefragReport};
pub use pool::{Freed, Occupancy, PageAfter, PagePool, PageState};

/// The most pages a chunk is cut into: 64 GiB of 64 KiB pages, far past any sensible chunk.
pub const MAX_PAGES_PER_CHUNK: u32 = 1 << 20;

/// A chunk of the pool. Stable while the chunk lives; the index of a removed chunk is given again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChunkIndex(pub u32);

/// One page of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageRef {
    /// The chunk it lies in.
    pub chunk: ChunkIndex,
    /// Which page of the chunk, from zero. Its byte offset is this times the size of a page.
    pub page: u32,
}

/// What a page backs: one tile of one resource.
///
/// The pool does not ask that an owner has one page only: a tile that is being replaced has two for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageOwner {
    /// The caller's identity of the resource.
    pub resource: u64,
    /// The tile of the resource, in its linear order.
    pub tile: u64,
}

impl PageOwner {
    /// Whether this is the tile right after `other`, of the same resource.
    pub fn follows(&self, other: &Self) -> bool {
        self.resource == other.resource && other.tile.checked_add(1) == Some(self.tile)
    }
}

impl fmt::Display for ChunkIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "chunk {}", self.0)
    }
}

impl fmt::Display for PageRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} page {}", self.chunk, self.page)
    }
}

impl fmt::Display for PageOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "resource {} tile {}", self.resource, self.tile)
    }
}

/// What can be wrong with a request to the pool. Nothing has changed when one of these comes back.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PageError {
    /// The pool has no such chunk.
    #[error("{0} was named, but the pool has no chunk of that index: it was removed, or never added")]
    NoChunk(ChunkIndex),
    /// The chunk has no such page.
    #[error("{page} was named, but chunks have {pages_per_chunk} pages: count pages from zero")]
    NoPage {
        /// What was named.
        page: PageRef,
        /// Pages of a chunk.
        pages_per_chunk: u32,
    },
    /// A page without an owner was to be freed.
    #[error("{page} was to be freed, but it is {state}: free a page once, and by the place of its owner")]
    NotOwned {
        /// What was named.
        page: PageRef,
        /// What it is.
        state: PageState,
    },
    /// A page outside quarantine was to be released.
    #[error("{page} was to be released, but it is {state}: only quarantined pages are, once each")]
    NotQuarantined {
        /// What was named.
        page: PageRef,
        /// What it is.
        state: PageState,
    },
    /// A chunk that still has pages in use was to be removed.
    #[error("{chunk} was to be removed, but it has {occupancy}: free and release all of its pages first")]
    ChunkInUse {
        /// What was named.
        chunk: ChunkIndex,
        /// Its pages.
        occupancy: Occupancy,
    },
    /// A run that fits into no chunk.
    #[error(
        "a run of {pages} pages was asked for, but a chunk has {pages_per_chunk} and a run lies in one \
         chunk: turn the chunk-size knob up"
    )]
    RunTooLong {
        /// What was asked for.
        pages: u32,
        /// Pages of a chunk.
        pages_per_chunk: u32,
    },
    /// A move planned from another state of the pool.
    #[error("{planned} cannot begin, since {page} is {state} by now: plan again from the present state")]
    StaleMove {
        /// The move.
        planned: PageMove,
        /// The end of it that has changed.
        page: PageRef,
        /// What it is.
        state: PageState,
    },
    /// A move that is not under way was to be cancelled.
    #[error("{0} was to be cancelled, but it is not under way: it has ended, or was cancelled before")]
    NotMoving(PageMove),
}
