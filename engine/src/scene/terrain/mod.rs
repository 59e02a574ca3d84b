//! A terrain made from a height map.
//!
//! ```text
//! file -> HeightMap -> Surface (continuous ground, pure) --+--> LightMaps (sun shadow, sky visibility)
//!                                                          +--> Quadtree, ChunkCache (pure: which chunks)
//!                                                          +--> scatter (pure: which rocks)
//! camera -> Terrain: chunks and rocks enter and leave the scene; a compute pass makes the vertices
//! ```
//!
//! - `heightmap`: reading files. `surface`, `detail`: the ground as a function. `light`: what the sun does.
//! - `materials`: what the ground is made of.
//! - `roads`: what is built on it: splines that flatten and paint, decals.
//! - `lod`: which nodes to draw. `chunks`: their vertices, primitives and instances. `rocks`: scattered instances.
//! - `textures`: the maps that shaders read, and the constants that say how.

mod chunks;
pub mod detail;
pub mod heightmap;
pub mod light;
pub mod lod;
pub mod materials;
pub mod roads;
mod rocks;
pub mod scatter;
pub mod surface;
mod textures;

use std::sync::Arc;

use glam::Vec3;

use self::chunks::Chunks;
use self::light::LightMaps;
use self::lod::{LodCamera, LodParams, Node, Quadtree};
use self::rocks::Rocks;
use self::surface::Surface;
use super::error::Result;
use super::geometry::GeometryPool;
use super::gpu_scene::GpuScene;
use crate::memory::UploadRing;
use crate::scene::Camera;
use crate::vk::{CommandEncoder, Device};

pub use self::chunks::{ChunkDraw, ChunkVerticesPush};
pub use self::textures::{ChunkJob, TerrainConstants, TerrainLayer, Textures};

/// The usual factor for heights: at true scale, two kilometres of relief over seventy look gentle; more than this,
/// and valleys look like canyons.
pub const EXAGGERATION: f32 = 1.6;

/// How a terrain is made from a surface.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TerrainDesc {
    /// Unit vector towards the sun.
    pub sun: Vec3,
    /// Cells along a side of a chunk: 16, 32 or 64.
    pub quads: u32,
    /// How far a level reaches, in sizes of the next coarser chunk; above 1.42.
    pub reach: f32,
    /// Distance up to which rocks lie around the camera, metres; 0 for none.
    pub rock_distance: f32,
    /// Seed of the rocks and the materials.
    pub seed: u32,
    /// Layers of material, 1 to [`materials::MAX_LAYERS`].
    pub layers: u32,
    /// Texels along a side of a layer's tile; 0 for what suits the device.
    pub layer_size: u32,
    /// Threads that compute the light.
    pub threads: usize,
}

impl TerrainDesc {
    /// The usual terrain under a sun in that direction.
    pub fn new(sun: Vec3) -> Self {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            sun: sun.normalize_or(Vec3::Y),
            quads: 32,
            reach: 1.6,
            rock_distance: 700.0,
            seed: 1,
            layers: 8,
            layer_size: 0,
            threads,
        }
    }
}

/// Ground, rocks and their light.
#[derive(Debug)]
pub struct Terrain {
    surface: Arc<Surface>,
    light: LightMaps,
    quadtree: Quadtree,
    chunks: Chunks,
    rocks: Rocks,
    textures: Textures,
}

impl Terrain {
    /// Computes the light, makes the textures, and plans the quadtree; draws nothing yet.
    ///
    /// # Errors
    /// When the world cannot be covered, or the device has no memory.
    pub fn new(device: &Arc<Device>, surface: Arc<Surface>, desc: &TerrainDesc) -> Result<Self> {
        let half = surface.half_extent();
        let mut params = LodParams::for_world(half.x * 2.0, half.y * 2.0, desc.quads, finest_cell(&surface));
        params.k = desc.reach;
        params.morph_start = params.morph_start.max((params.least_morph_start() + 0.001) as f32);
        let quadtree = Quadtree::new(params, half.x * 2.0, half.y * 2.0)?;
        let light = LightMaps::compute(&surface, desc.sun, desc.threads);
        let textures = Textures::new(device, &surface, &light, desc)?;
        let chunks = Chunks::new(device, desc.quads)?;
        let rocks = Rocks::new(desc);
        Ok(Self { surface, light, quadtree, chunks, rocks, textures })
    }

    /// The ground.
    pub fn surface(&self) -> &Arc<Surface> {
        &self.surface
    }

    /// What the sun and the sky do to it.
    pub fn light(&self) -> &LightMaps {
        &self.light
    }

    /// What shaders read of it.
    pub fn textures(&self) -> &Textures {
        &self.textures
    }

    /// Chunks in the geometry pool.
    pub fn chunk_count(&self) -> usize {
        self.chunks.len()
    }

    /// Every chunk with the first word of its vertices in the geometry pool, as of now.
    pub fn chunk_vertices(&self, geometry: &GeometryPool) -> Vec<(Node, u32)> {
        self.chunks.vertices(geometry)
    }

    /// Draws of this frame's chunks whose bounds - centre and half size, world - are `wanted`.
    pub fn chunk_draws<'a>(
        &'a self,
        gpu: &'a GpuScene,
        wanted: impl Fn(Vec3, Vec3) -> bool + 'a,
    ) -> impl Iterator<Item = ChunkDraw> + 'a {
        self.chunks.draws(self.quadtree.params(), gpu, wanted)
    }

    /// How the level of detail is chosen.
    pub fn lod_params(&self) -> &LodParams {
        self.quadtree.params()
    }

    /// Rocks in the GPU scene.
    pub fn rock_count(&self) -> usize {
        self.rocks.len()
    }

    /// The camera as level of detail sees it; the same numbers go to the vertex shader.
    pub fn lod_camera(&self, camera: &Camera) -> LodCamera {
        let at = camera.position;
        LodCamera { x: at.x, z: at.z, height: at.y - self.surface.height(at.x, at.z, 0.0) }
    }

    /// Takes out what this camera does not need any more. First half of a frame's update.
    pub(super) fn retire_unused(
        &mut self,
        camera: &Camera,
        gpu: &mut GpuScene,
        geometry: &mut GeometryPool,
        frame: u64,
    ) -> Result<()> {
        let lod = self.lod_camera(camera);
        self.chunks.plan(self.quadtree.select(&lod), frame);
        self.chunks.evict(gpu, geometry)?;
        self.rocks.evict(&lod, gpu)
    }

    /// Puts in what is missing. Second half, after compaction.
    pub(super) fn create_missing(
        &mut self,
        camera: &Camera,
        gpu: &mut GpuScene,
        geometry: &mut GeometryPool,
        ring: &mut UploadRing,
    ) -> Result<()> {
        let lod = self.lod_camera(camera);
        self.chunks.create(self.quadtree.params(), &self.surface, gpu, geometry, ring)?;
        self.rocks.create(&lod, &self.surface, gpu, geometry)
    }

    /// Records the pass that makes this frame's new vertices.
    /// Whether there are vertices to make.
    pub(super) fn has_jobs(&self) -> bool {
        self.chunks.has_jobs()
    }

    pub(super) fn record(&self, encoder: &mut CommandEncoder, geometry: &GeometryPool) {
        self.chunks.record(encoder, geometry, &self.textures);
    }

    /// The vertices that were recorded are submitted.
    pub(super) fn submitted(&mut self) {
        self.chunks.submitted();
    }

    /// Takes everything out of the scene.
    pub(super) fn remove_all(&mut self, gpu: &mut GpuScene, geometry: &mut GeometryPool) -> Result<()> {
        self.chunks.remove_all(gpu, geometry)?;
        self.rocks.remove_all(gpu, geometry)
    }
}

/// The finest cell: a power of two, about 1/64 of the data's pixel.
fn finest_cell(surface: &Surface) -> f32 {
    let pixel = surface.pixel_size();
    let exponent = ((pixel.x * pixel.y).sqrt() / 64.0).max(1e-3).log2().floor();
    2f32.powi((exponent as i32).clamp(-3, 8))
}
