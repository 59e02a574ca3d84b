//! Anything in any order: after every frame the GPU shows what it should, and in the end nothing is stale or missing.

use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone)]
enum Step {
    Frame(Vec<(usize, u8, u16, u16, u32)>),
    Lose,
    Edit(usize, [f32; 4], Priority),
    Lock(usize, u8, u16, u16),
    Unlock(usize, u8, u16, u16),
    Preload(usize, [f32; 4], u8),
    Flush,
    Create(u8),
    Destroy(usize),
    Mood(u8),
    Sharpen(usize, [f32; 4]),
    Freeze(bool),
}

fn rectangle() -> impl Strategy<Value = [f32; 4]> {
    (-0.1f32..1.0, -0.1f32..1.0, 0f32..0.6, 0f32..0.6).prop_map(|(u, v, w, h)| [u, v, u + w, v + h])
}

fn region([u, v, u2, v2]: [f32; 4]) -> Region {
    Region { min: [u, v], max: [u2, v2] }
}

fn step() -> impl Strategy<Value = Step> {
    let place = || (0usize..6, 0u8..5, 0u16..16, 0u16..16);
    let wish = (place(), 1u32..50).prop_map(|((texture, level, x, y), count)| (texture, level, x, y, count));
    let priority = prop::sample::select(vec![Priority::High, Priority::Normal, Priority::Low]);
    prop_oneof![
        12 => prop::collection::vec(wish, 0..12).prop_map(Step::Frame),
        1 => Just(Step::Lose),
        3 => (0usize..6, rectangle(), priority).prop_map(|(t, r, p)| Step::Edit(t, r, p)),
        1 => place().prop_map(|(t, l, x, y)| Step::Lock(t, l, x, y)),
        1 => place().prop_map(|(t, l, x, y)| Step::Unlock(t, l, x, y)),
        1 => (0usize..6, rectangle(), 0u8..5).prop_map(|(t, r, l)| Step::Preload(t, r, l)),
        1 => Just(Step::Flush),
        1 => (0u8..4).prop_map(Step::Create),
        1 => (0usize..6).prop_map(Step::Destroy),
        1 => (0u8..4).prop_map(Step::Mood),
        1 => (0usize..6, rectangle()).prop_map(|(t, r)| Step::Sharpen(t, r)),
        1 => any::<bool>().prop_map(Step::Freeze),
    ]
}

struct Run {
    world: World,
    pools: Vec<PoolId>,
}

impl Run {
    fn alive(&self, index: usize) -> Option<TextureId> {
        let alive: Vec<_> =
            self.world.textures.iter().filter(|known| known.alive).map(|known| known.id).collect();
        (!alive.is_empty()).then(|| alive[index % alive.len()])
    }

    fn page(&self, id: TextureId, level: u8, x: u16, y: u16) -> PageAddress {
        let grid = self.world.known(id).placement.grid;
        let level = level.min(grid.max_level());
        let [across, down] = grid.pages(level);
        page(level, x % across as u16, y % down as u16)
    }

    fn create(&mut self, kind: u8) {
        if self.world.textures.iter().filter(|known| known.alive).count() >= 6 {
            return;
        }
        let small = TextureDesc::new("small", [5, 3], self.pools[0]);
        let desc = match kind {
            0 => small,
            1 => TextureDesc { baked_from: Some(1), ..TextureDesc::new("baked", [8, 8], self.pools[1]) },
            2 => TextureDesc {
                groups: vec![self.pools[0], self.pools[1]],
                removed_low_mips: 1,
                continuous: true,
                ..TextureDesc::new("two groups", [8, 4], self.pools[0])
            },
            _ => {
                let with = self.world.textures.iter().find(|known| known.alive).map(|known| known.id);
                with.map_or(small, |with| TextureDesc {
                    shares: Some(with),
                    ..self.world.known(with).desc.clone()
                })
            }
        };
        self.world.create(desc);
    }

    fn step(&mut self, step: Step) {
        let world = &mut self.world;
        match step {
            Step::Frame(wishes) => {
                let wishes: Vec<_> = wishes
                    .into_iter()
                    .filter_map(|(texture, level, x, y, count)| {
                        let id = self.alive(texture)?;
                        Some((id, self.page(id, level, x, y), count))
                    })
                    .collect();
                if self.world.planner.knobs().freeze {
                    self.world.planner.begin_frame(self.world.planner.frame() + 1);
                    assert!(self.world.plan().pages.is_empty(), "frozen");
                } else {
                    self.world.frame(&wishes);
                }
            }
            Step::Lose => {
                world.planner.begin_frame(world.planner.frame() + 1);
                world.lose();
            }
            Step::Edit(texture, rectangle, priority) => {
                if let Some(id) = self.alive(texture) {
                    self.world.invalidate(id, region(rectangle), priority);
                }
            }
            Step::Lock(texture, level, x, y) => {
                if let Some(id) = self.alive(texture) {
                    let _ = self.world.planner.lock(id, self.page(id, level, x, y));
                }
            }
            Step::Unlock(texture, level, x, y) => {
                if let Some(id) = self.alive(texture) {
                    let page = self.page(id, level, x, y);
                    self.world.planner.unlock(id, page).unwrap();
                }
            }
            Step::Preload(texture, rectangle, level) => {
                if let Some(id) = self.alive(texture) {
                    let _ = self.world.planner.request_preload(id, region(rectangle), level);
                }
            }
            Step::Flush => world.planner.flush(),
            Step::Create(kind) => self.create(kind),
            Step::Destroy(texture) => {
                if let Some(id) = self.alive(texture) {
                    self.world.destroy(id);
                }
            }
            Step::Mood(mood) => {
                world.making.mood = match mood {
                    0 => Mood::Always(Availability::Available(Quality::FULL)),
                    1 => Mood::Always(Availability::Available(Quality(7))),
                    2 => Mood::Halting,
                    _ => Mood::Always(Availability::Saturated),
                }
            }
            Step::Sharpen(texture, rectangle) => {
                if let Some(id) = self.alive(texture) {
                    self.world.planner.inputs_sharpened(id, region(rectangle), Quality::FULL).unwrap();
                }
            }
            Step::Freeze(freeze) => {
                let knobs = Knobs { freeze, ..*world.planner.knobs() };
                world.planner.set_knobs(knobs);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]
    #[test]
    fn whatever_happens(
        steps in prop::collection::vec(step(), 1..120),
        sides in (2u32..6, 2u32..6),
        budgets in (0i32..4, 0i32..4, 0i32..6, 0i32..3),
        threshold in 0u32..16,
    ) {
        let knobs = Knobs {
            max_uploads_per_frame: budgets.0,
            max_uploads_per_frame_streaming: budgets.1,
            max_tiles_produced_per_frame: budgets.2,
            max_continuous_updates_per_frame: budgets.3,
            page_free_threshold: threshold,
            ..Knobs::default()
        };
        let mut world = World::new(knobs);
        let pools = [sides.0, sides.1].map(|side| world.planner.create_pools(&world::pool_desc(side)).unwrap()[0]);
        let mut run = Run { world, pools: pools.to_vec() };
        run.create(0);
        run.create(1);
        for step in steps {
            run.step(step);
        }

        // In the end: everything works again, and one page of each texture is looked at.
        let world = &mut run.world;
        world.making.mood = Mood::Always(Availability::Available(Quality::FULL));
        world.planner.set_knobs(Knobs {
            freeze: false,
            max_uploads_per_frame: 3,
            max_uploads_per_frame_streaming: 3,
            max_tiles_produced_per_frame: 6,
            max_continuous_updates_per_frame: 0,
            ..*world.planner.knobs()
        });
        let alive: Vec<_> = world.textures.iter().filter(|known| known.alive).map(|known| known.id).collect();
        let wishes: Vec<_> = alive.iter().map(|id| (*id, page(0, 1, 1), 4)).collect();
        for _ in 0..90 {
            world.frame(&wishes);
        }
        world.check_current();
        // As many as fit beside what is locked: pages of all textures, one of each family and group.
        let free = world.planner.pool_usage().iter().all(|pool| pool.pages - pool.locked > 12);
        if free && world.planner.preloads.is_empty() {
            for id in &alive {
                prop_assert!(world.is_there(*id, page(0, 1, 1)));
            }
            prop_assert!(world.plan.is_empty(), "still: {:?}", world.plan);
            prop_assert_eq!(world.plan.counters.sharpness(), 1.0);
        }
    }
}
