//! Virtual textures: a huge logical texture of which a fixed budget of pages is in memory, in one physical atlas.
//!
//! ```text
//! feedback of frame N-3 -- feedback (merge) --> unique pages with counts
//!                                                   |
//!        space (whose page is it), pool (is it resident) -- schedule (what, in which order, how many) --> work
//!                                                   |
//!                              page_table (which quads to paint) --> FramePlan
//! FramePlan --(passes: draw pages, then update tables)--> page tables and atlases --> materials sample and give feedback
//! ```
//!
//! The other rooms named here are pure: no Vulkan, no clock, no I/O. [`planner::Planner`] is the one that others talk to; the
//! passes lower what it plans. A mapping and its data appear in one frame, and the entries of a page that goes are
//! pointed elsewhere in the frame that reuses its slot.
//!
//! - `atlas.rs`: the images of a pool. `compress/`: from drawn pages to blocks in them. These two are on the GPU.
//! - `address.rs`: a page and its Morton code. `grid.rs`: how a texture is cut into pages.
//! - `page_table/`: entries, quads that update them, and a page table on the CPU. `pool/`: atlases and who is in them.
//! - `space/`: where textures lie in a page table. `feedback/`: what the GPU says, merged.
//! - `sampling/`: what a material calls, its constants and its twin.
//! - `schedule/`: order, budgets, residency bias. `planner/`: all of it together, one plan a frame.
//!
//! These lower what is planned: `passes/` (feedback on the GPU and its way back) and `tables/` (page-table images and what
//! paints them). `feedback_twin.rs` and `tables/twin.rs` do on the host what their shaders do.

pub mod address;
pub mod atlas;
pub mod compress;
pub mod feedback;
pub mod feedback_twin;
pub mod grid;
mod kind;
mod map;
mod options;
pub mod page_table;
pub mod passes;
pub mod planner;
pub mod pool;
pub mod runtime;
pub mod sampling;
pub mod schedule;
pub mod space;
pub mod stats;
pub mod system;
pub mod tables;

pub use address::PageAddress;
pub use atlas::{Atlas, AtlasError, AtlasHandles};
pub use feedback::Feedback;
pub use grid::{Grid, Region};
pub use kind::Kind;
pub use options::{Borders, Filter, Options};
pub use page_table::{Entry, EntryFormat, TableImage, TableQuad, TableUpdate};
pub use planner::{
    Availability, Budget, Cause, FrameCounters, FramePlan, Knobs, PageReason, PageRequest, PageWork,
    Placement, Planner, PlannerError, Priority, Producer, Quality, TextureDesc, TextureId,
};
pub use pool::{LayerFormat, PhysicalPage, PoolDesc, PoolId, PoolSize};
pub use stats::VtStats;
pub use system::{
    FrameRecord, GroundTextures, GroundTexturesDesc, RuntimeTextureDesc, SampleSettings, ViewPart,
    VirtualTextures, VtAtlases, VtError, VtFrame, VtImages, VtResult,
};

/// Marker of all that makes new images ready: first of a frame's.
pub(crate) const ALLOCATE: &str = "VirtualTextureAllocate";
/// Marker around the pages of a frame: drawn, compressed, copied.
pub(crate) const FINALIZE: &str = "VirtualTextureFinalizeRequests";

/// Frames from the one that gave feedback to the one that uses it, where it is waited for.
pub const FEEDBACK_FRAMES: u64 = 3;

/// Names a space: one page-table image that several textures are placed in.
///
/// The first [`feedback::MOST_FED_SPACES`] ids get feedback.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
pub struct SpaceId(pub u8);

impl SpaceId {
    /// Whether feedback can name this space: it has 4 bits for it.
    pub fn is_fed(self) -> bool {
        usize::from(self.0) < feedback::MOST_FED_SPACES
    }
}

impl std::fmt::Display for SpaceId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "space {}", self.0)
    }
}
