//! Errors of page tables.

use crate::vt::SpaceId;
use crate::vt::address::MOST_SIDE;

/// Result of page tables.
pub type TableResult<T, E = TableError> = std::result::Result<T, E>;

/// Why a page table cannot be made or updated.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// A side that no page table has.
    #[error(
        "a page table of {side} pages a side was asked for: the side is a power of two, at most {MOST_SIDE}"
    )]
    Side {
        /// What was asked for.
        side: u32,
    },
    /// Too many channels, or none.
    #[error(
        "a page table of {channels} channels was asked for: it has 1 to {}, one for each group of layers",
        super::MOST_CHANNELS
    )]
    Channels {
        /// What was asked for.
        channels: u32,
    },
    /// A space has one page table.
    #[error("{space} has a page table already: destroy it first, or take another space")]
    Taken {
        /// The space.
        space: SpaceId,
    },
    /// An update of a space without a page table.
    #[error("an update names {space}, which has no page table: create it before the frame")]
    NoTable {
        /// The space.
        space: SpaceId,
    },
    /// An update of a part that the page table does not have.
    #[error(
        "an update of {space} names image {texture}, channel {channel}, mip {mip}: the page table has {channels} channels \
         in images of four, and {mips} mips"
    )]
    NoPart {
        /// The space.
        space: SpaceId,
        /// The image named.
        texture: u8,
        /// The channel named.
        channel: u8,
        /// The mip named.
        mip: u8,
        /// Channels that there are.
        channels: u32,
        /// Mips that there are.
        mips: u32,
    },
    /// A quad that does not lie in its mip.
    #[error(
        "an update of {space} has a quad of 2^{log2_size} entries a side at {x},{y}: mip {mip} is {side} entries a side, \
         and quads lie inside it"
    )]
    Outside {
        /// The space.
        space: SpaceId,
        /// The mip.
        mip: u8,
        /// Its side.
        side: u32,
        /// Column of the quad.
        x: u16,
        /// Row of the quad.
        y: u16,
        /// Logarithm of its side.
        log2_size: u8,
    },
    /// More quads than one storage buffer holds.
    #[error("a frame updates {quads} quads, the device takes {limit}: spread them over frames")]
    Quads {
        /// What was asked for.
        quads: u64,
        /// The most.
        limit: u64,
    },
    /// The Vulkan floor.
    #[error(transparent)]
    Vk(#[from] crate::vk::Error),
}
