//! Figures out of samples. Pure; every figure is a value that was measured (nearest rank), never one between.

use serde::Serialize;

/// The smallest sample that at least the part `p` (0 to 1) of all samples do not exceed. `None` of nothing.
pub(crate) fn percentile(samples: &[f64], p: f64) -> Option<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (p.clamp(0.0, 1.0) * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied()
}

/// Median of samples. `None` of nothing.
pub(crate) fn median(samples: &[f64]) -> Option<f64> {
    percentile(samples, 0.5)
}

/// Times of frames.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct FrameTimes {
    /// Half the frames took no longer.
    pub(crate) median: f64,
    /// 95 of a hundred took no longer.
    pub(crate) p95: f64,
    /// 99 of a hundred took no longer.
    pub(crate) p99: f64,
    /// The longest.
    pub(crate) max: f64,
}

impl FrameTimes {
    /// Of samples. `None` of nothing.
    pub(crate) fn of(samples: &[f64]) -> Option<Self> {
        let at = |p| percentile(samples, p);
        Some(Self { median: at(0.5)?, p95: at(0.95)?, p99: at(0.99)?, max: at(1.0)? })
    }

    /// Of several runs: the median of each figure over the runs, and the longest frame of all.
    pub(crate) fn over_runs(runs: &[FrameTimes]) -> Option<Self> {
        let figure =
            |pick: fn(&FrameTimes) -> f64, p| percentile(&runs.iter().map(pick).collect::<Vec<_>>(), p);
        Some(Self {
            median: figure(|r| r.median, 0.5)?,
            p95: figure(|r| r.p95, 0.5)?,
            p99: figure(|r| r.p99, 0.5)?,
            max: figure(|r| r.max, 1.0)?,
        })
    }
}

/// Times of a call.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct CallTimes {
    /// Half the calls took no longer.
    pub(crate) median: f64,
    /// The longest.
    pub(crate) max: f64,
}

impl CallTimes {
    /// Of samples. `None` of nothing.
    pub(crate) fn of(samples: &[f64]) -> Option<Self> {
        Some(Self { median: median(samples)?, max: percentile(samples, 1.0)? })
    }
}

/// How a figure varies over runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Spread {
    /// Smallest.
    pub(crate) min: f64,
    /// Median.
    pub(crate) median: f64,
    /// Largest.
    pub(crate) max: f64,
}

impl Spread {
    /// Of one figure a run. `None` of nothing.
    pub(crate) fn of(figures: &[f64]) -> Option<Self> {
        let at = |p| percentile(figures, p);
        Some(Self { min: at(0.0)?, median: at(0.5)?, max: at(1.0)? })
    }
}

/// Which runs were made on a steady machine: every canary of the run within `tolerance` (a part, 0.2 = 20%)
/// of the median of all canaries.
pub(crate) fn steady(canaries: &[Vec<f64>], tolerance: f64) -> Vec<bool> {
    let all: Vec<f64> = canaries.iter().flatten().copied().collect();
    let Some(usual) = median(&all) else { return vec![true; canaries.len()] };
    canaries.iter().map(|run| run.iter().all(|c| (c - usual).abs() <= tolerance * usual)).collect()
}

/// Rounds in which the runs of *all* variants were steady: `variants[v][round]` is a run's canaries.
pub(crate) fn steady_rounds(variants: &[Vec<Vec<f64>>], tolerance: f64) -> usize {
    let rounds = variants.iter().map(Vec::len).min().unwrap_or(0);
    let kept = steady(&variants.concat(), tolerance);
    let starts = variants.iter().scan(0, |next, runs| Some(std::mem::replace(next, *next + runs.len())));
    let starts: Vec<usize> = starts.collect();
    (0..rounds).filter(|round| starts.iter().all(|start| kept[start + round])).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_nearest_ranks() {
        let samples: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        assert_eq!(percentile(&samples, 0.5), Some(50.0));
        assert_eq!(percentile(&samples, 0.95), Some(95.0));
        assert_eq!(percentile(&samples, 0.99), Some(99.0));
        assert_eq!(percentile(&samples, 1.0), Some(100.0));
        assert_eq!(percentile(&samples, 0.0), Some(1.0));
        assert_eq!(percentile(&[7.0], 0.99), Some(7.0));
        assert_eq!(percentile(&[3.0, 1.0], 0.5), Some(1.0), "a measured value, not the mean of two");
        assert_eq!(percentile(&[], 0.5), None);
    }

    #[test]
    fn few_frames_put_p99_at_the_longest() {
        let times = FrameTimes::of(&[1.0, 1.0, 9.0, 1.0]).unwrap();
        assert_eq!(times, FrameTimes { median: 1.0, p95: 9.0, p99: 9.0, max: 9.0 });
        assert_eq!(FrameTimes::of(&[]), None);
    }

    #[test]
    fn over_runs_takes_medians_and_the_longest_frame() {
        let run = |p99, max| FrameTimes { median: 1.0, p95: 2.0, p99, max };
        let all = FrameTimes::over_runs(&[run(3.0, 5.0), run(4.0, 50.0), run(9.0, 9.0)]).unwrap();
        assert_eq!(all, FrameTimes { median: 1.0, p95: 2.0, p99: 4.0, max: 50.0 });
    }

    #[test]
    fn spreads() {
        assert_eq!(Spread::of(&[2.0, 8.0, 4.0]), Some(Spread { min: 2.0, median: 4.0, max: 8.0 }));
        assert_eq!(CallTimes::of(&[2.0, 8.0, 4.0]), Some(CallTimes { median: 4.0, max: 8.0 }));
        assert_eq!(Spread::of(&[]), None);
    }

    #[test]
    fn a_run_goes_when_any_of_its_canaries_moved() {
        let canaries = [vec![1.0, 1.1], vec![1.0, 1.0], vec![1.0, 5.0], vec![0.7, 1.0], vec![0.9, 1.0]];
        assert_eq!(steady(&canaries, 0.2), [true, true, false, false, true]);
        assert_eq!(steady(&[], 0.2), Vec::<bool>::new());
    }

    #[test]
    fn a_round_counts_when_all_its_runs_are_steady() {
        let a = vec![vec![1.0], vec![1.0], vec![9.0]];
        let b = vec![vec![1.0], vec![5.0], vec![1.0]];
        assert_eq!(steady_rounds(&[a.clone(), b], 0.2), 1);
        assert_eq!(steady_rounds(&[a], 0.2), 2);
        assert_eq!(steady_rounds(&[], 0.2), 0);
        assert_eq!(steady_rounds(&[vec![], vec![vec![1.0]]], 0.2), 0, "a round under way is none yet");
    }
}
