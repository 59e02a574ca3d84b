//! The geometry pool: vertices and indices of everything, in two growable buffers.
//!
//! Vertices are 32-bit words that the vertex shader pulls and decodes by the primitive's kind, so meshes and
//! terrain chunks share one buffer. Ranges that are freed are reused, and the tail is compacted: a pass moves
//! ranges down, and the primitives that start there are renamed in the same frame. (A pass and not copies:
//! the validation layer 1.3.239 reports copies inside one sparse buffer as overlapping, whatever their regions.)

use std::collections::HashMap;
use std::sync::Arc;

use ash::vk::BufferUsageFlags;

use super::error::{Error, Result};
use super::gpu_scene::PrimitiveData;
use super::ranges::{Move, RangeAllocator, RangeId};
use crate::memory::{Upload, UploadRing};
use crate::sparse::{CommitPolicy, GrowableBuffer, GrowableDesc, SparseMemory};
use crate::vk::layout::gpu_struct;
use crate::vk::{
    Buffer, BufferCopy, CommandEncoder, ComputePipeline, Device, Location, PassBindings, shader,
};

/// Bytes of addresses that each buffer of the pool asks for; cut to the device's limits.
pub const POOL_CAPACITY: u64 = 2 << 30;
/// Words that compaction may copy in one frame: 4 MiB.
const COMPACTION_BUDGET: u32 = 1 << 20;

/// How the pool's watermarks move: in steps of 1 MiB, down after 8 frames that needed less.
pub const POOL_POLICY: CommitPolicy =
    CommitPolicy { step_bytes: 1 << 20, headroom_bytes: 0, shrink_hysteresis: 8, ahead: true };

/// One vertex of a mesh: 24 bytes, `MESH_VERTEX_WORDS` words.
#[derive(Debug, Clone, Copy, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct MeshVertex {
    /// Object space, metres.
    pub position: [f32; 3],
    /// Octahedral normal, two signed normalised 16-bit numbers (`unpack2x16snorm`).
    pub normal: u32,
    /// Linear colour, four unsigned normalised 8-bit numbers (`unpack4x8unorm`).
    pub colour: u32,
    /// Texture coordinates, two half floats (`unpack2x16float`).
    pub uv: u32,
}

/// 32-bit words of a [`MeshVertex`].
pub const MESH_VERTEX_WORDS: u32 = 6;

impl MeshVertex {
    /// A vertex with a normal of length 1 and a white colour.
    pub fn new(position: [f32; 3], normal: [f32; 3]) -> Self {
        Self { position, normal: pack_octahedral(normal), colour: u32::MAX, uv: 0 }
    }
}

/// Packs a unit vector octahedrally into two signed normalised 16-bit numbers (Meyer et al., "On
/// Floating-Point Normal Vectors", 2010).
pub fn pack_octahedral([x, y, z]: [f32; 3]) -> u32 {
    let sum = (x.abs() + y.abs() + z.abs()).max(1e-12);
    let (mut u, mut v) = (x / sum, z / sum);
    if y < 0.0 {
        (u, v) = ((1.0 - v.abs()).copysign(u), (1.0 - u.abs()).copysign(v));
    }
    let snorm = |f: f32| (f.clamp(-1.0, 1.0) * 32767.0).round() as i16 as u16 as u32;
    snorm(u) | snorm(v) << 16
}

gpu_struct! {
    /// One range that moves, as `shaders/move_words.wgsl` reads it.
    pub struct MoveJob {
        /// First word where it was.
        pub source: u32,
        /// First word where it goes.
        pub destination: u32,
        /// Its length in words.
        pub words: u32,
        /// To 16 bytes.
        pub padding: u32,
    }

    /// Push constants of `shaders/move_words.wgsl`.
    pub struct MoveWordsPush {
        /// First job of this dispatch.
        pub first_job: u32,
    }
}

#[derive(Debug)]
struct MoveJobs {
    upload: Upload,
    count: u32,
    longest: u32,
}

/// A range of the pool's vertices or indices.
#[derive(Debug)]
struct Pool {
    buffer: GrowableBuffer,
    ranges: RangeAllocator,
    moves: Vec<Move>,
    /// The moves as the pass reads them, and the longest of them.
    jobs: Option<MoveJobs>,
    uploads: Vec<(RangeId, Upload)>,
}

impl Pool {
    fn new(sparse: &SparseMemory, name: &str, usage: BufferUsageFlags) -> Result<Self> {
        let usage = usage | BufferUsageFlags::STORAGE_BUFFER;
        let desc = GrowableDesc { policy: POOL_POLICY, ..GrowableDesc::new(name, POOL_CAPACITY, usage) };
        let buffer = GrowableBuffer::new(sparse, &desc)?;
        let words = (buffer.capacity() / 4).min(u64::from(u32::MAX)) as u32;
        Ok(Self {
            buffer,
            ranges: RangeAllocator::new(words),
            moves: Vec::new(),
            jobs: None,
            uploads: Vec::new(),
        })
    }

    fn allocate(&mut self, words: u32) -> Result<RangeId> {
        self.ranges.allocate(words).ok_or_else(|| Error::Full {
            what: self.buffer.name().into(),
            asked: u64::from(words),
            capacity: u64::from(self.ranges.capacity()),
        })
    }

    fn free(&mut self, id: RangeId) -> Result<()> {
        self.uploads.retain(|(pending, _)| *pending != id);
        self.ranges.free(id)?;
        Ok(())
    }

    fn compact(&mut self) -> HashMap<u32, u32> {
        if self.jobs.is_some() || !self.moves.is_empty() {
            return HashMap::new(); // Those of a frame that was not submitted come first.
        }
        self.moves = self.ranges.plan_compaction(COMPACTION_BUDGET);
        self.moves.iter().map(|m| (m.from.start, m.to.start)).collect()
    }

    fn write_jobs(&mut self, ring: &mut UploadRing) -> Result<()> {
        let Some(longest) = self.moves.iter().map(|m| m.from.len() as u32).max() else { return Ok(()) };
        let jobs: Vec<MoveJob> = self
            .moves
            .iter()
            .map(|m| MoveJob {
                source: m.from.start,
                destination: m.to.start,
                words: m.from.len() as u32,
                padding: 0,
            })
            .collect();
        let upload = ring.write(bytemuck::cast_slice(&jobs))?;
        self.jobs = Some(MoveJobs { upload, count: jobs.len() as u32, longest });
        self.moves.clear();
        Ok(())
    }

    fn record_moves(&self, encoder: &mut CommandEncoder, pipeline: &ComputePipeline) {
        let Some(MoveJobs { upload, count, longest }) = &self.jobs else { return };
        let bindings =
            PassBindings { buffers: &[(0, &upload.buffer), (1, self.buffer.buffer())], ..Default::default() };
        let [groups, ..] = pipeline.groups([*longest, 1, 1]);
        // A dispatch has at most 65535 groups an axis; a move a group on y.
        for first in (0..*count).step_by(65_535) {
            let first_job = (upload.offset / size_of::<MoveJob>() as u64) as u32 + first;
            let push = MoveWordsPush { first_job };
            encoder.dispatch(
                pipeline,
                &bindings,
                &push,
                [groups.min(65_535), (count - first).min(65_535), 1],
            );
        }
    }

    fn submitted(&mut self) {
        self.jobs = None;
        self.uploads.clear();
    }

    fn commit(&mut self, frame: u64) -> Result<()> {
        self.buffer.follow(u64::from(self.ranges.end()) * 4, frame)?;
        Ok(())
    }

    fn record_uploads(&self, encoder: &mut CommandEncoder) -> Result<()> {
        for (id, upload) in &self.uploads {
            let range = self.ranges.get(*id)?;
            let copy = BufferCopy {
                source: upload.offset,
                destination: u64::from(range.start) * 4,
                bytes: upload.bytes,
            };
            encoder.copy_buffer(&upload.buffer, self.buffer.buffer(), &[copy]);
        }
        Ok(())
    }
}

/// Vertices and indices of everything.
#[derive(Debug)]
pub struct GeometryPool {
    device: Arc<Device>,
    move_words: ComputePipeline,
    vertices: Pool,
    indices: Pool,
    /// Old place to new, of this frame's compaction.
    moved_vertices: HashMap<u32, u32>,
    moved_indices: HashMap<u32, u32>,
}

/// Vertices in the pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct VertexRange(RangeId);

/// Indices in the pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct IndexRange(RangeId);

impl GeometryPool {
    /// An empty pool.
    ///
    /// # Errors
    /// When the device has no addresses left.
    pub fn new(device: &Arc<Device>, sparse: &SparseMemory) -> Result<Self> {
        Ok(Self {
            device: device.clone(),
            move_words: ComputePipeline::new(device, &shader::MOVE_WORDS, "move_words")?,
            vertices: Pool::new(sparse, "Geometry.Vertices", BufferUsageFlags::empty())?,
            indices: Pool::new(sparse, "Geometry.Indices", BufferUsageFlags::INDEX_BUFFER)?,
            moved_vertices: HashMap::new(),
            moved_indices: HashMap::new(),
        })
    }

    /// Room for vertices that a pass will write, in words.
    ///
    /// # Errors
    /// When the buffer's addresses are full.
    pub fn allocate_vertices(&mut self, words: u32) -> Result<VertexRange> {
        Ok(VertexRange(self.vertices.allocate(words)?))
    }

    /// Vertices from the host, copied at the start of the next frame.
    ///
    /// # Errors
    /// When addresses or memory are full.
    pub fn upload_vertices(&mut self, words: &[u32]) -> Result<VertexRange> {
        let upload = self.stage(words)?;
        let id = self.vertices.allocate(words.len() as u32)?;
        self.vertices.uploads.push((id, upload));
        Ok(VertexRange(id))
    }

    /// Indices from the host, copied at the start of the next frame. They count vertices from the range's start.
    ///
    /// # Errors
    /// When addresses or memory are full.
    pub fn upload_indices(&mut self, indices: &[u32]) -> Result<IndexRange> {
        let upload = self.stage(indices)?;
        let id = self.indices.allocate(indices.len() as u32)?;
        self.indices.uploads.push((id, upload));
        Ok(IndexRange(id))
    }

    /// Geometry comes in large pieces and rarely: a buffer of its own, retired after its copy.
    fn stage(&self, words: &[u32]) -> Result<Upload> {
        let bytes: &[u8] = bytemuck::cast_slice(words);
        let length = bytes.len() as u64;
        let usage = BufferUsageFlags::TRANSFER_SRC;
        let buffer = Buffer::committed(&self.device, "Geometry.Staging", length, usage, Location::Upload)?;
        buffer.write_mapped(0, bytes)?;
        Ok(Upload { buffer: Arc::new(buffer), offset: 0, bytes: length })
    }

    /// Frees vertices.
    ///
    /// # Errors
    /// When they are gone already.
    pub fn free_vertices(&mut self, range: VertexRange) -> Result<()> {
        self.vertices.free(range.0)
    }

    /// Frees indices.
    ///
    /// # Errors
    /// When they are gone already.
    pub fn free_indices(&mut self, range: IndexRange) -> Result<()> {
        self.indices.free(range.0)
    }

    /// First word of vertices, as of now.
    ///
    /// # Errors
    /// When they are gone.
    pub fn first_vertex_word(&self, range: VertexRange) -> Result<u32> {
        Ok(self.vertices.ranges.get(range.0)?.start)
    }

    /// First index and number of indices, as of now.
    ///
    /// # Errors
    /// When they are gone.
    pub fn index_range(&self, range: IndexRange) -> Result<(u32, u32)> {
        let range = self.indices.ranges.get(range.0)?;
        Ok((range.start, range.len() as u32))
    }

    /// Plans to move ranges from the tail into holes. Call it after this frame's frees and before its
    /// allocations; then rename the primitives with [`GeometryPool::rename`].
    pub fn compact(&mut self) {
        self.moved_vertices = self.vertices.compact();
        self.moved_indices = self.indices.compact();
    }

    /// Whether this frame's compaction moved anything.
    pub fn has_moves(&self) -> bool {
        !self.moved_vertices.is_empty() || !self.moved_indices.is_empty()
    }

    /// Points a primitive at the places its geometry moved to. Returns whether it changed.
    pub fn rename(&self, primitive: &mut PrimitiveData) -> bool {
        if primitive.index_count == 0 {
            return false; // A free slot.
        }
        let vertex = self.moved_vertices.get(&primitive.first_vertex_word);
        let index = self.moved_indices.get(&primitive.first_index);
        primitive.first_vertex_word = vertex.copied().unwrap_or(primitive.first_vertex_word);
        primitive.first_index = index.copied().unwrap_or(primitive.first_index);
        vertex.is_some() || index.is_some()
    }

    /// Moves the watermarks to where the ranges end.
    ///
    /// # Errors
    /// When the device has no memory; everything keeps its contents.
    pub fn commit(&mut self, frame: u64) -> Result<()> {
        self.vertices.commit(frame)?;
        self.indices.commit(frame)
    }

    /// Writes this frame's moves into the upload ring.
    ///
    /// # Errors
    /// When there is no memory for them.
    pub fn upload_moves(&mut self, ring: &mut UploadRing) -> Result<()> {
        self.vertices.write_jobs(ring)?;
        self.indices.write_jobs(ring)
    }

    /// Records the moves of this frame's compaction: one dispatch a buffer. Uploads and passes that write follow
    /// after a barrier.
    pub fn record_moves(&self, encoder: &mut CommandEncoder) {
        self.vertices.record_moves(encoder, &self.move_words);
        self.indices.record_moves(encoder, &self.move_words);
    }

    /// Whether there are moves to record.
    pub fn has_jobs(&self) -> bool {
        self.vertices.jobs.is_some() || self.indices.jobs.is_some()
    }

    /// Whether there are uploads to record.
    pub fn has_uploads(&self) -> bool {
        !(self.vertices.uploads.is_empty() && self.indices.uploads.is_empty())
    }

    /// Records the uploads from the host.
    ///
    /// # Errors
    /// When a range is gone (it cannot be: freeing one drops its upload).
    pub fn record_uploads(&self, encoder: &mut CommandEncoder) -> Result<()> {
        self.vertices.record_uploads(encoder)?;
        self.indices.record_uploads(encoder)
    }

    /// Moves and uploads are submitted.
    pub fn submitted(&mut self) {
        self.vertices.submitted();
        self.indices.submitted();
    }

    /// The buffer of all vertices.
    pub fn vertices(&self) -> &GrowableBuffer {
        &self.vertices.buffer
    }

    /// The buffer of all indices.
    pub fn indices(&self) -> &GrowableBuffer {
        &self.indices.buffer
    }

    /// Words of vertices in use.
    pub fn vertex_words(&self) -> u32 {
        self.vertices.ranges.used()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unpack(packed: u32) -> [f32; 3] {
        let snorm = |bits: u32| f32::from(bits as u16 as i16) / 32767.0;
        let (u, v) = (snorm(packed), snorm(packed >> 16));
        let y = 1.0 - u.abs() - v.abs();
        let fold = |a: f32, b: f32| if y < 0.0 { (1.0 - b.abs()).copysign(a) } else { a };
        let (x, z) = (fold(u, v), fold(v, u));
        let length = (x * x + y * y + z * z).sqrt();
        [x / length, y / length, z / length]
    }

    proptest::proptest! {
        #[test]
        fn octahedral_normals_come_back(x in -1f32..1.0, y in -1f32..1.0, z in -1f32..1.0) {
            let length = (x * x + y * y + z * z).sqrt();
            proptest::prop_assume!(length > 0.01);
            let normal = [x / length, y / length, z / length];
            let back = unpack(pack_octahedral(normal));
            let dot: f32 = normal.iter().zip(back).map(|(a, b)| a * b).sum();
            proptest::prop_assert!(dot > 0.99999, "{normal:?} became {back:?}");
        }
    }
}
