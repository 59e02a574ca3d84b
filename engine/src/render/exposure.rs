//! Auto exposure; see `shaders/exposure.wgsl`.
//!
//! On the compute queue where there is one: beside bloom.

use std::sync::Arc;

use ash::vk::BufferUsageFlags;

use crate::graph::{Access, BufferHandle, BufferInfo, Frame, ImageHandle, Queue, ShaderStages};
use crate::vk::layout::gpu_struct;
use crate::vk::{Buffer, ComputePipeline, Device, Location, PassBindings, Result, shader};

gpu_struct! {
    /// Push constants of `shaders/exposure.wgsl`.
    pub struct ExposurePush {
        /// Place of this frame's constants.
        pub frame_index: u32,
        /// Since the last frame.
        pub seconds: f32,
        /// 1 where there is no last frame.
        pub is_first: u32,
        /// To a multiple of 16 bytes.
        pub padding: u32,
    }

    /// What is kept from frame to frame; see `shaders/lib/exposure.wgsl`.
    pub struct ExposureState {
        /// Multiplies linear light.
        pub exposure: f32,
        /// Mean brightness of the last frame.
        pub brightness: f32,
        /// To a multiple of 16 bytes.
        pub padding: [f32; 2],
    }
}

/// Bytes of the histogram.
const BINS: u64 = 128 * 4;

#[derive(Debug)]
pub(super) struct Exposure {
    count: ComputePipeline,
    average: ComputePipeline,
    state: Buffer,
}

impl Exposure {
    pub(super) fn new(device: &Arc<Device>) -> Result<Self> {
        let pipeline = |entry| ComputePipeline::new(device, &shader::EXPOSURE, entry);
        let bytes = size_of::<ExposureState>() as u64;
        // Where the host can read it, for whoever wants to know.
        let usage = BufferUsageFlags::STORAGE_BUFFER;
        let state = Buffer::committed(device, "Exposure.State", bytes, usage, Location::Readback)?;
        let count = pipeline("exposure_histogram")?;
        Ok(Self { count, average: pipeline("exposure_average")?, state })
    }

    /// Declares the passes; returns the state. `seconds`: since the frame that this one goes on from.
    pub(super) fn declare<'f>(
        &'f self,
        frame: &mut Frame<'_, 'f>,
        colour: ImageHandle,
        (frames, extent): (&'f Buffer, [u32; 2]),
        seconds: Option<f32>,
    ) -> BufferHandle {
        let push = ExposurePush {
            frame_index: frame.place() as u32,
            seconds: seconds.unwrap_or(0.0),
            is_first: seconds.is_none().into(),
            padding: 0,
        };
        let mut bins = frame.buffer("Exposure.Bins", BufferInfo::new(BINS));
        let mut state = frame.import_buffer(&self.state, None);
        let reads_writes = Access::StorageReadWrite(ShaderStages::COMPUTE);
        let clear = frame.pass("Exposure.Clear", Queue::Compute).write(&mut bins, Access::CopyDestination);
        let cleared = bins;
        clear.record(move |pass| {
            let (encoder, resources) = pass.split();
            encoder.fill_buffer(resources.buffer(cleared)?, 0, BINS, 0);
            Ok(())
        });
        let count = frame
            .pass("Exposure.Histogram", Queue::Compute)
            .read(colour, Access::Sampled(ShaderStages::COMPUTE))
            .write(&mut bins, reads_writes);
        let counted = bins;
        count.record(move |pass| {
            let (encoder, resources) = pass.split();
            let bindings = PassBindings {
                buffers: &[(0, frames), (5, resources.buffer(counted)?)],
                images: &[(8, resources.image(colour)?)],
                ..Default::default()
            };
            // One pixel in sixteen.
            let [width, height] = extent.map(|side| side.div_ceil(4));
            encoder.dispatch(&self.count, &bindings, &push, self.count.groups([width, height, 1]));
            Ok(())
        });
        let average = frame
            .pass("Exposure.Average", Queue::Compute)
            .write(&mut bins, reads_writes)
            .write(&mut state, reads_writes);
        average.record(move |pass| {
            let (encoder, resources) = pass.split();
            let bindings = PassBindings {
                buffers: &[(5, resources.buffer(bins)?), (6, resources.buffer(state)?)],
                ..Default::default()
            };
            encoder.dispatch(&self.average, &bindings, &push, [1, 1, 1]);
            Ok(())
        });
        state
    }

    /// What the last frame that is done left, roughly: a frame in flight may be writing it.
    pub(super) fn state(&self) -> ExposureState {
        let bytes = self.state.mapped().and_then(|bytes| bytes.get(..size_of::<ExposureState>()));
        bytes.map(bytemuck::pod_read_unaligned).unwrap_or_default()
    }
}
