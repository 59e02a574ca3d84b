//! A rung that is only a number: somebody reads it each frame and does what it says.
//!
//! Most rungs are: the samples of targets, the share of a pool. The reader also tells what a step saves, since only it
//! knows how large its things are at present.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::ladder::{Rung, Sacrifice};

#[derive(Debug)]
struct Shared {
    name: String,
    step: AtomicU32,
    /// What each step saves over the one above it, bytes; the first is that of step 1.
    saves: Vec<AtomicU64>,
}

/// The reader's end.
#[derive(Debug, Clone)]
pub struct Dial(Arc<Shared>);

/// The ladder's end.
#[derive(Debug)]
pub struct DialRung {
    shared: Arc<Shared>,
    sacrifice: Sacrifice,
}

impl Dial {
    /// A dial at step 0 with `steps` steps, which save nothing until told otherwise, and its rung for
    /// [`Ladder::register`](super::Ladder::register).
    pub fn new(name: &str, sacrifice: Sacrifice, steps: u32) -> (Self, DialRung) {
        let saves = (0..steps).map(|_| AtomicU64::new(0)).collect();
        let shared = Arc::new(Shared { name: name.into(), step: AtomicU32::new(0), saves });
        (Self(shared.clone()), DialRung { shared, sacrifice })
    }

    /// The step now; 0 is everything.
    pub fn step(&self) -> u32 {
        self.0.step.load(Ordering::Acquire)
    }

    /// Tells what being at a step saves over the one above it, bytes. Steps that do not exist are ignored.
    pub fn set_saves(&self, step: u32, bytes: u64) {
        let place = (step as usize).checked_sub(1).and_then(|index| self.0.saves.get(index));
        place.into_iter().for_each(|place| place.store(bytes, Ordering::Release));
    }
}

impl Rung for DialRung {
    fn name(&self) -> &str {
        &self.shared.name
    }

    fn sacrifice(&self) -> Sacrifice {
        self.sacrifice
    }

    fn steps(&self) -> u32 {
        u32::try_from(self.shared.saves.len()).unwrap_or(u32::MAX)
    }

    fn saves(&self, step: u32) -> u64 {
        let place = (step as usize).checked_sub(1).and_then(|index| self.shared.saves.get(index));
        place.map_or(0, |place| place.load(Ordering::Acquire))
    }

    fn set(&mut self, step: u32) {
        self.shared.step.store(step, Ordering::Release);
    }
}
