//! A Vulkan driver inside the process, for tests without a loader or a GPU.
//!
//! It executes nothing: commands are counted and noted. But objects live and die, memory is real host memory,
//! timelines advance in the order that submissions allow, and every sparse bind is kept. So the engine's own code
//! runs on it unchanged, and a test sees what it asked of the driver, what it leaked, and what it did wrong.
//!
//! ```text
//! NullConfig -> NullDriver -> entry() -> the engine as on any driver
//!                    |
//!                    +-> errors(), binds(), calls(), live(), fail_nth(), set_budget(), ...
//! ```
//!
//! ```ignore
//! let driver = NullDriver::new(NullConfig::with_devices(vec![NullDevice::default().without_sparse()]));
//! let instance = unsafe { driver.entry().create_instance(&info, None) }?;
//! // ...
//! driver.assert_clean();
//! ```
//!
//! What it checks is what tests of this engine need: use after destruction, double destruction, leaks at the end of
//! a device or an instance, alignment and bounds of sparse binds, timelines that go backwards, waits that never
//! return. It is not a validation layer.
//!
//! Each driver has its own state, so tests run beside each other. State and dispatchable handles are never freed:
//! a handle used too late must find something to complain to.

mod command_buffers;
mod commands;
mod config;
mod device;
mod features;
mod format;
mod instance;
mod memory;
mod objects;
mod queue;
mod resources;
mod slots;
mod state;
mod support;
mod sync;
mod table;
mod wsi;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod wsi_tests;

pub use config::{Fault, NullConfig, NullDevice};
pub use state::{BindPlace, BindRecord};

use ash::vk::{self, Handle};
use state::{Data, State};
use std::collections::BTreeMap;

/// One driver with its own devices and its own memory of what happened. Keep it for as long as instances are
/// created from its [`entry`](Self::entry).
pub struct NullDriver {
    state: &'static State,
    slot: usize,
}

impl NullDriver {
    /// A driver that is what the configuration says. Waits while 32 others are open.
    pub fn new(config: NullConfig) -> Self {
        let state = State::leak(config);
        Self { state, slot: slots::open(state) }
    }

    /// The way in, as a loader's library would be.
    pub fn entry(&self) -> ash::Entry {
        let get_instance_proc_addr = slots::entry(self.slot);
        // SAFETY: the function follows the contract of `vkGetInstanceProcAddr`.
        unsafe { ash::Entry::from_static_fn(ash::StaticFn { get_instance_proc_addr }) }
    }

    /// What was done wrong, in order: the function, and what about it.
    pub fn errors(&self) -> Vec<String> {
        self.state.lock().errors.clone()
    }

    /// Forgets the errors so far, and gives them.
    pub fn take_errors(&self) -> Vec<String> {
        std::mem::take(&mut self.state.lock().errors)
    }

    /// Live objects by type, those that a test could leak: neither physical devices nor queues nor images of
    /// swapchains. Empty when everything was destroyed.
    pub fn live(&self) -> BTreeMap<String, usize> {
        let mut live = BTreeMap::new();
        for object in self.state.lock().live.values() {
            if !matches!(object.kind, vk::ObjectType::QUEUE | vk::ObjectType::PHYSICAL_DEVICE)
                && !matches!(object.data, Data::Image { swapchain: true, .. })
            {
                *live.entry(format!("{:?}", object.kind)).or_default() += 1;
            }
        }
        live
    }

    /// How often a function was called, by its Vulkan name.
    pub fn calls(&self, name: &str) -> u64 {
        self.state.lock().calls.get(name).copied().unwrap_or(0)
    }

    /// Calls that reached a device after it was lost, by their Vulkan names, in order.
    pub fn calls_after_loss(&self) -> Vec<&'static str> {
        self.state.lock().after_loss.clone()
    }

    /// Every sparse bind, in order.
    pub fn binds(&self) -> Vec<BindRecord> {
        self.state.lock().binds.clone()
    }

    /// Forgets the binds so far, and gives them.
    pub fn take_binds(&self) -> Vec<BindRecord> {
        std::mem::take(&mut self.state.lock().binds)
    }

    /// Names of the commands in a command buffer, since it was last begun.
    pub fn recorded(&self, buffer: vk::CommandBuffer) -> Vec<&'static str> {
        match self.state.lock().live.get(&buffer.as_raw()).map(|object| &object.data) {
            Some(Data::CommandBuffer { recorded, .. }) => recorded.clone(),
            _ => Vec::new(),
        }
    }

    /// The debug name of a handle.
    pub fn name_of<H: Handle>(&self, handle: H) -> Option<String> {
        self.state.lock().names.get(&handle.as_raw()).cloned()
    }

    /// Submissions and binds whose waits are not met yet.
    pub fn pending(&self) -> usize {
        self.state.lock().pending.values().map(|pending| pending.len()).sum()
    }

    /// From now on only `count` more submissions and binds are completed, however met their waits are: a GPU that
    /// is behind. Objects they use must not be destroyed meanwhile.
    pub fn hold_work_after(&self, count: u64) {
        self.state.lock().allowed = Some(count);
    }

    /// Completes what [`hold_work_after`](Self::hold_work_after) held back, and all that comes.
    pub fn release_work(&self) {
        let mut inner = self.state.lock();
        inner.allowed = None;
        queue::progress(&mut inner);
        self.state.changed.notify_all();
    }

    /// Bytes allocated from a heap of a device.
    pub fn heap_used(&self, device: usize, heap: usize) -> u64 {
        self.state.lock().heap_used.get(&(device, heap)).copied().unwrap_or(0)
    }

    /// Makes the `nth` call of this kind from now fail, counted from 1.
    pub fn fail_nth(&self, fault: Fault, nth: u64) {
        self.state.lock().faults.push((fault, nth));
    }

    /// What `VK_EXT_memory_budget` says of a heap from now on; nothing ordered is the size of the heap less what
    /// others use.
    pub fn set_budget(&self, device: usize, heap: usize, bytes: u64) {
        self.state.lock().budgets.insert((device, heap), bytes);
    }

    /// Bytes of a heap that other programs use from now on: allocations find that much less.
    pub fn set_foreign_usage(&self, device: usize, heap: usize, bytes: u64) {
        self.state.lock().foreign.insert((device, heap), bytes);
    }

    /// The size of every surface from now on, in pixels; zero is a minimised window. Swapchains of another size
    /// are out of date.
    pub fn set_surface_extent(&self, width: u32, height: u32) {
        self.state.lock().surface.extent = vk::Extent2D { width, height };
    }

    /// What the next acquisition answers that nothing was ordered for yet.
    pub fn order_acquire(&self, result: vk::Result) {
        self.state.lock().surface.acquires.push_back(result);
    }

    /// What the next presentation answers that nothing was ordered for yet.
    pub fn order_present(&self, result: vk::Result) {
        self.state.lock().surface.presents.push_back(result);
    }

    /// For the end of a test: nothing was done wrong and nothing is left.
    ///
    /// # Panics
    ///
    /// Otherwise, with the list.
    pub fn assert_clean(&self) {
        let (errors, live) = (self.errors(), self.live());
        assert!(errors.is_empty(), "{}", errors.join("\n"));
        assert!(live.is_empty(), "still alive: {live:?}");
    }
}

impl Drop for NullDriver {
    fn drop(&mut self) {
        slots::close(self.slot);
    }
}
