//! Resources whose tiles come and go one by one. Their pages are those of [`pools`](super::pools).
//!
//! ```text
//! map(tiles)   -> pages of the pool (pure, `pages`) -> work for the next flush
//! unmap(tiles) -> work; the page stays its owner's until the unbind is queued, so that it can be taken back
//! drop         -> pages rest until the GPU is done with the resource, then they are free
//! ```

use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard};

use super::batch::{Memory, Phase, Place, Request};
use super::chunk::Chunk;
use super::error::Result;
use super::memory::{Core, Inner};
use super::pages::{ChunkIndex, PageOwner, PageRef};
use super::pools::{Pools, free};
use super::resource::{Resource, Target};
use super::stats::ResourceStats;
use super::tiles::{TileLayout, TileLocation};
use crate::vk::Device;

/// The page of every mapped tile where all of a resource has memory (fallback).
const NOWHERE: PageRef = PageRef { chunk: ChunkIndex(u32::MAX), page: 0 };

/// A change of a tile since the last flush.
#[derive(Debug, Clone, Copy)]
struct Change {
    tile: u64,
    before: Option<PageRef>,
    after: Option<PageRef>,
}

/// Which tiles of a resource have which page.
#[derive(Debug)]
pub(super) struct PagedState {
    pages: Vec<Option<PageRef>>,
    mapped: u64,
    changes: Vec<Change>,
    /// Pages that belong to no tile: metadata.
    kept: Vec<PageRef>,
    maps: u64,
    unmaps: u64,
    waited: u64,
}

/// The pages of one resource, as handles, statistics and defragmentation see them.
#[derive(Debug)]
pub(super) struct PagedBacking {
    what: Paged,
    state: Mutex<PagedState>,
}

impl Deref for PagedBacking {
    type Target = Paged;

    fn deref(&self) -> &Paged {
        &self.what
    }
}

/// What a map queued.
#[derive(Debug, Default)]
pub(super) struct Mapped {
    /// The tiles that had no page, ascending.
    pub(super) tiles: Vec<u64>,
    pub(super) requests: Vec<Request>,
    /// Chunks that the requests name.
    pub(super) chunks: Vec<Arc<Chunk>>,
}

/// What does not change of a resource whose tiles come and go.
#[derive(Debug)]
pub(super) struct Paged {
    pub(super) id: u64,
    pub(super) name: String,
    pub(super) kind: &'static str,
    pub(super) target: Target,
    /// The tiles of an image; `None` for a buffer.
    pub(super) layout: Option<Arc<TileLayout>>,
    /// Raw aspect of an image's tiles.
    pub(super) aspect: u32,
    /// The layout that an image is in between submissions.
    pub(super) rest_layout: ash::vk::ImageLayout,
    pub(super) reserved_bytes: u64,
    pub(super) pool: usize,
    pub(super) tile_bytes: u64,
    pub(super) tiles: u64,
    /// Whether pages are bound; otherwise all of it has memory (fallback).
    pub(super) in_place: bool,
}

impl PagedBacking {
    pub(super) fn new(what: Paged) -> Self {
        let state = PagedState {
            pages: vec![None; usize::try_from(what.tiles).unwrap_or(usize::MAX)],
            mapped: 0,
            changes: Vec::new(),
            kept: Vec::new(),
            maps: 0,
            unmaps: 0,
            waited: 0,
        };
        Self { what, state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, PagedState> {
        // Tile, journal and count change together, without anything in between that could panic.
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub(super) fn page(&self, tile: u64) -> Option<PageRef> {
        self.state().pages.get(usize::try_from(tile).ok()?).copied().flatten()
    }

    pub(super) fn mapped(&self) -> u64 {
        self.state().mapped
    }

    pub(super) fn mapped_tiles(&self) -> Vec<u64> {
        let state = self.state();
        let mapped = state.pages.iter().enumerate().filter(|(_, page)| page.is_some());
        mapped.map(|(tile, _)| tile as u64).collect()
    }

    /// A request for one tile.
    pub(super) fn request(&self, tile: u64, memory: Option<Memory>, phase: Phase) -> Option<Request> {
        Some(Request { resource: self.id, place: self.place(tile)?, memory, phase })
    }

    /// Where a tile lies in the resource; `None` past its end, and for tiles of a tail, which is bound as a whole.
    pub(super) fn place(&self, tile: u64) -> Option<Place> {
        let Some(layout) = &self.layout else {
            let offset = tile.checked_mul(self.tile_bytes)?;
            return Some(Place::Bytes { offset, bytes: self.tile_bytes, metadata: false });
        };
        let TileLocation::Tile(coord) = layout.locate(tile)? else { return None };
        let region = layout.region(coord)?;
        Some(Place::Tile {
            aspect: self.aspect,
            layer: coord.layer,
            mip: coord.mip,
            tile: [coord.x, coord.y, coord.z],
            offset: region.offset,
            extent: region.extent,
            bytes: self.tile_bytes,
        })
    }

    /// Of some tiles those that are mapped, or those that are not: ascending, each once.
    fn those_mapped(&self, tiles: &[u64], mapped: bool) -> Vec<u64> {
        let mut those = tiles.to_vec();
        those.sort_unstable();
        those.dedup();
        let state = self.state();
        those.retain(|tile| state.pages.get(*tile as usize).is_some_and(|page| page.is_some() == mapped));
        those
    }

    /// Takes pages for the tiles that have none and queues their binds: all or none. Returns the tiles that were
    /// mapped now.
    pub(super) fn map(&self, core: &Core, inner: &mut Inner, tiles: &[u64]) -> Result<Mapped> {
        let wanted = self.those_mapped(tiles, false);
        if !self.in_place {
            self.set(&wanted.iter().map(|tile| (*tile, Some(NOWHERE))).collect::<Vec<_>>());
            return Ok(Mapped { tiles: wanted, ..Mapped::default() });
        }
        let owners: Vec<PageOwner> =
            wanted.iter().map(|tile| PageOwner { resource: self.id, tile: *tile }).collect();
        while (owners.len() as u64) > inner.pools.pools[self.pool].pages.free_pages() {
            core.add_pool_chunk(inner, self.pool, &self.name)?;
        }
        let pool = &mut inner.pools.pools[self.pool];
        let pages = pool.pages.allocate_many(&owners).unwrap_or_default();
        let mut requests = Vec::with_capacity(pages.len());
        let mut chunks: Vec<Arc<Chunk>> = Vec::new();
        // Pages come chunk by chunk, so one look-up serves many.
        for group in wanted.iter().zip(&pages).collect::<Vec<_>>().chunk_by(|a, b| a.1.chunk == b.1.chunk) {
            let first = group.first().and_then(|(_, page)| pool.chunks.get(&page.chunk));
            let Some(chunk) = first else { continue };
            requests.extend(group.iter().filter_map(|(tile, page)| {
                let memory = Memory { chunk: chunk.id(), offset: u64::from(page.page) * pool.key.tile_bytes };
                self.request(**tile, Some(memory), Phase::Growth)
            }));
            chunks.push(chunk.clone());
        }
        let mapped: Vec<_> = wanted.iter().copied().zip(pages.iter().map(|page| Some(*page))).collect();
        self.set(&mapped);
        Ok(Mapped { tiles: wanted, requests, chunks })
    }

    /// Queues the unbinds of tiles that are mapped. Their pages are free after the next flush.
    pub(super) fn unmap(&self, tiles: &[u64]) -> (Vec<u64>, Vec<Request>) {
        let wanted = self.those_mapped(tiles, true);
        let gone: Vec<_> = wanted.iter().map(|tile| (*tile, None)).collect();
        self.set(&gone);
        let requests = if self.in_place {
            wanted.iter().filter_map(|tile| self.request(*tile, None, Phase::Shrink)).collect()
        } else {
            Vec::new()
        };
        (wanted, requests)
    }

    /// Gives tiles pages or takes them, and keeps a journal of it for the next flush.
    pub(super) fn set(&self, tiles: &[(u64, Option<PageRef>)]) {
        let mut state = self.state();
        for (tile, after) in tiles {
            let Some(slot) = state.pages.get_mut(*tile as usize) else { continue };
            let before = std::mem::replace(slot, *after);
            state.mapped = state.mapped + u64::from(after.is_some()) - u64::from(before.is_some());
            state.maps += u64::from(after.is_some());
            state.unmaps += u64::from(after.is_none());
            if self.in_place {
                state.changes.push(Change { tile: *tile, before, after: *after });
            }
        }
    }

    /// What was mapped so far stays, whatever becomes of the next flush.
    pub(super) fn make_permanent(&self) {
        self.state().changes.clear();
    }

    /// Keeps pages that belong to no tile until the resource is dropped.
    pub(super) fn keep(&self, pages: &[PageRef]) {
        self.state().kept.extend(pages);
    }

    /// A tile was moved: it lies at another page now.
    pub(super) fn moved(&self, tile: u64, to: PageRef) {
        if let Some(page) = self.state().pages.get_mut(tile as usize) {
            *page = Some(to);
        }
    }

    /// Queues requests with what this resource has queued already.
    pub(super) fn queue(
        self: &Arc<Self>,
        inner: &mut Inner,
        requests: Vec<Request>,
        chunks: Vec<Arc<Chunk>>,
        commands: Vec<super::resource::Command>,
    ) {
        let position = inner.work.iter().position(|w| w.id == self.id && !w.is_bound && !w.retries);
        let work = match position {
            Some(position) => &mut inner.work[position],
            None => {
                let resource: Arc<dyn Resource> = self.clone();
                let work =
                    super::resource::Work::new(self.id, Arc::downgrade(&resource), self.target.clone());
                inner.work.push(work);
                let last = inner.work.len() - 1;
                &mut inner.work[last]
            }
        };
        work.requests.extend(requests);
        work.chunks.extend(chunks);
        work.commands.extend(commands);
    }

    /// What was queued is bound: pages that were given up are free.
    pub(super) fn settle(&self, pools: &mut Pools) {
        let changes = std::mem::take(&mut self.state().changes);
        let Some(pool) = pools.pools.get_mut(self.pool) else { return };
        changes.iter().filter_map(|change| change.before).for_each(|page| free(&mut pool.pages, page));
    }

    /// What was queued is not bound: pages that were taken are free, those given up are back.
    pub(super) fn undo(&self, pools: &mut Pools) {
        let mut state = self.state();
        let changes = std::mem::take(&mut state.changes);
        let Some(pool) = pools.pools.get_mut(self.pool) else { return };
        for Change { tile, before, after } in changes.into_iter().rev() {
            if let Some(slot) = state.pages.get_mut(tile as usize) {
                *slot = before;
            }
            state.mapped = state.mapped + u64::from(before.is_some()) - u64::from(after.is_some());
            after.into_iter().for_each(|page| free(&mut pool.pages, page));
        }
    }

    /// The resource was dropped: its pages rest until the GPU is done with it.
    pub(super) fn retire(&self, device: &Device, pools: &mut Pools) {
        if !self.in_place {
            return;
        }
        let mut state = self.state();
        let mut pages: Vec<PageRef> = state.pages.iter_mut().filter_map(Option::take).collect();
        pages.append(&mut state.kept);
        // Given up since the last flush and never unbound.
        pages.extend(state.changes.drain(..).filter_map(|change| change.before));
        pools.rest(device, self.pool, pages);
    }
}

impl Resource for PagedBacking {
    fn id(&self) -> u64 {
        self.id
    }

    fn name(&self) -> String {
        self.name.clone()
    }

    fn numbers(&self) -> ResourceStats {
        let state = self.state();
        let committed = if self.in_place { state.mapped * self.tile_bytes } else { self.reserved_bytes };
        ResourceStats {
            id: self.id,
            kind: self.kind,
            reserved_bytes: self.reserved_bytes.max(committed),
            requested_bytes: state.mapped * self.tile_bytes,
            committed_bytes: committed,
            uncommitted_bytes: self.reserved_bytes.saturating_sub(committed),
            physical_bytes: committed,
            chunks: u64::from(!self.in_place),
            grows: state.maps,
            shrinks: state.unmaps,
            waited: state.waited,
            is_image: self.layout.is_some(),
            is_pooled: self.in_place,
            ..Default::default()
        }
    }

    // Pages are the pools' as well: the flush settles and undoes both together.
    fn bound(&self) {
        self.state().waited += 1;
    }

    fn roll_back(&self) {}

    fn paged(&self) -> Option<&PagedBacking> {
        Some(self)
    }

    fn into_paged(self: Arc<Self>) -> Option<Arc<PagedBacking>> {
        Some(self)
    }
}
