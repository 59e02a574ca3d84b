//! Sizes, and the ring against a model.

use proptest::prelude::*;

use super::layout::FeedbackLayout;
use super::ring::{Flight, Ring};

#[test]
fn sizes_follow_the_extent() {
    let of = |extent, factor, overdraw| FeedbackLayout::new(extent, factor, overdraw);
    let full_hd = of([1920, 1080], 16, 2);
    assert_eq!((full_hd.side, full_hd.factor_log2), ([120, 68], 4));
    assert_eq!((full_hd.capacity, full_hd.pairs, full_hd.table_slots()), (16_320, 1024, 2048));
    assert_eq!(full_hd.feedback_bytes(), 4 * 16_324);
    assert_eq!(full_hd.compacted_bytes(), 4 * (4 + 2048));
    assert_eq!(of([1920, 1080], 9, 2), full_hd, "rounded up to a power of two");
    assert_eq!(of([1921, 1081], 16, 2).side, [121, 68]);
    assert_eq!(of([0, 0], 0, 0), of([1, 1], 1, 1));
    assert_eq!((of([1, 1], 1, 1).capacity, of([1, 1], 1, 1).pairs), (1, 16));
    assert_eq!(of([4096, 4096], 1, 1).pairs, 16_384);
    assert_eq!(of([u32::MAX; 2], 1, u32::MAX).feedback_bytes(), 128 << 20);
}

proptest! {
    #[test]
    fn every_frame_is_taken_lost_superseded_or_still_there(
        places in 1..6usize,
        steps in prop::collection::vec((0..4u8, 0..6u64), 1..80),
    ) {
        let mut ring = Ring::new(places);
        let (mut frame, mut completed, mut taken) = (0u64, 0u64, Vec::new());
        // Newest last; what is not there was taken, lost or passed over.
        let mut model: Vec<u64> = Vec::new();
        for (step, number) in steps {
            match step {
                0 | 1 => {
                    frame += 1;
                    ring.submitted(ring.next(), Flight { frame, value: frame * 2, pairs: 16 });
                    if model.len() == places {
                        model.remove(0);
                    }
                    model.push(frame);
                }
                2 => {
                    completed = completed.max((frame * 2).saturating_sub(number));
                    let newest = ring.newest(completed).map(|(_, flight)| flight);
                    let expected = model.iter().copied().rfind(|frame| frame * 2 <= completed);
                    prop_assert_eq!(newest.map(|flight| flight.frame), expected);
                    if let Some(flight) = newest {
                        ring.take(flight);
                        taken.push(flight.frame);
                        model.retain(|frame| *frame > flight.frame);
                    }
                }
                _ => {
                    let wanted = frame.saturating_sub(number);
                    let found = ring.of_frame(wanted).map(|(_, flight)| flight);
                    prop_assert_eq!(found.is_some(), model.contains(&wanted));
                    if let Some(flight) = found {
                        ring.take(flight);
                        taken.push(wanted);
                        model.retain(|frame| *frame > wanted);
                    }
                }
            }
            let total = taken.len() as u64 + ring.lost + ring.superseded + model.len() as u64;
            prop_assert_eq!(total, frame);
            prop_assert!(taken.is_sorted(), "{:?}", taken);
        }
    }
}
