//! Counts of Vulkan objects and bytes: what is alive, what was ever made.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;

use super::device::Device;
use super::retire::Garbage;

/// Objects and bytes of a device at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ObjectCounts {
    /// Vulkan objects made and not yet destroyed (buffers, images, views, samplers, pipelines, pools, ...).
    pub live: u64,
    /// Vulkan objects ever made.
    pub created: u64,
    /// `vkAllocateMemory` results alive that are not blocks of the static heap: chunks.
    pub chunk_allocations: u64,
    /// Bytes held by chunks and by resources of the static heap.
    pub memory_bytes: u64,
    /// Largest `memory_bytes` so far.
    pub peak_memory_bytes: u64,
}

pub(super) struct Counters {
    live: AtomicU64,
    created: AtomicU64,
    chunks: AtomicU64,
    bytes: AtomicU64,
    peak: AtomicU64,
    heaps: Vec<AtomicU64>,
    /// Nanoseconds inside `vkQueueBindSparse`.
    pub(super) bind_ns: AtomicU64,
}

impl Counters {
    pub(super) fn new(heaps: usize) -> Self {
        Self {
            live: AtomicU64::new(0),
            created: AtomicU64::new(0),
            chunks: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            peak: AtomicU64::new(0),
            heaps: (0..heaps).map(|_| AtomicU64::new(0)).collect(),
            bind_ns: AtomicU64::new(0),
        }
    }

    pub(super) fn made(&self) {
        self.live.fetch_add(1, Ordering::Relaxed);
        self.created.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn destroyed(&self, garbage: &Garbage) {
        match garbage {
            // Slots, tokens, addresses and ranges of the static heap are no Vulkan objects.
            Garbage::Slot(..) | Garbage::Allocation(_) | Garbage::Addresses(_) | Garbage::Token(_) => return,
            Garbage::Memory(..) => {
                self.chunks.fetch_sub(1, Ordering::Relaxed);
            }
            _ => {}
        }
        self.live.fetch_sub(1, Ordering::Relaxed);
    }

    pub(super) fn chunk_made(&self) {
        self.made();
        self.chunks.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn add_bytes(&self, heap: u32, bytes: u64) {
        let now = self.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.peak.fetch_max(now, Ordering::Relaxed);
        if let Some(heap) = self.heaps.get(heap as usize) {
            heap.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    pub(super) fn remove_bytes(&self, heap: u32, bytes: u64) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        if let Some(heap) = self.heaps.get(heap as usize) {
            heap.fetch_sub(bytes, Ordering::Relaxed);
        }
    }

    pub(super) fn heap_bytes(&self, heap: u32) -> u64 {
        self.heaps.get(heap as usize).map_or(0, |h| h.load(Ordering::Relaxed))
    }
}

impl Device {
    /// Objects and bytes alive now.
    pub fn object_counts(&self) -> ObjectCounts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let c = &self.counters;
        ObjectCounts {
            live: read(&c.live),
            created: read(&c.created),
            chunk_allocations: read(&c.chunks),
            memory_bytes: read(&c.bytes),
            peak_memory_bytes: read(&c.peak),
        }
    }
}
