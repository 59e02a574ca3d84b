//! From what was sampled to what is wanted: pages that are there are kept alive, others are asked for, and something on
//! the way to them.
//!
//! The nearest ancestor that is there is what the sampler shows meanwhile, so it is in use. Where it is two or more levels
//! away, one or two levels between are asked for as well: a page two levels coarser serves sixteen fine ones, and makes
//! the step to sharpness a small one. A pool that is nearly full gets no such extras.
//!
//! Wishes come along the Z-curve, an ancestor before what is in it: so the pages above the present one are a stack, one a
//! level, and each of them is looked up once. No order of the feedback changes what comes out.

use super::gather::Gather;
use super::texture::{Source, Texture};
use super::{FrameCounters, Planner, PoolState, key};
use crate::vt::address::{MOST_LEVEL, PageAddress};
use crate::vt::feedback::{Wish, Wishes};
use crate::vt::map::KeyMap;
use crate::vt::schedule::{Candidate, Class, Kind};
use crate::vt::space::Spaces;

const LEVELS: usize = MOST_LEVEL as usize + 1;
/// No page above is there.
const NOTHING: u8 = u8::MAX;
/// Nobody has looked yet.
const UNKNOWN: u8 = NOTHING - 1;

/// A page above the present one (or itself), with what is known a group.
#[derive(Debug, Clone, Copy)]
struct Node {
    /// Level of the nearest page that is there: this one or above.
    nearest: [u8; 4],
    /// Samples of missing pages right below.
    below: [u32; 4],
    /// Samples that want it on the way to finer pages.
    prefetch: [u32; 4],
    /// It was sampled itself.
    is_wished: bool,
}

const NEW: Node = Node { nearest: [UNKNOWN; 4], below: [0; 4], prefetch: [0; 4], is_wished: false };

/// The texture that the walk is in.
struct Here<'a> {
    space: u8,
    /// Codes of its square.
    codes: std::ops::Range<u32>,
    texture: &'a Texture,
    /// Slot of the texture that its pages are named after.
    first: u16,
    is_shared: bool,
    max_level: u8,
}

struct Walk<'a> {
    wishes: &'a Wishes,
    spaces: &'a Spaces,
    textures: &'a [Option<Texture>],
    sources: &'a [Option<Source>],
    residency: &'a KeyMap,
    pools: &'a mut [Option<PoolState>],
    gather: &'a mut Gather,
    counters: &'a mut FrameCounters,
    frame: u64,
    prefetch: bool,
    nodes: [Node; LEVELS],
    /// Levels whose node is in use, a bit each.
    used: u16,
    /// Levels whose node has something to say when it is left.
    busy: u16,
    /// Code of the last corner, within the square.
    last: u32,
}

impl Planner {
    /// Everything that was sampled, and what is on the way to it.
    pub(super) fn gather_wishes(&mut self) {
        let mut walk = Walk {
            wishes: &self.wishes,
            spaces: &self.spaces,
            textures: &self.textures,
            sources: &self.sources,
            residency: &self.residency,
            pools: &mut self.pools,
            gather: &mut self.gather,
            counters: &mut self.counters,
            frame: self.frame,
            prefetch: self.knobs.prefetch,
            nodes: [NEW; LEVELS],
            used: 0,
            busy: 0,
            last: 0,
        };
        let mut here: Option<Here<'_>> = None;
        let wishes = walk.wishes;
        for wish in wishes.list() {
            let (space, code) = (wish.space().0, wish.code());
            if !here.as_ref().is_some_and(|here| here.space == space && here.codes.contains(&code)) {
                if let Some(left) = &here {
                    walk.leave(left, LEVELS as u32);
                }
                here = walk.enter(*wish);
            }
            if let Some(here) = &here {
                walk.visit(here, *wish);
            }
        }
        if let Some(left) = &here {
            walk.leave(left, LEVELS as u32);
        }
    }
}

impl<'a> Walk<'a> {
    /// Finds the texture that a wish lies in.
    fn enter(&mut self, wish: Wish) -> Option<Here<'a>> {
        let square = self.spaces.get(wish.space())?.texture_at(wish.code())?;
        let texture = self.textures.get(usize::from(square.texture))?.as_ref()?;
        let source = self.sources.get(usize::from(texture.source))?.as_ref()?;
        self.last = 0;
        Some(Here {
            space: wish.space().0,
            codes: square.codes(),
            texture,
            first: *source.users.first()?,
            is_shared: source.users.len() > 1,
            max_level: texture.placement.grid.max_level(),
        })
    }

    #[inline]
    fn visit(&mut self, here: &Here<'_>, wish: Wish) {
        let (corner, level) = (wish.code() - here.codes.start, wish.level());
        // Ancestors from this level on are those of the last wish too.
        let common = (u32::BITS - (corner ^ self.last).leading_zeros()).div_ceil(2);
        if self.used & ((1 << common) - 1) != 0 {
            self.leave(here, common);
        }
        self.last = corner;
        self.counters.unique += 1;
        self.counters.wished += u64::from(wish.count);
        let code = corner >> (2 * u32::from(level));
        let node = usize::from(level);
        self.nodes[node] = Node { is_wished: true, ..NEW };
        self.used |= 1 << level;
        let mut is_complete = true;
        for group in 0..here.texture.groups {
            let at = usize::from(group);
            let Some(state) = &mut self.pools[usize::from(here.texture.pools[at])] else { continue };
            state.wanted += 1;
            let key = key::base(here.texture.source, group) | key::in_base(level, code);
            if let Some(place) = self.residency.get(key) {
                let (_, slot) = key::pool_and_slot(place);
                state.pool.touch(slot, self.frame);
                self.nodes[node].nearest[at] = level;
                self.counters.resident += 1;
                // Locked pages are counted by the pool.
                if state.pool.locked > 0 && state.pool.slot(slot).locks > 0 {
                    state.wanted -= 1;
                }
            } else {
                is_complete = false;
                self.miss(here, wish, group, key, code);
            }
        }
        if is_complete {
            self.counters.sharp += u64::from(wish.count);
        }
    }

    fn miss(&mut self, here: &Here<'_>, wish: Wish, group: u8, key: u64, code: u32) {
        let (level, at) = (wish.level(), usize::from(group));
        self.counters.missing += 1;
        let is_tight = self.pools[usize::from(here.texture.pools[at])].as_mut().is_none_or(|state| {
            state.missing += 1;
            state.is_tight
        });
        self.nodes[usize::from(level)].nearest[at] = self.nearest_above(here, level, group, code);
        if self.gather.has_extra(key) {
            return;
        }
        let mut count = wish.count;
        // Textures that share pages may wish for one page at several places.
        if here.is_shared {
            self.gather.add_extra(key);
            count = self.samples(here, key::page(key));
        }
        let page = PageAddress { level, x: 0, y: 0 };
        let class = Class::Of(here.texture.priority);
        let candidate = Candidate { class, page, count, texture: here.first, group, kind: Kind::Feedback };
        self.gather.candidates.push(candidate.pack_code(code));
        if self.prefetch && !is_tight && level < here.max_level {
            let below = &mut self.nodes[usize::from(level) + 1].below[at];
            *below = below.saturating_add(wish.count.max(1));
            self.busy |= 1 << (level + 1);
        }
    }

    /// The level of the nearest page above that is there; the first time it is met it is noted as used.
    fn nearest_above(&mut self, here: &Here<'_>, level: u8, group: u8, code: u32) -> u8 {
        let (base, at) = (key::base(here.texture.source, group), usize::from(group));
        let (mut above, mut code, mut nearest) = (level + 1, code >> 2, NOTHING);
        while above <= here.max_level {
            let node = usize::from(above);
            if self.used >> above & 1 == 0 {
                self.nodes[node] = NEW;
                self.used |= 1 << above;
            }
            if self.nodes[node].nearest[at] != UNKNOWN {
                nearest = self.nodes[node].nearest[at];
                break;
            }
            if let Some(place) = self.residency.get(base | key::in_base(above, code)) {
                let (pool, slot) = key::pool_and_slot(place);
                if let Some(state) = &mut self.pools[usize::from(pool)] {
                    state.pool.touch(slot, self.frame);
                }
                nearest = above;
                self.nodes[node].nearest[at] = above;
                break;
            }
            (above, code) = (above + 1, code >> 2);
        }
        for node in level + 1..above.min(here.max_level + 1) {
            self.nodes[usize::from(node)].nearest[at] = nearest;
        }
        nearest
    }

    /// Leaves the nodes below `level`, the finest first: what they want of those above is known now.
    fn leave(&mut self, here: &Here<'_>, level: u32) {
        let left = ((1u32 << level.min(15)) - 1) as u16;
        self.used &= !left;
        while self.busy & left != 0 {
            let level = self.busy.trailing_zeros() as u8;
            self.busy &= self.busy - 1;
            let node = self.nodes[usize::from(level)];
            for group in 0..here.texture.groups {
                let at = usize::from(group);
                if node.below[at] > 0 {
                    for target in
                        levels_between(level - 1, node.nearest[at], here.max_level).into_iter().flatten()
                    {
                        let wanted = &mut self.nodes[usize::from(target)].prefetch[at];
                        *wanted = wanted.saturating_add(node.below[at]);
                        // Its own level comes up in this very turn.
                        self.busy |= if target > level { 1 << target } else { 0 };
                    }
                }
                // Its own place may be the one that was just added to.
                let prefetch = self.nodes[usize::from(level)].prefetch[at];
                if prefetch > 0 && !node.is_wished {
                    self.want_on_the_way(here, level, group, prefetch);
                }
            }
        }
    }

    fn want_on_the_way(&mut self, here: &Here<'_>, level: u8, group: u8, count: u32) {
        // The node lies above the last corner.
        let code = self.last >> (2 * u32::from(level));
        let key = key::base(here.texture.source, group) | key::in_base(level, code);
        let page = PageAddress { level, x: 0, y: 0 };
        let is_known = self.gather.has_extra(key)
            || (here.is_shared && (self.samples(here, key::page(key)) > 0 || !self.gather.add_extra(key)));
        if is_known {
            return;
        }
        self.counters.prefetched += 1;
        let class = Class::Of(here.texture.priority);
        let candidate = Candidate { class, page, count, texture: here.first, group, kind: Kind::Prefetch };
        self.gather.candidates.push(candidate.pack_code(code));
    }

    /// Samples of a page, by all textures that show it.
    fn samples(&self, here: &Here<'_>, page: PageAddress) -> u32 {
        let source = self.sources.get(usize::from(here.texture.source)).and_then(Option::as_ref);
        let users = source.map_or(&[][..], |source| &source.users);
        let users = users.iter().filter_map(|user| self.textures[usize::from(*user)].as_ref());
        let counts =
            users.filter_map(|user| self.wishes.count(user.placement.space, user.placement.in_space(page)));
        counts.fold(0, u32::saturating_add)
    }
}

/// One or two levels to ask for between a missing page and the nearest that is there ([`NOTHING`] where none is).
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
