//! Small scenes that tests draw.

use std::sync::Arc;

use glam::Vec3;
use vasa::render::{Atmosphere, RenderOptions, Switch, View};
use vasa::scene::gpu_scene::{InstanceDesc, Primitive};
use vasa::scene::terrain::heightmap::HeightMap;
use vasa::scene::terrain::surface::Surface;
use vasa::scene::terrain::{Terrain, TerrainDesc};
use vasa::scene::{Camera, MeshData};
use vasa::sparse::SparseKnobs;
use vasa::vk::Device;
use vasa::{Engine, PresentTarget};

/// Size of the pictures.
pub const EXTENT: [u32; 2] = [160, 90];

/// An engine on a device that draws with one sample a pixel, and every frame as if it was the first: two frames of the
/// same view are the same picture whatever came before.
pub fn engine(device: &Arc<Device>, frames_in_flight: usize) -> Engine {
    engine_with(device, frames_in_flight, STILL)
}

/// Frames that do not depend on those before.
pub const STILL: RenderOptions =
    RenderOptions { ambient_occlusion: Switch::On, bloom: Switch::On, ..RenderOptions::PLAIN };

/// An engine on a device that draws in some way.
pub fn engine_with(device: &Arc<Device>, frames_in_flight: usize, render: RenderOptions) -> Engine {
    Engine::on_device(
        device.clone(),
        SparseKnobs { check: true, ..Default::default() },
        render,
        frames_in_flight,
        8 << 20,
    )
    .unwrap()
}

/// A short flight over the hills on a fresh engine; the first error ends it. The last picture.
///
/// # Errors
/// Whatever making the engine, building the scene or drawing says.
pub fn fly(device: &Arc<Device>, sparse: SparseKnobs, frames: u32) -> vasa::Result<Vec<u8>> {
    let mut engine = Engine::on_device(device.clone(), sparse, STILL, 2, 8 << 20)?;
    let surface = hills();
    let desc = TerrainDesc {
        rock_distance: 250.0,
        layer_size: 128,
        threads: 2,
        ..TerrainDesc::new(Atmosphere::morning().sun)
    };
    let terrain = Terrain::new(engine.device(), surface.clone(), &desc)?;
    engine.scene_mut().set_terrain(Some(terrain))?;
    for frame in 0..frames {
        let camera = flight(&surface, 0.05 + 0.3 * frame as f32 / frames as f32);
        engine.render(&view(camera), EXTENT, None::<PresentTarget<'_>>)?;
    }
    engine.read_back()
}

/// A view in the morning.
pub fn view(camera: Camera) -> View {
    View { camera, atmosphere: Atmosphere::morning(), time: 0.0 }
}

/// Draws a frame without a window.
pub fn draw(engine: &mut Engine, camera: Camera) {
    engine.render(&view(camera), EXTENT, None::<PresentTarget<'_>>).unwrap();
}

/// A cube of side 2.
pub fn cube() -> MeshData {
    MeshData::cuboid([1.0; 3])
}

/// An instance that stands somewhere.
pub fn placed(primitive: Primitive, at: Vec3, scale: f32) -> InstanceDesc {
    InstanceDesc { random: 0.5, ..InstanceDesc::at(primitive, at.into(), scale) }
}

/// Hills of an odd, not square size, from sines: no file needed.
pub fn hills() -> Arc<Surface> {
    let (width, height) = (83u32, 61u32);
    let heights = (0..width * height)
        .map(|i| {
            let (x, z) = ((i % width) as f32, (i / width) as f32);
            700.0 + 180.0 * (x * 0.21).sin() * (z * 0.17).cos() + 60.0 * (x * 0.53 + z * 0.41).sin()
        })
        .collect();
    let map = HeightMap {
        width,
        height,
        heights,
        pixel_size_metres: (40.0, 55.0),
        filled: 0,
        georeferenced: false,
    };
    Arc::new(Surface::new(&map, 1.0))
}

/// Puts the hills into an engine's scene.
pub fn add_hills(engine: &mut Engine, surface: &Arc<Surface>) {
    let desc = TerrainDesc {
        rock_distance: 250.0,
        layer_size: 128,
        threads: 2,
        ..TerrainDesc::new(Atmosphere::morning().sun)
    };
    let terrain = Terrain::new(engine.device(), surface.clone(), &desc).unwrap();
    engine.scene_mut().set_terrain(Some(terrain)).unwrap();
}

/// A flight over the hills: down, up and down again. `u` from 0 to 1.
pub fn flight(surface: &Surface, u: f32) -> Camera {
    let (x, z) = (-1200.0 + 2400.0 * u, 900.0 - 1500.0 * u);
    let above = 30.0 + 1400.0 * (u * std::f32::consts::TAU * 1.5).sin().powi(2);
    let eye = Vec3::new(x, surface.height(x, z, 0.0) + above, z);
    Camera::looking_at(eye, eye + Vec3::new(600.0, -180.0 - above * 0.4, -500.0))
}
