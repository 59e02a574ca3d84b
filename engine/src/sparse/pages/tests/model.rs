//! Random steps, each compared with a naive pool: a list of pages that knows of no ranks and no bitmaps.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

/// What a page is; places are (chunk, page).
#[derive(Debug, Clone, Copy, PartialEq)]
enum Page {
    Free,
    Used(PageOwner),
    Pinned(PageOwner),
    Out(PageOwner, PageRef),
    In(PageOwner, PageRef),
    Quarantine { vacated: bool },
}

#[derive(Debug, Clone)]
struct Model {
    pages_per_chunk: u32,
    chunks: BTreeMap<u32, Vec<Page>>,
    /// Where each owner lies, kept apart from the pages.
    places: BTreeMap<PageOwner, PageRef>,
    pinned_at: BTreeMap<PageOwner, PageRef>,
    /// The step that moved each owner last: a move may be cancelled and begun again in the same way.
    moved_by: BTreeMap<PageOwner, usize>,
    next_tile: u64,
}

#[derive(Debug, Clone)]
enum Step {
    Add,
    Remove(usize),
    Allocate(u32),
    Fill,
    Many(Vec<u32>),
    Run(u32),
    Free(usize),
    FreeLater(usize),
    Release(usize),
    Defragment { budget: u32, fill: u32 },
    Stale { budget: u32, free: usize },
    End(usize, PageAfter),
    Cancel(usize, PageAfter),
    CancelAll(usize, PageAfter),
}

/// Steps on a pool that begins with some chunks, full but for random holes.
fn steps() -> impl Strategy<Value = Vec<Step>> {
    let after = || prop_oneof![Just(PageAfter::Free), Just(PageAfter::Quarantine)];
    let step = prop_oneof![
        4 => Just(Step::Add),
        2 => any::<usize>().prop_map(Step::Remove),
        4 => (0..6u32).prop_map(Step::Allocate),
        3 => prop::collection::vec(1..4u32, 0..5).prop_map(Step::Many),
        1 => (0..4u32).prop_map(Step::Run),
        8 => any::<usize>().prop_map(Step::Free),
        3 => any::<usize>().prop_map(Step::FreeLater),
        5 => any::<usize>().prop_map(Step::Release),
        6 => (0..9u32, 0..=5u32).prop_map(|(budget, fill)| Step::Defragment { budget, fill }),
        1 => (1..9u32, any::<usize>()).prop_map(|(budget, free)| Step::Stale { budget, free }),
        3 => (any::<usize>(), after()).prop_map(|(i, after)| Step::End(i, after)),
        1 => (any::<usize>(), after()).prop_map(|(i, after)| Step::Cancel(i, after)),
        1 => (any::<usize>(), after()).prop_map(|(i, after)| Step::CancelAll(i, after)),
    ];
    let holes = prop::collection::vec(any::<usize>().prop_map(Step::Free), 0..30);
    (0..8usize, holes, prop::collection::vec(step, 1..60)).prop_map(|(chunks, holes, steps)| {
        let full = (0..chunks).flat_map(|_| [Step::Add, Step::Fill]);
        full.chain(holes).chain(steps).collect()
    })
}

impl Model {
    fn at(&self, place: PageRef) -> Page {
        self.chunks[&place.chunk.0][place.page as usize]
    }

    fn put(&mut self, place: PageRef, page: Page) {
        self.chunks.get_mut(&place.chunk.0).unwrap()[place.page as usize] = page;
    }

    fn count(&self, chunk: u32, what: impl Fn(Page) -> bool) -> u32 {
        self.chunks[&chunk].iter().filter(|page| what(**page)).count() as u32
    }

    fn pages(&self, what: impl Fn(Page) -> bool) -> Vec<PageRef> {
        let all =
            self.chunks.iter().flat_map(|(&chunk, pages)| (0..pages.len()).map(move |p| (chunk, p as u32)));
        all.map(|(chunk, p)| page(chunk, p)).filter(|place| what(self.at(*place))).collect()
    }

    fn is_draining(&self, chunk: u32) -> bool {
        self.count(chunk, |p| matches!(p, Page::Out(..) | Page::Quarantine { vacated: true })) > 0
    }

    /// Whether `pages` free pages in a row begin at some page of the chunk, and the first of those.
    fn gap(&self, chunk: u32, pages: u32) -> Option<u32> {
        let is_free: Vec<bool> = self.chunks[&chunk].iter().map(|page| *page == Page::Free).collect();
        is_free.windows(pages as usize).position(|window| window.iter().all(|free| *free)).map(|p| p as u32)
    }

    /// The chunks in the order in which they are filled.
    fn fill_order(&self) -> Vec<u32> {
        let mut order: Vec<u32> = self.chunks.keys().copied().collect();
        order.sort_by_key(|&chunk| (self.is_draining(chunk), self.count(chunk, |p| p == Page::Free), chunk));
        order
    }

    fn owners(&mut self, count: u32) -> Vec<PageOwner> {
        // A gap between two calls: they do not follow each other.
        self.next_tile += u64::from(count) + 1;
        let first = self.next_tile - u64::from(count);
        (first..self.next_tile).map(|tile| owner(first % 3, tile)).collect()
    }

    fn take_in(&mut self, owners: &[PageOwner], places: &[PageRef], kind: fn(PageOwner) -> Page) {
        assert_eq!(owners.len(), places.len());
        for (&owner, &place) in owners.iter().zip(places) {
            assert_eq!(self.at(place), Page::Free, "{place} was not free");
            self.put(place, kind(owner));
            assert_eq!(self.places.insert(owner, place), None);
        }
    }

    fn step_allocate(&mut self, pool: &mut PagePool, runs: &[u32]) {
        let owners: Vec<PageOwner> = runs.iter().flat_map(|&count| self.owners(count)).collect();
        let places = match (runs, owners.first()) {
            ([count], Some(&first)) => pool.allocate(first, *count),
            _ => pool.allocate_many(&owners),
        };
        let free = self.pages(|p| p == Page::Free).len();
        assert_eq!(places.is_some(), owners.len() <= free, "all or none, and all if there is room");
        let Some(places) = places else { return };
        if let &[count] = runs
            && count > 0
        {
            let with_gap = self.fill_order().into_iter().find_map(|c| Some((c, self.gap(c, count)?)));
            let others_have_room =
                self.chunks.keys().any(|&c| !self.is_draining(c) && self.gap(c, 1).is_some());
            if let Some((chunk, first)) = with_gap
                && !(self.is_draining(chunk) && others_have_room)
            {
                let expected: Vec<PageRef> = (first..first + count).map(|p| page(chunk, p)).collect();
                assert_eq!(places, expected, "in a row in the fullest chunk with room for it");
            }
        }
        self.take_in(&owners, &places, Page::Used);
        if places.iter().any(|place| self.is_draining(place.chunk.0)) {
            let others = self.chunks.keys().filter(|&&c| !self.is_draining(c) && self.gap(c, 1).is_some());
            assert_eq!(others.count(), 0, "a chunk that is being emptied was filled before another");
        }
    }

    fn step_run(&mut self, pool: &mut PagePool, pages: u32) {
        let owners = self.owners(pages);
        let first = owners.first().copied().unwrap_or(owner(0, 0));
        let run = pool.allocate_run(first.resource, first.tile, pages);
        if pages > self.pages_per_chunk {
            assert!(matches!(run, Err(PageError::RunTooLong { .. })));
            return;
        }
        let fits: Vec<u32> =
            self.fill_order().into_iter().filter(|&c| self.gap(c, pages.max(1)).is_some()).collect();
        let is_pinned = |c: &u32| self.count(*c, |p| matches!(p, Page::Pinned(_))) > 0;
        let chunk = fits.iter().copied().find(is_pinned).or(fits.first().copied()).filter(|_| pages > 0);
        let expected = chunk.map(|c| page(c, self.gap(c, pages).unwrap()));
        let run = run.unwrap();
        assert_eq!(run.map(|run| run.first), expected);
        if let Some(run) = run {
            let places: Vec<PageRef> = run.iter().collect();
            self.take_in(&owners, &places, Page::Pinned);
            self.pinned_at.extend(owners.into_iter().zip(places));
        }
    }

    fn step_free(&mut self, pool: &mut PagePool, place: PageRef, later: bool) {
        let freed = if later { pool.free_later(place) } else { pool.free(place) };
        let after = if later { Page::Quarantine { vacated: false } } else { Page::Free };
        let (owner, cancelled) = match self.at(place) {
            Page::Used(owner) | Page::Pinned(owner) => (owner, None),
            Page::Out(owner, to) => {
                self.put(to, after);
                (owner, Some(PageMove { owner, from: place, to }))
            }
            _ => {
                assert!(matches!(freed, Err(PageError::NotOwned { .. })));
                return;
            }
        };
        assert_eq!(freed, Ok(Freed { owner, cancelled }));
        self.put(place, after);
        self.places.remove(&owner);
        self.pinned_at.remove(&owner);
    }

    fn is_under_way(&self, m: &PageMove, step: usize) -> bool {
        self.chunks.contains_key(&m.from.chunk.0)
            && self.at(m.from) == Page::Out(m.owner, m.to)
            && self.moved_by[&m.owner] == step
    }

    fn step_end(&mut self, moves: &[PageMove], step: usize, report: &DefragReport, after: PageAfter) {
        let is_under_way = |m: &PageMove| self.is_under_way(m, step);
        let (moved, cancelled): (Vec<PageMove>, Vec<PageMove>) =
            moves.iter().copied().partition(is_under_way);
        for m in &moved {
            assert_eq!(self.at(m.to), Page::In(m.owner, m.from));
            self.put(m.to, Page::Used(m.owner));
            let vacated = Page::Quarantine { vacated: true };
            self.put(m.from, if after == PageAfter::Free { Page::Free } else { vacated });
            self.places.insert(m.owner, m.to);
        }
        let left: BTreeSet<u32> = moved.iter().map(|m| m.from.chunk.0).collect();
        let is_left = |c: &u32| self.count(*c, |p| !matches!(p, Page::Free | Page::Quarantine { .. })) == 0;
        let emptied: Vec<ChunkIndex> = left.into_iter().filter(is_left).map(ChunkIndex).collect();
        assert_eq!(report, &DefragReport { moved, cancelled, emptied });
    }

    /// Pages a chunk has once the moves that are under way have ended.
    fn staying(&self, chunk: u32) -> u32 {
        self.count(chunk, |p| matches!(p, Page::Used(_) | Page::Pinned(_) | Page::In(..)))
    }

    fn is_pinned(&self, chunk: u32) -> bool {
        self.count(chunk, |p| matches!(p, Page::Pinned(_))) > 0
    }

    fn may_be_source(&self, chunk: u32) -> bool {
        let keeps = |p| matches!(p, Page::Pinned(_) | Page::In(..) | Page::Quarantine { vacated: false });
        self.count(chunk, keeps) == 0 && self.staying(chunk) > 0
    }

    /// The free pages that one source could use, were it the only one.
    fn room_for(&self, source: u32) -> u32 {
        let may = |&target: &u32| {
            let order = |chunk| (self.staying(chunk), std::cmp::Reverse(chunk));
            target != source
                && !self.is_draining(target)
                && (self.is_pinned(target) || order(target) > order(source))
        };
        self.chunks.keys().copied().filter(may).map(|chunk| self.count(chunk, |p| p == Page::Free)).sum()
    }

    fn check_plan(&self, plan: &DefragPlan, budget: u32, limit: u32) {
        assert!(plan.moves.len() <= budget as usize, "budget passed");
        let sources: BTreeSet<u32> = plan.moves.iter().map(|m| m.from.chunk.0).collect();
        let targets: BTreeSet<u32> = plan.moves.iter().map(|m| m.to.chunk.0).collect();
        assert!(sources.is_disjoint(&targets), "into a chunk that is being emptied");
        let places =
            |end: fn(&PageMove) -> PageRef| plan.moves.iter().map(end).collect::<BTreeSet<_>>().len();
        assert_eq!((places(|m| m.from), places(|m| m.to)), (plan.moves.len(), plan.moves.len()));
        for m in &plan.moves {
            assert_eq!((self.at(m.from), self.at(m.to)), (Page::Used(m.owner), Page::Free));
            let (from, to) = (m.from.chunk.0, m.to.chunk.0);
            assert!(self.is_pinned(to) || self.staying(to) >= self.staying(from), "into a fuller chunk");
            assert!(!self.is_draining(to));
        }
        for &source in &sources {
            assert!(self.may_be_source(source) && self.staying(source) <= limit);
        }
        // Every source is emptied, but for one that the budget ends in.
        let gone =
            |&c: &u32| plan.moves.iter().filter(|m| m.from.chunk.0 == c).count() == self.staying(c) as usize;
        let emptied: BTreeSet<u32> = sources.iter().copied().filter(gone).collect();
        assert_eq!(emptied, plan.emptied.iter().map(|c| c.0).collect());
        if let StopReason::Budget { chunk, pages } = plan.reason {
            assert_eq!(plan.moves.len(), budget as usize, "stopped before the budget was used up");
            let moved = plan.moves.iter().filter(|m| m.from.chunk == chunk).count() as u32;
            assert_eq!(pages, self.staying(chunk.0) - moved);
        } else {
            assert_eq!(emptied, sources, "only the budget stops in the middle of a chunk");
            if plan.is_empty() {
                let gains = |&c: &u32| {
                    self.may_be_source(c) && self.staying(c) <= limit && self.staying(c) <= self.room_for(c)
                };
                let missed: Vec<&u32> = self.chunks.keys().filter(|c| gains(c)).collect();
                assert!(missed.is_empty(), "chunks {missed:?} could be emptied");
            }
        }
    }

    fn step_begin(&mut self, moves: &[PageMove], step: usize) {
        for m in moves {
            self.moved_by.insert(m.owner, step);
            self.put(m.from, Page::Out(m.owner, m.to));
            self.put(m.to, Page::In(m.owner, m.from));
        }
    }

    fn step_cancel(&mut self, m: &PageMove, after: PageAfter) {
        self.put(m.from, Page::Used(m.owner));
        let vacated = Page::Quarantine { vacated: false };
        self.put(m.to, if after == PageAfter::Free { Page::Free } else { vacated });
    }

    /// The pool tells the same story, page by page and in its sums.
    fn compare(&self, pool: &PagePool) {
        let chunks: Vec<u32> = self.chunks.keys().copied().collect();
        assert_eq!(pool.chunks().map(|c| c.0).collect::<Vec<_>>(), chunks);
        let mut lying: BTreeMap<PageOwner, PageRef> = BTreeMap::new();
        for place in self.pages(|_| true) {
            let state = match pool.state(place).unwrap() {
                PageState::Free => Page::Free,
                PageState::Used(owner) => Page::Used(owner),
                PageState::Pinned(owner) => Page::Pinned(owner),
                PageState::MovingOut { owner, to, .. } => Page::Out(owner, to),
                PageState::MovingIn { owner, from, .. } => Page::In(owner, from),
                PageState::Quarantined { vacated } => Page::Quarantine { vacated },
            };
            assert_eq!(state, self.at(place), "{place}");
            if let Some(owner) = pool.owner(place) {
                assert_eq!(lying.insert(owner, place), None, "{owner} has two pages");
            }
        }
        assert_eq!(lying, self.places, "an owner was lost");
        for (owner, place) in &self.pinned_at {
            assert_eq!(pool.owner(*place), Some(*owner), "a pinned page moved");
        }
        assert_eq!(pool.used_pages(), self.places.len() as u64);
        assert_eq!(pool.free_pages(), self.pages(|p| p == Page::Free).len() as u64);
        for &chunk in &chunks {
            let occupancy = Occupancy {
                pages: self.pages_per_chunk,
                used: self.count(chunk, |p| matches!(p, Page::Used(_) | Page::Pinned(_) | Page::Out(..))),
                pinned: self.count(chunk, |p| matches!(p, Page::Pinned(_))),
                moving_out: self.count(chunk, |p| matches!(p, Page::Out(..))),
                moving_in: self.count(chunk, |p| matches!(p, Page::In(..))),
                quarantined: self.count(chunk, |p| matches!(p, Page::Quarantine { .. })),
                vacated: self.count(chunk, |p| p == Page::Quarantine { vacated: true }),
            };
            assert_eq!(pool.occupancy(ChunkIndex(chunk)), Some(occupancy));
            assert_eq!(occupancy.free(), self.count(chunk, |p| p == Page::Free));
        }
        let all_free = |c: &u32| self.count(*c, |p| p == Page::Free) == self.pages_per_chunk;
        let empty: Vec<ChunkIndex> = chunks.into_iter().filter(all_free).map(ChunkIndex).collect();
        assert_eq!(pool.empty_chunks().collect::<Vec<_>>(), empty);
        assert_eq!(pool.to_string().lines().count(), self.chunks.len());
    }
}

/// One of `items`, or nothing when there are none.
fn pick<T: Copy>(items: &[T], index: usize) -> Option<T> {
    items.get(index.checked_rem(items.len())?).copied()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn every_step_agrees_with_the_model(pages_per_chunk in 1..9u32, steps in steps()) {
        let mut pool = PagePool::new(pages_per_chunk);
        let mut model = Model {
            pages_per_chunk,
            chunks: BTreeMap::new(),
            places: BTreeMap::new(),
            pinned_at: BTreeMap::new(),
            moved_by: BTreeMap::new(),
            next_tile: 0,
        };
        let mut begun: Vec<(usize, BegunMoves)> = Vec::new();
        for (number, step) in steps.into_iter().enumerate() {
            let before = pool.clone();
            match step {
                Step::Add => {
                    let index = pool.add_chunk();
                    let lowest = (0..).find(|c| !model.chunks.contains_key(c)).unwrap();
                    prop_assert_eq!(index, ChunkIndex(lowest));
                    model.chunks.insert(lowest, vec![Page::Free; pages_per_chunk as usize]);
                }
                Step::Remove(index) => {
                    let chunks: Vec<u32> = model.chunks.keys().copied().collect();
                    let Some(chunk) = pick(&chunks, index) else { continue };
                    let is_empty = model.chunks[&chunk].iter().all(|p| *p == Page::Free);
                    prop_assert_eq!(pool.remove_chunk(ChunkIndex(chunk)).is_ok(), is_empty);
                    if is_empty {
                        model.chunks.remove(&chunk);
                    } else {
                        prop_assert_eq!(&pool, &before);
                    }
                }
                Step::Allocate(count) => model.step_allocate(&mut pool, &[count]),
                Step::Fill => model.step_allocate(&mut pool, &[pages_per_chunk]),
                Step::Many(runs) => model.step_allocate(&mut pool, &runs),
                Step::Run(pages) => model.step_run(&mut pool, pages),
                Step::Free(index) | Step::FreeLater(index) => {
                    // Any page at all: most are owned, the others must be refused.
                    let Some(place) = pick(&model.pages(|p| p != Page::Free), index) else { continue };
                    model.step_free(&mut pool, place, matches!(step, Step::FreeLater(_)));
                }
                Step::Release(index) => {
                    let quarantined = model.pages(|p| matches!(p, Page::Quarantine { .. }));
                    let Some(place) = pick(&quarantined, index) else { continue };
                    pool.release(place).unwrap();
                    model.put(place, Page::Free);
                    prop_assert!(pool.release(place).is_err());
                }
                Step::Defragment { budget, fill } => {
                    let max_fill_of_source = f64::from(fill) / 5.0;
                    let limit = pages_per_chunk * fill / 5;
                    let planned = plan(&pool, budget, DefragOptions { max_fill_of_source });
                    prop_assert_eq!(&pool, &before, "planning changes nothing");
                    model.check_plan(&planned, budget, limit);
                    begun.push((number, pool.apply_begin(&planned).unwrap()));
                    model.step_begin(&planned.moves, number);
                }
                Step::Stale { budget, free } => {
                    let planned = plan(&pool, budget, ANY_FILL);
                    let Some(gone) = pick(&planned.moves, free) else { continue };
                    model.step_free(&mut pool, gone.from, false);
                    let before = pool.clone();
                    let stale = matches!(pool.apply_begin(&planned), Err(PageError::StaleMove { .. }));
                    prop_assert!(stale);
                    prop_assert_eq!(&pool, &before);
                }
                Step::End(index, after) | Step::CancelAll(index, after) => {
                    if begun.is_empty() {
                        continue;
                    }
                    let (by, one) = begun.swap_remove(index % begun.len());
                    let mut moves = one.moves().to_vec();
                    for m in &moves {
                        prop_assert_eq!(pool.is_under_way(&one, m), model.is_under_way(m, by));
                    }
                    if matches!(step, Step::End(..)) {
                        let report = pool.apply_end(one, after);
                        model.step_end(&moves, by, &report, after);
                    } else {
                        moves.retain(|m| model.is_under_way(m, by));
                        prop_assert_eq!(pool.cancel_all(one, after), moves.clone());
                        moves.iter().for_each(|m| model.step_cancel(m, after));
                    }
                }
                Step::Cancel(index, after) => {
                    let moving = model.pages(|p| matches!(p, Page::Out(..)));
                    let Some(from) = pick(&moving, index) else { continue };
                    let Page::Out(owner, to) = model.at(from) else { unreachable!() };
                    let m = PageMove { owner, from, to };
                    pool.cancel(&m, after).unwrap();
                    model.step_cancel(&m, after);
                    prop_assert_eq!(pool.cancel(&m, after), Err(PageError::NotMoving(m)));
                }
            }
            model.compare(&pool);
        }
    }
}
