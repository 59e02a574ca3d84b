//! A pool that is too small for the view raises a mip bias until what is wished for fits, and then keeps still.
//!
//! The GPU applies the bias when it samples, and so the feedback has it in it: requests are never biased here. Feedback
//! is frames old, therefore each step starts from the bias that the feedback was *given under*, not from the present one:
//! four times as many pages are one level, so `wished = bias then + log4(pages / room)` is where it has to go, by `rate` a
//! frame. That is why it does not overshoot.
//!
//! It keeps still between 0.92 of the upper share and the upper share. Where one step down is too much and one step
//! up too little (few pages, long levels), it would swing for ever: once it was lowered and overflowed twice, it stays
//! while the share is one of those it was lowered from, until the view moves.

/// Limits of the bias; see the knobs of the same names.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BiasLimits {
    /// Most levels a frame.
    pub rate: f32,
    /// Most levels.
    pub max: f32,
    /// Share of the pool above which the bias rises.
    pub upper: f32,
    /// Share of locked pages above which there is none.
    pub locked_upper: f32,
    /// Frames for which a page counts as used.
    pub window: u32,
}

/// How full a pool is.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PoolLoad {
    /// Pages that it has, without the reserved one.
    pub usable: u32,
    /// Locked pages.
    pub locked: u32,
    /// Pages that are not locked and that this frame's feedback names, there or not.
    pub wanted: u32,
    /// Of these, pages that are not there.
    pub missing: u32,
    /// Pages locked or used within the window.
    pub used: u32,
    /// Pages that were wanted and found no room.
    pub no_room: u32,
    /// The bias in the frame that gave the feedback; nothing when none arrived.
    pub observed_bias: Option<f32>,
}

/// The bias of one pool.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct BiasGovernor {
    bias: f32,
    /// Frames since it changed, and since it rose.
    still: u32,
    since_raise: u32,
    /// The share when it was last lowered from rest, until that is known to have gone well.
    lowered_from: Option<f32>,
    swing: Option<Swing>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Swing {
    /// Shares from which it was lowered and overflowed: from the least to the largest.
    shares: [f32; 2],
    times: u32,
}

impl Swing {
    fn has(&self, share: f32) -> bool {
        self.times >= 2 && (self.shares[0] - SAME_SHARE..=self.shares[1] + SAME_SHARE).contains(&share)
    }
}

/// The bias is lowered below this part of the upper share.
pub(super) const LOWER: f32 = 0.92;
/// Where a step aims at, as a part of the upper share.
const AIM: f32 = 0.96;
/// The least step that is worth it, in levels.
const LEAST_STEP: f32 = 0.02;
/// Frames that feedback may be old.
const LATENCY: u32 = 8;
/// Shares that differ by less are the same.
const SAME_SHARE: f32 = 0.05;
/// The view moves when more than this share of the pool is missing while the bias is at rest.
const MOVES: f32 = 0.02;

impl BiasGovernor {
    /// Levels.
    pub fn bias(&self) -> f32 {
        self.bias
    }

    /// One frame; gives the new bias.
    pub fn update(&mut self, load: PoolLoad, limits: BiasLimits) -> f32 {
        self.still = self.still.saturating_add(1);
        self.since_raise = self.since_raise.saturating_add(1);
        let share = |pages: u32| pages as f32 / load.usable.max(1) as f32;
        let max = if limits.max.is_finite() { limits.max.max(0.0) } else { 0.0 };
        let rate = if limits.rate.is_finite() { limits.rate.max(0.0) } else { 0.0 };
        if max == 0.0 || share(load.locked) > limits.locked_upper {
            *self = Self::default();
            return 0.0;
        }
        let Some(observed) = load.observed_bias else { return self.bias };
        let settled = self.still > limits.window.saturating_add(LATENCY);
        let now = share(load.wanted.saturating_add(load.locked));
        // Pages seen in the last frames count only once the bias they were seen under is the present one.
        let full = if settled { now.max(share(load.used.saturating_add(load.no_room))) } else { now };
        let lower = limits.upper * LOWER;
        let wished =
            |least: f32| observed + (0.5 * (full / (limits.upper * AIM)).max(1e-6).log2()).max(least);
        if settled && share(load.missing) > MOVES {
            self.swing = None;
        }
        if full > limits.upper {
            self.overflowed();
            let target = wished(LEAST_STEP).min(self.bias + rate).min(max);
            if target > self.bias {
                self.set(target);
                self.since_raise = 0;
            }
        } else if full < lower && self.bias > 0.0 {
            let rested = self.since_raise > limits.window.saturating_add(LATENCY);
            if settled {
                self.lowered_from = None;
            }
            if rested && !self.swing.is_some_and(|swing| swing.has(full)) {
                let target = wished(-max).clamp((self.bias - rate).max(0.0), self.bias);
                if settled && target < self.bias {
                    self.lowered_from = Some(full);
                }
                self.set(target);
            }
        } else if settled {
            self.lowered_from = None;
        }
        self.bias
    }

    fn set(&mut self, bias: f32) {
        if bias != self.bias {
            self.still = 0;
        }
        self.bias = bias;
    }

    /// Too full after having been lowered: remembers from where, and how often.
    fn overflowed(&mut self) {
        let Some(share) = self.lowered_from.take() else { return };
        let swing = self.swing.get_or_insert(Swing { shares: [share; 2], times: 0 });
        swing.shares = [swing.shares[0].min(share), swing.shares[1].max(share)];
        swing.times = swing.times.saturating_add(1);
    }
}
