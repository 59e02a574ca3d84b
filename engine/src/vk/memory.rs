//! The one choke point for device memory: ranges of the static heap (gpu-allocator) and raw chunks.

use std::sync::Arc;

use ash::vk;
use gpu_allocator::MemoryLocation;
use gpu_allocator::vulkan::{Allocation, AllocationCreateDesc, AllocationScheme, Allocator};

use super::device::Device;
use super::error::{Error, Result};
use super::faults::Site;
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
}

/// A memory allocation of our own: one chunk. Freed through the retire queue when dropped.
#[derive(Debug)]
pub struct DeviceMemory {
    device: Arc<Device>,
    raw: vk::DeviceMemory,
    bytes: u64,
    memory_type: u32,
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
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        let heap = self.device.heap_of(self.memory_type);
        self.device.retire(Garbage::Memory(self.raw, self.bytes, heap));
    }
}

impl Device {
    fn heap_of(&self, memory_type: u32) -> u32 {
        self.capabilities().memory_types.get(memory_type as usize).map_or(0, |t| t.heap)
    }

    /// Allocates a chunk of raw memory with a debug name. `high_priority` asks drivers that have priorities to
    /// keep it on the device longest.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] with heap, size and own usage; nothing changed.
    pub fn allocate_memory(
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
        if self.faults.call(Site::Allocate).is_err() {
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
        Ok(DeviceMemory { device: self.clone(), raw, bytes, memory_type })
    }

    pub(super) fn forget_memory(&self, heap: u32, bytes: u64) {
        self.counters.remove_bytes(heap, bytes);
    }

    fn out_of_memory(&self, name: &str, bytes: u64, heap: u32) -> Error {
        self.note_pressure();
        Error::OutOfMemory {
            what: name.into(),
            requested: bytes,
            heap,
            heap_size: self.capabilities().heaps.get(heap as usize).map_or(0, |h| h.bytes),
            usage: self.counters.heap_bytes(heap),
        }
    }

    fn allocator(&self) -> std::sync::MutexGuard<'_, std::mem::ManuallyDrop<Allocator>> {
        // gpu-allocator reports errors instead of panicking; its state is consistent after any call.
        self.allocator.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Takes a range of the static heap.
    pub(super) fn allocate_static(
        &self,
        name: &str,
        requirements: vk::MemoryRequirements,
        location: Location,
        linear: bool,
    ) -> Result<StaticRange> {
        let location = match location {
            Location::Device => MemoryLocation::GpuOnly,
            Location::Upload => MemoryLocation::CpuToGpu,
            Location::Readback => MemoryLocation::GpuToCpu,
        };
        let allowed = |i: &usize| requirements.memory_type_bits >> i & 1 == 1;
        let first_heap = self.heap_of((0..32).find(allowed).unwrap_or(0) as u32);
        self.alive("vkAllocateMemory")?;
        if self.faults.call(Site::Allocate).is_err() {
            return Err(self.out_of_memory(name, requirements.size, first_heap));
        }
        let allocation = self.allocator().allocate(&AllocationCreateDesc {
            name,
            requirements,
            location,
            linear,
            allocation_scheme: AllocationScheme::GpuAllocatorManaged,
        });
        let allocation = allocation.map_err(|error| match error {
            gpu_allocator::AllocationError::OutOfMemory => {
                self.out_of_memory(name, requirements.size, first_heap)
            }
            other => Error::Other(format!("memory for {name}: {other}")),
        })?;
        let properties = allocation.memory_properties();
        let types = &self.capabilities().memory_types;
        let matches = |i: &usize| {
            types[*i].device_local == properties.contains(vk::MemoryPropertyFlags::DEVICE_LOCAL)
                && types[*i].host_visible == properties.contains(vk::MemoryPropertyFlags::HOST_VISIBLE)
        };
        let heap = self.heap_of((0..types.len()).filter(allowed).find(matches).unwrap_or(0) as u32);
        let bytes = allocation.size();
        self.counters.add_bytes(heap, bytes);
        Ok(StaticRange { allocation, bytes, heap })
    }

    pub(super) fn free_static(&self, range: StaticRange) {
        if self.is_lost() {
            return self.forget_static(range);
        }
        if let Err(error) = self.allocator().free(range.allocation) {
            log::error!("the static heap refused a range of its own: {error}");
        }
        self.counters.remove_bytes(range.heap, range.bytes);
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
