//! Data of the degrade ladder: what it goes by, and what it did.

use std::fmt;

use crate::vk::Bytes;

/// What a ladder goes by, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct Load {
    /// In use, less what is known to leave.
    pub usage: u64,
    /// To stay below.
    pub target: u64,
}

/// Why a step was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Why {
    /// The budget at the start is too small for everything.
    Start,
    /// More was used than there should be.
    Pressure,
    /// An allocation was refused.
    Refused,
    /// There is room again.
    Room,
}

/// One step of one rung, with the numbers that caused it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Step {
    /// Frame.
    pub frame: u64,
    /// Name of the rung.
    pub rung: String,
    /// Its step before.
    pub from: u32,
    /// Its step now.
    pub to: u32,
    /// The ladder's level now.
    pub level: u32,
    /// Bytes that it should save, or was expected to cost.
    pub bytes: u64,
    /// What it was decided by.
    pub load: Load,
    /// Why.
    pub why: Why,
}

impl Step {
    /// Whether something was given up.
    pub fn is_down(&self) -> bool {
        self.to > self.from
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { frame, rung, from, to, level, bytes, load, why } = self;
        let (usage, target) = (Bytes(load.usage), Bytes(load.target));
        write!(f, "frame {frame}, degrade level {level}: {rung} {from} -> {to}, ")?;
        match why {
            Why::Start => {
                write!(f, "saves {}: {usage} expected at the start, {target} allowed", Bytes(*bytes))
            }
            Why::Pressure => write!(f, "saves {}: {usage} used, {target} allowed", Bytes(*bytes)),
            Why::Refused => {
                write!(f, "saves {}: an allocation was refused with {usage} used of {target}", Bytes(*bytes))
            }
            Why::Room => write!(f, "costs {}: {usage} used, {target} allowed", Bytes(*bytes)),
        }
    }
}
