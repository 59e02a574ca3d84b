//! One a device: the address budget, the chunk cache, and what the frame has yet to bind.

use std::sync::{Arc, Mutex, MutexGuard, Weak};

use super::chunks::ChunkCache;
use super::error::Result;
use super::growable::State;
use super::stats::SparseStats;
use super::watermark::{AddressBudget, ChunkPolicy, DEFAULT_ADDRESS_WARNING, DEFAULT_CHUNK_BYTES, Watermark};
use crate::vk::{
    self, BindBatch, Buffer, BufferBinds, BufferCopy, CommandEncoder, CommandPool, Device, DeviceMemory,
    MemoryBind, Point, Timeline,
};

use ash::vk::{AccessFlags2, PipelineStageFlags2};

/// Knobs of reserved resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SparseKnobs {
    /// Size of a full chunk: 16, 32 or 64 MiB.
    pub chunk_bytes: u64,
    /// Whether a chunk is allocated whole or only as large as needed.
    pub chunk_policy: ChunkPolicy,
    /// Full chunks kept ready when resources shrink.
    pub cached_chunks: usize,
    /// Total of reservations past which a leak is suspected and said, bytes.
    pub address_warning_bytes: u64,
    /// Bind on the graphics queue even where a side queue binds (for measuring the difference).
    pub bind_on_graphics: bool,
}

impl Default for SparseKnobs {
    fn default() -> Self {
        Self {
            chunk_bytes: DEFAULT_CHUNK_BYTES,
            chunk_policy: ChunkPolicy::Whole,
            cached_chunks: 4,
            address_warning_bytes: DEFAULT_ADDRESS_WARNING,
            bind_on_graphics: false,
        }
    }
}

/// What [`SparseMemory::flush`] did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Flushed {
    /// The moment that the next user of any changed resource waits for.
    pub wait: Option<Point>,
    /// Whether that moment still lay ahead when the call returned.
    pub waits: bool,
}

/// Reserved memory of one device. Cheap to clone.
#[derive(Debug, Clone)]
pub struct SparseMemory {
    pub(super) shared: Arc<Shared>,
}

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) device: Arc<Device>,
    pub(super) knobs: SparseKnobs,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) budget: AddressBudget,
    pub(super) cache: ChunkCache,
    pub(super) resources: Vec<Weak<Mutex<State>>>,
    pub(super) stats: SparseStats,
    pending: Vec<Pending>,
    calls_this_frame: u64,
    copies: Option<CommandPool>,
    said_fallback: bool,
}

/// A commit that is planned and has its chunks, but is not bound yet.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) buffer: Arc<Buffer>,
    pub(super) binds: Vec<MemoryBind>,
    pub(super) unbinds: Vec<MemoryBind>,
    /// Chunks that the unbinds free.
    pub(super) freed: Vec<Arc<DeviceMemory>>,
    /// Copy from the buffer's former self (fallback).
    pub(super) copy: Option<(Arc<Buffer>, u64)>,
    /// Range to clear once it is bound.
    pub(super) clear: Option<(u64, u64)>,
    /// The lowest line, in tiles, since the last flush: what lies past it is new to the caller.
    pub(super) lowest_tiles: u64,
    /// Nothing is left to bind: only copies and clears.
    pub(super) is_bound: bool,
    /// How to go back if the bind fails.
    pub(super) undo: Undo,
}

impl Pending {
    /// What is left when the binds are done.
    fn without_binds(self) -> Self {
        Self { is_bound: true, binds: Vec::new(), unbinds: Vec::new(), freed: Vec::new(), ..self }
    }
}

/// The state a resource had before a commit.
#[derive(Debug)]
pub(super) struct Undo {
    pub(super) state: Weak<Mutex<State>>,
    pub(super) watermark: Watermark,
    pub(super) chunks: Vec<Arc<DeviceMemory>>,
}

impl SparseMemory {
    /// Reserved memory on a device, empty.
    pub fn new(device: &Arc<Device>, knobs: SparseKnobs) -> Self {
        let sparse = device.capabilities().sparse;
        let fallback = !sparse.growable_buffers();
        let stats = SparseStats { supported: !fallback, fallback, ..Default::default() };
        // Without sparse binding buffers are ordinary ones: no limit on addresses but memory itself.
        let limit = if fallback { u64::MAX } else { sparse.address_space_bytes };
        let inner = Inner {
            budget: AddressBudget::new(limit, knobs.address_warning_bytes),
            cache: ChunkCache::new(knobs.cached_chunks),
            resources: Vec::new(),
            stats,
            pending: Vec::new(),
            calls_this_frame: 0,
            copies: None,
            said_fallback: false,
        };
        Self { shared: Arc::new(Shared { device: device.clone(), knobs, inner: Mutex::new(inner) }) }
    }

    /// The device.
    pub fn device(&self) -> &Arc<Device> {
        &self.shared.device
    }

    /// Knobs as they were given.
    pub fn knobs(&self) -> &SparseKnobs {
        &self.shared.knobs
    }

    /// Executes every commit since the last call: at most one `vkQueueBindSparse`, growth first, then
    /// shrinking, each with its own semaphores.
    ///
    /// Call it at a submission boundary: after the commands that use the old ranges are submitted, before the
    /// ones that use the new ranges are. Those must wait for the moment returned. Growth waits for no rendering;
    /// shrinking waits for everything submitted so far. `encoder` is the recording that comes next: copies of
    /// the fallback and clears are recorded there first; without one they are submitted at once, and are part of
    /// the moment returned.
    ///
    /// # Errors
    /// When the device refuses the binds: every commit since the last call is rolled back, and the resources
    /// keep working with what they had.
    pub fn flush(&self, encoder: Option<&mut CommandEncoder>) -> Result<Flushed> {
        profiling::scope!("CommitReservedResource");
        let shared = &self.shared;
        let mut inner = shared.lock();
        let pending = std::mem::take(&mut inner.pending);
        if pending.is_empty() {
            return Ok(Flushed::default());
        }
        let bound = shared.bind(&mut inner, &pending);
        let mut wait = match bound {
            Ok(wait) => wait,
            Err(error) => {
                inner.roll_back(pending);
                return Err(error.into());
            }
        };
        for p in &pending {
            for chunk in &p.freed {
                inner.cache.give(chunk.clone(), shared.knobs.chunk_bytes);
            }
        }
        let needs_commands = pending.iter().any(|p| p.copy.is_some() || p.clear.is_some());
        if needs_commands {
            match encoder {
                Some(encoder) => {
                    record(encoder, &pending);
                    // The fallback's copies read what the transfer queue may still be writing.
                    let uploads = shared.device.submitted(Timeline::Transfer);
                    wait = wait.or((uploads.value > 0).then_some(uploads));
                }
                None => match shared.submit_commands(&mut inner, &pending, wait) {
                    Ok(point) => wait = Some(point),
                    Err(error) => {
                        // What is bound stays bound; copies and clears are tried again with the next flush.
                        inner.pending.extend(pending.into_iter().map(Pending::without_binds));
                        return Err(error.into());
                    }
                },
            }
        }
        let waits = match wait {
            Some(point) => !shared.device.reached(point)?,
            None => false,
        };
        inner.stats.frames_waited += u64::from(waits);
        inner.update_totals();
        Ok(Flushed { wait, waits })
    }

    /// Ends a frame for the statistics.
    pub fn end_frame(&self) {
        let mut inner = self.shared.lock();
        inner.stats.max_bind_calls_per_frame =
            inner.stats.max_bind_calls_per_frame.max(inner.calls_this_frame);
        inner.calls_this_frame = 0;
    }

    /// Frees the chunks that are kept ready.
    pub fn trim(&self) {
        self.shared.lock().cache.trim();
    }

    /// The statistics now.
    pub fn stats(&self) -> SparseStats {
        let mut inner = self.shared.lock();
        inner.update_totals();
        let mut stats = inner.stats.clone();
        stats.resources = inner.each(|state| state.stats());
        stats
    }
}

impl Shared {
    pub(super) fn lock(&self) -> MutexGuard<'_, Inner> {
        // Every change to the state behind the lock is made whole or not at all.
        self.inner.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn bind(&self, inner: &mut Inner, pending: &[Pending]) -> vk::Result<Option<Point>> {
        let batch = |pick: fn(&Pending) -> &Vec<MemoryBind>| -> Vec<BufferBinds<'_>> {
            pending.iter().map(|p| BufferBinds { buffer: &p.buffer, binds: pick(p) }).collect()
        };
        let growth = batch(|p| &p.binds);
        let shrinking = batch(|p| &p.unbinds);
        let users = [self.device.submitted(Timeline::Graphics), self.device.submitted(Timeline::Transfer)];
        // Where the graphics queue cannot bind, both queues go in lockstep.
        let plan = self.device.queue_plan();
        let families = &self.device.capabilities().queue_families;
        let graphics_binds = families.get(plan.graphics.family as usize).is_some_and(|f| f.sparse);
        let growth_waits: &[Point] = if graphics_binds { &[] } else { &users };
        let batches = [
            BindBatch { buffers: &growth, waits: growth_waits },
            BindBatch { buffers: &shrinking, waits: &users },
        ];
        if growth.iter().chain(&shrinking).all(|b| b.binds.is_empty()) {
            return Ok(None);
        }
        let point = self.device.bind_sparse(&batches, self.knobs.bind_on_graphics)?;
        inner.stats.bind_calls += 1;
        inner.calls_this_frame += 1;
        inner.stats.binds += growth.iter().map(|b| b.binds.len() as u64).sum::<u64>();
        inner.stats.unbinds += shrinking.iter().map(|b| b.binds.len() as u64).sum::<u64>();
        Ok(point)
    }

    /// Copies and clears in a submission of their own.
    fn submit_commands(
        &self,
        inner: &mut Inner,
        pending: &[Pending],
        wait: Option<Point>,
    ) -> vk::Result<Point> {
        let mut pool = match inner.copies.take() {
            Some(pool) => pool,
            None => CommandPool::new(&self.device, Timeline::Graphics)?,
        };
        pool.reset()?;
        let mut encoder = pool.begin("CommitReservedResource")?;
        record(&mut encoder, pending);
        // The fallback's copies read what the transfer queue may still be writing.
        let waits: Vec<Point> = wait.into_iter().chain([self.device.submitted(Timeline::Transfer)]).collect();
        let point = self.device.submit(Timeline::Graphics, vec![encoder.finish()?], &waits)?;
        inner.copies = Some(pool);
        Ok(point)
    }
}

/// Records the fallback's copies and the clears of new ranges, ordered after everything before them and
/// before everything after.
fn record(encoder: &mut CommandEncoder, pending: &[Pending]) {
    let all = (PipelineStageFlags2::ALL_COMMANDS, AccessFlags2::MEMORY_READ | AccessFlags2::MEMORY_WRITE);
    let transfer =
        (PipelineStageFlags2::ALL_TRANSFER, AccessFlags2::TRANSFER_READ | AccessFlags2::TRANSFER_WRITE);
    encoder.begin_label("CommitReservedResource");
    encoder.memory_barrier(all, transfer);
    for p in pending {
        if let Some((old, bytes)) = &p.copy
            && *bytes > 0
        {
            encoder.copy_buffer(old, &p.buffer, &[BufferCopy { source: 0, destination: 0, bytes: *bytes }]);
        }
        if p.copy.is_some() && p.clear.is_some() {
            encoder.memory_barrier(transfer, transfer);
        }
        if let Some((offset, bytes)) = p.clear {
            encoder.fill_buffer(&p.buffer, offset, bytes, 0);
        }
        // A buffer that commits twice in one flush copies from its own new self.
        encoder.memory_barrier(transfer, all);
    }
    encoder.end_label();
}

impl Inner {
    pub(super) fn push(&mut self, pending: Pending) {
        self.pending.push(pending);
    }

    /// Takes back the commit of a buffer that waits for the next flush.
    pub(super) fn take_pending(&mut self, buffer: &Buffer) -> Option<Pending> {
        let found = self.pending.iter().position(|p| !p.is_bound && p.buffer.raw() == buffer.raw())?;
        Some(self.pending.remove(found))
    }

    fn roll_back(&mut self, pending: Vec<Pending>) {
        for p in pending.into_iter().rev().filter(|p| !p.is_bound) {
            if let Some(state) = p.undo.state.upgrade() {
                let mut state = state.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                state.restore(p.undo.watermark, p.undo.chunks);
            }
        }
    }

    pub(super) fn say_fallback_once(&mut self, device: &str) {
        if !std::mem::replace(&mut self.said_fallback, true) {
            log::warn!(
                "{device} cannot bind buffers partly: growable buffers are recreated and copied instead"
            );
        }
    }

    fn each<T>(&mut self, read: impl Fn(&State) -> T) -> Vec<T> {
        self.resources.retain(|r| r.strong_count() > 0);
        let states = self.resources.iter().filter_map(Weak::upgrade);
        states.map(|s| read(&s.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))).collect()
    }

    pub(super) fn update_totals(&mut self) {
        let all = self.each(|state| (state.sizes(), state.grows, state.shrinks));
        let total: super::watermark::Sizes = all.iter().map(|(sizes, ..)| *sizes).sum();
        let stats = &mut self.stats;
        stats.reserved_bytes = total.reserved;
        stats.requested_bytes = total.requested;
        stats.committed_bytes = total.committed;
        stats.committed_buffer_bytes = total.committed;
        stats.committed_bytes_max = stats.committed_bytes_max.max(total.committed);
        stats.physical_bytes = total.physical;
        stats.slack_bytes = total.slack;
        stats.chunks = total.chunks;
        stats.cached_chunks = self.cache.len() as u64;
    }
}
