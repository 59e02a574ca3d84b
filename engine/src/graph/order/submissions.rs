//! Cuts a line of passes into submissions and finds who waits for whom.
//!
//! The graphics queue has one submission open; others have one open while their passes follow each other in line. It is
//! closed when a pass of another queue needs something of it, and when its own next pass needs a moment that its passes
//! so far do not wait for. Closed submissions are numbered in that order,
//! so a wait always looks back.

use super::{COMMIT, Edges, LANES};

/// For each lane, one more than the newest submission known to be over.
pub(in crate::graph) type Clock = [u32; LANES];

const OPEN: u32 = u32::MAX;

/// A closed submission.
#[derive(Debug, Clone, Copy)]
pub(in crate::graph) struct Cut {
    /// The lane.
    pub(in crate::graph) lane: usize,
    /// Places of its passes.
    pub(in crate::graph) first: u32,
    pub(in crate::graph) end: u32,
    /// What it waits for.
    pub(in crate::graph) waits: Clock,
    /// What is over when it begins; its own lane counts itself.
    pub(in crate::graph) known: Clock,
}

/// Submissions in the order in which they are made.
#[derive(Debug, Default)]
pub(in crate::graph) struct Submissions {
    /// Passes in their final order.
    pub(in crate::graph) order: Vec<u32>,
    /// The submissions.
    pub(in crate::graph) cuts: Vec<Cut>,
    /// Of every pass: its submission.
    pub(in crate::graph) of_pass: Vec<u32>,
    open: [Vec<u32>; LANES],
    /// Place in line of the first pass of an open submission.
    opened: [usize; LANES],
    known: [Clock; LANES],
    waits: [Clock; LANES],
}

impl Submissions {
    /// Cuts a line.
    pub(in crate::graph) fn cut(&mut self, line: &[u32], edges: &Edges, passes: usize) {
        self.order.clear();
        self.cuts.clear();
        self.of_pass.clear();
        self.of_pass.resize(passes, OPEN);
        (self.known, self.waits) = ([Clock::default(); LANES], [Clock::default(); LANES]);
        for open in &mut self.open {
            open.clear();
        }
        for (place, &pass) in line.iter().enumerate() {
            self.add(place, pass, edges);
        }
        self.close_all();
    }

    fn add(&mut self, place: usize, pass: u32, edges: &Edges) {
        let lane = edges.lanes[pass as usize] as usize;
        if lane == COMMIT {
            self.close_all();
        }
        // Work beside rendering goes out as soon as its run in line ends: what lives there is then known to run beside
        // what comes after, and not beside the whole frame.
        for other in (1..LANES).filter(|&other| other != lane) {
            self.close(other);
        }
        let mut needs = Clock::default();
        for &first in edges.before(pass) {
            let other = edges.lanes[first as usize] as usize;
            if other == lane && lane != COMMIT {
                continue;
            }
            if self.of_pass[first as usize] == OPEN {
                self.close(other);
            }
            needs[other] = needs[other].max(self.of_pass[first as usize] + 1);
        }
        if lane == COMMIT {
            // Binds of one queue may overtake each other: they stand in line.
            needs[COMMIT] = self.known[COMMIT][COMMIT];
        }
        self.wait(lane, needs);
        if self.open[lane].is_empty() {
            self.opened[lane] = place;
        }
        self.open[lane].push(pass);
        if lane == COMMIT {
            self.close(COMMIT);
        }
    }

    /// Makes the open submission of a lane wait, and cuts before where it does not yet.
    fn wait(&mut self, lane: usize, mut needs: Clock) {
        let known = self.known[lane];
        for other in 0..LANES {
            let is_waited = known[other] >= needs[other] && !(lane == COMMIT && other == COMMIT);
            if is_waited {
                needs[other] = 0;
            }
        }
        if needs == Clock::default() {
            return;
        }
        self.close(lane);
        let full = needs;
        for (other, need) in needs.iter_mut().enumerate() {
            let is_implied = (0..LANES)
                .filter(|&third| third != other && full[third] > 0)
                .any(|third| self.cuts[full[third] as usize - 1].known[other] >= *need);
            if is_implied {
                *need = 0;
            }
        }
        for need in full.into_iter().filter(|&need| need > 0) {
            let over = self.cuts[need as usize - 1].known;
            for (known, over) in self.known[lane].iter_mut().zip(over) {
                *known = over.max(*known);
            }
        }
        self.waits[lane] = needs;
    }

    fn close(&mut self, lane: usize) {
        if self.open[lane].is_empty() {
            return;
        }
        let index = self.cuts.len() as u32;
        let first = self.order.len() as u32;
        for &pass in &self.open[lane] {
            self.of_pass[pass as usize] = index;
        }
        self.order.append(&mut self.open[lane]);
        self.known[lane][lane] = index + 1;
        let (waits, known) = (std::mem::take(&mut self.waits[lane]), self.known[lane]);
        self.cuts.push(Cut { lane, first, end: self.order.len() as u32, waits, known });
    }

    /// Closes what is open, what was opened first first.
    fn close_all(&mut self) {
        while let Some(lane) =
            (0..LANES).filter(|&lane| !self.open[lane].is_empty()).min_by_key(|&lane| self.opened[lane])
        {
            self.close(lane);
        }
    }
}
