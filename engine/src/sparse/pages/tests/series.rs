//! Whole series of defragmentation steps: what the head of `defrag.rs` guarantees.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Cell {
    Free,
    Used,
    Pinned,
}

/// How long the vacated pages of a step stay in quarantine.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Hold {
    Never,
    UntilTheNextStep,
    ToTheEnd,
}

/// A pool whose pages are exactly `cells`.
fn build(pages_per_chunk: u32, cells: &[Vec<Cell>]) -> PagePool {
    let mut pool = PagePool::new(pages_per_chunk);
    let mut tile = 0;
    for (chunk, cells) in cells.iter().enumerate() {
        assert_eq!(pool.add_chunk(), ChunkIndex(chunk as u32));
        for (p, cell) in cells.iter().enumerate() {
            // All chunks before are full, so pages come in order.
            tile = (tile + 7919) % 10007;
            let at = match cell {
                Cell::Pinned => pool.allocate_run(1, tile, 1).unwrap().unwrap().first,
                _ => pool.allocate(owner(1, tile), 1).unwrap()[0],
            };
            assert_eq!(at, page(chunk as u32, p as u32));
        }
    }
    for (chunk, cells) in cells.iter().enumerate() {
        for (p, _) in cells.iter().enumerate().filter(|(_, cell)| **cell == Cell::Free) {
            let _ = pool.free(page(chunk as u32, p as u32)).unwrap();
        }
    }
    pool
}

/// Pages with an owner, and pinned ones among them, of each chunk in use.
fn in_use(pool: &PagePool) -> Vec<(u32, u32)> {
    let all = pool.chunks().map(|chunk| pool.occupancy(chunk).unwrap());
    all.filter(|o| o.used > 0).map(|o| (o.used, o.pinned)).collect()
}

fn owners(pool: &PagePool) -> BTreeSet<PageOwner> {
    let pages = pool.pages_per_chunk();
    pool.chunks()
        .flat_map(|c| (0..pages).filter_map(move |p| pool.owner(PageRef { chunk: c, page: p })))
        .collect()
}

fn pools() -> impl Strategy<Value = (u32, Vec<Vec<Cell>>)> {
    let cell =
        |pinned: u32| prop_oneof![5 => Just(Cell::Free), 4 => Just(Cell::Used), pinned => Just(Cell::Pinned)];
    (1..10usize, prop_oneof![Just(0u32), Just(1)]).prop_flat_map(move |(pages, pinned)| {
        // Weights of zero are not allowed; without pins the pinned cells become used ones.
        let cell = cell(1).prop_map(move |c| if pinned == 0 && c == Cell::Pinned { Cell::Used } else { c });
        let chunks = prop::collection::vec(prop::collection::vec(cell, pages), 0..14);
        (Just(pages as u32), chunks)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn a_series_of_steps_reaches_the_fewest_chunks(
        (pages_per_chunk, cells) in pools(),
        budget in 1..12u32,
        fill in 1..=4u32,
        hold in prop_oneof![Just(Hold::Never), Just(Hold::UntilTheNextStep), Just(Hold::ToTheEnd)],
    ) {
        let mut pool = build(pages_per_chunk, &cells);
        let all = owners(&pool);
        let options = DefragOptions { max_fill_of_source: f64::from(fill) / 4.0 };
        let used_before = in_use(&pool).len();
        let (mut step_sizes, mut moved) = (Vec::new(), BTreeSet::new());
        let (mut vacated, mut emptied) = (Vec::new(), 0);
        loop {
            let planned = plan(&pool, budget, options);
            if planned.is_empty() {
                prop_assert!(planned.emptied.is_empty());
                break;
            }
            prop_assert!(planned.moves.len() <= budget as usize, "budget passed");
            let was_full = step_sizes.last().is_none_or(|last| *last == budget as usize);
            prop_assert!(was_full, "every step but the last is full");
            step_sizes.push(planned.moves.len());
            for m in &planned.moves {
                prop_assert!(moved.insert(m.owner), "{} is moved twice", m.owner);
                prop_assert_eq!(cells[m.from.chunk.0 as usize][m.from.page as usize], Cell::Used);
            }
            let begun = pool.apply_begin(&planned).unwrap();
            if hold == Hold::UntilTheNextStep {
                vacated.drain(..).for_each(|p| pool.release(p).unwrap());
            }
            let after = if hold == Hold::Never { PageAfter::Free } else { PageAfter::Quarantine };
            let report = pool.apply_end(begun, after);
            prop_assert_eq!(&report.moved, &planned.moves);
            let as_planned: BTreeSet<ChunkIndex> = planned.emptied.iter().copied().collect();
            prop_assert_eq!(as_planned, report.emptied.iter().copied().collect());
            emptied += report.emptied.len();
            if hold != Hold::Never {
                vacated.extend(report.moved.iter().map(|m| m.from));
            }
            prop_assert_eq!(&owners(&pool), &all, "an owner was lost, or has two pages");
        }
        vacated.drain(..).for_each(|p| pool.release(p).unwrap());
        prop_assert!(plan(&pool, budget, options).is_empty(), "the quarantine hid no gain");
        prop_assert_eq!(step_sizes.len(), moved.len().div_ceil(budget as usize));

        let chunks = in_use(&pool);
        prop_assert_eq!(chunks.len(), used_before - emptied);
        let used: u32 = chunks.iter().map(|c| c.0).sum();
        let pinned = chunks.iter().filter(|c| c.1 > 0).count();
        let fewest = (used.div_ceil(pages_per_chunk) as usize).max(pinned);
        let limit = pages_per_chunk * fill / 4;
        if fill == 4 {
            prop_assert_eq!(chunks.len(), fewest);
        } else {
            prop_assert!(
                chunks.len() == fewest || chunks.iter().all(|c| c.1 > 0 || c.0 > limit),
                "{:?} with a limit of {}", chunks, limit
            );
        }
        for (c, cells) in cells.iter().enumerate() {
            for (p, _) in cells.iter().enumerate().filter(|(_, cell)| **cell == Cell::Pinned) {
                let state = pool.state(page(c as u32, p as u32)).unwrap();
                prop_assert!(matches!(state, PageState::Pinned(_)), "a pinned page moved");
            }
        }
    }

    #[test]
    fn it_ends_while_pages_come_and_go(
        (pages_per_chunk, cells) in pools(),
        budget in 1..6u32,
        noise in prop::collection::vec((any::<bool>(), any::<usize>()), 0..40),
    ) {
        // One page comes or goes between two steps; when that stops, the series must still end where it
        // should.
        let mut pool = build(pages_per_chunk, &cells);
        let mut noise = noise.into_iter();
        let mut tile = 20_000;
        let bound = 2 * pool.used_pages() as usize + 200;
        for step in 0.. {
            prop_assert!(step < bound, "no end");
            let planned = plan(&pool, budget, ANY_FILL);
            let next = noise.next();
            if planned.is_empty() && next.is_none() {
                break;
            }
            let begun = pool.apply_begin(&planned).unwrap();
            match next {
                Some((true, _)) => {
                    tile += 1;
                    let _ = pool.allocate(owner(2, tile), 1);
                }
                Some((false, index)) => {
                    let all = |chunk| (0..pages_per_chunk).map(move |page| PageRef { chunk, page });
                    let places = pool.chunks().flat_map(all);
                    let owned: Vec<PageRef> = places.filter(|p| pool.owner(*p).is_some()).collect();
                    if let Some(at) = index.checked_rem(owned.len()) {
                        let _ = pool.free(owned[at]).unwrap();
                    }
                }
                None => {}
            }
            let report = pool.apply_end(begun, PageAfter::Free);
            prop_assert!(report.cancelled.len() <= 1);
        }
        let chunks = in_use(&pool);
        let used: u32 = chunks.iter().map(|c| c.0).sum();
        let pinned = chunks.iter().filter(|c| c.1 > 0).count();
        prop_assert_eq!(chunks.len(), (used.div_ceil(pages_per_chunk) as usize).max(pinned));
    }
}

#[test]
fn many_half_empty_chunks_are_emptied_in_bounded_steps() {
    // 64 chunks of 256 pages, every second page free: 32 chunks are gained, with 100 moves a step.
    let cells =
        vec![(0..256).map(|p| if p % 2 == 0 { Cell::Used } else { Cell::Free }).collect::<Vec<_>>(); 64];
    let mut pool = build(256, &cells);
    let mut steps = 0;
    let mut gained_after = Vec::new();
    loop {
        let planned = plan(&pool, 100, DefragOptions::default());
        if planned.is_empty() {
            break;
        }
        let begun = pool.apply_begin(&planned).unwrap();
        if !pool.apply_end(begun, PageAfter::Free).emptied.is_empty() {
            gained_after.push(steps);
        }
        steps += 1;
    }
    assert_eq!(steps, (32usize * 128).div_ceil(100));
    assert_eq!(pool.empty_chunks().count(), 32);
    // The first chunk is gained in the second step, not after all of the moves.
    assert_eq!(gained_after[0], 1);
    pool.empty_chunks().collect::<Vec<_>>().into_iter().for_each(|chunk| pool.remove_chunk(chunk).unwrap());
    assert_eq!((pool.free_pages(), pool.used_pages()), (0, 64 * 128));
}
