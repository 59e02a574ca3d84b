//! From what is wanted to what this frame makes: most urgent first, as far as budgets, room and producers go.
//!
//! Of tens of thousands of candidates only the first few hundred are ever sorted.

use super::producer::{Availability, PageRequest, Priority, Producer};
use super::{Cause, FramePlan, Happening, PageReason, PageWork, Planner, Quality, key};
use crate::vt::pool::{PhysicalPage, PoolId};
use crate::vt::schedule::{Budgets, Candidate, Class, Kind};

/// Candidates that are sorted at a time.
const CHUNK: usize = 256;
/// Pages of files that are asked for beyond the budget, so that reading goes on ahead of it.
const READ_AHEAD: u32 = 4;

/// What a frame has left.
pub(super) struct Choice<'a> {
    pub(super) producer: &'a mut dyn Producer,
    pub(super) budgets: Budgets,
    asks: u32,
    most_asks: Option<u32>,
}

impl<'a> Choice<'a> {
    pub(super) fn new(producer: &'a mut dyn Producer, knobs: &super::Knobs) -> Self {
        let most_asks = u32::try_from(knobs.max_uploads_per_frame_streaming).ok();
        Self {
            producer,
            budgets: Budgets::new(knobs),
            asks: 0,
            most_asks: most_asks.map(|most| most.saturating_mul(READ_AHEAD)),
        }
    }

    fn may_ask(&mut self, baked: bool) -> bool {
        !baked || self.most_asks.is_none_or(|most| self.asks < most)
    }
}

/// Budgets that have run out, so that nothing that is left can be counted in them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Hopeless {
    drawn: bool,
    baked: bool,
}

/// What became of a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Made,
    /// Left for later.
    Deferred,
    /// Left for later, and so are all others that want room of this pool.
    NoRoom,
}

impl Planner {
    /// Goes through the candidates until there is nothing left to give.
    pub(super) fn choose(&mut self, choice: &mut Choice<'_>, plan: &mut FramePlan) {
        let mut candidates = std::mem::take(&mut self.gather.candidates);
        let total = candidates.len() as u32;
        let mut rest = &mut candidates[..];
        let mut redraws = self.dirty.len();
        let mut hopeless = Hopeless::default();
        'chunks: while !rest.is_empty() {
            let count = rest.len().min(CHUNK);
            if count < rest.len() {
                rest.select_nth_unstable(count - 1);
            }
            let (chunk, others) = rest.split_at_mut(count);
            chunk.sort_unstable();
            for (nth, packed) in (0..).zip(&*chunk) {
                let candidate = Candidate::unpack(*packed);
                let is_exempt = candidate.class <= Class::Locked;
                if !is_exempt && redraws == 0 && self.all_full() {
                    self.counters.no_room += (count - nth + others.len()) as u32;
                    break 'chunks;
                }
                if !is_exempt && choice.budgets.is_spent() {
                    break 'chunks;
                }
                redraws -= usize::from(candidate.kind == Kind::Redraw && redraws > 0);
                let outcome = match candidate.kind {
                    Kind::Redraw => self.redraw(candidate, choice, plan),
                    _ => self.make(candidate, choice, plan),
                };
                self.counters.no_room += u32::from(outcome == Outcome::NoRoom);
            }
            rest = self.without_hope(others, choice, &mut hopeless);
        }
        self.gather.candidates = candidates;
        self.counters.deferred = total.saturating_sub(plan.pages.len() as u32);
    }

    /// Takes those out that cannot be made any more, when a budget has newly run out: the others are found sooner. What
    /// is exempt from budgets stays.
    fn without_hope<'c>(
        &self,
        rest: &'c mut [u64],
        choice: &Choice<'_>,
        hopeless: &mut Hopeless,
    ) -> &'c mut [u64] {
        let now = Hopeless { drawn: !choice.budgets.allows(false), baked: !choice.budgets.allows(true) };
        if now == *hopeless {
            return rest;
        }
        *hopeless = now;
        let mut kept = 0;
        for index in 0..rest.len() {
            let candidate = Candidate::unpack(rest[index]);
            let baked =
                self.textures.get(usize::from(candidate.texture)).and_then(Option::as_ref).is_some_and(
                    |texture| {
                        let source = self.sources[usize::from(texture.source)].as_ref();
                        source.is_some_and(|source| source.is_baked(candidate.page))
                    },
                );
            if candidate.class <= Class::Locked || !(if baked { now.baked } else { now.drawn }) {
                rest.swap(kept, index);
                kept += 1;
            }
        }
        &mut rest[..kept]
    }

    fn all_full(&self) -> bool {
        self.pools.iter().flatten().all(|state| state.is_full)
    }

    /// Makes a page that is not there.
    fn make(&mut self, candidate: Candidate, choice: &mut Choice<'_>, plan: &mut FramePlan) -> Outcome {
        let Candidate { class, page, texture: index, group, kind, .. } = candidate;
        let Some(texture) = self.textures.get(usize::from(index)).and_then(Option::as_ref) else {
            return Outcome::Deferred;
        };
        let (id, source, pool) = (texture.id, texture.source, texture.pools[usize::from(group)]);
        let key = key::pack(source, group, page);
        let is_exempt = class == Class::Locked;
        let (frame, threshold) = (self.frame, self.knobs.page_free_threshold);
        let Some(state) = &mut self.pools[usize::from(pool)] else { return Outcome::Deferred };
        if state.is_full || !state.pool.has_room(frame, threshold) {
            state.is_full = true;
            state.no_room += u32::from(kind == Kind::Feedback);
            return Outcome::NoRoom;
        }
        // What is only on the way must not take the room of what is wished for.
        let reserved = (state.missing - state.sampled_made) as usize;
        if kind == Kind::Prefetch && state.pool.room(frame, threshold, reserved + 1) <= reserved {
            return Outcome::Deferred;
        }
        let baked = self.sources[usize::from(source)].as_ref().is_some_and(|source| source.is_baked(page));
        if !is_exempt && !choice.budgets.allows(baked) {
            return Outcome::Deferred;
        }
        let priority = if let Class::Of(priority) = class { priority } else { Priority::High };
        let request = PageRequest { texture: id, group, page, priority, baked };
        let Some(quality) = self.ask(&request, source, choice) else { return Outcome::Deferred };
        let samples = self.samples(key);
        let fed = self.fed_frame.unwrap_or(frame);
        let cause = match kind {
            Kind::Feedback => Cause::Feedback { frame: fed, count: samples },
            Kind::Prefetch => Cause::Prefetch { frame: fed, count: candidate.count },
            Kind::Preload => Cause::Preload,
            Kind::Lock | Kind::Redraw => Cause::Locked,
        };
        let Some(budget) = self.admit(is_exempt, baked, choice) else { return Outcome::Deferred };
        let reason = PageReason { cause, budget };
        let Some(slot) =
            self.pools[usize::from(pool)].as_mut().and_then(|state| state.pool.take(frame, threshold))
        else {
            return Outcome::NoRoom;
        };
        let last_used = self.pools[usize::from(pool)].as_ref().map_or(0, |state| state.pool.last_used(slot));
        self.evict(pool, slot, Happening::Evicted { last_used });
        if let Some(state) = self.pools[usize::from(pool)].as_mut().filter(|_| kind == Kind::Feedback) {
            state.sampled_made = (state.sampled_made + 1).min(state.missing);
        }
        self.settle(key, pool, slot, (reason, quality));
        self.record(key, pool, slot, Happening::Made(reason));
        self.counters.made += 1;
        let physical = PhysicalPage { pool: PoolId(pool), index: slot };
        plan.pages.push(PageWork { texture: id, group, page, physical, reason, redraw: false, baked });
        if samples > 0 {
            self.count_sharp(source, page);
        }
        Outcome::Made
    }

    /// A page that was sampled has been made: the samples whose page is complete now are sharp.
    fn count_sharp(&mut self, source: u16, page: crate::vt::PageAddress) {
        let Some(pages) = self.sources[usize::from(source)].as_ref() else { return };
        let groups = 0..pages.pools.len() as u8;
        if groups.into_iter().all(|group| self.residency.get(key::pack(source, group, page)).is_some()) {
            self.counters.sharp += u64::from(self.samples(key::pack(source, 0, page)));
        }
    }

    /// Draws a page again in its place, or draws what a frame that was not submitted should have.
    fn redraw(&mut self, candidate: Candidate, choice: &mut Choice<'_>, plan: &mut FramePlan) -> Outcome {
        let Candidate { class, page, texture: index, group, .. } = candidate;
        let Some(texture) = self.textures.get(usize::from(index)).and_then(Option::as_ref) else {
            return Outcome::Deferred;
        };
        let (id, source, pool) = (texture.id, texture.source, texture.pools[usize::from(group)]);
        let key = key::pack(source, group, page);
        let Some((_, slot)) = self.residency.get(key).map(key::pool_and_slot) else {
            return Outcome::Deferred;
        };
        let Some(state) = &self.pools[usize::from(pool)] else { return Outcome::Deferred };
        let known = *state.pool.slot(slot);
        let is_exempt = known.locks > 0;
        let baked = self.sources[usize::from(source)].as_ref().is_some_and(|source| source.is_baked(page));
        if !is_exempt && !choice.budgets.allows(baked) {
            return Outcome::Deferred;
        }
        let priority = if let Class::Of(priority) = class { priority } else { Priority::High };
        let request = PageRequest { texture: id, group, page, priority, baked };
        let Some(quality) = self.ask(&request, source, choice) else { return Outcome::Deferred };
        let Some(budget) = self.admit(is_exempt, baked, choice) else { return Outcome::Deferred };
        let reason = PageReason { cause: known.dirty.unwrap_or(Cause::Withdrawn), budget };
        self.drawn(key, (pool, slot), reason, quality, plan);
        Outcome::Made
    }

    /// Notes that a page which is there is drawn in this frame, and puts it into the plan.
    pub(super) fn drawn(
        &mut self,
        key: u64,
        (pool, slot): (u8, u16),
        reason: PageReason,
        quality: Quality,
        plan: &mut FramePlan,
    ) {
        let (page, group) = (key::page(key), key::group(key));
        let Some(texture) = self.id_of(key::source(key)) else { return };
        let baked = self.sources[usize::from(key::source(key))].as_ref().is_some_and(|s| s.is_baked(page));
        let Some(state) = &mut self.pools[usize::from(pool)] else { return };
        let known = state.pool.slot_mut(slot);
        let redraw = !known.unproduced;
        known.dirty = None;
        known.unproduced = false;
        known.quality = quality;
        if redraw {
            known.redrawn = Some((self.frame, reason));
            self.counters.redrawn += 1;
        } else {
            known.made = (self.frame, reason);
            self.counters.made += 1;
        }
        let physical = PhysicalPage { pool: PoolId(pool), index: slot };
        let happening = if redraw { Happening::Redrawn(reason) } else { Happening::Made(reason) };
        self.record(key, pool, slot, happening);
        plan.pages.push(PageWork { texture, group, page, physical, reason, redraw, baked });
    }

    fn admit(&self, is_exempt: bool, baked: bool, choice: &mut Choice<'_>) -> Option<super::Budget> {
        if is_exempt { Some(super::Budget::Exempt) } else { choice.budgets.admit(baked) }
    }

    /// Asks the producer, unless it has said that it takes nothing more; gives the quality of what it would make.
    pub(super) fn ask(
        &mut self,
        request: &PageRequest,
        source: u16,
        choice: &mut Choice<'_>,
    ) -> Option<Quality> {
        let is_saturated = self.source_mut(source).is_none_or(|s| s.saturated.is_some());
        if is_saturated || !choice.may_ask(request.baked) {
            self.counters.saturated += u32::from(is_saturated);
            return None;
        }
        choice.asks += u32::from(request.baked);
        match choice.producer.request(request) {
            Availability::Available(quality) => Some(quality),
            Availability::Pending => {
                self.counters.pending += 1;
                None
            }
            Availability::Saturated => {
                self.counters.saturated += 1;
                let frame = self.frame;
                if let Some(source) = self.source_mut(source) {
                    source.saturated = Some(frame);
                }
                None
            }
        }
    }
}
