//! The Vulkan features and extensions that a device is made with: the engine's own, or an application's.

use std::ffi::CStr;

use ash::{ext, khr, vk};

use super::capabilities::Capabilities;
use super::error::{Error, Result};
use super::instance::Instance;
use super::queue_policy::QueuePlan;

/// The Vulkan features that [`Device::from_raw`](super::Device::from_raw) needs, by name, in the structures of Vulkan 1.0 to 1.3.
pub fn required_features() -> &'static [&'static str] {
    &[
        "multiDrawIndirect",
        "drawIndirectFirstInstance",
        "shaderStorageBufferArrayDynamicIndexing",
        "shaderSampledImageArrayDynamicIndexing",
        "shaderDrawParameters",
        "timelineSemaphore",
        "drawIndirectCount",
        "hostQueryReset",
        "shaderStorageBufferArrayNonUniformIndexing",
        "shaderSampledImageArrayNonUniformIndexing",
        "runtimeDescriptorArray",
        "descriptorBindingPartiallyBound",
        "descriptorBindingUpdateUnusedWhilePending",
        "descriptorBindingStorageBufferUpdateAfterBind",
        "descriptorBindingSampledImageUpdateAfterBind",
        "robustImageAccess",
        "shaderZeroInitializeWorkgroupMemory",
        "dynamicRendering",
        "synchronization2",
        "maintenance4",
    ]
}

/// Feature structures to chain into an application's own `VkDeviceCreateInfo`, so that
/// [`Device::from_raw`](super::Device::from_raw) can use the device: the first as `enabled_features`, the others by `push_next`. More may be
/// turned on in them. `supported` is what the physical device reported; sparse and other optional features are
/// copied from it.
pub fn feature_chain(
    supported: &vk::PhysicalDeviceFeatures,
) -> (
    vk::PhysicalDeviceFeatures,
    vk::PhysicalDeviceVulkan11Features<'static>,
    vk::PhysicalDeviceVulkan12Features<'static>,
    vk::PhysicalDeviceVulkan13Features<'static>,
) {
    let core = vk::PhysicalDeviceFeatures {
        multi_draw_indirect: vk::TRUE,
        draw_indirect_first_instance: vk::TRUE,
        shader_storage_buffer_array_dynamic_indexing: vk::TRUE,
        shader_sampled_image_array_dynamic_indexing: vk::TRUE,
        sampler_anisotropy: supported.sampler_anisotropy,
        texture_compression_bc: supported.texture_compression_bc,
        fragment_stores_and_atomics: supported.fragment_stores_and_atomics,
        // Targets of one rendering with write masks of their own.
        independent_blend: supported.independent_blend,
        // Images of two 32-bit integers a texel: blocks of 8 bytes.
        shader_storage_image_extended_formats: supported.shader_storage_image_extended_formats,
        depth_clamp: supported.depth_clamp,
        robust_buffer_access: if cfg!(debug_assertions) { supported.robust_buffer_access } else { vk::FALSE },
        sparse_binding: supported.sparse_binding,
        sparse_residency_buffer: supported.sparse_residency_buffer,
        sparse_residency_image2_d: supported.sparse_residency_image2_d,
        sparse_residency_image3_d: supported.sparse_residency_image3_d,
        sparse_residency_aliased: supported.sparse_residency_aliased,
        ..Default::default()
    };
    let f11 = vk::PhysicalDeviceVulkan11Features::default().shader_draw_parameters(true);
    let f12 = vk::PhysicalDeviceVulkan12Features::default()
        .timeline_semaphore(true)
        .draw_indirect_count(true)
        .host_query_reset(true)
        .shader_storage_buffer_array_non_uniform_indexing(true)
        .shader_sampled_image_array_non_uniform_indexing(true)
        .runtime_descriptor_array(true)
        .descriptor_binding_partially_bound(true)
        .descriptor_binding_update_unused_while_pending(true)
        .descriptor_binding_storage_buffer_update_after_bind(true)
        .descriptor_binding_sampled_image_update_after_bind(true);
    let f13 = vk::PhysicalDeviceVulkan13Features::default()
        .robust_image_access(true)
        .shader_zero_initialize_workgroup_memory(true)
        .dynamic_rendering(true)
        .synchronization2(true)
        .maintenance4(true);
    (core, f11, f12, f13)
}

pub(super) fn create(
    instance: &Instance,
    physical: vk::PhysicalDevice,
    capabilities: &Capabilities,
    plan: &QueuePlan,
) -> Result<ash::Device> {
    // SAFETY: a plain query.
    let supported = unsafe { instance.raw().get_physical_device_features(physical) };
    let (mut core, mut f11, mut f12, mut f13) = feature_chain(&supported);
    let sparse = capabilities.sparse;
    core.sparse_binding = sparse.binding.into();
    core.sparse_residency_buffer = sparse.residency_buffer.into();
    core.sparse_residency_image2_d = sparse.residency_image_2d.into();
    core.sparse_residency_image3_d = sparse.residency_image_3d.into();
    core.sparse_residency_aliased = (sparse.binding && sparse.residency_aliased).into();
    core.texture_compression_bc = capabilities.optional.bc.into();
    core.sampler_anisotropy = capabilities.optional.anisotropy.into();

    let priorities = [1.0f32, 0.5];
    let families = plan.families();
    let queues: Vec<_> = families
        .iter()
        .map(|(family, count)| {
            vk::DeviceQueueCreateInfo::default()
                .queue_family_index(*family)
                .queue_priorities(&priorities[..(*count as usize).min(priorities.len())])
        })
        .collect();
    let mut extensions: Vec<&CStr> = Vec::new();
    if instance.has_surfaces() && capabilities.optional.swapchain {
        extensions.push(khr::swapchain::NAME);
    }
    if capabilities.optional.memory_budget {
        extensions.push(ext::memory_budget::NAME);
    }
    let mut priority = vk::PhysicalDeviceMemoryPriorityFeaturesEXT::default().memory_priority(true);
    if capabilities.optional.memory_priority {
        extensions.push(ext::memory_priority::NAME);
    }
    let mut pageable =
        vk::PhysicalDevicePageableDeviceLocalMemoryFeaturesEXT::default().pageable_device_local_memory(true);
    if capabilities.optional.pageable_memory {
        extensions.push(ext::pageable_device_local_memory::NAME);
    }
    let mut fault = vk::PhysicalDeviceFaultFeaturesEXT::default().device_fault(true);
    if capabilities.optional.device_fault {
        extensions.push(ext::device_fault::NAME);
    }
    let names: Vec<_> = extensions.iter().map(|n| n.as_ptr()).collect();
    let mut info = vk::DeviceCreateInfo::default()
        .queue_create_infos(&queues)
        .enabled_extension_names(&names)
        .enabled_features(&core)
        .push_next(&mut f11)
        .push_next(&mut f12)
        .push_next(&mut f13);
    if capabilities.optional.memory_priority {
        info = info.push_next(&mut priority);
    }
    if capabilities.optional.pageable_memory {
        info = info.push_next(&mut pageable);
    }
    if capabilities.optional.device_fault {
        info = info.push_next(&mut fault);
    }
    // SAFETY: all pointers in `info` are locals that outlive the call; only features that the device
    // reported are enabled.
    unsafe { instance.raw().create_device(physical, &info, None) }.map_err(Error::of("vkCreateDevice"))
}
