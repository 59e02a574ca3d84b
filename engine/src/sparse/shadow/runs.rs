//! An interval map: runs of addresses with one value each, split where a change begins or ends, and merged
//! again where neighbours continue each other.

use std::collections::BTreeMap;
use std::ops::Range;

/// A value that holds for a run of addresses and may move along with them.
pub(super) trait Slide: Clone + PartialEq {
    /// The value `bytes` further on in the same run.
    fn slid(&self, bytes: u64) -> Self;
}

impl Slide for () {
    fn slid(&self, _: u64) {}
}

#[derive(Debug, Clone, PartialEq)]
struct Run<V> {
    end: u64,
    value: V,
}

/// Runs by their first address. No run is empty, none overlap, and no two that touch could be one.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RunMap<V> {
    runs: BTreeMap<u64, Run<V>>,
}

impl<V> Default for RunMap<V> {
    fn default() -> Self {
        Self { runs: BTreeMap::new() }
    }
}

impl<V: Slide> RunMap<V> {
    /// The runs, ascending.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Range<u64>, &V)> {
        self.runs.iter().map(|(&start, run)| (start..run.end, &run.value))
    }

    /// What lies in `range`, ascending and without gaps: runs cut to it, and holes as `None`.
    pub(super) fn pieces(&self, range: Range<u64>) -> Vec<(Range<u64>, Option<V>)> {
        let mut pieces = Vec::new();
        let mut at = range.start;
        let first = self.runs.range(..range.start).next_back().filter(|(_, run)| run.end > range.start);
        let rest = self.runs.range(range.start..range.end.max(range.start));
        for (&start, run) in first.into_iter().chain(rest) {
            let from = start.max(range.start);
            let to = run.end.min(range.end);
            if from >= to {
                continue;
            }
            if at < from {
                pieces.push((at..from, None));
            }
            pieces.push((from..to, Some(run.value.slid(from - start))));
            at = to;
        }
        if at < range.end {
            pieces.push((at..range.end, None));
        }
        pieces
    }

    /// Gives all of `range` the value, which holds at its start; `None` makes it a hole.
    pub(super) fn set(&mut self, range: Range<u64>, value: Option<V>) {
        if range.is_empty() {
            return;
        }
        self.split(range.start);
        self.split(range.end);
        let inside: Vec<u64> = self.runs.range(range.clone()).map(|(&start, _)| start).collect();
        for start in inside {
            self.runs.remove(&start);
        }
        if let Some(value) = value {
            self.runs.insert(range.start, Run { end: range.end, value });
        }
        self.merge(range.start);
        self.merge(range.end);
    }

    /// Changes the values of the runs in `range` where they are; holes stay holes.
    pub(super) fn modify(&mut self, range: Range<u64>, mut change: impl FnMut(&mut V)) {
        if range.is_empty() {
            return;
        }
        self.split(range.start);
        self.split(range.end);
        let mut starts = Vec::new();
        for (&start, run) in self.runs.range_mut(range.clone()) {
            change(&mut run.value);
            starts.push(start);
        }
        starts.push(range.end);
        for start in starts {
            self.merge(start);
        }
    }

    /// Makes `at` a border of runs.
    fn split(&mut self, at: u64) {
        let Some((&start, run)) = self.runs.range_mut(..at).next_back() else { return };
        if run.end > at {
            let later = Run { end: run.end, value: run.value.slid(at - start) };
            run.end = at;
            self.runs.insert(at, later);
        }
    }

    /// Joins the run that starts at `at` to the one before, where it continues it.
    fn merge(&mut self, at: u64) {
        let Some(later) = self.runs.get(&at) else { return };
        let Some((&start, run)) = self.runs.range(..at).next_back() else { return };
        if run.end == at && run.value.slid(at - start) == later.value {
            let end = later.end;
            self.runs.remove(&at);
            if let Some(run) = self.runs.get_mut(&start) {
                run.end = end;
            }
        }
    }
}
