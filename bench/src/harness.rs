//! What benches share: the device, work of a known duration, a clock on the GPU, frames in flight, turns.
//!
//! Machines are noisy and clocks change between two variants. So pairs run in turn, every run has a *canary*
//! (the same fill, timed before and after), and runs where it moved are thrown away and made again, within
//! reason.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ash::vk::{AccessFlags2, BufferUsageFlags, PipelineStageFlags2};
use vasa::vk::capabilities::DeviceType;
use vasa::vk::{
    Buffer, CommandEncoder, CommandPool, Device, DeviceOptions, FeatureMask, Instance, InstanceOptions,
    Location, PassTimer, Timeline, Validation,
};

use crate::cli::Cli;
use crate::error::Error;
use crate::report::Facts;
use crate::stats;

/// A run is thrown away when a canary of it is further than this from the median of all.
pub(crate) const CANARY_TOLERANCE: f64 = 0.2;
/// Rounds are repeated for runs thrown away, until there were so many times the rounds asked for.
pub(crate) const MOST_ROUNDS: u32 = 3;
/// Bytes of a canary's fill on a GPU (less where the work buffer is smaller).
const CANARY_BYTES: u64 = 256 << 20;
/// Fills of which a canary is the median.
const CANARY_FILLS: usize = 9;
/// Bytes first filled to learn how fast a GPU is.
const PROBE_BYTES: u64 = 256 << 20;
/// Fill for so long before the first measurement: idle GPUs clock down.
const WARM_UP: Duration = Duration::from_millis(300);
/// Bytes filled a frame on a software driver: some milliseconds, too noisy to calibrate.
const SOFTWARE_WORK: WorkSize = WorkSize { buffer_bytes: 16 << 20, bytes: 16 << 20, repeats: 1 };
/// Bytes of one fill of short work: gone before memory is felt.
const SHORT_FILL_BYTES: u64 = 4096;
/// Bytes of the work buffer of short work.
const SHORT_BUFFER_BYTES: u64 = 256 << 20;
/// Short fills first timed, and most of a frame.
const FIRST_REPEATS: u64 = 256;
const MOST_REPEATS: u64 = 20_000;
const MEBIBYTE: u64 = 1 << 20;

/// What a bench may know: how to open devices, and how long to measure.
pub(crate) struct Context {
    /// `None` where no bench needs a device.
    instance: Option<Arc<Instance>>,
    /// Part of the name of the device to measure.
    pub(crate) device: Option<String>,
    /// Steady runs wanted of each variant.
    pub(crate) runs: u32,
    /// Measure less.
    pub(crate) quick: bool,
}

impl Context {
    /// Loads Vulkan, without validation: it would be measured too.
    ///
    /// # Errors
    /// When there is no Vulkan here.
    pub(crate) fn new(cli: &Cli) -> Result<Self, Error> {
        Ok(Self { instance: Some(load()?), ..Self::without_device(cli) })
    }

    /// For benches that measure no device: Vulkan is not loaded.
    pub(crate) fn without_device(cli: &Cli) -> Self {
        Self { instance: None, device: cli.device.clone(), runs: cli.runs(), quick: cli.quick }
    }

    /// A fresh device: its own peak of memory, nothing left of the variant before.
    ///
    /// # Errors
    /// When no device fits.
    pub(crate) fn open(&self, mask: FeatureMask) -> Result<Arc<Device>, Error> {
        let options = DeviceOptions { name: self.device.clone(), mask, ..Default::default() };
        let instance = self.instance.clone().map_or_else(load, Ok)?;
        Ok(Device::open(&instance, &options)?)
    }

    /// Which device and build this is.
    ///
    /// # Errors
    /// When no device fits.
    pub(crate) fn facts(&self) -> Result<Facts, Error> {
        Ok(Facts::of(self.open(FeatureMask::default())?.capabilities()))
    }
}

/// Vulkan, without validation.
fn load() -> Result<Arc<Instance>, Error> {
    let options = InstanceOptions {
        application: "vasa-bench".into(),
        validation: Validation::Off,
        ..Default::default()
    };
    Ok(Instance::new(options)?)
}

/// Whether a device is a software driver.
pub(crate) fn is_software(device: &Device) -> bool {
    device.capabilities().device_type == DeviceType::Cpu
}

/// The GPU work of a frame: so many fills of so many bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub(crate) struct WorkSize {
    /// Bytes of the work buffer.
    pub(crate) buffer_bytes: u64,
    /// Bytes of it that are filled each time.
    pub(crate) bytes: u64,
    /// Fills a frame.
    pub(crate) repeats: u64,
}

impl WorkSize {
    /// Work of `target_ms` for a device that fills `bytes` in `ms`, in a buffer of at most `limit` bytes.
    fn of_duration(target_ms: f64, bytes: u64, ms: f64, limit: u64) -> Self {
        let limit = (limit / MEBIBYTE).max(1);
        // A clock too coarse for the fill reads 0: take that as fast, and stay within bounds.
        let wanted = mebibytes_in(bytes, target_ms, ms).clamp(1, limit * 64);
        let repeats = wanted.div_ceil(limit);
        Self::whole(wanted.div_ceil(repeats) * MEBIBYTE, repeats)
    }

    /// Fills of the whole buffer.
    pub(crate) fn whole(bytes: u64, repeats: u64) -> Self {
        Self { buffer_bytes: bytes, bytes, repeats }
    }

    /// Bytes of the canary's fill beside this work.
    pub(crate) fn canary_bytes(&self) -> u64 {
        self.buffer_bytes.min(CANARY_BYTES)
    }
}

fn mebibytes_in(bytes: u64, target_ms: f64, ms: f64) -> u64 {
    (bytes as f64 * target_ms / ms.max(1e-6) / MEBIBYTE as f64).round() as u64
}

/// The buffer that a frame's work fills.
///
/// # Errors
/// When the device has no memory for it.
pub(crate) fn work_buffer(device: &Arc<Device>, bytes: u64) -> Result<Buffer, Error> {
    let usage = BufferUsageFlags::TRANSFER_DST;
    Ok(Buffer::committed(device, "Bench.Work", bytes, usage, Location::Device)?)
}

/// Bytes of the canary's fill where there is no work beside it.
pub(crate) fn canary_bytes(device: &Device) -> u64 {
    if is_software(device) { SOFTWARE_WORK.bytes } else { CANARY_BYTES }
}

/// The buffer that such a canary fills.
///
/// # Errors
/// When the device has no memory for it.
pub(crate) fn canary_buffer(device: &Arc<Device>) -> Result<Buffer, Error> {
    work_buffer(device, canary_bytes(device))
}

/// Finds the work that takes a GPU about `target_ms`; a software driver gets a fixed size.
///
/// # Errors
/// When the device has no memory for it, or is lost.
pub(crate) fn calibrate(device: &Arc<Device>, target_ms: f64) -> Result<WorkSize, Error> {
    if is_software(device) {
        return Ok(SOFTWARE_WORK);
    }
    let c = device.capabilities();
    let heap = c.heaps.iter().filter(|h| h.device_local).map(|h| h.bytes).max().unwrap_or(0);
    // An eighth of the memory: the buffers that are measured need the rest.
    let limit = (heap / 8).min(4 << 30).min(c.limits.max_buffer_size).min(c.limits.max_memory_allocation);
    let mut clock = Clock::new(device)?;
    let mut size = WorkSize::whole(PROBE_BYTES.min(limit.max(MEBIBYTE)), 1);
    // Once with the probe, once with what that says: small fills are part overhead.
    for _ in 0..2 {
        let buffer = work_buffer(device, size.bytes)?;
        clock.warm_up(&buffer, size.bytes)?;
        let ms = clock.median_fill(&buffer, size.bytes)?;
        size = WorkSize::of_duration(target_ms, size.bytes, ms, limit);
        drop(buffer);
        device.wait_idle()?;
    }
    Ok(size)
}

/// Finds how many short fills after each other take a GPU about `target_ms`: work that waits for itself, as most of a
/// frame's passes do, and moves next to no memory. `None` for a software driver, whose frames are not calibrated.
///
/// # Errors
/// When the device has no memory for it, or is lost.
pub(crate) fn calibrate_short(device: &Arc<Device>, target_ms: f64) -> Result<Option<WorkSize>, Error> {
    if is_software(device) {
        return Ok(None);
    }
    let mut size =
        WorkSize { buffer_bytes: SHORT_BUFFER_BYTES, bytes: SHORT_FILL_BYTES, repeats: FIRST_REPEATS };
    let buffer = work_buffer(device, size.buffer_bytes)?;
    let mut clock = Clock::new(device)?;
    clock.warm_up(&buffer, size.buffer_bytes)?;
    // Once with a guess, once with what that says: the first fills are part overhead.
    for _ in 0..2 {
        let times = (0..CANARY_FILLS).map(|_| clock.fills(&buffer, size.bytes, size.repeats));
        let ms = stats::median(&times.collect::<Result<Vec<_>, _>>()?).unwrap_or(0.0);
        let repeats = size.repeats as f64 * target_ms / ms.max(1e-6);
        size.repeats = (repeats.round() as u64).clamp(1, MOST_REPEATS);
    }
    Ok(Some(size))
}

/// Times single fills: on the GPU where it has timestamps, otherwise on the host.
#[derive(Debug)]
pub(crate) struct Clock {
    device: Arc<Device>,
    pool: CommandPool,
    timer: PassTimer,
}

impl Clock {
    /// A clock of the graphics queue.
    ///
    /// # Errors
    /// When the driver has no memory.
    pub(crate) fn new(device: &Arc<Device>) -> Result<Self, Error> {
        let pool = CommandPool::new(device, Timeline::Graphics)?;
        Ok(Self { device: device.clone(), pool, timer: PassTimer::new(device)? })
    }

    /// Fills for a while, so that clocks are up.
    ///
    /// # Errors
    /// When the device is lost.
    pub(crate) fn warm_up(&mut self, buffer: &Buffer, bytes: u64) -> Result<(), Error> {
        let started = Instant::now();
        while started.elapsed() < WARM_UP {
            self.fill(buffer, bytes)?;
        }
        Ok(())
    }

    /// Milliseconds of one fill, alone on the device.
    ///
    /// # Errors
    /// When the device is lost.
    pub(crate) fn fill(&mut self, buffer: &Buffer, bytes: u64) -> Result<f64, Error> {
        self.fills(buffer, bytes, 1)
    }

    /// Milliseconds of fills after each other, alone on the device.
    fn fills(&mut self, buffer: &Buffer, bytes: u64, repeats: u64) -> Result<f64, Error> {
        const NAME: &str = "Bench.Canary";
        self.pool.reset()?;
        let mut encoder = self.pool.begin(NAME)?;
        order_writes(&mut encoder);
        self.timer.begin(&mut encoder, NAME);
        for _ in 0..repeats {
            encoder.fill_buffer(buffer, 0, bytes, 0x5A5A_5A5A);
            order_writes(&mut encoder);
        }
        self.timer.end(&mut encoder, NAME);
        let commands = vec![encoder.finish()?];
        let started = Instant::now();
        let point = self.device.submit(Timeline::Graphics, commands, &[])?;
        self.device.wait(&[point])?;
        let on_host = started.elapsed().as_secs_f64() * 1e3;
        let timed = self.timer.take()?;
        // A software driver's timestamps are the host's clock, read when it pleases.
        let on_gpu = timed.first().map(|(_, ms)| *ms).filter(|_| !is_software(&self.device));
        Ok(on_gpu.unwrap_or(on_host))
    }

    /// The median of some fills: the canary.
    ///
    /// # Errors
    /// When the device is lost.
    pub(crate) fn median_fill(&mut self, buffer: &Buffer, bytes: u64) -> Result<f64, Error> {
        let times = (0..CANARY_FILLS).map(|_| self.fill(buffer, bytes)).collect::<Result<Vec<_>, _>>()?;
        Ok(stats::median(&times).unwrap_or(0.0))
    }
}

/// Lets transfers wait for the transfers before them.
pub(crate) fn order_writes(encoder: &mut CommandEncoder) {
    let transfer = (PipelineStageFlags2::ALL_TRANSFER, AccessFlags2::TRANSFER_WRITE);
    encoder.memory_barrier(transfer, transfer);
}

/// Two frames in flight: the third waits for the first.
#[derive(Debug)]
pub(crate) struct Frames {
    device: Arc<Device>,
    pools: [CommandPool; 2],
    number: u64,
}

impl Frames {
    /// None begun yet.
    ///
    /// # Errors
    /// When the driver has no memory.
    pub(crate) fn new(device: &Arc<Device>) -> Result<Self, Error> {
        let pool = || CommandPool::new(device, Timeline::Graphics);
        Ok(Self { device: device.clone(), pools: [pool()?, pool()?], number: 0 })
    }

    /// Waits for the frame before the last, destroys what that let go of, and begins the next. Gives its
    /// number, which starts at 1.
    ///
    /// # Errors
    /// When the device is lost.
    pub(crate) fn begin(&mut self) -> Result<(u64, CommandEncoder), Error> {
        self.number += 1;
        let pool = &mut self.pools[(self.number % 2) as usize];
        pool.reset()?;
        self.device.collect()?;
        Ok((self.number, pool.begin("Bench.Frame")?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_scaled_to_its_duration() {
        let of = |bytes: u64, ms, limit: u64| WorkSize::of_duration(1.0, bytes << 20, ms, limit << 20);
        assert_eq!(of(256, 0.5, 4096), WorkSize::whole(512 << 20, 1));
        assert_eq!(of(256, 2.0, 4096), WorkSize::whole(128 << 20, 1));
        // 5120 MiB wanted, 4096 allowed: two fills of half of it.
        assert_eq!(of(256, 0.05, 4096), WorkSize::whole(2560 << 20, 2));
    }

    #[test]
    fn a_clock_that_reads_nothing_asks_for_no_endless_work() {
        let size = WorkSize::of_duration(1.0, 256 << 20, 0.0, 1 << 30);
        assert!(size.bytes <= 1 << 30 && size.repeats <= 64, "{size:?}");
        let size = WorkSize::of_duration(1.0, 1 << 20, 1e9, 0);
        assert_eq!(size, WorkSize::whole(1 << 20, 1));
    }

    #[test]
    fn a_canary_fits_the_work_buffer() {
        assert_eq!(SOFTWARE_WORK.canary_bytes(), SOFTWARE_WORK.bytes);
        assert_eq!(WorkSize::whole(3 << 30, 1).canary_bytes(), CANARY_BYTES);
    }
}
