//! The Vulkan floor, and the only home of `unsafe`.
