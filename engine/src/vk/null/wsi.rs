//! Headless surfaces, swapchains whose bad days can be ordered, and debug utils.

use super::state::{Data, ImageInfo, Inner, enter};
use super::support::{enumerate, get, list, set};
use ash::vk::{self, Handle};
use std::ffi::CStr;

pub(super) unsafe extern "system" fn create_headless_surface_ext(
    instance: vk::Instance,
    _: *const vk::HeadlessSurfaceCreateInfoEXT<'_>,
    _: *const vk::AllocationCallbacks<'_>,
    out: *mut vk::SurfaceKHR,
) -> vk::Result {
    let (_, mut inner) = enter(instance, "vkCreateHeadlessSurfaceEXT");
    set!(out, inner.create(instance.as_raw(), Data::Plain));
    vk::Result::SUCCESS
}

pub(super) unsafe extern "system" fn destroy_surface_khr(
    instance: vk::Instance,
    surface: vk::SurfaceKHR,
    _: *const vk::AllocationCallbacks<'_>,
) {
    let (_, mut inner) = enter(instance, "vkDestroySurfaceKHR");
    inner.destroy(surface);
}

pub(super) unsafe extern "system" fn get_physical_device_surface_support_khr(
    physical: vk::PhysicalDevice,
    family: u32,
    surface: vk::SurfaceKHR,
    out: *mut vk::Bool32,
) -> vk::Result {
    let (dispatch, mut inner) = enter(physical, "vkGetPhysicalDeviceSurfaceSupportKHR");
    inner.data(surface);
    let graphics = dispatch
        .device_config()
        .queue_families
        .get(family as usize)
        .is_some_and(|family| family.queue_flags.contains(vk::QueueFlags::GRAPHICS));
    set!(out, vk::Bool32::from(graphics));
    vk::Result::SUCCESS
}

pub(super) unsafe extern "system" fn get_physical_device_surface_capabilities_khr(
    physical: vk::PhysicalDevice,
    surface: vk::SurfaceKHR,
    out: *mut vk::SurfaceCapabilitiesKHR,
) -> vk::Result {
    let (_, mut inner) = enter(physical, "vkGetPhysicalDeviceSurfaceCapabilitiesKHR");
    inner.data(surface);
    let extent = inner.surface.extent;
    let capabilities = vk::SurfaceCapabilitiesKHR {
        min_image_count: 2,
        max_image_count: 8,
        current_extent: extent,
        min_image_extent: extent,
        max_image_extent: extent,
        max_image_array_layers: 1,
        supported_transforms: vk::SurfaceTransformFlagsKHR::IDENTITY,
        current_transform: vk::SurfaceTransformFlagsKHR::IDENTITY,
        supported_composite_alpha: vk::CompositeAlphaFlagsKHR::OPAQUE,
        supported_usage_flags: vk::ImageUsageFlags::COLOR_ATTACHMENT
            | vk::ImageUsageFlags::TRANSFER_DST
            | vk::ImageUsageFlags::TRANSFER_SRC
            | vk::ImageUsageFlags::STORAGE,
    };
    set!(out, capabilities);
    vk::Result::SUCCESS
}

pub(super) unsafe extern "system" fn get_physical_device_surface_formats_khr(
    physical: vk::PhysicalDevice,
    _: vk::SurfaceKHR,
    count: *mut u32,
    out: *mut vk::SurfaceFormatKHR,
) -> vk::Result {
    let (_, _inner) = enter(physical, "vkGetPhysicalDeviceSurfaceFormatsKHR");
    let format = |format| vk::SurfaceFormatKHR { format, color_space: vk::ColorSpaceKHR::SRGB_NONLINEAR };
    let formats = [format(vk::Format::B8G8R8A8_SRGB), format(vk::Format::B8G8R8A8_UNORM)];
    // SAFETY: the two-call protocol of this function.
    unsafe { enumerate(&formats, count, out) }
}

pub(super) unsafe extern "system" fn get_physical_device_surface_present_modes_khr(
    physical: vk::PhysicalDevice,
    _: vk::SurfaceKHR,
    count: *mut u32,
    out: *mut vk::PresentModeKHR,
) -> vk::Result {
    let (_, _inner) = enter(physical, "vkGetPhysicalDeviceSurfacePresentModesKHR");
    // SAFETY: the two-call protocol of this function.
    unsafe { enumerate(&[vk::PresentModeKHR::FIFO, vk::PresentModeKHR::MAILBOX], count, out) }
}

pub(super) unsafe extern "system" fn create_swapchain_khr(
    device: vk::Device,
    info: *const vk::SwapchainCreateInfoKHR<'_>,
    _: *const vk::AllocationCallbacks<'_>,
    out: *mut vk::SwapchainKHR,
) -> vk::Result {
    let (_, mut inner) = enter(device, "vkCreateSwapchainKHR");
    let info = get!(info);
    inner.data(info.surface);
    inner.check(info.old_swapchain);
    let extent = info.image_extent;
    if extent != inner.surface.extent || extent.width == 0 || extent.height == 0 {
        let message = format!("extent {extent:?}, where the surface has {:?}", inner.surface.extent);
        inner.error(message);
        return vk::Result::ERROR_INITIALIZATION_FAILED;
    }
    let image = ImageInfo {
        flags: vk::ImageCreateFlags::empty(),
        format: info.image_format,
        extent: vk::Extent3D { width: extent.width, height: extent.height, depth: 1 },
        mips: 1,
        layers: info.image_array_layers,
    };
    let images = (0..info.min_image_count.max(2))
        .map(|_| {
            let data = Data::Image { info: image, memory: None, swapchain: true };
            inner.create::<vk::Image>(device.as_raw(), data).as_raw()
        })
        .collect();
    set!(out, inner.create(device.as_raw(), Data::Swapchain { images, next: 0, extent }));
    vk::Result::SUCCESS
}

pub(super) unsafe extern "system" fn destroy_swapchain_khr(
    device: vk::Device,
    swapchain: vk::SwapchainKHR,
    _: *const vk::AllocationCallbacks<'_>,
) {
    let (_, mut inner) = enter(device, "vkDestroySwapchainKHR");
    if let Some(object) = inner.destroy(swapchain)
        && let Data::Swapchain { images, .. } = object.data
    {
        inner.live.retain(|raw, _| !images.contains(raw));
    }
}

pub(super) unsafe extern "system" fn get_swapchain_images_khr(
    device: vk::Device,
    swapchain: vk::SwapchainKHR,
    count: *mut u32,
    out: *mut vk::Image,
) -> vk::Result {
    let (_, mut inner) = enter(device, "vkGetSwapchainImagesKHR");
    let images: Vec<vk::Image> = match inner.data(swapchain) {
        Some(Data::Swapchain { images, .. }) => images.iter().map(|raw| vk::Image::from_raw(*raw)).collect(),
        _ => Vec::new(),
    };
    // SAFETY: the two-call protocol of this function.
    unsafe { enumerate(&images, count, out) }
}

/// What a swapchain answers: what was ordered, else out of date if the surface has another size now.
fn answer(inner: &mut Inner, ordered: Option<vk::Result>, swapchain: vk::SwapchainKHR) -> vk::Result {
    let current = inner.surface.extent;
    match inner.data(swapchain) {
        Some(Data::Swapchain { extent, .. }) if *extent == current => ordered.unwrap_or(vk::Result::SUCCESS),
        Some(Data::Swapchain { .. }) => ordered.unwrap_or(vk::Result::ERROR_OUT_OF_DATE_KHR),
        _ => vk::Result::ERROR_SURFACE_LOST_KHR,
    }
}

fn succeeded(result: vk::Result) -> bool {
    matches!(result, vk::Result::SUCCESS | vk::Result::SUBOPTIMAL_KHR)
}

fn acquire(
    inner: &mut Inner,
    swapchain: vk::SwapchainKHR,
    semaphore: vk::Semaphore,
    fence: vk::Fence,
) -> Result<(vk::Result, u32), vk::Result> {
    let ordered = inner.surface.acquires.pop_front();
    let result = answer(inner, ordered, swapchain);
    if !succeeded(result) {
        return Err(result);
    }
    if !semaphore.is_null() {
        super::queue::signal(inner, semaphore.as_raw(), 0);
    }
    if !fence.is_null()
        && let Some(Data::Fence { signalled }) = inner.data(fence)
    {
        *signalled = true;
    }
    super::queue::progress(inner);
    match inner.data(swapchain) {
        Some(Data::Swapchain { images, next, .. }) => {
            let index = *next;
            *next = (index + 1) % images.len();
            Ok((result, index as u32))
        }
        _ => Err(vk::Result::ERROR_SURFACE_LOST_KHR),
    }
}

pub(super) unsafe extern "system" fn acquire_next_image_khr(
    device: vk::Device,
    swapchain: vk::SwapchainKHR,
    _: u64,
    semaphore: vk::Semaphore,
    fence: vk::Fence,
    out: *mut u32,
) -> vk::Result {
    let (dispatch, mut inner) = enter(device, "vkAcquireNextImageKHR");
    let acquired = acquire(&mut inner, swapchain, semaphore, fence);
    dispatch.state.changed.notify_all();
    acquired.map_or_else(
        |error| error,
        |(result, index)| {
            set!(out, index);
            result
        },
    )
}

pub(super) unsafe extern "system" fn acquire_next_image2_khr(
    device: vk::Device,
    info: *const vk::AcquireNextImageInfoKHR<'_>,
    out: *mut u32,
) -> vk::Result {
    let info = get!(info);
    // SAFETY: the same contract as the caller's.
    unsafe { acquire_next_image_khr(device, info.swapchain, info.timeout, info.semaphore, info.fence, out) }
}

pub(super) unsafe extern "system" fn queue_present_khr(
    queue: vk::Queue,
    info: *const vk::PresentInfoKHR<'_>,
) -> vk::Result {
    let (_, mut inner) = enter(queue, "vkQueuePresentKHR");
    let info = get!(info);
    for semaphore in list!(info.p_wait_semaphores, info.wait_semaphore_count) {
        let taken = match inner.data::<vk::Semaphore>(*semaphore) {
            Some(Data::Semaphore { timeline: None, signalled }) => std::mem::take(signalled),
            _ => false,
        };
        if !taken {
            inner.error("waits for a semaphore that nothing has signalled".to_owned());
        }
    }
    let ordered = inner.surface.presents.pop_front();
    let swapchains: &[vk::SwapchainKHR] = list!(info.p_swapchains, info.swapchain_count);
    let mut worst = vk::Result::SUCCESS;
    for (index, swapchain) in swapchains.iter().enumerate() {
        let result = answer(&mut inner, ordered, *swapchain);
        if !info.p_results.is_null() {
            // SAFETY: the caller has a place for each swapchain.
            set!(unsafe { info.p_results.add(index) }, result);
        }
        if result != vk::Result::SUCCESS {
            worst = result;
        }
    }
    worst
}

pub(super) unsafe extern "system" fn create_debug_utils_messenger_ext(
    instance: vk::Instance,
    _: *const vk::DebugUtilsMessengerCreateInfoEXT<'_>,
    _: *const vk::AllocationCallbacks<'_>,
    out: *mut vk::DebugUtilsMessengerEXT,
) -> vk::Result {
    let (_, mut inner) = enter(instance, "vkCreateDebugUtilsMessengerEXT");
    set!(out, inner.create(instance.as_raw(), Data::Plain));
    vk::Result::SUCCESS
}

pub(super) unsafe extern "system" fn destroy_debug_utils_messenger_ext(
    instance: vk::Instance,
    messenger: vk::DebugUtilsMessengerEXT,
    _: *const vk::AllocationCallbacks<'_>,
) {
    let (_, mut inner) = enter(instance, "vkDestroyDebugUtilsMessengerEXT");
    inner.destroy(messenger);
}

pub(super) unsafe extern "system" fn set_debug_utils_object_name_ext(
    device: vk::Device,
    info: *const vk::DebugUtilsObjectNameInfoEXT<'_>,
) -> vk::Result {
    let (_, mut inner) = enter(device, "vkSetDebugUtilsObjectNameEXT");
    let info = get!(info);
    let known = inner.live.get(&info.object_handle).is_some_and(|object| object.kind == info.object_type);
    if !known {
        inner.error(format!("{:?} {:#x} is not alive", info.object_type, info.object_handle));
    }
    if info.p_object_name.is_null() {
        inner.names.remove(&info.object_handle);
    } else {
        // SAFETY: a name is a C string.
        let name = unsafe { CStr::from_ptr(info.p_object_name) };
        inner.names.insert(info.object_handle, name.to_string_lossy().into_owned());
    }
    vk::Result::SUCCESS
}

pub(super) unsafe extern "system" fn queue_begin_debug_utils_label_ext(
    queue: vk::Queue,
    _: *const vk::DebugUtilsLabelEXT<'_>,
) {
    let (_, _inner) = enter(queue, "vkQueueBeginDebugUtilsLabelEXT");
}

pub(super) unsafe extern "system" fn queue_end_debug_utils_label_ext(queue: vk::Queue) {
    let (_, _inner) = enter(queue, "vkQueueEndDebugUtilsLabelEXT");
}

pub(super) unsafe extern "system" fn queue_insert_debug_utils_label_ext(
    queue: vk::Queue,
    _: *const vk::DebugUtilsLabelEXT<'_>,
) {
    let (_, _inner) = enter(queue, "vkQueueInsertDebugUtilsLabelEXT");
}
