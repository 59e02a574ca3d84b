//! Buffers: committed ones with memory of the static heap, and reserved ones that are only addresses.

use std::sync::Arc;

use ash::vk;

use super::addresses::ReservationId;
use super::device::Device;
use super::error::{Error, Result};
use super::memory::{DeviceMemory, Location, StaticRange};
use super::retire::Garbage;

/// A `VkBuffer`. Destroyed through the retire queue when dropped.
#[derive(Debug)]
pub struct Buffer {
    device: Arc<Device>,
    raw: vk::Buffer,
    bytes: u64,
    name: String,
    backing: Backing,
}

#[derive(Debug)]
enum Backing {
    /// A range of the static heap.
    Committed(Option<Box<StaticRange>>),
    /// A place in memory that others may use at other times.
    Placed(#[allow(dead_code)] Arc<DeviceMemory>), // Held until the buffer is dropped.
    /// Addresses only: pages are bound by [`Device::bind_sparse`].
    Reserved { addresses: ReservationId, aliased: bool },
}

/// Size, alignment and allowed memory types of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Requirements {
    /// Bytes.
    pub bytes: u64,
    /// Alignment of offsets and, for reserved resources, the granularity of binds.
    pub alignment: u64,
    /// One bit a memory type.
    pub memory_types: u32,
}

impl Buffer {
    /// A buffer with memory of its own.
    ///
    /// # Errors
    /// Zero size, larger than the device's limit, or out of memory.
    pub fn committed(
        device: &Arc<Device>,
        name: &str,
        bytes: u64,
        usage: vk::BufferUsageFlags,
        location: Location,
    ) -> Result<Self> {
        let raw = create(device, name, bytes, usage, vk::BufferCreateFlags::empty())?;
        let requirements = requirements(device, raw);
        let bound = device.allocate_static(name, requirements, location, true).and_then(|allocation| {
            // SAFETY: the allocation was made for exactly this buffer's requirements and is not bound yet.
            let bound = unsafe {
                device.raw.bind_buffer_memory(
                    raw,
                    allocation.allocation.memory(),
                    allocation.allocation.offset(),
                )
            };
            match bound {
                Ok(()) => Ok(allocation),
                Err(result) => {
                    device.free_static(allocation);
                    Err(device.noticed(Error::of("vkBindBufferMemory")(result)))
                }
            }
        });
        match bound {
            Ok(allocation) => {
                Ok(Self::assemble(device, raw, name, bytes, Backing::Committed(Some(Box::new(allocation)))))
            }
            Err(error) => {
                if !device.is_lost() {
                    // SAFETY: just made and never used.
                    unsafe { device.raw.destroy_buffer(raw, None) };
                }
                Err(error)
            }
        }
    }

    /// A buffer at a place in memory that is shared with others: who uses it when is the caller's to order, and its
    /// contents are undefined whenever another took the place meanwhile.
    ///
    /// # Errors
    /// Zero size, larger than the device's limit, a place that does not fit, or what the driver said.
    pub fn placed(
        device: &Arc<Device>,
        name: &str,
        bytes: u64,
        usage: vk::BufferUsageFlags,
        (memory, offset): (&Arc<DeviceMemory>, u64),
    ) -> Result<Self> {
        let raw = create(device, name, bytes, usage, vk::BufferCreateFlags::empty())?;
        let bound = memory.check_place(name, requirements(device, raw), offset).and_then(|()| {
            // SAFETY: size, alignment and memory type were just checked, and the buffer is not bound yet.
            unsafe { device.raw.bind_buffer_memory(raw, memory.raw(), offset) }
                .map_err(|r| device.noticed(Error::of("vkBindBufferMemory")(r)))
        });
        if let Err(error) = bound {
            // SAFETY: just made and never used.
            unsafe { device.raw.destroy_buffer(raw, None) };
            return Err(error);
        }
        Ok(Self::assemble(device, raw, name, bytes, Backing::Placed(memory.clone())))
    }

    /// A reserved buffer: `bytes` of addresses and no memory. `aliased` allows its pages to be shared with
    /// other aliased resources.
    ///
    /// # Errors
    /// When the device cannot bind buffers partly, has no addresses left (with who holds them), or the size is zero or
    /// over its limit.
    pub fn reserved(
        device: &Arc<Device>,
        name: &str,
        bytes: u64,
        usage: vk::BufferUsageFlags,
        aliased: bool,
    ) -> Result<Self> {
        if !device.capabilities().sparse.growable_buffers() {
            return Err(device.unsupported(name, "sparseBinding and sparseResidencyBuffer"));
        }
        if aliased && !device.capabilities().sparse.residency_aliased {
            return Err(device.unsupported(name, "sparseResidencyAliased"));
        }
        let addresses = device.reserve_addresses(name, bytes)?;
        let raw = create(device, name, bytes, usage, sparse_flags(aliased))
            .inspect_err(|_| device.release_addresses(addresses))?;
        Ok(Self::assemble(device, raw, name, bytes, Backing::Reserved { addresses, aliased }))
    }

    /// Whether its pages may be shared with other aliased resources.
    pub fn is_aliased(&self) -> bool {
        matches!(self.backing, Backing::Reserved { aliased: true, .. })
    }

    fn assemble(device: &Arc<Device>, raw: vk::Buffer, name: &str, bytes: u64, backing: Backing) -> Self {
        device.counters.made();
        device.set_name(raw, name);
        Self { device: device.clone(), raw, bytes, name: name.into(), backing }
    }

    /// The raw handle.
    pub fn raw(&self) -> vk::Buffer {
        self.raw
    }

    /// Size in bytes; for a reserved buffer its addresses.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Debug name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The device it was made on.
    pub fn device(&self) -> &Arc<Device> {
        &self.device
    }

    /// Whether it is only addresses until bound.
    pub fn is_reserved(&self) -> bool {
        matches!(self.backing, Backing::Reserved { .. })
    }

    /// What binding it needs.
    pub fn requirements(&self) -> Requirements {
        let raw = requirements(&self.device, self.raw);
        Requirements { bytes: raw.size, alignment: raw.alignment, memory_types: raw.memory_type_bits }
    }

    /// The mapped bytes of an upload or readback buffer.
    pub fn mapped(&self) -> Option<&[u8]> {
        match &self.backing {
            Backing::Committed(Some(allocation)) => {
                allocation.allocation.mapped_slice().map(|s| &s[..(self.bytes as usize).min(s.len())])
            }
            _ => None,
        }
    }

    /// Copies bytes into the mapped memory of an upload buffer. Ranges that the GPU reads at the same time are
    /// the caller's to keep apart (a ring does).
    ///
    /// # Errors
    /// When the buffer is not mapped or the range does not fit.
    pub fn write_mapped(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        let Backing::Committed(Some(range)) = &self.backing else {
            return Err(Error::Other(format!("{} is not mapped", self.name)));
        };
        let Some(mapped) = range.allocation.mapped_ptr() else {
            return Err(Error::Other(format!("{} is not mapped", self.name)));
        };
        let end = offset.checked_add(bytes.len() as u64).filter(|end| *end <= self.bytes);
        if end.is_none() {
            let asked = offset.saturating_add(bytes.len() as u64);
            return Err(Error::Limit {
                what: format!("end of a write into {}", self.name),
                asked,
                limit: self.bytes,
            });
        }
        // SAFETY: the range was just checked to lie inside the mapping, which lives as long as the buffer; the
        // source is a borrowed slice elsewhere. Raw bytes are written, no reference to shared memory is made.
        unsafe {
            let target = mapped.as_ptr().cast::<u8>().add(offset as usize);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), target, bytes.len());
        }
        Ok(())
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.device.retire(Garbage::Buffer(self.raw));
        match &mut self.backing {
            Backing::Committed(allocation) => {
                if let Some(allocation) = allocation.take() {
                    self.device.retire(Garbage::Allocation(allocation));
                }
            }
            // Retired when the field is dropped, after the buffer.
            Backing::Placed(_) => {}
            Backing::Reserved { addresses, .. } => self.device.retire_addresses(*addresses),
        }
    }
}

impl Device {
    /// What a buffer of that size and usage needs, without making it.
    ///
    /// # Errors
    /// When the size is zero or over the device's limit.
    pub fn buffer_requirements(
        &self,
        name: &str,
        bytes: u64,
        usage: vk::BufferUsageFlags,
    ) -> Result<Requirements> {
        check_size(self, name, bytes)?;
        let families = self.queue_plan().user_families();
        let mut info = vk::BufferCreateInfo::default().size(bytes).usage(usage);
        if families.len() > 1 {
            info = info.sharing_mode(vk::SharingMode::CONCURRENT).queue_family_indices(&families);
        }
        let query = vk::DeviceBufferMemoryRequirements::default().create_info(&info);
        let mut out = vk::MemoryRequirements2::default();
        // SAFETY: the size was just checked; all pointers are locals that outlive the call.
        unsafe { self.raw.get_device_buffer_memory_requirements(&query, &mut out) };
        let raw = out.memory_requirements;
        Ok(Requirements { bytes: raw.size, alignment: raw.alignment, memory_types: raw.memory_type_bits })
    }

    /// What a reserved buffer needs, asked of a dummy.
    pub(super) fn sparse_buffer_requirements(&self) -> Result<Requirements> {
        let usage = vk::BufferUsageFlags::STORAGE_BUFFER | vk::BufferUsageFlags::TRANSFER_DST;
        let info = vk::BufferCreateInfo::default().flags(sparse_flags(false)).size(1 << 20).usage(usage);
        // SAFETY: sparse features are enabled (the caller checked); the buffer is destroyed before returning.
        let needs = unsafe {
            let raw = self.raw.create_buffer(&info, None).map_err(Error::of("vkCreateBuffer"))?;
            let needs = self.raw.get_buffer_memory_requirements(raw);
            self.raw.destroy_buffer(raw, None);
            needs
        };
        Ok(Requirements {
            bytes: needs.size,
            alignment: needs.alignment,
            memory_types: needs.memory_type_bits,
        })
    }
}

fn sparse_flags(aliased: bool) -> vk::BufferCreateFlags {
    let flags = vk::BufferCreateFlags::SPARSE_BINDING | vk::BufferCreateFlags::SPARSE_RESIDENCY;
    if aliased { flags | vk::BufferCreateFlags::SPARSE_ALIASED } else { flags }
}

fn create(
    device: &Device,
    name: &str,
    bytes: u64,
    usage: vk::BufferUsageFlags,
    flags: vk::BufferCreateFlags,
) -> Result<vk::Buffer> {
    device.alive("vkCreateBuffer")?;
    check_size(device, name, bytes)?;
    let mut info = vk::BufferCreateInfo::default().flags(flags).size(bytes).usage(usage);
    // All queues may use a buffer without handing it over: buffers have no layout that would gain by it.
    let families = device.queue_plan().user_families();
    if families.len() > 1 {
        info = info.sharing_mode(vk::SharingMode::CONCURRENT).queue_family_indices(&families);
    }
    // SAFETY: size is neither zero nor over the limit; sparse flags are only passed when the device has them.
    unsafe { device.raw.create_buffer(&info, None) }
        .map_err(|r| device.noticed(Error::of("vkCreateBuffer")(r)))
}

fn check_size(device: &Device, name: &str, bytes: u64) -> Result<()> {
    let limit = device.capabilities().limits.max_buffer_size;
    if bytes == 0 || bytes > limit {
        let what = format!("size of {name} in bytes (at least 1)");
        return Err(Error::Limit { what, asked: bytes, limit });
    }
    Ok(())
}

fn requirements(device: &Device, raw: vk::Buffer) -> vk::MemoryRequirements {
    // SAFETY: the handle was made by this device and is alive.
    unsafe { device.raw.get_buffer_memory_requirements(raw) }
}
