//! Virtual textures through the whole engine: what they show changes, and textures come and go while they load.

use glam::Vec2;
use vasa::render::RenderOptions;
use vasa::vt::runtime::{Kind, Look, Rectangle, Shape, Volume, WriterDesc};
use vasa::vt::{GroundTexturesDesc, Knobs, Options, Priority, Region, RuntimeTextureDesc};
use vasa_tests::ground::{Ground, difference, is_same, options, small_pages};
use vasa_tests::on_device;
use vasa_tests::random::Random;
use vasa_tests::scenes::{self, add_hills, draw, hills};

#[test]
fn ten_invalidations_a_frame_redraw_in_place_and_change_nothing() {
    on_device(|h| {
        let mut ground = Ground::new(&h.device, options());
        let camera = ground.camera(0.05);
        ground.settle(&[camera], 200);
        let (before, first) = (ground.picture(), ground.stats());
        let mut random = Random::new(5);
        let surface = ground.ground.surface;
        for frame in 0..20u32 {
            for nth in 0..10 {
                let mut any = |most: u64| random.below(most) as f32 / 1000.0;
                let min = [any(900), any(900)];
                let max = [min[0] + any(100), min[1] + any(100)];
                // Those below high priority are merged: together they are large.
                let priority = if nth == 0 && frame % 4 == 0 { Priority::Normal } else { Priority::High };
                let planner = ground.textures_mut().planner_mut();
                planner.invalidate(surface, Region { min, max }, priority).unwrap();
            }
            ground.draw(camera);
            if frame % 5 == 4 {
                let apart = difference(&before, &ground.picture());
                assert_eq!(apart, (0, 0.0), "frame {frame} flickers");
            }
        }
        ground.settle(&[camera], 200);
        let (last, apart) = (ground.stats(), difference(&before, &ground.picture()));
        println!(
            "200 invalidations: {} pages redrawn, {} evicted",
            last.pages_redrawn - first.pages_redrawn,
            last.evicted
        );
        assert!(last.pages_redrawn - first.pages_redrawn > 20);
        assert_eq!(apart, (0, 0.0));
    });
}

/// A red rectangle of 60 by 40 metres.
fn stamp(at: Vec2) -> WriterDesc {
    let rectangle = Rectangle { centre: at, along: Vec2::X, half: Vec2::new(30.0, 20.0) };
    let look = Look { colour: [0.8, 0.02, 0.02], ..Look::default() };
    WriterDesc { look, ..WriterDesc::new("Stamp", Shape::Decal(rectangle)) }
}

#[test]
fn a_stamp_that_moves_every_frame_leaves_nothing_behind() {
    on_device(|h| {
        let mut ground = Ground::new(&h.device, options());
        let camera = ground.above(200.0, -300.0, 260.0);
        ground.settle(&[camera], 200);
        let clean = ground.picture();
        // To and fro between two tracks that are further apart than it is long: it leaves its old place whole.
        let place = |frame: u32| {
            let (along, track) = (frame as f32, (frame % 2) as f32);
            Vec2::new(100.0 + 8.0 * along, -330.0 + 3.0 * along + 150.0 * track)
        };
        let id = ground.textures_mut().writers_mut().add(stamp(place(0))).unwrap();
        let mut seen = Vec::new();
        for frame in 0..=24 {
            let shape = stamp(place(frame)).shape;
            ground.textures_mut().writers_mut().set_shape(id, shape).unwrap();
            ground.draw(camera);
            if frame % 12 == 0 {
                seen.push(ground.picture());
            }
        }
        let last_at = ground.stats();
        ground.settle(&[camera], 200);
        let moved = ground.picture();
        let mut fresh = Ground::new(&h.device, options());
        fresh.textures_mut().writers_mut().add(stamp(place(24))).unwrap();
        fresh.settle(&[camera], 200);
        let expected = fresh.picture();
        println!(
            "moved stamp: {} parts stale, {} pages redrawn; from a fresh engine's {:?}",
            last_at.invalidations,
            last_at.pages_redrawn,
            difference(&moved, &expected)
        );
        // Each move is seen in its own frame, and is a change that counts.
        assert!(difference(&seen[0], &seen[1]).0 > 40 && difference(&seen[1], &seen[2]).0 > 40);
        assert!(difference(&clean, &moved).0 > 40);
        assert!(last_at.pages_redrawn > 25 && last_at.invalidations >= 25);
        assert!(is_same(&moved, &expected), "{:?}", difference(&moved, &expected));
        // And where it goes, the ground is as it was.
        ground.textures_mut().writers_mut().remove(id).unwrap();
        ground.settle(&[camera], 200);
        assert!(is_same(&clean, &ground.picture()), "{:?}", difference(&clean, &ground.picture()));
    });
}

/// A texture over a part of the hills that shows a calibration pattern where the ground's does not.
fn pattern() -> RuntimeTextureDesc {
    let volume = Volume::new([-400.0, -400.0], [800.0, 800.0], [-100.0, 2000.0]).unwrap();
    let kind = Kind::BaseColorNormalSpecularMaskYCoCg;
    RuntimeTextureDesc { tile: 64, ..RuntimeTextureDesc::new("Pattern", volume, kind, 32) }
}

#[test]
fn textures_that_come_and_go_while_they_load_leave_nothing() {
    on_device(|h| {
        let mut ground = Ground::new(&h.device, options());
        let camera = ground.camera(0.05);
        ground.settle(&[camera], 200);
        let before = ground.picture();
        let mut objects = Vec::new();
        let mut ids = Vec::new();
        for round in 0..14u32 {
            let id = ground.engine.create_texture(&pattern()).unwrap();
            let planner = ground.textures_mut().planner_mut();
            let asked = planner.request_preload(id, Region { min: [0.3; 2], max: [0.6; 2] }, 0).unwrap();
            assert!(asked > 80, "{asked}");
            // Destroyed in the frame that it was made in, or while its pages come.
            (0..round % 4).for_each(|_| ground.draw(camera));
            let resident = ground.stats().textures.last().unwrap().resident;
            assert!(
                resident <= asked && (round % 4 < 2 || resident > 10),
                "round {round}: {resident} of {asked}"
            );
            ground.textures_mut().destroy_texture(id).unwrap();
            ids.push(id);
            ground.draw(camera);
            h.settle();
            objects.push(h.device.object_counts().live);
        }
        // After the first rounds everything there is to make has been made.
        assert!(objects[4..].iter().all(|live| *live == objects[4]), "{objects:?}");
        assert!(ids.windows(2).all(|pair| pair[0] != pair[1]));
        let stats = ground.stats();
        assert_eq!(stats.textures.len(), 3);
        assert_eq!(stats.pools[0].allocated, stats.textures[0].resident, "pages of nobody are left");
        ground.settle(&[camera], 200);
        assert!(is_same(&before, &ground.picture()), "{:?}", difference(&before, &ground.picture()));
        println!("14 textures made and destroyed: {} objects live throughout", objects[4]);
    });
}

#[test]
fn a_ground_that_is_made_again_while_it_loads_shows_no_page_of_the_one_before() {
    on_device(|h| {
        let mut ground = Ground::new(&h.device, options());
        let camera = ground.above(200.0, -300.0, 260.0);
        ground.settle(&[camera], 200);
        let clean = ground.picture();
        // It lies in the ground's page table, which stays when the ground goes.
        ground.engine.create_texture(&pattern()).unwrap();
        for round in 0..6 {
            let wrong = ground.textures_mut().writers_mut().add(stamp(Vec2::new(200.0, -300.0))).unwrap();
            (0..4 + round).for_each(|_| ground.draw(camera));
            assert!(difference(&clean, &ground.picture()).0 > 40, "the stamp is not seen");
            ground.textures_mut().writers_mut().remove(wrong).unwrap();
            ground.ground = ground.engine.use_ground_textures(&small_pages()).unwrap();
            ground.draw(camera);
            let spaces = ground.stats().spaces;
            assert_eq!(spaces, 1, "another page table");
        }
        ground.settle(&[camera], 200);
        assert!(is_same(&clean, &ground.picture()), "{:?}", difference(&clean, &ground.picture()));
        // And without it, the ground is that of no virtual texture at all.
        ground.textures_mut().remove_ground().unwrap();
        ground.draw(camera);
        let direct = ground.picture();
        let mut other = Ground::direct(&h.device);
        other.render(&Ground::view(camera), scenes::EXTENT, None).unwrap();
        assert_eq!(difference(&direct, &other.read_back().unwrap()), (0, 0.0));
    });
}

#[test]
fn the_seventeenth_space_works_and_is_not_fed() {
    on_device(|h| {
        let one_each = Options { planner: Knobs { space_side: 8, ..options().planner }, ..options() };
        let surface = hills();
        let mut engine = scenes::engine_with(&h.device, 2, RenderOptions::PLAIN);
        add_hills(&mut engine, &surface);
        engine.use_textures(one_each).unwrap();
        let small = RuntimeTextureDesc { tiles: 8, ..pattern() };
        let ids: Vec<_> = (0..16).map(|_| engine.create_texture(&small).unwrap()).collect();
        assert_eq!((engine.textures().unwrap().stats().unfed_textures), 0);
        let desc = GroundTexturesDesc { height_tiles: 0, ..small_pages() };
        let ground = engine.use_ground_textures(&desc).unwrap();
        let stats = engine.textures().unwrap().stats();
        assert_eq!((stats.spaces, stats.unfed_textures), (17, 1), "{}", stats.tables_text());
        let camera = scenes::flight(&surface, 0.05);
        (0..8).for_each(|_| draw(&mut engine, camera));
        let (blurred, stats) = (engine.read_back().unwrap(), engine.textures().unwrap().stats());
        // Nobody is fed, and so nobody hears a word that says another space.
        assert_eq!((stats.feedback_requests, stats.unique_requests), (0, 0));
        assert_eq!(stats.pages_drawn, 17, "more than the locked pages was drawn");
        // Every one of them has its own.
        let planner = engine.textures().unwrap().planner();
        assert!(ids.iter().all(|id| planner.is_ready(*id, Region::ALL, 3)));
        // It shows what is asked for by hand.
        let planner = engine.textures_mut().unwrap().planner_mut();
        planner.request_preload(ground.surface, Region::ALL, 2).unwrap();
        (0..20).for_each(|_| draw(&mut engine, camera));
        let textures = engine.textures().unwrap();
        assert!(textures.planner().is_ready(ground.surface, Region::ALL, 2));
        let finer = engine.read_back().unwrap();
        assert!(difference(&blurred, &finer).0 > 20, "{:?}", difference(&blurred, &finer));
        // And once there is a place, feedback comes.
        let textures = engine.textures_mut().unwrap();
        textures.destroy_texture(ids[3]).unwrap();
        engine.use_ground_textures(&desc).unwrap();
        (0..8).for_each(|_| draw(&mut engine, camera));
        let stats = engine.textures().unwrap().stats();
        assert!(stats.unfed_textures == 0 && stats.feedback_requests > 0 && stats.pages_drawn > 100);
        println!("17 spaces: no request while unfed, {} afterwards", stats.feedback_requests);
    });
}
