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

use ash::vk::{AccessFlags2, BufferUsageFlags, ImageView, PipelineStageFlags2};

use crate::error::Result;
use crate::graph::{FrameGraph, GraphOptions};
use crate::inspect::{DeviceStats, GpuSceneStats, MemoryStats, ObjectStats, PassTimes, Stats};
use crate::memory::{
    BudgetSource, DeviceBudget, ResidencyKnobs, ResidencyManager, Resident, ResidentId, UploadRing,
};
use crate::pressure::{Pressure, preset};
use crate::render::{Culled, GroundShading, RenderOptions, Renderer, View};
use crate::scene::Scene;
use crate::sparse::{SparseKnobs, SparseMemory};
use crate::streaming::StreamedGround;
use crate::vk::swapchain::{Acquired, AcquiredImage, Swapchain};
use crate::vk::timeline::PresentSync;
use crate::vk::{
    Buffer, CommandEncoder, CommandPool, Device, DeviceOptions, Instance, InstanceOptions, Location, Point,
    Timeline,
};
use crate::vt::{self, VirtualTextures};

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
    /// How memory is watched, and what may be given up for it.
    pub residency: ResidencyKnobs,
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
            residency: ResidencyKnobs::default(),
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
    pub(crate) graph: FrameGraph,
    pub(crate) renderer: Renderer,
    pub(crate) scene: Scene,
    pub(crate) ground: Option<StreamedGround>,
    pub(crate) textures: Option<VirtualTextures>,
    pub(crate) uploads: UploadRing,
    readback: Option<Buffer>,
    pub(crate) sparse: SparseMemory,
    pub(crate) device: Arc<Device>,
    pub(crate) pressure: Pressure,
    pub(crate) frame: u64,
    pub(crate) passes: PassTimes,
    pub(crate) culled: Culled,
    pub(crate) created: VecDeque<u64>,
    #[cfg(feature = "hot-reload")]
    pub(crate) reload: Option<crate::vk::reload::ShaderReload>,
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
        let mut engine = Self::on_device(
            device.clone(),
            options.sparse,
            options.render,
            options.frames_in_flight,
            options.upload_bytes,
        )?;
        engine.watch_memory(Box::new(DeviceBudget::new(&device)), options.residency);
        Ok(engine)
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
        let pressure = Pressure::new(&device);
        let target = pressure.manager.state().target();
        let (sparse, upload_bytes) = preset(target, sparse, upload_bytes);
        let sparse = SparseMemory::new(&device, sparse);
        Ok(Self {
            graph: FrameGraph::new(
                &device,
                frames_in_flight,
                GraphOptions { async_compute: render.async_compute.is_on(true), ..Default::default() },
            )?,
            renderer: Renderer::new(&device, render, frames_in_flight)?,
            scene: Scene::new(&device, &sparse)?,
            ground: None,
            textures: None,
            uploads: UploadRing::new(&device, upload_bytes)?,
            readback: None,
            sparse,
            pressure,
            device,
            frame: 0,
            passes: PassTimes::default(),
            culled: Culled::default(),
            created: VecDeque::new(),
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

    /// Virtual textures, if they were asked for.
    pub fn textures(&self) -> Option<&VirtualTextures> {
        self.textures.as_ref()
    }

    /// The same, to change.
    pub fn textures_mut(&mut self) -> Option<&mut VirtualTextures> {
        self.textures.as_mut()
    }

    /// Makes virtual textures, in place of those before.
    ///
    /// # Errors
    /// When the driver refuses a pipeline, or has no memory.
    pub fn use_textures(&mut self, options: vt::Options) -> Result<()> {
        if let Some(mut textures) = self.textures.take() {
            textures.show_primitives(&mut self.scene);
        }
        self.textures = Some(VirtualTextures::new(&self.device, options, self.graph.frames_in_flight())?);
        Ok(())
    }

    /// Draws the ground of the scene's terrain with virtual textures from now on.
    ///
    /// # Errors
    /// When there is no terrain, [`use_textures`](Self::use_textures) was not called, or there is no memory.
    pub fn use_ground_textures(&mut self, desc: &vt::GroundTexturesDesc) -> Result<vt::GroundTextures> {
        let Self { textures, scene, sparse, .. } = self;
        let (Some(textures), Some(terrain)) = (textures, scene.terrain()) else {
            return Err(vt::VtError::NoGround.into());
        };
        Ok(textures.set_ground(sparse, terrain, desc)?)
    }

    /// Makes a virtual texture that is drawn at run time.
    ///
    /// # Errors
    /// When [`use_textures`](Self::use_textures) was not called, the texture cannot be, or there is no memory.
    pub fn create_texture(&mut self, desc: &vt::RuntimeTextureDesc) -> Result<vt::TextureId> {
        let Some(textures) = &mut self.textures else { return Err(vt::VtError::Off.into()) };
        Ok(textures.create_texture(&self.sparse, desc)?)
    }

    /// A part of a virtual texture as materials sample it, through its page table, as a picture: RGBA, 8 bits a channel,
    /// rows from the top. It waits until the GPU is done with everything.
    ///
    /// # Errors
    /// As [`view_textures`](Self::view_textures).
    pub fn texture_view(
        &self,
        texture: vt::TextureId,
        region: vt::Region,
        extent: [u32; 2],
    ) -> Result<Vec<u8>> {
        self.view_textures(&[vt::ViewPart { texture, region, level: None, corner: [0; 2], extent }], extent)
    }

    /// Parts of virtual textures beside each other in one picture. It waits until the GPU is done with everything.
    ///
    /// # Errors
    /// When [`use_textures`](Self::use_textures) was not called, see [`VirtualTextures::view`], or the device is lost.
    pub fn view_textures(&self, parts: &[vt::ViewPart], extent: [u32; 2]) -> Result<Vec<u8>> {
        let Some(textures) = &self.textures else { return Err(vt::VtError::Off.into()) };
        self.device.wait_idle()?;
        Ok(textures.view(parts, extent)?)
    }

    /// The frame graph.
    pub fn graph(&self) -> &FrameGraph {
        &self.graph
    }

    /// The frame graph, to change how frames are compiled or to look at the last one.
    pub fn graph_mut(&mut self) -> &mut FrameGraph {
        &mut self.graph
    }

    /// The renderer.
    pub fn renderer(&self) -> &Renderer {
        &self.renderer
    }

    /// Shades the ground of the scene's terrain otherwise from the next frame on: for comparing and measuring.
    pub fn set_ground_shading(&mut self, shading: GroundShading) {
        self.renderer.set_ground_shading(shading);
    }

    /// GPU times of the frames whose times came in since the last call: [`stats`](Self::stats) begins anew with what
    /// comes after. A call after each [`render`](Self::render) gives the times of the frame that was waited for.
    pub fn take_pass_times(&mut self) -> PassTimes {
        std::mem::take(&mut self.passes)
    }

    /// The next frame has nothing to do with those before, as where a film cuts: nothing of them is seen in it, and its
    /// exposure is that of its own light. Frames of another size, or that look elsewhere, are taken for cuts anyway.
    pub fn cut(&mut self) {
        self.renderer.cut();
        if let Some(textures) = &mut self.textures {
            textures.cut();
        }
    }

    /// Budget, degrade ladder and residents.
    pub fn residency(&self) -> &ResidencyManager {
        &self.pressure.manager
    }

    /// The same, to register rungs and residents of one's own.
    pub fn residency_mut(&mut self) -> &mut ResidencyManager {
        &mut self.pressure.manager
    }

    /// Watches memory by another source of budgets or with other knobs. The ladder is a new one at level 0.
    pub fn watch_memory(&mut self, source: Box<dyn BudgetSource>, knobs: ResidencyKnobs) {
        self.pressure = Pressure::with_source(&self.device, source, knobs);
    }

    /// Residents that were evicted since the last call and are not in flight any more: their owners free them now.
    pub fn take_evicted(&mut self) -> Vec<(ResidentId, Resident)> {
        self.pressure.take_evicted()
    }

    /// Number of the next frame.
    pub fn frame(&self) -> u64 {
        self.frame
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

    /// Reads the last frame: RGBA, 8 bits a channel, rows from the top, no padding. Empty before the first.
    ///
    /// # Errors
    /// When there is no memory for the copy, or the device is lost.
    pub fn read_back(&mut self) -> Result<Vec<u8>> {
        self.make_readback()?;
        let (Some(output), Some(buffer)) = (self.renderer.output(), &self.readback) else {
            return Ok(Vec::new());
        };
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

    /// A buffer for the last frame. Where there is no memory for it, something is given up.
    fn make_readback(&mut self) -> Result<()> {
        let Some(extent) = self.renderer.output().map(|output| output.desc().extent) else { return Ok(()) };
        let bytes = u64::from(extent[0]) * u64::from(extent[1]) * 4;
        while self.readback.as_ref().is_none_or(|buffer| buffer.bytes() != bytes) {
            let usage = BufferUsageFlags::TRANSFER_DST;
            match Buffer::committed(&self.device, "Readback", bytes, usage, Location::Readback) {
                Ok(buffer) => self.readback = Some(buffer),
                Err(error) => {
                    let error = error.into();
                    if !self.give_up_for(&error, extent)? {
                        return Err(error);
                    }
                }
            }
        }
        Ok(())
    }

    /// Waits until the GPU is done with everything, and brings the counters up to date.
    ///
    /// # Errors
    /// When the device is lost.
    pub fn wait_idle(&mut self) -> Result<()> {
        self.device.wait_idle()?;
        let oldest = self.graph.place();
        for (back, times) in self.graph.wait_for_all()?.into_iter().enumerate() {
            if !times.is_empty() {
                self.passes.add(&times);
                self.culled = self.renderer.culled((oldest + back) % self.graph.frames_in_flight());
            }
        }
        Ok(())
    }

    /// Every number one can see.
    pub fn stats(&self) -> Stats {
        let objects = self.device.object_counts();
        let memory = &self.pressure.manager;
        let graph = self.graph.stats();
        let gpu = self.scene.gpu();
        let terrain = self.scene.terrain();
        let first = self.created.front().copied().unwrap_or(objects.created);
        Stats {
            device: DeviceStats::of(&self.device),
            gpu_ms: self.passes.summary(),
            sparse: self.sparse.stats(),
            graph,
            memory: MemoryStats {
                budget_bytes: memory.state().budget,
                margin_bytes: memory.state().margin,
                heap_usage_bytes: memory.state().usage,
                usage_bytes: objects.memory_bytes,
                peak_usage_bytes: objects.peak_memory_bytes,
                transient_bytes: Some(graph.transient_bytes),
                transient_bound_bytes: Some(graph.transient_bound_bytes),
                transient_unaliased_bytes: Some(graph.transient_unaliased_bytes),
                degrade_level: Some(memory.ladder().level()),
                degrade_level_max: Some(memory.ladder().level_max()),
                degrade_reason: memory.steps().next_back().map(ToString::to_string),
                owners: self.device.owners(),
                upload_bytes: self.uploads.written(),
                upload_overflows: self.uploads.overflows(),
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
            vt: self.textures.as_ref().map(VirtualTextures::stats),
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
