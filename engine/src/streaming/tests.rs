//! Tests of the pure parts: the need against pixels that are really looked at, and tilings.

use ash::vk::Format;
use glam::{Vec2, Vec3};
use proptest::prelude::*;

use super::need::{GroundPlane, Sight, ground_requests};
use super::tiling::{Block, pinned_lod, pinned_tiles, streamed_layout};
use crate::scene::Camera;
use crate::sparse::tiles::{
    ImageTiling, MipTail, ResidencyMap, StreamerKnobs, TexelRegion, TileCoord, TileLayout, TileStreamer,
};

const SIDE: f32 = 4096.0;

fn layout(side: u32, tail: MipTail) -> TileLayout {
    let mips = side.ilog2() + 1;
    TileLayout::new(ImageTiling {
        extent: [side, side, 1],
        mips,
        layers: 1,
        granularity: [512, 256, 1],
        tile_bytes: 65536,
        tail,
        metadata: None,
    })
    .unwrap()
}

fn streamed(side: u32) -> TileLayout {
    streamed_layout("test", &layout(side, MipTail::default())).unwrap()
}

fn plane() -> GroundPlane {
    GroundPlane { corner: Vec3::new(-SIDE * 0.5, 0.0, -SIDE * 0.5), size: Vec2::splat(SIDE) }
}

fn sight(taps: u32) -> Sight {
    Sight { extent: [320, 180], taps, bias: 0.0 }
}

/// The level that a pixel wishes for and where it looks, by differences between neighbouring rays: no formula of the
/// code under test.
fn looked_at(camera: &Camera, sight: &Sight, pixel: Vec2, texels: f32) -> Option<(Vec2, f32)> {
    let hit = |pixel: Vec2| {
        let [width, height] = sight.extent.map(|side| side as f64);
        let tangent = f64::from(camera.fov_y * 0.5).tan();
        let (forward, right) = (camera.forward().as_dvec3(), camera.right().as_dvec3());
        let up = right.cross(forward);
        let x = (2.0 * f64::from(pixel.x) / width - 1.0) * tangent * width / height;
        let y = (2.0 * f64::from(pixel.y) / height - 1.0) * tangent;
        let ray = forward + right * x - up * y;
        let position = camera.position.as_dvec3();
        (ray.y < -1e-3).then(|| {
            let at = position + ray * (position.y / -ray.y);
            glam::DVec2::new(at.x, at.z)
        })
    };
    let e = 0.01;
    let at = hit(pixel)?;
    let dx = (hit(pixel + Vec2::new(e, 0.0))? - at) / f64::from(e);
    let dy = (hit(pixel + Vec2::new(0.0, e))? - at) / f64::from(e);
    let scale = f64::from(texels / SIDE);
    let (a, b) = (dx.length() * scale, dy.length() * scale);
    let lod = (a.min(b)).max(a.max(b) / f64::from(sight.taps)).log2();
    let uv = (at / f64::from(SIDE) + 0.5).as_vec2();
    (uv.min_element() >= 0.0 && uv.max_element() < 1.0).then_some((uv, lod as f32))
}

/// Maps everything that is requested and computes the map.
fn resident(layout: &TileLayout, camera: &Camera, sight: &Sight) -> ResidencyMap {
    let requests = ground_requests(camera, &plane(), layout, sight);
    let knobs = StreamerKnobs { budget_tiles: 100_000, maps_per_update: 100_000, ..Default::default() };
    let mut streamer = TileStreamer::new(layout, knobs).unwrap();
    streamer.update(&requests, 1);
    let mut map = ResidencyMap::new(layout, 0, [false; 3]).unwrap();
    map.update(|tile| streamer.is_mapped(tile));
    map
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn what_is_requested_is_as_sharp_as_every_pixel_wishes(
        x in -2000f32..2000.0, y in 3f32..1500.0, z in -2000f32..2000.0,
        yaw in -3.2f32..3.2, pitch in -1.5f32..0.3, taps in 1u32..9,
    ) {
        let layout = streamed(16384);
        let camera = Camera { position: Vec3::new(x, y, z), yaw, pitch, ..Camera::default() };
        let sight = sight(taps);
        let map = resident(&layout, &camera, &sight);
        let [columns, rows, _] = map.size();
        for i in 0..40 * 24 {
            let pixel = Vec2::new((i % 40) as f32 * 8.0 + 4.0, (i / 40) as f32 * 7.5 + 3.0);
            let Some((uv, lod)) = looked_at(&camera, &sight, pixel, 16384.0) else { continue };
            let texel = (uv * Vec2::new(columns as f32, rows as f32)).as_ivec2();
            // The shader takes the coarsest of the neighbourhood, smoothed.
            for dy in -1..=1 {
                for dx in -1..=1 {
                    let x = (texel.x + dx).clamp(0, columns as i32 - 1);
                    let y = (texel.y + dy).clamp(0, rows as i32 - 1);
                    let there = f32::from(map.texels()[(y * columns as i32 + x) as usize]);
                    let wished = lod.max(0.0) + 1e-3;
                    prop_assert!(there <= wished, "pixel {pixel}: wishes for {lod}, {there} is there");
                }
            }
        }
    }

    #[test]
    fn requests_are_closed_under_parents_and_ordered(
        y in 3f32..900.0, yaw in -3.2f32..3.2, pitch in -1.5f32..0.3,
    ) {
        let layout = streamed(16384);
        let camera = Camera { position: Vec3::new(100.0, y, -300.0), yaw, pitch, ..Camera::default() };
        let requests = ground_requests(&camera, &plane(), &layout, &sight(4));
        let tiles: std::collections::HashSet<TileCoord> = requests.iter().map(|r| r.tile).collect();
        prop_assert_eq!(tiles.len(), requests.len(), "no tile twice");
        prop_assert!(requests.windows(2).all(|pair| pair[0].tile.mip >= pair[1].tile.mip));
        for request in &requests {
            prop_assert!(layout.tile_index(request.tile).is_some() && request.priority > 0.0);
            prop_assert!(layout.parents(request.tile).tiles().all(|parent| tiles.contains(&parent)));
        }
    }
}

#[test]
fn the_nearest_tile_of_a_mip_comes_first_and_what_is_behind_is_not_asked_for() {
    let layout = streamed(16384);
    // From the southern edge, looking north.
    let camera = Camera { position: Vec3::new(0.0, 60.0, 2000.0), pitch: -0.2, ..Camera::default() };
    let requests = ground_requests(&camera, &plane(), &layout, &sight(4));
    let finest: Vec<_> = requests.iter().filter(|r| r.tile.mip == 0).collect();
    assert!(!finest.is_empty() && finest.len() < 200, "{}", finest.len());
    let first = finest.iter().max_by(|a, b| a.priority.total_cmp(&b.priority)).unwrap();
    let last = finest.iter().min_by(|a, b| a.priority.total_cmp(&b.priority)).unwrap();
    assert!(first.tile.y > last.tile.y, "{} before {}", first.tile, last.tile);
    let away = Camera { yaw: std::f32::consts::PI, ..camera };
    assert!(ground_requests(&away, &plane(), &layout, &sight(4)).len() < requests.len() / 2);
    for nothing in [
        Camera { position: Vec3::new(0.0, -5.0, 0.0), ..camera },
        Camera { position: Vec3::new(0.0, f32::NAN, 0.0), ..camera },
        Camera { pitch: 1.4, ..camera },
    ] {
        assert!(ground_requests(&nothing, &plane(), &layout, &sight(4)).is_empty());
    }
}

#[test]
fn a_coarser_bias_and_more_height_need_fewer_tiles() {
    let layout = streamed(16384);
    let count = |height: f32, bias: f32| {
        let camera = Camera { position: Vec3::new(0.0, height, 0.0), pitch: -0.4, ..Camera::default() };
        let finest = |r: &&crate::sparse::tiles::TileRequest| r.tile.mip == 0;
        ground_requests(&camera, &plane(), &layout, &Sight { bias, ..sight(4) }).iter().filter(finest).count()
    };
    assert!(count(50.0, 0.0) > 0);
    assert_eq!(count(3000.0, 0.0), 0, "no texel of mip 0 is as large as a pixel");
    assert!(count(50.0, 1.0) < count(50.0, 0.0));
    assert_eq!(count(50.0, 20.0), 0);
}

#[test]
fn drivers_with_and_without_a_tail_have_the_same_streamed_tiles() {
    let without = layout(16384, MipTail::default());
    let tail = MipTail { first_lod: 6, bytes: 65536, offset: 1 << 27, stride: 65536, single: false };
    let with = layout(16384, tail);
    assert_eq!((pinned_lod(&without), pinned_lod(&with)), (6, 6));
    assert_eq!((pinned_tiles(&without), pinned_tiles(&with)), (9, 9));
    let (a, b) = (streamed_layout("a", &without).unwrap(), streamed_layout("b", &with).unwrap());
    assert_eq!((a.floor_lod(), b.floor_lod()), (6, 6));
    for index in 0..2730 {
        assert_eq!(a.locate(index), b.locate(index));
        assert_eq!(a.locate(index), without.locate(index), "the image's own numbers");
    }
    // An image smaller than a tile is pinned whole.
    let small = layout(128, MipTail::default());
    assert_eq!((pinned_lod(&small), streamed_layout("small", &small).unwrap().floor_lod()), (0, 0));
}

#[test]
fn regions_are_counted_in_whole_blocks() {
    let bc1 = Block::of("test", Format::BC1_RGB_SRGB_BLOCK).unwrap();
    let region = |width, height| TexelRegion { offset: [0; 3], extent: [width, height, 1] };
    assert_eq!(bc1.bytes(region(512, 256)), 65536);
    assert_eq!(bc1.bytes(region(1, 1)), 8);
    assert_eq!(bc1.bytes(region(5, 4)), 16);
    assert_eq!(Block::of("test", Format::R8G8B8A8_UNORM).unwrap().bytes(region(3, 3)), 36);
    let refused = Block::of("test", Format::D32_SFLOAT).unwrap_err().to_string();
    assert!(refused.contains("BC1") && refused.contains("D32_SFLOAT"), "{refused}");
}
