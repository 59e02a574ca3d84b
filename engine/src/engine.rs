//! The facade: one value that owns device, reserved memory, scene and renderer, and draws frames.
//!
//! ```no_run
//! use vasa::{Engine, EngineOptions, render::View};
//! # fn main() -> Result<(), vasa::Error> {
//! # let view: View = unimplemented!();
//! let mut engine = Engine::new(EngineOptions::default())?;
//! engine.render(&view, [1280, 720], None)?;
//! let pixels = engine.read_back()?;
//! # Ok(()) }
//! ```

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use ash::vk::{
    AccessFlags2, BufferUsageFlags, ImageAspectFlags, ImageLayout, ImageView, PipelineStageFlags2,
};

use crate::inspect::{DeviceStats, GpuSceneStats, MemoryStats, ObjectStats, PassTimes, Stats};
use crate::memory::UploadRing;
use crate::render::{self, Culled, FrameTarget, RenderOptions, Renderer, View, World};
use crate::scene::{self, Scene};
use crate::sparse::{self, Flushed, SparseKnobs, SparseMemory};
use crate::streaming::{self, StreamedGround};
use crate::vk::swapchain::{Acquired, AcquiredImage, Swapchain};
use crate::vk::timeline::PresentSync;
use crate::vk::{
    self, Buffer, CommandBuffer, CommandEncoder, CommandPool, Device, DeviceOptions, Instance,
    InstanceOptions, Location, PassTimer, Point, Timeline,
};

/// Result of the engine.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong, from whichever layer. The engine and all its resources stay valid, except after
/// [`vk::Error::DeviceLost`].
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The Vulkan floor.
    #[error(transparent)]
    Vulkan(#[from] vk::Error),
    /// Reserved memory.
    #[error(transparent)]
    Sparse(#[from] sparse::Error),
    /// The scene.
    #[error(transparent)]
    Scene(#[from] scene::Error),
    /// Streamed images.
    #[error(transparent)]
    Streaming(#[from] streaming::Error),
    /// Rendering.
    #[error(transparent)]
    Render(#[from] render::Error),
}

/// How to make an [`Engine`].
#[derive(Debug)]
pub struct EngineOptions {
    /// Loader, layers, window system.
    pub instance: InstanceOptions,
    /// Device choice and masks.
    pub device: DeviceOptions,
    /// Reserved memory.
    pub sparse: SparseKnobs,
    /// Frames.
    pub render: RenderOptions,
    /// Frames that may be in flight at once: 2 or 3.
    pub frames_in_flight: usize,
    /// Bytes of the upload ring.
    pub upload_bytes: u64,
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self {
            instance: InstanceOptions::default(),
            device: DeviceOptions { cache_folder: default_cache_folder(), ..Default::default() },
            sparse: SparseKnobs::default(),
            render: RenderOptions::default(),
            frames_in_flight: 2,
            upload_bytes: 32 << 20,
        }
    }
}

/// The user's cache folder for pipelines, by the XDG convention.
pub fn default_cache_folder() -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let base = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
    base.map(|base| base.join("vasa"))
}

/// Draws over a finished frame: gets the recording, the view and the size in pixels of the image that is shown.
pub type Overlay<'a> = dyn FnMut(&mut CommandEncoder, ImageView, [u32; 2]) + 'a;

/// A swapchain image that a frame is shown in.
pub struct PresentTarget<'a> {
    /// The image; any contents are overwritten.
    pub image: ash::vk::Image,
    /// Its view, for the overlay.
    pub view: ImageView,
    /// Its size in pixels.
    pub extent: [u32; 2],
    /// Semaphores of the swapchain.
    pub sync: PresentSync,
    /// Draws over the frame; called while the image is a colour attachment, outside of any rendering.
    pub overlay: Option<&'a mut Overlay<'a>>,
}

struct FrameSlot {
    pool: CommandPool,
    timer: PassTimer,
    used: bool,
}

/// What the last call of [`Engine::render`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameReport {
    /// Frame number.
    pub frame: u64,
    /// Moment when the GPU is done with it.
    pub done: Point,
    /// Whether it waited for a sparse bind.
    pub waited: bool,
}

/// Device, reserved memory, scene and renderer.
pub struct Engine {
    // Dropped in this order; the device goes with the last handle.
    frames: Vec<FrameSlot>,
    renderer: Renderer,
    scene: Scene,
    ground: Option<StreamedGround>,
    uploads: UploadRing,
    readback: Option<Buffer>,
    sparse: SparseMemory,
    device: Arc<Device>,
    frame: u64,
    passes: PassTimes,
    culled: Culled,
    created: VecDeque<u64>,
    /// The last bind that no submission has waited for yet.
    bound: Option<Point>,
    #[cfg(feature = "hot-reload")]
    pub(crate) reload: Option<vk::reload::ShaderReload>,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine")
            .field("device", &self.device)
            .field("frame", &self.frame)
            .finish_non_exhaustive()
    }
}

impl Engine {
    /// Loads Vulkan, opens the best device and compiles the pipelines.
    ///
    /// # Errors
    /// No loader, driver or device, each with what to do; or what the driver said.
    pub fn new(options: EngineOptions) -> Result<Self> {
        let instance = Instance::new(options.instance)?;
        let device = Device::open(&instance, &options.device)?;
        Self::on_device(
            device,
            options.sparse,
            options.render,
            options.frames_in_flight,
            options.upload_bytes,
        )
    }

    /// An engine on a device that is open already, one's own included ([`Device::from_raw`]).
    ///
    /// # Errors
    /// What the driver said.
    pub fn on_device(
        device: Arc<Device>,
        sparse: SparseKnobs,
        render: RenderOptions,
        frames_in_flight: usize,
        upload_bytes: u64,
    ) -> Result<Self> {
        let frames_in_flight = frames_in_flight.clamp(1, 3);
        let sparse = SparseMemory::new(&device, sparse);
        let frames = (0..frames_in_flight).map(|_| {
            Ok(FrameSlot {
                pool: CommandPool::new(&device, Timeline::Graphics)?,
                timer: PassTimer::new(&device)?,
                used: false,
            })
        });
        Ok(Self {
            frames: frames.collect::<vk::Result<_>>()?,
            renderer: Renderer::new(&device, render, frames_in_flight)?,
            scene: Scene::new(&device, &sparse)?,
            ground: None,
            uploads: UploadRing::new(&device, upload_bytes)?,
            readback: None,
            sparse,
            device,
            frame: 0,
            passes: PassTimes::default(),
            culled: Culled::default(),
            created: VecDeque::new(),
            bound: None,
            #[cfg(feature = "hot-reload")]
            reload: None,
        })
    }

    /// The device.
    pub fn device(&self) -> &Arc<Device> {
        &self.device
    }

    /// Reserved memory.
    pub fn sparse(&self) -> &SparseMemory {
        &self.sparse
    }

    /// The scene.
    pub fn scene(&self) -> &Scene {
        &self.scene
    }

    /// The scene, to change.
    pub fn scene_mut(&mut self) -> &mut Scene {
        &mut self.scene
    }

    /// The streamed ground plane.
    pub fn ground(&self) -> Option<&StreamedGround> {
        self.ground.as_ref()
    }

    /// The streamed ground plane, to change how it looks.
    pub fn ground_mut(&mut self) -> Option<&mut StreamedGround> {
        self.ground.as_mut()
    }

    /// Puts a streamed ground plane under the scene, in place of the one before.
    pub fn set_ground(&mut self, ground: Option<StreamedGround>) {
        self.ground = ground;
    }

    /// The renderer.
    pub fn renderer(&self) -> &Renderer {
        &self.renderer
    }

    /// Number of the next frame.
    pub fn frame(&self) -> u64 {
        self.frame
    }

    /// Draws the scene into the output image of that size and, with `present`, into a swapchain image too.
    ///
    /// # Errors
    /// When the device has no memory (scene and engine keep working) or is lost.
    pub fn render(
        &mut self,
        view: &View,
        extent: [u32; 2],
        present: Option<PresentTarget<'_>>,
    ) -> Result<FrameReport> {
        profiling::scope!("Engine::render");
        #[cfg(feature = "hot-reload")]
        self.reload_shaders();
        let place = (self.frame % self.frames.len() as u64) as usize;
        let slot = &mut self.frames[place];
        // Waits for the frame that was in this place before.
        slot.pool.reset()?;
        if slot.used {
            self.passes.add(&slot.timer.take()?);
            self.culled = self.renderer.culled(place);
        }
        self.device.collect()?;

        let submitted = self.submit_frame(view, extent, present, place);
        let slot = &mut self.frames[place];
        slot.used = true;
        match &submitted {
            Ok((_, Ok(()))) => {}
            // Not all of the timed passes were submitted.
            Ok((_, Err(_))) => slot.timer.discard(),
            Err(_) => {
                slot.timer.discard();
                self.scene.keep_unsubmitted();
                if let Some(ground) = &mut self.ground {
                    ground.image_mut().keep_unsubmitted();
                }
            }
        }
        let (report, drawn) = submitted?;
        self.sparse.end_frame();
        self.remember_created();
        self.frame += 1;
        drawn.map(|()| report)
    }

    /// Brings the scene up to date and draws it. The outer error: nothing was submitted. The inner one: the scene's
    /// update was, but the frame could not be drawn.
    fn submit_frame(
        &mut self,
        view: &View,
        extent: [u32; 2],
        present: Option<PresentTarget<'_>>,
        place: usize,
    ) -> Result<(FrameReport, Result<()>)> {
        self.scene.prepare(&view.camera, &mut self.uploads, self.frame)?;
        let flushed = self.flush(view, extent)?;
        // Kept until something that waits for it is submitted.
        self.bound = flushed.wait.or(self.bound);
        let slot = &mut self.frames[place];
        // Two recordings: the scene's update is submitted even when the frame cannot be drawn, so that the
        // buffers stay what the host thinks they are.
        let mut update = slot.pool.begin("SceneUpdate")?;
        slot.timer.begin(&mut update, "SceneUpdate");
        self.scene.record(&mut update)?;
        slot.timer.end(&mut update, "SceneUpdate");
        if let Some(ground) = &mut self.ground {
            ground.image_mut().fill(&mut self.uploads);
            slot.timer.begin(&mut update, "StreamTiles");
            ground.image_mut().record(&mut update)?;
            slot.timer.end(&mut update, "StreamTiles");
        }
        let mut commands = vec![update.finish()?];
        let (sync, drawn) = match self.record_frame(view, extent, present, place) {
            Ok((frame, sync)) => {
                commands.push(frame);
                (sync, Ok(()))
            }
            Err(error) => (PresentSync::default(), Err(error)),
        };
        let waits: Vec<Point> = self.bound.into_iter().collect();
        let done = self.device.submit_with_present(Timeline::Graphics, commands, &waits, sync)?;
        self.bound = None;
        self.scene.declare_uses(done);
        self.scene.submitted();
        if let Some(ground) = &mut self.ground {
            ground.image_mut().submitted();
            ground.image().declare_uses(&self.sparse, done);
        }
        self.uploads.finish(done);
        Ok((FrameReport { frame: self.frame, done, waited: flushed.waits }, drawn))
    }

    /// Executes the frame's binds. A ground whose tiles are refused is drawn with those that it has; buffers of the scene
    /// cannot do without.
    fn flush(&mut self, view: &View, extent: [u32; 2]) -> Result<Flushed> {
        let Some(ground) = &mut self.ground else { return Ok(self.sparse.flush(None)?) };
        ground.plan(&view.camera, extent);
        let scene_needs_it = self.scene.needs_flush(&self.sparse);
        match self.sparse.flush(None) {
            Ok(flushed) => {
                ground.image_mut().bound();
                Ok(flushed)
            }
            Err(error) => {
                ground.image_mut().refused();
                if scene_needs_it { Err(error.into()) } else { Ok(Flushed::default()) }
            }
        }
    }

    fn record_frame(
        &mut self,
        view: &View,
        extent: [u32; 2],
        present: Option<PresentTarget<'_>>,
        place: usize,
    ) -> Result<(CommandBuffer, PresentSync)> {
        let slot = &mut self.frames[place];
        let mut encoder = slot.pool.begin("Frame")?;
        let target = FrameTarget { extent, frame: self.frame, place };
        let world = World { scene: &self.scene, ground: self.ground.as_ref() };
        self.renderer.record(&mut encoder, &mut slot.timer, world, view, target, &mut self.uploads)?;
        let mut sync = PresentSync::default();
        if let (Some(target), Some(output)) = (present, self.renderer.output()) {
            sync = target.sync.clone();
            record_present(&mut encoder, (output.raw(), output.desc().extent), target);
        }
        Ok((encoder.finish()?, sync))
    }

    /// Draws the scene into the next image of a swapchain and presents it. `None` when there is nothing to draw
    /// into now: the window is minimised, or was resized (give its size to [`Swapchain::resize`] first).
    ///
    /// # Errors
    /// When the device has no memory (scene and engine keep working) or is lost.
    pub fn render_to<'a>(
        &mut self,
        swapchain: &mut Swapchain,
        view: &View,
        overlay: Option<&'a mut Overlay<'a>>,
    ) -> Result<Option<FrameReport>> {
        let Acquired::Image(acquired) = swapchain.acquire()? else { return Ok(None) };
        let AcquiredImage { image, view: image_view, extent, sync, .. } = acquired;
        let target = PresentTarget { image, view: image_view, extent, sync, overlay };
        let report = self.render(view, extent, Some(target))?;
        swapchain.present()?;
        Ok(Some(report))
    }

    fn remember_created(&mut self) {
        self.created.push_back(self.device.object_counts().created);
        if self.created.len() > 101 {
            self.created.pop_front();
        }
    }

    /// Reads the last frame: RGBA, 8 bits a channel, rows from the top, no padding. Empty before the first.
    ///
    /// # Errors
    /// When there is no memory for the copy, or the device is lost.
    pub fn read_back(&mut self) -> Result<Vec<u8>> {
        let Some(output) = self.renderer.output() else { return Ok(Vec::new()) };
        let [width, height] = output.desc().extent;
        let bytes = u64::from(width) * u64::from(height) * 4;
        if self.readback.as_ref().is_none_or(|b| b.bytes() != bytes) {
            let usage = BufferUsageFlags::TRANSFER_DST;
            self.readback =
                Some(Buffer::committed(&self.device, "Readback", bytes, usage, Location::Readback)?);
        }
        let Some(buffer) = &self.readback else { return Ok(Vec::new()) };
        let mut pool = CommandPool::new(&self.device, Timeline::Graphics)?;
        let mut encoder = pool.begin("Readback")?;
        encoder.memory_barrier(
            (PipelineStageFlags2::ALL_COMMANDS, AccessFlags2::MEMORY_WRITE),
            (PipelineStageFlags2::ALL_TRANSFER, AccessFlags2::TRANSFER_READ | AccessFlags2::TRANSFER_WRITE),
        );
        encoder.copy_image_to_buffer(output, buffer, 0);
        encoder.memory_barrier(
            (PipelineStageFlags2::ALL_TRANSFER, AccessFlags2::TRANSFER_WRITE),
            (PipelineStageFlags2::HOST, AccessFlags2::HOST_READ),
        );
        let done = self.device.submit(Timeline::Graphics, vec![encoder.finish()?], &[])?;
        self.device.wait(&[done])?;
        Ok(buffer.mapped().map(<[u8]>::to_vec).unwrap_or_default())
    }

    /// Waits until the GPU is done with everything, and brings the counters up to date.
    ///
    /// # Errors
    /// When the device is lost.
    pub fn wait_idle(&mut self) -> Result<()> {
        self.device.wait_idle()?;
        let count = self.frames.len() as u64;
        for back in (1..=count.min(self.frame)).rev() {
            let place = ((self.frame - back) % count) as usize;
            let slot = &mut self.frames[place];
            if std::mem::take(&mut slot.used) {
                self.passes.add(&slot.timer.take()?);
                self.culled = self.renderer.culled(place);
            }
        }
        Ok(())
    }

    /// Every number one can see.
    pub fn stats(&self) -> Stats {
        let objects = self.device.object_counts();
        let heaps = &self.device.capabilities().heaps;
        let gpu = self.scene.gpu();
        let terrain = self.scene.terrain();
        let first = self.created.front().copied().unwrap_or(objects.created);
        Stats {
            device: DeviceStats::of(&self.device),
            gpu_ms: self.passes.summary(),
            sparse: self.sparse.stats(),
            memory: MemoryStats {
                budget_bytes: heaps.iter().filter(|h| h.device_local).map(|h| h.bytes).sum(),
                usage_bytes: objects.memory_bytes,
                peak_usage_bytes: objects.peak_memory_bytes,
                upload_bytes: self.uploads.written(),
                upload_overflows: self.uploads.overflows(),
                ..Default::default()
            },
            gpu_scene: GpuSceneStats {
                primitives: u64::from(gpu.primitives().used()),
                instances: u64::from(gpu.instances().used()),
                instances_drawn: u64::from(self.culled.instances),
                triangles_drawn: u64::from(self.culled.triangles),
                uploaded_bytes: gpu.uploaded_bytes(),
                terrain_chunks: terrain.map_or(0, |t| t.chunk_count() as u64),
                rocks: terrain.map_or(0, |t| t.rock_count() as u64),
            },
            residency: self.ground.as_ref().map(|ground| ground.image().stats()),
            streaming: None,
            shadow: None,
            volume: None,
            vt: None,
            objects: ObjectStats { created_last_100_frames: objects.created - first, live: objects.live },
            validation_messages: self.device.instance().messages().failures(),
            checker_messages: self.sparse.checker().is_on().then(|| self.sparse.checker().reports()),
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // A loss was told already.
        if let Err(error) = self.device.wait_idle()
            && !self.device.is_lost()
        {
            log::warn!("the engine was dropped while the device did not answer: {error}");
        }
    }
}

/// Copies the output into the swapchain image, lets the overlay draw, and leaves it ready to present.
fn record_present(
    encoder: &mut CommandEncoder,
    output: (ash::vk::Image, [u32; 2]),
    target: PresentTarget<'_>,
) {
    let colour = ImageAspectFlags::COLOR;
    let copy = (PipelineStageFlags2::ALL_TRANSFER, AccessFlags2::TRANSFER_WRITE);
    let draw = (
        PipelineStageFlags2::COLOR_ATTACHMENT_OUTPUT,
        AccessFlags2::COLOR_ATTACHMENT_READ | AccessFlags2::COLOR_ATTACHMENT_WRITE,
    );
    // Ordered after the acquire, whose semaphore is waited for at this stage.
    let acquired = (
        PipelineStageFlags2::ALL_TRANSFER | PipelineStageFlags2::COLOR_ATTACHMENT_OUTPUT,
        AccessFlags2::NONE,
    );
    let to_copy = (ImageLayout::UNDEFINED, ImageLayout::TRANSFER_DST_OPTIMAL);
    encoder.image_barrier(target.image, colour, to_copy, acquired, copy);
    encoder.blit(output, (target.image, target.extent));
    let to_draw = (ImageLayout::TRANSFER_DST_OPTIMAL, ImageLayout::COLOR_ATTACHMENT_OPTIMAL);
    encoder.image_barrier(target.image, colour, to_draw, copy, draw);
    if let Some(overlay) = target.overlay {
        overlay(encoder, target.view, target.extent);
    }
    let to_present = (ImageLayout::COLOR_ATTACHMENT_OPTIMAL, ImageLayout::PRESENT_SRC_KHR);
    let done = (PipelineStageFlags2::NONE, AccessFlags2::NONE);
    encoder.image_barrier(target.image, colour, to_present, draw, done);
}
