//! What one can see of reserved resources. The names are those of `stats.json`.

use serde::Serialize;

/// One reserved resource.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ResourceStats {
    /// Number of the resource, as the checker's page tables have it.
    pub id: u64,
    /// Debug name.
    pub name: String,
    /// `growable buffer`, `paged buffer`, `chunked image` or `partially resident image`; with ` (fallback)` where the
    /// device cannot do it in place.
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
    /// Commits that the next submission had to wait for.
    pub waited: u64,
    /// Ranges bound.
    pub binds: u64,
    /// Ranges unbound or remapped.
    pub unbinds: u64,
    /// Ranges bound, unbound or remapped between the last two frame ends.
    pub binds_last_frame: u64,
    /// Of all, ranges bound ahead of need.
    pub binds_ahead: u64,
    /// Time of the last commit on the calling thread, nanoseconds.
    pub last_commit_ns: u64,
    /// Whether it is an image.
    #[serde(skip)]
    pub is_image: bool,
    /// Whether its memory is pages of a pool, whose chunks it shares with others.
    #[serde(skip)]
    pub is_pooled: bool,
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
    /// Bytes of chunks kept ready.
    pub cached_bytes: u64,
    /// `vkQueueBindSparse` calls.
    pub bind_calls: u64,
    /// Of those, calls made ahead of need by a worker.
    pub bind_calls_ahead: u64,
    /// Ranges bound.
    pub binds: u64,
    /// Ranges unbound or remapped.
    pub unbinds: u64,
    /// Binds saved by merging contiguous ranges.
    pub merged_binds: u64,
    /// `vkQueueBindSparse` calls of frame threads between the last two frame ends.
    pub bind_calls_last_frame: u64,
    /// Most `vkQueueBindSparse` calls between two frame ends.
    pub max_bind_calls_per_frame: u64,
    /// Commits that made a resource larger.
    pub grows: u64,
    /// Commits that made a resource smaller.
    pub shrinks: u64,
    /// Frames whose submission had to wait for a bind.
    pub frames_waited: u64,
    /// Time of the last bind call on its thread, nanoseconds.
    pub last_commit_cpu_ns: u64,
    /// Time until the last bind was seen done, nanoseconds: an upper bound, looked at once a frame.
    pub last_commit_usable_ns: u64,
    /// Tiles moved by defragmentation.
    pub remapped_tiles: u64,
    /// Bytes of chunks that defragmentation has emptied.
    pub defragmented_bytes: u64,
    /// Each resource.
    pub resources: Vec<ResourceStats>,
}

impl SparseStats {
    /// The totals as counters for a profiler: names as in `stats.json`, bytes, counts and nanoseconds.
    pub fn counters(&self) -> [(&'static str, u64); 14] {
        [
            ("sparse.reserved_bytes", self.reserved_bytes),
            ("sparse.committed_bytes", self.committed_bytes),
            ("sparse.physical_bytes", self.physical_bytes),
            ("sparse.slack_bytes", self.slack_bytes),
            ("sparse.cached_bytes", self.cached_bytes),
            ("sparse.chunks", self.chunks),
            ("sparse.bind_calls_last_frame", self.bind_calls_last_frame),
            ("sparse.bind_calls_ahead", self.bind_calls_ahead),
            ("sparse.binds", self.binds),
            ("sparse.unbinds", self.unbinds),
            ("sparse.frames_waited", self.frames_waited),
            ("sparse.last_commit_cpu_ns", self.last_commit_cpu_ns),
            ("sparse.last_commit_usable_ns", self.last_commit_usable_ns),
            ("sparse.defragmented_bytes", self.defragmented_bytes),
        ]
    }
}
