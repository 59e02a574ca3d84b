//! Where new pages go: together, and beside the pages of the tiles next to them.
//!
//! The fullest chunk with room is filled first, from its lowest page: that keeps emptiness together, so that
//! chunks run empty by themselves and defragmentation has less to move. Chunks that are being emptied come
//! last. Tiles that follow each other get pages that follow each other where a gap is long enough, since such
//! binds merge.

use super::{ChunkIndex, PageError, PageOwner, PagePool, PageRef, PageState};

/// Pages that follow each other in one chunk, for tiles that follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageRun {
    /// The first page.
    pub first: PageRef,
    /// How many, at least one.
    pub pages: u32,
}

impl PageRun {
    /// Each page, ascending.
    pub fn iter(&self) -> impl Iterator<Item = PageRef> + use<> {
        let first = self.first;
        (0..self.pages).map(move |page| first.nth(page))
    }
}

impl PageRef {
    /// The page `pages` after this one in the same chunk.
    fn nth(self, pages: u32) -> Self {
        Self { page: self.page.saturating_add(pages), ..self }
    }
}

impl PagePool {
    /// A page for `first` and for each of the `count - 1` tiles after it, all or none, in the order of the
    /// tiles.
    ///
    /// `None` when fewer pages are free (add a chunk and ask again), and when the tiles leave 64 bits.
    pub fn allocate(&mut self, first: PageOwner, count: u32) -> Option<Vec<PageRef>> {
        first.tile.checked_add(u64::from(count))?;
        if u64::from(count) > self.free_pages() {
            return None;
        }
        let tiles = first.tile..first.tile + u64::from(count);
        let owners: Vec<PageOwner> = tiles.map(|tile| PageOwner { tile, ..first }).collect();
        self.allocate_many(&owners)
    }

    /// A page for each owner, all or none, in the order of `owners`.
    ///
    /// Owners that follow each other in the slice and in their resource form a run. A run gets pages in a row
    /// in the fullest chunk with a gap that long; where there is none it is cut, and the longest gap takes
    /// what fits. `None` when fewer pages are free: add a chunk and ask again.
    pub fn allocate_many(&mut self, owners: &[PageOwner]) -> Option<Vec<PageRef>> {
        if owners.len() as u64 > self.free_pages() {
            return None;
        }
        let mut pages = Vec::with_capacity(owners.len());
        for run in owners.chunk_by(|left, right| right.follows(left)) {
            let mut rest = run;
            while !rest.is_empty() {
                // There is always a gap: the free pages were counted above.
                let gap = self.gap(u32::try_from(rest.len()).unwrap_or(u32::MAX))?;
                let (now, later) = rest.split_at(rest.len().min(gap.pages as usize));
                for (&owner, page) in now.iter().zip(gap.iter()) {
                    self.set(page, PageState::Used(owner));
                    pages.push(page);
                }
                rest = later;
            }
        }
        Some(pages)
    }

    /// Pages in a row in one chunk for the tiles from `first_tile`, pinned: they never move. For mip tails,
    /// which are bound as a whole and cannot be copied tile by tile.
    ///
    /// Chunks that have pinned pages come first, then the fullest: a pinned page keeps its chunk from ever
    /// being emptied, so they are better kept together. `None` when no chunk has a gap that long: add a chunk
    /// and ask again. A run of no pages is `None` too, as is one whose tiles leave 64 bits.
    ///
    /// # Errors
    /// [`PageError::RunTooLong`] for a run that no chunk could ever hold.
    pub fn allocate_run(
        &mut self,
        resource: u64,
        first_tile: u64,
        pages: u32,
    ) -> Result<Option<PageRun>, PageError> {
        let pages_per_chunk = self.pages_per_chunk();
        if pages > pages_per_chunk {
            return Err(PageError::RunTooLong { pages, pages_per_chunk });
        }
        if pages == 0 || first_tile.checked_add(u64::from(pages)).is_none() {
            return Ok(None);
        }
        let mut found = None;
        for &(_, free, index) in &self.ranks {
            let Some(chunk) = self.chunks.get(index as usize).and_then(Option::as_ref) else { continue };
            let is_better = found.is_none() || chunk.occupancy.pinned > 0;
            if free >= pages
                && is_better
                && let Some(page) = chunk.free.find_run(pages)
            {
                found = Some(PageRef { chunk: ChunkIndex(index), page });
                if chunk.occupancy.pinned > 0 {
                    break;
                }
            }
        }
        let Some(first) = found else { return Ok(None) };
        let run = PageRun { first, pages };
        for (page, tile) in run.iter().zip(first_tile..) {
            self.set(page, PageState::Pinned(PageOwner { resource, tile }));
        }
        Ok(Some(run))
    }

    /// Free pages in a row: `pages` of them in the fullest chunk that has as many, else the longest row of
    /// all. Chunks that are being emptied count only when no other has a free page.
    fn gap(&mut self, pages: u32) -> Option<PageRun> {
        let mut longest: Option<PageRun> = None;
        let mut was_draining = true;
        for &(is_draining, _, index) in &self.ranks {
            if is_draining && !was_draining {
                break;
            }
            was_draining = is_draining;
            let Some(chunk) = self.chunks.get_mut(index as usize).and_then(Option::as_mut) else { continue };
            let at = |page| PageRef { chunk: ChunkIndex(index), page };
            // Any chunk here has a free page, so single pages need no look at its longest row.
            let (page, room) = if pages == 1 { (0, 1) } else { chunk.free.longest_run().unwrap_or_default() };
            if room >= pages {
                return chunk.free.find_run(pages).map(|page| PageRun { first: at(page), pages });
            }
            if longest.is_none_or(|best| room > best.pages) {
                longest = Some(PageRun { first: at(page), pages: room });
            }
        }
        longest
    }
}
