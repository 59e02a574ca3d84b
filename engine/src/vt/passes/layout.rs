//! How large the buffers of feedback are, and what its shaders are told of it.

use crate::vk::layout::gpu_struct;

gpu_struct! {
    /// Push constants of the passes that compact feedback; see `shaders/lib/vt_feedback.wgsl`.
    pub struct FeedbackPush {
        /// Entries that the feedback buffer holds.
        pub feedback_capacity: u32,
        /// Pairs that the list holds.
        pub pair_capacity: u32,
        /// Slots of the hash table, a power of two.
        pub table_slots: u32,
        /// To a multiple of 16 bytes.
        pub padding: u32,
    }

    /// `VirtualTexture.BuildHashTableIndirectArgs`: a `VkDispatchIndirectCommand`, and what the passes count beside it.
    pub struct BuildHashTableArgs {
        /// Workgroups along x.
        pub groups_x: u32,
        /// Workgroups along y, for more than an axis can have.
        pub groups_y: u32,
        /// Workgroups along z: 1.
        pub groups_z: u32,
        /// Entries to go through.
        pub entries: u32,
        /// Slots of the hash table that are taken.
        pub elements: u32,
        /// To a multiple of 16 bytes.
        pub padding_0: u32,
        /// To a multiple of 16 bytes.
        pub padding_1: u32,
        /// To a multiple of 16 bytes.
        pub padding_2: u32,
    }
}

/// Words before the entries of a feedback buffer: the number of entries asked for, and three that are reserved.
pub const FEEDBACK_HEADER_WORDS: u32 = 4;
/// Words before the pairs of compacted feedback: pairs, entries dropped, entries asked for, entries past the capacity.
pub const COMPACTED_HEADER_WORDS: u32 = 4;
/// Slots that are looked at for a word, as in `shaders/lib/vt_feedback.wgsl`.
pub const MOST_PROBES: u32 = 64;
/// Entries whose buffer fits the storage buffer range that every device has (128 MiB).
const MOST_ENTRIES: u64 = (1 << 25) - FEEDBACK_HEADER_WORDS as u64;
/// The largest side of a block of pixels.
const MOST_FACTOR: u32 = 1 << 12;

/// Sizes of the buffers of feedback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeedbackLayout {
    /// Blocks of pixels along x and y; one pixel of each writes.
    pub side: [u32; 2],
    /// Logarithm of the side of a block in pixels.
    pub factor_log2: u32,
    /// Entries that the feedback buffer holds.
    pub capacity: u32,
    /// Pairs that the compacted list holds.
    pub pairs: u32,
}

impl FeedbackLayout {
    /// Side of a block in pixels where nobody says otherwise.
    pub const DEFAULT_FACTOR: u32 = 16;
    /// Entries a block where nobody says otherwise.
    pub const DEFAULT_OVERDRAW: u32 = 2;

    /// For targets of `extent` pixels, of which one pixel in `factor x factor` (rounded up to a power of two) writes, up
    /// to `overdraw` times. The capacity is `ceil(width / factor) * ceil(height / factor) * overdraw`; the list holds a
    /// sixteenth of it, 16 to 16384 pairs, rounded up to a power of two. Zeros count as ones.
    pub fn new(extent: [u32; 2], factor: u32, overdraw: u32) -> Self {
        let factor = factor.clamp(1, MOST_FACTOR).next_power_of_two();
        let side = extent.map(|pixels| pixels.max(1).div_ceil(factor));
        let blocks = u64::from(side[0]) * u64::from(side[1]);
        let capacity = blocks.saturating_mul(u64::from(overdraw.max(1))).min(MOST_ENTRIES) as u32;
        let pairs = (capacity / 16).clamp(16, 16384).next_power_of_two();
        Self { side, factor_log2: factor.trailing_zeros(), capacity, pairs }
    }

    /// Slots of the hash table: twice as many as pairs fit into the list, so that probes stay short until that is full.
    pub fn table_slots(&self) -> u32 {
        self.pairs.saturating_mul(2)
    }

    /// Bytes of the feedback buffer.
    pub fn feedback_bytes(&self) -> u64 {
        4 * (u64::from(FEEDBACK_HEADER_WORDS) + u64::from(self.capacity))
    }

    /// Bytes of compacted feedback.
    pub fn compacted_bytes(&self) -> u64 {
        4 * (u64::from(COMPACTED_HEADER_WORDS) + 2 * u64::from(self.pairs))
    }

    /// Bytes of each of the three buffers of the hash table.
    pub fn table_bytes(&self) -> u64 {
        4 * u64::from(self.table_slots())
    }

    /// What the shaders are told.
    pub(super) fn push(&self) -> FeedbackPush {
        FeedbackPush {
            feedback_capacity: self.capacity,
            pair_capacity: self.pairs,
            table_slots: self.table_slots(),
            padding: 0,
        }
    }
}
