//! Buffers and images, what memory they need, and binding it whole.

use super::config::{Fault, NullDevice};
use super::format;
use super::state::{Data, ImageInfo, Inner, enter};
use super::support::{enumerate, enumerate_into, get, list, set};
use ash::vk::{self, Handle};

const ALIGNMENT: u64 = 256;

fn buffer_requirements(config: &NullDevice, size: u64, sparse: bool) -> vk::MemoryRequirements {
    let (alignment, bits) = if sparse {
        (config.sparse_alignment, config.sparse_buffer_type_bits)
    } else {
        (ALIGNMENT, config.memory_type_bits)
    };
    vk::MemoryRequirements {
        size: size.next_multiple_of(alignment),
        alignment,
        memory_type_bits: bits & config.existing_types(),
    }
}

pub(super) unsafe extern "system" fn create_buffer(
    device: vk::Device,
    info: *const vk::BufferCreateInfo<'_>,
    _: *const vk::AllocationCallbacks<'_>,
    out: *mut vk::Buffer,
) -> vk::Result {
    let (dispatch, mut inner) = enter(device, "vkCreateBuffer");
    let (info, config) = (get!(info), dispatch.device_config());
    if inner.trips(Fault::CreateBuffer) {
        return vk::Result::ERROR_OUT_OF_DEVICE_MEMORY;
    }
    let sparse = info.flags.contains(vk::BufferCreateFlags::SPARSE_BINDING);
    let features = &config.features;
    let resident = info.flags.contains(vk::BufferCreateFlags::SPARSE_RESIDENCY);
    if (sparse && features.sparse_binding == vk::FALSE)
        || (resident && (features.sparse_residency_buffer == vk::FALSE || !sparse))
        || (info.flags.contains(vk::BufferCreateFlags::SPARSE_ALIASED)
            && features.sparse_residency_aliased == vk::FALSE)
    {
        inner.error(format!("flags {:?} want a feature the device lacks", info.flags));
    }
    if info.size == 0 || info.usage.is_empty() {
        inner.error(format!("a buffer of {} bytes for {:?}", info.size, info.usage));
    }
    if sparse {
        let space = config.properties.limits.sparse_address_space_size;
        if inner.sparse_reserved.saturating_add(info.size) > space {
            return vk::Result::ERROR_OUT_OF_DEVICE_MEMORY;
        }
        inner.sparse_reserved += info.size;
    }
    let data = Data::Buffer { size: info.size, sparse, memory: None };
    set!(out, inner.create(device.as_raw(), data));
    vk::Result::SUCCESS
}

pub(super) unsafe extern "system" fn destroy_buffer(
    device: vk::Device,
    buffer: vk::Buffer,
    _: *const vk::AllocationCallbacks<'_>,
) {
    let (_, mut inner) = enter(device, "vkDestroyBuffer");
    if let Some(object) = inner.destroy(buffer)
        && let Data::Buffer { size, sparse: true, .. } = object.data
    {
        inner.sparse_reserved = inner.sparse_reserved.saturating_sub(size);
    }
}

pub(super) unsafe extern "system" fn get_buffer_memory_requirements(
    device: vk::Device,
    buffer: vk::Buffer,
    out: *mut vk::MemoryRequirements,
) {
    let (dispatch, mut inner) = enter(device, "vkGetBufferMemoryRequirements");
    set!(out, of_buffer(dispatch.device_config(), &mut inner, buffer));
}

fn of_buffer(config: &NullDevice, inner: &mut Inner, buffer: vk::Buffer) -> vk::MemoryRequirements {
    match inner.data(buffer) {
        Some(Data::Buffer { size, sparse, .. }) => buffer_requirements(config, *size, *sparse),
        _ => vk::MemoryRequirements::default(),
    }
}

pub(super) unsafe extern "system" fn get_buffer_memory_requirements2(
    device: vk::Device,
    info: *const vk::BufferMemoryRequirementsInfo2<'_>,
    out: *mut vk::MemoryRequirements2<'_>,
) {
    let (dispatch, mut inner) = enter(device, "vkGetBufferMemoryRequirements2");
    let requirements = of_buffer(dispatch.device_config(), &mut inner, get!(info).buffer);
    // SAFETY: the caller passes a valid output struct.
    unsafe { (*out).memory_requirements = requirements };
}

pub(super) unsafe extern "system" fn get_device_buffer_memory_requirements(
    device: vk::Device,
    info: *const vk::DeviceBufferMemoryRequirements<'_>,
    out: *mut vk::MemoryRequirements2<'_>,
) {
    let (dispatch, _inner) = enter(device, "vkGetDeviceBufferMemoryRequirements");
    let info = get!(get!(info).p_create_info);
    let sparse = info.flags.contains(vk::BufferCreateFlags::SPARSE_BINDING);
    let requirements = buffer_requirements(dispatch.device_config(), info.size, sparse);
    // SAFETY: the caller passes a valid output struct.
    unsafe { (*out).memory_requirements = requirements };
}

pub(super) unsafe extern "system" fn get_buffer_device_address(
    device: vk::Device,
    info: *const vk::BufferDeviceAddressInfo<'_>,
) -> u64 {
    let (_, mut inner) = enter(device, "vkGetBufferDeviceAddress");
    let buffer = get!(info).buffer;
    inner.check(buffer);
    buffer.as_raw() << 40
}

fn bind(inner: &mut Inner, resource: Result<vk::Buffer, vk::Image>, memory: vk::DeviceMemory, end: u64) {
    let memory_size = match inner.data(memory) {
        Some(Data::Memory { size, .. }) => *size,
        _ => return,
    };
    if end > memory_size {
        inner.error(format!("the resource ends at byte {end} of an allocation of {memory_size}"));
    }
    let data = match resource {
        Ok(buffer) => inner.data(buffer),
        Err(image) => inner.data(image),
    };
    let free = match data {
        Some(Data::Buffer { memory: slot, sparse: false, .. } | Data::Image { memory: slot, .. }) => {
            slot.replace(memory.as_raw()).is_none()
        }
        _ => false,
    };
    if !free {
        inner.error("the resource has memory already, or is sparse".to_owned());
    }
}

pub(super) unsafe extern "system" fn bind_buffer_memory(
    device: vk::Device,
    buffer: vk::Buffer,
    memory: vk::DeviceMemory,
    offset: u64,
) -> vk::Result {
    let (dispatch, mut inner) = enter(device, "vkBindBufferMemory");
    let size = of_buffer(dispatch.device_config(), &mut inner, buffer).size;
    bind(&mut inner, Ok(buffer), memory, offset + size);
    vk::Result::SUCCESS
}

pub(super) unsafe extern "system" fn bind_buffer_memory2(
    device: vk::Device,
    count: u32,
    infos: *const vk::BindBufferMemoryInfo<'_>,
) -> vk::Result {
    let (dispatch, mut inner) = enter(device, "vkBindBufferMemory2");
    for info in list!(infos, count) {
        let size = of_buffer(dispatch.device_config(), &mut inner, info.buffer).size;
        bind(&mut inner, Ok(info.buffer), info.memory, info.memory_offset + size);
    }
    vk::Result::SUCCESS
}

pub(super) unsafe extern "system" fn bind_image_memory(
    device: vk::Device,
    image: vk::Image,
    memory: vk::DeviceMemory,
    offset: u64,
) -> vk::Result {
    let (dispatch, mut inner) = enter(device, "vkBindImageMemory");
    let size = of_image(dispatch.device_config(), &mut inner, image).size;
    bind(&mut inner, Err(image), memory, offset + size);
    vk::Result::SUCCESS
}

pub(super) unsafe extern "system" fn bind_image_memory2(
    device: vk::Device,
    count: u32,
    infos: *const vk::BindImageMemoryInfo<'_>,
) -> vk::Result {
    let (dispatch, mut inner) = enter(device, "vkBindImageMemory2");
    for info in list!(infos, count) {
        let size = of_image(dispatch.device_config(), &mut inner, info.image).size;
        bind(&mut inner, Err(info.image), info.memory, info.memory_offset + size);
    }
    vk::Result::SUCCESS
}

fn image_info(info: &vk::ImageCreateInfo<'_>) -> ImageInfo {
    ImageInfo {
        flags: info.flags,
        format: info.format,
        extent: info.extent,
        mips: info.mip_levels,
        layers: info.array_layers,
    }
}

/// The tile format of an image that has tiles.
fn tiles(config: &NullDevice, info: &ImageInfo) -> Option<vk::SparseImageFormatProperties> {
    if !info.flags.contains(vk::ImageCreateFlags::SPARSE_RESIDENCY) {
        return None;
    }
    let kind = if info.extent.depth > 1 { vk::ImageType::TYPE_3D } else { vk::ImageType::TYPE_2D };
    format::sparse(config, info.format, kind, vk::SampleCountFlags::TYPE_1)
}

fn image_requirements(config: &NullDevice, info: &ImageInfo) -> vk::MemoryRequirements {
    let sparse = info.flags.contains(vk::ImageCreateFlags::SPARSE_BINDING);
    let (alignment, bits) = if sparse {
        (config.sparse_alignment, config.sparse_image_type_bits)
    } else {
        (ALIGNMENT, config.memory_type_bits)
    };
    let tile = tiles(config, info).map(|tiles| tiles.image_granularity);
    let (size, _) = format::sizes(info, tile, alignment);
    vk::MemoryRequirements { size, alignment, memory_type_bits: bits & config.existing_types() }
}

fn of_image(config: &NullDevice, inner: &mut Inner, image: vk::Image) -> vk::MemoryRequirements {
    match inner.data(image) {
        Some(Data::Image { info, .. }) => image_requirements(config, info),
        _ => vk::MemoryRequirements::default(),
    }
}

pub(super) unsafe extern "system" fn create_image(
    device: vk::Device,
    info: *const vk::ImageCreateInfo<'_>,
    _: *const vk::AllocationCallbacks<'_>,
    out: *mut vk::Image,
) -> vk::Result {
    let (dispatch, mut inner) = enter(device, "vkCreateImage");
    let (info, config) = (get!(info), dispatch.device_config());
    if inner.trips(Fault::CreateImage) {
        return vk::Result::ERROR_OUT_OF_DEVICE_MEMORY;
    }
    let allowed = format::image_properties(config, info.format, info.image_type, info.flags);
    let fits = allowed.is_some_and(|limit| {
        (1..=limit.max_extent.width).contains(&info.extent.width)
            && (1..=limit.max_extent.height).contains(&info.extent.height)
            && (1..=limit.max_extent.depth).contains(&info.extent.depth)
            && (1..=limit.max_array_layers).contains(&info.array_layers)
            && (1..=limit.max_mip_levels).contains(&info.mip_levels)
    });
    if !fits || info.usage.is_empty() {
        inner.error(format!(
            "{:?} {:?} with {} mips and {} layers for {:?} ({:?}) is not possible",
            info.format, info.extent, info.mip_levels, info.array_layers, info.usage, info.flags
        ));
    }
    let data = Data::Image { info: image_info(info), memory: None, swapchain: false };
    set!(out, inner.create(device.as_raw(), data));
    vk::Result::SUCCESS
}

pub(super) unsafe extern "system" fn destroy_image(
    device: vk::Device,
    image: vk::Image,
    _: *const vk::AllocationCallbacks<'_>,
) {
    let (_, mut inner) = enter(device, "vkDestroyImage");
    inner.destroy(image);
}

pub(super) unsafe extern "system" fn get_image_memory_requirements(
    device: vk::Device,
    image: vk::Image,
    out: *mut vk::MemoryRequirements,
) {
    let (dispatch, mut inner) = enter(device, "vkGetImageMemoryRequirements");
    set!(out, of_image(dispatch.device_config(), &mut inner, image));
}

pub(super) unsafe extern "system" fn get_image_memory_requirements2(
    device: vk::Device,
    info: *const vk::ImageMemoryRequirementsInfo2<'_>,
    out: *mut vk::MemoryRequirements2<'_>,
) {
    let (dispatch, mut inner) = enter(device, "vkGetImageMemoryRequirements2");
    let requirements = of_image(dispatch.device_config(), &mut inner, get!(info).image);
    // SAFETY: the caller passes a valid output struct.
    unsafe { (*out).memory_requirements = requirements };
}

pub(super) unsafe extern "system" fn get_device_image_memory_requirements(
    device: vk::Device,
    info: *const vk::DeviceImageMemoryRequirements<'_>,
    out: *mut vk::MemoryRequirements2<'_>,
) {
    let (dispatch, _inner) = enter(device, "vkGetDeviceImageMemoryRequirements");
    let info = image_info(get!(get!(info).p_create_info));
    // SAFETY: the caller passes a valid output struct.
    unsafe { (*out).memory_requirements = image_requirements(dispatch.device_config(), &info) };
}

fn sparse_requirements(config: &NullDevice, info: &ImageInfo) -> Option<vk::SparseImageMemoryRequirements> {
    let format_properties = tiles(config, info)?;
    let tile = format_properties.image_granularity;
    let (size, tail) = format::sizes(info, Some(tile), config.sparse_alignment);
    let stride = size / u64::from(info.layers.max(1));
    Some(vk::SparseImageMemoryRequirements {
        format_properties,
        image_mip_tail_first_lod: format::first_tail_mip(info, tile),
        image_mip_tail_size: tail,
        image_mip_tail_offset: stride - tail,
        image_mip_tail_stride: stride,
    })
}

pub(super) unsafe extern "system" fn get_image_sparse_memory_requirements(
    device: vk::Device,
    image: vk::Image,
    count: *mut u32,
    out: *mut vk::SparseImageMemoryRequirements,
) {
    let (dispatch, mut inner) = enter(device, "vkGetImageSparseMemoryRequirements");
    let found = match inner.data(image) {
        Some(Data::Image { info, .. }) => sparse_requirements(dispatch.device_config(), info),
        _ => None,
    };
    // SAFETY: the two-call protocol of this function.
    let _ = unsafe { enumerate(found.as_slice(), count, out) };
}

pub(super) unsafe extern "system" fn get_image_sparse_memory_requirements2(
    device: vk::Device,
    info: *const vk::ImageSparseMemoryRequirementsInfo2<'_>,
    count: *mut u32,
    out: *mut vk::SparseImageMemoryRequirements2<'_>,
) {
    let (dispatch, mut inner) = enter(device, "vkGetImageSparseMemoryRequirements2");
    let found = match inner.data(get!(info).image) {
        Some(Data::Image { info, .. }) => sparse_requirements(dispatch.device_config(), info),
        _ => None,
    };
    let write = |place: *mut vk::SparseImageMemoryRequirements2<'_>, item: &_| {
        // SAFETY: `enumerate_into` hands out valid places only.
        unsafe { (*place).memory_requirements = *item };
    };
    // SAFETY: the two-call protocol of this function.
    let _ = unsafe { enumerate_into(found.as_slice(), count, out, write) };
}
