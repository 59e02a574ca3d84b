//! The one retire queue: dropping a handle enqueues it, nothing else destroys anything.
//!
//! An entry goes when every timeline has passed the moment of its retirement. After device loss entries are
//! forgotten: destroying objects of a lost device is what crashes drivers.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use ash::{khr, vk};

use super::device::Device;
use super::error::Result;
use super::timeline::{Points, Timeline};

/// Something to destroy later.
pub(super) enum Garbage {
    Buffer(vk::Buffer),
    Image(vk::Image),
    View(vk::ImageView),
    Sampler(vk::Sampler),
    Pipeline(vk::Pipeline),
    CommandPool(vk::CommandPool),
    DescriptorPool(vk::DescriptorPool),
    QueryPool(vk::QueryPool),
    Semaphore(vk::Semaphore),
    Swapchain(vk::SwapchainKHR),
    /// A surface, with the window that must outlive it.
    Surface(super::surface::RetiredSurface),
    /// A chunk of raw memory, its bytes, heap and owner.
    Memory(vk::DeviceMemory, u64, u32, super::owners::OwnerId),
    /// A range of the static heap.
    Allocation(Box<super::memory::StaticRange>),
    /// Nothing to destroy: tells its other holders that the moment has passed.
    Token(#[allow(dead_code)] Arc<()>), // Dropped, which is what it is for.
    /// Addresses of a reserved resource that was destroyed just before.
    Addresses(super::addresses::ReservationId),
    /// A slot of the bindless table.
    Slot(super::bindless::SlotKind, u32),
}

/// Something that was dropped, and what has to pass before it is destroyed.
struct Entry {
    /// Recordings begun before it was dropped may use it: serials below these.
    begun: Points,
    /// Moments to reach, known once all of those are submitted or dropped themselves.
    points: Option<Points>,
    garbage: Garbage,
}

#[derive(Default)]
pub(super) struct RetireQueue {
    entries: Mutex<VecDeque<Entry>>,
}

impl RetireQueue {
    fn lock(&self) -> std::sync::MutexGuard<'_, VecDeque<Entry>> {
        // Entries are pushed and popped whole: a panic elsewhere leaves the queue consistent.
        self.entries.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Tells when everything that may use something dropped now is over: see [`Device::retire_token`].
#[derive(Debug)]
pub struct RetireToken(Arc<()>);

impl RetireToken {
    /// Whether that is so, as of the last [`Device::collect`].
    pub fn is_passed(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }
}

impl Device {
    /// A token that passes when what was dropped before this call is destroyed: nothing submitted or recorded so far can
    /// use it any more.
    pub fn retire_token(&self) -> RetireToken {
        let token = Arc::new(());
        self.retire(Garbage::Token(token.clone()));
        RetireToken(token)
    }

    pub(super) fn retire(&self, garbage: Garbage) {
        if self.is_lost() {
            return self.forget_garbage(garbage);
        }
        let begun = self.recordings_begun();
        let points = self.settled(&begun);
        self.retire.lock().push_back(Entry { begun, points, garbage });
    }

    /// Destroys what no queue can use any more. Called once a frame.
    ///
    /// # Errors
    /// When the device is lost.
    pub fn collect(&self) -> Result<()> {
        if self.is_lost() {
            self.drain_retired();
        }
        let mut completed: Points = [0; Timeline::ALL.len()];
        for timeline in Timeline::ALL {
            completed[timeline as usize] = self.completed(timeline)?;
        }
        self.clocks().forget(&completed);
        let mut ready = Vec::new();
        {
            let mut entries = self.retire.lock();
            // Serials and moments only rise along the queue, so the first that waits ends the walk.
            while let Some(entry) = entries.front_mut() {
                entry.points = entry.points.or_else(|| self.settled(&entry.begun));
                let is_done =
                    |points: Points| points.iter().zip(&completed).all(|(needed, done)| needed <= done);
                if !entry.points.is_some_and(is_done) {
                    break;
                }
                ready.extend(entries.pop_front().map(|entry| entry.garbage));
            }
        }
        for garbage in ready {
            self.destroy(garbage);
        }
        Ok(())
    }

    /// Number of objects waiting for their timeline.
    pub fn retiring(&self) -> usize {
        self.retire.lock().len()
    }

    pub(super) fn drain_retired(&self) {
        let entries = std::mem::take(&mut *self.retire.lock());
        for entry in entries {
            self.destroy(entry.garbage);
        }
    }

    /// What a lost device had is gone with it: counted, and no call made.
    fn forget_garbage(&self, garbage: Garbage) {
        self.counters.destroyed(&garbage);
        match garbage {
            Garbage::Memory(_, bytes, heap, owner) => self.forget_memory(heap, bytes, owner),
            Garbage::Allocation(allocation) => self.forget_static(*allocation),
            Garbage::Addresses(reservation) => self.release_addresses(reservation),
            _ => {}
        }
    }

    fn destroy(&self, garbage: Garbage) {
        if self.is_lost() {
            return self.forget_garbage(garbage);
        }
        self.counters.destroyed(&garbage);
        let raw = &self.raw;
        // SAFETY: every handle was made by this device, was dropped by its one owner, and the timelines say
        // that no submitted or recorded work uses it.
        unsafe {
            match garbage {
                Garbage::Buffer(handle) => raw.destroy_buffer(handle, None),
                Garbage::Image(handle) => raw.destroy_image(handle, None),
                Garbage::View(handle) => raw.destroy_image_view(handle, None),
                Garbage::Sampler(handle) => raw.destroy_sampler(handle, None),
                Garbage::Pipeline(handle) => raw.destroy_pipeline(handle, None),
                Garbage::CommandPool(handle) => raw.destroy_command_pool(handle, None),
                Garbage::DescriptorPool(handle) => raw.destroy_descriptor_pool(handle, None),
                Garbage::QueryPool(handle) => raw.destroy_query_pool(handle, None),
                Garbage::Semaphore(handle) => raw.destroy_semaphore(handle, None),
                Garbage::Swapchain(handle) => {
                    if let Some(swapchain) = &self.swapchain {
                        swapchain.destroy_swapchain(handle, None);
                    }
                }
                Garbage::Surface(handle) => {
                    khr::surface::Instance::new(self.instance.entry(), self.instance.raw())
                        .destroy_surface(handle.raw, None);
                }
                Garbage::Memory(handle, bytes, heap, owner) => {
                    raw.free_memory(handle, None);
                    self.forget_memory(heap, bytes, owner);
                }
                Garbage::Allocation(allocation) => self.free_static(*allocation),
                Garbage::Token(_) => {}
                Garbage::Addresses(reservation) => self.release_addresses(reservation),
                Garbage::Slot(kind, slot) => {
                    if let Some(bindless) = self.bindless.get() {
                        bindless.release(kind, slot);
                    }
                }
            }
        }
    }
}
