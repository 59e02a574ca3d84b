//! What applications add to and remove from.

use std::sync::Arc;

use glam::Vec3;
use slotmap::SlotMap;

use super::error::{Error, Result};
use super::geometry::{GeometryPool, IndexRange, MESH_VERTEX_WORDS, MeshVertex, VertexRange};
use super::gpu_scene::{GpuScene, InstanceDesc, InstanceSet, Primitive, PrimitiveData, PrimitiveKind};
use super::terrain::Terrain;
use crate::graph::{Access, BufferHandle, Frame, Queue, ShaderStages};
use crate::memory::UploadRing;
use crate::scene::Camera;
use crate::sparse::{GrowableBuffer, SparseMemory};
use crate::vk::Device;

slotmap::new_key_type! {
    /// A mesh of the scene. Stale after it is removed: using it then is an error, never another mesh.
    pub struct MeshHandle;
}

/// Triangles to draw.
#[derive(Debug, Clone, Default)]
pub struct MeshData {
    /// Vertices.
    pub vertices: Vec<MeshVertex>,
    /// Three a triangle, counter-clockwise seen from outside.
    pub indices: Vec<u32>,
}

#[derive(Debug)]
struct Mesh {
    vertices: VertexRange,
    indices: IndexRange,
    primitive: Primitive,
}

/// The buffers of a scene in a frame, as its updates leave them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SceneBuffers {
    /// Primitives.
    pub primitives: BufferHandle,
    /// Instances.
    pub instances: BufferHandle,
    /// Payloads, one an instance.
    pub payloads: BufferHandle,
    /// Vertices of everything.
    pub vertices: BufferHandle,
    /// Indices of everything.
    pub indices: BufferHandle,
}

impl SceneBuffers {
    /// All of them, to move them on.
    pub fn all_mut(&mut self) -> [&mut BufferHandle; 5] {
        let Self { primitives, instances, payloads, vertices, indices } = self;
        [primitives, instances, payloads, vertices, indices]
    }
}

/// Everything that is drawn.
#[derive(Debug)]
pub struct Scene {
    device: Arc<Device>,
    gpu: GpuScene,
    geometry: GeometryPool,
    meshes: SlotMap<MeshHandle, Mesh>,
    terrain: Option<Terrain>,
}

impl Scene {
    /// An empty scene.
    ///
    /// # Errors
    /// When the device has no addresses left or refuses a pipeline.
    pub fn new(device: &Arc<Device>, sparse: &SparseMemory) -> Result<Self> {
        Ok(Self {
            device: device.clone(),
            gpu: GpuScene::new(device, sparse)?,
            geometry: GeometryPool::new(device, sparse)?,
            meshes: SlotMap::with_key(),
            terrain: None,
        })
    }

    /// Adds a mesh with one material of a linear base colour. Draw it by adding instances.
    ///
    /// # Errors
    /// A mesh without triangles, an index past its vertices, or full buffers.
    pub fn add_mesh(&mut self, mesh: &MeshData, colour: [f32; 3], roughness: f32) -> Result<MeshHandle> {
        if mesh.indices.is_empty() || !mesh.indices.len().is_multiple_of(3) {
            return Err(Error::Mesh(format!("has {} indices: give three a triangle", mesh.indices.len())));
        }
        if let Some(bad) = mesh.indices.iter().find(|i| **i as usize >= mesh.vertices.len()) {
            return Err(Error::Mesh(format!(
                "has an index {bad}, but only {} vertices",
                mesh.vertices.len()
            )));
        }
        let (mut low, mut high) = (Vec3::INFINITY, Vec3::NEG_INFINITY);
        for vertex in &mesh.vertices {
            low = low.min(vertex.position.into());
            high = high.max(vertex.position.into());
        }
        if !(low.is_finite() && high.is_finite()) {
            return Err(Error::Mesh("has a position that is not finite".into()));
        }
        let words: &[u32] = bytemuck::cast_slice(&mesh.vertices);
        debug_assert_eq!(words.len(), mesh.vertices.len() * MESH_VERTEX_WORDS as usize);
        let vertices = self.geometry.upload_vertices(words)?;
        let indices = match self.geometry.upload_indices(&mesh.indices) {
            Ok(indices) => indices,
            Err(error) => {
                self.geometry.free_vertices(vertices)?;
                return Err(error);
            }
        };
        let (first_index, index_count) = self.geometry.index_range(indices)?;
        let data = PrimitiveData {
            bounds_centre: ((low + high) * 0.5).into(),
            kind: PrimitiveKind::Mesh as u32,
            bounds_extent: ((high - low) * 0.5).into(),
            first_vertex_word: self.geometry.first_vertex_word(vertices)?,
            first_index,
            index_count,
            colour,
            parameter: roughness,
            ..Default::default()
        };
        match self.gpu.add_primitive(data) {
            Ok(primitive) => Ok(self.meshes.insert(Mesh { vertices, indices, primitive })),
            Err(error) => {
                self.geometry.free_vertices(vertices)?;
                self.geometry.free_indices(indices)?;
                Err(error)
            }
        }
    }

    /// Removes a mesh whose instances are all removed.
    ///
    /// # Errors
    /// When it is gone already.
    pub fn remove_mesh(&mut self, handle: MeshHandle) -> Result<()> {
        let mesh = self.meshes.remove(handle).ok_or_else(|| Error::Mesh("was removed already".into()))?;
        self.gpu.remove_primitive(mesh.primitive)?;
        self.geometry.free_vertices(mesh.vertices)?;
        self.geometry.free_indices(mesh.indices)
    }

    /// The primitive of a mesh, for [`InstanceDesc`].
    ///
    /// # Errors
    /// When the mesh is gone.
    pub fn primitive(&self, handle: MeshHandle) -> Result<Primitive> {
        self.meshes.get(handle).map(|m| m.primitive).ok_or_else(|| Error::Mesh("was removed".into()))
    }

    /// Where a mesh's geometry lies, its bounds and its material, as of now: ask again each frame.
    ///
    /// # Errors
    /// When the mesh is gone.
    pub fn mesh_data(&self, handle: MeshHandle) -> Result<PrimitiveData> {
        self.gpu.primitive(self.primitive(handle)?)
    }

    /// Adds instances.
    ///
    /// # Errors
    /// When a primitive is gone or a buffer is full.
    pub fn add_instances(&mut self, descs: &[InstanceDesc]) -> Result<InstanceSet> {
        self.gpu.add_instances(descs)
    }

    /// Changes all instances of a set.
    ///
    /// # Errors
    /// When the set or a primitive is gone.
    pub fn write_instances(&mut self, set: InstanceSet, descs: &[InstanceDesc]) -> Result<()> {
        self.gpu.write_instances(set, descs)
    }

    /// Hides a set of instances from the main pass, or shows it again.
    ///
    /// # Errors
    /// When the set is gone.
    pub(crate) fn set_hidden(&mut self, set: InstanceSet, is_hidden: bool) -> Result<()> {
        self.gpu.set_hidden(set, is_hidden)
    }

    /// Removes instances.
    ///
    /// # Errors
    /// When they are gone already.
    pub fn remove_instances(&mut self, set: InstanceSet) -> Result<()> {
        self.gpu.remove_instances(set)
    }

    /// Puts a terrain into the scene, in place of the one before.
    ///
    /// # Errors
    /// When buffers are full.
    pub fn set_terrain(&mut self, terrain: Option<Terrain>) -> Result<()> {
        if let Some(mut old) = self.terrain.take() {
            old.remove_all(&mut self.gpu, &mut self.geometry)?;
        }
        self.terrain = terrain;
        Ok(())
    }

    /// The terrain.
    pub fn terrain(&self) -> Option<&Terrain> {
        self.terrain.as_ref()
    }

    /// Brings everything up to date for a frame seen by `camera`: chunks and rocks enter and leave, tails are
    /// compacted, watermarks move, changed elements go into the upload ring.
    ///
    /// # Errors
    /// When the device has no memory; everything keeps its contents.
    pub fn prepare(&mut self, camera: &Camera, ring: &mut UploadRing, frame: u64) -> Result<()> {
        profiling::scope!("Scene::prepare");
        if let Some(terrain) = &mut self.terrain {
            terrain.retire_unused(camera, &mut self.gpu, &mut self.geometry, frame)?;
        }
        self.geometry.compact();
        if self.geometry.has_moves() {
            let geometry = &self.geometry;
            self.gpu.rename_geometry(|primitive| geometry.rename(primitive));
        }
        if let Some(terrain) = &mut self.terrain {
            terrain.create_missing(camera, &mut self.gpu, &mut self.geometry, ring)?;
        }
        self.geometry.upload_moves(ring)?;
        self.geometry.commit(frame)?;
        self.gpu.prepare(ring, frame)
    }

    /// The scene's buffers in a frame, before its updates.
    pub fn import<'f>(&'f self, frame: &mut Frame<'_, 'f>) -> SceneBuffers {
        let (gpu, geometry) = (&self.gpu, &self.geometry);
        let mut import = |buffer: &'f GrowableBuffer| {
            let handle = frame.import_buffer(buffer.buffer(), None);
            // The bytes that were asked for, which is how far shaders are allowed to look.
            frame.when_used(handle, move |at| buffer.declare_use(0..buffer.requested(), at));
            handle
        };
        SceneBuffers {
            primitives: import(gpu.primitives().buffer()),
            instances: import(gpu.instances().buffer()),
            payloads: import(gpu.payloads().buffer()),
            vertices: import(geometry.vertices()),
            indices: import(geometry.indices()),
        }
    }

    /// Declares the passes that bring the buffers up to date with what [`Scene::prepare`] made ready.
    pub fn declare<'f>(&'f self, frame: &mut Frame<'_, 'f>, buffers: &mut SceneBuffers) {
        let (gpu, geometry) = (&self.gpu, &self.geometry);
        let compute = Access::StorageReadWrite(ShaderStages::COMPUTE);
        // Moves before what fills the holes that they leave.
        frame
            .pass("MoveGeometry", Queue::Graphics)
            .write(&mut buffers.vertices, compute)
            .write(&mut buffers.indices, compute)
            .when(geometry.has_jobs())
            .record(move |pass| {
                geometry.record_moves(pass.encoder());
                Ok(())
            });
        frame
            .pass("UploadGeometry", Queue::Graphics)
            .write(&mut buffers.vertices, Access::CopyDestinationOver)
            .write(&mut buffers.indices, Access::CopyDestinationOver)
            .when(geometry.has_uploads())
            .record(move |pass| Ok(geometry.record_uploads(pass.encoder())?));
        frame
            .pass("UploadScene", Queue::Graphics)
            .write(&mut buffers.primitives, compute)
            .write(&mut buffers.instances, compute)
            .write(&mut buffers.payloads, compute)
            .when(gpu.has_uploads())
            .record(move |pass| {
                gpu.record_uploads(pass.encoder());
                Ok(())
            });
        if let Some(terrain) = &self.terrain {
            frame
                .pass("TerrainVertices", Queue::Graphics)
                .write(&mut buffers.vertices, compute)
                .when(terrain.has_jobs())
                .record(move |pass| {
                    terrain.record(pass.encoder(), geometry);
                    Ok(())
                });
        }
    }

    /// Whether a buffer of the scene needs the next flush: if that is refused, the frame cannot be drawn.
    pub fn needs_flush(&self, sparse: &SparseMemory) -> bool {
        self.buffers().into_iter().any(|buffer| sparse.is_queued(buffer.id()))
    }

    fn buffers(&self) -> [&GrowableBuffer; 5] {
        let (gpu, geometry) = (&self.gpu, &self.geometry);
        [
            gpu.primitives().buffer(),
            gpu.instances().buffer(),
            gpu.payloads().buffer(),
            geometry.vertices(),
            geometry.indices(),
        ]
    }

    /// What was recorded is submitted: it need not be recorded again.
    pub fn submitted(&mut self) {
        self.geometry.submitted();
        self.gpu.submitted();
        if let Some(terrain) = &mut self.terrain {
            terrain.submitted();
        }
    }

    /// What was made ready for a frame that was not submitted is kept for the next one.
    pub fn keep_unsubmitted(&mut self) {
        self.gpu.keep_unsubmitted();
    }

    /// The arrays on the GPU.
    pub fn gpu(&self) -> &GpuScene {
        &self.gpu
    }

    /// Vertices and indices on the GPU.
    pub fn geometry(&self) -> &GeometryPool {
        &self.geometry
    }

    /// The device.
    pub fn device(&self) -> &Arc<Device> {
        &self.device
    }
}
