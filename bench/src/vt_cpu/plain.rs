//! The same decisions as anyone would write them first: hash maps of the standard library, and sorted lists.
//!
//! It chooses the very same pages, in the same places, which a test compares; one texture, one pool, no edits, no locks, no
//! bias, no history.

use std::cmp::Reverse;
use std::collections::HashMap;

use vasa::vt::feedback::Word;
use vasa::vt::{Entry, Knobs, PageAddress};

/// A page that was made: where it went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Made {
    pub(super) page: PageAddress,
    pub(super) slot: u16,
}

/// What a frame came to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) made: Vec<Made>,
    pub(super) quads: usize,
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    page: PageAddress,
    last_used: u64,
}

struct Wanted {
    page: PageAddress,
    count: u32,
    prefetch: bool,
}

/// A texture of `2^top` tiles a side, and its pool.
pub(super) struct Plain {
    frame: u64,
    top: u8,
    side: u32,
    knobs: Knobs,
    slots: Vec<Option<Slot>>,
    resident: HashMap<PageAddress, u16>,
    /// Pages that are there inside each page, so that few have to be looked through.
    inside: HashMap<PageAddress, u32>,
    is_tight: bool,
}

impl Plain {
    pub(super) fn new(top: u8, side: u32, knobs: Knobs) -> Self {
        let slots = vec![None; (side * side) as usize];
        Self {
            frame: 0,
            top,
            side,
            knobs,
            slots,
            resident: HashMap::new(),
            inside: HashMap::new(),
            is_tight: false,
        }
    }

    fn nearest(&self, page: PageAddress) -> Option<(PageAddress, u16)> {
        let mut above = page;
        while above.level < self.top {
            above = above.parent();
            if let Some(slot) = self.resident.get(&above) {
                return Some((above, *slot));
            }
        }
        None
    }

    fn touch(&mut self, slot: u16) {
        let frame = self.frame;
        if let Some(Some(slot)) = self.slots.get_mut(usize::from(slot)) {
            slot.last_used = frame;
        }
    }

    pub(super) fn frame(&mut self, frame: u64, pairs: &[(u32, u32)]) -> Plan {
        self.frame = frame;
        let mut wishes: HashMap<PageAddress, u32> = HashMap::new();
        for (word, count) in pairs {
            if let Some(word) = Word::unpack(*word) {
                *wishes.entry(PageAddress::new(word.level.max(0) as u8, word.x, word.y)).or_insert(0) +=
                    count;
            }
        }
        let mut wanted = self.gather(&wishes);
        let need = wishes.len();
        let missing = wanted.iter().filter(|wanted| !wanted.prefetch).count();
        self.is_tight = need as f64 > f64::from(self.knobs.residency_upper) * (self.slots.len() - 1) as f64;
        // Keys once a page: computing them in every comparison would be slow for no reason.
        wanted.sort_by_cached_key(|wanted| {
            let along = PageAddress { level: 0, ..wanted.page }.morton();
            (Reverse(wanted.page.level), Reverse(wanted.count.min(65535)), along)
        });
        self.choose(&wanted, missing)
    }

    fn gather(&mut self, wishes: &HashMap<PageAddress, u32>) -> Vec<Wanted> {
        let mut wanted = Vec::new();
        let mut between: HashMap<PageAddress, u32> = HashMap::new();
        for (page, count) in wishes {
            if let Some(slot) = self.resident.get(page).copied() {
                self.touch(slot);
                continue;
            }
            wanted.push(Wanted { page: *page, count: *count, prefetch: false });
            let nearest = self.nearest(*page);
            if let Some((_, slot)) = nearest {
                self.touch(slot);
            }
            if self.is_tight {
                continue;
            }
            let gap = nearest.map_or(self.top + 1, |(above, _)| above.level) - page.level;
            let levels = match (gap, nearest) {
                (0 | 1, _) => [None, None],
                (2, _) => [Some(page.level + 1), None],
                (3 | 4, Some(_)) => [Some(page.level + 2), None],
                (_, Some(_)) => [Some(page.level + 2), Some(page.level + gap.div_ceil(2))],
                (_, None) => [Some(page.level + 2), Some(self.top)],
            };
            let mut last = None;
            for level in levels.into_iter().flatten().filter(|level| *level <= self.top) {
                if last.replace(level) != Some(level) {
                    *between.entry(page.ancestor(level)).or_insert(0) += count;
                }
            }
        }
        let extra = between.into_iter().filter(|(page, _)| !wishes.contains_key(page));
        wanted.extend(extra.map(|(page, count)| Wanted { page, count, prefetch: true }));
        wanted
    }

    fn choose(&mut self, wanted: &[Wanted], mut missing: usize) -> Plan {
        let mut plan = Plan::default();
        let mut free: Vec<u16> = (1..self.slots.len() as u16)
            .rev()
            .filter(|slot| self.slots[usize::from(*slot)].is_none())
            .collect();
        let threshold = u64::from(self.knobs.page_free_threshold);
        let mut old: Vec<(u64, u8, u16)> = (1u16..)
            .zip(&self.slots[1..])
            .filter_map(|(index, slot)| slot.map(|slot| (slot.last_used, slot.page.level, index)))
            .filter(|(last_used, ..)| last_used + threshold < self.frame)
            .collect();
        old.sort_unstable_by_key(|key| Reverse(*key));
        for Wanted { page, prefetch, .. } in wanted {
            if plan.made.len() as i32 == self.knobs.max_uploads_per_frame {
                break;
            }
            if *prefetch && free.len() + old.len() <= missing {
                continue;
            }
            let Some(slot) = free.pop().or_else(|| old.pop().map(|(_, _, slot)| slot)) else { break };
            missing -= usize::from(!prefetch);
            if let Some(gone) = self.slots[usize::from(slot)].take() {
                self.resident.remove(&gone.page);
                self.count_inside(gone.page, |count| count - 1);
                plan.quads += self.quads(gone.page);
            }
            self.slots[usize::from(slot)] = Some(Slot { page: *page, last_used: self.frame });
            self.resident.insert(*page, slot);
            self.count_inside(*page, |count| count + 1);
            plan.quads += self.quads(*page);
            plan.made.push(Made { page: *page, slot });
        }
        plan
    }

    fn count_inside(&mut self, page: PageAddress, change: impl Fn(u32) -> u32) {
        let mut above = page;
        while above.level < self.top {
            above = above.parent();
            let count = self.inside.entry(above).or_insert(0);
            *count = change(*count);
        }
    }

    /// Quads that a page which came or went takes: its own, and those of the pages inside it.
    fn quads(&self, page: PageAddress) -> usize {
        if self.inside.get(&page).is_none_or(|count| *count == 0) {
            return usize::from(page.level) + 1;
        }
        let inside = self.resident.keys().filter(|other| **other != page && page.contains(**other));
        let entries = inside.map(|page| (*page, self.resident[page]));
        let mut list: Vec<(PageAddress, Entry)> = entries
            .map(|(page, slot)| {
                let (x, y) = (u32::from(slot) % self.side, u32::from(slot) / self.side);
                (page, Entry { level: page.level, page: [x as u8, y as u8] })
            })
            .collect();
        list.sort_by(|a, b| a.0.coarse_first(b.0));
        list.iter().map(|(page, _)| usize::from(page.level) + 1).sum::<usize>() + usize::from(page.level) + 1
    }
}

/// The pages of a plan, in the form of this one.
#[cfg(test)]
pub(super) fn made(plan: &vasa::vt::FramePlan) -> Vec<Made> {
    plan.pages.iter().map(|work| Made { page: work.page, slot: work.physical.index }).collect()
}
