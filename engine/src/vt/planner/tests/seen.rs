//! What one can see: histories, counters, usage, and that a steady frame takes no memory.

use super::*;

#[test]
fn a_page_tells_why_it_was_made() {
    let knobs = Knobs { max_uploads_per_frame: 2, ..Knobs::game() };
    let (mut world, id) = World::one(knobs, 3, [8, 8]);
    let here = page(0, 5, 5);
    for _ in 0..4 {
        world.frame(&[(id, here, 7)]);
    }
    world.invalidate(id, Region { min: [0.7, 0.7], max: [0.72, 0.72] }, Priority::High);
    world.frame(&[(id, here, 7)]);
    for _ in 0..40 {
        world.frame(&(0..8).map(|x| (id, page(0, x, 0), 1)).collect::<Vec<_>>());
    }
    let text: Vec<String> = world.planner.history(id, here).iter().map(ToString::to_string).collect();
    let above = world.planner.history(id, page(2, 1, 1)).iter().map(ToString::to_string).collect::<Vec<_>>();
    insta::assert_snapshot!([text, above].concat().join("\n"), @r"
    frame 2: texture 0.0 group 0 level 0, page 5,5 in pool 0 page 4 made: sampled 7 times in frame 2; 2 of 2 uploads
    frame 6: texture 0.0 group 0 level 0, page 5,5 in pool 0 page 4 drawn again: edited in frame 4, high priority; 2 of 2 uploads
    frame 21: texture 0.0 group 0 level 0, page 5,5 in pool 0 page 4 evicted: last used in frame 5
    frame 1: texture 0.0 group 0 level 2, page 1,1 in pool 0 page 2 made: on the way to pages sampled 7 times in frame 1; 2 of 2 uploads
    frame 5: texture 0.0 group 0 level 2, page 1,1 in pool 0 page 2 drawn again: edited in frame 4, high priority; 2 of 2 uploads
    frame 18: texture 0.0 group 0 level 2, page 1,1 in pool 0 page 2 evicted: last used in frame 2
    ");
}

#[test]
fn the_history_is_a_ring() {
    let (mut world, id) = World::one(Knobs { history: 5, ..Knobs::editor() }, 8, [16, 16]);
    for x in 0..16 {
        world.frame(&[(id, page(0, x, 0), 1)]);
    }
    let frames: Vec<u64> = world.planner.events(99).iter().map(|event| event.frame).collect();
    assert_eq!(frames.len(), 5);
    assert!(frames.is_sorted() && frames[4] == 16, "{frames:?}");
    assert_eq!(world.planner.events(2).len(), 2);
    world.planner.set_knobs(Knobs { history: 0, ..*world.planner.knobs() });
    world.frame(&[(id, page(0, 3, 9), 1)]);
    assert!(world.planner.events(99).is_empty());
}

#[test]
fn counters_add_up() {
    let (mut world, id) = World::one(Knobs { max_uploads_per_frame: 2, ..Knobs::game() }, 4, [8, 8]);
    let wishes: Vec<_> = (0..6).map(|x| (id, page(0, x, 0), 10)).collect();
    let counters = world.frame(&wishes).counters;
    // Nothing is there: six pages, the two they lie in two levels up, and the root.
    assert_eq!((counters.requests, counters.unique, counters.missing, counters.prefetched), (60, 6, 6, 3));
    assert_eq!((counters.made, counters.deferred, counters.resident), (2, 7, 0));
    assert_eq!((counters.wished, counters.sharp), (60, 0));
    let sharp: Vec<u64> = (0..5).map(|_| world.frame(&wishes).counters.sharp).collect();
    assert_eq!(sharp, [0, 0, 20, 40, 60], "what this plan makes counts");
    assert_eq!(world.plan.counters.sharpness(), 1.0);
    assert_eq!(world.plan.counters.quads as usize, world.plan.quads());
}

#[test]
fn saturated_textures_are_asked_once() {
    let (mut world, id) = World::one(Knobs::editor(), 8, [8, 8]);
    world.making.mood = Mood::Always(Availability::Saturated);
    let wishes: Vec<_> = (0..8).map(|x| (id, page(0, x, 0), 1)).collect();
    let counters = world.frame(&wishes).counters;
    assert_eq!((world.making.asked.len(), counters.saturated, counters.deferred), (1, 11, 11));
    world.frame(&wishes);
    assert_eq!(world.making.asked.len(), 2, "and again in the next frame");
}

#[test]
fn reading_goes_on_ahead_of_the_budget_and_not_for_ever() {
    let mut world = World::new(Knobs { max_uploads_per_frame_streaming: 2, ..Knobs::game() });
    let pool = world.planner.create_pools(&world::pool_desc(8)).unwrap()[0];
    let streamed =
        world.create(TextureDesc { baked_from: Some(0), ..TextureDesc::new("file", [16, 16], pool) });
    world.making.mood = Mood::Always(Availability::Pending);
    let wishes: Vec<_> = (0..16).map(|x| (streamed, page(0, x, 0), 1)).collect();
    let counters = world.frame(&wishes).counters;
    assert_eq!((world.making.asked.len(), counters.pending), (8, 8));
    assert!(world.making.asked.iter().all(|request| request.baked));
}

#[test]
fn usage_is_text_and_json() {
    let mut world = World::new(Knobs::editor());
    let layers = [LayerFormat::Bc3, LayerFormat::Bc5, LayerFormat::Bc3];
    let desc = PoolDesc { budget_bytes: 256 << 20, ..PoolDesc::new("terrain", 256, 4, &layers) };
    let pool = world.planner.create_pools(&desc).unwrap()[0];
    let heights =
        world.planner.create_pools(&PoolDesc::new("heights", 128, 4, &[LayerFormat::R16])).unwrap()[0];
    let id = world
        .create(TextureDesc { groups: vec![pool, heights], ..TextureDesc::new("terrain", [12, 5], pool) });
    world.create(TextureDesc::new("decals", [4, 4], heights));
    world.planner.lock(id, page(4, 0, 0)).unwrap();
    world.frame(&[(id, page(0, 3, 3), 5)]);
    world.invalidate(id, Region::ALL, Priority::Normal);
    world.making.mood = Mood::Always(Availability::Pending);
    world.frame(&[(id, page(0, 3, 3), 5)]);
    insta::assert_snapshot!(world.planner.usage(), @r"
    pool 0 terrain (BC3 + BC5 + BC3): tile 264, 35 x 35 pages, 244.267 MiB; 3 allocated, 1 locked (0.199 MiB), 3 mapped; residency 0.00, bias 0.00
    pool 1 heights (R16): tile 136, 42 x 42 pages, 62.231 MiB; 3 allocated, 1 locked (0.035 MiB), 3 mapped; residency 0.00, bias 0.00
    texture 0.0 terrain: 12 x 5 tiles, levels 0 to 4, in space 0; 6 pages, 0.704 MiB, 2 locked, 6 dirty
    texture 1.0 decals: 4 x 4 tiles, levels 0 to 2, in space 1; 0 pages, 0.000 MiB, 0 locked, 0 dirty
    space 0: 16 x 16, 2 channels of 16 bits, 0.001 MiB; 1 textures, 6 pages mapped
    space 1: 16 x 16, 1 channels of 16 bits, 0.001 MiB; 1 textures, 0 pages mapped
    ");
    let json = serde_json::to_value(world.planner.usage()).unwrap();
    assert_eq!(json["pools"][0]["pages"], 1224);
    assert_eq!(json["counters"]["unique"], 1);
}

#[test]
fn curves_are_shares_of_the_pool() {
    let (mut world, id) = World::one(Knobs::editor(), 5, [16, 16]);
    world.planner.lock_from_level(id, 3).unwrap();
    world.frame(&[(id, page(3, 0, 0), 1)]);
    for _ in 0..16 {
        world.frame(&[]);
    }
    let usage = &world.planner.pool_usage()[0];
    assert_eq!((usage.residency, usage.locked_share, usage.bias_share), (5.0 / 24.0, 5.0 / 24.0, 0.0));
    world.frame(&[(id, page(0, 0, 0), 1)]);
    assert!(world.planner.pool_usage()[0].residency > 5.0 / 24.0);
}

#[test]
fn frozen_means_frozen() {
    let (mut world, id) = World::one(Knobs::editor(), 4, [8, 8]);
    world.frame(&[(id, page(0, 1, 1), 1)]);
    world.planner.set_knobs(Knobs { freeze: true, ..*world.planner.knobs() });
    world.invalidate(id, Region::ALL, Priority::High);
    for _ in 0..40 {
        assert!(world.frame(&[(id, page(0, 7, 7), 1)]).is_empty());
    }
    world.planner.set_knobs(Knobs { freeze: false, ..*world.planner.knobs() });
    assert!(world.frame(&[(id, page(0, 7, 7), 1)]).counters.made > 0);
    world.check_current();
}
