//! Devices that do not exist, for testing decisions about devices.

use ash::vk::API_VERSION_1_3;
use vasa::vk::capabilities::{
    Capabilities, DeviceType, Limits, MemoryHeap, MemoryType, Optional, QueueFamily, SparseSupport,
};

/// A queue family from letters: `g`raphics, `c`ompute, `t`ransfer, `s`parse. `family("gcts", 16)` does everything.
pub fn family(letters: &str, count: u32) -> QueueFamily {
    let has = |letter| letters.contains(letter);
    QueueFamily {
        graphics: has('g'),
        compute: has('c'),
        transfer: has('t') || has('g') || has('c'),
        sparse: has('s'),
        count,
        timestamp_bits: 64,
    }
}

/// A device that can do everything, with these queue families.
pub fn device(name: &str, device_type: DeviceType, families: &[QueueFamily]) -> Capabilities {
    Capabilities {
        name: name.into(),
        driver: "Invented 1.0".into(),
        driver_id: 0,
        api: "1.3.0".into(),
        api_version: API_VERSION_1_3,
        device_type,
        id: (0x1234, 0x5678),
        sparse: SparseSupport {
            binding: families.iter().any(|f| f.sparse),
            residency_buffer: true,
            residency_image_2d: true,
            residency_image_3d: true,
            residency_aliased: true,
            non_resident_strict: true,
            aligned_mip_size: false,
            address_space_bytes: 1 << 40,
        },
        missing: Vec::new(),
        optional: Optional {
            bc: true,
            anisotropy: true,
            memory_budget: true,
            memory_priority: true,
            pageable_memory: true,
            device_fault: true,
            swapchain: true,
            async_queues: true,
        },
        limits: Limits {
            sample_counts: 5,
            max_storage_buffer_range: (4 << 30) - 1,
            max_buffer_size: 1 << 40,
            max_image_2d: 16384,
            max_image_1d: 16384,
            max_image_3d: 2048,
            max_image_layers: 2048,
            max_memory_allocation: 4 << 30,
            max_memory_allocations: 4096,
            storage_buffer_alignment: 16,
            buffer_image_granularity: 1024,
            timestamp_period_millis: 1000,
            max_workgroups_x: 65535,
            max_draw_indirect_count: u32::MAX,
            max_anisotropy: 16,
        },
        queue_families: families.to_vec(),
        heaps: vec![MemoryHeap { bytes: 8 << 30, device_local: true }],
        memory_types: vec![MemoryType {
            heap: 0,
            device_local: true,
            host_visible: false,
            host_coherent: false,
            special: false,
        }],
    }
}

/// A graphics card as NVIDIA's: sparse on graphics and on a copy family beside it.
pub fn discrete() -> Capabilities {
    device("Discrete One", DeviceType::Discrete, &[family("gcts", 16), family("ts", 2), family("cts", 8)])
}

/// A software driver as lavapipe: one family with one queue that does everything.
pub fn software() -> Capabilities {
    let mut device = device("Software", DeviceType::Cpu, &[family("gcts", 1)]);
    device.sparse.non_resident_strict = false;
    device
}
