//! Images that are streamed: the tiles that a view needs have memory, the others have only addresses.
//!
//! ```text
//! camera, plane --need (pure)--> TileRequest --TileStreamer (pure)--> StreamPlan
//!                                                                      |
//!     before the frame's flush     unmap, map ------------------------+
//!     after it                     TileSource fills the tiles that are mapped -> upload ring
//!     in the frame's commands      copies into the image, then the changed part of the residency map
//!     in shaders                   level = max(wished, residency map): never a tile that is not there
//! ```
//!
//! The residency map says that a tile is there once its texels are recorded before the draws that may read them, and
//! says that it is gone in the first frame whose flush takes its memory. Whatever fails on the way (no memory, a bind
//! that is refused, a frame that is not submitted) costs sharpness, never a wrong texel: what is not certain is not in
//! the map.
//!
//! Mips that are smaller than a tile along either axis are *pinned*: always there, and in no plan. Drivers with a mip
//! tail have them there anyway; where there is none they are mapped at the start. So the same requests give the same
//! plans on all drivers, with sparse binding and without.
//!
//! - `need.rs`: which tiles a view of a ground plane needs, and how much.
//! - `image.rs`: the image and its residency map; `frame.rs`: what happens in a frame; `tiling.rs`: its tiles as the
//!   streamer sees them. `source.rs`: where texels come from. `stats.rs`: numbers to look at.
//! - `ground.rs`: a plane with a streamed image, for the renderer.

mod error;
mod frame;
mod ground;
mod image;
pub mod need;
mod source;
mod stats;
#[cfg(test)]
mod tests;
mod tiling;

pub use error::{Error, Result};
pub use frame::StreamedImages;
pub use ground::{GroundDesc, GroundLook, StreamedGround};
pub use image::{StreamedImage, StreamedImageDesc};
pub use need::GroundPlane;
pub use source::TileSource;
pub use stats::ResidencyStats;
