//! Worked examples; the random steps are in `model.rs`.

mod model;
mod series;

use super::*;

const ANY_FILL: DefragOptions = DefragOptions { max_fill_of_source: 1.0 };

fn owner(resource: u64, tile: u64) -> PageOwner {
    PageOwner { resource, tile }
}

fn page(chunk: u32, page: u32) -> PageRef {
    PageRef { chunk: ChunkIndex(chunk), page }
}

/// A pool of `chunks` chunks of 8 pages, page `p` of chunk `c` owned by tile `8 c + p` of resource 1 where
/// `used` says so.
fn pool_of(used: &[&[u32]]) -> PagePool {
    let mut pool = PagePool::new(8);
    for chunk in 0..used.len() as u64 {
        pool.add_chunk();
        pool.allocate(owner(1, 8 * chunk), 8).unwrap();
    }
    for (chunk, used) in used.iter().enumerate() {
        for p in (0..8).filter(|p| !used.contains(p)) {
            let freed = pool.free(page(chunk as u32, p)).unwrap();
            assert_eq!(freed, Freed { owner: owner(1, 8 * chunk as u64 + u64::from(p)), cancelled: None });
        }
    }
    pool
}

#[test]
fn the_fullest_chunk_is_filled_first_from_its_lowest_page() {
    let mut pool = pool_of(&[&[0, 1], &[1, 2, 3, 5, 7], &[0, 1, 2, 3, 4, 5, 6, 7], &[]]);
    let tiles: Vec<PageRef> = (0..9).flat_map(|i| pool.allocate(owner(2, 100 * i), 1).unwrap()).collect();
    let expected = [(1, 0), (1, 4), (1, 6), (0, 2), (0, 3), (0, 4), (0, 5), (0, 6), (0, 7)];
    assert_eq!(tiles, expected.map(|(c, p)| page(c, p)));
    assert_eq!(pool.owner(page(1, 4)), Some(owner(2, 100)));
    assert_eq!((pool.used_pages(), pool.free_pages()), (24, 8));
    assert_eq!(pool.allocate(owner(3, 0), 9), None);
    assert_eq!(pool.free_pages(), 8, "all or none");
    assert_eq!(pool.allocate(owner(3, u64::MAX), 2), None);
    assert_eq!(pool.allocate(owner(3, 0), 0), Some(vec![]));
}

#[test]
fn tiles_in_a_row_get_pages_in_a_row() {
    // Gaps of 2 and 1 in the fullest chunk, of 4 in the next, of 8 in the last.
    let mut pool = pool_of(&[&[0, 3, 5, 6, 7], &[0, 1, 6, 7], &[]]);
    // A run of 2, a single one, a run of 4: no run is cut, though the fullest chunk had room for more.
    let wanted = [(1, 50), (1, 51), (1, 70), (9, 71), (9, 72), (9, 73), (9, 74)];
    let pages = pool.allocate_many(&wanted.map(|(r, t)| owner(r, t))).unwrap();
    assert_eq!(pages, [(0, 1), (0, 2), (0, 4), (1, 2), (1, 3), (1, 4), (1, 5)].map(|(c, p)| page(c, p)));
    // Longer than any gap: the longest is used up, the rest goes where it fits.
    let mut pool = pool_of(&[&[0, 3, 4, 5, 6, 7], &[0, 1, 2, 3, 7]]);
    let pages = pool.allocate(owner(5, 0), 5).unwrap();
    assert_eq!(pages, [(1, 4), (1, 5), (1, 6), (0, 1), (0, 2)].map(|(c, p)| page(c, p)));
}

#[test]
fn runs_lie_in_one_chunk_and_pinned_ones_stay_together() {
    let mut pool = pool_of(&[&[0, 2, 4, 6, 7], &[0, 1], &[]]);
    let run = pool.allocate_run(7, 20, 3).unwrap().unwrap();
    assert_eq!(run, PageRun { first: page(1, 2), pages: 3 });
    assert_eq!(
        run.iter().map(|p| pool.owner(p)).collect::<Vec<_>>(),
        [20, 21, 22].map(|t| Some(owner(7, t)))
    );
    // Chunk 0 is the fuller one for a single page, but chunk 1 can never be emptied.
    assert_eq!(pool.allocate_run(8, 0, 1).unwrap().unwrap().first, page(1, 5));
    assert_eq!(pool.allocate_run(8, 0, 5).unwrap().unwrap().first, page(2, 0));
    assert_eq!(pool.allocate_run(8, 0, 4), Ok(None));
    assert_eq!(pool.allocate_run(8, 0, 0), Ok(None));
    assert_eq!(
        pool.allocate_run(8, 0, 9).unwrap_err().to_string(),
        "a run of 9 pages was asked for, but a chunk has 8 and a run lies in one chunk: turn the chunk-size \
         knob up"
    );
    insta::assert_snapshot!(pool, @r"
    chunk 0: 5/8 used
    chunk 1: 6/8 used, 4 pinned
    chunk 2: 5/8 used, 5 pinned
    ");
}

#[test]
fn a_chunk_goes_when_all_of_its_pages_are_free_and_its_index_comes_again() {
    let mut pool = pool_of(&[&[], &[3], &[]]);
    assert_eq!(pool.empty_chunks().collect::<Vec<_>>(), [ChunkIndex(0), ChunkIndex(2)]);
    let error = pool.remove_chunk(ChunkIndex(1)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "chunk 1 was to be removed, but it has 1/8 used: free and release all of its pages first"
    );
    assert_eq!(pool.free_later(page(1, 3)).unwrap().owner, owner(1, 11));
    assert_eq!(pool.owner(page(1, 3)), None);
    assert!(matches!(pool.remove_chunk(ChunkIndex(1)), Err(PageError::ChunkInUse { .. })));
    assert_eq!(pool.allocate(owner(2, 0), 24), None, "quarantined pages are out of reach");
    assert_eq!(
        pool.free(page(1, 3)).unwrap_err().to_string(),
        "chunk 1 page 3 was to be freed, but it is quarantined: free a page once, and by the place of its \
         owner"
    );
    pool.release(page(1, 3)).unwrap();
    assert_eq!(
        pool.release(page(1, 3)).unwrap_err().to_string(),
        "chunk 1 page 3 was to be released, but it is free: only quarantined pages are, once each"
    );
    pool.remove_chunk(ChunkIndex(1)).unwrap();
    pool.remove_chunk(ChunkIndex(0)).unwrap();
    assert_eq!(pool.remove_chunk(ChunkIndex(0)), Err(PageError::NoChunk(ChunkIndex(0))));
    assert_eq!(pool.free_pages(), 8);
    assert_eq!(pool.chunks().collect::<Vec<_>>(), [ChunkIndex(2)]);
    assert_eq!([pool.add_chunk(), pool.add_chunk(), pool.add_chunk()], [0, 1, 3].map(ChunkIndex));
    assert_eq!(
        pool.state(page(0, 8)).unwrap_err().to_string(),
        "chunk 0 page 8 was named, but chunks have 8 pages: count pages from zero"
    );
    assert_eq!((pool.owner(page(0, 8)), pool.owner(page(9, 0))), (None, None));
    assert_eq!(PagePool::new(0).pages_per_chunk(), 1);
    assert_eq!(PagePool::new(u32::MAX).pages_per_chunk(), MAX_PAGES_PER_CHUNK);
}

#[test]
fn the_emptiest_chunks_are_emptied_into_the_fullest() {
    let pool = pool_of(&[&[0, 1, 2, 3, 5], &[4, 2], &[], &[0, 1, 2, 3, 4, 5], &[7]]);
    insta::assert_snapshot!(plan(&pool, 16, DefragOptions::default()), @r"
    defragment: 3 moves of at most 16, 2 chunks emptied
      move resource 1 tile 39: chunk 4 page 7 -> chunk 3 page 6
      move resource 1 tile 10: chunk 1 page 2 -> chunk 3 page 7
      move resource 1 tile 12: chunk 1 page 4 -> chunk 0 page 4
      empties chunk 4
      empties chunk 1
      stops: no chunk is left to empty, 2 stay in use
    ");
    insta::assert_snapshot!(plan(&pool, 2, DefragOptions::default()), @r"
    defragment: 2 moves of at most 2, 1 chunks emptied
      move resource 1 tile 39: chunk 4 page 7 -> chunk 3 page 6
      move resource 1 tile 10: chunk 1 page 2 -> chunk 3 page 7
      empties chunk 4
      stops: the budget is used up, 1 pages of chunk 1 are left for the next step
    ");
    assert!(plan(&pool, 0, ANY_FILL).is_empty());
    insta::assert_snapshot!(plan(&pool, 16, DefragOptions { max_fill_of_source: 0.2 }), @r"
    defragment: 1 moves of at most 16, 1 chunks emptied
      move resource 1 tile 39: chunk 4 page 7 -> chunk 3 page 6
      empties chunk 4
      stops: the emptiest left is chunk 1 with 2 pages, and a source may have 1
    ");
    assert!(plan(&pool, 16, DefragOptions { max_fill_of_source: f64::NAN }).is_empty());
    assert_eq!(plan(&pool, 16, ANY_FILL).freed_bytes(16 << 20), 32 << 20);
}

#[test]
fn a_pool_without_gain_is_left_alone() {
    let text = |pool: &PagePool| {
        let plan = plan(pool, 100, ANY_FILL);
        assert!(plan.is_empty() && plan.emptied.is_empty());
        plan.reason.to_string()
    };
    let mut all = text(&PagePool::new(8)) + "\n";
    all += &(text(&pool_of(&[&[], &[1, 2], &[]])) + "\n");
    all += &(text(&pool_of(&[&[0, 1, 2, 3, 4, 5, 6], &[0, 1]])) + "\n");
    // A pinned page keeps its chunk, an unbind that is not done yet too.
    let mut pool = PagePool::new(8);
    for chunk in 0..2 {
        pool.add_chunk();
        let run = pool.allocate_run(1, 8 * chunk, 8).unwrap().unwrap();
        for p in run.iter().skip(1) {
            let _ = pool.free(p).unwrap();
        }
    }
    all += &(text(&pool) + "\n");
    let mut pool = pool_of(&[&[0, 1, 2], &[0]]);
    pool.add_chunk();
    let _ = pool.free_later(page(0, 1)).unwrap();
    let _ = pool.free_later(page(1, 0)).unwrap();
    all += &text(&pool);
    insta::assert_snapshot!(all, @r"
    no chunk is left to empty, 0 stay in use
    the emptiest left is chunk 1 with 2 pages, and the others have room for 0
    the emptiest left is chunk 1 with 2 pages, and the others have room for 1
    no chunk is left to empty, 2 stay in use
    no chunk is left to empty, 1 stay in use
    ");
}

#[test]
fn pinned_chunks_are_targets_even_when_they_are_emptier() {
    let mut pool = PagePool::new(8);
    pool.add_chunk();
    pool.allocate_run(1, 0, 1).unwrap().unwrap();
    pool.add_chunk();
    let others = pool.allocate(owner(2, 0), 7).unwrap();
    pool.allocate(owner(3, 0), 3).unwrap();
    for p in others {
        let _ = pool.free(p).unwrap();
    }
    insta::assert_snapshot!(format!("{pool}{}", plan(&pool, 100, ANY_FILL)), @r"
    chunk 0: 1/8 used, 1 pinned
    chunk 1: 3/8 used
    defragment: 3 moves of at most 100, 1 chunks emptied
      move resource 3 tile 0: chunk 1 page 0 -> chunk 0 page 1
      move resource 3 tile 1: chunk 1 page 1 -> chunk 0 page 2
      move resource 3 tile 2: chunk 1 page 2 -> chunk 0 page 3
      empties chunk 1
      stops: no chunk is left to empty, 1 stay in use
    ");
}

#[test]
fn a_move_reserves_its_target_and_leaves_its_source_in_quarantine() {
    let mut pool = pool_of(&[&[0, 1, 2, 3, 4], &[6, 7]]);
    let planned = plan(&pool, 100, DefragOptions::default());
    let begun = pool.apply_begin(&planned).unwrap();
    let mut text = pool.to_string();
    assert_eq!(pool.owner(page(1, 6)), Some(owner(1, 14)));
    assert_eq!(pool.owner(page(0, 5)), None);
    assert_eq!(
        pool.free(page(0, 5)).unwrap_err().to_string(),
        "chunk 0 page 5 was to be freed, but it is the target of resource 1 tile 14, moving from chunk 1 \
         page 6: free a page once, and by the place of its owner"
    );
    assert!(plan(&pool, 100, ANY_FILL).is_empty(), "nothing that moves is moved again");
    assert_eq!(
        pool.allocate(owner(9, 0), 2).unwrap(),
        [page(0, 7), page(1, 0)],
        "the drained chunk comes last"
    );
    assert_eq!(pool.free(page(1, 0)).unwrap().owner, owner(9, 1));
    let report = pool.apply_end(begun, PageAfter::Quarantine);
    text += &pool.to_string();
    assert_eq!(pool.owner(page(0, 5)), Some(owner(1, 14)));
    assert_eq!(report.moved, planned.moves);
    assert_eq!(report.freed_bytes(16 << 20), 16 << 20);
    assert!(pool.remove_chunk(ChunkIndex(1)).is_err());
    planned.moves.iter().for_each(|m| pool.release(m.from).unwrap());
    pool.remove_chunk(ChunkIndex(1)).unwrap();
    text += &pool.to_string();
    insta::assert_snapshot!(text, @r"
    chunk 0: 5/8 used, 2 moving in
    chunk 1: 2/8 used, 2 moving out
    chunk 0: 8/8 used
    chunk 1: 0/8 used, 2 quarantined
    chunk 0: 8/8 used
    ");
}

#[test]
fn freeing_a_page_that_moves_cancels_the_move() {
    let mut pool = pool_of(&[&[0, 1, 2, 3, 4], &[0, 6, 7]]);
    let planned = plan(&pool, 100, DefragOptions::default());
    let begun = pool.apply_begin(&planned).unwrap();
    let [first, second, third] = planned.moves[..] else { panic!("three moves") };
    assert_eq!(pool.free(first.from).unwrap(), Freed { owner: first.owner, cancelled: Some(first) });
    assert_eq!((pool.state(first.from), pool.state(first.to)), (Ok(PageState::Free), Ok(PageState::Free)));
    // The copy into the target may be running: it is kept as well.
    assert_eq!(pool.free_later(second.from).unwrap().cancelled, Some(second));
    for kept in [second.from, second.to] {
        assert_eq!(pool.state(kept), Ok(PageState::Quarantined { vacated: false }));
    }
    assert!(!pool.is_under_way(&begun, &second) && pool.is_under_way(&begun, &third));
    let report = pool.apply_end(begun, PageAfter::Free);
    insta::assert_snapshot!(report, @r"
    defragmented: 1 pages moved, 2 moves cancelled
      cancelled: move resource 1 tile 8: chunk 1 page 0 -> chunk 0 page 5
      cancelled: move resource 1 tile 14: chunk 1 page 6 -> chunk 0 page 6
      emptied chunk 1
    ");
    assert_eq!(report.moved, [third]);
    assert_eq!(pool.cancel(&third, PageAfter::Free), Err(PageError::NotMoving(third)));
}

#[test]
fn an_old_step_does_not_end_a_new_move() {
    let mut pool = pool_of(&[&[0, 1, 2, 3, 4], &[6]]);
    let planned = plan(&pool, 1, ANY_FILL);
    let old = pool.apply_begin(&planned).unwrap();
    pool.cancel(&planned.moves[0], PageAfter::Free).unwrap();
    let new = pool.apply_begin(&planned).unwrap();
    let report = pool.apply_end(old, PageAfter::Free);
    assert_eq!((report.moved.len(), report.cancelled.len()), (0, 1));
    assert_eq!(pool.owner(page(1, 6)), Some(owner(1, 14)));
    assert_eq!(pool.cancel_all(new, PageAfter::Quarantine), planned.moves);
    assert_eq!(pool.state(planned.moves[0].to), Ok(PageState::Quarantined { vacated: false }));
}

#[test]
fn a_stale_plan_begins_nothing() {
    let mut pool = pool_of(&[&[0, 1, 2, 3, 4], &[0, 6, 7]]);
    let planned = plan(&pool, 100, ANY_FILL);
    assert_eq!(pool.allocate(owner(5, 5), 2).unwrap(), [page(0, 5), page(0, 6)]);
    let _ = pool.free(page(0, 5)).unwrap();
    let before = pool.clone();
    let error = pool.apply_begin(&planned).unwrap_err();
    assert_eq!(
        error.to_string(),
        "move resource 1 tile 14: chunk 1 page 6 -> chunk 0 page 6 cannot begin, since chunk 0 page 6 is \
         used by resource 5 tile 6 by now: plan again from the present state"
    );
    assert_eq!(pool, before);
}
