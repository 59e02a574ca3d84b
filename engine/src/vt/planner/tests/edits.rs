//! Edits, locks, flushes, better inputs.

use super::*;

fn region(u: f32, v: f32, u2: f32, v2: f32) -> Region {
    Region { min: [u, v], max: [u2, v2] }
}

/// A world in which all pages of a 4 x 4 texture are there.
fn full() -> (World, TextureId, Vec<(TextureId, PageAddress, u32)>) {
    let knobs = Knobs { max_uploads_per_frame: 64, ..Knobs::game() };
    let (mut world, id) = World::one(Knobs { max_tiles_produced_per_frame: 64, ..knobs }, 8, [4, 4]);
    let wishes: Vec<_> = (0..=2u8)
        .flat_map(|level| {
            let side = 4u16 >> level;
            (0..side).flat_map(move |x| (0..side).map(move |y| (id, page(level, x, y), 1)))
        })
        .collect();
    world.frame(&wishes);
    assert!(wishes.iter().all(|(id, page, _)| world.is_there(*id, *page)));
    (world, id, wishes)
}

fn drawn(plan: &FramePlan) -> Vec<(u8, u16, u16)> {
    plan.pages.iter().map(|work| (work.page.level, work.page.x, work.page.y)).collect()
}

#[test]
fn an_edit_reaches_every_level_and_the_neighbours_border() {
    let (mut world, id, wishes) = full();
    // Well inside page 1,1, whose neighbours' borders it does not touch.
    world.invalidate(id, region(0.3, 0.3, 0.4, 0.4), Priority::Normal);
    let plan = world.frame(&wishes).clone();
    assert_eq!(drawn(&plan), [(2, 0, 0), (1, 0, 0), (0, 1, 1)], "coarse first");
    assert!(plan.updates.is_empty() && plan.pages.iter().all(|work| work.redraw), "in place, no flicker");
    assert!(world.frame(&wishes).is_empty());
    // A texel from the edge shows in the border of the next page.
    world.invalidate(id, region(0.24, 0.3, 0.249, 0.31), Priority::Normal);
    assert_eq!(drawn(world.frame(&wishes)), [(2, 0, 0), (1, 0, 0), (0, 0, 1), (0, 1, 1)]);
    world.check_current();
}

#[test]
fn what_nobody_sees_goes_and_comes_back_new() {
    let (mut world, id, wishes) = full();
    let near = &wishes[..1];
    for _ in 0..9 {
        world.frame(near);
    }
    world.invalidate(id, Region::ALL, Priority::Normal);
    let plan = world.frame(near).clone();
    assert_eq!(drawn(&plan), [(0, 0, 0)], "the one that is seen");
    assert_eq!(plan.counters.evicted, 20);
    assert!(!plan.updates.is_empty());
    world.check_current();
    world.frame(&wishes);
    assert_eq!(world.plan.pages.len(), 20);
    world.check_current();
}

#[test]
fn pages_seen_within_eight_frames_stay() {
    for (unseen, redrawn) in [(8, 21), (9, 0)] {
        let (mut world, id, _) = full();
        for _ in 0..unseen - 1 {
            world.frame(&[]);
        }
        world.invalidate(id, Region::ALL, Priority::Normal);
        assert_eq!(world.frame(&[]).pages.len(), redrawn, "unseen for {unseen} frames");
    }
}

#[test]
fn edits_merge_below_high_priority_only() {
    // Two far corners; merged they would span everything between.
    let (a, b) = (region(0.05, 0.05, 0.1, 0.1), region(0.9, 0.05, 0.95, 0.1));
    let c = region(0.05, 0.9, 0.1, 0.95);
    let fine = |plan: &FramePlan| plan.pages.iter().filter(|work| work.page.level == 0).count();
    for (priority, edits, redrawn) in [
        (Priority::Normal, vec![a], 1),
        (Priority::Normal, vec![a, b], 2),
        (Priority::Normal, vec![a, b, c], 16),
        (Priority::High, vec![a, b, c], 3),
        // Two whose union is the whole texture.
        (Priority::Normal, vec![region(0.0, 0.0, 0.1, 0.1), region(0.9, 0.9, 1.0, 1.0)], 16),
        (Priority::High, vec![region(0.0, 0.0, 0.1, 0.1), region(0.9, 0.9, 1.0, 1.0)], 2),
    ] {
        let (mut world, id, wishes) = full();
        edits.iter().for_each(|edit| world.invalidate(id, *edit, priority));
        assert_eq!(fine(world.frame(&wishes)), redrawn, "{priority} {edits:?}");
        world.check_current();
    }
}

#[test]
fn ten_edits_a_frame_of_a_moving_stamp_leave_nothing_stale() {
    let (mut world, id, wishes) = full();
    let knobs = Knobs { max_uploads_per_frame: 4, ..*world.planner.knobs() };
    world.planner.set_knobs(knobs);
    let at = |step: u32| region(step as f32 / 400.0, 0.4, step as f32 / 400.0 + 0.05, 0.45);
    for step in 0..300u32 {
        // The place it left, and the place it is at.
        for part in 0..5 {
            world.invalidate(id, at((step + part).saturating_sub(1)), Priority::High);
            world.invalidate(id, at(step + part), Priority::High);
        }
        world.frame(&wishes);
        assert!(world.plan.pages.len() <= 4 && world.plan.updates.is_empty());
    }
    for _ in 0..10 {
        world.frame(&wishes);
    }
    world.check_current();
    assert!(world.plan.is_empty());
}

#[test]
fn high_edits_come_before_new_pages() {
    let (mut world, id, wishes) = full();
    for _ in 0..30 {
        world.frame(&wishes[..4]);
    }
    let knobs = Knobs { max_uploads_per_frame: 1, ..*world.planner.knobs() };
    world.planner.set_knobs(knobs);
    world.planner.flush();
    world.frame(&wishes[..4]);
    let there = world.plan.pages[0].page;
    world.invalidate(id, Region::ALL, Priority::High);
    let plan = world.frame(&wishes[..4]);
    assert_eq!((plan.pages.len(), plan.pages[0].page, plan.pages[0].redraw), (1, there, true));
    assert!(!world.frame(&wishes[..4]).pages[0].redraw);
}

#[test]
fn baked_levels_are_reached_too_and_stay_reached() {
    let mut world = World::new(Knobs::editor());
    let pool = world.planner.create_pools(&world::pool_desc(8)).unwrap()[0];
    let id = world.create(TextureDesc { baked_from: Some(1), ..TextureDesc::new("ground", [4, 4], pool) });
    let wishes: Vec<_> =
        [(2, 0, 0), (1, 0, 0), (1, 1, 1), (0, 3, 3)].map(|(l, x, y)| (id, page(l, x, y), 1)).into();
    let plan = world.frame(&wishes).clone();
    let baked: Vec<_> = plan.pages.iter().map(|work| (work.page.level, work.baked)).collect();
    assert_eq!(baked, [(2, true), (1, true), (1, true), (0, false)]);
    assert!(matches!(plan.pages[0].reason.budget, Budget::Streaming { nth: 1, limit: 500 }));
    world.invalidate(id, region(0.8, 0.8, 0.9, 0.9), Priority::Normal);
    let plan = world.frame(&wishes).clone();
    assert_eq!(drawn(&plan), [(2, 0, 0), (1, 1, 1), (0, 3, 3)]);
    assert!(plan.pages.iter().all(|work| !work.baked), "drawn at run time over the baked ones");
    world.check_current();
    // Out of the pool and back: the baked data is stale for good.
    world.planner.flush();
    world.frame(&[]);
    world.frame(&wishes);
    let baked: Vec<_> = world.plan.pages.iter().map(|work| (work.page.x, work.baked)).collect();
    assert_eq!(baked, [(0, false), (0, true), (1, false), (3, false)]);
    world.check_current();
}

#[test]
fn pages_of_poor_inputs_are_drawn_again_when_these_sharpen() {
    let (mut world, id) = World::one(Knobs::editor(), 8, [4, 4]);
    let here = region(0.0, 0.0, 0.2, 0.2);
    world.making.mood = Mood::Always(Availability::Available(Quality(10)));
    assert!(!world.planner.is_ready(id, here, 0));
    assert_eq!(world.planner.request_preload(id, here, 0), Ok(1));
    world.frame(&[]);
    assert!(world.is_there(id, page(0, 0, 0)) && !world.planner.is_ready(id, here, 0), "there, and blurry");
    for _ in 0..20 {
        world.frame(&[]);
    }
    world.making.mood = Mood::Always(Availability::Available(Quality::FULL));
    assert_eq!(world.planner.inputs_sharpened(id, region(0.9, 0.9, 1.0, 1.0), Quality::FULL), Ok(0));
    assert_eq!(world.planner.inputs_sharpened(id, here, Quality::FULL), Ok(1));
    assert_eq!(world.planner.inputs_sharpened(id, here, Quality::FULL), Ok(0), "known already");
    let plan = world.frame(&[]);
    assert_eq!(plan.pages[0].reason.cause, Cause::Sharpened { from: Quality(10), to: Quality::FULL });
    assert!(plan.pages[0].redraw && plan.updates.is_empty());
    assert!(world.planner.is_ready(id, here, 0));
    assert_eq!(world.planner.inputs_sharpened(id, here, Quality::FULL), Ok(0));
    // An edit takes it back, from the moment it is told.
    world.planner.invalidate(id, here, Priority::Normal).unwrap();
    assert!(
        !world.planner.is_ready(id, here, 0) && world.planner.is_ready(id, region(2.0, 2.0, 3.0, 3.0), 0)
    );
}

#[test]
fn what_is_asked_for_ahead_comes_and_is_no_more_than_fits() {
    let (mut world, id) = World::one(Knobs { max_uploads_per_frame: 5, ..Knobs::game() }, 5, [16, 16]);
    let error = world.planner.request_preload(id, Region::ALL, 0).unwrap_err();
    assert_eq!(error, PlannerError::Preload { texture: id, level: 0, asked: 256, usable: 24, enough: 2 });
    assert_eq!(world.planner.request_preload(id, Region::ALL, 2), Ok(16));
    let mut made = 0;
    for _ in 0..4 {
        made += world.frame(&[]).counters.made;
    }
    assert_eq!((made, world.planner.is_ready(id, Region::ALL, 2)), (16, true));
    assert!(world.frame(&[]).is_empty());
    assert_eq!(world.planner.request_preload(id, region(f32::NAN, 0.0, 1.0, 1.0), 2), Ok(0));
}

#[test]
fn a_flush_keeps_what_is_locked_and_draws_it_again() {
    for again in [true, false] {
        let (mut world, id, wishes) = full();
        let knobs =
            Knobs { produce_locked_on_flush: again, max_uploads_per_frame: 0, ..*world.planner.knobs() };
        world.planner.set_knobs(knobs);
        world.planner.lock(id, page(2, 0, 0)).unwrap();
        world.planner.flush();
        let plan = world.frame(&wishes).clone();
        assert_eq!(drawn(&plan), if again { vec![(2, 0, 0)] } else { vec![] }, "exempt from budgets");
        assert_eq!(plan.counters.evicted, 20);
        assert_eq!(world.planner.lookup(id, 0, page(0, 3, 3)).unwrap().0, page(2, 0, 0));
    }
}

#[test]
fn locked_pages_come_first_and_never_go() {
    let (mut world, id) = World::one(Knobs { max_uploads_per_frame: 0, ..Knobs::game() }, 3, [16, 16]);
    assert_eq!(world.planner.lock_from_level(id, 3), Ok(5));
    let plan = world.frame(&[(id, page(0, 1, 1), 9)]).clone();
    assert_eq!(plan.pages.len(), 5, "exempt from budgets, and nothing else is made");
    assert!(plan.pages.iter().all(|work| work.reason.budget == Budget::Exempt));
    let knobs = Knobs { max_uploads_per_frame: 9, ..*world.planner.knobs() };
    world.planner.set_knobs(knobs);
    for frame in 0..60u16 {
        world.frame(&[(id, page(0, frame % 16, frame / 16), 1), (id, page(0, 15 - frame % 16, 9), 1)]);
    }
    assert!(world.is_there(id, page(4, 0, 0)) && world.is_there(id, page(3, 1, 1)));
    // 5 of 8 are locked, which is below 0.65.
    for x in 0..3 {
        world.planner.lock(id, page(2, x, 0)).unwrap();
    }
    let refused = world.planner.lock(id, page(2, 3, 0)).unwrap_err();
    assert_eq!(refused, PlannerError::Locked { pool: PoolId(0), locked: 8, usable: 8 });
    world.planner.lock(id, page(2, 0, 0)).unwrap();
    world.planner.unlock(id, page(2, 0, 0)).unwrap();
    assert!(world.planner.lock(id, page(2, 3, 0)).is_err(), "locks are counted");
    world.planner.unlock(id, page(2, 0, 0)).unwrap();
    world.planner.lock(id, page(2, 3, 0)).unwrap();
    world.planner.unlock(id, page(0, 7, 7)).unwrap();
    assert!(world.planner.lock(id, page(2, 4, 0)).unwrap_err().to_string().contains("has no page"));
    for _ in 0..20 {
        world.frame(&[]);
    }
    assert_eq!((world.planner.pool_usage()[0].locked, world.plan.mip_bias), (8, 0.0));
}

#[test]
fn a_page_that_waits_to_be_drawn_again_is_not_refreshed_instead() {
    let (mut world, id) = World::one(Knobs { force_continuous_update: true, ..Knobs::editor() }, 4, [4, 4]);
    let wish = [(id, page(2, 0, 0), 1)];
    world.frame(&wish);
    // The first answer is that it is being fetched; a refresh would be asked next, and lost with its frame.
    world.making.mood = Mood::Halting;
    world.making.asked.truncate(1);
    world.invalidate(id, Region::ALL, Priority::Normal);
    world.feed(&wish);
    world.lose();
    assert!(world.plan.pages.is_empty() && world.plan.counters.pending == 1, "{:?}", world.plan);
    world.making.mood = Mood::Always(Availability::Available(Quality::FULL));
    world.planner.set_knobs(Knobs { force_continuous_update: false, ..*world.planner.knobs() });
    assert_eq!(world.frame(&wish).pages.len(), 1);
    world.check_current();
}
