//! Terrain chunks: each node that is drawn has vertices in the geometry pool, a primitive and an instance.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use glam::Vec3;

use super::lod::{CachePlan, ChunkCache, LodParams, Node};
use super::surface::Surface;
use super::textures::{ChunkJob, Textures};
use crate::memory::{Upload, UploadRing};
use crate::scene::error::Result;
use crate::scene::geometry::{GeometryPool, IndexRange, VertexRange};
use crate::scene::gpu_scene::{GpuScene, InstanceDesc, InstanceSet, Primitive, PrimitiveData, PrimitiveKind};
use crate::vk::layout::gpu_struct;
use crate::vk::{CommandEncoder, ComputePipeline, Device, PassBindings, shader};

gpu_struct! {
    /// Push constants of `shaders/terrain_vertices.wgsl`.
    pub struct ChunkVerticesPush {
        /// First job in the upload's buffer, in units of a job.
        pub first_job: u32,
        /// Vertices along a side of a chunk.
        pub side: u32,
    }
}

/// 32-bit words of one vertex: its height, and its height on the parent's grid.
pub const CHUNK_VERTEX_WORDS: u32 = 2;
/// Frames that a chunk is kept after it was last drawn.
const KEEP_FRAMES: u32 = 4;
/// Chunks kept though they are not drawn.
const MAX_IDLE: usize = 256;

#[derive(Debug)]
struct Chunk {
    vertices: VertexRange,
    primitive: Primitive,
    instance: Option<InstanceSet>,
}

/// What drawing one chunk takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkDraw {
    /// Indices.
    pub index_count: u32,
    /// The first of them.
    pub first_index: u32,
    /// Its instance in the GPU scene.
    pub instance: u32,
}

/// All chunks that are alive.
#[derive(Debug)]
pub(super) struct Chunks {
    pipeline: ComputePipeline,
    quads: u32,
    indices: Option<IndexRange>,
    cache: ChunkCache,
    chunks: BTreeMap<Node, Chunk>,
    selected: Vec<Node>,
    plan: CachePlan,
    /// Chunks whose vertices no submitted pass has made yet.
    unmade: BTreeSet<Node>,
    jobs: Option<(Upload, u32)>,
}

impl Chunks {
    pub(super) fn new(device: &Arc<Device>, quads: u32) -> Result<Self> {
        Ok(Self {
            pipeline: ComputePipeline::new(device, &shader::TERRAIN_VERTICES, "terrain_vertices")?,
            quads,
            indices: None,
            cache: ChunkCache::new(KEEP_FRAMES, MAX_IDLE),
            chunks: BTreeMap::new(),
            selected: Vec::new(),
            plan: CachePlan::default(),
            unmade: BTreeSet::new(),
            jobs: None,
        })
    }

    pub(super) fn len(&self) -> usize {
        self.chunks.len()
    }

    pub(super) fn vertices(&self, geometry: &GeometryPool) -> Vec<(Node, u32)> {
        let place = |chunk: &Chunk| geometry.first_vertex_word(chunk.vertices).ok();
        self.chunks.iter().filter_map(|(node, chunk)| Some((*node, place(chunk)?))).collect()
    }

    /// Draws of selected chunks whose bounds - centre and half size, world - are `wanted`, in the order of nodes.
    pub(super) fn draws<'a>(
        &'a self,
        params: &'a LodParams,
        gpu: &'a GpuScene,
        wanted: impl Fn(Vec3, Vec3) -> bool + 'a,
    ) -> impl Iterator<Item = ChunkDraw> + 'a {
        let draw = move |(node, chunk): (&Node, &Chunk)| {
            let [x, z] = node.corner(params);
            let data = gpu.primitive(chunk.primitive).ok()?;
            let centre = Vec3::new(x, 0.0, z) + Vec3::from(data.bounds_centre);
            let instance = gpu.instance_range(chunk.instance?).ok()?.start;
            wanted(centre, Vec3::from(data.bounds_extent)).then_some(ChunkDraw {
                index_count: data.index_count,
                first_index: data.first_index,
                instance,
            })
        };
        self.chunks.iter().filter_map(draw)
    }

    pub(super) fn plan(&mut self, selected: Vec<Node>, frame: u64) {
        // Those that an error kept from being made: the cache would take them for made.
        for node in std::mem::take(&mut self.plan.create) {
            self.cache.forget(node);
        }
        self.plan = self.cache.update(&selected, frame);
        self.selected = selected;
    }

    /// Frees what the plan evicts, and takes what is kept but not drawn out of the instances.
    pub(super) fn evict(&mut self, gpu: &mut GpuScene, geometry: &mut GeometryPool) -> Result<()> {
        for node in std::mem::take(&mut self.plan.evict) {
            self.unmade.remove(&node);
            if let Some(chunk) = self.chunks.remove(&node) {
                remove(chunk, gpu, geometry)?;
            }
        }
        let drawn: BTreeSet<Node> = self.selected.iter().copied().collect();
        for (node, chunk) in &mut self.chunks {
            if !drawn.contains(node)
                && let Some(set) = chunk.instance.take()
            {
                gpu.remove_instances(set)?;
            }
        }
        Ok(())
    }

    /// Makes what is missing and puts every selected node into the instances.
    pub(super) fn create(
        &mut self,
        params: &LodParams,
        surface: &Surface,
        gpu: &mut GpuScene,
        geometry: &mut GeometryPool,
        ring: &mut UploadRing,
    ) -> Result<()> {
        let indices = match self.indices {
            Some(indices) => indices,
            None => *self.indices.insert(geometry.upload_indices(&grid_indices(self.quads))?),
        };
        let (first_index, index_count) = geometry.index_range(indices)?;
        let side = self.quads + 1;
        let mut missing = std::mem::take(&mut self.plan.create).into_iter();
        while let Some(node) = missing.next() {
            let made = add_chunk(params, surface, node, (first_index, index_count), side, gpu, geometry);
            match made {
                Ok(chunk) => {
                    self.chunks.insert(node, chunk);
                    self.unmade.insert(node);
                }
                Err(error) => {
                    // These are asked for again in the next frame.
                    self.cache.forget(node);
                    missing.for_each(|node| {
                        self.cache.forget(node);
                    });
                    return Err(error);
                }
            }
        }
        for node in &self.selected {
            if let Some(chunk) = self.chunks.get_mut(node)
                && chunk.instance.is_none()
            {
                let [x, z] = node.corner(params);
                let transform = [[1.0, 0.0, 0.0, x], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, z]];
                let desc = InstanceDesc {
                    primitive: chunk.primitive,
                    transform,
                    tint: [1.0; 3],
                    random: 0.0,
                    fades: false,
                };
                chunk.instance = Some(gpu.add_instances(&[desc])?);
            }
        }
        let mut jobs = Vec::with_capacity(self.unmade.len());
        for node in &self.unmade {
            let Some(chunk) = self.chunks.get(node) else { continue };
            let first_word = geometry.first_vertex_word(chunk.vertices)?;
            jobs.push(ChunkJob {
                corner: node.corner(params),
                cell: params.cell_size(node.level),
                first_word,
            });
        }
        self.jobs = match jobs.len() {
            0 => None,
            count => Some((ring.write(bytemuck::cast_slice(&jobs))?, count as u32)),
        };
        Ok(())
    }

    /// The pass that was recorded is submitted.
    pub(super) fn submitted(&mut self) {
        self.unmade.clear();
        self.jobs = None;
    }

    /// Whether there are vertices to make.
    pub(super) fn has_jobs(&self) -> bool {
        self.jobs.is_some()
    }

    pub(super) fn record(&self, encoder: &mut CommandEncoder, geometry: &GeometryPool, textures: &Textures) {
        let Some((upload, count)) = &self.jobs else { return };
        let count = *count;
        let side = self.quads + 1;
        let groups = self.pipeline.groups([side * side, 1, 1])[0];
        let bindings = PassBindings {
            buffers: &[
                (0, &upload.buffer),
                (1, geometry.vertices().buffer()),
                (5, textures.constants()),
                (6, textures.overlays().words()),
                (7, textures.overlays().primitives()),
            ],
            images: &[(8, textures.coefficients()), (9, textures.detail())],
            ..Default::default()
        };
        // A dispatch has at most 65535 groups an axis; one chunk a group on y.
        let mut first = 0;
        while first < count {
            let batch = (count - first).min(65_535);
            let push = ChunkVerticesPush {
                first_job: (upload.offset / size_of::<ChunkJob>() as u64) as u32 + first,
                side,
            };
            encoder.dispatch(&self.pipeline, &bindings, &push, [groups, batch, 1]);
            first += batch;
        }
    }

    pub(super) fn remove_all(&mut self, gpu: &mut GpuScene, geometry: &mut GeometryPool) -> Result<()> {
        self.unmade.clear();
        for (node, chunk) in std::mem::take(&mut self.chunks) {
            self.cache.forget(node);
            remove(chunk, gpu, geometry)?;
        }
        if let Some(indices) = self.indices.take() {
            geometry.free_indices(indices)?;
        }
        Ok(())
    }
}

fn remove(chunk: Chunk, gpu: &mut GpuScene, geometry: &mut GeometryPool) -> Result<()> {
    if let Some(set) = chunk.instance {
        gpu.remove_instances(set)?;
    }
    gpu.remove_primitive(chunk.primitive)?;
    geometry.free_vertices(chunk.vertices)
}

/// Room for the vertices of a chunk, and its primitive.
fn add_chunk(
    params: &LodParams,
    surface: &Surface,
    node: Node,
    indices: (u32, u32),
    side: u32,
    gpu: &mut GpuScene,
    geometry: &mut GeometryPool,
) -> Result<Chunk> {
    let vertices = geometry.allocate_vertices(side * side * CHUNK_VERTEX_WORDS)?;
    let first_vertex_word = geometry.first_vertex_word(vertices)?;
    match gpu.add_primitive(primitive(params, surface, node, indices, first_vertex_word)) {
        Ok(primitive) => Ok(Chunk { vertices, primitive, instance: None }),
        Err(error) => {
            geometry.free_vertices(vertices)?;
            Err(error)
        }
    }
}

fn primitive(
    params: &LodParams,
    surface: &Surface,
    node: Node,
    (first_index, index_count): (u32, u32),
    first_vertex_word: u32,
) -> PrimitiveData {
    let [x, z] = node.corner(params);
    let size = params.size(node.level);
    let (low, high) = surface.height_bounds(x, z, x + size, z + size);
    let morph = params.morph(node.level);
    PrimitiveData {
        bounds_centre: [size * 0.5, (low + high) * 0.5, size * 0.5],
        kind: PrimitiveKind::TerrainChunk as u32,
        bounds_extent: [size * 0.5, (high - low) * 0.5, size * 0.5],
        first_vertex_word,
        first_index,
        index_count,
        morph_start: morph.start,
        morph_end: morph.end,
        colour: [1.0; 3],
        parameter: params.cell_size(node.level),
    }
}

/// Two counter-clockwise triangles (seen from above) a cell.
fn grid_indices(quads: u32) -> Vec<u32> {
    let side = quads + 1;
    let mut indices = Vec::with_capacity((quads * quads * 6) as usize);
    for j in 0..quads {
        for i in 0..quads {
            let a = j * side + i;
            let (b, c, d) = (a + 1, a + side, a + side + 1);
            indices.extend([a, c, b, b, c, d]);
        }
    }
    indices
}
