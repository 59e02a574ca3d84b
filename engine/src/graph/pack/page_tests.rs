//! Pages against a simulation of two frames, page by page.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::pages::{Binds, PagePlan, assign};
use super::{Item, corpus};

const PAGE: u64 = 16;

/// Plays a frame page by page; `owners` is what each page was bound to last. Fails where a page has two live owners.
/// Counts binds: a page that is not bound to who takes it.
fn play(items: &[Item], plan: &PagePlan, owners: &mut BTreeMap<u64, u32>) -> Result<Binds, String> {
    let mut binds = Binds::default();
    let mut until: BTreeMap<u64, (u32, u32)> = BTreeMap::new();
    let mut places: Vec<u32> = items.iter().map(|item| item.first).collect();
    places.sort_unstable();
    places.dedup();
    for place in places {
        let mut is_cut = false;
        for (index, item) in items.iter().enumerate().filter(|(_, item)| item.first == place) {
            let mine: Vec<(u64, u64)> = plan
                .runs
                .iter()
                .filter(|run| run.item as usize == index)
                .flat_map(|run| (0..run.pages).map(move |i| (run.at + i, run.page + i)))
                .collect();
            let wanted = item.bytes.div_ceil(PAGE);
            if !mine.iter().map(|(at, _)| *at).eq(0..wanted) {
                return Err(format!("item {index} has {mine:?} for {wanted} pages"));
            }
            let mut before: Option<(u64, u64)> = None;
            for (at, page) in mine {
                if page >= plan.pages {
                    return Err(format!("page {page} of {}", plan.pages));
                }
                if let Some((last, other)) = until.insert(page, (item.last, index as u32))
                    && last >= place
                {
                    return Err(format!(
                        "page {page} belongs to {other} until {last} and to {index} from {place}"
                    ));
                }
                if owners.insert(page, index as u32) == Some(index as u32) {
                    before = None;
                    continue;
                }
                is_cut = true;
                binds.pages += 1;
                binds.ranges += u64::from(before.is_none_or(|(a, p)| (a + 1, p + 1) != (at, page)));
                before = Some((at, page));
            }
        }
        binds.cuts += u64::from(is_cut);
    }
    Ok(binds)
}

fn any_item() -> impl Strategy<Value = Item> {
    (prop_oneof![0..200u64, 0..20u64], 0..20u32, prop_oneof![3 => 0..4u32, 1 => 0..20u32])
        .prop_map(|(bytes, first, length)| Item { bytes, alignment: 1, first, last: first + length })
}

proptest! {
    #[test]
    fn pages_have_one_owner_and_reach_the_bound(items in prop::collection::vec(any_item(), 0..40)) {
        let plan = assign(&items, PAGE);
        let alive = |place: u32| -> u64 {
            items.iter().filter(|i| i.first <= place && place <= i.last).map(|i| i.bytes.div_ceil(PAGE)).sum()
        };
        prop_assert_eq!(plan.pages, (0..50).map(alive).max().unwrap_or(0));
        let mut owners = BTreeMap::new();
        let first = play(&items, &plan, &mut owners).map_err(TestCaseError::fail)?;
        prop_assert_eq!(plan.first_binds(&items), first);
        let second = play(&items, &plan, &mut owners).map_err(TestCaseError::fail)?;
        prop_assert_eq!(plan.steady_binds(&items), second);
        let third = play(&items, &plan, &mut owners).map_err(TestCaseError::fail)?;
        prop_assert_eq!(third, second);
        prop_assert_eq!(assign(&items, PAGE), plan);
    }

    #[test]
    fn no_input_panics(
        items in prop::collection::vec(
            (any::<u64>(), any::<u32>(), any::<u32>())
                .prop_map(|(bytes, first, last)| Item { bytes, alignment: 0, first, last }),
            0..12,
        ),
        page_bytes in any::<u64>(),
    ) {
        let plan = assign(&items, page_bytes);
        plan.steady_binds(&items);
        plan.first_binds(&items);
    }
}

#[test]
fn a_hole_in_the_middle_is_used() {
    // Offsets need 5 pages here: 2 of the first and 2 of the last are free, but not side by side.
    let item = |pages: u64, first, last| Item { bytes: pages * PAGE, alignment: PAGE, first, last };
    let items = [item(1, 0, 0), item(1, 0, 2), item(1, 0, 0), item(2, 1, 2)];
    let plan = assign(&items, PAGE);
    assert_eq!((plan.pages, plan.bytes()), (3, 48));
    let runs: Vec<_> = plan.runs.iter().map(|run| (run.item, run.at, run.page, run.pages)).collect();
    assert_eq!(runs, [(0, 0, 0, 1), (1, 0, 1, 1), (2, 0, 2, 1), (3, 0, 0, 1), (3, 1, 2, 1)]);
    assert_eq!(plan.first_binds(&items), Binds { ranges: 5, pages: 5, cuts: 2 });
    // Page 1 keeps its owner; pages 0 and 2 go there and back.
    assert_eq!(plan.steady_binds(&items), Binds { ranges: 4, pages: 4, cuts: 2 });
}

#[test]
fn the_corpus_reaches_its_bound_in_pages() {
    for seed in 0..20 {
        let items = corpus::random_frame(seed);
        let plan = assign(&items, super::pages::PAGE_BYTES);
        let pages: u64 = plan.runs.iter().map(|run| run.pages).sum();
        assert_eq!(
            pages,
            items.iter().map(|item| item.bytes.div_ceil(super::pages::PAGE_BYTES)).sum::<u64>()
        );
        assert!(plan.steady_binds(&items).pages <= pages);
    }
}
