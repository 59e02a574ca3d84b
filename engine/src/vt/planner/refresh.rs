//! Continuous updates: visible pages are drawn again in turns, with what new pages left of the budget.
//!
//! The turns go round the atlas, slot by slot: no page comes twice before all others came once.

use super::choose::Choice;
use super::producer::{PageRequest, Priority};
use super::{Cause, FramePlan, PageReason, Planner, key};

impl Planner {
    pub(super) fn refresh(&mut self, choice: &mut Choice<'_>, plan: &mut FramePlan) {
        let force = self.knobs.force_continuous_update;
        if !force && !self.sources.iter().flatten().any(|source| source.continuous) {
            return;
        }
        let count = self.pools.len();
        for step in 0..count {
            // Another pool is first each frame, or a small budget would never reach the second.
            let pool = (self.refresh_pool + step) % count;
            self.refresh_in(pool as u8, force, choice, plan);
        }
        self.refresh_pool = (self.refresh_pool + 1) % count.max(1);
    }

    fn refresh_in(&mut self, pool: u8, force: bool, choice: &mut Choice<'_>, plan: &mut FramePlan) {
        let Some(state) = &self.pools[usize::from(pool)] else { return };
        let (usable, start) = (state.pool.size.usable(), u32::from(state.pool.cursor));
        for step in 0..usable {
            if !choice.budgets.allows_continuous() {
                return;
            }
            let slot = ((start.saturating_sub(1) + step) % usable + 1) as u16;
            let Some(owner) = self.refreshable(pool, slot, force) else { continue };
            let (source, group, page) = (key::source(owner), key::group(owner), key::page(owner));
            let Some(texture) = self.id_of(source) else { continue };
            let request = PageRequest { texture, group, page, priority: Priority::Low, baked: false };
            let Some(quality) = self.ask(&request, source, choice) else { continue };
            let Some(budget) = choice.budgets.admit_continuous() else { return };
            let reason = PageReason { cause: Cause::Continuous, budget };
            self.drawn(owner, (pool, slot), reason, quality, plan);
            self.counters.continuous += 1;
            if let Some(state) = &mut self.pools[usize::from(pool)] {
                state.pool.cursor = (u32::from(slot) % usable + 1) as u16;
            }
        }
    }

    /// The page of a slot, if it is seen, drawn at run time, and neither drawn in this frame anyway nor waiting to be (a
    /// refresh that is lost is forgotten, an edit must not be).
    fn refreshable(&self, pool: u8, slot: u16, force: bool) -> Option<u64> {
        let state = self.pools[usize::from(pool)].as_ref()?;
        let owner = state.pool.owner(slot)?;
        let source = self.sources.get(usize::from(key::source(owner)))?.as_ref()?;
        let seen_until =
            state.pool.last_used(slot).saturating_add(u64::from(self.knobs.dirty_visible_frames));
        let known = state.pool.slot(slot);
        let wanted = (force || source.continuous) && !source.is_baked(key::page(owner));
        (wanted && !known.is_drawn_in(self.frame) && known.is_current() && seen_until >= self.frame)
            .then_some(owner)
    }
}
