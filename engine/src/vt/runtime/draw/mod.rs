//! Drawing pages: what a plan asks for, recorded on the frame graph.
//!
//! ```text
//! FramePlan.pages --batches--> prepare: targets, pipelines, records, draws      (once a frame, on the host)
//!                              declare: a pass `VirtualTextureFinalizeRequests` a batch, a marker
//!                                       `VirtualTextureDraw (name, level L, page x,y)` a page, a page a layer
//!                           --> BatchTargets: RenderTexture0/1/2 as drawn, for whoever compresses them
//! ```
//!
//! Targets, pipelines and buffers are made when they are first needed; a frame without pages declares nothing.

mod pipelines;
mod plan;
mod records;
mod targets;

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ash::vk::BufferUsageFlags;

use self::pipelines::{Pipelines, Source};
use self::plan::{Geometry, PageOf, PlannedPage, plan_page};
use self::records::Records;
use self::targets::Targets;
use super::batch::batches;
use super::error::Result;
use super::kind::MOST_TARGETS;
use super::registry::{Registry, WriterId};
use crate::graph::{Access, Frame, ImageHandle, ImportState, Queue, ShaderStages};
use crate::scene::{Scene, SceneBuffers};
use crate::vk::{
    Buffer, ColourTarget, CommandEncoder, DepthTarget, Device, Load, Location, PassBindings, Sampler,
    SamplerDesc,
};
use crate::vt::{FINALIZE, PageWork, compress};

pub use plan::BatchTarget;
pub use records::{PageKnot, PagePush, PageWriter};

/// Buffers of one frame in flight.
#[derive(Debug, Default)]
struct PlaceBuffers {
    writers: Option<Buffer>,
    knots: Option<Buffer>,
    revision: Option<u64>,
}

/// A batch that is ready to be declared.
#[derive(Debug)]
struct Batch {
    target: BatchTarget,
    /// Index of its set of targets.
    set: usize,
    works: Vec<PageWork>,
    /// Pages with the pipelines of their draws.
    pages: Vec<(PlannedPage, Vec<usize>)>,
}

impl Batch {
    fn has_meshes(&self) -> bool {
        self.pages.iter().any(|(page, _)| page.has_depth)
    }
}

/// What was drawn for a batch: layer `i` of each target is page `i`.
#[derive(Debug, Clone)]
pub struct BatchTargets<'f> {
    /// Atlas and kind.
    pub target: BatchTarget,
    /// Targets as drawn, in the order of [`BatchTarget::formats`].
    pub images: Vec<ImageHandle>,
    /// The pages, one a layer.
    pub works: &'f [PageWork],
}

impl BatchTargets<'_> {
    /// The batch and its targets as [`Compressor::declare`](crate::vt::compress::Compressor::declare) takes them.
    pub fn to_compress(&self) -> (compress::Batch, [Option<ImageHandle>; MOST_TARGETS]) {
        let pages = self.works.iter().map(|work| work.physical).collect();
        let batch = compress::Batch { kind: self.target.kind, pages };
        (batch, std::array::from_fn(|target| self.images.get(target).copied()))
    }
}

/// Images of a frame that batches are drawn into one after the other.
#[derive(Debug, Default)]
pub struct ImportedTargets {
    /// By set: colours and depth.
    sets: Vec<Option<(Vec<ImageHandle>, Option<ImageHandle>)>>,
}

/// Draws pages of runtime virtual textures.
#[derive(Debug)]
pub struct PageRenderer {
    device: Arc<Device>,
    pipelines: Pipelines,
    targets: Targets,
    records: Records,
    places: Vec<PlaceBuffers>,
    place: usize,
    /// That of the terrain, which repeats its tiles, and that of stamps, which end at their edges.
    samplers: Option<[Sampler; 2]>,
    batches: Vec<Batch>,
    /// Writers of which was told that they cannot be drawn.
    told: HashSet<WriterId>,
    /// Whether a submission of the present frame draws pages.
    is_drawn: AtomicBool,
}

impl PageRenderer {
    /// Nothing is made until there is a page to draw.
    pub fn new(device: &Arc<Device>, frames_in_flight: usize) -> Self {
        Self {
            device: device.clone(),
            pipelines: Pipelines::default(),
            targets: Targets::default(),
            records: Records::default(),
            places: (0..frames_in_flight.max(1)).map(|_| PlaceBuffers::default()).collect(),
            place: 0,
            samplers: None,
            batches: Vec::new(),
            told: HashSet::new(),
            is_drawn: AtomicBool::new(false),
        }
    }

    /// Makes the pages of a plan ready to be declared: culls, cuts them into batches, makes what is not there yet. Call it
    /// after the scene was prepared. `place`: of this frame among those in flight, whose frame before is done.
    ///
    /// # Errors
    /// When the device has no memory, or refuses a pipeline.
    pub fn prepare(
        &mut self,
        place: usize,
        (scene, registry): (&Scene, &Registry),
        works: &[PageWork],
    ) -> Result<()> {
        profiling::scope!("PageRenderer::prepare");
        self.batches.clear();
        self.place = place % self.places.len();
        // Of textures that were removed since the plan was made there is nothing to draw.
        let works: Vec<(PageWork, PageOf<'_>)> =
            works.iter().filter_map(|work| Some((*work, PageOf::of(registry, work)?))).collect();
        if works.is_empty() {
            return Ok(());
        }
        self.records.follow(registry);
        self.write_records()?;
        if self.samplers.is_none() {
            let make = |name, repeat| {
                Sampler::new(&self.device, name, SamplerDesc { linear: true, repeat, anisotropy: 1.0 })
            };
            self.samplers = Some([make("VirtualTexturePage", true)?, make("VirtualTextureStamp", false)?]);
        }
        let mut missing = Vec::new();
        for range in batches(&works, |(work, of)| of.target(work.physical.pool)) {
            let some = works.get(range).unwrap_or_default();
            let Some((first, of)) = some.first() else { continue };
            let target = of.target(first.physical.pool);
            let mut pages = Vec::with_capacity(some.len());
            for (_, of) in some {
                let page = plan_page((scene, registry, &self.records), *of, &mut missing);
                let found = |draw: &plan::PlannedDraw| self.pipelines.find(&self.device, draw.key);
                let found = page.draws.iter().map(found).collect::<crate::vk::Result<_>>()?;
                pages.push((page, found));
            }
            let needs_depth = pages.iter().any(|(page, _)| page.has_depth);
            let set = self.targets.find(&self.device, (target.formats(), target.side), needs_depth)?;
            self.batches.push(Batch {
                target,
                set,
                works: some.iter().map(|(work, _)| *work).collect(),
                pages,
            });
        }
        for id in missing {
            if self.told.insert(id) {
                let name = registry.writer(id).map(|writer| writer.desc.name.as_str()).unwrap_or_default();
                log::warn!(
                    "{name} is not drawn into virtual textures: its mesh or terrain is not in the scene; remove it, or \
                     add it when the scene has it"
                );
            }
        }
        Ok(())
    }

    /// The frame was submitted, in part at least. Returns whether what was prepared is being drawn.
    #[must_use]
    pub fn submitted(&mut self) -> bool {
        std::mem::take(self.is_drawn.get_mut()) || self.batches.is_empty()
    }

    /// Forgets what was prepared: nothing is drawn in this frame.
    pub fn clear(&mut self) {
        self.batches.clear();
    }

    fn write_records(&mut self) -> Result<()> {
        let Some(buffers) = self.places.get_mut(self.place) else { return Ok(()) };
        if buffers.revision == self.records.revision {
            return Ok(());
        }
        write(
            &self.device,
            &mut buffers.writers,
            "VirtualTexture.Writers",
            bytemuck::cast_slice(&self.records.writers),
        )?;
        write(
            &self.device,
            &mut buffers.knots,
            "VirtualTexture.Knots",
            bytemuck::cast_slice(&self.records.knots),
        )?;
        buffers.revision = self.records.revision;
        Ok(())
    }

    /// Number of batches of the prepared frame.
    pub fn batch_count(&self) -> usize {
        self.batches.len()
    }

    /// Pipelines made so far.
    pub fn pipeline_count(&self) -> usize {
        self.pipelines.len()
    }

    /// Draw calls of the prepared frame.
    pub fn draw_count(&self) -> usize {
        self.batches.iter().flat_map(|batch| &batch.pages).map(|(page, _)| page.draws.len()).sum()
    }

    /// Bytes of the targets made so far.
    pub fn target_bytes(&self) -> u64 {
        self.targets.bytes()
    }

    /// Declares the pass that draws batch `index` of the prepared frame; `None` past the last. Batches are declared one
    /// after the other, whoever reads the targets of one before the next.
    pub fn declare<'f>(
        &'f self,
        frame: &mut Frame<'_, 'f>,
        (scene, buffers): (&'f Scene, SceneBuffers),
        imported: &mut ImportedTargets,
        index: usize,
    ) -> Option<BatchTargets<'f>> {
        let batch = self.batches.get(index)?;
        if index == 0 {
            self.is_drawn.store(false, Ordering::Release);
        }
        let (colours, depth) = self.import(frame, imported, batch.set)?;
        let mut pass = frame.pass(FINALIZE, Queue::Graphics).group(FINALIZE);
        for colour in colours.iter_mut() {
            pass = pass.write(colour, Access::ColourAttachment);
        }
        if batch.has_meshes() {
            pass = pass
                .read(buffers.vertices, Access::StorageRead(ShaderStages::VERTEX))
                .read(buffers.indices, Access::Index);
            if let Some(depth) = depth {
                pass = pass.write(depth, Access::DepthAttachment);
            }
        }
        pass.record(move |pass| {
            let encoder = pass.encoder();
            for (layer, (page, pipelines)) in batch.pages.iter().enumerate() {
                self.draw(encoder, scene, (batch, layer), page, pipelines);
            }
            Ok(())
        });
        Some(BatchTargets { target: batch.target, images: colours.clone(), works: &batch.works })
    }

    fn import<'i, 'f>(
        &'f self,
        frame: &mut Frame<'_, 'f>,
        imported: &'i mut ImportedTargets,
        set: usize,
    ) -> Option<(&'i mut Vec<ImageHandle>, Option<&'i mut ImageHandle>)> {
        let images = self.targets.sets().get(set)?;
        if imported.sets.len() <= set {
            imported.sets.resize_with(set + 1, || None);
        }
        let (colours, depth) = imported.sets.get_mut(set)?.get_or_insert_with(|| {
            let mut import = |layered: &'f targets::Layered| {
                let handle = frame.import_image(&layered.image, ImportState::Undefined, None);
                frame.when_used(handle, |_| self.is_drawn.store(true, Ordering::Release));
                handle
            };
            (images.colours.iter().map(&mut import).collect(), images.depth.as_ref().map(&mut import))
        });
        Some((colours, depth.as_mut()))
    }

    fn draw(
        &self,
        encoder: &mut CommandEncoder,
        scene: &Scene,
        (batch, layer): (&Batch, usize),
        page: &PlannedPage,
        pipelines: &[usize],
    ) {
        let Some(set) = self.targets.sets().get(batch.set) else { return };
        // Nothing is there yet: all of what lies below would show through.
        let load = Load::Clear([0.0, 0.0, 0.0, 1.0]);
        let colours: Vec<ColourTarget> = set
            .colours
            .iter()
            .filter_map(|target| target.layers.get(layer))
            .map(|view| ColourTarget { view: view.raw(), load, resolve: None })
            .collect();
        let depth = set.depth.as_ref().filter(|_| page.has_depth).and_then(|depth| depth.layers.get(layer));
        let depth = depth.map(|view| DepthTarget {
            view: view.raw(),
            is_cleared: true,
            is_written: true,
            is_kept: false,
            resolve: None,
        });
        encoder.begin_label(&page.label);
        encoder.begin_rendering([set.side; 2], &colours, depth);
        for (draw, pipeline) in page.draws.iter().zip(pipelines) {
            self.draw_one(encoder, scene, page.push, draw, *pipeline);
        }
        encoder.end_rendering();
        encoder.end_label();
    }

    fn draw_one(
        &self,
        encoder: &mut CommandEncoder,
        scene: &Scene,
        mut push: PagePush,
        draw: &plan::PlannedDraw,
        pipeline: usize,
    ) {
        let (Some(pipeline), Some(place)) = (self.pipelines.get(pipeline), self.places.get(self.place))
        else {
            return;
        };
        let writers = place.writers.iter().map(|buffer| (0, buffer));
        let knots = place.knots.iter().map(|buffer| (1, buffer));
        let mut buffers: Vec<(u32, &Buffer)> = writers.collect();
        let mut images = Vec::new();
        match (draw.key.source, scene.terrain()) {
            (Source::Terrain | Source::TerrainHeight, Some(terrain)) => {
                let textures = terrain.textures();
                buffers.extend(textures.material_buffers());
                images.extend(textures.material_images());
                images.push((9, textures.coefficients()));
            }
            (Source::Ribbon, _) => buffers.extend(knots),
            (Source::Mesh, _) => buffers.push((4, scene.geometry().vertices().buffer())),
            _ => {}
        }
        images.extend(draw.image.iter().map(|stamp| (9, stamp.0.as_ref())));
        if let Geometry::Mesh { writer, data } = &draw.geometry {
            (push.writer, push.first_word) = (*writer, data.first_vertex_word);
            (push.colour, push.roughness) = (data.colour, data.parameter);
        }
        let is_stamp = matches!(draw.key.source, Source::Decal | Source::Ribbon);
        let bindings = PassBindings {
            buffers: &buffers,
            images: &images,
            sampler: self.samplers.as_ref().map(|[tiles, stamps]| if is_stamp { stamps } else { tiles }),
            ..Default::default()
        };
        if !encoder.bind_graphics(pipeline, &bindings, &push) {
            return;
        }
        match draw.geometry {
            Geometry::Rectangles { first, count } | Geometry::Pieces { first, count } => {
                encoder.draw_from(6, count, (0, first));
            }
            Geometry::Mesh { data, .. } => {
                encoder.bind_indices(scene.geometry().indices().buffer());
                encoder.draw_indexed(data.index_count, 1, (data.first_index, 0));
            }
        }
    }
}

/// Writes bytes into a buffer that is large enough, made anew where it is not.
fn write(device: &Arc<Device>, buffer: &mut Option<Buffer>, name: &str, bytes: &[u8]) -> Result<()> {
    let needed = (bytes.len() as u64).max(256);
    if buffer.as_ref().is_none_or(|buffer| buffer.bytes() < needed) {
        let usage = BufferUsageFlags::STORAGE_BUFFER;
        let made = Buffer::committed(device, name, needed.next_power_of_two(), usage, Location::Upload)?;
        *buffer = Some(made);
    }
    if let Some(buffer) = buffer {
        buffer.write_mapped(0, bytes)?;
    }
    Ok(())
}
