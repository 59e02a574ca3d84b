//! From a declaration to a compiled frame: the phases in a row, their working memory, and a small cache.
//!
//! A frame is looked up by its whole declaration and the options; only the number of the declaration is left out. What
//! is found is what compiling would give.

mod key;

use super::cells::Cells;
use super::check::check;
use super::compiled::{Compiled, HeapPlan, Placement};
use super::cull::Cull;
use super::declaration::{Declaration, HeapKey, LeftState};
use super::error::GraphError;
use super::lifetime::Lifetimes;
use super::order::{Edges, Sort, Submissions, lane};
use super::pack::{Item, Packer};
use super::sync::{Found, Sync};
use key::Key;

/// Which queues exist as queues of their own. Passes of those that do not go to the graphics queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Queues {
    /// A queue for dispatches beside rendering.
    pub compute: bool,
    /// A queue for copies beside rendering.
    pub transfer: bool,
    /// A queue for sparse binds. Without one commits are submissions of their own all the same.
    pub commit: bool,
}

/// Which of the legal orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// As declared, with passes of other queues as early as can be.
    #[default]
    Declared,
    /// Any, by seed: for tests, which must not depend on it.
    Random(u64),
}

/// What compiling depends on beside the declaration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Queues.
    pub queues: Queues,
    /// Whether transients share memory.
    pub aliasing: bool,
    /// Order.
    pub order: Order,
    /// `bufferImageGranularity` in bytes: above one, buffers and images get heaps of their own.
    pub granularity: u64,
    /// What the last frame in the same heaps may still do to them ([`Compiled::heap_after`]); `None` when the host has
    /// waited for it.
    pub heap_before: Option<LeftState>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            queues: Queues::default(),
            aliasing: true,
            order: Order::Declared,
            granularity: 1,
            heap_before: None,
        }
    }
}

/// What a compiler did so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CompileStats {
    /// Frames compiled.
    pub compiles: u64,
    /// Frames found in the cache.
    pub hits: u64,
}

/// Number of compiled frames kept.
const KEPT: usize = 4;

/// Compiles frames. Keeps the last few, and all working memory.
#[derive(Debug, Default)]
pub struct Compiler {
    kept: Vec<Kept>,
    /// Index of the frame compiled or found last; `None` after a mistake.
    latest: Option<usize>,
    scratch: Scratch,
    stats: CompileStats,
    clock: u64,
}

#[derive(Debug, Default)]
struct Kept {
    key: Key,
    compiled: Compiled,
    used: u64,
}

#[derive(Debug, Default)]
struct Scratch {
    last_pass: Vec<u32>,
    cells: Cells,
    cull: Cull,
    edges: Edges,
    sort: Sort,
    submissions: Submissions,
    lifetimes: Lifetimes,
    sync: Sync,
    packer: Packer,
    /// Transients by heap.
    placed: Vec<(HeapKey, u32)>,
    items: Vec<Item>,
    offsets: Vec<u64>,
    /// Bytes that begin and end to live at a place.
    changes: Vec<(u64, u64)>,
}

impl Compiler {
    /// A compiler with nothing kept.
    pub fn new() -> Self {
        Self::default()
    }

    /// What it did so far.
    pub fn stats(&self) -> CompileStats {
        self.stats
    }

    /// Compiles a declaration, or finds it among the last few.
    ///
    /// # Errors
    /// The first mistake of the declaration; see [`GraphError`]. Nothing is kept of it.
    pub fn compile(&mut self, declaration: &Declaration, options: &Options) -> Result<&Compiled, GraphError> {
        self.clock += 1;
        self.latest = None;
        let hash = key::hash(declaration, options);
        if let Some(at) = self.kept.iter().position(|kept| kept.key.is(hash, declaration, options)) {
            self.stats.hits += 1;
            self.kept[at].used = self.clock;
            self.latest = Some(at);
            return Ok(&self.kept[at].compiled);
        }
        self.stats.compiles += 1;
        if self.kept.len() < KEPT {
            self.kept.push(Kept::default());
        }
        let oldest = self.kept.iter_mut().enumerate().min_by_key(|(_, kept)| kept.used);
        let Some((at, kept)) = oldest else {
            return Err(GraphError::Broken { what: String::from("nothing can be kept") });
        };
        kept.key.forget();
        kept.used = 0;
        self.scratch.compile(declaration, options, &mut kept.compiled)?;
        kept.key.set(hash, declaration, options);
        kept.used = self.clock;
        self.latest = Some(at);
        Ok(&kept.compiled)
    }

    /// The frame that was compiled or found last, without looking it up again; `None` if that was a mistake.
    pub fn latest(&self) -> Option<&Compiled> {
        self.kept.get(self.latest?).map(|kept| &kept.compiled)
    }
}

impl Scratch {
    fn compile(
        &mut self,
        declaration: &Declaration,
        options: &Options,
        compiled: &mut Compiled,
    ) -> Result<(), GraphError> {
        check(declaration, &mut self.last_pass)?;
        self.cells.cut(declaration);
        self.cull.follow_contents(declaration, &self.cells)?;
        self.cull.cull(declaration, &self.cells, &mut compiled.culled);
        compiled.absent.clear();
        for (id, pass) in declaration.passes.iter().enumerate() {
            let absent = pass.uses.clone().filter(|&at| self.cull.is_absent[at as usize]);
            compiled.absent.extend(absent.filter(|_| self.cull.is_alive[id]));
        }
        self.edges.find(declaration, &self.cells, &self.cull, |pass| {
            lane(declaration.passes[pass].queue, options.queues)
        });
        self.sort.sort(declaration, &self.edges, &self.cull, options.order)?;
        self.submissions.cut(&self.sort.line, &self.edges, declaration.passes.len());
        self.lifetimes.find_spans(declaration, &self.cull, &self.submissions);
        self.lifetimes.find(
            declaration,
            &self.submissions,
            options.aliasing,
            &mut compiled.lifetimes,
            &mut compiled.is_shared,
        );
        self.place(declaration, options, compiled)?;
        let found = Found {
            declaration,
            options,
            cells: &self.cells,
            cull: &self.cull,
            submissions: &self.submissions,
            lifetimes: &self.lifetimes,
        };
        self.sync.run(&found, compiled);
        Ok(())
    }

    /// Lays transients out in heaps.
    fn place(
        &mut self,
        declaration: &Declaration,
        options: &Options,
        compiled: &mut Compiled,
    ) -> Result<(), GraphError> {
        compiled.heaps.clear();
        compiled.placements.clear();
        compiled.placements.resize(declaration.resources.len(), None);
        self.placed.clear();
        for (id, resource) in declaration.resources.iter().enumerate() {
            if compiled.lifetimes[id].is_none() {
                continue;
            }
            let Some(needs) = resource.needs else {
                let place = self.lifetimes.spans[id].first as usize;
                let pass = self.submissions.order.get(place).map_or(0, |&pass| pass as usize);
                let pass = declaration.passes[pass].name.to_string();
                return Err(GraphError::MissingNeeds { pass, resource: resource.name.to_string() });
            };
            // With a granularity of one byte buffers and images are good neighbours.
            let is_linear = needs.heap.is_linear && options.granularity > 1;
            self.placed.push((HeapKey { is_linear, ..needs.heap }, id as u32));
        }
        self.placed.sort_unstable();
        let mut start = 0;
        while let Some(&(key, _)) = self.placed.get(start) {
            let group = self.placed[start..].iter().take_while(|placed| placed.0 == key).count();
            self.items.clear();
            for &(_, id) in &self.placed[start..start + group] {
                let resource = &declaration.resources[id as usize];
                if let (Some(needs), Some(lifetime)) = (resource.needs, compiled.lifetimes[id as usize]) {
                    self.items.push(Item {
                        bytes: needs.bytes,
                        alignment: needs.alignment.max(1),
                        first: lifetime.first,
                        last: lifetime.last,
                    });
                }
            }
            let bytes = self.packer.pack(&self.items, &mut self.offsets);
            let heap = compiled.heaps.len() as u32;
            for (&(_, id), (item, &offset)) in
                self.placed[start..].iter().zip(self.items.iter().zip(&self.offsets))
            {
                compiled.placements[id as usize] = Some(Placement { heap, offset, bytes: item.bytes });
            }
            let unaliased = self.items.iter().fold(0u64, |sum, item| sum.saturating_add(item.bytes));
            let bound = self.bound();
            compiled.heaps.push(HeapPlan { key, bytes, bound, unaliased });
            start += group;
        }
        Ok(())
    }

    /// The largest sum of bytes alive at one place.
    fn bound(&mut self) -> u64 {
        let places = self.items.iter().map(|item| item.last as usize + 1).max().unwrap_or(0);
        self.changes.clear();
        self.changes.resize(places + 1, (0, 0));
        for item in &self.items {
            let begins = &mut self.changes[item.first as usize].0;
            *begins = begins.saturating_add(item.bytes);
            let ends = &mut self.changes[item.last as usize + 1].1;
            *ends = ends.saturating_add(item.bytes);
        }
        let mut alive = 0u64;
        let mut most = 0;
        for &(begins, ends) in &self.changes {
            alive = alive.saturating_sub(ends).saturating_add(begins);
            most = most.max(alive);
        }
        most
    }
}
