//! Sampling virtual textures: what the shader library gives, against a model without pages and against the twin.

use ash::vk::Format;
use vasa::vt::sampling::{
    self, Anisotropy, Attributes, Kind, Place, SampledTexture, Trilinear, VirtualTextureFrame, VtProbe,
    VtProbeResult, Wrap, probe_flags,
};
use vasa::vt::{EntryFormat, Grid, SpaceId};
use vasa_tests::random::Random;
use vasa_tests::virtual_textures::{Content, Model, Rig};
use vasa_tests::{Harness, on_device};

/// 5 x 3 tiles of 16 texels in an atlas of 16-bit entries, at the corner (8, 16) of the page table.
fn texture() -> SampledTexture {
    let grid = Grid::new([5, 3], 0).unwrap();
    SampledTexture {
        space: Some(SpaceId(2)),
        fallback: [[0.25, 0.5, 0.75, 1.0], [0.5; 4], [0.125; 4]],
        ..SampledTexture::new(grid, [8, 16], (16, 4), 9, Kind::BaseColorNormalSpecularMaskYCoCg)
    }
}

/// Atlases of both widths of entries; the wide one has pages beyond 63.
fn entries() -> [SampledTexture; 3] {
    let wide = SampledTexture { side: 80, entries: EntryFormat::Bits32, tile: 8, ..texture() };
    [texture(), wide, SampledTexture { channel: 2, ..wide }]
}

const WRAPS: [[Wrap; 2]; 4] = [
    [Wrap::Clamp, Wrap::Clamp],
    [Wrap::Repeat, Wrap::Repeat],
    [Wrap::Mirror, Wrap::Mirror],
    [Wrap::Repeat, Wrap::Clamp],
];

fn frame() -> VirtualTextureFrame {
    VirtualTextureFrame::new([64, 48], 8, 4)
}

fn at(uv: [f32; 2], level: f32) -> VtProbe {
    VtProbe { uv, level, flags: probe_flags::LEVEL, count: 1, ..Default::default() }
}

fn any(random: &mut Random, low: f32, high: f32) -> f32 {
    low + (high - low) * (random.below(1 << 24) as f32 / (1 << 24) as f32)
}

fn layers(found: &VtProbeResult) -> [[f32; 4]; 3] {
    [found.layer0, found.layer1, found.layer2]
}

/// The largest difference of all channels of all layers, in steps of 8 bits.
fn off(got: [[f32; 4]; 3], expected: [[f64; 4]; 3]) -> f64 {
    let both = got.into_iter().flatten().zip(expected.into_iter().flatten());
    both.map(|(a, b)| (f64::from(a) - b).abs() * 255.0).fold(0.0, f64::max)
}

/// What the model gives at a probe's place: by the page that was found, so that a rounding at its edge does not matter.
fn expected(model: &Model, probe: &VtProbe, found: &VtProbeResult, level: i32) -> [[f64; 4]; 3] {
    let level = level.clamp(0, i32::from(model.texture.grid.max_level())) as u8;
    let page = found.page.map(|page| page >> level);
    match model.mapped(level, page) {
        None => model.texture.fallback.map(|layer| layer.map(f64::from)),
        Some((mapped, _)) => [0, 1, 2].map(|layer| model.sampled(layer, mapped, probe.uv)),
    }
}

fn check(model: &Model, probes: &[VtProbe], found: &[VtProbeResult], most: f64, what: &str) -> f64 {
    let mut worst: f64 = 0.0;
    for (probe, found) in probes.iter().zip(found) {
        let (level, page) = (probe.level as u8, found.page.map(|page| page >> probe.level as u8));
        let mapped = model.mapped(level, page);
        assert_eq!(found.is_resident, u32::from(mapped.is_some()), "{what}: {probe:?} {found:?}");
        if let Some((level, page)) = mapped {
            assert_eq!(
                (found.mapped_level, found.atlas_page),
                (u32::from(level), page.map(u32::from)),
                "{what}"
            );
        }
        let here = off(layers(found), expected(model, probe, found, probe.level as i32));
        assert!(here <= most, "{what}: off by {here} of 255 at {probe:?}: {found:?}");
        worst = worst.max(here);
    }
    worst
}

#[test]
fn every_texel_of_every_level_is_found_in_its_page() {
    on_device(|h| {
        for texture in entries() {
            for wrap in WRAPS {
                let texture = SampledTexture { wrap, ..texture };
                let mut random = Random::new(5);
                let model = Model::new(texture, Content::Hash, 1, &mut random);
                let rig = Rig::new(h, &model, &[texture], frame());
                let mut probes = Vec::new();
                for level in 0..=texture.grid.max_level() {
                    let texels = texture.grid.tiles().map(|tiles| (tiles * texture.tile) >> level);
                    // Half a texture more on each side: outside, too, all texels are known.
                    let (w, h) = (texels[0] as i32, texels[1] as i32);
                    let margin = if level == 0 { 3 } else { w / 2 };
                    for (x, y) in
                        (-margin..h + margin).flat_map(|y| (-margin..w + margin).map(move |x| (x, y)))
                    {
                        let uv = [(x as f32 + 0.5) / w as f32, (y as f32 + 0.5) / h as f32];
                        probes.push(at(uv, f32::from(level)));
                    }
                }
                let found = rig.probe(&probes);
                check(&model, &probes, &found, 0.5, &format!("{:?} {wrap:?}", texture.entries));
            }
        }
    });
}

#[test]
fn missing_pages_give_their_ancestor_and_seams_are_continuous() {
    on_device(|h| {
        let mut worst = [0.0f64; 2];
        for (number, texture) in entries().into_iter().enumerate() {
            for wrap in WRAPS {
                for share in [1, 3, 8] {
                    let texture = SampledTexture { wrap, ..texture };
                    let mut random = Random::new(71 + number as u64);
                    let model = Model::new(texture, Content::Smooth, share, &mut random);
                    let probes: Vec<VtProbe> = (0..4000)
                        .map(|i| {
                            let level = random.below(1 + u64::from(texture.grid.max_level())) as f32;
                            let tiles = texture.grid.tiles();
                            let uv = [0, 1].map(|axis| {
                                if i % 2 == 0 {
                                    return any(&mut random, -1.5, 2.5);
                                }
                                // Within a texel of an edge between pages, on either side.
                                let edge = random.below(u64::from(tiles[axis]) + 1) as f32;
                                let texel =
                                    any(&mut random, -1.0, 1.0) * (level.exp2() / texture.tile as f32);
                                (edge + texel) / tiles[axis] as f32
                            });
                            at(uv, level)
                        })
                        .collect();
                    // Software drivers filter 8 bits in 8 bits, and are off by a step of their own.
                    let formats = [(Format::R16G16B16A16_SFLOAT, 0.25), (Format::R8G8B8A8_UNORM, 1.5)];
                    for (worst, (format, most)) in worst.iter_mut().zip(formats) {
                        let rig = Rig::with_format(h, &model, &[texture], frame(), format);
                        let found = rig.probe(&probes);
                        let what = format!("{wrap:?}, 1 in {share}, {format:?}");
                        *worst = worst.max(check(&model, &probes, &found, most, &what));
                    }
                }
            }
        }
        let [exact, coarse] = worst;
        println!("seams: largest difference {exact:.3} of 255 in half floats, {coarse:.3} in 8 bits");
    });
}

/// A probe like a pixel of a picture: any place, any footprint.
fn any_sample(random: &mut Random) -> VtProbe {
    let mut d = || any(random, -1.0, 1.0) * any(random, -9.0, -1.0).exp2();
    let (dx, dy) = ([d(), d()], [d(), d()]);
    VtProbe {
        uv: [any(random, -1.5, 2.5), any(random, -1.5, 2.5)],
        dx,
        dy,
        level: any(random, -1.0, 1.0),
        pixel: [random.below(3840) as u32, random.below(2160) as u32],
        count: 1,
        ..Default::default()
    }
}

fn place_of(found: &VtProbeResult, twin: &Place) -> Place {
    Place { page: found.page, fraction: found.fraction, turn: twin.turn }
}

#[test]
fn shaders_and_twin_agree() {
    on_device(|h| {
        for (number, texture) in entries().into_iter().enumerate() {
            for wrap in WRAPS {
                let texture = SampledTexture {
                    wrap,
                    bias: 0.3,
                    table_bias: 0.45,
                    trilinear: if number == 1 { Trilinear::Stochastic } else { Trilinear::Manual },
                    anisotropy: if number == 0 { Anisotropy::Taps } else { Anisotropy::Off },
                    ..texture
                };
                let mut random = Random::new(17);
                let model = Model::new(texture, Content::Smooth, 3, &mut random);
                let frame = VirtualTextureFrame { global_bias: -0.2, frame: 12345, ..frame() };
                let rig = Rig::new(h, &model, &[texture], frame);
                let vt = texture.constants();
                let probes: Vec<VtProbe> = (0..4000).map(|_| any_sample(&mut random)).collect();
                let (mut edges, frame) = (0, rig.frame());
                for (probe, found) in probes.iter().zip(rig.probe(&probes)) {
                    let twin = sampling::place(&vt, probe.uv);
                    for axis in 0..2 {
                        let way = |page: u32, fraction: f32| f64::from(page) + f64::from(fraction);
                        let apart = way(twin.page[axis], twin.fraction[axis])
                            - way(found.page[axis], found.fraction[axis]);
                        assert!(apart.abs() < 1e-5, "{probe:?} {found:?} {twin:?}");
                    }
                    let level = sampling::level(&vt, &frame, [probe.dx, probe.dy], probe.level, probe.pixel);
                    // The noise may step from 1 to 0 within a rounding.
                    let apart = (level - found.level).abs();
                    assert!(apart < 2e-3 || (apart - 1.0).abs() < 2e-3 && number == 1, "{level}: {found:?}");
                    let at_edge = ((level + vt.table_bias).fract().abs() - 0.5).abs() > 0.497;
                    edges += u32::from(at_edge);
                    let whole = sampling::whole_level(&vt, found.level);
                    assert!(whole == found.whole_level || at_edge, "{probe:?} {found:?}");
                    // From here on with the shader's own place and level: what follows is whole numbers.
                    let place = place_of(&found, &twin);
                    let mut said = sampling::Reservoir::default();
                    let levels = 1 + i32::from(sampling::trilinear_share(&vt, found.level) > 0.0);
                    for level in found.whole_level..found.whole_level + levels {
                        said.add(sampling::feedback_word(&vt, &place, level), probe.pixel, frame.frame);
                    }
                    assert!(said.word == found.word || at_edge, "{probe:?} {found:?}");
                    let lookup = found.whole_level.max(0) as u8;
                    let mapped = model.mapped(lookup, place.page.map(|page| page >> lookup));
                    assert_eq!(found.is_resident == 1, mapped.is_some());
                    let Some((level, page)) = mapped else { continue };
                    let packed = vasa::vt::Entry { level, page }.pack(texture.entries);
                    let page = sampling::page(&vt, &place, packed);
                    assert_eq!(found.mapped_level, u32::from(level));
                    for axis in 0..2 {
                        assert!((page.texel[axis] - found.texel[axis]).abs() < 1e-3, "{page:?} {found:?}");
                        assert!((page.uv[axis] - found.atlas_uv[axis]).abs() < 1e-6, "{page:?} {found:?}");
                        let ratio = found.gradient[axis] / page.gradient[axis];
                        assert!((ratio - 1.0).abs() < 1e-5, "{page:?} {found:?}");
                    }
                }
                assert!(edges < 100, "{edges} of 4000 at an edge");
            }
        }
    });
}

#[test]
fn no_number_faults() {
    on_device(|h| {
        for wrap in WRAPS {
            let texture = SampledTexture { wrap, trilinear: Trilinear::Manual, ..texture() };
            let model = Model::new(texture, Content::Hash, 1, &mut Random::new(1));
            let taps = SampledTexture { anisotropy: Anisotropy::Taps, ..texture };
            let sampler = SampledTexture { anisotropy: Anisotropy::Sampler, ..texture };
            let rig = Rig::new(h, &model, &[texture, taps, sampler], frame());
            let odd = [
                f32::NAN,
                -f32::NAN,
                f32::INFINITY,
                f32::NEG_INFINITY,
                f32::MAX,
                f32::MIN,
                1e30,
                -1e20,
                4e9,
                -4e9,
                0.0,
                -0.0,
                1.0,
                -1.0,
                f32::MIN_POSITIVE,
                1e-42,
                0.3,
            ];
            let mut probes = Vec::new();
            for (i, a) in odd.into_iter().enumerate() {
                for b in odd {
                    let texture = i as u32 % 3;
                    let base = VtProbe { uv: [0.3, 0.6], count: 1, texture, ..Default::default() };
                    probes.push(VtProbe { uv: [a, b], dx: [0.01, 0.0], ..base });
                    probes.push(VtProbe { dx: [a, b], dy: [b, 0.001], ..base });
                    probes.push(VtProbe { level: a, flags: probe_flags::LEVEL, uv: [b, 0.5], ..base });
                    probes.push(VtProbe { level: b, dx: [0.001, a], ..base });
                    probes.push(VtProbe {
                        uv: [a, b],
                        page: [i32::MAX, i32::MIN],
                        flags: probe_flags::PLACE,
                        ..base
                    });
                }
            }
            for (probe, found) in probes.iter().zip(rig.probe(&probes)) {
                let text = format!("{probe:?} {found:?}");
                assert!(layers(&found).iter().flatten().all(|x| (0.0..=1.0).contains(x)), "{text}");
                assert!(found.page[0] < 5 && found.page[1] < 3 && found.level.is_finite(), "{text}");
                assert!((-16..=3).contains(&found.whole_level) && found.is_resident == 1, "{text}");
                assert!(found.fraction.iter().all(|x| (0.0..=1.0).contains(x)), "{text}");
            }
            // What has no place is at the corner; what has no size is seen from far.
            let found = rig.probe(&[
                VtProbe { uv: [f32::NAN; 2], count: 1, ..Default::default() },
                VtProbe { uv: [0.5; 2], dx: [f32::NAN; 2], count: 1, ..Default::default() },
            ]);
            assert_eq!((found[0].page, found[0].fraction), ([0, 0], [0.0, 0.0]));
            assert_eq!(found[1].whole_level, 3);
        }
    });
}

#[test]
fn a_world_of_many_pages_is_sampled_relative_to_one() {
    on_device(|h| {
        // 4096 tiles are more than the test's page table, so that the tile is small instead: same arithmetic.
        let texture = SampledTexture { wrap: [Wrap::Repeat; 2], ..texture() };
        let model = Model::new(texture, Content::Smooth, 1, &mut Random::new(1));
        let rig = Rig::new(h, &model, &[texture], frame());
        let mut random = Random::new(8);
        let mut probes = Vec::new();
        let mut same = Vec::new();
        for _ in 0..2000 {
            // Millions of pages away, and a fraction that has all its bits.
            let away = [random.below(400_000_000) as i32 * 5, random.below(600_000_000) as i32 * 3];
            let page = [random.below(5) as i32, random.below(3) as i32];
            let way = [any(&mut random, -2.0, 2.0), any(&mut random, -2.0, 2.0)];
            let base = VtProbe {
                flags: probe_flags::LEVEL | probe_flags::PLACE,
                uv: way,
                count: 1,
                ..Default::default()
            };
            let far = |axis: usize| {
                (page[axis] + away[axis] / 2).min(1 << 29) / [5, 3][axis] * [5, 3][axis] + page[axis]
            };
            probes.push(VtProbe { page: [far(0), far(1)], ..base });
            same.push(VtProbe { page, ..base });
        }
        let (far, near) = (rig.probe(&probes), rig.probe(&same));
        for (far, near) in far.iter().zip(&near) {
            assert_eq!((far.page, far.fraction, far.layer0), (near.page, near.fraction, near.layer0));
        }
        for (probe, found) in same.iter().zip(&near) {
            let uv = [0, 1].map(|axis| (probe.page[axis] as f32 + probe.uv[axis]) / [5.0, 3.0][axis]);
            let here = off(layers(found), [0, 1, 2].map(|layer| model.sampled(layer, 0, uv)));
            assert!(here <= 1.0, "{here}: {probe:?} {found:?}");
        }
    });
}

#[test]
fn trilinear_is_a_mix_of_two_levels_and_chance_gives_it_in_the_mean() {
    on_device(|h| {
        let base = texture();
        let manual = SampledTexture { trilinear: Trilinear::Manual, ..base };
        let chance = SampledTexture { trilinear: Trilinear::Stochastic, ..base };
        for share in [1, 3] {
            let model = Model::new(base, Content::Smooth, share, &mut Random::new(3));
            let rig = Rig::new(h, &model, &[base, manual, chance], frame());
            let mut random = Random::new(4);
            let mixed: Vec<VtProbe> = (0..500)
                .map(|_| {
                    let uv = [any(&mut random, 0.0, 1.0), any(&mut random, 0.0, 1.0)];
                    VtProbe { texture: 1, ..at(uv, any(&mut random, -0.5, 3.5)) }
                })
                .collect();
            let low: Vec<_> = mixed.iter().map(|p| at(p.uv, p.level.floor())).collect();
            let high: Vec<_> = mixed.iter().map(|p| at(p.uv, p.level.floor() + 1.0)).collect();
            let (got, low, high) = (rig.probe(&mixed), rig.probe(&low), rig.probe(&high));
            for i in 0..mixed.len() {
                let part = mixed[i].level - mixed[i].level.floor();
                let blend = |layer: usize, c: usize| {
                    let (a, b) = (layers(&low[i])[layer][c], layers(&high[i])[layer][c]);
                    f64::from(a) + f64::from(b - a) * f64::from(part)
                };
                let expected = [0, 1, 2].map(|layer| [0, 1, 2, 3].map(|c| blend(layer, c)));
                let here = off(layers(&got[i]), expected);
                assert!(here < 0.05, "{here}: {:?} {:?}", mixed[i], got[i]);
            }
            // The mean over the pixels of a few frames.
            for probe in mixed.iter().take(3) {
                let mut sum = [[0.0f64; 4]; 3];
                let mut count = 0.0;
                for number in 0..4 {
                    rig.begin_frame(number);
                    let pixels: Vec<VtProbe> = (0..4096)
                        .map(|i| VtProbe { texture: 2, pixel: [i % 64, i / 64], ..*probe })
                        .collect();
                    for found in rig.probe(&pixels) {
                        count += 1.0;
                        for (sum, got) in sum.iter_mut().flatten().zip(layers(&found).into_iter().flatten()) {
                            *sum += f64::from(got);
                        }
                    }
                }
                let mean = sum.map(|layer| layer.map(|c| c / count));
                let one = rig.probe(std::slice::from_ref(probe));
                let here = off(layers(&one[0]), mean);
                assert!(here < 2.0, "the mean is off by {here}: {probe:?}");
            }
        }
    });
}

#[test]
fn long_footprints_stay_in_the_border() {
    on_device(|h| {
        for anisotropy in [Anisotropy::Sampler, Anisotropy::Taps] {
            let texture = SampledTexture { anisotropy, most_anisotropy: 16.0, ..texture() };
            let model = Model::new(texture, Content::Pages, 2, &mut Random::new(12));
            let rig = Rig::new(h, &model, &[texture], frame());
            let mut random = Random::new(13);
            let probes: Vec<VtProbe> = (0..6000)
                .map(|_| {
                    let mut probe = any_sample(&mut random);
                    for (uv, tiles) in probe.uv.iter_mut().zip([5.0, 3.0]) {
                        // At edges of pages.
                        let edge = random.below(6) as f32 + any(&mut random, -0.05, 0.05);
                        *uv = edge / tiles;
                    }
                    if random.once_in(2) {
                        probe.dy = probe.dy.map(|d| d * 0.05);
                        probe.dx = probe.dx.map(|d| d * 20.0);
                    }
                    VtProbe { level: -2.0, ..probe }
                })
                .collect();
            for (probe, found) in probes.iter().zip(rig.probe(&probes)) {
                if found.is_resident == 1 {
                    let colour = Model::page_colour(found.atlas_page.map(|page| page as u8));
                    let here = off([found.layer0; 3], [colour.map(|c| f64::from(c) / 255.0); 3]);
                    assert!(here <= 1.0, "{anisotropy:?}: off by {here}: {probe:?} {found:?}");
                }
            }
        }
    });
}

#[test]
fn taps_are_the_mean_along_the_longer_axis() {
    on_device(|h| {
        // Beyond 1 the mirrored texture runs the other way, and so do its footprints.
        for (wrap, first) in [(Wrap::Clamp, 0.0), (Wrap::Mirror, 1.0)] {
            let texture =
                SampledTexture { anisotropy: Anisotropy::Taps, wrap: [wrap, Wrap::Clamp], ..texture() };
            let model = Model::new(texture, Content::Smooth, 1, &mut Random::new(12));
            let rig = Rig::new(h, &model, &[texture], frame());
            let mut random = Random::new(14);
            // Far enough inside of the texture that its edge does not clamp.
            let probes: Vec<VtProbe> = (0..2000)
                .map(|_| VtProbe {
                    uv: [first + any(&mut random, 0.4, 0.6), any(&mut random, 0.4, 0.6)],
                    level: any(&mut random, 0.5, 2.6),
                    dx: [any(&mut random, -0.04, 0.04), any(&mut random, -0.04, 0.04)],
                    dy: [any(&mut random, -0.004, 0.004), any(&mut random, -0.004, 0.004)],
                    ..any_sample(&mut random)
                })
                .collect();
            let mut several = [0; 2];
            for (probe, found) in probes.iter().zip(rig.probe(&probes)) {
                let level = found.mapped_level as u8;
                if let Some((taps, mean)) = mean_of_taps(&model, probe, level) {
                    if let Some(count) = several.get_mut(usize::from(level)) {
                        *count += u32::from(taps > 1);
                    }
                    let here = off(layers(&found), mean);
                    assert!(here <= 1.0, "off by {here} with {taps} taps: {probe:?} {found:?}");
                }
            }
            assert!(several.iter().all(|count| *count > 100), "probes of several taps by level: {several:?}");
        }
    });
}

/// Number of taps along the longer axis of a footprint on a level, and their mean. Nothing where a rounding decides about
/// a tap.
fn mean_of_taps(model: &Model, probe: &VtProbe, level: u8) -> Option<(u32, [[f64; 4]; 3])> {
    let vt = model.texture.constants();
    let texels = |d: [f32; 2]| {
        let [x, y] = [0, 1].map(|axis| d[axis] * vt.tiles[axis] * vt.tile / f32::from(level).exp2());
        (x * x + y * y).sqrt()
    };
    let (a, b) = (texels(probe.dx), texels(probe.dy));
    let (axis, length) = if a > b { (probe.dx, a) } else { (probe.dy, b) };
    // A border of 4 texels holds three and the half that filtering reaches further.
    let shown = length.min(6.0);
    if (shown - shown.round()).abs() < 1e-3 && shown < 6.0 {
        return None;
    }
    let taps = shown.ceil().clamp(1.0, 6.0) as u32;
    let mut mean = [[0.0; 4]; 3];
    for tap in 0..taps {
        let way = ((tap as f32 + 0.5) / taps as f32 - 0.5) * (shown / length.max(1e-9));
        let uv = [probe.uv[0] + axis[0] * way, probe.uv[1] + axis[1] * way];
        for (layer, mean) in mean.iter_mut().enumerate() {
            for (mean, got) in mean.iter_mut().zip(model.sampled(layer as u8, level, uv)) {
                *mean += got / f64::from(taps);
            }
        }
    }
    Some((taps, mean))
}

#[test]
fn surfaces_are_what_the_layers_hold() {
    on_device(|h| {
        let of = |kind| SampledTexture { kind, height: [1000.0, -200.0], ..texture() };
        // All kinds, and the one that has a low quality once more.
        let low = SampledTexture { is_low_quality: true, ..of(Kind::BaseColorNormalRoughness) };
        let textures: Vec<SampledTexture> = Kind::ALL.into_iter().map(of).chain([low]).collect();
        let model = Model::new(textures[0], Content::Hash, 1, &mut Random::new(2));
        let rig = Rig::new(h, &model, &textures, frame());
        let mut random = Random::new(7);
        let probes: Vec<VtProbe> = (0..4000)
            .map(|i| VtProbe {
                texture: i % 9,
                ..at([any(&mut random, 0.0, 1.0), any(&mut random, 0.0, 1.0)], 0.0)
            })
            .collect();
        for (probe, found) in probes.iter().zip(rig.probe(&probes)) {
            let SampledTexture { kind, is_low_quality, .. } = textures[probe.texture as usize];
            let count = kind.blocks().len().max(1);
            assert!(layers(&found)[count..].iter().all(|layer| *layer == [0.0; 4]), "{kind:?}");
            let attributes = match is_low_quality {
                true => Attributes::unpack_low(layers(&found)),
                false => Attributes::unpack(kind, layers(&found)),
            };
            let surface = attributes.decode();
            let pairs = [
                (&surface.base_colour[..], &found.base_colour[..]),
                (&[surface.roughness], &[found.roughness]),
                (&surface.normal, &found.normal),
                (&[surface.specular], &[found.specular]),
                (&surface.mask, &found.mask),
            ];
            for (a, b) in pairs.into_iter().flat_map(|(a, b)| a.iter().zip(b)) {
                assert!((a - b).abs() < 2e-3, "{kind:?}: {surface:?} {found:?}");
            }
            assert!((surface.height * 1000.0 - 200.0 - found.height).abs() < 1e-2, "{kind:?}");
        }
    });
}

#[test]
fn a_second_texture_has_bindings_of_its_own() {
    on_device(|h| {
        let texture = SampledTexture { trilinear: Trilinear::Manual, kind: Kind::WorldHeight, ..texture() };
        let model = Model::new(texture, Content::Smooth, 3, &mut Random::new(2));
        let rig = Rig::new(h, &model, &[texture], frame());
        let mut random = Random::new(9);
        let probes: Vec<VtProbe> = (0..1000)
            .map(|_| {
                let level = random.below(4) as f32;
                let probe = at([any(&mut random, -0.5, 1.5), any(&mut random, -0.5, 1.5)], level);
                VtProbe { flags: probe.flags | probe_flags::SECOND, ..probe }
            })
            .collect();
        for (probe, found) in probes.iter().zip(rig.probe(&probes)) {
            // The rig binds its second layer there; fallbacks are those of the first.
            let [first, second, _] = expected(&model, probe, &found, probe.level as i32);
            let expected = if found.is_resident == 1 { second } else { first };
            let here = off([found.layer0; 3], [expected; 3]);
            assert!(here <= 1.0, "{here}: {probe:?} {found:?}");
        }
    });
}

#[test]
fn levels_and_borders_can_be_shown() {
    on_device(|h| {
        let base = SampledTexture { kind: Kind::BaseColor, ..texture() };
        let levels = SampledTexture { shows_levels: true, ..base };
        let borders = SampledTexture { shows_borders: true, ..base };
        let model = Model::new(base, Content::Smooth, 1, &mut Random::new(2));
        let rig = Rig::new(h, &model, &[base, levels, borders], frame());
        let inside = |texture, level| VtProbe { texture, ..at([0.5, 0.5], level) };
        let edge = |texture| VtProbe { texture, ..at([0.2 + 0.01 / 5.0, 0.5], 0.0) };
        let found =
            rig.probe(&[inside(0, 0.0), inside(1, 0.0), inside(1, 1.0), inside(2, 0.0), edge(0), edge(2)]);
        let colours: Vec<_> = found.iter().map(|found| found.base_colour).collect();
        assert!(colours[1] != colours[0] && colours[1] != colours[2]);
        assert_eq!(colours[3], colours[0]);
        assert!(colours[5] != colours[4]);
    });
}

mod feedback;
mod view;

fn view_texture() -> (SampledTexture, Model) {
    let texture = SampledTexture { kind: Kind::BaseColor, ..texture() };
    (texture, Model::new(texture, Content::Smooth, 3, &mut Random::new(21)))
}

fn rig<'a>(h: &'a Harness, model: &Model, frame: VirtualTextureFrame) -> Rig<'a> {
    Rig::new(h, model, &[model.texture], frame)
}
