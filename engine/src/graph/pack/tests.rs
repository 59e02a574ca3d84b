//! The packer against a checker that knows nothing of how it works, and its quality on the corpus.

use proptest::prelude::*;

use super::{Effort, Item, Packer, bound, corpus};

/// Pairs of items that are alive at the same place and share bytes, offsets that are not aligned, and the height, all by
/// looking at every pair.
fn check(items: &[Item], offsets: &[u64], height: u64) -> Result<(), String> {
    if items.len() != offsets.len() {
        return Err(format!("{} offsets for {} items", offsets.len(), items.len()));
    }
    let mut top = 0;
    for (i, a) in items.iter().enumerate() {
        if !offsets[i].is_multiple_of(a.alignment.max(1)) {
            return Err(format!("item {i} lies at {}, which {} does not divide", offsets[i], a.alignment));
        }
        top = top.max(offsets[i] + a.bytes);
        for (j, b) in items.iter().enumerate().skip(i + 1) {
            let in_time = (a.first..=a.last).any(|place| (b.first..=b.last).contains(&place));
            let bytes = |k: usize, item: &Item| offsets[k]..offsets[k] + item.bytes;
            let (a_bytes, b_bytes) = (bytes(i, a), bytes(j, b));
            if in_time && a_bytes.start.max(b_bytes.start) < a_bytes.end.min(b_bytes.end) {
                return Err(format!(
                    "items {i} and {j} share bytes: {a:?} at {a_bytes:?}, {b:?} at {b_bytes:?}"
                ));
            }
        }
    }
    if top == height { Ok(()) } else { Err(format!("the height is {top}, not {height}")) }
}

fn naive_bound(items: &[Item]) -> u64 {
    let end = items.iter().map(|item| item.last + 1).max().unwrap_or(0);
    let alive = |place| items.iter().filter(|i| i.first <= place && place <= i.last).map(|i| i.bytes).sum();
    (0..end).map(alive).max().unwrap_or(0)
}

fn item(bytes: u64, alignment: u64, first: u32, last: u32) -> Item {
    Item { bytes, alignment, first, last }
}

fn pack(items: &[Item]) -> (Vec<u64>, u64) {
    let mut offsets = Vec::new();
    let height = Packer::default().pack(items, &mut offsets);
    (offsets, height)
}

fn any_item() -> impl Strategy<Value = Item> {
    let bytes = prop_oneof![Just(0), 1..64u64, 1..5_000u64, (0..20u32).prop_map(|power| 1 << power)];
    let alignment = prop_oneof![4 => (0..13u32).prop_map(|power| 1 << power), 1 => 0..100u64];
    (bytes, alignment, 0..30u32, prop_oneof![3 => 0..4u32, 1 => 0..30u32])
        .prop_map(|(bytes, alignment, first, length)| item(bytes, alignment, first, first + length))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn items_that_meet_share_no_byte(items in prop::collection::vec(any_item(), 0..90)) {
        let least = naive_bound(&items);
        prop_assert_eq!(bound(&items), least);
        for effort in [Effort::Quick, Effort::Balanced] {
            let mut packer = Packer::with_effort(effort);
            let mut offsets = vec![7; 3];
            let height = packer.pack(&items, &mut offsets);
            check(&items, &offsets, height).map_err(TestCaseError::fail)?;
            prop_assert!(height >= least);
            let report = packer.report();
            let sum: u64 = items.iter().map(|item| item.bytes).sum();
            prop_assert_eq!((report.height, report.bound, report.unaliased), (height, least, sum));
        }
    }

    #[test]
    fn what_a_packer_did_before_changes_nothing(
        before in prop::collection::vec(any_item(), 0..60),
        items in prop::collection::vec(any_item(), 0..60),
    ) {
        let mut used = Packer::default();
        let mut offsets = Vec::new();
        used.pack(&before, &mut offsets);
        let height = used.pack(&items, &mut offsets);
        prop_assert_eq!((offsets, height), pack(&items));
    }

    #[test]
    fn no_input_panics(
        items in prop::collection::vec(
            (any::<u64>(), any::<u64>(), any::<u32>(), any::<u32>())
                .prop_map(|(bytes, alignment, first, last)| item(bytes, alignment, first, last)),
            0..20,
        ),
    ) {
        let (offsets, height) = pack(&items);
        prop_assert_eq!(offsets.len(), items.len());
        prop_assert!(height >= bound(&items));
    }
}

#[test]
fn lives_that_never_meet_share_everything() {
    let items = [item(100, 1, 0, 1), item(60, 1, 2, 3), item(100, 1, 4, 9)];
    assert_eq!(pack(&items), (vec![0, 0, 0], 100));
    assert_eq!(pack(&[]), (vec![], 0));
    let nothing = [item(0, 256, 0, 9), item(10, 1, 0, 9), item(0, 1, 5, 5)];
    assert_eq!(pack(&nothing).1, 10);
}

#[test]
fn places_are_inclusive() {
    let items = [item(8, 1, 0, 2), item(8, 1, 2, 3)];
    assert_eq!(pack(&items), (vec![0, 8], 16));
    // A last place before the first counts as the first.
    assert_eq!(pack(&[item(8, 1, 2, 0), item(8, 1, 2, 2), item(8, 1, 1, 1)]).1, 16);
}

#[test]
fn alignment_costs_what_it_must_and_no_more() {
    let items = [item(100, 1, 0, 0), item(100, 256, 0, 0), item(10, 64, 0, 0)];
    let (offsets, height) = pack(&items);
    check(&items, &offsets, height).unwrap();
    assert!(height <= 356, "{offsets:?}");
}

#[test]
fn the_check_value_of_two_hundred_mebibytes() {
    // 200 MiB of transients of which 120 are alive at the peak fit in 120.
    let mib = 1 << 20;
    let chain: Vec<Item> =
        (0..5u32).map(|i| item(40 * mib, 65536, i * 2, i * 2 + if i == 4 { 1 } else { 4 })).collect();
    assert_eq!(chain.iter().map(|item| item.bytes).sum::<u64>(), 200 * mib);
    assert_eq!(bound(&chain), 120 * mib);
    let (offsets, height) = pack(&chain);
    check(&chain, &offsets, height).unwrap();
    assert_eq!(height, 120 * mib);
}

#[test]
fn the_report_reads() {
    let mut packer = Packer::default();
    packer.pack(&[item(40 << 20, 65536, 0, 1), item(40 << 20, 65536, 2, 3)], &mut Vec::new());
    insta::assert_snapshot!(packer.report().to_string(), @"40 MiB for 80 MiB of transients, bound 40 MiB (1.000x), orders tried: 1, steps: 5");
}

#[test]
fn search_mends_what_the_first_order_leaves() {
    let items = corpus::random_frame(104);
    let mut offsets = Vec::new();
    let first = Packer::with_effort(Effort::Quick).pack(&items, &mut offsets);
    let mut packer = Packer::default();
    let balanced = packer.pack(&items, &mut offsets);
    check(&items, &offsets, balanced).unwrap();
    assert!(balanced < first, "{balanced} of {first}");
    assert!(packer.report().orders > 1);
    let thorough = Packer::with_effort(Effort::Thorough).pack(&items, &mut offsets);
    check(&items, &offsets, thorough).unwrap();
    assert!(thorough <= balanced, "{thorough} of {balanced}");
}

#[test]
fn the_corpus_is_the_same_everywhere() {
    let first = corpus::random_frame(0);
    let hash = first.iter().fold(0u64, |hash, item| {
        [item.bytes, item.alignment, u64::from(item.first), u64::from(item.last)]
            .iter()
            .fold(hash, |hash, value| (hash.rotate_left(5) ^ value).wrapping_mul(0x517c_c1b7_2722_0a95))
    });
    insta::assert_snapshot!(format!("{} items, {hash:016x}", first.len()), @"732 items, 8105d2c36e4a525b");
    let counts: Vec<u64> = (0..100).map(|seed| corpus::random_frame(seed).len() as u64).collect();
    assert!(counts.iter().all(|count| (corpus::FEWEST..=corpus::MOST).contains(count)));
    assert!(counts.iter().min() < Some(&80) && counts.iter().max() > Some(&800), "{counts:?}");
}

#[test]
fn quality_on_the_corpus() {
    let mut packer = Packer::default();
    let mut offsets = Vec::new();
    let mut ratios = Vec::new();
    for seed in 0..corpus::FRAMES {
        let items = corpus::random_frame(seed);
        let height = packer.pack(&items, &mut offsets);
        if seed % 20 == 0 {
            check(&items, &offsets, height).unwrap_or_else(|why| panic!("frame {seed}: {why}"));
        }
        ratios.push(height as f64 / bound(&items) as f64);
    }
    let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
    let worst = ratios.iter().copied().fold(0.0, f64::max);
    assert!(mean <= 1.02, "mean {mean}");
    assert!(worst <= 1.10, "worst {worst}");
}
