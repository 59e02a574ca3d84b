//! The GPU scene: what the world holds, as arrays that the GPU reads, in buffers that grow in place.
//!
//! ```text
//! add / write / remove -> shadow + dirty ranges -> upload ring -> scatter pass -> growable buffers
//!                         compaction of the tail -> watermark comes down
//! ```
//!
//! | buffer | element | |
//! | --- | --- | --- |
//! | `GPUScene.PrimitiveData` | [`PrimitiveData`] | geometry and material |
//! | `GPUScene.InstanceSceneData` | [`InstanceSceneData`] | where a primitive stands |
//! | `GPUScene.InstancePayloadData` | [`InstancePayload`] | what varies between instances, at the instance's index |
//!
//! Each asks for 2 GiB of addresses and moves its watermark in steps of 16 MiB.

mod column;
mod scatter;
mod table;
mod types;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

pub use column::{COLUMN_CAPACITY, Column};
pub use scatter::ScatterPush;
pub use table::Table;
pub use types::{
    INSTANCE_ALIVE, INSTANCE_FADES, INSTANCE_HIDDEN, InstancePayload, InstanceSceneData, PrimitiveData,
    PrimitiveKind,
};

use super::error::Result;
use super::ranges::RangeId;
use crate::memory::UploadRing;
use crate::sparse::{CommitPolicy, SparseMemory};
use crate::vk::{CommandEncoder, Device};

/// Elements that compaction may move in one frame, in each buffer.
const COMPACTION_BUDGET: u32 = 4096;

/// Instances that one dispatch of culling reaches: the groups that Vulkan guarantees, of 256.
const MOST_INSTANCES: u32 = 65_535 * 256;

/// A set of instances that were added together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct InstanceSet(RangeId);

/// A primitive of the scene.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Primitive(RangeId);

/// One instance to add.
#[derive(Debug, Clone, Copy)]
pub struct InstanceDesc {
    /// What stands there.
    pub primitive: Primitive,
    /// Rows of the object-to-world matrix.
    pub transform: [[f32; 4]; 3],
    /// Multiplies the base colour.
    pub tint: [f32; 3],
    /// 0 to 1.
    pub random: f32,
    /// Shrinks away when it becomes smaller than a pixel or so.
    pub fades: bool,
}

impl InstanceDesc {
    /// An instance that stands upright somewhere, `scale` times its size.
    pub fn at(primitive: Primitive, place: [f32; 3], scale: f32) -> Self {
        let [x, y, z] = place;
        let transform = [[scale, 0.0, 0.0, x], [0.0, scale, 0.0, y], [0.0, 0.0, scale, z]];
        Self { primitive, transform, tint: [1.0; 3], random: 0.0, fades: false }
    }
}

/// The arrays and the pass that keeps them up to date.
#[derive(Debug)]
pub struct GpuScene {
    primitives: Table<PrimitiveData>,
    instances: Table<InstanceSceneData>,
    /// At the index of the instance.
    payloads: Column<InstancePayload>,
    scatter: scatter::Scatter,
    jobs: Vec<scatter::ScatterJob>,
}

impl GpuScene {
    /// An empty scene.
    ///
    /// # Errors
    /// When the device has no addresses left or refuses a pipeline.
    pub fn new(device: &Arc<Device>, sparse: &SparseMemory) -> Result<Self> {
        let policy = CommitPolicy::GPU_SCENE;
        let payloads = Column::new(sparse, "GPUScene.InstancePayloadData", policy)?;
        Ok(Self {
            primitives: Table::new(sparse, "GPUScene.PrimitiveData", policy, u32::MAX)?,
            instances: Table::new(
                sparse,
                "GPUScene.InstanceSceneData",
                policy,
                payloads.capacity().min(MOST_INSTANCES),
            )?,
            payloads,
            scatter: scatter::Scatter::new(device)?,
            jobs: Vec::new(),
        })
    }

    /// Adds a primitive.
    ///
    /// # Errors
    /// When the table is full.
    pub fn add_primitive(&mut self, data: PrimitiveData) -> Result<Primitive> {
        Ok(Primitive(self.primitives.add(&[data])?))
    }

    /// A primitive as it is now. Compaction moves geometry: ask again each frame.
    ///
    /// # Errors
    /// When it is gone.
    pub fn primitive(&self, primitive: Primitive) -> Result<PrimitiveData> {
        let range = self.primitives.range(primitive.0)?;
        Ok(self.primitives.elements().get(range.start as usize).copied().unwrap_or_default())
    }

    /// Changes a primitive.
    ///
    /// # Errors
    /// When it is gone.
    pub fn write_primitive(&mut self, primitive: Primitive, data: PrimitiveData) -> Result<()> {
        self.primitives.write(primitive.0, &[data])
    }

    /// Removes a primitive that no instance refers to any more.
    ///
    /// # Errors
    /// When it is gone already.
    pub fn remove_primitive(&mut self, primitive: Primitive) -> Result<()> {
        self.primitives.remove(primitive.0)?;
        Ok(())
    }

    /// Adds instances that lie together.
    ///
    /// # Errors
    /// When a primitive is gone or a table is full; nothing is added then.
    pub fn add_instances(&mut self, descs: &[InstanceDesc]) -> Result<InstanceSet> {
        let (instances, payloads) = self.encode(descs)?;
        let set = self.instances.add(&instances)?;
        self.payloads.write(self.instances.range(set)?.start, &payloads);
        Ok(InstanceSet(set))
    }

    /// Changes all instances of a set.
    ///
    /// # Errors
    /// When the set or a primitive is gone.
    pub fn write_instances(&mut self, set: InstanceSet, descs: &[InstanceDesc]) -> Result<()> {
        let (mut instances, payloads) = self.encode(descs)?;
        let range = self.instances.range(set.0)?;
        let before = self.instances.elements().get(range.start as usize..).unwrap_or_default();
        for (instance, before) in instances.iter_mut().zip(before) {
            instance.flags |= before.flags & INSTANCE_HIDDEN;
        }
        self.instances.write(set.0, &instances)?;
        self.payloads.write(range.start, &payloads[..payloads.len().min(range.len())]);
        Ok(())
    }

    /// Hides a set from the main pass, or shows it again. Instances that are written meanwhile stay hidden.
    ///
    /// # Errors
    /// When it is gone.
    pub(crate) fn set_hidden(&mut self, set: InstanceSet, is_hidden: bool) -> Result<()> {
        let range = self.instances.range(set.0)?;
        let (first, last) = (range.start as usize, range.end as usize);
        let before = self.instances.elements().get(first..last).unwrap_or_default();
        if before.iter().all(|instance| (instance.flags & INSTANCE_HIDDEN != 0) == is_hidden) {
            return Ok(());
        }
        let mut instances = before.to_vec();
        for instance in &mut instances {
            instance.flags &= !INSTANCE_HIDDEN;
            instance.flags |= if is_hidden { INSTANCE_HIDDEN } else { 0 };
        }
        self.instances.write(set.0, &instances)
    }

    /// Places of a set among the instances, in this frame.
    ///
    /// # Errors
    /// When it is gone.
    pub fn instance_range(&self, set: InstanceSet) -> Result<Range<u32>> {
        self.instances.range(set.0)
    }

    /// Removes a set.
    ///
    /// # Errors
    /// When it is gone already.
    pub fn remove_instances(&mut self, set: InstanceSet) -> Result<()> {
        let range = self.instances.remove(set.0)?;
        self.payloads.clear(range);
        Ok(())
    }

    fn encode(&self, descs: &[InstanceDesc]) -> Result<(Vec<InstanceSceneData>, Vec<InstancePayload>)> {
        let mut instances = Vec::with_capacity(descs.len());
        for desc in descs {
            instances.push(InstanceSceneData {
                transform: desc.transform,
                primitive: self.primitives.range(desc.primitive.0)?.start,
                flags: INSTANCE_ALIVE | if desc.fades { INSTANCE_FADES } else { 0 },
                padding: [0; 2],
            });
        }
        let payloads = descs.iter().map(|d| InstancePayload { tint: d.tint, random: d.random }).collect();
        Ok((instances, payloads))
    }

    /// Changes the primitives whose geometry moved.
    pub fn rename_geometry(&mut self, rename: impl FnMut(&mut PrimitiveData) -> bool) {
        self.primitives.update_each(rename);
    }

    /// Compacts the tails, moves the watermarks and writes what changed into the upload ring. Payloads move with
    /// their instances.
    ///
    /// # Errors
    /// When the device has no memory.
    pub fn prepare(&mut self, ring: &mut UploadRing, frame: u64) -> Result<()> {
        let moved = self.primitives.compact(COMPACTION_BUDGET);
        if !moved.is_empty() {
            let renamed: HashMap<u32, u32> =
                moved.iter().flat_map(|(from, to)| from.clone().zip(to.clone())).collect();
            self.instances.update_each(|instance| match renamed.get(&instance.primitive) {
                Some(&new) if instance.flags & INSTANCE_ALIVE != 0 => {
                    instance.primitive = new;
                    true
                }
                _ => false,
            });
        }
        for (from, to) in self.instances.compact(COMPACTION_BUDGET) {
            self.payloads.relocate(from, to);
        }
        self.primitives.commit(frame)?;
        self.instances.commit(frame)?;
        self.payloads.commit(self.instances.len(), frame)?;
        self.jobs.clear();
        self.upload(ring)
    }

    fn upload(&mut self, ring: &mut UploadRing) -> Result<()> {
        self.primitives.upload(ring, &mut self.jobs)?;
        self.instances.upload(ring, &mut self.jobs)?;
        self.payloads.upload(ring, &mut self.jobs)
    }

    /// Whether there are uploads to record.
    pub fn has_uploads(&self) -> bool {
        !self.jobs.is_empty()
    }

    /// Records the uploads that [`GpuScene::prepare`] made ready. The caller orders them before their readers.
    pub fn record_uploads(&self, encoder: &mut CommandEncoder) {
        self.scatter.record(encoder, &self.jobs);
    }

    /// The uploads are submitted.
    pub fn submitted(&mut self) {
        self.jobs.clear();
        self.primitives.submitted();
        self.instances.submitted();
        self.payloads.submitted();
    }

    /// The uploads were not submitted: their elements are dirty still.
    pub fn keep_unsubmitted(&mut self) {
        self.jobs.clear();
        self.primitives.keep_unsubmitted();
        self.instances.keep_unsubmitted();
        self.payloads.keep_unsubmitted();
    }

    /// Primitives.
    pub fn primitives(&self) -> &Table<PrimitiveData> {
        &self.primitives
    }

    /// Instances.
    pub fn instances(&self) -> &Table<InstanceSceneData> {
        &self.instances
    }

    /// Payloads of the instances.
    pub fn payloads(&self) -> &Column<InstancePayload> {
        &self.payloads
    }

    /// Bytes ever uploaded.
    pub fn uploaded_bytes(&self) -> u64 {
        self.primitives.uploaded_bytes() + self.instances.uploaded_bytes() + self.payloads.uploaded_bytes()
    }
}
