//! The runtime virtual texture: pages are drawn, from above, with everything that is registered to the texture.
//!
//! ```text
//! Registry: textures (box, pages, kinds)   writers (terrain, ribbons, decals, meshes; order, attributes, levels)
//!    |  take_invalidations: old and new footprints of what changed -> the planner
//!    |  RuntimeProducer: can this page be drawn now? <- the planner
//!    v
//! FramePlan.pages --batches (8 pages, one target)--> PageCamera + visible writers --PageDraws--> RenderTexture0/1/2
//!                                                                                    array layers, to be compressed
//! ```
//!
//! A coarse page is drawn anew over a larger area, never filtered down from finer ones: materials choose their own mips
//! by the page's derivatives. Attributes are blended by premultiplied *over*, each through its own channels
//! ([`Kind::write_masks`]), so that a decal may change normals and leave the colour.
//!
//! - `kind.rs`: layers, targets and write masks. `volume.rs`: the box and the page camera. `footprint.rs`: what lies where.
//! - `writer.rs`, `registry.rs`, `cull.rs`, `batch.rs`, `producer.rs`: who draws what where, decided without Vulkan.
//! - `inputs.rs`: how good what pages are drawn from is, and which are drawn again when it becomes better.
//! - `pattern.rs`: the calibration pattern's twin. `draw/`: recording.

mod batch;
mod cull;
mod draw;
mod error;
mod footprint;
mod inputs;
mod kind;
pub mod pattern;
mod producer;
mod registry;
#[cfg(test)]
mod tests;
mod volume;
mod writer;

pub use crate::vt::Kind;
pub use batch::{BATCH_PAGES, batches};
pub use cull::{Verdict, explain, verdict, visible};
pub use draw::{BatchTarget, BatchTargets, ImportedTargets, PageKnot, PagePush, PageRenderer, PageWriter};
pub use error::{Result, RuntimeError};
pub use footprint::{Footprint, Rectangle};
pub use inputs::{Inputs, Sharpened};
pub use kind::{Attributes, Channels, KindOptions, MOST_TARGETS, TargetFormat};
pub use producer::RuntimeProducer;
pub use registry::{Happened, Invalidation, Registry, RuntimeTexture, Writer, WriterId};
pub use volume::{PageCamera, PageShape, Volume};
pub use writer::{Look, MainPass, Paint, RibbonKnot, Shape, StampImage, WriterDesc, WritesTo};
