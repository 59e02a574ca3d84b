//! What the GPU says it sampled: one word a sample, compacted to (word, count) pairs before it comes here.
//!
//! ```text
//! word:  x in bits 0..11 | y in 12..23 | level + 3 in 24..27 | space in 28..31      x, y count pages of that level
//! ```
//!
//! The bias of 3 lets a shader say "finer than you have": a negative level, which asks an adaptive texture for more.

#[cfg(test)]
mod tests;
mod wishes;

pub(crate) use wishes::{Wish, Wishes, sort_key};

use super::SpaceId;

/// Spaces that feedback can name: 4 bits.
pub const MOST_FED_SPACES: usize = 16;
/// What is added to the level, so that -3 to 12 fit into 4 bits.
pub const LEVEL_BIAS: i8 = 3;
/// Nothing was written. As a word it would be page 4095,4095 of level 12, which has a single page.
pub const NONE: u32 = u32::MAX;

/// One word of feedback, decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Word {
    /// Whose page table was looked up.
    pub space: SpaceId,
    /// The level wished for; below 0 where the texture has nothing fine enough.
    pub level: i8,
    /// Column in pages of that level (of level 0 where the level is negative: finer ones share its page).
    pub x: u16,
    /// Row in pages of that level.
    pub y: u16,
}

impl Word {
    /// As a shader writes it; higher bits are cut off.
    pub fn pack(self) -> u32 {
        let level = (self.level.clamp(-LEVEL_BIAS, 15 - LEVEL_BIAS) + LEVEL_BIAS) as u32;
        u32::from(self.x & 0xfff)
            | u32::from(self.y & 0xfff) << 12
            | level << 24
            | u32::from(self.space.0 & 15) << 28
    }

    /// What a shader wrote; nothing for [`NONE`].
    pub fn unpack(word: u32) -> Option<Self> {
        (word != NONE).then_some(Self {
            space: SpaceId((word >> 28) as u8),
            level: (word >> 24 & 15) as i8 - LEVEL_BIAS,
            x: (word & 0xfff) as u16,
            y: (word >> 12 & 0xfff) as u16,
        })
    }
}

/// Feedback of one frame and one view, as it arrives from the readback ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Feedback<'a> {
    /// The frame whose samples these are: what a texture is told must not be older than the texture.
    pub frame: u64,
    /// Words and how often each was written. A word may come twice.
    pub pairs: &'a [(u32, u32)],
    /// Samples that found the feedback buffer full.
    pub overflow: u32,
    /// Pairs that the compaction had no room for.
    pub dropped: u32,
}
