//! The twin of what shaders do for feedback: which pixel speaks, and which of its samples it speaks of.

use super::constants::{NO_FEEDBACK, VirtualTexture, VirtualTextureFrame};
use super::twin::{Place, table_texel};
use crate::vt::feedback::{LEVEL_BIAS, NONE};

/// Words of the feedback buffer in front of what was said: how many were asked for, and three reserved ones.
pub const FIRST_FEEDBACK_WORD: usize = 4;

/// PCG hash (Jarzynski and Olano 2020).
pub fn hash(value: u32) -> u32 {
    let state = value.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
    let word = ((state >> ((state >> 28) + 4)) ^ state).wrapping_mul(277_803_737);
    (word >> 22) ^ word
}

/// The page that is wished for, as a word; [`NONE`] where the texture gets no feedback. Below level 0, x and y are those of
/// level 0.
pub fn feedback_word(vt: &VirtualTexture, place: &Place, whole_level: i32) -> u32 {
    if vt.feedback_id == NO_FEEDBACK {
        return NONE;
    }
    let [x, y] = table_texel(vt, place, whole_level.max(0) as u32);
    let level = whole_level.saturating_add(i32::from(LEVEL_BIAS)).clamp(0, 15) as u32;
    (x & 0xfff) | (y & 0xfff) << 12 | level << 24 | vt.feedback_id
}

/// What a pixel has sampled so far, and which sample feedback will name: each with the same chance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reservoir {
    /// The one that is kept; [`NONE`] before the first.
    pub word: u32,
    /// How many there were.
    pub samples: u32,
}

impl Default for Reservoir {
    fn default() -> Self {
        Self { word: NONE, samples: 0 }
    }
}

impl Reservoir {
    /// Counts a sample: the n-th takes the place of the one kept with probability 1 / n.
    pub fn add(&mut self, word: u32, pixel: [u32; 2], frame: u32) {
        if word == NONE {
            return;
        }
        self.samples = self.samples.saturating_add(1);
        let chance = hash(pixel[0] ^ hash(pixel[1] ^ hash(frame ^ self.samples.wrapping_shl(24))));
        if chance.is_multiple_of(self.samples) {
            self.word = word;
        }
    }
}

/// Whether this pixel is the one of its block that gives feedback in this frame. In as many frames as a block has
/// pixels each has its turn once, in an order that spreads (the steps are close to Roberts's R2 sequence, 2018).
pub fn gives_feedback(frame: &VirtualTextureFrame, pixel: [u32; 2]) -> bool {
    let log2 = frame.feedback_factor_log2.min(12);
    let block = pixel.map(|at| at >> log2);
    let side = 1u32 << log2;
    let within = pixel.map(|at| at & (side - 1));
    let step = ((side * 193) >> 8) << log2 | (side * 146) >> 8 | 1;
    let block = block[0].wrapping_mul(0x9e37_79b1).wrapping_add(block[1].wrapping_mul(0x85eb_ca77));
    let turn = (block >> 8).wrapping_add(frame.frame.wrapping_mul(step));
    turn & (side * side - 1) == within[0] | within[1] << log2
}
