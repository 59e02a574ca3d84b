//! Shared harness of the integration tests.
//!
//! The rings, one test binary each (see `tests/` beside this folder):
//!
//! | ring | what it needs | what it proves |
//! | --- | --- | --- |
//! | `layering` | nothing | the engine's source keeps its own rules |
//! | `null` | nothing | decisions about devices and queues, on invented devices |
//! | `driver` | any Vulkan 1.3 driver, software too | behaviour, by exact readback, with validation on |
//! | `gpu` | a real GPU | what a software driver hides |
//!
//! `driver` and `gpu` run twice, as they are and with `VASA_FALLBACK=1`. The environment they read is told in
//! [`settings`]. A test body runs inside [`on_device`], which opens a device of its own (so that messages and
//! object counts belong to that test alone) and checks at the end that validation had nothing to say and that
//! nothing leaked.

pub mod embedding;
pub mod ground;
pub mod growable;
pub mod harness;
pub mod hooks;
pub mod images;
pub mod injected;
pub mod invented;
pub mod labels;
pub mod paged;
pub mod pages;
pub mod pattern;
pub mod presents;
pub mod random;
pub mod scenes;
pub mod settings;
pub mod virtual_textures;
pub mod zoo;

pub use harness::{Harness, on_device};

/// One binary mebibyte.
pub const MIB: u64 = 1 << 20;
/// One tile of every driver seen so far; buffers are made of these.
pub const TILE: u64 = 64 << 10;
