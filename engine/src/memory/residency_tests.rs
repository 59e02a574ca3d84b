use proptest::prelude::*;

use super::residency::*;

fn streamed(name: &str, bytes: u64, last_use: u64, distance: f32, point: u64) -> Resident {
    Resident { name: name.into(), priority: Priority::Streamed, bytes, last_use, distance, point }
}

#[test]
fn the_longest_unused_go_first_then_the_farthest_and_only_past_the_timeline() {
    let mut residents = Residents::new();
    let rock = residents.add(streamed("Rock", 4 << 20, 7, 10.0, 70));
    residents.add(streamed("Near", 2 << 20, 3, 5.0, 30));
    residents.add(streamed("Far", 2 << 20, 3, 500.0, 31));
    residents.add(streamed("Lost", 1 << 20, 3, f32::NAN, 29));
    residents.add(Resident { priority: Priority::Pinned, ..streamed("Targets", 64 << 20, 0, 0.0, 0) });
    let plan = residents.plan(4 << 20, 8);
    insta::assert_snapshot!(plan, @r"
    4 MiB wanted, 5 MiB leave
      Lost: 1 MiB, last used in frame 3 at NaN, free after 29
      Far: 2 MiB, last used in frame 3 at 500, free after 31
      Near: 2 MiB, last used in frame 3 at 5, free after 30
    ");
    let names = |released: Vec<(ResidentId, Resident)>| {
        released.into_iter().map(|(_, resident)| resident.name).collect::<Vec<_>>()
    };
    assert_eq!(names(residents.release(28)), [""; 0]);
    assert_eq!(names(residents.release(30)), ["Near", "Lost"]);
    assert_eq!(residents.bytes().leaving, 2 << 20);
    assert_eq!(names(residents.release(31)), ["Far"]);
    let plan = residents.plan(64 << 20, 8);
    assert_eq!((plan.evict.len(), plan.short_by()), (1, 60 << 20), "pinned memory is nobody's to take");
    assert!(residents.touch(rock, Use { frame: 9, distance: 1.0, point: 90 }), "used again: it stays");
    assert_eq!(residents.release(u64::MAX).len(), 0);
    assert!(residents.plan(1, 9).evict.is_empty(), "used a moment ago");
}

#[derive(Debug, Clone)]
enum Action {
    Add(u8, u64, f32),
    Touch(usize, f32),
    Remove(usize),
    Plan(u64, u64),
    Release(u64),
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
    let distance = prop_oneof![Just(f32::NAN), Just(-0.0), Just(0.0), Just(f32::INFINITY), 0.0..9.0f32];
    let action = prop_oneof![
        4 => (0..3u8, 0..50u64, distance.clone()).prop_map(|(p, b, d)| Action::Add(p, b, d)),
        4 => (0..64usize, distance).prop_map(|(i, d)| Action::Touch(i, d)),
        1 => (0..64usize).prop_map(Action::Remove),
        3 => (0..150u64, 0..4u64).prop_map(|(w, k)| Action::Plan(w, k)),
        3 => (0..6u64).prop_map(Action::Release),
    ];
    prop::collection::vec(action, 1..150)
}

#[derive(Debug, Clone)]
struct Naive {
    id: ResidentId,
    resident: Resident,
    leaving: bool,
}

/// Whether `a` is worth less than `b`: said in the words of the documentation, one comparison after the other.
fn is_worth_less(a: &Naive, b: &Naive) -> bool {
    let far = |n: &Naive| if n.resident.distance.is_nan() { f32::INFINITY } else { n.resident.distance };
    if a.resident.last_use != b.resident.last_use {
        return a.resident.last_use < b.resident.last_use;
    }
    // Zero of either sign.
    if far(a) != far(b) || far(a).to_bits() != far(b).to_bits() {
        return far(a).total_cmp(&far(b)).is_gt();
    }
    a.id < b.id
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn plans_are_those_of_a_list_that_is_searched(actions in actions()) {
        let mut residents = Residents::new();
        let mut naive: Vec<Naive> = Vec::new();
        let mut gone: Vec<ResidentId> = Vec::new();
        let mut frame = 0u64;
        for action in actions {
            frame += 1;
            match action {
                Action::Add(p, bytes, distance) => {
                    let priority = [Priority::Pinned, Priority::Streamed, Priority::Transient][p as usize];
                    let resident = Resident { priority, ..streamed("R", bytes, frame, distance, frame) };
                    let id = residents.add(resident.clone());
                    prop_assert!(naive.iter().all(|n| n.id != id) && !gone.contains(&id));
                    naive.push(Naive { id, resident, leaving: false });
                }
                Action::Touch(i, distance) => {
                    let used = Use { frame, distance, point: frame };
                    if let Some(n) = naive.get_mut(i) {
                        prop_assert!(residents.touch(n.id, used));
                        let (last_use, point) = (frame, frame);
                        n.resident = Resident { last_use, point, distance, ..n.resident.clone() };
                        n.leaving = false;
                    }
                    if let Some(id) = gone.first() {
                        prop_assert!(!residents.touch(*id, used), "gone for good");
                    }
                }
                Action::Remove(i) if i < naive.len() => {
                    let n = naive.remove(i);
                    prop_assert_eq!(residents.remove(n.id).map(|r| r.bytes), Some(n.resident.bytes));
                    gone.push(n.id);
                }
                Action::Remove(_) => {}
                Action::Plan(wanted, keep) => {
                    let idle_before = frame.saturating_sub(keep);
                    let plan = residents.plan(wanted, idle_before);
                    let mut expected = Vec::new();
                    loop {
                        let leaving: u64 = naive.iter().filter(|n| n.leaving).map(|n| n.resident.bytes).sum();
                        if leaving >= wanted {
                            break;
                        }
                        let mut least: Option<usize> = None;
                        for (i, n) in naive.iter().enumerate() {
                            let may = n.resident.priority == Priority::Streamed
                                && !n.leaving
                                && n.resident.last_use < idle_before
                                && n.resident.bytes > 0;
                            if may && least.is_none_or(|l| is_worth_less(n, &naive[l])) {
                                least = Some(i);
                            }
                        }
                        let Some(least) = least else { break };
                        naive[least].leaving = true;
                        expected.push(naive[least].id);
                    }
                    prop_assert_eq!(plan.evict.iter().map(|e| e.id).collect::<Vec<_>>(), expected);
                    let leaving: u64 = naive.iter().filter(|n| n.leaving).map(|n| n.resident.bytes).sum();
                    prop_assert_eq!(plan.leaving, leaving);
                }
                Action::Release(back) => {
                    let completed = frame.saturating_sub(back);
                    let released: Vec<_> = residents.release(completed).into_iter().map(|(id, _)| id).collect();
                    let (out, stay): (Vec<Naive>, Vec<Naive>) =
                        naive.drain(..).partition(|n| n.leaving && n.resident.point <= completed);
                    naive = stay;
                    prop_assert_eq!(&released, &out.iter().map(|n| n.id).collect::<Vec<_>>());
                    gone.extend(released);
                }
            }
            let sum = |p: Priority| naive.iter().filter(|n| n.resident.priority == p).map(|n| n.resident.bytes).sum::<u64>();
            let bytes = residents.bytes();
            prop_assert_eq!(bytes.pinned, sum(Priority::Pinned));
            prop_assert_eq!(bytes.streamed, sum(Priority::Streamed));
            prop_assert_eq!(bytes.transient, sum(Priority::Transient));
        }
    }
}
