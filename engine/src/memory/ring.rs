//! Offsets in a ring of bytes that the host writes and the GPU reads some frames later.
//!
//! ```text
//! allocate, allocate, ... | finish(timeline value) | allocate ... | finish(next value)
//!                                        reclaim(completed value) gives back what is done
//! ```
//!
//! Pure: the ring itself is a persistently mapped buffer somewhere else, and a timeline value is a
//! number. What is allocated between two `finish` calls lives until `reclaim` sees the value of the
//! second one.

use std::collections::VecDeque;

/// A timeline value was lower than one given before. Nothing has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the ring was finished with timeline value {value} after {last}: values of one ring come from one \
     timeline and never fall"
)]
pub struct ValueWentBack {
    /// The value that was given.
    pub value: u64,
    /// The highest value before it.
    pub last: u64,
}

/// How full a ring is, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct Occupancy {
    /// The size of the ring.
    pub capacity: u64,
    /// Taken by finished allocations that the GPU may still read, padding included.
    pub in_flight: u64,
    /// Taken since the last finish, padding included.
    pub open: u64,
    /// Of both: lost to alignment and to the jump over the end.
    pub padding: u64,
    /// The highest `in_flight + open` ever.
    pub high_water: u64,
}

#[derive(Debug, Clone, Copy)]
struct Segment {
    value: u64,
    end: u64,
    padding: u64,
}

/// Plans the offsets of one ring.
///
/// Positions count up for ever; a position's offset is its remainder by the capacity.
#[derive(Debug, Clone)]
pub struct RingPlanner {
    capacity: u64,
    head: u64,
    tail: u64,
    closed: u64,
    open_padding: u64,
    last_value: u64,
    high_water: u64,
    segments: VecDeque<Segment>,
}

impl RingPlanner {
    /// An empty ring of `capacity` bytes. A ring of zero bytes refuses every allocation.
    pub fn new(capacity: u64) -> Self {
        Self {
            capacity,
            head: 0,
            tail: 0,
            closed: 0,
            open_padding: 0,
            last_value: 0,
            high_water: 0,
            segments: VecDeque::new(),
        }
    }

    /// `size` bytes at a multiple of `align` (zero counts as one), in one piece: never across the end of
    /// the ring. `None`, and nothing changed, when there is no room until more is reclaimed, or when
    /// `size` is zero or larger than the ring.
    pub fn allocate(&mut self, size: u64, align: u64) -> Option<u64> {
        if size == 0 || size > self.capacity {
            return None;
        }
        if self.head == self.tail && self.segments.is_empty() {
            // Nothing lives, so the whole ring is there in one piece.
            (self.head, self.tail, self.closed) = (0, 0, 0);
        }
        let here = self.head % self.capacity;
        let aligned = here.checked_next_multiple_of(align.max(1));
        let fits = aligned.filter(|at| at.checked_add(size).is_some_and(|end| end <= self.capacity));
        // Offset 0 is a multiple of every alignment.
        let (offset, padding) = fits.map_or((0, self.capacity - here), |at| (at, at - here));
        let taken = padding.checked_add(size)?;
        if taken > self.capacity - (self.head - self.tail) {
            return None;
        }
        self.head += taken;
        self.open_padding += padding;
        self.high_water = self.high_water.max(self.head - self.tail);
        Some(offset)
    }

    /// Closes what was allocated since the last call: it lives until `timeline_value` is reached.
    ///
    /// # Errors
    /// [`ValueWentBack`] when the value is lower than an earlier one.
    pub fn finish(&mut self, timeline_value: u64) -> Result<(), ValueWentBack> {
        if timeline_value < self.last_value {
            return Err(ValueWentBack { value: timeline_value, last: self.last_value });
        }
        self.last_value = timeline_value;
        if self.head > self.closed {
            let padding = std::mem::take(&mut self.open_padding);
            self.segments.push_back(Segment { value: timeline_value, end: self.head, padding });
            self.closed = self.head;
        }
        Ok(())
    }

    /// Gives back everything that was finished with `completed_value` or a lower one, and says how many
    /// bytes (padding included) that is.
    pub fn reclaim(&mut self, completed_value: u64) -> u64 {
        let before = self.tail;
        while let Some(done) = self.segments.pop_front_if(|segment| segment.value <= completed_value) {
            self.tail = done.end;
        }
        self.tail - before
    }

    /// The value to wait for when an allocation finds no room: reaching it gives something back. `None`
    /// when nothing is in flight, so that waiting would not help.
    pub fn next_value(&self) -> Option<u64> {
        self.segments.front().map(|segment| segment.value)
    }

    /// How full the ring is.
    pub fn occupancy(&self) -> Occupancy {
        Occupancy {
            capacity: self.capacity,
            in_flight: self.closed - self.tail,
            open: self.head - self.closed,
            padding: self.open_padding + self.segments.iter().map(|segment| segment.padding).sum::<u64>(),
            high_water: self.high_water,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Debug, Clone)]
    enum Step {
        Allocate(u64, u64),
        Finish(u64),
        Reclaim(u64),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let align = prop_oneof![Just(0u64), Just(1), Just(4), Just(16), Just(12), Just(256), Just(u64::MAX)];
        let step = prop_oneof![
            6 => (0..120u64, align).prop_map(|(size, align)| Step::Allocate(size, align)),
            2 => (0..2u64).prop_map(Step::Finish),
            2 => (0..4u64).prop_map(Step::Reclaim),
        ];
        prop::collection::vec(step, 1..120)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(800))]

        #[test]
        fn live_allocations_never_overlap_and_all_comes_back(capacity in 0..400u64, steps in steps()) {
            let mut ring = RingPlanner::new(capacity);
            // Offset, size, and the value it was finished with.
            let mut live: Vec<(u64, u64, Option<u64>)> = Vec::new();
            let (mut value, mut completed) = (0, 0);
            for step in steps {
                match step {
                    Step::Allocate(size, align) => {
                        let before = ring.occupancy();
                        if let Some(offset) = ring.allocate(size, align) {
                            prop_assert!(size > 0 && offset + size <= capacity, "straddles the end");
                            prop_assert_eq!(offset % align.max(1), 0);
                            for &(other, length, _) in &live {
                                prop_assert!(offset + size <= other || other + length <= offset, "overlap");
                            }
                            live.push((offset, size, None));
                        } else {
                            prop_assert_eq!(ring.occupancy(), before);
                            prop_assert!(!live.is_empty() || size == 0 || size > capacity, "refused while empty");
                        }
                    }
                    Step::Finish(more) => {
                        value += more;
                        ring.finish(value).unwrap();
                        live.iter_mut().for_each(|l| { l.2.get_or_insert(value); });
                    }
                    Step::Reclaim(back) => {
                        completed = completed.max(value.saturating_sub(back));
                        ring.reclaim(completed);
                        live.retain(|l| l.2.is_none_or(|value| value > completed));
                    }
                }
                let occupancy = ring.occupancy();
                let sum: u64 = live.iter().map(|l| l.1).sum();
                prop_assert_eq!(occupancy.in_flight + occupancy.open, sum + occupancy.padding);
                prop_assert!(occupancy.in_flight + occupancy.open <= capacity);
                prop_assert!(occupancy.high_water <= capacity);
                prop_assert_eq!(ring.next_value(), live.iter().filter_map(|l| l.2).min());
            }
            ring.finish(value + 1).unwrap();
            ring.reclaim(value + 1);
            let occupancy = ring.occupancy();
            prop_assert_eq!((occupancy.in_flight, occupancy.open, occupancy.padding), (0, 0, 0));
            prop_assert_eq!(ring.allocate(capacity, 256), (capacity > 0).then_some(0));
        }
    }

    #[test]
    fn it_wraps_and_waits_for_the_gpu() {
        let mut ring = RingPlanner::new(100);
        assert_eq!(ring.allocate(60, 1), Some(0));
        ring.finish(1).unwrap();
        assert_eq!(ring.allocate(30, 8), Some(64));
        ring.finish(2).unwrap();
        assert_eq!(ring.allocate(50, 1), None, "the first 60 bytes are still read");
        assert_eq!(ring.next_value(), Some(1));
        assert_eq!(ring.reclaim(1), 60);
        assert_eq!(ring.allocate(50, 1), Some(0), "past the end, from the start");
        assert_eq!(ring.allocate(20, 1), None, "only 14 bytes are left below the live ones");
        assert_eq!(ring.occupancy().padding, 4 + 6);
        assert_eq!(ring.finish(1), Err(ValueWentBack { value: 1, last: 2 }));
    }
}
