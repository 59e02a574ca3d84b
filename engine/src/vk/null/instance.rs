//! Instances and what can be asked of a physical device.

use super::features::answer;
use super::format;
use super::state::{Data, Dispatch, State, enter};
use super::support::{chain, enumerate, enumerate_into, find, get, list, set};
use ash::vk::{self, Handle};
use std::ffi::{CStr, c_char};

pub(super) unsafe fn create_instance(
    state: &'static State,
    info: *const vk::InstanceCreateInfo<'_>,
    out: *mut vk::Instance,
) -> vk::Result {
    let info = get!(info);
    let mut inner = state.lock();
    inner.count("vkCreateInstance");
    if info.enabled_layer_count > 0 {
        return vk::Result::ERROR_LAYER_NOT_PRESENT;
    }
    for name in list!(info.pp_enabled_extension_names, info.enabled_extension_count) {
        // SAFETY: extension names are C strings.
        let name = unsafe { CStr::from_ptr(*name) };
        if !state.config.instance_extensions.contains(&name) {
            return vk::Result::ERROR_EXTENSION_NOT_PRESENT;
        }
    }
    let dispatch = |instance, physical| Dispatch { state, instance, device: 0, physical, family: 0 };
    let instance: vk::Instance = inner.dispatchable(0, dispatch(0, 0), Data::Plain);
    for physical in 0..state.config.devices.len() {
        let owner = instance.as_raw();
        let _: vk::PhysicalDevice = inner.dispatchable(owner, dispatch(owner, physical), Data::Plain);
    }
    set!(out, instance);
    vk::Result::SUCCESS
}

pub(super) unsafe fn enumerate_instance_extension_properties(
    state: &'static State,
    layer: *const c_char,
    count: *mut u32,
    out: *mut vk::ExtensionProperties,
) -> vk::Result {
    state.lock().count("vkEnumerateInstanceExtensionProperties");
    let names: &[&CStr] = if layer.is_null() { &state.config.instance_extensions } else { &[] };
    // SAFETY: the two-call protocol of this function.
    unsafe { enumerate(&extensions(names), count, out) }
}

fn extensions(names: &[&CStr]) -> Vec<vk::ExtensionProperties> {
    let one = |name: &&CStr| {
        let mut properties = vk::ExtensionProperties { spec_version: 1, ..Default::default() };
        for (slot, byte) in properties.extension_name.iter_mut().zip(name.to_bytes_with_nul()) {
            *slot = *byte as c_char;
        }
        properties
    };
    names.iter().map(one).collect()
}

pub(super) unsafe extern "system" fn destroy_instance(
    instance: vk::Instance,
    _: *const vk::AllocationCallbacks<'_>,
) {
    if instance.is_null() {
        return;
    }
    let (_, mut inner) = enter(instance, "vkDestroyInstance");
    inner.check_orphans(instance.as_raw());
    inner.destroy(instance);
}

pub(super) unsafe extern "system" fn enumerate_physical_devices(
    instance: vk::Instance,
    count: *mut u32,
    out: *mut vk::PhysicalDevice,
) -> vk::Result {
    let (_, inner) = enter(instance, "vkEnumeratePhysicalDevices");
    let mut found: Vec<(usize, vk::PhysicalDevice)> = inner
        .live
        .iter()
        .filter(|(_, object)| {
            object.kind == vk::ObjectType::PHYSICAL_DEVICE && object.owner == instance.as_raw()
        })
        .map(|(raw, _)| {
            // SAFETY: a live dispatchable handle points to a `Dispatch` that is never freed.
            let dispatch = unsafe { &*std::ptr::with_exposed_provenance::<Dispatch>(*raw as usize) };
            (dispatch.physical, vk::PhysicalDevice::from_raw(*raw))
        })
        .collect();
    found.sort_by_key(|(index, _)| *index);
    let handles: Vec<_> = found.into_iter().map(|(_, handle)| handle).collect();
    // SAFETY: the two-call protocol of this function.
    unsafe { enumerate(&handles, count, out) }
}

pub(super) unsafe extern "system" fn enumerate_device_extension_properties(
    physical: vk::PhysicalDevice,
    layer: *const c_char,
    count: *mut u32,
    out: *mut vk::ExtensionProperties,
) -> vk::Result {
    let (dispatch, _inner) = enter(physical, "vkEnumerateDeviceExtensionProperties");
    let names: &[&CStr] = if layer.is_null() { &dispatch.device_config().extensions } else { &[] };
    // SAFETY: the two-call protocol of this function.
    unsafe { enumerate(&extensions(names), count, out) }
}

pub(super) unsafe extern "system" fn enumerate_device_layer_properties(
    physical: vk::PhysicalDevice,
    count: *mut u32,
    _: *mut vk::LayerProperties,
) -> vk::Result {
    let (_, _inner) = enter(physical, "vkEnumerateDeviceLayerProperties");
    set!(count, 0);
    vk::Result::SUCCESS
}

pub(super) unsafe extern "system" fn get_physical_device_queue_family_properties(
    physical: vk::PhysicalDevice,
    count: *mut u32,
    out: *mut vk::QueueFamilyProperties,
) {
    let (dispatch, _inner) = enter(physical, "vkGetPhysicalDeviceQueueFamilyProperties");
    // SAFETY: the two-call protocol of this function.
    let _ = unsafe { enumerate(&dispatch.device_config().queue_families, count, out) };
}

pub(super) unsafe extern "system" fn get_physical_device_queue_family_properties2(
    physical: vk::PhysicalDevice,
    count: *mut u32,
    out: *mut vk::QueueFamilyProperties2<'_>,
) {
    let (dispatch, _inner) = enter(physical, "vkGetPhysicalDeviceQueueFamilyProperties2");
    let families = &dispatch.device_config().queue_families;
    let write = |place: *mut vk::QueueFamilyProperties2<'_>, family: &vk::QueueFamilyProperties| {
        // SAFETY: `enumerate_into` hands out valid places only.
        unsafe { (*place).queue_family_properties = *family };
    };
    // SAFETY: the two-call protocol of this function.
    let _ = unsafe { enumerate_into(families, count, out, write) };
}

fn memory_properties(dispatch: &Dispatch) -> vk::PhysicalDeviceMemoryProperties {
    let device = dispatch.device_config();
    let mut properties = vk::PhysicalDeviceMemoryProperties {
        memory_type_count: device.memory_types.len() as u32,
        memory_heap_count: device.heaps.len() as u32,
        ..Default::default()
    };
    for (slot, item) in properties.memory_types.iter_mut().zip(&device.memory_types) {
        *slot = *item;
    }
    for (slot, item) in properties.memory_heaps.iter_mut().zip(&device.heaps) {
        *slot = *item;
    }
    properties
}

pub(super) unsafe extern "system" fn get_physical_device_memory_properties(
    physical: vk::PhysicalDevice,
    out: *mut vk::PhysicalDeviceMemoryProperties,
) {
    let (dispatch, _inner) = enter(physical, "vkGetPhysicalDeviceMemoryProperties");
    set!(out, memory_properties(dispatch));
}

pub(super) unsafe extern "system" fn get_physical_device_memory_properties2(
    physical: vk::PhysicalDevice,
    out: *mut vk::PhysicalDeviceMemoryProperties2<'_>,
) {
    let (dispatch, inner) = enter(physical, "vkGetPhysicalDeviceMemoryProperties2");
    // SAFETY: the chain of a valid output struct.
    for item in unsafe { chain(out.cast_const().cast()) } {
        match get!(item).s_type {
            vk::StructureType::PHYSICAL_DEVICE_MEMORY_PROPERTIES_2 => {
                let base = vk::PhysicalDeviceMemoryProperties2::default();
                answer!(item, base.memory_properties(memory_properties(dispatch)));
            }
            vk::StructureType::PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT => {
                let mut budget = vk::PhysicalDeviceMemoryBudgetPropertiesEXT::default();
                for (heap, properties) in dispatch.device_config().heaps.iter().enumerate() {
                    let key = (dispatch.physical, heap);
                    let of = |map: &std::collections::BTreeMap<_, u64>| map.get(&key).copied();
                    let foreign = of(&inner.foreign).unwrap_or(0);
                    // As drivers do: about what others leave, not a byte of which is promised.
                    let left = properties.size.saturating_sub(foreign);
                    budget.heap_budget[heap] = of(&inner.budgets).unwrap_or(left);
                    budget.heap_usage[heap] = of(&inner.heap_used).unwrap_or(0);
                }
                answer!(item, budget);
            }
            _ => {}
        }
    }
}

pub(super) unsafe extern "system" fn get_physical_device_format_properties(
    physical: vk::PhysicalDevice,
    wanted: vk::Format,
    out: *mut vk::FormatProperties,
) {
    let (dispatch, _inner) = enter(physical, "vkGetPhysicalDeviceFormatProperties");
    set!(out, format::properties(dispatch.device_config(), wanted));
}

pub(super) unsafe extern "system" fn get_physical_device_format_properties2(
    physical: vk::PhysicalDevice,
    wanted: vk::Format,
    out: *mut vk::FormatProperties2<'_>,
) {
    let (dispatch, _inner) = enter(physical, "vkGetPhysicalDeviceFormatProperties2");
    let properties = format::properties(dispatch.device_config(), wanted);
    // SAFETY: the chain of a valid output struct.
    for item in unsafe { chain(out.cast_const().cast()) } {
        match get!(item).s_type {
            vk::StructureType::FORMAT_PROPERTIES_2 => {
                answer!(item, vk::FormatProperties2::default().format_properties(properties));
            }
            vk::StructureType::FORMAT_PROPERTIES_3 => {
                // The first 31 bits mean the same in both.
                let wide = |flags: vk::FormatFeatureFlags| {
                    vk::FormatFeatureFlags2::from_raw(u64::from(flags.as_raw()))
                };
                let base = vk::FormatProperties3::default()
                    .linear_tiling_features(wide(properties.linear_tiling_features))
                    .optimal_tiling_features(wide(properties.optimal_tiling_features))
                    .buffer_features(wide(properties.buffer_features));
                answer!(item, base);
            }
            _ => {}
        }
    }
}

pub(super) unsafe extern "system" fn get_physical_device_image_format_properties(
    physical: vk::PhysicalDevice,
    wanted: vk::Format,
    kind: vk::ImageType,
    _: vk::ImageTiling,
    _: vk::ImageUsageFlags,
    flags: vk::ImageCreateFlags,
    out: *mut vk::ImageFormatProperties,
) -> vk::Result {
    let (dispatch, _inner) = enter(physical, "vkGetPhysicalDeviceImageFormatProperties");
    format::image_properties(dispatch.device_config(), wanted, kind, flags).map_or(
        vk::Result::ERROR_FORMAT_NOT_SUPPORTED,
        |properties| {
            set!(out, properties);
            vk::Result::SUCCESS
        },
    )
}

pub(super) unsafe extern "system" fn get_physical_device_image_format_properties2(
    physical: vk::PhysicalDevice,
    info: *const vk::PhysicalDeviceImageFormatInfo2<'_>,
    out: *mut vk::ImageFormatProperties2<'_>,
) -> vk::Result {
    let (dispatch, _inner) = enter(physical, "vkGetPhysicalDeviceImageFormatProperties2");
    let info = get!(info);
    format::image_properties(dispatch.device_config(), info.format, info.ty, info.flags).map_or(
        vk::Result::ERROR_FORMAT_NOT_SUPPORTED,
        |properties| {
            // SAFETY: the caller passes a valid output struct.
            unsafe { (*out).image_format_properties = properties };
            vk::Result::SUCCESS
        },
    )
}

pub(super) unsafe extern "system" fn get_physical_device_sparse_image_format_properties(
    physical: vk::PhysicalDevice,
    wanted: vk::Format,
    kind: vk::ImageType,
    samples: vk::SampleCountFlags,
    _: vk::ImageUsageFlags,
    _: vk::ImageTiling,
    count: *mut u32,
    out: *mut vk::SparseImageFormatProperties,
) {
    let (dispatch, _inner) = enter(physical, "vkGetPhysicalDeviceSparseImageFormatProperties");
    let found = format::sparse(dispatch.device_config(), wanted, kind, samples);
    // SAFETY: the two-call protocol of this function.
    let _ = unsafe { enumerate(found.as_slice(), count, out) };
}

pub(super) unsafe extern "system" fn get_physical_device_sparse_image_format_properties2(
    physical: vk::PhysicalDevice,
    info: *const vk::PhysicalDeviceSparseImageFormatInfo2<'_>,
    count: *mut u32,
    out: *mut vk::SparseImageFormatProperties2<'_>,
) {
    let (dispatch, _inner) = enter(physical, "vkGetPhysicalDeviceSparseImageFormatProperties2");
    let info = get!(info);
    let found = format::sparse(dispatch.device_config(), info.format, info.ty, info.samples);
    let write = |place: *mut vk::SparseImageFormatProperties2<'_>, item: &vk::SparseImageFormatProperties| {
        // SAFETY: `enumerate_into` hands out valid places only.
        unsafe { (*place).properties = *item };
    };
    // SAFETY: the two-call protocol of this function.
    let _ = unsafe { enumerate_into(found.as_slice(), count, out, write) };
}

/// Semaphore type and first value of a creation info.
///
/// # Safety
///
/// `info` is valid.
pub(super) unsafe fn timeline_start(info: &vk::SemaphoreCreateInfo<'_>) -> Option<u64> {
    // SAFETY: the chain of a valid creation info.
    let kind = unsafe { find::<vk::SemaphoreTypeCreateInfo<'_>>(info.p_next) }?;
    (kind.semaphore_type == vk::SemaphoreType::TIMELINE).then_some(kind.initial_value)
}
