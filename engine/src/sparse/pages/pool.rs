//! The state of the pool: what each page is, and the ways it changes.

use std::collections::BTreeSet;
use std::fmt;

use super::free_pages::FreePages;
use super::{ChunkIndex, MAX_PAGES_PER_CHUNK, PageError, PageMove, PageOwner, PageRef};

/// What a page is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageState {
    /// Nobody's; may be allocated.
    Free,
    /// Owned; may be moved.
    Used(PageOwner),
    /// Owned, part of a run, never moved.
    Pinned(PageOwner),
    /// Owned, and on the way to `to`.
    MovingOut {
        /// Still the owner of this page.
        owner: PageOwner,
        /// Where the owner goes.
        to: PageRef,
        /// The `apply_begin` that this belongs to.
        batch: u64,
    },
    /// Reserved for an owner that still lies at `from`.
    MovingIn {
        /// The owner to be.
        owner: PageOwner,
        /// Where the owner lies.
        from: PageRef,
        /// The `apply_begin` that this belongs to.
        batch: u64,
    },
    /// Nobody's, but not to be allocated yet: an unbind or a remap is not done.
    Quarantined {
        /// Whether a move that has ended left it behind.
        vacated: bool,
    },
}

impl PageState {
    /// The owner, as long as it lies here.
    pub fn owner(&self) -> Option<PageOwner> {
        match *self {
            Self::Used(owner) | Self::Pinned(owner) | Self::MovingOut { owner, .. } => Some(owner),
            Self::Free | Self::MovingIn { .. } | Self::Quarantined { .. } => None,
        }
    }
}

impl fmt::Display for PageState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Free => f.write_str("free"),
            Self::Used(owner) => write!(f, "used by {owner}"),
            Self::Pinned(owner) => write!(f, "pinned by {owner}"),
            Self::MovingOut { owner, to, .. } => write!(f, "used by {owner}, moving to {to}"),
            Self::MovingIn { owner, from, .. } => write!(f, "the target of {owner}, moving from {from}"),
            Self::Quarantined { .. } => f.write_str("quarantined"),
        }
    }
}

/// What becomes of a page that loses its owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageAfter {
    /// It may be allocated at once: no GPU work touches it, now or later.
    Free,
    /// It stays out of reach until [`PagePool::release`].
    Quarantine,
}

/// What [`PagePool::free`] took away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a cancelled move must not be executed any further"]
pub struct Freed {
    /// Who owned the page.
    pub owner: PageOwner,
    /// The move that the page was in the middle of. It is cancelled: do not bind its target.
    pub cancelled: Option<PageMove>,
}

/// How many pages of a chunk are what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct Occupancy {
    /// All of them.
    pub pages: u32,
    /// With an owner: pinned ones and those moving out are included.
    pub used: u32,
    /// The part of `used` that never moves.
    pub pinned: u32,
    /// The part of `used` that is on its way to another page.
    pub moving_out: u32,
    /// Reserved for owners on their way here.
    pub moving_in: u32,
    /// Quarantined: vacated ones are included.
    pub quarantined: u32,
    /// The part of `quarantined` that moves left behind.
    pub vacated: u32,
}

impl Occupancy {
    /// Pages that may be allocated.
    pub fn free(&self) -> u32 {
        self.pages.saturating_sub(self.used).saturating_sub(self.moving_in).saturating_sub(self.quarantined)
    }

    /// Whether no page is anything but free.
    pub fn is_empty(&self) -> bool {
        self.used == 0 && self.moving_in == 0 && self.quarantined == 0
    }

    /// Whether defragmentation is emptying it. Such a chunk is filled last.
    pub fn is_draining(&self) -> bool {
        self.moving_out > 0 || self.vacated > 0
    }

    fn count(&mut self, state: &PageState, change: fn(u32) -> u32) {
        let fields: &mut [&mut u32] = match state {
            PageState::Free => &mut [],
            PageState::Used(_) => &mut [&mut self.used],
            PageState::Pinned(_) => &mut [&mut self.used, &mut self.pinned],
            PageState::MovingOut { .. } => &mut [&mut self.used, &mut self.moving_out],
            PageState::MovingIn { .. } => &mut [&mut self.moving_in],
            PageState::Quarantined { vacated: false } => &mut [&mut self.quarantined],
            PageState::Quarantined { vacated: true } => &mut [&mut self.quarantined, &mut self.vacated],
        };
        for field in fields {
            **field = change(**field);
        }
    }
}

/// `120/256 used, 8 pinned`, and whatever else is not zero.
impl fmt::Display for Occupancy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{} used", self.used, self.pages)?;
        let parts = [
            (self.pinned, "pinned"),
            (self.moving_out, "moving out"),
            (self.moving_in, "moving in"),
            (self.quarantined, "quarantined"),
        ];
        parts.into_iter().filter(|part| part.0 > 0).try_for_each(|(n, what)| write!(f, ", {n} {what}"))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chunk {
    pub(super) pages: Vec<PageState>,
    pub(super) free: FreePages,
    pub(super) occupancy: Occupancy,
}

/// The order in which chunks are filled: not the draining ones, the fullest, the lowest index.
pub(super) type Rank = (bool, u32, u32);

impl Chunk {
    fn new(pages: u32) -> Self {
        Self {
            pages: vec![PageState::Free; pages as usize],
            free: FreePages::all(pages),
            occupancy: Occupancy { pages, ..Default::default() },
        }
    }

    fn rank(&self, index: u32) -> Option<Rank> {
        let free = self.free.count();
        (free > 0).then_some((self.occupancy.is_draining(), free, index))
    }
}

/// The chunks, and what each of their pages is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PagePool {
    pages_per_chunk: u32,
    pub(super) chunks: Vec<Option<Chunk>>,
    /// Indexes without a chunk below the end of `chunks`.
    vacant: BTreeSet<u32>,
    /// The chunks with free pages, in the order in which they are filled.
    pub(super) ranks: BTreeSet<Rank>,
    free: u64,
    used: u64,
    pub(super) next_batch: u64,
}

impl PagePool {
    /// A pool without chunks. Each chunk will be cut into `pages_per_chunk` pages, brought into
    /// `1..=`[`MAX_PAGES_PER_CHUNK`].
    pub fn new(pages_per_chunk: u32) -> Self {
        Self {
            pages_per_chunk: pages_per_chunk.clamp(1, MAX_PAGES_PER_CHUNK),
            chunks: Vec::new(),
            vacant: BTreeSet::new(),
            ranks: BTreeSet::new(),
            free: 0,
            used: 0,
            next_batch: 0,
        }
    }

    /// Pages of a chunk.
    pub fn pages_per_chunk(&self) -> u32 {
        self.pages_per_chunk
    }

    /// Adds a chunk, all pages free, at the lowest index that no chunk has.
    pub fn add_chunk(&mut self) -> ChunkIndex {
        let chunk = Chunk::new(self.pages_per_chunk);
        let index = self.vacant.pop_first().unwrap_or(self.chunks.len() as u32);
        self.ranks.extend(chunk.rank(index));
        self.free += u64::from(self.pages_per_chunk);
        match self.chunks.get_mut(index as usize) {
            Some(slot) => *slot = Some(chunk),
            None => self.chunks.push(Some(chunk)),
        }
        ChunkIndex(index)
    }

    /// Removes a chunk whose pages are all free. Its index may be given to a new one.
    ///
    /// # Errors
    /// [`PageError::NoChunk`], and [`PageError::ChunkInUse`] while any page is owned, quarantined or the
    /// target of a move.
    pub fn remove_chunk(&mut self, index: ChunkIndex) -> Result<(), PageError> {
        let chunk = self.chunk(index)?;
        if !chunk.occupancy.is_empty() {
            return Err(PageError::ChunkInUse { chunk: index, occupancy: chunk.occupancy });
        }
        if let Some(rank) = chunk.rank(index.0) {
            self.ranks.remove(&rank);
        }
        if let Some(slot) = self.chunks.get_mut(index.0 as usize) {
            *slot = None;
        }
        self.vacant.insert(index.0);
        self.free -= u64::from(self.pages_per_chunk);
        Ok(())
    }

    /// What a page is.
    ///
    /// # Errors
    /// [`PageError::NoChunk`] and [`PageError::NoPage`].
    pub fn state(&self, page: PageRef) -> Result<PageState, PageError> {
        let pages_per_chunk = self.pages_per_chunk;
        let found = self.chunk(page.chunk)?.pages.get(page.page as usize).copied();
        found.ok_or(PageError::NoPage { page, pages_per_chunk })
    }

    /// Who owns a page; `None` as well for pages that do not exist. An owner that is being moved lies at
    /// its old page until the move has ended.
    pub fn owner(&self, page: PageRef) -> Option<PageOwner> {
        self.state(page).ok()?.owner()
    }

    /// Takes a page from its owner; it may be allocated at once.
    ///
    /// Meant for pages that no GPU work touches any more, or whose next bind is ordered behind all of it; see
    /// [`Self::free_later`]. If the page was being moved, the move is cancelled and its target is free too.
    ///
    /// # Errors
    /// [`PageError::NoChunk`], [`PageError::NoPage`], and [`PageError::NotOwned`]: a target of a move is not
    /// owned yet, free the page that its owner lies at.
    pub fn free(&mut self, page: PageRef) -> Result<Freed, PageError> {
        self.take(page, PageState::Free)
    }

    /// Takes a page from its owner and keeps it in quarantine until [`Self::release`]: its unbind is not
    /// queued yet, or its last users are not done. If the page was being moved, the move is cancelled and its
    /// target is quarantined too, since the copy into it may be running: release both.
    ///
    /// # Errors
    /// Those of [`Self::free`].
    pub fn free_later(&mut self, page: PageRef) -> Result<Freed, PageError> {
        self.take(page, PageState::Quarantined { vacated: false })
    }

    fn take(&mut self, page: PageRef, after: PageState) -> Result<Freed, PageError> {
        let state = self.state(page)?;
        let owner = state.owner().ok_or(PageError::NotOwned { page, state })?;
        let cancelled = match state {
            PageState::MovingOut { to, .. } => {
                self.set(to, after);
                Some(PageMove { owner, from: page, to })
            }
            _ => None,
        };
        self.set(page, after);
        Ok(Freed { owner, cancelled })
    }

    /// Ends the quarantine of a page: it may be allocated.
    ///
    /// # Errors
    /// [`PageError::NoChunk`], [`PageError::NoPage`], [`PageError::NotQuarantined`].
    pub fn release(&mut self, page: PageRef) -> Result<(), PageError> {
        match self.state(page)? {
            PageState::Quarantined { .. } => {
                self.set(page, PageState::Free);
                Ok(())
            }
            state => Err(PageError::NotQuarantined { page, state }),
        }
    }

    /// How many pages of a chunk are what; `None` where there is no chunk.
    pub fn occupancy(&self, chunk: ChunkIndex) -> Option<Occupancy> {
        self.chunk(chunk).ok().map(|chunk| chunk.occupancy)
    }

    /// The chunks, ascending.
    pub fn chunks(&self) -> impl Iterator<Item = ChunkIndex> + '_ {
        self.chunks.iter().enumerate().filter(|(_, c)| c.is_some()).map(|(index, _)| ChunkIndex(index as u32))
    }

    /// The chunks that may be removed, ascending.
    pub fn empty_chunks(&self) -> impl Iterator<Item = ChunkIndex> + '_ {
        self.chunks().filter(|&chunk| self.occupancy(chunk).is_some_and(|o| o.is_empty()))
    }

    /// Pages that may be allocated, all chunks.
    pub fn free_pages(&self) -> u64 {
        self.free
    }

    /// Pages with an owner, all chunks. Targets of moves and quarantined pages are neither used nor free.
    pub fn used_pages(&self) -> u64 {
        self.used
    }

    fn chunk(&self, index: ChunkIndex) -> Result<&Chunk, PageError> {
        let chunk = self.chunks.get(index.0 as usize).and_then(Option::as_ref);
        chunk.ok_or(PageError::NoChunk(index))
    }

    /// The one place where a page changes: whatever is derived from the pages is brought up to date here.
    /// A page that does not exist is left alone; callers have looked.
    pub(super) fn set(&mut self, at: PageRef, state: PageState) {
        let index = at.chunk.0;
        let Some(chunk) = self.chunks.get_mut(index as usize).and_then(Option::as_mut) else { return };
        let (rank, before) = (chunk.rank(index), chunk.occupancy);
        let Some(slot) = chunk.pages.get_mut(at.page as usize) else { return };
        let old = std::mem::replace(slot, state);
        chunk.occupancy.count(&old, |n| n.saturating_sub(1));
        chunk.occupancy.count(&state, |n| n + 1);
        chunk.free.set(at.page, state == PageState::Free);
        self.free = self.free - u64::from(before.free()) + u64::from(chunk.occupancy.free());
        self.used = self.used - u64::from(before.used) + u64::from(chunk.occupancy.used);
        let new_rank = chunk.rank(index);
        if rank != new_rank {
            if let Some(rank) = rank {
                self.ranks.remove(&rank);
            }
            self.ranks.extend(new_rank);
        }
    }
}

/// One line a chunk.
impl fmt::Display for PagePool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.chunks() {
            if let Some(occupancy) = self.occupancy(chunk) {
                writeln!(f, "{chunk}: {occupancy}")?;
            }
        }
        Ok(())
    }
}
