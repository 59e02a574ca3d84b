//! What a frame has to do.

use super::{PageReason, TextureId};
use crate::vt::address::PageAddress;
use crate::vt::page_table::TableUpdate;
use crate::vt::pool::PhysicalPage;

/// One page to make: all layers of one group of a texture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PageWork {
    /// Whose page.
    pub texture: TextureId,
    /// Which of its groups of layers.
    pub group: u8,
    /// The page, in the texture's own grid (not in the space).
    pub page: PageAddress,
    /// Where it goes.
    pub physical: PhysicalPage,
    /// Why.
    pub reason: PageReason,
    /// Whether the page is there already and is drawn again in place.
    pub redraw: bool,
    /// Whether data baked ahead will do; see `PageRequest::baked`.
    pub baked: bool,
}

/// Everything a frame has to do for its virtual textures. Pages are made first, then tables are painted in order, then
/// the frame samples: a mapping and its data appear together.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FramePlan {
    /// The frame it is for.
    pub frame: u64,
    /// Pages to make, most urgent first.
    pub pages: Vec<PageWork>,
    /// Quads to paint, by space, channel and mip, coarse mips first.
    pub updates: Vec<TableUpdate>,
    /// What happened.
    pub counters: FrameCounters,
    /// The largest bias of the pools, in levels: added to the level by the shader that samples and gives feedback.
    /// It is in the feedback that comes back, so it is not applied to requests here.
    pub mip_bias: f32,
}

impl FramePlan {
    /// Whether there is nothing to draw and nothing to paint, as in a steady view.
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty() && self.updates.is_empty()
    }

    /// Quads of all updates.
    pub fn quads(&self) -> usize {
        self.updates.iter().map(|update| update.quads.len()).sum()
    }
}

/// What one frame came to.
#[derive(Debug, Clone, Copy, PartialEq, Default, serde::Serialize)]
pub struct FrameCounters {
    /// Samples that gave feedback: the sum of all counts.
    pub requests: u64,
    /// Pages that were asked for, each counted once.
    pub unique: u32,
    /// Of these (times the groups of their textures), those that were there.
    pub resident: u32,
    /// Those that were not.
    pub missing: u32,
    /// Pages asked for on the way to missing ones.
    pub prefetched: u32,
    /// Pages that this plan makes anew.
    pub made: u32,
    /// Pages that this plan draws again.
    pub redrawn: u32,
    /// Of the redrawn ones, continuous refreshes.
    pub continuous: u32,
    /// Wanted pages that this plan leaves for later: no budget, no room, or nothing to make them from.
    pub deferred: u32,
    /// Of the deferred ones, those that their producer is fetching.
    pub pending: u32,
    /// Of the deferred ones, those whose producer takes nothing now.
    pub saturated: u32,
    /// Of the deferred ones, those that the pool had no room for.
    pub no_room: u32,
    /// Pages that lost their place.
    pub evicted: u32,
    /// Quads of table updates.
    pub quads: u32,
    /// Feedback that never arrived since the readback ring was full, in frames.
    pub lost_feedback: u32,
    /// Samples that found the feedback buffer full.
    pub overflow: u64,
    /// Pairs that the compaction had no room for.
    pub dropped: u64,
    /// Pairs older than the texture they name.
    pub stale: u32,
    /// Pairs that name nothing.
    pub invalid: u32,
    /// Samples that wished for finer pages than level 0.
    pub finer: u64,
    /// Samples whose texture is known: the weight of all wishes.
    pub wished: u64,
    /// Of these, those whose page is there (or made by this plan) at the level wished for.
    pub sharp: u64,
}

impl FrameCounters {
    /// The share of samples that are at their wished level: 1 when nothing was asked for.
    pub fn sharpness(&self) -> f64 {
        if self.wished == 0 { 1.0 } else { self.sharp as f64 / self.wished as f64 }
    }
}
