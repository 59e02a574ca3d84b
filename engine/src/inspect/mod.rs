//! Every number one can see, with the names of `stats.json`. Reads all rooms; nobody reads it but the facade.

mod pressure_chart;
mod stats;
pub mod virtual_textures;

pub use pressure_chart::{Chart, PressureSample, pressure_chart};
pub use stats::{DeviceStats, GpuSceneStats, MemoryStats, ObjectStats, PassMilliseconds, PassTimes, Stats};
