//! One plan a frame: what to draw into which page, and what to paint into which page table.
//!
//! ```text
//! begin_frame(n) -> feed(feedback of n-3) -> plan(producer) -> FramePlan -> the frame's passes
//!                                                  `-- not submitted: withdrawn(&plan), the next plan makes up for it
//!
//! plan:  edits -> locked, preloaded, sampled, prefetched, dirty pages (gather, walk) -> choose -> refresh -> bias -> paint
//! ```
//!
//! Same input, same plan: no order of the feedback, no address and no clock has a say in it. Once lists have grown to
//! what a view needs, a frame allocates no memory.
//!
//! - `create.rs`: pools and textures come and go. `texture.rs`: where a texture lies.
//! - `feed.rs`, `walk.rs`: what was sampled, and so is wanted. `gather.rs`: what else is. `choose.rs`: what of it is made. `refresh.rs`: continuous updates.
//! - `edit.rs`: invalidation, sharper inputs, flush. `ahead.rs`: locks, preloads, `is_ready`. `withdraw.rs`: lost frames.
//! - `place.rs`: a page gets its place or loses it. `history.rs`, `usage.rs`: what one can see.

mod ahead;
mod choose;
mod create;
mod edit;
mod edited;
mod error;
mod feed;
mod gather;
mod history;
pub(crate) mod key;
mod knobs;
mod place;
mod plan;
mod producer;
mod reason;
mod refresh;
#[cfg(test)]
mod tests;
mod texture;
mod usage;
mod walk;
mod withdraw;

pub use create::{MOST_POOLS, PoolView};
pub use error::PlannerError;
pub use history::{Happening, PageEvent};
pub use knobs::Knobs;
pub use plan::{FrameCounters, FramePlan, PageWork};
pub use producer::{Availability, PageRequest, Priority, Producer, Quality};
pub use reason::{Budget, Cause, PageReason};
pub use texture::{Placement, TextureDesc};
pub use usage::{PageInfo, PoolUsage, SpaceUsage, TextureUsage, Usage};

use super::address::PageAddress;
use super::feedback::Wishes;
use super::map::KeyMap;
use super::page_table::TableQuad;
use super::pool::{Mappings, Pool};
use super::schedule::{BiasGovernor, BiasLimits, PoolLoad};
use super::space::Spaces;
use texture::{Source, Texture};

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

/// Frames of which the bias is remembered: older feedback is taken as given under the present one.
const BIASES: usize = 16;

/// A pool, and what the frame has learnt of it.
#[derive(Debug, Clone)]
struct PoolState {
    pool: Pool,
    governor: BiasGovernor,
    /// Pages that are not locked and that feedback names.
    wanted: u32,
    /// Of these, pages that are not there.
    missing: u32,
    /// Of these, pages that the plan makes.
    sampled_made: u32,
    no_room: u32,
    /// Nothing more finds room in this frame.
    is_full: bool,
    /// So much is wanted that nothing is asked for besides.
    is_tight: bool,
    /// Biases of the last frames, with the frames.
    biases: [(u64, f32); BIASES],
}

/// Decides what virtual textures do, frame by frame.
#[derive(Debug, Clone)]
pub struct Planner {
    knobs: Knobs,
    frame: u64,
    /// The plan of the frame is made: what comes now is seen in the next one at the earliest.
    is_planned: bool,
    pools: Vec<Option<PoolState>>,
    spaces: Spaces,
    textures: Vec<Option<Texture>>,
    generations: Vec<u32>,
    sources: Vec<Option<Source>>,
    /// Where the pages are that are there.
    residency: KeyMap,
    mappings: Mappings,
    /// Locks by page of group 0.
    locks: KeyMap,
    lock_list: Vec<(TextureId, PageAddress, u32)>,
    preloads: Vec<(TextureId, PageAddress)>,
    edits: Vec<edit::Edit>,
    is_flushed: bool,
    /// Pages to be drawn again; some of them may be others by now.
    dirty: Vec<(u8, u16)>,
    wishes: Wishes,
    fed_frame: Option<u64>,
    gather: gather::Gather,
    refresh_pool: usize,
    counters: FrameCounters,
    /// Counters of the last plan.
    last: FrameCounters,
    history: history::History,
    spare: Vec<Vec<TableQuad>>,
}

impl Planner {
    /// A planner without pools or textures.
    pub fn new(knobs: Knobs) -> Self {
        Self {
            knobs,
            frame: 0,
            is_planned: false,
            pools: Vec::new(),
            spaces: Spaces::default(),
            textures: Vec::new(),
            generations: Vec::new(),
            sources: Vec::new(),
            residency: KeyMap::with_capacity(4096),
            mappings: Mappings::new(),
            locks: KeyMap::new(),
            lock_list: Vec::new(),
            preloads: Vec::new(),
            edits: Vec::new(),
            is_flushed: false,
            dirty: Vec::new(),
            wishes: Wishes::default(),
            fed_frame: None,
            gather: gather::Gather::new(),
            refresh_pool: 0,
            counters: FrameCounters::default(),
            last: FrameCounters::default(),
            history: history::History::new(knobs.history),
            spare: Vec::new(),
        }
    }

    /// The knobs as they are.
    pub fn knobs(&self) -> &Knobs {
        &self.knobs
    }

    /// Turns knobs; the next plan goes by them. A history of another length starts anew.
    pub fn set_knobs(&mut self, knobs: Knobs) {
        if knobs.history != self.knobs.history {
            self.history = history::History::new(knobs.history);
        }
        self.knobs = knobs;
    }

    /// A frame begins. Frames only go on: an earlier number than the last one is taken as that.
    pub fn begin_frame(&mut self, frame: u64) {
        self.is_planned &= frame <= self.frame;
        self.frame = self.frame.max(frame);
    }

    /// The frame that the next plan is for.
    pub fn frame(&self) -> u64 {
        self.frame
    }

    /// Feedback of as many frames was thrown away, since the readback ring was full.
    pub fn lost_feedback(&mut self, frames: u32) {
        self.counters.lost_feedback += frames;
    }

    /// The plan of this frame. What was fed, asked for and edited is used up by it.
    pub fn plan(&mut self, producer: &mut dyn Producer) -> FramePlan {
        let mut plan = FramePlan::default();
        self.plan_into(producer, &mut plan);
        plan
    }

    /// As [`Planner::plan`], into the memory of an earlier plan.
    pub fn plan_into(&mut self, producer: &mut dyn Producer, plan: &mut FramePlan) {
        plan.pages.clear();
        for mut update in plan.updates.drain(..) {
            update.quads.clear();
            self.spare.push(update.quads);
        }
        self.gather.clear();
        for state in self.pools.iter_mut().flatten() {
            (state.wanted, state.missing, state.sampled_made, state.no_room) = (0, 0, 0, 0);
            state.is_full = false;
        }
        self.sources.iter_mut().flatten().for_each(|source| source.saturated = None);
        if self.knobs.freeze {
            self.drop_unproduced();
        } else {
            self.apply_edits();
            self.wishes.sort();
            self.gather_locked();
            self.gather_preloads();
            self.gather_wishes();
            self.gather_dirty();
            let mut choice = choose::Choice::new(producer, &self.knobs);
            self.choose(&mut choice, plan);
            self.refresh(&mut choice, plan);
            self.drop_unproduced();
            self.update_bias();
        }
        self.paint(plan);
        plan.frame = self.frame;
        plan.mip_bias = self.mip_bias();
        plan.counters = self.counters;
        self.last = std::mem::take(&mut self.counters);
        self.wishes.clear();
        self.fed_frame = None;
        self.is_planned = true;
    }

    fn update_bias(&mut self) {
        let knobs = &self.knobs;
        let limits = BiasLimits {
            rate: knobs.residency_bias_rate,
            max: if knobs.residency_bias { knobs.residency_bias_max } else { 0.0 },
            upper: knobs.residency_upper,
            locked_upper: knobs.residency_locked_upper,
            window: knobs.page_free_threshold,
        };
        for state in self.pools.iter_mut().flatten() {
            let observed = |frame: u64| {
                let known = state.biases.iter().find(|(of, _)| *of == frame);
                known.map_or(state.governor.bias(), |(_, bias)| *bias)
            };
            let load = PoolLoad {
                usable: state.pool.size.usable(),
                locked: state.pool.locked,
                wanted: state.wanted,
                missing: state.missing,
                used: state.pool.used(self.frame, limits.window),
                no_room: state.no_room,
                observed_bias: self.fed_frame.map(observed),
            };
            let limits =
                if state.pool.desc.residency_bias { limits } else { BiasLimits { max: 0.0, ..limits } };
            let bias = state.governor.update(load, limits);
            state.biases[(self.frame % BIASES as u64) as usize] = (self.frame, bias);
            let wanted = f64::from(load.wanted + load.locked);
            state.is_tight = wanted > f64::from(limits.upper) * f64::from(load.usable);
        }
    }

    fn paint(&mut self, plan: &mut FramePlan) {
        for id in (0..=u8::MAX).map(super::SpaceId) {
            let Some(space) = self.spaces.get_mut(id) else { continue };
            for (channel, table) in (0u8..).zip(&mut space.tables) {
                table.paint(id, channel, &mut self.spare, &mut plan.updates);
            }
        }
        self.counters.quads = plan.quads() as u32;
    }

    /// The largest bias of all pools, in levels.
    pub fn mip_bias(&self) -> f32 {
        self.pools.iter().flatten().map(|state| state.governor.bias()).fold(0.0, f32::max)
    }

    /// The bias of one texture: the largest of its pools, in levels. What [`FramePlan::mip_bias`] is for a renderer that
    /// keeps one bias only; it must use one of the two, once.
    pub fn texture_bias(&self, texture: TextureId) -> f32 {
        let Ok(known) = self.texture(texture) else { return 0.0 };
        let pools = known.pools[..usize::from(known.groups)].iter();
        let biases = pools.filter_map(|pool| self.pools[usize::from(*pool)].as_ref());
        biases.map(|state| state.governor.bias()).fold(0.0, f32::max)
    }

    /// Where a texture lies.
    pub fn placement(&self, texture: TextureId) -> Option<Placement> {
        self.texture(texture).ok().map(|known| known.placement)
    }

    fn texture(&self, id: TextureId) -> Result<&Texture, PlannerError> {
        let known = self.textures.get(id.index()).and_then(Option::as_ref).filter(|known| known.id == id);
        known.ok_or(PlannerError::NoTexture { texture: id })
    }

    fn source_mut(&mut self, source: u16) -> Option<&mut Source> {
        self.sources.get_mut(usize::from(source)).and_then(Option::as_mut)
    }
}
