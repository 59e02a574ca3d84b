//! Ranges of elements inside a growable buffer: allocated, freed, reused, and moved down so that the
//! buffer's watermark can fall.
//!
//! Placement is [`offset_allocator`] (Sebastian Aaltonen's two-level bins: constant time, the smallest
//! class of holes that fits). Because the free space behind the last range is by far the largest hole in
//! a buffer with gigabytes of addresses, it is chosen last and ranges stay low by themselves. What drifts
//! up over time is brought down by [`RangeAllocator::plan_compaction`].
//!
//! Size classes are eighths of a power of two: a hole that is less than an eighth larger than what is
//! asked for may be passed over.
//!
//! Pure: it hands out numbers and knows no buffer. [`RangeAllocator::end`] is what must be committed.

use std::collections::BTreeMap;
use std::ops::Range;

use offset_allocator::{Allocation, Allocator};
use slotmap::SlotMap;

slotmap::new_key_type! {
    /// Names a range wherever it lies. Checked against a generation: the id of a freed range is an
    /// error for ever, never another range.
    pub struct RangeId;
}

/// Live ranges of one allocator, unless told otherwise.
pub const DEFAULT_MAX_RANGES: u32 = 64 * 1024;

/// Ranges an allocator can be made for; beyond this the bookkeeping alone would be gigabytes.
const MAX_RANGES: u32 = 1 << 24;

/// The id was freed before, or belongs to another allocator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("range {0:?} is not live: it was freed before, or belongs to another allocator")]
pub struct StaleRange(pub RangeId);

/// One copy of a compaction, in elements. `from` and `to` have the same length and do not overlap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Move {
    /// The range that moves.
    pub id: RangeId,
    /// Where it was.
    pub from: Range<u32>,
    /// Where it is now; always wholly below `from`.
    pub to: Range<u32>,
}

struct Live {
    allocation: Allocation,
    count: u32,
}

impl Live {
    fn range(&self) -> Range<u32> {
        self.allocation.offset..self.allocation.offset + self.count
    }
}

/// Hands out ranges of `[0, capacity)`.
pub struct RangeAllocator {
    capacity: u32,
    used: u32,
    space: Allocator,
    live: SlotMap<RangeId, Live>,
    /// First element of each live range, so that the last one is found at once.
    by_start: BTreeMap<u32, RangeId>,
}

impl std::fmt::Debug for RangeAllocator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { capacity, used, by_start, .. } = self;
        f.debug_struct("RangeAllocator")
            .field("capacity", capacity)
            .field("used", used)
            .field("ranges", &by_start.len())
            .finish_non_exhaustive()
    }
}

impl RangeAllocator {
    /// An empty allocator over `capacity_elements`, for at most [`DEFAULT_MAX_RANGES`] live ranges.
    pub fn new(capacity_elements: u32) -> Self {
        Self::with_max_ranges(capacity_elements, DEFAULT_MAX_RANGES)
    }

    /// An empty allocator for at most `max_ranges` live ranges (cut to 1..=2^24; some 36 bytes each).
    pub fn with_max_ranges(capacity_elements: u32, max_ranges: u32) -> Self {
        // Every live range can have a hole behind it, and the allocator keeps two nodes back.
        let nodes = max_ranges.clamp(1, MAX_RANGES) * 2 + 2;
        Self {
            capacity: capacity_elements,
            used: 0,
            space: Allocator::with_max_allocs(capacity_elements, nodes),
            live: SlotMap::with_key(),
            by_start: BTreeMap::new(),
        }
    }

    /// A range of `count` elements, or `None` when no hole is found for it, too many ranges live, or
    /// `count` is zero.
    pub fn allocate(&mut self, count: u32) -> Option<RangeId> {
        if count == 0 {
            return None;
        }
        let allocation = self.space.allocate(count)?;
        let id = self.live.insert(Live { allocation, count });
        self.by_start.insert(allocation.offset, id);
        self.used += count;
        Some(id)
    }

    /// Gives a range back and says where it was. The caller keeps the GPU from reading it later.
    ///
    /// # Errors
    /// [`StaleRange`] when `id` is not live.
    pub fn free(&mut self, id: RangeId) -> Result<Range<u32>, StaleRange> {
        let live = self.live.remove(id).ok_or(StaleRange(id))?;
        let range = live.range();
        self.by_start.remove(&range.start);
        self.used -= live.count;
        self.space.free(live.allocation);
        Ok(range)
    }

    /// Where a range lies now.
    ///
    /// # Errors
    /// [`StaleRange`] when `id` is not live.
    pub fn get(&self, id: RangeId) -> Result<Range<u32>, StaleRange> {
        self.live.get(id).map(Live::range).ok_or(StaleRange(id))
    }

    /// The end of the highest live range: `[0, end)` must be committed. Zero when nothing lives.
    pub fn end(&self) -> u32 {
        self.last().map_or(0, |(_, range)| range.end)
    }

    /// Elements in live ranges.
    pub fn used(&self) -> u32 {
        self.used
    }

    /// Elements in all, live or not.
    pub fn capacity(&self) -> u32 {
        self.capacity
    }

    /// Live ranges.
    pub fn len(&self) -> usize {
        self.live.len()
    }

    /// Whether nothing lives.
    pub fn is_empty(&self) -> bool {
        self.live.is_empty()
    }

    /// Moves ranges from the end into holes below, copying at most `max_elements_to_move` elements, and
    /// returns the copies to run.
    ///
    /// It pays by construction: only the highest range moves, wholly below where it was, so `end` falls
    /// by at least as many elements as are copied. It stops when the highest range finds no hole, is
    /// larger than what is left of the limit, or has moved in this very plan; moving anything else would
    /// not lower the end.
    ///
    /// Ids name the new places at once. No destination overlaps any source, nor any live range, so the
    /// copies may run in any order or all at once; they must run before anything is written to a
    /// range allocated after this call, and whoever reads a range must use its new place from then on.
    pub fn plan_compaction(&mut self, max_elements_to_move: u32) -> Vec<Move> {
        let mut moves: Vec<Move> = Vec::new();
        let mut moved = std::collections::HashSet::new();
        let mut left = max_elements_to_move;
        let mut sources = Vec::new();
        let blocked_tail = self.block_tail();
        while let Some((id, from)) = self.last() {
            let count = from.end - from.start;
            if count > left || moved.contains(&id) {
                break;
            }
            // The tail is blocked and the sources are not free yet, so whatever is found lies below.
            let Some(allocation) = self.space.allocate(count) else { break };
            let to = allocation.offset..allocation.offset + count;
            if to.end > from.start {
                self.space.free(allocation);
                break;
            }
            self.by_start.remove(&from.start);
            self.by_start.insert(to.start, id);
            if let Some(live) = self.live.get_mut(id) {
                sources.push(std::mem::replace(&mut live.allocation, allocation));
            }
            left -= count;
            moved.insert(id);
            moves.push(Move { id, from, to });
        }
        for allocation in blocked_tail.into_iter().chain(sources) {
            self.space.free(allocation);
        }
        moves
    }

    fn last(&self) -> Option<(RangeId, Range<u32>)> {
        let (_, &id) = self.by_start.last_key_value()?;
        Some((id, self.live.get(id)?.range()))
    }

    /// Takes the space behind the last range out of play, so that what is allocated next lies below.
    ///
    /// The allocator cannot be asked for a place, only for a size. A size that is exactly the lower bound
    /// of the tail's class is served from that class, though perhaps from another hole in it first: those
    /// are held until the tail has been found.
    fn block_tail(&mut self) -> Vec<Allocation> {
        let end = self.end();
        let mut tail = self.capacity - end;
        let mut blocked = Vec::new();
        let mut held = Vec::new();
        while tail > 0 {
            let size = class_floor(tail);
            match self.space.allocate(size) {
                Some(allocation) if allocation.offset >= end => {
                    tail -= size;
                    blocked.push(allocation);
                }
                Some(allocation) => held.push(allocation),
                None => break,
            }
        }
        for allocation in held {
            self.space.free(allocation);
        }
        blocked
    }
}

/// The lower bound of the size class that holes of `size` are filed under: four significant bits.
fn class_floor(size: u32) -> u32 {
    match size.checked_ilog2() {
        Some(top) if top > 3 => size & (u32::MAX << (top - 3)),
        _ => size,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Debug, Clone)]
    enum Step {
        Allocate(u32),
        Free(usize),
        Compact(u32),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            4 => prop_oneof![3 => 1..40u32, 1 => 1..400u32].prop_map(Step::Allocate),
            3 => any::<usize>().prop_map(Step::Free),
            2 => prop_oneof![Just(u32::MAX), 0..200u32].prop_map(Step::Compact),
        ];
        prop::collection::vec(step, 1..80)
    }

    /// Runs the copies on `memory` in an order of its own, and checks what the plan promises.
    fn run_copies(memory: &mut [u32], ranges: &RangeAllocator, moves: &[Move], reverse: bool) {
        let old = memory.to_vec();
        let mut order: Vec<&Move> = moves.iter().collect();
        if reverse {
            order.reverse();
        }
        for Move { id, from, to } in order {
            assert_eq!(from.len(), to.len());
            assert!(to.end <= from.start, "a move goes wholly below");
            assert_eq!(ranges.get(*id).unwrap(), *to);
            for other in moves {
                let apart = to.end <= other.from.start || other.from.end <= to.start;
                assert!(apart, "a destination overlaps a source");
            }
            memory.copy_within(from.start as usize..from.end as usize, to.start as usize);
            assert_eq!(
                memory[to.start as usize..to.end as usize],
                old[from.start as usize..from.end as usize]
            );
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]

        #[test]
        fn contents_follow_their_ranges(capacity in 1..2000u32, steps in steps(), reverse in any::<bool>()) {
            let mut ranges = RangeAllocator::with_max_ranges(capacity, 100);
            let mut twin = RangeAllocator::with_max_ranges(capacity, 100);
            let mut memory = vec![0u32; capacity as usize];
            let mut live: Vec<(RangeId, u32, u32)> = Vec::new(); // id, count, what it holds
            let mut freed: Vec<RangeId> = Vec::new();
            for (stamp, step) in steps.into_iter().enumerate() {
                let stamp = stamp as u32 + 1;
                match step {
                    Step::Allocate(count) => {
                        let id = ranges.allocate(count);
                        prop_assert_eq!(id, twin.allocate(count));
                        if let Some(id) = id {
                            for element in ranges.get(id).unwrap() {
                                memory[element as usize] = stamp;
                            }
                            live.push((id, count, stamp));
                        }
                    }
                    Step::Free(index) if !live.is_empty() => {
                        let (id, count, _) = live.swap_remove(index % live.len());
                        prop_assert_eq!(ranges.free(id).unwrap().len(), count as usize);
                        prop_assert!(twin.free(id).is_ok());
                        freed.push(id);
                    }
                    Step::Free(_) => {}
                    Step::Compact(limit) => {
                        let (end, used) = (ranges.end(), ranges.used());
                        let moves = ranges.plan_compaction(limit);
                        prop_assert_eq!(&moves, &twin.plan_compaction(limit), "deterministic");
                        run_copies(&mut memory, &ranges, &moves, reverse);
                        let moved: u32 = moves.iter().map(|m| m.to.len() as u32).sum();
                        prop_assert!(moved <= limit);
                        prop_assert!(end - ranges.end() >= moved, "the end falls by what is moved, or more");
                        prop_assert_eq!(ranges.used(), used);
                    }
                }
                let mut sorted: Vec<_> = live.iter().map(|l| ranges.get(l.0).unwrap()).collect();
                sorted.sort_by_key(|range| range.start);
                prop_assert!(sorted.windows(2).all(|pair| pair[0].end <= pair[1].start), "ranges overlap");
                let end = sorted.last().map_or(0, |range| range.end);
                prop_assert!(end <= capacity);
                prop_assert_eq!(ranges.end(), end);
                prop_assert_eq!(ranges.used(), live.iter().map(|l| l.1).sum::<u32>());
                for &(id, count, stamp) in &live {
                    let range = ranges.get(id).unwrap();
                    prop_assert_eq!(range.len(), count as usize);
                    prop_assert!(memory[range.start as usize..range.end as usize].iter().all(|&e| e == stamp));
                }
                for &id in &freed {
                    prop_assert_eq!(ranges.get(id), Err(StaleRange(id)));
                    prop_assert_eq!(ranges.free(id), Err(StaleRange(id)));
                }
            }
            // Nothing leaks: whatever happened, the freed space is one hole again.
            for (id, ..) in live {
                ranges.free(id).unwrap();
            }
            let whole = ranges.allocate(class_floor(capacity)).unwrap();
            prop_assert_eq!(ranges.get(whole).unwrap().start, 0);
        }

        #[test]
        fn one_survivor_comes_down(counts in prop::collection::vec(1..60u32, 20..80), survivor in any::<usize>()) {
            let mut ranges = RangeAllocator::new(1 << 20);
            let ids: Vec<_> = counts.iter().map(|&count| ranges.allocate(count).unwrap()).collect();
            let survivor = survivor % ids.len();
            for (index, &id) in ids.iter().enumerate() {
                if index != survivor {
                    ranges.free(id).unwrap();
                }
            }
            while !ranges.plan_compaction(u32::MAX).is_empty() {}
            // Below a hole of its own size class there is at most a hole an eighth larger than itself.
            let count = counts[survivor];
            prop_assert!(ranges.end() <= 2 * count + count / 8 + 1, "{} elements end at {}", count, ranges.end());
        }

        #[test]
        fn a_small_tail_does_not_catch_what_should_come_down(tail in 8..300u32, count in 1..50u32) {
            // The tail is of a smaller class than the hole, so plain best fit would choose it.
            let hole = 576;
            let mut ranges = RangeAllocator::new(hole + count + tail);
            let low = ranges.allocate(hole).unwrap();
            let high = ranges.allocate(count).unwrap();
            ranges.free(low).unwrap();
            let moves = ranges.plan_compaction(u32::MAX);
            prop_assert_eq!(moves, vec![Move { id: high, from: hole..hole + count, to: 0..count }]);
            prop_assert_eq!(ranges.end(), count);
        }
    }

    #[test]
    fn impossible_requests_are_refused() {
        let mut ranges = RangeAllocator::with_max_ranges(8, 0);
        assert_eq!(ranges.allocate(0), None);
        assert_eq!(ranges.allocate(9), None);
        assert_eq!(ranges.allocate(u32::MAX), None);
        let id = ranges.allocate(8).unwrap();
        assert_eq!((ranges.get(id), ranges.end(), ranges.len()), (Ok(0..8), 8, 1));
        assert_eq!(RangeAllocator::new(0).allocate(1), None);
        let mut most = RangeAllocator::with_max_ranges(u32::MAX, 4);
        assert_eq!(most.allocate(u32::MAX), None, "not a whole size class");
        assert!(most.allocate(class_floor(u32::MAX)).is_some());
        assert!(most.plan_compaction(u32::MAX).is_empty());
    }
}
