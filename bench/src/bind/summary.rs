//! From runs to figures, tables and JSON. Pure.

use std::fmt;

use serde::Serialize;
use serde_json::{Value, json};

use super::{Allocated, Measured, Plan, Queue, RunFigures, Skipped, Work};
use crate::harness::CANARY_TOLERANCE;
use crate::report::{Table, figure, size, spread};
use crate::stats::{self, Spread};

/// Call and time until usable over runs, microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
struct TimesOverRuns {
    call_us: Spread,
    usable_us: Spread,
}

/// The engine's part of a row.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct OursOverRuns {
    times: TimesOverRuns,
    /// Of the call, what was not the driver's.
    planning_us: Spread,
    /// The same as a part of the call.
    planning_part: Spread,
    /// `vkQueueBindSparse` calls of one operation.
    calls: u64,
    binds: u64,
    /// Ours divided by bare, run by run.
    call_ratio: Spread,
    usable_ratio: Spread,
}

/// One work over the kept runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Row {
    #[serde(flatten)]
    work: Work,
    ours: Option<OursOverRuns>,
    bare: TimesOverRuns,
    each_run: Vec<Measured>,
}

/// Allocations of one size over the kept runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct AllocationRow {
    bytes: u64,
    first_us: Spread,
    more_us: Spread,
    again_us: Spread,
    free_us: Spread,
}

/// A run, for the record.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Run {
    kept: bool,
    canary_ms: Vec<f64>,
}

/// The whole measurement.
#[derive(Debug, Clone)]
pub(super) struct Summary {
    plan: Plan,
    report: Value,
    runs: Vec<Run>,
    rows: Vec<Row>,
    allocations: Vec<AllocationRow>,
    skipped: Vec<Skipped>,
}

impl Summary {
    /// Throws away the runs in which the canary moved, and condenses the rest. `report` says what the device can bind.
    pub(super) fn of(plan: Plan, report: Value, runs: Vec<RunFigures>) -> Self {
        let canaries: Vec<Vec<f64>> = runs.iter().map(|r| r.canary_ms.clone()).collect();
        let kept = stats::steady(&super::canaries_by_place(&runs), CANARY_TOLERANCE);
        let good: Vec<&RunFigures> =
            runs.iter().zip(&kept).filter(|(_, kept)| **kept).map(|(run, _)| run).collect();
        let mut skipped: Vec<Skipped> = Vec::new();
        for one in runs.iter().flat_map(|run| &run.skipped) {
            if !skipped.contains(one) {
                skipped.push(one.clone());
            }
        }
        Self {
            plan,
            report,
            rows: rows(&good),
            allocations: allocations(&good),
            skipped,
            runs: kept.into_iter().zip(canaries).map(|(kept, canary_ms)| Run { kept, canary_ms }).collect(),
        }
    }

    /// The bench's object in the JSON document.
    pub(super) fn json(&self) -> Value {
        json!({
            "plan": self.plan,
            "device_report": self.report,
            "canary_tolerance": CANARY_TOLERANCE,
            "runs": self.runs,
            "thrown_away": self.thrown_away(),
            "compared": self.compared().collect::<Vec<_>>(),
            "costs": self.rows.iter().filter(|r| r.ours.is_none()).collect::<Vec<_>>(),
            "allocations": self.allocations,
            "skipped": self.skipped,
        })
    }

    fn thrown_away(&self) -> usize {
        self.runs.iter().filter(|r| !r.kept).count()
    }

    fn compared(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|r| r.ours.is_some())
    }
}

/// Every work of any run, in the order in which they were first measured.
fn rows(runs: &[&RunFigures]) -> Vec<Row> {
    let same = |a: &Measured, b: &Measured| {
        let key = |m: &Measured| (m.work.queue, m.work.operation, m.ours.is_some());
        key(a) == key(b) && a.work.name == b.work.name
    };
    let mut groups: Vec<Vec<Measured>> = Vec::new();
    for one in runs.iter().flat_map(|run| &run.measured) {
        match groups.iter_mut().find(|group| same(&group[0], one)) {
            Some(group) => group.push(one.clone()),
            None => groups.push(vec![one.clone()]),
        }
    }
    groups.into_iter().filter_map(row).collect()
}

fn row(each_run: Vec<Measured>) -> Option<Row> {
    let spread_of = |of: &dyn Fn(&Measured) -> Option<f64>| {
        Spread::of(&each_run.iter().filter_map(of).collect::<Vec<_>>())
    };
    let ours = |of: fn(&Measured, &super::Ours) -> f64| {
        spread_of(&|m: &Measured| m.ours.as_ref().map(|ours| of(m, ours)))
    };
    let bare = TimesOverRuns {
        call_us: spread_of(&|m| Some(m.bare.call_us))?,
        usable_us: spread_of(&|m| Some(m.bare.usable_us))?,
    };
    let last = each_run.last()?;
    let work = last.work.clone();
    let ours = last.ours.and_then(|last| {
        Some(OursOverRuns {
            times: TimesOverRuns {
                call_us: ours(|_, o| o.times.call_us)?,
                usable_us: ours(|_, o| o.times.usable_us)?,
            },
            planning_us: ours(|_, o| o.planning_us)?,
            planning_part: ours(|_, o| o.planning_us / o.times.call_us)?,
            calls: last.calls,
            binds: last.binds,
            call_ratio: ours(|m, o| o.times.call_us / m.bare.call_us)?,
            usable_ratio: ours(|m, o| o.times.usable_us / m.bare.usable_us)?,
        })
    });
    Some(Row { work, ours, bare, each_run })
}

fn allocations(runs: &[&RunFigures]) -> Vec<AllocationRow> {
    let mut sizes: Vec<u64> = runs.iter().flat_map(|r| &r.allocated).map(|a| a.bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let row = |bytes: u64| {
        let same = runs.iter().flat_map(|r| &r.allocated).filter(|a| a.bytes == bytes);
        let all: Vec<Allocated> = same.copied().collect();
        let of = |pick: fn(&Allocated) -> f64| Spread::of(&all.iter().map(pick).collect::<Vec<_>>());
        Some(AllocationRow {
            bytes,
            first_us: of(|a| a.first_us)?,
            more_us: of(|a| a.more_us)?,
            again_us: of(|a| a.again_us)?,
            free_us: of(|a| a.free_us)?,
        })
    };
    sizes.into_iter().filter_map(row).collect()
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "bind: medians of {} turns a run, {} runs, {} thrown away because the canary moved by more than {:.0}%.\n\
             All times in microseconds. call: on its thread. usable: from its start until a wait on the host returns.\n\
             One figure: the median over runs. Three: minimum / median / maximum over runs.\n",
            self.plan.turns,
            self.runs.len(),
            self.thrown_away(),
            CANARY_TOLERANCE * 100.0,
        )?;
        if self.compared().next().is_some() {
            writeln!(
                f,
                "Through the engine against vkQueueBindSparse called bare: same resource, memory, binds, semaphores and \
                 thread, in turn.\nplanning: of our call, what was not the driver's.\n\n{}",
                self.comparison()
            )?;
        }
        let costs = self.costs();
        if !costs.is_empty() {
            writeln!(f, "The driver alone, one vkQueueBindSparse call on a buffer.\n\n{costs}")?;
        }
        if !self.allocations.is_empty() {
            writeln!(
                f,
                "Allocations (vkAllocateMemory, vkFreeMemory).\nfirst: of its size on the device. more: while those before \
                 are kept. again: after as much was freed.\n\n{}",
                self.allocation_table()
            )?;
        }
        for skipped in &self.skipped {
            writeln!(f, "skipped: {} ({})", skipped.name, skipped.reason)?;
        }
        Ok(())
    }
}

impl Summary {
    fn comparison(&self) -> Table {
        let mut table = Table::new(&[
            "work",
            "queue",
            "calls",
            "binds",
            "call, ours",
            "call, bare",
            "ratio",
            "usable, ours",
            "usable, bare",
            "ratio",
            "planning",
            "of call",
        ]);
        for row in self.compared() {
            let Some(ours) = &row.ours else { continue };
            // The same number, or the comparison is none.
            let binds = match (ours.binds, row.work.binds) {
                (a, b) if a == b => a.to_string(),
                (a, b) => format!("{a} against {b}"),
            };
            table.row(vec![
                format!("{} {}", row.work.operation, row.work.name),
                row.work.queue.name().into(),
                ours.calls.to_string(),
                binds,
                figure(Some(ours.times.call_us.median), 1),
                figure(Some(row.bare.call_us.median), 1),
                spread(Some(ours.call_ratio), 2),
                figure(Some(ours.times.usable_us.median), 1),
                figure(Some(row.bare.usable_us.median), 1),
                spread(Some(ours.usable_ratio), 2),
                figure(Some(ours.planning_us.median), 1),
                format!("{:.0}%", ours.planning_part.median * 100.0),
            ]);
        }
        table
    }

    /// A line a work: binding it, then unbinding it.
    fn costs(&self) -> Table {
        let mut table = Table::new(&[
            "work",
            "queue",
            "binds",
            "bind: call",
            "usable",
            "usable, each bind",
            "unbind: call",
            "usable",
        ]);
        let costs = || self.rows.iter().filter(|r| r.ours.is_none());
        for bind in costs().filter(|r| r.work.operation == "bind") {
            let twin = |r: &&Row| {
                let key = |w: &Work| (w.queue, w.name.clone());
                r.work.operation == "unbind" && key(&r.work) == key(&bind.work)
            };
            let unbind = costs().find(twin).map(|r| r.bare);
            table.row(vec![
                bind.work.name.clone(),
                Queue::name(bind.work.queue).into(),
                bind.work.binds.to_string(),
                figure(Some(bind.bare.call_us.median), 1),
                spread(Some(bind.bare.usable_us), 1),
                figure(Some(bind.bare.usable_us.median / bind.work.binds.max(1) as f64), 2),
                figure(unbind.map(|t| t.call_us.median), 1),
                spread(unbind.map(|t| t.usable_us), 1),
            ]);
        }
        table
    }

    fn allocation_table(&self) -> Table {
        let mut table = Table::new(&["bytes", "first", "more", "again", "free"]);
        for row in &self.allocations {
            table.row(vec![
                size(row.bytes),
                spread(Some(row.first_us), 1),
                spread(Some(row.more_us), 1),
                spread(Some(row.again_us), 1),
                spread(Some(row.free_us), 1),
            ]);
        }
        table
    }
}

#[cfg(test)]
#[path = "summary_tests.rs"]
mod tests;
