//! The driver by its own means: what works leaves no trace, what is wrong is told.

use super::*;

/// An instance and a device on the first queue of each family, destroyed at the end.
struct Rig {
    driver: NullDriver,
    instance: ash::Instance,
    device: ash::Device,
}

impl Rig {
    fn new(config: NullConfig) -> Self {
        let driver = NullDriver::new(config);
        let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_3);
        let info = vk::InstanceCreateInfo::default().application_info(&application);
        // SAFETY: the infos are valid; the driver outlives the instance.
        let instance = unsafe { driver.entry().create_instance(&info, None) }.unwrap();
        // SAFETY: the instance is alive.
        let physical = unsafe { instance.enumerate_physical_devices() }.unwrap()[0];
        // SAFETY: as above.
        let families = unsafe { instance.get_physical_device_queue_family_properties(physical) };
        let queues: Vec<_> = (0..families.len())
            .map(|family| {
                vk::DeviceQueueCreateInfo::default()
                    .queue_family_index(family as u32)
                    .queue_priorities(&[1.0])
            })
            .collect();
        let mut timeline = vk::PhysicalDeviceVulkan12Features::default().timeline_semaphore(true);
        let info = vk::DeviceCreateInfo::default().queue_create_infos(&queues).push_next(&mut timeline);
        // SAFETY: the infos are valid.
        let device = unsafe { instance.create_device(physical, &info, None) }.unwrap();
        Self { driver, instance, device }
    }

    fn queue(&self, family: u32) -> vk::Queue {
        // SAFETY: created with the device.
        unsafe { self.device.get_device_queue(family, 0) }
    }

    fn timeline(&self) -> vk::Semaphore {
        let mut kind = vk::SemaphoreTypeCreateInfo::default().semaphore_type(vk::SemaphoreType::TIMELINE);
        let info = vk::SemaphoreCreateInfo::default().push_next(&mut kind);
        // SAFETY: the info is valid.
        unsafe { self.device.create_semaphore(&info, None) }.unwrap()
    }

    fn value(&self, semaphore: vk::Semaphore) -> u64 {
        // SAFETY: the semaphore is alive.
        unsafe { self.device.get_semaphore_counter_value(semaphore) }.unwrap()
    }

    fn wait(&self, semaphore: vk::Semaphore, value: u64, timeout: u64) -> vk::Result {
        let (semaphores, values) = ([semaphore], [value]);
        let info = vk::SemaphoreWaitInfo::default().semaphores(&semaphores).values(&values);
        // SAFETY: the semaphore is alive.
        unsafe { self.device.wait_semaphores(&info, timeout) }.err().unwrap_or(vk::Result::SUCCESS)
    }

    fn submit(&self, family: u32, wait: (vk::Semaphore, u64), signal: (vk::Semaphore, u64)) -> vk::Result {
        let point =
            |(semaphore, value)| [vk::SemaphoreSubmitInfo::default().semaphore(semaphore).value(value)];
        let (waits, signals) = (point(wait), point(signal));
        let mut info = vk::SubmitInfo2::default().signal_semaphore_infos(&signals);
        if wait.1 > 0 {
            info = info.wait_semaphore_infos(&waits);
        }
        // SAFETY: the semaphores are alive.
        unsafe { self.device.queue_submit2(self.queue(family), &[info], vk::Fence::null()) }
            .err()
            .unwrap_or(vk::Result::SUCCESS)
    }

    fn sparse_buffer(&self, size: u64) -> (vk::Buffer, vk::MemoryRequirements) {
        let info = vk::BufferCreateInfo::default()
            .flags(vk::BufferCreateFlags::SPARSE_BINDING | vk::BufferCreateFlags::SPARSE_RESIDENCY)
            .size(size)
            .usage(vk::BufferUsageFlags::STORAGE_BUFFER);
        // SAFETY: the info is valid.
        let buffer = unsafe { self.device.create_buffer(&info, None) }.unwrap();
        // SAFETY: the buffer is alive.
        (buffer, unsafe { self.device.get_buffer_memory_requirements(buffer) })
    }

    fn allocate(&self, size: u64, memory_type: u32) -> Result<vk::DeviceMemory, vk::Result> {
        let info = vk::MemoryAllocateInfo::default().allocation_size(size).memory_type_index(memory_type);
        // SAFETY: the info is valid.
        unsafe { self.device.allocate_memory(&info, None) }
    }

    fn bind(
        &self,
        buffer: vk::Buffer,
        binds: &[vk::SparseMemoryBind],
        signal: (vk::Semaphore, u64),
    ) -> vk::Result {
        let of_buffer = [vk::SparseBufferMemoryBindInfo::default().buffer(buffer).binds(binds)];
        let (semaphores, values) = ([signal.0], [signal.1]);
        let mut timeline = vk::TimelineSemaphoreSubmitInfo::default().signal_semaphore_values(&values);
        let info = vk::BindSparseInfo::default()
            .buffer_binds(&of_buffer)
            .signal_semaphores(&semaphores)
            .push_next(&mut timeline);
        // SAFETY: all handles are alive.
        unsafe { self.device.queue_bind_sparse(self.queue(2), &[info], vk::Fence::null()) }
            .err()
            .unwrap_or(vk::Result::SUCCESS)
    }

    /// Destroys device and instance and gives the driver to look at.
    fn end(self) -> NullDriver {
        // SAFETY: nothing uses them any more.
        unsafe {
            self.device.destroy_device(None);
            self.instance.destroy_instance(None);
        }
        self.driver
    }
}

#[test]
fn a_whole_life_leaves_nothing() {
    let rig = Rig::new(NullConfig::default());
    let timeline = rig.timeline();
    let (buffer, requirements) = rig.sparse_buffer(1 << 30);
    assert_eq!((requirements.size, requirements.alignment), (1 << 30, 65536));
    assert_eq!(requirements.memory_type_bits, 0b1001);
    let memory = rig.allocate(1 << 20, 0).unwrap();
    let binds = [
        vk::SparseMemoryBind::default().size(65536).memory(memory).memory_offset(65536),
        vk::SparseMemoryBind::default().resource_offset(1 << 20).size(131_072),
    ];
    assert_eq!(rig.bind(buffer, &binds, (timeline, 1)), vk::Result::SUCCESS);
    assert_eq!(rig.submit(0, (timeline, 1), (timeline, 2)), vk::Result::SUCCESS);
    assert_eq!(rig.wait(timeline, 2, u64::MAX), vk::Result::SUCCESS);

    let expected = |offset, size, memory, memory_offset| BindRecord {
        call: 0,
        queue_family: 2,
        resource: buffer.as_raw(),
        place: BindPlace::Buffer { offset, size },
        memory,
        memory_offset,
    };
    let records = [expected(0, 65536, Some(memory.as_raw()), 65536), expected(1 << 20, 131_072, None, 0)];
    assert_eq!(rig.driver.binds(), records);
    assert_eq!(rig.driver.calls("vkQueueBindSparse"), 1);
    assert_eq!(rig.driver.heap_used(0, 0), 1 << 20);
    assert_eq!(rig.driver.live().get("BUFFER"), Some(&1));
    // SAFETY: all of it is idle.
    unsafe {
        rig.device.destroy_buffer(buffer, None);
        rig.device.free_memory(memory, None);
        rig.device.destroy_semaphore(timeline, None);
    }
    let driver = rig.end();
    driver.assert_clean();
    assert_eq!(driver.heap_used(0, 0), 0);
}

#[test]
fn work_waits_for_its_turn_and_its_queue_for_it() {
    let rig = Rig::new(NullConfig::default());
    let (first, second) = (rig.timeline(), rig.timeline());
    assert_eq!(rig.submit(0, (first, 5), (second, 1)), vk::Result::SUCCESS);
    // Nothing to wait for, but behind the one above in the same queue.
    assert_eq!(rig.submit(0, (first, 0), (second, 2)), vk::Result::SUCCESS);
    assert_eq!((rig.value(second), rig.driver.pending()), (0, 2));
    assert_eq!(rig.wait(second, 1, 1000), vk::Result::TIMEOUT);
    // Another queue brings what they wait for.
    assert_eq!(rig.submit(1, (first, 0), (first, 5)), vk::Result::SUCCESS);
    assert_eq!((rig.value(second), rig.driver.pending()), (2, 0));
    // SAFETY: nothing is pending.
    unsafe {
        rig.device.destroy_semaphore(first, None);
        rig.device.destroy_semaphore(second, None);
    }
    rig.end().assert_clean();
}

#[test]
fn a_wait_that_would_never_return_is_told() {
    let rig = Rig::new(NullConfig::default());
    let timeline = rig.timeline();
    assert_eq!(rig.wait(timeline, 1, u64::MAX), vk::Result::TIMEOUT);
    let errors = rig.driver.take_errors();
    assert!(errors[0].starts_with("vkWaitSemaphores: would never return"), "{errors:?}");
    // SAFETY: the semaphore is alive and not pending.
    unsafe { rig.device.destroy_semaphore(timeline, None) };
    rig.end().assert_clean();
}

#[test]
fn mistakes_are_told() {
    let rig = Rig::new(NullConfig::default());
    let timeline = rig.timeline();
    let (buffer, _) = rig.sparse_buffer(1 << 20);
    let memory = rig.allocate(65536, 0).unwrap();
    let wrong = [
        vk::SparseMemoryBind::default().resource_offset(4096).size(65536),
        vk::SparseMemoryBind::default().resource_offset(1 << 20).size(65536),
        vk::SparseMemoryBind::default().size(131_072).memory(memory),
    ];
    assert_eq!(rig.bind(buffer, &wrong, (timeline, 1)), vk::Result::SUCCESS);
    assert_eq!(rig.driver.take_errors().len(), 3);
    assert_eq!(rig.submit(0, (timeline, 0), (timeline, 1)), vk::Result::SUCCESS);
    assert!(rig.driver.take_errors()[0].contains("is at 1 and cannot be signalled to 1"));
    // SAFETY: that this is wrong is the point; the driver keeps what it needs.
    unsafe {
        rig.device.free_memory(memory, None);
        let bind = vk::SparseMemoryBind::default().size(65536).memory(memory);
        assert_eq!(rig.bind(buffer, &[bind], (timeline, 2)), vk::Result::SUCCESS);
        rig.device.destroy_buffer(buffer, None);
        rig.device.destroy_buffer(buffer, None);
    }
    let errors = rig.driver.take_errors();
    assert!(errors[0].contains("used after it was destroyed"), "{errors:?}");
    assert!(errors.last().unwrap().contains("destroyed twice"), "{errors:?}");
    let driver = rig.end();
    let errors = driver.errors();
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(errors[0].starts_with("vkDestroyDevice: SEMAPHORE"), "{errors:?}");
}

#[test]
fn faults_come_when_ordered() {
    let rig = Rig::new(NullConfig::default().fail(Fault::Allocate, 2));
    let memory = rig.allocate(65536, 0).unwrap();
    assert_eq!(rig.allocate(65536, 0), Err(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY));
    // SAFETY: nothing uses it.
    unsafe { rig.device.free_memory(memory, None) };
    rig.driver.set_foreign_usage(0, 0, (4 << 30) - 1000);
    assert_eq!(rig.allocate(65536, 0), Err(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY));
    let timeline = rig.timeline();
    rig.driver.fail_nth(Fault::LoseDevice, 2);
    assert_eq!(rig.submit(0, (timeline, 0), (timeline, 1)), vk::Result::SUCCESS);
    assert_eq!(rig.submit(0, (timeline, 0), (timeline, 2)), vk::Result::ERROR_DEVICE_LOST);
    assert_eq!(rig.wait(timeline, 1, u64::MAX), vk::Result::ERROR_DEVICE_LOST);
    // SAFETY: the device is lost, nothing runs.
    unsafe { rig.device.destroy_semaphore(timeline, None) };
    rig.end().assert_clean();
}

#[test]
fn mapped_memory_keeps_what_is_written() {
    let rig = Rig::new(NullConfig::default());
    let memory = rig.allocate(1000, 1).unwrap();
    let map = |offset| {
        // SAFETY: host visible memory, and the range is inside.
        unsafe { rig.device.map_memory(memory, offset, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty()) }
            .unwrap()
            .cast::<u8>()
    };
    // SAFETY: byte 999 of 1000; mapped again 900 bytes in.
    unsafe {
        map(0).add(999).write(7);
        rig.device.unmap_memory(memory);
        assert_eq!(map(900).add(99).read(), 7);
        rig.device.unmap_memory(memory);
        rig.device.free_memory(memory, None);
    }
    rig.end().assert_clean();
}

#[test]
fn what_the_configuration_says_is_shown() {
    let device = NullDevice::new("first", vk::PhysicalDeviceType::INTEGRATED_GPU)
        .without_sparse()
        .limits(|limits| limits.max_storage_buffer_range = 1 << 27);
    let mut odd = NullDevice::new("second", vk::PhysicalDeviceType::CPU);
    odd.sparse_buffer_type_bits = 0;
    let driver = NullDriver::new(NullConfig::with_devices(vec![device, odd]));
    // SAFETY: plain queries on a live instance.
    unsafe {
        let entry = driver.entry();
        assert_eq!(entry.try_enumerate_instance_version().unwrap(), Some(vk::API_VERSION_1_3));
        let instance = entry.create_instance(&vk::InstanceCreateInfo::default(), None).unwrap();
        let devices = instance.enumerate_physical_devices().unwrap();
        let properties = instance.get_physical_device_properties(devices[0]);
        assert_eq!(properties.device_name_as_c_str().unwrap(), c"first");
        assert_eq!(properties.limits.max_storage_buffer_range, 1 << 27);
        let mut f12 = vk::PhysicalDeviceVulkan12Features::default();
        let mut f13 = vk::PhysicalDeviceVulkan13Features::default();
        let mut features = vk::PhysicalDeviceFeatures2::default().push_next(&mut f12).push_next(&mut f13);
        instance.get_physical_device_features2(devices[0], &mut features);
        assert_eq!(features.features.sparse_binding, vk::FALSE);
        assert_eq!((f12.timeline_semaphore, f12.subgroup_broadcast_dynamic_id), (vk::TRUE, vk::TRUE));
        assert_eq!((f13.robust_image_access, f13.maintenance4), (vk::TRUE, vk::TRUE));

        driver.set_budget(1, 0, 12345);
        let mut budget = vk::PhysicalDeviceMemoryBudgetPropertiesEXT::default();
        let mut memory = vk::PhysicalDeviceMemoryProperties2::default().push_next(&mut budget);
        instance.get_physical_device_memory_properties2(devices[1], &mut memory);
        assert_eq!(memory.memory_properties.memory_type_count, 4);
        assert_eq!(budget.heap_budget[0], 12345);

        let sparse = vk::PhysicalDeviceFeatures::default().sparse_binding(true);
        let info = vk::DeviceCreateInfo::default().enabled_features(&sparse);
        let refused = instance.create_device(devices[0], &info, None).err();
        assert_eq!(refused, Some(vk::Result::ERROR_FEATURE_NOT_PRESENT));
        let names = [c"VK_NOT_there".as_ptr()];
        let info = vk::DeviceCreateInfo::default().enabled_extension_names(&names);
        let refused = instance.create_device(devices[1], &info, None).err();
        assert_eq!(refused, Some(vk::Result::ERROR_EXTENSION_NOT_PRESENT));

        let granularity = instance.get_physical_device_sparse_image_format_properties(
            devices[1],
            vk::Format::BC1_RGB_UNORM_BLOCK,
            vk::ImageType::TYPE_2D,
            vk::SampleCountFlags::TYPE_1,
            vk::ImageUsageFlags::SAMPLED,
            vk::ImageTiling::OPTIMAL,
        )[0]
        .image_granularity;
        assert_eq!((granularity.width, granularity.height), (512, 256));
        instance.destroy_instance(None);
    }
    driver.assert_clean();
}

#[test]
fn commands_are_noted_and_their_handles_checked() {
    let rig = Rig::new(NullConfig::default());
    let (buffer, _) = rig.sparse_buffer(65536);
    // SAFETY: handles are alive but for the one that is not, which is the point.
    unsafe {
        let pool = rig.device.create_command_pool(&vk::CommandPoolCreateInfo::default(), None).unwrap();
        let info = vk::CommandBufferAllocateInfo::default().command_pool(pool).command_buffer_count(1);
        let commands = rig.device.allocate_command_buffers(&info).unwrap()[0];
        rig.device.begin_command_buffer(commands, &vk::CommandBufferBeginInfo::default()).unwrap();
        rig.device.cmd_fill_buffer(commands, buffer, 0, 65536, 0);
        rig.device.cmd_dispatch(commands, 1, 2, 3);
        rig.device.destroy_buffer(buffer, None);
        rig.device.cmd_dispatch_indirect(commands, buffer, 0);
        rig.device.end_command_buffer(commands).unwrap();
        assert_eq!(
            rig.driver.recorded(commands),
            ["vkCmdFillBuffer", "vkCmdDispatch", "vkCmdDispatchIndirect"]
        );
        rig.device.cmd_dispatch(commands, 1, 1, 1);
        rig.device.destroy_command_pool(pool, None);
    }
    let errors = rig.driver.take_errors();
    assert_eq!(errors.len(), 2, "{errors:?}");
    assert!(errors[0].starts_with("vkCmdDispatchIndirect: BUFFER"), "{errors:?}");
    assert!(errors[1].starts_with("vkCmdDispatch: the command buffer is not recording"), "{errors:?}");
    rig.end().assert_clean();
}

#[test]
fn work_on_hold_keeps_its_objects() {
    let rig = Rig::new(NullConfig::default());
    let timeline = rig.timeline();
    let (buffer, _) = rig.sparse_buffer(1 << 20);
    let memory = rig.allocate(65536, 0).unwrap();
    rig.driver.hold_work_after(1);
    let bind = vk::SparseMemoryBind::default().size(65536).memory(memory);
    assert_eq!(rig.bind(buffer, &[bind], (timeline, 1)), vk::Result::SUCCESS);
    assert_eq!(rig.bind(buffer, &[bind], (timeline, 2)), vk::Result::SUCCESS);
    assert_eq!((rig.value(timeline), rig.driver.pending()), (1, 1));
    // SAFETY: too early for the driver to approve, which is the point; the other is not in use any more.
    unsafe { rig.device.free_memory(memory, None) };
    let errors = rig.driver.take_errors();
    assert!(errors[0].contains("DEVICE_MEMORY") && errors[0].contains("not done"), "{errors:?}");
    rig.driver.release_work();
    assert_eq!(rig.wait(timeline, 2, 0), vk::Result::SUCCESS);
    // SAFETY: the work is done.
    unsafe {
        rig.device.destroy_buffer(buffer, None);
        rig.device.destroy_semaphore(timeline, None);
    }
    rig.end().assert_clean();
}
