//! Reserved resources: address space first, memory when it is needed.
//!
//! A GPU resource is an address range, a set of physical pages, and a page table between them. Vulkan's
//! sparse binding lets an engine own all three. This room works alone on an application's own device:
//!
//! ```text
//! SparseMemory            one a device: address budget, chunk cache, the frame's pending binds
//!   |- GrowableBuffer     commit(bytes): plan (pure, `watermark`) -> chunks -> pending binds
//!   `- flush              ONE vkQueueBindSparse call; returns the moment that users must wait for
//! ```
//!
//! | kind | address range | physical memory | mapping |
//! | --- | --- | --- | --- |
//! | committed | implicit | a range of the static heap | fixed at creation |
//! | reserved | only addresses | any number of chunks | changes at any time |
//!
//! For people who know D3D12: a heap is a *chunk* here, `UpdateTileMappings` is [`SparseMemory::flush`], a NULL
//! range is an unbind, a reserved resource is reserved for life.
//!
//! Where a device cannot bind buffers partly, a [`GrowableBuffer`] has the same interface and grows by
//! recreating and copying: that is said once in the log, and shown in the stats.

mod ahead;
pub mod batch;
mod check;
mod chunk;
mod contents;
mod error;
mod flush;
mod growable;
pub mod headroom;
mod image;
mod knobs;
mod lower;
mod memory;
mod paged;
mod paged_buffer;
pub mod pages;
#[cfg(test)]
mod planner_stress;
mod pools;
mod remap;
mod resource;
pub mod shadow;
mod stats;
pub mod tiles;
mod trace;
pub mod watermark;

pub use check::Checker;
pub use chunk::Chunk;
pub use contents::{Contents, POISON};
pub use error::{Error, Result};
pub use flush::Flushed;
pub use growable::{Commit, GrowableBuffer, GrowableDesc};
pub use image::{ChunkedImage, Missing, PartiallyResidentDesc, PartiallyResidentImage};
pub use knobs::SparseKnobs;
pub use memory::SparseMemory;
pub use paged_buffer::{PagedBuffer, PagedDesc};
pub use remap::Defragmentation;
pub use stats::{ResourceStats, SparseStats};
pub use watermark::{ChunkPolicy, CommitPolicy};

pub use crate::vk::Bytes;
