//! Pages of runtime virtual textures: what is drawn into their targets is what the CPU says, texel for texel, and a border
//! holds what the neighbour holds.

use glam::Vec2;
use vasa::vt::runtime::{Attributes, Kind, KindOptions, Look, Registry, RibbonKnot, Shape, WriterDesc};
use vasa_tests::on_device;
use vasa_tests::pages::{
    MASK_KIND, Pages, busy, camera, coloured, decal, one, page, pattern_targets, patterned, seam, step,
    texture, texture_id, work,
};
use vasa_tests::scenes;

#[test]
fn pattern_pages_are_those_of_the_cpu_at_every_level_and_of_every_kind() {
    on_device(|h| {
        let engine = scenes::engine(&h.device, 2);
        let low = KindOptions { is_low_quality: true, ..KindOptions::default() };
        let kinds = Kind::ALL.map(|kind| (kind, KindOptions::default()));
        for (kind, options) in kinds.into_iter().chain([(Kind::BaseColorNormalRoughness, low)]) {
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

#[test]
fn borders_hold_what_the_neighbours_hold_to_the_last_bit() {
    on_device(|h| {
        let engine = scenes::engine(&h.device, 2);
        for (angle, kind) in [(0.0, MASK_KIND), (0.7, MASK_KIND), (0.0, Kind::WorldHeight)] {
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
        let texture = texture(Kind::BaseColor);
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
fn pieces_of_a_ribbon_meet_without_gap_and_without_overlap() {
    on_device(|h| {
        let engine = scenes::engine(&h.device, 2);
        let texture = texture(Kind::BaseColor);
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
        let texture = texture(Kind::BaseColor);
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
