//! Which passes take part: what is switched off goes, and what nobody uses goes.
//!
//! Contents are followed forwards (does a read find anything?), needs backwards (does anybody still need what a pass
//! writes?), both by cell.

use super::access::Access;
use super::cells::Cells;
use super::compiled::CullReason;
use super::declaration::{Declaration, ImportState, Origin, Queue, ResourceInfo};
use super::error::GraphError;
use super::handle::PassId;

/// Contents of a cell: somebody's, nobody's, or a switched-off pass would have written them.
const PRESENT: u32 = u32::MAX;
const NOTHING: u32 = u32::MAX - 1;

/// Which passes and uses take part.
#[derive(Debug, Default)]
pub(super) struct Cull {
    /// Of every pass: whether it takes part.
    pub(super) is_alive: Vec<bool>,
    /// Of every use: whether it finds nothing.
    pub(super) is_absent: Vec<bool>,
    contents: Vec<u32>,
    is_needed: Vec<bool>,
}

impl Cull {
    /// Follows contents through the passes that are on; finds reads of what nobody wrote.
    pub(super) fn follow_contents(
        &mut self,
        declaration: &Declaration,
        cells: &Cells,
    ) -> Result<(), GraphError> {
        self.contents.clear();
        self.contents.resize(cells.count, NOTHING);
        for (resource, grid) in declaration.resources.iter().zip(&cells.grids) {
            let is_image = matches!(resource.info, ResourceInfo::Image(_));
            let is_present = match resource.origin {
                Origin::HistoryPrevious { .. } => true,
                // An image in no layout has no contents, whoever left it.
                Origin::Imported { before: ImportState::After(left), .. } => !is_image || left.layout != 0,
                _ => false,
            };
            if is_present {
                self.contents[grid.all()].fill(PRESENT);
            }
        }
        self.is_absent.clear();
        self.is_absent.resize(declaration.uses.len(), false);
        for (id, pass) in declaration.passes.iter().enumerate() {
            for at in pass.uses.start as usize..pass.uses.end as usize {
                let usage = &declaration.uses[at];
                if usage.access == Access::Commit {
                    continue;
                }
                let grid = &cells.grids[usage.resource.0 as usize];
                if pass.is_on && usage.access.reads() {
                    let hole = grid
                        .cells(cells.ranges[at])
                        .map(|cell| self.contents[cell])
                        .find(|&found| found != PRESENT);
                    match hole {
                        Some(_) if usage.is_optional => self.is_absent[at] = true,
                        Some(found) => return Err(unwritten(declaration, id, at, found)),
                        None => {}
                    }
                }
                if usage.access.writes() {
                    for cell in grid.cells(cells.ranges[at]) {
                        let found = &mut self.contents[cell];
                        match pass.is_on {
                            true => *found = PRESENT,
                            false if *found != PRESENT => *found = id as u32,
                            false => {}
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Finds the passes whose results somebody uses.
    pub(super) fn cull(
        &mut self,
        declaration: &Declaration,
        cells: &Cells,
        culled: &mut Vec<(PassId, CullReason)>,
    ) {
        self.is_needed.clear();
        self.is_needed.resize(cells.count, false);
        for (resource, grid) in declaration.resources.iter().zip(&cells.grids) {
            if matches!(resource.origin, Origin::Imported { .. } | Origin::HistoryCurrent { .. }) {
                self.is_needed[grid.all()].fill(true);
            }
        }
        self.is_alive.clear();
        self.is_alive.resize(declaration.passes.len(), false);
        for (id, pass) in declaration.passes.iter().enumerate().rev() {
            if !pass.is_on {
                continue;
            }
            let uses = pass.uses.start as usize..pass.uses.end as usize;
            let is_alive = pass.has_side_effects
                || pass.queue == Queue::Commit
                || uses.clone().any(|at| {
                    let usage = &declaration.uses[at];
                    let grid = &cells.grids[usage.resource.0 as usize];
                    let is_read_outside = matches!(usage.access, Access::HostRead | Access::Present);
                    let is_needed = || grid.cells(cells.ranges[at]).any(|cell| self.is_needed[cell]);
                    (is_read_outside && !self.is_absent[at]) || (usage.access.writes() && is_needed())
                });
            if !is_alive {
                continue;
            }
            self.is_alive[id] = true;
            // A write that discards ends the need for what was there; what the pass itself reads is needed again.
            for does_read in [false, true] {
                for at in uses.clone() {
                    let usage = &declaration.uses[at];
                    if usage.access.reads() == does_read && !self.is_absent[at] {
                        for cell in cells.grids[usage.resource.0 as usize].cells(cells.ranges[at]) {
                            self.is_needed[cell] = does_read;
                        }
                    }
                }
            }
        }
        culled.clear();
        for (id, pass) in declaration.passes.iter().enumerate() {
            if !self.is_alive[id] {
                let reason = if pass.is_on { CullReason::Unused } else { CullReason::SwitchedOff };
                culled.push((PassId(id as u32), reason));
            }
        }
    }
}

fn unwritten(declaration: &Declaration, pass: usize, at: usize, found: u32) -> GraphError {
    let usage = &declaration.uses[at];
    let pass = declaration.passes[pass].name.to_string();
    let resource = declaration.resources[usage.resource.0 as usize].name.to_string();
    match declaration.passes.get(found as usize) {
        Some(writer) => GraphError::WriterSwitchedOff { pass, resource, writer: writer.name.to_string() },
        None => GraphError::ReadBeforeWrite { pass, resource, access: usage.access },
    }
}
