//! Queues and their timelines: the one choke point for submitting. Binds are in [`bind`](super::bind).
//!
//! A queue's submissions and a queue's sparse binds signal *different* timelines, even on one
//! `VkQueue`: nothing but semaphores orders them, so a bind could finish before an earlier submission
//! and signal a shared timeline out of order. Binds wait for the bind before them.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use ash::vk;

use super::clocks::Clocks;
use super::device::Device;
use super::error::{Error, Result};
use super::faults::Site;

/// The engine's timelines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[repr(usize)]
pub enum Timeline {
    /// Submissions of the graphics queue.
    Graphics = 0,
    /// Submissions of the transfer queue.
    Transfer = 1,
    /// Sparse binds, whatever queue they go to.
    Bind = 2,
    /// Submissions of the queue for compute beside rendering.
    Compute = 3,
}

impl Timeline {
    /// All of them, in index order.
    pub const ALL: [Timeline; 4] =
        [Timeline::Graphics, Timeline::Transfer, Timeline::Bind, Timeline::Compute];

    /// Those whose submissions use resources: all but binds.
    pub const USERS: [Timeline; 3] = [Timeline::Graphics, Timeline::Transfer, Timeline::Compute];

    fn label(self) -> &'static str {
        match self {
            Timeline::Graphics => "Timeline.Graphics",
            Timeline::Transfer => "Timeline.Transfer",
            Timeline::Bind => "Timeline.Bind",
            Timeline::Compute => "Timeline.Compute",
        }
    }
}

/// A moment on a timeline: reached when everything submitted up to it is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
pub struct Point {
    /// Which timeline.
    pub timeline: Timeline,
    /// Its value.
    pub value: u64,
}

/// One moment on every timeline; `retired` when all are reached.
pub type Points = [u64; Timeline::ALL.len()];

/// A queue handle with the lock that serialises its use on the host.
#[derive(Clone)]
pub(super) struct Queue {
    pub(super) raw: vk::Queue,
    pub(super) family: u32,
    /// Shared by all roles that use the same `VkQueue`.
    lock: Arc<Mutex<()>>,
}

impl Queue {
    pub(super) fn new(raw: vk::Queue, family: u32) -> Self {
        Self { raw, family, lock: Arc::default() }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, ()> {
        // The lock guards no data, so a panic elsewhere leaves nothing half-done behind it.
        self.lock.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

pub(super) struct Semaphore {
    pub(super) raw: vk::Semaphore,
    pub(super) submitted: AtomicU64,
    recordings: Mutex<Recordings>,
}

/// Recordings begun and neither submitted nor dropped, by serial: what they use must outlive them.
#[derive(Default)]
struct Recordings {
    next: u64,
    open: BTreeSet<u64>,
}

impl Semaphore {
    pub(super) fn new(device: &ash::Device) -> Result<Self> {
        let mut kind = vk::SemaphoreTypeCreateInfo::default().semaphore_type(vk::SemaphoreType::TIMELINE);
        let info = vk::SemaphoreCreateInfo::default().push_next(&mut kind);
        // SAFETY: the chain is a local that outlives the call; timelineSemaphore is a required feature.
        let raw = unsafe { device.create_semaphore(&info, None) }.map_err(Error::of("vkCreateSemaphore"))?;
        Ok(Self { raw, submitted: AtomicU64::new(0), recordings: Mutex::default() })
    }
}

/// The binary semaphores of an acquired swapchain image, for one submission beside the timelines.
#[derive(Debug, Clone, Default)]
pub struct PresentSync {
    pub(super) acquired: vk::Semaphore,
    pub(super) rendered: vk::Semaphore,
    /// Graphics value of the submission that used them; 0 = none yet.
    pub(super) submitted: Arc<AtomicU64>,
}

impl PresentSync {
    pub(super) fn new(acquired: vk::Semaphore, rendered: vk::Semaphore, submitted: Arc<AtomicU64>) -> Self {
        Self { acquired, rendered, submitted }
    }

    /// The submission that rendered to the image, once there is one.
    pub fn submitted(&self) -> Option<Point> {
        match self.submitted.load(Ordering::Acquire) {
            0 => None,
            value => Some(Point { timeline: Timeline::Graphics, value }),
        }
    }
}

impl Device {
    /// The last value given out on a timeline.
    pub fn submitted(&self, timeline: Timeline) -> Point {
        Point { timeline, value: self.timelines[timeline as usize].submitted.load(Ordering::Acquire) }
    }

    /// The value a timeline has reached.
    ///
    /// # Errors
    /// When the device is lost.
    pub fn completed(&self, timeline: Timeline) -> Result<u64> {
        self.alive("vkGetSemaphoreCounterValue")?;
        // SAFETY: the semaphore lives as long as the device.
        unsafe { self.raw.get_semaphore_counter_value(self.timelines[timeline as usize].raw) }
            .map_err(|r| self.noticed(Error::of("vkGetSemaphoreCounterValue")(r)))
    }

    /// Whether a moment has been reached.
    ///
    /// # Errors
    /// When the device is lost.
    pub fn reached(&self, point: Point) -> Result<bool> {
        Ok(point.value == 0 || self.completed(point.timeline)? >= point.value)
    }

    /// Waits on the host until the moments are reached.
    ///
    /// # Errors
    /// When the device is lost, or after 30 seconds (a hang).
    pub fn wait(&self, points: &[Point]) -> Result<()> {
        self.alive("vkWaitSemaphores")?;
        let waiting: Vec<_> = points.iter().filter(|p| p.value > 0).collect();
        if waiting.is_empty() {
            return Ok(());
        }
        let semaphores: Vec<_> = waiting.iter().map(|p| self.timelines[p.timeline as usize].raw).collect();
        let values: Vec<_> = waiting.iter().map(|p| p.value).collect();
        let info = vk::SemaphoreWaitInfo::default().semaphores(&semaphores).values(&values);
        // SAFETY: semaphores live as long as the device; both arrays are locals of equal length.
        unsafe { self.raw.wait_semaphores(&info, 30_000_000_000) }
            .map_err(|r| self.noticed(Error::of("vkWaitSemaphores")(r)))
    }

    /// Waits until everything submitted so far is done, and destroys what was retired.
    ///
    /// # Errors
    /// When the device is lost.
    pub fn wait_idle(&self) -> Result<()> {
        let waited = self.wait(&Timeline::ALL.map(|t| self.submitted(t)));
        self.collect().and(waited)
    }

    /// The raw timeline semaphore, for submissions of an application's own.
    pub fn timeline_semaphore(&self, timeline: Timeline) -> vk::Semaphore {
        self.timelines[timeline as usize].raw
    }

    pub(super) fn queue(&self, timeline: Timeline) -> Option<&Queue> {
        match timeline {
            Timeline::Graphics => Some(&self.queues.graphics),
            Timeline::Transfer => Some(&self.queues.transfer),
            Timeline::Bind => self.queues.sparse.as_ref(),
            Timeline::Compute => Some(&self.queues.compute),
        }
    }

    fn recordings(&self, timeline: Timeline) -> MutexGuard<'_, Recordings> {
        // A counter and a set of numbers, each changed in one step.
        self.timelines[timeline as usize].recordings.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Notes a recording that begins; returns its serial.
    pub(super) fn begin_recording(&self, timeline: Timeline) -> u64 {
        let mut recordings = self.recordings(timeline);
        let serial = recordings.next;
        recordings.next += 1;
        recordings.open.insert(serial);
        serial
    }

    /// Notes that a recording was submitted or dropped. After its submission's value is stored.
    pub(super) fn end_recording(&self, timeline: Timeline, serial: u64) {
        self.recordings(timeline).open.remove(&serial);
    }

    /// Serials from which on recordings begin now: those below may use what is retired now.
    pub(super) fn recordings_begun(&self) -> Points {
        Timeline::ALL.map(|t| self.recordings(t).next)
    }

    /// The moment after which nothing submitted so far runs any more, if no recording with a serial below
    /// `begun` is still open.
    pub(super) fn settled(&self, begun: &Points) -> Option<Points> {
        let open =
            |t: &Timeline| self.recordings(*t).open.first().is_some_and(|first| *first < begun[*t as usize]);
        if Timeline::ALL.iter().any(open) {
            return None;
        }
        // Read after the recordings: one leaves the set only after its submission's value is stored.
        Some(Timeline::ALL.map(|t| self.submitted(t).value))
    }

    /// Submits finished command buffers to the graphics or transfer queue, after `waits`.
    ///
    /// # Errors
    /// When the device is lost.
    pub fn submit(
        &self,
        timeline: Timeline,
        commands: Vec<super::command::CommandBuffer>,
        waits: &[Point],
    ) -> Result<Point> {
        self.submit_with_present(timeline, commands, waits, PresentSync::default())
    }

    /// [`Device::submit`] that also waits for an acquired swapchain image and signals its rendering. The
    /// image belongs to the graphics timeline and takes one submission.
    ///
    /// # Errors
    /// When the device is lost, or an acquired image was submitted before or to another timeline.
    pub fn submit_with_present(
        &self,
        timeline: Timeline,
        commands: Vec<super::command::CommandBuffer>,
        waits: &[Point],
        present: PresentSync,
    ) -> Result<Point> {
        let presents = present.acquired != vk::Semaphore::null();
        if presents && (timeline != Timeline::Graphics || present.submitted().is_some()) {
            return Err(Error::Other(
                "an acquired swapchain image takes one submission, on the graphics timeline".into(),
            ));
        }
        let raw: Vec<_> = commands.iter().map(super::command::CommandBuffer::raw).collect();
        let mut extra_waits = Vec::new();
        if presents {
            extra_waits.push(vk::SemaphoreSubmitInfo::default().semaphore(present.acquired).stage_mask(
                vk::PipelineStageFlags2::COLOR_ATTACHMENT_OUTPUT | vk::PipelineStageFlags2::ALL_TRANSFER,
            ));
        }
        let mut extra_signals = Vec::new();
        if present.rendered != vk::Semaphore::null() {
            extra_signals.push(
                vk::SemaphoreSubmitInfo::default()
                    .semaphore(present.rendered)
                    .stage_mask(vk::PipelineStageFlags2::ALL_COMMANDS),
            );
        }
        // SAFETY: command buffers are finished, belong to this device and are submitted once (by value); what they
        // use is kept alive by the retire queue until the moment is reached; the swapchain owns its semaphores.
        let point = unsafe { self.submit_raw(timeline, &raw, waits, &extra_waits, &extra_signals) }?;
        present.submitted.store(point.value, Ordering::Release);
        for command in &commands {
            command.submitted(point);
        }
        Ok(point)
    }

    /// Submits an application's own command buffers to the graphics or transfer queue: after `waits`, and with
    /// semaphores of the application's own beside the engine's. From then on the engine knows that whatever these
    /// commands use is in use until the moment returned: shrinking waits for it, and so does destruction.
    ///
    /// # Errors
    /// When the device is lost.
    ///
    /// # Safety
    /// The command buffers are executable, were allocated for the queue's family, and stay so until the moment
    /// returned is reached; resources of the engine that they use are not dropped before this call. The semaphores
    /// belong to this device and obey Vulkan's rules for them.
    pub unsafe fn submit_raw(
        &self,
        timeline: Timeline,
        commands: &[vk::CommandBuffer],
        waits: &[Point],
        extra_waits: &[vk::SemaphoreSubmitInfo<'_>],
        extra_signals: &[vk::SemaphoreSubmitInfo<'_>],
    ) -> Result<Point> {
        let queue = self
            .queue(timeline)
            .filter(|_| timeline != Timeline::Bind)
            .ok_or(Error::Vulkan { call: "vkQueueSubmit2", result: vk::Result::ERROR_FEATURE_NOT_PRESENT })?;
        self.alive("vkQueueSubmit2")?;
        self.faults.call(Site::Submit).map_err(Error::of("vkQueueSubmit2"))?;
        self.lose_on_purpose(Site::Lose, "vkQueueSubmit2")?;
        let infos: Vec<_> =
            commands.iter().map(|c| vk::CommandBufferSubmitInfo::default().command_buffer(*c)).collect();
        let own = waits.iter().filter(|p| p.value > 0).map(|p| self.semaphore_info(*p));
        let wait_infos: Vec<_> = own.chain(extra_waits.iter().copied()).collect();
        let _host = queue.lock();
        let state = &self.timelines[timeline as usize];
        let point = Point { timeline, value: state.submitted.load(Ordering::Acquire) + 1 };
        let signals: Vec<_> =
            [self.semaphore_info(point)].into_iter().chain(extra_signals.iter().copied()).collect();
        let submit = vk::SubmitInfo2::default()
            .command_buffer_infos(&infos)
            .wait_semaphore_infos(&wait_infos)
            .signal_semaphore_infos(&signals);
        // SAFETY: the caller's promise about commands and semaphores; arrays are locals that outlive the call; the
        // queue lock is held.
        unsafe { self.raw.queue_submit2(queue.raw, &[submit], vk::Fence::null()) }
            .map_err(|r| self.noticed(Error::of("vkQueueSubmit2")(r)))?;
        self.clocks().note(point, waits);
        state.submitted.store(point.value, Ordering::Release);
        Ok(point)
    }

    /// Whether a moment is over before anything of a later one starts: it was reached, or semaphores order the two.
    pub fn is_ordered(&self, earlier: Point, later: Point) -> bool {
        self.clocks().is_before(earlier, later) || self.reached(earlier).unwrap_or(false)
    }

    pub(super) fn clocks(&self) -> MutexGuard<'_, Clocks> {
        // Each note is one insertion of finished values.
        self.clocks.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn semaphore_info(&self, point: Point) -> vk::SemaphoreSubmitInfo<'static> {
        vk::SemaphoreSubmitInfo::default()
            .semaphore(self.timelines[point.timeline as usize].raw)
            .value(point.value)
            .stage_mask(vk::PipelineStageFlags2::ALL_COMMANDS)
    }

    pub(super) fn make_timelines(raw: &ash::Device) -> Result<[Semaphore; Timeline::ALL.len()]> {
        let mut made = Vec::with_capacity(Timeline::ALL.len());
        for _ in Timeline::ALL {
            match Semaphore::new(raw) {
                Ok(semaphore) => made.push(semaphore),
                Err(error) => {
                    for semaphore in made {
                        // SAFETY: just made and never used.
                        unsafe { raw.destroy_semaphore(semaphore.raw, None) };
                    }
                    return Err(error);
                }
            }
        }
        made.try_into().map_err(|_| Error::Other("timelines".into()))
    }

    pub(super) fn name_timelines(&self) {
        for timeline in Timeline::ALL {
            self.set_name(self.timelines[timeline as usize].raw, timeline.label());
        }
    }
}
