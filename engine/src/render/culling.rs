//! Frustum culling in compute, with a stable order of draws.

use std::sync::Arc;

use ash::vk::{AccessFlags2, BufferUsageFlags, DrawIndexedIndirectCommand, PipelineStageFlags2};

use crate::scene::Scene;
use crate::vk::layout::gpu_struct;
use crate::vk::{
    Buffer, BufferCopy, CommandEncoder, ComputePipeline, Device, Location, PassBindings, Result, shader,
};

gpu_struct! {
    /// Push constants of `shaders/cull.wgsl`.
    pub struct CullPush {
        /// Place of this frame's constants.
        pub frame_index: u32,
        /// Groups of 256 instances.
        pub groups: u32,
    }
}

/// What culling left of a frame.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Culled {
    /// Instances drawn.
    pub instances: u32,
    /// Triangles drawn.
    pub triangles: u32,
}

const GROUP: u32 = 256;
const COUNTER_BYTES: u64 = 16;

/// Buffers sized for a number of instances; made anew, larger, when there are more.
#[derive(Debug)]
struct Lists {
    capacity: u32,
    commands: Buffer,
    work: Buffer,
}

impl Lists {
    fn new(device: &Arc<Device>, capacity: u32) -> Result<Self> {
        let command = size_of::<DrawIndexedIndirectCommand>() as u64;
        let usage = BufferUsageFlags::STORAGE_BUFFER;
        let commands = Buffer::committed(
            device,
            "Culling.Commands",
            u64::from(capacity) * command,
            usage | BufferUsageFlags::INDIRECT_BUFFER | BufferUsageFlags::TRANSFER_SRC,
            Location::Device,
        )?;
        let words = u64::from(capacity) + u64::from(capacity / GROUP);
        let work = Buffer::committed(device, "Culling.Work", words * 4, usage, Location::Device)?;
        Ok(Self { capacity, commands, work })
    }
}

/// The passes and their buffers.
#[derive(Debug)]
pub(super) struct Culling {
    device: Arc<Device>,
    test: ComputePipeline,
    scan: ComputePipeline,
    emit: ComputePipeline,
    lists: Lists,
    counters: Buffer,
    readback: Vec<Buffer>,
}

impl Culling {
    pub(super) fn new(device: &Arc<Device>, frames_in_flight: usize) -> Result<Self> {
        let pipeline = |entry| ComputePipeline::new(device, &shader::CULL, entry);
        let usage = BufferUsageFlags::STORAGE_BUFFER
            | BufferUsageFlags::INDIRECT_BUFFER
            | BufferUsageFlags::TRANSFER_SRC
            | BufferUsageFlags::TRANSFER_DST;
        let counters = Buffer::committed(device, "Culling.Counters", COUNTER_BYTES, usage, Location::Device)?;
        let readback = (0..frames_in_flight).map(|_| {
            let usage = BufferUsageFlags::TRANSFER_DST;
            Buffer::committed(device, "Culling.Readback", COUNTER_BYTES, usage, Location::Readback)
        });
        Ok(Self {
            test: pipeline("cull_test")?,
            scan: pipeline("cull_scan")?,
            emit: pipeline("cull_emit")?,
            lists: Lists::new(device, GROUP * 16)?,
            counters,
            readback: readback.collect::<Result<_>>()?,
            device: device.clone(),
        })
    }

    /// Makes room for that many instances.
    pub(super) fn reserve(&mut self, instances: u32) -> Result<()> {
        if instances > self.lists.capacity {
            let capacity = instances.next_power_of_two();
            self.lists = Lists::new(&self.device, capacity)?;
        }
        Ok(())
    }

    pub(super) fn record(&self, encoder: &mut CommandEncoder, frames: &Buffer, place: usize, scene: &Scene) {
        let compute = (
            PipelineStageFlags2::COMPUTE_SHADER,
            AccessFlags2::SHADER_STORAGE_READ | AccessFlags2::SHADER_STORAGE_WRITE,
        );
        let clear = (PipelineStageFlags2::ALL_TRANSFER, AccessFlags2::TRANSFER_WRITE);
        encoder.fill_buffer(&self.counters, 0, COUNTER_BYTES, 0);
        encoder.memory_barrier(clear, compute);
        let groups = scene.gpu().instances().len().div_ceil(GROUP).max(1);
        let push = CullPush { frame_index: place as u32, groups };
        let bindings = PassBindings {
            buffers: &[
                (0, frames),
                (1, scene.gpu().primitives().buffer().buffer()),
                (2, scene.gpu().instances().buffer().buffer()),
                (5, &self.lists.work),
                (6, &self.lists.commands),
                (7, &self.counters),
            ],
            ..Default::default()
        };
        encoder.dispatch(&self.test, &bindings, &push, [groups, 1, 1]);
        encoder.memory_barrier(compute, compute);
        encoder.dispatch(&self.scan, &bindings, &push, [1, 1, 1]);
        encoder.memory_barrier(compute, compute);
        encoder.dispatch(&self.emit, &bindings, &push, [groups, 1, 1]);
        let readers = (
            PipelineStageFlags2::DRAW_INDIRECT | PipelineStageFlags2::ALL_TRANSFER,
            AccessFlags2::INDIRECT_COMMAND_READ | AccessFlags2::TRANSFER_READ,
        );
        encoder.memory_barrier(compute, readers);
        let copy = BufferCopy { source: 0, destination: 0, bytes: COUNTER_BYTES };
        encoder.copy_buffer(&self.counters, &self.readback[place], &[copy]);
        let host = (PipelineStageFlags2::HOST, AccessFlags2::HOST_READ);
        encoder.memory_barrier(clear, host);
    }

    pub(super) fn draw(&self, encoder: &mut CommandEncoder) {
        let most = self.lists.capacity.min(self.device.capabilities().limits.max_draw_indirect_count);
        encoder.draw_indexed_indirect_count(&self.lists.commands, &self.counters, 0, most);
    }

    /// The draws and, in its first word, their number: for looking at.
    pub(super) fn draw_list(&self) -> (&Buffer, &Buffer) {
        (&self.lists.commands, &self.counters)
    }

    /// What a frame drew, once it is done.
    pub(super) fn read(&self, place: usize) -> Culled {
        let words: &[u32] = match self.readback[place].mapped() {
            Some(bytes) => bytemuck::cast_slice(bytes),
            None => &[],
        };
        match words {
            [instances, triangles, ..] => Culled { instances: *instances, triangles: *triangles },
            _ => Culled::default(),
        }
    }
}
