//! Who is mapped first, and who stays longest.

use std::cmp::Reverse;

/// A request's priority as a number with a total order. NaN counts as negative infinity, and -0 as 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Priority(u32);

impl Priority {
    pub(super) fn new(value: f32) -> Self {
        let value = if value.is_nan() { f32::NEG_INFINITY } else { value + 0.0 };
        let bits = value.to_bits();
        // The bits of positive floats order like the floats, those of negative ones the other way round.
        Self(if value.is_sign_negative() { !bits } else { bits | SIGN })
    }

    pub(super) fn value(self) -> f32 {
        f32::from_bits(if self.0 & SIGN == 0 { !self.0 } else { self.0 & !SIGN })
    }
}

const SIGN: u32 = 1 << 31;

/// Coarser before finer, then the higher priority. As parents are coarser than their children, every set of
/// the most important ones among tiles that are closed under parents is closed under parents too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Importance {
    pub(super) mip: u32,
    pub(super) priority: Priority,
}

/// Where a mapped tile stands in the order of leaving; the smallest leaves first.
///
/// Tiles that nobody asked for in a while come first, the longest unused one before others: a tile is asked
/// for whenever its children are, so it was used no earlier than they were, and of equal ones the finer
/// leaves first. Then come those in use, the least important before others. In both halves children come
/// before parents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LeaveOrder {
    /// Asked for within the time that tiles are kept.
    pub(super) live: bool,
    /// When an expired tile was last asked for; 0 for live ones.
    unused_since: u64,
    pub(super) importance: Importance,
    pub(super) last_wanted: u64,
    pub(super) index: Reverse<u32>,
}

impl LeaveOrder {
    pub(super) fn new(live: bool, importance: Importance, last_wanted: u64, index: u32) -> Self {
        let unused_since = if live { 0 } else { last_wanted };
        Self { live, unused_since, importance, last_wanted, index: Reverse(index) }
    }
}

/// Sorts by `key` and keeps the first `count`, without sorting what is dropped.
pub(super) fn keep_first<T, K: Ord>(list: &mut Vec<T>, count: usize, key: impl Fn(&T) -> K) {
    if count < list.len() {
        list.select_nth_unstable_by_key(count, &key);
        list.truncate(count);
    }
    list.sort_unstable_by_key(key);
}
