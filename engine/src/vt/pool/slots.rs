//! Who is in which page of an atlas, who goes first, and who may not go.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{PoolDesc, PoolSize};
use crate::vt::planner::{Cause, PageReason, Quality};

/// What is known of one page of an atlas besides its owner and its last use.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slot {
    /// Locks on it; above 0 it never goes.
    pub(crate) locks: u32,
    /// What its inputs were when it was made.
    pub(crate) quality: Quality,
    /// Why it has to be drawn again.
    pub(crate) dirty: Option<Cause>,
    /// It was planned, and its frame was not submitted: there is no data in it.
    pub(crate) unproduced: bool,
    /// When and why it was made.
    pub(crate) made: (u64, PageReason),
    /// When and why it was drawn again last.
    pub(crate) redrawn: Option<(u64, PageReason)>,
    /// Its mappings: the first of a list in [`super::Mappings`].
    pub(crate) mappings: u32,
}

impl Slot {
    fn new(frame: u64, reason: PageReason, quality: Quality, locks: u32) -> Self {
        let mappings = super::mappings::END;
        Self {
            locks,
            quality,
            dirty: None,
            unproduced: false,
            made: (frame, reason),
            redrawn: None,
            mappings,
        }
    }

    /// Whether the plan of `frame` makes it or draws it again.
    pub(crate) fn is_drawn_in(&self, frame: u64) -> bool {
        self.made.0 == frame || self.redrawn.is_some_and(|(drawn, _)| drawn == frame)
    }

    /// Whether what it shows is what it should show.
    pub(crate) fn is_current(&self) -> bool {
        self.dirty.is_none() && !self.unproduced
    }
}

/// One atlas: its pages, and the order in which they go.
///
/// A page goes when another needs its place, least recently used first, the finer before the coarser of one frame. What
/// was used within the threshold, and so what was used in this frame, does not go, nor what this frame draws again; what
/// is locked never does.
#[derive(Debug, Clone)]
pub(crate) struct Pool {
    pub(crate) desc: PoolDesc,
    pub(crate) size: PoolSize,
    /// By slot: packed page, or nobody.
    owners: Vec<u64>,
    last_used: Vec<u64>,
    slots: Vec<Slot>,
    free: Vec<u16>,
    victims: BinaryHeap<Reverse<u64>>,
    victims_of: Option<u64>,
    /// The slot after the one that was refreshed last.
    pub(crate) cursor: u16,
    pub(crate) locked: u32,
}

const NOBODY: u64 = u64::MAX;

impl Pool {
    pub(crate) fn new(desc: PoolDesc, size: PoolSize) -> Self {
        let pages = size.pages() as usize;
        let nothing = PageReason { cause: Cause::Preload, budget: crate::vt::planner::Budget::Exempt };
        Self {
            desc,
            size,
            owners: vec![NOBODY; pages],
            last_used: vec![0; pages],
            slots: vec![Slot::new(0, nothing, Quality(0), 0); pages],
            free: (1..pages as u16).rev().collect(),
            victims: BinaryHeap::new(),
            victims_of: None,
            cursor: 1,
            locked: 0,
        }
    }

    /// Whose page is in a slot.
    pub(crate) fn owner(&self, slot: u16) -> Option<u64> {
        self.owners.get(usize::from(slot)).copied().filter(|owner| *owner != NOBODY)
    }

    pub(crate) fn slot(&self, slot: u16) -> &Slot {
        &self.slots[usize::from(slot) % self.slots.len()]
    }

    pub(crate) fn slot_mut(&mut self, slot: u16) -> &mut Slot {
        let pages = self.slots.len();
        &mut self.slots[usize::from(slot) % pages]
    }

    pub(crate) fn last_used(&self, slot: u16) -> u64 {
        self.last_used[usize::from(slot) % self.slots.len()]
    }

    /// The page was used in `frame`.
    pub(crate) fn touch(&mut self, slot: u16, frame: u64) {
        if let Some(last) = self.last_used.get_mut(usize::from(slot)) {
            *last = frame;
        }
    }

    pub(crate) fn lock(&mut self, slot: u16, locks: u32) {
        let (before, now) = (self.slot(slot).locks > 0, locks > 0);
        self.locked = self.locked + u32::from(now && !before) - u32::from(before && !now);
        self.slot_mut(slot).locks = locks;
    }

    /// Slots that are taken, with their owners.
    pub(crate) fn taken(&self) -> impl Iterator<Item = (u16, u64)> + '_ {
        (0u16..).zip(self.owners.iter().copied()).filter(|(_, owner)| *owner != NOBODY)
    }

    /// Pages that are taken.
    pub(crate) fn allocated(&self) -> u32 {
        self.size.usable() - self.free.len() as u32
    }

    /// Pages used within `threshold` frames before `frame`, or locked.
    pub(crate) fn used(&self, frame: u64, threshold: u32) -> u32 {
        let since = frame.saturating_sub(u64::from(threshold));
        let is_recent = |owner: &u64, last: &u64| *owner != NOBODY && *last >= since;
        let pages = || self.owners.iter().zip(&self.last_used);
        let recent = pages().filter(|(owner, last)| is_recent(owner, last)).count() as u32;
        if self.locked == 0 {
            return recent;
        }
        let slots = pages().zip(&self.slots);
        let unseen = slots.filter(|((owner, last), slot)| slot.locks > 0 && !is_recent(owner, last));
        recent + unseen.count() as u32
    }

    /// Whether [`Pool::take`] would find a slot.
    pub(crate) fn has_room(&mut self, frame: u64, threshold: u32) -> bool {
        !self.free.is_empty() || self.next_victim(frame, threshold).is_some()
    }

    /// How many pages could be made in this frame, as far as room goes; or `enough`, where there are at least as many.
    pub(crate) fn room(&mut self, frame: u64, threshold: u32, enough: usize) -> usize {
        if self.free.len() >= enough {
            return enough;
        }
        // Drops those at the head that are gone; those behind it are gone in no larger number than were taken since.
        let _ = self.next_victim(frame, threshold);
        (self.free.len() + self.victims.len()).min(enough)
    }

    /// A slot for a new page: a free one, or that of the page that goes first, which still has its owner.
    pub(crate) fn take(&mut self, frame: u64, threshold: u32) -> Option<u16> {
        if let Some(slot) = self.free.last() {
            return Some(*slot);
        }
        self.next_victim(frame, threshold)
    }

    fn next_victim(&mut self, frame: u64, threshold: u32) -> Option<u16> {
        if self.victims_of != Some(frame) {
            self.victims_of = Some(frame);
            self.list_victims(frame, threshold);
        }
        while let Some(Reverse(key)) = self.victims.peek() {
            let slot = *key as u16;
            let at = usize::from(slot);
            let is_as_listed = self.owners[at] != NOBODY && self.last_used[at] == key >> 20;
            if is_as_listed && self.slots[at].locks == 0 && !self.slots[at].is_drawn_in(frame) {
                return Some(slot);
            }
            self.victims.pop();
        }
        None
    }

    /// All that may go in this frame, as a heap: building it takes one pass, and only as many are sorted as go.
    fn list_victims(&mut self, frame: u64, threshold: u32) {
        let mut keys = std::mem::take(&mut self.victims).into_vec();
        keys.clear();
        for at in 1..self.owners.len() {
            let (owner, last_used) = (self.owners[at], self.last_used[at]);
            let may_go = last_used.saturating_add(u64::from(threshold)) < frame && owner != NOBODY;
            if may_go && self.slots[at].locks == 0 {
                let level = owner >> super::OWNER_LEVEL_SHIFT & 15;
                keys.push(Reverse(last_used << 20 | level << 16 | at as u64));
            }
        }
        self.victims = BinaryHeap::from(keys);
    }

    /// Gives a slot that is free to `owner`.
    pub(crate) fn place(
        &mut self,
        slot: u16,
        owner: u64,
        frame: u64,
        made: (PageReason, Quality),
        locks: u32,
    ) {
        let at = usize::from(slot);
        debug_assert!(at > 0 && self.owners[at] == NOBODY, "slot {slot} has an owner");
        // The slot that `take` gave is the last of the list; any other is looked for.
        if let Some(place) = self.free.iter().rposition(|free| *free == slot) {
            self.free.remove(place);
        }
        self.owners[at] = owner;
        self.last_used[at] = frame;
        self.slots[at] = Slot::new(frame, made.0, made.1, 0);
        self.lock(slot, locks);
    }

    /// The owner leaves; its mappings are gone already.
    pub(crate) fn release(&mut self, slot: u16) {
        let at = usize::from(slot);
        if self.owners[at] == NOBODY {
            return;
        }
        self.lock(slot, 0);
        self.owners[at] = NOBODY;
        self.free.push(slot);
    }
}
