//! Who speaks, and of what.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::super::*;
use super::texture;
use crate::vt::SpaceId;
use crate::vt::feedback::{NONE, Word};

proptest! {
    #[test]
    fn a_word_names_the_wished_page(texture in texture(), u in 0.0f32..1.0, v in 0.0f32..1.0, level in -8i32..13, corner in 0u32..3) {
        let side = 1u32 << texture.grid.log2_side();
        let offset = if side < 1024 { [corner * side, side] } else { [0; 2] };
        let texture = SampledTexture { offset, ..texture };
        let vt = texture.constants();
        let level = level.min(i32::from(texture.grid.max_level()));
        let found = place(&vt, [u, v]);
        let word = Word::unpack(feedback_word(&vt, &found, level)).unwrap();
        prop_assert_eq!(word.space, texture.space.unwrap());
        prop_assert_eq!(i32::from(word.level), level.max(-3));
        let pages = 1u32 << level.max(0);
        for (axis, got) in [word.x, word.y].into_iter().enumerate() {
            let at = f64::from([u, v][axis] * vt.tiles[axis]).floor() as u32;
            prop_assert_eq!(u32::from(got), at / pages + offset[axis] / pages);
        }
        let silent = SampledTexture { space: None, ..texture }.constants();
        prop_assert_eq!(feedback_word(&silent, &found, level), NONE);
        let seventeenth = SampledTexture { space: Some(SpaceId(16)), ..texture }.constants();
        prop_assert_eq!(feedback_word(&seventeenth, &found, level), NONE);
    }

    #[test]
    fn one_pixel_of_a_block_speaks_and_each_in_its_turn(log2 in 0u32..5, block in prop::array::uniform2(0u32..500), first in 0u32..1_000_000) {
        let side = 1 << log2;
        let mut spoke = BTreeSet::new();
        for frame in first..first + side * side {
            let constants = VirtualTextureFrame { frame, ..VirtualTextureFrame::new([1920, 1080], side, 2) };
            prop_assert_eq!(constants.feedback_factor_log2, log2);
            let pixels = (0..side * side).map(|i| [block[0] * side + i % side, block[1] * side + i / side]);
            let speakers: Vec<_> = pixels.filter(|pixel| gives_feedback(&constants, *pixel)).collect();
            prop_assert_eq!(speakers.len(), 1);
            spoke.insert(speakers[0]);
        }
        prop_assert_eq!(spoke.len(), (side * side) as usize);
    }
}

#[test]
fn every_sample_of_a_pixel_is_kept_equally_often() {
    for samples in [1u32, 2, 3, 5] {
        let mut kept = vec![0u32; samples as usize];
        for frame in 0..4 {
            for y in 0..64 {
                for x in 0..64 {
                    let mut reservoir = Reservoir::default();
                    for word in 0..samples {
                        reservoir.add(word, [x, y], frame);
                        reservoir.add(NONE, [x, y], frame);
                    }
                    assert_eq!(reservoir.samples, samples);
                    kept[reservoir.word as usize] += 1;
                }
            }
        }
        let mean = 4.0 * 4096.0 / f64::from(samples);
        for (word, count) in kept.iter().enumerate() {
            let off = (f64::from(*count) - mean).abs() / mean;
            // Four standard deviations of a fair draw stay below 5%.
            assert!(off < 0.05, "{samples} samples, number {word}: {count} instead of {mean}");
        }
    }
}

#[test]
fn sizes_of_feedback() {
    let frame = VirtualTextureFrame::new([1920, 1080], 16, 2);
    assert_eq!((frame.feedback_side, frame.feedback_capacity), ([120, 68], 120 * 68 * 2));
    assert_eq!(frame.feedback_bytes(), 4 * (4 + 120 * 68 * 2));
    let rounded = VirtualTextureFrame::new([1921, 1], 9, 0);
    assert_eq!((rounded.feedback_factor_log2, rounded.feedback_side), (4, [121, 1]));
    assert_eq!(rounded.feedback_capacity, 121);
    let huge = VirtualTextureFrame::new([u32::MAX; 2], 1, u32::MAX);
    assert_eq!(huge.feedback_capacity, u32::MAX - 4);
}
