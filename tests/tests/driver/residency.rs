//! Streamed images: only what a view needs has memory, and the picture is the same however that memory is had.

use std::sync::Arc;

use ash::vk::{BufferUsageFlags, Format, ImageLayout};
use glam::{Vec2, Vec3};
use vasa::Engine;
use vasa::scene::Camera;
use vasa::sparse::SparseKnobs;
use vasa::sparse::tiles::{TexelRegion, TileCoord};
use vasa::streaming::{GroundDesc, GroundPlane, StreamedGround, TileSource};
use vasa::vk::{Buffer, Device, FeatureMask, ImageRegion, Location, Site};
use vasa_tests::harness::{ANY, Harness, on_device};
use vasa_tests::{MIB, TILE, scenes};

/// 170 streamed tiles and 9 pinned ones.
const TEXELS: u32 = 4096;
const SIDE: f32 = 1024.0;
/// Room for all of them.
const WHOLE: u64 = 200;
const FLIGHT: u32 = 24;

/// Blocks that say which mip and place they belong to.
#[derive(Debug)]
struct Blocks;

impl TileSource for Blocks {
    fn fill(&self, mip: u32, region: TexelRegion, bytes: &mut [u8]) {
        let columns = region.extent[0].div_ceil(4);
        for (i, block) in (0u32..).zip(bytes.chunks_exact_mut(8)) {
            let (x, y) = (region.offset[0] / 4 + i % columns, region.offset[1] / 4 + i / columns);
            let mut h = x.wrapping_mul(0x9e37_79b9) ^ y.wrapping_mul(0x85eb_ca6b) ^ mip << 28;
            h = (h ^ h >> 15).wrapping_mul(0x2c1b_3c6d);
            h ^= h >> 13;
            block[..4].copy_from_slice(&h.to_le_bytes());
            block[4..].copy_from_slice(&h.rotate_left(11).to_le_bytes());
        }
    }
}

fn desc(budget_tiles: u64) -> GroundDesc {
    GroundDesc {
        name: "Ground".into(),
        extent: [TEXELS; 2],
        format: Format::BC1_RGB_SRGB_BLOCK,
        plane: GroundPlane { corner: Vec3::new(-SIDE * 0.5, 0.0, -SIDE * 0.5), size: Vec2::splat(SIDE) },
        budget_bytes: budget_tiles * TILE,
        maps_per_frame: 4,
        keep_frames: 8,
        taps: 4,
        beyond: Vec3::splat(0.1),
    }
}

/// An engine with chunks of 16 pages, so that streaming allocates more than once.
fn engine(device: &Arc<Device>, budget_tiles: u64) -> Engine {
    let knobs = SparseKnobs { check: true, chunk_bytes: MIB, cached_chunks: 0, ..Default::default() };
    let render = vasa_tests::scenes::STILL;
    let mut engine = Engine::on_device(device.clone(), knobs, render, 2, 4 << 20).unwrap();
    let ground = StreamedGround::new(engine.sparse(), &desc(budget_tiles), Arc::new(Blocks)).unwrap();
    engine.set_ground(Some(ground));
    engine
}

/// Across the image, low enough for mip 0.
fn flight(frame: u32) -> Camera {
    let u = frame as f32 / (FLIGHT - 1) as f32;
    let eye = Vec3::new(-480.0 + 900.0 * u, 14.0, 450.0 - 600.0 * u);
    Camera::looking_at(eye, eye + Vec3::new(40.0, -9.0, -60.0))
}

fn fly(engine: &mut Engine) -> Vec<u8> {
    (0..FLIGHT).for_each(|frame| scenes::draw(engine, flight(frame)));
    engine.read_back().unwrap()
}

fn stand(engine: &mut Engine, camera: Camera, frames: u32) -> Vec<u8> {
    (0..frames).for_each(|_| scenes::draw(engine, camera));
    engine.read_back().unwrap()
}

/// Every tile whose texels are said to be there.
fn filled(engine: &Engine) -> Vec<TileCoord> {
    let image = engine.ground().unwrap().image();
    image.tiles().mapped_tiles().into_iter().filter(|tile| image.is_filled(*tile)).collect()
}

/// Reads a tile's blocks out of the image.
fn blocks_of(h: &Harness, engine: &Engine, tile: TileCoord) -> Vec<u8> {
    let image = engine.ground().unwrap().image();
    let TexelRegion { offset, extent } = image.layout().region(tile).unwrap();
    let region = ImageRegion { mip: tile.mip, layer: 0, offset, extent };
    let usage = BufferUsageFlags::TRANSFER_DST;
    let back = Buffer::committed(&h.device, "Readback", TILE, usage, Location::Readback).unwrap();
    let (rest, read) = (ImageLayout::SHADER_READ_ONLY_OPTIMAL, ImageLayout::TRANSFER_SRC_OPTIMAL);
    let (raw, aspect) = (image.image().raw(), image.image().desc().aspect());
    let done = h.submit("Readback", &[], |encoder| {
        encoder.image_barrier(raw, aspect, (rest, read), ANY, ANY);
        encoder.copy_regions_to_buffer(image.image(), read, &back, &[(0, region)]);
        encoder.image_barrier(raw, aspect, (read, rest), ANY, ANY);
    });
    h.device.wait(&[done]).unwrap();
    back.mapped().unwrap().to_vec()
}

fn check_tiles(h: &Harness, engine: &Engine) -> usize {
    let tiles = filled(engine);
    for tile in &tiles {
        let region = engine.ground().unwrap().image().layout().region(*tile).unwrap();
        let mut expected = vec![0; TILE as usize];
        Blocks.fill(tile.mip, region, &mut expected);
        assert!(blocks_of(h, engine, *tile) == expected, "{tile} holds other texels");
    }
    tiles.len()
}

#[test]
fn sparse_fallback_and_every_masked_feature_give_the_same_picture() {
    on_device(|h| {
        let (picture, stats) = {
            let mut engine = engine(&h.device, 48);
            (fly(&mut engine), engine.stats().residency.unwrap())
        };
        assert!(stats.maps > 20 && stats.unmaps > 5, "nothing was streamed: {stats}");
        for name in FeatureMask::NAMES.iter().filter(|name| **name != "bc") {
            let mut options = h.device_options();
            options.mask = options.mask.and(FeatureMask::parse(name).unwrap());
            let device = Device::open(h.device.instance(), &options).unwrap();
            let mut engine = engine(&device, 48);
            assert!(fly(&mut engine) == picture, "another picture without {name}");
            let masked = engine.stats().residency.unwrap();
            let sparse = &device.capabilities().sparse;
            assert_eq!(masked.in_place, sparse.binding && sparse.residency_image_2d, "without {name}");
            // All else is the same too: every plan was.
            let in_place = stats.in_place;
            assert_eq!(vasa::streaming::ResidencyStats { in_place, ..masked }, stats, "without {name}");
        }
    });
}

#[test]
fn mapped_tiles_hold_their_texels_and_the_budget_is_never_passed() {
    on_device(|h| {
        for budget in [16, 40, 100] {
            let mut engine = engine(&h.device, budget);
            for frame in 0..FLIGHT {
                scenes::draw(&mut engine, flight(frame));
                let image = engine.ground().unwrap().image();
                let stats = image.stats();
                assert!(image.tiles().mapped() <= budget, "{} of {budget} tiles", image.tiles().mapped());
                assert!(stats.mapped_tiles + stats.pinned_tiles <= budget, "{stats}");
                // What the map allows is there.
                let map = image.map();
                let [columns, _, _] = map.size();
                for (i, level) in (0u32..).zip(map.texels()) {
                    for mip in u32::from(*level)..image.layout().floor_lod() {
                        let tile = TileCoord {
                            layer: 0,
                            mip,
                            x: (i % columns) >> mip,
                            y: (i / columns) >> mip,
                            z: 0,
                        };
                        assert!(
                            image.is_filled(tile) && image.tiles().is_mapped(tile),
                            "{tile} is in the map"
                        );
                    }
                }
            }
            assert!(check_tiles(h, &engine) >= 3, "budget {budget}: nothing to look at");
            let stats = engine.stats();
            assert!(stats.sparse.max_bind_calls_per_frame <= 1);
            if h.device.capabilities().sparse.residency_image_2d {
                // Pages that are exchanged count too.
                assert!(stats.sparse.physical_bytes <= (budget * TILE).next_multiple_of(MIB));
            }
        }
    });
}

#[test]
fn a_still_view_settles_and_a_cut_recovers() {
    on_device(|h| {
        let (a, b) = (flight(2), flight(FLIGHT - 3));
        let mut engine = engine(&h.device, 40);
        for camera in [a, b, a] {
            stand(&mut engine, camera, 60);
            let settled = engine.stats().residency.unwrap();
            assert!(settled.frames_until_settled.is_some_and(|frames| frames > 0), "{settled}");
            let (maps, unmaps) = (settled.maps, settled.unmaps);
            let picture = engine.read_back().unwrap();
            assert!(stand(&mut engine, camera, 20) == picture, "a still view changes");
            let later = engine.stats().residency.unwrap();
            assert_eq!((later.maps, later.unmaps), (maps, unmaps), "a still view streams");
        }
        // With room for everything, where one came from leaves no trace.
        let mut wide = self::engine(&h.device, WHOLE);
        stand(&mut wide, a, 20);
        let after_cut = stand(&mut wide, b, 20);
        let mut fresh = self::engine(&h.device, WHOLE);
        assert!(stand(&mut fresh, b, 20) == after_cut, "the cut left a trace");
        assert_eq!(wide.stats().residency.unwrap().deferred, 0);
    });
}

/// The pictures of a flight and of a stand at its end, with calls refused on the way.
fn disturbed(h: &Harness, mut refuse: impl FnMut(u32)) -> (Engine, Vec<u8>) {
    let mut engine = engine(&h.device, WHOLE);
    // The first frame makes its targets, without which there is no picture.
    scenes::draw(&mut engine, flight(0));
    for frame in 0..FLIGHT {
        refuse(frame);
        scenes::draw(&mut engine, flight(frame));
        h.device.faults().clear();
    }
    let picture = stand(&mut engine, flight(FLIGHT - 1), 90);
    (engine, picture)
}

#[test]
fn out_of_memory_and_refused_binds_cost_sharpness_for_a_while_and_nothing_else() {
    on_device(|h| {
        let (_, picture) = disturbed(h, |_| {});
        let in_place = h.device.capabilities().sparse.residency_image_2d;
        for site in [Site::Allocate, Site::Bind] {
            for every in [1, 2, 5] {
                let (engine, again) = disturbed(h, |frame| {
                    if frame % every == 0 {
                        h.device.faults().refuse(site, 0);
                    }
                });
                assert!(
                    again == picture,
                    "{site:?} refused every {every} frames: another picture in the end"
                );
                let stats = engine.stats().residency.unwrap();
                let failures = if site == Site::Bind { stats.bind_failures } else { stats.map_failures };
                assert!(failures == 0 || in_place, "{site:?} every {every}: {stats}");
                assert!(failures > 0 || every > 1 || !in_place, "{site:?} every {every}: {stats}");
                check_tiles(h, &engine);
            }
        }
    });
}

#[test]
fn while_binds_are_refused_what_is_there_is_drawn_on() {
    on_device(|h| {
        let mut engine = engine(&h.device, WHOLE);
        let (a, b) = (flight(2), flight(FLIGHT - 3));
        let picture = stand(&mut engine, a, 30);
        for _ in 0..4 {
            h.device.faults().refuse(Site::Bind, 0);
            scenes::draw(&mut engine, b);
        }
        h.device.faults().clear();
        assert!(stand(&mut engine, a, 1) == picture, "what was there is not any more");
        check_tiles(h, &engine);
    });
}

#[test]
fn a_frame_that_is_not_submitted_is_made_up_for() {
    on_device(|h| {
        let mut engine = engine(&h.device, WHOLE);
        stand(&mut engine, flight(0), 2);
        for frame in 0..FLIGHT {
            if frame % 3 == 0 {
                h.device.faults().refuse(Site::Submit, 0);
                let view = scenes::view(flight(frame));
                assert!(engine.render(&view, scenes::EXTENT, None).is_err());
                h.device.faults().clear();
            }
            scenes::draw(&mut engine, flight(frame));
        }
        let picture = stand(&mut engine, flight(FLIGHT - 1), 30);
        check_tiles(h, &engine);
        let mut fresh = self::engine(&h.device, WHOLE);
        assert!(stand(&mut fresh, flight(FLIGHT - 1), 30) == picture, "something is missing");
    });
}

#[test]
fn a_first_flush_that_is_refused_is_tried_again() {
    on_device(|h| {
        let mut engine = engine(&h.device, WHOLE);
        for _ in 0..3 {
            h.device.faults().refuse(Site::Bind, 0);
            scenes::draw(&mut engine, flight(0));
        }
        h.device.faults().clear();
        let picture = stand(&mut engine, flight(0), 30);
        let mut fresh = self::engine(&h.device, WHOLE);
        assert!(stand(&mut fresh, flight(0), 30) == picture);
        check_tiles(h, &engine);
    });
}

#[test]
fn without_block_compression_there_is_an_error_that_names_it() {
    on_device(|h| {
        let mut options = h.device_options();
        options.mask = options.mask.and(FeatureMask::parse("bc").unwrap());
        let device = Device::open(h.device.instance(), &options).unwrap();
        let sparse =
            vasa::sparse::SparseMemory::new(&device, SparseKnobs { check: true, ..Default::default() });
        let refused = StreamedGround::new(&sparse, &desc(32), Arc::new(Blocks)).unwrap_err().to_string();
        assert!(refused.contains("textureCompressionBC"), "{refused}");
    });
}
