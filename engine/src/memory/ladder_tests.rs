use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use proptest::prelude::*;

use super::dial::Dial;
use super::ladder::*;
use super::load::{Load, Step, Why};

const SACRIFICES: [Sacrifice; 7] = [
    Sacrifice::Caches,
    Sacrifice::Pools,
    Sacrifice::TextureDetail,
    Sacrifice::Shadows,
    Sacrifice::Targets,
    Sacrifice::Effects,
    Sacrifice::Resolution,
];

/// Every `set` of every rung: name and step.
type Calls = Arc<Mutex<Vec<(String, u32)>>>;

/// A rung that says what each step saves, and writes down what it is told.
struct Fake {
    name: String,
    sacrifice: Sacrifice,
    saves: Vec<u64>,
    calls: Calls,
}

impl Rung for Fake {
    fn name(&self) -> &str {
        &self.name
    }

    fn sacrifice(&self) -> Sacrifice {
        self.sacrifice
    }

    fn steps(&self) -> u32 {
        self.saves.len() as u32
    }

    fn saves(&self, step: u32) -> u64 {
        self.saves[step as usize - 1]
    }

    fn set(&mut self, step: u32) {
        self.calls.lock().unwrap().push((self.name.clone(), step));
    }
}

/// What a rung says and what is true.
#[derive(Debug, Clone)]
struct Plan {
    sacrifice: Sacrifice,
    said: Vec<u64>,
    truth: Vec<u64>,
}

/// A machine with a ladder: what steps save comes free some frames later.
struct Machine {
    ladder: Ladder,
    calls: Calls,
    plans: Vec<Plan>,
    base: u64,
    lag: usize,
    /// Saved bytes, the newest last.
    saved: VecDeque<u64>,
    frame: u64,
    steps: Vec<Step>,
}

impl Machine {
    fn new(plans: Vec<Plan>, base: u64, lag: usize) -> Self {
        let calls = Calls::default();
        let mut ladder = Ladder::new(LadderKnobs::default());
        for (i, plan) in plans.iter().enumerate() {
            ladder.register(Box::new(Fake {
                name: i.to_string(),
                sacrifice: plan.sacrifice,
                saves: plan.said.clone(),
                calls: calls.clone(),
            }));
        }
        let saved = VecDeque::from(vec![0; lag + 1]);
        Self { ladder, calls, plans, base, lag, saved, frame: 0, steps: Vec::new() }
    }

    fn usage(&self) -> u64 {
        self.base.saturating_sub(self.saved[0])
    }

    /// One frame; at most one rung may be told anything.
    fn frame(&mut self, target: u64) {
        let before = self.calls.lock().unwrap().len();
        let load = Load { usage: self.usage(), target };
        self.steps.extend(self.ladder.update(self.frame, load));
        assert_eq!(self.ladder.update(self.frame, load), None, "a second time in a frame");
        assert!(self.calls.lock().unwrap().len() - before <= 1, "two steps in a frame");
        let saved = self.ladder.rungs().map(|(name, step, _)| {
            self.plans[name.parse::<usize>().unwrap()].truth[..step as usize].iter().sum::<u64>()
        });
        let saved = saved.sum();
        self.saved.push_back(saved);
        while self.saved.len() > self.lag + 1 {
            self.saved.pop_front();
        }
        self.frame += 1;
    }

    fn frames(&mut self, count: u64, target: u64) {
        (0..count).for_each(|_| self.frame(target));
    }
}

fn plans(lying: bool) -> impl Strategy<Value = Vec<Plan>> {
    let step = (1..200u64, 0..200u64);
    let plan = (0..7usize, prop::collection::vec(step, 1..4)).prop_map(move |(s, steps)| Plan {
        sacrifice: SACRIFICES[s],
        said: steps.iter().map(|(said, _)| *said).collect(),
        truth: steps.iter().map(|(said, truth)| if lying { *truth } else { *said }).collect(),
    });
    prop::collection::vec(plan, 0..6)
}

/// Frames in which any ladder of these tests has come to rest.
const REST: u64 = 18 * 200;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_steady_budget_never_makes_it_swing(
        plans in plans(false), base in 0..1500u64, targets in prop::collection::vec(0..1500u64, 1..3), lag in 0..6usize,
    ) {
        let mut machine = Machine::new(plans, base, lag);
        for target in targets {
            let first = machine.steps.len();
            machine.frames(REST, target);
            let steps = &machine.steps[first..];
            let turns = steps.windows(2).filter(|pair| pair[0].is_down() != pair[1].is_down()).count();
            prop_assert_eq!(turns, 0, "down and up in one budget: {:?}", steps);
            let rest = machine.steps.len();
            machine.frames(REST, target);
            prop_assert_eq!(machine.steps.len(), rest, "it never comes to rest");
        }
    }

    #[test]
    fn rungs_that_say_too_little_are_tried_once(plans in plans(true), base in 0..1500u64, target in 0..1500u64, lag in 0..6usize) {
        let mut machine = Machine::new(plans, base, lag);
        let most = u64::from(machine.ladder.levels());
        machine.frames(REST * (most + 1), target);
        let rest = machine.steps.len();
        machine.frames(REST * 2, target);
        prop_assert_eq!(machine.steps.len(), rest, "it never comes to rest: {:?}", &machine.steps);
    }

    #[test]
    fn it_is_back_at_level_0_after_memory_returned(
        plans in plans(true), base in 0..1500u64, squeezes in prop::collection::vec((0..1500u64, 1..400u64), 0..6), lag in 0..6usize,
    ) {
        let mut machine = Machine::new(plans, base, lag);
        for (target, frames) in squeezes {
            machine.frames(frames, target);
        }
        machine.frames(REST, 4000);
        prop_assert_eq!(machine.ladder.level(), 0);
        prop_assert!(machine.ladder.level_max() >= machine.steps.iter().map(|s| s.level).max().unwrap_or(0));
    }

    #[test]
    fn rungs_go_down_by_what_they_give_up_and_up_the_other_way(plans in plans(false), base in 1..1500u64, lag in 0..6usize) {
        let mut machine = Machine::new(plans, base, lag);
        machine.frames(REST, 0);
        machine.frames(REST, 100_000);
        // The naive model: all steps in one list, sorted once.
        let mut all: Vec<(Sacrifice, usize, u32)> = Vec::new();
        for (i, plan) in machine.plans.iter().enumerate() {
            all.extend((1..=plan.said.len() as u32).map(|step| (plan.sacrifice, i, step)));
        }
        all.sort();
        let names = |down: bool| {
            let of = |s: &Step| (s.rung.parse::<usize>().unwrap(), s.from.max(s.to));
            machine.steps.iter().filter(|s| s.is_down() == down).map(of).collect::<Vec<_>>()
        };
        let expected: Vec<_> = all.iter().map(|(_, i, step)| (*i, *step)).collect();
        let down = names(true);
        prop_assert_eq!(&down, &expected[..down.len()]);
        prop_assert!(down.len() == expected.len() || machine.base <= down.iter().map(|(i, step)| machine.plans[*i].truth[*step as usize - 1]).sum());
        prop_assert_eq!(names(false), down.into_iter().rev().collect::<Vec<_>>());
    }

    #[test]
    fn hold_times_are_those_of_a_list_of_frames(loads in prop::collection::vec((0..3u8, 1..100u64), 1..40)) {
        let calls = Calls::default();
        // Nothing is learned from a step that is taken back.
        let mut ladder = Ladder::new(LadderKnobs { watch: 0, ..Default::default() });
        let saves = vec![10; 40];
        ladder.register(Box::new(Fake { name: "R".into(), sacrifice: Sacrifice::Pools, saves, calls }));
        let (mut over, mut room, mut step) = (Vec::new(), Vec::new(), 0u32);
        let mut frame = 0;
        for (kind, frames) in loads {
            // Over; too little room for a step of 10 in 95; enough room.
            let usage = [101, 90, 20][kind as usize];
            for _ in 0..frames {
                let taken = ladder.update(frame, Load { usage, target: 100 });
                // The naive model: frames of one kind in a row, the frame of the last step among them.
                if kind == 0 { over.push(frame) } else { over.clear() }
                if kind == 2 && step > 0 { room.push(frame) } else { room.clear() }
                let expected = if over.len() > 8 && step < 40 {
                    over = vec![frame];
                    Some(step + 1)
                } else if room.len() > 60 {
                    room = vec![frame];
                    Some(step - 1)
                } else {
                    None
                };
                prop_assert_eq!(taken.map(|s| s.to), expected, "frame {}", frame);
                step = expected.unwrap_or(step);
                frame += 1;
            }
        }
    }
}

fn fake(name: &str, sacrifice: Sacrifice, saves: &[u64]) -> Box<Fake> {
    Box::new(Fake { name: name.into(), sacrifice, saves: saves.to_vec(), calls: Calls::default() })
}

#[test]
fn steps_say_why() {
    const MIB: u64 = 1 << 20;
    let mut ladder = Ladder::new(LadderKnobs::default());
    ladder.register(fake("resolution", Sacrifice::Resolution, &[40 * MIB]));
    ladder.register(fake("caches", Sacrifice::Caches, &[0]));
    ladder.register(fake("pool", Sacrifice::Pools, &[10 * MIB, 5 * MIB]));
    let mut text = String::new();
    let load = |usage: u64, target: u64| Load { usage: usage * MIB, target: target * MIB };
    ladder.start(0, load(210, 200)).iter().for_each(|step| text += &format!("{step}\n"));
    for frame in 1..100 {
        let usage = if frame < 20 { 210 } else { 100 };
        text.extend(ladder.update(frame, load(usage, 200)).map(|step| format!("{step}\n")));
    }
    text.extend(ladder.refused(100, load(150, 200)).map(|step| format!("{step}\n")));
    assert_eq!(ladder.update(100, load(900, 200)), None, "one more in the same frame");
    insta::assert_snapshot!(text, @r"
    frame 0, degrade level 1: pool 0 -> 1, saves 10 MiB: 210 MiB expected at the start, 200 MiB allowed
    frame 9, degrade level 2: pool 1 -> 2, saves 5 MiB: 210 MiB used, 200 MiB allowed
    frame 17, degrade level 3: resolution 0 -> 1, saves 40 MiB: 210 MiB used, 200 MiB allowed
    frame 80, degrade level 2: resolution 1 -> 0, costs 40 MiB: 100 MiB used, 200 MiB allowed
    frame 100, degrade level 3: resolution 0 -> 1, saves 40 MiB: an allocation was refused with 150 MiB used of 200 MiB
    ");
    assert_eq!((ladder.level(), ladder.level_max(), ladder.levels()), (3, 3, 4));
    assert_eq!(ladder.refused(101, load(150, 200)), None, "caches have nothing to give");
    assert!(ladder.is_exhausted());
    assert_eq!(ladder.rungs().collect::<Vec<_>>(), [("caches", 0, 1), ("pool", 2, 2), ("resolution", 1, 1)]);
}

#[test]
fn a_start_with_room_gives_nothing_up_and_rungs_can_go() {
    let mut ladder = Ladder::new(LadderKnobs::default());
    let (dial, rung) = Dial::new("dial", Sacrifice::Effects, 2);
    let id = ladder.register(Box::new(rung));
    assert!(ladder.start(0, Load { usage: 10, target: 10 }).is_empty());
    assert!(ladder.refused(1, Load::default()).is_none(), "a dial saves nothing until told");
    dial.set_saves(1, 5);
    dial.set_saves(9, 5);
    let step = ladder.refused(2, Load::default()).unwrap();
    assert_eq!((step.to, step.why, dial.step(), ladder.step(id)), (1, Why::Refused, 1, Some(1)));
    assert!(ladder.remove(id).is_some_and(|rung| rung.steps() == 2));
    assert_eq!((ladder.level(), ladder.step(id)), (0, None));
}

#[test]
fn without_hold_times_it_is_still_one_step_a_frame() {
    let mut ladder = Ladder::new(LadderKnobs { hold_down: 0, hold_up: 0, ..Default::default() });
    ladder.register(fake("pool", Sacrifice::Pools, &[1; 9]));
    for frame in 0..3 {
        assert!(ladder.update(frame, Load { usage: 9, target: 0 }).is_some());
        assert_eq!(ladder.update(frame, Load { usage: 9, target: 0 }), None);
        assert_eq!(ladder.update(frame, Load { usage: 0, target: 900 }), None);
    }
    assert_eq!(ladder.level(), 3);
}
