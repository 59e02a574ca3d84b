//! From runs to figures, table and JSON. Pure.

use std::fmt;

use serde::Serialize;
use serde_json::{Value, json};

use super::run::RunFigures;
use super::{Plan, Skipped, Variant};
use crate::harness::{CANARY_TOLERANCE, WorkSize};
use crate::report::{Table, figure, mebibytes, spread};
use crate::stats::{self, CallTimes, FrameTimes, Spread};

/// One run, kept or thrown away.
#[derive(Debug, Clone, Serialize)]
struct Run {
    kept: bool,
    canary_ms: Vec<f64>,
    frame_ms: Option<FrameTimes>,
    grow_call_us: Option<CallTimes>,
    peak_memory_bytes: u64,
    bind_calls: u64,
    bind_calls_ahead: u64,
    frames_waited: u64,
}

/// One variant over its kept runs.
#[derive(Debug, Clone, Serialize)]
struct Row {
    name: &'static str,
    ours: bool,
    /// Runs kept.
    runs: usize,
    thrown_away: usize,
    /// Medians over runs; `max` is the longest frame of all.
    frame_ms: Option<FrameTimes>,
    /// The p99 of each run.
    frame_p99_ms: Option<Spread>,
    /// The p99 of each run less that of the run without growth beside it.
    frame_p99_over_no_growth_ms: Option<Spread>,
    /// The median over all calls; the longest of all.
    grow_call_us: Option<CallTimes>,
    peak_memory_bytes: Option<u64>,
    data_bytes: u64,
    /// Peak memory as a multiple of the data.
    peak_over_data: Option<f64>,
    /// Frames of a run that waited for a bind.
    frames_waited: Option<Spread>,
    /// Bind calls of a run that a worker made.
    bind_calls_ahead: Option<Spread>,
    each_run: Vec<Run>,
}

/// Ours divided by an alternative's, run by run.
#[derive(Debug, Clone, Serialize)]
struct Comparison {
    alternative: &'static str,
    frame_p99: Option<Spread>,
    frame_max: Option<Spread>,
    grow_call_median: Option<Spread>,
    /// Of the multiples of the data: accounting, the same in every run.
    peak_over_data: Option<f64>,
}

/// The whole measurement.
#[derive(Debug, Clone)]
pub(super) struct Summary {
    plan: Plan,
    work: WorkSize,
    canary_ms: Option<f64>,
    rows: Vec<Row>,
    ours: Option<&'static str>,
    comparisons: Vec<Comparison>,
    skipped: Vec<Skipped>,
}

impl Summary {
    /// Throws away the runs in which the canary moved, and condenses the rest.
    pub(super) fn of(
        plan: Plan,
        work: WorkSize,
        variants: Vec<(Variant, Vec<RunFigures>)>,
        skipped: Vec<Skipped>,
    ) -> Self {
        let canaries: Vec<Vec<f64>> =
            variants.iter().flat_map(|(_, runs)| runs).map(|r| r.canary_ms.clone()).collect();
        let canary_ms = stats::median(&canaries.concat());
        let mut kept = stats::steady(&canaries, CANARY_TOLERANCE).into_iter();
        // Committing ahead is what the engine's own buffers do, on the side queue where there is one.
        let ours = [Variant::AheadOnSideQueue, Variant::Ahead, Variant::SideQueue, Variant::GraphicsQueue]
            .into_iter()
            .find(|ours| variants.iter().any(|(v, _)| v == ours))
            .map(Variant::name);
        let mut rows: Vec<Row> = variants
            .into_iter()
            .map(|(variant, runs)| {
                let kept: Vec<bool> = runs.iter().map(|_| kept.next().unwrap_or(true)).collect();
                row(variant.name(), ours == Some(variant.name()), &runs, &kept)
            })
            .collect();
        if let Some(floor) = rows.iter().find(|r| r.name == Variant::NoGrowth.name()).cloned() {
            for row in rows.iter_mut().filter(|r| r.name != floor.name) {
                let over = pairs(row, &floor, |a, b| Some(a.frame_ms?.p99 - b.frame_ms?.p99));
                row.frame_p99_over_no_growth_ms = Spread::of(&over);
            }
        }
        let comparisons = match rows.iter().find(|r| r.ours) {
            Some(ours) => rows.iter().filter(|r| !r.ours).map(|other| compare(ours, other)).collect(),
            None => Vec::new(),
        };
        Self { plan, work, canary_ms, rows, ours, comparisons, skipped }
    }

    /// The bench's object in the JSON document.
    pub(super) fn json(&self) -> Value {
        json!({
            "plan": self.plan,
            "frame_work": self.work,
            "canary_ms": self.canary_ms,
            "canary_bytes": self.work.canary_bytes(),
            "canary_tolerance": CANARY_TOLERANCE,
            "thrown_away": self.thrown_away(),
            "ours": self.ours,
            "variants": self.rows,
            "ours_over_alternative": self.comparisons,
            "skipped": self.skipped,
        })
    }

    fn thrown_away(&self) -> usize {
        self.rows.iter().map(|r| r.thrown_away).sum()
    }
}

fn row(name: &'static str, ours: bool, runs: &[RunFigures], kept: &[bool]) -> Row {
    let each_run: Vec<Run> = runs
        .iter()
        .zip(kept)
        .map(|(run, kept)| Run {
            kept: *kept,
            canary_ms: run.canary_ms.clone(),
            frame_ms: FrameTimes::of(&run.frames_ms),
            grow_call_us: CallTimes::of(&run.grow_us),
            peak_memory_bytes: run.peak_memory_bytes,
            bind_calls: run.bind_calls,
            bind_calls_ahead: run.bind_calls_ahead,
            frames_waited: run.frames_waited,
        })
        .collect();
    let good = || runs.iter().zip(kept).filter(|(_, kept)| **kept).map(|(run, _)| run);
    let frames: Vec<FrameTimes> = each_run.iter().filter(|r| r.kept).filter_map(|r| r.frame_ms).collect();
    let count =
        |of: fn(&RunFigures) -> u64| Spread::of(&good().map(|run| of(run) as f64).collect::<Vec<_>>());
    let calls: Vec<f64> = good().flat_map(|r| r.grow_us.iter().copied()).collect();
    // Accounting does not depend on the clock, so runs thrown away count too.
    let peak_memory_bytes = runs.iter().map(|r| r.peak_memory_bytes).max();
    let data_bytes = runs.iter().map(|r| r.data_bytes).max().unwrap_or(0);
    Row {
        name,
        ours,
        runs: good().count(),
        thrown_away: runs.len() - good().count(),
        frame_ms: FrameTimes::over_runs(&frames),
        frame_p99_ms: Spread::of(&frames.iter().map(|f| f.p99).collect::<Vec<_>>()),
        frame_p99_over_no_growth_ms: None,
        grow_call_us: CallTimes::of(&calls),
        peak_memory_bytes,
        data_bytes,
        peak_over_data: peak_memory_bytes.filter(|_| data_bytes > 0).map(|p| p as f64 / data_bytes as f64),
        frames_waited: count(|run| run.frames_waited),
        bind_calls_ahead: count(|run| run.bind_calls_ahead),
        each_run,
    }
}

/// A figure of every pair of runs that were made beside each other, where both were kept.
fn pairs(a: &Row, b: &Row, of: impl Fn(&Run, &Run) -> Option<f64>) -> Vec<f64> {
    let both = a.each_run.iter().zip(&b.each_run).filter(|(a, b)| a.kept && b.kept);
    both.filter_map(|(a, b)| of(a, b)).collect()
}

fn compare(ours: &Row, other: &Row) -> Comparison {
    let ratio = |pick: fn(&Run) -> Option<f64>| {
        Spread::of(&pairs(ours, other, |a, b| {
            let (a, b) = (pick(a)?, pick(b)?);
            (b > 0.0).then(|| a / b)
        }))
    };
    Comparison {
        alternative: other.name,
        frame_p99: ratio(|r| r.frame_ms.map(|f| f.p99)),
        frame_max: ratio(|r| r.frame_ms.map(|f| f.max)),
        grow_call_median: ratio(|r| r.grow_call_us.map(|c| c.median)),
        peak_over_data: ours.peak_over_data.zip(other.peak_over_data).map(|(a, b)| a / b),
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (plan, work) = (&self.plan, &self.work);
        let runs = self.rows.iter().map(|r| r.each_run.len()).max().unwrap_or(0);
        writeln!(
            f,
            "growth: {} MiB growing by {} MiB every {} frames to {} MiB; {} frames a run, two in flight; {runs} rounds, variants in turn",
            mebibytes(plan.start_bytes),
            mebibytes(plan.step_bytes),
            plan.frames_per_step,
            mebibytes(plan.end_bytes()),
            plan.measured_frames(),
        )?;
        writeln!(
            f,
            "a frame's work: {} x {} KiB filled; canary ({} MiB filled): {} ms, {} of {} runs thrown away because it moved by more than {:.0}%\n",
            work.repeats,
            work.bytes >> 10,
            mebibytes(work.canary_bytes()),
            figure(self.canary_ms, 3),
            self.thrown_away(),
            self.rows.iter().map(|r| r.each_run.len()).sum::<usize>(),
            CANARY_TOLERANCE * 100.0,
        )?;
        writeln!(f, "{}", self.variants())?;
        if let Some(ours) = self.ours {
            writeln!(f, "ours: {ours}\n\n{}", self.ratios())?;
        }
        for skipped in &self.skipped {
            writeln!(f, "skipped: {} ({})", skipped.name, skipped.reason)?;
        }
        writeln!(
            f,
            "over no growth: p99 less the p99 without growth of the run beside it. peak: own accounting, x data = as a multiple of the data. waited: frames of a run that waited for a bind. ahead: bind calls of a run made by the worker. three figures: min / median / max over runs."
        )
    }
}

impl Summary {
    fn variants(&self) -> Table {
        let mut table = Table::new(&[
            "frame time, ms",
            "median",
            "p95",
            "p99",
            "max",
            "p99 over runs",
            "over no growth",
            "grow call, us",
            "max",
            "peak, MiB",
            "x data",
            "waited",
            "ahead",
            "runs",
        ]);
        for row in &self.rows {
            let (frame, call) = (row.frame_ms, row.grow_call_us);
            table.row(vec![
                row.name.into(),
                figure(frame.map(|t| t.median), 3),
                figure(frame.map(|t| t.p95), 3),
                figure(frame.map(|t| t.p99), 3),
                figure(frame.map(|t| t.max), 3),
                spread(row.frame_p99_ms, 3),
                spread(row.frame_p99_over_no_growth_ms, 3),
                figure(call.map(|c| c.median), 1),
                figure(call.map(|c| c.max), 1),
                figure(row.peak_memory_bytes.map(mebibytes), 1),
                figure(row.peak_over_data, 2),
                figure(row.frames_waited.map(|s| s.median), 0),
                figure(row.bind_calls_ahead.map(|s| s.median), 0),
                row.runs.to_string(),
            ]);
        }
        table
    }

    fn ratios(&self) -> Table {
        let mut table =
            Table::new(&["ours / alternative", "p99", "longest frame", "grow call", "peak x data"]);
        for c in &self.comparisons {
            table.row(vec![
                c.alternative.into(),
                spread(c.frame_p99, 2),
                spread(c.frame_max, 2),
                spread(c.grow_call_median, 3),
                figure(c.peak_over_data, 2),
            ]);
        }
        table
    }
}

#[cfg(test)]
#[path = "summary_tests.rs"]
mod tests;
