//! What compiling a declaration gives: plain data that recording follows to the letter.

use std::ops::Range;

use ash::vk::{AccessFlags2, ImageLayout, PipelineStageFlags2};
use serde::Serialize;

use super::declaration::{HeapKey, LeftState, Queue, Subresources};
use super::handle::{PassId, ResourceId};

/// Why a pass takes no part in the frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum CullReason {
    /// Its condition is off.
    SwitchedOff,
    /// Nobody uses what it writes.
    Unused,
}

/// Stages, accesses and layout on one side of a barrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Scope {
    /// Stages.
    pub stages: PipelineStageFlags2,
    /// Accesses.
    pub accesses: AccessFlags2,
    /// Layout; `UNDEFINED` as the layout before discards. Buffers have none.
    pub layout: ImageLayout,
}

/// One barrier before a pass (or after the last).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Barrier {
    /// Which resource.
    pub resource: ResourceId,
    /// Which part of it.
    pub part: Subresources,
    /// What has to be over.
    pub from: Scope,
    /// What may begin.
    pub to: Scope,
    /// For a take-over of memory: a resource that lay there before (one of them). Contents start from undefined.
    pub takes_over: Option<ResourceId>,
}

/// A pass that takes part, in its place in the order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassPlan {
    /// Which pass.
    pub pass: PassId,
    /// Barriers before it: a range of [`Compiled::barriers`].
    pub barriers: Range<u32>,
}

/// A moment that a submission waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Wait {
    /// Index of the submission waited for.
    pub submission: u32,
    /// Stages that wait, raw `VkPipelineStageFlags2`.
    pub stages: u64,
}

/// Passes that are submitted together, on one queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submission {
    /// The queue, among those the device has.
    pub queue: Queue,
    /// Its passes: a range of [`Compiled::order`].
    pub passes: Range<u32>,
    /// Barriers after its last pass: a range of [`Compiled::barriers`].
    pub barriers_after: Range<u32>,
    /// Submissions of other queues that it waits for: a range of [`Compiled::waits`]. A commit waits for the commit
    /// before it too, since binds of one queue may overtake each other.
    pub waits: Range<u32>,
    /// Queues whose work of frames before has to be over first, each as the bit `1 << Queue`: imported resources were
    /// left there. The first commit of a frame waits for the commits of frames before.
    pub external: u8,
}

/// From the first to the last place in the order at which the memory of a transient is taken. Wider than its uses where
/// another queue runs beside them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Lifetime {
    /// First place in [`Compiled::order`].
    pub first: u32,
    /// Last place, inclusive.
    pub last: u32,
}

/// Where a transient lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Placement {
    /// Index into [`Compiled::heaps`].
    pub heap: u32,
    /// First byte.
    pub offset: u64,
    /// Size in bytes.
    pub bytes: u64,
}

/// A heap of transients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct HeapPlan {
    /// What lies in it.
    pub key: HeapKey,
    /// Size in bytes.
    pub bytes: u64,
    /// Lower bound: the largest sum of bytes alive at one moment.
    pub bound: u64,
    /// Sum of all that lies in it: what it would take without sharing.
    pub unaliased: u64,
}

/// A compiled frame.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Compiled {
    /// Passes that take part, in order; those of one submission stand together.
    pub order: Vec<PassPlan>,
    /// Passes that do not, with the reason.
    pub culled: Vec<(PassId, CullReason)>,
    /// Submissions in the order in which the host makes them.
    pub submissions: Vec<Submission>,
    /// Waits of all submissions.
    pub waits: Vec<Wait>,
    /// Barriers of all passes.
    pub barriers: Vec<Barrier>,
    /// A resource's lifetime: `None` for those not used or not transient. As long as the declaration's resources.
    pub lifetimes: Vec<Option<Lifetime>>,
    /// A transient's place. As long as the declaration's resources.
    pub placements: Vec<Option<Placement>>,
    /// Heaps of transients.
    pub heaps: Vec<HeapPlan>,
    /// How the frame leaves each resource, for the next frame's [`ImportState`](super::ImportState); `None` where it was
    /// not touched. As long as the declaration's resources.
    pub left: Vec<Option<LeftState>>,
    /// For each resource, whether queues of more than one kind touch it: it is made for concurrent use.
    pub is_shared: Vec<bool>,
    /// Optional uses that find nothing, because the passes that would write are switched off: indices into
    /// [`Declaration::uses`](super::Declaration::uses), ascending.
    pub absent: Vec<u32>,
    /// What the frame may still do to the memory of transients when it ends, for whoever uses the same heaps next.
    pub heap_after: LeftState,
}

impl Compiled {
    /// Whether a use finds nothing; `index` counts [`Declaration::uses`](super::Declaration::uses).
    pub fn is_absent(&self, index: u32) -> bool {
        self.absent.binary_search(&index).is_ok()
    }
}
