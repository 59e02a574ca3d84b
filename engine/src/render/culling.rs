//! Frustum culling in compute, with a stable order of draws.

use std::sync::Arc;

use ash::vk::{BufferUsageFlags, DrawIndexedIndirectCommand};

use crate::graph::{Access, BufferHandle, BufferInfo, Frame, PassContext, PassError, Queue, ShaderStages};
use crate::scene::{Scene, SceneBuffers};
use crate::vk::layout::gpu_struct;
use crate::vk::{self};
use crate::vk::{
    Buffer, BufferCopy, CommandEncoder, ComputePipeline, Device, Location, PassBindings, shader,
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
}

/// What culling leaves to be drawn.
#[derive(Debug, Clone, Copy)]
pub(super) struct DrawList {
    /// `VkDrawIndexedIndirectCommand`s.
    pub(super) commands: BufferHandle,
    /// In its first word, how many.
    pub(super) counters: BufferHandle,
}

impl Lists {
    fn new(device: &Arc<Device>, capacity: u32) -> vk::Result<Self> {
        let command = size_of::<DrawIndexedIndirectCommand>() as u64;
        let usage = BufferUsageFlags::STORAGE_BUFFER;
        let commands = Buffer::committed(
            device,
            "Culling.Commands",
            u64::from(capacity) * command,
            usage | BufferUsageFlags::INDIRECT_BUFFER | BufferUsageFlags::TRANSFER_SRC,
            Location::Device,
        )?;
        Ok(Self { capacity, commands })
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
    pub(super) fn new(device: &Arc<Device>, frames_in_flight: usize) -> vk::Result<Self> {
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
            readback: readback.collect::<vk::Result<_>>()?,
            device: device.clone(),
        })
    }

    /// Makes room for that many instances.
    pub(super) fn reserve(&mut self, instances: u32) -> vk::Result<()> {
        if instances > self.lists.capacity {
            let capacity = instances.next_power_of_two();
            self.lists = Lists::new(&self.device, capacity)?;
        }
        Ok(())
    }

    /// Declares the passes; returns the draws and their number.
    pub(super) fn declare<'f>(
        &'f self,
        frame: &mut Frame<'_, 'f>,
        scene: (&'f Scene, &SceneBuffers),
        frames: &'f Buffer,
    ) -> DrawList {
        let place = frame.place();
        let (scene, buffers) = scene;
        let mut list = DrawList {
            commands: frame.import_buffer(&self.lists.commands, None),
            counters: frame.import_buffer(&self.counters, None),
        };
        let capacity = u64::from(self.lists.capacity);
        let mut work =
            frame.buffer("Culling.Work", BufferInfo::new((capacity + capacity / u64::from(GROUP)) * 4));
        let (reads, writes) =
            (Access::StorageRead(ShaderStages::COMPUTE), Access::StorageReadWrite(ShaderStages::COMPUTE));
        frame
            .pass("Culling.Clear", Queue::Graphics)
            .write(&mut list.counters, Access::CopyDestination)
            .record(move |pass| {
                pass.encoder().fill_buffer(&self.counters, 0, COUNTER_BYTES, 0);
                Ok(())
            });
        let groups = scene.gpu().instances().len().div_ceil(GROUP).max(1);
        let push = CullPush { frame_index: place as u32, groups };
        let step = |pipeline: &'f ComputePipeline, groups: u32, work: BufferHandle| {
            move |pass: &mut PassContext<'_>| -> Result<(), PassError> {
                let (encoder, resources) = pass.split();
                let bindings = PassBindings {
                    buffers: &[
                        (0, frames),
                        (1, scene.gpu().primitives().buffer().buffer()),
                        (2, scene.gpu().instances().buffer().buffer()),
                        (5, resources.buffer(work)?),
                        (6, &self.lists.commands),
                        (7, &self.counters),
                    ],
                    ..Default::default()
                };
                encoder.dispatch(pipeline, &bindings, &push, [groups, 1, 1]);
                Ok(())
            }
        };
        let scene_buffers = [buffers.primitives, buffers.instances];
        // What a pass binds it declares, used by its entry point or not.
        let test = frame
            .pass("Culling.Test", Queue::Graphics)
            .read_all(scene_buffers, reads)
            .write(&mut work, Access::StorageWrite(ShaderStages::COMPUTE))
            .write(&mut list.commands, writes)
            .write(&mut list.counters, writes);
        test.record(step(&self.test, groups, work));
        let scan = frame
            .pass("Culling.Scan", Queue::Graphics)
            .read_all(scene_buffers, reads)
            .write(&mut work, writes)
            .write(&mut list.commands, writes)
            .write(&mut list.counters, writes);
        scan.record(step(&self.scan, 1, work));
        let emit = frame
            .pass("Culling.Emit", Queue::Graphics)
            .read_all(scene_buffers, reads)
            .write(&mut work, writes)
            .write(&mut list.commands, writes)
            .write(&mut list.counters, writes);
        emit.record(step(&self.emit, groups, work));
        let mut readback = frame.import_buffer(&self.readback[place], Some(Access::HostRead));
        frame
            .pass("Culling.Readback", Queue::Graphics)
            .read(list.counters, Access::CopySource)
            .write(&mut readback, Access::CopyDestination)
            .side_effects()
            .record(move |pass| {
                let copy = BufferCopy { source: 0, destination: 0, bytes: COUNTER_BYTES };
                pass.encoder().copy_buffer(&self.counters, &self.readback[place], &[copy]);
                Ok(())
            });
        list
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
