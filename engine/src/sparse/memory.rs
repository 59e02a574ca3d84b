//! One a device: the chunk cache, what the frame has yet to bind, and every reserved resource's numbers.

use std::collections::{HashMap, HashSet};
use std::ops::{Deref, Range};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use super::ahead::{Jobs, Worker};
use super::check::Checker;
use super::chunk::{Chunk, ChunkCache, allocate};
use super::error::Result;
use super::flush::Latency;
use super::knobs::SparseKnobs;
use super::pools::Pools;
use super::remap::Remapper;
use super::resource::{Resource, Work};
use super::stats::SparseStats;
use super::trace::Trace;
use crate::vk::{CommandPool, Device, Point, Reclaim};

/// Reserved memory of one device. Cheap to clone.
#[derive(Debug, Clone)]
pub struct SparseMemory {
    pub(super) shared: Arc<Shared>,
}

/// What the handles share: the core, and the worker that commits ahead.
#[derive(Debug)]
pub(super) struct Shared {
    // The worker goes first: it is joined while the core is still whole.
    pub(super) worker: Worker,
    core: Arc<Core>,
}

impl Deref for Shared {
    type Target = Core;

    fn deref(&self) -> &Core {
        &self.core
    }
}

/// What the worker sees too.
#[derive(Debug)]
pub(super) struct Core {
    pub(super) device: Arc<Device>,
    pub(super) knobs: SparseKnobs,
    pub(super) checker: Arc<Checker>,
    pub(super) trace: Trace,
    next_id: AtomicU64,
    frame: AtomicU64,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) cache: ChunkCache,
    pub(super) pools: Pools,
    pub(super) resources: Vec<Weak<dyn Resource>>,
    pub(super) stats: SparseStats,
    pub(super) work: Vec<Work>,
    pub(super) calls_this_frame: u64,
    /// Command pools with the moment that each was last submitted for.
    pub(super) copies: Vec<(CommandPool, Point)>,
    /// The last bind that the next flush has to tell of.
    pub(super) needed: Option<Point>,
    pub(super) latency: Latency,
    pub(super) remapper: Remapper,
    pub(super) counts: HashMap<u64, BindCounts>,
    pub(super) jobs: Jobs,
    said_fallback: bool,
}

/// Binds of one resource.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct BindCounts {
    pub(super) binds: u64,
    pub(super) unbinds: u64,
    pub(super) this_frame: u64,
    last_frame: u64,
}

impl SparseMemory {
    /// Reserved memory on a device, empty.
    pub fn new(device: &Arc<Device>, knobs: SparseKnobs) -> Self {
        let sparse = device.capabilities().sparse;
        let fallback = !sparse.growable_buffers();
        device.warn_past_addresses(knobs.address_warning_bytes);
        let stats = SparseStats { supported: !fallback, fallback, ..Default::default() };
        let checker = Arc::new(Checker::new(device, knobs.check));
        let inner = Inner {
            cache: ChunkCache::new(knobs.cached_chunks, knobs.cache_frames, knobs.chunk_bytes),
            pools: Pools::default(),
            resources: Vec::new(),
            stats,
            work: Vec::new(),
            calls_this_frame: 0,
            copies: Vec::new(),
            needed: None,
            latency: Latency::default(),
            remapper: Remapper::default(),
            counts: HashMap::new(),
            jobs: Jobs::default(),
            said_fallback: false,
        };
        let core = Arc::new(Core {
            device: device.clone(),
            knobs,
            checker,
            trace: Trace::default(),
            next_id: AtomicU64::new(0),
            frame: AtomicU64::new(0),
            inner: Mutex::new(inner),
        });
        let reclaim: Arc<dyn Reclaim> = core.clone();
        device.register_reclaim(&reclaim);
        Self { shared: Arc::new(Shared { worker: Worker::new(&core), core }) }
    }

    /// The device.
    pub fn device(&self) -> &Arc<Device> {
        &self.shared.device
    }

    /// Knobs as they were given.
    pub fn knobs(&self) -> &SparseKnobs {
        &self.shared.knobs
    }

    /// Ends a frame: for the statistics, and for what is kept or predicted by frames. Call it when the frame is submitted:
    /// here the worker is woken that commits ahead.
    pub fn end_frame(&self) {
        let shared = &self.shared;
        let frame = shared.frame.fetch_add(1, Ordering::AcqRel) + 1;
        let mut inner = shared.lock();
        let calls = std::mem::take(&mut inner.calls_this_frame);
        inner.stats.bind_calls_last_frame = calls;
        inner.stats.max_bind_calls_per_frame = inner.stats.max_bind_calls_per_frame.max(calls);
        for counts in inner.counts.values_mut() {
            counts.last_frame = std::mem::take(&mut counts.this_frame);
        }
        inner.cache.end_frame(frame);
        inner.latency.poll(&shared.device);
        let Inner { pools, cache, .. } = &mut *inner;
        pools.end_frame(frame, cache);
        let jobs = inner.jobs.ended();
        drop(inner);
        shared.worker.send(jobs);
    }

    /// Waits until the worker that commits ahead has done what the frames that have ended asked of it: for tests and
    /// measurements that compare the same states. Frames need not.
    pub fn wait_for_ahead(&self) {
        self.shared.worker.wait();
    }

    /// Frees the chunks that are kept ready.
    pub fn trim(&self) {
        let mut inner = self.shared.lock();
        let Inner { pools, cache, .. } = &mut *inner;
        pools.trim(cache);
        cache.trim();
    }

    /// While memory is short: chunks that become empty are freed at once instead of being kept ready.
    pub fn set_sparing(&self, sparing: bool) {
        let mut inner = self.shared.lock();
        if sparing && !inner.cache.is_sparing() {
            let Inner { pools, cache, .. } = &mut *inner;
            pools.trim(cache);
        }
        inner.cache.set_sparing(sparing);
    }

    /// Bytes of chunks that are kept ready now.
    pub fn ready_bytes(&self) -> u64 {
        self.shared.lock().cache.bytes()
    }

    /// Bytes that [`Self::set_sparing`] does without at most: all chunks that may be kept ready.
    pub fn ready_bytes_limit(&self) -> u64 {
        self.shared.knobs.chunk_bytes.saturating_mul(self.shared.knobs.cached_chunks as u64)
    }

    /// Tells the checker that commands submitted with the moment `at` use bytes of a resource (tiles of an image in
    /// their linear order, times the tile). `id` is that of the resource. Nothing happens where the checker is off.
    pub fn declare_use(&self, id: u64, bytes: Range<u64>, at: Point) {
        self.shared.checker.declare_use(id, bytes, at);
    }

    /// Whether a resource has something queued for the next flush. `id` is that of the resource.
    pub fn is_queued(&self, id: u64) -> bool {
        self.shared.lock().has_work(id)
    }

    /// The checker and its page tables.
    pub fn checker(&self) -> &Checker {
        &self.shared.checker
    }

    /// Writes one line a bind into a file from now on: frame, resource, range, chunk, time of the call, time until the
    /// GPU can use it.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn trace_binds(&self, path: &Path) -> std::io::Result<()> {
        self.shared.trace.start(&self.shared.device, path)
    }

    /// Ends the trace and waits until its last line is written.
    ///
    /// # Errors
    /// When a line could not be written.
    pub fn end_trace(&self) -> std::io::Result<()> {
        self.shared.trace.end()
    }

    /// The statistics now.
    pub fn stats(&self) -> SparseStats {
        let mut inner = self.shared.lock();
        inner.latency.poll(&self.shared.device);
        let mut resources = inner.each(|resource| resource.stats());
        for resource in &mut resources {
            let counts = inner.counts.get(&resource.id).copied().unwrap_or_default();
            (resource.binds, resource.unbinds) = (counts.binds, counts.unbinds);
            resource.binds_last_frame = counts.last_frame;
        }
        inner.update_totals();
        let mut stats = inner.stats.clone();
        stats.last_commit_cpu_ns = inner.latency.cpu_ns;
        stats.last_commit_usable_ns = inner.latency.usable_ns;
        stats.resources = resources;
        stats
    }
}

/// What is kept ready, and chunks of pools without a page in use.
impl Reclaim for Core {
    fn name(&self) -> &str {
        "reserved memory"
    }

    fn trim(&self, bytes: u64) -> u64 {
        // Whoever holds the lock is allocating, and has given its ready chunks up itself.
        let Ok(mut inner) = self.inner.try_lock() else { return 0 };
        let Inner { pools, cache, .. } = &mut *inner;
        let before = pools.sizes().bytes + cache.bytes();
        if bytes > 0 {
            pools.trim(cache);
            cache.trim();
        }
        before.saturating_sub(pools.sizes().bytes + cache.bytes())
    }
}

impl Core {
    pub(super) fn lock(&self) -> MutexGuard<'_, Inner> {
        // Every change to the state behind the lock is made whole or not at all.
        self.inner.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// A number for a new resource.
    pub(super) fn next_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// The frame as counted by [`SparseMemory::end_frame`].
    pub(super) fn frame(&self) -> u64 {
        self.frame.load(Ordering::Acquire)
    }

    /// A chunk: a ready one, or a new allocation.
    pub(super) fn take_chunk(
        &self,
        inner: &mut Inner,
        owner: &str,
        bytes: u64,
        memory_type: u32,
    ) -> Result<Arc<Chunk>> {
        if let Some(ready) = inner.cache.take(bytes, memory_type) {
            return Ok(ready);
        }
        Ok(allocate(&self.device, &self.checker, owner, bytes, memory_type, &mut inner.cache)?)
    }
}

impl Inner {
    pub(super) fn register(&mut self, resource: Weak<dyn Resource>) {
        self.resources.retain(|r| r.strong_count() > 0);
        let alive: HashSet<u64> = self.resources.iter().filter_map(Weak::upgrade).map(|r| r.id()).collect();
        self.counts.retain(|id, _| alive.contains(id));
        self.resources.push(resource);
    }

    /// Whether a resource has something queued for the next flush.
    pub(super) fn has_work(&self, id: u64) -> bool {
        self.work.iter().any(|w| w.id == id)
    }

    /// Takes back what a resource queued to be bound by the next flush.
    pub(super) fn take_work(&mut self, id: u64) -> Option<Work> {
        let found = self.work.iter().position(|w| !w.is_bound && w.id == id)?;
        Some(self.work.remove(found))
    }

    /// The next flush returns this moment of the bind timeline, or a later one.
    pub(super) fn need(&mut self, point: Point) {
        let later = self.needed.is_none_or(|known| known.value < point.value);
        if later {
            self.needed = Some(point);
        }
    }

    pub(super) fn say_fallback_once(&mut self, device: &str) {
        if !std::mem::replace(&mut self.said_fallback, true) {
            log::warn!(
                "{device} cannot bind buffers partly: growable buffers are recreated and copied instead"
            );
        }
    }

    fn each<T>(&mut self, read: impl Fn(&dyn Resource) -> T) -> Vec<T> {
        self.resources.retain(|r| r.strong_count() > 0);
        let alive: Vec<_> = self.resources.iter().filter_map(Weak::upgrade).collect();
        alive.iter().map(|r| read(r.as_ref())).collect()
    }

    pub(super) fn update_totals(&mut self) {
        let all = self.each(|resource| resource.numbers());
        let pools = self.pools.sizes();
        let stats = &mut self.stats;
        let sum = |of: fn(&super::ResourceStats) -> u64| all.iter().map(of).sum::<u64>();
        stats.reserved_bytes = sum(|r| r.reserved_bytes);
        stats.requested_bytes = sum(|r| r.requested_bytes);
        stats.committed_bytes = sum(|r| r.committed_bytes);
        stats.committed_image_bytes =
            all.iter().filter(|r| r.is_image).map(|r| r.committed_bytes).sum::<u64>();
        stats.committed_buffer_bytes = stats.committed_bytes - stats.committed_image_bytes;
        stats.committed_bytes_max = stats.committed_bytes_max.max(stats.committed_bytes);
        // Pages that several resources share are counted with the pools.
        stats.physical_bytes =
            all.iter().filter(|r| !r.is_pooled).map(|r| r.physical_bytes).sum::<u64>() + pools.bytes;
        stats.slack_bytes = stats.physical_bytes.saturating_sub(stats.committed_bytes);
        stats.chunks = sum(|r| r.chunks) + pools.chunks;
        stats.cached_chunks = self.cache.len() as u64;
        stats.cached_bytes = self.cache.bytes();
    }
}
