//! Numbers over all frames.

use std::collections::VecDeque;

use crate::vt::{FrameCounters, FramePlan};

/// Frames whose numbers are kept, for curves.
const REMEMBERED: usize = 4096;
/// Share of samples that must find their level for a view to count as sharp.
const SHARP: f64 = 0.99;

/// What one frame came to, for curves over time.
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Serialize)]
pub struct FrameRecord {
    /// Number of the frame.
    pub frame: u64,
    /// Fullest pool: (locked + used lately) / pages.
    pub residency: f32,
    /// Locked / pages of that pool.
    pub locked: f32,
    /// Largest mip bias / the largest there may be.
    pub bias: f32,
    /// Pages that were asked for, each once.
    pub unique: u32,
    /// Pages made.
    pub made: u32,
    /// Pages drawn again in place.
    pub redrawn: u32,
    /// Pages that lost their place.
    pub evicted: u32,
    /// Pages left for later.
    pub deferred: u32,
    /// Share of samples that found the level they wished for.
    pub sharpness: f64,
}

#[derive(Debug, Default)]
pub(super) struct Totals {
    pub(super) requests: u64,
    pub(super) unique: u64,
    pub(super) resident: u64,
    pub(super) drawn: u64,
    pub(super) redrawn: u64,
    pub(super) evicted: u64,
    pub(super) deferred: u64,
    pub(super) quads: u64,
    pub(super) mip_bias_max: f32,
    pub(super) last: FrameCounters,
    pub(super) records: VecDeque<FrameRecord>,
    /// Frames since a cut of the camera that is not sharp yet.
    since_cut: Option<u32>,
    pub(super) frames_until_sharp: Vec<u32>,
    pub(super) steady: u64,
    pub(super) withdrawn: u64,
    pub(super) invalidations: u64,
}

impl Totals {
    /// Counts a frame that was submitted.
    pub(super) fn add(&mut self, plan: &FramePlan, record: FrameRecord) {
        let c = &plan.counters;
        self.requests += c.requests;
        self.unique += u64::from(c.unique);
        self.resident += u64::from(c.resident);
        self.drawn += plan.pages.len() as u64;
        self.redrawn += u64::from(c.redrawn);
        self.evicted += u64::from(c.evicted);
        self.deferred += u64::from(c.deferred);
        self.quads += u64::from(c.quads);
        self.mip_bias_max = self.mip_bias_max.max(plan.mip_bias);
        self.last = *c;
        self.steady = if plan.is_empty() { self.steady + 1 } else { 0 };
        if self.records.len() == REMEMBERED {
            self.records.pop_front();
        }
        self.records.push_back(record);
        if let Some(frames) = &mut self.since_cut {
            *frames += 1;
            // Feedback is three frames old: before, it is that of the view before the cut.
            let is_heard = *frames > crate::vt::FEEDBACK_FRAMES as u32 && c.wished > 0;
            if is_heard && c.sharpness() >= SHARP {
                self.frames_until_sharp.push(*frames);
                self.since_cut = None;
            }
        }
    }

    /// The camera was cut: frames are counted until the view is sharp.
    pub(super) fn cut(&mut self) {
        self.since_cut = Some(0);
    }
}
