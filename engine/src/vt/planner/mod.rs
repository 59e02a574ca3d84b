//! One plan a frame: what to draw into which page, and what to paint into which page table.
//!
//! ```text
//! begin_frame(n) -> feed(feedback of n-3) -> plan(producer) -> FramePlan -> the frame's passes
//!                                                  `-- not submitted: withdrawn(&plan), the next plan makes up for it
//! ```

mod knobs;
mod plan;
mod producer;
mod reason;

pub use knobs::Knobs;
pub use plan::{FrameCounters, FramePlan, PageWork};
pub use producer::{Availability, PageRequest, Priority, Producer, Quality};
pub use reason::{Budget, Cause, PageReason};

/// Names a texture. Ids are not used again, as far as a generation of 20 bits goes: an old one names nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
pub struct TextureId(u32);

impl TextureId {
    /// Bits of the index; the rest is the generation.
    const INDEX_BITS: u32 = 12;
    /// Textures that there may be at a time.
    pub const MOST: usize = 1 << Self::INDEX_BITS;

    /// The id of slot `index` in its `generation`-th use. Tests of what consumes plans make ids with it; the planner
    /// answers for its own only.
    pub fn from_parts(index: u32, generation: u32) -> Self {
        Self(index & (Self::MOST as u32 - 1) | generation << Self::INDEX_BITS)
    }

    /// Slot of the texture, below [`TextureId::MOST`]: dense, used again, and the index of its constants on the GPU.
    pub fn index(self) -> usize {
        self.0 as usize & (Self::MOST - 1)
    }

    /// How often the slot had been used before.
    pub fn generation(self) -> u32 {
        self.0 >> Self::INDEX_BITS
    }
}

impl std::fmt::Display for TextureId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "texture {}.{}", self.index(), self.generation())
    }
}
