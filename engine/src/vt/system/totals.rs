//! Numbers over all frames.

use std::collections::VecDeque;

use crate::vt::{FrameCounters, FramePlan};

/// Frames whose numbers are kept, for curves.
const REMEMBERED: usize = 4096;
/// Share of samples that must find their level for a view to count as sharp.
const SHARP: f64 = 0.99;

/// Cuts of the camera that are remembered.
const REMEMBERED_CUTS: usize = 256;

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
    /// Samples that gave feedback.
    pub requests: u64,
    /// Pages that were asked for, each once.
    pub unique: u32,
    /// Of these, those that were there.
    pub resident: u32,
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
    pub(super) frames_until_sharp: VecDeque<Option<u32>>,
    pub(super) flushes: u64,
    /// Times that the feedback buffer was made for another extent.
    pub(super) resizes: u64,
    pub(super) created: u64,
    pub(super) destroyed: u64,
    /// Frames whose feedback was lost, as far as the planner knows.
    pub(super) lost: u64,
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
                let frames = *frames;
                self.since_cut = None;
                self.remember_cut(Some(frames));
            }
        }
    }

    /// The camera was cut: frames are counted until the view is sharp.
    pub(super) fn cut(&mut self) {
        // A second cut before any frame is the same one.
        if self.since_cut.is_some_and(|frames| frames > 0) {
            self.remember_cut(None);
        }
        self.since_cut = Some(0);
    }

    fn remember_cut(&mut self, frames: Option<u32>) {
        if self.frames_until_sharp.len() == REMEMBERED_CUTS {
            self.frames_until_sharp.pop_front();
        }
        self.frames_until_sharp.push_back(frames);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(totals: &mut Totals, wished: u64, sharp: u64) {
        let counters = FrameCounters { wished, sharp, ..Default::default() };
        totals.add(&FramePlan { counters, ..Default::default() }, FrameRecord::default());
    }

    #[test]
    fn each_cut_has_its_frames_and_one_that_was_overtaken_has_none() {
        let mut totals = Totals::default();
        totals.cut();
        totals.cut();
        (0..5).for_each(|_| frame(&mut totals, 100, 98));
        frame(&mut totals, 100, 99);
        (0..9).for_each(|_| frame(&mut totals, 100, 0));
        totals.cut();
        (0..3).for_each(|_| frame(&mut totals, 100, 100));
        totals.cut();
        (0..4).for_each(|_| frame(&mut totals, 100, 100));
        assert_eq!(totals.frames_until_sharp, [Some(6), None, Some(4)]);
        for _ in 0..2 * REMEMBERED_CUTS {
            totals.cut();
            frame(&mut totals, 0, 0);
        }
        assert_eq!(totals.frames_until_sharp.len(), REMEMBERED_CUTS);
    }
}
