//! Mip streaming: which tiles of an image should be mapped, given what was asked for.
//!
//! ```text
//! requests --ancestors--> wanted --+-- mapped already: used in this frame
//!                                  +-- not mapped: the most important get room, if need be that of others
//! mapped, in the order of leaving: over budget --> outranked --> unused for too long
//! ```
//!
//! Rules, which hold after every update:
//!
//! 1. a mapped tile's parents are mapped (from [`TileLayout::floor_lod`] on they always are);
//! 2. no more tiles are mapped than the budget has;
//! 3. a tile asked for within `keep_frames` leaves only when the budget falls, when a parent failed, or when it
//!    makes room for one that is coarser, or as coarse and of higher priority; never for an equal, which is
//!    what makes a still view (or one that repeats within `keep_frames`) settle: every exchange improves the
//!    whole;
//! 4. when not everything fits, what is left out is the finest and, in one mip, the least important.
//!
//! Tiles that a view no longer asks for hold their place for `keep_frames`, and a mapped tile counts with
//! the highest priority of that time: feedback that asks for a part of the view in each frame does no harm.
//! After a jump of the camera with a full budget, coarse mips of the new view push out fine ones of the old
//! view at once, equals wait that long.

use super::plan::{DeferReason, MapReason, StreamPlan, UnmapReason};
use super::ranking::{Importance, LeaveOrder, Priority, keep_first};
use super::table::TileTable;
use super::{TileCoord, TileError, TileLayout};

/// How much is streamed, and how eagerly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamerKnobs {
    /// At most this many tiles are mapped, besides those that are always resident.
    pub budget_tiles: u64,
    /// At most this many tiles are mapped in one update: scattered binds cost time each. 0 pauses.
    pub maps_per_update: u32,
    /// At most this many tiles are unmapped in one update, not counting those that have to go because the
    /// budget fell or a parent failed. 0 keeps everything.
    pub unmaps_per_update: u32,
    /// Updates may pass this many frames without a request before a tile leaves on its own. 0 keeps only what
    /// is asked for in every update.
    pub keep_frames: u32,
}

impl Default for StreamerKnobs {
    /// 4096 tiles (256 MiB in tiles of 64 KiB), 32 maps and unmaps an update (scattered 64 KiB binds were
    /// measured at 0.04 to 0.08 ms each), 60 frames (a second at 60 Hz) of patience.
    fn default() -> Self {
        Self { budget_tiles: 4096, maps_per_update: 32, unmaps_per_update: 32, keep_frames: 60 }
    }
}

/// Something that was asked for, by a shader's feedback or by the application.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TileRequest {
    /// The tile. Its ancestors need not be asked for.
    pub tile: TileCoord,
    /// Higher is more important, within one mip: a coarser mip always goes first. NaN is the lowest.
    pub priority: f32,
}

#[derive(Debug, Clone, Copy)]
struct Mapped {
    tile: TileCoord,
    index: u32,
    /// The highest of the last `keep_frames` frames, so that it does not waver with dithered feedback.
    priority: Priority,
    /// When that highest priority was last asked for.
    priority_frame: u64,
    last_wanted: u64,
}

#[derive(Debug, Clone, Copy)]
struct Wanted {
    tile: TileCoord,
    index: u32,
    priority: Priority,
    requested: bool,
}

impl Wanted {
    fn importance(&self) -> Importance {
        Importance { mip: self.tile.mip, priority: self.priority }
    }
}

/// The planner of one image's mip streaming. Equal input gives equal plans.
#[derive(Debug, Clone)]
pub struct TileStreamer {
    layout: TileLayout,
    knobs: StreamerKnobs,
    /// The latest frame seen; never falls.
    clock: u64,
    mapped: Vec<Mapped>,
    /// From tile index to a position in `mapped`.
    mapped_at: TileTable,
    mapped_per_mip: Vec<u64>,
    /// Mapped tiles with a parent that failed, to be unmapped at the next update.
    orphans: Vec<TileCoord>,
    /// What this update wants, a list a mip. Empty between updates but for its memory.
    wanted: Vec<Vec<Wanted>>,
    /// From tile index to a position in its mip's list in `wanted`.
    wanted_at: TileTable,
}

impl TileStreamer {
    /// A streamer with nothing mapped but what is always resident.
    ///
    /// # Errors
    /// [`TileError::TooManyTiles`] for layouts whose tiles do not count in 32 bits (256 TiB in 64 KiB tiles).
    pub fn new(layout: &TileLayout, knobs: StreamerKnobs) -> Result<Self, TileError> {
        let (tiles, limit) = (layout.tiles(), u64::from(u32::MAX));
        if tiles > limit {
            return Err(TileError::TooManyTiles { tiles, limit });
        }
        let mips = layout.floor_lod() as usize;
        Ok(Self {
            layout: layout.clone(),
            knobs,
            clock: 0,
            mapped: Vec::new(),
            mapped_at: TileTable::default(),
            mapped_per_mip: vec![0; mips],
            orphans: Vec::new(),
            wanted: vec![Vec::new(); mips],
            wanted_at: TileTable::default(),
        })
    }

    /// The knobs as they stand.
    pub fn knobs(&self) -> &StreamerKnobs {
        &self.knobs
    }

    /// Changes the budget, in tiles. When more are mapped, the next update unmaps the excess, also what is in
    /// use: children first, the least important first.
    pub fn set_budget(&mut self, tiles: u64) {
        self.knobs.budget_tiles = tiles;
    }

    /// Changes how many frames a tile may stay without a request: fewer where memory is short.
    pub fn set_keep_frames(&mut self, frames: u32) {
        self.knobs.keep_frames = frames;
    }

    /// Whether `tile` is mapped, that is, whether the plans so far map it. Always true for existing tiles
    /// from [`TileLayout::floor_lod`] on.
    pub fn is_mapped(&self, tile: TileCoord) -> bool {
        let Some(index) = self.layout.tile_index(tile) else { return false };
        tile.mip >= self.layout.floor_lod() || self.mapped_at.get(index as u32).is_some()
    }

    /// How many tiles are mapped, besides those that are always resident.
    pub fn mapped(&self) -> u64 {
        self.mapped.len() as u64
    }

    /// How many tiles of each mip are mapped, for the mips in front of [`TileLayout::floor_lod`].
    pub fn mapped_per_mip(&self) -> &[u64] {
        &self.mapped_per_mip
    }

    /// The mapped tiles, besides those that are always resident, in the linear order.
    pub fn mapped_tiles(&self) -> Vec<TileCoord> {
        let mut tiles: Vec<_> = self.mapped.iter().map(|mapped| (mapped.index, mapped.tile)).collect();
        tiles.sort_unstable_by_key(|(index, _)| *index);
        tiles.into_iter().map(|(_, tile)| tile).collect()
    }

    /// Takes back tiles of a plan that the executor could not map; nothing else changes now.
    ///
    /// The plan's order makes this simple: what fails when memory runs out is the end of its list. Where a
    /// tile failed and a child of it did not, the child is unmapped by the next update, as no shader may
    /// reach it. What is still wanted is planned again at once: when memory is short, lower the budget too.
    pub fn failed(&mut self, tiles: &[TileCoord]) {
        for &tile in tiles {
            if self.remove(tile) {
                self.note_orphans(tile);
            }
        }
    }

    /// Decides what to map and unmap in `frame` (never falling; may skip or repeat). The plan counts as done,
    /// except for what is given to [`Self::failed`].
    ///
    /// Requests for tiles that do not exist, or that are always resident, are passed over.
    pub fn update(&mut self, requests: &[TileRequest], frame: u64) -> StreamPlan {
        self.clock = self.clock.max(frame);
        let mut plan =
            StreamPlan { frame: self.clock, budget_tiles: self.knobs.budget_tiles, ..Default::default() };
        self.want(requests);
        // Before anything leaves: what leaves now must not come back in the same batch.
        let mut candidates = self.touch();
        self.unmap_orphans(&mut plan);
        let orphans = !plan.unmap.is_empty();

        let over = self.mapped().saturating_sub(self.knobs.budget_tiles) as usize;
        let wishes = candidates.len().min(self.knobs.maps_per_update as usize) as u64;
        let crowded = (self.mapped() + wishes) > self.knobs.budget_tiles && wishes > 0;
        let mut leaving = self.leaving(over, over > 0 || crowded).into_iter().peekable();
        for order in leaving.by_ref().take(over) {
            self.unmap(order, UnmapReason::OverBudget, &mut plan);
        }
        let lost = if orphans && over == 0 { DeferReason::ParentFailed } else { DeferReason::Budget };
        let mut unmaps_left = self.knobs.unmaps_per_update;

        // One more than may be mapped, so that the reason for leaving it out is found.
        keep_first(&mut candidates, (self.knobs.maps_per_update as usize).saturating_add(1), |wanted| {
            (std::cmp::Reverse(wanted.importance()), wanted.index)
        });
        for candidate in candidates {
            if plan.map.len() >= self.knobs.maps_per_update as usize {
                plan.defer_reason.get_or_insert(DeferReason::MapLimit);
                break;
            }
            if !self.has_parents(candidate.tile) {
                plan.defer_reason.get_or_insert(lost);
                continue;
            }
            if self.mapped() >= self.knobs.budget_tiles {
                let outranked = |order: &LeaveOrder| !order.live || order.importance < candidate.importance();
                let Some(order) = leaving.next_if(outranked) else {
                    plan.defer_reason.get_or_insert(DeferReason::Budget);
                    break;
                };
                if unmaps_left == 0 {
                    plan.defer_reason.get_or_insert(DeferReason::UnmapLimit);
                    break;
                }
                unmaps_left -= 1;
                let frames = self.clock - order.last_wanted;
                let why = if order.live { UnmapReason::Outranked } else { UnmapReason::Unused { frames } };
                self.unmap(order, why, &mut plan);
            }
            self.map(candidate, &mut plan);
        }
        for order in leaving.take_while(|order| !order.live).take(unmaps_left as usize) {
            let frames = self.clock - order.last_wanted;
            self.unmap(order, UnmapReason::Unused { frames }, &mut plan);
        }
        plan.deferred = self.forget_wanted();
        plan.mapped_tiles = self.mapped();
        if plan.deferred > 0 && plan.defer_reason.is_none() {
            // Nothing was left out, but something wanted had to go.
            plan.defer_reason = Some(lost);
        }
        plan
    }

    /// Fills `wanted` with the requests and all their ancestors, each with the highest priority among those
    /// that want it.
    fn want(&mut self, requests: &[TileRequest]) {
        for request in requests {
            self.want_tile(request.tile, Priority::new(request.priority), true);
        }
        // Finer to coarser: a list is complete, with its final priorities, when its turn comes.
        for mip in 0..self.wanted.len() {
            for at in 0..self.wanted[mip].len() {
                let Wanted { tile, priority, .. } = self.wanted[mip][at];
                for parent in self.layout.parents(tile).tiles() {
                    self.want_tile(parent, priority, false);
                }
            }
        }
    }

    fn want_tile(&mut self, tile: TileCoord, priority: Priority, requested: bool) {
        let Some(index) = self.layout.tile_index(tile) else { return };
        let Some(list) = self.wanted.get_mut(tile.mip as usize) else { return };
        let index = index as u32;
        if let Some(known) = self.wanted_at.get(index).and_then(|at| list.get_mut(at as usize)) {
            known.priority = known.priority.max(priority);
            known.requested |= requested;
        } else {
            self.wanted_at.set(index, list.len() as u32);
            list.push(Wanted { tile, index, priority, requested });
        }
    }

    /// Marks the mapped ones among the wanted as used now, and returns the others.
    fn touch(&mut self) -> Vec<Wanted> {
        let keep_frames = u64::from(self.knobs.keep_frames);
        let mut others = Vec::new();
        for wanted in self.wanted.iter().flatten() {
            let at = self.mapped_at.get(wanted.index);
            match at.and_then(|at| self.mapped.get_mut(at as usize)) {
                Some(mapped) => {
                    mapped.last_wanted = self.clock;
                    let forgotten = self.clock - mapped.priority_frame > keep_frames;
                    if wanted.priority >= mapped.priority || forgotten {
                        mapped.priority = wanted.priority;
                        mapped.priority_frame = self.clock;
                    }
                }
                None => others.push(*wanted),
            }
        }
        others
    }

    /// Empties `wanted`; returns how many of them are not mapped.
    fn forget_wanted(&mut self) -> u64 {
        let mut unmapped = 0;
        for list in &mut self.wanted {
            for wanted in list.drain(..) {
                self.wanted_at.clear(wanted.index);
                unmapped += u64::from(self.mapped_at.get(wanted.index).is_none());
            }
        }
        unmapped
    }

    /// The first tiles in the order of leaving, as many as can leave in one update and one more. Live ones
    /// only if asked for, as a frame without pressure needs none.
    fn leaving(&self, over: usize, with_live: bool) -> Vec<LeaveOrder> {
        let keep_frames = u64::from(self.knobs.keep_frames);
        let orders = self.mapped.iter().filter_map(|mapped| {
            let live = self.clock - mapped.last_wanted <= keep_frames;
            let importance = Importance { mip: mapped.tile.mip, priority: mapped.priority };
            let order = LeaveOrder::new(live, importance, mapped.last_wanted, mapped.index);
            (with_live || !live).then_some(order)
        });
        let mut orders: Vec<_> = orders.collect();
        let count = over.saturating_add(self.knobs.unmaps_per_update as usize).saturating_add(1);
        keep_first(&mut orders, count, |order| *order);
        orders
    }

    /// Unmaps what has lost a parent, and what hangs below it; children first.
    fn unmap_orphans(&mut self, plan: &mut StreamPlan) {
        let mut gone = Vec::new();
        while let Some(tile) = self.orphans.pop() {
            if !self.has_parents(tile) && self.remove(tile) {
                self.note_orphans(tile);
                gone.push(tile);
            }
        }
        gone.sort_by_key(|tile| (tile.mip, self.layout.tile_index(*tile)));
        plan.unmap_reasons.extend(gone.iter().map(|_| UnmapReason::ParentFailed));
        plan.unmap.extend(gone);
    }

    fn note_orphans(&mut self, parent: TileCoord) {
        for child in self.layout.children(parent).tiles() {
            if self.is_mapped(child) {
                self.orphans.push(child);
            }
        }
    }

    fn has_parents(&self, tile: TileCoord) -> bool {
        self.layout.parents(tile).tiles().all(|parent| self.is_mapped(parent))
    }

    fn map(&mut self, wanted: Wanted, plan: &mut StreamPlan) {
        let Wanted { tile, index, priority, requested } = wanted;
        self.mapped_at.set(index, self.mapped.len() as u32);
        let (priority_frame, last_wanted) = (self.clock, self.clock);
        self.mapped.push(Mapped { tile, index, priority, priority_frame, last_wanted });
        self.mapped_per_mip[tile.mip as usize] += 1;
        let priority = priority.value();
        plan.map.push(tile);
        plan.map_reasons.push(if requested {
            MapReason::Requested { priority }
        } else {
            MapReason::Ancestor { priority }
        });
    }

    fn unmap(&mut self, order: LeaveOrder, why: UnmapReason, plan: &mut StreamPlan) {
        let at = self.mapped_at.get(order.index.0);
        let Some(tile) = at.and_then(|at| self.mapped.get(at as usize)).map(|mapped| mapped.tile) else {
            return;
        };
        if self.remove(tile) {
            plan.unmap.push(tile);
            plan.unmap_reasons.push(why);
        }
    }

    /// Whether it was mapped.
    fn remove(&mut self, tile: TileCoord) -> bool {
        let Some(index) = self.layout.tile_index(tile) else { return false };
        let index = index as u32;
        let Some(at) = self.mapped_at.get(index) else { return false };
        self.mapped_at.clear(index);
        self.mapped.swap_remove(at as usize);
        if let Some(moved) = self.mapped.get(at as usize) {
            self.mapped_at.set(moved.index, at);
        }
        self.mapped_per_mip[tile.mip as usize] -= 1;
        true
    }
}
