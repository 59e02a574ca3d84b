//! A frame that was planned and not submitted: its pages have no data, and its quads were never painted.

use super::{Cause, FramePlan, Happening, PageWork, Planner, key};
use crate::vt::SpaceId;

impl Planner {
    /// The frame of `plan` was not submitted. The next plan makes its pages (those that find no budget or producer then
    /// lose their place) and paints its part of the page tables again, whatever has happened since.
    pub fn withdrawn(&mut self, plan: &FramePlan) {
        for work in &plan.pages {
            let Some((pool, slot)) = self.place_of(work) else { continue };
            let Some(state) = &mut self.pools[usize::from(pool)] else { continue };
            let known = state.pool.slot_mut(slot);
            if !work.redraw && known.made.0 == plan.frame {
                known.unproduced = true;
                known.dirty = Some(Cause::Withdrawn);
            } else if work.redraw && known.redrawn.is_some_and(|(frame, _)| frame == plan.frame) {
                // A refresh that did not happen is no loss.
                if work.reason.cause != Cause::Continuous && known.dirty.is_none() {
                    known.dirty = Some(work.reason.cause);
                }
            }
            if known.dirty.is_some() {
                self.dirty.push((pool, slot));
            }
        }
        for update in &plan.updates {
            let Some(space) = self.spaces.get_mut(update.space) else { continue };
            let Some(table) = space.tables.get_mut(usize::from(update.channel)) else { continue };
            update.quads.iter().for_each(|quad| table.touch(quad.page(update.mip)));
        }
    }

    /// A page of a plan could not be made after all (its file is damaged, its pass failed): it goes, and its ancestor
    /// shows from the next plan on. It is asked for again when it is sampled again; a producer that knows better answers
    /// `Pending` to that.
    pub fn failed(&mut self, work: &PageWork) {
        if let Some((pool, slot)) = self.place_of(work) {
            self.evict(pool, slot, Happening::Lost);
        }
    }

    /// Where a page of a plan is, if it still is where the plan put it.
    fn place_of(&self, work: &PageWork) -> Option<(u8, u16)> {
        let texture = self.texture(work.texture).ok()?;
        let place = self.residency.get(key::pack(texture.source, work.group, work.page))?;
        let (pool, slot) = key::pool_and_slot(place);
        (pool == work.physical.pool.0 && slot == work.physical.index).then_some((pool, slot))
    }

    /// The images of a space hold zeros again (they were made anew): the next plan paints all that is mapped.
    pub fn republish(&mut self, space: SpaceId) {
        let Some(space) = self.spaces.get_mut(space) else { return };
        let whole = crate::vt::PageAddress { level: space.log2_side, x: 0, y: 0 };
        space.tables.iter_mut().for_each(|table| table.touch(whole));
    }

    /// All data is gone, of pages and page tables alike, as after a lost device: the next plan starts from locked pages.
    pub fn forget_all(&mut self) {
        for index in 0..self.pools.len() {
            let pages = self.pools[index].as_ref().map_or(0, |state| state.pool.size.pages());
            (1..pages as u16).for_each(|slot| self.evict(index as u8, slot, Happening::Lost));
        }
        let spaces: Vec<SpaceId> = self.spaces.iter().map(|(id, _)| id).collect();
        spaces.into_iter().for_each(|space| self.republish(space));
        self.wishes.clear();
    }
}
