//! What a physical device can do, as plain data: the input of every policy in this room.

use std::fmt;

use ash::{ext, khr, vk};
use serde::Serialize;

use super::error::{Error, Result};
use super::instance::Instance;

/// Kind of device, in the order people prefer them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DeviceType {
    /// Unknown.
    Other,
    /// A software driver.
    Cpu,
    /// A GPU passed into a virtual machine.
    Virtual,
    /// A GPU that shares the processor's memory.
    Integrated,
    /// A graphics card.
    Discrete,
}

/// What people call the sparse ability of a device (spec: after the tiers of tiled resources).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum SparseTier {
    /// No sparse binding, or no queue that can do it, or buffers and 2D images cannot be partly bound.
    #[serde(rename = "none")]
    None,
    /// Partly bound buffers and 2D images.
    #[serde(rename = "1")]
    One,
    /// Tier 1, and reads of empty pages give zero.
    #[serde(rename = "2")]
    Two,
    /// Tier 2, and partly bound 3D images.
    #[serde(rename = "3")]
    Three,
}

impl fmt::Display for SparseTier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SparseTier::None => "none",
            SparseTier::One => "1",
            SparseTier::Two => "2",
            SparseTier::Three => "3",
        })
    }
}

/// The exact sparse booleans that features gate on; the tier is only what is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct SparseSupport {
    /// `sparseBinding`, and a queue family that can bind.
    pub binding: bool,
    /// `sparseResidencyBuffer`.
    pub residency_buffer: bool,
    /// `sparseResidencyImage2D`.
    pub residency_image_2d: bool,
    /// `sparseResidencyImage3D`.
    pub residency_image_3d: bool,
    /// `sparseResidencyAliased`.
    pub residency_aliased: bool,
    /// `residencyNonResidentStrict`: empty pages read 0.
    pub non_resident_strict: bool,
    /// `residencyAlignedMipSize`.
    pub aligned_mip_size: bool,
    /// `sparseAddressSpaceSize`: bytes of addresses that all live reservations share.
    pub address_space_bytes: u64,
}

impl SparseSupport {
    /// The tier people know this device by.
    pub fn tier(&self) -> SparseTier {
        if !(self.binding && self.residency_buffer && self.residency_image_2d) {
            SparseTier::None
        } else if !self.non_resident_strict {
            SparseTier::One
        } else if !self.residency_image_3d {
            SparseTier::Two
        } else {
            SparseTier::Three
        }
    }

    /// Whether buffers can grow in place.
    pub fn growable_buffers(&self) -> bool {
        self.binding && self.residency_buffer
    }
}

/// One queue family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct QueueFamily {
    /// Draws.
    pub graphics: bool,
    /// Dispatches.
    pub compute: bool,
    /// Copies (implied by the two above).
    pub transfer: bool,
    /// `vkQueueBindSparse`.
    pub sparse: bool,
    /// Number of queues.
    pub count: u32,
    /// Valid bits of a timestamp; 0 = none.
    pub timestamp_bits: u32,
}

/// One memory heap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct MemoryHeap {
    /// Size in bytes.
    pub bytes: u64,
    /// On the device.
    pub device_local: bool,
}

/// One memory type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct MemoryType {
    /// Index into the heaps.
    pub heap: u32,
    /// On the device.
    pub device_local: bool,
    /// Can be mapped.
    pub host_visible: bool,
    /// Mapped writes need no flush.
    pub host_coherent: bool,
    /// Lazily allocated or protected: not for us.
    pub special: bool,
}

/// Limits that the engine checks against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Limits {
    /// Largest range of one storage buffer descriptor, bytes.
    pub max_storage_buffer_range: u64,
    /// Largest `VkBuffer`, bytes.
    pub max_buffer_size: u64,
    /// Largest side of a 2D image, texels.
    pub max_image_2d: u32,
    /// Largest width of a 1D image, texels.
    pub max_image_1d: u32,
    /// Largest side of a 3D image, texels.
    pub max_image_3d: u32,
    /// Most array layers of an image.
    pub max_image_layers: u32,
    /// Largest single allocation, bytes.
    pub max_memory_allocation: u64,
    /// Most allocations alive at once.
    pub max_memory_allocations: u32,
    /// Alignment of a storage buffer descriptor's offset, bytes.
    pub storage_buffer_alignment: u64,
    /// Bytes that keep linear and optimal resources apart.
    pub buffer_image_granularity: u64,
    /// Nanoseconds a timestamp tick, in 1/1000.
    pub timestamp_period_millis: u64,
    /// Most workgroups of one dispatch on the x axis.
    pub max_workgroups_x: u32,
    /// Most draws of one indirect draw.
    pub max_draw_indirect_count: u32,
    /// Largest anisotropy; 1 = none.
    pub max_anisotropy: u32,
    /// Numbers of samples that colour and depth targets may have, a bit each (`VkSampleCountFlags`).
    pub sample_counts: u32,
}

/// Optional features and extensions, each with a fallback.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Optional {
    /// `textureCompressionBC`.
    pub bc: bool,
    /// `samplerAnisotropy`.
    pub anisotropy: bool,
    /// `VK_EXT_memory_budget`.
    pub memory_budget: bool,
    /// `VK_EXT_memory_priority`.
    pub memory_priority: bool,
    /// `VK_EXT_pageable_device_local_memory`.
    pub pageable_memory: bool,
    /// `VK_EXT_device_fault` with its feature `deviceFault`.
    pub device_fault: bool,
    /// `VK_KHR_swapchain`.
    pub swapchain: bool,
    /// Queues beside the graphics queue may be used.
    pub async_queues: bool,
}

/// Everything known about a physical device before it is used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Capabilities {
    /// Device name.
    pub name: String,
    /// Driver name and version as the driver puts it.
    pub driver: String,
    /// `VkDriverId` as a number; quirks are keyed by it.
    pub driver_id: i32,
    /// API version, `major.minor.patch`.
    pub api: String,
    /// Packed API version.
    pub api_version: u32,
    /// Kind of device.
    #[serde(rename = "type")]
    pub device_type: DeviceType,
    /// Vendor and device id.
    pub id: (u32, u32),
    /// Sparse booleans.
    pub sparse: SparseSupport,
    /// Required features that are missing, by their Vulkan names.
    pub missing: Vec<&'static str>,
    /// Optional features.
    pub optional: Optional,
    /// Limits.
    pub limits: Limits,
    /// Queue families in driver order.
    pub queue_families: Vec<QueueFamily>,
    /// Memory heaps.
    pub heaps: Vec<MemoryHeap>,
    /// Memory types.
    pub memory_types: Vec<MemoryType>,
}

/// Features hidden on purpose, to test that the rest still works (`--mask`, `--fallback`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FeatureMask {
    names: Vec<String>,
}

impl FeatureMask {
    /// The names that can be masked.
    pub const NAMES: &[&str] = &[
        "sparse_binding",
        "sparse_residency_buffer",
        "sparse_residency_image_2d",
        "sparse_residency_image_3d",
        "sparse_residency_aliased",
        "non_resident_strict",
        "bc",
        "anisotropy",
        "memory_budget",
        "memory_priority",
        "pageable_memory",
        "device_fault",
        "async_queues",
    ];

    /// Parses a comma-separated list.
    ///
    /// # Errors
    /// Names the unknown feature and lists the known ones.
    pub fn parse(list: &str) -> std::result::Result<Self, String> {
        let names: Vec<String> =
            list.split(',').map(str::trim).filter(|n| !n.is_empty()).map(String::from).collect();
        match names.iter().find(|n| !Self::NAMES.contains(&n.as_str())) {
            Some(unknown) => {
                Err(format!("no feature `{unknown}` to mask; known: {}", Self::NAMES.join(", ")))
            }
            None => Ok(Self { names }),
        }
    }

    /// Everything that sparse binding needs: the fallback path.
    pub fn fallback() -> Self {
        Self { names: vec!["sparse_binding".into()] }
    }

    /// Both masks together.
    pub fn and(mut self, other: FeatureMask) -> Self {
        self.names.extend(other.names);
        self
    }

    fn hides(&self, name: &str) -> bool {
        self.names.iter().any(|n| n == name)
    }

    /// Hides the masked features.
    pub fn apply(&self, capabilities: &mut Capabilities) {
        let sparse = &mut capabilities.sparse;
        let no_sparse = self.hides("sparse_binding");
        sparse.binding &= !no_sparse;
        sparse.residency_buffer &= !no_sparse && !self.hides("sparse_residency_buffer");
        sparse.residency_image_2d &= !no_sparse && !self.hides("sparse_residency_image_2d");
        sparse.residency_image_3d &= !no_sparse && !self.hides("sparse_residency_image_3d");
        sparse.residency_aliased &= !no_sparse && !self.hides("sparse_residency_aliased");
        sparse.non_resident_strict &= !no_sparse && !self.hides("non_resident_strict");
        let optional = &mut capabilities.optional;
        optional.bc &= !self.hides("bc");
        optional.anisotropy &= !self.hides("anisotropy");
        optional.memory_budget &= !self.hides("memory_budget");
        optional.memory_priority &= !self.hides("memory_priority");
        optional.pageable_memory &= optional.memory_priority && !self.hides("pageable_memory");
        optional.device_fault &= !self.hides("device_fault");
        optional.async_queues &= !self.hides("async_queues");
    }
}

/// Asks a driver for everything in [`Capabilities`].
///
/// # Errors
/// When the driver fails to list its extensions.
pub fn query(instance: &Instance, physical: vk::PhysicalDevice) -> Result<Capabilities> {
    let raw = instance.raw();
    // SAFETY: `physical` comes from this instance; all outputs are locals that outlive the calls.
    let (extensions, base, families, memory) = unsafe {
        (
            raw.enumerate_device_extension_properties(physical)
                .map_err(Error::of("vkEnumerateDeviceExtensionProperties"))?,
            raw.get_physical_device_properties(physical),
            raw.get_physical_device_queue_family_properties(physical),
            raw.get_physical_device_memory_properties(physical),
        )
    };
    let name = base.device_name_as_c_str().unwrap_or_default().to_string_lossy().into_owned();
    let api_version = base.api_version;
    let has = |name: &std::ffi::CStr| extensions.iter().any(|e| e.extension_name_as_c_str() == Ok(name));

    let mut driver = vk::PhysicalDeviceDriverProperties::default();
    let mut p11 = vk::PhysicalDeviceVulkan11Properties::default();
    let mut p13 = vk::PhysicalDeviceVulkan13Properties::default();
    let mut f11 = vk::PhysicalDeviceVulkan11Features::default();
    let mut f12 = vk::PhysicalDeviceVulkan12Features::default();
    let mut f13 = vk::PhysicalDeviceVulkan13Features::default();
    let modern = api_version >= vk::API_VERSION_1_3;
    let mut properties = vk::PhysicalDeviceProperties2::default();
    let mut features = vk::PhysicalDeviceFeatures2::default();
    if modern {
        properties = properties.push_next(&mut driver).push_next(&mut p11).push_next(&mut p13);
        features = features.push_next(&mut f11).push_next(&mut f12).push_next(&mut f13);
    }
    let mut fault = vk::PhysicalDeviceFaultFeaturesEXT::default();
    if has(ext::device_fault::NAME) {
        features = features.push_next(&mut fault);
    }
    // SAFETY: the chains hold only structures of Vulkan 1.3 and of extensions that the device has.
    unsafe {
        raw.get_physical_device_properties2(physical, &mut properties);
        raw.get_physical_device_features2(physical, &mut features);
    }
    let limits = properties.properties.limits;
    let sparse = properties.properties.sparse_properties;
    let core = features.features;
    let queue_families: Vec<_> = families.iter().map(queue_family).collect();
    let any_sparse_queue = queue_families.iter().any(|f| f.sparse);
    let optional = Optional {
        bc: core.texture_compression_bc != 0,
        anisotropy: core.sampler_anisotropy != 0,
        memory_budget: has(ext::memory_budget::NAME),
        memory_priority: has(ext::memory_priority::NAME),
        // It needs the other.
        pageable_memory: has(ext::memory_priority::NAME) && has(ext::pageable_device_local_memory::NAME),
        device_fault: fault.device_fault != 0,
        swapchain: has(khr::swapchain::NAME),
        async_queues: true,
    };
    Ok(Capabilities {
        name,
        driver: driver_text(&driver, base.driver_version),
        driver_id: driver.driver_id.as_raw(),
        api: format!(
            "{}.{}.{}",
            vk::api_version_major(api_version),
            vk::api_version_minor(api_version),
            vk::api_version_patch(api_version)
        ),
        api_version,
        device_type: device_type(base.device_type),
        id: (base.vendor_id, base.device_id),
        sparse: SparseSupport {
            binding: core.sparse_binding != 0 && any_sparse_queue,
            residency_buffer: core.sparse_residency_buffer != 0,
            residency_image_2d: core.sparse_residency_image2_d != 0,
            residency_image_3d: core.sparse_residency_image3_d != 0,
            residency_aliased: core.sparse_residency_aliased != 0,
            non_resident_strict: sparse.residency_non_resident_strict != 0,
            aligned_mip_size: sparse.residency_aligned_mip_size != 0,
            address_space_bytes: limits.sparse_address_space_size,
        },
        missing: missing_features(modern, &core, &f11, &f12, &f13),
        optional,
        limits: Limits {
            max_storage_buffer_range: u64::from(limits.max_storage_buffer_range),
            max_buffer_size: p13.max_buffer_size,
            max_image_2d: limits.max_image_dimension2_d,
            max_image_1d: limits.max_image_dimension1_d,
            max_image_3d: limits.max_image_dimension3_d,
            max_image_layers: limits.max_image_array_layers,
            max_memory_allocation: p11.max_memory_allocation_size,
            max_memory_allocations: limits.max_memory_allocation_count,
            storage_buffer_alignment: limits.min_storage_buffer_offset_alignment,
            buffer_image_granularity: limits.buffer_image_granularity,
            timestamp_period_millis: (f64::from(limits.timestamp_period) * 1000.0).round() as u64,
            max_workgroups_x: limits.max_compute_work_group_count[0],
            max_draw_indirect_count: limits.max_draw_indirect_count,
            sample_counts: (limits.framebuffer_color_sample_counts & limits.framebuffer_depth_sample_counts)
                .as_raw(),
            max_anisotropy: if optional.anisotropy { limits.max_sampler_anisotropy as u32 } else { 1 },
        },
        queue_families,
        heaps: memory
            .memory_heaps_as_slice()
            .iter()
            .map(|h| MemoryHeap {
                bytes: h.size,
                device_local: h.flags.contains(vk::MemoryHeapFlags::DEVICE_LOCAL),
            })
            .collect(),
        memory_types: memory.memory_types_as_slice().iter().map(memory_type).collect(),
    })
}

fn driver_text(driver: &vk::PhysicalDeviceDriverProperties<'_>, version: u32) -> String {
    let text = |s: std::result::Result<&std::ffi::CStr, _>| {
        s.map(|s: &std::ffi::CStr| s.to_string_lossy().into_owned()).unwrap_or_default()
    };
    let (name, info) = (text(driver.driver_name_as_c_str()), text(driver.driver_info_as_c_str()));
    match (name.is_empty(), info.is_empty()) {
        (true, _) => format!("version {version:#x}"),
        (false, true) => name,
        (false, false) => format!("{name} {info}"),
    }
}

fn device_type(kind: vk::PhysicalDeviceType) -> DeviceType {
    match kind {
        vk::PhysicalDeviceType::DISCRETE_GPU => DeviceType::Discrete,
        vk::PhysicalDeviceType::INTEGRATED_GPU => DeviceType::Integrated,
        vk::PhysicalDeviceType::VIRTUAL_GPU => DeviceType::Virtual,
        vk::PhysicalDeviceType::CPU => DeviceType::Cpu,
        _ => DeviceType::Other,
    }
}

fn queue_family(family: &vk::QueueFamilyProperties) -> QueueFamily {
    let flags = family.queue_flags;
    let graphics = flags.contains(vk::QueueFlags::GRAPHICS);
    let compute = flags.contains(vk::QueueFlags::COMPUTE);
    QueueFamily {
        graphics,
        compute,
        transfer: graphics || compute || flags.contains(vk::QueueFlags::TRANSFER),
        sparse: flags.contains(vk::QueueFlags::SPARSE_BINDING),
        count: family.queue_count,
        timestamp_bits: family.timestamp_valid_bits,
    }
}

fn memory_type(kind: &vk::MemoryType) -> MemoryType {
    use vk::MemoryPropertyFlags as Flags;
    MemoryType {
        heap: kind.heap_index,
        device_local: kind.property_flags.contains(Flags::DEVICE_LOCAL),
        host_visible: kind.property_flags.contains(Flags::HOST_VISIBLE),
        host_coherent: kind.property_flags.contains(Flags::HOST_COHERENT),
        special: kind.property_flags.intersects(
            Flags::LAZILY_ALLOCATED
                | Flags::PROTECTED
                | Flags::DEVICE_COHERENT_AMD
                | Flags::DEVICE_UNCACHED_AMD,
        ),
    }
}

fn missing_features(
    modern: bool,
    core: &vk::PhysicalDeviceFeatures,
    f11: &vk::PhysicalDeviceVulkan11Features<'_>,
    f12: &vk::PhysicalDeviceVulkan12Features<'_>,
    f13: &vk::PhysicalDeviceVulkan13Features<'_>,
) -> Vec<&'static str> {
    if !modern {
        return vec!["Vulkan 1.3"];
    }
    let required = [
        ("multiDrawIndirect", core.multi_draw_indirect),
        ("drawIndirectFirstInstance", core.draw_indirect_first_instance),
        ("shaderStorageBufferArrayDynamicIndexing", core.shader_storage_buffer_array_dynamic_indexing),
        ("shaderSampledImageArrayDynamicIndexing", core.shader_sampled_image_array_dynamic_indexing),
        ("shaderDrawParameters", f11.shader_draw_parameters),
        ("timelineSemaphore", f12.timeline_semaphore),
        ("drawIndirectCount", f12.draw_indirect_count),
        ("hostQueryReset", f12.host_query_reset),
        ("shaderStorageBufferArrayNonUniformIndexing", f12.shader_storage_buffer_array_non_uniform_indexing),
        ("shaderSampledImageArrayNonUniformIndexing", f12.shader_sampled_image_array_non_uniform_indexing),
        ("runtimeDescriptorArray", f12.runtime_descriptor_array),
        ("descriptorBindingPartiallyBound", f12.descriptor_binding_partially_bound),
        ("descriptorBindingUpdateUnusedWhilePending", f12.descriptor_binding_update_unused_while_pending),
        (
            "descriptorBindingStorageBufferUpdateAfterBind",
            f12.descriptor_binding_storage_buffer_update_after_bind,
        ),
        (
            "descriptorBindingSampledImageUpdateAfterBind",
            f12.descriptor_binding_sampled_image_update_after_bind,
        ),
        ("robustImageAccess", f13.robust_image_access),
        ("shaderZeroInitializeWorkgroupMemory", f13.shader_zero_initialize_workgroup_memory),
        ("dynamicRendering", f13.dynamic_rendering),
        ("synchronization2", f13.synchronization2),
        ("maintenance4", f13.maintenance4),
    ];
    required.iter().filter(|(_, has)| *has == 0).map(|(name, _)| *name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiers_follow_the_table() {
        let mut s = SparseSupport { binding: true, residency_buffer: true, ..Default::default() };
        assert_eq!(s.tier(), SparseTier::None, "sparse binding without a tier-1 boolean prints none");
        assert!(s.growable_buffers(), "but features still gate by their own row");
        s.residency_image_2d = true;
        assert_eq!(s.tier(), SparseTier::One);
        s.residency_image_3d = true;
        assert_eq!(s.tier(), SparseTier::One, "3D without strict empty reads stays tier 1");
        s.non_resident_strict = true;
        assert_eq!(s.tier(), SparseTier::Three);
        s.residency_image_3d = false;
        assert_eq!(s.tier(), SparseTier::Two);
        s.binding = false;
        assert_eq!(s.tier(), SparseTier::None);
        assert!(!s.growable_buffers());
    }

    #[test]
    fn masks_know_their_names() {
        assert!(FeatureMask::parse("bc, anisotropy").is_ok());
        assert!(FeatureMask::parse("").is_ok());
        let error = FeatureMask::parse("bc,ray_tracing").unwrap_err();
        assert!(error.contains("ray_tracing") && error.contains("sparse_binding"), "{error}");
    }
}
