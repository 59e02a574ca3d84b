//! One run of one variant, on a device of its own.

use std::sync::Arc;
use std::time::Instant;

use ash::vk::BufferUsageFlags;
use vasa::sparse::{GrowableBuffer, GrowableDesc, SparseMemory};
use vasa::vk::{Buffer, Device, Timeline};

use super::{Plan, Variant};
use crate::error::Error;
use crate::harness::{Clock, Context, Frames, WorkSize, order_writes, work_buffer};

/// Frames after the canary that are not measured: an idle device takes the first two at once.
const SETTLE_FRAMES: u64 = 4;

/// What one run measured.
#[derive(Debug, Clone)]
pub(super) struct RunFigures {
    /// Milliseconds of the canary, before and after the measured frames.
    pub(super) canary_ms: Vec<f64>,
    /// Milliseconds from submission to submission.
    pub(super) frames_ms: Vec<f64>,
    /// Microseconds of each call that grew.
    pub(super) grow_us: Vec<f64>,
    /// Most bytes held at once for the buffer, by the engine's own accounting.
    pub(super) peak_memory_bytes: u64,
    /// Bytes of data at the end.
    pub(super) data_bytes: u64,
    /// `vkQueueBindSparse` calls during the measured frames.
    pub(super) bind_calls: u64,
    /// Those of them that a worker made ahead of need.
    pub(super) bind_calls_ahead: u64,
    /// Frames whose submission had to wait for a bind that was not done yet.
    pub(super) frames_waited: u64,
}

/// What a frame needs.
struct Scene {
    device: Arc<Device>,
    sparse: SparseMemory,
    data: GrowableBuffer,
    data_bytes: u64,
    work: Buffer,
    size: WorkSize,
    frames: Frames,
}

pub(super) fn run(
    context: &Context,
    variant: Variant,
    plan: &Plan,
    size: WorkSize,
) -> Result<RunFigures, Error> {
    let device = context.open(variant.mask())?;
    let sparse = SparseMemory::new(&device, variant.knobs());
    let work = work_buffer(&device, size.buffer_bytes)?;
    let mut clock = Clock::new(&device)?;
    let frames = Frames::new(&device)?;
    // The device is fresh and has only gained memory so far: its peak until here is no larger.
    let before = device.object_counts().memory_bytes;

    let mut data = GrowableBuffer::new(
        &sparse,
        &GrowableDesc {
            policy: variant.policy(),
            ..GrowableDesc::new("Bench.Data", plan.capacity_bytes(), usage(&device, plan))
        },
    )?;
    data.commit(plan.start_bytes)?;
    sparse.flush(None)?;
    device.wait_idle()?;
    let mut scene =
        Scene { device: device.clone(), sparse, data, data_bytes: plan.start_bytes, work, size, frames };

    for _ in 0..plan.warm_up_frames {
        scene.frame(plan, false)?;
    }
    device.wait_idle()?;
    let mut canary_ms = vec![clock.median_fill(&scene.work, size.canary_bytes())?];
    let mut last = Instant::now();
    for _ in 0..SETTLE_FRAMES {
        last = scene.frame(plan, false)?.0;
    }
    let stats_before = scene.sparse.stats();
    let mut frames_ms = Vec::with_capacity(plan.measured_frames() as usize);
    let mut grow_us = Vec::with_capacity(plan.steps as usize);
    for frame in 0..plan.measured_frames() {
        let (submitted, grown) = scene.frame(plan, variant.grows() && plan.grows_at(frame))?;
        frames_ms.push((submitted - last).as_secs_f64() * 1e3);
        grow_us.extend(grown);
        last = submitted;
    }
    device.wait_idle()?;
    canary_ms.push(clock.median_fill(&scene.work, size.canary_bytes())?);
    let stats = scene.sparse.stats();
    Ok(RunFigures {
        canary_ms,
        frames_ms,
        grow_us,
        peak_memory_bytes: device.object_counts().peak_memory_bytes.saturating_sub(before),
        data_bytes: scene.data_bytes,
        bind_calls: stats.bind_calls - stats_before.bind_calls,
        bind_calls_ahead: stats.bind_calls_ahead - stats_before.bind_calls_ahead,
        frames_waited: stats.frames_waited - stats_before.frames_waited,
    })
}

/// A storage buffer, as a scene's data is; where descriptors cannot reach that far, a vertex buffer.
fn usage(device: &Device, plan: &Plan) -> BufferUsageFlags {
    if device.capabilities().limits.max_storage_buffer_range >= plan.capacity_bytes() {
        BufferUsageFlags::STORAGE_BUFFER
    } else {
        BufferUsageFlags::VERTEX_BUFFER
    }
}

impl Scene {
    /// One frame: grows if it should, works, and uses the buffer's newest bytes. Gives the moment it was
    /// submitted and the microseconds that growing took.
    fn frame(&mut self, plan: &Plan, grow: bool) -> Result<(Instant, Option<f64>), Error> {
        let (number, mut encoder) = self.frames.begin()?;
        let mut waits = Vec::new();
        let mut grow_us = None;
        if grow {
            let target = self.data_bytes + plan.step_bytes;
            let started = Instant::now();
            self.data.commit(target)?;
            let flushed = self.sparse.flush(Some(&mut encoder))?;
            grow_us = Some(started.elapsed().as_secs_f64() * 1e6);
            self.data_bytes = target;
            waits.extend(flushed.wait);
        }
        for _ in 0..self.size.repeats {
            order_writes(&mut encoder);
            encoder.fill_buffer(&self.work, 0, self.size.bytes, number as u32);
        }
        let newest = self.data_bytes - plan.step_bytes;
        encoder.fill_buffer(self.data.buffer(), newest, plan.step_bytes, number as u32);
        let commands = vec![encoder.finish()?];
        self.device.submit(Timeline::Graphics, commands, &waits)?;
        let submitted = Instant::now();
        self.sparse.end_frame();
        Ok((submitted, grow_us))
    }
}
