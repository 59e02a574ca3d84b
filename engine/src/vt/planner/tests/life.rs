//! Textures, spaces and frames that come and go.

use super::*;

#[test]
fn the_seventeenth_space_is_not_fed() {
    let mut world = World::new(Knobs::editor());
    let pool = world.planner.create_pools(&world::pool_desc(8)).unwrap()[0];
    // Each fills its space of 16 x 16.
    let ids: Vec<_> = (0..17).map(|_| world.create(TextureDesc::new("ground", [16, 16], pool))).collect();
    let fed: Vec<bool> = ids.iter().map(|id| world.known(*id).placement.fed).collect();
    assert_eq!(fed, [vec![true; 16], vec![false]].concat());
    let last = ids[16];
    assert_eq!(world.known(last).placement.space, SpaceId(16));
    assert_eq!(world.known(last).placement.feedback_id(), u32::MAX);
    assert!(world.planner.usage().to_string().contains("texture 16.0 ground: 16 x 16 tiles, levels 0 to 4, in space 16; 0 pages, 0.000 MiB, 0 locked, 0 dirty; not fed: 16 spaces are"));
    // It works: what is locked or asked for ahead comes; and nothing that is sampled elsewhere is taken for it.
    world.planner.lock(last, page(4, 0, 0)).unwrap();
    world.planner.request_preload(last, Region { min: [0.0; 2], max: [0.1; 2] }, 1).unwrap();
    world.frame(&[(ids[0], page(1, 0, 0), 1)]);
    assert!(world.is_there(last, page(4, 0, 0)) && world.is_there(last, page(1, 0, 0)));
    assert!(world.is_there(ids[0], page(1, 0, 0)) && !world.is_there(ids[1], page(1, 0, 0)));
    // A space that is free again is fed by the next texture that gets it.
    world.destroy(ids[3]);
    let next = world.create(TextureDesc::new("next", [16, 16], pool));
    assert_eq!((world.known(next).placement.space, world.known(next).placement.fed), (SpaceId(3), true));
}

use crate::vt::SpaceId;

#[test]
fn a_texture_that_is_gone_is_not_heard_of_again() {
    let mut world = World::new(Knobs::editor());
    let pool = world.planner.create_pools(&world::pool_desc(8)).unwrap()[0];
    let old = world.create(TextureDesc::new("old", [8, 8], pool));
    world.frame(&[(old, page(0, 1, 1), 1)]);
    let word = world.word(old, page(0, 2, 2));
    // Loading while it is destroyed: fed, locked, asked for ahead, edited.
    world.making.mood = Mood::Always(Availability::Pending);
    world.feed(&[(old, page(0, 3, 3), 1)]);
    world.planner.lock(old, page(1, 1, 1)).unwrap();
    world.planner.request_preload(old, Region::ALL, 1).unwrap();
    world.planner.invalidate(old, Region::ALL, Priority::High).unwrap();
    world.destroy(old);
    let new = world.create(TextureDesc::new("new", [8, 8], pool));
    assert_eq!((old.index(), new.index(), new.generation()), (0, 0, 1));
    assert_eq!(world.known(new).placement, world.known(old).placement, "the same place of the page table");
    world.making.mood = Mood::Always(Availability::Available(Quality::FULL));
    assert!(world.plan().pages.is_empty());

    // Feedback of frames before it was there names the old one.
    let created = world.planner.frame();
    world.planner.begin_frame(created + 2);
    world.planner.feed(&Feedback { frame: created - 1, pairs: &[(word, 5)], overflow: 0, dropped: 0 });
    assert_eq!((world.plan().pages.len(), world.plan.counters.stale), (0, 1));
    world.planner.begin_frame(created + 3);
    let pairs = [(word, 5)];
    world.planner.feed(&Feedback { frame: created - 1, pairs: &pairs, overflow: 0, dropped: 0 });
    world.planner.feed(&Feedback { frame: created, pairs: &pairs, overflow: 0, dropped: 0 });
    let counters = world.plan().counters;
    assert_eq!((counters.stale, counters.wished, counters.made > 0), (1, 5, true));

    let gone = PlannerError::NoTexture { texture: old };
    assert_eq!(world.planner.lock(old, page(0, 0, 0)), Err(gone.clone()));
    assert_eq!(world.planner.destroy_texture(old), Err(gone.clone()));
    assert_eq!(world.planner.invalidate(old, Region::ALL, Priority::High), Err(gone.clone()));
    assert!(world.planner.lookup(old, 0, page(0, 0, 0)).is_none() && world.planner.placement(old).is_none());
    assert!(!world.planner.is_ready(old, Region::ALL, 3));
}

#[test]
fn feedback_of_a_frame_that_was_planned_names_no_texture_made_after_that() {
    let mut world = World::new(Knobs::editor());
    let pool = world.planner.create_pools(&world::pool_desc(8)).unwrap()[0];
    let old = world.create(TextureDesc::new("old", [8, 8], pool));
    world.frame(&[(old, page(0, 1, 1), 1)]);
    let (word, planned) = (world.word(old, page(0, 2, 2)), world.planner.frame());
    world.destroy(old);
    let new = world.create(TextureDesc::new("new", [8, 8], pool));
    assert_eq!(world.known(new).placement, world.known(old).placement, "the same place of the page table");
    world.planner.begin_frame(planned + 3);
    let pairs = [(word, 5)];
    for frame in [planned, planned + 1] {
        world.planner.feed(&Feedback { frame, pairs: &pairs, overflow: 0, dropped: 0 });
    }
    let counters = world.plan().counters;
    assert_eq!((counters.stale, counters.wished), (1, 5));
}

#[test]
fn words_that_name_nothing_are_counted() {
    let (mut world, id) = World::one(Knobs::editor(), 8, [5, 3]);
    world.planner.begin_frame(1);
    let good = world.word(id, page(0, 4, 2));
    let finer = good & !(15 << 24) | 1 << 24;
    // Beyond the grid, beyond the levels, another space, nothing written.
    let bad = [world.word(id, page(0, 5, 0)), world.word(id, page(4, 0, 0)), good | 7 << 28, u32::MAX];
    let mut pairs: Vec<_> = bad.iter().map(|word| (*word, 2)).collect();
    pairs.extend([(good, 3), (finer, 4), (good, 0)]);
    world.planner.feed(&Feedback { frame: 1, pairs: &pairs, overflow: 11, dropped: 12 });
    world.planner.lost_feedback(2);
    let counters = world.plan().counters;
    assert_eq!((counters.invalid, counters.unique, counters.finer, counters.wished), (4, 1, 4, 8));
    assert_eq!((counters.overflow, counters.dropped, counters.lost_feedback), (11, 12, 2));
    assert_eq!(world.planner.usage().counters, counters);
    world.planner.begin_frame(2);
    assert_eq!(world.plan().counters.overflow, 0);
}

#[test]
fn a_frame_that_was_not_submitted_is_made_up_for() {
    let (mut world, id) = World::one(Knobs { max_uploads_per_frame: 4, ..Knobs::game() }, 4, [8, 8]);
    let wishes: Vec<_> = (0..4).map(|x| (id, page(0, x, 0), 1)).collect();
    world.feed(&wishes);
    world.lose();
    let lost = world.plan.clone();
    assert_eq!(lost.pages.len(), 4);
    // The view has moved on: the pages are made all the same, since their entries are on the CPU already.
    let plan = world.frame(&[]).clone();
    let pages =
        |plan: &FramePlan| plan.pages.iter().map(|work| (work.page, work.physical)).collect::<Vec<_>>();
    assert_eq!(pages(&plan), pages(&lost));
    assert!(plan.pages.iter().all(|work| work.reason.cause == Cause::Withdrawn && !work.redraw));
    assert_eq!(plan.updates, lost.updates);
    assert!(world.frame(&[]).is_empty());

    // Two in a row, and no budget for the second: nothing is shown that has no data.
    world.feed(&(4..8).map(|x| (id, page(0, x, 0), 1)).collect::<Vec<_>>());
    world.lose();
    let knobs = Knobs { max_uploads_per_frame: 1, ..*world.planner.knobs() };
    world.planner.set_knobs(knobs);
    world.frame(&[]);
    assert_eq!(world.plan.pages.len(), 1);
    assert!(world.planner.events(99).iter().any(|event| event.happening == Happening::Lost));
    // And when nothing can be made at all.
    world.feed(&wishes);
    world.planner.flush();
    world.lose();
    world.making.mood = Mood::Always(Availability::Saturated);
    world.frame(&[]);
    assert_eq!(world.planner.pool_usage()[0].allocated, 0);
}

#[test]
fn edits_and_refreshes_of_lost_frames() {
    let (mut world, id) = World::one(Knobs::editor(), 4, [4, 4]);
    let wish = [(id, page(2, 0, 0), 1)];
    world.frame(&wish);
    world.invalidate(id, Region::ALL, Priority::Normal);
    world.feed(&wish);
    world.lose();
    let plan = world.frame(&wish).clone();
    assert_eq!((plan.pages.len(), plan.pages[0].redraw, plan.updates.len()), (1, true, 0));
    assert!(matches!(plan.pages[0].reason.cause, Cause::Invalidation { .. }));
    world.check_current();
    let knobs = Knobs { force_continuous_update: true, ..*world.planner.knobs() };
    world.planner.set_knobs(knobs);
    world.feed(&wish);
    world.lose();
    assert_eq!(world.plan.pages[0].reason.cause, Cause::Continuous);
    world.planner.set_knobs(Knobs { force_continuous_update: false, ..knobs });
    assert!(world.frame(&wish).is_empty(), "a refresh that did not happen is no loss");
}

#[test]
fn a_page_that_failed_shows_its_ancestor() {
    let (mut world, id) = World::one(Knobs::editor(), 4, [4, 4]);
    world.frame(&[(id, page(2, 0, 0), 1), (id, page(0, 1, 1), 1)]);
    let work = *world.plan.pages.last().unwrap();
    assert_eq!(work.page, page(0, 1, 1));
    world.planner.failed(&work);
    world.making.mood = Mood::Always(Availability::Pending);
    world.frame(&[(id, page(0, 1, 1), 1)]);
    assert_eq!(world.plan.counters.pending, 2, "the page, and one on the way");
    let (found, _) = world.planner.lookup(id, 0, page(0, 1, 1)).unwrap();
    assert!(found.level > 0);
}

#[test]
fn textures_that_share_pages() {
    let mut world = World::new(Knobs::editor());
    let pools = [6, 5].map(|side| world.planner.create_pools(&world::pool_desc(side)).unwrap()[0]);
    let first =
        world.create(TextureDesc { groups: pools.to_vec(), ..TextureDesc::new("a", [8, 8], pools[0]) });
    world.frame(&[(first, page(0, 1, 1), 2)]);
    let desc = TextureDesc { shares: Some(first), ..world.known(first).desc.clone() };
    let other = world.create(desc.clone());
    world.frame(&[]);
    assert!(world.is_there(other, page(0, 1, 1)), "what is there is there for both");
    let usage = world.planner.usage();
    assert_eq!(usage.mappings, 2 * usage.pools.iter().map(|pool| pool.allocated).sum::<u32>());
    // Both want it: it is made once, for the sum.
    let plan = world.frame(&[(first, page(0, 6, 6), 2), (other, page(0, 6, 6), 3)]).clone();
    let work: Vec<_> = plan.pages.iter().filter(|work| work.page == page(0, 6, 6)).collect();
    assert_eq!(work.len(), 2, "one a group");
    assert!(matches!(work[0].reason.cause, Cause::Feedback { count: 5, .. }));
    assert_eq!((plan.counters.wished, plan.counters.sharp), (5, 5));
    world.destroy(first);
    world.frame(&[(other, page(0, 1, 1), 2)]);
    assert!(world.is_there(other, page(0, 6, 6)));
    world.destroy(other);
    assert!(world.planner.pool_usage().iter().all(|pool| pool.allocated == 0));
    let refused = world.planner.create_texture(&TextureDesc { shares: Some(first), ..desc });
    assert!(refused.is_err());
}

#[test]
fn pools_of_a_split_one_are_used_in_turn() {
    let mut planner = Planner::new(Knobs::default());
    let desc = PoolDesc { split_tiles: 64, ..PoolDesc::new("split", 128, 4, &[LayerFormat::Bc1]) };
    let pools = planner.create_pools(&desc).unwrap();
    assert_eq!(pools, [PoolId(0), PoolId(1)]);
    let used: Vec<_> = (0..4)
        .map(|_| {
            let pool = planner.emptiest(&pools).unwrap();
            planner.create_texture(&TextureDesc::new("t", [4, 4], pool)).unwrap();
            pool.0
        })
        .collect();
    assert_eq!(used, [0, 1, 0, 1]);
    assert_eq!(planner.destroy_pool(pools[0]), Err(PlannerError::PoolInUse { pool: pools[0], textures: 2 }));
    assert_eq!(planner.emptiest(&[]), None);
    let usage = planner.usage();
    assert_eq!(usage.spaces.len(), 1, "the same layout: one page table");
    assert_eq!(planner.destroy_pool(PoolId(9)), Err(PlannerError::NoPool { pool: PoolId(9) }));
}

#[test]
fn a_lost_device_starts_anew() {
    let (mut world, id) = World::one(Knobs::editor(), 6, [8, 8]);
    world.planner.lock(id, page(3, 0, 0)).unwrap();
    world.frame(&[(id, page(0, 1, 1), 1)]);
    world.planner.forget_all();
    world.atlas.clear();
    world.tables.values_mut().for_each(|image| *image = crate::vt::TableImage::new(4));
    world.frame(&[]);
    assert_eq!(world.plan.pages.len(), 1, "the locked one");
    world.planner.republish(world.known(id).placement.space);
    world.tables.values_mut().for_each(|image| *image = crate::vt::TableImage::new(4));
    assert!(world.plan().pages.is_empty() && !world.plan.updates.is_empty());
}

#[test]
fn refusals_name_limits() {
    let mut planner = Planner::new(Knobs::default());
    let pool = planner.create_pools(&world::pool_desc(4)).unwrap()[0];
    let desc = TextureDesc::new("ground", [4, 4], pool);
    let mut refused = |desc: TextureDesc| planner.create_texture(&desc).unwrap_err().to_string();
    let refusals = [
        refused(TextureDesc { tiles: [0, 4], ..desc.clone() }),
        refused(TextureDesc { tiles: [4, 4097], ..desc.clone() }),
        refused(TextureDesc { removed_low_mips: 3, ..desc.clone() }),
        refused(TextureDesc { groups: vec![pool; 5], ..desc.clone() }),
        refused(TextureDesc { groups: vec![PoolId(7)], ..desc.clone() }),
        refused(TextureDesc { shares: Some(TextureId::from_parts(3, 9)), ..desc.clone() }),
    ];
    insta::assert_snapshot!(refusals.join("\n"), @r"
    texture ground: a grid of 0 x 4 tiles was asked for: each side must be 1 to 4096; use larger tiles, or an adaptive texture for more
    texture ground: a grid of 4 x 4097 tiles was asked for: each side must be 1 to 4096; use larger tiles, or an adaptive texture for more
    texture ground: 3 coarse levels are to be removed, but the grid has 2 above level 0: remove at most these
    texture ground: 5 groups of layers were asked for: 1 to 4 are possible, one a channel of its page table
    pool 7 is named, and there is no such pool: create it first, and destroy it last
    texture 3.9 is named, and there is no such texture (any more)
    ");
}
