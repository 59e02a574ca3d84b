//! The tiles of partially resident images: where they are, which a shader may read, which to map next.
//!
//! ```text
//! driver's numbers --ImageTiling--> TileLayout      tile index <-> (layer, mip, x, y, z), tails, regions
//!                                     |
//! requests (tile, priority) --> TileStreamer --> StreamPlan (map, unmap) --(executor binds)--+
//!                                     ^                                                      |
//!                                     +------- failed(tiles): no memory for these <----------+
//!                                     |
//!                      is_mapped --> ResidencyMap --> one byte a mip-0 tile: shaders clamp their LOD with it
//! ```
//!
//! Everything here is pure: no Vulkan call, no clock, no memory. A tile is the unit that a driver maps (64
//! KiB on desktop drivers), its shape in texels is the *granularity* that the driver reports for the format.
//!
//! What never leaves: the mip tail, or the last mip where a driver reports no tail. [`TileLayout::floor_lod`]
//! names the first mip that is always there. It is mapped once, when the image is made
//! ([`TileLayout::tails`], [`TileLayout::floor_tiles`]), and is neither in the streamer's budget nor in its
//! plans. So there is always something to read, and the residency map has an upper bound.
//!
//! Two relations hold the rest up. A tile's *parents* are the tiles of the next coarser mip that cover the
//! same part of the image: one as a rule, up to two an axis where an extent is no power of two. The streamer
//! keeps the set of mapped tiles closed under them, so that the residency map never finds a hole above a
//! mapped tile.
//!
//! - `tiling.rs`: the driver's numbers and what is refused. `layout.rs`: the linear order of tiles.
//!   `relations.rs`: parents and children.
//! - `residency.rs`: the residency map, and why it is safe to filter with.
//! - `streamer.rs`: the planner of mip streaming. `ranking.rs`: who goes first, who stays longest.
//!   `plan.rs`: its plans with their reasons. `table.rs`: a table by tile index.

mod error;
mod layout;
mod plan;
mod ranking;
mod relations;
mod residency;
mod streamer;
mod table;
#[cfg(test)]
mod tests;
mod tiling;

pub use error::TileError;
pub use layout::{TailRange, TexelRegion, TileCoord, TileLayout, TileLocation};
pub use plan::{DeferReason, MapReason, StreamPlan, UnmapReason};
pub use relations::TileBlock;
pub use residency::ResidencyMap;
pub use streamer::{StreamerKnobs, TileRequest, TileStreamer};
pub use tiling::{ImageTiling, MipTail, granularity_in_texels};
