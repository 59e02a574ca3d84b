//! Breadcrumbs: what every queue was at, readable after the device is lost.
//!
//! A pass leaves two marks in a small host-visible buffer, by plain fills that need no extension:
//!
//! ```text
//! begin_pass(name) -> fill started  = word                      as soon as the queue reads it
//! end_pass()       -> barrier, fill finished = word             when all that was recorded before it is done
//! device lost      -> read_breadcrumbs() -> LossReport          the last word of each kind, a pair a timeline
//! ```
//!
//! A word holds a number that rises with every pass recorded for that timeline, and the place of the pass's name in a
//! table. So a pass that was started and not finished is told from one that drew in the frame before.
//!
//! The memory is host-coherent and the fills are transfer work, which no other stage waits for: only the mark at the
//! end waits for the pass. Its barrier orders later transfers after the pass too, which hides missing barriers between
//! the two from synchronisation validation; [`DeviceOptions::no_breadcrumbs`](super::DeviceOptions) leaves all of it
//! out, and a part of the tests runs so.
//!
//! The idea is that of the breadcrumbs of other engines (Granite, the buffer markers of AMD's drivers).

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard};

use ash::vk;
use serde::Serialize;

use super::command::CommandEncoder;
use super::device::Device;
use super::error::{Error, Result};
use super::memory::{Location, StaticRange};
use super::timeline::Timeline;

/// Bits of a word that name the pass; the rest counts.
const NAME_BITS: u32 = 12;
/// Names told apart; those past it are shown as [`OTHERS`].
const MOST_NAMES: usize = (1 << NAME_BITS) - 1;
const OTHERS: &str = "(a pass of many names)";
/// Bytes of one timeline: the words `started` and `finished`.
const STRIDE: u64 = 8;
const BYTES: u64 = STRIDE * Timeline::ALL.len() as u64;

/// One pass of one queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PassMark {
    /// Its name.
    pub pass: String,
    /// The how many-th pass it was that was recorded for this queue, modulo 2^20.
    pub number: u32,
}

/// The last pass that a queue began and the last that it finished.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct QueuePasses {
    /// The queue, by its timeline.
    pub queue: Timeline,
    /// The last pass begun; `None` before the first.
    pub started: Option<PassMark>,
    /// The last pass finished; `None` before the first.
    pub finished: Option<PassMark>,
}

/// The buffer, and the names that its words stand for.
pub(super) struct Breadcrumbs {
    buffer: vk::Buffer,
    memory: Option<StaticRange>,
    names: Mutex<Vec<Box<str>>>,
    passes: [AtomicU32; Timeline::ALL.len()],
}

impl Breadcrumbs {
    pub(super) fn new(device: &Device) -> Result<Self> {
        let usage = vk::BufferUsageFlags::TRANSFER_DST;
        let mut info = vk::BufferCreateInfo::default().size(BYTES).usage(usage);
        let families = device.queue_plan().user_families();
        if families.len() > 1 {
            info = info.sharing_mode(vk::SharingMode::CONCURRENT).queue_family_indices(&families);
        }
        // SAFETY: `families` outlives the call; the size is neither zero nor over any limit.
        let buffer = unsafe { device.raw.create_buffer(&info, None) }
            .map_err(|r| device.noticed(Error::of("vkCreateBuffer")(r)))?;
        // SAFETY: the buffer was just made.
        let needs = unsafe { device.raw.get_buffer_memory_requirements(buffer) };
        let bound =
            device.allocate_static("Breadcrumbs", needs, Location::Readback, true).and_then(|range| {
                let memory = &range.allocation;
                // SAFETY: the range was made for exactly this buffer's requirements, which is not bound yet.
                match unsafe { device.raw.bind_buffer_memory(buffer, memory.memory(), memory.offset()) } {
                    Ok(()) => Ok(range),
                    Err(result) => {
                        device.free_static(range);
                        Err(device.noticed(Error::of("vkBindBufferMemory")(result)))
                    }
                }
            });
        match bound {
            Ok(mut memory) => {
                if let Some(bytes) = memory.allocation.mapped_slice_mut() {
                    bytes.iter_mut().for_each(|byte| *byte = 0);
                }
                device.set_name(buffer, "Breadcrumbs");
                let (names, passes) = Default::default();
                Ok(Self { buffer, memory: Some(memory), names, passes })
            }
            Err(error) => {
                // SAFETY: just made and never used.
                unsafe { device.raw.destroy_buffer(buffer, None) };
                Err(error)
            }
        }
    }

    fn names(&self) -> MutexGuard<'_, Vec<Box<str>>> {
        // Names are only added, each whole.
        self.names.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The word of the next pass of a timeline.
    fn next(&self, timeline: Timeline, name: &str) -> u32 {
        let mut names = self.names();
        let place = match names.iter().position(|known| **known == *name) {
            Some(place) => place,
            None if names.len() < MOST_NAMES - 1 => {
                names.push(name.into());
                names.len() - 1
            }
            None => MOST_NAMES - 1,
        };
        drop(names);
        let number = self.passes[timeline as usize].fetch_add(1, Ordering::Relaxed) + 1;
        // Places count from 1, so that no word of a pass is the zero that stands for none.
        number << NAME_BITS | (place as u32 + 1)
    }

    fn mark(&self, word: u32) -> Option<PassMark> {
        let place = (word & ((1 << NAME_BITS) - 1)).checked_sub(1)?;
        let pass = self.names().get(place as usize).map_or(OTHERS.to_owned(), |name| name.to_string());
        Some(PassMark { pass, number: word >> NAME_BITS })
    }

    fn word(&self, at: u64) -> u32 {
        let mapped = self.memory.as_ref().and_then(|range| range.allocation.mapped_ptr());
        // SAFETY: the buffer of `BYTES` is mapped from here on, aligned for words (buffers with memory of their own
        // are), and `at` is the offset of a word in it; volatile, since the GPU may write it at the same time.
        mapped
            .map_or(0, |p| unsafe { p.as_ptr().cast::<u8>().add(at as usize).cast::<u32>().read_volatile() })
    }

    /// What each queue that ran a pass was at.
    pub(super) fn read(&self) -> Vec<QueuePasses> {
        let all = Timeline::ALL.map(|queue| {
            let at = STRIDE * queue as u64;
            QueuePasses { queue, started: self.mark(self.word(at)), finished: self.mark(self.word(at + 4)) }
        });
        all.into_iter().filter(|queue| queue.started.is_some() || queue.finished.is_some()).collect()
    }

    /// Called when the device is idle and about to be destroyed.
    pub(super) fn destroy(mut self, device: &Device) {
        // SAFETY: the device is idle.
        unsafe { device.raw.destroy_buffer(self.buffer, None) };
        if let Some(memory) = self.memory.take() {
            device.free_static(memory);
        }
    }
}

impl Device {
    /// The last pass that each queue began and finished so far. Queues that ran none are left out.
    pub fn breadcrumbs(&self) -> Vec<QueuePasses> {
        self.breadcrumbs.get().map(Breadcrumbs::read).unwrap_or_default()
    }
}

impl CommandEncoder {
    /// Begins a pass: a labelled region that captures show, and a breadcrumb. Outside of rendering; passes do not nest.
    pub fn begin_pass(&mut self, name: &str) {
        self.is_pass_labelled = self.group != Some(name);
        match self.about.take() {
            _ if !self.is_pass_labelled => {}
            Some(about) => self.begin_label(&format!("{name} ({about})")),
            None => self.begin_label(name),
        }
        let device = self.token.device.clone();
        let Some(crumbs) = device.breadcrumbs.get() else { return };
        self.pass = crumbs.next(self.token.timeline, name);
        self.leave(crumbs, 0, vk::PipelineStageFlags2::ALL_TRANSFER);
    }

    /// Ends the pass begun last.
    pub fn end_pass(&mut self) {
        let device = self.token.device.clone();
        if let (Some(crumbs), true) = (device.breadcrumbs.get(), self.pass != 0) {
            self.leave(crumbs, 4, vk::PipelineStageFlags2::ALL_COMMANDS);
            self.pass = 0;
        }
        if std::mem::take(&mut self.is_pass_labelled) {
            self.end_label();
        }
    }

    /// Fills a word once `after` is over, and the fill before it too: both write the same place.
    fn leave(&self, crumbs: &Breadcrumbs, word: u64, after: vk::PipelineStageFlags2) {
        let first = STRIDE * self.token.timeline as u64;
        let barriers = [vk::BufferMemoryBarrier2::default()
            .buffer(crumbs.buffer)
            .offset(first)
            .size(STRIDE)
            .src_queue_family_index(vk::QUEUE_FAMILY_IGNORED)
            .dst_queue_family_index(vk::QUEUE_FAMILY_IGNORED)
            .src_stage_mask(after)
            .src_access_mask(vk::AccessFlags2::TRANSFER_WRITE)
            .dst_stage_mask(vk::PipelineStageFlags2::ALL_TRANSFER | vk::PipelineStageFlags2::HOST)
            .dst_access_mask(vk::AccessFlags2::TRANSFER_WRITE | vk::AccessFlags2::HOST_READ)];
        let info = vk::DependencyInfo::default().buffer_memory_barriers(&barriers);
        // SAFETY: recording outside of rendering; the buffer lives as long as the device and the range lies in it; the
        // array is a local.
        unsafe {
            self.device().cmd_pipeline_barrier2(self.raw, &info);
            self.device().cmd_fill_buffer(self.raw, crumbs.buffer, first + word, 4, self.pass);
        }
    }
}
