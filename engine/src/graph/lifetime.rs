//! From when to when the memory of a transient is taken, in places of the order.
//!
//! On one queue places say it all. Where a submission of another queue may run beside the last use, the lifetime goes on
//! to the end of the last such submission: whatever begins later comes after a semaphore. Looking forward is enough,
//! because of two uses that may run beside each other one stands first in the order.

use super::compiled::Lifetime;
use super::cull::Cull;
use super::declaration::{Declaration, Origin};
use super::order::{COMMIT, LANES, Submissions};

/// Where a resource is touched.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    /// First and last place.
    pub(super) first: u32,
    pub(super) last: u32,
    /// For each lane, one more than the last submission that touches it.
    pub(super) submissions: [u32; LANES],
    /// The last use in the order that is no commit: its place, and which use. `u32::MAX` if all are commits.
    pub(super) last_command: u32,
    pub(super) last_use: u32,
}

impl Span {
    const NEVER: Self =
        Self { first: u32::MAX, last: 0, submissions: [0; LANES], last_command: u32::MAX, last_use: 0 };

    /// Whether any pass touches it.
    pub(super) fn is_used(&self) -> bool {
        self.first != u32::MAX
    }
}

/// Lifetimes of resources.
#[derive(Debug, Default)]
pub(super) struct Lifetimes {
    /// Of every resource.
    pub(super) spans: Vec<Span>,
    /// Submissions of every lane.
    of_lane: [Vec<u32>; LANES],
    /// Of every submission: the last place that may run beside it or before its end.
    beside_until: Vec<u32>,
}

impl Lifetimes {
    /// Finds where every resource is touched.
    pub(super) fn find_spans(&mut self, declaration: &Declaration, cull: &Cull, submissions: &Submissions) {
        self.spans.clear();
        self.spans.resize(declaration.resources.len(), Span::NEVER);
        for (place, &pass) in submissions.order.iter().enumerate() {
            let submission = submissions.of_pass[pass as usize];
            let lane = submissions.cuts[submission as usize].lane;
            let uses = &declaration.passes[pass as usize].uses;
            for at in uses.start..uses.end {
                if cull.is_absent[at as usize] {
                    continue;
                }
                let span = &mut self.spans[declaration.uses[at as usize].resource.0 as usize];
                span.first = span.first.min(place as u32);
                span.last = place as u32;
                span.submissions[lane] = submission + 1;
                if lane != COMMIT {
                    (span.last_command, span.last_use) = (place as u32, at);
                }
            }
        }
    }

    /// Finds lifetimes and who is shared between queues. Without aliasing everything lives all the frame.
    pub(super) fn find(
        &mut self,
        declaration: &Declaration,
        submissions: &Submissions,
        aliasing: bool,
        lifetimes: &mut Vec<Option<Lifetime>>,
        is_shared: &mut Vec<bool>,
    ) {
        self.find_beside(submissions);
        lifetimes.clear();
        is_shared.clear();
        let end = (submissions.order.len() as u32).saturating_sub(1);
        for (resource, span) in declaration.resources.iter().zip(&self.spans) {
            let lanes = span.submissions[..COMMIT].iter().filter(|&&submission| submission > 0).count();
            is_shared.push(lanes > 1);
            lifetimes.push(match resource.origin {
                Origin::Transient { may_alias } if span.is_used() => Some(if may_alias && aliasing {
                    let until = span.submissions.iter().filter(|&&submission| submission > 0);
                    let until = until.map(|&submission| self.beside_until[submission as usize - 1]).max();
                    Lifetime { first: span.first, last: span.last.max(until.unwrap_or(0)) }
                } else {
                    Lifetime { first: 0, last: end }
                }),
                _ => None,
            });
        }
    }

    fn find_beside(&mut self, submissions: &Submissions) {
        let cuts = &submissions.cuts;
        for list in &mut self.of_lane {
            list.clear();
        }
        for (index, cut) in cuts.iter().enumerate() {
            self.of_lane[cut.lane].push(index as u32);
        }
        self.beside_until.clear();
        for (index, cut) in cuts.iter().enumerate() {
            let index = index as u32;
            let mut until = 0;
            for (_, list) in self.of_lane.iter().enumerate().filter(|&(lane, _)| lane != cut.lane) {
                // Clocks of a lane only move on, so those that do not know this submission stand first.
                let end = list.partition_point(|&other| cuts[other as usize].known[cut.lane] <= index);
                if let Some(&last) =
                    end.checked_sub(1).and_then(|last| list.get(last)).filter(|&&last| last > index)
                {
                    until = until.max(cuts[last as usize].end - 1);
                }
            }
            self.beside_until.push(until);
        }
    }
}
