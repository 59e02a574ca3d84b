//! Vulkan called bare: what the engine is compared with. All `unsafe` of the benches is here.
//!
//! The bare side orders its binds like the engine does: each waits for the bind before it and signals a timeline.

use std::sync::Arc;
use std::time::Instant;

use ash::vk;
use vasa::vk::{Device, Error as VulkanError, Point};

use super::{Queue, Times};
use crate::error::Error;

/// Longest wait for a bind, nanoseconds: after that the device hangs.
const TIMEOUT_NS: u64 = 30_000_000_000;

fn failed(call: &'static str) -> impl Fn(vk::Result) -> Error {
    move |result| Error::Vulkan(VulkanError::Vulkan { call, result })
}

/// Binds of one resource, as Vulkan takes them.
#[derive(Debug, Clone)]
pub(super) enum Binds {
    /// Ranges of a reserved buffer.
    Buffer(vk::Buffer, Vec<vk::SparseMemoryBind>),
    /// Ranges of a reserved image.
    Image(vk::Image, Vec<vk::SparseMemoryBind>),
    /// Tiles of a partially resident image.
    Tiles(vk::Image, Vec<vk::SparseImageMemoryBind>),
}

impl Binds {
    /// How many.
    pub(super) fn len(&self) -> u64 {
        match self {
            Self::Buffer(_, binds) | Self::Image(_, binds) => binds.len() as u64,
            Self::Tiles(_, binds) => binds.len() as u64,
        }
    }

    /// The same ranges, without memory.
    pub(super) fn unbound(&self) -> Self {
        let range = |bind: &vk::SparseMemoryBind| bind.memory(vk::DeviceMemory::null()).memory_offset(0);
        let tile = |bind: &vk::SparseImageMemoryBind| bind.memory(vk::DeviceMemory::null()).memory_offset(0);
        match self {
            Self::Buffer(buffer, binds) => Self::Buffer(*buffer, binds.iter().map(range).collect()),
            Self::Image(image, binds) => Self::Image(*image, binds.iter().map(range).collect()),
            Self::Tiles(image, binds) => Self::Tiles(*image, binds.iter().map(tile).collect()),
        }
    }
}

/// A queue that is called without the engine, and a timeline for its binds.
pub(super) struct BareQueue {
    device: Arc<Device>,
    queue: vk::Queue,
    timeline: vk::Semaphore,
    value: u64,
}

impl BareQueue {
    /// # Errors
    /// When the device has no such queue, or cannot make a semaphore.
    pub(super) fn new(device: &Arc<Device>, queue: Queue) -> Result<Self, Error> {
        let raw = match queue {
            Queue::Graphics => Some(device.raw_graphics_queue()),
            Queue::Side => device.raw_sparse_queue(),
        };
        let (queue, _) =
            raw.ok_or_else(|| failed("a queue that binds")(vk::Result::ERROR_FEATURE_NOT_PRESENT))?;
        let mut kind = vk::SemaphoreTypeCreateInfo::default().semaphore_type(vk::SemaphoreType::TIMELINE);
        let info = vk::SemaphoreCreateInfo::default().push_next(&mut kind);
        // SAFETY: the chain is a local that outlives the call; the engine's devices have timeline semaphores.
        let timeline =
            unsafe { device.raw().create_semaphore(&info, None) }.map_err(failed("vkCreateSemaphore"))?;
        Ok(Self { device: device.clone(), queue, timeline, value: 0 })
    }

    /// Binds after the bind before and after `waits`, and waits on the host until that is done.
    ///
    /// `binds` are ranges of a reserved resource of this device, whole tiles, and memory of a type that it may have;
    /// both live until this returns, and nobody else uses a queue of the device meanwhile: benches have one thread.
    ///
    /// # Errors
    /// When the driver refuses, or the device is lost.
    pub(super) fn bind(&mut self, binds: &Binds, waits: &[Point]) -> Result<Times, Error> {
        let started = Instant::now();
        let buffers;
        let images;
        let tiles;
        let own = (self.timeline, self.value);
        let engines = waits.iter().map(|p| (self.device.timeline_semaphore(p.timeline), p.value));
        let (semaphores, values): (Vec<_>, Vec<_>) =
            engines.chain([own]).filter(|(_, value)| *value > 0).unzip();
        let (signals, signal_values) = ([self.timeline], [self.value + 1]);
        let mut timeline = vk::TimelineSemaphoreSubmitInfo::default()
            .wait_semaphore_values(&values)
            .signal_semaphore_values(&signal_values);
        let info = vk::BindSparseInfo::default()
            .wait_semaphores(&semaphores)
            .signal_semaphores(&signals)
            .push_next(&mut timeline);
        let info = match binds {
            Binds::Buffer(buffer, binds) => {
                buffers = [vk::SparseBufferMemoryBindInfo::default().buffer(*buffer).binds(binds)];
                info.buffer_binds(&buffers)
            }
            Binds::Image(image, binds) => {
                images = [vk::SparseImageOpaqueMemoryBindInfo::default().image(*image).binds(binds)];
                info.image_opaque_binds(&images)
            }
            Binds::Tiles(image, binds) => {
                tiles = [vk::SparseImageMemoryBindInfo::default().image(*image).binds(binds)];
                info.image_binds(&tiles)
            }
        };
        // SAFETY: all arrays are locals that outlive the call; the caller's promise about ranges and memory; one thread
        // uses the queue.
        unsafe { self.device.raw().queue_bind_sparse(self.queue, &[info], vk::Fence::null()) }
            .map_err(failed("vkQueueBindSparse"))?;
        let call_us = started.elapsed().as_secs_f64() * 1e6;
        self.value += 1;
        let values = [self.value];
        let wait = vk::SemaphoreWaitInfo::default().semaphores(&signals).values(&values);
        // SAFETY: the semaphore is this queue's own; both arrays are locals of equal length.
        unsafe { self.device.raw().wait_semaphores(&wait, TIMEOUT_NS) }
            .map_err(failed("vkWaitSemaphores"))?;
        Ok(Times { call_us, usable_us: started.elapsed().as_secs_f64() * 1e6 })
    }
}

impl Drop for BareQueue {
    fn drop(&mut self) {
        if !self.device.is_lost() {
            // SAFETY: every bind that signals it was waited for, or the call that should have signalled it failed.
            unsafe { self.device.raw().destroy_semaphore(self.timeline, None) };
        }
    }
}

/// Allocations made bare. What is left is freed when dropped.
pub(super) struct BareMemory {
    device: Arc<Device>,
    memory_type: u32,
    kept: Vec<vk::DeviceMemory>,
}

impl BareMemory {
    /// None yet.
    pub(super) fn new(device: &Arc<Device>, memory_type: u32) -> Self {
        Self { device: device.clone(), memory_type, kept: Vec::new() }
    }

    /// Allocates, and says how many microseconds it took.
    ///
    /// # Errors
    /// Out of memory.
    pub(super) fn allocate(&mut self, bytes: u64) -> Result<f64, Error> {
        let info =
            vk::MemoryAllocateInfo::default().allocation_size(bytes).memory_type_index(self.memory_type);
        let started = Instant::now();
        // SAFETY: the type is one that the engine chose on this device; the size is not zero for any caller.
        let memory = unsafe { self.device.raw().allocate_memory(&info, None) };
        let us = started.elapsed().as_secs_f64() * 1e6;
        self.kept.push(memory.map_err(failed("vkAllocateMemory"))?);
        Ok(us)
    }

    /// Frees the allocation made last; the microseconds that it took, `None` when there is none.
    pub(super) fn free(&mut self) -> Option<f64> {
        let memory = self.kept.pop()?;
        let started = Instant::now();
        // SAFETY: made by this device, bound to nothing, freed once.
        unsafe { self.device.raw().free_memory(memory, None) };
        Some(started.elapsed().as_secs_f64() * 1e6)
    }
}

impl Drop for BareMemory {
    fn drop(&mut self) {
        while self.free().is_some() {}
    }
}
