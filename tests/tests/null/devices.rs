//! Opening devices of the null driver: the queues that were decided on are the ones that are used.

use std::sync::Arc;

use ash::vk::{self as raw, QueueFlags};
use vasa::vk::null::{NullConfig, NullDevice, NullDriver};
use vasa::vk::{
    Device, DeviceOptions, Error, FeatureMask, Instance, InstanceOptions, SparseQueuePolicy, Validation,
};

use crate::growing::grow_and_shrink;

/// Opens the best device of a driver.
pub fn open(driver: &NullDriver, options: &DeviceOptions) -> vasa::vk::Result<Arc<Device>> {
    let instance = Instance::new(InstanceOptions {
        application: "vasa-tests".into(),
        validation: Validation::Off,
        entry: Some(driver.entry()),
        ..Default::default()
    })?;
    Device::open(&instance, options)
}

pub const DRAWS: QueueFlags = QueueFlags::from_raw(
    QueueFlags::GRAPHICS.as_raw() | QueueFlags::COMPUTE.as_raw() | QueueFlags::TRANSFER.as_raw(),
);

fn with_families(families: &[(QueueFlags, u32)]) -> NullDriver {
    let empty = NullDevice::default().without_queue_families();
    let device = families.iter().fold(empty, |device, (flags, count)| device.queue_family(*flags, *count));
    NullDriver::new(NullConfig::with_devices(vec![device]))
}

/// Grows on a device with these families; returns the families that bound.
fn families_that_bind(families: &[(QueueFlags, u32)], sparse_queue: SparseQueuePolicy) -> Vec<u32> {
    let driver = with_families(families);
    let device = open(&driver, &DeviceOptions { sparse_queue, ..Default::default() }).unwrap();
    grow_and_shrink(&device);
    drop(device);
    driver.assert_clean();
    let mut families: Vec<u32> = driver.binds().iter().map(|bind| bind.queue_family).collect();
    families.dedup();
    families
}

#[test]
fn binds_go_to_the_family_of_the_plan() {
    use SparseQueuePolicy::{Auto, Graphics, Side};
    let sparse = QueueFlags::SPARSE_BINDING;
    assert_eq!(families_that_bind(&[(DRAWS | sparse, 1)], Auto), [0]);
    assert_eq!(families_that_bind(&[(DRAWS, 1), (sparse, 1)], Auto), [1], "a family that can only bind");
    assert_eq!(families_that_bind(&[(DRAWS, 1), (sparse, 1)], Graphics), [1], "graphics cannot bind");
    let both = [(DRAWS | sparse, 4), (QueueFlags::TRANSFER | sparse, 1)];
    assert_eq!(families_that_bind(&both, Auto), [1]);
    assert_eq!(families_that_bind(&both, Side), [1]);
    assert_eq!(families_that_bind(&both, Graphics), [0]);
}

#[test]
fn a_family_that_binds_without_the_feature_is_not_used() {
    assert_eq!(families_that_bind(&[(DRAWS, 1)], SparseQueuePolicy::Auto), [] as [u32; 0], "no family binds");
    let driver = NullDriver::new(NullConfig::with_devices(vec![NullDevice::default().without_sparse()]));
    let device = open(&driver, &DeviceOptions::default()).unwrap();
    assert!(!device.capabilities().sparse.growable_buffers());
    grow_and_shrink(&device);
    drop(device);
    driver.assert_clean();
    assert_eq!(driver.calls("vkQueueBindSparse"), 0);
}

#[test]
fn a_masked_device_binds_nothing() {
    let driver = NullDriver::new(NullConfig::default());
    let options = DeviceOptions { mask: FeatureMask::fallback(), ..Default::default() };
    let device = open(&driver, &options).unwrap();
    grow_and_shrink(&device);
    drop(device);
    driver.assert_clean();
    assert_eq!(driver.calls("vkQueueBindSparse"), 0);
}

#[test]
fn sparse_binding_without_a_memory_type_for_it_is_not_believed() {
    let liar = NullDevice { sparse_buffer_type_bits: 0, ..Default::default() };
    let driver = NullDriver::new(NullConfig::with_devices(vec![liar]));
    let device = open(&driver, &DeviceOptions::default()).unwrap();
    assert!(!device.capabilities().sparse.growable_buffers());
    grow_and_shrink(&device);
    drop(device);
    driver.assert_clean();
    assert_eq!(driver.calls("vkQueueBindSparse"), 0);
}

#[test]
fn partially_resident_images_without_a_memory_type_for_them_are_not_believed() {
    let liar = NullDevice { sparse_image_type_bits: 0, ..Default::default() };
    let driver = NullDriver::new(NullConfig::with_devices(vec![liar]));
    let device = open(&driver, &DeviceOptions::default()).unwrap();
    let sparse = device.capabilities().sparse;
    assert!(!sparse.residency_image_2d && !sparse.residency_image_3d);
    assert!(sparse.growable_buffers(), "buffers have memory types of their own");
    grow_and_shrink(&device);
    drop(device);
    driver.assert_clean();
    assert!(driver.calls("vkQueueBindSparse") > 0);
}

#[test]
fn the_best_of_several_devices_is_opened_and_the_wanted_one_when_named() {
    let kinds = [
        ("Slow", raw::PhysicalDeviceType::CPU),
        ("Fast", raw::PhysicalDeviceType::DISCRETE_GPU),
        ("Built-in", raw::PhysicalDeviceType::INTEGRATED_GPU),
    ];
    let devices = kinds.iter().map(|(name, kind)| NullDevice::new(name, *kind)).collect();
    let driver = NullDriver::new(NullConfig::with_devices(devices));
    for (wanted, expected) in [(None, "Fast"), (Some("slow"), "Slow"), (Some("built"), "Built-in")] {
        let options = DeviceOptions { name: wanted.map(String::from), ..Default::default() };
        assert_eq!(open(&driver, &options).unwrap().capabilities().name, expected);
    }
    let options = DeviceOptions { name: Some("Voodoo".into()), ..Default::default() };
    let error = open(&driver, &options).unwrap_err();
    assert!(matches!(error, Error::NoDevice { .. }));
    for name in ["Slow", "Fast", "Built-in"] {
        assert!(error.to_string().contains(name), "{error}");
    }
    driver.assert_clean();
}

#[test]
fn a_device_that_lacks_a_feature_is_refused_by_its_name() {
    let mut poor = NullDevice::default();
    poor.features12.timeline_semaphore = raw::FALSE;
    poor.features13.synchronization2 = raw::FALSE;
    let driver = NullDriver::new(NullConfig::with_devices(vec![poor]));
    let error = open(&driver, &DeviceOptions::default()).unwrap_err().to_string();
    assert!(error.contains("timelineSemaphore") && error.contains("synchronization2"), "{error}");
    let driver = NullDriver::new(NullConfig::with_devices(Vec::new()));
    assert!(open(&driver, &DeviceOptions::default()).is_err(), "no device at all");
}
