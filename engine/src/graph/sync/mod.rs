//! Barriers and what submissions wait for, by cell.
//!
//! ```text
//! order + placements --> for every use: what was done to the cell since? --> barrier before the pass
//!                                                                        --> or nothing: a semaphore covers it
//!                                                                        --> or an earlier barrier covers one reader more
//! ```
//!
//! A semaphore covers everything a queue did before, at all stages and with its memory; a barrier is needed then only
//! for a change of layout, and comes after `ALL_COMMANDS`, where submissions wait.

mod cell;
mod memory;
mod walk;

#[cfg(test)]
pub(super) use cell::WRITES;
pub(super) use walk::{Found, Sync};
