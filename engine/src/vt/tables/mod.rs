//! Page tables on the GPU: images of entries, and the pass that paints what the planner changed.
//!
//! ```text
//! FramePlan::updates --prepare--> quads in upload memory, one draw a (space, image, mip, channel)
//!                                     |
//! VirtualTextureAllocate (new images are cleared) -> VirtualTexturePageTableUpdates -> passes that sample
//! ```
//!
//! A space has an image for every four channels, with a mip for every level. Each channel is written alone, through the
//! write mask of its pipeline, so that groups of layers that map other pages share an image. All draws are one pass of the
//! graph: barriers stand before the first and after the last. `twin.rs` does the same on the host.

mod desc;
mod error;
mod images;
mod jobs;
mod twin;
mod updates;

pub use desc::{MOST_CHANNELS, PageTableDesc, PageTablePush, PageTableQuad};
pub use error::{TableError, TableResult};
pub use twin::TableTwin;
pub use updates::{PageTableInfo, PageTables, TableHandles};
