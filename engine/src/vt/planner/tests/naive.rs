//! The same decisions by lists and loops: which pages, where, and in which order.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

type Page = (u8, u16, u16);

/// One texture of 16 x 16 tiles, one pool; pages by level, x, y.
struct Naive {
    slots: Vec<Option<(Page, u64)>>,
    threshold: u64,
    uploads: usize,
    is_tight: bool,
}

const TOP: u8 = 4;

impl Naive {
    fn parent((level, x, y): Page) -> Page {
        (level + 1, x / 2, y / 2)
    }

    fn slot_of(&self, page: Page) -> Option<usize> {
        self.slots.iter().position(|slot| slot.is_some_and(|(owner, _)| owner == page))
    }

    fn z_order((_, x, y): Page) -> u32 {
        (0..12)
            .map(|bit| u32::from(x >> bit & 1) << (2 * bit) | u32::from(y >> bit & 1) << (2 * bit + 1))
            .sum()
    }

    fn frame(&mut self, frame: u64, fed: &[(Page, u32)]) -> Vec<(Page, usize, bool)> {
        let mut wished: BTreeMap<Page, u32> = BTreeMap::new();
        for (page, count) in fed {
            *wished.entry(*page).or_insert(0) += count;
        }
        let (mut missing, mut between) = (Vec::new(), BTreeMap::new());
        let mut touched = BTreeSet::new();
        for (page, count) in &wished {
            if let Some(slot) = self.slot_of(*page) {
                touched.insert(slot);
                continue;
            }
            missing.push((*page, *count));
            let (mut nearest, mut above) = (None, *page);
            while above.0 < TOP && nearest.is_none() {
                above = Self::parent(above);
                nearest = self.slot_of(above).map(|slot| (slot, above.0));
            }
            touched.extend(nearest.map(|(slot, _)| slot));
            let gap = nearest.map_or(TOP + 1, |(_, level)| level) - page.0;
            let levels: Vec<u8> = match (gap, nearest) {
                (0 | 1, _) => vec![],
                (2, _) => vec![page.0 + 1],
                (3 | 4, Some(_)) => vec![page.0 + 2],
                (_, Some(_)) => vec![page.0 + 2, page.0 + gap.div_ceil(2)],
                (_, None) => vec![page.0 + 2, TOP],
            };
            for level in levels.into_iter().collect::<BTreeSet<u8>>() {
                let mut up = *page;
                while up.0 < level {
                    up = Self::parent(up);
                }
                *between.entry(up).or_insert(0) += count;
            }
        }
        for slot in touched {
            self.slots[slot].as_mut().unwrap().1 = frame;
        }
        let need = missing.len() + wished.keys().filter(|page| self.slot_of(**page).is_some()).count();
        let mut wanted: Vec<(Page, u32, bool)> =
            missing.iter().map(|(page, count)| (*page, *count, false)).collect();
        if !self.is_tight {
            let extra = between.iter().filter(|(page, _)| !wished.contains_key(page));
            wanted.extend(extra.map(|(page, count)| (*page, *count, true)));
        }
        self.is_tight = need as f64 > f64::from(0.95f32) * (self.slots.len() - 1) as f64;
        wanted.sort_by_key(|(page, count, _)| {
            (std::cmp::Reverse(page.0), std::cmp::Reverse(*count), Self::z_order(*page))
        });
        let mut made = Vec::new();
        let mut sampled_left = missing.len();
        for (page, _, prefetch) in wanted {
            if made.len() == self.uploads {
                break;
            }
            let all_free: Vec<usize> =
                (1..self.slots.len()).filter(|slot| self.slots[*slot].is_none()).collect();
            let free = all_free.first().copied();
            let old = (1..self.slots.len())
                .filter_map(|slot| self.slots[slot].map(|(owner, used)| (used, owner.0, slot)))
                .filter(|(used, ..)| used + self.threshold < frame);
            let oldest = old.clone().min();
            // What is only on the way leaves room for all that was sampled.
            if prefetch && all_free.len() + old.count() <= sampled_left {
                continue;
            }
            sampled_left -= usize::from(!prefetch);
            let Some(slot) = free.or(oldest.map(|(_, _, slot)| slot)) else { break };
            self.slots[slot] = Some((page, frame));
            made.push((page, slot, prefetch));
        }
        made
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]
    #[test]
    fn plans_are_those_of_lists_and_loops(
        frames in prop::collection::vec(
            prop::collection::vec((0u8..=TOP, 0u16..16, 0u16..16, 1u32..9), 0..20), 1..40
        ),
        side in 2u32..7, uploads in 1usize..9, threshold in 0u32..6, turn: bool,
    ) {
        let knobs = Knobs {
            max_uploads_per_frame: uploads as i32,
            page_free_threshold: threshold,
            residency_bias: false,
            ..Knobs::default()
        };
        let (mut world, id) = World::one(knobs, side, [16, 16]);
        let mut naive = Naive {
            slots: vec![None; (side * side) as usize],
            threshold: u64::from(threshold),
            uploads,
            is_tight: false,
        };
        for frame in frames {
            let mut fed: Vec<(Page, u32)> =
                frame.iter().map(|(l, x, y, count)| ((*l, x >> l, y >> l), *count)).collect();
            let wanted = naive.frame(world.planner.frame() + 1, &fed);
            // The order of the feedback has no say.
            if turn {
                fed.reverse();
            }
            let fed: Vec<_> = fed.iter().map(|((l, x, y), count)| (id, page(*l, *x, *y), *count)).collect();
            world.frame(&fed);
            let made: Vec<_> = world.plan.pages.iter().map(|work| {
                let prefetch = matches!(work.reason.cause, Cause::Prefetch { .. });
                ((work.page.level, work.page.x, work.page.y), usize::from(work.physical.index), prefetch)
            }).collect();
            prop_assert_eq!(made, wanted);
        }
    }
}
