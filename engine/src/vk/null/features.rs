//! Features and properties with their `pNext` chains.

use super::state::{Dispatch, enter};
use super::support::{chain, get, set};
use ash::vk;
use std::ffi::c_void;

/// Feature bits in the structs of Vulkan 1.1, 1.2 and 1.3, which follow one another after `pNext`.
const COUNT_10: usize = 55;
const COUNT_11: usize = 12;
const COUNT_12: usize = 47;
const COUNT_13: usize = 15;
const HEADER: usize = size_of::<vk::BaseInStructure<'static>>();

/// The feature bits of a struct that has `count` of them `skip` bytes in.
///
/// # Safety
///
/// `features` points to a struct with that many consecutive `VkBool32` there, alive for `'a`.
unsafe fn bits<'a>(features: *const c_void, skip: usize, count: usize) -> &'a [vk::Bool32] {
    // SAFETY: as promised by the caller.
    unsafe { std::slice::from_raw_parts(features.cast::<u8>().add(skip).cast(), count) }
}

/// Switches `count` bits on.
///
/// # Safety
///
/// As [`bits`], and nothing else looks at the struct.
unsafe fn set_bits(features: *mut c_void, skip: usize, count: usize) {
    for index in 0..count {
        // SAFETY: as promised by the caller.
        unsafe { features.cast::<u8>().add(skip).cast::<vk::Bool32>().add(index).write(vk::TRUE) };
    }
}

pub(super) fn all_10() -> vk::PhysicalDeviceFeatures {
    let mut features = vk::PhysicalDeviceFeatures::default();
    // SAFETY: the struct is nothing but its 55 bits.
    unsafe { set_bits((&raw mut features).cast(), 0, COUNT_10) };
    features
}

pub(super) fn set_all_11(features: &mut vk::PhysicalDeviceVulkan11Features<'_>) {
    // SAFETY: the struct has that many bits after its header.
    unsafe { set_bits(std::ptr::from_mut(features).cast(), HEADER, COUNT_11) };
}

pub(super) fn set_all_12(features: &mut vk::PhysicalDeviceVulkan12Features<'_>) {
    // SAFETY: the struct has that many bits after its header.
    unsafe { set_bits(std::ptr::from_mut(features).cast(), HEADER, COUNT_12) };
}

pub(super) fn set_all_13(features: &mut vk::PhysicalDeviceVulkan13Features<'_>) {
    // SAFETY: the struct has that many bits after its header.
    unsafe { set_bits(std::ptr::from_mut(features).cast(), HEADER, COUNT_13) };
}

/// Whether a device creation asks only for features there are.
///
/// # Safety
///
/// `info` is a valid creation info.
pub(super) unsafe fn supports(dispatch: &Dispatch, info: &vk::DeviceCreateInfo<'_>) -> bool {
    let device = dispatch.device_config();
    let within = |asked: *const c_void, have: *const c_void, skip, count| {
        // SAFETY: both are the struct that the caller of this closure found by its type.
        let (asked, have) = unsafe { (bits(asked, skip, count), bits(have, skip, count)) };
        asked.iter().zip(have).all(|(asked, have)| *asked == vk::FALSE || *have == vk::TRUE)
    };
    let mut fine = info.p_enabled_features.is_null()
        || within(info.p_enabled_features.cast(), (&raw const device.features).cast(), 0, COUNT_10);
    // SAFETY: the chain of a valid creation info.
    for item in unsafe { chain(info.p_next) } {
        let at = item.cast::<c_void>();
        fine &= match get!(item).s_type {
            vk::StructureType::PHYSICAL_DEVICE_FEATURES_2 => {
                let skip = std::mem::offset_of!(vk::PhysicalDeviceFeatures2<'static>, features);
                // SAFETY: `s_type` says what it is.
                let asked = unsafe { at.cast::<u8>().add(skip) };
                within(asked.cast(), (&raw const device.features).cast(), 0, COUNT_10)
            }
            vk::StructureType::PHYSICAL_DEVICE_VULKAN_1_1_FEATURES => {
                within(at, (&raw const device.features11).cast(), HEADER, COUNT_11)
            }
            vk::StructureType::PHYSICAL_DEVICE_VULKAN_1_2_FEATURES => {
                within(at, (&raw const device.features12).cast(), HEADER, COUNT_12)
            }
            vk::StructureType::PHYSICAL_DEVICE_VULKAN_1_3_FEATURES => {
                within(at, (&raw const device.features13).cast(), HEADER, COUNT_13)
            }
            _ => true,
        };
    }
    fine
}

/// Overwrites a struct of an output chain, keeping its link.
macro_rules! answer {
    ($at:expr, $value:expr) => {{
        let (at, mut value) = ($at, $value);
        value.p_next = get!(at).p_next.cast_mut().cast();
        fn same<T>(at: *const vk::BaseInStructure<'static>, _: &T) -> *mut T {
            at.cast_mut().cast()
        }
        let place = same(at, &value);
        set!(place, value)
    }};
}
pub(super) use answer;

pub(super) unsafe extern "system" fn get_physical_device_features(
    physical: vk::PhysicalDevice,
    out: *mut vk::PhysicalDeviceFeatures,
) {
    let (dispatch, _inner) = enter(physical, "vkGetPhysicalDeviceFeatures");
    set!(out, dispatch.device_config().features);
}

pub(super) unsafe extern "system" fn get_physical_device_features2(
    physical: vk::PhysicalDevice,
    out: *mut vk::PhysicalDeviceFeatures2<'_>,
) {
    let (dispatch, _inner) = enter(physical, "vkGetPhysicalDeviceFeatures2");
    let device = dispatch.device_config();
    // SAFETY: the chain of a valid output struct.
    for item in unsafe { chain(out.cast_const().cast()) } {
        match get!(item).s_type {
            vk::StructureType::PHYSICAL_DEVICE_FEATURES_2 => {
                answer!(item, vk::PhysicalDeviceFeatures2::default().features(device.features));
            }
            vk::StructureType::PHYSICAL_DEVICE_VULKAN_1_1_FEATURES => answer!(item, device.features11),
            vk::StructureType::PHYSICAL_DEVICE_VULKAN_1_2_FEATURES => answer!(item, device.features12),
            vk::StructureType::PHYSICAL_DEVICE_VULKAN_1_3_FEATURES => answer!(item, device.features13),
            vk::StructureType::PHYSICAL_DEVICE_FAULT_FEATURES_EXT => {
                let has = device.extensions.contains(&ash::ext::device_fault::NAME);
                answer!(item, vk::PhysicalDeviceFaultFeaturesEXT::default().device_fault(has));
            }
            _ => {}
        }
    }
}

pub(super) unsafe extern "system" fn get_physical_device_properties(
    physical: vk::PhysicalDevice,
    out: *mut vk::PhysicalDeviceProperties,
) {
    let (dispatch, _inner) = enter(physical, "vkGetPhysicalDeviceProperties");
    set!(out, properties(dispatch));
}

pub(super) unsafe extern "system" fn get_physical_device_properties2(
    physical: vk::PhysicalDevice,
    out: *mut vk::PhysicalDeviceProperties2<'_>,
) {
    let (dispatch, _inner) = enter(physical, "vkGetPhysicalDeviceProperties2");
    // SAFETY: the chain of a valid output struct.
    for item in unsafe { chain(out.cast_const().cast()) } {
        match get!(item).s_type {
            vk::StructureType::PHYSICAL_DEVICE_PROPERTIES_2 => {
                answer!(item, vk::PhysicalDeviceProperties2::default().properties(properties(dispatch)));
            }
            vk::StructureType::PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES => answer!(item, properties11()),
            vk::StructureType::PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES => answer!(item, properties12(dispatch)),
            vk::StructureType::PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES => {
                let base = vk::PhysicalDeviceVulkan13Properties::default();
                answer!(item, base.min_subgroup_size(32).max_subgroup_size(32).max_buffer_size(1 << 40));
            }
            vk::StructureType::PHYSICAL_DEVICE_DRIVER_PROPERTIES => {
                answer!(item, vk::PhysicalDeviceDriverProperties::default());
            }
            vk::StructureType::PHYSICAL_DEVICE_ID_PROPERTIES => {
                answer!(item, vk::PhysicalDeviceIDProperties::default().device_uuid(uuid(dispatch)));
            }
            vk::StructureType::PHYSICAL_DEVICE_SUBGROUP_PROPERTIES => {
                answer!(item, vk::PhysicalDeviceSubgroupProperties::default().subgroup_size(32));
            }
            vk::StructureType::PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES => {
                let base = vk::PhysicalDeviceMaintenance3Properties::default();
                answer!(item, base.max_per_set_descriptors(1 << 20).max_memory_allocation_size(4 << 30));
            }
            vk::StructureType::PHYSICAL_DEVICE_MAINTENANCE_4_PROPERTIES => {
                answer!(item, vk::PhysicalDeviceMaintenance4Properties::default().max_buffer_size(1 << 40));
            }
            _ => {}
        }
    }
}

fn properties(dispatch: &Dispatch) -> vk::PhysicalDeviceProperties {
    let mut properties = dispatch.device_config().properties;
    properties.pipeline_cache_uuid = uuid(dispatch);
    if dispatch.device_config().features.sparse_binding == vk::TRUE {
        properties.sparse_properties = vk::PhysicalDeviceSparseProperties {
            residency_standard2_d_block_shape: vk::TRUE,
            residency_standard3_d_block_shape: vk::TRUE,
            residency_non_resident_strict: vk::TRUE,
            ..Default::default()
        };
    }
    properties
}

fn uuid(dispatch: &Dispatch) -> [u8; vk::UUID_SIZE] {
    [dispatch.physical as u8 + 1; vk::UUID_SIZE]
}

fn properties11() -> vk::PhysicalDeviceVulkan11Properties<'static> {
    vk::PhysicalDeviceVulkan11Properties::default()
        .subgroup_size(32)
        .subgroup_supported_stages(vk::ShaderStageFlags::COMPUTE | vk::ShaderStageFlags::FRAGMENT)
        .subgroup_supported_operations(vk::SubgroupFeatureFlags::BASIC | vk::SubgroupFeatureFlags::ARITHMETIC)
        .max_per_set_descriptors(1 << 20)
        .max_memory_allocation_size(4 << 30)
}

fn properties12(dispatch: &Dispatch) -> vk::PhysicalDeviceVulkan12Properties<'static> {
    let limits = &dispatch.device_config().properties.limits;
    vk::PhysicalDeviceVulkan12Properties::default()
        .max_update_after_bind_descriptors_in_all_pools(1 << 20)
        .max_per_stage_descriptor_update_after_bind_samplers(limits.max_per_stage_descriptor_samplers)
        .max_per_stage_descriptor_update_after_bind_storage_buffers(
            limits.max_per_stage_descriptor_storage_buffers,
        )
        .max_per_stage_descriptor_update_after_bind_sampled_images(
            limits.max_per_stage_descriptor_sampled_images,
        )
        .max_per_stage_descriptor_update_after_bind_storage_images(
            limits.max_per_stage_descriptor_storage_images,
        )
        .max_per_stage_update_after_bind_resources(limits.max_per_stage_resources)
        .max_descriptor_set_update_after_bind_samplers(limits.max_descriptor_set_samplers)
        .max_descriptor_set_update_after_bind_storage_buffers(limits.max_descriptor_set_storage_buffers)
        .max_descriptor_set_update_after_bind_sampled_images(limits.max_descriptor_set_sampled_images)
        .max_descriptor_set_update_after_bind_storage_images(limits.max_descriptor_set_storage_images)
        .max_timeline_semaphore_value_difference(u64::from(u32::MAX))
}
