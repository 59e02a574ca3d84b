//! The growable buffer: a `VkBuffer` that grows and shrinks in place without moving.

use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Instant;

use ash::vk::BufferUsageFlags;

use super::error::{Error, Result};
use super::memory::{Inner, Pending, Shared, SparseMemory, Undo};
use super::stats::ResourceStats;
use super::watermark::{
    CommitPolicy, DEFAULT_TILE_BYTES, Governor, Layout, Location, Plan, PlanError, ReservationId, Sizes,
    Watermark, clamp_capacity,
};
use crate::vk::quirks::Switch;
use crate::vk::{Buffer, Device, DeviceMemory, MemoryBind, Slot};

/// What new bytes of a growable buffer hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Contents {
    /// Whatever was in that memory.
    #[default]
    Undefined,
    /// Zeros: cleared by the GPU before the first command that follows the commit.
    Zeroed,
}

/// How to make a [`GrowableBuffer`].
#[derive(Debug, Clone)]
pub struct GrowableDesc<'a> {
    /// Debug name.
    pub name: &'a str,
    /// Bytes of addresses: free, but counted against the device's address space. A storage buffer is cut to
    /// `maxStorageBufferRange`.
    pub capacity: u64,
    /// Usage; transfer source and destination are added.
    pub usage: BufferUsageFlags,
    /// What new bytes hold.
    pub contents: Contents,
    /// How its size follows what is requested.
    pub policy: CommitPolicy,
    /// Allow its pages to be bound to a second, equally aliased buffer too: for proving binds.
    pub aliased: bool,
}

impl<'a> GrowableDesc<'a> {
    /// An ordinary growable buffer: undefined contents, size as requested.
    pub fn new(name: &'a str, capacity: u64, usage: BufferUsageFlags) -> Self {
        Self {
            name,
            capacity,
            usage,
            contents: Contents::Undefined,
            policy: CommitPolicy::DIRECT,
            aliased: false,
        }
    }
}

/// A buffer whose committed part moves at its tail, while its address, handle and descriptors stay.
///
/// On devices that cannot bind buffers partly it has the same interface, and is recreated and copied when it
/// grows: handle and slot change then, so ask for both each frame after [`SparseMemory::flush`].
///
/// `arrayLength()` and robust access in shaders see the *capacity* (where the buffer grows in place): pass the
/// committed count to shaders and guard with it.
#[derive(Debug)]
pub struct GrowableBuffer {
    // Dropped in this order: the buffer is destroyed before the chunks that its pages lie in are freed.
    slot: Option<Slot>,
    buffer: Arc<Buffer>,
    state: Arc<Mutex<State>>,
    /// Chunks that were about to be unbound when the buffer was dropped.
    limbo: Vec<Arc<DeviceMemory>>,
    shared: Arc<Shared>,
    governor: Governor,
    reservation: Option<ReservationId>,
    usage: BufferUsageFlags,
    contents: Contents,
    memory_type: u32,
    fallback: bool,
    name: String,
}

/// What the statistics and a roll-back see of a buffer.
#[derive(Debug)]
pub(super) struct State {
    name: String,
    kind: &'static str,
    watermark: Watermark,
    chunks: Vec<Arc<DeviceMemory>>,
    requested: u64,
    fallback: bool,
    pub(super) grows: u64,
    pub(super) shrinks: u64,
    last_commit_ns: u64,
}

impl State {
    pub(super) fn sizes(&self) -> Sizes {
        let mut sizes = self.watermark.sizes(self.requested);
        if self.fallback {
            // One buffer of exactly the committed size, and no slack.
            sizes.slack = 0;
            sizes.physical = sizes.committed;
            sizes.chunks = u64::from(sizes.committed > 0);
        }
        sizes
    }

    pub(super) fn stats(&self) -> ResourceStats {
        let sizes = self.sizes();
        ResourceStats {
            name: self.name.clone(),
            kind: self.kind,
            reserved_bytes: sizes.reserved,
            requested_bytes: sizes.requested,
            committed_bytes: sizes.committed,
            uncommitted_bytes: sizes.uncommitted,
            physical_bytes: sizes.physical,
            chunks: sizes.chunks,
            grows: self.grows,
            shrinks: self.shrinks,
            last_commit_ns: self.last_commit_ns,
        }
    }

    pub(super) fn restore(&mut self, watermark: Watermark, chunks: Vec<Arc<DeviceMemory>>) {
        self.watermark = watermark;
        self.chunks = chunks;
    }
}

impl GrowableBuffer {
    /// Reserves addresses; commits nothing.
    ///
    /// # Errors
    /// Zero capacity, no addresses left (with who holds them), or what the driver said.
    pub fn new(sparse: &SparseMemory, desc: &GrowableDesc<'_>) -> Result<Self> {
        let shared = sparse.shared.clone();
        let device = &shared.device;
        let fallback = !device.capabilities().sparse.growable_buffers();
        let named = |source| Error::Plan { name: desc.name.into(), source };
        if desc.capacity == 0 {
            return Err(named(PlanError::ZeroCapacity));
        }
        let usage = desc.usage | BufferUsageFlags::TRANSFER_SRC | BufferUsageFlags::TRANSFER_DST;
        let limits = device.capabilities().limits;
        let tile = device.sparse_buffer_alignment().max(DEFAULT_TILE_BYTES);
        let mut capacity = desc.capacity.min(limits.max_buffer_size / tile * tile);
        if usage.contains(BufferUsageFlags::STORAGE_BUFFER) {
            capacity = clamp_capacity(capacity, limits.max_storage_buffer_range, tile);
        }
        // The budget counts what the buffer takes. No overflow: it was just cut to a multiple of the tile.
        let capacity = capacity.next_multiple_of(tile);
        if capacity < desc.capacity {
            log::info!(
                "{}: {} bytes of addresses asked for, cut to the device's limit of {capacity}",
                desc.name,
                desc.capacity
            );
        }
        let (reservation, warning) = shared.lock().budget.reserve(desc.name, capacity)?;
        if let Some(warning) = warning {
            log::warn!("{warning}");
        }
        let made = Self::make(&shared, desc, usage, capacity, fallback);
        let (buffer, memory_type) = match made {
            Ok(made) => made,
            Err(error) => {
                let _ = shared.lock().budget.release(reservation);
                return Err(error);
            }
        };
        let layout = Layout::new(capacity, tile, shared.knobs.chunk_bytes).map_err(named);
        let layout = layout.inspect_err(|_| {
            let _ = shared.lock().budget.release(reservation);
        })?;
        let kind = if fallback { "growable buffer (fallback)" } else { "growable buffer" };
        let state = Arc::new(Mutex::new(State {
            name: desc.name.into(),
            kind,
            watermark: Watermark::new(layout, shared.knobs.chunk_policy),
            chunks: Vec::new(),
            requested: 0,
            fallback,
            grows: 0,
            shrinks: 0,
            last_commit_ns: 0,
        }));
        {
            let mut inner = shared.lock();
            if fallback {
                inner.say_fallback_once(&device.capabilities().name);
            }
            inner.resources.push(Arc::downgrade(&state));
        }
        let mut this = Self {
            shared,
            state,
            buffer: Arc::new(buffer),
            slot: None,
            limbo: Vec::new(),
            governor: Governor::new(desc.policy, &layout),
            reservation: Some(reservation),
            usage,
            contents: desc.contents,
            memory_type,
            fallback,
            name: desc.name.into(),
        };
        this.slot = this.make_slot(&this.buffer)?;
        Ok(this)
    }

    /// The first buffer and the memory type of its chunks.
    fn make(
        shared: &Shared,
        desc: &GrowableDesc<'_>,
        usage: BufferUsageFlags,
        capacity: u64,
        fallback: bool,
    ) -> Result<(Buffer, u32)> {
        let device = &shared.device;
        if fallback {
            // Until the first commit: as small as a descriptor can be.
            let buffer =
                Buffer::committed(device, desc.name, DEFAULT_TILE_BYTES, usage, crate::vk::Location::Device)?;
            return Ok((buffer, 0));
        }
        let buffer = Buffer::reserved(device, desc.name, capacity, usage, desc.aliased)?;
        let memory_type = device.chunk_memory_type(buffer.requirements().memory_types)?;
        Ok((buffer, memory_type))
    }

    fn make_slot(&self, buffer: &Buffer) -> Result<Option<Slot>> {
        if !self.usage.contains(BufferUsageFlags::STORAGE_BUFFER) {
            return Ok(None);
        }
        Ok(Some(self.device().bind_buffer(buffer, buffer.bytes())?))
    }

    fn device(&self) -> &Arc<Device> {
        &self.shared.device
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every change to the state is one assignment of finished values.
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Moves the watermark to `bytes` (rounded up to whole tiles): `u64::MAX` commits all, 0 gives
    /// everything back. Binds nothing yet: that is [`SparseMemory::flush`], once for all resources of a frame.
    /// Returns whether the watermark moved.
    ///
    /// # Errors
    /// Past the capacity, or out of memory half-way: nothing has changed, and all bytes keep their contents.
    pub fn commit(&mut self, bytes: u64) -> Result<bool> {
        profiling::scope!("CommitReservedResource");
        let started = Instant::now();
        let named = |source| Error::Plan { name: self.name.clone(), source };
        let plan = self.state().watermark.plan_commit(bytes).map_err(named)?;
        let shrinks = plan.target_tiles < plan.from_tiles;
        let keeps = shrinks && !self.fallback && self.device().quirks().has(Switch::NoNullUnbind);
        if plan.is_empty() || keeps {
            // A driver that must not unbind keeps its tiles bound: they serve the next growth, and what promises
            // zeros is cleared now.
            if keeps && self.contents == Contents::Zeroed {
                let tile = self.state().watermark.layout().tile_bytes();
                let range = (plan.target_tiles * tile, (plan.from_tiles - plan.target_tiles) * tile);
                self.clear_later(range);
            }
            self.state().requested = bytes;
            return Ok(false);
        }
        log::debug!("{}: {plan}", self.name);
        if self.fallback {
            // Copies are recorded in order, so several commits before a flush are a chain of them.
            self.recreate(&plan)?;
        } else {
            self.bind(bytes)?;
        }
        let mut state = self.state();
        state.requested = bytes;
        let grew = plan.target_tiles > plan.from_tiles;
        state.grows += u64::from(grew);
        state.shrinks += u64::from(!grew);
        state.last_commit_ns = started.elapsed().as_nanos() as u64;
        drop(state);
        let mut inner = self.shared.lock();
        inner.stats.grows += u64::from(grew);
        inner.stats.shrinks += u64::from(!grew);
        inner.update_totals();
        Ok(true)
    }

    /// Queues a clear of a range that stays bound.
    fn clear_later(&self, range: (u64, u64)) {
        let mut inner = self.shared.lock();
        let state = self.state();
        let undo = Undo { state: Weak::new(), watermark: state.watermark.clone(), chunks: Vec::new() };
        drop(state);
        inner.push(Pending {
            buffer: self.buffer.clone(),
            binds: Vec::new(),
            unbinds: Vec::new(),
            freed: Vec::new(),
            copy: None,
            clear: Some(range),
            lowest_tiles: 0,
            is_bound: true,
            undo,
        });
    }

    /// [`GrowableBuffer::commit`] through the buffer's policy: grows at once in steps with headroom, shrinks
    /// only after `requested` has stayed low for some frames. `frame` is a number that only rises.
    ///
    /// # Errors
    /// Those of [`GrowableBuffer::commit`].
    pub fn follow(&mut self, requested: u64, frame: u64) -> Result<bool> {
        let named = |source| Error::Plan { name: self.name.clone(), source };
        let target = self.governor.update(requested, frame).map_err(named)?;
        let moved = self.commit(target)?;
        self.state().requested = requested;
        Ok(moved)
    }

    /// Takes the chunks that a commit needs and queues its binds.
    ///
    /// A second commit before the flush replaces the first, planned anew from the state that is bound: a tile must
    /// appear once in a batch, and growth over tiles whose unbind is pending would be bound before it is unbound.
    fn bind(&self, bytes: u64) -> Result<()> {
        let named = |source| Error::Plan { name: self.name.clone(), source };
        let mut inner = self.shared.lock();
        let mut state = self.state();
        let replaced = inner.take_pending(&self.buffer);
        let (bound, bound_chunks) = match &replaced {
            Some(pending) => (&pending.undo.watermark, &pending.undo.chunks),
            None => (&state.watermark, &state.chunks),
        };
        let tile = bound.layout().tile_bytes();
        let mut unused: Vec<Arc<DeviceMemory>> = state
            .chunks
            .iter()
            .filter(|c| !bound_chunks.iter().any(|b| Arc::ptr_eq(b, c)))
            .cloned()
            .collect();
        let planned = bound.plan_commit(bytes).map_err(named).and_then(|plan| {
            let mut watermark = bound.clone();
            apply(&mut watermark, &plan, &self.name)?;
            let sizes: Vec<u64> = plan.new_chunks.iter().map(|chunk| chunk.tiles * tile).collect();
            Ok((plan, watermark, self.take_chunks(&mut inner, &sizes, &mut unused)?))
        });
        let (plan, watermark, taken) = match planned {
            Ok(planned) => planned,
            Err(error) => {
                // The buffer is as it was, and so is the commit that waits for the flush.
                replaced.into_iter().for_each(|pending| inner.push(pending));
                return Err(error);
            }
        };
        let mut chunks = bound_chunks.clone();
        // A plan's indexes of freed chunks are those of the chunks before it; new chunks come after them.
        let freed = chunks.split_off(plan.freed_chunks.start.min(chunks.len()));
        chunks.extend(taken);
        let bind = |tiles: std::ops::Range<u64>, memory| MemoryBind {
            resource_offset: tiles.start * tile,
            size: (tiles.end - tiles.start) * tile,
            memory,
        };
        let binds = plan
            .binds
            .iter()
            .map(|b| bind(b.tile..b.tile + b.count, Some((chunks[b.chunk].raw(), b.chunk_tile * tile))));
        let binds: Vec<_> = binds.collect();
        let unbinds: Vec<_> = plan.unbound_tiles().map(|tiles| bind(tiles, None)).into_iter().collect();
        // Everything past the lowest line since the last flush is new to the caller, bound anew or not.
        let lowest = replaced.as_ref().map_or(plan.from_tiles, |p| p.lowest_tiles).min(plan.target_tiles);
        let clear = (self.contents == Contents::Zeroed && plan.target_tiles > lowest)
            .then(|| (lowest * tile, (plan.target_tiles - lowest) * tile));
        let undo = match replaced {
            Some(pending) => pending.undo,
            None => Undo {
                state: Arc::downgrade(&self.state),
                watermark: state.watermark.clone(),
                chunks: state.chunks.clone(),
            },
        };
        state.restore(watermark, chunks);
        drop(state);
        unused.into_iter().for_each(|chunk| inner.cache.give(chunk, self.shared.knobs.chunk_bytes));
        // Pushed even when nothing is left to bind: the next commit must know the lowest line.
        let buffer = self.buffer.clone();
        let lowest_tiles = lowest;
        inner.push(Pending {
            buffer,
            binds,
            unbinds,
            freed,
            copy: None,
            clear,
            lowest_tiles,
            is_bound: false,
            undo,
        });
        Ok(())
    }

    /// One chunk a size: of those that `unused` has, of the cache, or new. All or none.
    fn take_chunks(
        &self,
        inner: &mut Inner,
        sizes: &[u64],
        unused: &mut Vec<Arc<DeviceMemory>>,
    ) -> Result<Vec<Arc<DeviceMemory>>> {
        let mut taken = Vec::with_capacity(sizes.len());
        let mut rest = unused.clone();
        let mut from_cache = Vec::new();
        for &bytes in sizes {
            if let Some(found) = rest.iter().position(|c| c.bytes() == bytes) {
                taken.push(rest.remove(found));
                continue;
            }
            match inner.cache.take(&self.shared.device, &self.name, bytes, self.memory_type) {
                Ok(memory) => {
                    from_cache.push(memory.clone());
                    taken.push(memory);
                }
                Err(error) => {
                    let full = self.shared.knobs.chunk_bytes;
                    from_cache.into_iter().for_each(|chunk| inner.cache.give(chunk, full));
                    return Err(error.into());
                }
            }
        }
        *unused = rest;
        Ok(taken)
    }

    /// The fallback: a new buffer of the target size, a copy of what stays, a new slot.
    fn recreate(&mut self, plan: &Plan) -> Result<()> {
        let tile = self.state().watermark.layout().tile_bytes();
        let bytes = (plan.target_tiles * tile).max(DEFAULT_TILE_BYTES);
        let device = self.device().clone();
        let fresh = Buffer::committed(&device, &self.name, bytes, self.usage, crate::vk::Location::Device)?;
        let fresh = Arc::new(fresh);
        let slot = self.make_slot(&fresh)?;
        let kept = plan.target_tiles.min(plan.from_tiles) * tile;
        let grown = plan.target_tiles.saturating_sub(plan.from_tiles) * tile;
        let clear = (self.contents == Contents::Zeroed && grown > 0).then_some((kept, grown));
        let mut inner = self.shared.lock();
        let mut state = self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let undo = Undo { state: Weak::new(), watermark: state.watermark.clone(), chunks: Vec::new() };
        apply(&mut state.watermark, plan, &self.name)?;
        drop(state);
        let old = std::mem::replace(&mut self.buffer, fresh.clone());
        self.slot = slot;
        inner.push(Pending {
            buffer: fresh,
            binds: Vec::new(),
            unbinds: Vec::new(),
            freed: Vec::new(),
            copy: Some((old, kept)),
            clear,
            lowest_tiles: plan.target_tiles.min(plan.from_tiles),
            is_bound: false,
            undo,
        });
        Ok(())
    }

    /// The buffer. Its handle stays the same for life where it grows in place.
    pub fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    /// The buffer, to be kept by a recording.
    pub fn shared_buffer(&self) -> Arc<Buffer> {
        self.buffer.clone()
    }

    /// Its number in the bindless table (storage buffers only). Stays the same where it grows in place.
    pub fn slot(&self) -> Option<u32> {
        self.slot.as_ref().map(Slot::index)
    }

    /// Debug name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Bytes of addresses: the largest commit.
    pub fn capacity(&self) -> u64 {
        self.state().watermark.layout().capacity_bytes()
    }

    /// Bytes with memory behind them, as of the last commit.
    pub fn committed(&self) -> u64 {
        self.state().watermark.committed_bytes()
    }

    /// Whether it grows in place (`false`: recreated and copied).
    pub fn in_place(&self) -> bool {
        !self.fallback
    }

    /// All sizes; `reserved = committed + uncommitted` always.
    pub fn sizes(&self) -> Sizes {
        self.state().sizes()
    }

    /// The statistics of this buffer.
    pub fn stats(&self) -> ResourceStats {
        self.state().stats()
    }

    /// Which chunk, and which byte of it, a byte of the buffer lies in; `None` past the watermark and in the
    /// fallback. With [`GrowableDesc::aliased`] the chunk can be read through a second buffer.
    pub fn locate(&self, byte: u64) -> Option<(Arc<DeviceMemory>, u64)> {
        let state = self.state();
        let Location { chunk, offset, .. } = state.watermark.locate(byte)?;
        state.chunks.get(chunk).map(|memory| (memory.clone(), offset))
    }
}

impl Drop for GrowableBuffer {
    fn drop(&mut self) {
        let mut inner: MutexGuard<'_, Inner> = self.shared.lock();
        if let Some(reservation) = self.reservation.take() {
            let _ = inner.budget.release(reservation);
        }
        // A commit that is not flushed is never bound. Chunks it would have freed are still bound, so they go
        // with the others: after the buffer, and not to the cache.
        if let Some(pending) = inner.take_pending(&self.buffer) {
            self.limbo = pending.freed;
        }
    }
}

fn apply(watermark: &mut Watermark, plan: &Plan, name: &str) -> Result<()> {
    watermark.apply(plan).map_err(|source| Error::Plan { name: name.into(), source })
}
