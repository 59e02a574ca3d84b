//! A picture without a window: a few spheres in the morning sun, written to `headless_picture.png`.
//!
//! `cargo run -p vasa --example headless_picture -- [--frames N] [--out FILE]`

use glam::Vec3;
use vasa::render::{Atmosphere, View};
use vasa::scene::Camera;
use vasa::scene::geometry::MeshVertex;
use vasa::scene::gpu_scene::InstanceDesc;
use vasa::{Engine, EngineOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let value = |name: &str| arguments.iter().position(|a| a == name).and_then(|i| arguments.get(i + 1));
    let frames: u32 = value("--frames").map_or(Ok(3), |n| n.parse())?;
    let out = value("--out").map_or("headless_picture.png", String::as_str);

    let mut engine = Engine::new(EngineOptions::default())?;
    let scene = engine.scene_mut();
    let sphere = scene.add_mesh(&sphere(48, 24), [0.55, 0.32, 0.2], 0.6)?;
    let floor = scene.add_mesh(&plane(400.0), [0.3, 0.32, 0.22], 0.9)?;
    let (sphere, floor) = (scene.primitive(sphere)?, scene.primitive(floor)?);
    let mut instances = vec![placed(floor, Vec3::ZERO, 1.0, [1.0; 3])];
    for i in 0..7 {
        let t = i as f32;
        let tint = [0.5 + 0.12 * t, 1.1 - 0.1 * t, 0.7 + 0.1 * (t * 2.0).sin()];
        instances.push(placed(sphere, Vec3::new(3.0 * t - 9.0, 1.0, -0.7 * t), 0.6 + 0.1 * t, tint));
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

fn placed(
    primitive: vasa::scene::gpu_scene::Primitive,
    at: Vec3,
    scale: f32,
    tint: [f32; 3],
) -> InstanceDesc {
    let transform = [[scale, 0.0, 0.0, at.x], [0.0, scale, 0.0, at.y], [0.0, 0.0, scale, at.z]];
    InstanceDesc { primitive, transform, tint, random: 0.0, fades: false }
}

fn plane(half: f32) -> vasa::scene::MeshData {
    let corner = |x: f32, z: f32| MeshVertex::new([x * half, 0.0, z * half], [0.0, 1.0, 0.0]);
    vasa::scene::MeshData {
        vertices: vec![corner(-1.0, -1.0), corner(-1.0, 1.0), corner(1.0, -1.0), corner(1.0, 1.0)],
        indices: vec![0, 1, 2, 2, 1, 3],
    }
}

/// A unit sphere of `columns` x `rows` quads.
fn sphere(columns: u32, rows: u32) -> vasa::scene::MeshData {
    let mut mesh = vasa::scene::MeshData::default();
    for row in 0..=rows {
        let (sin, cos) = (std::f32::consts::PI * row as f32 / rows as f32).sin_cos();
        for column in 0..=columns {
            let (east, north) = (std::f32::consts::TAU * column as f32 / columns as f32).sin_cos();
            let point = [sin * north, cos, sin * east];
            mesh.vertices.push(MeshVertex::new(point, point));
        }
    }
    let at = |column: u32, row: u32| row * (columns + 1) + column;
    for row in 0..rows {
        for column in 0..columns {
            let (a, b) = (at(column, row), at(column + 1, row));
            let (c, d) = (at(column, row + 1), at(column + 1, row + 1));
            mesh.indices.extend([a, b, c, b, d, c]);
        }
    }
    mesh
}
