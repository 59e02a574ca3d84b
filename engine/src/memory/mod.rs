//! Who owns bytes: the ring of bytes that change every frame, and the budget that everything has to fit into.
//!
//! The static heap and raw chunks are the Vulkan floor's (`vk::memory`, the one choke point for device
//! memory); reserved memory is `sparse`'s. Here is what streams through host-visible memory:
//!
//! ```text
//! write(bytes) -> RingPlanner (pure: where) -> mapped buffer (lowering) -> slot + offset for shaders and copies
//! finish(value) closes a frame; reclaim(completed) gives its space back
//! ```
//!
//! and who has to give up what when memory is short, all of it pure:
//!
//! ```text
//! BudgetSource -> BudgetTracker: room -> Residents: who leaves, past the timeline
//!                                     -> Ladder of Rungs: a step down, or up again      (`ResidencyManager` ties them)
//! ```
//!
//! The Vulkan half is below: [`Device::trim`](crate::vk::Device::trim) asks every registered [`Reclaim`] at an
//! allocation that is refused, and [`DeviceBudget`] reads a device's budget.

pub mod budget;
mod device_budget;
mod dial;
pub mod ladder;
mod load;
mod manager;
pub mod residency;
pub mod ring;
pub mod staging;
mod upload;

#[cfg(test)]
mod budget_tests;
#[cfg(test)]
mod ladder_tests;
#[cfg(test)]
mod manager_tests;
#[cfg(test)]
mod residency_tests;

pub use crate::vk::Reclaim;
pub use budget::{BudgetKnobs, BudgetSource, HeapKind, HeapReading, HeapState};
pub use device_budget::DeviceBudget;
pub use dial::{Dial, DialRung};
pub use ladder::{Ladder, LadderKnobs, Rung, RungId, Sacrifice};
pub use load::{Load, Step, Why};
pub use manager::{ResidencyKnobs, ResidencyManager, Tick};
pub use residency::{EvictionPlan, Priority, Resident, ResidentId, Use};
pub use upload::{Upload, UploadRing};
