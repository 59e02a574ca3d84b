//! The pools of pages that paged resources share: chunks cut into pages of one tile.
//!
//! ```text
//! PagedBacking::map --pages::PagePool (pure)--> Pool: a page has a chunk and a byte in it
//! drop, a move given up --rest--> until the GPU is done --> free;   empty for long --> the chunk cache
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;

use super::batch::Memory;
use super::check::Checker;
use super::chunk::{Chunk, ChunkCache};
use super::error::{Error, Result};
use super::memory::{Core, Inner};
use super::pages::{ChunkIndex, PageError, PagePool, PageRef};
use crate::vk::{self, Device, RetireToken};

/// Frames after which an empty chunk of a pool is given back.
const KEEP_EMPTY_FRAMES: u64 = 60;

/// Which resources may share pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PoolKey {
    pub(super) memory_type: u32,
    pub(super) tile_bytes: u64,
    /// Pages may be moved: all of their owners are aliased.
    pub(super) movable: bool,
}

/// Pages of one kind and the chunks that they lie in.
#[derive(Debug)]
pub(super) struct Pool {
    pub(super) key: PoolKey,
    pub(super) pages: PagePool,
    pub(super) chunks: BTreeMap<ChunkIndex, Arc<Chunk>>,
    /// Since when each chunk is empty.
    empty_since: BTreeMap<ChunkIndex, u64>,
}

/// All pools of a device.
#[derive(Debug, Default)]
pub(super) struct Pools {
    pub(super) pools: Vec<Pool>,
    /// Pages of dropped resources and of moves that were given up, until the GPU is done with those.
    resting: Vec<(RetireToken, usize, Vec<PageRef>)>,
    dummies: Vec<Arc<Chunk>>,
}

/// Sizes of all pools.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PoolSizes {
    pub(super) bytes: u64,
    pub(super) chunks: u64,
}

impl Pool {
    /// The chunk and the byte in it where a page lies.
    pub(super) fn place(&self, page: PageRef) -> Option<(Arc<Chunk>, u64)> {
        let chunk = self.chunks.get(&page.chunk)?;
        Some((chunk.clone(), u64::from(page.page) * self.key.tile_bytes))
    }

    pub(super) fn memory(&self, page: PageRef) -> Option<Memory> {
        let (chunk, offset) = self.place(page)?;
        Some(Memory { chunk: chunk.id(), offset })
    }

    /// Gives a chunk without owners back.
    pub(super) fn remove_empty(&mut self, index: ChunkIndex, cache: &mut ChunkCache) -> bool {
        let removed = self.pages.remove_chunk(index).is_ok();
        if removed {
            self.empty_since.remove(&index);
            self.chunks.remove(&index).into_iter().for_each(|chunk| cache.give(chunk));
        }
        removed
    }
}

impl Pools {
    /// The pool of a kind, made when first asked for.
    pub(super) fn find(&mut self, key: PoolKey, chunk_bytes: u64) -> usize {
        if let Some(found) = self.pools.iter().position(|pool| pool.key == key) {
            return found;
        }
        let pages = u32::try_from(chunk_bytes / key.tile_bytes.max(1)).unwrap_or(u32::MAX);
        let pages = PagePool::new(pages);
        self.pools.push(Pool { key, pages, chunks: BTreeMap::new(), empty_since: BTreeMap::new() });
        self.pools.len() - 1
    }

    pub(super) fn sizes(&self) -> PoolSizes {
        let chunks = self.pools.iter().flat_map(|pool| pool.chunks.values());
        let (count, bytes) = chunks.fold((0, 0), |(n, bytes), chunk| (n + 1, bytes + chunk.bytes()));
        PoolSizes { bytes, chunks: count }
    }

    /// Frees what dropped resources had, once the GPU is done with them, and chunks that were empty for long.
    pub(super) fn end_frame(&mut self, frame: u64, cache: &mut ChunkCache) {
        self.wake();
        for pool in &mut self.pools {
            let empty: Vec<ChunkIndex> = pool.pages.empty_chunks().collect();
            pool.empty_since.retain(|index, _| empty.contains(index));
            for index in empty {
                let since = *pool.empty_since.entry(index).or_insert(frame);
                if cache.is_sparing() || frame.saturating_sub(since) >= KEEP_EMPTY_FRAMES {
                    pool.remove_empty(index, cache);
                }
            }
        }
    }

    /// Gives all empty chunks back.
    pub(super) fn trim(&mut self, cache: &mut ChunkCache) {
        self.wake();
        for pool in &mut self.pools {
            let empty: Vec<ChunkIndex> = pool.pages.empty_chunks().collect();
            for index in empty {
                pool.remove_empty(index, cache);
            }
        }
        self.dummies.clear();
    }

    fn wake(&mut self) {
        let pools = &mut self.pools;
        self.resting.retain(|(token, pool, pages)| {
            let passed = token.is_passed();
            if let Some(pool) = pools.get_mut(*pool).filter(|_| passed) {
                pages.iter().for_each(|page| wake_page(&mut pool.pages, *page));
            }
            !passed
        });
    }

    /// Keeps pages from everybody until nothing submitted so far runs any more.
    pub(super) fn rest(&mut self, device: &Device, pool: usize, pages: Vec<PageRef>) {
        if !pages.is_empty() {
            self.resting.push((device.retire_token(), pool, pages));
        }
    }

    /// A page that stands in for unbound tiles on drivers that must not unbind.
    pub(super) fn dummy(
        &mut self,
        device: &Arc<Device>,
        checker: &Arc<Checker>,
        memory_type: u32,
        bytes: u64,
    ) -> vk::Result<Arc<Chunk>> {
        let fits = |c: &&Arc<Chunk>| c.memory_type() == memory_type && c.bytes() >= bytes;
        if let Some(found) = self.dummies.iter().find(fits) {
            return Ok(found.clone());
        }
        let dummy = Arc::new(Chunk::new(device, checker, "Dummy", bytes, memory_type)?);
        self.dummies.push(dummy.clone());
        Ok(dummy)
    }
}

/// Frees a page that has an owner. Only a fault of this room's own could make it fail; the page stays taken then.
pub(super) fn free(pages: &mut PagePool, page: PageRef) {
    if let Err(error) = pages.free(page) {
        log::error!("{error}");
    }
}

/// Frees a page that rested: of a dropped resource, or the target of a move that was given up.
fn wake_page(pages: &mut PagePool, page: PageRef) {
    if pages.release(page).is_err() {
        free(pages, page);
    }
}

impl Core {
    /// Adds a chunk to a pool.
    pub(super) fn add_pool_chunk(&self, inner: &mut Inner, pool: usize, owner: &str) -> Result<()> {
        let key = inner.pools.pools[pool].key;
        let chunk = self.take_chunk(inner, owner, self.knobs.chunk_bytes, key.memory_type)?;
        let pool = &mut inner.pools.pools[pool];
        let index = pool.pages.add_chunk();
        pool.chunks.insert(index, chunk);
        Ok(())
    }

    /// A run of pages in one chunk that never moves: a mip tail.
    pub(super) fn take_run(
        &self,
        inner: &mut Inner,
        pool: usize,
        owner: (&str, u64),
        first_tile: u64,
        pages: u32,
    ) -> Result<Vec<PageRef>> {
        let (name, id) = owner;
        let named = |source: PageError| Error::Pages { name: name.into(), source };
        for _ in 0..2 {
            let run = inner.pools.pools[pool].pages.allocate_run(id, first_tile, pages).map_err(named)?;
            if let Some(run) = run {
                return Ok(run.iter().collect());
            }
            self.add_pool_chunk(inner, pool, name)?;
        }
        Err(Error::Vulkan(vk::Error::Other(format!("{name}: a new chunk has no room for its mip tail"))))
    }
}
