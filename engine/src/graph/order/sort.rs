//! One line of passes that keeps to all edges: as declared with passes of other queues as early as can be, or any legal
//! line, for tests that must not depend on it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Edges;
use crate::graph::compile::Order;
use crate::graph::cull::Cull;
use crate::graph::declaration::{Declaration, Queue};
use crate::graph::error::GraphError;

/// Passes in line.
#[derive(Debug, Default)]
pub(in crate::graph) struct Sort {
    /// The line.
    pub(in crate::graph) line: Vec<u32>,
    /// How many passes each still waits for.
    missing: Vec<u32>,
    starts: Vec<u32>,
    after: Vec<u32>,
    /// Passes that may come now: on the graphics queue, and beside it.
    ready: BinaryHeap<Reverse<u32>>,
    beside: BinaryHeap<Reverse<u32>>,
    any: Vec<u32>,
}

impl Sort {
    /// Puts the passes that take part into a line.
    pub(in crate::graph) fn sort(
        &mut self,
        declaration: &Declaration,
        edges: &Edges,
        cull: &Cull,
        order: Order,
    ) -> Result<(), GraphError> {
        self.line.clear();
        let passes = declaration.passes.len();
        let alive = || (0..passes as u32).filter(|&pass| cull.is_alive[pass as usize]);
        let is_plain = edges.lanes.iter().all(|&lane| lane == Queue::Graphics as u8);
        if order == Order::Declared && is_plain && declaration.orders.is_empty() {
            self.line.extend(alive());
            return Ok(());
        }
        self.turn_round(edges, passes);
        self.ready.clear();
        self.beside.clear();
        self.any.clear();
        let mut state = match order {
            Order::Declared => None,
            Order::Random(seed) => Some(seed),
        };
        for pass in alive() {
            if self.missing[pass as usize] == 0 {
                self.put(pass, edges, state.is_some());
            }
        }
        while let Some(pass) = self.take(&mut state) {
            self.line.push(pass);
            for at in self.starts[pass as usize]..self.starts[pass as usize + 1] {
                let then = self.after[at as usize];
                self.missing[then as usize] -= 1;
                if self.missing[then as usize] == 0 {
                    self.put(then, edges, state.is_some());
                }
            }
        }
        if self.line.len() < alive().count() {
            return Err(self.cycle(declaration, edges));
        }
        Ok(())
    }

    /// Turns the edges round: who comes after whom.
    fn turn_round(&mut self, edges: &Edges, passes: usize) {
        self.missing.clear();
        self.starts.clear();
        self.starts.resize(passes + 1, 0);
        for pass in 0..passes as u32 {
            let before = edges.before(pass);
            self.missing.push(before.len() as u32);
            for &first in before {
                self.starts[first as usize] += 1;
            }
        }
        let mut sum = 0;
        for start in &mut self.starts {
            sum += *start;
            *start = sum;
        }
        self.after.clear();
        self.after.resize(sum as usize, 0);
        for pass in (0..passes as u32).rev() {
            for &first in edges.before(pass) {
                let start = &mut self.starts[first as usize];
                *start -= 1;
                self.after[*start as usize] = pass;
            }
        }
    }

    fn put(&mut self, pass: u32, edges: &Edges, is_random: bool) {
        if is_random {
            self.any.push(pass);
        } else if edges.lanes[pass as usize] == Queue::Graphics as u8 {
            self.ready.push(Reverse(pass));
        } else {
            self.beside.push(Reverse(pass));
        }
    }

    fn take(&mut self, state: &mut Option<u64>) -> Option<u32> {
        let Some(state) = state else {
            return self.beside.pop().or_else(|| self.ready.pop()).map(|Reverse(pass)| pass);
        };
        if self.any.is_empty() {
            return None;
        }
        // SplitMix64: one addition and a mix a number, and every seed is as good as another.
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let at = (mixed ^ (mixed >> 31)) % self.any.len() as u64;
        Some(self.any.swap_remove(at as usize))
    }

    /// Passes on a cycle: walking back from a pass that never became ready stays among such passes for ever.
    fn cycle(&self, declaration: &Declaration, edges: &Edges) -> GraphError {
        let name = |pass: u32| declaration.passes[pass as usize].name.to_string();
        let mut walk: Vec<u32> = Vec::new();
        let mut pass = self.missing.iter().position(|&missing| missing > 0).map(|pass| pass as u32);
        while let Some(at) = pass {
            if let Some(start) = walk.iter().position(|&seen| seen == at) {
                walk.drain(..start);
                walk.reverse();
                break;
            }
            walk.push(at);
            pass = edges.before(at).iter().copied().find(|&first| self.missing[first as usize] > 0);
        }
        walk.extend(walk.first().copied());
        GraphError::Cycle { passes: walk.into_iter().map(name).collect() }
    }
}
