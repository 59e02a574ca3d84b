//! A picture without a window: a few spheres in the morning sun, written to `headless_picture.png`.
//!
//! `cargo run -p vasa --example headless_picture -- [--frames N] [--out FILE]`

use glam::Vec3;
use vasa::render::{Atmosphere, View};
use vasa::scene::gpu_scene::InstanceDesc;
use vasa::scene::{Camera, MeshData};
use vasa::{Engine, EngineOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let value = |name: &str| arguments.iter().position(|a| a == name).and_then(|i| arguments.get(i + 1));
    let frames: u32 = value("--frames").map_or(Ok(3), |n| n.parse())?;
    let out = value("--out").map_or("headless_picture.png", String::as_str);

    let mut engine = Engine::new(EngineOptions::default())?;
    let scene = engine.scene_mut();
    let sphere = scene.add_mesh(&MeshData::sphere(48, 24), [0.55, 0.32, 0.2], 0.6)?;
    let floor = scene.add_mesh(&MeshData::cuboid([400.0, 0.5, 400.0]), [0.3, 0.32, 0.22], 0.9)?;
    let (sphere, floor) = (scene.primitive(sphere)?, scene.primitive(floor)?);
    let mut instances = vec![InstanceDesc::at(floor, [0.0, -0.5, 0.0], 1.0)];
    for i in 0..7 {
        let t = i as f32;
        let tint = [0.5 + 0.12 * t, 1.1 - 0.1 * t, 0.7 + 0.1 * (t * 2.0).sin()];
        let ball = InstanceDesc::at(sphere, [3.0 * t - 9.0, 1.0, -0.7 * t], 0.6 + 0.1 * t);
        instances.push(InstanceDesc { tint, ..ball });
    }
    scene.add_instances(&instances)?;

    let camera = Camera::looking_at(Vec3::new(-4.0, 4.0, 12.0), Vec3::new(0.0, 1.0, -2.0));
    let extent = [960, 540];
    for frame in 0..frames.max(1) {
        let view = View { camera, atmosphere: Atmosphere::morning(), time: frame as f32 / 60.0 };
        engine.render(&view, extent, None)?;
    }
    let pixels = engine.read_back()?;
    image::save_buffer(out, &pixels, extent[0], extent[1], image::ColorType::Rgba8)?;
    let stats = engine.stats();
    println!("{out}: {} on {}", stats.gpu_scene.instances, stats.device.name);
    println!("{} bytes of {} addresses committed", stats.sparse.committed_bytes, stats.sparse.reserved_bytes);
    Ok(())
}
