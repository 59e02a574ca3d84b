//! When a commit is worth making: grow at once and a little ahead, fall late.
//!
//! The number of commits costs more than their size, and what is unbound is often bound again soon
//! after. So the target leads the request by a headroom, moves in steps, and comes down only when a
//! lower one would have done for some time.

use super::{Layout, PlanError};

/// How eagerly a buffer's target follows what is requested of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommitPolicy {
    /// The target is rounded up to this many bytes; 0 and 1 mean no rounding beyond whole tiles.
    pub step_bytes: u64,
    /// Committed beyond what is requested, in bytes, so that the next growth finds its memory there.
    pub headroom_bytes: u64,
    /// Frames in which a lower target would have done before the target falls.
    pub shrink_hysteresis: u32,
    /// Growth is predicted and committed ahead of need by a worker, so that a frame that grows normally waits for
    /// nothing.
    pub ahead: bool,
}

impl CommitPolicy {
    /// The target is the request itself: no steps, no headroom, no hysteresis.
    pub const DIRECT: Self = Self { step_bytes: 0, headroom_bytes: 0, shrink_hysteresis: 0, ahead: false };

    /// What the buffers of the GPU scene use: 16 MiB steps, 60 frames (a second at 60 Hz) of patience.
    pub const GPU_SCENE: Self =
        Self { step_bytes: 16 << 20, headroom_bytes: 0, shrink_hysteresis: 60, ahead: true };

    /// Growth ahead of need in whole tiles, 60 frames of patience.
    pub const AHEAD: Self = Self { step_bytes: 0, headroom_bytes: 0, shrink_hysteresis: 60, ahead: true };
}

/// A run of frames that needed less than the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LowRun {
    since: u64,
    peak: u64,
}

/// Turns what is requested, frame by frame, into the target to commit. Pure: the frame is a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Governor {
    policy: CommitPolicy,
    capacity_bytes: u64,
    tile_bytes: u64,
    target: u64,
    low: Option<LowRun>,
}

impl Governor {
    /// A governor for a buffer of this layout, with nothing committed.
    pub fn new(policy: CommitPolicy, layout: &Layout) -> Self {
        Self {
            policy,
            capacity_bytes: layout.capacity_bytes(),
            tile_bytes: layout.tile_bytes(),
            target: 0,
            low: None,
        }
    }

    /// The policy it was made with.
    pub fn policy(&self) -> &CommitPolicy {
        &self.policy
    }

    /// The target as it stands, in bytes.
    pub fn target(&self) -> u64 {
        self.target
    }

    /// The target in bytes for `requested` bytes in frame `frame` (never falling, may skip or repeat).
    ///
    /// The need is `requested` + headroom, rounded up to the step and cut to the capacity; a request of
    /// zero needs nothing. The target rises to the need at once. It falls when every need of this frame
    /// and of the `shrink_hysteresis` frames before it was lower, and then to the highest of them, so
    /// that nothing used in that time loses its memory.
    ///
    /// # Errors
    /// [`PlanError::PastCapacity`] when `requested` passes the capacity and is not `u64::MAX` (all).
    /// The target is unchanged then.
    pub fn update(&mut self, requested: u64, frame: u64) -> Result<u64, PlanError> {
        self.update_with(requested, 0, frame)
    }

    /// [`Self::update`] with more headroom than the policy's: what growth is predicted to need.
    ///
    /// # Errors
    /// Those of [`Self::update`].
    pub fn update_with(&mut self, requested: u64, more: u64, frame: u64) -> Result<u64, PlanError> {
        let need = self.need(requested, more)?;
        if need >= self.target {
            self.target = need;
            self.low = None;
            return Ok(self.target);
        }
        let run = self.low.get_or_insert(LowRun { since: frame, peak: need });
        run.peak = run.peak.max(need);
        if frame.saturating_sub(run.since) >= u64::from(self.policy.shrink_hysteresis) {
            self.target = run.peak;
            self.low = (need < self.target).then_some(LowRun { since: frame, peak: need });
        }
        Ok(self.target)
    }

    /// Forgets what was needed before: the next [`Self::update`] falls to its need at once. For when the
    /// system asks for memory back.
    pub fn trim(&mut self) {
        self.target = 0;
        self.low = None;
    }

    /// What `requested` bytes need without any prediction, in bytes.
    ///
    /// # Errors
    /// Those of [`Self::update`].
    pub fn need_now(&self, requested: u64) -> Result<u64, PlanError> {
        self.need(requested, 0)
    }

    fn need(&self, requested: u64, more: u64) -> Result<u64, PlanError> {
        match requested {
            0 => Ok(0),
            u64::MAX => Ok(self.capacity_bytes),
            _ if requested > self.capacity_bytes => Err(PlanError::PastCapacity {
                requested,
                capacity: self.capacity_bytes,
                committed: self.target,
            }),
            _ => {
                let step = self.policy.step_bytes.max(self.tile_bytes);
                let wanted = requested.saturating_add(self.policy.headroom_bytes).saturating_add(more);
                let rounded = wanted.checked_next_multiple_of(step).unwrap_or(u64::MAX);
                Ok(rounded.min(self.capacity_bytes))
            }
        }
    }
}
