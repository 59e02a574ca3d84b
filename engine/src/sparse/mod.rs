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

mod chunks;
mod error;
mod growable;
mod memory;
mod stats;
pub mod watermark;

pub use error::{Error, Result};
pub use growable::{Contents, GrowableBuffer, GrowableDesc};
pub use memory::{Flushed, SparseKnobs, SparseMemory};
pub use stats::{ResourceStats, SparseStats};
pub use watermark::{Bytes, ChunkPolicy, CommitPolicy};
