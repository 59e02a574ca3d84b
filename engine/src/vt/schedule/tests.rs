//! Orders, budgets, and a bias that comes to rest.

use proptest::prelude::*;

use super::bias::LOWER;
use super::*;
use crate::vt::address::PageAddress;
use crate::vt::planner::{Budget, Knobs, Priority};

fn candidate() -> impl Strategy<Value = Candidate> {
    let classes = [
        Class::Withdrawn,
        Class::Locked,
        Class::Of(Priority::High),
        Class::Of(Priority::Normal),
        Class::Of(Priority::Low),
    ];
    let kinds = [Kind::Feedback, Kind::Prefetch, Kind::Preload, Kind::Lock, Kind::Redraw];
    let place = (0u8..=12, any::<u16>(), any::<u16>(), 0u32..70000, 0u16..4096, 0u8..4);
    (0usize..5, 0usize..5, place).prop_map(move |(class, kind, (level, x, y, count, texture, group))| {
        let side = 1u16 << (12 - level);
        let page = PageAddress { level, x: x % side, y: y % side };
        Candidate { class: classes[class], page, count, texture, group, kind: kinds[kind] }
    })
}

proptest! {
    #[test]
    fn candidates_sort_as_they_should(a in candidate(), b in candidate()) {
        let key = |c: Candidate| {
            let along = PageAddress { level: 0, ..c.page }.morton();
            let count = std::cmp::Reverse(c.count.min(65535));
            (c.class, std::cmp::Reverse(c.page.level), count, c.texture, c.group, along, c.kind as u8)
        };
        prop_assert_eq!(a.pack().cmp(&b.pack()), key(a).cmp(&key(b)));
        prop_assert_eq!(Candidate::unpack(a.pack()), Candidate { count: a.count.min(65535), ..a });
    }

    #[test]
    fn budgets_are_never_passed(
        limits in prop::array::uniform4(-1i32..6), asks in prop::collection::vec(0u8..3, 0..40)
    ) {
        let knobs = Knobs {
            max_uploads_per_frame: limits[0],
            max_uploads_per_frame_streaming: limits[1],
            max_tiles_produced_per_frame: limits[2],
            max_continuous_updates_per_frame: limits[3],
            ..Knobs::default()
        };
        let mut budgets = Budgets::new(&knobs);
        let mut got = [0i32; 3];
        for ask in asks {
            let budget = match ask {
                0 => budgets.admit(false),
                1 => budgets.admit(true),
                _ => budgets.admit_continuous(),
            };
            got[usize::from(ask)] += i32::from(budget.is_some());
            let within = |count: i32, limit: i32| limit < 0 || count <= limit;
            let [uploads, streaming, continuous] = got;
            prop_assert!(within(streaming, limits[1]) && within(continuous, limits[3]));
            if limits[3] >= 0 {
                prop_assert!(within(uploads + continuous, limits[0]));
                prop_assert!(within(uploads + continuous + streaming, limits[2]));
            } else {
                prop_assert!(within(uploads, limits[0]) && within(uploads + streaming, limits[2]));
                prop_assert!(ask != 2 || budget.is_some(), "no limit at all");
            }
        }
    }
}

#[test]
fn presets_are_the_numbers_of_the_book() {
    let numbers = |knobs: Knobs| {
        let tiles = (knobs.max_uploads_per_frame, knobs.max_tiles_produced_per_frame);
        (tiles, knobs.max_uploads_per_frame_streaming, knobs.max_continuous_updates_per_frame)
    };
    assert_eq!(numbers(Knobs::game()), ((2, 32), 32, 1));
    assert_eq!(numbers(Knobs::editor()), ((32, 500), 500, 8));
    let knobs = Knobs::default();
    assert_eq!((knobs.page_free_threshold, knobs.dirty_visible_frames), (15, 8));
    assert_eq!((knobs.residency_bias_rate, knobs.residency_bias_max), (0.2, 4.0));
    assert_eq!((knobs.residency_upper, knobs.residency_locked_upper), (0.95, 0.65));
    let mut budgets = Budgets::new(&knobs);
    assert_eq!(budgets.admit(false), Some(Budget::Uploads { nth: 1, limit: 2 }));
    assert_eq!(budgets.admit(true), Some(Budget::Streaming { nth: 1, limit: 32 }));
    assert_eq!(budgets.admit_continuous(), Some(Budget::Continuous { nth: 1, limit: 1 }));
    assert!(budgets.admit(false).is_none() && !budgets.is_spent());
}

const LIMITS: BiasLimits = BiasLimits { rate: 0.2, max: 4.0, upper: 0.95, locked_upper: 0.65, window: 15 };

/// Runs a view whose pages are `pages(bias)`, with feedback of three frames ago; gives the biases.
fn run(governor: &mut BiasGovernor, usable: u32, frames: usize, pages: impl Fn(f32) -> u32) -> Vec<f32> {
    let mut biases = vec![governor.bias(); 3];
    let mut seen = vec![0; 15];
    for frame in 0..frames {
        let observed = biases[biases.len() - 3];
        let wanted = pages(observed);
        seen.push(wanted);
        // Levels of other biases are other pages: what was seen adds up, as far as there is room.
        let mut distinct = seen[seen.len() - 15..].to_vec();
        distinct.dedup();
        let used = distinct.iter().sum::<u32>().min(usable);
        let no_room = if used == usable { wanted.saturating_sub(usable) } else { 0 };
        // A view that has just been cut to has nothing there yet.
        let missing = if frame < 3 { wanted } else { 0 };
        let observed_bias = Some(observed);
        let load = PoolLoad { usable, locked: 0, wanted, missing, used, no_room, observed_bias };
        biases.push(governor.update(load, LIMITS));
    }
    biases.split_off(3)
}

fn is_still(biases: &[f32]) -> bool {
    biases.windows(2).all(|pair| pair[0] == pair[1])
}

proptest! {
    #[test]
    fn the_bias_comes_to_rest_where_it_fits(
        need in 1f32..60.0, usable in 3u32..2000, base in 0f32..1.0, slope in 0.5f32..1.3
    ) {
        // Part of the pages are whole levels, so that the count jumps where the bias passes a whole number.
        let pages = |bias: f32| {
            let smooth = need * usable as f32 * 4f32.powf(-bias * slope);
            let steps = need * usable as f32 * 4f32.powf(-(bias + base).floor() * slope);
            (0.5 * (smooth + steps)).ceil() as u32
        };
        let mut governor = BiasGovernor::default();
        let biases = run(&mut governor, usable, 1200, pages);
        let last = governor.bias();
        prop_assert!(is_still(&biases[1100..]), "{:?}", &biases[1100..]);
        let share = pages(last) as f32 / usable as f32;
        prop_assert!(share <= 0.95 || last == 4.0, "share {share} at {last}");
        prop_assert!(biases.windows(2).all(|pair| (pair[1] - pair[0]).abs() <= 0.2 + 1e-5));
        prop_assert!(biases.iter().all(|bias| (0.0..=4.0).contains(bias)));
        // Not blurrier than needed, where the count does not jump: half a level is no more than needed in any case.
        if last > 0.6 {
            prop_assert!(pages(last - 0.6) as f32 / usable as f32 > 0.95 * LOWER * 0.5, "{last}");
        }

        // A view that fits takes it back, and a heavy one brings it again.
        let easy = usable / 4;
        run(&mut governor, usable, 400, |_| easy);
        prop_assert_eq!(governor.bias(), 0.0);
    }
}

#[test]
fn four_times_too_much_is_one_level() {
    let mut governor = BiasGovernor::default();
    let biases = run(&mut governor, 1000, 300, |bias| (4000.0 * 4f32.powf(-bias)) as u32);
    let largest = biases.iter().copied().fold(0.0, f32::max);
    assert!((1.0..1.1).contains(&governor.bias()), "{}", governor.bias());
    assert!(largest < governor.bias() + 0.05, "no overshoot: {largest}");
    assert!(biases[12] > 0.9, "by 0.2 a frame, as soon as the feedback shows it");
}

#[test]
fn no_bias_when_locked_pages_are_the_reason() {
    let mut governor = BiasGovernor::default();
    run(&mut governor, 100, 50, |_| 500);
    assert_eq!(governor.bias(), 4.0);
    let load =
        PoolLoad { usable: 100, locked: 66, wanted: 500, observed_bias: Some(4.0), ..PoolLoad::default() };
    assert_eq!(governor.update(load, LIMITS), 0.0);
    assert!(governor.update(PoolLoad { locked: 65, ..load }, LIMITS) > 0.0);
    let silent = PoolLoad { observed_bias: None, locked: 0, ..load };
    let bias = governor.bias();
    assert_eq!(governor.update(silent, LIMITS), bias, "no feedback, no news");
    assert_eq!(governor.update(load, BiasLimits { max: f32::NAN, ..LIMITS }), 0.0);
}
