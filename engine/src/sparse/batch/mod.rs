//! One choke point that collects the sparse work of a frame and makes it fit for one `vkQueueBindSparse`
//! call.
//!
//! Buffers, opaque images, mip tails and image tiles, of any number of resources, are pushed in the order in
//! which their owners decide; what comes out has each tile once, in runs as long as they can be.
//!
//! ```text
//! Request --push--> Batcher: per resource, byte ranges and tiles    (the last request of a tile wins)
//!                      | finish
//!                      v
//!                   BindPlan { growth, shrink }                     (contiguous runs merged)
//!                      | executor
//!                      v
//!                   one vkQueueBindSparse: growth first, then shrink, each with its own semaphores
//! ```
//!
//! Everything here is pure: resources and chunks are the caller's numbers, sizes are bytes in 64 bits.
//!
//! # Phases
//!
//! *Growth* gives memory to addresses that nobody can be using, so it waits for no earlier work. *Shrink*
//! takes memory away or swaps it, so it waits for every earlier user. The caller says which, with two
//! exceptions that would otherwise let a bind run under a reader:
//!
//! - a request without memory is shrink, whatever it says;
//! - a growth that touches addresses with a shrink pending in the same batch becomes shrink as a whole: it
//!   replaces that unbind, and the memory behind those addresses is still in use. [`BindPlan::delayed`]
//!   counts them.
//!
//! # What is told apart
//!
//! Two byte ranges of one resource overlap only if both or neither are metadata: the flag is part of the
//! address, as it selects the aspect that is bound. Byte ranges and tiles of one image are not compared: a
//! tail is bound by bytes and has no tiles, and an image that is bound opaque has none either.
//!
//! - `batcher.rs`: collecting. `ranges.rs`: byte ranges of which the last one wins. `plan.rs`: what comes
//!   out.

mod batcher;
mod ordered;
mod plan;
mod ranges;
#[cfg(test)]
mod tests;

pub use batcher::{BatchOptions, Batcher};
pub use plan::{BindPlan, ByteBind, ResourceBinds, TileBind};

/// Whether a bind has to wait for earlier users of its addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Memory for addresses that were empty: nobody to wait for.
    Growth,
    /// An unbind, or other memory for addresses that had some: waits for every earlier user.
    Shrink,
}

/// A place in device memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Memory {
    /// The caller's identity of the chunk.
    pub chunk: u64,
    /// Bytes from the start of the chunk.
    pub offset: u64,
}

impl Memory {
    /// The place `bytes` further on; `None` past 64 bits.
    pub fn advanced(self, bytes: u64) -> Option<Self> {
        Some(Self { offset: self.offset.checked_add(bytes)?, ..self })
    }
}

/// The part of a resource that a request is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// A byte range of a buffer, an opaque image or a mip tail.
    Bytes {
        /// The first byte.
        offset: u64,
        /// How many; a request of zero is dropped.
        bytes: u64,
        /// Whether this is the metadata aspect of an image.
        metadata: bool,
    },
    /// One tile of an image.
    Tile {
        /// The aspect, as its Vulkan bit.
        aspect: u32,
        /// The array layer.
        layer: u32,
        /// The mip level.
        mip: u32,
        /// The place in tiles. With aspect, layer and mip this is what makes two requests the same tile.
        tile: [u32; 3],
        /// The place in texels.
        offset: [u32; 3],
        /// The size in texels, cut at the edge of the mip; a request with a zero is dropped.
        extent: [u32; 3],
        /// The memory of the tile in bytes (that of a full tile, also at an edge); a request of zero is
        /// dropped.
        bytes: u64,
    },
}

/// A bind that somebody wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Request {
    /// The caller's identity of the resource.
    pub resource: u64,
    /// What is bound.
    pub place: Place,
    /// To what; `None` unbinds.
    pub memory: Option<Memory>,
    /// What it has to wait for.
    pub phase: Phase,
}

/// What can be wrong with a request. It is not in the batch then, and nothing else has changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BatchError {
    /// A byte range that ends past 64 bits.
    #[error(
        "a bind of {bytes} bytes at offset {offset} of resource {resource} was asked for, but offsets end at \
         2^64 - 1: check the offset"
    )]
    PastAddresses {
        /// The resource.
        resource: u64,
        /// The first byte.
        offset: u64,
        /// How many.
        bytes: u64,
    },
    /// A place in memory that ends past 64 bits.
    #[error(
        "a bind of {bytes} bytes of resource {resource} to chunk {} at {} was asked for, but offsets end at \
         2^64 - 1: check the offset in the chunk",
        memory.chunk, memory.offset
    )]
    PastMemory {
        /// The resource.
        resource: u64,
        /// The first byte of memory.
        memory: Memory,
        /// How many.
        bytes: u64,
    },
}
