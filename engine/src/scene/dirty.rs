//! Which elements changed since the last upload.
//!
//! The set is exact; only [`DirtyRanges::drain`] and [`DirtyRanges::take`] join ranges that are nearly
//! adjacent, because one copy region costs more than a few elements uploaded for nothing. So what is
//! uploaded is proportional to what changed, whatever the order of the marks.

use std::collections::BTreeMap;
use std::ops::Range;

/// A set of changed elements, as disjoint ranges that do not touch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DirtyRanges {
    gap: u32,
    /// First element to end.
    ranges: BTreeMap<u32, u32>,
    len: u32,
}

impl DirtyRanges {
    /// An empty set. Ranges with at most `gap` clean elements between them are drained as one.
    pub fn new(gap: u32) -> Self {
        Self { gap, ..Self::default() }
    }

    /// Marks a range; an empty one marks nothing.
    pub fn mark(&mut self, range: Range<u32>) {
        let Range { mut start, mut end } = range;
        if start >= end {
            return;
        }
        // Every range that overlaps or touches is absorbed; they are the last ones that start by `end`.
        while let Some((&other, &other_end)) = self.ranges.range(..=end).next_back() {
            if other_end < start {
                break;
            }
            self.ranges.remove(&other);
            self.len -= other_end - other;
            start = start.min(other);
            end = end.max(other_end);
        }
        self.ranges.insert(start, end);
        self.len += end - start;
    }

    /// Forgets every mark in `range`: those elements are gone, or were written by other means.
    pub fn clear(&mut self, range: Range<u32>) {
        if range.start >= range.end {
            return;
        }
        while let Some((&other, &other_end)) = self.ranges.range(..range.end).next_back() {
            if other_end <= range.start {
                break;
            }
            self.ranges.remove(&other);
            self.len -= other_end.min(range.end) - other.max(range.start);
            if other_end > range.end {
                self.ranges.insert(range.end, other_end);
            }
            if other < range.start {
                self.ranges.insert(other, range.start);
            }
        }
    }

    /// Marked elements, without the gaps that a drain may add.
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Whether nothing is marked.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Takes everything out, ascending, near ranges joined. A gap is never wider than the knob, and every
    /// range starts and ends with a marked element.
    pub fn drain(&mut self) -> Vec<Range<u32>> {
        self.take(u32::MAX)
    }

    /// Takes out the lowest ranges, near ones joined, of at most `max_elements` in all (gaps included,
    /// the last range cut); the rest stays marked. For uploads that have to fit a ring.
    pub fn take(&mut self, max_elements: u32) -> Vec<Range<u32>> {
        let mut taken: Vec<Range<u32>> = Vec::new();
        let mut left = max_elements;
        while let Some((&start, &end)) = self.ranges.first_key_value() {
            let joined =
                taken.last().filter(|last| start - last.end <= self.gap).map(|last| start - last.end);
            let lead = joined.unwrap_or(0);
            if left <= lead {
                break;
            }
            let cut = end.min(start.saturating_add(left - lead));
            left -= lead + (cut - start);
            match taken.last_mut() {
                Some(last) if joined.is_some() => last.end = cut,
                _ => taken.push(start..cut),
            }
            self.ranges.remove(&start);
            self.len -= cut - start;
            if cut < end {
                self.ranges.insert(cut, end);
                break;
            }
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SIZE: usize = 200;

    #[derive(Debug, Clone)]
    enum Step {
        Mark(u32, u32),
        Clear(u32, u32),
        Take(u32),
        Drain,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let at = 0..=SIZE as u32;
        let step = prop_oneof![
            8 => (at.clone(), 0..12u32).prop_map(|(at, count)| Step::Mark(at, count)),
            2 => (at.clone(), 0..40u32).prop_map(|(at, count)| Step::Clear(at, count)),
            1 => (0..60u32).prop_map(Step::Take),
            1 => Just(Step::Drain),
        ];
        prop::collection::vec(step, 1..60)
    }

    /// What a drain of at most `limit` elements must give, element by element.
    fn expected(bits: &[bool], gap: u32, limit: u32) -> Vec<Range<u32>> {
        let mut all: Vec<Range<u32>> = Vec::new();
        for at in (0..bits.len() as u32).filter(|&at| bits[at as usize]) {
            let total: u32 = all.iter().map(|range| range.end - range.start).sum();
            match all.last_mut() {
                Some(last) if at - last.end <= gap => {
                    if total + (at + 1 - last.end) > limit {
                        break;
                    }
                    last.end = at + 1;
                }
                _ if total < limit => all.push(at..at + 1),
                _ => break,
            }
        }
        all
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(800))]

        #[test]
        fn it_is_a_bitset(gap in 0..6u32, steps in steps()) {
            let mut dirty = DirtyRanges::new(gap);
            let mut bits = vec![false; SIZE];
            for step in steps {
                match step {
                    Step::Mark(at, count) => {
                        let end = (at + count).min(SIZE as u32);
                        dirty.mark(at..end);
                        bits[at as usize..end as usize].fill(true);
                    }
                    Step::Clear(at, count) => {
                        let end = (at + count).min(SIZE as u32);
                        dirty.clear(at..end);
                        bits[at as usize..end as usize].fill(false);
                    }
                    Step::Take(limit) => {
                        let taken = dirty.take(limit);
                        prop_assert_eq!(&taken, &expected(&bits, gap, limit));
                        for range in taken {
                            bits[range.start as usize..range.end as usize].fill(false);
                        }
                    }
                    Step::Drain => {
                        let marked = dirty.len();
                        let drained = dirty.drain();
                        prop_assert_eq!(&drained, &expected(&bits, gap, u32::MAX));
                        let uploaded: u32 = drained.iter().map(|range| range.end - range.start).sum();
                        prop_assert!(uploaded <= marked * (1 + gap), "uploads are proportional to changes");
                        prop_assert!(dirty.is_empty());
                        bits.fill(false);
                    }
                }
                let count = bits.iter().filter(|bit| **bit).count();
                prop_assert_eq!(dirty.len() as usize, count);
                prop_assert_eq!(dirty.is_empty(), count == 0);
            }
        }
    }

    #[test]
    fn the_ends_of_the_number_range_are_safe() {
        let mut dirty = DirtyRanges::new(u32::MAX);
        dirty.mark(u32::MAX - 1..u32::MAX);
        dirty.mark(0..1);
        assert_eq!(dirty.take(2).first(), Some(&(0..1)));
        dirty.mark(0..u32::MAX);
        assert_eq!(dirty.len(), u32::MAX);
        dirty.clear(5..u32::MAX);
        assert_eq!(dirty.drain().first(), Some(&(0..5)));
        #[allow(clippy::reversed_empty_ranges)]
        dirty.mark(7..3);
        assert!(dirty.is_empty());
    }
}
