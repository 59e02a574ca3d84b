//! The upload ring: a persistently mapped buffer that frames write into, reclaimed by the timeline.

use std::sync::Arc;

use ash::vk::BufferUsageFlags;

use super::ring::{Occupancy, RingPlanner};
use crate::vk::{Buffer, Device, Location, Point, Result, Timeline};

/// Bytes that were written for one frame, and where shaders and copies find them.
#[derive(Debug, Clone)]
pub struct Upload {
    /// The buffer they lie in: the ring's own, or one of a frame's that did not fit.
    pub buffer: Arc<Buffer>,
    /// Offset in bytes, a multiple of 16.
    pub offset: u64,
    /// Length in bytes.
    pub bytes: u64,
}

impl Upload {
    /// Offset in 32-bit words, as shaders count.
    pub fn word(&self) -> u32 {
        (self.offset / 4) as u32
    }
}

/// A ring of host-visible memory. What does not fit goes into a buffer of its own for that frame, which is
/// counted: a ring that overflows every frame is too small.
#[derive(Debug)]
pub struct UploadRing {
    device: Arc<Device>,
    planner: RingPlanner,
    buffer: Arc<Buffer>,
    overflows: u64,
    written: u64,
}

fn make_buffer(device: &Arc<Device>, name: &str, bytes: u64) -> Result<Arc<Buffer>> {
    let usage = BufferUsageFlags::STORAGE_BUFFER | BufferUsageFlags::TRANSFER_SRC;
    Ok(Arc::new(Buffer::committed(device, name, bytes, usage, Location::Upload)?))
}

impl UploadRing {
    /// A ring of `bytes`.
    ///
    /// # Errors
    /// When the device has no host-visible memory left.
    pub fn new(device: &Arc<Device>, bytes: u64) -> Result<Self> {
        // All of it is seen through one storage buffer descriptor.
        let bytes = bytes.min(device.capabilities().limits.max_storage_buffer_range & !15);
        Ok(Self {
            device: device.clone(),
            planner: RingPlanner::new(bytes),
            buffer: make_buffer(device, "UploadRing", bytes)?,
            overflows: 0,
            written: 0,
        })
    }

    /// Copies bytes into the ring for the frame being built.
    ///
    /// # Errors
    /// When they do not fit and there is no memory for a buffer of their own.
    pub fn write(&mut self, bytes: &[u8]) -> Result<Upload> {
        let length = bytes.len() as u64;
        self.written += length;
        let completed = self.device.completed(Timeline::Graphics)?;
        self.planner.reclaim(completed);
        let (buffer, offset) = match self.planner.allocate(length.max(1), 16) {
            Some(offset) => (self.buffer.clone(), offset),
            None => {
                self.overflows += 1;
                (make_buffer(&self.device, "UploadRing.Overflow", length.max(16))?, 0)
            }
        };
        buffer.write_mapped(offset, bytes)?;
        Ok(Upload { buffer, offset, bytes: length })
    }

    /// Closes the frame: what was written since the last call is in use until `point` is reached.
    pub fn finish(&mut self, point: Point) {
        if self.planner.finish(point.value).is_err() {
            log::error!("the upload ring was finished with a value that went back ({})", point.value);
        }
    }

    /// Bytes ever written.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Writes that did not fit into the ring.
    pub fn overflows(&self) -> u64 {
        self.overflows
    }

    /// How full it is.
    pub fn occupancy(&self) -> Occupancy {
        self.planner.occupancy()
    }
}
