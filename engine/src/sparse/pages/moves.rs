//! Moving pages in two halves, with the copies and remaps of the executor in between.

use super::pool::{PageAfter, PagePool, PageState};
use super::{ChunkIndex, DefragPlan, PageError, PageMove};

/// Moves that have begun: their targets are reserved, their owners still lie where they did.
///
/// Give it back through [`PagePool::apply_end`] or [`PagePool::cancel_all`]; if it is dropped, its pages stay
/// in the move until they are freed or cancelled one by one.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "the pages stay reserved until the moves end or are cancelled"]
pub struct BegunMoves {
    batch: u64,
    moves: Vec<PageMove>,
}

impl BegunMoves {
    /// The moves as planned. Some may have been cancelled since: [`PagePool::is_under_way`].
    pub fn moves(&self) -> &[PageMove] {
        &self.moves
    }
}

/// What became of the moves of a step.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DefragReport {
    /// Moves that have ended: the owner lies at the target now.
    pub moved: Vec<PageMove>,
    /// Moves that were cancelled before, by a call or because their page was freed.
    pub cancelled: Vec<PageMove>,
    /// Chunks that these moves left without an owner, ascending. They may be removed once what was
    /// quarantined in them is released.
    pub emptied: Vec<ChunkIndex>,
}

impl DefragReport {
    /// Bytes of the chunks that were emptied.
    pub fn freed_bytes(&self, chunk_bytes: u64) -> u64 {
        (self.emptied.len() as u64).saturating_mul(chunk_bytes)
    }
}

impl std::fmt::Display for DefragReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (moved, cancelled) = (self.moved.len(), self.cancelled.len());
        writeln!(f, "defragmented: {moved} pages moved, {cancelled} moves cancelled")?;
        for page_move in &self.cancelled {
            writeln!(f, "  cancelled: {page_move}")?;
        }
        self.emptied.iter().try_for_each(|chunk| writeln!(f, "  emptied {chunk}"))
    }
}

impl PagePool {
    /// Begins the moves of a plan, all or none: each target is reserved for its owner (not to be allocated,
    /// not to be moved), the owner stays where it is. Copy the contents and queue the remaps, then call
    /// [`Self::apply_end`].
    ///
    /// # Errors
    /// [`PageError::StaleMove`] when the pool has changed since the plan was made so that a move no longer
    /// holds; [`PageError::NoChunk`] and [`PageError::NoPage`] when a page of it is gone.
    pub fn apply_begin(&mut self, plan: &DefragPlan) -> Result<BegunMoves, PageError> {
        let batch = self.next_batch;
        for (index, page_move) in plan.moves.iter().enumerate() {
            if let Err(error) = self.begin(page_move, batch) {
                for begun in plan.moves.iter().take(index) {
                    self.set(begun.from, PageState::Used(begun.owner));
                    self.set(begun.to, PageState::Free);
                }
                return Err(error);
            }
        }
        self.next_batch += 1;
        Ok(BegunMoves { batch, moves: plan.moves.clone() })
    }

    fn begin(&mut self, page_move: &PageMove, batch: u64) -> Result<(), PageError> {
        let PageMove { owner, from, to } = *page_move;
        for (page, expected) in [(from, PageState::Used(owner)), (to, PageState::Free)] {
            let state = self.state(page)?;
            if state != expected {
                return Err(PageError::StaleMove { planned: *page_move, page, state });
            }
        }
        self.set(from, PageState::MovingOut { owner, to, batch });
        self.set(to, PageState::MovingIn { owner, from, batch });
        Ok(())
    }

    /// Ends the moves that are still under way: the owners lie at their targets now.
    ///
    /// `after` is what becomes of the pages they left: [`PageAfter::Quarantine`] until the remaps are done
    /// and the earlier users finished (release each then), or [`PageAfter::Free`] where that is certain.
    /// Moves that were cancelled are reported and touch nothing.
    pub fn apply_end(&mut self, begun: BegunMoves, after: PageAfter) -> DefragReport {
        let mut report = DefragReport::default();
        for page_move in begun.moves {
            if !self.is_moving(&page_move, Some(begun.batch)) {
                report.cancelled.push(page_move);
                continue;
            }
            self.set(page_move.to, PageState::Used(page_move.owner));
            self.set(page_move.from, vacated(after, true));
            report.moved.push(page_move);
        }
        report.emptied = report.moved.iter().map(|page_move| page_move.from.chunk).collect();
        report.emptied.sort_unstable();
        report.emptied.dedup();
        report
            .emptied
            .retain(|&chunk| self.occupancy(chunk).is_some_and(|o| o.used == 0 && o.moving_in == 0));
        report
    }

    /// Cancels one move that is under way: the owner stays where it is and may be moved again.
    ///
    /// `after` is what becomes of the target: free, or quarantined when a copy into it may be running.
    ///
    /// # Errors
    /// [`PageError::NotMoving`].
    pub fn cancel(&mut self, page_move: &PageMove, after: PageAfter) -> Result<(), PageError> {
        if !self.is_moving(page_move, None) {
            return Err(PageError::NotMoving(*page_move));
        }
        self.set(page_move.from, PageState::Used(page_move.owner));
        self.set(page_move.to, vacated(after, false));
        Ok(())
    }

    /// Cancels all moves of a step that are still under way, and returns them. For a bind that failed.
    pub fn cancel_all(&mut self, begun: BegunMoves, after: PageAfter) -> Vec<PageMove> {
        let mut moves = begun.moves;
        moves.retain(|page_move| {
            self.is_moving(page_move, Some(begun.batch)) && self.cancel(page_move, after).is_ok()
        });
        moves
    }

    /// Whether a move of this step is still under way: it is not once it was cancelled, or its page was
    /// freed.
    pub fn is_under_way(&self, begun: &BegunMoves, page_move: &PageMove) -> bool {
        self.is_moving(page_move, Some(begun.batch))
    }

    /// Whether a move is under way, of one `apply_begin` or of any: the same pages may be moved in the same
    /// way again after a cancel, and an older step must not end a newer one.
    fn is_moving(&self, page_move: &PageMove, of_batch: Option<u64>) -> bool {
        match self.state(page_move.from) {
            Ok(PageState::MovingOut { owner, to, batch }) => {
                owner == page_move.owner && to == page_move.to && of_batch.is_none_or(|b| b == batch)
            }
            _ => false,
        }
    }
}

fn vacated(after: PageAfter, vacated: bool) -> PageState {
    match after {
        PageAfter::Free => PageState::Free,
        PageAfter::Quarantine => PageState::Quarantined { vacated },
    }
}
