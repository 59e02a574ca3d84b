//! Feedback on the GPU: the buffer that samplers write, its compaction, and the ring that it is read back through.

use std::sync::{Arc, Mutex, MutexGuard};

use ash::vk::{AccessFlags2, BufferUsageFlags, PipelineStageFlags2};

use super::layout::{BuildHashTableArgs, COMPACTED_HEADER_WORDS, FEEDBACK_HEADER_WORDS, FeedbackLayout};
use super::ring::{Flight, Ring};
use crate::graph::{Access, BufferHandle, Frame, PassContext, PassError, Queue, ShaderStages};
use crate::vk::barriers::StageAccess;
use crate::vk::{
    Buffer, BufferCopy, ComputePipeline, Device, Location, PassBindings, Point, Result, Timeline, shader,
};

/// Readback buffers, if no more frames are in flight.
const RING_PLACES: usize = 4;
/// Pairs that each of them holds: the most that a layout has, so that a resize leaves the ring alone.
const MOST_PAIRS: u32 = 16384;
/// The word of a slot that nobody has.
const NONE: u32 = crate::vt::feedback::NONE;

/// The feedback buffer in a frame. Passes that sample virtual textures write it:
/// `.write(&mut handles.buffer, Access::StorageReadWrite(ShaderStages::FRAGMENT))`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeedbackHandles {
    /// `VirtualTexture_FeedbackBuffer`.
    pub buffer: BufferHandle,
}

/// Feedback of one frame that has arrived.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Arrived {
    /// The frame that it was written in, as [`Feedback::submitted`] was told.
    pub frame: u64,
    /// Words and how often each was written; a word comes once. In the order of words where a frame was asked for by
    /// number, otherwise in no order.
    pub pairs: Vec<(u32, u32)>,
    /// Entries that found the feedback buffer full.
    pub overflow: u32,
    /// Entries that no pair counts, because the hash table or the list was full. Those of one word are counted all or
    /// dropped all.
    pub table_full: u32,
    /// Entries that were asked for, the overflow among them.
    pub raw: u32,
}

impl Arrived {
    /// As the planner takes it.
    pub fn feedback(&self) -> crate::vt::feedback::Feedback<'_> {
        let Self { frame, pairs, overflow, table_full, .. } = self;
        crate::vt::feedback::Feedback { frame: *frame, pairs, overflow: *overflow, dropped: *table_full }
    }
}

/// What became of feedback since it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct FeedbackStats {
    /// Frames whose feedback was taken.
    pub taken: u64,
    /// Frames whose feedback was overwritten before it was taken: the ring was full.
    pub lost_feedback: u64,
    /// Frames whose feedback nobody took because that of a newer one had arrived too.
    pub superseded: u64,
    /// Entries of the frames taken that found the feedback buffer full.
    pub overflow: u64,
    /// Entries of the frames taken that no pair counts: hash table or list were full.
    pub table_full: u64,
}

#[derive(Debug)]
struct Buffers {
    feedback: Buffer,
    keys: Buffer,
    indices: Buffer,
    counts: Buffer,
    compacted: Buffer,
    args: Buffer,
}

impl Buffers {
    fn new(device: &Arc<Device>, layout: &FeedbackLayout) -> Result<Self> {
        let usage = BufferUsageFlags::STORAGE_BUFFER
            | BufferUsageFlags::TRANSFER_DST
            | BufferUsageFlags::TRANSFER_SRC;
        let make = |name, bytes, more| Buffer::committed(device, name, bytes, usage | more, Location::Device);
        let none = BufferUsageFlags::empty();
        let args = size_of::<BuildHashTableArgs>() as u64;
        Ok(Self {
            feedback: make("VirtualTexture_FeedbackBuffer", layout.feedback_bytes(), none)?,
            keys: make("VirtualTexture.HashTableKeys", layout.table_bytes(), none)?,
            indices: make("VirtualTexture.HashTableElementIndices", layout.table_bytes(), none)?,
            counts: make("VirtualTexture.HashTableElementCounts", layout.table_bytes(), none)?,
            compacted: make("VirtualTexture.CompactedFeedback", layout.compacted_bytes(), none)?,
            args: make("VirtualTexture.BuildHashTableIndirectArgs", args, BufferUsageFlags::INDIRECT_BUFFER)?,
        })
    }
}

/// The passes of feedback and what they work on.
///
/// ```text
/// resize -> take -> declare_clear -> (passes that sample) -> declare_update -> (submission) submitted | keep_unsubmitted
/// ```
#[derive(Debug)]
pub struct Feedback {
    device: Arc<Device>,
    args: ComputePipeline,
    build: ComputePipeline,
    compact: ComputePipeline,
    layout: FeedbackLayout,
    buffers: Buffers,
    readback: Vec<Buffer>,
    ring: Ring,
    /// Place and timeline value of the copy that was submitted and not yet heard of.
    told: Mutex<Option<(usize, u64)>>,
    arrived: Arrived,
    stats: FeedbackStats,
}

impl Feedback {
    /// Compiles the passes and makes the readback ring. [`resize`](Self::resize) before the first frame.
    ///
    /// # Errors
    /// When the driver refuses a pipeline, or has no memory.
    pub fn new(device: &Arc<Device>, frames_in_flight: usize) -> Result<Self> {
        // With every frame in flight, one place is left for feedback that has arrived.
        let places = RING_PLACES.max(frames_in_flight.saturating_add(1));
        let layout =
            FeedbackLayout::new([1; 2], FeedbackLayout::DEFAULT_FACTOR, FeedbackLayout::DEFAULT_OVERDRAW);
        let most = FeedbackLayout { pairs: MOST_PAIRS, ..layout }.compacted_bytes();
        let readback = |place: usize| {
            let name = format!("VirtualTexture.FeedbackReadback {}/{places}", place + 1);
            Buffer::committed(device, &name, most, BufferUsageFlags::TRANSFER_DST, Location::Readback)
        };
        Ok(Self {
            device: device.clone(),
            args: ComputePipeline::new(device, &shader::VT_FEEDBACK_ARGS, "feedback_args")?,
            build: ComputePipeline::new(device, &shader::VT_FEEDBACK_BUILD, "feedback_build")?,
            compact: ComputePipeline::new(device, &shader::VT_FEEDBACK_COMPACT, "feedback_compact")?,
            layout,
            buffers: Buffers::new(device, &layout)?,
            readback: (0..places).map(readback).collect::<Result<_>>()?,
            ring: Ring::new(places),
            told: Mutex::default(),
            arrived: Arrived::default(),
            stats: FeedbackStats::default(),
        })
    }

    /// Fits the buffers to targets of `extent` pixels; see [`FeedbackLayout::new`]. Feedback in flight still arrives.
    ///
    /// # Errors
    /// When there is no memory: the size stays what it was.
    pub fn resize(&mut self, extent: [u32; 2], factor: u32, overdraw: u32) -> Result<()> {
        let layout = FeedbackLayout::new(extent, factor, overdraw);
        if (layout.capacity, layout.pairs) != (self.layout.capacity, self.layout.pairs) {
            self.buffers = Buffers::new(&self.device, &layout)?;
        }
        self.layout = layout;
        Ok(())
    }

    /// Sizes, as shaders that write feedback have to be told.
    pub fn layout(&self) -> FeedbackLayout {
        self.layout
    }

    /// What became of feedback so far.
    pub fn stats(&self) -> FeedbackStats {
        FeedbackStats { lost_feedback: self.ring.lost, superseded: self.ring.superseded, ..self.stats }
    }

    /// Declares `VirtualTextureClear`, before every pass that writes feedback. Only the four words of the header are
    /// reset: nobody reads entries past the count.
    pub fn declare_clear<'f>(&'f self, frame: &mut Frame<'_, 'f>) -> FeedbackHandles {
        let mut buffer = frame.import_buffer(&self.buffers.feedback, None);
        let clear =
            frame.pass("VirtualTextureClear", Queue::Graphics).write(&mut buffer, Access::CopyDestination);
        clear.record(move |pass| {
            let bytes = 4 * u64::from(FEEDBACK_HEADER_WORDS);
            pass.encoder().fill_buffer(&self.buffers.feedback, 0, bytes, 0);
            Ok(())
        });
        FeedbackHandles { buffer }
    }

    /// Declares `VirtualTextureUpdate`, after every pass that writes feedback; returns the compacted pairs, for whoever
    /// wants to look at them on the GPU.
    pub fn declare_update<'f>(&'f self, frame: &mut Frame<'_, 'f>, handles: FeedbackHandles) -> BufferHandle {
        let place = self.ring.next();
        *self.lock() = None;
        let Buffers { keys, indices, counts, compacted, args, .. } = &self.buffers;
        let mut inner = [keys, indices, counts, args].map(|buffer| frame.import_buffer(buffer, None));
        let mut compacted = frame.import_buffer(compacted, None);
        let mut readback = frame.import_buffer(&self.readback[place], Some(Access::HostRead));
        frame.when_used(readback, move |point| *self.lock() = Some((place, point.value)));
        let access = Access::StorageReadWrite(ShaderStages::COMPUTE);
        let mut update = frame
            .pass("VirtualTextureUpdate", Queue::Graphics)
            .read(handles.buffer, Access::StorageRead(ShaderStages::COMPUTE))
            .write(&mut compacted, access)
            .write(&mut readback, Access::CopyDestination)
            .side_effects();
        for buffer in &mut inner {
            update = update.write(buffer, access);
        }
        update.record(move |pass| self.record(pass, &self.readback[place]));
        compacted
    }

    /// The graph's barriers stand before and after the pass; what its steps do to each other is ordered here.
    fn record(&self, pass: &mut PassContext<'_>, readback: &Buffer) -> Result<(), PassError> {
        const FILL: StageAccess = (PipelineStageFlags2::ALL_TRANSFER, AccessFlags2::TRANSFER_WRITE);
        const COPY: StageAccess = (PipelineStageFlags2::ALL_TRANSFER, AccessFlags2::TRANSFER_READ);
        const COMPUTE: StageAccess = (
            PipelineStageFlags2::COMPUTE_SHADER,
            AccessFlags2::from_raw(
                AccessFlags2::SHADER_STORAGE_READ.as_raw() | AccessFlags2::SHADER_STORAGE_WRITE.as_raw(),
            ),
        );
        // What the frame before left: dispatches, an indirect read and a copy out of the pairs.
        const BEFORE: StageAccess = (
            PipelineStageFlags2::from_raw(
                PipelineStageFlags2::COMPUTE_SHADER.as_raw()
                    | PipelineStageFlags2::DRAW_INDIRECT.as_raw()
                    | PipelineStageFlags2::ALL_TRANSFER.as_raw(),
            ),
            COMPUTE.1,
        );
        const AFTER_ARGS: StageAccess = (
            PipelineStageFlags2::from_raw(
                PipelineStageFlags2::COMPUTE_SHADER.as_raw() | PipelineStageFlags2::DRAW_INDIRECT.as_raw(),
            ),
            AccessFlags2::from_raw(COMPUTE.1.as_raw() | AccessFlags2::INDIRECT_COMMAND_READ.as_raw()),
        );
        let Buffers { feedback, keys, indices, counts, compacted, args } = &self.buffers;
        let push = self.layout.push();
        let bindings = PassBindings {
            buffers: &[(0, feedback), (1, keys), (2, indices), (3, counts), (4, compacted), (5, args)],
            ..Default::default()
        };
        let encoder = pass.encoder();

        encoder.begin_label("VirtualTextureFeedbackTransition");
        let to_fill = (FILL.0 | COMPUTE.0, FILL.1 | COMPUTE.1);
        encoder.memory_barrier(BEFORE, to_fill);
        encoder.fill_buffer(keys, 0, self.layout.table_bytes(), NONE);
        encoder.fill_buffer(counts, 0, self.layout.table_bytes(), 0);
        encoder.end_label();

        encoder.begin_label("Hash table indirect arguments");
        encoder.dispatch(&self.args, &bindings, &push, [1, 1, 1]);
        encoder.end_label();

        encoder.begin_label("Build feedback hash table");
        encoder.memory_barrier((FILL.0 | COMPUTE.0, FILL.1 | COMPUTE.1), AFTER_ARGS);
        encoder.dispatch_indirect(&self.build, &bindings, &push, (args, 0));
        encoder.end_label();

        encoder.begin_label("Compact feedback hash table");
        encoder.memory_barrier(COMPUTE, COMPUTE);
        let groups = self.compact.groups([self.layout.table_slots(), 1, 1]);
        encoder.dispatch(&self.compact, &bindings, &push, groups);
        encoder.end_label();

        encoder.begin_label("VirtualTextureFeedbackCopy");
        encoder.memory_barrier(COMPUTE, COPY);
        let all = BufferCopy { source: 0, destination: 0, bytes: self.layout.compacted_bytes() };
        encoder.copy_buffer(compacted, readback, &[all]);
        encoder.end_label();
        Ok(())
    }

    /// The frame was submitted, in part at least: its feedback is on its way if its copy was, which the graph has told.
    /// Call it directly after the submission. `frame` is the number that the feedback is asked for by. Returns whether
    /// feedback is on its way.
    pub fn submitted(&mut self, frame: u64) -> bool {
        let told = self.lock().take();
        if let Some((place, value)) = told {
            self.ring.submitted(place, Flight { frame, value, pairs: self.layout.pairs });
        }
        told.is_some()
    }

    /// What was recorded is not submitted: nothing comes of it.
    pub fn keep_unsubmitted(&mut self) {
        *self.lock() = None;
    }

    /// Takes feedback that has arrived; older feedback is forgotten.
    ///
    /// With a frame, exactly that frame's, waited for, its pairs sorted: what a run does then depends on no timing.
    /// Nothing where that frame has none: it was not submitted, was taken, or was overwritten. Without, the newest that
    /// is there, and no wait.
    ///
    /// # Errors
    /// When the device is lost.
    pub fn take(&mut self, wanted: Option<u64>) -> Result<Option<&Arrived>> {
        let found = match wanted {
            Some(frame) => self.ring.of_frame(frame),
            None => self.ring.newest(self.device.completed(Timeline::Graphics)?),
        };
        let Some((place, flight)) = found else { return Ok(None) };
        if wanted.is_some() {
            self.device.wait(&[Point { timeline: Timeline::Graphics, value: flight.value }])?;
        }
        let bytes = self.readback.get(place).and_then(Buffer::mapped).unwrap_or_default();
        read(bytes, flight, &mut self.arrived);
        if wanted.is_some() {
            self.arrived.pairs.sort_unstable();
        }
        self.ring.take(flight);
        self.stats.taken += 1;
        self.stats.overflow += u64::from(self.arrived.overflow);
        self.stats.table_full += u64::from(self.arrived.table_full);
        Ok(Some(&self.arrived))
    }

    /// The buffers by name, for tools and tests that read them back.
    pub fn buffers(&self) -> impl Iterator<Item = &Buffer> {
        let Buffers { feedback, keys, indices, counts, compacted, args } = &self.buffers;
        [feedback, keys, indices, counts, compacted, args].into_iter()
    }

    fn lock(&self) -> MutexGuard<'_, Option<(usize, u64)>> {
        // A plain value, replaced as a whole.
        self.told.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// What a readback buffer holds.
fn read(bytes: &[u8], flight: Flight, into: &mut Arrived) {
    let word = |bytes: &[u8]| bytes.try_into().map_or(0, u32::from_ne_bytes);
    let (header, rest) = bytes.split_at_checked(4 * COMPACTED_HEADER_WORDS as usize).unwrap_or_default();
    let mut words = header.chunks_exact(4).map(word);
    let mut next = || words.next().unwrap_or(0);
    let count = next().min(flight.pairs);
    (into.table_full, into.raw, into.overflow) = (next(), next(), next());
    into.frame = flight.frame;
    into.pairs.clear();
    let pairs = rest.chunks_exact(8).take(count as usize).map(|pair| pair.split_at(4));
    into.pairs.extend(pairs.map(|(key, count)| (word(key), word(count))));
}
