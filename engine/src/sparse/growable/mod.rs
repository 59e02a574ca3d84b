//! The growable buffer: a `VkBuffer` that grows and shrinks in place without moving.
//!
//! ```text
//! commit, follow --Governor, GrowthPredictor--> target
//!     beyond what is bound: plan (pure) -> chunks -> work for the next flush     the frame waits
//!     within it: nothing to bind; the worker is told how far to commit ahead     the frame does not wait
//! ```
//!
//! - `state.rs`: what statistics, roll-backs and the worker see. `commit.rs`: moving the watermark. `recreate.rs`: the
//!   fallback.

mod commit;
mod recreate;
mod state;

use std::sync::Arc;

use ash::vk::BufferUsageFlags;

use super::chunk::Chunk;
use super::contents::Contents;
use super::error::{Error, Result};
use super::headroom::GrowthPredictor;
use super::knobs::CAPTURE_CAPACITY;
use super::memory::{Shared, SparseMemory};
use super::resource::Resource;
use super::shadow::{Kind, ResourceDesc};
use super::stats::ResourceStats;
use super::watermark::{
    CommitPolicy, DEFAULT_TILE_BYTES, Governor, Layout, Location as Place, PlanError, Sizes, Watermark,
    clamp_capacity,
};
use crate::vk::{Buffer, Device, Location, Slot};

pub use commit::Commit;
pub(super) use commit::requests;
use state::State;
pub(super) use state::{Backing, Ready};

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
    /// Where it lies: only [`Location::Device`] can be reserved.
    pub location: Location,
    /// Bytes to begin with: a reserved buffer has no memory to hold any, so only an empty slice is taken.
    pub initial_data: &'a [u8],
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
            location: Location::Device,
            initial_data: &[],
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
    backing: Arc<Backing>,
    /// Chunks that were about to be unbound when the buffer was dropped.
    limbo: Vec<Arc<Chunk>>,
    shared: Arc<Shared>,
    governor: Governor,
    predictor: GrowthPredictor,
    usage: BufferUsageFlags,
    contents: Contents,
    memory_type: u32,
    fallback: bool,
    id: u64,
    name: String,
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
        let asked = match desc.location {
            Location::Device if desc.initial_data.is_empty() => None,
            Location::Device => Some("made with initial data"),
            Location::Upload | Location::Readback => Some("mapped by the host"),
        };
        if let Some(asked) = asked {
            return Err(Error::NotReservable { name: desc.name.into(), asked });
        }
        let usage = desc.usage | BufferUsageFlags::TRANSFER_SRC | BufferUsageFlags::TRANSFER_DST;
        let tile = device.sparse_buffer_alignment().max(DEFAULT_TILE_BYTES);
        let capacity = cut_capacity(&shared, desc, usage, tile);
        let layout = Layout::new(capacity, tile, shared.knobs.chunk_bytes).map_err(named)?;
        let (buffer, memory_type) = make(device, desc, usage, capacity, fallback)?;
        let id = shared.next_id();
        let kind = if fallback { "growable buffer (fallback)" } else { "growable buffer" };
        let watermark = Watermark::new(layout, shared.knobs.chunk_policy);
        let backing = Arc::new(Backing::new(State::new(id, desc.name, kind, watermark, fallback)));
        {
            let mut inner = shared.lock();
            if fallback {
                inner.say_fallback_once(&device.capabilities().name);
            }
            let resource: Arc<dyn Resource> = backing.clone();
            inner.register(Arc::downgrade(&resource));
        }
        if !fallback {
            let shadow = ResourceDesc {
                name: desc.name.into(),
                kind: Kind::Buffer,
                bytes: capacity,
                tile_bytes: tile,
                aliased: desc.aliased,
                tails: Vec::new(),
            };
            shared.checker.add_resource(id, shadow, None);
        }
        let mut this = Self {
            slot: None,
            buffer: Arc::new(buffer),
            backing,
            limbo: Vec::new(),
            governor: Governor::new(desc.policy, &layout),
            predictor: GrowthPredictor::new(shared.knobs.chunk_bytes),
            usage,
            contents: desc.contents,
            memory_type,
            fallback,
            id,
            name: desc.name.into(),
            shared,
        };
        this.slot = this.make_slot(&this.buffer)?;
        Ok(this)
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

    /// Its number for [`SparseMemory::declare_use`] and the checker's page tables.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Tells the checker that commands submitted with the moment `at` use bytes of it. Nothing happens where the checker is
    /// off, and in the fallback.
    pub fn declare_use(&self, bytes: std::ops::Range<u64>, at: crate::vk::Point) {
        if !self.fallback {
            self.shared.checker.declare_use(self.id, bytes, at);
        }
    }

    /// Debug name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Bytes of addresses: the largest commit.
    pub fn capacity(&self) -> u64 {
        self.backing.state().watermark.layout().capacity_bytes()
    }

    /// Bytes with memory behind them, as of the last commit; what was committed ahead of need is included.
    pub fn committed(&self) -> u64 {
        self.backing.state().watermark.committed_bytes()
    }

    /// Bytes asked for last, at most the capacity.
    pub fn requested(&self) -> u64 {
        self.sizes().requested
    }

    /// Whether it grows in place (`false`: recreated and copied).
    pub fn in_place(&self) -> bool {
        !self.fallback
    }

    /// All sizes; `reserved = committed + uncommitted` always.
    pub fn sizes(&self) -> Sizes {
        self.backing.state().sizes()
    }

    /// The statistics of this buffer.
    pub fn stats(&self) -> ResourceStats {
        self.backing.stats()
    }

    /// Which chunk, and which byte of it, a byte of the buffer lies in; `None` past the watermark and in the
    /// fallback. With [`GrowableDesc::aliased`] the chunk can be read through a second buffer.
    pub fn locate(&self, byte: u64) -> Option<(Arc<Chunk>, u64)> {
        let state = self.backing.state();
        let Place { chunk, offset, .. } = state.watermark.locate(byte)?;
        state.chunks.get(chunk).map(|memory| (memory.clone(), offset))
    }
}

impl Drop for GrowableBuffer {
    fn drop(&mut self) {
        self.backing.stop_ahead();
        // A commit that is not flushed is never bound. Chunks it would have freed are still bound, so they go
        // with the others: after the buffer, and not to the cache.
        let mut inner = self.shared.lock();
        let pending = inner.take_work(self.id);
        self.limbo = pending.map(|work| work.freed).unwrap_or_default();
        // Nor are commands recorded that would touch chunks which go now.
        inner.work.retain(|work| work.id != self.id);
        drop(inner);
        if !self.fallback {
            self.shared.checker.remove_resource(self.id);
        }
    }
}

/// The capacity asked for, cut to what the device allows and rounded up to whole tiles.
fn cut_capacity(shared: &Shared, desc: &GrowableDesc<'_>, usage: BufferUsageFlags, tile: u64) -> u64 {
    let limits = shared.device.capabilities().limits;
    let mut capacity = desc.capacity.min(limits.max_buffer_size / tile * tile);
    if usage.contains(BufferUsageFlags::STORAGE_BUFFER) {
        capacity = clamp_capacity(capacity, limits.max_storage_buffer_range, tile);
    }
    if shared.knobs.capture_friendly {
        capacity = capacity.min(CAPTURE_CAPACITY);
    }
    // The budget counts what the buffer takes. No overflow: it was just cut to a multiple of the tile.
    let capacity = capacity.next_multiple_of(tile);
    if capacity < desc.capacity {
        let why = if shared.knobs.capture_friendly { "for captures" } else { "to the device's limit" };
        log::info!("{}: {} bytes of addresses asked for, cut {why}: {capacity}", desc.name, desc.capacity);
    }
    capacity
}

/// The first buffer and the memory type of its chunks.
fn make(
    device: &Arc<Device>,
    desc: &GrowableDesc<'_>,
    usage: BufferUsageFlags,
    capacity: u64,
    fallback: bool,
) -> Result<(Buffer, u32)> {
    if fallback {
        // Until the first commit: as small as a descriptor can be.
        return Ok((Buffer::committed(device, desc.name, DEFAULT_TILE_BYTES, usage, Location::Device)?, 0));
    }
    let buffer = Buffer::reserved(device, desc.name, capacity, usage, desc.aliased)?;
    let memory_type = device.chunk_memory_type(buffer.requirements().memory_types)?;
    Ok((buffer, memory_type))
}
