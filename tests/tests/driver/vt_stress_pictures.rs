//! What virtual textures show, against the same materials evaluated in every pixel: pictures of the terrain, and the
//! borders of pages.

use std::path::PathBuf;

use ash::vk::BufferUsageFlags;
use glam::{Vec2, Vec3};
use vasa::render::View;
use vasa::scene::Camera;
use vasa::vk::{Buffer, ComputePipeline, Location, PassBindings, shader};
use vasa::vt::runtime::pattern::Pattern;
use vasa::vt::runtime::{Kind, Rectangle, Shape, Volume, WriterDesc};
use vasa::vt::sampling::{VtProbe, VtProbeResult, bindings, probe_flags};
use vasa::vt::{GroundTexturesDesc, Knobs, Options, Region, RuntimeTextureDesc, TextureId};
use vasa::{Engine, PresentTarget};
use vasa_tests::ground::{difference, options};
use vasa_tests::harness::{ANY, Harness, on_device};
use vasa_tests::scenes::{self, STILL};

use crate::golden::{anatolia, flip, golden_view};

const SIZE: [u32; 2] = [320, 180];
/// Largest mean FLIP error between both ways to draw the ground.
const BOUND: f32 = 0.05;

fn save(name: &str, picture: &[u8]) -> PathBuf {
    let file = std::env::temp_dir().join(format!("vasa-{name}-{}.png", std::process::id()));
    image::save_buffer(&file, picture, SIZE[0], SIZE[1], image::ColorType::Rgba8).unwrap();
    file
}

/// Draws a view until virtual textures have nothing to do for some frames; the picture, and how many frames it took.
fn settled(engine: &mut Engine, view: &View) -> (Vec<u8>, u32) {
    let mut still = 0;
    for frame in 0..150 {
        engine.render(view, SIZE, None::<PresentTarget<'_>>).unwrap();
        let is_empty = engine.textures().is_none_or(|textures| textures.plan().is_empty());
        still = if is_empty && frame > 3 { still + 1 } else { 0 };
        if still == 16 || engine.textures().is_none() && frame == 3 {
            return (engine.read_back().unwrap(), frame);
        }
    }
    panic!("{:?}", engine.textures().map(|textures| textures.plan().counters));
}

#[test]
fn the_ground_through_virtual_textures_looks_as_the_ground_without() {
    on_device(|h| {
        let (mut engine, surface) = anatolia(h);
        let far = golden_view(&surface);
        let mut near = far;
        let eye = Vec3::new(8000.0, surface.height(8000.0, 9000.0, 0.0) + 25.0, 9000.0);
        near.camera = Camera::looking_at(eye, eye + Vec3::new(-300.0, -60.0, -220.0));
        let direct = [&far, &near].map(|view| settled(&mut engine, view).0);
        let options = Options {
            is_exact: true,
            feedback_factor: 1,
            pool_mib: 96,
            planner: Knobs { space_side: 2048, ..Knobs::editor() },
            ..Options::default()
        };
        engine.use_textures(options).unwrap();
        engine.use_ground_textures(&GroundTexturesDesc::default()).unwrap();
        for (what, view, direct, near_detail) in [
            ("far", &far, &direct[0], true),
            ("far without near detail", &far, &direct[0], false),
            ("near", &near, &direct[1], true),
        ] {
            engine.textures_mut().unwrap().set_options(Options { near_detail, ..options });
            let (picture, frames) = settled(&mut engine, view);
            let error = flip(SIZE, direct, &picture);
            let apart = difference(direct, &picture);
            let stats = engine.textures().unwrap().stats();
            println!("{what}: mean FLIP {error:.4}, {apart:?}, {frames} frames, {} pages", stats.pages_drawn);
            assert!(stats.sharpness >= 0.99 && stats.mip_bias_max == 0.0, "{}", stats.pools_text());
            if error >= BOUND {
                let files = [save("ground-direct", direct), save("ground-virtual", &picture)];
                panic!("{what}: mean FLIP {error} is not below {BOUND}: {files:?}");
            }
            assert!(apart.0 > 2, "{what}: both are one picture, nothing was compared");
        }
        // The two views are different ones, and FLIP sees it.
        assert!(flip(SIZE, &direct[0], &direct[1]) > 1.5 * BOUND);
    });
}

/// Side of the texture whose seams are looked at, metres, and its pages a side.
const METRES: f32 = 2048.0;
const TILES: u32 = 8;

fn patterned(name: &str, is_compressed: bool) -> RuntimeTextureDesc {
    let volume = Volume::new([0.0, 0.0], [METRES, METRES], [-100.0, 200.0]).unwrap();
    let kind = Kind::BaseColorNormalSpecularMaskYCoCg;
    RuntimeTextureDesc {
        tile: 64,
        is_compressed,
        locked_from: Some(0),
        ..RuntimeTextureDesc::new(name, volume, kind, TILES)
    }
}

/// What the engine's textures give at listed places.
fn probe(h: &Harness, engine: &Engine, id: TextureId, probes: &[VtProbe]) -> Vec<VtProbeResult> {
    let textures = engine.textures().unwrap();
    let storage = BufferUsageFlags::STORAGE_BUFFER;
    let bytes = size_of_val(probes) as u64;
    let list = Buffer::committed(&h.device, "Probes", bytes, storage, Location::Upload).unwrap();
    list.write_mapped(0, bytemuck::cast_slice(probes)).unwrap();
    let bytes = (probes.len() * size_of::<VtProbeResult>()) as u64;
    let usage = storage | BufferUsageFlags::TRANSFER_SRC;
    let found = Buffer::committed(&h.device, "Found", bytes, usage, Location::Device).unwrap();
    let (table, layers) = textures.images(id).unwrap();
    let images = [
        (bindings::PAGE_TABLE, table),
        (bindings::LAYERS[0], layers[0]),
        (bindings::LAYERS[1], layers[1]),
        // Kinds of fewer layers do not look at it.
        (bindings::LAYERS[2], *layers.last().unwrap()),
        (bindings::SECOND_PAGE_TABLE, table),
        (bindings::SECOND_LAYER, layers[1]),
    ];
    let buffers = [
        (bindings::CONSTANTS, textures.constants().unwrap()),
        (bindings::FEEDBACK, textures.feedback_buffer().unwrap()),
        (0, &list),
        (1, &found),
    ];
    let pipeline = ComputePipeline::new(&h.device, &shader::VT_PROBE, "probe").unwrap();
    let count = probes.len() as u32;
    let done = h.submit("Probe", &[], |encoder| {
        encoder.memory_barrier(ANY, ANY);
        let bindings = PassBindings {
            buffers: &buffers,
            images: &images,
            second_sampler: Some(textures.sampler()),
            ..Default::default()
        };
        encoder.dispatch(&pipeline, &bindings, &[count], pipeline.groups([count, 1, 1]));
        encoder.memory_barrier(ANY, ANY);
    });
    bytemuck::cast_slice(&h.read(&found, 0, bytes, &[done])).to_vec()
}

/// The larger of the differences of colour, roughness, specular and mask from the pattern itself, in 8-bit steps.
fn off(found: &VtProbeResult, place: Vec2) -> f32 {
    let expected = Pattern::at(place);
    let colour = (0..3).map(|c| found.base_colour[c].sqrt() - expected.base_colour[c].sqrt());
    let rest = [
        found.roughness - expected.roughness,
        found.specular - expected.specular,
        found.mask[0] - expected.mask[0],
    ];
    255.0 * colour.chain(rest).fold(0f32, |most, d| most.max(d.abs()))
}

/// How far a normal is from the pattern's, degrees.
fn leaning(found: &VtProbeResult, place: Vec2) -> f32 {
    let normal = Vec3::from(found.normal).normalize();
    normal.dot(Pattern::at(place).normal).clamp(-1.0, 1.0).acos().to_degrees()
}

/// Places along the inner borders of pages of a level, `texels` of that level on either side.
fn across_borders(level: u8, texels: f32) -> Vec<[Vec2; 2]> {
    let page = METRES / TILES as f32 * f32::from(1u16 << level);
    let apart = texels * page / 64.0;
    let lines = (1..).map(|n| n as f32 * page).take_while(|at| *at < METRES - 1.0);
    let along = |line: f32| {
        (0..97).flat_map(move |i| {
            let at = 40.0 + 20.3 * i as f32;
            let along_z = [Vec2::new(line - apart, at), Vec2::new(line + apart, at)];
            [along_z, along_z.map(|p| Vec2::new(p.y, p.x))]
        })
    };
    lines.flat_map(along).collect()
}

#[test]
fn borders_of_pages_are_where_and_what_the_pattern_is() {
    on_device(|h| {
        let mut engine = scenes::engine_with(&h.device, 2, STILL);
        engine.use_textures(Options { pool_mib: 16, ..options() }).unwrap();
        let kinds = [("blocks", true), ("uncompressed", false)];
        let ids = kinds
            .map(|(name, is_compressed)| engine.create_texture(&patterned(name, is_compressed)).unwrap());
        let whole = Rectangle::around(Vec2::splat(-500.0), Vec2::splat(METRES + 500.0));
        let writers = engine.textures_mut().unwrap().writers_mut();
        writers.add(WriterDesc::new("Pattern", Shape::Pattern(whole))).unwrap();
        for _ in 0..6 {
            scenes::draw(&mut engine, Camera::default());
        }
        let mut failures = 0;
        for (id, (name, is_compressed)) in ids.into_iter().zip(kinds) {
            assert!(engine.textures().unwrap().planner().is_ready(id, Region::ALL, 0));
            for level in 0..3u8 {
                let at = |place: Vec2| VtProbe {
                    uv: (place / METRES).into(),
                    level: f32::from(level),
                    texture: id.index() as u32,
                    flags: probe_flags::LEVEL,
                    count: 1,
                    ..bytemuck::Zeroable::zeroed()
                };
                // Right at the border, so that both sides must be one value; and half a texel from it, a texel's middle.
                let (mut jump, mut most, mut lean, mut inner) = (0f32, 0f32, 0f32, 0f32);
                for texels in [0.01, 0.5] {
                    let places = across_borders(level, texels);
                    let found =
                        probe(h, &engine, id, &places.iter().flatten().copied().map(at).collect::<Vec<_>>());
                    for (pair, places) in found.chunks_exact(2).zip(&places) {
                        assert!(pair.iter().all(|one| one.mapped_level == u32::from(level)), "{:?}", pair[0]);
                        assert_ne!(pair[0].atlas_page, pair[1].atlas_page, "one page on both sides");
                        for (one, place) in pair.iter().zip(places) {
                            most = most.max(off(one, *place));
                            lean = lean.max(leaning(one, *place));
                        }
                        if texels < 0.1 {
                            let step = |c: usize| {
                                (pair[0].base_colour[c].sqrt() - pair[1].base_colour[c].sqrt()).abs()
                            };
                            jump = jump.max(255.0 * (0..3).map(step).fold(0.0, f32::max));
                        }
                    }
                }
                // The same in the middle of pages, to compare with.
                let shift = METRES / TILES as f32 * f32::from(1u16 << level) * 0.37;
                let places = across_borders(level, 0.5).concat();
                let places: Vec<Vec2> =
                    places.into_iter().map(|p| (p - Vec2::splat(shift)).max(Vec2::splat(1.0))).collect();
                let found = probe(h, &engine, id, &places.iter().copied().map(at).collect::<Vec<_>>());
                for (one, place) in found.iter().zip(&places) {
                    inner = inner.max(off(one, *place));
                }
                println!(
                    "{name}, level {level}: at borders {most:.2} of 255 and {lean:.2} degrees off, {jump:.2} between both \
                     sides; elsewhere {inner:.2} off"
                );
                // A texel of level 2 is 16 m of a pattern whose waves are 384 m: both straight lines between texels and the two
                // colours of a block miss more of it the coarser the level is, inside of pages as at their borders.
                let bound =
                    if is_compressed { [9.0, 12.0, 24.0] } else { [2.0, 2.5, 4.0] }[usize::from(level)];
                let is_fine = most < bound && jump < 1.0 && most < 1.25 * inner + 1.0 && lean < 1.0;
                failures += u32::from(!is_fine);
            }
        }
        assert_eq!(failures, 0, "levels with seams");
    });
}

#[test]
fn low_quality_shows_the_same_in_fewer_bits() {
    on_device(|h| {
        let mut engine = scenes::engine_with(&h.device, 2, STILL);
        engine.use_textures(options()).unwrap();
        let kind = Kind::BaseColorNormalRoughness;
        let desc = RuntimeTextureDesc { kind, is_low_quality: true, ..patterned("Low", true) };
        let id = engine.create_texture(&desc).unwrap();
        let whole = Rectangle::around(Vec2::splat(-500.0), Vec2::splat(METRES + 500.0));
        let writers = engine.textures_mut().unwrap().writers_mut();
        writers.add(WriterDesc::new("Pattern", Shape::Pattern(whole))).unwrap();
        for _ in 0..6 {
            scenes::draw(&mut engine, Camera::default());
        }
        let formats = &engine.textures().unwrap().stats().pools[0].format;
        assert_eq!(formats, "RGB565 + RGBA5551");
        let places: Vec<Vec2> = across_borders(0, 0.5).concat();
        let at = |place: &Vec2| VtProbe {
            uv: (*place / METRES).into(),
            level: 0.0,
            texture: id.index() as u32,
            flags: probe_flags::LEVEL,
            count: 1,
            ..bytemuck::Zeroable::zeroed()
        };
        let probes: Vec<VtProbe> = places.iter().map(at).collect();
        let (mut colour, mut roughness, mut lean) = (0f32, 0f32, 0f32);
        for (found, place) in probe(h, &engine, id, &probes).iter().zip(&places) {
            let expected = Pattern::at(*place);
            for c in 0..3 {
                colour = colour.max((found.base_colour[c].sqrt() - expected.base_colour[c].sqrt()).abs());
            }
            roughness = roughness.max((found.roughness - expected.roughness).abs());
            lean = lean.max(leaning(found, *place));
        }
        println!("low quality: colour {colour:.4}, roughness {roughness:.4}, normals {lean:.2} degrees off");
        // A value between two codes of 5 bits may be stored as either: an H200 was seen 0.86 of a step off.
        let step = 1.0 / 31.0;
        assert!(colour < step && roughness < step, "{colour} {roughness}");
        // The same of two components, where the normal leans most.
        assert!(lean < 4.0, "{lean} degrees");
    });
}
