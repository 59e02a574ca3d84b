//! Defragmentation by remapping: pages move together while rendering goes on, and resources keep handle, address and
//! descriptors.
//!
//! One step takes two flushes, each with its one bind call:
//!
//! ```text
//! flush N    plan moves (pure, `pages::plan`), reserve the targets, bind them to a twin
//!            - of an image: a second sparse image of the same description, at the same tile
//!            - of a buffer: a second sparse buffer, one tile a move
//! flush N+1  submit the copies, resource -> twin; then rebind the resource's tiles to the targets and unbind the twin's,
//!            in the batch that waits for everything submitted: the copies are the last that saw the old pages
//! ```
//!
//! Mip tails and metadata never move: a tail cannot be aliased. A tile that its owner unmapped or replaced in between is
//! left alone.
//!
//! Nobody depends on a step: one that fails (no addresses for a twin, a copy that cannot be submitted, a refused bind) is
//! given up and tried again some flushes later. Its targets are nobody's until the GPU is done with the copies to them.
//!
//! `copy.rs`: the copies.

mod copy;

use std::sync::Arc;

use ash::vk::BufferUsageFlags;

use super::batch::{Phase, Place, Request};
use super::flush::beside_graphics;
use super::memory::{Core, Inner, SparseMemory};
use super::paged::PagedBacking;
use super::pages::{self, BegunMoves, DefragOptions, PageAfter, PageMove};
use super::resource::{Resource, Target, Work};
use super::shadow::{Kind, ResourceDesc};
use crate::vk::{self, Buffer, Device, Image, Point, SparseImage};

/// The most pages that one step moves, whatever the budget: a twin of buffers has addresses for all of them.
const MOST_PAGES: u32 = 4096;
/// Flushes without a step after one that failed.
const BACK_OFF: u32 = 60;

/// How eagerly pages are moved together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Defragmentation {
    /// Most bytes moved a flush.
    pub bytes_per_frame: u64,
    /// The fullest that a chunk may be to be emptied, 0 to 1.
    pub max_fill: f64,
}

impl Default for Defragmentation {
    /// 4 MiB a frame, of chunks that are at most half full.
    fn default() -> Self {
        Self { bytes_per_frame: 4 << 20, max_fill: 0.5 }
    }
}

/// A move and what it is done with.
#[derive(Debug, Clone)]
struct Move {
    page: PageMove,
    owner: Arc<PagedBacking>,
    twin: Arc<Twin>,
    /// The tile of the twin that lies at the target.
    twin_place: Place,
}

/// What pages are copied through.
#[derive(Debug)]
struct Twin {
    id: u64,
    target: Target,
    checker: Arc<super::check::Checker>,
}

impl Drop for Twin {
    fn drop(&mut self) {
        self.checker.remove_resource(self.id);
    }
}

/// A twin is bound and unbound by whole steps; it has nothing to remember.
impl Resource for Twin {
    fn id(&self) -> u64 {
        self.id
    }

    fn name(&self) -> String {
        self.target.name().to_owned()
    }

    fn numbers(&self) -> super::ResourceStats {
        super::ResourceStats::default()
    }

    fn bound(&self) {}

    fn roll_back(&self) {}
}

/// Moves whose targets are reserved.
#[derive(Debug)]
struct Step {
    pool: usize,
    begun: BegunMoves,
    moves: Vec<Move>,
    /// Moves whose owner did something else in between: only their twins are left to unbind.
    gone: Vec<Move>,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Idle,
    /// The targets are bound by the flush that is under way.
    Staging(Step),
    /// The targets are bound at a moment: the copies may be made after it.
    Staged(Step, Point),
    /// The resource's tiles are rebound by the flush that is under way.
    Remapping(Step),
}

/// Moves pages, a step at a time.
#[derive(Debug, Default)]
pub(super) struct Remapper {
    knobs: Option<Defragmentation>,
    state: State,
    /// The pool that is looked at next.
    next_pool: usize,
    /// Twins of this run, by the resource that they serve (buffers by pool).
    twins: Vec<(TwinOf, Arc<Twin>)>,
    /// Flushes to let pass before the next step.
    rest: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TwinOf {
    Image(u64),
    Pool(usize),
}

impl SparseMemory {
    /// Moves pages together from now on, with every flush, as long as that empties chunks; `None` stops it. Only
    /// resources whose tiles come and go one by one have pages that move, and only where the device has
    /// `sparseResidencyAliased`. Call [`SparseMemory::flush`] each frame, also when nothing else is to be bound.
    pub fn set_defragmentation(&self, knobs: Option<Defragmentation>) {
        let mut inner = self.shared.lock();
        inner.remapper.knobs = knobs;
        inner.remapper.rest = 0;
    }

    /// What was set by [`Self::set_defragmentation`].
    pub fn defragmentation(&self) -> Option<Defragmentation> {
        self.shared.lock().remapper.knobs
    }

    /// Whether a step is under way or there is more to gain. Not while it rests after a step that failed.
    pub fn is_defragmenting(&self) -> bool {
        let inner = self.shared.lock();
        let under_way = !matches!(inner.remapper.state, State::Idle);
        let Some(knobs) = inner.remapper.knobs.filter(|_| inner.remapper.rest == 0) else {
            return under_way;
        };
        let options = DefragOptions { max_fill_of_source: knobs.max_fill };
        let gains = inner
            .pools
            .pools
            .iter()
            .any(|pool| pool.key.movable && !pages::plan(&pool.pages, 1, options).is_empty());
        gains || under_way
    }
}

impl Core {
    /// The part of a step that comes before the bind call of a flush.
    pub(super) fn continue_remapping(&self, inner: &mut Inner) {
        match std::mem::take(&mut inner.remapper.state) {
            State::Staged(step, bound) => self.copy_and_rebind(inner, step, bound),
            // The flush before never got to its bind call.
            State::Staging(step) | State::Remapping(step) => abandon(&self.device, inner, step),
            State::Idle => self.stage(inner),
        }
    }

    /// Plans a step and binds its targets to twins.
    fn stage(&self, inner: &mut Inner) {
        let Some(knobs) = inner.remapper.knobs else { return inner.remapper.twins.clear() };
        if inner.remapper.rest > 0 {
            inner.remapper.rest -= 1;
            return;
        }
        let count = inner.pools.pools.len();
        for turn in 0..count {
            let pool = (inner.remapper.next_pool + turn) % count;
            if self.stage_pool(inner, pool, knobs) {
                inner.remapper.next_pool = pool;
                return;
            }
        }
        // Nothing to gain: twins hold addresses, so they go until there is.
        inner.remapper.twins.clear();
    }

    /// Whether there was something to do in this pool.
    fn stage_pool(&self, inner: &mut Inner, index: usize, knobs: Defragmentation) -> bool {
        let pool = &mut inner.pools.pools[index];
        if !pool.key.movable {
            return false;
        }
        let budget = u32::try_from(knobs.bytes_per_frame / pool.key.tile_bytes.max(1)).unwrap_or(u32::MAX);
        let options = DefragOptions { max_fill_of_source: knobs.max_fill };
        let plan = pages::plan(&pool.pages, budget.clamp(1, MOST_PAGES), options);
        if plan.is_empty() {
            return false;
        }
        let begun = match pool.pages.apply_begin(&plan) {
            Ok(begun) => begun,
            Err(error) => {
                log::error!("defragmentation: {error}");
                return false;
            }
        };
        let mut step = Step { pool: index, begun, moves: Vec::new(), gone: Vec::new() };
        let planned: Vec<PageMove> = step.begun.moves().to_vec();
        let slots = (planned.len() as u64).next_power_of_two();
        for (slot, page) in (0..).zip(planned) {
            match self.prepare(inner, index, page, slot, slots) {
                Ok(Some(prepared)) => step.moves.push(prepared),
                // Its owner is being dropped or replaced: not this time.
                Ok(None) => cancel(inner, index, &page),
                Err(error) => {
                    log::warn!("no defragmentation for some frames: {error}");
                    abandon(&self.device, inner, step);
                    return true;
                }
            }
        }
        if step.moves.is_empty() {
            return false;
        }
        for Move { page, twin, twin_place, .. } in &step.moves {
            let Some((chunk, _)) = inner.pools.pools[index].place(page.to) else { continue };
            let memory = inner.pools.pools[index].memory(page.to);
            let request = Request { resource: twin.id, place: *twin_place, memory, phase: Phase::Growth };
            let mut work = twin.work();
            work.requests.push(request);
            work.chunks.push(chunk);
            inner.work.push(work);
        }
        log::debug!("{plan}");
        inner.remapper.state = State::Staging(step);
        true
    }

    /// The owner of a move and a twin to copy through; `None` when the owner is gone.
    fn prepare(
        &self,
        inner: &mut Inner,
        pool: usize,
        page: PageMove,
        slot: u64,
        slots: u64,
    ) -> vk::Result<Option<Move>> {
        let Some(owner) = find_owner(inner, page.owner.resource) else { return Ok(None) };
        if owner.page(page.owner.tile) != Some(page.from) {
            return Ok(None);
        }
        let Some(place) = owner.place(page.owner.tile) else { return Ok(None) };
        let twin = self.twin(inner, pool, &owner, slots)?;
        let twin_place = match place {
            Place::Bytes { .. } => {
                Place::Bytes { offset: slot * owner.tile_bytes, bytes: owner.tile_bytes, metadata: false }
            }
            tile => tile,
        };
        Ok(Some(Move { page, owner, twin, twin_place }))
    }

    /// The twin that serves an owner, made when first needed.
    fn twin(
        &self,
        inner: &mut Inner,
        pool: usize,
        owner: &PagedBacking,
        slots: u64,
    ) -> vk::Result<Arc<Twin>> {
        let of = match owner.target {
            Target::Buffer(_) => TwinOf::Pool(pool),
            Target::Image(_) => TwinOf::Image(owner.id),
        };
        let fits = |twin: &Twin| match &twin.target {
            Target::Buffer(buffer) => buffer.bytes() >= slots * owner.tile_bytes,
            Target::Image(_) => true,
        };
        if let Some((_, twin)) = inner.remapper.twins.iter().find(|(t, twin)| *t == of && fits(twin)) {
            return Ok(twin.clone());
        }
        let id = self.next_id();
        let name = format!("{}.Twin", owner.name);
        let (target, shadow) = match &owner.target {
            Target::Buffer(_) => {
                let bytes = slots * owner.tile_bytes;
                let usage = BufferUsageFlags::TRANSFER_SRC | BufferUsageFlags::TRANSFER_DST;
                let buffer = Arc::new(Buffer::reserved(&self.device, &name, bytes, usage, true)?);
                (Target::Buffer(buffer), (Kind::PagedBuffer, bytes))
            }
            Target::Image(image) => {
                let sparse = SparseImage { residency: true, aliased: true };
                let twin = Arc::new(Image::reserved(&self.device, &name, *image.desc(), sparse)?);
                (Target::Image(twin), (Kind::TiledImage, owner.reserved_bytes))
            }
        };
        let (kind, bytes) = shadow;
        let tile_bytes = owner.tile_bytes;
        let desc = ResourceDesc { name, kind, bytes, tile_bytes, aliased: true, tails: Vec::new() };
        self.checker.add_resource(id, desc, owner.layout.clone());
        let twin = Arc::new(Twin { id, target, checker: self.checker.clone() });
        inner.remapper.twins.retain(|(t, _)| *t != of);
        inner.remapper.twins.push((of, twin.clone()));
        Ok(twin)
    }

    /// Copies what is staged and rebinds it.
    fn copy_and_rebind(&self, inner: &mut Inner, mut step: Step, bound: Point) {
        let pool = step.pool;
        let stays = |m: &Move| m.owner.page(m.page.owner.tile) == Some(m.page.from);
        let (moves, gone) = std::mem::take(&mut step.moves).into_iter().partition(stays);
        (step.moves, step.gone) = (moves, gone);
        if !step.moves.is_empty() {
            let [transfer, compute] = beside_graphics(&self.device);
            let waits = [bound, transfer, compute];
            let copied = self.submit_now(inner, &waits, |encoder| copy::record(encoder, &step.moves));
            let point = match copied {
                Ok(point) => point,
                Err(error) => {
                    log::warn!("no defragmentation for some frames: {error}");
                    return abandon(&self.device, inner, step);
                }
            };
            for m in &step.moves {
                let bytes = m.page.owner.tile * m.owner.tile_bytes;
                self.checker.declare_use(m.owner.id, bytes..bytes + m.owner.tile_bytes, point);
            }
        }
        for m in &step.moves {
            let place = inner.pools.pools[pool].place(m.page.to);
            let memory = inner.pools.pools[pool].memory(m.page.to);
            let request = m.owner.request(m.page.owner.tile, memory, Phase::Shrink);
            let (Some(request), Some((chunk, _))) = (request, place) else { continue };
            let resource: Arc<dyn Resource> = m.owner.clone();
            let mut work = Work::new(m.owner.id, Arc::downgrade(&resource), m.owner.target.clone());
            work.requests.push(request);
            work.chunks.push(chunk);
            inner.work.push(work);
        }
        for m in step.moves.iter().chain(&step.gone) {
            let (resource, place) = (m.twin.id, m.twin_place);
            let mut work = m.twin.work();
            work.requests.push(Request { resource, place, memory: None, phase: Phase::Shrink });
            inner.work.push(work);
        }
        inner.remapper.state = State::Remapping(step);
    }
}

impl Twin {
    /// Nothing yet, for the next flush.
    fn work(self: &Arc<Self>) -> Work {
        let resource: Arc<dyn Resource> = self.clone();
        Work::new(self.id, Arc::downgrade(&resource), self.target.clone())
    }
}

impl Inner {
    /// The bind call of a flush was made; it is done at a moment.
    pub(super) fn remapping_bound(&mut self, done: Point) {
        match std::mem::take(&mut self.remapper.state) {
            State::Staging(step) => self.remapper.state = State::Staged(step, done),
            State::Remapping(step) => self.finish(step),
            state => self.remapper.state = state,
        }
    }

    /// The bind call of a flush was refused: everything is where it was.
    pub(super) fn remapping_refused(&mut self, device: &Device) {
        match std::mem::take(&mut self.remapper.state) {
            State::Staging(step) | State::Remapping(step) => abandon(device, self, step),
            state => self.remapper.state = state,
        }
    }

    fn finish(&mut self, step: Step) {
        step.gone.iter().for_each(|m| cancel(self, step.pool, &m.page));
        let Self { pools, cache, stats, .. } = self;
        let Some(pool) = pools.pools.get_mut(step.pool) else { return };
        // Free at once: later binds come after this one, which waits for all users of the old pages.
        let report = pool.pages.apply_end(step.begun, PageAfter::Free);
        for page in &report.moved {
            if let Some(m) = step.moves.iter().find(|m| m.page == *page) {
                m.owner.moved(page.owner.tile, page.to);
            }
        }
        stats.remapped_tiles += report.moved.len() as u64;
        let chunk_bytes = u64::from(pool.pages.pages_per_chunk()) * pool.key.tile_bytes;
        for index in &report.emptied {
            if pool.remove_empty(*index, cache) {
                stats.defragmented_bytes += chunk_bytes;
            }
        }
        log::debug!("{report}");
    }
}

fn find_owner(inner: &Inner, id: u64) -> Option<Arc<PagedBacking>> {
    let alive = inner.resources.iter().filter_map(std::sync::Weak::upgrade);
    alive.filter_map(Resource::into_paged).find(|paged| paged.id == id)
}

/// The target is free: nothing was bound to it, or it is unbound again.
fn cancel(inner: &mut Inner, pool: usize, page: &PageMove) {
    if let Some(pool) = inner.pools.pools.get_mut(pool) {
        // A move whose page was freed is cancelled already.
        let _ = pool.pages.cancel(page, PageAfter::Free);
    }
}

/// Gives a step up. Its targets may be bound to twins and written by copies: they rest until both are over.
fn abandon(device: &Device, inner: &mut Inner, step: Step) {
    inner.remapper.rest = BACK_OFF;
    // Twins may still be bound; they are made anew.
    inner.remapper.twins.clear();
    let Step { pool: index, begun, moves, gone } = step;
    drop((moves, gone));
    let Some(pool) = inner.pools.pools.get_mut(index) else { return };
    let cancelled = pool.pages.cancel_all(begun, PageAfter::Quarantine);
    let targets = cancelled.iter().map(|page| page.to).collect();
    inner.pools.rest(device, index, targets);
}
