//! `bind`: what binding and allocating memory costs, and what the engine adds to it.
//!
//! Two questions. What does the driver take for a bind or an allocation: by size, count and queue, side by side or
//! scattered? And what does the same take through the engine, planner included, against `vkQueueBindSparse` called
//! bare: the same resource, the same memory, the same binds, the same semaphores, the same thread, in turn?
//!
//! ```text
//! round: a fresh device a queue -> canary, compared works, costs, allocations, canary -> RunFigures -> summary
//! ```

mod compare;
mod costs;
mod raw;
mod subjects;
mod summary;

use serde::Serialize;
use serde_json::json;
use vasa::vk::{Device, FeatureMask};

use crate::Bench;
use crate::error::Error;
use crate::harness::{CANARY_TOLERANCE, Clock, Context, MOST_ROUNDS, canary_buffer, canary_bytes};
use crate::report::Outcome;
use crate::stats;

/// The bench.
pub(crate) const BENCH: Bench = Bench {
    name: "bind",
    about: "costs of binding and allocating memory, through the engine and bare",
    needs_device: true,
    run: measure,
};

/// Bytes of a chunk.
const CHUNK_BYTES: u64 = 16 << 20;
/// Bytes of a tile that is bound singly.
const TILE_BYTES: u64 = 64 << 10;

/// A queue that binds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Queue {
    /// The one that draws.
    Graphics,
    /// Another one.
    Side,
}

impl Queue {
    fn name(self) -> &'static str {
        match self {
            Self::Graphics => "graphics",
            Self::Side => "side",
        }
    }

    /// Why a device has no such queue, if so.
    fn refused(self, device: &Device) -> Option<&'static str> {
        match self {
            _ if device.raw_sparse_queue().is_none() => Some("the device cannot bind sparse memory"),
            Self::Graphics if !device.graphics_binds() => Some("the graphics queue cannot bind"),
            Self::Side if !device.has_side_queue() => Some("the device has no side queue that binds"),
            _ => None,
        }
    }
}

/// What is measured, and how often.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Plan {
    /// Measured turns of each work in a run, after one that is not measured.
    turns: u64,
    /// Chunks bound in one batch.
    chunks: Vec<u64>,
    /// Tiles bound in one batch, scattered.
    scattered: Vec<u64>,
    /// Tiles of an image bound in one batch.
    image_tiles: Vec<u64>,
    /// Bytes of images bound whole.
    images: Vec<u64>,
    /// Tiles bound in one batch in different ways.
    layouts: Vec<u64>,
    /// Bytes of one bind, and of one allocation.
    sizes: Vec<u64>,
}

impl Plan {
    fn new(quick: bool) -> Self {
        let sizes = [64 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20, 256 << 20];
        Self {
            turns: if quick { 3 } else { 9 },
            chunks: if quick { vec![1, 16] } else { vec![1, 4, 16, 64, 128] },
            scattered: if quick { vec![256] } else { vec![256, 4096] },
            image_tiles: if quick { vec![1, 64] } else { vec![1, 64, 1024] },
            images: if quick { vec![64 << 20] } else { vec![16 << 20, 64 << 20, 256 << 20] },
            layouts: if quick { vec![16] } else { vec![16, 256, 4096] },
            sizes: if quick { sizes[..4].to_vec() } else { sizes.to_vec() },
        }
    }
}

/// Something to bind or unbind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Work {
    queue: Queue,
    /// `4 chunks of 16 MiB`.
    name: String,
    /// `bind` or `unbind`.
    operation: &'static str,
    /// Binds in the one `vkQueueBindSparse` call.
    binds: u64,
    /// Bytes of addresses that they cover.
    bytes: u64,
}

/// Microseconds of one operation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
struct Times {
    /// Of the call, on its thread.
    call_us: f64,
    /// From the start of the call until a wait on the host has returned: until the memory can be used.
    usable_us: f64,
}

impl Times {
    /// The median of each figure.
    fn median(all: &[Self]) -> Option<Self> {
        let of = |pick: fn(&Self) -> f64| stats::median(&all.iter().map(pick).collect::<Vec<_>>());
        Some(Self { call_us: of(|t| t.call_us)?, usable_us: of(|t| t.usable_us)? })
    }
}

/// The engine's part of a work, beside the same done bare.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
struct Ours {
    times: Times,
    /// Of the call, microseconds that were not the driver's: planning, book-keeping, lowering.
    planning_us: f64,
    /// `vkQueueBindSparse` calls that one operation took.
    calls: u64,
    /// Binds that one operation took.
    binds: u64,
}

/// One work, measured in one run: medians of its turns.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Measured {
    #[serde(skip)]
    work: Work,
    ours: Option<Ours>,
    bare: Times,
}

/// Allocating and freeing, measured in one run. Microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
struct Allocated {
    bytes: u64,
    /// The first allocation of this size on the device.
    first_us: f64,
    /// One more, while those before it are kept.
    more_us: f64,
    /// One after as much was freed.
    again_us: f64,
    /// Freeing one.
    free_us: f64,
}

/// Something that was not measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Skipped {
    name: String,
    reason: String,
}

/// What one run measured.
#[derive(Debug, Clone, Default)]
struct RunFigures {
    canary_ms: Vec<f64>,
    measured: Vec<Measured>,
    allocated: Vec<Allocated>,
    skipped: Vec<Skipped>,
}

impl RunFigures {
    fn skip(&mut self, name: impl Into<String>, reason: impl Into<String>) {
        let skipped = Skipped { name: name.into(), reason: reason.into() };
        if !self.skipped.contains(&skipped) {
            self.skipped.push(skipped);
        }
    }
}

fn measure(context: &Context) -> Result<Outcome, Error> {
    let device = context.open(FeatureMask::default())?;
    let plan = Plan::new(context.quick);
    let report = json!({ "sparse": device.capabilities().sparse, "queues": device.queue_plan() });
    drop(device);
    let mut runs: Vec<RunFigures> = Vec::new();
    for round in 1..=context.runs.saturating_mul(MOST_ROUNDS) {
        eprintln!("bind: round {round}");
        runs.push(run(context, &plan)?);
        if stats::steady_rounds(&[canaries_by_place(&runs)], CANARY_TOLERANCE) >= context.runs as usize {
            break;
        }
    }
    let summary = summary::Summary::of(plan, report, runs);
    Ok(Outcome { text: summary.to_string(), json: summary.json() })
}

/// The canaries of each run over the median of those in the same place: on some GPUs fills are slower on a device that has
/// bound scattered tiles (3.4 times on an NVIDIA H200), in every run alike, which says nothing of the run.
fn canaries_by_place(runs: &[RunFigures]) -> Vec<Vec<f64>> {
    let places = runs.iter().map(|run| run.canary_ms.len()).max().unwrap_or(0);
    let at = |place: usize| runs.iter().filter_map(move |run| run.canary_ms.get(place).copied());
    let medians: Vec<f64> =
        (0..places).map(|place| stats::median(&at(place).collect::<Vec<_>>()).unwrap_or(1.0)).collect();
    let of = |run: &RunFigures| run.canary_ms.iter().zip(&medians).map(|(ms, usual)| ms / usual).collect();
    runs.iter().map(of).collect()
}

/// One round: every work on every queue, each queue on a device of its own.
fn run(context: &Context, plan: &Plan) -> Result<RunFigures, Error> {
    let mut figures = RunFigures::default();
    for queue in [Queue::Graphics, Queue::Side] {
        let device = context.open(FeatureMask::default())?;
        if let Some(reason) = queue.refused(&device) {
            figures.skip(format!("{} queue", queue.name()), reason);
            continue;
        }
        let bytes = canary_bytes(&device);
        let buffer = canary_buffer(&device)?;
        let mut clock = Clock::new(&device)?;
        clock.warm_up(&buffer, bytes)?;
        figures.canary_ms.push(clock.median_fill(&buffer, bytes)?);
        // Before anything else was allocated that could be reused.
        if figures.allocated.is_empty() {
            costs::allocations(&device, plan, &mut figures)?;
        }
        compare::all(&device, queue, plan, &mut figures)?;
        costs::binds(&device, queue, plan, &mut figures)?;
        device.wait_idle()?;
        // Binding leaves a GPU idle, and idle GPUs clock down: what counts is that it can still do what it could.
        clock.warm_up(&buffer, bytes)?;
        figures.canary_ms.push(clock.median_fill(&buffer, bytes)?);
    }
    if figures.canary_ms.is_empty() {
        // Nothing binds: allocations are worth knowing nevertheless.
        let device = context.open(FeatureMask::default())?;
        costs::allocations(&device, plan, &mut figures)?;
    }
    Ok(figures)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canaries_are_compared_with_those_in_the_same_place() {
        let run = |canary_ms: [f64; 2]| RunFigures { canary_ms: canary_ms.into(), ..Default::default() };
        let runs = [run([1.0, 3.4]), run([1.1, 3.4]), run([1.0, 5.0]), run([1.0, 3.3])];
        let kept = stats::steady(&canaries_by_place(&runs), CANARY_TOLERANCE);
        assert_eq!(kept, [true, true, false, true]);
        assert!(canaries_by_place(&[]).is_empty());
    }

    #[test]
    fn the_published_works_are_there() {
        let plan = Plan::new(false);
        assert_eq!(plan.chunks, [1, 4, 16, 64, 128]);
        assert_eq!((plan.scattered, plan.image_tiles), (vec![256, 4096], vec![1, 64, 1024]));
        assert_eq!(plan.sizes.first().zip(plan.sizes.last()), Some((&TILE_BYTES, &(256 << 20))));
        let quick = Plan::new(true);
        assert!(quick.turns < plan.turns && quick.sizes.len() < plan.sizes.len());
    }

    #[test]
    fn times_are_medians_figure_by_figure() {
        let t = |call_us, usable_us| Times { call_us, usable_us };
        assert_eq!(Times::median(&[t(1.0, 9.0), t(2.0, 7.0), t(3.0, 8.0)]), Some(t(2.0, 8.0)));
        assert_eq!(Times::median(&[]), None);
    }

    #[test]
    fn what_is_skipped_is_said_once() {
        let mut figures = RunFigures::default();
        figures.skip("side queue", "there is none");
        figures.skip("side queue", "there is none");
        assert_eq!(figures.skipped.len(), 1);
    }
}
