//! Times of frames, and what there is to say about them.

use std::collections::VecDeque;

use serde::Serialize;

/// The times of all frames, in milliseconds.
#[derive(Debug, Clone, Default)]
pub struct FrameTimes {
    all: VecDeque<f64>,
}

/// Enough for every run that ends, and a bound for those that do not.
const KEPT: usize = 100_000;

/// `frame_ms` of `stats.json`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Summary {
    /// Shortest.
    pub min: f64,
    /// Half are shorter.
    pub median: f64,
    /// 95 in 100 are shorter.
    pub p95: f64,
    /// 99 in 100 are shorter.
    pub p99: f64,
    /// Longest.
    pub max: f64,
}

impl FrameTimes {
    /// Adds a frame's time.
    pub fn add(&mut self, milliseconds: f64) {
        if self.all.len() == KEPT {
            self.all.pop_front();
        }
        self.all.push_back(milliseconds);
    }

    /// The last `count` times, the oldest first.
    pub fn last(&self, count: usize) -> impl Iterator<Item = f64> + '_ {
        self.all.iter().skip(self.all.len().saturating_sub(count)).copied()
    }

    /// What there is to say; zeros before the first frame.
    pub fn summary(&self) -> Summary {
        let mut sorted: Vec<f64> = self.all.iter().copied().collect();
        sorted.sort_by(f64::total_cmp);
        let Some(last) = sorted.len().checked_sub(1) else { return Summary::default() };
        // The nearest rank: a time that was measured, never one in between.
        let rank = |percent: usize| sorted[(sorted.len() * percent).div_ceil(100).saturating_sub(1)];
        Summary { min: sorted[0], median: rank(50), p95: rank(95), p99: rank(99), max: sorted[last] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_measured_times() {
        let mut times = FrameTimes::default();
        (1..=100).rev().for_each(|n| times.add(f64::from(n)));
        let expected = Summary { min: 1.0, median: 50.0, p95: 95.0, p99: 99.0, max: 100.0 };
        assert_eq!(times.summary(), expected);
        assert_eq!(times.last(2).collect::<Vec<_>>(), [2.0, 1.0]);
    }

    #[test]
    fn one_time_is_all_of_them_and_none_is_zero() {
        let mut times = FrameTimes::default();
        assert_eq!(times.summary(), Summary::default());
        times.add(7.0);
        assert_eq!(times.summary(), Summary { min: 7.0, median: 7.0, p95: 7.0, p99: 7.0, max: 7.0 });
    }

    #[test]
    fn memory_is_bounded() {
        let mut times = FrameTimes::default();
        (0..KEPT + 5).for_each(|n| times.add(n as f64));
        assert_eq!(times.summary().min, 5.0);
    }
}
