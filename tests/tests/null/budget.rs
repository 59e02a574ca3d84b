//! Budgets as drivers tell them, on invented devices.

use std::sync::Arc;
use std::time::Duration;

use vasa::memory::{BudgetKnobs, BudgetSource, DeviceBudget, ResidencyKnobs, ResidencyManager};
use vasa::vk::null::{NullConfig, NullDevice, NullDriver};
use vasa::vk::quirks::Switch;
use vasa::vk::{Device, DeviceOptions, FeatureMask};

use crate::devices::open;

const QUERY: &str = "vkGetPhysicalDeviceMemoryProperties2";

fn driver() -> NullDriver {
    NullDriver::new(NullConfig::with_devices(vec![NullDevice::default()]))
}

fn manager(device: &Arc<Device>) -> ResidencyManager {
    let budget = BudgetKnobs { margin_bytes: 0, ..Default::default() };
    ResidencyManager::new(
        Box::new(DeviceBudget::new(device)),
        ResidencyKnobs { budget, ..Default::default() },
    )
}

#[test]
fn the_driver_is_asked_at_most_once_a_frame_and_every_200_milliseconds() {
    let driver = driver();
    {
        let device = open(&driver, &DeviceOptions::default()).unwrap();
        driver.set_budget(0, 0, 1000 << 20);
        let mut manager = manager(&device);
        let before = driver.calls(QUERY);
        for frame in 1..=100u64 {
            for _ in 0..3 {
                manager.tick(frame, Duration::from_millis(frame * 20), 0);
            }
        }
        assert_eq!(driver.calls(QUERY) - before, 10, "2 seconds of frames");
        assert_eq!(manager.state().budget, 1000 << 20);
        // Another program starts.
        driver.set_budget(0, 0, 300 << 20);
        manager.tick(101, Duration::from_millis(2020), 0);
        assert_eq!(manager.state().budget, 1000 << 20, "not asked yet");
        let usage = manager.state().usage;
        let memory = device.allocate_memory("Between.Queries", 4 << 20, 0, true).unwrap();
        manager.tick(102, Duration::from_millis(2040), 0);
        assert_eq!(manager.state().usage, usage + (4 << 20), "own bytes fill the time between");
        manager.tick(110, Duration::from_millis(2200), 0);
        assert_eq!((manager.state().budget, manager.state().usage), (300 << 20, usage + (4 << 20)));
        drop(memory);
    }
    driver.assert_clean();
}

#[test]
fn without_the_extension_or_where_it_cannot_be_believed_own_accounting_decides() {
    let driver = driver();
    {
        let masked =
            DeviceOptions { mask: FeatureMask::parse("memory_budget").unwrap(), ..Default::default() };
        let quirk = DeviceOptions { switches: vec![Switch::BudgetCountsTouchedPages], ..Default::default() };
        for options in [masked, quirk] {
            let device = open(&driver, &options).unwrap();
            driver.set_budget(0, 0, 1 << 20);
            assert_eq!(device.query_memory_budget(), None);
            let heap = device.capabilities().heaps[0].bytes;
            let memory = device.allocate_memory("Own", 4 << 20, 0, true).unwrap();
            let manager = manager(&device);
            let state = manager.state();
            assert_eq!((state.budget, state.usage), (heap / 10 * 8, device.heap_bytes(0)));
            assert!(state.usage >= 4 << 20);
            drop(memory);
        }
        let device = open(&driver, &DeviceOptions::default()).unwrap();
        assert_eq!(device.query_memory_budget().unwrap()[0].0, 1 << 20);
        assert_eq!(DeviceBudget::new(&device).heaps().len(), device.capabilities().heaps.len());
    }
    driver.assert_clean();
}

#[test]
fn a_limit_refuses_device_memory_and_leaves_host_memory_alone() {
    let driver = driver();
    {
        let device = open(&driver, &DeviceOptions::default()).unwrap();
        device.limit_memory(Some(device.heap_bytes(0) + (1 << 20)));
        let error = device.allocate_memory("Large", 2 << 20, 0, true).unwrap_err();
        assert!(error.out_of_memory().is_some_and(|report| report.heap == 0), "{error}");
        assert!(device.allocate_memory("Host", 2 << 20, 1, true).is_ok());
        device.limit_memory(None);
        assert!(device.allocate_memory("Large", 2 << 20, 0, true).is_ok());
    }
    driver.assert_clean();
}
