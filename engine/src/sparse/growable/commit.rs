//! Moving the watermark: what a commit queues for the next flush, and what it finds there already.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use super::GrowableBuffer;
use super::state::Bound;
use crate::sparse::ahead::Job;
use crate::sparse::batch::{Memory, Phase, Place, Request};
use crate::sparse::chunk::Chunk;
use crate::sparse::error::{Error, Result};
use crate::sparse::headroom::GrowthPredictor;
use crate::sparse::memory::Inner;
use crate::sparse::resource::{Command, Resource, Target, Work};
use crate::sparse::watermark::{Plan, Watermark};
use crate::vk::quirks::Switch;

/// What a commit did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Commit {
    /// The watermark moved, and the next flush binds or unbinds.
    pub moved: bool,
    /// The next submission waits for a bind: of the next flush, or of the worker that has not finished it.
    pub waits: bool,
}

impl GrowableBuffer {
    /// Moves the watermark to `bytes` (rounded up to whole tiles): `u64::MAX` commits all, 0 gives
    /// everything back. Binds nothing yet: that is [`SparseMemory::flush`](crate::sparse::SparseMemory::flush), once
    /// for all resources of a frame.
    ///
    /// A buffer whose policy commits [ahead](crate::sparse::CommitPolicy::ahead) has more committed than `bytes`, and
    /// gives it back late; growth within that binds nothing and waits for nothing.
    ///
    /// # Errors
    /// Past the capacity, or out of memory half-way: nothing has changed, and all bytes keep their contents.
    pub fn commit(&mut self, bytes: u64) -> Result<Commit> {
        if self.commits_ahead() && bytes > 0 && bytes < u64::MAX {
            return self.follow(bytes, self.shared.frame());
        }
        let commit = self.move_to(bytes, bytes)?;
        if self.commits_ahead() {
            // How it grew before says nothing of what comes after; all of it is needed now.
            self.governor.trim();
            self.predictor = GrowthPredictor::new(self.shared.knobs.chunk_bytes);
            let named = |source| Error::Plan { name: self.name.clone(), source };
            self.governor.update(bytes, self.shared.frame()).map_err(named)?;
        }
        Ok(commit)
    }

    /// [`GrowableBuffer::commit`] through the buffer's policy: grows at once in steps with headroom, shrinks
    /// only after `requested` has stayed low for some frames. `frame` is a number that only rises.
    ///
    /// # Errors
    /// Those of [`GrowableBuffer::commit`].
    pub fn follow(&mut self, requested: u64, frame: u64) -> Result<Commit> {
        let named = |source| Error::Plan { name: self.name.clone(), source };
        if !self.commits_ahead() {
            let target = self.governor.update(requested, frame).map_err(named)?;
            return self.move_to(target, requested);
        }
        let started = Instant::now();
        let need = self.governor.need_now(requested).map_err(named)?;
        self.predictor.record(frame, requested.min(self.capacity()));
        let more = self.predictor.headroom(frame);
        let target = self.governor.update_with(requested, more, frame).map_err(named)?;
        let committed = self.committed();
        if requested.min(self.capacity()) > committed {
            let commit = self.move_to(need, requested)?;
            self.ask_ahead(target, frame);
            return Ok(commit);
        }
        if target < committed {
            return self.move_to(target, requested);
        }
        if target > committed {
            self.ask_ahead(target, frame);
        }
        Ok(self.use_ahead(requested, started))
    }

    /// Whether a worker commits ahead for this buffer.
    pub fn commits_ahead(&self) -> bool {
        self.governor.policy().ahead && self.shared.knobs.commit_ahead && !self.fallback
    }

    /// Says how far to commit ahead. The worker is woken when the frame has ended: waking a thread may cost the waker its
    /// processor, and this frame needs nothing of it.
    fn ask_ahead(&mut self, target: u64, frame: u64) {
        let mut state = self.backing.state();
        let tiles = state.watermark.layout().tiles(target);
        let ahead = &mut state.ahead;
        if let Some(frames) = ahead.took_frames.take() {
            self.predictor.bound_after(frames);
        }
        let asks = tiles > ahead.wanted_tiles && frame >= ahead.not_before;
        if !asks {
            return;
        }
        let is_idle = ahead.wanted_tiles == 0;
        ahead.wanted_tiles = tiles;
        ahead.asked_in = self.shared.frame();
        drop(state);
        if is_idle {
            let job = Job::new(self.id, &self.backing, &self.buffer, self.memory_type);
            self.shared.lock().jobs.ask(job);
        }
    }

    /// Uses bytes that are committed already: nothing to bind, at most a bind to wait for.
    fn use_ahead(&mut self, requested: u64, started: Instant) -> Commit {
        let mut state = self.backing.state();
        let counts = self.commits_ahead();
        let grew = counts && requested > state.requested;
        let shrank = counts && requested < state.requested;
        state.requested = requested;
        let layout = *state.watermark.layout();
        let tiles = layout.tiles(requested.min(layout.capacity_bytes()));
        let mut wait = state.ahead.wait_for(tiles, &self.shared.device);
        // Pages bound ahead hold whatever was in that memory until somebody needs them.
        let cleared = state.ahead.cleared_tiles;
        let fill = self.contents.fill(self.shared.knobs.poison).filter(|_| tiles > cleared);
        if fill.is_some() {
            let committed = state.watermark.committed_tiles();
            state.ahead.cleared_tiles = committed;
            wait = state.ahead.wait_for(committed, &self.shared.device);
        }
        state.grows += u64::from(grew);
        state.shrinks += u64::from(shrank);
        state.waited += u64::from(wait.is_some());
        state.last_commit_ns = started.elapsed().as_nanos() as u64;
        let committed = state.watermark.committed_bytes();
        drop(state);
        if let Some(word) = fill {
            let from = layout.bytes(cleared);
            self.fill_later((from, committed - from), word);
        }
        if grew || shrank || wait.is_some() {
            let mut inner = self.shared.lock();
            inner.stats.grows += u64::from(grew);
            inner.stats.shrinks += u64::from(shrank);
            wait.into_iter().for_each(|point| inner.need(point));
        }
        Commit { moved: false, waits: wait.is_some() }
    }

    /// Moves the watermark to `bytes` on this thread.
    fn move_to(&mut self, bytes: u64, requested: u64) -> Result<Commit> {
        profiling::scope!("CommitReservedResource");
        let started = Instant::now();
        if self.governor.policy().ahead {
            self.backing.stop_ahead();
        }
        let named = |source| Error::Plan { name: self.name.clone(), source };
        let plan = self.backing.state().watermark.plan_commit(bytes).map_err(named)?;
        let shrinks = plan.target_tiles < plan.from_tiles;
        let keeps = shrinks && !self.fallback && self.device().quirks().has(Switch::NoNullUnbind);
        if plan.is_empty() || keeps {
            // A driver that must not unbind keeps its tiles bound: they serve the next growth, and what promises
            // zeros is cleared now.
            if keeps && let Some(word) = self.contents.fill(self.shared.knobs.poison) {
                let layout = *self.backing.state().watermark.layout();
                let from = layout.bytes(plan.target_tiles);
                self.fill_later((from, layout.bytes(plan.from_tiles) - from), word);
            }
            return Ok(self.use_ahead(requested, started));
        }
        log::debug!("{}: {plan}", self.name);
        if self.fallback {
            // Copies are recorded in order, so several commits before a flush are a chain of them.
            self.recreate(&plan)?;
        } else {
            self.bind(bytes)?;
        }
        let mut state = self.backing.state();
        state.requested = requested;
        let grew = plan.target_tiles > plan.from_tiles;
        state.grows += u64::from(grew);
        state.shrinks += u64::from(!grew);
        state.waited += u64::from(!self.fallback);
        state.last_commit_ns = started.elapsed().as_nanos() as u64;
        state.ahead.ready.retain(|ready| ready.from_tiles < plan.target_tiles);
        // Cleared by the flush, or gone.
        state.ahead.cleared_tiles = plan.target_tiles;
        drop(state);
        let mut inner = self.shared.lock();
        inner.stats.grows += u64::from(grew);
        inner.stats.shrinks += u64::from(!grew);
        inner.update_totals();
        Ok(Commit { moved: true, waits: !self.fallback })
    }

    fn work(&self) -> Work {
        let resource: Arc<dyn Resource> = self.backing.clone();
        Work::new(self.id, Arc::downgrade(&resource), Target::Buffer(self.buffer.clone()))
    }

    /// Queues a fill of a range that stays bound.
    fn fill_later(&self, (offset, bytes): (u64, u64), word: u32) {
        let mut work = self.work();
        work.is_bound = true;
        work.commands.push(Command::Fill { offset, bytes, word });
        self.shared.lock().work.push(work);
    }

    /// Takes the chunks that a commit needs and queues its binds.
    ///
    /// A second commit before the flush replaces the first, planned anew from the state that is bound: a tile must
    /// appear once in a batch, and growth over tiles whose unbind is pending would be bound before it is unbound.
    fn bind(&self, bytes: u64) -> Result<()> {
        let named = |source| Error::Plan { name: self.name.clone(), source };
        let mut inner = self.shared.lock();
        let mut state = self.backing.state();
        let replaced = inner.take_work(self.id);
        let bound = state.bound.clone().unwrap_or_else(|| Bound {
            watermark: state.watermark.clone(),
            chunks: state.chunks.clone(),
            // What was bound ahead and never used is new to the caller too.
            lowest_tiles: state.watermark.committed_tiles().min(state.ahead.cleared_tiles),
            cleared_tiles: state.ahead.cleared_tiles,
        });
        let layout = *bound.watermark.layout();
        let is_bound = |c: &&Arc<Chunk>| bound.chunks.iter().any(|b| Arc::ptr_eq(b, c));
        let mut unused: Vec<Arc<Chunk>> = state.chunks.iter().filter(|c| !is_bound(c)).cloned().collect();
        let planned = bound.watermark.plan_commit(bytes).map_err(named).and_then(|plan| {
            let mut watermark = bound.watermark.clone();
            apply(&mut watermark, &plan, &self.name)?;
            let sizes: Vec<u64> = plan.new_chunks.iter().map(|chunk| layout.bytes(chunk.tiles)).collect();
            Ok((plan, watermark, self.take_chunks(&mut inner, &sizes, &mut unused)?))
        });
        let (plan, watermark, taken) = match planned {
            Ok(planned) => planned,
            Err(error) => {
                // The buffer is as it was, and so is the commit that waits for the flush.
                inner.work.extend(replaced);
                return Err(error);
            }
        };
        let mut chunks = bound.chunks.clone();
        // A plan's indexes of freed chunks are those of the chunks before it; new chunks come after them.
        let freed = chunks.split_off(plan.freed_chunks.start.min(chunks.len()));
        chunks.extend(taken);
        // Everything past the lowest line since the last flush is new to the caller, bound anew or not.
        let lowest_tiles = bound.lowest_tiles.min(plan.target_tiles);
        let mut work = self.work();
        work.requests = requests(self.id, &plan, layout.tile_bytes(), &chunks);
        work.chunks = chunks.clone();
        work.freed = freed;
        if let Some(word) = self.contents.fill(self.shared.knobs.poison)
            && plan.target_tiles > lowest_tiles
        {
            let offset = layout.bytes(lowest_tiles);
            work.commands.push(Command::Fill {
                offset,
                bytes: layout.bytes(plan.target_tiles) - offset,
                word,
            });
        }
        state.watermark = watermark;
        state.chunks = chunks;
        state.bound = Some(Bound { lowest_tiles, ..bound });
        drop(state);
        unused.into_iter().for_each(|chunk| inner.cache.give(chunk));
        // Queued even when nothing is left to bind: the next commit must know the lowest line.
        inner.work.push(work);
        Ok(())
    }

    /// One chunk a size: of those that `unused` has, of the cache, or new. All or none.
    fn take_chunks(
        &self,
        inner: &mut Inner,
        sizes: &[u64],
        unused: &mut Vec<Arc<Chunk>>,
    ) -> Result<Vec<Arc<Chunk>>> {
        let mut taken = Vec::with_capacity(sizes.len());
        let mut rest = unused.clone();
        let mut others = Vec::new();
        for &bytes in sizes {
            if let Some(found) = rest.iter().position(|c| c.bytes() == bytes) {
                taken.push(rest.remove(found));
                continue;
            }
            match self.shared.take_chunk(inner, &self.name, bytes, self.memory_type) {
                Ok(chunk) => {
                    others.push(chunk.clone());
                    taken.push(chunk);
                }
                Err(error) => {
                    others.into_iter().for_each(|chunk| inner.cache.give(chunk));
                    return Err(error);
                }
            }
        }
        *unused = rest;
        Ok(taken)
    }
}

/// The binds and the unbind of a plan.
pub(in crate::sparse) fn requests(id: u64, plan: &Plan, tile: u64, chunks: &[Arc<Chunk>]) -> Vec<Request> {
    let place = |tiles: Range<u64>| Place::Bytes {
        offset: tiles.start * tile,
        bytes: (tiles.end - tiles.start) * tile,
        metadata: false,
    };
    let binds = plan.binds.iter().filter_map(|bind| {
        let memory = Memory { chunk: chunks.get(bind.chunk)?.id(), offset: bind.chunk_tile * tile };
        let place = place(bind.tile..bind.tile + bind.count);
        Some(Request { resource: id, place, memory: Some(memory), phase: Phase::Growth })
    });
    let unbinds = plan.unbound_tiles().map(|tiles| Request {
        resource: id,
        place: place(tiles),
        memory: None,
        phase: Phase::Shrink,
    });
    binds.chain(unbinds).collect()
}

pub(super) fn apply(watermark: &mut Watermark, plan: &Plan, name: &str) -> Result<()> {
    watermark.apply(plan).map_err(|source| Error::Plan { name: name.into(), source })
}
