//! How many pages one frame may make.

use crate::vt::planner::{Budget, Knobs};

/// What a frame has used of its budgets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budgets {
    limits: [i32; 4],
    used: [u32; 4],
}

const UPLOADS: usize = 0;
const STREAMING: usize = 1;
const TILES: usize = 2;
const CONTINUOUS: usize = 3;

impl Budgets {
    /// Nothing used yet.
    pub fn new(knobs: &Knobs) -> Self {
        Self {
            limits: [
                knobs.max_uploads_per_frame,
                knobs.max_uploads_per_frame_streaming,
                knobs.max_tiles_produced_per_frame,
                knobs.max_continuous_updates_per_frame,
            ],
            used: [0; 4],
        }
    }

    fn has(&self, which: usize) -> bool {
        self.limits[which] < 0 || i64::from(self.used[which]) < i64::from(self.limits[which])
    }

    /// Whether there is room for one more page, from a file (`baked`) or drawn.
    pub fn allows(&self, baked: bool) -> bool {
        self.has(TILES) && self.has(if baked { STREAMING } else { UPLOADS })
    }

    /// Whether no page of any kind fits any more.
    pub fn is_spent(&self) -> bool {
        !self.allows(true) && !self.allows(false)
    }

    /// Counts one page, if it fits.
    pub fn admit(&mut self, baked: bool) -> Option<Budget> {
        if !self.allows(baked) {
            return None;
        }
        let which = if baked { STREAMING } else { UPLOADS };
        self.used[TILES] += 1;
        self.used[which] += 1;
        let (nth, limit) = (self.used[which], self.limits[which]);
        Some(if baked { Budget::Streaming { nth, limit } } else { Budget::Uploads { nth, limit } })
    }

    /// Whether there is room for one more refresh: out of what the uploads left over; without any limit where the knob
    /// is negative.
    pub fn allows_continuous(&self) -> bool {
        self.limits[CONTINUOUS] < 0 || (self.has(CONTINUOUS) && self.allows(false))
    }

    /// Counts one refresh, if it fits.
    pub fn admit_continuous(&mut self) -> Option<Budget> {
        if !self.allows_continuous() {
            return None;
        }
        self.used[TILES] += 1;
        self.used[UPLOADS] += 1;
        self.used[CONTINUOUS] += 1;
        Some(Budget::Continuous { nth: self.used[CONTINUOUS], limit: self.limits[CONTINUOUS] })
    }
}
