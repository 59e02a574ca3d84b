//! In a window: flown by hand, or along the scripted flight while `--frames` counts.

use std::sync::Arc;
use std::time::{Duration, Instant};

use glam::Vec3;
use vasa::vk::{Acquired, Device, Instance, InstanceOptions, Surface, Swapchain, SwapchainOptions};
use vasa::{Engine, PresentTarget};
use winit::application::ApplicationHandler;
use winit::dpi::PhysicalSize;
use winit::event::{DeviceEvent, DeviceId, ElementState, MouseButton, MouseScrollDelta, WindowEvent};
use winit::event_loop::{ActiveEventLoop, ControlFlow, EventLoop};
use winit::keyboard::{KeyCode, PhysicalKey};
use winit::raw_window_handle::HasDisplayHandle;
use winit::window::{CursorGrabMode, Window, WindowId};

use crate::cli::CommonArgs;
use crate::failure::{Failure, Result, one_line};
use crate::fly_camera::FlyCamera;
use crate::headless::TIME_STEP;
use crate::overlay::{Overlay, Panel};
use crate::overlay_vt::{VtPanel, next_borders};
use crate::pick;
use crate::recovery::Next;
use crate::run::Run;
use crate::stop;
use crate::vt_pictures::VtPicture;

/// Frames after which a picture of virtual textures is drawn again: it waits for the GPU.
const PICTURE_FRAMES: u32 = 20;

/// How long to sleep while there is nothing to draw to.
const REST: Duration = Duration::from_millis(50);

/// How a run in a window ended.
pub enum Outcome {
    /// It was drawn, and its files are written.
    Done,
    /// There is no window here: the run is given back, with the reason.
    NoWindow(Box<Run>, String),
}

/// Whether a window is to be opened.
///
/// # Errors
/// Why there cannot be one, where that is known without trying.
pub fn wanted(args: &CommonArgs) -> Result<bool, String> {
    if args.headless {
        return Ok(false);
    }
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let by_variables = cfg!(all(unix, not(target_os = "macos")));
    if by_variables && !["WAYLAND_DISPLAY", "WAYLAND_SOCKET", "DISPLAY"].into_iter().any(set) {
        return Err("there is no display: neither WAYLAND_DISPLAY nor DISPLAY is set".into());
    }
    Ok(true)
}

/// Opens a window and runs until it is closed, `--frames` are drawn, or Ctrl-C.
///
/// # Errors
/// One line that says what to do.
pub fn run(run: Run) -> Result<Outcome> {
    let event_loop = match EventLoop::new() {
        Ok(event_loop) => event_loop,
        Err(error) => {
            // winit puts the place in its own source before the reason.
            let text = one_line(&error.to_string());
            let reason = text.rsplit(".rs:").next().unwrap_or(&text);
            let reason = reason.trim_start_matches(|c: char| c.is_ascii_digit() || c == ':' || c == ' ');
            return Ok(Outcome::NoWindow(Box::new(run), reason.to_owned()));
        }
    };
    let mut app = App { run, state: None, ended: None, idle: false };
    event_loop
        .run_app(&mut app)
        .map_err(|e| Failure::failed(format!("the window system gave up: {}", one_line(&e.to_string()))))?;
    match app.ended {
        None | Some(End::Done) => Ok(Outcome::Done),
        Some(End::NoWindow(why)) => Ok(Outcome::NoWindow(Box::new(app.run), why)),
        Some(End::Failed(failure)) => Err(failure),
    }
}

enum End {
    Done,
    NoWindow(String),
    Failed(Failure),
}

impl From<Failure> for End {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

struct App {
    run: Run,
    state: Option<State>,
    ended: Option<End>,
    /// The device is lost and nothing is drawn any more; the window stays.
    idle: bool,
}

/// What exists while the window does. Dropped in this order; the device goes with the last of them.
struct State {
    overlay: Overlay,
    swapchain: Swapchain,
    engine: Engine,
    window: Arc<Window>,
    fly: FlyCamera,
    /// Whether the camera follows the flight; a key or the mouse takes over.
    guided: bool,
    looking: bool,
    show_overlay: bool,
    screenshot: bool,
    /// Where the pointer is, pixels.
    pointer: [f32; 2],
    /// A place on the ground that was clicked on.
    picked: Option<Vec3>,
    /// Picture of virtual textures beside the panel, and the frames since it was chosen.
    picture: Option<VtPicture>,
    picture_age: u32,
    last: Instant,
    begun: Instant,
    shown: u32,
    size: [u32; 2],
}

impl State {
    /// Window, device, engine and scene. What fails because there is no window to be had is told apart.
    fn new(event_loop: &ActiveEventLoop, run: &mut Run, window: Option<Arc<Window>>) -> Result<Self, End> {
        let no_window = |error: &dyn std::fmt::Display| End::NoWindow(one_line(&error.to_string()));
        let title = format!("Vasa: {}", run.scene.name());
        let [width, height] = run.args.size.0;
        let window = match window {
            Some(window) => window,
            None => {
                let attributes = Window::default_attributes()
                    .with_title(format!("{title} (loading)"))
                    .with_inner_size(PhysicalSize::new(width, height));
                Arc::new(event_loop.create_window(attributes).map_err(|e| no_window(&e))?)
            }
        };
        let display = event_loop.display_handle().map_err(|e| no_window(&e))?.as_raw();
        let instance = InstanceOptions { display: Some(display), ..run.instance_options() };
        let instance = Instance::new(instance).map_err(|error| match error {
            vasa::vk::Error::Unsupported { .. } => no_window(&error),
            other => End::Failed(other.into()),
        })?;
        let surface = Surface::new(&instance, window.clone()).map_err(|e| no_window(&e))?;
        let device = Device::open_for_surface(&instance, &run.device_options(), &surface)
            .map_err(|e| no_window(&e))?;
        let size = window.inner_size();
        let size = [size.width, size.height];
        let options =
            SwapchainOptions { vsync: run.settings.vsync, frames_in_flight: run.settings.frames_in_flight };
        let swapchain = Swapchain::new(&device, surface, size, options).map_err(|e| End::Failed(e.into()))?;
        let overlay = Overlay::new(&device, swapchain.format(), run.settings.frames_in_flight)?;
        let engine = run.build(device)?;
        window.set_title(&title);
        let guided = run.args.frames.is_some();
        let start = if guided {
            run.scene.scripted(0, run.args.frames.unwrap_or(1)).0
        } else {
            run.scene.flight(1.0)
        };
        let now = Instant::now();
        Ok(Self {
            overlay,
            swapchain,
            engine,
            window,
            fly: FlyCamera::new(start, run.scene.speed()),
            guided,
            looking: false,
            show_overlay: true,
            screenshot: false,
            pointer: [0.0; 2],
            picked: None,
            picture: None,
            picture_age: 0,
            last: now,
            begun: now,
            shown: 0,
            size,
        })
    }

    /// One frame. Gives back whether an image was shown.
    fn frame(&mut self, run: &mut Run) -> Result<bool> {
        let now = Instant::now();
        let passed = now - std::mem::replace(&mut self.last, now);
        let time = match run.args.frames {
            Some(frames) if self.guided => {
                let (camera, is_cut) = run.scene.scripted(self.shown, frames);
                self.fly.camera = camera;
                if is_cut {
                    self.engine.cut();
                }
                self.shown as f32 * TIME_STEP
            }
            _ => {
                self.fly.advance(passed.as_secs_f32(), |x, z| run.scene.ground(x, z));
                (now - self.begun).as_secs_f32()
            }
        };
        let image = match self.swapchain.acquire()? {
            Acquired::Image(image) => image,
            Acquired::Resize => {
                let size = self.window.inner_size();
                self.swapchain.resize([size.width, size.height]);
                return Ok(false);
            }
            Acquired::Minimised | Acquired::Busy => return Ok(false),
        };
        if self.shown > 0 {
            run.times.add(passed.as_secs_f64() * 1e3);
        }
        if self.show_overlay {
            self.update_picture()?;
            #[cfg(feature = "hot-reload")]
            let shader_errors = self.engine.shader_errors();
            #[cfg(not(feature = "hot-reload"))]
            let shader_errors = Vec::new();
            self.overlay.prepare(&Panel {
                stats: &self.engine.stats(),
                times: &run.times,
                extent: image.extent,
                scale: self.window.scale_factor() as f32,
                speed: self.fly.speed(),
                shader_errors: &shader_errors,
                vt: self.engine.textures().map(|textures| {
                    let page = self.picked.and_then(|place| run.scene.page_at(&self.engine, place));
                    VtPanel::of(textures, page)
                }),
            })?;
        }
        run.scene.before_frame(&mut self.engine, &run.settings);
        let view = run.scene.view(&run.settings, self.fly.camera, time);
        let (overlay, shown) = (&mut self.overlay, self.show_overlay);
        let mut drawn = Ok(());
        let mut draw = |encoder: &mut vasa::vk::CommandEncoder, view, extent| {
            if shown {
                drawn = overlay.record(encoder, view, extent);
            }
        };
        let target = PresentTarget {
            image: image.image,
            view: image.view,
            extent: image.extent,
            sync: image.sync,
            overlay: Some(&mut draw),
        };
        run.captures.begin_frame(&mut self.engine)?;
        let rendered = self.engine.render(&view, image.extent, Some(target));
        run.captures.end_frame(rendered.is_ok().then_some(&self.engine))?;
        rendered?;
        self.size = image.extent;
        self.window.pre_present_notify();
        self.swapchain.present()?;
        drawn?;
        self.shown += 1;
        run.losses.frame_drawn();
        if std::mem::take(&mut self.screenshot) {
            let pixels = self.engine.read_back()?;
            println!("{}", run.output.screenshot(self.size, &pixels)?.display());
        }
        Ok(true)
    }

    /// Draws the picture of virtual textures that is shown, now and then.
    fn update_picture(&mut self) -> Result<()> {
        let (Some(picture), Some(textures)) = (self.picture, self.engine.textures()) else { return Ok(()) };
        // Before the first frame there is nothing in them.
        if self.shown > 0 && self.picture_age.is_multiple_of(PICTURE_FRAMES) {
            let at = self.fly.camera.position;
            let chart = match picture.draw(&self.engine, textures, [at.x, at.z]) {
                Ok(chart) => chart,
                Err(lost @ Failure::DeviceLost { .. }) => return Err(lost),
                Err(failure) => {
                    // Only what one looks at: the run goes on.
                    log::warn!("the picture cannot be drawn: {}", one_line(&failure.to_string()));
                    self.picture = None;
                    None
                }
            };
            self.overlay.set_picture(chart.as_ref());
        }
        self.picture_age += 1;
        Ok(())
    }

    /// The next picture of virtual textures, or none after the last.
    fn next_picture(&mut self) {
        self.picture = self.engine.textures().and_then(|textures| VtPicture::after(self.picture, textures));
        self.picture_age = 0;
        if self.picture.is_none() {
            self.overlay.set_picture(None);
        }
    }

    fn key(&mut self, key: KeyCode, down: bool) {
        let held = &mut self.fly.held;
        match key {
            KeyCode::KeyW => held.forward = down,
            KeyCode::KeyS => held.back = down,
            KeyCode::KeyA => held.left = down,
            KeyCode::KeyD => held.right = down,
            KeyCode::KeyE => held.up = down,
            KeyCode::KeyQ => held.down = down,
            KeyCode::ShiftLeft | KeyCode::ShiftRight => held.fast = down,
            KeyCode::F1 if down => self.show_overlay = !self.show_overlay,
            KeyCode::F2 if down => self.screenshot = true,
            _ => return,
        }
        if !matches!(key, KeyCode::F1 | KeyCode::F2) {
            self.guided = false;
        }
    }

    /// Remembers the place under the pointer; nothing where that is the sky.
    fn pick(&mut self, run: &Run) {
        let camera = run.scene.view(&run.settings, self.fly.camera, 0.0).camera;
        let direction = pick::ray(&camera, self.size, self.pointer);
        self.picked = pick::hit(camera.position, direction, |x, z| run.scene.ground(x, z));
    }

    fn look(&mut self, on: bool) {
        self.looking = on;
        let grabbed = if on {
            // Not every system can lock the pointer in place; looking works without.
            self.window
                .set_cursor_grab(CursorGrabMode::Locked)
                .or_else(|_| self.window.set_cursor_grab(CursorGrabMode::Confined))
        } else {
            self.window.set_cursor_grab(CursorGrabMode::None)
        };
        if let Err(error) = grabbed {
            log::debug!("the pointer stays free: {error}");
        }
        self.window.set_cursor_visible(!on);
    }
}

impl App {
    fn end(&mut self, event_loop: &ActiveEventLoop, end: End) {
        if self.ended.is_none() {
            self.ended = Some(end);
        }
        event_loop.exit();
    }

    fn conclude(&mut self, event_loop: &ActiveEventLoop) {
        let end = match &mut self.state {
            // Without a frame there is nothing to write.
            Some(state) if state.shown > 0 && !self.idle => {
                match self.run.conclude(&mut state.engine, state.size, &state.fly.camera) {
                    Ok(()) => End::Done,
                    Err(failure) => failure.into(),
                }
            }
            _ => End::Done,
        };
        self.end(event_loop, end);
    }

    fn draw(&mut self, event_loop: &ActiveEventLoop) {
        if self.idle {
            return;
        }
        let Some(state) = &mut self.state else { return };
        match state.frame(&mut self.run) {
            Ok(true) => {
                event_loop.set_control_flow(ControlFlow::Wait);
                if self.run.args.frames.is_some_and(|frames| state.shown >= frames) {
                    self.conclude(event_loop);
                } else {
                    state.window.request_redraw();
                }
            }
            Ok(false) => event_loop.set_control_flow(ControlFlow::WaitUntil(Instant::now() + REST)),
            Err(failure) => self.after_loss(event_loop, failure),
        }
    }

    /// Makes everything again on the same window, where the policy says so.
    fn after_loss(&mut self, event_loop: &ActiveEventLoop, failure: Failure) {
        let mut failure = failure;
        loop {
            match self.run.losses.handle(failure, &mut self.run.settings) {
                Err(failure) => return self.end(event_loop, failure.into()),
                Ok(Next::WithoutDrawing) => {
                    self.idle = true;
                    return event_loop.set_control_flow(ControlFlow::Wait);
                }
                Ok(Next::Again) => {}
            }
            // Some systems let a window have one swapchain, and the lost device keeps its own: then another window.
            let lost = self.state.take().map(|state| (state.window.clone(), state.shown, state.fly));
            let (window, shown, fly) = match lost {
                Some((window, shown, fly)) => (Some(window), shown, Some(fly)),
                None => (None, 0, None),
            };
            let made = State::new(event_loop, &mut self.run, window).or_else(|end| match end {
                End::Failed(Failure::DeviceLost { .. }) => Err(end),
                _ => State::new(event_loop, &mut self.run, None),
            });
            match made {
                Ok(mut state) => {
                    state.shown = shown;
                    state.fly = fly.unwrap_or(state.fly);
                    state.window.request_redraw();
                    self.state = Some(state);
                    return;
                }
                Err(End::Failed(again)) => failure = again,
                Err(end) => return self.end(event_loop, end),
            }
        }
    }
}

impl ApplicationHandler for App {
    fn resumed(&mut self, event_loop: &ActiveEventLoop) {
        if self.state.is_some() || self.ended.is_some() {
            return;
        }
        match State::new(event_loop, &mut self.run, None) {
            Ok(state) => {
                state.window.request_redraw();
                self.state = Some(state);
            }
            Err(End::Failed(failure)) => {
                self.run.progress.finish();
                self.after_loss(event_loop, failure);
            }
            Err(end) => {
                self.run.progress.finish();
                self.end(event_loop, end);
            }
        }
    }

    fn window_event(&mut self, event_loop: &ActiveEventLoop, _: WindowId, event: WindowEvent) {
        let Some(state) = &mut self.state else { return };
        match event {
            WindowEvent::CloseRequested => self.conclude(event_loop),
            WindowEvent::Resized(size) => {
                state.swapchain.resize([size.width, size.height]);
                state.window.request_redraw();
            }
            WindowEvent::RedrawRequested => self.draw(event_loop),
            WindowEvent::Focused(false) => {
                state.fly.held = Default::default();
                state.look(false);
            }
            WindowEvent::KeyboardInput { event, .. } => {
                let down = event.state == ElementState::Pressed;
                match event.physical_key {
                    PhysicalKey::Code(KeyCode::Escape) if down => self.conclude(event_loop),
                    PhysicalKey::Code(KeyCode::F3) if down && !event.repeat => {
                        let borders = &mut self.run.settings.vt.borders;
                        *borders = next_borders(*borders);
                    }
                    PhysicalKey::Code(KeyCode::F4) if down && !event.repeat => {
                        let freeze = &mut self.run.settings.vt.planner.freeze;
                        *freeze = !*freeze;
                    }
                    PhysicalKey::Code(KeyCode::F5) if down && !event.repeat => state.next_picture(),
                    PhysicalKey::Code(key) if !event.repeat => state.key(key, down),
                    _ => {}
                }
            }
            WindowEvent::MouseInput { state: pressed, button: MouseButton::Right, .. } => {
                state.guided = false;
                state.look(pressed == ElementState::Pressed);
            }
            WindowEvent::CursorMoved { position, .. } => {
                state.pointer = [position.x as f32, position.y as f32];
            }
            WindowEvent::MouseInput { state: ElementState::Pressed, button: MouseButton::Left, .. }
                if !state.looking =>
            {
                state.pick(&self.run);
            }
            WindowEvent::MouseWheel { delta, .. } => state.fly.change_speed(match delta {
                MouseScrollDelta::LineDelta(_, lines) => lines,
                MouseScrollDelta::PixelDelta(pixels) => pixels.y as f32 / 40.0,
            }),
            _ => {}
        }
    }

    fn device_event(&mut self, _: &ActiveEventLoop, _: DeviceId, event: DeviceEvent) {
        if let (Some(state), DeviceEvent::MouseMotion { delta }) = (&mut self.state, event)
            && state.looking
        {
            state.fly.look(delta.0 as f32, delta.1 as f32);
        }
    }

    fn about_to_wait(&mut self, event_loop: &ActiveEventLoop) {
        if stop::asked() {
            return self.end(event_loop, Failure::Stopped.into());
        }
        // A rest is over: try to draw again.
        if let (Some(state), ControlFlow::WaitUntil(until)) = (&self.state, event_loop.control_flow())
            && Instant::now() >= until
        {
            state.window.request_redraw();
        }
    }

    fn exiting(&mut self, _: &ActiveEventLoop) {
        // While the connection to the window system is still open.
        self.state = None;
    }
}
