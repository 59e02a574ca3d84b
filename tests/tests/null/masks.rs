//! Masking features (`--mask`, `--fallback`): what is hidden is hidden everywhere, and nothing else is.

use vasa::vk::FeatureMask;
use vasa::vk::capabilities::SparseTier;
use vasa_tests::invented;

#[test]
fn every_known_name_hides_something() {
    for name in FeatureMask::NAMES {
        let mut device = invented::discrete();
        FeatureMask::parse(name).unwrap().apply(&mut device);
        assert_ne!(device, invented::discrete(), "masking {name} changed nothing");
    }
}

#[test]
fn no_mask_hides_nothing() {
    let mut device = invented::discrete();
    FeatureMask::default().apply(&mut device);
    assert_eq!(device, invented::discrete());
}

#[test]
fn the_fallback_hides_all_of_sparse_and_only_that() {
    let mut device = invented::discrete();
    FeatureMask::fallback().apply(&mut device);
    assert!(!device.sparse.growable_buffers());
    assert_eq!(device.sparse.tier(), SparseTier::None);
    assert!(!device.sparse.residency_image_2d && !device.sparse.residency_image_3d);
    assert_eq!(device.optional, invented::discrete().optional);
}

#[test]
fn masks_add_up() {
    let mut device = invented::discrete();
    let mask = FeatureMask::parse("bc").unwrap().and(FeatureMask::parse("async_queues").unwrap());
    mask.apply(&mut device);
    assert!(!device.optional.bc && !device.optional.async_queues && device.optional.anisotropy);
}

#[test]
fn one_missing_boolean_lowers_the_tier_and_leaves_buffers_growable() {
    let mut device = invented::discrete();
    FeatureMask::parse("sparse_residency_image_2d").unwrap().apply(&mut device);
    assert_eq!(device.sparse.tier(), SparseTier::None, "the printed tier needs 2D images");
    assert!(device.sparse.growable_buffers(), "but buffers gate by their own booleans");
    let mut device = invented::discrete();
    FeatureMask::parse("sparse_residency_buffer").unwrap().apply(&mut device);
    assert!(!device.sparse.growable_buffers() && device.sparse.binding);
}
