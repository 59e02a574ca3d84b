//! What the driver claims to be: devices, their abilities, limits, memory and queues.

use ash::vk;
use std::ffi::CStr;

/// Everything an instance of the driver shows. Start from [`NullConfig::default`] and change what the test is
/// about.
#[derive(Debug, Clone)]
pub struct NullConfig {
    /// Version of the loader, as `vkEnumerateInstanceVersion` tells it.
    pub instance_version: u32,
    /// Instance extensions listed; asking for another is refused.
    pub instance_extensions: Vec<&'static CStr>,
    /// Physical devices, in the order they are listed.
    pub devices: Vec<NullDevice>,
    /// Calls that fail: which, and how many of them until the one that does (1 is the next).
    pub faults: Vec<(Fault, u64)>,
}

impl Default for NullConfig {
    /// One discrete device that can do everything the engine asks for.
    fn default() -> Self {
        Self {
            instance_version: vk::API_VERSION_1_3,
            instance_extensions: vec![
                ash::ext::debug_utils::NAME,
                ash::khr::surface::NAME,
                ash::ext::headless_surface::NAME,
            ],
            devices: vec![NullDevice::default()],
            faults: Vec::new(),
        }
    }
}

impl NullConfig {
    /// A configuration with these devices only.
    pub fn with_devices(devices: Vec<NullDevice>) -> Self {
        Self { devices, ..Self::default() }
    }

    /// Makes the `nth` call of this kind fail, counted from 1.
    pub fn fail(mut self, fault: Fault, nth: u64) -> Self {
        self.faults.push((fault, nth));
        self
    }
}

/// A kind of call that can be made to fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// `vkAllocateMemory` answers out of device memory.
    Allocate,
    /// `vkQueueBindSparse` answers out of device memory.
    Bind,
    /// `vkQueueSubmit` and `vkQueueSubmit2` answer out of host memory.
    Submit,
    /// `vkCreateBuffer` answers out of device memory.
    CreateBuffer,
    /// `vkCreateImage` answers out of device memory.
    CreateImage,
    /// A submit or bind answers device lost, and so does whatever can from then on.
    LoseDevice,
}

/// One physical device. The fields are Vulkan's own structs, so that a test can say anything.
#[derive(Debug, Clone)]
pub struct NullDevice {
    /// Name, type, version and limits.
    pub properties: vk::PhysicalDeviceProperties,
    /// Features of Vulkan 1.0; the sparse ones are bits of it.
    pub features: vk::PhysicalDeviceFeatures,
    /// Features of Vulkan 1.1.
    pub features11: vk::PhysicalDeviceVulkan11Features<'static>,
    /// Features of Vulkan 1.2.
    pub features12: vk::PhysicalDeviceVulkan12Features<'static>,
    /// Features of Vulkan 1.3.
    pub features13: vk::PhysicalDeviceVulkan13Features<'static>,
    /// Queue families, in order.
    pub queue_families: Vec<vk::QueueFamilyProperties>,
    /// Sizes and flags of the memory heaps.
    pub heaps: Vec<vk::MemoryHeap>,
    /// Memory types, in order.
    pub memory_types: Vec<vk::MemoryType>,
    /// Device extensions listed; asking for another is refused.
    pub extensions: Vec<&'static CStr>,
    /// `memoryTypeBits` of ordinary buffers and images; types past the last are masked off.
    pub memory_type_bits: u32,
    /// `memoryTypeBits` of sparse buffers. Zero is a device that advertises sparse binding and has no memory
    /// for it.
    pub sparse_buffer_type_bits: u32,
    /// `memoryTypeBits` of sparse images.
    pub sparse_image_type_bits: u32,
    /// Bytes a sparse bind is aligned to.
    pub sparse_alignment: u64,
    /// Formats that can do nothing; all others can do what their kind allows.
    pub unsupported_formats: Vec<vk::Format>,
}

impl Default for NullDevice {
    fn default() -> Self {
        Self::new("null", vk::PhysicalDeviceType::DISCRETE_GPU)
    }
}

impl NullDevice {
    /// A device with every feature, 4 GiB of its own memory, 4 GiB of shared memory, and three queue families:
    /// everything, compute and transfer, transfer; all of them bind sparse memory.
    pub fn new(name: &str, device_type: vk::PhysicalDeviceType) -> Self {
        let mut properties = vk::PhysicalDeviceProperties {
            api_version: vk::API_VERSION_1_3,
            driver_version: 1,
            device_type,
            limits: limits(),
            ..Default::default()
        };
        // The last byte stays zero: it ends the string.
        let length = properties.device_name.len() - 1;
        for (slot, byte) in properties.device_name[..length].iter_mut().zip(name.bytes()) {
            *slot = byte as std::ffi::c_char;
        }
        let heap = |flags| vk::MemoryHeap { size: 4 << 30, flags };
        let memory_type = |heap_index, property_flags| vk::MemoryType { property_flags, heap_index };
        let host = vk::MemoryPropertyFlags::HOST_VISIBLE | vk::MemoryPropertyFlags::HOST_COHERENT;
        let local = vk::MemoryPropertyFlags::DEVICE_LOCAL;
        let all = vk::QueueFlags::GRAPHICS
            | vk::QueueFlags::COMPUTE
            | vk::QueueFlags::TRANSFER
            | vk::QueueFlags::SPARSE_BINDING;
        let (mut features11, mut features12, mut features13) = Default::default();
        super::features::set_all_11(&mut features11);
        super::features::set_all_12(&mut features12);
        super::features::set_all_13(&mut features13);
        Self {
            properties,
            features: super::features::all_10(),
            features11,
            features12,
            features13,
            queue_families: Vec::new(),
            heaps: vec![heap(vk::MemoryHeapFlags::DEVICE_LOCAL), heap(vk::MemoryHeapFlags::empty())],
            memory_types: vec![
                memory_type(0, local),
                memory_type(1, host),
                memory_type(1, host | vk::MemoryPropertyFlags::HOST_CACHED),
                memory_type(0, local | host),
            ],
            extensions: vec![ash::khr::swapchain::NAME, ash::ext::memory_budget::NAME],
            memory_type_bits: !0,
            sparse_buffer_type_bits: 0b1001,
            sparse_image_type_bits: 0b0001,
            sparse_alignment: 65536,
            unsupported_formats: Vec::new(),
        }
        .queue_family(all, 1)
        .queue_family(all & !vk::QueueFlags::GRAPHICS, 2)
        .queue_family(vk::QueueFlags::TRANSFER | vk::QueueFlags::SPARSE_BINDING, 2)
    }

    /// The same without any queue family, to add one's own.
    pub fn without_queue_families(mut self) -> Self {
        self.queue_families.clear();
        self
    }

    /// Adds a queue family. It writes 64-bit timestamps and copies images to the texel.
    pub fn queue_family(mut self, queue_flags: vk::QueueFlags, queue_count: u32) -> Self {
        let granularity = vk::Extent3D { width: 1, height: 1, depth: 1 };
        self.queue_families.push(vk::QueueFamilyProperties {
            queue_flags,
            queue_count,
            timestamp_valid_bits: 64,
            min_image_transfer_granularity: granularity,
        });
        self
    }

    /// The same without sparse binding: no feature, no address space, no queue that binds.
    pub fn without_sparse(mut self) -> Self {
        self.features = vk::PhysicalDeviceFeatures {
            sparse_binding: vk::FALSE,
            sparse_residency_buffer: vk::FALSE,
            sparse_residency_image2_d: vk::FALSE,
            sparse_residency_image3_d: vk::FALSE,
            sparse_residency2_samples: vk::FALSE,
            sparse_residency4_samples: vk::FALSE,
            sparse_residency8_samples: vk::FALSE,
            sparse_residency16_samples: vk::FALSE,
            sparse_residency_aliased: vk::FALSE,
            shader_resource_residency: vk::FALSE,
            ..self.features
        };
        self.properties.limits.sparse_address_space_size = 0;
        for family in &mut self.queue_families {
            family.queue_flags &= !vk::QueueFlags::SPARSE_BINDING;
        }
        self
    }

    /// Changes the limits.
    pub fn limits(mut self, change: impl FnOnce(&mut vk::PhysicalDeviceLimits)) -> Self {
        change(&mut self.properties.limits);
        self
    }

    /// Changes the features of Vulkan 1.0.
    pub fn features(mut self, change: impl FnOnce(&mut vk::PhysicalDeviceFeatures)) -> Self {
        change(&mut self.features);
        self
    }

    /// Bits of the memory types there are.
    pub(super) fn existing_types(&self) -> u32 {
        1u32.checked_shl(self.memory_types.len() as u32).map_or(!0, |bit| bit - 1)
    }
}

/// Limits of a common desktop GPU, where they matter to an engine.
fn limits() -> vk::PhysicalDeviceLimits {
    vk::PhysicalDeviceLimits {
        max_image_dimension1_d: 16384,
        max_image_dimension2_d: 16384,
        max_image_dimension3_d: 2048,
        max_image_dimension_cube: 16384,
        max_image_array_layers: 2048,
        max_uniform_buffer_range: 65536,
        max_storage_buffer_range: u32::MAX,
        max_push_constants_size: 128,
        max_memory_allocation_count: 4096,
        max_sampler_allocation_count: 4000,
        buffer_image_granularity: 1024,
        sparse_address_space_size: 1 << 40,
        max_bound_descriptor_sets: 8,
        max_per_stage_descriptor_samplers: 1 << 20,
        max_per_stage_descriptor_storage_buffers: 1 << 20,
        max_per_stage_descriptor_sampled_images: 1 << 20,
        max_per_stage_descriptor_storage_images: 1 << 20,
        max_per_stage_resources: u32::MAX,
        max_descriptor_set_samplers: 1 << 20,
        max_descriptor_set_storage_buffers: 1 << 20,
        max_descriptor_set_sampled_images: 1 << 20,
        max_descriptor_set_storage_images: 1 << 20,
        max_compute_shared_memory_size: 49152,
        max_compute_work_group_count: [65535; 3],
        max_compute_work_group_invocations: 1024,
        max_compute_work_group_size: [1024, 1024, 64],
        max_draw_indexed_index_value: u32::MAX,
        max_draw_indirect_count: u32::MAX,
        max_sampler_lod_bias: 15.0,
        max_sampler_anisotropy: 16.0,
        max_viewports: 16,
        max_viewport_dimensions: [16384; 2],
        min_memory_map_alignment: 64,
        min_texel_buffer_offset_alignment: 16,
        min_uniform_buffer_offset_alignment: 64,
        min_storage_buffer_offset_alignment: 16,
        max_framebuffer_width: 16384,
        max_framebuffer_height: 16384,
        max_framebuffer_layers: 2048,
        framebuffer_color_sample_counts: vk::SampleCountFlags::TYPE_1 | vk::SampleCountFlags::TYPE_4,
        framebuffer_depth_sample_counts: vk::SampleCountFlags::TYPE_1 | vk::SampleCountFlags::TYPE_4,
        max_color_attachments: 8,
        timestamp_compute_and_graphics: vk::TRUE,
        timestamp_period: 1.0,
        discrete_queue_priorities: 2,
        optimal_buffer_copy_offset_alignment: 1,
        optimal_buffer_copy_row_pitch_alignment: 1,
        non_coherent_atom_size: 64,
        ..Default::default()
    }
}
