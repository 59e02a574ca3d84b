//! Which queue does what: chosen from the list of families by rule, never by assumption. Pure.
//!
//! Drivers differ: one family that does everything (lavapipe), sparse on graphics and on a side family
//! (NVIDIA), a family that can only bind (some RADV), no sparse on graphics at all.

use serde::Serialize;

use super::capabilities::{Capabilities, QueueFamily};

/// Where sparse binds go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize)]
pub enum SparseQueuePolicy {
    /// A side queue where there is one, otherwise the graphics queue.
    #[default]
    Auto,
    /// The graphics queue, if it can bind.
    Graphics,
    /// A queue of another family, if there is one.
    Side,
}

impl std::str::FromStr for SparseQueuePolicy {
    type Err = String;
    fn from_str(s: &str) -> Result<Self, String> {
        match s {
            "auto" => Ok(Self::Auto),
            "graphics" => Ok(Self::Graphics),
            "side" => Ok(Self::Side),
            other => Err(format!("no sparse queue policy `{other}`; known: auto, graphics, side")),
        }
    }
}

/// One queue of a device: its family and index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub struct QueueChoice {
    /// Family index.
    pub family: u32,
    /// Index in the family.
    pub index: u32,
}

/// The queues a device is opened with, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct QueuePlan {
    /// Draws, dispatches, copies and presents.
    pub graphics: QueueChoice,
    /// Binds sparse memory; may equal `graphics`.
    pub sparse: Option<QueueChoice>,
    /// Copies beside rendering; may equal `graphics`.
    pub transfer: QueueChoice,
    /// Dispatches beside rendering; may equal `graphics`.
    pub compute: QueueChoice,
    /// One line a choice.
    pub reasons: Vec<String>,
}

impl QueuePlan {
    /// The families whose queues touch resources, each once.
    pub fn user_families(&self) -> Vec<u32> {
        let mut families = vec![self.graphics.family, self.transfer.family, self.compute.family];
        families.sort_unstable();
        families.dedup();
        families
    }

    /// Every (family, number of queues) to create, in ascending order of family.
    pub fn families(&self) -> Vec<(u32, u32)> {
        let mut list: Vec<(u32, u32)> = Vec::new();
        for queue in
            [Some(self.graphics), self.sparse, Some(self.transfer), Some(self.compute)].into_iter().flatten()
        {
            match list.iter_mut().find(|(family, _)| *family == queue.family) {
                Some((_, count)) => *count = (*count).max(queue.index + 1),
                None => list.push((queue.family, queue.index + 1)),
            }
        }
        list.sort_unstable();
        list
    }
}

/// Chooses the queues of a device.
///
/// # Errors
/// A line that says what is missing when no family can draw.
pub fn plan(capabilities: &Capabilities, policy: SparseQueuePolicy) -> Result<QueuePlan, String> {
    let families = &capabilities.queue_families;
    let mut reasons = Vec::new();
    let find = |test: &dyn Fn(&QueueFamily) -> bool| {
        families
            .iter()
            .position(|f| f.count > 0 && test(f))
            .map(|i| QueueChoice { family: i as u32, index: 0 })
    };
    let graphics = find(&|f| f.graphics && f.compute && f.sparse)
        .or_else(|| find(&|f| f.graphics && f.compute))
        .ok_or("no queue family can both draw and dispatch")?;
    let graphics_binds = families[graphics.family as usize].sparse;
    reasons.push(format!("graphics: family {} (draws and dispatches)", graphics.family));

    let side = capabilities.optional.async_queues.then(|| {
        find(&|f| f.sparse && f.transfer && !f.graphics && !f.compute)
            .or_else(|| find(&|f| f.sparse && !f.graphics && !f.compute))
            .or_else(|| find(&|f| f.sparse && !f.graphics))
            .or_else(|| {
                let spare = families[graphics.family as usize].count > 1 && graphics_binds;
                spare.then_some(QueueChoice { family: graphics.family, index: 1 })
            })
    });
    let side = side.flatten();
    // A device whose graphics family cannot bind needs the other family even when side queues are masked.
    let only = find(&|f| f.sparse);
    let sparse = if !capabilities.sparse.binding {
        reasons.push("sparse: none (no sparse binding)".into());
        None
    } else {
        let (choice, why) = match (policy, side, graphics_binds) {
            (SparseQueuePolicy::Auto | SparseQueuePolicy::Side, Some(side), _) => {
                (Some(side), "beside rendering")
            }
            (SparseQueuePolicy::Side, None, true) => {
                (Some(graphics), "the only queue that binds, no side queue")
            }
            (_, _, true) => (Some(graphics), "the graphics queue binds too"),
            (_, _, false) => (only, "the graphics queue cannot bind: lockstep with this one"),
        };
        if let Some(choice) = choice {
            reasons.push(format!("sparse: family {} queue {} ({why})", choice.family, choice.index));
        }
        choice
    };
    let transfer = capabilities
        .optional
        .async_queues
        .then(|| find(&|f| f.transfer && !f.graphics && !f.compute))
        .flatten()
        .unwrap_or(graphics);
    reasons.push(if transfer == graphics {
        "transfer: the graphics queue".into()
    } else {
        format!("transfer: family {} (copies only)", transfer.family)
    });
    let compute = capabilities
        .optional
        .async_queues
        .then(|| find(&|f| f.compute && !f.graphics))
        .flatten()
        .unwrap_or(graphics);
    reasons.push(if compute == graphics {
        "compute: the graphics queue".into()
    } else {
        format!("compute: family {} (beside rendering)", compute.family)
    });
    Ok(QueuePlan { graphics, sparse, transfer, compute, reasons })
}
