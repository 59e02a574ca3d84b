//! Knobs of reserved resources.

use super::watermark::{ChunkPolicy, DEFAULT_CHUNK_BYTES};
use crate::vk::addresses::DEFAULT_ADDRESS_WARNING;

/// Knobs of reserved resources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SparseKnobs {
    /// Size of a full chunk: 16, 32 or 64 MiB.
    pub chunk_bytes: u64,
    /// Whether a chunk is allocated whole or only as large as needed.
    pub chunk_policy: ChunkPolicy,
    /// Most full chunks kept ready when resources shrink.
    pub cached_chunks: usize,
    /// Frames after which a ready chunk that nobody took is freed.
    pub cache_frames: u64,
    /// Total of reservations past which a leak is suspected and said, bytes.
    pub address_warning_bytes: u64,
    /// Bind on the graphics queue even where a side queue binds (for measuring the difference).
    pub bind_on_graphics: bool,
    /// Let a worker commit ahead of need for buffers whose policy asks for it.
    pub commit_ahead: bool,
    /// Keep a shadow page table that checks every bind and every declared use.
    pub check: bool,
    /// Fill new bytes whose contents are undefined with [`POISON`](super::POISON), so that who relies on them is seen.
    pub poison: bool,
    /// Small reservations and residency flags, for capture tools that pay for the whole reservation or cannot replay
    /// images without residency.
    pub capture_friendly: bool,
}

impl Default for SparseKnobs {
    fn default() -> Self {
        Self {
            chunk_bytes: DEFAULT_CHUNK_BYTES,
            chunk_policy: ChunkPolicy::Whole,
            cached_chunks: 4,
            cache_frames: 600,
            address_warning_bytes: DEFAULT_ADDRESS_WARNING,
            bind_on_graphics: false,
            commit_ahead: true,
            check: cfg!(debug_assertions),
            poison: false,
            capture_friendly: false,
        }
    }
}

/// Reservations in capture-friendly mode are no larger than this: capture tools pay for the whole reservation.
pub(super) const CAPTURE_CAPACITY: u64 = 256 << 20;
