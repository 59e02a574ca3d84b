//! Chunks: the allocations that back reserved resources, and the few that are kept ready.

use std::sync::Arc;

use crate::vk::{self, Device, DeviceMemory};

/// Full-size chunks that no resource uses, kept to be bound again.
///
/// A chunk from here may be bound at once: binds run in order, and the unbind that freed it waited for its
/// last users.
#[derive(Debug, Default)]
pub(super) struct ChunkCache {
    ready: Vec<Arc<DeviceMemory>>,
    limit: usize,
    next_name: u64,
}

impl ChunkCache {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, ..Default::default() }
    }

    /// A chunk of `bytes`: a ready one of the right size and type, or a new allocation. When memory is short
    /// the ready ones of other kinds are given up first.
    ///
    /// # Errors
    /// When the device has no memory even without them.
    pub(super) fn take(
        &mut self,
        device: &Arc<Device>,
        owner: &str,
        bytes: u64,
        memory_type: u32,
    ) -> vk::Result<Arc<DeviceMemory>> {
        let fits = |c: &Arc<DeviceMemory>| c.bytes() == bytes && c.memory_type() == memory_type;
        if let Some(found) = self.ready.iter().position(fits) {
            return Ok(self.ready.swap_remove(found));
        }
        let name = format!("{owner}.Chunk{}", self.next_name);
        self.next_name += 1;
        match device.allocate_memory(&name, bytes, memory_type, true) {
            Ok(memory) => Ok(Arc::new(memory)),
            Err(error) if error.is_out_of_memory() && (!self.ready.is_empty() || device.retiring() > 0) => {
                log::warn!(
                    "{error}; giving up {} ready chunks, waiting for what is in use, and trying again",
                    self.ready.len()
                );
                self.trim();
                device.wait_idle()?;
                device.allocate_memory(&name, bytes, memory_type, true).map(Arc::new)
            }
            Err(error) => Err(error),
        }
    }

    /// Keeps a chunk that nothing is bound to any more, if it is a full one and there is room; frees it
    /// through the retire queue otherwise.
    pub(super) fn give(&mut self, chunk: Arc<DeviceMemory>, full_bytes: u64) {
        if chunk.bytes() == full_bytes && self.ready.len() < self.limit {
            self.ready.push(chunk);
        }
    }

    /// Frees the ready chunks.
    pub(super) fn trim(&mut self) {
        self.ready.clear();
    }

    pub(super) fn len(&self) -> usize {
        self.ready.len()
    }
}
