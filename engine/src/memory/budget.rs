//! How much memory there is to use now: asked for rarely, reckoned in between.
//!
//! ```text
//! BudgetSource::query (at most once a frame, every 200 ms) -> reading, with the own bytes of that moment
//! BudgetSource::own_bytes (each frame)                     -> usage = reading + own bytes since then
//!                                                            budget - margin = target;  target - usage = room
//! ```
//!
//! Pure but for the source, which tests invent. Asking a driver may take milliseconds, and budgets shrink when other
//! programs start: so it is asked again and again, but never by everybody. Where the driver has no answer, the budget
//! is a share of the heap and the usage is what was allocated here.

use std::fmt;
use std::time::Duration;

use crate::vk::Bytes;

/// Of heaps whose driver tells no budget, this share may be used, in tenths: others live there too.
const SHARE_TENTHS: u64 = 8;
/// A device-local heap smaller than this part of the largest is a window for the host, and not judged like it.
const SMALL_HEAP_PART: u64 = 4;

/// What a heap is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeapKind {
    /// Size in bytes.
    pub bytes: u64,
    /// On the device.
    pub device_local: bool,
}

/// What a driver says of a heap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HeapReading {
    /// Bytes that this process may use of the heap now.
    pub budget: u64,
    /// Bytes that this process uses of it.
    pub usage: u64,
}

/// Where budgets come from: `VK_EXT_memory_budget`, own accounting, or a test.
pub trait BudgetSource: Send {
    /// The heaps, in the order in which all else counts them. Asked once.
    fn heaps(&self) -> Vec<HeapKind>;

    /// What the driver says now, a reading a heap; `None` where it has no answer. May be slow.
    fn query(&mut self) -> Option<Vec<HeapReading>>;

    /// Bytes that this device's allocations hold of a heap. Fast.
    fn own_bytes(&self, heap: usize) -> u64;

    /// Own bytes allowed in each device-local heap, whatever the driver says. Fast.
    fn limit(&self) -> Option<u64> {
        None
    }
}

/// How often is asked, and what is kept free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetKnobs {
    /// Time between two queries.
    pub interval: Duration,
    /// Frames after which is asked again although less time has passed: time stands still in a paused program, and the
    /// budget does not.
    pub most_frames: u64,
    /// Percent of the budget kept free.
    pub margin_percent: u64,
    /// At least this many bytes of it, but never more than a quarter: a margin must not be all there is.
    pub margin_bytes: u64,
}

impl Default for BudgetKnobs {
    /// Every 200 ms or 120 frames; 10 percent and at least 128 MiB are kept free.
    fn default() -> Self {
        Self {
            interval: Duration::from_millis(200),
            most_frames: 120,
            margin_percent: 10,
            margin_bytes: 128 << 20,
        }
    }
}

/// One heap at one moment, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct HeapState {
    /// Usable by this process.
    pub budget: u64,
    /// Used by it.
    pub usage: u64,
    /// Of the budget: kept free.
    pub margin: u64,
}

impl HeapState {
    /// Bytes to stay below.
    pub fn target(&self) -> u64 {
        self.budget.saturating_sub(self.margin)
    }

    /// Bytes that may still be used.
    pub fn room(&self) -> u64 {
        self.target().saturating_sub(self.usage)
    }

    /// Bytes that should be given back.
    pub fn over(&self) -> u64 {
        self.usage.saturating_sub(self.target())
    }
}

impl fmt::Display for HeapState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { budget, usage, margin } = self;
        write!(f, "{} used of {}, {} of it kept free", Bytes(*usage), Bytes(*budget), Bytes(*margin))
    }
}

#[derive(Debug, Clone, Default)]
struct Query {
    frame: u64,
    time: Duration,
    /// A reading a heap with the own bytes of that moment; empty where the driver has no answer.
    heaps: Vec<(HeapReading, u64)>,
}

/// Follows the budgets of all heaps.
#[derive(Debug, Clone)]
pub struct BudgetTracker {
    knobs: BudgetKnobs,
    kinds: Vec<HeapKind>,
    judged: Vec<usize>,
    query: Option<Query>,
    states: Vec<HeapState>,
    queries: u64,
}

impl BudgetTracker {
    /// A tracker that has read nothing yet.
    pub fn new(kinds: Vec<HeapKind>, knobs: BudgetKnobs) -> Self {
        let states = vec![HeapState::default(); kinds.len()];
        Self { judged: judged(&kinds), kinds, knobs, query: None, states, queries: 0 }
    }

    /// Brings all states up to date. `time` is the frame's, from any start.
    pub fn update(&mut self, source: &mut dyn BudgetSource, frame: u64, time: Duration) {
        if self.is_due(frame, time) {
            self.queries += 1;
            let readings = source.query().unwrap_or_default();
            let heaps = readings.into_iter().enumerate().map(|(i, r)| (r, source.own_bytes(i))).collect();
            self.query = Some(Query { frame, time, heaps });
        }
        let limit = source.limit();
        for (i, kind) in self.kinds.iter().enumerate() {
            let own = source.own_bytes(i);
            let read = self.query.as_ref().and_then(|query| query.heaps.get(i));
            let (mut budget, mut usage) = match read {
                Some((reading, then)) => {
                    let grown = reading.usage.saturating_add(own.saturating_sub(*then));
                    (reading.budget, grown.saturating_sub(then.saturating_sub(own)))
                }
                None => (kind.bytes / 10 * SHARE_TENTHS, own),
            };
            // Whichever leaves less room decides.
            if let Some(limit) = limit.filter(|_| kind.device_local)
                && signed_room(limit, own) < signed_room(budget, usage)
            {
                (budget, usage) = (limit, own);
            }
            self.states[i] = HeapState { budget, usage, margin: self.margin(i, budget) };
        }
    }

    fn is_due(&self, frame: u64, time: Duration) -> bool {
        let Some(last) = &self.query else { return true };
        // A time that went back is a new start.
        let waited = time.checked_sub(last.time).is_none_or(|passed| passed >= self.knobs.interval);
        frame != last.frame && (waited || frame.abs_diff(last.frame) >= self.knobs.most_frames)
    }

    fn margin(&self, heap: usize, budget: u64) -> u64 {
        let share = (u128::from(budget) * u128::from(self.knobs.margin_percent) / 100) as u64;
        let least = if self.judged.contains(&heap) { self.knobs.margin_bytes } else { 0 };
        share.max(least).min(budget / 4)
    }

    /// All heaps, in order.
    pub fn heaps(&self) -> &[HeapState] {
        &self.states
    }

    /// Indices of the heaps that count: large ones on the device. A small one that the host sees fills up first and
    /// says nothing of the rest.
    pub fn judged(&self) -> &[usize] {
        &self.judged
    }

    /// The heap that is nearest to its end, of those that count.
    pub fn tightest(&self) -> HeapState {
        let states = self.judged.iter().filter_map(|i| self.states.get(*i));
        states.copied().min_by_key(|s| signed_room(s.target(), s.usage)).unwrap_or_default()
    }

    /// Queries so far.
    pub fn queries(&self) -> u64 {
        self.queries
    }
}

fn signed_room(target: u64, usage: u64) -> i128 {
    i128::from(target) - i128::from(usage)
}

fn judged(kinds: &[HeapKind]) -> Vec<usize> {
    let on_device = kinds.iter().any(|kind| kind.device_local);
    let counts = |kind: &HeapKind| kind.device_local || !on_device;
    let largest = kinds.iter().filter(|k| counts(k)).map(|k| k.bytes).max().unwrap_or(0);
    let is_large = |kind: &HeapKind| kind.bytes >= largest / SMALL_HEAP_PART;
    kinds.iter().enumerate().filter(|(_, kind)| counts(kind) && is_large(kind)).map(|(i, _)| i).collect()
}
