//! Which pages are worth moving: the emptiest chunks are emptied into the fuller ones.
//!
//! All used chunks stand in one order: fewer pages first, and of equals the higher index first. The planner
//! walks up that order, one *source* at a time. Pages of a source go to the *targets*: chunks with pinned
//! pages first (they cannot be given back anyway, so their room costs nothing), then the fullest. Apart from
//! pinned ones a target stands after its source in the order. A source is only begun when all of its pages
//! fit.
//!
//! A chunk is never a source while it has pinned pages (they do not move), pages quarantined by a free (it
//! could not be given back yet), or targets of moves that are under way. It is never a target while moves out
//! of it are under way or what they left behind is in quarantine.
//!
//! # Progress across steps
//!
//! Nothing is remembered between two plans, and nothing needs to be. A source that was emptied in part is
//! emptier than before, so it still stands first; its target is fuller, so it still comes first among the
//! targets. As long as nobody allocates or frees in between:
//!
//! - every step but the last uses its whole budget, so `m` pages to move take `ceil(m / budget)` steps;
//! - no page is moved twice;
//! - it ends: every move raises the sum of the squares of the pages of unpinned chunks, or brings a page into
//!   a pinned chunk, which it never leaves;
//! - with a source limit of 1.0, and no page in quarantine or in a move, the chunks left in use are exactly
//!   `max(ceil(used pages / pages a chunk), chunks with pinned pages)`. No arrangement has fewer, since
//!   pinned pages stay. With a lower limit either that holds, or every unpinned chunk in use is fuller than
//!   the limit (none is emptied then, although one could be).
//!
//! If pages come and go in between, another chunk may have become the emptiest; it goes first then, being the
//! cheaper one. New pages go to the fullest chunk, away from the sources.
//!
//! The idea of emptying whole blocks in bounded passes, with moves that the user confirms or cancels, is that
//! of the defragmentation of the Vulkan Memory Allocator; there buffers are copied, here tiles are remapped.

use std::cmp::Reverse;
use std::fmt;

use super::pool::{Chunk, PagePool, PageState};
use super::{ChunkIndex, PageOwner, PageRef};

/// What may be moved in a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DefragOptions {
    /// The fullest a chunk may be to be emptied, as a part of its pages (0.0 to 1.0). Emptying a chunk that
    /// is nearly full costs many moves for the same gain. Values outside, and NaN, count as the nearer end
    /// (NaN as 0.0: nothing is moved).
    pub max_fill_of_source: f64,
}

impl Default for DefragOptions {
    fn default() -> Self {
        Self { max_fill_of_source: 0.5 }
    }
}

/// One page to move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PageMove {
    /// Whose.
    pub owner: PageOwner,
    /// Where the owner lies.
    pub from: PageRef,
    /// Where the owner goes.
    pub to: PageRef,
}

/// Why a plan has no more moves than it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// The budget is used up; the next step goes on here.
    Budget {
        /// The chunk to go on with.
        chunk: ChunkIndex,
        /// Pages of it that are left to move.
        pages: u32,
    },
    /// The emptiest chunk is fuller than the source limit.
    TooFull {
        /// The emptiest chunk.
        chunk: ChunkIndex,
        /// Its pages in use.
        pages: u32,
        /// The most that a source may have.
        limit: u32,
    },
    /// The pages of the emptiest chunk do not fit into the free pages of the others, so no chunk would be
    /// gained.
    NoRoom {
        /// The emptiest chunk.
        chunk: ChunkIndex,
        /// Its pages in use.
        pages: u32,
        /// The free pages of its targets.
        room: u64,
    },
    /// No chunk is left that could be emptied: what stays is a target of this plan or full, or is kept by
    /// pinned or quarantined pages or by moves that are under way.
    NoSource {
        /// Chunks that stay in use.
        kept: u32,
    },
}

/// The moves of one step. See the head of this file for what a series of steps guarantees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefragPlan {
    /// At most the budget. Source by source; within a source by owner, so that tiles that follow each other
    /// get pages that follow each other where the target allows.
    pub moves: Vec<PageMove>,
    /// Chunks that no owner is left in once these moves, and those that are under way, have ended; in the
    /// order of their moves.
    pub emptied: Vec<ChunkIndex>,
    /// Why it stops where it does.
    pub reason: StopReason,
    /// The most moves that were allowed.
    pub budget_pages: u32,
}

impl DefragPlan {
    /// Whether there is nothing to move.
    pub fn is_empty(&self) -> bool {
        self.moves.is_empty()
    }

    /// Bytes of the chunks that this plan empties.
    pub fn freed_bytes(&self, chunk_bytes: u64) -> u64 {
        (self.emptied.len() as u64).saturating_mul(chunk_bytes)
    }
}

/// A chunk as the planner sees it.
struct Candidate<'a> {
    index: ChunkIndex,
    chunk: &'a Chunk,
    /// Pages in use once the moves that are under way have ended.
    pages: u32,
    room: u32,
    is_target: bool,
}

impl Candidate<'_> {
    /// Its place in the order: sources from the lowest, targets from the highest.
    fn order(&self) -> (u32, Reverse<ChunkIndex>) {
        (self.pages, Reverse(self.index))
    }

    fn is_pinned(&self) -> bool {
        self.chunk.occupancy.pinned > 0
    }

    fn may_be_source(&self) -> bool {
        let o = &self.chunk.occupancy;
        self.pages > 0 && o.pinned == 0 && o.quarantined == o.vacated && o.moving_in == 0
    }

    fn takes_from(&self, source: &Self) -> bool {
        self.room > 0
            && !self.chunk.occupancy.is_draining()
            && (self.is_pinned() || self.order() > source.order())
    }
}

/// Plans at most `budget_pages` moves that empty chunks. Changes nothing; pass the plan to
/// [`PagePool::apply_begin`] before the pool changes.
pub fn plan(pool: &PagePool, budget_pages: u32, options: DefragOptions) -> DefragPlan {
    // The cast saturates, and takes NaN to 0.
    let limit = (options.max_fill_of_source.clamp(0.0, 1.0) * f64::from(pool.pages_per_chunk())) as u32;
    let mut candidates = candidates(pool);
    let mut room = Room::of(&candidates);
    let mut moves = Vec::new();
    let mut emptied = Vec::new();
    let mut reason = None;
    for at in 0..candidates.len() {
        let Some(source) = candidates.get(at) else { break };
        room.pass(source);
        if !source.may_be_source() {
            continue;
        }
        if source.is_target {
            // The fullest are filled first, so from here on there is no room.
            break;
        }
        let (chunk, pages) = (source.index, source.pages);
        let stop = if pages > limit {
            Some(StopReason::TooFull { chunk, pages, limit })
        } else if u64::from(pages) > room.total() {
            Some(StopReason::NoRoom { chunk, pages, room: room.total() })
        } else {
            None
        };
        if stop.is_some() {
            reason = stop;
            break;
        }
        let budget_left = budget_pages.saturating_sub(moves.len() as u32);
        let moved = pages.min(budget_left);
        move_pages(&mut candidates, at, moved, &mut room, &mut moves);
        if moved < pages {
            reason = Some(StopReason::Budget { chunk, pages: pages - moved });
            break;
        }
        emptied.push(chunk);
    }
    let kept = candidates.iter().filter(|c| c.pages > 0).count().saturating_sub(emptied.len());
    let reason = reason.unwrap_or(StopReason::NoSource { kept: kept as u32 });
    DefragPlan { moves, emptied, reason, budget_pages }
}

/// The chunks in use, in the order of sources.
fn candidates(pool: &PagePool) -> Vec<Candidate<'_>> {
    let chunks = pool.chunks.iter().enumerate().filter_map(|(index, chunk)| Some((index, chunk.as_ref()?)));
    let mut candidates: Vec<Candidate<'_>> = chunks
        .map(|(index, chunk)| {
            let o = &chunk.occupancy;
            let pages = (o.used - o.moving_out) + o.moving_in;
            let index = ChunkIndex(index as u32);
            Candidate { index, chunk, pages, room: o.free(), is_target: false }
        })
        .filter(|candidate| !candidate.chunk.occupancy.is_empty())
        .collect();
    candidates.sort_by_key(Candidate::order);
    candidates
}

/// The free pages that a source may use, kept while the sources are walked through.
struct Room {
    /// In chunks with pinned pages.
    pinned: u64,
    /// In the other chunks after the source.
    fuller: u64,
}

impl Room {
    fn of(candidates: &[Candidate<'_>]) -> Self {
        let mut room = Self { pinned: 0, fuller: 0 };
        for candidate in candidates.iter().filter(|c| !c.chunk.occupancy.is_draining()) {
            *room.part(candidate) += u64::from(candidate.room);
        }
        room
    }

    fn part(&mut self, candidate: &Candidate<'_>) -> &mut u64 {
        if candidate.is_pinned() { &mut self.pinned } else { &mut self.fuller }
    }

    /// The walk has come to `source`: it is no target for itself nor for the ones after it.
    fn pass(&mut self, source: &Candidate<'_>) {
        if !source.is_pinned() && !source.chunk.occupancy.is_draining() {
            self.fuller -= u64::from(source.room);
        }
    }

    fn total(&self) -> u64 {
        self.pinned + self.fuller
    }
}

/// Moves the first `count` pages of the source at `at`, by owner, to the targets; they have room.
fn move_pages(
    candidates: &mut [Candidate<'_>],
    at: usize,
    count: u32,
    room: &mut Room,
    moves: &mut Vec<PageMove>,
) {
    let Some(source) = candidates.get(at) else { return };
    let mut leaving: Vec<(PageOwner, PageRef)> = source
        .chunk
        .pages
        .iter()
        .zip(0..)
        .filter_map(|(state, page)| {
            let PageState::Used(owner) = *state else { return None };
            Some((owner, PageRef { chunk: source.index, page }))
        })
        .collect();
    leaving.sort_unstable();
    leaving.truncate(count as usize);

    let takes = |target: &usize| candidates.get(*target).is_some_and(|target| target.takes_from(source));
    let (pinned, fuller): (Vec<usize>, Vec<usize>) = (0..candidates.len())
        .rev()
        .filter(takes)
        .partition(|&target| candidates.get(target).is_some_and(Candidate::is_pinned));
    let mut leaving = leaving.into_iter().peekable();
    for target in pinned.into_iter().chain(fuller) {
        if leaving.peek().is_none() {
            break;
        }
        let Some(target) = candidates.get_mut(target) else { continue };
        // What earlier sources took are the lowest pages.
        let taken = target.chunk.free.count() - target.room;
        let free = target.chunk.free.iter().skip(taken as usize);
        for (page, (owner, from)) in free.zip(leaving.by_ref()) {
            moves.push(PageMove { owner, from, to: PageRef { chunk: target.index, page } });
            target.room -= 1;
            target.is_target = true;
            *room.part(target) -= 1;
        }
    }
}

impl fmt::Display for PageMove {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "move {}: {} -> {}", self.owner, self.from, self.to)
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Budget { chunk, pages } => {
                write!(f, "the budget is used up, {pages} pages of {chunk} are left for the next step")
            }
            Self::TooFull { chunk, pages, limit } => {
                write!(f, "the emptiest left is {chunk} with {pages} pages, and a source may have {limit}")
            }
            Self::NoRoom { chunk, pages, room } => {
                write!(
                    f,
                    "the emptiest left is {chunk} with {pages} pages, and the others have room for {room}"
                )
            }
            Self::NoSource { kept } => {
                write!(f, "no chunk is left to empty, {kept} stay in use")
            }
        }
    }
}

/// The totals, one line a move, and the reason.
impl fmt::Display for DefragPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (moves, budget, emptied) = (self.moves.len(), self.budget_pages, self.emptied.len());
        writeln!(f, "defragment: {moves} moves of at most {budget}, {emptied} chunks emptied")?;
        for page_move in &self.moves {
            writeln!(f, "  {page_move}")?;
        }
        for chunk in &self.emptied {
            writeln!(f, "  empties {chunk}")?;
        }
        writeln!(f, "  stops: {}", self.reason)
    }
}
