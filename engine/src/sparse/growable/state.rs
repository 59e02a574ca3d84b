//! What statistics, roll-backs and the worker see of a growable buffer.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use crate::sparse::chunk::Chunk;
use crate::sparse::resource::Resource;
use crate::sparse::stats::ResourceStats;
use crate::sparse::watermark::{Sizes, Watermark};
use crate::vk::{Device, Point};

/// The state, and a way to wait until the worker has put down what it carries.
#[derive(Debug)]
pub(in crate::sparse) struct Backing {
    state: Mutex<State>,
    settled: Condvar,
}

#[derive(Debug)]
pub(in crate::sparse) struct State {
    id: u64,
    pub(in crate::sparse) name: String,
    kind: &'static str,
    pub(in crate::sparse) watermark: Watermark,
    pub(in crate::sparse) chunks: Vec<Arc<Chunk>>,
    pub(super) requested: u64,
    fallback: bool,
    pub(super) grows: u64,
    pub(super) shrinks: u64,
    pub(super) waited: u64,
    pub(super) last_commit_ns: u64,
    /// What is bound, while a commit waits for the next flush.
    pub(super) bound: Option<Bound>,
    pub(in crate::sparse) ahead: Ahead,
}

/// The state that the page table is in.
#[derive(Debug, Clone)]
pub(super) struct Bound {
    pub(super) watermark: Watermark,
    pub(super) chunks: Vec<Arc<Chunk>>,
    /// The lowest line, in tiles, since the last flush: what lies past it is new to the caller.
    pub(super) lowest_tiles: u64,
    /// The line up to which new bytes were cleared.
    pub(super) cleared_tiles: u64,
}

/// What is committed ahead of need.
#[derive(Debug, Default)]
pub(in crate::sparse) struct Ahead {
    /// The line that the worker should reach, in tiles; 0 when it has nothing to do.
    pub(in crate::sparse) wanted_tiles: u64,
    /// The frame in which it was asked for.
    pub(in crate::sparse) asked_in: u64,
    /// The worker is at it: the watermark must not move elsewhere.
    pub(in crate::sparse) in_flight: bool,
    /// Somebody waits until the worker has put it down.
    pub(in crate::sparse) is_awaited: bool,
    /// What the worker bound and when it can be used. Ascending.
    pub(in crate::sparse) ready: VecDeque<Ready>,
    /// Frames that the last one took, from asking to binding.
    pub(in crate::sparse) took_frames: Option<u64>,
    /// Nothing is tried before this frame: there was no memory.
    pub(in crate::sparse) not_before: u64,
    pub(in crate::sparse) binds: u64,
    /// The line, in tiles, up to which new bytes were cleared (buffers that promise zeros).
    pub(in crate::sparse) cleared_tiles: u64,
}

/// Tiles from `from_tiles` on that were bound ahead of need.
#[derive(Debug, Clone, Copy)]
pub(in crate::sparse) struct Ready {
    pub(in crate::sparse) from_tiles: u64,
    pub(in crate::sparse) point: Point,
}

impl Ahead {
    /// The moment that a user of the first `tiles` tiles waits for, if it was not seen reached.
    pub(super) fn wait_for(&mut self, tiles: u64, device: &Device) -> Option<Point> {
        // A lost device is noticed by the next call that can say so.
        while self.ready.front().is_some_and(|ready| device.reached(ready.point).unwrap_or(true)) {
            self.ready.pop_front();
        }
        self.ready.iter().rev().find(|ready| ready.from_tiles < tiles).map(|ready| ready.point)
    }
}

impl State {
    pub(super) fn new(id: u64, name: &str, kind: &'static str, watermark: Watermark, fallback: bool) -> Self {
        Self {
            id,
            name: name.into(),
            kind,
            watermark,
            chunks: Vec::new(),
            requested: 0,
            fallback,
            grows: 0,
            shrinks: 0,
            waited: 0,
            last_commit_ns: 0,
            bound: None,
            ahead: Ahead::default(),
        }
    }

    pub(super) fn sizes(&self) -> Sizes {
        let mut sizes = self.watermark.sizes(self.requested);
        if self.fallback {
            // One buffer of exactly the committed size, and no slack.
            sizes.slack = 0;
            sizes.physical = sizes.committed;
            sizes.chunks = u64::from(sizes.committed > 0);
        }
        sizes
    }
}

impl Backing {
    pub(super) fn new(state: State) -> Self {
        Self { state: Mutex::new(state), settled: Condvar::new() }
    }

    pub(in crate::sparse) fn state(&self) -> MutexGuard<'_, State> {
        // Every change to the state is one assignment of finished values.
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The worker has put down what it carried.
    pub(in crate::sparse) fn settle(&self) {
        self.settled.notify_all();
    }

    /// Nothing is committed ahead from now on, until asked for again; waits for what is under way.
    pub(super) fn stop_ahead(&self) {
        let mut state = self.state();
        state.ahead.wanted_tiles = 0;
        while state.ahead.in_flight {
            state.ahead.is_awaited = true;
            state = self.settled.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
    }
}

impl Resource for Backing {
    fn id(&self) -> u64 {
        self.state().id
    }

    fn name(&self) -> String {
        self.state().name.clone()
    }

    fn numbers(&self) -> ResourceStats {
        let state = self.state();
        let sizes = state.sizes();
        ResourceStats {
            id: state.id,
            kind: state.kind,
            reserved_bytes: sizes.reserved,
            requested_bytes: sizes.requested,
            committed_bytes: sizes.committed,
            uncommitted_bytes: sizes.uncommitted,
            physical_bytes: sizes.physical,
            chunks: sizes.chunks,
            grows: state.grows,
            shrinks: state.shrinks,
            waited: state.waited,
            binds_ahead: state.ahead.binds,
            last_commit_ns: state.last_commit_ns,
            ..Default::default()
        }
    }

    fn bound(&self) {
        self.state().bound = None;
    }

    fn roll_back(&self) {
        let mut state = self.state();
        if let Some(Bound { watermark, chunks, cleared_tiles, .. }) = state.bound.take() {
            state.watermark = watermark;
            state.chunks = chunks;
            state.ahead.cleared_tiles = cleared_tiles;
            state.requested = state.requested.min(state.watermark.committed_bytes());
        }
    }
}
