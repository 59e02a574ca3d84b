//! Device memory: host memory that is allocated when first mapped.

use super::config::Fault;
use super::state::{Data, enter};
use super::support::{get, set};
use ash::vk;
use std::ffi::c_void;

pub(super) unsafe extern "system" fn allocate_memory(
    device: vk::Device,
    info: *const vk::MemoryAllocateInfo<'_>,
    _: *const vk::AllocationCallbacks<'_>,
    out: *mut vk::DeviceMemory,
) -> vk::Result {
    let (dispatch, mut inner) = enter(device, "vkAllocateMemory");
    let (info, config) = (get!(info), dispatch.device_config());
    if inner.trips(Fault::Allocate) {
        return vk::Result::ERROR_OUT_OF_DEVICE_MEMORY;
    }
    let Some(memory_type) = config.memory_types.get(info.memory_type_index as usize) else {
        inner.error(format!("there is no memory type {}", info.memory_type_index));
        return vk::Result::ERROR_OUT_OF_DEVICE_MEMORY;
    };
    if info.allocation_size == 0 {
        inner.error("an allocation of no bytes".to_owned());
    }
    let count = inner.live.values().filter(|object| matches!(object.data, Data::Memory { .. })).count();
    if count >= config.properties.limits.max_memory_allocation_count as usize {
        return vk::Result::ERROR_TOO_MANY_OBJECTS;
    }
    let heap = memory_type.heap_index as usize;
    let key = (dispatch.physical, heap);
    let taken = inner.heap_used.get(&key).unwrap_or(&0) + inner.foreign.get(&key).unwrap_or(&0);
    let room = config.heaps.get(heap).map_or(0, |heap| heap.size);
    if taken.saturating_add(info.allocation_size) > room {
        return vk::Result::ERROR_OUT_OF_DEVICE_MEMORY;
    }
    *inner.heap_used.entry(key).or_default() += info.allocation_size;
    let visible = memory_type.property_flags.contains(vk::MemoryPropertyFlags::HOST_VISIBLE);
    let data = Data::Memory { size: info.allocation_size, heap, visible, mapped: None };
    set!(out, inner.create(vk::Handle::as_raw(device), data));
    vk::Result::SUCCESS
}

pub(super) unsafe extern "system" fn free_memory(
    device: vk::Device,
    memory: vk::DeviceMemory,
    _: *const vk::AllocationCallbacks<'_>,
) {
    let (dispatch, mut inner) = enter(device, "vkFreeMemory");
    if let Some(object) = inner.destroy(memory)
        && let Data::Memory { size, heap, .. } = object.data
    {
        let used = inner.heap_used.entry((dispatch.physical, heap)).or_default();
        *used = used.saturating_sub(size);
    }
}

pub(super) unsafe extern "system" fn map_memory(
    device: vk::Device,
    memory: vk::DeviceMemory,
    offset: u64,
    size: u64,
    _: vk::MemoryMapFlags,
    out: *mut *mut c_void,
) -> vk::Result {
    let (_, mut inner) = enter(device, "vkMapMemory");
    let Some(Data::Memory { size: whole, visible, mapped, .. }) = inner.data(memory) else {
        return vk::Result::ERROR_MEMORY_MAP_FAILED;
    };
    let fits = offset < *whole && (size == vk::WHOLE_SIZE || size <= *whole - offset);
    if !*visible || !fits {
        let message = format!("bytes {offset}+{size} of {whole} cannot be mapped (host visible: {visible})");
        inner.error(message);
        return vk::Result::ERROR_MEMORY_MAP_FAILED;
    }
    // Words of 64 bits, for alignment.
    let words = mapped.get_or_insert_with(|| vec![0; whole.div_ceil(8) as usize]);
    let start = words.as_mut_ptr().cast::<u8>();
    // SAFETY: `offset` is less than the size of the allocation, which has at least that many bytes.
    set!(out, unsafe { start.add(offset as usize) }.cast());
    vk::Result::SUCCESS
}

/// The bytes stay, so that what was written is there when mapped again.
pub(super) unsafe extern "system" fn unmap_memory(device: vk::Device, memory: vk::DeviceMemory) {
    let (_, mut inner) = enter(device, "vkUnmapMemory");
    let mapped = matches!(inner.data(memory), Some(Data::Memory { mapped: Some(_), .. }));
    if !mapped {
        inner.error("memory that was never mapped".to_owned());
    }
}

pub(super) unsafe extern "system" fn flush_mapped_memory_ranges(
    device: vk::Device,
    _: u32,
    _: *const vk::MappedMemoryRange<'_>,
) -> vk::Result {
    let (_, _inner) = enter(device, "vkFlushMappedMemoryRanges");
    vk::Result::SUCCESS
}

pub(super) unsafe extern "system" fn invalidate_mapped_memory_ranges(
    device: vk::Device,
    _: u32,
    _: *const vk::MappedMemoryRange<'_>,
) -> vk::Result {
    let (_, _inner) = enter(device, "vkInvalidateMappedMemoryRanges");
    vk::Result::SUCCESS
}

pub(super) unsafe extern "system" fn get_device_memory_commitment(
    device: vk::Device,
    memory: vk::DeviceMemory,
    out: *mut u64,
) {
    let (_, mut inner) = enter(device, "vkGetDeviceMemoryCommitment");
    let size = match inner.data(memory) {
        Some(Data::Memory { size, .. }) => *size,
        _ => 0,
    };
    set!(out, size);
}
