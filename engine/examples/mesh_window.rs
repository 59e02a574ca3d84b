//! A mesh in a window: `cargo run -p vasa --example mesh_window -- [--frames N]`.
//! Without a display it draws the same frames headless, and says so.

use std::sync::Arc;

use glam::Vec3;
use raw_window_handle::HasDisplayHandle;
use vasa::render::{Atmosphere, View};
use vasa::scene::{Camera, MeshData, gpu_scene::InstanceDesc};
use vasa::vk::{Surface, Swapchain, SwapchainOptions};
use vasa::{Engine, EngineOptions};
use winit::application::ApplicationHandler;
use winit::event::WindowEvent;
use winit::event_loop::{ActiveEventLoop, EventLoop};
use winit::window::{Window, WindowId};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn fill(engine: &mut Engine) -> Result<()> {
    let scene = engine.scene_mut();
    let mesh = scene.add_mesh(&MeshData::cuboid([1.0, 0.6, 1.4]), [0.6, 0.4, 0.2], 0.8)?;
    let primitive = scene.primitive(mesh)?;
    scene.add_instances(&[InstanceDesc::at(primitive, [0.0; 3], 1.0)])?;
    Ok(())
}

fn view(frame: u64) -> View {
    let (sin, cos) = (frame as f32 * 0.01).sin_cos();
    let camera = Camera::looking_at(Vec3::new(6.0 * sin, 3.0, 6.0 * cos), Vec3::ZERO);
    View { camera, atmosphere: Atmosphere::morning(), time: frame as f32 / 60.0 }
}

fn open(event_loop: &ActiveEventLoop) -> Result<(Arc<Window>, Swapchain, Engine)> {
    let window = Arc::new(event_loop.create_window(Window::default_attributes().with_title("Vasa"))?);
    let mut options = EngineOptions::default();
    options.instance.display = Some(window.display_handle()?.as_raw());
    options.device.present = true;
    let mut engine = Engine::new(options)?;
    fill(&mut engine)?;
    let surface = Surface::new(engine.device().instance(), window.clone())?;
    let size = window.inner_size().into();
    let swapchain = Swapchain::new(engine.device(), surface, size, SwapchainOptions::default())?;
    Ok((window, swapchain, engine))
}

struct App {
    frames: u64,
    shown: Option<(Arc<Window>, Swapchain, Engine)>,
    result: Result<()>,
}

impl ApplicationHandler for App {
    fn resumed(&mut self, event_loop: &ActiveEventLoop) {
        match open(event_loop) {
            Ok(shown) => self.shown = Some(shown),
            Err(error) => self.result = Err(error),
        }
        if self.result.is_err() {
            event_loop.exit();
        }
    }

    fn window_event(&mut self, event_loop: &ActiveEventLoop, _: WindowId, event: WindowEvent) {
        let Some((window, swapchain, engine)) = &mut self.shown else { return };
        match event {
            WindowEvent::CloseRequested => event_loop.exit(),
            WindowEvent::Resized(size) => swapchain.resize(size.into()),
            WindowEvent::RedrawRequested => {
                self.result =
                    engine.render_to(swapchain, &view(engine.frame()), None).map(drop).map_err(Into::into);
                if self.result.is_err() || engine.frame() >= self.frames {
                    event_loop.exit();
                }
                window.request_redraw();
            }
            _ => {}
        }
    }
}

fn main() -> Result<()> {
    let frames =
        std::env::args().skip_while(|a| a != "--frames").nth(1).map_or(Ok(u64::MAX), |n| n.parse())?;
    let mut app = App { frames, shown: None, result: Ok(()) };
    let Ok(event_loop) = EventLoop::new() else {
        println!("no display: drawing headless");
        let mut engine = Engine::new(EngineOptions::default())?;
        fill(&mut engine)?;
        return (0..frames.min(60))
            .try_for_each(|f| engine.render(&view(f), [640, 360], None).map(drop))
            .map_err(Into::into);
    };
    event_loop.run_app(&mut app)?;
    app.result
}
