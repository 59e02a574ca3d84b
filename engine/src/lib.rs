//! Vasa (virtual addresses, sparse allocation): a Vulkan renderer engine built on sparse binding.
//!
//! Layers only look down; a test in `tests/` keeps it so:
//!
//! ```text
//! vk < memory < sparse < graph < scene < {streaming, vt, shadow, volume} < render < engine
//! ```
//!
//! [`inspect`] reads all of them and nobody reads it.

mod engine;
mod error;
mod frame;
pub mod graph;
pub mod inspect;
pub mod memory;
mod pressure;
mod recovery;
#[cfg(feature = "hot-reload")]
mod reload;
pub mod render;
pub mod scene;
pub mod sparse;
pub mod streaming;
pub mod vk;
pub mod vt;

pub use ash;
pub use engine::{Engine, EngineOptions, FrameReport, Overlay, PresentTarget, default_cache_folder};
pub use error::{Error, Result};
pub use recovery::{AfterLoss, OnDeviceLost, Recovery};
