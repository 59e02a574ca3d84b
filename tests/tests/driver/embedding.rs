//! The memory layer on an application's own device (`from_raw`).

use vasa::vk::queue_policy::{QueueChoice, QueuePlan};
use vasa::vk::{Error, FeatureMask};
use vasa_tests::embedding::wrap;
use vasa_tests::growable::{resize, storage, waits};
use vasa_tests::pattern::Pattern;
use vasa_tests::{Harness, MIB, on_device};

/// What the harness's device was opened with.
fn mask(h: &Harness) -> FeatureMask {
    if h.in_place() { FeatureMask::default() } else { FeatureMask::fallback() }
}

fn grows_and_keeps(h: &Harness) {
    let sparse = h.small_chunks();
    let mut buffer = storage(&sparse, "Lent", 16 * MIB);
    let pattern = Pattern::new(1);
    let mut kept = 0;
    for mib in [2, 5, 1, 7] {
        let wait = waits(resize(&sparse, &mut buffer, mib * MIB));
        kept = kept.min(mib * MIB);
        h.write(&buffer, pattern, (kept, mib * MIB), &wait);
        h.expect_in_chunks(&buffer, pattern);
        kept = mib * MIB;
    }
}

#[test]
fn a_buffer_grows_in_place_on_a_device_that_is_not_our_own() {
    on_device(|h| {
        let device = wrap(h, h.device.queue_plan().clone(), &mask(h)).unwrap();
        let inner = h.on(&device).unwrap();
        assert_eq!(inner.in_place(), h.in_place());
        grows_and_keeps(&inner);
        inner.settle();
        assert_eq!(device.object_counts().chunk_allocations, 0);
    });
}

#[test]
fn the_lent_device_works_on_after_the_wrapper_is_gone() {
    on_device(|h| {
        for _ in 0..3 {
            let device = wrap(h, h.device.queue_plan().clone(), &mask(h)).unwrap();
            let inner = h.on(&device).unwrap();
            let sparse = inner.small_chunks();
            let mut buffer = storage(&sparse, "Left", 16 * MIB);
            let wait = waits(resize(&sparse, &mut buffer, 8 * MIB));
            // Dropped with this in flight.
            inner.write(&buffer, Pattern::new(2), (0, 8 * MIB), &wait);
        }
        grows_and_keeps(h);
    });
}

#[test]
fn a_plan_without_a_sparse_queue_takes_the_fallback() {
    on_device(|h| {
        let plan = QueuePlan { sparse: None, ..h.device.queue_plan().clone() };
        let device = wrap(h, plan, &FeatureMask::default()).unwrap();
        let inner = h.on(&device).unwrap();
        assert!(!inner.in_place());
        grows_and_keeps(&inner);
    });
}

#[test]
fn a_plan_of_queues_that_do_not_exist_is_refused() {
    on_device(|h| {
        for graphics in [QueueChoice { family: 99, index: 0 }, QueueChoice { family: 0, index: 999 }] {
            let plan = QueuePlan { graphics, ..h.device.queue_plan().clone() };
            let error = wrap(h, plan, &mask(h)).unwrap_err();
            assert!(matches!(error, Error::Limit { .. }), "{error}");
            assert!(error.to_string().contains("family"), "{error}");
        }
    });
}
