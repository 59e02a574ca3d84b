//! Which order to place items in: the largest first, and where that is above the bound, orders that mend what failed.
//!
//! An item that finds no room below the best height so far is moved to an earlier place in the order, and everything from
//! there on is placed again. What is hard to place drifts to the front by itself ("squeaky wheel" optimisation, Joslin and
//! Clements 1999). The numbers that choose where to are seeded with a constant, and the search is bounded by work instead
//! of time: the same items always lie at the same offsets.

use std::cmp::Reverse;
use std::fmt;

use super::bound::Events;
use super::place::Heap;
use super::{Item, Numbers};
use crate::vk::Bytes;

/// Below this many items the search is cut short: such frames are packed in a few tens of microseconds.
const SMALL: usize = 60;

/// How much work a packing may cost after the first order. The further above the bound it stands, the more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Effort {
    /// The first order only.
    Quick,
    /// For frames that are compiled while they run: about a microsecond an item where the first order is 2% above the
    /// bound, and more beyond 5%.
    #[default]
    Balanced,
    /// For tools: two orders of magnitude more, until the bound itself is met.
    Thorough,
}

impl Effort {
    /// Steps of search that an item is worth at a height: a step is an item looked at, a nanosecond or two.
    fn steps_per_item(self, items: usize, height: u64, bound: u64) -> u64 {
        let excess = height.saturating_sub(bound);
        let is_above = |share: u64| excess > bound / share;
        match self {
            _ if excess == 0 => 0,
            Self::Quick => 0,
            Self::Thorough => 40_000,
            Self::Balanced if !is_above(1000) => 0,
            Self::Balanced if !is_above(50) => 60,
            Self::Balanced if items < SMALL || !is_above(20) => 400,
            Self::Balanced if !is_above(16) => 2_000,
            Self::Balanced => 8_000,
        }
    }
}

/// What a packing came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Report {
    /// Bytes of the heap.
    pub height: u64,
    /// The most bytes alive at one place: see [`bound`](super::bound).
    pub bound: u64,
    /// Sum of all items: what they would take without sharing.
    pub unaliased: u64,
    /// Orders tried.
    pub orders: u32,
    /// Items looked at while placing others: the measure of work.
    pub steps: u64,
}

impl Report {
    /// Height by bound: 1 is perfect. 1 where there is nothing to place.
    pub fn ratio(&self) -> f64 {
        if self.bound == 0 { 1.0 } else { self.height as f64 / self.bound as f64 }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { height, bound, unaliased, orders, steps } = *self;
        write!(
            f,
            "{} for {} of transients, bound {} ({:.3}x), orders tried: {orders}, steps: {steps}",
            Bytes(height),
            Bytes(unaliased),
            Bytes(bound),
            self.ratio()
        )
    }
}

/// Packs the transients of one heap after the other. It keeps its working memory, so that a frame no larger than those
/// before allocates nothing; what it kept never changes a result.
#[derive(Debug, Clone, Default)]
pub struct Packer {
    effort: Effort,
    events: Events,
    heap: Heap,
    order: Vec<u32>,
    report: Report,
}

impl Packer {
    /// With an effort other than [`Effort::Balanced`].
    pub fn with_effort(effort: Effort) -> Self {
        Self { effort, ..Self::default() }
    }

    /// What the last call to [`pack`](Self::pack) came to.
    pub fn report(&self) -> Report {
        self.report
    }

    /// Gives every item an offset (`offsets` becomes as long as `items`) and returns the bytes of the heap. Items that are
    /// alive at the same place share no byte; every offset is a multiple of its item's alignment; the same items always
    /// get the same offsets.
    ///
    /// A height of `u64::MAX` means that the items do not fit into 64 bits of address space, and offsets mean nothing.
    pub fn pack(&mut self, items: &[Item], offsets: &mut Vec<u64>) -> u64 {
        offsets.clear();
        offsets.resize(items.len(), 0);
        self.heap.steps = 0;
        self.report = Report {
            height: u64::MAX,
            bound: self.events.bound(items),
            unaliased: items.iter().fold(0, |sum, item| sum.saturating_add(item.bytes)),
            ..Report::default()
        };
        self.order.clear();
        self.order.extend(0..u32::try_from(items.len()).unwrap_or(u32::MAX));
        let length = |item: &Item| item.last.saturating_sub(item.first);
        self.order.sort_unstable_by_key(|&index| {
            items.get(index as usize).map(|item| (Reverse((item.bytes, length(item))), item.first, index))
        });
        self.heap.rewind(0);
        // Without a limit nothing fails.
        if self.place_from(items, 0, u64::MAX).is_none() {
            self.keep(offsets);
        }
        self.search(items, offsets);
        self.report.steps = self.heap.steps;
        self.report.height
    }

    /// Looks for lower heights until the bound is met or the effort is spent.
    fn search(&mut self, items: &[Item], offsets: &mut [u64]) {
        let first_order = self.heap.steps;
        let mut numbers = Numbers::new(0);
        let mut from = 0;
        self.heap.rewind(0);
        loop {
            let Report { height, bound, .. } = self.report;
            let worth = self.effort.steps_per_item(items.len(), height, bound);
            if self.heap.steps - first_order >= worth.saturating_mul(items.len() as u64) {
                return;
            }
            match self.place_from(items, from, height.saturating_sub(1)) {
                None => {
                    self.keep(offsets);
                    from = 0;
                }
                Some(rank) => {
                    from = self.earlier(items, rank, &mut numbers);
                    if let Some(moved) = self.order.get_mut(from..=rank) {
                        moved.rotate_right(1);
                    }
                }
            }
            self.heap.rewind(u32::try_from(from).unwrap_or(u32::MAX));
        }
    }

    /// An earlier rank for an item that found no room: that of one of the items that it meets, any as likely as the next.
    /// Before those that it does not meet nothing would change.
    fn earlier(&mut self, items: &[Item], rank: usize, numbers: &mut Numbers) -> usize {
        let at = |rank: usize| self.order.get(rank).and_then(|&index| items.get(index as usize));
        let Some(moved) = at(rank) else { return 0 };
        let is_met = |earlier: &usize| at(*earlier).is_some_and(|item| item.meets(moved));
        let met = (0..rank).filter(is_met).count();
        let chosen = (0..rank).filter(is_met).nth(numbers.below(met as u64) as usize).unwrap_or(0);
        self.heap.steps = self.heap.steps.saturating_add(rank as u64);
        chosen
    }

    /// Places all items from a rank of the order on. Gives the rank of the first that would end above `limit`.
    fn place_from(&mut self, items: &[Item], from: usize, limit: u64) -> Option<usize> {
        self.report.orders = self.report.orders.saturating_add(1);
        for (rank, &index) in self.order.iter().enumerate().skip(from) {
            let item = items.get(index as usize)?;
            if !self.heap.place(item, index, u32::try_from(rank).unwrap_or(u32::MAX), limit) {
                return Some(rank);
            }
        }
        None
    }

    /// Keeps what is placed as the best so far.
    fn keep(&mut self, offsets: &mut [u64]) {
        self.report.height = self.heap.height();
        self.heap.write_offsets(offsets);
    }
}
