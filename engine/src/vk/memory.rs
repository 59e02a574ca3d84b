//! The one choke point for device memory: ranges of the static heap (gpu-allocator) and raw chunks.

use std::sync::Arc;

use ash::vk;
use gpu_allocator::MemoryLocation;
use gpu_allocator::vulkan::{Allocation, AllocationCreateDesc, AllocationScheme, Allocator};

use super::device::Device;
use super::error::{Error, Result};
use super::faults::Site;
use super::owners::OwnerId;
use super::retire::Garbage;

/// Where a resource of the static heap lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Location {
    /// Device-local memory.
    Device,
    /// Mapped, written by the host.
    Upload,
    /// Mapped, read by the host.
    Readback,
}

/// A range of the static heap, with the heap it is booked on.
#[derive(Debug)]
pub(super) struct StaticRange {
    pub(super) allocation: Allocation,
    bytes: u64,
    heap: u32,
    owner: OwnerId,
}

/// A memory allocation of our own: one chunk. Freed through the retire queue when dropped.
#[derive(Debug)]
pub struct DeviceMemory {
    device: Arc<Device>,
    raw: vk::DeviceMemory,
    bytes: u64,
    memory_type: u32,
    owner: OwnerId,
}

impl DeviceMemory {
    /// The raw handle.
    pub fn raw(&self) -> vk::DeviceMemory {
        self.raw
    }

    /// Size in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Memory type index.
    pub fn memory_type(&self) -> u32 {
        self.memory_type
    }

    /// Tells the driver how much it is worth keeping on the device, 0 to 1. Nothing happens without
    /// `VK_EXT_pageable_device_local_memory`.
    pub fn set_priority(&self, priority: f32) {
        if let Some(pageable) = &self.device.pageable {
            let set = pageable.fp().set_device_memory_priority_ext;
            // SAFETY: the memory is alive and of this device, which has the extension; the range is that of the call.
            unsafe { set(self.device.raw.handle(), self.raw, priority.clamp(0.0, 1.0)) };
        }
    }
}

impl DeviceMemory {
    /// # Errors
    /// When a resource with these needs cannot lie at that offset.
    pub(super) fn check_place(&self, name: &str, needs: vk::MemoryRequirements, offset: u64) -> Result<()> {
        let fits = offset.checked_add(needs.size).is_some_and(|end| end <= self.bytes);
        let is_aligned = offset.is_multiple_of(needs.alignment.max(1));
        let is_allowed = needs.memory_type_bits >> self.memory_type & 1 == 1;
        if fits && is_aligned && is_allowed {
            return Ok(());
        }
        Err(Error::Other(format!(
            "{name} ({} bytes, alignment {}) cannot lie at byte {offset} of {} bytes of memory type {}",
            needs.size, needs.alignment, self.bytes, self.memory_type
        )))
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        let heap = self.device.heap_of(self.memory_type);
        self.device.retire(Garbage::Memory(self.raw, self.bytes, heap, self.owner));
    }
}

impl Device {
    fn heap_of(&self, memory_type: u32) -> u32 {
        self.capabilities().memory_types.get(memory_type as usize).map_or(0, |t| t.heap)
    }

    /// Allocates a chunk of raw memory with a debug name. `high_priority` asks drivers that have priorities to
    /// keep it on the device longest. When it is refused, memory is had given back and it is tried once more.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] with all that is known of it; nothing changed.
    pub fn allocate_memory(
        self: &Arc<Self>,
        name: &str,
        bytes: u64,
        memory_type: u32,
        high_priority: bool,
    ) -> Result<DeviceMemory> {
        self.with_relief(bytes, || self.try_allocate_memory(name, bytes, memory_type, high_priority))
    }

    /// The same, tried once: for who gives back something of its own first, or allocates ahead of need.
    ///
    /// # Errors
    /// As [`Self::allocate_memory`].
    pub fn try_allocate_memory(
        self: &Arc<Self>,
        name: &str,
        bytes: u64,
        memory_type: u32,
        high_priority: bool,
    ) -> Result<DeviceMemory> {
        profiling::scope!("allocate_memory");
        let heap = self.heap_of(memory_type);
        if bytes > self.capabilities().limits.max_memory_allocation {
            let limit = self.capabilities().limits.max_memory_allocation;
            return Err(Error::Limit { what: format!("one allocation for {name}"), asked: bytes, limit });
        }
        self.alive("vkAllocateMemory")?;
        if self.faults.call(Site::Allocate).is_err() || self.is_past_limit(heap, bytes) {
            return Err(self.out_of_memory(name, bytes, heap));
        }
        let mut priority =
            vk::MemoryPriorityAllocateInfoEXT::default().priority(if high_priority { 1.0 } else { 0.5 });
        let mut info =
            vk::MemoryAllocateInfo::default().allocation_size(bytes).memory_type_index(memory_type);
        if self.capabilities().optional.memory_priority {
            info = info.push_next(&mut priority);
        }
        // SAFETY: the memory type exists on this device and the size is not zero for any caller.
        let raw = unsafe { self.raw.allocate_memory(&info, None) }.map_err(|r| match r {
            vk::Result::ERROR_OUT_OF_DEVICE_MEMORY
            | vk::Result::ERROR_OUT_OF_HOST_MEMORY
            | vk::Result::ERROR_TOO_MANY_OBJECTS => self.out_of_memory(name, bytes, heap),
            other => self.noticed(Error::of("vkAllocateMemory")(other)),
        })?;
        self.counters.chunk_made();
        self.counters.add_bytes(heap, bytes);
        self.set_name(raw, name);
        let owner = self.owners.add(name, bytes);
        Ok(DeviceMemory { device: self.clone(), raw, bytes, memory_type, owner })
    }

    pub(super) fn forget_memory(&self, heap: u32, bytes: u64, owner: OwnerId) {
        self.counters.remove_bytes(heap, bytes);
        self.owners.remove(owner, bytes);
    }

    fn allocator(&self) -> std::sync::MutexGuard<'_, std::mem::ManuallyDrop<Allocator>> {
        // gpu-allocator reports errors instead of panicking; its state is consistent after any call.
        self.allocator.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Takes a range of the static heap. When it is refused, memory is had given back and it is tried once more.
    pub(super) fn allocate_static(
        &self,
        name: &str,
        requirements: vk::MemoryRequirements,
        location: Location,
        linear: bool,
    ) -> Result<StaticRange> {
        self.with_relief(requirements.size, || self.try_allocate_static(name, requirements, location, linear))
    }

    fn try_allocate_static(
        &self,
        name: &str,
        mut requirements: vk::MemoryRequirements,
        location: Location,
        linear: bool,
    ) -> Result<StaticRange> {
        let first_heap = self.expected_heap(requirements.memory_type_bits, location);
        let refused = || self.out_of_memory(name, requirements.size, first_heap);
        self.alive("vkAllocateMemory")?;
        if self.faults.call(Site::Allocate).is_err() {
            return Err(refused());
        }
        if self.is_past_limit(first_heap, requirements.size) {
            // What the host writes may lie elsewhere as well.
            let elsewhere = self.types_outside(first_heap, requirements.memory_type_bits);
            if location == Location::Device || elsewhere == 0 {
                return Err(refused());
            }
            requirements.memory_type_bits = elsewhere;
        }
        let allocation = self.allocator().allocate(&AllocationCreateDesc {
            name,
            requirements,
            location: match location {
                Location::Device => MemoryLocation::GpuOnly,
                Location::Upload => MemoryLocation::CpuToGpu,
                Location::Readback => MemoryLocation::GpuToCpu,
            },
            linear,
            allocation_scheme: AllocationScheme::GpuAllocatorManaged,
        });
        let allocation = allocation.map_err(|error| match error {
            gpu_allocator::AllocationError::OutOfMemory => refused(),
            other => Error::Other(format!("memory for {name}: {other}")),
        })?;
        let properties = allocation.memory_properties();
        let types = &self.capabilities().memory_types;
        let allowed = |i: &usize| requirements.memory_type_bits >> i & 1 == 1;
        let matches = |i: &usize| {
            types[*i].device_local == properties.contains(vk::MemoryPropertyFlags::DEVICE_LOCAL)
                && types[*i].host_visible == properties.contains(vk::MemoryPropertyFlags::HOST_VISIBLE)
        };
        let heap = self.heap_of((0..types.len()).filter(allowed).find(matches).unwrap_or(0) as u32);
        let bytes = allocation.size();
        self.counters.add_bytes(heap, bytes);
        Ok(StaticRange { allocation, bytes, heap, owner: self.owners.add(name, bytes) })
    }

    /// The heap where the allocator looks first.
    fn expected_heap(&self, type_bits: u32, location: Location) -> u32 {
        let types = &self.capabilities().memory_types;
        let allowed = |i: &usize| type_bits >> i & 1 == 1;
        let visible = |i: &usize| types[*i].host_visible && types[*i].host_coherent;
        let wanted = |i: &usize| match location {
            Location::Device => types[*i].device_local,
            Location::Upload => visible(i) && types[*i].device_local,
            Location::Readback => visible(i) && !types[*i].device_local,
        };
        let all = || (0..types.len()).filter(allowed);
        let second = |i: &usize| location == Location::Device || visible(i);
        let found = all().find(wanted).or_else(|| all().find(second)).or_else(|| all().next());
        self.heap_of(found.unwrap_or(0) as u32)
    }

    /// Allowed types that the host can see and that lie in no device-local heap but perhaps another one.
    fn types_outside(&self, heap: u32, type_bits: u32) -> u32 {
        let types = self.capabilities().memory_types.iter().enumerate().take(32);
        let fits = |(i, t): &(usize, &super::capabilities::MemoryType)| {
            type_bits >> i & 1 == 1 && t.heap != heap && t.host_visible && !t.device_local
        };
        types.filter(fits).fold(0, |bits, (i, _)| bits | 1 << i)
    }

    pub(super) fn free_static(&self, range: StaticRange) {
        if self.is_lost() {
            return self.forget_static(range);
        }
        if let Err(error) = self.allocator().free(range.allocation) {
            log::error!("the static heap refused a range of its own: {error}");
        }
        self.counters.remove_bytes(range.heap, range.bytes);
        self.owners.remove(range.owner, range.bytes);
    }

    /// The range went with the device that was lost.
    pub(super) fn forget_static(&self, range: StaticRange) {
        self.counters.remove_bytes(range.heap, range.bytes);
        std::mem::forget(range.allocation);
    }

    /// The memory type for chunks that back a resource with these allowed types: device-local, ordinary.
    ///
    /// # Errors
    /// When no type is allowed.
    pub fn chunk_memory_type(&self, allowed_bits: u32) -> Result<u32> {
        let types = &self.capabilities().memory_types;
        let allowed = |i: &usize| allowed_bits >> i & 1 == 1 && !types[*i].special;
        (0..types.len())
            .filter(allowed)
            .find(|i| types[*i].device_local && !types[*i].host_visible)
            .or_else(|| (0..types.len()).filter(allowed).find(|i| types[*i].device_local))
            .or_else(|| (0..types.len()).find(allowed))
            .map(|i| i as u32)
            .ok_or_else(|| self.unsupported("chunk memory", "a memory type for sparse resources"))
    }
}
