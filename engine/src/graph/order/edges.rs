//! Who has to come before whom: a pass comes after whoever wrote what it reads, and after whoever read or wrote what it
//! overwrites. Reads in one layout are free among themselves; a read in another layout is a change, and comes after them.

use crate::graph::access::Access;
use crate::graph::cells::Cells;
use crate::graph::cull::Cull;
use crate::graph::declaration::{Declaration, ImportState, Origin, ResourceInfo};

const NONE: u32 = u32::MAX;

#[derive(Debug, Clone, Copy)]
struct CellState {
    /// List of the passes that everyone who reads now comes after: the writer, or the readers in the layout before.
    prior: u32,
    /// List of the passes that read in the present layout.
    readers: u32,
    /// The reader that changes the layout first, and its lane: readers on other lanes come after it.
    changer: u32,
    changer_lane: u8,
    layout: i32,
}

/// Edges between passes that take part, by the pass that comes after.
#[derive(Debug, Default)]
pub(in crate::graph) struct Edges {
    /// Lane of every pass.
    pub(in crate::graph) lanes: Vec<u8>,
    starts: Vec<u32>,
    before: Vec<u32>,
    states: Vec<CellState>,
    /// Lists: a pass and the next node.
    nodes: Vec<(u32, u32)>,
    last: Vec<u32>,
    explicit: Vec<(u32, u32)>,
}

impl Edges {
    /// The passes that have to come before one.
    pub(in crate::graph) fn before(&self, pass: u32) -> &[u32] {
        &self.before[self.starts[pass as usize] as usize..self.starts[pass as usize + 1] as usize]
    }

    /// Finds all edges; `lane` gives the lane of a pass.
    pub(in crate::graph) fn find(
        &mut self,
        declaration: &Declaration,
        cells: &Cells,
        cull: &Cull,
        lane: impl Fn(usize) -> usize,
    ) {
        self.start(declaration, cells);
        let mut explicit = 0;
        for (id, pass) in declaration.passes.iter().enumerate() {
            self.starts.push(self.before.len() as u32);
            self.lanes.push(lane(id) as u8);
            let id = id as u32;
            while let Some(&(then, first)) = self.explicit.get(explicit).filter(|edge| edge.0 <= id) {
                explicit += 1;
                if then == id && cull.is_alive[first as usize] && cull.is_alive[id as usize] {
                    self.before.push(first);
                }
            }
            if !cull.is_alive[id as usize] {
                continue;
            }
            for at in pass.uses.start as usize..pass.uses.end as usize {
                let usage = &declaration.uses[at];
                if cull.is_absent[at] {
                    continue;
                }
                let is_image =
                    matches!(declaration.resources[usage.resource.0 as usize].info, ResourceInfo::Image(_));
                for cell in cells.grids[usage.resource.0 as usize].cells(cells.ranges[at]) {
                    let layout = if is_image { usage.access.layout().as_raw() } else { 0 };
                    match usage.access {
                        Access::Commit => self.write(id, cell, None),
                        access if access.writes() => self.write(id, cell, Some(layout)),
                        _ => self.read(id, cell, layout),
                    }
                }
            }
        }
        self.starts.push(self.before.len() as u32);
    }

    fn start(&mut self, declaration: &Declaration, cells: &Cells) {
        for list in [&mut self.starts, &mut self.before, &mut self.last] {
            list.clear();
        }
        self.nodes.clear();
        self.lanes.clear();
        self.last.resize(declaration.passes.len(), NONE);
        self.explicit.clear();
        self.explicit.extend(declaration.orders.iter().map(|(first, then)| (then.0, first.0)));
        self.explicit.sort_unstable();
        self.explicit.dedup();
        self.states.clear();
        let fresh = CellState { prior: NONE, readers: NONE, changer: NONE, changer_lane: 0, layout: 0 };
        self.states.resize(cells.count, fresh);
        for (resource, grid) in declaration.resources.iter().zip(&cells.grids) {
            let (Origin::Imported { before: ImportState::After(left), .. }
            | Origin::HistoryPrevious { before: ImportState::After(left), .. }) = resource.origin
            else {
                continue;
            };
            if matches!(resource.info, ResourceInfo::Image(_)) {
                for state in &mut self.states[grid.all()] {
                    state.layout = left.layout;
                }
            }
        }
    }

    fn read(&mut self, pass: u32, cell: usize, layout: i32) {
        let lane = self.lanes[pass as usize];
        let mut state = self.states[cell];
        if layout != state.layout {
            if state.readers != NONE {
                (state.prior, state.readers) = (state.readers, NONE);
            }
            (state.layout, state.changer, state.changer_lane) = (layout, pass, lane);
        }
        self.come_after(pass, state.prior);
        if state.changer != NONE && state.changer_lane != lane {
            self.add(pass, state.changer);
        }
        let is_new = self.nodes.get(state.readers as usize).is_none_or(|node| node.0 != pass);
        if is_new {
            state.readers = self.node(pass, state.readers);
        }
        self.states[cell] = state;
    }

    /// A write; binds of pages leave the layout as it was.
    fn write(&mut self, pass: u32, cell: usize, layout: Option<i32>) {
        let mut state = self.states[cell];
        self.come_after(pass, if state.readers == NONE { state.prior } else { state.readers });
        state.prior = self.node(pass, NONE);
        (state.readers, state.changer) = (NONE, NONE);
        state.layout = layout.unwrap_or(state.layout);
        self.states[cell] = state;
    }

    fn node(&mut self, pass: u32, next: u32) -> u32 {
        self.nodes.push((pass, next));
        self.nodes.len() as u32 - 1
    }

    fn come_after(&mut self, pass: u32, mut list: u32) {
        while let Some(&(first, next)) = self.nodes.get(list as usize) {
            self.add(pass, first);
            list = next;
        }
    }

    fn add(&mut self, pass: u32, first: u32) {
        let last = &mut self.last[first as usize];
        if first != pass && *last != pass {
            *last = pass;
            self.before.push(first);
        }
    }
}
