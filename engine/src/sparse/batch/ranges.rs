//! Byte ranges that never overlap: the last one wins, and what it covers of older ones is cut away.

use super::ordered::Ordered;
use super::{Memory, Phase};

/// How many pieces each request has in the batch, to know which are gone and which were cut.
#[derive(Debug, Clone, Default)]
pub(super) struct Tally {
    pieces: Vec<u64>,
}

impl Tally {
    /// A new request without pieces.
    pub(super) fn open(&mut self) -> usize {
        self.pieces.push(0);
        self.pieces.len() - 1
    }

    pub(super) fn add(&mut self, request: usize) {
        if let Some(pieces) = self.pieces.get_mut(request) {
            *pieces += 1;
        }
    }

    pub(super) fn remove(&mut self, request: usize) {
        if let Some(pieces) = self.pieces.get_mut(request) {
            *pieces = pieces.saturating_sub(1);
        }
    }

    /// Requests of which nothing is left.
    pub(super) fn replaced(&self) -> u64 {
        self.pieces.iter().filter(|&&pieces| pieces == 0).count() as u64
    }

    /// Pieces beyond one of each request of which something is left.
    pub(super) fn split(&self) -> u64 {
        self.pieces.iter().map(|pieces| pieces.saturating_sub(1)).sum()
    }
}

/// A range, or what is left of one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece {
    /// The byte after the last one.
    pub(super) end: u64,
    pub(super) memory: Option<Memory>,
    pub(super) phase: Phase,
    pub(super) request: usize,
}

impl Piece {
    /// The same piece without its first `bytes`. Checked when it was pushed: its memory ends in 64 bits.
    fn without_first(self, bytes: u64) -> Self {
        Self { memory: self.memory.and_then(|memory| memory.advanced(bytes)), ..self }
    }
}

/// Pieces by their first byte. No two overlap, none is empty.
#[derive(Debug, Clone, Default)]
pub(super) struct Ranges {
    pieces: Ordered<u64, Piece>,
}

impl Ranges {
    /// Puts `piece` at `start`, over whatever was there. A growth over a pending shrink becomes shrink; the
    /// answer is whether that happened.
    ///
    /// Each call adds at most three pieces and looks only at those it removes and their neighbour, so `n`
    /// calls take `n log n` steps however they overlap.
    pub(super) fn put(&mut self, start: u64, mut piece: Piece, tally: &mut Tally) -> bool {
        if self.pieces.last().is_none_or(|(_, last)| last.end <= start) {
            tally.add(piece.request);
            self.pieces.push(start, piece);
            return false;
        }
        let covers_shrink = self.cut(start, piece.end, tally);
        let is_delayed = covers_shrink && piece.phase == Phase::Growth;
        if is_delayed {
            piece.phase = Phase::Shrink;
        }
        tally.add(piece.request);
        self.pieces.tree().insert(start, piece);
        is_delayed
    }

    /// Cuts `[start, end)` out, and says whether any of it was to shrink.
    fn cut(&mut self, start: u64, end: u64, tally: &mut Tally) -> bool {
        let pieces = self.pieces.tree();
        if let Some((&first, left)) = pieces.range_mut(..start).next_back()
            && left.end > start
        {
            let right = left.without_first(start - first);
            left.end = start;
            tally.add(right.request);
            pieces.insert(start, right);
        }
        let mut covers_shrink = false;
        while let Some((&first, &piece)) = pieces.range(start..end).next() {
            pieces.remove(&first);
            covers_shrink |= piece.phase == Phase::Shrink;
            if piece.end > end {
                pieces.insert(end, piece.without_first(end - first));
            } else {
                tally.remove(piece.request);
            }
        }
        covers_shrink
    }

    /// The pieces by ascending start.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &Piece)> {
        self.pieces.iter().map(|(&start, piece)| (start, piece))
    }
}
