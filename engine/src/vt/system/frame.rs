//! A frame of all virtual textures.

use super::constants::{self, SampleSettings};
use super::textures::PoolAtlas;
use super::totals::FrameRecord;
use super::{VirtualTextures, VtResult};
use crate::graph::{BufferHandle, Frame, ImageHandle, Queue};
use crate::scene::{Scene, SceneBuffers};
use crate::sparse::SparseMemory;
use crate::vk::{Buffer, Image};
use crate::vt::atlas::AtlasHandles;
use crate::vt::compress::Batch;
use crate::vt::passes::FeedbackHandles;
use crate::vt::runtime::{ImportedTargets, RuntimeProducer, Shape};
use crate::vt::sampling::{Anisotropy, SampledTexture, Trilinear, VirtualTexture, VirtualTextureFrame};
use crate::vt::tables::TableHandles;
use crate::vt::{FEEDBACK_FRAMES, FramePlan, PoolId, Priority, SpaceId, TextureId};

/// Which frame is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VtFrame {
    /// Number of the frame.
    pub frame: u64,
    /// Its place among the frames in flight.
    pub place: usize,
    /// Width and height in pixels of what is drawn.
    pub extent: [u32; 2],
    /// How it samples.
    pub settings: SampleSettings,
}

/// What passes that sample use of a frame.
#[derive(Debug, Clone)]
pub struct VtImages {
    tables: TableHandles,
    atlases: Vec<(PoolId, AtlasHandles)>,
    /// Feedback: passes that sample write it with `Access::StorageReadWrite(ShaderStages::FRAGMENT)`.
    pub feedback: BufferHandle,
}

/// The atlases of a frame, before its passes.
#[derive(Debug, Clone)]
pub struct VtAtlases {
    pools: Vec<(PoolId, AtlasHandles)>,
}

impl VtAtlases {
    /// All images, to move them on.
    pub fn all_mut(&mut self) -> impl Iterator<Item = &mut ImageHandle> {
        self.pools.iter_mut().flat_map(|(_, handles)| &mut handles.layers)
    }
}

impl VtImages {
    /// The page table of a space.
    pub fn table(&self, space: SpaceId) -> Option<ImageHandle> {
        self.tables.get(space, 0)
    }

    /// The layers of a pool's atlas.
    pub fn layers(&self, pool: PoolId) -> &[ImageHandle] {
        let found = self.atlases.iter().find(|(id, _)| *id == pool);
        found.map_or(&[], |(_, handles)| handles.layers.as_slice())
    }
}

impl VirtualTextures {
    /// Decides what the frame does, and makes ready what it needs. Call it before the frame's flush of reserved memory,
    /// and once a frame: after a frame that was not submitted, call [`keep_unsubmitted`](Self::keep_unsubmitted) first.
    ///
    /// `is_scene_ready`: whether the scene holds what pages are drawn from; until then no page is drawn.
    ///
    /// Where there is no memory for the passes, the frame goes without them and the next one tries again.
    ///
    /// # Errors
    /// When the device is lost, or has no memory for the feedback.
    pub fn prepare(&mut self, at: VtFrame, scene: &Scene, is_scene_ready: bool) -> VtResult<()> {
        profiling::scope!("VirtualTextures::prepare");
        let options = self.options;
        let side = self.feedback.layout().side;
        self.feedback.resize(at.extent, options.feedback_factor, options.feedback_overdraw)?;
        self.totals.resizes += u64::from(self.feedback.layout().side != side);
        self.release_pools();
        self.planner.begin_frame(at.frame);
        self.hear(at.frame)?;
        for stale in self.registry.take_invalidations() {
            self.totals.invalidations += 1;
            // A texture that is gone has no pages.
            let _ = self.planner.invalidate(stale.texture, stale.region, Priority::High);
        }
        let has = |shape: &Shape| match shape {
            Shape::Terrain(_) => scene.terrain().is_some(),
            Shape::Mesh { mesh, .. } => scene.mesh_data(*mesh).is_ok(),
            _ => true,
        };
        for better in self.inputs.follow(&self.registry, has) {
            let _ = self.planner.inputs_sharpened(better.texture, better.region, better.quality);
        }
        let mut producer = RuntimeProducer::new(&self.registry, &self.inputs, is_scene_ready);
        self.planner.plan_into(&mut producer, &mut self.plan);
        self.is_planned = true;
        if let Err(error) = self.prepare_passes(at.place, scene) {
            self.give_up_plan();
            if !std::mem::replace(&mut self.told, true) {
                log::warn!("virtual textures go on with the pages that they have: {error}");
            }
        }
        self.write_constants(at)
    }

    /// Hides instances of the scene whose picture is in the ground, and shows them again where it is not any more: see
    /// [`MainPass`](crate::vt::runtime::MainPass). Call it before the scene is prepared.
    pub fn hide_primitives(&mut self, scene: &mut Scene) {
        if self.hidden_by == Some(self.registry.revision()) {
            return;
        }
        self.hidden_by = Some(self.registry.revision());
        let mut hidden = Vec::with_capacity(self.hidden.len());
        for (id, writer) in self.registry.writers() {
            let Some(instances) = writer.desc.instances else { continue };
            if self.registry.is_in_main_pass(id).unwrap_or(true) {
                continue;
            }
            match scene.set_hidden(instances, true) {
                Ok(()) => hidden.push(instances),
                Err(error) if self.told_gone.insert(id) => {
                    log::warn!("{}: its instances cannot be hidden: {error}", writer.desc.name);
                }
                Err(_) => {}
            }
        }
        let shown = self.hidden.iter().filter(|instances| !hidden.contains(instances));
        // Those that were removed meanwhile need not be shown.
        shown.for_each(|instances| drop(scene.set_hidden(*instances, false)));
        self.hidden = hidden;
    }

    /// Shows every instance again: nothing writes to virtual textures from now on.
    pub fn show_primitives(&mut self, scene: &mut Scene) {
        self.hidden.drain(..).for_each(|instances| drop(scene.set_hidden(instances, false)));
        self.hidden_by = None;
    }

    /// Takes feedback that has arrived.
    fn hear(&mut self, frame: u64) -> VtResult<()> {
        let wanted = match self.options.is_exact {
            true => match frame.checked_sub(FEEDBACK_FRAMES) {
                Some(wanted) => Some(wanted),
                None => return Ok(()),
            },
            false => None,
        };
        if let Some(arrived) = self.feedback.take(wanted)? {
            self.planner.feed(&arrived.feedback());
        }
        // Lost where frames were submitted, since the last frame began.
        let lost = self.feedback.stats().lost_feedback;
        let before = std::mem::replace(&mut self.totals.lost, lost);
        self.planner.lost_feedback(u32::try_from(lost.saturating_sub(before)).unwrap_or(u32::MAX));
        Ok(())
    }

    fn prepare_passes(&mut self, place: usize, scene: &Scene) -> VtResult<()> {
        self.renderer.prepare(place, (scene, &self.registry), &self.plan.pages)?;
        self.tables.prepare(&self.plan.updates, place)?;
        Ok(())
    }

    /// The frame goes without its plan; the next plan makes up for it.
    fn give_up_plan(&mut self) {
        self.totals.withdrawn += 1;
        self.planner.withdrawn(&self.plan);
        self.plan = FramePlan::default();
        self.is_planned = false;
        self.renderer.clear();
        self.tables.keep_unsubmitted();
    }

    fn write_constants(&mut self, at: VtFrame) -> VtResult<()> {
        let layout = self.feedback.layout();
        let frame = VirtualTextureFrame {
            feedback_side: layout.side,
            feedback_factor_log2: layout.factor_log2,
            feedback_capacity: layout.capacity,
            frame: at.frame as u32,
            global_bias: self.options.bias,
            texture_count: 0,
            padding: 0,
        };
        let count = self.textures.iter().map(|texture| texture.id.index() + 1).max().unwrap_or(0);
        let mut all: Vec<VirtualTexture> = vec![bytemuck::Zeroable::zeroed(); count];
        for texture in &self.textures {
            if let (Some(place), Some(sampled)) =
                (all.get_mut(texture.id.index()), self.sampled(texture.id, at.settings))
            {
                *place = sampled.constants();
            }
        }
        Ok(self.constants.write(&self.device, at.place, frame, &all)?)
    }

    /// A texture as shaders sample it.
    pub fn sampled(&self, id: TextureId, settings: SampleSettings) -> Option<SampledTexture> {
        let info = self.textures.iter().find(|texture| texture.id == id)?;
        let placement = self.planner.placement(id)?;
        let side = self.planner.pool(info.pool)?.size.side;
        let (shows_levels, shows_borders) = constants::shown(&self.options);
        let desc = &info.desc;
        let grid = placement.grid;
        let offset = placement.offset.map(u32::from);
        let [low, high] = desc.heights();
        let is_software = self.device.capabilities().device_type == crate::vk::capabilities::DeviceType::Cpu;
        Some(SampledTexture {
            space: placement.fed.then_some(placement.space),
            wrap: desc.wrap,
            anisotropy: match self.options.anisotropy {
                false => Anisotropy::Off,
                // Where gradients are explicit, software samplers leave anisotropy out.
                true if is_software => Anisotropy::Taps,
                true => Anisotropy::Sampler,
            },
            // Noise in heights would shake what stands on them.
            trilinear: if desc.kind.is_height() {
                Trilinear::Manual
            } else {
                settings.trilinear(&self.options)
            },
            bias: desc.bias,
            table_bias: self.planner.texture_bias(id),
            height: [high - low, low],
            fallback: desc.fallback,
            is_low_quality: desc.kind.is_low_quality(info.storage),
            shows_levels,
            shows_borders,
            ..SampledTexture::new(grid, offset, (desc.tile, desc.border), side, desc.kind)
        })
    }

    /// The atlases in a frame, before everything that is done with them; `sparse`, which they were made with, is told who
    /// uses them.
    pub fn import<'f>(&'f self, frame: &mut Frame<'_, 'f>, sparse: &'f SparseMemory) -> VtAtlases {
        let import = |pool: &'f PoolAtlas| (pool.pool, pool.atlas.import(frame, sparse));
        VtAtlases { pools: self.pools.iter().map(import).collect() }
    }

    /// Declares everything that must be done before anybody samples, in this order.
    pub fn declare<'f>(
        &'f self,
        frame: &mut Frame<'_, 'f>,
        (scene, buffers): (&'f Scene, SceneBuffers),
        atlases: VtAtlases,
    ) -> VtImages {
        let mut atlases = atlases.pools;
        for (pool, (_, handles)) in self.pools.iter().zip(&mut atlases) {
            pool.atlas.declare_allocate(frame, handles);
        }
        let mut tables = self.tables.declare_allocate(frame);
        mark(frame, "VirtualTextureBeginUpdate");
        let FeedbackHandles { buffer: feedback } = self.feedback.declare_clear(frame);
        mark(frame, "VirtualTextureEndUpdate");
        let mut targets = ImportedTargets::default();
        let mut index = 0;
        while let Some(batch) = self.renderer.declare(frame, (scene, buffers), &mut targets, index) {
            let pool = self.pools.iter().find(|pool| pool.pool == batch.target.pool);
            let layers = atlases.iter_mut().find(|(id, _)| *id == batch.target.pool);
            if let (Some(pool), Some((_, layers))) = (pool, layers) {
                let pages = batch.works.iter().map(|work| work.physical).collect();
                let job = Batch { kind: batch.target.kind, pages };
                let target = |index: usize| batch.images.get(index).copied();
                let targets = [target(0), target(1), target(2)];
                let direct = self.options.direct_compress;
                let declared = self.compressor.declare(frame, &job, targets, (&pool.atlas, layers), direct);
                if let Err(error) = declared {
                    log::error!("pages of virtual textures are not compressed: {error}");
                }
            }
            index += 1;
        }
        self.tables.declare_updates(frame, &mut tables);
        VtImages { tables, atlases, feedback }
    }

    /// Declares what is done with feedback once everybody has sampled.
    pub fn declare_feedback<'f>(&'f self, frame: &mut Frame<'_, 'f>, images: &VtImages) {
        self.feedback.declare_update(frame, FeedbackHandles { buffer: images.feedback });
    }

    /// The frame was submitted, in part at least.
    pub fn submitted(&mut self, frame: u64) {
        self.feedback.submitted(frame);
        let is_done = self.tables.submitted() & self.renderer.submitted();
        if !std::mem::take(&mut self.is_planned) {
            return;
        }
        if !is_done {
            self.give_up_plan();
            return;
        }
        let record = self.record(frame);
        self.totals.add(&self.plan, record);
    }

    /// What was recorded is not submitted: the next plan makes up for it.
    pub fn keep_unsubmitted(&mut self) {
        self.feedback.keep_unsubmitted();
        if std::mem::take(&mut self.is_planned) {
            self.give_up_plan();
        }
    }

    /// The next frame's camera has nothing to do with the last one's: frames are counted until it is sharp.
    pub fn cut(&mut self) {
        self.totals.cut();
    }

    fn record(&self, frame: u64) -> FrameRecord {
        let pools = self.planner.pool_usage();
        let fullest = pools.iter().max_by(|a, b| a.residency.total_cmp(&b.residency));
        let c = &self.plan.counters;
        FrameRecord {
            frame,
            residency: fullest.map_or(0.0, |pool| pool.residency),
            locked: fullest.map_or(0.0, |pool| pool.locked_share),
            bias: pools.iter().map(|pool| pool.bias_share).fold(0.0, f32::max),
            requests: c.requests,
            unique: c.unique,
            resident: c.resident,
            made: c.made,
            redrawn: c.redrawn,
            evicted: c.evicted,
            deferred: c.deferred,
            sharpness: c.sharpness(),
        }
    }

    /// Constants, to bind at [`bindings::CONSTANTS`](crate::vt::sampling::bindings::CONSTANTS).
    pub fn constants(&self) -> Option<&Buffer> {
        self.constants.buffer()
    }

    /// The feedback buffer, to bind at [`bindings::FEEDBACK`](crate::vt::sampling::bindings::FEEDBACK).
    pub fn feedback_buffer(&self) -> Option<&Buffer> {
        self.feedback.buffers().next()
    }

    /// Page table and layers of a texture, to bind at
    /// [`bindings::PAGE_TABLE`](crate::vt::sampling::bindings::PAGE_TABLE) and after.
    pub fn images(&self, id: TextureId) -> Option<(&Image, Vec<&Image>)> {
        let info = self.textures.iter().find(|texture| texture.id == id)?;
        let table = self.tables.image(self.planner.placement(id)?.space, 0)?;
        let pool = self.pools.iter().find(|pool| pool.pool == info.pool)?;
        let layers = (0..).map_while(|layer| pool.atlas.image(layer)).collect();
        Some((table, layers))
    }

    /// Handles of the same in a frame.
    pub fn handles(&self, id: TextureId, images: &VtImages) -> Vec<ImageHandle> {
        let info = self.textures.iter().find(|texture| texture.id == id);
        let table = self.planner.placement(id).and_then(|placement| images.table(placement.space));
        let layers = info.map_or(&[][..], |info| images.layers(info.pool));
        table.into_iter().chain(layers.iter().copied()).collect()
    }
}

/// A marker without work, so that a capture shows where planning stands among the passes.
fn mark(frame: &mut Frame<'_, '_>, name: &'static str) {
    frame.pass(name, Queue::Graphics).side_effects().record(|_| Ok(()));
}
