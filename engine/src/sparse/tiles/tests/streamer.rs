//! Worked examples, and every plan replayed by an executor that checks the rules with its own geometry.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::*;

fn knobs(budget_tiles: u64, limit: u32, keep_frames: u32) -> StreamerKnobs {
    StreamerKnobs { budget_tiles, maps_per_update: limit, unmaps_per_update: limit, keep_frames }
}

fn request(mip: u32, x: u32, y: u32, priority: f32) -> TileRequest {
    TileRequest { tile: TileCoord { layer: 0, mip, x, y, z: 0 }, priority }
}

#[test]
fn a_view_arrives_stays_and_goes() {
    let layout = TileLayout::new(worked_example(true)).unwrap();
    let mut streamer = TileStreamer::new(&layout, knobs(4, 3, 2)).unwrap();
    let view = [request(0, 3, 0, 2.0), request(0, 0, 0, 1.0), request(1, 1, 0, 0.5), request(3, 0, 0, 9.0)];
    let mut text = String::new();
    for frame in 0..3 {
        text += &streamer.update(&view, frame).to_string();
    }
    text += &streamer.update(&[request(0, 0, 3, 1.5)], 3).to_string();
    streamer.set_budget(2);
    text += &streamer.update(&[request(0, 0, 3, 1.5)], 4).to_string();
    for frame in 5..8 {
        text += &streamer.update(&[], frame).to_string();
    }
    insta::assert_snapshot!(text, @r"
    frame 0: map 3, unmap 0, defer 2: 3 of 4 tiles mapped
      map layer 0 mip 2 tile 0,0,0: a finer tile needs it, priority 2
      map layer 0 mip 1 tile 1,0,0: requested, priority 2
      map layer 0 mip 1 tile 0,0,0: a finer tile needs it, priority 1
      defer 2: enough maps for one update
    frame 1: map 1, unmap 0, defer 1: 4 of 4 tiles mapped
      map layer 0 mip 0 tile 3,0,0: requested, priority 2
      defer 1: the budget is full of what is as important or still kept
    frame 2: map 0, unmap 0, defer 1: 4 of 4 tiles mapped
      defer 1: the budget is full of what is as important or still kept
    frame 3: map 1, unmap 1, defer 1: 4 of 4 tiles mapped
      unmap layer 0 mip 0 tile 3,0,0: makes room for something more important
      map layer 0 mip 1 tile 0,1,0: a finer tile needs it, priority 1.5
      defer 1: the budget is full of what is as important or still kept
    frame 4: map 0, unmap 2, defer 2: 2 of 2 tiles mapped
      unmap layer 0 mip 1 tile 0,0,0: the budget fell
      unmap layer 0 mip 1 tile 0,1,0: the budget fell
      defer 2: the budget is full of what is as important or still kept
    frame 5: map 0, unmap 1, defer 0: 1 of 2 tiles mapped
      unmap layer 0 mip 1 tile 1,0,0: last requested 3 frames ago
    frame 6: map 0, unmap 0, defer 0: 1 of 2 tiles mapped
    frame 7: map 0, unmap 1, defer 0: 0 of 2 tiles mapped
      unmap layer 0 mip 2 tile 0,0,0: last requested 3 frames ago
    ");
    assert_eq!((streamer.mapped(), streamer.mapped_per_mip()), (0, &[0, 0, 0][..]));
    assert!(!streamer.is_mapped(TileCoord { mip: 3, ..TileCoord::default() }), "the tail is no tile");
}

#[test]
fn without_a_tail_the_last_mip_is_always_there() {
    let layout = TileLayout::new(worked_example(false)).unwrap();
    let mut streamer = TileStreamer::new(&layout, knobs(100, 100, 0)).unwrap();
    let last = TileCoord { mip: 9, ..TileCoord::default() };
    assert!(streamer.is_mapped(last));
    let plan = streamer.update(&[TileRequest { tile: last, priority: 1.0 }, request(8, 0, 0, 1.0)], 0);
    assert_eq!(plan.map, [TileCoord { mip: 8, ..TileCoord::default() }]);
    assert_eq!(plan.deferred, 0);
    let plan = streamer.update(&[], 1);
    assert_eq!((plan.unmap.len(), streamer.mapped(), streamer.is_mapped(last)), (1, 0, true));
    // A single mip leaves nothing to stream.
    let layout = TileLayout::new(plain([256, 256, 1], [128, 128, 1], 1)).unwrap();
    let mut streamer = TileStreamer::new(&layout, StreamerKnobs::default()).unwrap();
    assert!(streamer.update(&[request(0, 0, 0, 1.0)], 0).is_empty());
    assert!(streamer.is_mapped(TileCoord::default()));
}

#[test]
fn what_failed_is_taken_back_and_nothing_else() {
    let layout = TileLayout::new(worked_example(true)).unwrap();
    let mut streamer = TileStreamer::new(&layout, knobs(100, 100, 5)).unwrap();
    let view = [request(0, 0, 0, 1.0), request(0, 3, 3, 1.0)];
    let plan = streamer.update(&view, 0);
    assert_eq!(plan.map.len(), 5);
    // The end of the list, as when memory runs out.
    streamer.failed(&plan.map[3..]);
    assert_eq!(streamer.mapped_tiles().len(), 3);
    assert!(plan.map[..3].iter().all(|tile| streamer.is_mapped(*tile)));
    let again = streamer.update(&view, 1);
    assert_eq!((again.map, again.unmap), (plan.map[3..].to_vec(), vec![]));
    // A parent alone: its child has to go before it may come back.
    let parent = TileCoord { mip: 1, ..TileCoord::default() };
    streamer.failed(&[parent, parent, TileCoord { layer: 7, ..parent }]);
    assert_eq!(streamer.mapped(), 4);
    let plan = streamer.update(&view, 2);
    assert_eq!((plan.map, plan.unmap), (vec![parent], vec![TileCoord::default()]));
    assert_eq!((plan.unmap_reasons, plan.deferred), (vec![UnmapReason::ParentFailed], 1));
    assert_eq!(plan.defer_reason, Some(DeferReason::ParentFailed));
    assert_eq!(streamer.update(&view, 3).map, [TileCoord::default()]);
    assert!(streamer.update(&view, 4).is_empty());
}

#[test]
fn odd_priorities_break_nothing() {
    let layout = TileLayout::new(worked_example(true)).unwrap();
    let mut streamer = TileStreamer::new(&layout, knobs(100, 100, 0)).unwrap();
    let odd = [f32::NAN, f32::NEG_INFINITY, -1.0, -0.0, 0.0, f32::MIN_POSITIVE, 1.0, f32::INFINITY];
    let view: Vec<_> = (0..).zip(odd).map(|(n, priority)| request(0, n % 4, n / 4, priority)).collect();
    let plan = streamer.update(&view, 0);
    let fine: Vec<_> = plan.map.iter().filter(|tile| tile.mip == 0).map(|tile| tile.y * 4 + tile.x).collect();
    assert_eq!(fine, [7, 6, 5, 3, 4, 2, 0, 1], "ordered; NaN is as low as possible, -0 is 0");
    let same = streamer.clone().update(&view, 1);
    assert!(same.is_empty());
    // NaN of either sign is one and the same, so nothing changes places.
    let mut streamer = TileStreamer::new(&layout, knobs(4, 4, 0)).unwrap();
    let view =
        |priority| [request(0, 0, 0, priority), request(0, 1, 0, priority), request(0, 2, 0, priority)];
    assert_eq!(streamer.update(&view(f32::NAN), 0).map.len(), 4);
    assert!(streamer.update(&view(-f32::NAN), 1).is_empty());
}

#[test]
fn equals_do_not_push_each_other_out() {
    let layout = TileLayout::new(worked_example(true)).unwrap();
    let mut streamer = TileStreamer::new(&layout, knobs(4, 4, 10)).unwrap();
    let old: Vec<_> = (0..2).map(|x| request(0, x, 0, 1.0)).collect();
    let new: Vec<_> = (0..2).map(|x| request(0, x, 1, 1.0)).collect();
    assert_eq!(streamer.update(&old, 0).map.len(), 4);
    for frame in 1..=10 {
        let plan = streamer.update(&new, frame);
        assert!(plan.is_empty() && plan.deferred == 2, "{plan}");
        assert_eq!(plan.defer_reason, Some(DeferReason::Budget));
    }
    let plan = streamer.update(&new, 11);
    assert_eq!((plan.map.len(), plan.unmap_reasons), (2, vec![UnmapReason::Unused { frames: 11 }; 2]));
    // A higher priority need not wait.
    let plan = streamer.update(&[request(0, 0, 0, 2.0)], 12);
    assert_eq!((plan.map.len(), plan.unmap_reasons), (1, vec![UnmapReason::Outranked]));
}

#[test]
fn large_arrays_cost_only_what_is_touched() {
    let layout =
        TileLayout::new(ImageTiling { layers: 2048, ..plain([16384, 16384, 1], [128, 128, 1], 15) }).unwrap();
    let mut streamer = TileStreamer::new(&layout, StreamerKnobs::default()).unwrap();
    let tile = TileCoord { layer: 2047, mip: 0, x: 127, y: 127, z: 0 };
    let plan = streamer.update(&[TileRequest { tile, priority: 1.0 }], 0);
    assert_eq!((plan.map.len(), plan.map.last()), (14, Some(&tile)));
    let huge = ImageTiling { tile_bytes: 1, ..plain([1 << 20, 1 << 20, 1], [1, 1, 1], 1) };
    let error = TileStreamer::new(&TileLayout::new(huge).unwrap(), StreamerKnobs::default()).unwrap_err();
    assert_eq!(error, TileError::TooManyTiles { tiles: 1 << 40, limit: u64::from(u32::MAX) });
}

/// What an executor knows of a mapped tile.
#[derive(Debug, Clone, Copy)]
struct Seen {
    wanted: u64,
    priority: f32,
    peak: u64,
}

/// Executes plans and checks them. Geometry, ancestors and ranks are its own.
struct Executor {
    parents: HashMap<TileCoord, Vec<TileCoord>>,
    mapped: HashMap<TileCoord, Seen>,
    knobs: StreamerKnobs,
    frame: u64,
}

impl Executor {
    fn new(tiling: &ImageTiling, knobs: StreamerKnobs) -> Self {
        let floor = naive_standard_mips(tiling).min(tiling.mips - 1);
        let mut all: Vec<_> = (0..tiling.layers).flat_map(|layer| naive_tiles(tiling, layer)).collect();
        all.retain(|tile| tile.mip < floor);
        let above = |a: &TileCoord| {
            let parents = all.iter().filter(|b| b.mip == a.mip + 1 && naive_share_a_point(tiling, *a, **b));
            (*a, parents.copied().collect())
        };
        Self { parents: all.iter().map(above).collect(), mapped: HashMap::new(), knobs, frame: 0 }
    }

    /// Everything wanted, with its priority.
    fn wanted(&self, requests: &[TileRequest]) -> HashMap<TileCoord, f32> {
        let mut wanted = HashMap::new();
        for request in requests {
            let priority = if request.priority.is_nan() { f32::NEG_INFINITY } else { request.priority };
            let mut open = vec![request.tile];
            while let Some(tile) = open.pop() {
                let Some(parents) = self.parents.get(&tile) else { continue };
                let known: &mut f32 = wanted.entry(tile).or_insert(priority);
                *known = known.max(priority);
                open.extend(parents);
            }
        }
        wanted
    }

    fn expired(&self, seen: &Seen) -> bool {
        self.frame - seen.wanted > u64::from(self.knobs.keep_frames)
    }

    /// Replays one update.
    fn run(&mut self, streamer: &mut TileStreamer, requests: &[TileRequest], frame: u64) -> StreamPlan {
        self.frame = self.frame.max(frame);
        let twin = streamer.clone().update(requests, frame);
        let plan = streamer.update(requests, frame);
        assert_eq!(plan, twin, "equal input, equal plan");
        let wanted = self.wanted(requests);
        for (tile, &priority) in &wanted {
            if let Some(seen) = self.mapped.get_mut(tile) {
                seen.wanted = self.frame;
                if priority >= seen.priority || self.frame - seen.peak > u64::from(self.knobs.keep_frames) {
                    (seen.priority, seen.peak) = (priority, self.frame);
                }
            }
        }
        let before = self.mapped.clone();

        assert_eq!((plan.unmap.len(), plan.map.len()), (plan.unmap_reasons.len(), plan.map_reasons.len()));
        let budget = self.knobs.budget_tiles;
        let mut gone = BTreeMap::<&str, Vec<(TileCoord, Seen)>>::new();
        for (tile, why) in plan.unmap.iter().zip(&plan.unmap_reasons) {
            let left = self.mapped.len() as u64;
            let seen = self.mapped.remove(tile).expect("unmapped what is not mapped");
            assert!(
                !self.mapped.keys().any(|child| self.parents[child].contains(tile)),
                "{tile} left before its child"
            );
            let kind = match why {
                UnmapReason::ParentFailed => "orphan",
                UnmapReason::OverBudget => {
                    assert!(left > budget, "{left} fit into {budget}");
                    "over"
                }
                UnmapReason::Outranked => {
                    assert!(!self.expired(&seen));
                    "limited"
                }
                UnmapReason::Unused { frames } => {
                    assert_eq!(*frames, self.frame - seen.wanted);
                    assert!(self.expired(&seen), "{tile} left after {frames} frames");
                    "limited"
                }
            };
            gone.entry(kind).or_default().push((*tile, seen));
        }
        assert!(gone.get("limited").map_or(0, Vec::len) as u64 <= u64::from(self.knobs.unmaps_per_update));
        // What a falling budget costs is the unused, then the finest, then the least important.
        let over = gone.get("over").cloned().unwrap_or_default();
        for (tile, seen) in &over {
            for (kept, stays) in self.mapped.iter().filter(|(kept, _)| before.contains_key(*kept)) {
                let rank = |tile: &TileCoord, seen: &Seen| (!self.expired(seen), tile.mip, seen.priority);
                if !self.expired(stays) || !self.expired(seen) {
                    assert!(rank(tile, seen) <= rank(kept, stays), "{tile} left, {kept} stays\n{plan}");
                }
            }
        }

        // Of the unused, the longest unused leave first.
        for (tile, seen) in gone.values().flatten().filter(|(_, seen)| self.expired(seen)) {
            let stays =
                self.mapped.iter().find(|(_, stays)| self.expired(stays) && stays.wanted < seen.wanted);
            assert!(stays.is_none() || gone.contains_key("orphan"), "{tile} left before {stays:?}");
        }

        let mut last = None;
        for (tile, why) in plan.map.iter().zip(&plan.map_reasons) {
            assert!(!before.contains_key(tile), "{tile} was mapped, or leaves in this batch");
            assert!(
                self.parents[tile].iter().all(|p| self.mapped.contains_key(p)),
                "{tile} before its parent"
            );
            let priority = wanted[tile];
            let requested = requests.iter().any(|request| request.tile == *tile);
            let expected =
                if requested { MapReason::Requested { priority } } else { MapReason::Ancestor { priority } };
            assert_eq!(*why, expected);
            assert!(last.is_none_or(|last| last >= (tile.mip, priority)), "out of order");
            last = Some((tile.mip, priority));
            let seen = Seen { wanted: self.frame, priority, peak: self.frame };
            assert!(self.mapped.insert(*tile, seen).is_none());
            assert!(self.mapped.len() as u64 <= budget);
        }
        assert!(plan.map.len() as u64 <= u64::from(self.knobs.maps_per_update));
        assert!(self.mapped.len() as u64 <= budget);
        // Nothing in use made room for something that is no better than it, one for one.
        let mut outranked: Vec<_> = plan
            .unmap
            .iter()
            .zip(&plan.unmap_reasons)
            .filter(|(_, why)| **why == UnmapReason::Outranked)
            .map(|(tile, _)| (tile.mip, before[tile].priority))
            .collect();
        outranked.reverse();
        let maps = plan.map.iter().map(|tile| (tile.mip, wanted[tile]));
        let better: Vec<_> = maps.skip(plan.map.len().saturating_sub(outranked.len())).collect();
        assert!(outranked.len() <= better.len());
        assert!(outranked.iter().all(|old| better.iter().all(|new| new > old)), "{plan}");
        // What was left out is no better than what was mapped, unless its parents are missing.
        let left_out: Vec<_> = wanted.iter().filter(|(tile, _)| !self.mapped.contains_key(*tile)).collect();
        for (tile, priority) in &left_out {
            let reachable = self.parents[*tile].iter().all(|parent| self.mapped.contains_key(parent));
            if reachable && !before.contains_key(*tile) {
                assert!(
                    last.is_none_or(|last| last >= (tile.mip, **priority)),
                    "{tile} was passed over\n{plan}"
                );
            }
        }
        assert_eq!((plan.deferred, plan.mapped_tiles), (left_out.len() as u64, self.mapped.len() as u64));
        assert_eq!(plan.defer_reason.is_some(), plan.deferred > 0);
        let limited = gone.get("limited").map_or(0, Vec::len) as u32;
        match plan.defer_reason {
            Some(DeferReason::MapLimit) => assert_eq!(plan.map.len() as u32, self.knobs.maps_per_update),
            Some(DeferReason::UnmapLimit) => assert_eq!(limited, self.knobs.unmaps_per_update),
            Some(DeferReason::Budget) if over.is_empty() => {
                let best = left_out.iter().map(|(tile, priority)| (tile.mip, **priority));
                let best = best.reduce(|a, b| if a > b { a } else { b }).expect("something is left out");
                for (tile, seen) in &self.mapped {
                    assert!(!self.expired(seen) && (tile.mip, seen.priority) >= best, "{tile} could go");
                }
            }
            Some(DeferReason::ParentFailed) => assert!(gone.contains_key("orphan")),
            Some(DeferReason::Budget) | None => {}
        }
        for tile in self.mapped.keys() {
            assert!(self.parents[tile].iter().all(|parent| self.mapped.contains_key(parent)), "not closed");
        }
        self.compare(streamer);
        plan
    }

    fn compare(&self, streamer: &TileStreamer) {
        let mut per_mip = vec![0; streamer.mapped_per_mip().len()];
        for tile in self.parents.keys() {
            assert_eq!(streamer.is_mapped(*tile), self.mapped.contains_key(tile));
            per_mip[tile.mip as usize] += u64::from(self.mapped.contains_key(tile));
        }
        assert_eq!(streamer.mapped_per_mip(), per_mip);
        assert_eq!(streamer.mapped(), self.mapped.len() as u64);
        let listed: HashSet<_> = streamer.mapped_tiles().into_iter().collect();
        assert_eq!(listed, self.mapped.keys().copied().collect());
    }

    /// Checks that what is mapped is the best of what is wanted.
    fn expect_best(&self, requests: &[TileRequest]) {
        let rank = |(tile, priority): (&TileCoord, &f32)| (tile.mip, *priority);
        let wanted = self.wanted(requests);
        let mut best: Vec<_> = wanted.iter().map(rank).collect();
        best.sort_by(|a, b| b.partial_cmp(a).unwrap());
        best.truncate(self.knobs.budget_tiles.min(best.len() as u64) as usize);
        let mut mapped: Vec<_> = self.mapped.keys().map(|tile| rank((tile, &wanted[tile]))).collect();
        mapped.sort_by(|a, b| b.partial_cmp(a).unwrap());
        assert_eq!(mapped, best);
    }
}

#[derive(Debug, Clone)]
enum Step {
    Update { view: usize, frames: u64 },
    Budget(u64),
    Fail { picks: Vec<prop::sample::Index>, end: bool },
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0usize..3, 0u64..4).prop_map(|(view, frames)| Step::Update { view, frames }),
        1 => (0u64..40).prop_map(Step::Budget),
        1 => (prop::collection::vec(any::<prop::sample::Index>(), 0..4), any::<bool>())
            .prop_map(|(picks, end)| Step::Fail { picks, end }),
    ]
}

fn any_views() -> impl Strategy<Value = Vec<Vec<(prop::sample::Index, f32)>>> {
    let odd = prop_oneof![Just(f32::NAN), Just(f32::INFINITY), Just(-0.0), Just(f32::NEG_INFINITY)];
    let priority = prop_oneof![8 => (0u8..5).prop_map(f32::from), 1 => odd];
    prop::collection::vec(prop::collection::vec((any::<prop::sample::Index>(), priority), 0..12), 3)
}

fn any_knobs() -> impl Strategy<Value = StreamerKnobs> {
    (0u64..40, 1u32..6, 1u32..6, 0u32..5).prop_map(
        |(budget_tiles, maps_per_update, unmaps_per_update, keep_frames)| StreamerKnobs {
            budget_tiles,
            maps_per_update,
            unmaps_per_update,
            keep_frames,
        },
    )
}

/// Requests for tiles of the image, among them some that are always resident.
fn requests(tiling: &ImageTiling, view: &[(prop::sample::Index, f32)]) -> Vec<TileRequest> {
    let mut all: Vec<_> = (0..tiling.layers).flat_map(|layer| naive_tiles(tiling, layer)).collect();
    all.push(TileCoord { mip: 40, ..TileCoord::default() });
    view.iter().map(|(index, priority)| TileRequest { tile: *index.get(&all), priority: *priority }).collect()
}

proptest! {
    /// All rules after every step of a random history.
    #[test]
    fn every_plan_keeps_the_rules(
        tiling in any_tiling(16, 2),
        knobs in any_knobs(),
        views in any_views(),
        steps in prop::collection::vec(any_step(), 1..40),
    ) {
        let layout = TileLayout::new(tiling).unwrap();
        let mut streamer = TileStreamer::new(&layout, knobs).unwrap();
        let mut executor = Executor::new(&tiling, knobs);
        let views: Vec<_> = views.iter().map(|view| requests(&tiling, view)).collect();
        let (mut frame, mut plan) = (0, StreamPlan::default());
        for step in steps {
            match step {
                Step::Update { view, frames } => {
                    frame += frames;
                    plan = executor.run(&mut streamer, &views[view], frame);
                }
                Step::Budget(tiles) => {
                    executor.knobs.budget_tiles = tiles;
                    streamer.set_budget(tiles);
                }
                Step::Fail { picks, end } => {
                    let mut tiles: Vec<_> = picks.iter().filter(|_| !plan.map.is_empty()).map(|i| *i.get(&plan.map)).collect();
                    if end {
                        tiles = plan.map[plan.map.len() / 2..].to_vec();
                    }
                    streamer.failed(&tiles);
                    executor.mapped.retain(|tile, _| !tiles.contains(tile));
                    executor.compare(&streamer);
                }
            }
        }
    }

    /// After any history a still view settles, with the best that fits.
    #[test]
    fn a_still_view_settles(
        tiling in any_tiling(16, 2),
        knobs in any_knobs(),
        views in any_views(),
        history in prop::collection::vec((0usize..3, 0u64..4), 0..12),
        budget in 0u64..40,
    ) {
        let layout = TileLayout::new(tiling).unwrap();
        let mut streamer = TileStreamer::new(&layout, knobs).unwrap();
        let mut executor = Executor::new(&tiling, knobs);
        let views: Vec<_> = views.iter().map(|view| requests(&tiling, view)).collect();
        let mut frame = 0;
        for (view, frames) in history {
            frame += frames;
            executor.run(&mut streamer, &views[view], frame);
        }
        executor.knobs.budget_tiles = budget;
        streamer.set_budget(budget);
        let limit = u64::from(knobs.maps_per_update.min(knobs.unmaps_per_update));
        let bound = u64::from(knobs.keep_frames) + 3 + 3 * (layout.tiles() / limit + 1);
        for _ in 0..bound {
            frame += 1;
            executor.run(&mut streamer, &views[0], frame);
        }
        executor.expect_best(&views[0]);
        for _ in 0..3 {
            frame += 1;
            let plan = executor.run(&mut streamer, &views[0], frame);
            prop_assert!(plan.is_empty(), "{}", plan);
        }
    }

    /// Two views in turn settle too, whatever their priorities, if tiles are kept for long enough.
    #[test]
    fn views_in_turn_settle(
        tiling in any_tiling(16, 1),
        knobs in any_knobs(),
        views in any_views(),
        period in 2u64..4,
    ) {
        let knobs = StreamerKnobs { keep_frames: 4, ..knobs };
        let layout = TileLayout::new(tiling).unwrap();
        let mut streamer = TileStreamer::new(&layout, knobs).unwrap();
        let mut executor = Executor::new(&tiling, knobs);
        let views: Vec<_> = views.iter().map(|view| requests(&tiling, view)).collect();
        let mut quiet = 0;
        for frame in 0..20 + 4 * layout.tiles() * period {
            let plan = executor.run(&mut streamer, &views[(frame % period) as usize], frame);
            quiet = if plan.is_empty() { quiet + 1 } else { 0 };
            if quiet > 2 * period {
                break;
            }
        }
        prop_assert!(quiet > 2 * period, "still at it");
    }
}
