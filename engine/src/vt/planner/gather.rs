//! From what was sampled to what is wanted: pages that are there are kept alive, others are asked for, and something on
//! the way to them.
//!
//! The nearest ancestor that is there is what the sampler shows meanwhile, so it is in use. Where it is two or more levels
//! away, one or two levels between are asked for as well: a page two levels coarser serves sixteen fine ones, and makes
//! the step to sharpness a small one. A pool that is nearly full gets no such extras.
//!
//! No order of the feedback changes what comes out: sums and stamps do not have one, and what is wanted is sorted.

use super::{Planner, TextureId, key};
use crate::vt::address::PageAddress;
use crate::vt::feedback::NO_TEXTURE;
use crate::vt::map::{FrameMap, KeyMap};
use crate::vt::schedule::{Candidate, Class, Kind};

/// What a frame learns of pages above missing ones, and of what is asked for besides feedback.
#[derive(Debug, Clone)]
pub(super) struct Gather {
    /// Pages above missing ones, with their nearest ancestor (or self) that is there.
    chains: FrameMap,
    nodes: Vec<Node>,
    /// Pages that are candidates already, for another reason than having been sampled.
    extra: FrameMap,
    extra_keys: Vec<u64>,
    /// All that is wanted, packed.
    pub(super) candidates: Vec<u64>,
}

#[derive(Debug, Clone, Copy)]
struct Node {
    key: u64,
    /// Samples that want it on the way to finer pages.
    count: u32,
    /// Level of the nearest page that is there; [`NOTHING`] where none is.
    nearest: u8,
}

const NOTHING: u8 = u8::MAX;

impl Gather {
    pub(super) fn new() -> Self {
        Self {
            chains: FrameMap::new(),
            nodes: Vec::new(),
            extra: FrameMap::new(),
            extra_keys: Vec::new(),
            candidates: Vec::new(),
        }
    }

    pub(super) fn clear(&mut self) {
        self.chains.clear();
        self.nodes.clear();
        self.extra.clear();
        self.extra_keys.clear();
        self.candidates.clear();
    }

    fn has_extra(&self, key: u64) -> bool {
        !self.extra.is_empty() && self.extra.get(key, |index| self.extra_keys[index] == key).is_some()
    }

    /// Notes a page as wanted; whether it was not yet.
    fn add_extra(&mut self, key: u64) -> bool {
        let keys = &self.extra_keys;
        let is_new = self.extra.get_or_insert(key, keys.len(), |index| keys[index]).is_err();
        if is_new {
            self.extra_keys.push(key);
        }
        is_new
    }

    /// The level of the nearest page above `page` that is there, and where that is the first time it is met.
    #[inline]
    fn nearest_above(
        &mut self,
        residency: &KeyMap,
        (source, group): (u16, u8),
        page: PageAddress,
        max_level: u8,
    ) -> (u8, Option<u64>) {
        let first = self.nodes.len();
        let (mut at, mut nearest, mut place) = (page, NOTHING, None);
        while at.level < max_level {
            at = at.parent();
            let key = key::pack(source, group, at);
            let nodes = &self.nodes;
            match self.chains.get_or_insert(key, nodes.len(), |index| nodes[index].key) {
                Ok(known) => {
                    nearest = self.nodes[known].nearest;
                    break;
                }
                Err(_) => {
                    place = residency.get(key);
                    nearest = if place.is_some() { at.level } else { NOTHING };
                    self.nodes.push(Node { key, count: 0, nearest });
                    if place.is_some() {
                        break;
                    }
                }
            }
        }
        self.nodes[first..].iter_mut().for_each(|node| node.nearest = nearest);
        (nearest, place)
    }

    /// Adds to what finer pages want of a page above them.
    #[inline]
    fn prefetch(&mut self, key: u64, count: u32) {
        if let Some(index) = self.chains.get(key, |index| self.nodes[index].key == key) {
            let node = &mut self.nodes[index];
            node.count = node.count.saturating_add(count.max(1));
        }
    }
}

/// One or two levels to ask for between a missing page and the nearest that is there (`nothing` where none is).
fn levels_between(level: u8, nearest: u8, max_level: u8) -> [Option<u8>; 2] {
    let is_nothing = nearest == NOTHING;
    let gap = if is_nothing { max_level + 1 } else { nearest }.saturating_sub(level);
    match gap {
        0 | 1 => [None, None],
        2 => [Some(level + 1), None],
        3 | 4 if !is_nothing => [Some(level + 2), None],
        _ => {
            let second = if is_nothing { max_level } else { level + gap.div_ceil(2) };
            [Some(level + 2), (second > level + 2).then_some(second)]
        }
    }
}

impl Planner {
    /// Locked pages that are not there come first, whatever was sampled.
    pub(super) fn gather_locked(&mut self) {
        for (id, page, _) in &self.lock_list {
            let Some(texture) = self.textures.get(id.index()).and_then(Option::as_ref) else { continue };
            let first =
                self.sources[usize::from(texture.source)].as_ref().map_or(0, |source| source.users[0]);
            for group in 0..texture.groups {
                let key = key::pack(texture.source, group, *page);
                if self.residency.get(key).is_none() && self.gather.add_extra(key) {
                    let candidate = Candidate {
                        class: Class::Locked,
                        page: *page,
                        count: 0,
                        texture: first,
                        group,
                        kind: Kind::Lock,
                    };
                    self.gather.candidates.push(candidate.pack());
                }
            }
        }
    }

    /// Everything that was sampled.
    pub(super) fn gather_wishes(&mut self) {
        let Self { wishes, textures, sources, residency, pools, gather, counters, frame, knobs, .. } = self;
        for wish in wishes.list() {
            if wish.texture == NO_TEXTURE {
                continue;
            }
            let Some(texture) = textures[usize::from(wish.texture)].as_ref() else { continue };
            counters.unique += 1;
            counters.wished += u64::from(wish.count);
            let page = PageAddress::unpack(wish.page);
            let mut missing = 0;
            for group in 0..texture.groups {
                let key = key::pack(texture.source, group, page);
                let Some(state) = &mut pools[usize::from(texture.pools[usize::from(group)])] else {
                    continue;
                };
                if let Some(place) = residency.get(key) {
                    let (_, slot) = key::pool_and_slot(place);
                    state.pool.touch(slot, *frame);
                    counters.resident += 1;
                    if state.pool.locked == 0 || state.pool.slot(slot).locks == 0 {
                        state.wanted += 1;
                    }
                    continue;
                }
                missing += 1;
                state.wanted += 1;
                state.missing += 1;
                counters.missing += 1;
                let max_level = texture.placement.grid.max_level();
                let (nearest, place) =
                    gather.nearest_above(residency, (texture.source, group), page, max_level);
                if let Some(place) = place {
                    state.pool.touch(key::pool_and_slot(place).1, *frame);
                }
                if gather.has_extra(key) {
                    continue;
                }
                let (mut count, mut first) = (wish.count, wish.texture);
                // Textures that share pages may wish for one page in several words.
                if let Some(source) =
                    sources[usize::from(texture.source)].as_ref().filter(|s| s.users.len() > 1)
                {
                    gather.add_extra(key);
                    first = source.users[0];
                    let words = source.users.iter().filter_map(|user| textures[usize::from(*user)].as_ref());
                    count = words.filter_map(|user| wishes.count(user.placement.word(page))).sum();
                }
                let class = Class::Of(texture.priority);
                let kind = Kind::Feedback;
                gather.candidates.push(Candidate { class, page, count, texture: first, group, kind }.pack());
                if knobs.prefetch && !state.is_tight {
                    for level in levels_between(page.level, nearest, max_level).into_iter().flatten() {
                        gather.prefetch(key::pack(texture.source, group, page.ancestor(level)), wish.count);
                    }
                }
            }
            if missing == 0 {
                counters.sharp += u64::from(wish.count);
            }
        }
    }

    /// Pages on the way, unless they are wanted for themselves.
    pub(super) fn gather_prefetch(&mut self) {
        for index in 0..self.gather.nodes.len() {
            let Node { key, count, .. } = self.gather.nodes[index];
            if count == 0 || self.is_wished(key) || self.gather.has_extra(key) {
                continue;
            }
            let Some(first) = self.first_user(key::source(key)) else { continue };
            self.counters.prefetched += 1;
            let class = Class::Of(
                self.textures[usize::from(first)].as_ref().map_or_else(Default::default, |t| t.priority),
            );
            let (page, group, kind) = (key::page(key), key::group(key), Kind::Prefetch);
            self.gather.candidates.push(Candidate { class, page, count, texture: first, group, kind }.pack());
        }
    }

    /// What the application asked for ahead; what has arrived is forgotten.
    pub(super) fn gather_preloads(&mut self) {
        let mut preloads = std::mem::take(&mut self.preloads);
        preloads.retain(|(id, page)| self.gather_preload(*id, *page));
        self.preloads = preloads;
    }

    fn gather_preload(&mut self, id: TextureId, page: PageAddress) -> bool {
        let Some(texture) = self.textures.get(id.index()).and_then(Option::as_ref).filter(|t| t.id == id)
        else {
            return false;
        };
        let (source, groups, pools, priority) =
            (texture.source, texture.groups, texture.pools, texture.priority);
        let mut is_missing = false;
        for group in 0..groups {
            let key = key::pack(source, group, page);
            if let Some(place) = self.residency.get(key) {
                // The other groups may have to wait.
                if let Some(state) = &mut self.pools[usize::from(pools[usize::from(group)])] {
                    state.pool.touch(key::pool_and_slot(place).1, self.frame);
                }
                continue;
            }
            is_missing = true;
            if self.is_wished(key) || !self.gather.add_extra(key) {
                continue;
            }
            let Some(first) = self.first_user(source) else { continue };
            let class = Class::Of(priority);
            let kind = Kind::Preload;
            self.gather
                .candidates
                .push(Candidate { class, page, count: 0, texture: first, group, kind }.pack());
        }
        is_missing
    }

    pub(super) fn first_user(&self, source: u16) -> Option<u16> {
        self.sources.get(usize::from(source))?.as_ref()?.users.first().copied()
    }

    /// Samples of a page, by all textures that show it.
    pub(super) fn samples(&self, key: u64) -> u32 {
        let source = self.sources.get(usize::from(key::source(key))).and_then(Option::as_ref);
        let users = source.map_or(&[][..], |source| &source.users);
        let counts = users.iter().filter_map(|user| {
            let texture = self.textures[usize::from(*user)].as_ref()?;
            self.wishes.count(texture.placement.word(key::page(key))).filter(|_| texture.placement.fed)
        });
        counts.fold(0, u32::saturating_add)
    }

    fn is_wished(&self, key: u64) -> bool {
        self.samples(key) > 0
    }
}
