//! Who owns bytes that change every frame: the upload ring, over a pure planner.
//!
//! The static heap and raw chunks are the Vulkan floor's (`vk::memory`, the one choke point for device
//! memory); reserved memory is `sparse`'s. Here is what streams through host-visible memory:
//!
//! ```text
//! write(bytes) -> RingPlanner (pure: where) -> mapped buffer (lowering) -> slot + offset for shaders and copies
//! finish(value) closes a frame; reclaim(completed) gives its space back
//! ```

pub mod ring;
pub mod staging;
mod upload;

pub use upload::{Upload, UploadRing};
