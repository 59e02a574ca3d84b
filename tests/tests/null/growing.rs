//! Growable buffers on the null driver: what a real driver does not show, or not on demand.

use std::sync::Arc;

use ash::vk::{BufferUsageFlags, Handle};
use vasa::sparse::{GrowableBuffer, GrowableDesc, SparseKnobs, SparseMemory};
use vasa::vk::null::{BindPlace, Fault, NullConfig, NullDevice, NullDriver};
use vasa::vk::{Device, DeviceOptions, Error, Timeline};
use vasa_tests::{MIB, TILE};

use crate::devices::open;

fn memory(device: &Arc<Device>) -> SparseMemory {
    SparseMemory::new(device, SparseKnobs { chunk_bytes: MIB, ..Default::default() })
}

fn buffer(sparse: &SparseMemory, capacity: u64) -> GrowableBuffer {
    GrowableBuffer::new(sparse, &GrowableDesc::new("Null", capacity, BufferUsageFlags::STORAGE_BUFFER))
        .unwrap()
}

/// Moves a buffer up and down, and drops it with a commit pending.
pub fn grow_and_shrink(device: &Arc<Device>) {
    let sparse = memory(device);
    let mut buffer = buffer(&sparse, 16 * MIB);
    for mib in [1, 5, 2, 9, 0, 3] {
        buffer.commit(mib * MIB).unwrap();
        sparse.flush(None).unwrap();
        device.submit(Timeline::Graphics, Vec::new(), &[]).unwrap();
        assert_eq!(buffer.committed(), mib * MIB);
    }
    buffer.commit(16 * MIB).unwrap();
}

#[test]
fn a_coarser_alignment_than_the_usual_tile_is_obeyed() {
    // Larger than any driver seen so far. A bind past the buffer's end, or between tiles, is an error of the driver.
    for tile in [TILE * 2, TILE * 4] {
        let coarse = NullDevice { sparse_alignment: tile, ..Default::default() };
        let driver = NullDriver::new(NullConfig::with_devices(vec![coarse]));
        let device = open(&driver, &DeviceOptions::default()).unwrap();
        let sparse = memory(&device);
        let mut buffer = buffer(&sparse, tile + 1);
        assert_eq!(buffer.capacity(), 2 * tile);
        assert_eq!(sparse.stats().reserved_bytes, 2 * tile);
        for bytes in [1, u64::MAX, tile, 0, u64::MAX] {
            buffer.commit(bytes).unwrap();
            sparse.flush(None).unwrap();
        }
        assert_eq!(buffer.committed(), 2 * tile);
        for bind in driver.binds() {
            let BindPlace::Buffer { offset, size } = bind.place else { panic!("{bind:?}") };
            assert!([offset, size, bind.memory_offset].iter().all(|n| n.is_multiple_of(tile)), "{bind:?}");
        }
        drop((buffer, sparse, device));
        driver.assert_clean();
    }
}

#[test]
fn a_device_that_is_behind_keeps_every_object_it_still_needs() {
    let driver = NullDriver::new(NullConfig::default());
    let device = open(&driver, &DeviceOptions::default()).unwrap();
    driver.hold_work_after(0);
    let sparse = memory(&device);
    let mut held = buffer(&sparse, 16 * MIB);
    held.commit(8 * MIB).unwrap();
    let wait: Vec<_> = sparse.flush(None).unwrap().wait.into_iter().collect();
    device.submit(Timeline::Graphics, Vec::new(), &wait).unwrap();
    held.commit(MIB).unwrap();
    assert!(sparse.flush(None).unwrap().waits, "the moment still lies ahead");
    drop(held);
    sparse.trim();
    device.collect().unwrap();
    assert!(device.retiring() > 0, "nothing is done, so nothing may be destroyed");
    assert_eq!(device.object_counts().chunk_allocations, 8);
    driver.release_work();
    device.wait_idle().unwrap();
    assert_eq!((device.retiring(), device.object_counts().chunk_allocations), (0, 0));
    drop((sparse, device));
    driver.assert_clean();
}

#[test]
fn chunks_and_buffers_carry_names() {
    let driver = NullDriver::new(NullConfig::default());
    let device = open(&driver, &DeviceOptions::default()).unwrap();
    let sparse = memory(&device);
    let mut named = buffer(&sparse, 16 * MIB);
    named.commit(2 * MIB).unwrap();
    assert_eq!(driver.name_of(named.buffer().raw()).as_deref(), Some("Null"));
    let (chunk, _) = named.locate(MIB).unwrap();
    let name = driver.name_of(chunk.raw()).unwrap_or_default();
    assert!(!chunk.raw().is_null() && name.starts_with("Null.Chunk"), "{name}");
    drop((chunk, named, sparse, device));
    driver.assert_clean();
}

#[test]
fn a_lost_device_is_said_as_such_and_nothing_is_destroyed() {
    let driver = NullDriver::new(NullConfig::default());
    let device = open(&driver, &DeviceOptions::default()).unwrap();
    let sparse = memory(&device);
    let mut lost = buffer(&sparse, 16 * MIB);
    lost.commit(2 * MIB).unwrap();
    sparse.flush(None).unwrap();
    driver.fail_nth(Fault::LoseDevice, 1);
    lost.commit(4 * MIB).unwrap();
    let error = sparse.flush(None).unwrap_err();
    assert!(matches!(error, vasa::sparse::Error::Vulkan(Error::DeviceLost { .. })), "{error}");
    assert!(device.is_lost());
    let destroyed = driver.calls("vkDestroyBuffer") + driver.calls("vkFreeMemory");
    drop((lost, sparse));
    assert!(device.collect().is_err() || device.retiring() == 0);
    drop(device);
    assert_eq!(driver.calls("vkDestroyBuffer") + driver.calls("vkFreeMemory"), destroyed);
}

#[test]
fn a_driver_that_must_not_unbind_keeps_its_tiles() {
    let driver = NullDriver::new(NullConfig::with_devices(vec![NullDevice::default()]));
    let switches = vec![vasa::vk::quirks::Switch::NoNullUnbind];
    let device = open(&driver, &DeviceOptions { switches, ..Default::default() }).unwrap();
    let sparse = memory(&device);
    let mut buffer = buffer(&sparse, 16 * MIB);
    for mib in [4, 1, 0, 6] {
        buffer.commit(mib * MIB).unwrap();
        sparse.flush(None).unwrap();
    }
    assert_eq!(buffer.committed(), 6 * MIB);
    let binds = driver.binds();
    assert!(!binds.is_empty() && binds.iter().all(|bind| bind.memory.is_some()), "{binds:?}");
    let bound: u64 = binds
        .iter()
        .map(|bind| match bind.place {
            BindPlace::Buffer { size, .. } => size,
            _ => panic!("{bind:?}"),
        })
        .sum();
    assert_eq!(bound, 6 * MIB, "tiles that stayed bound were bound again");
    drop((buffer, sparse, device));
    driver.assert_clean();
}

#[test]
fn what_stays_bound_is_cleared_where_zeros_are_promised() {
    let driver = NullDriver::new(NullConfig::with_devices(vec![NullDevice::default()]));
    let switches = vec![vasa::vk::quirks::Switch::NoNullUnbind];
    let device = open(&driver, &DeviceOptions { switches, ..Default::default() }).unwrap();
    let sparse = memory(&device);
    let contents = vasa::sparse::Contents::Zeroed;
    let desc = GrowableDesc::new("Zeroed", 16 * MIB, BufferUsageFlags::STORAGE_BUFFER);
    let mut buffer = GrowableBuffer::new(&sparse, &GrowableDesc { contents, ..desc }).unwrap();
    let mut fills = Vec::new();
    for mib in [4, 1, 4] {
        let before = driver.calls("vkCmdFillBuffer");
        buffer.commit(mib * MIB).unwrap();
        sparse.flush(None).unwrap();
        fills.push(driver.calls("vkCmdFillBuffer") - before);
    }
    assert_eq!(fills, [1, 1, 0], "cleared when bound, cleared when given back, zero still");
    drop((buffer, sparse, device));
    driver.assert_clean();
}
