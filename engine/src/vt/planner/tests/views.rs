//! Whole views: what is asked for comes, what does not fit comes to rest, and a still view costs nothing.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// Samples over a texture: u, v, and the level wished for without a bias.
#[derive(Debug, Clone)]
struct View(Vec<([f32; 2], f32)>);

impl View {
    /// A camera over the ground at `at`: near samples are fine, and far ones coarser.
    fn over(at: [f32; 2], reach: f32, finest: f32) -> Self {
        let mut samples = Vec::new();
        for (x, y) in (0..96).flat_map(|x| (0..96).map(move |y| (x, y))) {
            let offset = [x as f32 / 48.0 - 1.0, y as f32 / 48.0 - 1.0];
            let place = [at[0] + offset[0] * reach, at[1] + offset[1] * reach];
            let distance = offset[0].hypot(offset[1]).max(0.05);
            if place.iter().all(|along| (0.0..1.0).contains(along)) {
                samples.push((place, finest + 3.0 * distance));
            }
        }
        Self(samples)
    }

    /// What a GPU with this bias writes.
    fn sampled(&self, world: &World, id: TextureId, bias: f32) -> Vec<(u32, u32)> {
        let grid = world.known(id).placement.grid;
        let mut words = BTreeMap::new();
        for (place, lod) in &self.0 {
            let level = (lod + bias).floor().clamp(0.0, f32::from(grid.max_level())) as u8;
            let at = |axis: usize| (place[axis] * grid.tiles()[axis] as f32) as u16 >> level;
            *words.entry(world.word(id, page(level, at(0), at(1)))).or_insert(0) += 1;
        }
        words.into_iter().collect()
    }
}

/// Frames with feedback of three frames ago, under the bias that these had.
struct Film {
    world: World,
    id: TextureId,
    biases: Vec<f32>,
    views: Vec<View>,
}

impl Film {
    fn new(knobs: Knobs, side: u32, tiles: u32) -> Self {
        let (world, id) = World::one(Knobs { space_side: tiles, ..knobs }, side, [tiles, tiles]);
        Self { world, id, biases: Vec::new(), views: Vec::new() }
    }

    /// One frame, without looking at every entry.
    fn frame(&mut self, view: &View) {
        let frame = self.biases.len() as u64;
        self.world.planner.begin_frame(frame);
        if let Some(of) = frame.checked_sub(3) {
            let (view, bias) = (&self.views[of as usize], self.biases[of as usize]);
            let pairs = view.sampled(&self.world, self.id, bias);
            self.world.planner.feed(&Feedback { frame: of, pairs: &pairs, overflow: 0, dropped: 0 });
        }
        self.world.planner.plan_into(&mut self.world.making, &mut self.world.plan);
        self.world.execute();
        self.biases.push(self.world.plan.mip_bias);
        self.views.push(view.clone());
    }
}

fn rest(film: &mut Film, view: &View, frames: usize) -> (u32, u32) {
    let (mut evicted, mut made) = (0, 0);
    for _ in 0..frames {
        film.frame(view);
        evicted += film.world.plan.counters.evicted;
        made += film.world.plan.counters.made;
    }
    (evicted, made)
}

#[test]
fn a_still_view_costs_nothing() {
    let mut film = Film::new(Knobs::game(), 32, 64);
    let view = View::over([0.5, 0.5], 0.3, 0.0);
    rest(&mut film, &view, 300);
    for _ in 0..30 {
        film.frame(&view);
        let plan = &film.world.plan;
        assert!(plan.is_empty(), "{plan:?}");
        assert!(plan.counters.requests > 5000 && plan.counters.resident == plan.counters.unique);
        assert_eq!((plan.counters.sharpness(), plan.mip_bias), (1.0, 0.0));
    }
    film.world.planner.begin_frame(1000);
    film.world.planner.plan_into(&mut film.world.making, &mut film.world.plan);
    assert!(film.world.plan.is_empty(), "nor does one without feedback");
}

#[test]
fn a_pool_of_a_quarter_of_the_need_comes_to_rest() {
    for (reach, finest) in [(0.3, 0.0), (0.5, 0.4), (0.2, -0.7), (0.5, 1.3)] {
        let view = View::over([0.45, 0.55], reach, finest);
        let free = Film::new(Knobs::editor(), 60, 64);
        let need = view.sampled(&free.world, free.id, 0.0).len() as u32;
        let side = (need / 4).isqrt().max(2);
        let mut film = Film::new(Knobs::editor(), side, 64);
        rest(&mut film, &view, 600);
        let (evicted, made) = rest(&mut film, &view, 100);
        let usage = &film.world.planner.pool_usage()[0];
        assert_eq!((evicted, made), (0, 0), "need {need}, {side} a side: {usage:?}");
        let counters = film.world.plan.counters;
        assert!(usage.bias > 0.5 && usage.bias < 4.0, "{usage:?}");
        assert_eq!(
            (counters.sharpness(), counters.deferred),
            (1.0, 0),
            "all that is wished for is there: {usage:?}"
        );
        film.world.check();

        // The pool is enough for a small view: the bias goes again.
        rest(&mut film, &View::over([0.45, 0.55], reach / 8.0, finest + 2.0), 200);
        assert_eq!(film.world.planner.mip_bias(), 0.0);
    }
}

#[test]
fn the_bias_is_not_applied_to_requests() {
    let mut film = Film::new(Knobs::editor(), 6, 64);
    let view = View::over([0.5, 0.5], 0.3, 0.0);
    rest(&mut film, &view, 200);
    assert!(film.world.planner.mip_bias() > 0.5);
    // The feedback has it already: the very page that is named is asked for, not a coarser one.
    let fine = page(0, 1, 1);
    let pairs = [(film.world.word(film.id, fine), 9)];
    film.world.planner.begin_frame(300);
    film.world.planner.feed(&Feedback { frame: 297, pairs: &pairs, overflow: 0, dropped: 0 });
    let plan = film.world.planner.plan(&mut film.world.making);
    assert!(plan.pages.iter().any(|work| work.page == fine), "{plan:?}");
    assert_eq!(plan.mip_bias, film.world.planner.texture_bias(film.id));
}

#[test]
fn a_pool_of_four_pages_neither_panics_nor_thrashes() {
    for knobs in [Knobs::game(), Knobs::editor(), Knobs { page_free_threshold: 0, ..Knobs::editor() }] {
        let mut film = Film::new(knobs, 2, 64);
        let view = View::over([0.5, 0.5], 0.5, 0.0);
        rest(&mut film, &view, 400);
        let (evicted, _) = rest(&mut film, &view, 100);
        assert_eq!(evicted, 0);
        assert!(film.world.plan.counters.no_room > 0 && film.world.planner.pool_usage()[0].allocated == 3);
        film.world.check();
        rest(&mut film, &View::over([0.1, 0.9], 0.02, 0.0), 60);
        film.world.check();
    }
}

#[test]
fn cuts_become_sharp() {
    let mut film = Film::new(Knobs { max_uploads_per_frame: 32, ..Knobs::game() }, 48, 64);
    let cuts = [[0.2, 0.2], [0.8, 0.3], [0.5, 0.9], [0.2, 0.2]];
    for at in cuts {
        let view = View::over(at, 0.15, 0.0);
        let need = view.sampled(&film.world, film.id, 0.0).len();
        let mut frames = 0;
        loop {
            film.frame(&view);
            frames += 1;
            if frames > 3 && film.world.plan.counters.sharpness() >= 0.99 {
                break;
            }
            // Latency, all pages at 32 a frame, and half as many again on the way.
            assert!(frames < 4 + need * 3 / 2 / 32 + 4, "{frames} frames for {need} pages");
        }
        rest(&mut film, &view, 30 - frames.min(30));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn all_that_fits_comes_in_bounded_frames(
        first in prop::collection::btree_set((0u8..3, 0u16..16, 0u16..16), 1..30),
        then in prop::collection::btree_set((0u8..3, 0u16..16, 0u16..16), 1..30),
        uploads in 1i32..6,
    ) {
        // 36 pages, of which 35 can be used and 33 are below 0.95: all that is wished for fits.
        let knobs = Knobs { max_uploads_per_frame: uploads, ..Knobs::game() };
        let (mut world, id) = World::one(knobs, 6, [16, 16]);
        for set in [first, then] {
            let wishes: Vec<_> =
                set.iter().map(|(l, x, y)| (id, page(*l, x >> l, y >> l), 1 + u32::from(x % 4))).collect();
            // What was there before ages for 15 frames; each page then waits for two on its way at most, and these age too.
            let bound = 2 * 16 + 3 * wishes.len() / uploads as usize + 16;
            let came = (0..bound).any(|_| {
                world.frame(&wishes);
                wishes.iter().all(|(id, page, _)| world.is_there(*id, *page))
            });
            prop_assert!(came, "in {bound} frames");
            world.frame(&wishes);
            prop_assert!(world.plan.is_empty() && world.plan.counters.deferred == 0);
        }
    }
}

#[test]
fn new_pages_come_before_refreshes_which_take_turns() {
    let knobs = Knobs {
        force_continuous_update: true,
        max_continuous_updates_per_frame: 2,
        max_uploads_per_frame: 3,
        ..Knobs::game()
    };
    let (mut world, id) = World::one(knobs, 5, [4, 4]);
    let wishes: Vec<_> = (0..4).flat_map(|x| (0..4).map(move |y| (id, page(0, x, y), 1))).collect();
    for _ in 0..12 {
        let plan = world.frame(&wishes).clone();
        let refreshes = plan.pages.iter().filter(|work| work.redraw).count();
        assert!(refreshes == 0 || plan.pages.len() <= 3);
        let first = plan.pages.iter().position(|work| work.redraw).unwrap_or(plan.pages.len());
        assert!(plan.pages[first..].iter().all(|work| work.redraw), "new pages first");
    }
    let mut turns = Vec::new();
    for _ in 0..16 {
        let plan = world.frame(&wishes);
        assert_eq!((plan.pages.len(), plan.counters.continuous, plan.updates.len()), (2, 2, 0));
        turns.extend(plan.pages.iter().map(|work| (work.page.level, work.page.x, work.page.y)));
    }
    // Pages on the way were seen at the start only; the sixteen that are seen come round twice.
    let round: Vec<_> = turns[..16].to_vec();
    let mut each = round.clone();
    each.sort_unstable();
    each.dedup();
    assert_eq!(each.len(), 16, "none comes twice before all came once");
    assert_eq!(&turns[16..], &round[..]);

    // No limit at all: all that is seen, every frame.
    let knobs = Knobs { max_continuous_updates_per_frame: -1, ..*world.planner.knobs() };
    world.planner.set_knobs(knobs);
    assert_eq!(world.frame(&wishes).counters.continuous, 16);
    // What is not seen is not refreshed.
    for _ in 0..9 {
        world.frame(&wishes[..1]);
    }
    assert_eq!(world.frame(&wishes[..1]).counters.continuous, 1);
}

#[test]
fn two_cameras_share_a_pool() {
    let mut world = World::new(Knobs::editor());
    let pool = world.planner.create_pools(&world::pool_desc(8)).unwrap()[0];
    let id = world.create(TextureDesc::new("ground", [16, 16], pool));
    let left: Vec<_> = (0..4).map(|x| (id, page(0, x, 0), 1)).collect();
    let right: Vec<_> = (2..9).map(|x| (id, page(0, x, 0), 1)).collect();
    world.feed(&left);
    world.feed_more(1, &right);
    let plan = world.plan();
    assert_eq!((plan.counters.requests, plan.counters.unique), (11, 9), "pages of both are asked for once");
    assert_eq!(plan.counters.wished, 11);
    world.feed(&left);
    world.feed_more(2, &right);
    let counters = world.plan().counters;
    assert_eq!((counters.resident, counters.sharpness()), (9, 1.0));
}
