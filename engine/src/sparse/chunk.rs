//! Chunks: the allocations that back reserved resources, and the few that are kept ready.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::check::Checker;
use crate::vk::{self, Device, DeviceMemory};

/// One allocation that backs tiles of reserved resources. Freed through the retire queue when the last holder drops it.
#[derive(Debug)]
pub struct Chunk {
    id: u64,
    name: String,
    memory: DeviceMemory,
    checker: Arc<Checker>,
}

impl Chunk {
    /// A new chunk, tried once: see [`allocate`] for what gives other memory up for it.
    pub(super) fn new(
        device: &Arc<Device>,
        checker: &Arc<Checker>,
        owner: &str,
        bytes: u64,
        memory_type: u32,
    ) -> vk::Result<Self> {
        // Over all devices of the process: a name that is said once means one chunk.
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{owner}.Chunk{id}");
        let memory = device.try_allocate_memory(&name, bytes, memory_type, true)?;
        checker.add_chunk(id, &name, bytes);
        Ok(Self { id, name, memory, checker: checker.clone() })
    }

    /// Number of the chunk; no other has it.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Debug name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The raw handle.
    pub fn raw(&self) -> ash::vk::DeviceMemory {
        self.memory.raw()
    }

    /// Size in bytes.
    pub fn bytes(&self) -> u64 {
        self.memory.bytes()
    }

    /// Memory type index.
    pub fn memory_type(&self) -> u32 {
        self.memory.memory_type()
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        self.checker.free_chunk(self.id);
    }
}

/// Worth of chunks to a driver that moves memory off the device: those in use, and those that are only kept.
const IN_USE: f32 = 1.0;
const READY: f32 = 0.0;

/// Full-size chunks that no resource uses, kept to be bound again.
///
/// A chunk from here may be bound at once: binds run in order, and the unbind that freed it waited for its
/// last users.
#[derive(Debug, Default)]
pub(super) struct ChunkCache {
    /// With the frame that each was given in, oldest first.
    ready: Vec<(Arc<Chunk>, u64)>,
    /// Most chunks kept.
    limit: usize,
    /// Frames after which a chunk that nobody took is freed.
    keep_frames: u64,
    full_bytes: u64,
    frame: u64,
    /// Nothing is kept.
    is_sparing: bool,
}

impl ChunkCache {
    pub(super) fn new(limit: usize, keep_frames: u64, full_bytes: u64) -> Self {
        Self { limit, keep_frames, full_bytes, ..Default::default() }
    }

    /// A ready chunk of the right size and type, the one that was used last.
    pub(super) fn take(&mut self, bytes: u64, memory_type: u32) -> Option<Arc<Chunk>> {
        let fits = |(c, _): &(Arc<Chunk>, u64)| c.bytes() == bytes && c.memory_type() == memory_type;
        let found = self.ready.iter().rposition(fits)?;
        let (chunk, _) = self.ready.remove(found);
        chunk.memory.set_priority(IN_USE);
        Some(chunk)
    }

    /// Keeps a chunk that nothing is bound to any more, if it is a full one and there is room; frees it
    /// through the retire queue otherwise.
    pub(super) fn give(&mut self, chunk: Arc<Chunk>) {
        if chunk.bytes() == self.full_bytes && self.ready.len() < self.limit && !self.is_sparing {
            chunk.memory.set_priority(READY);
            self.ready.push((chunk, self.frame));
        }
    }

    /// A frame has ended: frees what nobody took for long.
    pub(super) fn end_frame(&mut self, frame: u64) {
        self.frame = frame;
        self.ready.retain(|(_, given)| frame.saturating_sub(*given) < self.keep_frames);
    }

    /// Frees the ready chunks.
    pub(super) fn trim(&mut self) {
        self.ready.clear();
    }

    /// Keeps nothing from now on, or as much as before again.
    pub(super) fn set_sparing(&mut self, sparing: bool) {
        self.is_sparing = sparing;
        if sparing {
            self.trim();
        }
    }

    pub(super) fn is_sparing(&self) -> bool {
        self.is_sparing
    }

    pub(super) fn len(&self) -> usize {
        self.ready.len()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.ready.iter().map(|(chunk, _)| chunk.bytes()).sum()
    }
}

/// A new chunk; when memory is short the ready ones are given up first, then what others can give back, and what the GPU
/// still uses is waited for.
///
/// # Errors
/// When the device has no memory even without them.
pub(super) fn allocate(
    device: &Arc<Device>,
    checker: &Arc<Checker>,
    owner: &str,
    bytes: u64,
    memory_type: u32,
    cache: &mut ChunkCache,
) -> vk::Result<Arc<Chunk>> {
    let refused = match Chunk::new(device, checker, owner, bytes, memory_type) {
        Err(error) if error.is_out_of_memory() => error,
        made => return made.map(Arc::new),
    };
    let ready = cache.bytes();
    cache.trim();
    let (again, tried) = device.relieve(bytes, ready)?;
    if !again {
        return Err(refused.tried(&tried));
    }
    refused.say_trying_again(&tried);
    let made = Chunk::new(device, checker, owner, bytes, memory_type);
    made.map(Arc::new).map_err(|error| error.tried(&tried))
}
