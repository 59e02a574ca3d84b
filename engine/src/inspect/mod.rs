//! Every number one can see, with the names of `stats.json`. Reads all rooms; nobody reads it but the facade.

mod stats;

pub use stats::{DeviceStats, GpuSceneStats, MemoryStats, ObjectStats, PassMilliseconds, PassTimes, Stats};
