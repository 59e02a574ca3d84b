//! Effects after the base pass: each changes the picture where it should, and nowhere else.

use glam::Vec3;
use vasa::Engine;
use vasa::graph::{GraphOptions, Order};
use vasa::render::{RenderOptions, Switch, View};
use vasa::scene::Camera;
use vasa_tests::harness::{Harness, on_device};
use vasa_tests::scenes::{self, EXTENT, add_hills, cube, engine_with, flight, hills, placed};

/// Everything on.
const ALL: RenderOptions = RenderOptions {
    ambient_occlusion: Switch::On,
    bloom: Switch::On,
    temporal: Switch::On,
    auto_exposure: Switch::On,
    ..RenderOptions::PLAIN
};

/// Over the hills, a little above the ground, with the horizon in the picture.
fn camera() -> Camera {
    flight(&hills(), 0.33)
}

fn render(engine: &mut Engine, view: &View, extent: [u32; 2]) {
    engine.render(view, extent, None).unwrap();
}

/// The picture of a still view of the hills after some frames.
fn hills_picture(h: &Harness, options: RenderOptions, view: &View, frames: u32, extent: [u32; 2]) -> Vec<u8> {
    let mut engine = engine_with(&h.device, 2, options);
    add_hills(&mut engine, &hills());
    for _ in 0..frames {
        render(&mut engine, view, extent);
    }
    engine.read_back().unwrap()
}

/// Cubes on a larger one, as if on a table.
fn table(engine: &mut Engine) {
    let scene = engine.scene_mut();
    let mesh = scene.add_mesh(&cube(), [0.5; 3], 0.9).unwrap();
    let primitive = scene.primitive(mesh).unwrap();
    let mut places = vec![placed(primitive, Vec3::new(0.0, -30.0, 0.0), 30.0)];
    places.extend(
        (0..4u8).map(|i| {
            placed(primitive, Vec3::new(3.0 * f32::from(i) - 4.5, 1.0, 3.0 * f32::from(i % 2)), 1.0)
        }),
    );
    scene.add_instances(&places).unwrap();
}

fn table_view() -> View {
    scenes::view(Camera::looking_at(Vec3::new(4.0, 6.0, 14.0), Vec3::new(0.0, 1.0, 0.0)))
}

fn table_picture(h: &Harness, options: RenderOptions, view: &View) -> Vec<u8> {
    let mut engine = engine_with(&h.device, 2, options);
    table(&mut engine);
    render(&mut engine, view, EXTENT);
    engine.read_back().unwrap()
}

/// Display values of a picture, three a pixel.
fn values(picture: &[u8]) -> impl Iterator<Item = i32> + '_ {
    picture.chunks_exact(4).flat_map(|p| [p[0], p[1], p[2]]).map(i32::from)
}

/// Mean of a - b, and the largest and smallest.
fn difference(a: &[u8], b: &[u8]) -> (f64, i32, i32) {
    assert_eq!(a.len(), b.len());
    let all: Vec<i32> = values(a).zip(values(b)).map(|(a, b)| a - b).collect();
    let mean = all.iter().map(|d| f64::from(*d)).sum::<f64>() / all.len() as f64;
    (mean, all.iter().copied().max().unwrap_or(0), all.iter().copied().min().unwrap_or(0))
}

fn mean_error(a: &[u8], b: &[u8]) -> f64 {
    let count = a.len() as f64 * 0.75;
    values(a).zip(values(b)).map(|(a, b)| f64::from((a - b).abs())).sum::<f64>() / count
}

#[test]
fn ambient_occlusion_takes_ambient_light_alone_and_none_from_the_sky() {
    on_device(|h| {
        let on = RenderOptions { ambient_occlusion: Switch::On, ..RenderOptions::PLAIN };
        let view = table_view();
        // Only the sky: what it shows anywhere is what it shows behind the cubes.
        let mut empty = engine_with(&h.device, 2, RenderOptions::PLAIN);
        render(&mut empty, &view, EXTENT);
        let sky = empty.read_back().unwrap();
        let (plain, occluded) = (table_picture(h, RenderOptions::PLAIN, &view), table_picture(h, on, &view));
        let pixel = |picture: &[u8], x: u32, y: u32| {
            let at = ((y * EXTENT[0] + x) * 4) as usize;
            [picture[at], picture[at + 1], picture[at + 2]]
        };
        let is_sky = |x: u32, y: u32| pixel(&plain, x, y) == pixel(&sky, x, y);
        let (mut skies, mut darker, mut brighter) = (0, 0, 0);
        for y in 4..EXTENT[1] - 4 {
            for x in 4..EXTENT[0] - 4 {
                let (a, b) = (pixel(&plain, x, y), pixel(&occluded, x, y));
                // Away from edges, which are blended with what lies on their other side.
                if (y - 4..=y + 4).all(|y| (x - 4..=x + 4).all(|x| is_sky(x, y))) {
                    skies += 1;
                    assert_eq!(a, b, "the sky at {x}, {y}");
                }
                darker += u32::from(b[1] + 1 < a[1]);
                brighter += u32::from(b[1] > a[1].saturating_add(1));
            }
        }
        assert!(skies > 500, "{skies} pixels of sky");
        assert!(darker > 60, "{darker} pixels darker");
        assert!(brighter <= 20, "{brighter} pixels brighter");
        // Where no sun shines all light is ambient: more of it is gone.
        let mut shade = view;
        shade.atmosphere.sun_colour = Vec3::ZERO;
        shade.atmosphere.sky_colour *= 4.0;
        let lit = mean_error(&plain, &occluded);
        let dim = mean_error(&table_picture(h, RenderOptions::PLAIN, &shade), &table_picture(h, on, &shade));
        assert!(dim > lit * 1.2, "{dim} in the shade, {lit} in the sun");
    });
}

#[test]
fn bloom_adds_light_around_what_is_bright_and_nothing_elsewhere() {
    on_device(|h| {
        let on = RenderOptions { bloom: Switch::On, ..RenderOptions::PLAIN };
        let mut view = table_view();
        let sun = view.atmosphere.sun;
        view.camera = Camera::looking_at(view.camera.position, view.camera.position + sun * 1000.0);
        let (mean, most, least) =
            difference(&table_picture(h, on, &view), &table_picture(h, RenderOptions::PLAIN, &view));
        let of = |options, view: &View| hills_picture(h, options, view, 2, EXTENT);
        assert!(most >= 4, "at most {most} brighter around the sun");
        // Rounding, and edges that are blended where brightness now jumps a little differently.
        assert!(least >= -24, "{least}");
        assert!(mean > 0.02 && mean < 10.0, "{mean} brighter on average");
        let mut dim = scenes::view(camera());
        dim.atmosphere.sun_colour *= 0.2;
        assert_eq!(of(on, &dim), of(RenderOptions::PLAIN, &dim), "nothing is bright");
    });
}

/// A picture at a quarter of the sides: means over 4 x 4 pixels, of light rather than of display values.
fn shrunk(picture: &[u8], [width, height]: [u32; 2]) -> Vec<u8> {
    let mut small = Vec::new();
    for y in 0..height / 4 {
        for x in 0..width / 4 {
            for channel in 0..4 {
                let at = |i: u32| ((y * 4 + i / 4) * width + x * 4 + i % 4) * 4 + channel;
                let sum: f32 = (0..16).map(|i| (f32::from(picture[at(i) as usize]) / 255.0).powf(2.2)).sum();
                small.push(((sum / 16.0).powf(1.0 / 2.2) * 255.0).round() as u8);
            }
        }
    }
    small
}

#[test]
fn a_still_view_settles_near_a_picture_of_many_samples() {
    on_device(|h| {
        let view = scenes::view(camera());
        let options = RenderOptions { temporal: Switch::On, ..RenderOptions::PLAIN };
        let large = EXTENT.map(|side| side * 4);
        let reference = shrunk(&hills_picture(h, RenderOptions::PLAIN, &view, 2, large), large);
        let plain = hills_picture(h, RenderOptions::PLAIN, &view, 2, EXTENT);
        let mut engine = engine_with(&h.device, 2, options);
        add_hills(&mut engine, &hills());
        let mut after = |frames: u32| {
            (0..frames).for_each(|_| render(&mut engine, &view, EXTENT));
            engine.read_back().unwrap()
        };
        let (settled, next, round) = (after(48), after(1), after(7));
        let (mine, without) = (mean_error(&settled, &reference), mean_error(&plain, &reference));
        println!("mean error {mine} with, {without} without");
        assert!(mine < without * 0.8, "{mine} with, {without} without");
        assert!(mine < 4.0, "{mine}");
        assert!(mean_error(&settled, &next) < 0.6, "{}", mean_error(&settled, &next));
        assert!(mean_error(&settled, &round) < 0.2, "{}", mean_error(&settled, &round));
    });
}

#[test]
fn no_history_is_read_after_a_cut_or_a_resize() {
    on_device(|h| {
        let options =
            RenderOptions { temporal: Switch::On, auto_exposure: Switch::On, ..RenderOptions::PLAIN };
        let first = table_view();
        let mut second = first;
        second.camera = Camera::looking_at(Vec3::new(5.0, 7.0, 13.0), Vec3::new(0.5, 1.0, 0.0));
        let small = [128, 72];
        let fresh = |view: &View, extent| {
            let mut engine = engine_with(&h.device, 2, options);
            table(&mut engine);
            render(&mut engine, view, extent);
            engine.read_back().unwrap()
        };
        // Eight frames: the ninth samples where the first does.
        let after = |extent, cut: bool| {
            let mut engine = engine_with(&h.device, 2, options);
            table(&mut engine);
            (0..8).for_each(|_| render(&mut engine, &first, EXTENT));
            if cut {
                engine.cut();
            }
            render(&mut engine, &second, extent);
            engine.read_back().unwrap()
        };
        assert!(after(EXTENT, true) == fresh(&second, EXTENT), "something is left after a cut");
        assert!(after(EXTENT, false) != fresh(&second, EXTENT), "without a cut the past shows");
        // The exposure goes on over a resize, and the light is the same.
        let (resized, begun) = (after(small, false), fresh(&second, small));
        assert!(mean_error(&resized, &begun) < 0.5, "{}", mean_error(&resized, &begun));
    });
}

#[test]
fn the_exposure_comes_to_the_same_from_dark_and_from_bright() {
    on_device(|h| {
        let options = RenderOptions { auto_exposure: Switch::On, ..RenderOptions::PLAIN };
        let light = |strength: f32, time: f32| {
            let mut view = scenes::view(camera());
            view.atmosphere.sun_colour *= strength;
            view.atmosphere.sky_colour *= strength;
            View { time, ..view }
        };
        let run = |strengths: &[f32]| {
            let mut engine = engine_with(&h.device, 2, options);
            add_hills(&mut engine, &hills());
            for (i, strength) in strengths.iter().enumerate() {
                render(&mut engine, &light(*strength, i as f32 * 0.2), EXTENT);
            }
            engine.wait_idle().unwrap();
            engine.renderer().exposure().exposure
        };
        let from = |strength| {
            let mut strengths = vec![strength; 3];
            strengths.extend([1.0; 40]);
            run(&strengths)
        };
        let (at_once, dark, bright) = (run(&[1.0, 1.0]), from(0.02), from(20.0));
        println!("exposure {at_once}, {dark} from dark, {bright} from bright");
        assert!(at_once > 0.1 && at_once < 10.0, "{at_once}");
        for (name, found) in [("dark", dark), ("bright", bright)] {
            assert!((found / at_once - 1.0).abs() < 0.02, "{found} from {name}, {at_once} at once");
        }
        let (night, noon) = (run(&[0.02]), run(&[20.0]));
        assert!(night > at_once && noon < at_once, "{night} at night, {noon} at noon, {at_once}");
        // One step on from the night is not there yet.
        let one = run(&[0.02, 0.02, 1.0]);
        assert!(one < night && one > at_once * 1.02, "{one}");
    });
}

/// The last picture of a flight with everything on.
fn flown(h: &Harness, options: RenderOptions, graph: GraphOptions) -> Vec<u8> {
    let surface = hills();
    let mut engine = engine_with(&h.device, 2, options);
    engine.graph_mut().set_options(graph);
    add_hills(&mut engine, &surface);
    for frame in 0..8u8 {
        let time = f32::from(frame) / 60.0;
        let view = View { time, ..scenes::view(flight(&surface, 0.3 + 0.002 * f32::from(frame))) };
        render(&mut engine, &view, EXTENT);
    }
    engine.read_back().unwrap()
}

#[test]
fn orders_of_passes_and_shared_memory_change_no_bit() {
    on_device(|h| {
        for samples in [1, 4] {
            let options = RenderOptions { samples, ..ALL };
            let usual = flown(h, options, GraphOptions::default());
            for aliasing in [true, false] {
                for order in [Order::Declared, Order::Random(7), Order::Random(1234)] {
                    let graph = GraphOptions { aliasing, order, ..Default::default() };
                    let found = flown(h, options, graph);
                    assert!(found == usual, "{samples} samples, {graph:?}");
                }
            }
        }
    });
}

#[test]
fn a_steady_frame_with_every_effect_makes_no_object() {
    on_device(|h| {
        let surface = hills();
        let mut engine = engine_with(&h.device, 2, ALL);
        add_hills(&mut engine, &surface);
        let camera = flight(&surface, 0.3);
        let mut draw = |frames: std::ops::Range<u16>| {
            for frame in frames {
                let time = f32::from(frame) / 60.0;
                render(&mut engine, &View { time, ..scenes::view(camera) }, EXTENT);
            }
            engine.sparse().wait_for_ahead();
            engine.device().object_counts().created
        };
        let before = draw(0..90);
        assert_eq!(draw(90..140), before, "objects made in 50 frames");
        let graph = engine.stats().graph;
        assert!(graph.transient_bytes < graph.transient_unaliased_bytes, "{graph:?}");
    });
}
