//! Where transients lie in their heap: those that never live at the same time may share bytes.
//!
//! ```text
//! items (bytes, alignment, first and last place) --Packer--> an offset each, and the height of the heap
//!   bound    the largest sum of bytes alive at one place: no packing is lower
//!   place    items in some order, each at the lowest offset that is free for as long as it lives
//!   search   orders: largest first, then others, then what stood on top is placed earlier; ends at the bound
//! items --pages--> pages of 64 KiB, any that are free: reaches the bound in pages, costs sparse binds
//! ```
//!
//! Items are those of one heap: whoever calls keeps memory types apart, and buffers from images where a device has a
//! `bufferImageGranularity`.
//!
//! This is dynamic storage allocation, which is NP-hard; the search is bounded by work, not by time, so that the same
//! items always get the same offsets and a steady graph never moves.

mod bound;
pub mod corpus;
mod numbers;
pub mod pages;
mod place;
mod search;

#[cfg(test)]
mod page_tests;
#[cfg(test)]
mod tests;

pub use bound::bound;
pub use numbers::Numbers;
pub use search::{Effort, Packer, Report};

/// A transient to place: what it takes and how long it lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Item {
    /// Size in bytes.
    pub bytes: u64,
    /// Alignment of its offset in bytes; 0 counts as 1.
    pub alignment: u64,
    /// First place in the order at which it is alive.
    pub first: u32,
    /// Last place at which it is alive, inclusive; one before `first` counts as `first`.
    pub last: u32,
}

impl Item {
    /// Whether both are alive at some place.
    pub fn meets(&self, other: &Self) -> bool {
        self.first <= other.last.max(other.first) && other.first <= self.last.max(self.first)
    }
}
