//! A window with a mesh. Without a display it draws the same frames headless, and says so.
//!
//! `cargo run -p vasa --example mesh_window -- [--frames N]`

use std::sync::Arc;

use glam::Vec3;
use raw_window_handle::HasDisplayHandle;
use vasa::render::{Atmosphere, View};
use vasa::scene::gpu_scene::InstanceDesc;
use vasa::scene::{Camera, MeshData, geometry::MeshVertex};
use vasa::vk::{Surface, Swapchain, SwapchainOptions};
use vasa::{Engine, EngineOptions};
use winit::application::ApplicationHandler;
use winit::event::WindowEvent;
use winit::event_loop::{ActiveEventLoop, EventLoop};
use winit::window::{Window, WindowId};

type AnyError = Box<dyn std::error::Error>;

struct App {
    frames: u32,
    shown: Option<(Arc<Window>, Swapchain, Engine)>,
}

fn view(frame: u32) -> View {
    let angle = frame as f32 * 0.01;
    let camera = Camera::looking_at(Vec3::new(6.0 * angle.sin(), 3.0, 6.0 * angle.cos()), Vec3::ZERO);
    View { camera, atmosphere: Atmosphere::morning(), time: frame as f32 / 60.0 }
}

/// A pyramid, and one instance of it.
fn fill(engine: &mut Engine) -> vasa::Result<()> {
    let (base, top) =
        ([[-1.0, 0.0, 1.0], [1.0, 0.0, 1.0], [1.0, 0.0, -1.0], [-1.0, 0.0, -1.0]], [0.0, 1.5, 0.0]);
    let mut mesh = MeshData::default();
    for side in 0..4 {
        let corners: [[f32; 3]; 3] = [base[side], base[(side + 1) % 4], top];
        let [a, b, c] = corners.map(Vec3::from);
        let normal = (b - a).cross(c - a).normalize().into();
        mesh.vertices.extend(corners.map(|corner| MeshVertex::new(corner, normal)));
    }
    mesh.indices = (0..12).collect();
    let scene = engine.scene_mut();
    let mesh = scene.add_mesh(&mesh, [0.6, 0.45, 0.25], 0.8)?;
    let primitive = scene.primitive(mesh)?;
    let transform = [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]];
    scene.add_instances(&[InstanceDesc {
        primitive,
        transform,
        tint: [1.0; 3],
        random: 0.0,
        fades: false,
    }])?;
    Ok(())
}

fn open(event_loop: &ActiveEventLoop) -> Result<(Arc<Window>, Swapchain, Engine), AnyError> {
    let window = Arc::new(event_loop.create_window(Window::default_attributes().with_title("Vasa"))?);
    let mut options = EngineOptions::default();
    options.instance.display = Some(window.display_handle()?.as_raw());
    options.device.present = true;
    let mut engine = Engine::new(options)?;
    fill(&mut engine)?;
    let surface = Surface::new(engine.device().instance(), window.clone())?;
    let size = window.inner_size();
    let swapchain = Swapchain::new(engine.device(), surface, size.into(), SwapchainOptions::default())?;
    Ok((window, swapchain, engine))
}

impl ApplicationHandler for App {
    fn resumed(&mut self, event_loop: &ActiveEventLoop) {
        match open(event_loop) {
            Ok(shown) => self.shown = Some(shown),
            Err(error) => {
                eprintln!("error: {error}");
                event_loop.exit();
            }
        }
    }

    fn window_event(&mut self, event_loop: &ActiveEventLoop, _: WindowId, event: WindowEvent) {
        let Some((window, swapchain, engine)) = &mut self.shown else { return };
        match event {
            WindowEvent::CloseRequested => event_loop.exit(),
            WindowEvent::Resized(size) => swapchain.resize(size.into()),
            WindowEvent::RedrawRequested => {
                let result = engine.render_to(swapchain, &view(engine.frame() as u32), None);
                if result.inspect_err(|e| eprintln!("error: {e}")).is_err()
                    || engine.frame() >= self.frames.into()
                {
                    event_loop.exit();
                }
                window.request_redraw();
            }
            _ => {}
        }
    }
}

fn main() -> Result<(), AnyError> {
    let arguments: Vec<String> = std::env::args().collect();
    let frames = arguments.iter().position(|a| a == "--frames").and_then(|i| arguments.get(i + 1));
    let frames = frames.map_or(Ok(u32::MAX), |n| n.parse())?;
    match EventLoop::new() {
        Ok(event_loop) => Ok(event_loop.run_app(&mut App { frames, shown: None })?),
        Err(error) => {
            println!("no window ({error}): drawing headless");
            let mut engine = Engine::new(EngineOptions::default())?;
            fill(&mut engine)?;
            for frame in 0..frames.min(60) {
                engine.render(&view(frame), [640, 360], None)?;
            }
            Ok(println!(
                "{} instance drawn on {}",
                engine.stats().gpu_scene.instances,
                engine.stats().device.name
            ))
        }
    }
}
