//! Reserved resources: address space first, memory when it is needed.
pub mod watermark;
