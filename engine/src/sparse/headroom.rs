//! How far ahead of need to commit: predicted from how a buffer grew lately.
//!
//! ```text
//! requested bytes, frame by frame --record--> largest step, interval --headroom--> bytes to have ready beyond the request
//! ```
//!
//! The headroom is what a frame took at once lately, as often as frames grow while binds are under way; it is at least
//! one chunk. What a buffer starts with says nothing about how it will grow, so it is no step; and a buffer that has stopped
//! growing needs none. Pure: a frame is a number.

use std::collections::VecDeque;

/// Frames that the recent rate is taken over.
const WINDOW: u64 = 120;
/// Frames without growth after which nothing is kept ahead.
const PATIENCE: u64 = 600;
/// One bind is under way, and the one after it is asked for when that is done.
const BINDS_UNDER_WAY: u64 = 2;

/// Predicts the growth of one buffer.
#[derive(Debug, Clone)]
pub struct GrowthPredictor {
    chunk_bytes: u64,
    /// Growths of the window: frame and bytes.
    grown: VecDeque<(u64, u64)>,
    requested: u64,
    last_growth: Option<u64>,
    /// Frames from asking for a bind to having it, rounded up.
    latency_frames: u64,
}

impl GrowthPredictor {
    /// For a buffer whose chunks have so many bytes.
    pub fn new(chunk_bytes: u64) -> Self {
        Self { chunk_bytes, grown: VecDeque::new(), requested: 0, last_growth: None, latency_frames: 1 }
    }

    /// Bytes requested in a frame (never falling). Growth is what passes the last request; the first one of all is where
    /// the buffer starts.
    pub fn record(&mut self, frame: u64, requested: u64) {
        let grown = requested.saturating_sub(self.requested);
        self.requested = requested;
        if grown > 0 && self.last_growth.is_none() {
            self.last_growth = Some(frame);
            return;
        }
        // Frames never fall; where one does, the window starts anew.
        if self.grown.back().is_some_and(|(at, _)| *at > frame) {
            self.grown.clear();
        }
        if grown > 0 {
            self.last_growth = Some(frame);
            match self.grown.back_mut() {
                Some((last, bytes)) if *last == frame => *bytes = bytes.saturating_add(grown),
                _ => self.grown.push_back((frame, grown)),
            }
        }
        while self.grown.front().is_some_and(|(at, _)| frame.saturating_sub(*at) >= WINDOW) {
            self.grown.pop_front();
        }
    }

    /// A bind that was asked for ahead of need was ready after so many frames. The longest one seen lately counts, and
    /// is forgotten slowly.
    pub fn bound_after(&mut self, frames: u64) {
        let frames = frames.clamp(1, WINDOW);
        self.latency_frames = frames.max(self.latency_frames.saturating_sub(1)).max(1);
    }

    /// Bytes to have committed beyond the request, a multiple of the chunk.
    pub fn headroom(&self, frame: u64) -> u64 {
        let Some(last) = self.last_growth else { return 0 };
        if frame.saturating_sub(last) >= PATIENCE {
            return 0;
        }
        let step = self.grown.iter().map(|(_, bytes)| *bytes).max().unwrap_or(0);
        // Growths while one bind is under way and the next one, which is only asked for then.
        let intervals = (self.grown.len() as u64).saturating_sub(1);
        let span =
            self.grown.back().zip(self.grown.front()).map_or(0, |((last, _), (first, _))| last - first);
        let meanwhile = (intervals * self.latency_frames * BINDS_UNDER_WAY).checked_div(span).unwrap_or(0);
        let wanted = step.saturating_mul(1 + meanwhile).max(1);
        wanted.checked_next_multiple_of(self.chunk_bytes.max(1)).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MIB: u64 = 1 << 20;

    /// 16 MiB more in every tenth frame, from 16 MiB in frame 0 to 160 MiB in frame 90.
    fn growing() -> GrowthPredictor {
        let mut p = GrowthPredictor::new(16 * MIB);
        for frame in (0..100).step_by(10) {
            p.record(frame, (frame / 10 + 1) * 16 * MIB);
            assert_eq!(p.headroom(frame), 16 * MIB, "a chunk every ten frames: one is enough");
        }
        p
    }

    #[test]
    fn the_worked_example() {
        assert_eq!(GrowthPredictor::new(16 * MIB).headroom(0), 0, "nothing is known");
        let mut p = growing();
        p.bound_after(40);
        assert_eq!(p.headroom(91), 144 * MIB, "eight growths in twice forty frames, and the next one");
        for _ in 0..50 {
            p.bound_after(1);
        }
        assert_eq!(p.headroom(91), 16 * MIB);
        assert_eq!(p.headroom(90 + PATIENCE), 0, "it has stopped");
    }

    #[test]
    fn where_a_buffer_starts_is_no_step() {
        let mut p = GrowthPredictor::new(16 * MIB);
        p.record(0, 1024 * MIB);
        assert_eq!(p.headroom(0), 16 * MIB, "not a second GiB");
        p.record(10, 1040 * MIB);
        assert_eq!(p.headroom(10), 16 * MIB);
        p.record(20, 1240 * MIB);
        assert_eq!(p.headroom(20), 208 * MIB, "but a step of 200 may come again");
    }

    proptest! {
        /// Steady growth of any step and interval never catches up with the headroom while the latency holds.
        #[test]
        fn steady_growth_never_waits(
            step in 1..40 * MIB,
            every in 1..30u64,
            latency in 1..12u64,
            chunk in prop_oneof![Just(MIB), Just(16 * MIB)],
        ) {
            let mut p = GrowthPredictor::new(chunk);
            let (mut requested, mut committed) = (0u64, 0u64);
            let mut under_way: VecDeque<(u64, u64)> = VecDeque::new();
            let mut late = 0;
            for frame in 0..600u64 {
                while under_way.front().is_some_and(|(ready, _)| *ready <= frame) {
                    committed = under_way.pop_front().map_or(committed, |(_, line)| line.max(committed));
                    p.bound_after(latency);
                }
                if frame % every == 0 {
                    requested += step;
                }
                p.record(frame, requested);
                if requested > committed {
                    late += u32::from(frame > 3 * WINDOW);
                    committed = requested;
                }
                let target = requested + p.headroom(frame);
                let planned = under_way.back().map_or(committed, |(_, line)| (*line).max(committed));
                if target > planned && under_way.is_empty() {
                    under_way.push_back((frame + latency, target));
                }
                prop_assert!(p.headroom(frame).is_multiple_of(chunk));
            }
            prop_assert_eq!(late, 0);
        }

        #[test]
        fn any_input_is_taken(steps in prop::collection::vec((any::<u64>(), any::<u64>(), any::<u64>()), 0..50)) {
            let mut p = GrowthPredictor::new(16 * MIB);
            for (frame, requested, latency) in steps {
                p.record(frame, requested);
                p.bound_after(latency);
                p.headroom(frame);
            }
        }
    }
}
