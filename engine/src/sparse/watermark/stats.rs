//! Sizes to look at: what a buffer reserves, uses and owns.

use std::fmt;

use super::Watermark;
use crate::vk::Bytes;

/// The sizes of one growable buffer, or of several added up. Bytes, except `chunks`.
///
/// `reserved = committed + uncommitted` and `physical = committed + slack`, always.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct Sizes {
    /// Addresses: the capacity.
    pub reserved: u64,
    /// What the caller asked for last.
    pub requested: u64,
    /// Addresses with memory behind them.
    pub committed: u64,
    /// Addresses without.
    pub uncommitted: u64,
    /// Memory at the end of the last chunk without an address.
    pub slack: u64,
    /// Memory owned.
    pub physical: u64,
    /// Allocations that memory is made of.
    pub chunks: u64,
}

impl Watermark {
    /// The sizes as they stand. `requested` is what the caller asked for last, in bytes; `u64::MAX`
    /// (all) is shown as the capacity.
    pub fn sizes(&self, requested: u64) -> Sizes {
        let reserved = self.layout.capacity_bytes();
        let committed = self.committed_bytes();
        let slack = self.layout.bytes(self.slack_tiles);
        Sizes {
            reserved,
            requested: requested.min(reserved),
            committed,
            uncommitted: reserved - committed,
            slack,
            physical: committed + slack,
            chunks: self.chunks.len() as u64,
        }
    }
}

impl std::ops::Add for Sizes {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            reserved: self.reserved + other.reserved,
            requested: self.requested + other.requested,
            committed: self.committed + other.committed,
            uncommitted: self.uncommitted + other.uncommitted,
            slack: self.slack + other.slack,
            physical: self.physical + other.physical,
            chunks: self.chunks + other.chunks,
        }
    }
}

impl std::iter::Sum for Sizes {
    fn sum<I: Iterator<Item = Self>>(sizes: I) -> Self {
        sizes.fold(Self::default(), |a, b| a + b)
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "reserved {} = committed {} + uncommitted {}; requested {}; physical {} in {} chunks, slack {}",
            Bytes(self.reserved),
            Bytes(self.committed),
            Bytes(self.uncommitted),
            Bytes(self.requested),
            Bytes(self.physical),
            self.chunks,
            Bytes(self.slack),
        )
    }
}
