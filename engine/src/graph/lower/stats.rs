//! What the graph knows of the last frame.

use std::fmt;

use serde::Serialize;

use crate::graph::Compiled;

/// The last frame, in numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct GraphStats {
    /// Passes that took part.
    pub passes: u64,
    /// Passes that did not.
    pub culled: u64,
    /// Submissions, commits included.
    pub submissions: u64,
    /// Barriers.
    pub barriers: u64,
    /// Calls that recorded them.
    pub barrier_calls: u64,
    /// Transient resources.
    pub transients: u64,
    /// Memory that they share, bytes.
    pub transient_bytes: u64,
    /// Lower bound: the most that is alive at one moment, bytes.
    pub transient_bound_bytes: u64,
    /// What they would take without sharing, bytes.
    pub transient_unaliased_bytes: u64,
    /// Memory of the transients of all frames in flight, as allocated, bytes.
    pub heap_bytes: u64,
    /// Frames compiled so far.
    pub compiles: u64,
    /// Frames so far that were found compiled.
    pub compile_hits: u64,
}

impl GraphStats {
    pub(super) fn of(compiled: &Compiled) -> Self {
        let calls = compiled.order.iter().filter(|pass| !pass.barriers.is_empty()).count()
            + compiled.submissions.iter().filter(|s| !s.barriers_after.is_empty()).count();
        let sum = |of: fn(&crate::graph::HeapPlan) -> u64| compiled.heaps.iter().map(of).sum();
        Self {
            passes: compiled.order.len() as u64,
            culled: compiled.culled.len() as u64,
            submissions: compiled.submissions.len() as u64,
            barriers: compiled.barriers.len() as u64,
            barrier_calls: calls as u64,
            transients: compiled.placements.iter().flatten().count() as u64,
            transient_bytes: sum(|heap| heap.bytes),
            transient_bound_bytes: sum(|heap| heap.bound),
            transient_unaliased_bytes: sum(|heap| heap.unaliased),
            ..Self::default()
        }
    }
}

impl fmt::Display for GraphStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        let share = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
        writeln!(
            f,
            "{} passes ({} culled) in {} submissions, {} barriers in {} calls",
            self.passes, self.culled, self.submissions, self.barriers, self.barrier_calls
        )?;
        writeln!(
            f,
            "{} transients in {:.2} MiB a frame: {:.3} of the bound ({:.2} MiB), {:.2} of what they take apart ({:.2} MiB)",
            self.transients,
            mib(self.transient_bytes),
            share(self.transient_bytes, self.transient_bound_bytes),
            mib(self.transient_bound_bytes),
            share(self.transient_bytes, self.transient_unaliased_bytes),
            mib(self.transient_unaliased_bytes),
        )?;
        write!(
            f,
            "heaps of all frames in flight: {:.2} MiB; {} frames compiled, {} found compiled",
            mib(self.heap_bytes),
            self.compiles,
            self.compile_hits
        )
    }
}
