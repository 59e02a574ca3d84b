//! What happens before what: a vector clock for every submission and bind that is not done yet.
//!
//! Timelines order work of one kind; semaphores order kinds. A submission that waits for a bind also comes after
//! everything that the bind waited for, and so do the submissions after it on the same queue. [`Clocks`] keeps that
//! relation, so that a checker can ask whether two moments are ordered. Pure.
//!
//! Two submissions to one queue count as ordered: a semaphore that waits for the second waits for the first, and what
//! the first waited for the second need not wait for again. Barriers between their commands are not looked at.
//!
//! The idea is that of vector clocks (Fidge 1988, Mattern 1989), with one component a timeline.

use std::collections::BTreeMap;

use super::timeline::{Point, Points, Timeline};

/// The clocks of one device.
#[derive(Debug, Clone, Default)]
pub struct Clocks {
    /// For each timeline: what every value of it that is kept comes after.
    after: [BTreeMap<u64, Points>; Timeline::ALL.len()],
    /// The clock of the last value of each timeline.
    last: [Points; Timeline::ALL.len()],
}

impl Clocks {
    /// Notes a submission or bind that waits for `waits` and then signals `point`. Values of a timeline are noted in
    /// rising order; each comes after the one before it.
    pub fn note(&mut self, point: Point, waits: &[Point]) {
        let own = point.timeline as usize;
        let mut clock = self.last[own];
        for wait in waits {
            let other = wait.timeline as usize;
            clock[other] = clock[other].max(wait.value);
            // A value that is noted no longer was reached; so was everything before it.
            let known = self.after[other].range(..=wait.value).next_back();
            for (mine, theirs) in clock.iter_mut().zip(known.map(|(_, clock)| *clock).unwrap_or_default()) {
                *mine = (*mine).max(theirs);
            }
        }
        clock[own] = clock[own].max(point.value);
        self.last[own] = clock;
        self.after[own].insert(point.value, clock);
    }

    /// Whether `earlier` is over before anything of `later` starts. Moments that were reached are the caller's to
    /// know ([`Clocks::forget`] drops them here). Value 0 comes before everything.
    pub fn is_before(&self, earlier: Point, later: Point) -> bool {
        if earlier.value == 0 {
            return true;
        }
        let clock = self.after[later.timeline as usize].get(&later.value);
        let Some(clock) = clock else { return false };
        // A moment's own clock holds itself; of its own timeline only what comes strictly before counts.
        let own = earlier.timeline == later.timeline;
        clock[earlier.timeline as usize] >= earlier.value && !(own && earlier.value >= later.value)
    }

    /// Drops what was reached.
    pub fn forget(&mut self, completed: &Points) {
        for (timeline, done) in completed.iter().enumerate() {
            // The newest one that is done stays: later waits for it look its clock up.
            let keep = self.after[timeline].range(..=done).next_back().map(|(value, _)| *value);
            if let Some(keep) = keep {
                self.after[timeline] = self.after[timeline].split_off(&keep);
            }
        }
    }

    /// Moments kept.
    pub fn len(&self) -> usize {
        self.after.iter().map(BTreeMap::len).sum()
    }

    /// Whether no moment is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(timeline: Timeline, value: u64) -> Point {
        Point { timeline, value }
    }

    #[test]
    fn waits_carry_over_what_they_waited_for() {
        use Timeline::{Bind, Graphics, Transfer};
        let mut clocks = Clocks::default();
        clocks.note(at(Transfer, 1), &[]);
        clocks.note(at(Bind, 1), &[at(Transfer, 1)]);
        clocks.note(at(Graphics, 1), &[]);
        clocks.note(at(Graphics, 2), &[at(Bind, 1)]);
        clocks.note(at(Graphics, 3), &[]);
        assert!(clocks.is_before(at(Bind, 1), at(Graphics, 2)));
        assert!(clocks.is_before(at(Transfer, 1), at(Graphics, 2)), "through the bind");
        assert!(clocks.is_before(at(Bind, 1), at(Graphics, 3)), "later on the same queue");
        assert!(!clocks.is_before(at(Bind, 1), at(Graphics, 1)));
        assert!(!clocks.is_before(at(Graphics, 1), at(Bind, 1)));
        assert!(!clocks.is_before(at(Graphics, 3), at(Graphics, 3)), "not before itself");
        assert!(clocks.is_before(at(Graphics, 0), at(Bind, 1)), "nothing comes before everything");
    }

    proptest! {
        /// Against reachability in the graph of waits.
        #[test]
        fn the_relation_is_reachability(
            steps in prop::collection::vec((0..3usize, prop::collection::vec((0..3usize, 0..30u64), 0..3)), 1..40),
            forget_at in 0..40usize,
        ) {
            let mut clocks = Clocks::default();
            let mut submitted: Points = [0; Timeline::ALL.len()];
            let mut edges: Vec<(Point, Vec<Point>)> = Vec::new();
            let mut done: Points = [0; Timeline::ALL.len()];
            for (index, (timeline, waits)) in steps.into_iter().enumerate() {
                let waits: Vec<Point> = waits
                    .into_iter()
                    .map(|(other, value)| at(Timeline::ALL[other], value.min(submitted[other])))
                    .filter(|p| p.value > 0)
                    .collect();
                submitted[timeline] += 1;
                let point = at(Timeline::ALL[timeline], submitted[timeline]);
                clocks.note(point, &waits);
                let mut before = waits.clone();
                if point.value > 1 {
                    before.push(at(point.timeline, point.value - 1));
                }
                edges.push((point, before));
                if index == forget_at {
                    done = submitted;
                    clocks.forget(&done);
                    prop_assert!(clocks.len() <= 3);
                }
                for (earlier, _) in &edges {
                    let mut reached = vec![point];
                    let mut seen: Vec<Point> = Vec::new();
                    while let Some(next) = reached.pop() {
                        if seen.contains(&next) { continue; }
                        seen.push(next);
                        // Waiting for a value waits for all lower ones of that timeline.
                        for (_, before) in edges.iter().filter(|(p, _)| *p == next) {
                            reached.extend(before.iter().copied());
                        }
                    }
                    let ordered = *earlier != point && seen.contains(earlier);
                    let is_done = earlier.value <= done[earlier.timeline as usize];
                    if ordered && !is_done {
                        prop_assert!(clocks.is_before(*earlier, point), "{:?} {:?}", earlier, point);
                    }
                    if !ordered {
                        prop_assert!(!clocks.is_before(*earlier, point), "{:?} {:?}", earlier, point);
                    }
                }
            }
        }
    }
}
