//! Choosing a device by score, and saying why. Pure.

use std::fmt;

use ash::vk;
use serde::Serialize;

use super::capabilities::{Capabilities, DeviceType};
use super::queue_policy::{self, SparseQueuePolicy};

/// What is wanted of a device.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Part of the device's name, any case; `None` takes the best.
    pub name: Option<String>,
    /// The device must be able to present to a window.
    pub present: bool,
}

/// One device's row in the report.
#[derive(Debug, Clone, Serialize)]
pub struct Candidate {
    /// Device name.
    pub name: String,
    /// Driver name and version.
    pub driver: String,
    /// API version.
    pub api: String,
    /// Kind of device.
    #[serde(rename = "type")]
    pub device_type: DeviceType,
    /// Sparse tier, printed.
    pub sparse_tier: super::capabilities::SparseTier,
    /// `sparseBinding` with a queue for it.
    pub sparse_binding: bool,
    /// Whether it can run the engine.
    pub usable: bool,
    /// Points; the highest usable device is taken.
    pub score: u32,
    /// Why it was taken or refused.
    pub reasons: Vec<String>,
}

/// Every device that was seen, and the one taken.
#[derive(Debug, Clone, Serialize)]
pub struct DeviceReport {
    /// Index into `devices`.
    pub chosen: Option<usize>,
    /// In the loader's order.
    pub devices: Vec<Candidate>,
}

/// Scores every device and takes the best usable one; ties go to the first.
pub fn select(all: &[Capabilities], wanted: &Wanted) -> DeviceReport {
    let mut devices: Vec<Candidate> = all.iter().map(|c| judge(c, wanted)).collect();
    let best = devices.iter().filter(|d| d.usable).map(|d| d.score).max();
    let chosen = devices.iter().position(|d| d.usable && Some(d.score) == best);
    for (i, device) in devices.iter_mut().enumerate().filter(|(_, d)| d.usable) {
        device.reasons.insert(
            0,
            if Some(i) == chosen {
                format!("taken: score {}", device.score)
            } else {
                format!("usable, score {} is not the highest", device.score)
            },
        );
    }
    DeviceReport { chosen, devices }
}

fn judge(c: &Capabilities, wanted: &Wanted) -> Candidate {
    let mut refused = Vec::new();
    if c.api_version < vk::API_VERSION_1_3 {
        refused.push(format!("refused: Vulkan {} is older than 1.3", c.api));
    } else if !c.missing.is_empty() {
        refused.push(format!("refused: lacks {}", c.missing.join(", ")));
    }
    if let Some(name) = &wanted.name
        && !c.name.to_lowercase().contains(&name.to_lowercase())
    {
        refused.push(format!("refused: the name does not contain `{name}`"));
    }
    if wanted.present && !c.optional.swapchain {
        refused.push("refused: lacks VK_KHR_swapchain".into());
    }
    if let Err(why) = queue_policy::plan(c, SparseQueuePolicy::Auto) {
        refused.push(format!("refused: {why}"));
    }
    let kind = match c.device_type {
        DeviceType::Discrete => 4000,
        DeviceType::Integrated => 3000,
        DeviceType::Virtual => 2000,
        DeviceType::Cpu => 1000,
        DeviceType::Other => 500,
    };
    // Sparse binding is what this engine is for: it decides between devices of one kind, not across kinds.
    let sparse = if c.sparse.growable_buffers() { 500 } else { 0 };
    let memory =
        c.heaps.iter().filter(|h| h.device_local).map(|h| h.bytes >> 30).max().unwrap_or(0).min(400) as u32;
    let usable = refused.is_empty();
    let mut reasons = refused;
    if usable && !c.sparse.growable_buffers() {
        reasons.push("no sparse binding: buffers grow by recreate and copy".into());
    }
    Candidate {
        name: c.name.clone(),
        driver: c.driver.clone(),
        api: c.api.clone(),
        device_type: c.device_type,
        sparse_tier: c.sparse.tier(),
        sparse_binding: c.sparse.binding,
        usable,
        score: kind + sparse + memory,
        reasons,
    }
}

/// What people call a kind of device.
fn kind(device: DeviceType) -> &'static str {
    match device {
        DeviceType::Discrete => "graphics card",
        DeviceType::Integrated => "integrated",
        DeviceType::Virtual => "virtual",
        DeviceType::Cpu => "software",
        DeviceType::Other => "unknown",
    }
}

impl DeviceReport {
    /// The report as a table: a row a device, and under it a line for each reason.
    pub fn table(&self) -> String {
        if self.devices.is_empty() {
            return "no Vulkan device was found".into();
        }
        let head = ["", "device", "kind", "Vulkan", "sparse tier", "score", "driver"];
        let mut rows: Vec<[String; 7]> = vec![head.map(String::from)];
        rows.extend(self.devices.iter().enumerate().map(|(i, d)| {
            let mark = if Some(i) == self.chosen { "->" } else { "" };
            let (tier, score) = (d.sparse_tier.to_string(), d.score.to_string());
            [mark, &d.name, kind(d.device_type), &d.api, &tier, &score, &d.driver].map(String::from)
        }));
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: [usize; 7] = std::array::from_fn(width);
        let mut lines = Vec::new();
        for (i, row) in rows.iter().enumerate() {
            let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
            lines.push(cells.collect::<Vec<_>>().join("  ").trim_end().to_owned());
            let reasons = i.checked_sub(1).and_then(|i| self.devices.get(i)).map(|d| d.reasons.as_slice());
            lines.extend(reasons.unwrap_or_default().iter().map(|reason| format!("      {reason}")));
        }
        lines.join("\n")
    }
}

/// A line a device, for errors; people get the [table](DeviceReport::table).
impl fmt::Display for DeviceReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.devices.is_empty() {
            return write!(f, "no Vulkan device was found");
        }
        for (i, d) in self.devices.iter().enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            let mark = if Some(i) == self.chosen { "->" } else { "  " };
            write!(
                f,
                "{mark} {} [{:?}], {}, Vulkan {}, sparse tier {}: {}",
                d.name,
                d.device_type,
                d.driver,
                d.api,
                d.sparse_tier,
                d.reasons.join("; ")
            )?;
        }
        Ok(())
    }
}
