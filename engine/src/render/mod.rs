//! The frame itself; [`Renderer::declare`] reads like a table of contents.
//!
//! ```text
//! Scene (prepared) -> constants -> culling -> base pass + ground + sky -> tone map -> edge blend -> output image
//! ```
//!
//! Each pass binds exactly what it reads and writes (`vk::pass_bindings`); what is the same for a whole frame lies in
//! one small buffer of constants.

mod base;
mod constants;
mod culling;
mod edge_blend;
mod error;
mod ground;
mod inset;
mod quality;
mod renderer;
mod targets;
mod tone_map;
mod view;

#[cfg(test)]
mod tests;

pub use base::BasePush;
pub use constants::FrameConstants;
pub use culling::{CullPush, Culled};
pub use edge_blend::EdgeBlendPush;
pub use error::{Error, Result};
pub use ground::GroundPush;
pub use quality::{Effects, Quality, target_bytes};
pub use renderer::{FrameTarget, RenderOptions, Renderer, Updated, World};
pub use tone_map::ToneMapPush;
pub use view::{Atmosphere, View};
