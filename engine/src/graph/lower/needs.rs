//! What transients need of memory, asked of the driver once a description.

use std::collections::HashMap;
use std::sync::Arc;

use ash::vk::BufferUsageFlags;

use super::error::Result;
use crate::graph::{Declaration, HeapKey, MemoryNeeds, ResourceId, ResourceInfo};
use crate::vk::Device;

/// Descriptions that are remembered; past that all are forgotten and asked again.
const REMEMBERED: usize = 512;

#[derive(Debug, Default)]
pub(super) struct NeedsCache {
    known: HashMap<ResourceInfo, MemoryNeeds>,
    /// Working memory.
    found: Vec<(ResourceId, MemoryNeeds)>,
}

impl NeedsCache {
    /// Fills in what every transient needs.
    pub(super) fn fill(
        &mut self,
        device: &Arc<Device>,
        declaration: &mut Declaration,
        is_shared: bool,
    ) -> Result<()> {
        self.found.clear();
        if self.known.len() > REMEMBERED {
            self.known.clear();
        }
        for (id, resource) in declaration.transients() {
            let needs = match self.known.get(&resource.info) {
                Some(needs) => *needs,
                None => {
                    let needs = ask(device, &resource.name, &resource.info, is_shared)?;
                    self.known.insert(resource.info, needs);
                    needs
                }
            };
            self.found.push((id, needs));
        }
        for (id, needs) in self.found.drain(..) {
            declaration.set_needs(id, needs);
        }
        Ok(())
    }
}

fn ask(device: &Arc<Device>, name: &str, info: &ResourceInfo, is_shared: bool) -> Result<MemoryNeeds> {
    let (needs, is_linear) = match info {
        ResourceInfo::Image(info) => (device.image_requirements(name, &info.desc(), is_shared)?, false),
        ResourceInfo::Buffer(info) => {
            let usage = BufferUsageFlags::from_raw(info.usage);
            (device.buffer_requirements(name, info.bytes, usage)?, true)
        }
    };
    Ok(MemoryNeeds {
        bytes: needs.bytes,
        alignment: needs.alignment,
        heap: HeapKey { memory_type: device.chunk_memory_type(needs.memory_types)?, is_linear },
    })
}
