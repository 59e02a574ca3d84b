//! Swapchains on headless surfaces.

use super::*;

#[test]
fn surfaces_have_bad_days() {
    let config = NullConfig::default();
    let driver = NullDriver::new(config);
    let extensions = [ash::khr::surface::NAME.as_ptr(), ash::ext::headless_surface::NAME.as_ptr()];
    let info = vk::InstanceCreateInfo::default().enabled_extension_names(&extensions);
    // SAFETY: infos are valid, handles alive.
    unsafe {
        let entry = driver.entry();
        let instance = entry.create_instance(&info, None).unwrap();
        let physical = instance.enumerate_physical_devices().unwrap()[0];
        let surfaces = ash::khr::surface::Instance::new(&entry, &instance);
        let surface = ash::ext::headless_surface::Instance::new(&entry, &instance)
            .create_headless_surface(&vk::HeadlessSurfaceCreateInfoEXT::default(), None)
            .unwrap();
        let queues = [vk::DeviceQueueCreateInfo::default().queue_priorities(&[1.0])];
        let names = [ash::khr::swapchain::NAME.as_ptr()];
        let info =
            vk::DeviceCreateInfo::default().queue_create_infos(&queues).enabled_extension_names(&names);
        let device = instance.create_device(physical, &info, None).unwrap();
        let swapchains = ash::khr::swapchain::Device::new(&instance, &device);
        let extent =
            surfaces.get_physical_device_surface_capabilities(physical, surface).unwrap().current_extent;
        let info = vk::SwapchainCreateInfoKHR::default()
            .surface(surface)
            .min_image_count(3)
            .image_format(vk::Format::B8G8R8A8_SRGB)
            .image_extent(extent)
            .image_array_layers(1);
        let swapchain = swapchains.create_swapchain(&info, None).unwrap();
        assert_eq!(swapchains.get_swapchain_images(swapchain).unwrap().len(), 3);
        let semaphore = device.create_semaphore(&vk::SemaphoreCreateInfo::default(), None).unwrap();
        let acquire = || swapchains.acquire_next_image(swapchain, 0, semaphore, vk::Fence::null());
        assert_eq!(acquire(), Ok((0, false)));
        let (wait, chains) = ([semaphore], [swapchain]);
        let present =
            vk::PresentInfoKHR::default().wait_semaphores(&wait).swapchains(&chains).image_indices(&[0]);
        let queue = device.get_device_queue(0, 0);
        driver.order_present(vk::Result::SUBOPTIMAL_KHR);
        assert_eq!(swapchains.queue_present(queue, &present), Ok(true));
        driver.set_surface_extent(0, 0);
        assert_eq!(acquire(), Err(vk::Result::ERROR_OUT_OF_DATE_KHR));
        device.destroy_semaphore(semaphore, None);
        swapchains.destroy_swapchain(swapchain, None);
        device.destroy_device(None);
        surfaces.destroy_surface(surface, None);
        instance.destroy_instance(None);
    }
    driver.assert_clean();
}
