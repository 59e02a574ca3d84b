//! The Vulkan floor, and the only home of `unsafe`.

pub mod layout;
pub mod shader;
