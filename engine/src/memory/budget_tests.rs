use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use proptest::prelude::*;

use super::budget::*;

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

#[derive(Debug, Clone, Default)]
struct Fake {
    heaps: Vec<HeapKind>,
    readings: Option<Vec<HeapReading>>,
    own: Vec<u64>,
    limit: Option<u64>,
    queries: Arc<AtomicU64>,
}

impl BudgetSource for Fake {
    fn heaps(&self) -> Vec<HeapKind> {
        self.heaps.clone()
    }

    fn query(&mut self) -> Option<Vec<HeapReading>> {
        self.queries.fetch_add(1, Ordering::Relaxed);
        self.readings.clone()
    }

    fn own_bytes(&self, heap: usize) -> u64 {
        self.own[heap]
    }

    fn limit(&self) -> Option<u64> {
        self.limit
    }
}

fn device(bytes: u64) -> HeapKind {
    HeapKind { bytes, device_local: true }
}

fn one_heap(readings: Option<HeapReading>, own: u64) -> Fake {
    Fake {
        heaps: vec![device(4 * GIB)],
        readings: readings.map(|r| vec![r]),
        own: vec![own],
        ..Default::default()
    }
}

fn read(source: &mut Fake) -> BudgetTracker {
    let mut tracker = BudgetTracker::new(source.heaps(), BudgetKnobs::default());
    tracker.update(source, 0, Duration::ZERO);
    tracker
}

#[test]
fn room_is_budget_less_usage_less_a_tenth() {
    let mut source = one_heap(Some(HeapReading { budget: 3000 * MIB, usage: 1000 * MIB }), 900 * MIB);
    let state = read(&mut source).tightest();
    assert_eq!((state.target(), state.room(), state.over()), (2700 * MIB, 1700 * MIB, 0));
    insta::assert_snapshot!(state, @"1000 MiB used of 2.930 GiB, 300 MiB of it kept free");
}

#[test]
fn the_margin_is_at_least_128_mib_and_never_more_than_a_quarter() {
    for (budget, margin) in [(2000, 200), (1000, 128), (512, 128), (400, 100), (64, 16), (0, 0)] {
        let mut source = one_heap(Some(HeapReading { budget: budget * MIB, usage: 0 }), 0);
        assert_eq!(read(&mut source).tightest().margin, margin * MIB, "{budget} MiB");
    }
}

#[test]
fn without_an_answer_eight_tenths_of_the_heap_and_own_accounting_count() {
    let mut source = Fake { heaps: vec![device(1000 * MIB)], own: vec![300 * MIB], ..Default::default() };
    let state = read(&mut source).tightest();
    assert_eq!((state.budget, state.usage), (800 * MIB, 300 * MIB));
}

#[test]
fn a_small_heap_that_the_host_sees_is_not_judged_like_the_big_one() {
    let mut source = Fake {
        heaps: vec![device(256 * MIB), HeapKind { bytes: 32 * GIB, device_local: false }, device(8 * GIB)],
        readings: Some(vec![
            HeapReading { budget: 240 * MIB, usage: 239 * MIB },
            HeapReading { budget: 30 * GIB, usage: 30 * GIB },
            HeapReading { budget: 7 * GIB, usage: GIB },
        ]),
        own: vec![0; 3],
        ..Default::default()
    };
    let tracker = read(&mut source);
    assert_eq!(tracker.judged(), [2]);
    assert_eq!(tracker.tightest().usage, GIB);
    assert_eq!(tracker.heaps()[0].margin, 24 * MIB, "128 MiB would be half of it");
}

#[test]
fn with_no_heap_on_the_device_the_largest_is_judged_and_with_none_at_all_nothing_is() {
    let heaps = vec![HeapKind { bytes: GIB, device_local: false }];
    assert_eq!(BudgetTracker::new(heaps, BudgetKnobs::default()).judged(), [0]);
    assert_eq!(BudgetTracker::new(Vec::new(), BudgetKnobs::default()).tightest(), HeapState::default());
}

#[test]
fn a_limit_on_own_bytes_counts_where_it_leaves_less() {
    let mut source = one_heap(Some(HeapReading { budget: 3000 * MIB, usage: 1000 * MIB }), 400 * MIB);
    source.limit = Some(512 * MIB);
    let state = read(&mut source).tightest();
    assert_eq!((state.budget, state.usage), (512 * MIB, 400 * MIB));
    source.limit = Some(4000 * MIB);
    let state = read(&mut source).tightest();
    assert_eq!((state.budget, state.usage), (3000 * MIB, 1000 * MIB), "the driver leaves less");
}

#[test]
fn a_paused_program_still_hears_of_the_budget() {
    let mut source = one_heap(Some(HeapReading { budget: GIB, usage: 0 }), 0);
    let mut tracker = read(&mut source);
    source.readings = Some(vec![HeapReading { budget: GIB / 2, usage: 0 }]);
    (1..120).for_each(|frame| tracker.update(&mut source, frame, Duration::ZERO));
    assert_eq!((tracker.queries(), tracker.tightest().budget), (1, GIB));
    tracker.update(&mut source, 120, Duration::ZERO);
    assert_eq!((tracker.queries(), tracker.tightest().budget), (2, GIB / 2));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn queries_are_rare_and_own_bytes_fill_the_time_between(
        steps in prop::collection::vec((0..3u64, 0..90u64, 0..1000u64, 0..500u64), 1..80),
    ) {
        let mut source = one_heap(Some(HeapReading { budget: 2000, usage: 0 }), 0);
        let mut tracker = BudgetTracker::new(source.heaps(), BudgetKnobs::default());
        // The naive model: what was read last, and when.
        let (mut frame, mut milliseconds) = (0, 0);
        let (mut asked, mut asked_frame, mut asked_at): (Option<(u64, u64)>, u64, u64) = (None, 0, 0);
        let mut asked_times = 0;
        for (frames, passed, own, usage) in steps {
            frame += frames;
            milliseconds += passed;
            source.own[0] = own;
            source.readings = Some(vec![HeapReading { budget: 2000, usage }]);
            let before = source.queries.load(Ordering::Relaxed);
            tracker.update(&mut source, frame, Duration::from_millis(milliseconds));
            tracker.update(&mut source, frame, Duration::from_millis(milliseconds + 1000));
            let now = source.queries.load(Ordering::Relaxed) - before;
            prop_assert!(now <= 1, "twice in a frame");
            let due = asked.is_none() || frame != asked_frame && milliseconds - asked_at >= 200;
            // The second call of a frame that did not ask comes a second later.
            let due_later = frame != asked_frame && milliseconds + 1000 - asked_at >= 200;
            prop_assert_eq!(now == 1, due || due_later);
            if now == 1 {
                asked = Some((usage, own));
                asked_frame = frame;
                asked_at = if due { milliseconds } else { milliseconds + 1000 };
                milliseconds = asked_at;
                asked_times += 1;
            }
            let (usage, then) = asked.unwrap();
            let expected = (usage as i64 + own as i64 - then as i64).max(0) as u64;
            prop_assert_eq!(tracker.tightest().usage, expected);
        }
        prop_assert_eq!(tracker.queries(), asked_times);
    }
}
