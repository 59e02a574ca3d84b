//! Driver faults as data: what is wrong, why we think so, and the switch that works around it.
//!
//! The table is applied once, when a device is opened, and shown in the device report.

use ash::vk;
use serde::Serialize;

use super::capabilities::Capabilities;

/// A switch that a quirk turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub enum Switch {
    /// Never unbind with a null memory handle: leave tiles bound to their old chunk until rebound.
    NoNullUnbind,
    /// Bind every tile by itself: runs of tiles are not merged into one range.
    NoMergedBinds,
    /// `textureSampleGrad` ignores anisotropy: take several taps by hand where it matters.
    NoAnisotropicGradients,
    /// Partly bound memory hides missing binds: readback through the resource itself proves nothing.
    UnboundMemoryStores,
    /// The memory budget extension does not count untouched pages: rely on own accounting.
    BudgetCountsTouchedPages,
}

/// One known fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Quirk {
    /// Short name, stable.
    pub name: &'static str,
    /// What is wrong.
    pub reason: &'static str,
    /// Where it is described.
    pub link: &'static str,
    /// What it turns.
    pub switch: Switch,
    #[serde(skip)]
    driver: vk::DriverId,
    #[serde(skip)]
    on: bool,
}

const TABLE: &[Quirk] = &[
    Quirk {
        name: "amd-null-unbind",
        reason: "unbinding sparse memory with a null handle has hung some AMD drivers on Windows",
        link: "docs/decisions/0005-quirks.md",
        switch: Switch::NoNullUnbind,
        driver: vk::DriverId::AMD_PROPRIETARY,
        on: cfg!(windows),
    },
    Quirk {
        name: "lavapipe-anisotropic-gradients",
        reason: "textureSampleGrad ignores the sampler's anisotropy",
        link: "docs/decisions/0005-quirks.md",
        switch: Switch::NoAnisotropicGradients,
        driver: vk::DriverId::MESA_LLVMPIPE,
        on: true,
    },
    Quirk {
        name: "lavapipe-unbound-stores",
        reason: "memory that was never bound still stores what is written, so binds are proven through a second buffer",
        link: "docs/decisions/0005-quirks.md",
        switch: Switch::UnboundMemoryStores,
        driver: vk::DriverId::MESA_LLVMPIPE,
        on: true,
    },
    Quirk {
        name: "lavapipe-budget",
        reason: "VK_EXT_memory_budget counts only touched pages and nothing is enforced",
        link: "docs/decisions/0005-quirks.md",
        switch: Switch::BudgetCountsTouchedPages,
        driver: vk::DriverId::MESA_LLVMPIPE,
        on: true,
    },
];

/// The quirks of one device.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Quirks {
    list: Vec<Quirk>,
    forced: Vec<Switch>,
}

impl Quirks {
    /// The rows of the table that apply to a device, and switches that are turned whatever the table says.
    pub fn of(capabilities: &Capabilities, forced: &[Switch]) -> Self {
        let list =
            TABLE.iter().filter(|q| q.on && q.driver.as_raw() == capabilities.driver_id).copied().collect();
        Self { list, forced: forced.to_vec() }
    }

    /// Whether a switch is turned.
    pub fn has(&self, switch: Switch) -> bool {
        self.forced.contains(&switch) || self.list.iter().any(|q| q.switch == switch)
    }

    /// The quirks with their reasons.
    pub fn iter(&self) -> impl Iterator<Item = &Quirk> {
        self.list.iter()
    }
}
