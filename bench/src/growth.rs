//! `growth`: what a growing buffer costs the frames that are drawn meanwhile.
//!
//! Frames of about 1 ms of GPU work, two in flight, while one buffer grows every few frames. Each variant
//! does the same work; they differ in how the buffer grows. Measured on the frame thread: the time between
//! two submissions, and the call that grows (commit and flush). Every growth is used by the submission that
//! follows, which waits for its bind. On a GPU all of it twice: with frames that write memory as fast as it goes, and
//! with frames of short work that waits for itself.

mod run;
mod summary;

use serde::Serialize;
use vasa::sparse::{CommitPolicy, SparseKnobs};
use vasa::vk::{Device, FeatureMask};

use crate::Bench;
use crate::error::Error;
use crate::harness::{
    CANARY_TOLERANCE, Context, MOST_ROUNDS, WorkSize, calibrate, calibrate_short, is_software,
};
use crate::report::Outcome;
use crate::stats;

/// The bench.
pub(crate) const BENCH: Bench = Bench {
    name: "growth",
    about: "frame times while a buffer grows, in place and by recreating and copying",
    needs_device: true,
    run: measure,
};

/// GPU work of a frame, milliseconds.
const FRAME_MS: f64 = 1.0;

/// How the buffer grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Variant {
    /// Not at all: the floor.
    NoGrowth,
    /// By the engine's fallback: a larger buffer, a copy.
    RecreateAndCopy,
    /// In place, bound on the queue that draws.
    GraphicsQueue,
    /// In place, bound on another queue.
    SideQueue,
    /// In place, bound by a worker before the frame asks, on the only queue.
    Ahead,
    /// The same on another queue.
    AheadOnSideQueue,
}

impl Variant {
    const ALL: [Self; 6] = [
        Self::NoGrowth,
        Self::RecreateAndCopy,
        Self::GraphicsQueue,
        Self::SideQueue,
        Self::Ahead,
        Self::AheadOnSideQueue,
    ];

    /// Whether it is the same as another variant on a device with these queues.
    fn is_double(self, queues: &Queues) -> bool {
        match self {
            Self::Ahead => queues.side,
            Self::AheadOnSideQueue => !queues.side,
            _ => false,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::NoGrowth => "no growth",
            Self::RecreateAndCopy => "recreate + copy",
            Self::GraphicsQueue => "bind on the graphics queue",
            Self::SideQueue => "bind on the side queue",
            Self::Ahead => "commit ahead",
            Self::AheadOnSideQueue => "commit ahead on the side queue",
        }
    }

    fn policy(self) -> CommitPolicy {
        match self {
            Self::Ahead | Self::AheadOnSideQueue => CommitPolicy::AHEAD,
            _ => CommitPolicy::DIRECT,
        }
    }

    fn mask(self) -> FeatureMask {
        match self {
            Self::RecreateAndCopy => FeatureMask::fallback(),
            _ => FeatureMask::default(),
        }
    }

    fn knobs(self) -> SparseKnobs {
        // The checker is for debug builds; it would be measured too.
        SparseKnobs { bind_on_graphics: self == Self::GraphicsQueue, check: false, ..Default::default() }
    }

    fn grows(self) -> bool {
        self != Self::NoGrowth
    }

    /// Why a device cannot run this, if so.
    fn refused(self, queues: &Queues) -> Option<&'static str> {
        match self {
            Self::GraphicsQueue | Self::SideQueue | Self::Ahead | Self::AheadOnSideQueue
                if !queues.growable =>
            {
                Some("the device cannot bind buffers partly")
            }
            Self::GraphicsQueue if !queues.graphics_binds => Some("the graphics queue cannot bind"),
            Self::SideQueue if !queues.side => Some("the device has no side queue that binds"),
            _ => None,
        }
    }
}

/// What decides which variants a device can run.
#[derive(Debug, Clone, Copy)]
struct Queues {
    growable: bool,
    graphics_binds: bool,
    side: bool,
}

impl Queues {
    fn of(device: &Device) -> Self {
        let (c, plan) = (device.capabilities(), device.queue_plan());
        let graphics = c.queue_families.get(plan.graphics.family as usize);
        Self {
            growable: c.sparse.growable_buffers(),
            graphics_binds: graphics.is_some_and(|f| f.sparse),
            side: plan.sparse.is_some_and(|sparse| sparse != plan.graphics),
        }
    }
}

/// Sizes in bytes and frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
struct Plan {
    /// Bytes before the first growth.
    start_bytes: u64,
    /// Bytes of one growth.
    step_bytes: u64,
    /// Growths.
    steps: u64,
    /// Frames from one growth to the next.
    frames_per_step: u64,
    /// Frames before the measured ones.
    warm_up_frames: u64,
}

impl Plan {
    fn of(software: bool, quick: bool) -> Self {
        let (start_bytes, steps) = if software { (64 << 20, 4) } else { (1 << 30, 32) };
        Self {
            start_bytes,
            step_bytes: 16 << 20,
            steps: if quick { (steps / 4).max(2) } else { steps },
            frames_per_step: 10,
            warm_up_frames: 30,
        }
    }

    fn end_bytes(&self) -> u64 {
        self.start_bytes + self.steps * self.step_bytes
    }

    /// Growth comes with the first frame of each step, so that the frames it delays are measured too.
    fn grows_at(&self, frame: u64) -> bool {
        frame.is_multiple_of(self.frames_per_step)
    }

    /// Addresses: more than is asked for in the end, so that nothing but the policy limits what is committed.
    fn capacity_bytes(&self) -> u64 {
        self.end_bytes() + 4 * self.step_bytes
    }

    fn measured_frames(&self) -> u64 {
        self.steps * self.frames_per_step
    }
}

/// A variant that was not measured.
#[derive(Debug, Clone, Serialize)]
struct Skipped {
    name: &'static str,
    reason: String,
}

fn measure(context: &Context) -> Result<Outcome, Error> {
    let device = context.open(FeatureMask::default())?;
    let plan = Plan::of(is_software(&device), context.quick);
    let queues = Queues::of(&device);
    let streaming = calibrate(&device, FRAME_MS)?;
    let short = calibrate_short(&device, FRAME_MS)?;
    drop(device);

    let summary = measure_frames(context, plan, &queues, streaming)?;
    let (mut text, mut json) = (summary.to_string(), summary.json());
    // What a frame does decides what a change of mappings beside it costs: one that writes memory as fast as it can
    // fills its translation buffers anew.
    if let Some(work) = short {
        let summary = measure_frames(context, plan, &queues, work)?;
        text =
            format!("frames that write memory as fast as it goes\n{text}\nframes of short work\n{summary}");
        if let Some(object) = json.as_object_mut() {
            object.insert("short_work".into(), summary.json());
        }
    }
    Ok(Outcome { text, json })
}

/// All variants in turn, with frames of that work.
fn measure_frames(
    context: &Context,
    plan: Plan,
    queues: &Queues,
    work: WorkSize,
) -> Result<summary::Summary, Error> {
    let mut skipped = Vec::new();
    let mut variants = Vec::new();
    for variant in Variant::ALL.into_iter().filter(|v| !v.is_double(queues)) {
        match variant.refused(queues) {
            Some(reason) => skipped.push(Skipped { name: variant.name(), reason: reason.into() }),
            None => variants.push((variant, Vec::new())),
        }
    }
    for round in 1..=context.runs.saturating_mul(MOST_ROUNDS) {
        let mut failed = Vec::new();
        for (variant, runs) in &mut variants {
            eprintln!("growth: round {round}, {}", variant.name());
            match run::run(context, *variant, &plan, work) {
                Ok(figures) => runs.push(figures),
                // A small device may do the other variants; a copy needs both buffers at once.
                Err(error) if error.is_out_of_memory() => {
                    failed.push(*variant);
                    skipped.push(Skipped { name: variant.name(), reason: error.one_line() });
                }
                Err(error) => return Err(error),
            }
        }
        variants.retain(|(variant, _)| !failed.contains(variant));
        if steady_rounds(&variants) >= context.runs as usize {
            break;
        }
    }
    Ok(summary::Summary::of(plan, work, variants, skipped))
}

fn steady_rounds(variants: &[(Variant, Vec<run::RunFigures>)]) -> usize {
    let canaries = |runs: &[run::RunFigures]| runs.iter().map(|r| r.canary_ms.clone()).collect();
    let all: Vec<Vec<Vec<f64>>> = variants.iter().map(|(_, runs)| canaries(runs)).collect();
    stats::steady_rounds(&all, CANARY_TOLERANCE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_the_published_ones() {
        let gpu = Plan::of(false, false);
        assert_eq!((gpu.start_bytes, gpu.end_bytes()), (1 << 30, 3 << 29));
        let software = Plan::of(true, false);
        assert_eq!((software.start_bytes, software.end_bytes()), (64 << 20, 128 << 20));
        for plan in [gpu, software, Plan::of(false, true), Plan::of(true, true)] {
            let grown = (0..plan.measured_frames()).filter(|f| plan.grows_at(*f)).count() as u64;
            assert_eq!(grown, plan.steps, "every step is taken, once");
            assert!(plan.grows_at(0) && !plan.grows_at(1));
        }
        assert!(Plan::of(false, true).steps < gpu.steps);
    }

    #[test]
    fn variants_are_refused_by_name() {
        let refused = |queues: Queues| -> Vec<&str> {
            let all = Variant::ALL.into_iter().filter(|v| !v.is_double(&queues));
            all.filter(|v| v.refused(&queues).is_some()).map(Variant::name).collect()
        };
        let all = Queues { growable: true, graphics_binds: true, side: true };
        assert!(refused(all).is_empty());
        assert_eq!(refused(Queues { side: false, ..all }), ["bind on the side queue"]);
        assert_eq!(refused(Queues { graphics_binds: false, ..all }), ["bind on the graphics queue"]);
        assert_eq!(refused(Queues { growable: false, ..all }).len(), 3);
    }
}
