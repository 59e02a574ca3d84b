//! Pages of runtime virtual textures: what is drawn into their targets is what the CPU says, texel for texel, and a border
//! holds what the neighbour holds.

use std::sync::Arc;

use ash::vk::{Format, ImageUsageFlags};
use glam::{Vec2, Vec3};
use vasa::Engine;
use vasa::memory::staging::upload_images;
use vasa::vk::{Image, ImageDesc};
use vasa::vt::runtime::{
    Attributes, KindOptions, Look, PageShape, Paint, Rectangle, Registry, RibbonKnot, RuntimeKind,
    RuntimeTexture, Shape, StampImage, Volume, WriterDesc,
};
use vasa::vt::{Grid, PageAddress};
use vasa_tests::pages::{DrawnPage, Pages, camera, pattern_targets, step, texture_id, work};
use vasa_tests::scenes::{self, add_hills, cube, draw, hills};
use vasa_tests::{Harness, on_device};

const MASK_KIND: RuntimeKind = RuntimeKind::BaseColorNormalSpecularMaskYCoCg;

/// 16 x 8 pages of 64 texels, 4 m a texel, somewhere off the origin.
fn texture(kind: RuntimeKind) -> RuntimeTexture {
    let volume = Volume::new([-1500.0, -700.0], [4096.0, 2048.0], [-10.0, 90.0]).unwrap();
    let shape = PageShape::new(Grid::new([16, 8], 0).unwrap(), 64, 4).unwrap();
    RuntimeTexture { displacements: [-1.0, 3.0], ..RuntimeTexture::new("ground", volume, shape, kind) }
}

fn everywhere() -> Rectangle {
    Rectangle::around(Vec2::splat(-20_000.0), Vec2::splat(20_000.0))
}

/// A registry of one texture with the calibration pattern below everything.
fn patterned(texture: &RuntimeTexture) -> Registry {
    let mut registry = Registry::new();
    registry.set_texture(texture_id(), texture.clone());
    registry.add(WriterDesc::new("pattern", Shape::Pattern(everywhere()))).unwrap();
    registry
}

fn decal(name: &str, centre: Vec2, half: Vec2, angle: f32, look: Look) -> WriterDesc {
    let shape = Shape::Decal(Rectangle { centre, along: Vec2::from_angle(angle), half });
    WriterDesc { look, ..WriterDesc::new(name, shape) }
}

fn coloured(colour: [f32; 3]) -> Look {
    Look { colour, ..Look::default() }
}

fn page(level: u8, x: u16, y: u16) -> PageAddress {
    PageAddress::new(level, x, y)
}

fn one(h: &Harness, engine: &Engine, registry: &Registry, at: PageAddress) -> DrawnPage {
    Pages::new(h).draw(h, engine, registry, &[work(0, 1, at)]).remove(0)
}

#[test]
fn pattern_pages_are_those_of_the_cpu_at_every_level_and_of_every_kind() {
    on_device(|h| {
        let engine = scenes::engine(&h.device, 2);
        let low = KindOptions { is_low_quality: true, ..KindOptions::default() };
        let kinds = RuntimeKind::ALL.map(|kind| (kind, KindOptions::default()));
        for (kind, options) in kinds.into_iter().chain([(RuntimeKind::BaseColorNormalRoughness, low)]) {
            for angle in [0.0, 0.7] {
                let mut texture = texture(kind);
                texture.volume = texture.volume.turned(angle);
                texture.groups = vec![(kind, options)];
                let registry = patterned(&texture);
                let pages = [
                    page(0, 0, 0),
                    page(0, 15, 7),
                    page(1, 3, 2),
                    page(2, 3, 1),
                    page(3, 1, 0),
                    page(4, 0, 0),
                ];
                let works: Vec<_> = (1..).zip(pages).map(|(index, page)| work(0, index, page)).collect();
                let drawn = Pages::new(h).draw(h, &engine, &registry, &works);
                assert_eq!(drawn.len(), pages.len());
                for drawn in drawn {
                    let camera = camera(&texture, drawn.page);
                    assert_eq!(drawn.side, 72);
                    let mut worst = 0f32;
                    for (i, j) in (0..72).flat_map(|j| (0..72).map(move |i| (i, j))) {
                        let expected = pattern_targets(&texture, (kind, options), camera.centre(i, j));
                        for (target, expected) in expected.iter().enumerate() {
                            let (texel, format) = (drawn.texel(target, i, j), drawn.targets[target].0);
                            for (channel, expected) in
                                expected.iter().enumerate().filter(|(_, e)| !e.is_nan())
                            {
                                let steps = (texel[channel] - expected).abs() / step(format);
                                worst = worst.max(steps);
                                // Rounded to the nearest step; 16 bits see the last bits of the arithmetic.
                                assert!(
                                    steps <= if kind.is_height() { 2.0 } else { 1.0 },
                                    "{kind} {} ({i}, {j}) target {target} channel {channel}: {} is not {expected}",
                                    drawn.page,
                                    texel[channel]
                                );
                            }
                        }
                    }
                    assert!(
                        worst
                            < if kind.is_height() {
                                2.0
                            } else {
                                if options.is_low_quality { 1.0 } else { 0.75 }
                            },
                        "{kind} {}: {worst} steps",
                        drawn.page
                    );
                }
            }
        }
    });
}

/// Decals and roads of all paints, slanted, over the corner where four pages of level 0 meet.
fn busy(texture: &RuntimeTexture) -> Registry {
    let mut registry = patterned(texture);
    let corner = texture.volume.place(Vec2::new(4.0 / 16.0, 3.0 / 8.0));
    let paints = [Paint::Solid, Paint::Crater, Paint::Road, Paint::Tracks];
    for (i, paint) in paints.into_iter().enumerate() {
        let look = Look { paint, relief: 3.0, feather: 9.0, period: 40.0, ..coloured([0.7, 0.2, 0.1]) };
        let at = corner + Vec2::new(30.0 * i as f32 - 40.0, 25.0 - 17.0 * i as f32);
        let desc = decal("stamp", at, Vec2::new(90.0, 35.0), 0.4 + i as f32, look);
        registry.add(WriterDesc { opacity: 0.6, ..desc }).unwrap();
        let knot = |x: f32, z: f32| RibbonKnot { place: corner + Vec2::new(x, z), half_width: 11.0 };
        let z = 20.0 * i as f32 - 30.0;
        let knots = vec![knot(-400.0, z), knot(-33.0, z + 7.0), knot(21.0, z - 40.0), knot(300.0, z + 90.0)];
        let road = WriterDesc { look, opacity: 0.7, ..WriterDesc::new("road", Shape::Ribbon(knots)) };
        registry.add(road).unwrap();
    }
    registry
}

/// How many texels of two neighbours' common columns and rows differ, of how many.
fn seam(drawn: &[DrawnPage], tile: u32) -> (usize, usize) {
    let (mut differ, mut all) = (0, 0);
    for a in drawn {
        for b in drawn.iter().filter(|b| b.page.level == a.page.level) {
            let shift = |from: u16, to: u16| (i64::from(to) - i64::from(from)) * i64::from(tile);
            let (dx, dy) = (shift(a.page.x, b.page.x), shift(a.page.y, b.page.y));
            if (dx, dy) == (0, 0) {
                continue;
            }
            let side = i64::from(a.side);
            for (i, j) in (0..side).flat_map(|j| (0..side).map(move |i| (i, j))) {
                let (bi, bj) = (i - dx, j - dy);
                if (0..side).contains(&bi) && (0..side).contains(&bj) {
                    for target in 0..a.targets.len() {
                        all += 1;
                        let same =
                            a.bytes(target, i as u32, j as u32) == b.bytes(target, bi as u32, bj as u32);
                        differ += usize::from(!same);
                    }
                }
            }
        }
    }
    (differ, all)
}

#[test]
fn borders_hold_what_the_neighbours_hold_to_the_last_bit() {
    on_device(|h| {
        let engine = scenes::engine(&h.device, 2);
        for (angle, kind) in [(0.0, MASK_KIND), (0.7, MASK_KIND), (0.0, RuntimeKind::WorldHeight)] {
            let mut texture = texture(kind);
            texture.volume = texture.volume.turned(angle);
            let registry = busy(&texture);
            let four = |level: u8, x: u16, y: u16| {
                [(0, 0), (1, 0), (0, 1), (1, 1)].map(move |(a, b)| page(level, x + a, y + b))
            };
            let pages =
                four(0, 3, 2).into_iter().chain(four(1, 1, 0)).chain(four(2, 0, 0)).chain([page(3, 0, 0)]);
            let works: Vec<_> = (1..).zip(pages).map(|(index, page)| work(0, index, page)).collect();
            let mut renderer = Pages::new(h);
            let drawn = renderer.draw(h, &engine, &registry, &works);
            assert_eq!((works.len(), renderer.renderer.batch_count()), (13, 2));
            let (differ, all) = seam(&drawn, 64);
            assert!(all > 3000, "{all}");
            assert_eq!(differ, 0, "{kind}, turned {angle}: of {all} texels");
            // The stamps are there: otherwise nothing was tested but the pattern.
            let plain = renderer.draw(h, &engine, &patterned(&texture), &works);
            let changed = |level: u8| {
                let pairs = drawn.iter().zip(&plain).filter(|(a, _)| a.page.level == level);
                pairs
                    .map(|(a, b)| a.targets[0].1.iter().zip(&b.targets[0].1).filter(|(a, b)| a != b).count())
                    .sum()
            };
            let changed: [usize; 4] = [changed(0), changed(1), changed(2), changed(3)];
            assert!(changed.iter().all(|bytes| *bytes > 100), "{changed:?}");
        }
    });
}

#[test]
fn each_attribute_is_written_alone() {
    on_device(|h| {
        let engine = scenes::engine(&h.device, 2);
        let texture = texture(MASK_KIND);
        let plain = one(h, &engine, &patterned(&texture), page(0, 2, 2));
        let middle = camera(&texture, page(0, 2, 2)).centre(36, 36);
        let all = [
            (Attributes::BASE_COLOR, [[true, true, true], [false; 3], [false; 3]]),
            (Attributes::NORMAL, [[false; 3], [true, true, false], [false, false, true]]),
            (Attributes::ROUGHNESS, [[false; 3], [false; 3], [false, true, false]]),
            (Attributes::SPECULAR, [[false; 3], [false; 3], [true, false, false]]),
            (Attributes::MASK, [[false; 3], [false, false, true], [false; 3]]),
        ];
        let half = [vec![0.25f32.sqrt(), 1.0, 0.0], vec![0.5, 0.5, 0.25], vec![0.125, 0.375, 1.0]];
        for (attributes, written) in all {
            let look = Look {
                roughness: 0.375,
                specular: 0.125,
                mask: [0.25, 0.0, 0.0, 0.0],
                ..coloured([0.25, 1.0, 0.0])
            };
            let mut registry = patterned(&texture);
            let desc = decal("stamp", middle, Vec2::splat(60.0), 0.0, look);
            registry.add(WriterDesc { attributes, ..desc }).unwrap();
            let drawn = one(h, &engine, &registry, page(0, 2, 2));
            for (target, channels) in written.iter().enumerate() {
                for (channel, is_written) in channels.iter().enumerate() {
                    let [before, after] = [&plain, &drawn].map(|page| page.texel(target, 36, 36)[channel]);
                    let expected = if *is_written { half[target][channel] } else { before };
                    let what = format!("{attributes} in channel {channel} of target {target}");
                    assert!((after - expected).abs() < 0.6 / 255.0, "{what}: {after} is not {expected}");
                }
            }
            // And nothing at all beside it.
            for target in 0..3 {
                assert_eq!(plain.bytes(target, 8, 8), drawn.bytes(target, 8, 8));
            }
        }
    });
}

#[test]
fn translucent_stamps_are_laid_over_each_other_in_their_order() {
    on_device(|h| {
        let engine = scenes::engine(&h.device, 2);
        let texture = texture(RuntimeKind::BaseColor);
        let at = page(0, 2, 2);
        let middle = camera(&texture, at).centre(36, 36);
        let mut registry = Registry::new();
        registry.set_texture(texture_id(), texture.clone());
        // Added in another order than they are drawn in.
        let stamps = [
            (2, [0.9, 0.1, 0.3], 0.5),
            (0, [0.2, 0.8, 0.4], 0.75),
            (1, [0.1, 0.2, 0.9], 0.3),
            (3, [0.6, 0.6, 0.1], 0.25),
        ];
        let mut pages = Pages::new(h);
        for (order, colour, opacity) in stamps {
            let desc = decal("stamp", middle, Vec2::splat(50.0), 0.3 * order as f32, coloured(colour));
            registry.add(WriterDesc { order, opacity, ..desc }).unwrap();
        }
        let drawn = pages.draw(h, &engine, &registry, &[work(0, 1, at)]).remove(0);
        assert_eq!(pages.renderer.draw_count(), 1, "stamps that follow each other are one draw");
        let mut sorted = stamps;
        sorted.sort_by_key(|(order, ..)| *order);
        let mut expected = [0.0f32, 0.0, 0.0, 1.0];
        for (_, colour, opacity) in sorted {
            // Stored in 8 bits after each.
            let store = |value: f32| (value * 255.0).round() / 255.0;
            for (channel, linear) in colour.iter().enumerate() {
                expected[channel] = store(linear.sqrt() * opacity + expected[channel] * (1.0 - opacity));
            }
            expected[3] = store(expected[3] * (1.0 - opacity));
        }
        let texel = drawn.texel(0, 36, 36);
        for (channel, expected) in expected.iter().enumerate() {
            let steps = (texel[channel] - expected).abs() * 255.0;
            assert!(steps <= 1.01, "channel {channel}: {} is not {expected}", texel[channel]);
        }
        assert_eq!(drawn.bytes(0, 2, 2), [0, 0, 0, 255], "nothing was drawn there: all shows through");
    });
}

#[test]
fn an_image_is_stamped_once_over_its_decal() {
    on_device(|h| {
        let engine = scenes::engine(&h.device, 2);
        let usage = ImageUsageFlags::SAMPLED | ImageUsageFlags::TRANSFER_DST;
        let desc = ImageDesc::new_2d(Format::R8G8B8A8_UNORM, [2, 2], usage);
        let image = Image::committed(&h.device, "Stamp", desc).unwrap();
        // Red, half a green, blue, nothing.
        let texels: [[u8; 4]; 4] = [[255, 0, 0, 255], [0, 255, 0, 128], [0, 0, 255, 255], [255, 255, 255, 0]];
        upload_images(&h.device, &[(&image, vec![texels.as_flattened()])]).unwrap();
        let texture = texture(RuntimeKind::BaseColor);
        let at = page(0, 2, 2);
        let middle = camera(&texture, at).centre(36, 36) - Vec2::splat(2.0);
        let mut registry = Registry::new();
        registry.set_texture(texture_id(), texture.clone());
        let look = Look { paint: Paint::Image, ..coloured([1.0; 3]) };
        let desc = decal("stamp", middle, Vec2::splat(80.0), 0.0, look);
        assert!(registry.add(desc.clone()).is_err(), "no image was given");
        registry.add(WriterDesc { image: Some(StampImage(Arc::new(image))), ..desc }).unwrap();
        let drawn = one(h, &engine, &registry, at);
        // 40 texels a side: beside the middles of its four.
        let quarters = [(26, 26), (46, 26), (26, 46), (46, 46)].map(|(i, j)| drawn.texel(0, i, j));
        let expected =
            [[1.0, 0.0, 0.0, 0.0], [0.0, 0.5, 0.0, 0.5], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]];
        for (texel, expected) in quarters.iter().zip(expected) {
            // Linear light: codes are its square roots.
            let close = texel.iter().zip(expected).all(|(a, b)| (a * a - b * b).abs() < 0.06);
            assert!(close, "{texel:?} is not {expected:?}");
        }
        assert_eq!(drawn.bytes(0, 10, 36), [0, 0, 0, 255]);
    });
}

#[test]
fn pieces_of_a_ribbon_meet_without_gap_and_without_overlap() {
    on_device(|h| {
        let engine = scenes::engine(&h.device, 2);
        let texture = texture(RuntimeKind::BaseColor);
        let at = page(0, 2, 2);
        let camera = camera(&texture, at);
        let knot = |i: u32, j: u32| RibbonKnot { place: camera.centre(i, j), half_width: 22.0 };
        let knots = vec![knot(6, 10), knot(30, 14), knot(40, 34), knot(20, 48), knot(34, 64), knot(66, 60)];
        let mut registry = Registry::new();
        registry.set_texture(texture_id(), texture.clone());
        let desc = WriterDesc::new("road", Shape::Ribbon(knots.clone()));
        registry.add(WriterDesc { opacity: 0.5, look: coloured([1.0; 3]), ..desc }).unwrap();
        let drawn = one(h, &engine, &registry, at);
        let mut covered = 0;
        for (i, j) in (0..72).flat_map(|j| (0..72).map(move |i| (i, j))) {
            let value = drawn.bytes(0, i, j)[3];
            assert!([255, 127, 128].contains(&value), "({i}, {j}) was covered more than once: {value}");
            let place = camera.centre(i, j);
            // Well inside, away from the ends.
            let distance = |ends: &[RibbonKnot]| {
                let (a, b) = (ends[0].place, ends[1].place);
                let t = ((place - a).dot(b - a) / a.distance_squared(b)).clamp(0.0, 1.0);
                place.distance(a.lerp(b, t))
            };
            let nearest = knots.windows(2).map(distance).fold(f32::INFINITY, f32::min);
            let from_ends = place.distance(knots[0].place).min(place.distance(knots[5].place));
            if from_ends > 24.0 && (nearest - 22.0).abs() > 0.5 && nearest < 22.0 {
                assert_ne!(value, 255, "a gap at ({i}, {j}), {nearest} m from the middle");
            }
            covered += usize::from(value != 255);
        }
        assert!(covered > 800, "{covered}");
    });
}

#[test]
fn writers_keep_to_their_levels_and_sizes() {
    on_device(|h| {
        let engine = scenes::engine(&h.device, 2);
        let texture = texture(RuntimeKind::BaseColor);
        let middle = camera(&texture, page(0, 2, 2)).centre(36, 36);
        let white = |half| decal("stamp", middle, Vec2::splat(half), 0.0, coloured([1.0; 3]));
        let is_drawn = |desc: WriterDesc, level: u8| {
            let mut registry = Registry::new();
            registry.set_texture(texture_id(), texture.clone());
            registry.add(desc).unwrap();
            let at = page(0, 2, 2).ancestor(level);
            let mut pages = Pages::new(h);
            let drawn = pages.draw(h, &engine, &registry, &[work(0, 1, at)]).remove(0);
            let white = drawn.targets[0].1.chunks_exact(4).any(|texel| texel[0] == 255);
            assert_eq!(
                white,
                pages.renderer.draw_count() == 1,
                "what is culled is not drawn, what is not is"
            );
            white
        };
        let levels = |desc: &WriterDesc| [0, 1, 2, 3].map(|level| is_drawn(desc.clone(), level));
        assert_eq!(levels(&white(40.0)), [true; 4]);
        assert_eq!(levels(&WriterDesc { levels: 1..=2, ..white(40.0) }), [false, true, true, false]);
        // 80 m: 20 texels at level 0, then 10, 5, 2.5.
        assert_eq!(levels(&WriterDesc { least_texels: 4.0, ..white(40.0) }), [true, true, true, false]);
    });
}

#[test]
fn meshes_are_drawn_from_above_with_the_upper_surface() {
    on_device(|h| {
        let mut engine = scenes::engine(&h.device, 2);
        let scene = engine.scene_mut();
        // Texels of 4 m: a table of 80 m, and a post on it that is lower than its own top.
        let red = scene.add_mesh(&cube(), [0.64, 0.04, 0.01], 0.25).unwrap();
        let blue = scene.add_mesh(&cube(), [0.01, 0.04, 0.81], 0.75).unwrap();
        draw(&mut engine, vasa::scene::Camera::looking_at(Vec3::new(0.0, 5.0, 50.0), Vec3::ZERO));
        engine.wait_idle().unwrap();
        for kind in [MASK_KIND, RuntimeKind::WorldHeight] {
            let texture = texture(kind);
            let at = page(0, 2, 2);
            let view = camera(&texture, at);
            let stand = |mesh, i: u32, j: u32, (half, top): (f32, f32)| {
                let place = view.centre(i, j);
                let rows = [[half, 0.0, 0.0, place.x], [0.0, 5.0, 0.0, top - 5.0], [0.0, 0.0, half, place.y]];
                Shape::Mesh { mesh, bounds: [-Vec3::ONE, Vec3::ONE], rows }
            };
            let mut registry = patterned(&texture);
            // The lower one is drawn last, and hidden where the upper one stands.
            registry.add(WriterDesc::new("upper", stand(blue, 36, 36, (22.0, 70.0)))).unwrap();
            registry.add(WriterDesc::new("lower", stand(red, 40, 36, (30.0, 40.0)))).unwrap();
            let mut pages = Pages::new(h);
            let drawn = pages.draw(h, &engine, &registry, &[work(0, 1, at), work(0, 2, page(0, 9, 5))]);
            let (drawn, far) = (&drawn[0], &drawn[1]);
            assert_eq!(pages.renderer.draw_count(), 4, "pattern and two meshes, and pattern alone");
            let plain = one(h, &engine, &patterned(&texture), at);
            // 22 m are five and a half texels on each side of a centre; 30 m seven and a half.
            let expected = |i: u32, j: u32| {
                let inside =
                    |ci: f32, half: f32| (i as f32 - ci).abs() < half && (j as f32 - 36.0).abs() < half;
                if inside(36.0, 5.5) { Some(true) } else { inside(40.0, 7.5).then_some(false) }
            };
            for (i, j) in (0..72).flat_map(|j| (0..72).map(move |i| (i, j))) {
                // Edges run through centres.
                let on_edge =
                    |ci: i32, half: i32| (i as i32 - ci).abs() == half || (j as i32 - 36).abs() == half;
                if on_edge(36, 6) || on_edge(36, 5) || on_edge(40, 8) || on_edge(40, 7) {
                    continue;
                }
                let texel = drawn.texel(0, i, j);
                let close = |channel: usize, value: f32| (texel[channel] - value).abs() < 1.01 / 255.0;
                match (expected(i, j), kind) {
                    (None, _) => assert_eq!(drawn.bytes(0, i, j), plain.bytes(0, i, j), "({i}, {j})"),
                    (Some(is_upper), RuntimeKind::WorldHeight) => {
                        let height = if is_upper { 70.0 } else { 40.0 };
                        assert!(
                            (texel[0] - texture.volume.height_share(height)).abs() < 1e-4,
                            "({i}, {j}): {texel:?}"
                        );
                    }
                    (Some(true), _) => assert!(close(0, 0.1) && close(2, 0.9), "({i}, {j}): {texel:?}"),
                    (Some(false), _) => assert!(close(0, 0.8) && close(2, 0.1), "({i}, {j}): {texel:?}"),
                }
                if let (Some(is_upper), false) = (expected(i, j), kind.is_height()) {
                    assert_eq!(drawn.bytes(1, i, j)[..2], [128, 128], "the top looks up");
                    let roughness = if is_upper { 0.75 } else { 0.25 };
                    assert!((drawn.texel(2, i, j)[1] - roughness).abs() < 1.01 / 255.0);
                }
            }
            // Slanted, over the corner where four pages meet: edges run through the same texels on all of them.
            let corner = texture.volume.place(Vec2::new(3.0 / 16.0, 3.0 / 8.0));
            let axis = Vec2::from_angle(0.4) * 37.3;
            let rows = [
                [axis.x, 0.0, -axis.y, corner.x + 3.1],
                [0.0, 9.0, 0.0, 50.0],
                [axis.y, 0.0, axis.x, corner.y - 2.7],
            ];
            let bounds = [-Vec3::ONE, Vec3::ONE];
            registry.add(WriterDesc::new("slanted", Shape::Mesh { mesh: red, bounds, rows })).unwrap();
            let four = [(2, 2), (3, 2), (2, 3), (3, 3)].map(|(x, y)| work(0, 1, page(0, x, y)));
            let (differ, all) = seam(&pages.draw(h, &engine, &registry, &four), 64);
            assert_eq!(differ, 0, "{kind}: of {all} texels");
            let plain = one(h, &engine, &patterned(&texture), page(0, 9, 5));
            assert_eq!(far.targets, plain.targets, "a page of the batch that shows no mesh");
        }
    });
}

/// A share of the hills around their middle as a texture of 12 x 12 pages of 64 texels, and all of them to draw.
fn hill_texture(kind: RuntimeKind, share: f32) -> (RuntimeTexture, Rectangle) {
    let surface = hills();
    let half = surface.half_extent();
    let (low, high) = surface.height_bounds(-half.x, -half.y, half.x, half.y);
    let part = half * share;
    let volume = Volume::new((-part).into(), (part * 2.0).into(), [low, high]).unwrap();
    let shape = PageShape::new(Grid::new([12, 12], 0).unwrap(), 64, 4).unwrap();
    let texture = RuntimeTexture::new("terrain", volume, shape, kind);
    (texture, Rectangle::around(-half, half))
}

#[test]
fn the_height_of_the_terrain_is_that_of_its_surface() {
    on_device(|h| {
        let surface = hills();
        let mut engine = scenes::engine(&h.device, 2);
        add_hills(&mut engine, &surface);
        let (texture, ground) = hill_texture(RuntimeKind::WorldHeight, 1.0);
        let mut registry = Registry::new();
        registry.set_texture(texture_id(), texture.clone());
        registry.add(WriterDesc::new("terrain", Shape::Terrain(ground))).unwrap();
        let pages = [page(0, 0, 0), page(0, 5, 7), page(0, 11, 11), page(2, 1, 1), page(4, 0, 0)];
        let works: Vec<_> = (1..).zip(pages).map(|(index, page)| work(0, index, page)).collect();
        let half = surface.half_extent();
        let [low, high] = texture.volume.heights();
        for drawn in Pages::new(h).draw(h, &engine, &registry, &works) {
            let camera = camera(&texture, drawn.page);
            let mut worst = 0f32;
            for (i, j) in (0..72).flat_map(|j| (0..72).map(move |i| (i, j))) {
                let place = camera.centre(i, j);
                // Further off the map nothing is drawn, nor looked at.
                if (place.abs() - half).max_element() > 4.0 * camera.texel_size() {
                    continue;
                }
                let place = place.clamp(-half, half);
                let expected = surface.height(place.x, place.y, camera.texel_size());
                let height = low + (high - low) * drawn.texel(0, i, j)[0];
                worst = worst.max((height - expected).abs());
            }
            assert!(worst < 0.05, "{}: {worst} m", drawn.page);
        }
    });
}

#[test]
fn pages_of_the_terrain_hold_its_material() {
    on_device(|h| {
        let surface = hills();
        let mut engine = scenes::engine(&h.device, 2);
        add_hills(&mut engine, &surface);
        for kind in [MASK_KIND, RuntimeKind::BaseColorNormalRoughness, RuntimeKind::Displacement] {
            let (texture, ground) = hill_texture(kind, 0.05);
            let mut registry = Registry::new();
            registry.set_texture(texture_id(), texture.clone());
            registry.add(WriterDesc::new("terrain", Shape::Terrain(ground))).unwrap();
            let pages =
                [page(0, 4, 4), page(0, 5, 4), page(0, 4, 5), page(0, 5, 5), page(1, 2, 2), page(3, 0, 0)];
            let works: Vec<_> = (1..).zip(pages).map(|(index, page)| work(0, index, page)).collect();
            let drawn = Pages::new(h).draw(h, &engine, &registry, &works);
            let (differ, all) = seam(&drawn, 64);
            assert_eq!(differ, 0, "{kind}: of {all} texels");
            if kind.is_height() {
                let values: Vec<f32> = (0..64).map(|i| drawn[0].texel(0, i, i)[0]).collect();
                let (least, most) = values.iter().fold((1f32, 0f32), |(l, m), v| (l.min(*v), m.max(*v)));
                assert!(least > 0.2 && most < 0.8 && most - least > 1e-3, "from {least} to {most}");
                continue;
            }
            for drawn in &drawn {
                for (i, j) in (0..72).flat_map(|j| (0..72).map(move |i| (i, j))) {
                    for target in 0..drawn.targets.len() {
                        assert_eq!(drawn.bytes(target, i, j)[3], 0, "it covers all of the page");
                    }
                    let colour = drawn.texel(0, i, j);
                    assert!(colour[..3].iter().all(|c| (0.05..1.0).contains(c)), "({i}, {j}): {colour:?}");
                    let (xy, z) = (drawn.texel(1, i, j), drawn.texel(2, i, j)[2]);
                    let normal = Vec3::new(xy[0], xy[1], z) * 2.0 - 1.0;
                    assert!((normal.length() - 1.0).abs() < 0.02 && normal.z > 0.0, "({i}, {j}): {normal}");
                }
            }
            // The same ground at half the resolution: no shift and no change of colour on the whole.
            let (fine, coarse) = (&drawn[..4], &drawn[4]);
            let mut sum = 0.0;
            for (i, j) in (0..64).flat_map(|j| (0..64).map(move |i| (i, j))) {
                let of = fine[usize::from(i >= 32) + 2 * usize::from(j >= 32)].clone();
                let (x, y) = (4 + 2 * (i % 32), 4 + 2 * (j % 32));
                let four = [(0, 0), (1, 0), (0, 1), (1, 1)].map(|(a, b)| of.texel(0, x + a, y + b)[1]);
                sum += (four.iter().sum::<f32>() / 4.0 - coarse.texel(0, 4 + i, 4 + j)[1]).abs();
            }
            assert!(sum / 4096.0 < 0.03, "{kind}: levels differ by {} on average", sum / 4096.0);
        }
    });
}

#[test]
fn a_frame_without_pages_declares_nothing_and_a_known_one_makes_nothing() {
    on_device(|h| {
        let engine = scenes::engine(&h.device, 2);
        let texture = texture(MASK_KIND);
        let registry = busy(&texture);
        let mut pages = Pages::new(h);
        let none = h.device.object_counts().created;
        pages.draw(h, &engine, &registry, &[]);
        assert_eq!((pages.renderer.batch_count(), pages.renderer.pipeline_count()), (0, 0));
        assert_eq!(pages.renderer.target_bytes(), 0);
        let gone = vasa::vt::PageWork {
            texture: vasa::vt::TextureId::from_parts(7, 0),
            ..work(0, 1, page(0, 0, 0))
        };
        pages.draw(h, &engine, &registry, &[gone]);
        assert_eq!(pages.renderer.batch_count(), 0, "a texture that was removed");
        assert!(
            h.device.object_counts().created < none + 8,
            "two frames of nothing: commands and their pools"
        );
        let works: Vec<_> = (0..11).map(|i| work(u8::from(i >= 9), i + 1, page(0, i, 3))).collect();
        pages.draw(h, &engine, &registry, &works);
        assert_eq!(pages.renderer.batch_count(), 3, "eight, then one, then those of another atlas");
        assert_eq!(pages.renderer.target_bytes(), 8 * 72 * 72 * 12);
        let pipelines = pages.renderer.pipeline_count();
        assert_eq!(pipelines, 3, "pattern, decals, ribbons");
        let mut created = Vec::new();
        for _ in 0..8 {
            pages.draw(h, &engine, &registry, &works);
            created.push(h.device.object_counts().created);
        }
        assert_eq!(pages.renderer.pipeline_count(), pipelines);
        // A buffer a batch to read back, and nothing else.
        let steps: Vec<u64> = created.windows(2).map(|pair| pair[1] - pair[0]).skip(3).collect();
        assert!(steps.iter().all(|step| *step == steps[0] && *step <= 3), "{steps:?}");
    });
}
