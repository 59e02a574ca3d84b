//! Names to functions. Each function's signature is checked against Vulkan's where it is listed.

use super::{
    command_buffers, commands, device, features, instance, memory, objects, queue, resources, sync, wsi,
};
use ash::vk;

/// Forgets the signature of a function that has Vulkan's.
macro_rules! erase {
    ($pfn:ident, $function:expr) => {{
        let function: vk::$pfn = $function;
        // SAFETY: function pointers are all alike; whoever asked for it by name casts it back to this signature.
        Some(unsafe { std::mem::transmute::<vk::$pfn, unsafe extern "system" fn()>(function) })
    }};
}
pub(super) use erase;

macro_rules! table {
    ($( $name:literal $pfn:ident => $function:path; )*) => {
        fn listed(name: &str) -> vk::PFN_vkVoidFunction {
            match name {
                $( $name => erase!($pfn, $function), )*
                _ => None,
            }
        }
    };
}

/// The function of that name; none if the driver does not have it.
pub(super) fn address(name: &str) -> vk::PFN_vkVoidFunction {
    listed(name).or_else(|| objects::address(name)).or_else(|| commands::address(name))
}

table! {
    "vkDestroyInstance" PFN_vkDestroyInstance => instance::destroy_instance;
    "vkEnumeratePhysicalDevices" PFN_vkEnumeratePhysicalDevices => instance::enumerate_physical_devices;
    "vkEnumerateDeviceExtensionProperties" PFN_vkEnumerateDeviceExtensionProperties => instance::enumerate_device_extension_properties;
    "vkEnumerateDeviceLayerProperties" PFN_vkEnumerateDeviceLayerProperties => instance::enumerate_device_layer_properties;
    "vkGetPhysicalDeviceQueueFamilyProperties" PFN_vkGetPhysicalDeviceQueueFamilyProperties => instance::get_physical_device_queue_family_properties;
    "vkGetPhysicalDeviceQueueFamilyProperties2" PFN_vkGetPhysicalDeviceQueueFamilyProperties2 => instance::get_physical_device_queue_family_properties2;
    "vkGetPhysicalDeviceMemoryProperties" PFN_vkGetPhysicalDeviceMemoryProperties => instance::get_physical_device_memory_properties;
    "vkGetPhysicalDeviceMemoryProperties2" PFN_vkGetPhysicalDeviceMemoryProperties2 => instance::get_physical_device_memory_properties2;
    "vkGetPhysicalDeviceFormatProperties" PFN_vkGetPhysicalDeviceFormatProperties => instance::get_physical_device_format_properties;
    "vkGetPhysicalDeviceFormatProperties2" PFN_vkGetPhysicalDeviceFormatProperties2 => instance::get_physical_device_format_properties2;
    "vkGetPhysicalDeviceImageFormatProperties" PFN_vkGetPhysicalDeviceImageFormatProperties => instance::get_physical_device_image_format_properties;
    "vkGetPhysicalDeviceImageFormatProperties2" PFN_vkGetPhysicalDeviceImageFormatProperties2 => instance::get_physical_device_image_format_properties2;
    "vkGetPhysicalDeviceSparseImageFormatProperties" PFN_vkGetPhysicalDeviceSparseImageFormatProperties => instance::get_physical_device_sparse_image_format_properties;
    "vkGetPhysicalDeviceSparseImageFormatProperties2" PFN_vkGetPhysicalDeviceSparseImageFormatProperties2 => instance::get_physical_device_sparse_image_format_properties2;
    "vkGetPhysicalDeviceFeatures" PFN_vkGetPhysicalDeviceFeatures => features::get_physical_device_features;
    "vkGetPhysicalDeviceFeatures2" PFN_vkGetPhysicalDeviceFeatures2 => features::get_physical_device_features2;
    "vkGetPhysicalDeviceProperties" PFN_vkGetPhysicalDeviceProperties => features::get_physical_device_properties;
    "vkGetPhysicalDeviceProperties2" PFN_vkGetPhysicalDeviceProperties2 => features::get_physical_device_properties2;
    "vkCreateDevice" PFN_vkCreateDevice => device::create_device;
    "vkDestroyDevice" PFN_vkDestroyDevice => device::destroy_device;
    "vkGetDeviceFaultInfoEXT" PFN_vkGetDeviceFaultInfoEXT => device::get_device_fault_info_ext;
    "vkGetDeviceQueue" PFN_vkGetDeviceQueue => device::get_device_queue;
    "vkGetDeviceQueue2" PFN_vkGetDeviceQueue2 => device::get_device_queue2;
    "vkAllocateMemory" PFN_vkAllocateMemory => memory::allocate_memory;
    "vkFreeMemory" PFN_vkFreeMemory => memory::free_memory;
    "vkMapMemory" PFN_vkMapMemory => memory::map_memory;
    "vkUnmapMemory" PFN_vkUnmapMemory => memory::unmap_memory;
    "vkFlushMappedMemoryRanges" PFN_vkFlushMappedMemoryRanges => memory::flush_mapped_memory_ranges;
    "vkInvalidateMappedMemoryRanges" PFN_vkInvalidateMappedMemoryRanges => memory::invalidate_mapped_memory_ranges;
    "vkGetDeviceMemoryCommitment" PFN_vkGetDeviceMemoryCommitment => memory::get_device_memory_commitment;
    "vkCreateBuffer" PFN_vkCreateBuffer => resources::create_buffer;
    "vkDestroyBuffer" PFN_vkDestroyBuffer => resources::destroy_buffer;
    "vkGetBufferMemoryRequirements" PFN_vkGetBufferMemoryRequirements => resources::get_buffer_memory_requirements;
    "vkGetBufferMemoryRequirements2" PFN_vkGetBufferMemoryRequirements2 => resources::get_buffer_memory_requirements2;
    "vkGetDeviceBufferMemoryRequirements" PFN_vkGetDeviceBufferMemoryRequirements => resources::get_device_buffer_memory_requirements;
    "vkGetBufferDeviceAddress" PFN_vkGetBufferDeviceAddress => resources::get_buffer_device_address;
    "vkBindBufferMemory" PFN_vkBindBufferMemory => resources::bind_buffer_memory;
    "vkBindBufferMemory2" PFN_vkBindBufferMemory2 => resources::bind_buffer_memory2;
    "vkBindImageMemory" PFN_vkBindImageMemory => resources::bind_image_memory;
    "vkBindImageMemory2" PFN_vkBindImageMemory2 => resources::bind_image_memory2;
    "vkCreateImage" PFN_vkCreateImage => resources::create_image;
    "vkDestroyImage" PFN_vkDestroyImage => resources::destroy_image;
    "vkGetImageMemoryRequirements" PFN_vkGetImageMemoryRequirements => resources::get_image_memory_requirements;
    "vkGetImageMemoryRequirements2" PFN_vkGetImageMemoryRequirements2 => resources::get_image_memory_requirements2;
    "vkGetDeviceImageMemoryRequirements" PFN_vkGetDeviceImageMemoryRequirements => resources::get_device_image_memory_requirements;
    "vkGetImageSparseMemoryRequirements" PFN_vkGetImageSparseMemoryRequirements => resources::get_image_sparse_memory_requirements;
    "vkGetImageSparseMemoryRequirements2" PFN_vkGetImageSparseMemoryRequirements2 => resources::get_image_sparse_memory_requirements2;
    "vkCreateSemaphore" PFN_vkCreateSemaphore => sync::create_semaphore;
    "vkDestroySemaphore" PFN_vkDestroySemaphore => sync::destroy_semaphore;
    "vkGetSemaphoreCounterValue" PFN_vkGetSemaphoreCounterValue => sync::get_semaphore_counter_value;
    "vkSignalSemaphore" PFN_vkSignalSemaphore => sync::signal_semaphore;
    "vkWaitSemaphores" PFN_vkWaitSemaphores => sync::wait_semaphores;
    "vkCreateFence" PFN_vkCreateFence => sync::create_fence;
    "vkDestroyFence" PFN_vkDestroyFence => sync::destroy_fence;
    "vkResetFences" PFN_vkResetFences => sync::reset_fences;
    "vkGetFenceStatus" PFN_vkGetFenceStatus => sync::get_fence_status;
    "vkWaitForFences" PFN_vkWaitForFences => sync::wait_for_fences;
    "vkQueueSubmit2" PFN_vkQueueSubmit2 => queue::queue_submit2;
    "vkQueueSubmit" PFN_vkQueueSubmit => queue::queue_submit;
    "vkQueueBindSparse" PFN_vkQueueBindSparse => queue::queue_bind_sparse;
    "vkQueueWaitIdle" PFN_vkQueueWaitIdle => queue::queue_wait_idle;
    "vkDeviceWaitIdle" PFN_vkDeviceWaitIdle => queue::device_wait_idle;
    "vkCreateImageView" PFN_vkCreateImageView => objects::create_image_view;
    "vkDestroyImageView" PFN_vkDestroyImageView => objects::destroy_image_view;
    "vkGetPipelineCacheData" PFN_vkGetPipelineCacheData => objects::get_pipeline_cache_data;
    "vkMergePipelineCaches" PFN_vkMergePipelineCaches => objects::merge_pipeline_caches;
    "vkCreateGraphicsPipelines" PFN_vkCreateGraphicsPipelines => objects::create_graphics_pipelines;
    "vkCreateComputePipelines" PFN_vkCreateComputePipelines => objects::create_compute_pipelines;
    "vkDestroyPipeline" PFN_vkDestroyPipeline => objects::destroy_pipeline;
    "vkCreateDescriptorPool" PFN_vkCreateDescriptorPool => objects::create_descriptor_pool;
    "vkResetDescriptorPool" PFN_vkResetDescriptorPool => objects::reset_descriptor_pool;
    "vkDestroyDescriptorPool" PFN_vkDestroyDescriptorPool => objects::destroy_descriptor_pool;
    "vkAllocateDescriptorSets" PFN_vkAllocateDescriptorSets => objects::allocate_descriptor_sets;
    "vkFreeDescriptorSets" PFN_vkFreeDescriptorSets => objects::free_descriptor_sets;
    "vkUpdateDescriptorSets" PFN_vkUpdateDescriptorSets => objects::update_descriptor_sets;
    "vkGetDescriptorSetLayoutSupport" PFN_vkGetDescriptorSetLayoutSupport => objects::get_descriptor_set_layout_support;
    "vkCreateQueryPool" PFN_vkCreateQueryPool => objects::create_query_pool;
    "vkDestroyQueryPool" PFN_vkDestroyQueryPool => objects::destroy_query_pool;
    "vkResetQueryPool" PFN_vkResetQueryPool => objects::reset_query_pool;
    "vkGetQueryPoolResults" PFN_vkGetQueryPoolResults => objects::get_query_pool_results;
    "vkCreateCommandPool" PFN_vkCreateCommandPool => command_buffers::create_command_pool;
    "vkDestroyCommandPool" PFN_vkDestroyCommandPool => command_buffers::destroy_command_pool;
    "vkResetCommandPool" PFN_vkResetCommandPool => command_buffers::reset_command_pool;
    "vkTrimCommandPool" PFN_vkTrimCommandPool => command_buffers::trim_command_pool;
    "vkAllocateCommandBuffers" PFN_vkAllocateCommandBuffers => command_buffers::allocate_command_buffers;
    "vkFreeCommandBuffers" PFN_vkFreeCommandBuffers => command_buffers::free_command_buffers;
    "vkBeginCommandBuffer" PFN_vkBeginCommandBuffer => command_buffers::begin_command_buffer;
    "vkEndCommandBuffer" PFN_vkEndCommandBuffer => command_buffers::end_command_buffer;
    "vkResetCommandBuffer" PFN_vkResetCommandBuffer => command_buffers::reset_command_buffer;
    "vkCreateHeadlessSurfaceEXT" PFN_vkCreateHeadlessSurfaceEXT => wsi::create_headless_surface_ext;
    "vkDestroySurfaceKHR" PFN_vkDestroySurfaceKHR => wsi::destroy_surface_khr;
    "vkGetPhysicalDeviceSurfaceSupportKHR" PFN_vkGetPhysicalDeviceSurfaceSupportKHR => wsi::get_physical_device_surface_support_khr;
    "vkGetPhysicalDeviceSurfaceCapabilitiesKHR" PFN_vkGetPhysicalDeviceSurfaceCapabilitiesKHR => wsi::get_physical_device_surface_capabilities_khr;
    "vkGetPhysicalDeviceSurfaceFormatsKHR" PFN_vkGetPhysicalDeviceSurfaceFormatsKHR => wsi::get_physical_device_surface_formats_khr;
    "vkGetPhysicalDeviceSurfacePresentModesKHR" PFN_vkGetPhysicalDeviceSurfacePresentModesKHR => wsi::get_physical_device_surface_present_modes_khr;
    "vkCreateSwapchainKHR" PFN_vkCreateSwapchainKHR => wsi::create_swapchain_khr;
    "vkDestroySwapchainKHR" PFN_vkDestroySwapchainKHR => wsi::destroy_swapchain_khr;
    "vkGetSwapchainImagesKHR" PFN_vkGetSwapchainImagesKHR => wsi::get_swapchain_images_khr;
    "vkAcquireNextImageKHR" PFN_vkAcquireNextImageKHR => wsi::acquire_next_image_khr;
    "vkAcquireNextImage2KHR" PFN_vkAcquireNextImage2KHR => wsi::acquire_next_image2_khr;
    "vkQueuePresentKHR" PFN_vkQueuePresentKHR => wsi::queue_present_khr;
    "vkCreateDebugUtilsMessengerEXT" PFN_vkCreateDebugUtilsMessengerEXT => wsi::create_debug_utils_messenger_ext;
    "vkDestroyDebugUtilsMessengerEXT" PFN_vkDestroyDebugUtilsMessengerEXT => wsi::destroy_debug_utils_messenger_ext;
    "vkSetDebugUtilsObjectNameEXT" PFN_vkSetDebugUtilsObjectNameEXT => wsi::set_debug_utils_object_name_ext;
    "vkQueueBeginDebugUtilsLabelEXT" PFN_vkQueueBeginDebugUtilsLabelEXT => wsi::queue_begin_debug_utils_label_ext;
    "vkQueueEndDebugUtilsLabelEXT" PFN_vkQueueEndDebugUtilsLabelEXT => wsi::queue_end_debug_utils_label_ext;
    "vkQueueInsertDebugUtilsLabelEXT" PFN_vkQueueInsertDebugUtilsLabelEXT => wsi::queue_insert_debug_utils_label_ext;
}
