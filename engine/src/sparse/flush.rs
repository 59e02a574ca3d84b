//! Executing what a frame has collected: one `vkQueueBindSparse` call, then the commands that go with it.

use std::collections::VecDeque;
use std::time::Instant;

use ash::vk::{AccessFlags2, ImageLayout, PipelineStageFlags2};

use super::batch::{BatchOptions, Batcher, BindPlan, Memory};
use super::error::Result;
use super::lower::{self, Done, Names};
use super::memory::{Core, Inner, SparseMemory};
use super::resource::{Command, Target, Work};
use super::trace::{Record, Source};
use crate::vk::quirks::Switch;
use crate::vk::{self, BufferCopy, CommandEncoder, CommandPool, Device, Point, Timeline};

/// What [`SparseMemory::flush`] did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Flushed {
    /// The moment that the next user of any changed resource waits for.
    pub wait: Option<Point>,
    /// Whether that moment still lay ahead when the call returned.
    pub waits: bool,
}

/// How long commits take: on the calling thread, and until the GPU can use them.
#[derive(Debug, Default)]
pub(super) struct Latency {
    under_way: VecDeque<(Point, Instant)>,
    /// Nanoseconds that the last bind call took on its thread.
    pub(super) cpu_ns: u64,
    /// Nanoseconds until the last bind was seen done.
    pub(super) usable_ns: u64,
}

/// Binds under way whose time is taken.
const LATENCIES: usize = 256;

impl Latency {
    pub(super) fn started(&mut self, point: Point, at: Instant) {
        self.cpu_ns = at.elapsed().as_nanos() as u64;
        // Nobody looks: what is oldest is done by now.
        if self.under_way.len() >= LATENCIES {
            self.under_way.pop_front();
        }
        self.under_way.push_back((point, at));
    }

    pub(super) fn poll(&mut self, device: &Device) {
        while let Some((point, at)) = self.under_way.front().copied() {
            if !device.reached(point).unwrap_or(true) {
                return;
            }
            self.usable_ns = at.elapsed().as_nanos() as u64;
            self.under_way.pop_front();
        }
    }
}

impl SparseMemory {
    /// Executes every commit since the last call: at most one `vkQueueBindSparse`, growth first, then
    /// shrinking and remapping, each with its own semaphores.
    ///
    /// Call it at a submission boundary: after the commands that use the old ranges are submitted, before the
    /// ones that use the new ranges are. Those must wait for the moment returned. Growth waits for no rendering;
    /// shrinking and remapping wait for everything submitted so far. `encoder` is the recording that comes next:
    /// copies of the fallback and clears are recorded there first; without one they are submitted at once, and are
    /// part of the moment returned.
    ///
    /// What a worker has bound ahead of need is part of the moment too, as far as a commit since the last call asked
    /// for it and it is not done yet.
    ///
    /// While defragmentation is on, no other thread may submit writes to reserved resources during this call: they could
    /// come between the copy of a page and its rebind.
    ///
    /// # Errors
    /// When the device refuses the binds: every commit since the last call is rolled back, and the resources
    /// keep working with what they had.
    pub fn flush(&self, encoder: Option<&mut CommandEncoder>) -> Result<Flushed> {
        profiling::scope!("CommitReservedResource");
        let shared = &self.shared;
        let mut inner = shared.lock();
        shared.continue_remapping(&mut inner);
        let work = std::mem::take(&mut inner.work);
        let jobs = inner.jobs.flushed();
        shared.worker.send(jobs);
        if work.is_empty() {
            return shared.wait_for_needed(&mut inner, None, None);
        }
        let bound = match shared.bind(&mut inner, &work) {
            Ok(done) => done.last(),
            Err(error) => {
                inner.remapping_refused(&shared.device);
                // What a resource cannot do without, and commands of what was bound before, are tried again.
                let (kept, refused) = work.into_iter().partition(|w| w.is_bound || w.retries);
                inner.work = kept;
                roll_back(refused, &mut inner);
                return Err(error.into());
            }
        };
        bound.into_iter().for_each(|point| inner.need(point));
        inner.remapping_bound(bound.unwrap_or(shared.device.submitted(Timeline::Bind)));
        for w in work.iter().filter(|w| !w.is_bound) {
            w.freed.iter().for_each(|chunk| inner.cache.give(chunk.clone()));
            if let Some(resource) = w.resource.upgrade() {
                resource.bound();
                resource.paged().into_iter().for_each(|paged| paged.settle(&mut inner.pools));
            }
        }
        let mut submitted = None;
        if work.iter().any(|w| !w.commands.is_empty()) {
            match encoder {
                Some(encoder) => {
                    record(encoder, &work);
                    // The fallback's copies read what the transfer queue may still be writing.
                    let uploads = shared.device.submitted(Timeline::Transfer);
                    if inner.needed.is_none() && uploads.value > 0 {
                        submitted = Some(uploads);
                    }
                }
                None => match shared.submit_commands(&mut inner, &work) {
                    Ok(point) => {
                        shared.declare_fills(&work, point);
                        submitted = Some(point);
                    }
                    Err(error) => {
                        // What is bound stays bound; copies and clears are tried again with the next flush.
                        inner.work.extend(work.into_iter().map(Work::without_binds));
                        return Err(error.into());
                    }
                },
            }
        }
        let flushed = shared.wait_for_needed(&mut inner, submitted, bound);
        inner.update_totals();
        flushed
    }
}

impl Core {
    /// The moment to wait for: of commands that were submitted, which come after all binds; of the last bind needed,
    /// until it is seen done; of what this flush bound, done or not.
    fn wait_for_needed(
        &self,
        inner: &mut Inner,
        submitted: Option<Point>,
        bound: Option<Point>,
    ) -> Result<Flushed> {
        if let Some(needed) = inner.needed
            && self.device.reached(needed)?
        {
            inner.needed = None;
        }
        let waits = match submitted {
            Some(point) => !self.device.reached(point)?,
            None => inner.needed.is_some(),
        };
        inner.stats.frames_waited += u64::from(waits);
        Ok(Flushed { wait: submitted.or(inner.needed).or(bound), waits })
    }

    fn bind(&self, inner: &mut Inner, work: &[Work]) -> vk::Result<Done> {
        let mut names = Names::default();
        let mut batcher = Batcher::default();
        for w in work.iter().filter(|w| !w.is_bound) {
            names.add(w);
            for request in &w.requests {
                batcher.push(*request).map_err(|error| vk::Error::Other(error.to_string()))?;
            }
        }
        let mut plan = batcher.finish(BatchOptions { merge: self.merges() });
        self.avoid_null_unbinds(inner, &mut names, &mut plan)?;
        if plan.growth.is_empty() && plan.shrink.is_empty() {
            return Ok(Done::default());
        }
        let users = Timeline::USERS.map(|timeline| self.device.submitted(timeline));
        // Where the graphics queue cannot bind, both queues go in lockstep.
        let growth_waits: &[Point] = if self.device.graphics_binds() { &[] } else { &users };
        let started = Instant::now();
        let on_graphics = self.knobs.bind_on_graphics;
        let done = lower::execute(&self.device, &names, &plan, growth_waits, &users, on_graphics)?;
        self.note(inner, &names, &plan, done, started, Source::Frame);
        Ok(done)
    }

    /// Counts, checks and traces a call that was made.
    pub(super) fn note(
        &self,
        inner: &mut Inner,
        names: &Names,
        plan: &BindPlan,
        done: Done,
        started: Instant,
        source: Source,
    ) {
        let count = |resources: &[super::batch::ResourceBinds]| {
            resources.iter().map(|r| (r.bytes.len() + r.tiles.len()) as u64).sum::<u64>()
        };
        let stats = &mut inner.stats;
        stats.bind_calls += 1;
        match source {
            Source::Frame => inner.calls_this_frame += 1,
            Source::Ahead => stats.bind_calls_ahead += 1,
        }
        stats.binds += count(&plan.growth);
        stats.unbinds += count(&plan.shrink);
        stats.merged_binds += plan.merged;
        for (resources, grows) in [(&plan.growth, true), (&plan.shrink, false)] {
            for r in resources {
                let counts = inner.counts.entry(r.resource).or_default();
                let binds = (r.bytes.len() + r.tiles.len()) as u64;
                counts.binds += if grows { binds } else { 0 };
                counts.unbinds += if grows { 0 } else { binds };
                counts.this_frame += binds;
            }
        }
        if let Some(point) = done.last() {
            inner.latency.started(point, started);
        }
        self.checker.bound(plan, done);
        let cpu = started.elapsed();
        let record = |binds, point: Option<Point>, phase| {
            if let Some(point) = point {
                let call = Record { frame: self.frame(), source, phase, started, cpu, point };
                self.trace.record(names, binds, call);
            }
        };
        record(&plan.growth, done.growth, "growth");
        record(&plan.shrink, done.shrink, "shrink");
    }

    /// Whether contiguous ranges may be bound as one.
    pub(super) fn merges(&self) -> bool {
        let quirks = self.device.quirks();
        !quirks.has(Switch::NoMergedBinds) && !quirks.has(Switch::NoNullUnbind)
    }

    /// Drivers that must not unbind get a dummy page instead, which any number of aliased resources may share.
    fn avoid_null_unbinds(
        &self,
        inner: &mut Inner,
        names: &mut Names,
        plan: &mut BindPlan,
    ) -> vk::Result<()> {
        let unbinds = plan.shrink.iter().any(|r| {
            r.bytes.iter().any(|b| b.memory.is_none()) || r.tiles.iter().any(|t| t.memory.is_none())
        });
        if !unbinds || !self.device.quirks().has(Switch::NoNullUnbind) {
            return Ok(());
        }
        for resource in &mut plan.shrink {
            let Some((memory_type, tile)) = names.dummy_needs(&self.device, resource.resource)? else {
                continue;
            };
            let dummy = inner.pools.dummy(&self.device, &self.checker, memory_type, tile)?;
            names.add_chunk(&dummy);
            let page = Memory { chunk: dummy.id(), offset: 0 };
            let empty_bytes = resource.bytes.iter_mut().filter(|b| b.memory.is_none() && b.bytes == tile);
            empty_bytes.for_each(|b| b.memory = Some(page));
            let empty_tiles = resource.tiles.iter_mut().filter(|t| t.memory.is_none());
            empty_tiles.for_each(|t| t.memory = Some(page));
        }
        Ok(())
    }

    /// Tells the checker of the fills in a submission of their own. Those in a caller's recording are the caller's uses.
    fn declare_fills(&self, work: &[Work], at: Point) {
        for w in work {
            for command in &w.commands {
                // What is recreated and copied has no page table.
                if let (Command::Fill { offset, bytes, .. }, Target::Buffer(buffer)) = (command, &w.target)
                    && buffer.is_reserved()
                {
                    self.checker.declare_use(w.id, *offset..offset.saturating_add(*bytes), at);
                }
            }
        }
    }

    /// Copies and clears in a submission of their own.
    fn submit_commands(&self, inner: &mut Inner, work: &[Work]) -> vk::Result<Point> {
        let needed = inner.needed;
        // The fallback's copies read what the transfer queue may still be writing.
        let waits: Vec<Point> = needed.into_iter().chain(beside_graphics(&self.device)).collect();
        self.submit_now(inner, &waits, |encoder| record(encoder, work))
    }

    /// Records and submits commands at once.
    pub(super) fn submit_now(
        &self,
        inner: &mut Inner,
        waits: &[Point],
        record: impl FnOnce(&mut CommandEncoder),
    ) -> vk::Result<Point> {
        let is_done = |(_, last): &(CommandPool, Point)| self.device.reached(*last).unwrap_or(true);
        let ready = inner.copies.iter().position(is_done);
        let mut pool = match ready {
            Some(ready) => inner.copies.swap_remove(ready).0,
            // No pool is waited for: the frame goes on.
            None => CommandPool::new(&self.device, Timeline::Graphics)?,
        };
        pool.reset()?;
        let mut encoder = pool.begin("CommitReservedResource")?;
        record(&mut encoder);
        let point = self.device.submit(Timeline::Graphics, vec![encoder.finish()?], waits)?;
        inner.copies.push((pool, point));
        Ok(point)
    }
}

fn roll_back(work: Vec<Work>, inner: &mut Inner) {
    for w in work.into_iter().rev() {
        if let Some(resource) = w.resource.upgrade() {
            resource.roll_back();
            resource.paged().into_iter().for_each(|paged| paged.undo(&mut inner.pools));
        }
    }
}

/// Any stage, any access.
pub(super) const ALL: (PipelineStageFlags2, AccessFlags2) = (
    PipelineStageFlags2::ALL_COMMANDS,
    AccessFlags2::from_raw(AccessFlags2::MEMORY_READ.as_raw() | AccessFlags2::MEMORY_WRITE.as_raw()),
);

/// Copies and clears.
pub(super) const TRANSFER: (PipelineStageFlags2, AccessFlags2) = (
    PipelineStageFlags2::ALL_TRANSFER,
    AccessFlags2::from_raw(AccessFlags2::TRANSFER_READ.as_raw() | AccessFlags2::TRANSFER_WRITE.as_raw()),
);

/// Records the fallback's copies, the clears of new ranges and first layouts, ordered after everything before them and
/// before everything after.
fn record(encoder: &mut CommandEncoder, work: &[Work]) {
    encoder.begin_label("CommitReservedResource");
    encoder.memory_barrier(ALL, TRANSFER);
    for w in work.iter().filter(|w| !w.commands.is_empty()) {
        for (index, command) in w.commands.iter().enumerate() {
            if index > 0 {
                encoder.memory_barrier(TRANSFER, TRANSFER);
            }
            record_one(encoder, &w.target, command);
        }
        // A buffer that commits twice in one flush copies from its own new self.
        encoder.memory_barrier(TRANSFER, ALL);
    }
    encoder.end_label();
}

fn record_one(encoder: &mut CommandEncoder, target: &Target, command: &Command) {
    match (target, command) {
        (Target::Buffer(buffer), Command::Copy { from, bytes }) if *bytes > 0 => {
            encoder.copy_buffer(from, buffer, &[BufferCopy { source: 0, destination: 0, bytes: *bytes }]);
        }
        (Target::Buffer(buffer), Command::Fill { offset, bytes, word }) => {
            encoder.fill_buffer(buffer, *offset, *bytes, *word);
        }
        (Target::Image(image), Command::Layout(layout)) => {
            let layouts = (ImageLayout::UNDEFINED, *layout);
            encoder.image_barrier(image.raw(), image.desc().aspect(), layouts, TRANSFER, ALL);
        }
        // A copy of nothing, and what does not exist: buffers have no layout, images are not cleared so.
        _ => {}
    }
}

/// The last submissions beside the graphics queue: what they write is read, or moved, by what is submitted next.
pub(super) fn beside_graphics(device: &Device) -> [Point; 2] {
    [Timeline::Transfer, Timeline::Compute].map(|timeline| device.submitted(timeline))
}
