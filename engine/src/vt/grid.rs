//! How a texture is cut into pages: tiles follow the aspect of its box, levels end where one page holds all.

use super::address::{MOST_LEVEL, MOST_SIDE, PageAddress};

/// A part of a texture in UV: (0, 0) is its north-west corner, u runs along +x.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Region {
    /// Least u and v.
    pub min: [f32; 2],
    /// Largest u and v.
    pub max: [f32; 2],
}

impl Region {
    /// The whole texture.
    pub const ALL: Self = Self { min: [0.0; 2], max: [1.0; 2] };

    /// What both cover, as one rectangle.
    pub fn union(self, other: Self) -> Self {
        let pick = |f: fn(f32, f32) -> f32, a: [f32; 2], b: [f32; 2]| [f(a[0], b[0]), f(a[1], b[1])];
        Self { min: pick(f32::min, self.min, other.min), max: pick(f32::max, self.max, other.max) }
    }

    /// Whether the whole texture lies in it.
    pub fn is_all(self) -> bool {
        self.min.iter().all(|at| *at <= 0.0) && self.max.iter().all(|at| *at >= 1.0)
    }

    /// Whether it holds no point: a bound that is no number, or a least above a largest.
    pub fn is_empty(self) -> bool {
        !(self.min[0] <= self.max[0] && self.min[1] <= self.max[1])
    }
}

/// Tiles along both axes, and the coarsest level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
pub struct Grid {
    tiles: [u32; 2],
    max_level: u8,
}

/// Why there is no such grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum GridError {
    /// A side is zero, or longer than a page table.
    #[error(
        "a grid of {} x {} tiles was asked for: each side must be 1 to {MOST_SIDE}; use larger tiles, or an adaptive \
         texture for more", tiles[0], tiles[1]
    )]
    Tiles {
        /// What was asked for.
        tiles: [u32; 2],
    },
    /// More coarse levels are to be removed than there are above the finest.
    #[error(
        "{removed} coarse levels are to be removed, but the grid has {max_level} above level 0: remove at most these"
    )]
    Removed {
        /// What was asked for.
        removed: u8,
        /// Levels above the finest.
        max_level: u8,
    },
}

impl Grid {
    /// `tiles` pages of level 0 along u and v, without the `removed_low_mips` coarsest levels.
    ///
    /// # Errors
    /// A side of zero or above [`MOST_SIDE`], or more levels removed than there are.
    pub fn new(tiles: [u32; 2], removed_low_mips: u8) -> Result<Self, GridError> {
        if tiles.iter().any(|side| !(1..=MOST_SIDE).contains(side)) {
            return Err(GridError::Tiles { tiles });
        }
        let all = Self::log2_ceil(tiles[0].max(tiles[1]));
        let max_level = all
            .checked_sub(removed_low_mips)
            .ok_or(GridError::Removed { removed: removed_low_mips, max_level: all })?;
        Ok(Self { tiles, max_level })
    }

    /// The grid of a box of `size` (any unit) with `tiles_of_longer` tiles along its longer side: pages come out as
    /// near to square as whole tiles allow.
    ///
    /// # Errors
    /// As [`Grid::new`]; a box whose sides are no positive numbers counts as a square.
    pub fn of_box(size: [f32; 2], tiles_of_longer: u32, removed_low_mips: u8) -> Result<Self, GridError> {
        let longer = size[0].max(size[1]);
        let side = |of: f32| {
            let share = of / longer;
            let share = if share.is_finite() && share > 0.0 { share } else { 1.0 };
            ((f64::from(tiles_of_longer) * f64::from(share)).round() as u32)
                .max(u32::from(tiles_of_longer > 0))
        };
        Self::new([side(size[0]), side(size[1])], removed_low_mips)
    }

    fn log2_ceil(count: u32) -> u8 {
        count.max(1).next_power_of_two().trailing_zeros() as u8
    }

    /// Pages of level 0 along u and v.
    pub fn tiles(&self) -> [u32; 2] {
        self.tiles
    }

    /// The coarsest level: `ceil(log2(larger tile count)) - removed_low_mips`.
    pub fn max_level(&self) -> u8 {
        self.max_level
    }

    /// The side of its square in a page table: the next power of two of the larger tile count, as a logarithm.
    pub fn log2_side(&self) -> u8 {
        Self::log2_ceil(self.tiles[0].max(self.tiles[1]))
    }

    /// Pages of `level` along u and v.
    pub fn pages(&self, level: u8) -> [u32; 2] {
        let level = u32::from(level.min(MOST_LEVEL));
        self.tiles.map(|side| (side + (1 << level) - 1) >> level)
    }

    /// Whether the texture has this page.
    pub fn has(&self, page: PageAddress) -> bool {
        let [across, down] = self.pages(page.level);
        page.level <= self.max_level && u32::from(page.x) < across && u32::from(page.y) < down
    }

    /// Pages of all levels.
    pub fn page_count(&self) -> u64 {
        (0..=self.max_level).map(|level| self.pages(level).map(u64::from).iter().product::<u64>()).sum()
    }

    /// The UV rectangle that a page spans: `2^L / tiles` a side. It may end past 1 where tiles are no power of two.
    pub fn region(&self, page: PageAddress) -> Region {
        let span =
            self.tiles.map(|side| f64::from(1u32 << u32::from(page.level.min(MOST_LEVEL))) / f64::from(side));
        let corner =
            |along: f64| [(f64::from(page.x) + along) * span[0], (f64::from(page.y) + along) * span[1]];
        Region { min: corner(0.0).map(|at| at as f32), max: corner(1.0).map(|at| at as f32) }
    }

    /// First and last page of `level`, along both axes and inclusive, that show something of `region`.
    ///
    /// A page also holds `border_share` (border by tile) of a page around itself, so what lies just outside it shows in
    /// it too. Nothing for an empty region or one outside the texture.
    pub fn touched(&self, region: Region, level: u8, border_share: f32) -> Option<[[u16; 2]; 2]> {
        if region.is_empty() || level > self.max_level {
            return None;
        }
        let pages = self.pages(level);
        let mut range = [[0u16; 2]; 2];
        for axis in 0..2 {
            let in_pages = f64::from(self.tiles[axis]) / f64::from(1u32 << u32::from(level));
            let share = f64::from(border_share.max(0.0));
            let last_page = pages[axis] - 1;
            let first = (f64::from(region.min[axis]) * in_pages - share).floor();
            let last = (f64::from(region.max[axis]) * in_pages + share).floor();
            if last < 0.0 || first > f64::from(last_page) {
                return None;
            }
            range[0][axis] = first.max(0.0) as u16;
            range[1][axis] = last.min(f64::from(last_page)) as u16;
        }
        Some(range)
    }
}
