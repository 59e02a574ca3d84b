use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::budget::{BudgetKnobs, BudgetSource, HeapKind, HeapReading};
use super::dial::Dial;
use super::ladder::Sacrifice;
use super::load::Why;
use super::manager::{ResidencyKnobs, ResidencyManager};
use super::residency::{Priority, Resident, Use};

#[derive(Clone, Default)]
struct Machine {
    own: Arc<AtomicU64>,
    limit: Arc<AtomicU64>,
}

impl BudgetSource for Machine {
    fn heaps(&self) -> Vec<HeapKind> {
        vec![HeapKind { bytes: 10_000, device_local: true }]
    }

    fn query(&mut self) -> Option<Vec<HeapReading>> {
        None
    }

    fn own_bytes(&self, _: usize) -> u64 {
        self.own.load(Ordering::Relaxed)
    }

    fn limit(&self) -> Option<u64> {
        Some(self.limit.load(Ordering::Relaxed))
    }
}

fn knobs() -> ResidencyKnobs {
    ResidencyKnobs { budget: BudgetKnobs { margin_bytes: 0, ..Default::default() }, ..Default::default() }
}

fn machine(own: u64, limit: u64) -> (Machine, ResidencyManager) {
    let machine = Machine::default();
    machine.own.store(own, Ordering::Relaxed);
    machine.limit.store(limit, Ordering::Relaxed);
    (machine.clone(), ResidencyManager::new(Box::new(machine), knobs()))
}

fn resident(name: &str, bytes: u64, last_use: u64, point: u64) -> Resident {
    Resident { name: name.into(), priority: Priority::Streamed, bytes, last_use, distance: 1.0, point }
}

#[test]
fn residents_leave_before_anything_is_given_up_and_only_when_the_gpu_is_done() {
    let (machine, mut manager) = machine(1000, 1000);
    let (dial, rung) = Dial::new("dial", Sacrifice::Pools, 1);
    dial.set_saves(1, 100);
    manager.register(rung);
    let old = manager.add(resident("Old", 150, 0, 40));
    let new = manager.add(resident("New", 150, 99, 90));
    let tick = manager.tick(100, Duration::ZERO, 39);
    assert_eq!(tick.plan.evict.iter().map(|e| e.id).collect::<Vec<_>>(), [old], "1000 used of 900 allowed");
    assert!(tick.released.is_empty(), "still in flight");
    for frame in 101..140 {
        manager.touch(new, Use { frame, distance: 1.0, point: 90 });
        let tick = manager.tick(frame, Duration::ZERO, 39);
        assert!(tick.step.is_none() && tick.plan.evict.is_empty(), "what leaves counts as gone");
    }
    let tick = manager.tick(140, Duration::ZERO, 40);
    assert_eq!(tick.released.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [old]);
    machine.own.store(850, Ordering::Relaxed);
    machine.limit.store(800, Ordering::Relaxed);
    for frame in 141..200 {
        manager.touch(new, Use { frame, distance: 1.0, point: 90 });
        manager.tick(frame, Duration::ZERO, 40);
    }
    let step = manager.steps().next().unwrap();
    assert_eq!((step.why, step.load.usage, step.load.target), (Why::Pressure, 850, 720), "all in use");
    assert_eq!((dial.step(), manager.ladder().is_exhausted(), manager.peak()), (1, true, 1000));
}

#[test]
fn a_small_budget_starts_lower() {
    let (_, mut manager) = machine(100, 1000);
    let (dial, rung) = Dial::new("dial", Sacrifice::Resolution, 3);
    (1..4).for_each(|step| dial.set_saves(step, 100));
    manager.register(rung);
    let steps = manager.start(0, Duration::ZERO, 950);
    assert_eq!((steps.len(), dial.step()), (2, 2), "1050 expected, 900 allowed");
    assert!(steps.iter().all(|step| step.why == Why::Start));
}

#[test]
fn a_manager_that_may_not_degrade_only_watches() {
    let source = Machine::default();
    source.own.store(5000, Ordering::Relaxed);
    let mut manager = ResidencyManager::new(Box::new(source), ResidencyKnobs { degrade: false, ..knobs() });
    let (dial, rung) = Dial::new("dial", Sacrifice::Pools, 1);
    dial.set_saves(1, 100);
    manager.register(rung);
    (0..50).for_each(|frame| assert!(manager.tick(frame, Duration::ZERO, 0).step.is_none()));
    assert!(manager.refused(50).is_none() && manager.start(51, Duration::ZERO, 1 << 40).is_empty());
    assert_eq!(manager.state().usage, 5000);
}

#[test]
fn what_was_released_is_not_asked_for_twice_while_its_memory_is_on_its_way() {
    let (machine, mut manager) = machine(1000, 1000);
    let ids: Vec<_> = (0..4).map(|i| manager.add(resident("Page", 150, i, 10))).collect();
    let tick = manager.tick(100, Duration::ZERO, 10);
    assert_eq!(tick.released.iter().map(|(id, _)| *id).collect::<Vec<_>>(), ids[..1], "100 too many");
    // Dropped by its owner, and free three frames later.
    for frame in 101..108 {
        if frame == 103 {
            machine.own.store(850, Ordering::Relaxed);
        }
        let tick = manager.tick(frame, Duration::ZERO, 10);
        assert!(tick.released.is_empty() && tick.step.is_none(), "frame {frame}");
    }
    // One that its owner keeps frees nothing: after a while the next has to go.
    machine.limit.store(900, Ordering::Relaxed);
    let released: Vec<usize> =
        (108..130).map(|frame| manager.tick(frame, Duration::ZERO, 10).released.len()).collect();
    assert_eq!((released[0], released.iter().sum::<usize>()), (1, 3), "{released:?}");
}
