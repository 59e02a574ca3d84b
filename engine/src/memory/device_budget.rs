//! The budget of a device that is open.

use std::sync::Arc;

use super::budget::{BudgetSource, HeapKind, HeapReading};
use crate::vk::Device;

/// Reads `VK_EXT_memory_budget` where the device has it and it can be believed; own accounting, and the limit of
/// [`Device::limit_memory`], always.
#[derive(Debug, Clone)]
pub struct DeviceBudget(Arc<Device>);

impl DeviceBudget {
    /// The budget of a device.
    pub fn new(device: &Arc<Device>) -> Self {
        Self(device.clone())
    }
}

impl BudgetSource for DeviceBudget {
    fn heaps(&self) -> Vec<HeapKind> {
        let heaps = self.0.capabilities().heaps.iter();
        heaps.map(|heap| HeapKind { bytes: heap.bytes, device_local: heap.device_local }).collect()
    }

    fn query(&mut self) -> Option<Vec<HeapReading>> {
        profiling::scope!("DeviceBudget::query");
        let heaps = self.0.query_memory_budget()?;
        Some(heaps.into_iter().map(|(budget, usage)| HeapReading { budget, usage }).collect())
    }

    fn own_bytes(&self, heap: usize) -> u64 {
        self.0.heap_bytes(heap)
    }

    fn limit(&self) -> Option<u64> {
        self.0.memory_limit()
    }
}
