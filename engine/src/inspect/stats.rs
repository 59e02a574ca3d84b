//! The engine's part of `stats.json`. A part of the engine that is not there yet or not used is `null`.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::graph::GraphStats;
use crate::sparse::SparseStats;
use crate::streaming::ResidencyStats;
use crate::vk::capabilities::DeviceType;
use crate::vk::{Device, OwnerBytes};
use crate::vt::VtStats;

/// The device.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeviceStats {
    /// Device name.
    pub name: String,
    /// Driver name and version.
    pub driver: String,
    /// API version.
    pub api: String,
    /// Kind of device.
    #[serde(rename = "type")]
    pub device_type: DeviceType,
    /// Sparse tier, as printed.
    pub sparse_tier: crate::vk::SparseTier,
    /// Names of the quirks that apply.
    pub quirks: Vec<String>,
}

impl DeviceStats {
    /// What there is to say of a device.
    pub fn of(device: &Device) -> Self {
        let c = device.capabilities();
        Self {
            name: c.name.clone(),
            driver: c.driver.clone(),
            api: c.api.clone(),
            device_type: c.device_type,
            sparse_tier: c.sparse.tier(),
            quirks: device.quirks().iter().map(|q| q.name.to_owned()).collect(),
        }
    }
}

/// GPU time of one pass over all frames, milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct PassMilliseconds {
    /// Median.
    pub median: f64,
    /// Largest.
    pub max: f64,
}

/// GPU times of passes as they come in, frame by frame. Keeps the last frames only.
#[derive(Debug, Clone, Default)]
pub struct PassTimes {
    samples: BTreeMap<&'static str, Vec<f64>>,
}

/// Frames that are remembered: enough for a steady median, and bounded.
const REMEMBERED: usize = 4096;

impl PassTimes {
    /// Adds one frame's times, in milliseconds.
    pub fn add(&mut self, times: &[(&'static str, f64)]) {
        for (name, milliseconds) in times {
            let samples = self.samples.entry(name).or_default();
            if samples.len() == REMEMBERED {
                samples.drain(..REMEMBERED / 2);
            }
            samples.push(*milliseconds);
        }
    }

    /// Times of each pass in the order in which they came, milliseconds. A frame gives one for each pass of that name.
    pub fn samples(&self) -> impl Iterator<Item = (&'static str, &[f64])> {
        self.samples.iter().map(|(name, samples)| (*name, samples.as_slice()))
    }

    /// Median and maximum of each pass.
    pub fn summary(&self) -> BTreeMap<String, PassMilliseconds> {
        let summarise = |samples: &Vec<f64>| {
            let mut sorted = samples.clone();
            sorted.sort_by(f64::total_cmp);
            PassMilliseconds {
                median: sorted.get(sorted.len() / 2).copied().unwrap_or_default(),
                max: sorted.last().copied().unwrap_or_default(),
            }
        };
        self.samples.iter().map(|(name, samples)| ((*name).to_owned(), summarise(samples))).collect()
    }
}

/// Memory, bytes.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct MemoryStats {
    /// What may be used of the heap that is nearest to its end.
    pub budget_bytes: u64,
    /// Of it: kept free.
    pub margin_bytes: u64,
    /// What is used of that heap, as the driver says or by own accounting.
    pub heap_usage_bytes: u64,
    /// Bytes this device's allocations hold.
    pub usage_bytes: u64,
    /// Largest `usage_bytes` so far.
    pub peak_usage_bytes: u64,
    /// Memory of one frame's transient resources.
    pub transient_bytes: Option<u64>,
    /// Its lower bound.
    pub transient_bound_bytes: Option<u64>,
    /// What it would be without sharing.
    pub transient_unaliased_bytes: Option<u64>,
    /// Step of the degrade ladder: 0 is the full picture.
    pub degrade_level: Option<u32>,
    /// Highest step so far.
    pub degrade_level_max: Option<u32>,
    /// The last step of the ladder, with the numbers that caused it.
    pub degrade_reason: Option<String>,
    /// Live bytes by owner, the largest first.
    pub owners: Vec<OwnerBytes>,
    /// Bytes written through the upload ring.
    pub upload_bytes: u64,
    /// Writes that did not fit into the upload ring.
    pub upload_overflows: u64,
}

/// The GPU scene.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct GpuSceneStats {
    /// Primitives in the scene.
    pub primitives: u64,
    /// Instances in the scene.
    pub instances: u64,
    /// Instances that the last finished frame drew.
    pub instances_drawn: u64,
    /// Triangles that the last finished frame drew.
    pub triangles_drawn: u64,
    /// Bytes uploaded so far.
    pub uploaded_bytes: u64,
    /// Terrain chunks with vertices.
    pub terrain_chunks: u64,
    /// Rocks among the instances.
    pub rocks: u64,
}

/// Vulkan objects.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ObjectStats {
    /// Made in the last 100 frames.
    pub created_last_100_frames: u64,
    /// Alive.
    pub live: u64,
}

/// Everything the engine knows of itself.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Stats {
    /// The device.
    pub device: DeviceStats,
    /// GPU time of each pass.
    pub gpu_ms: BTreeMap<String, PassMilliseconds>,
    /// Reserved resources.
    pub sparse: SparseStats,
    /// The frame graph's last frame.
    pub graph: GraphStats,
    /// Memory.
    pub memory: MemoryStats,
    /// The GPU scene.
    pub gpu_scene: GpuSceneStats,
    /// The streamed image of the ground plane; `null` without one.
    pub residency: Option<ResidencyStats>,
    /// Geometry streaming: not there yet.
    pub streaming: Option<()>,
    /// Virtual shadow maps: not there yet.
    pub shadow: Option<()>,
    /// Volumes: not there yet.
    pub volume: Option<()>,
    /// Virtual textures; `null` without them.
    pub vt: Option<VtStats>,
    /// Vulkan objects.
    pub objects: ObjectStats,
    /// Errors and validation warnings.
    pub validation_messages: u64,
    /// Reports of the page-table checker; `null` where it is off.
    pub checker_messages: Option<u64>,
}
