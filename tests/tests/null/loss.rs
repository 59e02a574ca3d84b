//! A driver that loses the device, seen from its side: no call reaches the device any more, but the question what
//! went wrong; nothing is destroyed; the next device works.

use vasa::sparse::SparseKnobs;
use vasa::vk::null::{Fault, NullConfig, NullDevice, NullDriver};
use vasa::vk::{DeviceOptions, FeatureMask};
use vasa_tests::scenes;

use crate::devices::open;

const FRAMES: u32 = 6;

fn driver(with_fault_extension: bool) -> NullDriver {
    let mut device = NullDevice::default();
    if with_fault_extension {
        device.extensions.push(ash::ext::device_fault::NAME);
    }
    NullDriver::new(NullConfig::with_devices(vec![device]))
}

fn fly(driver: &NullDriver, options: &DeviceOptions) -> vasa::Result<()> {
    // What the worker does, and when, is not the same in every run.
    let sparse = SparseKnobs { commit_ahead: false, ..Default::default() };
    scenes::fly(&open(driver, options)?, sparse, FRAMES).map(drop)
}

#[test]
fn no_call_reaches_a_lost_device() {
    for mask in [FeatureMask::default(), FeatureMask::fallback()] {
        let options = DeviceOptions { mask, ..Default::default() };
        let counted = driver(false);
        fly(&counted, &options).unwrap();
        let calls = counted.calls("vkQueueSubmit2") + counted.calls("vkQueueBindSparse");
        assert!(calls > u64::from(FRAMES));
        for nth in 1..=calls {
            let driver = driver(false);
            driver.fail_nth(Fault::LoseDevice, nth);
            let error = fly(&driver, &options).expect_err("the loss went unnoticed");
            assert!(error.device_loss().is_some(), "{nth} of {calls}: {error}");
            assert_eq!(driver.calls_after_loss(), [""; 0], "{nth} of {calls}");
            assert_eq!(driver.calls("vkDestroyDevice") + driver.calls("vkDestroyInstance"), 0);
            // Another device of the same driver: what is alive at the end is what the lost one left.
            let left = driver.live();
            fly(&driver, &options).unwrap();
            assert_eq!(driver.live(), left, "{nth} of {calls}");
            assert_eq!(driver.errors(), [""; 0], "{nth} of {calls}");
        }
    }
}

#[test]
fn the_driver_is_asked_what_went_wrong_where_it_can_tell() {
    for (has_it, masked) in [(true, false), (true, true), (false, false)] {
        let driver = driver(has_it);
        let mask = if masked { "device_fault" } else { "" };
        let options = DeviceOptions { mask: FeatureMask::parse(mask).unwrap(), ..Default::default() };
        driver.fail_nth(Fault::LoseDevice, 4);
        let error = fly(&driver, &options).unwrap_err();
        let fault = error.device_loss().unwrap().fault.clone();
        if has_it && !masked {
            let said = "nothing was executed, invalid write at 0x12340000 (within 4096 bytes)";
            assert_eq!(fault.as_deref(), Some(said));
            assert!(error.to_string().contains(said), "{error}");
            assert_eq!(driver.calls_after_loss(), ["vkGetDeviceFaultInfoEXT"; 2]);
        } else {
            assert_eq!(fault, None);
            assert_eq!(driver.calls_after_loss(), [""; 0]);
        }
        assert_eq!(driver.errors(), [""; 0]);
    }
}

#[test]
fn a_report_asks_for_the_feature_and_not_only_for_the_extension() {
    let driver = driver(true);
    let device = open(&driver, &DeviceOptions::default()).unwrap();
    assert!(device.capabilities().optional.device_fault);
    drop(device);
    driver.assert_clean();
}
