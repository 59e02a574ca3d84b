//! The Vulkan floor, and the only home of `unsafe`.

pub mod layout;
#[cfg(any(test, feature = "null-driver"))]
pub mod null;
pub mod shader;
