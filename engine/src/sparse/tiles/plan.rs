//! What the streamer decided in one update, and why.

use std::fmt;

use super::TileCoord;

/// Why a tile gets memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MapReason {
    /// It was asked for.
    Requested {
        /// The highest priority among the requests for it and for its descendants.
        priority: f32,
    },
    /// A finer tile that has it as an ancestor was asked for.
    Ancestor {
        /// The highest priority among the requests for its descendants.
        priority: f32,
    },
}

/// Why a tile loses its memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnmapReason {
    /// Mapping one of its parents failed, so no shader can reach it.
    ParentFailed,
    /// More tiles are mapped than the budget has now.
    OverBudget,
    /// It makes room for something that is coarser, or as coarse and of higher priority.
    Outranked,
    /// It was not asked for in this many frames.
    Unused {
        /// Frames since the last request.
        frames: u64,
    },
}

/// Why wanted tiles are not mapped in this update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeferReason {
    /// The limit of maps in one update was reached: they come later.
    MapLimit,
    /// Making room would pass the limit of unmaps in one update: they come later.
    UnmapLimit,
    /// The budget is full of tiles that are at least as important or still kept from earlier frames.
    Budget,
    /// Mapping one of their ancestors failed and what hung below it is just leaving: they come later.
    ParentFailed,
}

/// What to map and what to unmap, with the reasons. Both lists may go into one batch: no tile is in both.
///
/// An executor does `unmap` first, or in the same batch: only then does the budget hold. Any prefix of
/// `unmap`, and then any prefix of `map`, leaves every mapped tile with its parents.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StreamPlan {
    /// Tiles that get memory; parents before children, the most important first.
    pub map: Vec<TileCoord>,
    /// Tiles that lose their memory; children before parents.
    pub unmap: Vec<TileCoord>,
    /// Wanted tiles (ancestors included) that are not mapped after this plan.
    pub deferred: u64,
    /// One reason for each entry of `map`.
    pub map_reasons: Vec<MapReason>,
    /// One reason for each entry of `unmap`.
    pub unmap_reasons: Vec<UnmapReason>,
    /// Why the first deferred tile is; `None` without any.
    pub defer_reason: Option<DeferReason>,
    /// The frame of the update.
    pub frame: u64,
    /// Tiles mapped after this plan, in tiles.
    pub mapped_tiles: u64,
    /// The budget at the time of this plan, in tiles.
    pub budget_tiles: u64,
}

impl StreamPlan {
    /// Whether there is nothing to do. Empty bind lists must never reach a driver.
    pub fn is_empty(&self) -> bool {
        self.map.is_empty() && self.unmap.is_empty()
    }
}

impl fmt::Display for MapReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Requested { priority } => write!(f, "requested, priority {priority}"),
            Self::Ancestor { priority } => write!(f, "a finer tile needs it, priority {priority}"),
        }
    }
}

impl fmt::Display for UnmapReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ParentFailed => f.write_str("a parent could not be mapped"),
            Self::OverBudget => f.write_str("the budget fell"),
            Self::Outranked => f.write_str("makes room for something more important"),
            Self::Unused { frames } => write!(f, "last requested {frames} frames ago"),
        }
    }
}

impl fmt::Display for DeferReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MapLimit => "enough maps for one update",
            Self::UnmapLimit => "enough unmaps for one update",
            Self::Budget => "the budget is full of what is as important or still kept",
            Self::ParentFailed => "a parent could not be mapped, they come after it",
        })
    }
}

impl fmt::Display for StreamPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { frame, mapped_tiles, budget_tiles, deferred, .. } = self;
        writeln!(
            f,
            "frame {frame}: map {}, unmap {}, defer {deferred}: {mapped_tiles} of {budget_tiles} tiles mapped",
            self.map.len(),
            self.unmap.len()
        )?;
        for (tile, why) in self.unmap.iter().zip(&self.unmap_reasons) {
            writeln!(f, "  unmap {tile}: {why}")?;
        }
        for (tile, why) in self.map.iter().zip(&self.map_reasons) {
            writeln!(f, "  map {tile}: {why}")?;
        }
        if let Some(why) = self.defer_reason {
            writeln!(f, "  defer {deferred}: {why}")?;
        }
        Ok(())
    }
}
