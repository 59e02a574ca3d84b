//! Transients of one frame in flight: heaps, and the images and buffers that lie in them. A steady frame finds all of
//! them made.

use std::sync::Arc;

use ash::vk::BufferUsageFlags;

use super::error::Result;
use crate::graph::{Compiled, Declaration, HeapKey, HeapPlan, Placement, ResourceInfo};
use crate::vk::{Buffer, Device, DeviceMemory, Image};

/// Frames after which what no frame used is dropped. Longer than any alternation of two kinds of frames.
const REMEMBERED: u64 = 16;
/// A heap is made anew, smaller, when for so many frames half of it was not needed.
const SHRINK_AFTER: u64 = 240;

#[derive(Debug)]
struct Heap {
    key: HeapKey,
    memory: Arc<DeviceMemory>,
    /// Last frame that needed more than half of it.
    full_frame: u64,
    used_frame: u64,
}

#[derive(Debug)]
pub(super) enum Made {
    Image(Image),
    Buffer(Buffer),
}

#[derive(Debug)]
struct Slot {
    info: ResourceInfo,
    heap: HeapKey,
    offset: u64,
    is_shared: bool,
    made: Made,
    used_frame: u64,
}

#[derive(Debug, Default)]
pub(super) struct Transients {
    heaps: Vec<Heap>,
    slots: Vec<Slot>,
    /// For each resource of the frame, its slot.
    chosen: Vec<Option<usize>>,
}

impl Transients {
    /// Makes what the frame needs and is not there yet. The frame that had this place before is over.
    ///
    /// # Errors
    /// When there is no memory: what is there stays for a smaller frame.
    pub(super) fn prepare(
        &mut self,
        device: &Arc<Device>,
        declaration: &Declaration,
        compiled: &Compiled,
        frame: u64,
    ) -> Result<()> {
        for plan in &compiled.heaps {
            self.prepare_heap(device, plan, frame)?;
        }
        self.chosen.clear();
        self.chosen.resize(declaration.resources.len(), None);
        for (index, placement) in compiled.placements.iter().enumerate() {
            let Some(placement) = placement else { continue };
            let is_shared = compiled.is_shared.get(index).copied().unwrap_or(false);
            let resource = &declaration.resources[index];
            let slot = self.slot(device, &resource.name, resource.info, *placement, compiled, is_shared)?;
            self.slots[slot].used_frame = frame;
            self.chosen[index] = Some(slot);
        }
        Ok(())
    }

    /// What a resource of the prepared frame is.
    pub(super) fn get(&self, resource: usize) -> Option<&Made> {
        let slot = self.chosen.get(resource).copied().flatten()?;
        self.slots.get(slot).map(|slot| &slot.made)
    }

    /// Bytes of all heaps.
    pub(super) fn bytes(&self) -> u64 {
        self.heaps.iter().map(|heap| heap.memory.bytes()).sum()
    }

    /// Drops what no frame has used lately.
    pub(super) fn forget_old(&mut self, frame: u64) {
        let is_new = |used: u64| used + REMEMBERED > frame;
        if self.slots.iter().any(|slot| !is_new(slot.used_frame)) {
            self.slots.retain(|slot| is_new(slot.used_frame));
            self.chosen.clear();
        }
        let heaps = &mut self.heaps;
        heaps.retain(|heap| is_new(heap.used_frame));
    }

    /// Drops everything, heaps included: memory is needed elsewhere, or the frame changes as a whole.
    pub(super) fn clear(&mut self) {
        self.chosen.clear();
        self.slots.clear();
        self.heaps.clear();
    }

    fn prepare_heap(&mut self, device: &Arc<Device>, plan: &HeapPlan, frame: u64) -> Result<()> {
        if let Some(heap) = self.heaps.iter_mut().find(|heap| heap.key == plan.key) {
            let bytes = heap.memory.bytes();
            heap.used_frame = frame;
            if plan.bytes > bytes / 2 {
                heap.full_frame = frame;
            }
            if plan.bytes <= bytes && heap.full_frame + SHRINK_AFTER > frame {
                return Ok(());
            }
            // The old one first: two at once may not fit.
            self.slots.retain(|slot| slot.heap != plan.key);
            self.heaps.retain(|heap| heap.key != plan.key);
        }
        let memory = self.allocate(device, plan)?;
        self.heaps.push(Heap { key: plan.key, memory, full_frame: frame, used_frame: frame });
        Ok(())
    }

    fn allocate(&self, device: &Arc<Device>, plan: &HeapPlan) -> Result<Arc<DeviceMemory>> {
        let name = if plan.key.is_linear { "Transient.Buffers" } else { "Transient.Images" };
        let allocate = || device.allocate_memory(name, plan.bytes.max(1), plan.key.memory_type, true);
        let memory = match allocate() {
            Err(error) if error.is_out_of_memory() => {
                // What was dropped for this may still wait for its last frame.
                device.wait_idle()?;
                allocate()?
            }
            other => other?,
        };
        Ok(Arc::new(memory))
    }

    fn slot(
        &mut self,
        device: &Arc<Device>,
        name: &str,
        info: ResourceInfo,
        placement: Placement,
        compiled: &Compiled,
        is_shared: bool,
    ) -> Result<usize> {
        let key = compiled.heaps[placement.heap as usize].key;
        let is_it = |slot: &Slot| {
            slot.info == info
                && slot.heap == key
                && slot.offset == placement.offset
                && slot.is_shared == is_shared
        };
        // Two resources of one description at one place are one object: they never live beside each other.
        if let Some(found) = self.slots.iter().position(is_it) {
            return Ok(found);
        }
        let heap = self.heaps.iter().find(|heap| heap.key == key);
        let memory = heap.map(|heap| heap.memory.clone());
        let Some(memory) = memory else {
            return Err(crate::vk::Error::Other(format!("{name}: its heap was not made")).into());
        };
        let place = (&memory, placement.offset);
        let made = match info {
            ResourceInfo::Image(info) => {
                Made::Image(Image::placed(device, name, info.desc(), is_shared, place)?)
            }
            ResourceInfo::Buffer(info) => {
                let usage = BufferUsageFlags::from_raw(info.usage);
                Made::Buffer(Buffer::placed(device, name, info.bytes, usage, place)?)
            }
        };
        self.slots.push(Slot { info, heap: key, offset: placement.offset, is_shared, made, used_frame: 0 });
        Ok(self.slots.len() - 1)
    }
}
