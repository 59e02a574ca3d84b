//! What a frame consists of, as plain data: passes, resources and how the ones touch the others.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::access::Access;
use super::error::GraphError;
use super::handle::{PassId, ResourceId};

/// A name: borrowed where it is known when the program is built, so that a frame declares it without an allocation.
pub type Name = Cow<'static, str>;

/// The kind of queue a pass runs on. Where a device has no such queue the graphics queue takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[repr(u8)]
pub enum Queue {
    /// Draws, dispatches, copies.
    #[default]
    Graphics,
    /// Dispatches and copies beside rendering.
    Compute,
    /// Copies beside rendering.
    Transfer,
    /// Sparse binds: cuts between submissions, because binds are no commands.
    Commit,
}

/// An image as the graph makes it; its usage follows from how passes touch it. Formats and sample counts are Vulkan's
/// numbers, so that a declaration can be written to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ImageInfo {
    /// `VkFormat`.
    pub format: i32,
    /// Width, height and depth in texels.
    pub extent: [u32; 3],
    /// Mip levels.
    pub mips: u32,
    /// Array layers.
    pub layers: u32,
    /// `VkSampleCountFlagBits`.
    pub samples: u32,
    /// `VkImageUsageFlags` beyond what accesses imply.
    pub usage: u32,
}

/// A buffer as the graph makes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct BufferInfo {
    /// Size in bytes.
    pub bytes: u64,
    /// `VkBufferUsageFlags` beyond what accesses imply.
    pub usage: u32,
}

/// What a resource is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ResourceInfo {
    /// An image.
    Image(ImageInfo),
    /// A buffer.
    Buffer(BufferInfo),
}

/// How uses leave a resource: what whoever touches it next has to wait for. Raw Vulkan flags, so that it can be written
/// to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct LeftState {
    /// `VkPipelineStageFlags2` of the last write and of all reads since.
    pub stages: u64,
    /// `VkAccessFlags2` of the last write, and of reads since.
    pub accesses: u64,
    /// `VkImageLayout`; 0 for buffers.
    pub layout: i32,
    /// Queue of the last use.
    pub queue: Queue,
    /// Further queues that used it since, each as the bit `1 << Queue`.
    #[serde(default)]
    pub beside: u8,
}

impl LeftState {
    /// As one access leaves an image or a buffer.
    pub fn after(access: Access, queue: Queue, is_image: bool) -> Self {
        Self {
            stages: access.stages().as_raw(),
            accesses: access.accesses().as_raw(),
            layout: if is_image { access.layout().as_raw() } else { 0 },
            queue,
            beside: 0,
        }
    }
}

/// How a resource stands before the frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ImportState {
    /// Never written, or its contents do not matter any more.
    Undefined,
    /// As uses before the frame left it: a barrier on the same queue; for another queue the caller hands in what to wait
    /// for.
    After(LeftState),
}

/// Where a resource comes from, and whether it outlives the frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Origin {
    /// The graph makes it, lays it out in the frame's heap, and forgets it after its last use.
    Transient {
        /// Whether it may share memory with others that never live beside it.
        may_alias: bool,
    },
    /// Somebody else's.
    Imported {
        /// State before the frame.
        before: ImportState,
        /// State that it has to be in after the frame; `None` leaves it as the last pass did.
        after: Option<Access>,
    },
    /// What last frame left of a resource that lives across frames; only read.
    HistoryPrevious {
        /// Whether last frame wrote it. When not, its contents are undefined and passes are told so.
        is_valid: bool,
        /// State that last frame left it in.
        before: ImportState,
    },
    /// What this frame leaves to the next.
    HistoryCurrent {
        /// State that the frame before last left its memory in.
        before: ImportState,
    },
}

/// What transients have to agree on to share a heap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct HeapKey {
    /// Index of the memory type.
    pub memory_type: u32,
    /// Whether resources are linear (buffers) or optimal (images): kept apart where the device has a
    /// `bufferImageGranularity` above one.
    pub is_linear: bool,
}

/// What a transient needs of memory, as the driver says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MemoryNeeds {
    /// Size in bytes.
    pub bytes: u64,
    /// Alignment in bytes, a power of two.
    pub alignment: u64,
    /// The heap that it goes to.
    pub heap: HeapKey,
}

/// A resource of a declaration.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Resource {
    /// Name.
    pub name: Name,
    /// What it is. Usage flags are complete once all passes are declared.
    pub info: ResourceInfo,
    /// Where it comes from.
    pub origin: Origin,
    /// Memory that it needs; for transients, filled in between declaring and compiling.
    pub needs: Option<MemoryNeeds>,
    /// Writes declared so far.
    pub versions: u32,
}

/// A part of a resource: mips and layers of an image, bytes of a buffer. `ALL` is everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Subresources {
    /// Everything.
    All,
    /// Mips and layers of an image.
    Image {
        /// First mip level.
        first_mip: u32,
        /// Number of mip levels.
        mips: u32,
        /// First array layer.
        first_layer: u32,
        /// Number of array layers.
        layers: u32,
    },
    /// Bytes of a buffer.
    Bytes {
        /// First byte.
        offset: u64,
        /// Number of bytes.
        bytes: u64,
    },
}

/// One use of a resource by a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Use {
    /// Which resource.
    pub resource: ResourceId,
    /// The version that the pass finds; a write leaves the next.
    pub version: u32,
    /// How.
    pub access: Access,
    /// Which part.
    pub part: Subresources,
    /// Whether the pass can do without it, where the pass that writes it is switched off.
    pub is_optional: bool,
}

/// A pass of a declaration.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Pass {
    /// Name; also that of its GPU marker.
    pub name: Name,
    /// Queue it asks for.
    pub queue: Queue,
    /// Whether it does something that no resource of the graph shows: never culled.
    pub has_side_effects: bool,
    /// Switched off by its condition: takes no part in the frame.
    pub is_on: bool,
    /// Its uses: a range of [`Declaration::uses`].
    pub uses: std::ops::Range<u32>,
}

/// A frame as declared. Reused from frame to frame, so that a steady frame allocates nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Declaration {
    /// Number of this declaration, told to handles. Not part of what is compared or hashed as the shape.
    pub(super) serial: u32,
    /// Passes in the order they were declared.
    pub passes: Vec<Pass>,
    /// Resources in the order they were declared.
    pub resources: Vec<Resource>,
    /// Uses of all passes.
    pub uses: Vec<Use>,
    /// Passes that have to come before others whatever they touch: (before, after).
    pub orders: Vec<(PassId, PassId)>,
    /// The first mistake made while declaring; compiling gives it.
    #[serde(skip)]
    pub(super) mistake: Option<GraphError>,
}

impl Declaration {
    /// What a pass touches.
    pub fn uses_of(&self, pass: PassId) -> &[Use] {
        let range = self.passes.get(pass.0 as usize).map(|pass| pass.uses.clone()).unwrap_or_default();
        self.uses.get(range.start as usize..range.end as usize).unwrap_or_default()
    }

    /// That a pass asks for a resource that it did not declare, or after its last use.
    pub(super) fn undeclared(&self, pass: PassId, handle: super::Handle) -> GraphError {
        let name = |pass: PassId| {
            self.passes
                .get(pass.0 as usize)
                .map_or_else(|| format!("{}", pass.0), |pass| pass.name.to_string())
        };
        let id = handle.resource();
        let Some(resource) = self.resources.get(id.0 as usize).filter(|_| handle.declaration == self.serial)
        else {
            return GraphError::OtherFrame { pass: name(pass), resource: id.0 };
        };
        let is_transient = matches!(resource.origin, Origin::Transient { .. });
        let users = (0..self.passes.len() as u32).map(PassId);
        let last = users.rev().find(|pass| self.uses_of(*pass).iter().any(|usage| usage.resource == id));
        match last.filter(|last| is_transient && *last < pass) {
            Some(last) => {
                let (pass, last) = (name(pass), name(last));
                GraphError::PastLastUse { pass, resource: resource.name.to_string(), last }
            }
            None => GraphError::Undeclared { pass: name(pass), resource: resource.name.to_string() },
        }
    }
}
