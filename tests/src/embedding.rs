//! The engine on a device that is not its own.
//!
//! `unsafe`, since only a caller can promise that a raw device has what it should; see [`wrap`].

use std::sync::Arc;

use vasa::vk::queue_policy::QueuePlan;
use vasa::vk::{self, Device, FeatureMask, Instance};

use crate::Harness;

/// Wraps the harness's raw instance and device a second time, as an application would wrap its own.
///
/// # Errors
/// What [`Device::from_raw`] says.
pub fn wrap(h: &Harness, plan: QueuePlan, mask: &FeatureMask) -> vk::Result<Arc<Device>> {
    let (instance, device) = (h.device.instance(), &h.device);
    // SAFETY: both were made by the harness with the features that are not masked, and with the queues of its plan
    // (a plan of other queues is refused or uses a subset of them). The harness outlives what it lends: tests drop
    // the wrapped device before it ends. Everything runs on one thread.
    unsafe {
        let instance = Instance::from_raw(instance.entry().clone(), instance.raw().clone());
        Device::from_raw(instance, device.physical(), device.raw().clone(), plan, mask)
    }
}

impl Harness {
    /// A harness on a wrapped device: the same things to do, none of the checks at the end.
    ///
    /// # Errors
    /// What the wrapped device says.
    pub fn on(&self, device: &Arc<Device>) -> vk::Result<Harness> {
        Self::new(device.clone(), self.settings.clone())
    }
}
