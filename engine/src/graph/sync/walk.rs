//! The walk through the order that finds all barriers.

use super::cell::{ALL, Cell, NO_LANE, NONE, Step, Touch, WRITES, scope};
use super::memory::{Memory, TakeOver};
use crate::graph::access::Access;
use crate::graph::cells::{CellRange, Cells};
use crate::graph::compile::Options;
use crate::graph::compiled::{Barrier, Compiled, PassPlan, Scope, Submission, Wait};
use crate::graph::cull::Cull;
use crate::graph::declaration::{Declaration, ImportState, LeftState, Origin, Queue, ResourceInfo};
use crate::graph::handle::{PassId, ResourceId};
use crate::graph::lifetime::Lifetimes;
use crate::graph::order::{COMMIT, LANES, Submissions, lane, queue};

/// Stands for the index of a barrier that is about to be added.
const NEXT: u32 = u32::MAX - 1;

/// What the phases before found.
#[derive(Clone, Copy)]
pub(in crate::graph) struct Found<'a> {
    pub(in crate::graph) declaration: &'a Declaration,
    pub(in crate::graph) options: &'a Options,
    pub(in crate::graph) cells: &'a Cells,
    pub(in crate::graph) cull: &'a Cull,
    pub(in crate::graph) submissions: &'a Submissions,
    pub(in crate::graph) lifetimes: &'a Lifetimes,
}

/// Cells of one use that want the same barrier.
#[derive(Debug, Clone, Copy)]
struct Run {
    range: CellRange,
    from: Scope,
    to: Scope,
    takes_over: Option<ResourceId>,
}

/// Working memory.
#[derive(Debug, Default)]
pub(in crate::graph) struct Sync {
    cells: Vec<Cell>,
    take_overs: Vec<TakeOver>,
    memory: Memory,
    runs: Vec<Run>,
    /// Submissions and the resources that they leave for good, in that order.
    leaving: Vec<(u32, u32)>,
    /// Of every submission: what it waits for, by lane, and outside of the frame.
    waits: Vec<[u32; LANES]>,
    external: Vec<u8>,
    /// Of every resource: one more than the submission that changed it after its last command; commits may come later.
    changed_last: Vec<u32>,
    /// Of every submission: lanes whose work before the frame is known to be over.
    known_external: Vec<u8>,
}

impl Sync {
    /// Fills in the order, barriers, submissions, waits and how the frame leaves things. Placements are there already.
    pub(in crate::graph) fn run(&mut self, found: &Found<'_>, compiled: &mut Compiled) {
        self.start(found, compiled);
        let mut leaving = 0;
        for (index, cut) in found.submissions.cuts.iter().enumerate() {
            for &pass in &found.submissions.order[cut.first as usize..cut.end as usize] {
                let start = compiled.barriers.len() as u32;
                let uses = &found.declaration.passes[pass as usize].uses;
                for at in uses.start as usize..uses.end as usize {
                    if !found.cull.is_absent[at] {
                        self.touch(found, compiled, pass, at);
                    }
                }
                let barriers = start..compiled.barriers.len() as u32;
                compiled.order.push(PassPlan { pass: PassId(pass), barriers });
            }
            let start = compiled.barriers.len() as u32;
            while let Some(&(_, id)) = self.leaving.get(leaving).filter(|leaving| leaving.0 as usize == index)
            {
                leaving += 1;
                self.leave(found, compiled, index, id);
            }
            compiled.submissions.push(Submission {
                queue: queue(cut.lane),
                passes: cut.first..cut.end,
                barriers_after: start..compiled.barriers.len() as u32,
                waits: 0..0,
                external: 0,
            });
        }
        self.find_left(found, compiled);
        self.finish(found, compiled);
    }

    fn start(&mut self, found: &Found<'_>, compiled: &mut Compiled) {
        let Found { declaration, options, cells, submissions, lifetimes, .. } = *found;
        compiled.barriers.clear();
        compiled.order.clear();
        self.cells.clear();
        self.cells.resize(cells.count, Cell::UNTOUCHED);
        for (resource, grid) in declaration.resources.iter().zip(&cells.grids) {
            let is_image = matches!(resource.info, ResourceInfo::Image(_));
            let before = match resource.origin {
                Origin::Transient { .. } => Cell { is_fresh: true, ..Cell::UNTOUCHED },
                Origin::Imported { before: ImportState::After(left), .. }
                | Origin::HistoryPrevious { before: ImportState::After(left), .. }
                | Origin::HistoryCurrent { before: ImportState::After(left) } => {
                    imported(left, is_image, options)
                }
                _ => continue,
            };
            self.cells[grid.all()].fill(before);
        }
        self.take_overs.clear();
        self.take_overs.resize(declaration.resources.len(), TakeOver::UNKNOWN);
        self.changed_last.clear();
        self.changed_last.resize(declaration.resources.len(), 0);
        self.memory.clear(compiled.heaps.len());
        self.waits.clear();
        self.waits.extend(submissions.cuts.iter().map(|cut| cut.waits));
        self.external.clear();
        self.external.resize(submissions.cuts.len(), 0);
        compiled.submissions.clear();
        self.leaving.clear();
        for (id, (resource, span)) in declaration.resources.iter().zip(&lifetimes.spans).enumerate() {
            if let Some(&pass) = submissions.order.get(span.last_command as usize)
                && !matches!(resource.origin, Origin::Transient { .. })
            {
                self.leaving.push((submissions.of_pass[pass as usize], id as u32));
            }
        }
        self.leaving.sort_unstable();
    }

    /// One use, in its place.
    fn touch(&mut self, found: &Found<'_>, compiled: &mut Compiled, pass: u32, at: usize) {
        let usage = &found.declaration.uses[at];
        let id = usage.resource;
        let grid = &found.cells.grids[id.0 as usize];
        let info = &found.declaration.resources[id.0 as usize].info;
        let submission = found.submissions.of_pass[pass as usize] as usize;
        let lane = found.submissions.cuts[submission].lane;
        let range = found.cells.ranges[at];
        if usage.access == Access::Commit {
            for cell in grid.cells(range) {
                self.cells[cell].commit(&mut self.external[submission]);
            }
            let changed = self.changed_last[id.0 as usize];
            if let Some(cut) = changed.checked_sub(1).and_then(|at| found.submissions.cuts.get(at as usize)) {
                let wait = &mut self.waits[submission][cut.lane];
                *wait = changed.max(*wait);
            }
            return;
        }
        let touch = Touch::new(usage.access, pass, lane, matches!(info, ResourceInfo::Image(_)));
        self.runs.clear();
        for row in range.first_row..range.end_row {
            for column in range.first_column..range.end_column {
                let cell = (grid.first + row * grid.columns + column) as usize;
                let (step, takes_over) = if self.cells[cell].is_fresh {
                    self.take_memory(found, compiled, id, cell, &touch)
                } else {
                    (self.cells[cell].touch(&touch, NEXT, &mut self.external[submission]), None)
                };
                match step {
                    Step::Nothing => {}
                    Step::Widen(barrier) => {
                        if let Some(barrier) = compiled.barriers.get_mut(barrier as usize) {
                            barrier.to.stages |= touch_scope(&touch).stages;
                            barrier.to.accesses |= touch_scope(&touch).accesses;
                        }
                    }
                    Step::Barrier { from, to } => self.add_run(row, column, from, to, takes_over),
                }
            }
            self.merge_rows(row);
        }
        self.add_barriers(found, compiled, id);
    }

    /// The first touch of a cell of a transient: comes after whoever had the memory.
    fn take_memory(
        &mut self,
        found: &Found<'_>,
        compiled: &Compiled,
        id: ResourceId,
        cell: usize,
        touch: &Touch,
    ) -> (Step, Option<ResourceId>) {
        let take_over = self.take_over(found, compiled, id);
        let submission = found.submissions.of_pass[touch.pass as usize];
        self.external[submission as usize] |= take_over.external & !(1 << touch.lane);
        self.cells[cell].is_fresh = false;
        let mut outside = 0;
        let step = self.cells[cell].touch(touch, NEXT, &mut outside);
        let mut stages = take_over.stages[touch.lane];
        let beside = take_over.stages.iter().enumerate();
        if beside.filter(|&(lane, _)| lane != touch.lane).any(|(_, &stages)| stages != 0) {
            stages |= ALL;
        }
        if stages == 0 && step == Step::Nothing {
            return (step, None);
        }
        let from = scope(stages, take_over.accesses[touch.lane], 0);
        let takes_over = (take_over.occupant != NONE).then_some(ResourceId(take_over.occupant));
        (Step::Barrier { from, to: touch_scope(touch) }, takes_over)
    }

    fn take_over(&mut self, found: &Found<'_>, compiled: &Compiled, id: ResourceId) -> TakeOver {
        let known = self.take_overs[id.0 as usize];
        if known.is_known {
            return known;
        }
        let mut take_over = TakeOver { is_known: true, ..TakeOver::UNKNOWN };
        if let Some(place) = compiled.placements[id.0 as usize] {
            let (occupants, has_free) = self.memory.take(place.heap, place.offset, place.bytes, id.0);
            for &occupant in occupants {
                take_over.occupant = take_over.occupant.min(occupant);
                for cell in &self.cells[found.cells.grids[occupant as usize].all()] {
                    for lane in 0..LANES {
                        let (stages, accesses) = cell.pending(lane);
                        take_over.stages[lane] |= stages;
                        take_over.accesses[lane] |= accesses;
                    }
                }
            }
            if let Some(before) = found.options.heap_before.filter(|_| has_free) {
                let cell = imported(before, false, found.options);
                for lane in 0..LANES {
                    let (stages, accesses) = cell.pending(lane);
                    take_over.stages[lane] |= stages;
                    take_over.accesses[lane] |= accesses;
                }
                take_over.external = cell.external;
            }
        }
        self.take_overs[id.0 as usize] = take_over;
        take_over
    }

    fn add_run(&mut self, row: u32, column: u32, from: Scope, to: Scope, takes_over: Option<ResourceId>) {
        if let Some(run) = self.runs.last_mut()
            && run.range.first_row == row
            && run.range.end_column == column
            && (run.from, run.to, run.takes_over) == (from, to, takes_over)
        {
            run.range.end_column += 1;
            return;
        }
        let range =
            CellRange { first_row: row, end_row: row + 1, first_column: column, end_column: column + 1 };
        self.runs.push(Run { range, from, to, takes_over });
    }

    /// Joins the only run of a row to the only run of the row before.
    fn merge_rows(&mut self, row: u32) {
        let [.., above, run] = self.runs.as_mut_slice() else { return };
        let is_alike = above.range.first_column == run.range.first_column
            && above.range.end_column == run.range.end_column
            && above.range.end_row == row
            && run.range.first_row == row
            && (above.from, above.to, above.takes_over) == (run.from, run.to, run.takes_over);
        if is_alike {
            above.range.end_row = row + 1;
            self.runs.pop();
        }
    }

    fn add_barriers(&mut self, found: &Found<'_>, compiled: &mut Compiled, id: ResourceId) {
        let grid = &found.cells.grids[id.0 as usize];
        let info = &found.declaration.resources[id.0 as usize].info;
        for Run { range, from, to, takes_over } in self.runs.drain(..) {
            let index = compiled.barriers.len() as u32;
            for cell in grid.cells(range) {
                if self.cells[cell].cover == NEXT {
                    self.cells[cell].cover = index;
                }
            }
            let part = found.cells.part(grid, info, range);
            compiled.barriers.push(Barrier { resource: id, part, from, to, takes_over });
        }
    }

    /// Barriers after the last use of what outlives the frame.
    fn leave(&mut self, found: &Found<'_>, compiled: &mut Compiled, submission: usize, id: u32) {
        let resource = &found.declaration.resources[id as usize];
        let span = &found.lifetimes.spans[id as usize];
        let grid = &found.cells.grids[id as usize];
        let is_image = matches!(resource.info, ResourceInfo::Image(_));
        let lane = found.submissions.cuts[submission].lane;
        let asked = match resource.origin {
            Origin::Imported { after, .. } => after,
            _ => None,
        };
        let last = found.declaration.uses[span.last_use as usize].access;
        let layout = self.cells[grid.all()].first().map_or(0, |cell| cell.layout);
        let is_mixed = self.cells[grid.all()].iter().any(|cell| cell.layout != layout);
        // A resource has one layout between frames: parts that differ follow the last use.
        let target = asked.or_else(|| is_mixed.then_some(last));
        if let Some(target) = target {
            let touch = Touch { writes: false, ..Touch::new(target, NONE, lane, is_image) };
            self.runs.clear();
            for row in 0..grid.rows {
                for column in 0..grid.columns {
                    let cell = &mut self.cells[(grid.first + row * grid.columns + column) as usize];
                    let is_right = cell.layout == touch.layout;
                    if is_right && asked.is_none() {
                        continue;
                    }
                    if cell.is_pending_beside(lane) && (!is_right || usize::from(cell.owner) != lane) {
                        for (other, &last) in
                            span.submissions.iter().enumerate().filter(|&(at, _)| at != lane)
                        {
                            let wait = &mut self.waits[submission][other];
                            *wait = before(found.submissions, other, last, submission).max(*wait);
                        }
                    }
                    match cell.touch(&touch, NEXT, &mut self.external[submission]) {
                        Step::Nothing => {}
                        Step::Widen(barrier) => {
                            if let Some(barrier) = compiled.barriers.get_mut(barrier as usize) {
                                barrier.to.stages |= touch_scope(&touch).stages;
                                barrier.to.accesses |= touch_scope(&touch).accesses;
                            }
                        }
                        Step::Barrier { from, to } => self.add_run(row, column, from, to, None),
                    }
                }
                self.merge_rows(row);
            }
            self.add_barriers(found, compiled, ResourceId(id));
            self.changed_last[id as usize] = submission as u32 + 1;
        }
    }

    fn find_left(&self, found: &Found<'_>, compiled: &mut Compiled) {
        compiled.left.clear();
        for (id, resource) in found.declaration.resources.iter().enumerate() {
            let is_kept = !matches!(resource.origin, Origin::Transient { .. });
            let is_used = found.lifetimes.spans[id].is_used();
            compiled.left.push((is_kept && is_used).then(|| left(&self.cells[found.cells.grids[id].all()])));
        }
    }

    /// Waits in a row, without those that others imply.
    fn finish(&mut self, found: &Found<'_>, compiled: &mut Compiled) {
        let cuts = &found.submissions.cuts;
        compiled.waits.clear();
        self.known_external.clear();
        let mut of_lane = [0u8; LANES];
        for (index, cut) in cuts.iter().enumerate() {
            let start = compiled.waits.len() as u32;
            let mut known = of_lane[cut.lane];
            for &wait in self.waits[index].iter().filter(|&&wait| wait > 0) {
                let submission = wait - 1;
                compiled.waits.push(Wait { submission, stages: ALL });
                known |= self.known_external[submission as usize];
            }
            if cut.lane == COMMIT {
                // Binds of one queue may overtake each other, those of the frame before too.
                self.external[index] |= 1 << COMMIT;
            }
            let external = self.external[index] & !known;
            known |= external;
            of_lane[cut.lane] = known;
            self.known_external.push(known);
            if let Some(submission) = compiled.submissions.get_mut(index) {
                submission.waits = start..compiled.waits.len() as u32;
                submission.external = external;
            }
        }
        self.find_heap_after(found, compiled);
    }

    fn find_heap_after(&self, found: &Found<'_>, compiled: &mut Compiled) {
        let mut after = LeftState { stages: 0, accesses: 0, layout: 0, queue: Queue::Graphics, beside: 0 };
        for (resource, grid) in found.declaration.resources.iter().zip(&found.cells.grids) {
            if !matches!(resource.origin, Origin::Transient { .. }) {
                continue;
            }
            for cell in &self.cells[grid.all()] {
                for lane in 0..LANES {
                    let (stages, accesses) = cell.pending(lane);
                    if lane == Queue::Graphics as usize {
                        after.stages |= stages;
                        after.accesses |= accesses;
                    } else if stages != 0 {
                        after.beside |= 1 << lane;
                        after.accesses |= ash::vk::AccessFlags2::MEMORY_WRITE.as_raw();
                    }
                }
            }
        }
        compiled.heap_after = after;
    }
}

fn touch_scope(touch: &Touch) -> Scope {
    scope(touch.stages, touch.accesses, touch.layout)
}

/// One more than the newest submission of a lane before another: `last`, unless that is a commit that comes later.
fn before(submissions: &Submissions, lane: usize, last: u32, submission: usize) -> u32 {
    if last as usize <= submission {
        return last;
    }
    let earlier = submissions.cuts[..submission].iter().rposition(|cut| cut.lane == lane);
    earlier.map_or(0, |index| index as u32 + 1)
}

/// A cell as work before the frame left it.
fn imported(left: LeftState, is_image: bool, options: &Options) -> Cell {
    let owner = lane(left.queue, options.queues);
    let mut cell = Cell {
        layout: if is_image { left.layout } else { 0 },
        owner: owner as u8,
        external: 1 << owner,
        write_stages: left.stages,
        write_accesses: left.accesses & WRITES,
        ..Cell::UNTOUCHED
    };
    for kind in [Queue::Graphics, Queue::Compute, Queue::Transfer, Queue::Commit] {
        let beside = lane(kind, options.queues);
        if left.beside & (1 << kind as u8) != 0 && beside != owner {
            cell.external |= 1 << beside;
            cell.reads[beside] = ALL;
        }
    }
    cell
}

/// How cells are left, as one state.
fn left(cells: &[Cell]) -> LeftState {
    let owner = cells.iter().map(|cell| cell.owner).find(|&owner| owner != NO_LANE);
    let owner = owner.map_or(Queue::Graphics as usize, usize::from);
    let mut state = LeftState {
        stages: 0,
        accesses: 0,
        layout: cells.first().map_or(0, |cell| cell.layout),
        queue: queue(owner),
        beside: 0,
    };
    for cell in cells {
        for lane in 0..LANES {
            let (stages, accesses) = cell.pending(lane);
            if lane == owner {
                state.stages |= stages;
                state.accesses |= accesses;
            } else if stages != 0 {
                state.beside |= 1 << lane;
            }
        }
        state.accesses |= cell.read_accesses;
        // What one part has seen another may not have: where parts differ, the next reader has to look anew.
        if (cell.cover != NONE || cell.external == 0) && cells.iter().any(|other| other.reads != cell.reads) {
            state.accesses |= ash::vk::AccessFlags2::MEMORY_WRITE.as_raw();
        }
        state.beside |= cell.external & !(1 << owner);
        if cell.owner != NO_LANE && usize::from(cell.owner) != owner {
            // Which of the queues wrote is not told: all of them may have.
            state.beside |= 1 << cell.owner;
            state.accesses |= ash::vk::AccessFlags2::MEMORY_WRITE.as_raw();
        }
    }
    state
}
