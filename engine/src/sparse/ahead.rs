//! The worker that commits ahead of need: it allocates and binds while frames go on, on the sparse queue.
//!
//! ```text
//! frame thread: commit(bytes) within what is bound --asks-->
//! end of the frame: wakes the worker              --job---> worker: plan from the state, chunks, one bind call,
//!                                                           then the state moves and the frame may use it
//! ```
//!
//! While it is at a buffer (`in_flight`) nobody else moves that buffer's watermark; whoever wants to waits for it.
//! Locks are taken in the order inner, then state, and none is held while the driver allocates or binds.

use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::batch::{BatchOptions, Batcher};
use super::chunk::Chunk;
use super::growable::{Backing, Ready, requests};
use super::lower::{self, Names};
use super::memory::Core;
use super::resource::{Resource, Target, Work};
use super::trace::Source;
use super::watermark::{Plan, PlanError};
use crate::vk::{self, Buffer, Point, Timeline};

/// Frames that a buffer waits before the worker tries again where there was no memory.
const BACK_OFF: u64 = 60;

/// A buffer that wants to be committed ahead.
#[derive(Debug)]
pub(super) struct Job {
    id: u64,
    backing: Weak<Backing>,
    buffer: Weak<Buffer>,
    memory_type: u32,
}

impl Job {
    pub(super) fn new(id: u64, backing: &Arc<Backing>, buffer: &Arc<Buffer>, memory_type: u32) -> Self {
        Self { id, backing: Arc::downgrade(backing), buffer: Arc::downgrade(buffer), memory_type }
    }
}

/// Jobs that the worker was not given yet: the end of a frame hands them over. Where frames are not ended, the second
/// flush after they were asked for does.
#[derive(Debug, Default)]
pub(super) struct Jobs {
    /// Asked for since the last flush.
    fresh: Vec<Job>,
    waiting: Vec<Job>,
}

impl Jobs {
    pub(super) fn ask(&mut self, job: Job) {
        self.fresh.push(job);
    }

    /// A flush begins: what to hand over when it is done.
    pub(super) fn flushed(&mut self) -> Vec<Job> {
        let fresh = std::mem::take(&mut self.fresh);
        std::mem::replace(&mut self.waiting, fresh)
    }

    /// A frame has ended: all of them.
    pub(super) fn ended(&mut self) -> Vec<Job> {
        let mut jobs = std::mem::take(&mut self.waiting);
        jobs.append(&mut self.fresh);
        jobs
    }
}

/// The thread, started when it is first asked for something.
#[derive(Debug)]
pub(super) struct Worker {
    core: Weak<Core>,
    running: Mutex<Option<Running>>,
}

#[derive(Debug)]
enum Message {
    Job(Job),
    /// To be answered when everything before is done.
    Fence(SyncSender<()>),
}

#[derive(Debug)]
struct Running {
    messages: Sender<Message>,
    thread: JoinHandle<()>,
}

impl Worker {
    pub(super) fn new(core: &Arc<Core>) -> Self {
        Self { core: Arc::downgrade(core), running: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Running>> {
        // Set once, as a whole.
        self.running.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Hands jobs to the thread.
    pub(super) fn send(&self, jobs: Vec<Job>) {
        if jobs.is_empty() {
            return;
        }
        let mut running = self.lock();
        if running.is_none() {
            *running = self.start();
        }
        if let Some(running) = running.as_ref() {
            // A worker that has ended (device lost) commits nothing ahead; frames wait for their own binds then.
            jobs.into_iter().for_each(|job| drop(running.messages.send(Message::Job(job))));
        }
    }

    /// Waits until the thread is done with all that it was given.
    pub(super) fn wait(&self) {
        let (done, answer) = sync_channel(1);
        let is_sent = self.lock().as_ref().is_some_and(|running| {
            // Not to a thread that has ended.
            running.messages.send(Message::Fence(done)).is_ok()
        });
        if is_sent {
            // No answer comes of a thread that ends meanwhile: it is done, too.
            let _ = answer.recv();
        }
    }

    fn start(&self) -> Option<Running> {
        let core = self.core.upgrade()?;
        let (messages, received) = channel();
        let spawned =
            std::thread::Builder::new().name("vasa commit ahead".into()).spawn(move || run(&core, &received));
        match spawned {
            Ok(thread) => Some(Running { messages, thread }),
            Err(error) => {
                log::warn!("no thread to commit ahead of need ({error}): frames wait for their own binds");
                None
            }
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let Some(Running { messages, thread }) = self.lock().take() else { return };
        drop(messages);
        if thread.join().is_err() {
            log::error!("the thread that commits ahead of need panicked");
        }
    }
}

/// Frames between an allocation and its bind: drivers let both be felt by the frames beside them, so no frame should meet
/// both.
const REST_FRAMES: u64 = 2;
/// The longest rest, where frames are long or have ended.
const LONGEST_REST: Duration = Duration::from_millis(8);
/// How often it is looked whether the rest is over.
const GLANCE: Duration = Duration::from_micros(200);

/// Waits some frames, but not while somebody waits for what is carried.
fn rest(core: &Core, since: u64, carried: &[Carried]) {
    let started = Instant::now();
    let is_over = || {
        core.frame() >= since + REST_FRAMES
            || started.elapsed() >= LONGEST_REST
            || carried.iter().any(|c| c.backing.state().ahead.is_awaited)
    };
    while !is_over() {
        std::thread::sleep(GLANCE);
    }
}

fn run(core: &Core, received: &Receiver<Message>) {
    while let Ok(first) = received.recv() {
        // What was asked for meanwhile goes into the same call.
        let (mut jobs, mut fences) = (Vec::new(), Vec::new());
        for message in std::iter::once(first).chain(received.try_iter()) {
            match message {
                Message::Job(job) => jobs.push(job),
                Message::Fence(done) => fences.push(done),
            }
        }
        serve(core, jobs);
        for done in fences {
            // Nobody waits any more: that is as well.
            let _ = done.send(());
        }
        if core.device.is_lost() {
            return;
        }
    }
}

fn serve(core: &Core, jobs: Vec<Job>) {
    let mut carried: Vec<Carried> = jobs.into_iter().filter_map(|job| pick_up(core, job)).collect();
    let before = core.frame();
    let mut allocated = 0;
    carried.retain_mut(|c| match c.allocate(core) {
        Ok(new) => {
            allocated += new;
            true
        }
        Err(error) => {
            log::debug!("{}: nothing committed ahead: {error}", c.name);
            c.put_back(core);
            false
        }
    });
    if allocated > 0 {
        rest(core, before, &carried);
    }
    if let Err(error) = bind(core, &carried) {
        log::debug!("nothing committed ahead: {error}");
        carried.iter_mut().for_each(|c| c.put_back(core));
    }
}

/// A growth that the worker is at.
struct Carried {
    // Dropped first: should the worker be the last to hold it, it goes before the chunks it lies in.
    buffer: Arc<Buffer>,
    backing: Arc<Backing>,
    id: u64,
    name: String,
    memory_type: u32,
    plan: Plan,
    tile: u64,
    /// Those of the buffer, then the new ones as far as there are any.
    chunks: Vec<Arc<Chunk>>,
    known: usize,
}

/// Plans from the state, and keeps others from moving the watermark.
fn pick_up(core: &Core, job: Job) -> Option<Carried> {
    let (backing, buffer) = (job.backing.upgrade()?, job.buffer.upgrade()?);
    let mut inner = core.lock();
    // A commit that waits for the flush moves the line itself; the job is handed over again.
    if inner.has_work(job.id) {
        inner.jobs.ask(job);
        return None;
    }
    let mut state = backing.state();
    if state.ahead.in_flight {
        // Carried already by this very call, and asked for once more since: that request is on its way.
        return None;
    }
    let wanted = std::mem::take(&mut state.ahead.wanted_tiles);
    if wanted <= state.watermark.committed_tiles() {
        return None;
    }
    let tile = state.watermark.layout().tile_bytes();
    let plan = state.watermark.plan_commit(state.watermark.layout().bytes(wanted)).ok()?;
    state.ahead.in_flight = true;
    let (name, chunks) = (state.name.clone(), state.chunks.clone());
    drop(state);
    let known = chunks.len();
    let (id, memory_type) = (job.id, job.memory_type);
    Some(Carried { id, name, backing, buffer, memory_type, plan, tile, chunks, known })
}

impl Carried {
    /// Takes the chunks of the plan; returns how many had to be allocated.
    fn allocate(&mut self, core: &Core) -> vk::Result<usize> {
        let mut allocated = 0;
        for new in &self.plan.new_chunks {
            let bytes = new.tiles * self.tile;
            let ready = core.lock().cache.take(bytes, self.memory_type);
            let chunk = match ready {
                Some(ready) => ready,
                // No lock is held: this takes as long as the driver likes.
                None => {
                    allocated += 1;
                    Arc::new(Chunk::new(&core.device, &core.checker, &self.name, bytes, self.memory_type)?)
                }
            };
            self.chunks.push(chunk);
        }
        Ok(allocated)
    }

    /// Nothing was bound: the chunks go back, and the buffer does not ask again at once.
    fn put_back(&mut self, core: &Core) {
        let mut inner = core.lock();
        self.chunks.drain(self.known..).for_each(|chunk| inner.cache.give(chunk));
        let mut state = self.backing.state();
        (state.ahead.in_flight, state.ahead.is_awaited) = (false, false);
        state.ahead.not_before = core.frame() + BACK_OFF;
        drop(state);
        self.backing.settle();
    }

    fn work(&self) -> Work {
        let resource: Arc<dyn Resource> = self.backing.clone();
        let mut work = Work::new(self.id, Arc::downgrade(&resource), Target::Buffer(self.buffer.clone()));
        work.requests = requests(self.id, &self.plan, self.tile, &self.chunks);
        work.chunks = self.chunks.clone();
        work
    }

    /// It is bound: the watermark moves.
    fn put_down(&self, core: &Core, point: Point) -> Result<(), PlanError> {
        let mut state = self.backing.state();
        let applied = state.watermark.apply(&self.plan);
        if applied.is_ok() {
            state.chunks = self.chunks.clone();
            let ahead = &mut state.ahead;
            ahead.ready.push_back(Ready { from_tiles: self.plan.from_tiles, point });
            ahead.binds += self.plan.binds.len() as u64;
            ahead.took_frames = Some(core.frame().saturating_sub(ahead.asked_in) + 1);
        }
        (state.ahead.in_flight, state.ahead.is_awaited) = (false, false);
        drop(state);
        self.backing.settle();
        applied
    }
}

fn bind(core: &Core, carried: &[Carried]) -> vk::Result<()> {
    if carried.is_empty() {
        return Ok(());
    }
    profiling::scope!("CommitReservedResource");
    let mut names = Names::default();
    let mut batcher = Batcher::default();
    for c in carried {
        let work = c.work();
        names.add(&work);
        for request in work.requests {
            batcher.push(request).map_err(|error| vk::Error::Other(error.to_string()))?;
        }
    }
    let plan = batcher.finish(BatchOptions { merge: core.merges() });
    let device = &core.device;
    let users = Timeline::USERS.map(|timeline| device.submitted(timeline));
    let waits: &[Point] = if device.graphics_binds() { &[] } else { &users };
    let started = Instant::now();
    let done = lower::execute(device, &names, &plan, waits, &[], core.knobs.bind_on_graphics)?;
    let mut inner = core.lock();
    core.note(&mut inner, &names, &plan, done, started, Source::Ahead);
    for c in carried {
        let put_down = done.last().map_or(Ok(()), |point| c.put_down(core, point));
        if let Err(error) = put_down {
            log::error!("{}: {error}", c.name);
        }
    }
    inner.update_totals();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(id: u64) -> Job {
        Job { id, backing: Weak::new(), buffer: Weak::new(), memory_type: 0 }
    }

    fn ids(jobs: Vec<Job>) -> Vec<u64> {
        jobs.into_iter().map(|job| job.id).collect()
    }

    #[test]
    fn the_end_of_a_frame_hands_jobs_over_and_so_does_the_second_flush() {
        let mut jobs = Jobs::default();
        jobs.ask(job(1));
        assert_eq!(ids(jobs.flushed()), [0; 0], "the frame that asked is not over");
        jobs.ask(job(2));
        assert_eq!(ids(jobs.ended()), [1, 2]);
        assert_eq!(ids(jobs.ended()), [0; 0], "once");
        jobs.ask(job(3));
        jobs.flushed();
        jobs.ask(job(4));
        assert_eq!(ids(jobs.flushed()), [3], "frames are not ended here");
        assert_eq!(ids(jobs.flushed()), [4]);
    }
}
