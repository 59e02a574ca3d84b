//! The `driver` ring: behaviour on a real Vulkan driver, by exact readback, with validation on.
//!
//! Every test runs as it is and with `VASA_FALLBACK=1`. Where something exists only with sparse binding, the
//! fallback's equivalent is checked instead.

mod batching;
mod cache;
mod chunks;
mod contents;
mod embedding;
mod faults;
mod frames;
mod golden;
mod growth;
mod lifetime;
mod limits;
mod ordering;
mod pipelines;
mod present;
mod residency;
mod scene;
mod statistics;
mod terrain;
