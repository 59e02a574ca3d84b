//! What one can see of reserved resources. The names are those of `stats.json`.

use serde::Serialize;

/// One reserved resource.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ResourceStats {
    /// Debug name.
    pub name: String,
    /// `growable buffer`, or `growable buffer (fallback)` where it is recreated and copied.
    pub kind: &'static str,
    /// Bytes of addresses.
    pub reserved_bytes: u64,
    /// Bytes asked for last.
    pub requested_bytes: u64,
    /// Bytes with memory behind them.
    pub committed_bytes: u64,
    /// Bytes of addresses without memory.
    pub uncommitted_bytes: u64,
    /// Bytes of memory owned: committed and slack.
    pub physical_bytes: u64,
    /// Allocations that memory is made of.
    pub chunks: u64,
    /// Commits that made it larger.
    pub grows: u64,
    /// Commits that made it smaller.
    pub shrinks: u64,
    /// Time of the last commit on the calling thread, nanoseconds.
    pub last_commit_ns: u64,
}

/// All reserved resources of a device, and what was done for them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SparseStats {
    /// Whether buffers grow in place on this device.
    pub supported: bool,
    /// Whether growable buffers are recreated and copied instead.
    pub fallback: bool,
    /// Bytes of addresses, all resources.
    pub reserved_bytes: u64,
    /// Bytes asked for last.
    pub requested_bytes: u64,
    /// Bytes with memory behind them.
    pub committed_bytes: u64,
    /// The part of `committed_bytes` in buffers.
    pub committed_buffer_bytes: u64,
    /// The part of `committed_bytes` in images.
    pub committed_image_bytes: u64,
    /// Largest `committed_bytes` so far.
    pub committed_bytes_max: u64,
    /// Bytes of memory owned by resources: committed and slack.
    pub physical_bytes: u64,
    /// Bytes of memory at the end of last chunks without an address.
    pub slack_bytes: u64,
    /// Chunks owned by resources.
    pub chunks: u64,
    /// Chunks kept ready.
    pub cached_chunks: u64,
    /// `vkQueueBindSparse` calls.
    pub bind_calls: u64,
    /// Of those, calls made ahead of need by a worker.
    pub bind_calls_ahead: u64,
    /// Ranges bound.
    pub binds: u64,
    /// Ranges unbound.
    pub unbinds: u64,
    /// Most `vkQueueBindSparse` calls between two frame ends.
    pub max_bind_calls_per_frame: u64,
    /// Commits that made a resource larger.
    pub grows: u64,
    /// Commits that made a resource smaller.
    pub shrinks: u64,
    /// Frames whose submission had to wait for a bind.
    pub frames_waited: u64,
    /// Each resource.
    pub resources: Vec<ResourceStats>,
}
