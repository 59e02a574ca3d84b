//! Golden images: the terrain of the elevation model, against a picture that a person looked at.
//!
//! A golden belongs to one driver build, named beside it. `VASA_BLESS=1` writes the picture anew, on that driver
//! only (or where there is none yet); on another driver the test is skipped by name.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use glam::{Vec2, Vec3};
use vasa::Engine;
use vasa::render::{Atmosphere, RenderOptions, View};
use vasa::scene::Camera;
use vasa::scene::terrain::heightmap::HeightMap;
use vasa::scene::terrain::roads::{RoadsDesc, plan};
use vasa::scene::terrain::surface::Surface;
use vasa::scene::terrain::{Terrain, TerrainDesc};
use vasa_tests::harness::{Harness, on_device};
use vasa_tests::scenes;

const SIZE: [u32; 2] = [480, 270];
/// Largest mean FLIP error: below what anybody sees, above what another processor's rounding makes.
const TOLERANCE: f32 = 0.01;

fn folder(variable: &str, otherwise: &str) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(otherwise);
    std::env::var_os(variable).map_or(source, PathBuf::from)
}

/// An engine with the terrain of the elevation model.
pub(crate) fn anatolia(h: &Harness) -> (Engine, Arc<Surface>) {
    let file = folder("VASA_ASSETS", "../assets").join("anatolia_srtm3.tif");
    let surface = Surface::new(&HeightMap::open(&file).unwrap(), 1.5);
    let places = [[6495.0, 8830.0], [6564.0, 7430.0], [4600.0, 6600.0]].map(Vec2::from).to_vec();
    let roads = plan(&surface, &RoadsDesc { count: 2, seed: 1, places });
    let surface = Arc::new(surface.with_overlays(roads));
    // The same on every device: without anisotropy, which software devices do not have.
    let render = RenderOptions { anisotropy: 1, ..scenes::STILL };
    let mut engine = scenes::engine_with(&h.device, 2, render);
    let desc = TerrainDesc { layer_size: 512, threads: 2, ..TerrainDesc::new(Atmosphere::morning().sun) };
    let terrain = Terrain::new(engine.device(), surface.clone(), &desc).unwrap();
    engine.scene_mut().set_terrain(Some(terrain)).unwrap();
    (engine, surface)
}

/// The view of the golden picture.
pub(crate) fn golden_view(surface: &Surface) -> View {
    let eye = Vec3::new(8000.0, surface.height(8000.0, 9000.0, 0.0) + 160.0, 9000.0);
    let camera = Camera::looking_at(eye, eye + Vec3::new(-7000.0, -900.0, -5000.0));
    let mut view = scenes::view(camera);
    view.atmosphere.haze_base = surface.base_height(eye.x, eye.z);
    view
}

fn terrain_picture(h: &Harness) -> Vec<u8> {
    let (mut engine, surface) = anatolia(h);
    let view = golden_view(&surface);
    for _ in 0..3 {
        engine.render(&view, SIZE, None).unwrap();
    }
    engine.read_back().unwrap()
}

/// Mean FLIP error of two pictures (Andersson et al., "FLIP: A Difference Evaluator for Alternating Images", 2020).
pub(crate) fn flip([width, height]: [u32; 2], a: &[u8], b: &[u8]) -> f32 {
    let rgb = |rgba: &[u8]| rgba.chunks_exact(4).flat_map(|p| [p[0], p[1], p[2]]).collect::<Vec<u8>>();
    let image = |rgba| nv_flip::FlipImageRgb8::with_data(width, height, &rgb(rgba));
    let map = nv_flip::flip(image(a), image(b), nv_flip::DEFAULT_PIXELS_PER_DEGREE);
    nv_flip::FlipPool::from_image(&map).mean()
}

#[test]
fn terrain_looks_as_it_was_blessed() {
    on_device(|h| {
        let golden = folder("VASA_GOLDEN", "golden");
        let (picture_file, driver_file) = (golden.join("terrain.png"), golden.join("terrain.driver.txt"));
        let driver = h.device.capabilities().driver.clone();
        let blessed_on = std::fs::read_to_string(&driver_file).unwrap_or_default();
        let blessed_on = blessed_on.trim();
        let bless = std::env::var("VASA_BLESS").is_ok_and(|v| v == "1");
        if !blessed_on.is_empty() && blessed_on != driver {
            assert!(!bless, "the golden belongs to {blessed_on}; bless it there, not on {driver}");
            return h.skip(&format!("the golden belongs to {blessed_on}"));
        }
        let picture = terrain_picture(h);
        if bless {
            image::save_buffer(&picture_file, &picture, SIZE[0], SIZE[1], image::ColorType::Rgba8).unwrap();
            std::fs::write(&driver_file, format!("{driver}\n")).unwrap();
            return;
        }
        let blessed =
            image::open(&picture_file).expect("a golden picture; make one with VASA_BLESS=1").to_rgba8();
        assert_eq!(blessed.dimensions(), (SIZE[0], SIZE[1]));
        let error = flip(SIZE, &picture, &blessed);
        if error > TOLERANCE {
            let seen = std::env::temp_dir().join(format!("vasa-golden-terrain-{}.png", std::process::id()));
            image::save_buffer(&seen, &picture, SIZE[0], SIZE[1], image::ColorType::Rgba8).unwrap();
            panic!("mean FLIP error {error} above {TOLERANCE}; the picture is in {}", seen.display());
        }
        // The comparison itself sees a difference: the same picture, a little brighter.
        let brighter: Vec<u8> = picture.iter().map(|v| v.saturating_add(12)).collect();
        assert!(flip(SIZE, &brighter, &blessed) > TOLERANCE * 2.0, "FLIP sees nothing");
    });
}
