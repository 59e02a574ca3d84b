//! What a page shows has changed: edits, better inputs, a flush.
//!
//! An edit reaches every level, the baked ones too: these are drawn at run time from then on. A page that was seen in the
//! last few frames stays mapped and is drawn again in place, so that nothing flickers; another one goes, and comes back
//! when somebody looks.

use super::producer::Priority;
use super::{Cause, Happening, Planner, PlannerError, Quality, TextureId, key};
use crate::vt::grid::{Grid, Region};
use crate::vt::schedule::{Candidate, Class, Kind};

/// A rectangle that waits for the next plan.
#[derive(Debug, Clone, Copy)]
pub(super) struct Edit {
    pub(super) source: u16,
    priority: Priority,
    pub(super) region: Region,
    frame: u64,
}

type Ranges = [Option<[[u16; 2]; 2]>; crate::vt::address::MOST_LEVEL as usize + 1];

fn ranges(grid: &Grid, region: Region, border_share: f32) -> Ranges {
    std::array::from_fn(|level| grid.touched(region, level as u8, border_share))
}

fn is_in(ranges: &Ranges, page: crate::vt::PageAddress) -> bool {
    let range = ranges.get(usize::from(page.level)).copied().flatten();
    range.is_some_and(|[first, last]| {
        (first[0]..=last[0]).contains(&page.x) && (first[1]..=last[1]).contains(&page.y)
    })
}

impl Planner {
    /// What a texture shows in `region` has changed: its pages of all levels are drawn again, or go.
    ///
    /// Edits below high priority are merged into one rectangle when a texture has more than two of a priority in a frame,
    /// or when together they span all of it; high ones never are.
    ///
    /// # Errors
    /// The texture is not there.
    pub fn invalidate(
        &mut self,
        texture: TextureId,
        region: Region,
        priority: Priority,
    ) -> Result<(), PlannerError> {
        let source = self.texture(texture)?.source;
        if !region.is_empty() {
            self.edits.push(Edit { source, priority, region, frame: self.frame });
        }
        Ok(())
    }

    /// Better inputs have arrived in `region`: pages that were made from worse ones are drawn again. Gives how many.
    ///
    /// # Errors
    /// The texture is not there.
    pub fn inputs_sharpened(
        &mut self,
        texture: TextureId,
        region: Region,
        quality: Quality,
    ) -> Result<u32, PlannerError> {
        let source = self.texture(texture)?.source;
        let Some(grid) = self.source_mut(source).map(|source| source.grid) else { return Ok(0) };
        let mut count = 0;
        for (index, state) in self.pools.iter_mut().enumerate() {
            let Some(state) = state else { continue };
            let ranges = ranges(&grid, region, state.pool.desc.border_share());
            for slot in 1..state.pool.size.pages() as u16 {
                let Some(owner) = state.pool.owner(slot) else { continue };
                if key::source(owner) != source || !is_in(&ranges, key::page(owner)) {
                    continue;
                }
                let known = state.pool.slot_mut(slot);
                if known.quality < quality && known.is_current() {
                    known.dirty = Some(Cause::Sharpened { from: known.quality, to: quality });
                    self.dirty.push((index as u8, slot));
                    count += 1;
                }
            }
        }
        Ok(count)
    }

    /// Throws all pages away with the next plan; locked ones stay mapped, and are drawn again if the knob says so.
    pub fn flush(&mut self) {
        self.is_flushed = true;
    }

    /// Whether an edit that touches these pages waits for the next plan.
    pub(super) fn is_edit_pending(&self, source: u16, grid: &Grid, level: u8, range: [[u16; 2]; 2]) -> bool {
        self.is_flushed
            || self.edits.iter().filter(|edit| edit.source == source).any(|edit| {
                let touched = grid.touched(edit.region, level, 0.0);
                touched.is_some_and(|[first, last]| {
                    (0..2).all(|axis| first[axis] <= range[1][axis] && range[0][axis] <= last[axis])
                })
            })
    }

    /// Marks what edits and a flush reach.
    pub(super) fn apply_edits(&mut self) {
        let mut edits = std::mem::take(&mut self.edits);
        // Stable: edits of one source and priority stay in the order in which they came.
        edits.sort_by_key(|edit| (edit.source, edit.priority));
        let mut merged = Vec::new();
        for group in edits.chunk_by(|a, b| (a.source, a.priority) == (b.source, b.priority)) {
            let all = group.iter().map(|edit| edit.region).reduce(Region::union);
            let merges = group[0].priority != Priority::High
                && (group.len() > 2 || (group.len() == 2 && all.is_some_and(Region::is_all)));
            match all.filter(|_| merges) {
                Some(region) => merged.push(Edit { region, ..group[0] }),
                None => merged.extend_from_slice(group),
            }
        }
        for group in merged.chunk_by(|a, b| a.source == b.source) {
            self.apply_to_source(group);
        }
        edits.clear();
        self.edits = edits;
        if std::mem::take(&mut self.is_flushed) {
            self.apply_flush();
        }
    }

    fn apply_to_source(&mut self, edits: &[Edit]) {
        let Some(source) = self.sources.get_mut(usize::from(edits[0].source)).and_then(Option::as_mut) else {
            return;
        };
        let grid = source.grid;
        for (group, pool) in source.pools.iter().enumerate() {
            let Some(state) = self.pools.get_mut(usize::from(pool.0)).and_then(Option::as_mut) else {
                continue;
            };
            let border_share = state.pool.desc.border_share();
            let touched: Vec<(Edit, Ranges)> =
                edits.iter().map(|edit| (*edit, ranges(&grid, edit.region, border_share))).collect();
            if let Some(from) = source.baked_from {
                for level in from..=grid.max_level() {
                    for range in touched.iter().filter_map(|(_, ranges)| ranges[usize::from(level)]) {
                        source.edited.add(level, range);
                    }
                }
            }
            for slot in 1..state.pool.size.pages() as u16 {
                let Some(owner) = state.pool.owner(slot) else { continue };
                if key::source(owner) != edits[0].source || usize::from(key::group(owner)) != group {
                    continue;
                }
                let page = key::page(owner);
                let known = state.pool.slot_mut(slot);
                for (edit, _) in touched.iter().filter(|(_, ranges)| is_in(ranges, page)) {
                    let cause = Cause::Invalidation { priority: edit.priority, frame: edit.frame };
                    match known.dirty {
                        None => {
                            known.dirty = Some(cause);
                            self.dirty.push((pool.0, slot));
                        }
                        Some(Cause::Sharpened { .. }) => known.dirty = Some(cause),
                        Some(Cause::Invalidation { priority, .. }) if priority > edit.priority => {
                            known.dirty = Some(cause);
                        }
                        Some(_) => {}
                    }
                }
            }
        }
    }

    fn apply_flush(&mut self) {
        for index in 0..self.pools.len() {
            let pages = self.pools[index].as_ref().map_or(0, |state| state.pool.size.pages());
            for slot in 1..pages as u16 {
                let Some(state) = &mut self.pools[index] else { break };
                if state.pool.owner(slot).is_none() {
                    continue;
                }
                let known = state.pool.slot_mut(slot);
                if known.locks == 0 {
                    self.evict(index as u8, slot, Happening::Flushed);
                } else if self.knobs.produce_locked_on_flush && known.dirty.is_none() {
                    known.dirty = Some(Cause::Flush);
                    self.dirty.push((index as u8, slot));
                }
            }
        }
    }

    /// Pages to draw again become candidates, or go when nobody has looked at them for a while. After the wishes, so that
    /// what this frame sampled counts.
    pub(super) fn gather_dirty(&mut self) {
        let mut dirty = std::mem::take(&mut self.dirty);
        dirty.sort_unstable();
        dirty.dedup();
        dirty.retain(|(pool, slot)| self.gather_dirty_page(*pool, *slot));
        self.dirty = dirty;
    }

    fn gather_dirty_page(&mut self, pool: u8, slot: u16) -> bool {
        let Some(state) = self.pools.get(usize::from(pool)).and_then(Option::as_ref) else { return false };
        let Some(owner) = state.pool.owner(slot) else { return false };
        let known = *state.pool.slot(slot);
        let Some(cause) = known.dirty else { return false };
        let seen_until =
            state.pool.last_used(slot).saturating_add(u64::from(self.knobs.dirty_visible_frames));
        let is_stale = matches!(cause, Cause::Invalidation { .. } | Cause::Flush);
        if is_stale && known.locks == 0 && seen_until < self.frame {
            self.evict(pool, slot, Happening::Discarded);
            return false;
        }
        let class = match cause {
            _ if known.unproduced => Class::Withdrawn,
            _ if known.locks > 0 => Class::Locked,
            Cause::Invalidation { priority, .. } => Class::Of(priority),
            _ => Class::Of(Priority::Normal),
        };
        let Some(first) = self.first_user(key::source(owner)) else { return false };
        let (page, group, count) = (key::page(owner), key::group(owner), self.samples(owner));
        let kind = Kind::Redraw;
        self.gather.candidates.push(Candidate { class, page, count, texture: first, group, kind }.pack());
        true
    }

    /// After the choice: pages that have an entry and no data, and did not get any now, go.
    pub(super) fn drop_unproduced(&mut self) {
        let mut dirty = std::mem::take(&mut self.dirty);
        dirty.retain(|(pool, slot)| {
            let Some(state) = self.pools.get(usize::from(*pool)).and_then(Option::as_ref) else {
                return false;
            };
            let known = *state.pool.slot(*slot);
            if state.pool.owner(*slot).is_some() && known.unproduced {
                self.evict(*pool, *slot, Happening::Lost);
                return false;
            }
            known.dirty.is_some()
        });
        self.dirty = dirty;
    }
}
