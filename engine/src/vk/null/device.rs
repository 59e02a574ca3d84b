//! Devices and their queues.

use super::features;
use super::state::{Data, Dispatch, enter};
use super::support::{get, list, set};
use ash::vk::{self, Handle};
use std::ffi::CStr;

pub(super) unsafe extern "system" fn create_device(
    physical: vk::PhysicalDevice,
    info: *const vk::DeviceCreateInfo<'_>,
    _: *const vk::AllocationCallbacks<'_>,
    out: *mut vk::Device,
) -> vk::Result {
    let (dispatch, mut inner) = enter(physical, "vkCreateDevice");
    let (info, config) = (get!(info), dispatch.device_config());
    for name in list!(info.pp_enabled_extension_names, info.enabled_extension_count) {
        // SAFETY: extension names are C strings.
        let name = unsafe { CStr::from_ptr(*name) };
        if !config.extensions.contains(&name) {
            return vk::Result::ERROR_EXTENSION_NOT_PRESENT;
        }
    }
    // SAFETY: the creation info is the caller's, and valid.
    if !unsafe { features::supports(dispatch, info) } {
        return vk::Result::ERROR_FEATURE_NOT_PRESENT;
    }
    let mut wanted = Vec::new();
    for queues in list!(info.p_queue_create_infos, info.queue_create_info_count) {
        let have = config.queue_families.get(queues.queue_family_index as usize);
        if have.is_none_or(|family| family.queue_count < queues.queue_count || queues.queue_count == 0) {
            inner.error(format!(
                "{} queues of family {} asked for, which has {}",
                queues.queue_count,
                queues.queue_family_index,
                have.map_or(0, |family| family.queue_count)
            ));
            return vk::Result::ERROR_INITIALIZATION_FAILED;
        }
        wanted.extend((0..queues.queue_count).map(|index| (queues.queue_family_index, index)));
    }
    let new = |device, family| Dispatch {
        state: dispatch.state,
        instance: dispatch.instance,
        device,
        physical: dispatch.physical,
        family,
    };
    let device: vk::Device =
        inner.dispatchable(dispatch.instance, new(0, 0), Data::Device { queues: Vec::new() });
    let mut queues = Vec::new();
    for (family, index) in wanted {
        let queue: vk::Queue = inner.dispatchable(device.as_raw(), new(device.as_raw(), family), Data::Plain);
        queues.push((family, index, queue.as_raw()));
    }
    if let Some(Data::Device { queues: slot }) = inner.data(device) {
        *slot = queues;
    }
    set!(out, device);
    vk::Result::SUCCESS
}

pub(super) unsafe extern "system" fn destroy_device(
    device: vk::Device,
    _: *const vk::AllocationCallbacks<'_>,
) {
    if device.is_null() {
        return;
    }
    let (_, mut inner) = enter(device, "vkDestroyDevice");
    let queues: Vec<u64> = match inner.data(device) {
        Some(Data::Device { queues }) => queues.iter().map(|(_, _, queue)| *queue).collect(),
        _ => Vec::new(),
    };
    let lost = inner.lost.remove(&device.as_raw());
    for queue in queues {
        let waiting = inner.pending.remove(&queue).map_or(0, |pending| pending.len());
        if waiting > 0 && !lost {
            inner.error(format!("{waiting} submissions are still pending"));
        }
    }
    inner.check_orphans(device.as_raw());
    inner.destroy(device);
}

/// One invalid write, for devices that are lost.
pub(super) unsafe extern "system" fn get_device_fault_info_ext(
    device: vk::Device,
    counts: *mut vk::DeviceFaultCountsEXT<'_>,
    info: *mut vk::DeviceFaultInfoEXT<'_>,
) -> vk::Result {
    let (_, mut inner) = enter(device, "vkGetDeviceFaultInfoEXT");
    if !inner.lost.contains(&device.as_raw()) {
        inner.error("the device is not lost".to_owned());
    }
    // SAFETY: the caller's own structs; `info` is null where only counts are asked for, and else has room for them.
    unsafe {
        if let Some(info) = info.as_mut() {
            let text = c"nothing was executed";
            for (place, byte) in info.description.iter_mut().zip(text.to_bytes_with_nul()) {
                *place = *byte as std::ffi::c_char;
            }
            if (*counts).address_info_count > 0 {
                let address = vk::DeviceFaultAddressInfoEXT::default()
                    .address_type(vk::DeviceFaultAddressTypeEXT::WRITE_INVALID)
                    .reported_address(0x1234_0000)
                    .address_precision(4096);
                info.p_address_infos.write(address);
            }
        }
        (*counts).address_info_count = 1;
        (*counts).vendor_info_count = 0;
        (*counts).vendor_binary_size = 0;
    }
    vk::Result::SUCCESS
}

fn queue_of(device: vk::Device, call: &'static str, family: u32, index: u32) -> vk::Queue {
    let (_, mut inner) = enter(device, call);
    let found = match inner.data(device) {
        Some(Data::Device { queues }) => {
            queues.iter().find(|(f, i, _)| (*f, *i) == (family, index)).map(|(_, _, queue)| *queue)
        }
        _ => None,
    };
    if found.is_none() {
        inner.error(format!("queue {index} of family {family} was not created with the device"));
    }
    vk::Queue::from_raw(found.unwrap_or(0))
}

pub(super) unsafe extern "system" fn get_device_queue(
    device: vk::Device,
    family: u32,
    index: u32,
    out: *mut vk::Queue,
) {
    set!(out, queue_of(device, "vkGetDeviceQueue", family, index));
}

pub(super) unsafe extern "system" fn get_device_queue2(
    device: vk::Device,
    info: *const vk::DeviceQueueInfo2<'_>,
    out: *mut vk::Queue,
) {
    let info = get!(info);
    set!(out, queue_of(device, "vkGetDeviceQueue2", info.queue_family_index, info.queue_index));
}
