//! Timestamps of a frame's passes.

use std::sync::Arc;

use ash::vk;

use super::command::CommandEncoder;
use super::device::Device;
use super::error::{Error, Result};
use super::retire::Garbage;
use super::timeline::Timeline;

/// Most passes that are timed in one frame.
const MAX_PASSES: usize = 64;

/// Times labelled passes of one frame in flight on the GPU.
#[derive(Debug)]
pub struct PassTimer {
    device: Arc<Device>,
    pool: vk::QueryPool,
    names: Vec<&'static str>,
    valid_bits: u32,
    /// Some queries may be written though no pass is remembered.
    stale: bool,
}

impl PassTimer {
    /// A timer of one frame in flight on the graphics queue.
    ///
    /// # Errors
    /// When the driver has no memory.
    pub fn new(device: &Arc<Device>) -> Result<Self> {
        Self::of_queue(device, Timeline::Graphics)
    }

    /// A timer of one frame in flight on a timeline's queue.
    ///
    /// # Errors
    /// When the queue does not exist or the driver has no memory.
    pub fn of_queue(device: &Arc<Device>, timeline: Timeline) -> Result<Self> {
        let queue = device.queue(timeline);
        let family = queue.ok_or_else(|| device.unsupported("a timer", "that queue"))?.family as usize;
        device.alive("vkCreateQueryPool")?;
        let info = vk::QueryPoolCreateInfo::default()
            .query_type(vk::QueryType::TIMESTAMP)
            .query_count(MAX_PASSES as u32 * 2);
        // SAFETY: `info` holds no pointers; hostQueryReset is a required feature and no query is in use yet.
        let pool = unsafe {
            let pool = device.raw.create_query_pool(&info, None);
            let pool = pool.map_err(|r| device.noticed(Error::of("vkCreateQueryPool")(r)))?;
            device.raw.reset_query_pool(pool, 0, MAX_PASSES as u32 * 2);
            pool
        };
        device.counters.made();
        let valid_bits = device.capabilities().queue_families[family].timestamp_bits;
        Ok(Self { device: device.clone(), pool, names: Vec::new(), valid_bits, stale: false })
    }

    /// Opens a labelled, timed pass with a breadcrumb ([`CommandEncoder::begin_pass`]).
    pub fn begin(&mut self, encoder: &mut CommandEncoder, name: &'static str) {
        if self.names.is_empty() && std::mem::take(&mut self.stale) {
            // SAFETY: nothing of this frame is recorded yet, and whatever was submitted of the one that was given up is done
            // (the caller waited for its timeline).
            unsafe { self.device.raw.reset_query_pool(self.pool, 0, MAX_PASSES as u32 * 2) };
        }
        encoder.begin_pass(name);
        if self.valid_bits > 0 && self.names.len() < MAX_PASSES {
            encoder.write_timestamp(self.pool, self.names.len() as u32 * 2);
        }
    }

    /// Closes the pass opened last.
    pub fn end(&mut self, encoder: &mut CommandEncoder, name: &'static str) {
        if self.valid_bits > 0 && self.names.len() < MAX_PASSES {
            encoder.write_timestamp(self.pool, self.names.len() as u32 * 2 + 1);
            self.names.push(name);
        }
        encoder.end_pass();
    }

    /// Forgets the passes begun since the last [`PassTimer::take`]: their recording was dropped, and none of it was
    /// submitted.
    pub fn forget(&mut self) {
        self.names.clear();
    }

    /// Forgets the passes begun since the last [`PassTimer::take`]: some of their frame was submitted, and not all.
    pub fn discard(&mut self) {
        self.names.clear();
        self.stale = true;
    }

    /// The milliseconds of the passes, once the frame is done; makes the timer ready for another frame.
    ///
    /// # Errors
    /// When the device is lost.
    pub fn take(&mut self) -> Result<Vec<(&'static str, f64)>> {
        self.device.alive("vkGetQueryPoolResults")?;
        if self.names.is_empty() {
            return Ok(Vec::new());
        }
        let mut ticks = vec![0u64; self.names.len() * 2];
        // SAFETY: the frame that wrote these queries is done (the caller waited for its timeline), so the
        // results are there; the slice has room for all of them.
        unsafe {
            self.device
                .raw
                .get_query_pool_results(self.pool, 0, &mut ticks, vk::QueryResultFlags::TYPE_64)
                .map_err(|r| self.device.noticed(Error::of("vkGetQueryPoolResults")(r)))?;
            self.device.raw.reset_query_pool(self.pool, 0, MAX_PASSES as u32 * 2);
        }
        let period = self.device.capabilities().limits.timestamp_period_millis as f64 / 1000.0;
        let mask = if self.valid_bits >= 64 { u64::MAX } else { (1 << self.valid_bits) - 1 };
        let times = self
            .names
            .drain(..)
            .zip(ticks.chunks_exact(2))
            .map(|(name, t)| (name, (t[1].wrapping_sub(t[0]) & mask) as f64 * period / 1e6))
            .collect();
        Ok(times)
    }
}

impl Drop for PassTimer {
    fn drop(&mut self) {
        self.device.retire(Garbage::QueryPool(self.pool));
    }
}
