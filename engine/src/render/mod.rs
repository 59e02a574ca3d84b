//! The frame itself; [`Renderer::declare`] reads like a table of contents.
//!
//! ```text
//! Scene (prepared) -> constants -> culling -> depth pre-pass -> sky -> base pass -> temporal -> tone map -> output image
//!                                                   |                    ^             |            ^
//!                                                   +-> ambient occlusion +            +-> bloom ---+
//!                                                       (compute)                      +-> exposure + (compute)
//! ```
//!
//! Each pass binds exactly what it reads and writes (`vk::pass_bindings`); what is the same for a whole frame lies in
//! one small buffer of constants.

mod ambient_occlusion;
mod base;
mod bloom;
mod constants;
mod culling;
mod depth;
mod edge_blend;
mod error;
mod exposure;
mod ground;
mod inset;
mod options;
mod quality;
mod renderer;
mod sampling;
mod screen;
mod sky;
mod targets;
mod temporal;
mod tone_map;
mod view;
mod virtual_ground;

#[cfg(test)]
mod tests;

pub use ambient_occlusion::AmbientOcclusionPush;
pub use base::BasePush;
pub use bloom::BloomPush;
pub use constants::FrameConstants;
pub use culling::{CullPush, Culled};
pub use edge_blend::EdgeBlendPush;
pub use error::{Error, Result};
pub use exposure::{ExposurePush, ExposureState};
pub use ground::GroundPush;
pub use options::{GroundShading, RenderOptions, Switch};
pub use quality::{Effects, Quality, target_bytes};
pub use renderer::{FrameTarget, Renderer, Updated, World};
pub use sky::SkyPush;
pub use temporal::TemporalPush;
pub use tone_map::ToneMapPush;
pub use view::{Atmosphere, View};
