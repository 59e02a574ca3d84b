//! Budget, residents and ladder together: one call a frame.
//!
//! ```text
//! tick(frame, time, completed) -> budget up to date (`budget`)
//!                              -> over the target: streamed residents leave (`residency`)
//!                              -> still over: one step down; room again: one step up (`ladder`)
//! refused(frame)               -> an allocation was refused: a step down at once
//! ```

use std::collections::VecDeque;
use std::time::Duration;

use super::budget::{BudgetKnobs, BudgetSource, BudgetTracker, HeapState};
use super::ladder::{Ladder, LadderKnobs, Rung, RungId};
use super::load::{Load, Step};
use super::residency::{EvictionPlan, Resident, ResidentId, Residents, Use};

/// Steps that are remembered.
const REMEMBERED: usize = 256;
/// Frames after which what was released is counted as used again, if it is: longer than any number of frames in flight.
const GOING_FRAMES: u64 = 8;

/// How memory is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResidencyKnobs {
    /// Queries and margin.
    pub budget: BudgetKnobs,
    /// Hold times and thresholds.
    pub ladder: LadderKnobs,
    /// Frames that a streamed resident is not taken away after a use.
    pub keep_frames: u64,
    /// Give things up under pressure. Off: the budget is only watched.
    pub degrade: bool,
}

impl Default for ResidencyKnobs {
    /// Defaults of both; what was used in the last 2 frames stays.
    fn default() -> Self {
        Self { budget: BudgetKnobs::default(), ladder: LadderKnobs::default(), keep_frames: 2, degrade: true }
    }
}

/// What a frame brought.
#[derive(Debug, Default)]
pub struct Tick {
    /// Who leaves from now on.
    pub plan: EvictionPlan,
    /// Who left and is not in flight any more: to be freed by their owners.
    pub released: Vec<(ResidentId, Resident)>,
    /// What was given up or taken back.
    pub step: Option<Step>,
}

/// Watches the budget and decides what has to go.
pub struct ResidencyManager {
    knobs: ResidencyKnobs,
    source: Box<dyn BudgetSource>,
    budget: BudgetTracker,
    residents: Residents,
    ladder: Ladder,
    steps: VecDeque<Step>,
    peak: u64,
    /// Frame and bytes of what was released lately: its owners drop it, and memory comes back some frames later.
    going: VecDeque<(u64, u64)>,
}

impl std::fmt::Debug for ResidencyManager {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ResidencyManager")
            .field("state", &self.state())
            .field("ladder", &self.ladder)
            .finish_non_exhaustive()
    }
}

impl ResidencyManager {
    /// A manager over a source of budgets, with no residents and no rungs. Reads the budget once.
    pub fn new(mut source: Box<dyn BudgetSource>, knobs: ResidencyKnobs) -> Self {
        let mut budget = BudgetTracker::new(source.heaps(), knobs.budget);
        budget.update(&mut *source, 0, Duration::ZERO);
        Self {
            peak: budget.tightest().usage,
            knobs,
            source,
            budget,
            residents: Residents::new(),
            ladder: Ladder::new(knobs.ladder),
            steps: VecDeque::new(),
            going: VecDeque::new(),
        }
    }

    /// Replaces the source of budgets and reads it.
    pub fn set_source(&mut self, mut source: Box<dyn BudgetSource>) {
        self.budget = BudgetTracker::new(source.heaps(), self.knobs.budget);
        self.budget.update(&mut *source, 0, Duration::ZERO);
        self.source = source;
    }

    /// Registers something that can be given up.
    pub fn register(&mut self, rung: impl Rung + 'static) -> RungId {
        self.ladder.register(Box::new(rung))
    }

    /// Before the first frame: gives up what cannot fit, when `expected` more bytes are going to be used. Returns the
    /// steps. `time` as in [`Self::tick`].
    pub fn start(&mut self, frame: u64, time: Duration, expected: u64) -> Vec<Step> {
        self.budget.update(&mut *self.source, frame, time);
        if !self.knobs.degrade {
            return Vec::new();
        }
        let load = self.load();
        let steps = self.ladder.start(frame, Load { usage: load.usage.saturating_add(expected), ..load });
        steps.iter().for_each(|step| self.remember(step));
        steps
    }

    /// A frame begins. `time` is the frame's, from any start; `completed` is the value that the timeline of the residents'
    /// points has reached.
    pub fn tick(&mut self, frame: u64, time: Duration, completed: u64) -> Tick {
        self.budget.update(&mut *self.source, frame, time);
        self.peak = self.peak.max(self.state().usage);
        if !self.knobs.degrade {
            return Tick { released: self.residents.release(completed), ..Default::default() };
        }
        self.going.retain(|(released, _)| released + GOING_FRAMES > frame);
        let idle_before = frame.saturating_sub(self.knobs.keep_frames);
        let plan = self.residents.plan(self.state().over().saturating_sub(self.going_bytes()), idle_before);
        let step = self.ladder.update(frame, self.load());
        step.iter().for_each(|step| self.remember(step));
        let released = self.residents.release(completed);
        let bytes = released.iter().map(|(_, resident)| resident.bytes).sum();
        if bytes > 0 {
            self.going.push_back((frame, bytes));
        }
        Tick { plan, released, step }
    }

    /// An allocation was refused although everything was trimmed. Returns what is given up for it; `None` when there is
    /// nothing left.
    pub fn refused(&mut self, frame: u64) -> Option<Step> {
        if !self.knobs.degrade {
            return None;
        }
        let step = self.ladder.refused(frame, self.load());
        step.iter().for_each(|step| self.remember(step));
        step
    }

    fn remember(&mut self, step: &Step) {
        log::info!("{step}");
        if self.steps.len() == REMEMBERED {
            self.steps.pop_front();
        }
        self.steps.push_back(step.clone());
    }

    /// What the ladder goes by: what is leaving counts as gone.
    fn load(&self) -> Load {
        let state = self.state();
        let leaving = self.residents.bytes().leaving.saturating_add(self.going_bytes());
        Load { usage: state.usage.saturating_sub(leaving), target: state.target() }
    }

    fn going_bytes(&self) -> u64 {
        self.going.iter().map(|(_, bytes)| bytes).sum()
    }

    /// The heap that is nearest to its end.
    pub fn state(&self) -> HeapState {
        self.budget.tightest()
    }

    /// Largest usage of that heap so far, bytes.
    pub fn peak(&self) -> u64 {
        self.peak
    }

    /// Budgets of all heaps.
    pub fn budget(&self) -> &BudgetTracker {
        &self.budget
    }

    /// The ladder, to look at.
    pub fn ladder(&self) -> &Ladder {
        &self.ladder
    }

    /// The last 256 steps, the oldest first.
    pub fn steps(&self) -> impl DoubleEndedIterator<Item = &Step> {
        self.steps.iter()
    }

    /// Knobs as they were given.
    pub fn knobs(&self) -> &ResidencyKnobs {
        &self.knobs
    }

    /// The residents, to look at.
    pub fn residents(&self) -> &Residents {
        &self.residents
    }

    /// As [`Residents::add`].
    pub fn add(&mut self, resident: Resident) -> ResidentId {
        self.residents.add(resident)
    }

    /// As [`Residents::touch`].
    pub fn touch(&mut self, id: ResidentId, used: Use) -> bool {
        self.residents.touch(id, used)
    }

    /// As [`Residents::remove`].
    pub fn remove(&mut self, id: ResidentId) -> Option<Resident> {
        self.residents.remove(id)
    }
}
