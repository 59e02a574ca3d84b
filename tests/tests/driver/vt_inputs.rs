//! What pages are drawn from and what the main pass leaves out: inputs that come late, primitives whose picture is in the
//! ground, pools and samplers that follow what is turned.

use ash::vk::Handle as _;
use glam::{Vec2, Vec3};
use vasa::scene::gpu_scene::InstanceDesc;
use vasa::vt::runtime::{
    Attributes, Kind, Look, MainPass, Rectangle, RibbonKnot, Shape, Volume, WriterDesc, WriterId,
};
use vasa::vt::{Options, Priority, Quality, Region, RuntimeTextureDesc};
use vasa_tests::ground::{Ground, difference, is_same, options};
use vasa_tests::on_device;
use vasa_tests::scenes::{self, add_hills, cube};

#[test]
fn pages_that_were_drawn_before_the_terrain_came_are_drawn_again() {
    on_device(|h| {
        let mut whole = Ground::new(&h.device, options());
        let camera = whole.camera(0.05);
        whole.settle(&[camera], 200);

        let mut ground = Ground::new(&h.device, options());
        ground.engine.scene_mut().set_terrain(None).unwrap();
        let surface = ground.ground.surface;
        ground.textures_mut().planner_mut().request_preload(surface, Region::ALL, 2).unwrap();
        (0..12).for_each(|_| ground.draw(camera));
        let early = ground.stats();
        // The pages are there, and nobody takes them for what they will be.
        assert!(early.textures[0].resident_per_level[2] == 256 && early.pages_drawn > 256, "{early:?}");
        assert!(!ground.textures().planner().is_ready(surface, Region::ALL, 2));
        (0..4).for_each(|_| ground.draw(camera));
        assert_eq!(ground.stats().pages_drawn, early.pages_drawn, "nothing better has come");

        let hills = ground.surface.clone();
        add_hills(&mut ground.engine, &hills);
        ground.settle(&[camera], 200);
        let late = ground.stats();
        assert!(
            late.pages_redrawn - early.pages_redrawn >= early.pages_drawn,
            "{} of {} were drawn again",
            late.pages_redrawn - early.pages_redrawn,
            early.pages_drawn
        );
        assert_eq!(late.invalidations, early.invalidations, "no writer has changed");
        assert!(ground.textures().planner().is_ready(surface, Region::ALL, 2));
        let (a, b) = (whole.picture(), ground.picture());
        assert!(is_same(&a, &b), "{:?}", difference(&a, &b));
    });
}

/// A stamp on the hills, seen by [`Ground::above`] the same place.
const PLACE: Vec2 = Vec2::new(200.0, -300.0);

fn stamp(look: Look) -> WriterDesc {
    let rectangle = Rectangle { centre: PLACE, along: Vec2::X, half: Vec2::splat(30.0) };
    WriterDesc {
        look,
        attributes: Attributes::BASE_COLOR,
        ..WriterDesc::new("Stamp", Shape::Decal(rectangle))
    }
}

#[test]
fn a_stamp_that_becomes_sharper_is_drawn_again_and_nothing_else() {
    on_device(|h| {
        let mut ground = Ground::new(&h.device, options());
        let camera = ground.above(PLACE.x, PLACE.y, 160.0);
        let blurred =
            WriterDesc { quality: Quality(10), ..stamp(Look { colour: [0.9, 0.1, 0.1], ..Look::default() }) };
        let id = ground.textures_mut().writers_mut().add(blurred).unwrap();
        ground.settle(&[camera], 200);
        let before = ground.stats();
        ground.textures_mut().writers_mut().set_quality(id, Quality::FULL).unwrap();
        ground.settle(&[camera], 200);
        let after = ground.stats();
        let drawn = after.pages_drawn - before.pages_drawn;
        assert_eq!(after.pages_redrawn - before.pages_redrawn, drawn, "all of them were there");
        let resident = u64::from(before.textures[0].resident);
        assert!(drawn > 4 && drawn < resident / 2, "{drawn} of {resident}");
        assert_eq!(after.invalidations, before.invalidations);
        ground.textures_mut().writers_mut().set_quality(id, Quality::FULL).unwrap();
        (0..4).for_each(|_| ground.draw(camera));
        assert_eq!(ground.stats().pages_drawn, after.pages_drawn, "it was as good before");
    });
}

#[test]
fn primitives_in_the_ground_are_left_out_of_the_main_pass() {
    on_device(|h| {
        let mut ground = Ground::new(&h.device, options());
        let camera = ground.above(PLACE.x, PLACE.y, 160.0);
        let bare = {
            ground.settle(&[camera], 200);
            ground.picture()
        };
        let height = ground.surface.height(PLACE.x, PLACE.y, 0.0);
        let scene = ground.engine.scene_mut();
        let mesh = scene.add_mesh(&cube(), [0.9, 0.05, 0.05], 0.5).unwrap();
        let primitive = scene.primitive(mesh).unwrap();
        let at = |scale| InstanceDesc::at(primitive, [PLACE.x, height + 4.0, PLACE.y], scale);
        let instances = scene.add_instances(&[at(20.0)]).unwrap();
        ground.settle(&[camera], 200);
        let standing = ground.picture();
        assert!(difference(&bare, &standing).0 > 40, "the cube is not seen");

        // A volume of its own over the place: what it shows is of no interest, only whether it hides.
        let volume = Volume::new([100.0, -400.0], [200.0, 200.0], [-100.0, 3000.0]).unwrap();
        let desc =
            RuntimeTextureDesc { tile: 64, ..RuntimeTextureDesc::new("Over", volume, Kind::BaseColor, 8) };
        let hiding = RuntimeTextureDesc { volume: volume.hiding_primitives(), ..desc.clone() };
        let over = ground.engine.create_texture(&desc).unwrap();
        // It writes nothing that the ground stores.
        let writer = |main_pass| WriterDesc {
            instances: Some(instances),
            main_pass,
            opacity: 0.0,
            ..stamp(Look::default())
        };
        let id: WriterId =
            ground.textures_mut().writers_mut().add(writer(MainPass::FromVirtualTexture)).unwrap();
        let looks = |ground: &mut Ground, what: &str, expected: &[u8]| {
            // What is there of the ground stays; the volume's own pages are of no interest.
            (0..4).for_each(|_| ground.draw(camera));
            let picture = ground.picture();
            assert!(is_same(expected, &picture), "{what}: {:?}", difference(expected, &picture));
        };
        looks(&mut ground, "a volume that hides nothing", &standing);
        ground.textures_mut().destroy_texture(over).unwrap();
        let over = ground.engine.create_texture(&hiding).unwrap();
        looks(&mut ground, "one that does", &bare);
        // Hidden instances that are written stay hidden.
        ground.engine.scene_mut().write_instances(instances, &[at(21.0)]).unwrap();
        looks(&mut ground, "written while hidden", &bare);
        ground.engine.scene_mut().write_instances(instances, &[at(20.0)]).unwrap();
        ground.textures_mut().writers_mut().set(id, writer(MainPass::Always)).unwrap();
        looks(&mut ground, "always", &standing);
        ground.textures_mut().writers_mut().set(id, writer(MainPass::Never)).unwrap();
        looks(&mut ground, "never", &bare);
        ground.textures_mut().writers_mut().set(id, writer(MainPass::FromVirtualTexture)).unwrap();
        looks(&mut ground, "again", &bare);
        ground.textures_mut().destroy_texture(over).unwrap();
        looks(&mut ground, "the volume is gone", &standing);
        let over = ground.engine.create_texture(&hiding).unwrap();
        looks(&mut ground, "and back", &bare);
        ground.textures_mut().writers_mut().remove(id).unwrap();
        looks(&mut ground, "the writer is gone", &standing);
        ground.textures_mut().writers_mut().add(writer(MainPass::Never)).unwrap();
        looks(&mut ground, "another writer", &bare);
        // Without virtual textures there is nothing to hide for.
        ground.textures_mut().destroy_texture(over).unwrap();
        ground.engine.use_textures(options()).unwrap();
        ground.ground = ground.engine.use_ground_textures(&vasa_tests::ground::small_pages()).unwrap();
        ground.settle(&[camera], 200);
        looks(&mut ground, "other virtual textures", &standing);
    });
}

#[test]
fn pools_go_with_their_last_texture_and_come_again() {
    on_device(|h| {
        let mut ground = Ground::new(&h.device, options());
        let camera = ground.camera(0.05);
        ground.settle(&[camera], 200);
        let pools = ground.stats().pools.len();
        let bytes = |ground: &Ground| ground.engine.stats().memory.usage_bytes;
        let mut left = Vec::new();
        let volume = Volume::new([-400.0; 2], [800.0; 2], [-100.0, 2000.0]).unwrap();
        let desc = RuntimeTextureDesc {
            tile: 32,
            priority: Priority::High,
            ..RuntimeTextureDesc::new("Small", volume, Kind::BaseColor, 16)
        };
        for _ in 0..3 {
            let first = ground.engine.create_texture(&desc).unwrap();
            let second = ground.engine.create_texture(&desc).unwrap();
            (0..3).for_each(|_| ground.draw(camera));
            assert_eq!(ground.stats().pools.len(), pools + 1);
            let full = bytes(&ground);
            ground.textures_mut().destroy_texture(first).unwrap();
            ground.draw(camera);
            assert_eq!(ground.stats().pools.len(), pools + 1, "one texture is left");
            // In one frame another takes its place: the pool stays.
            ground.textures_mut().destroy_texture(second).unwrap();
            let third = ground.engine.create_texture(&desc).unwrap();
            ground.draw(camera);
            assert_eq!(ground.stats().pools.len(), pools + 1);
            ground.textures_mut().destroy_texture(third).unwrap();
            (0..3).for_each(|_| ground.draw(camera));
            h.settle();
            ground.engine.sparse().trim();
            assert_eq!(ground.stats().pools.len(), pools);
            left.push(bytes(&ground));
            assert!(full >= bytes(&ground) + (6 << 20), "an atlas of 8 MiB is still there: {full}, {left:?}");
        }
        // Targets that pages are drawn into stay.
        assert!(left.windows(2).all(|pair| pair[0] == pair[1]), "{left:?}");
        let stats = ground.stats();
        assert_eq!((stats.textures_created, stats.textures_destroyed), (3 + 9, 9));
    });
}

#[test]
fn height_and_displacement_lie_in_one_atlas_of_a_split_pool() {
    on_device(|h| {
        let mut whole = Ground::new(&h.device, options());
        let mut split = Ground::new(&h.device, Options { pool_split_tiles: 12, ..options() });
        let camera = whole.above(PLACE.x, PLACE.y, 40.0);
        assert!(split.stats().pools.len() > whole.stats().pools.len() + 1, "{}", split.stats().pools_text());
        assert!(split.ground.displacement.is_some());
        whole.settle(&[camera], 300);
        split.settle(&[camera], 300);
        assert!(split.stats().mip_bias_max == 0.0, "{}", split.stats().pools_text());
        let (a, b) = (whole.picture(), split.picture());
        assert!(is_same(&a, &b), "{:?}", difference(&a, &b));
    });
}

#[test]
fn anisotropy_can_be_turned_on_while_frames_are_drawn() {
    on_device(|h| {
        let mut ground = Ground::new(&h.device, options());
        let camera = ground.camera(0.05);
        ground.settle(&[camera], 200);
        let (plain, sampler) = (ground.picture(), ground.textures().sampler().raw().as_raw());
        let on = Options { anisotropy: true, ..options() };
        ground.textures_mut().set_options(on);
        assert_ne!(ground.textures().sampler().raw().as_raw(), sampler);
        ground.settle(&[camera], 200);
        let mut other = Ground::new(&h.device, on);
        other.settle(&[camera], 200);
        let (turned, from_the_start) = (ground.picture(), other.picture());
        assert!(is_same(&turned, &from_the_start), "{:?}", difference(&turned, &from_the_start));
        assert!(difference(&plain, &turned).0 > 4, "nothing is sharper");
        ground.textures_mut().set_options(options());
        ground.settle(&[camera], 200);
        assert_eq!(ground.textures().sampler().raw().as_raw(), sampler);
        let again = ground.picture();
        assert!(is_same(&plain, &again), "{:?}", difference(&plain, &again));
    });
}

#[test]
fn another_origin_keeps_every_page() {
    on_device(|h| {
        let mut engine = scenes::engine(&h.device, 2);
        engine.use_textures(options()).unwrap();
        let far = Vec3::new(48_000.0, 700.0, -31_000.0);
        let volume = Volume::new([far.x, far.z], [512.0, 512.0], [far.y - 50.0, far.y + 50.0]).unwrap();
        let textures = [Kind::BaseColor, Kind::WorldHeight].map(|kind| {
            let desc = RuntimeTextureDesc {
                tile: 64,
                locked_from: Some(0),
                ..RuntimeTextureDesc::new("Far", volume, kind, 8)
            };
            engine.create_texture(&desc).unwrap()
        });
        let mesh = engine.scene_mut().add_mesh(&cube(), [0.1, 0.2, 0.9], 0.5).unwrap();
        let at = |x: f32, z: f32| Vec2::new(far.x + x, far.z + z);
        let decal =
            Rectangle { centre: at(200.0, 240.0), along: Vec2::from_angle(0.3), half: Vec2::new(90.0, 40.0) };
        let knots = [(20.0, 30.0), (260.0, 380.0), (500.0, 300.0)]
            .map(|(x, z)| RibbonKnot { place: at(x, z), half_width: 9.0 });
        let rows =
            [[30.0, 0.0, 0.0, far.x + 400.0], [0.0, 10.0, 0.0, far.y], [0.0, 0.0, 30.0, far.z + 120.0]];
        let look = Look { colour: [0.8, 0.3, 0.1], height: far.y + 12.0, ..Look::default() };
        let shapes = [
            Shape::Decal(decal),
            Shape::Ribbon(knots.to_vec()),
            Shape::Mesh { mesh, bounds: [-Vec3::ONE, Vec3::ONE], rows },
        ];
        let writers = engine.textures_mut().unwrap().writers_mut();
        for shape in shapes {
            writers.add(WriterDesc { look, ..WriterDesc::new("Far", shape) }).unwrap();
        }
        let draw = |engine: &mut vasa::Engine| {
            for _ in 0..6 {
                scenes::draw(engine, vasa::scene::Camera::default());
            }
            let pictures = textures.map(|id| engine.texture_view(id, Region::ALL, [256; 2]).unwrap());
            (pictures, engine.textures().unwrap().stats().pages_drawn)
        };
        let (before, drawn) = draw(&mut engine);
        for (picture, what) in before.iter().zip(["colour", "height"]) {
            let first = &picture[..4];
            assert!(picture.chunks_exact(4).any(|pixel| pixel != first), "{what}: nothing is drawn");
        }
        engine.textures_mut().unwrap().shift_origin(far).unwrap();
        let writers = engine.textures().unwrap().writers();
        for id in textures {
            let moved = writers.texture(id).unwrap().volume;
            assert_eq!((moved.corner(), moved.heights()), (Vec2::ZERO, [-50.0, 50.0]));
        }
        let first = &writers
            .writers()
            .find(|(_, writer)| matches!(writer.desc.shape, Shape::Decal(_)))
            .unwrap()
            .1
            .desc;
        let Shape::Decal(there) = first.shape else { panic!("a decal is one") };
        assert_eq!((there.centre, first.look.height), (Vec2::new(200.0, 240.0), 12.0));
        let (shifted, after) = draw(&mut engine);
        assert_eq!((shifted == before, after), (true, drawn), "a page was drawn for it");
        // Drawn at the new place they are the same, but for what the old one rounded away.
        engine.textures_mut().unwrap().flush();
        let (anew, after) = draw(&mut engine);
        assert!(after > drawn);
        for (a, b) in before.iter().zip(&anew) {
            let (_, mean) = difference(a, b);
            assert!(mean < 0.2, "{:?}", difference(a, b));
        }
        // Terrain is where it is.
        let rectangle = Rectangle { centre: Vec2::ZERO, along: Vec2::X, half: Vec2::splat(10.0) };
        let textures = engine.textures_mut().unwrap();
        textures.writers_mut().add(WriterDesc::new("Hills", Shape::Terrain(rectangle))).unwrap();
        let error = textures.shift_origin(Vec3::X).unwrap_err().to_string();
        assert!(error.contains("Hills"), "{error}");
    });
}
