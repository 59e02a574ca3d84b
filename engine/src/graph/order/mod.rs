//! A legal order of the passes, cut into submissions.
//!
//! ```text
//! uses --edges--> who has to come before whom --sort--> one line of passes --submissions--> batches, a queue each
//! ```

mod edges;
mod sort;
mod submissions;

pub(super) use edges::Edges;
pub(super) use sort::Sort;
pub(super) use submissions::Submissions;

use super::compile::Queues;
use super::declaration::Queue;

/// Number of queue kinds.
pub(super) const LANES: usize = 4;
/// The lane of sparse binds.
pub(super) const COMMIT: usize = Queue::Commit as usize;

/// The queue that takes a pass: graphics where there is none of the kind it asks for. Binds are no commands, so commits
/// keep a lane of their own.
pub(super) fn lane(queue: Queue, queues: Queues) -> usize {
    let has = match queue {
        Queue::Graphics | Queue::Commit => true,
        Queue::Compute => queues.compute,
        Queue::Transfer => queues.transfer,
    };
    if has { queue as usize } else { Queue::Graphics as usize }
}

/// The queue of a lane.
pub(super) fn queue(lane: usize) -> Queue {
    [Queue::Graphics, Queue::Compute, Queue::Transfer, Queue::Commit][lane.min(COMMIT)]
}
