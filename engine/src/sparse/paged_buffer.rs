//! The paged buffer: any tile of it can be mapped or not.

use std::ops::Range;
use std::sync::Arc;

use ash::vk::{BufferUsageFlags, ImageLayout};

use super::chunk::Chunk;
use super::contents::Contents;
use super::error::{Error, Result};
use super::knobs::CAPTURE_CAPACITY;
use super::memory::{Shared, SparseMemory};
use super::paged::{Mapped, Paged, PagedBacking};
use super::pools::PoolKey;
use super::resource::{Command, Resource, Target};
use super::shadow::{Kind, ResourceDesc};
use super::stats::ResourceStats;
use super::watermark::{DEFAULT_TILE_BYTES, Layout, PlanError, clamp_capacity};
use crate::vk::{Buffer, Slot};

/// How to make a [`PagedBuffer`].
#[derive(Debug, Clone)]
pub struct PagedDesc<'a> {
    /// Debug name.
    pub name: &'a str,
    /// Bytes of addresses; a storage buffer is cut to `maxStorageBufferRange`.
    pub capacity: u64,
    /// Usage; transfer source and destination are added.
    pub usage: BufferUsageFlags,
    /// What new tiles hold.
    pub contents: Contents,
}

/// A buffer whose tiles are mapped one by one, at random: pages of a table, blocks of a pool.
///
/// A buffer that only grows at its end is better off as a [`GrowableBuffer`](super::GrowableBuffer), which needs
/// fewer binds. Pages may be moved by defragmentation: address, contents and descriptors stay.
///
/// On devices that cannot bind buffers partly all of it has memory from the start.
#[derive(Debug)]
pub struct PagedBuffer {
    // Dropped in this order.
    slot: Option<Slot>,
    buffer: Arc<Buffer>,
    backing: Arc<PagedBacking>,
    contents: Contents,
    tiles: u64,
    shared: Arc<Shared>,
}

impl PagedBuffer {
    /// Reserves addresses; maps nothing.
    ///
    /// # Errors
    /// Zero capacity, no addresses left (with who holds them), out of memory in the fallback, or what the driver said.
    pub fn new(sparse: &SparseMemory, desc: &PagedDesc<'_>) -> Result<Self> {
        let shared = sparse.shared.clone();
        let device = shared.device.clone();
        let support = device.capabilities().sparse;
        let in_place = support.growable_buffers();
        let named = |source| Error::Plan { name: desc.name.into(), source };
        let usage = desc.usage | BufferUsageFlags::TRANSFER_SRC | BufferUsageFlags::TRANSFER_DST;
        let tile = device.sparse_buffer_alignment().max(DEFAULT_TILE_BYTES);
        let limits = device.capabilities().limits;
        if desc.capacity == 0 {
            return Err(named(PlanError::ZeroCapacity));
        }
        let mut capacity = desc.capacity.min(limits.max_buffer_size / tile * tile);
        if usage.contains(BufferUsageFlags::STORAGE_BUFFER) {
            capacity = clamp_capacity(capacity, limits.max_storage_buffer_range, tile);
        }
        if shared.knobs.capture_friendly {
            capacity = capacity.min(CAPTURE_CAPACITY);
        }
        let layout = Layout::new(capacity, tile, shared.knobs.chunk_bytes).map_err(named)?;
        let capacity = layout.capacity_bytes();
        let movable = in_place && support.residency_aliased;
        let buffer = if in_place {
            Buffer::reserved(&device, desc.name, capacity, usage, movable)?
        } else {
            Buffer::committed(&device, desc.name, capacity, usage, crate::vk::Location::Device)?
        };
        let buffer = Arc::new(buffer);
        let memory_type = device.chunk_memory_type(buffer.requirements().memory_types)?;
        let id = shared.next_id();
        let tiles = layout.capacity_tiles();
        let mut inner = shared.lock();
        let key = PoolKey { memory_type, tile_bytes: tile, movable };
        let pool = inner.pools.find(key, shared.knobs.chunk_bytes);
        let backing = Arc::new(PagedBacking::new(Paged {
            id,
            name: desc.name.into(),
            kind: if in_place { "paged buffer" } else { "paged buffer (fallback)" },
            target: Target::Buffer(buffer.clone()),
            layout: None,
            aspect: 0,
            rest_layout: ImageLayout::UNDEFINED,
            reserved_bytes: capacity,
            pool,
            tile_bytes: tile,
            tiles,
            in_place,
        }));
        let resource: Arc<dyn Resource> = backing.clone();
        inner.register(Arc::downgrade(&resource));
        drop(inner);
        if in_place {
            let shadow = ResourceDesc {
                name: desc.name.into(),
                kind: Kind::PagedBuffer,
                bytes: capacity,
                tile_bytes: tile,
                aliased: movable,
                tails: Vec::new(),
            };
            shared.checker.add_resource(id, shadow, None);
        }
        let mut this = Self { slot: None, buffer, backing, contents: desc.contents, tiles, shared };
        if usage.contains(BufferUsageFlags::STORAGE_BUFFER) {
            this.slot = Some(device.bind_buffer(&this.buffer, this.buffer.bytes())?);
        }
        Ok(this)
    }

    /// Gives tiles memory from the next flush on. Tiles that have some keep it.
    ///
    /// # Errors
    /// A tile past the end, or out of memory: nothing has changed.
    pub fn map(&mut self, tiles: Range<u64>) -> Result<u64> {
        self.map_each(&self.listed(tiles)?)
    }

    /// [`PagedBuffer::map`] for tiles anywhere. Returns how many were mapped now.
    ///
    /// # Errors
    /// A tile past the end, or out of memory: nothing has changed.
    pub fn map_each(&mut self, tiles: &[u64]) -> Result<u64> {
        profiling::scope!("CommitReservedResource");
        self.check(tiles)?;
        let mut inner = self.shared.lock();
        let Mapped { tiles: mapped, requests, chunks } = self.backing.map(&self.shared, &mut inner, tiles)?;
        let tile = self.backing.tile_bytes;
        let fill = self.contents.fill(self.shared.knobs.poison);
        let commands = match fill {
            Some(word) => runs(&mapped)
                .map(|run| Command::Fill {
                    offset: run.start * tile,
                    bytes: (run.end - run.start) * tile,
                    word,
                })
                .collect(),
            None => Vec::new(),
        };
        if !requests.is_empty() || !commands.is_empty() {
            self.backing.queue(&mut inner, requests, chunks, commands);
        }
        inner.stats.grows += u64::from(!mapped.is_empty());
        Ok(mapped.len() as u64)
    }

    /// Takes memory away with the next flush. Contents are lost; tiles without memory are passed over.
    ///
    /// # Errors
    /// A tile past the end: nothing has changed.
    pub fn unmap(&mut self, tiles: Range<u64>) -> Result<u64> {
        self.unmap_each(&self.listed(tiles)?)
    }

    /// [`PagedBuffer::unmap`] for tiles anywhere. Returns how many were unmapped now.
    ///
    /// # Errors
    /// A tile past the end: nothing has changed.
    pub fn unmap_each(&mut self, tiles: &[u64]) -> Result<u64> {
        profiling::scope!("CommitReservedResource");
        self.check(tiles)?;
        let mut inner = self.shared.lock();
        let (unmapped, requests) = self.backing.unmap(tiles);
        if !requests.is_empty() {
            self.backing.queue(&mut inner, requests, Vec::new(), Vec::new());
        }
        inner.stats.shrinks += u64::from(!unmapped.is_empty());
        Ok(unmapped.len() as u64)
    }

    fn listed(&self, tiles: Range<u64>) -> Result<Vec<u64>> {
        // Checked before it is listed: a range may be as long as the numbers go.
        if !tiles.is_empty() {
            self.check(&[tiles.end - 1])?;
        }
        Ok(tiles.collect())
    }

    fn check(&self, tiles: &[u64]) -> Result<()> {
        match tiles.iter().find(|tile| **tile >= self.tiles) {
            Some(tile) => Err(Error::NoTile {
                name: self.name().into(),
                tile: tile.to_string(),
                why: format!("it has {} tiles; reserve more at creation", self.tiles),
            }),
            None => Ok(()),
        }
    }

    /// The buffer. Its handle stays for life.
    pub fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    /// Its number in the bindless table (storage buffers only).
    pub fn slot(&self) -> Option<u32> {
        self.slot.as_ref().map(Slot::index)
    }

    /// Its number for [`SparseMemory::declare_use`] and the checker's page tables.
    pub fn id(&self) -> u64 {
        self.backing.id
    }

    /// Debug name.
    pub fn name(&self) -> &str {
        &self.backing.name
    }

    /// Tiles of its addresses.
    pub fn tiles(&self) -> u64 {
        self.tiles
    }

    /// One tile in bytes.
    pub fn tile_bytes(&self) -> u64 {
        self.backing.tile_bytes
    }

    /// Whether a tile has memory, as of the last map or unmap.
    pub fn is_mapped(&self, tile: u64) -> bool {
        self.backing.page(tile).is_some()
    }

    /// Tiles that have memory, ascending.
    pub fn mapped_tiles(&self) -> Vec<u64> {
        self.backing.mapped_tiles()
    }

    /// Whether tiles are bound one by one (`false`: all of it has memory).
    pub fn in_place(&self) -> bool {
        self.backing.in_place
    }

    /// The statistics of this buffer.
    pub fn stats(&self) -> ResourceStats {
        self.backing.stats()
    }

    /// Which chunk, and which byte of it, a tile lies in; `None` without memory and in the fallback.
    pub fn locate(&self, tile: u64) -> Option<(Arc<Chunk>, u64)> {
        let inner = self.shared.lock();
        let page = self.backing.page(tile)?;
        inner.pools.pools.get(self.backing.pool)?.place(page)
    }
}

impl Drop for PagedBuffer {
    fn drop(&mut self) {
        let mut inner = self.shared.lock();
        while inner.take_work(self.backing.id).is_some() {}
        inner.work.retain(|w| w.id != self.backing.id);
        let backing = self.backing.clone();
        // After the buffer itself, so that its pages rest longer than it lives.
        drop(self.slot.take());
        backing.retire(&self.shared.device, &mut inner.pools);
        drop(inner);
        if self.backing.in_place {
            self.shared.checker.remove_resource(self.backing.id);
        }
    }
}

/// Contiguous runs of ascending numbers.
pub(super) fn runs(numbers: &[u64]) -> impl Iterator<Item = Range<u64>> + '_ {
    numbers.chunk_by(|a, b| a + 1 == *b).filter_map(|run| Some(*run.first()?..*run.last()? + 1))
}
