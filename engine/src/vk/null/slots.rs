//! How a driver gets to the functions that take no handle: `vkCreateInstance` and the like.
//!
//! Those know nothing but their own address, so there is one copy of them for each driver that is open at a time.

use super::instance;
use super::state::State;
use super::table::{self, erase};
use ash::vk;
use std::ffi::{CStr, c_char};
use std::sync::{Condvar, Mutex, PoisonError};

/// How many drivers can be open at a time; a further one waits for another to be dropped.
const SLOTS: usize = 32;

static OPEN: Mutex<[Option<&'static State>; SLOTS]> = Mutex::new([None; SLOTS]);
static FREED: Condvar = Condvar::new();

/// Takes a free slot.
pub(super) fn open(state: &'static State) -> usize {
    let mut slots = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        if let Some(free) = slots.iter().position(Option::is_none) {
            slots[free] = Some(state);
            return free;
        }
        slots = FREED.wait(slots).unwrap_or_else(PoisonError::into_inner);
    }
}

/// Gives a slot back.
pub(super) fn close(slot: usize) {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)[slot] = None;
    FREED.notify_one();
}

fn state<const SLOT: usize>() -> Option<&'static State> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)[SLOT]
}

unsafe extern "system" fn create_instance<const SLOT: usize>(
    info: *const vk::InstanceCreateInfo<'_>,
    _: *const vk::AllocationCallbacks<'_>,
    out: *mut vk::Instance,
) -> vk::Result {
    state::<SLOT>().map_or(vk::Result::ERROR_INITIALIZATION_FAILED, |state| {
        // SAFETY: the same contract as the caller's.
        unsafe { instance::create_instance(state, info, out) }
    })
}

unsafe extern "system" fn enumerate_instance_version<const SLOT: usize>(out: *mut u32) -> vk::Result {
    state::<SLOT>().map_or(vk::Result::ERROR_OUT_OF_HOST_MEMORY, |state| {
        super::support::set!(out, state.config.instance_version);
        vk::Result::SUCCESS
    })
}

unsafe extern "system" fn enumerate_instance_extension_properties<const SLOT: usize>(
    layer: *const c_char,
    count: *mut u32,
    out: *mut vk::ExtensionProperties,
) -> vk::Result {
    state::<SLOT>().map_or(vk::Result::ERROR_OUT_OF_HOST_MEMORY, |state| {
        // SAFETY: the same contract as the caller's.
        unsafe { instance::enumerate_instance_extension_properties(state, layer, count, out) }
    })
}

unsafe extern "system" fn enumerate_instance_layer_properties(
    count: *mut u32,
    _: *mut vk::LayerProperties,
) -> vk::Result {
    super::support::set!(count, 0);
    vk::Result::SUCCESS
}

unsafe extern "system" fn get_device_proc_addr(_: vk::Device, name: *const c_char) -> vk::PFN_vkVoidFunction {
    // SAFETY: names are C strings.
    let name = unsafe { CStr::from_ptr(name) };
    name.to_str().ok().and_then(table::address)
}

unsafe extern "system" fn get_instance_proc_addr<const SLOT: usize>(
    instance: vk::Instance,
    name: *const c_char,
) -> vk::PFN_vkVoidFunction {
    // SAFETY: names are C strings.
    let name = unsafe { CStr::from_ptr(name) };
    match name.to_str() {
        Ok("vkGetInstanceProcAddr") => {
            erase!(PFN_vkGetInstanceProcAddr, get_instance_proc_addr::<SLOT>)
        }
        Ok("vkGetDeviceProcAddr") => erase!(PFN_vkGetDeviceProcAddr, get_device_proc_addr),
        Ok("vkCreateInstance") => erase!(PFN_vkCreateInstance, create_instance::<SLOT>),
        Ok("vkEnumerateInstanceVersion") => {
            erase!(PFN_vkEnumerateInstanceVersion, enumerate_instance_version::<SLOT>)
        }
        Ok("vkEnumerateInstanceExtensionProperties") => erase!(
            PFN_vkEnumerateInstanceExtensionProperties,
            enumerate_instance_extension_properties::<SLOT>
        ),
        Ok("vkEnumerateInstanceLayerProperties") => {
            erase!(PFN_vkEnumerateInstanceLayerProperties, enumerate_instance_layer_properties)
        }
        Ok(name) if instance != vk::Instance::null() => table::address(name),
        _ => None,
    }
}

/// The way into the driver in a slot.
pub(super) fn entry(slot: usize) -> vk::PFN_vkGetInstanceProcAddr {
    macro_rules! of {
        ($($slot:literal)*) => {
            const ALL: [vk::PFN_vkGetInstanceProcAddr; SLOTS] = [$(get_instance_proc_addr::<$slot>),*];
        };
    }
    of!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31);
    ALL[slot]
}
