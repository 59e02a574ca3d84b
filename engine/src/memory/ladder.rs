//! What is given up when memory is short, one step at a time, and taken back when it returns.
//!
//! ```text
//! usage over the target for some frames -> the first rung with something to save steps down
//! room for what a step costs, for long   -> the last rung that is down steps up
//! an allocation is refused              -> a step down at once
//! ```
//!
//! Rungs are registered by subsystems; the ladder knows none of them, only their order, which is by what the eye
//! misses least: caches first, the resolution last. Two things keep it from swinging: going up needs room for what the
//! step is known to cost and some more, and a step up that had to be taken back is not tried again before the budget
//! has changed.

use std::fmt;

use super::load::{Load, Step, Why};

/// What a rung gives up: the order in which rungs step down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Sacrifice {
    /// Memory that is only kept ready.
    Caches,
    /// Sizes of streaming pools.
    Pools,
    /// Mips of textures, levels of virtual textures.
    TextureDetail,
    /// Resolution of shadows.
    Shadows,
    /// Precision and samples of targets.
    Targets,
    /// Optional effects.
    Effects,
    /// Resolution of the picture.
    Resolution,
}

/// Something that can be given up in steps. Step 0 is everything, [`Rung::steps`] the least.
pub trait Rung: Send {
    /// Name, as logged and shown.
    fn name(&self) -> &str;

    /// What it gives up.
    fn sacrifice(&self) -> Sacrifice;

    /// The lowest step.
    fn steps(&self) -> u32;

    /// Bytes that being at `step` instead of at the one above it saves at present, rather too many than too few: going
    /// back up may cost that. Zero: nothing, so it is not stepped to.
    fn saves(&self, step: u32) -> u64;

    /// Goes to a step. Takes effect at once or with the next frame; memory may become free some frames later.
    fn set(&mut self, step: u32);
}

/// A handle of a registered rung.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RungId(u64);

/// Thresholds and hold times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LadderKnobs {
    /// Frames that usage must be over the target before a step down, and between two of them: what a step frees comes
    /// some frames later.
    pub hold_down: u64,
    /// Frames that there must be room before a step up, and between two of them.
    pub hold_up: u64,
    /// Percent of the target that may be used after a step up.
    pub up_percent: u64,
    /// Frames in which a step down takes back the step up before it.
    pub watch: u64,
}

impl Default for LadderKnobs {
    /// 8 frames down; 60 up, to at most 95 percent; 120 of watching.
    fn default() -> Self {
        Self { hold_down: 8, hold_up: 60, up_percent: 95, watch: 120 }
    }
}

/// A step up that had to be taken back.
#[derive(Debug, Clone, Copy)]
struct Failed {
    step: u32,
    /// Bytes that it took in truth.
    cost: u64,
    /// The target at that time.
    target: u64,
}

struct Slot {
    id: RungId,
    rung: Box<dyn Rung>,
    step: u32,
    failed: Option<Failed>,
}

impl Slot {
    /// What stepping up may cost.
    fn cost(&self, target: u64) -> u64 {
        // A budget that changed by an eighth is another one: what was learned with the old one may be wrong.
        let same = |failed: &Failed| failed.target.abs_diff(target) <= failed.target / 8;
        let failed = self.failed.filter(|failed| failed.step == self.step && same(failed));
        self.rung.saves(self.step).max(failed.map_or(0, |failed| failed.cost))
    }
}

/// The step up that is watched.
#[derive(Debug, Clone, Copy)]
struct Tried {
    id: RungId,
    from: u32,
    frame: u64,
    usage: u64,
    peak: u64,
}

/// Rungs and where they stand.
#[derive(Default)]
pub struct Ladder {
    knobs: LadderKnobs,
    slots: Vec<Slot>,
    next: u64,
    frame: Option<u64>,
    over_since: Option<u64>,
    room_since: Option<u64>,
    tried: Option<Tried>,
    level_max: u32,
    is_exhausted: bool,
}

impl fmt::Debug for Ladder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rungs: Vec<_> = self.slots.iter().map(|s| (s.rung.name(), s.step)).collect();
        f.debug_struct("Ladder").field("rungs", &rungs).finish_non_exhaustive()
    }
}

impl Ladder {
    /// A ladder without rungs.
    pub fn new(knobs: LadderKnobs) -> Self {
        Self { knobs, ..Default::default() }
    }

    /// Adds a rung at step 0, after those that give up the same or less.
    pub fn register(&mut self, rung: Box<dyn Rung>) -> RungId {
        let id = RungId(self.next);
        self.next += 1;
        let at = self.slots.partition_point(|slot| slot.rung.sacrifice() <= rung.sacrifice());
        self.slots.insert(at, Slot { id, rung, step: 0, failed: None });
        id
    }

    /// Takes a rung out, as it stands.
    pub fn remove(&mut self, id: RungId) -> Option<Box<dyn Rung>> {
        let at = self.slots.iter().position(|slot| slot.id == id)?;
        Some(self.slots.remove(at).rung)
    }

    /// Steps taken down, over all rungs: 0 is the full picture.
    pub fn level(&self) -> u32 {
        self.slots.iter().fold(0, |sum, slot| sum.saturating_add(slot.step))
    }

    /// The highest level so far.
    pub fn level_max(&self) -> u32 {
        self.level_max
    }

    /// The level at which nothing is left to give up.
    pub fn levels(&self) -> u32 {
        self.slots.iter().fold(0, |sum, slot| sum.saturating_add(slot.rung.steps()))
    }

    /// The step of a rung.
    pub fn step(&self, id: RungId) -> Option<u32> {
        self.slots.iter().find(|slot| slot.id == id).map(|slot| slot.step)
    }

    /// Names, steps and lowest steps, in order.
    pub fn rungs(&self) -> impl Iterator<Item = (&str, u32, u32)> {
        self.slots.iter().map(|slot| (slot.rung.name(), slot.step, slot.rung.steps()))
    }

    /// Whether the last step down that was needed found nothing to give up.
    pub fn is_exhausted(&self) -> bool {
        self.is_exhausted
    }

    /// A frame has passed with this load: takes at most one step. A second call for the same frame does nothing.
    pub fn update(&mut self, frame: u64, load: Load) -> Option<Step> {
        if self.frame == Some(frame) {
            return None;
        }
        self.frame = Some(frame);
        self.watch(frame, load);
        if load.usage > load.target {
            self.room_since = None;
            let since = *self.over_since.get_or_insert(frame);
            if frame.saturating_sub(since) < self.knobs.hold_down {
                return None;
            }
            return self.down(frame, load, Why::Pressure);
        }
        (self.over_since, self.is_exhausted) = (None, false);
        let limit = (u128::from(load.target) * u128::from(self.knobs.up_percent) / 100) as u64;
        let at = self.slots.iter().rposition(|slot| slot.step > 0)?;
        let cost = self.slots[at].cost(load.target);
        if load.usage.saturating_add(cost) > limit {
            self.room_since = None;
            return None;
        }
        let since = *self.room_since.get_or_insert(frame);
        if frame.saturating_sub(since) < self.knobs.hold_up {
            return None;
        }
        self.room_since = Some(frame);
        let (id, from) = (self.slots[at].id, self.slots[at].step);
        self.tried = Some(Tried { id, from, frame, usage: load.usage, peak: load.usage });
        Some(self.go(at, from - 1, frame, load, cost, Why::Room))
    }

    /// An allocation was refused: a step down at once. May be called again in the same frame, until it has nothing left.
    pub fn refused(&mut self, frame: u64, load: Load) -> Option<Step> {
        self.frame = Some(frame);
        self.room_since = None;
        self.watch(frame, load);
        self.down(frame, load, Why::Refused)
    }

    /// Before the first frame: steps down until what is expected to be used fits.
    pub fn start(&mut self, frame: u64, expected: Load) -> Vec<Step> {
        let (mut steps, mut load) = (Vec::new(), expected);
        while load.usage > load.target {
            let Some(step) = self.down(frame, load, Why::Start) else { break };
            load.usage = load.usage.saturating_sub(step.bytes);
            steps.push(step);
        }
        (self.over_since, self.is_exhausted) = (None, false);
        steps
    }

    fn down(&mut self, frame: u64, load: Load, why: Why) -> Option<Step> {
        let next = |slot: &Slot| slot.step.checked_add(1).filter(|next| *next <= slot.rung.steps());
        let saves = |slot: &Slot| next(slot).map_or(0, |next| slot.rung.saves(next));
        let Some(at) = self.slots.iter().position(|slot| saves(slot) > 0) else {
            self.is_exhausted = true;
            return None;
        };
        self.over_since = Some(frame);
        self.take_back(load);
        let (bytes, step) = (saves(&self.slots[at]), self.slots[at].step + 1);
        Some(self.go(at, step, frame, load, bytes, why))
    }

    fn go(&mut self, at: usize, to: u32, frame: u64, load: Load, bytes: u64, why: Why) -> Step {
        let slot = &mut self.slots[at];
        let from = std::mem::replace(&mut slot.step, to);
        slot.rung.set(to);
        let rung = slot.rung.name().to_owned();
        let level = self.level();
        self.level_max = self.level_max.max(level);
        Step { frame, rung, from, to, level, bytes, load, why }
    }

    fn watch(&mut self, frame: u64, load: Load) {
        let watch = self.knobs.watch;
        self.tried = self.tried.filter(|tried| frame.saturating_sub(tried.frame) <= watch);
        if let Some(tried) = &mut self.tried {
            tried.peak = tried.peak.max(load.usage);
        }
    }

    /// A step down soon after a step up: remembers what that cost, so that it is not tried again in the same budget.
    fn take_back(&mut self, load: Load) {
        let Some(tried) = self.tried.take() else { return };
        let failed = Failed {
            step: tried.from,
            cost: tried.peak.saturating_sub(tried.usage).max(1),
            target: load.target,
        };
        let slot = self.slots.iter_mut().find(|slot| slot.id == tried.id);
        slot.into_iter().for_each(|slot| slot.failed = Some(failed));
    }
}
