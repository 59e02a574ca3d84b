//! Virtual textures looked at: views show what was drawn into their pages.

use glam::Vec2;
use vasa::inspect::virtual_textures::AtlasPicture;
use vasa::vt::runtime::pattern::Pattern;
use vasa::vt::runtime::{Kind, Rectangle, Shape, Volume, WriterDesc};
use vasa::vt::{Options, PageAddress, Region, RuntimeTextureDesc, TextureId, ViewPart, VtError};
use vasa::{Engine, Error};
use vasa_tests::scenes::{self, draw};
use vasa_tests::{Harness, on_device};

const TILE: u32 = 64;

/// 8 x 4 pages of the calibration pattern, all of them locked.
fn patterned(h: &Harness) -> (Engine, TextureId, Volume) {
    let mut engine = scenes::engine(&h.device, 2);
    engine.use_textures(Options { pool_mib: 2, ..Options::default() }).unwrap();
    let volume = Volume::new([-400.0, -200.0], [800.0, 400.0], [-100.0, 100.0]).unwrap();
    let desc = RuntimeTextureDesc {
        tile: TILE,
        is_compressed: false,
        locked_from: Some(0),
        ..RuntimeTextureDesc::new("Pattern", volume, Kind::BaseColor, 8)
    };
    let id = engine.create_texture(&desc).unwrap();
    let half = Vec2::new(500.0, 300.0);
    let shape = Shape::Pattern(Rectangle::around(-half, half));
    engine.textures_mut().unwrap().writers_mut().add(WriterDesc::new("pattern", shape)).unwrap();
    (engine, id, volume)
}

fn settle(engine: &mut Engine) {
    for _ in 0..12 {
        draw(engine, vasa::scene::Camera::default());
    }
}

/// The largest difference of a picture's rectangle from the pattern, in steps of 255.
fn worst(pixels: &[u8], width: u32, part: &ViewPart, volume: &Volume) -> f32 {
    let mut worst = 0.0f32;
    let [across, down] = part.extent;
    for (i, j) in (0..down).flat_map(|j| (0..across).map(move |i| (i, j))) {
        let along = Vec2::new((i as f32 + 0.5) / across as f32, (j as f32 + 0.5) / down as f32);
        let (min, max) = (Vec2::from(part.region.min), Vec2::from(part.region.max));
        let expected = Pattern::at(volume.place(min + along * (max - min))).base_colour;
        let at = ((j + part.corner[1]) * width + i + part.corner[0]) as usize * 4;
        for (code, linear) in pixels[at..at + 3].iter().zip(expected) {
            worst = worst.max((f32::from(*code) - 255.0 * linear.sqrt()).abs());
        }
    }
    worst
}

#[test]
fn a_view_shows_what_was_drawn_into_the_pages() {
    on_device(|h| {
        let (mut engine, texture, volume) = patterned(h);
        let refused = engine.texture_view(texture, Region::ALL, [8, 8]);
        assert!(matches!(refused, Err(Error::Textures(VtError::NotDrawn { .. }))), "{refused:?}");
        settle(&mut engine);
        // One pixel a texel of level 1, and of level 0 in a quarter.
        let quarter = Region { min: [0.25, 0.5], max: [0.75, 1.0] };
        for region in [Region::ALL, quarter] {
            let extent = [256, 128];
            let part = ViewPart { texture, region, level: None, corner: [0; 2], extent };
            let pixels = engine.texture_view(texture, region, extent).unwrap();
            let worst = worst(&pixels, extent[0], &part, &volume);
            assert!(worst <= 1.5, "{region:?}: off by {worst}");
        }
        let size = engine.texture_view(texture, Region::ALL, [0, 8]);
        assert!(matches!(size, Err(Error::Textures(VtError::ViewExtent { .. }))), "{size:?}");
        // Looking left everything as it was.
        settle(&mut engine);
        let stats = engine.textures().unwrap().stats();
        assert_eq!((stats.feedback_requests, stats.evicted), (0, 0));
    });
}

#[test]
fn the_sheet_of_an_atlas_shows_every_page_at_its_level() {
    on_device(|h| {
        let (mut engine, texture, volume) = patterned(h);
        settle(&mut engine);
        let planner = engine.textures().unwrap().planner();
        let pool = planner.pool_usage()[0].pool;
        let atlas = AtlasPicture::of(planner, pool).unwrap();
        let (size, parts) = atlas.sheet(planner);
        // 32 + 8 + 2 + 1 pages of levels 0 to 3.
        assert_eq!(parts.len(), 43);
        let cell = TILE;
        let sheet: Vec<ViewPart> = (0u32..)
            .zip(&parts)
            .map(|(index, part)| ViewPart {
                corner: [index % 8 * cell, index / 8 * cell],
                extent: [cell; 2],
                ..*part
            })
            .collect();
        let extent = [8 * cell, 6 * cell];
        let pixels = engine.view_textures(&sheet, extent).unwrap();
        for part in sheet.iter().filter(|part| part.level != Some(3)) {
            let worst = worst(&pixels, extent[0], part, &volume);
            assert!(worst <= 1.5, "{part:?}: off by {worst}");
        }
        // Where no page is, there is what lies behind.
        let last = &pixels[pixels.len() - 4..];
        assert_eq!(last, [41, 48, 60, 255]);
        assert_eq!(engine.view_textures(&parts, size).unwrap().len() as u32, size[0] * size[1] * 4);
        let page = engine.textures().unwrap().planner().page(texture, 0, PageAddress::new(3, 0, 0));
        assert!(page.is_some_and(|page| page.locks > 0));
    });
}
