//! Physical pools: atlases of pages, fixed in size, and who is in which page.
//!
//! ```text
//! PoolDesc --size--> PoolSize (pages a side) --> slots: owner, last use, locks, mappings
//! ```
//!
//! Page 0 of every pool is reserved: an entry that names it says that nothing is mapped.

mod format;
mod mappings;
mod size;
mod slots;
#[cfg(test)]
mod tests;

pub(crate) use mappings::{Mapping, Mappings};
pub(crate) use slots::Pool;

pub use format::LayerFormat;
pub use size::{MOST_POOL_SIDE, PoolError, PoolSize};

/// Where the level stands in the packed page that owns a slot; see `planner::key`.
pub(crate) const OWNER_LEVEL_SHIFT: u32 = 24;

/// Names a pool: one atlas for every layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
pub struct PoolId(pub u8);

impl std::fmt::Display for PoolId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "pool {}", self.0)
    }
}

/// One page of an atlas; it is at the same place in every layer of its pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
pub struct PhysicalPage {
    /// Which atlas.
    pub pool: PoolId,
    /// Column + row * side; 0 is reserved.
    pub index: u16,
}

impl PhysicalPage {
    /// Column and row in an atlas of `side` pages a side.
    pub fn at(self, side: u32) -> [u8; 2] {
        let (index, side) = (u32::from(self.index), side.max(1));
        [(index % side) as u8, (index / side) as u8]
    }
}

impl std::fmt::Display for PhysicalPage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} page {}", self.pool, self.index)
    }
}

/// What a pool holds and how much memory it may take.
#[derive(Debug, Clone, PartialEq)]
pub struct PoolDesc {
    /// What it is called in tables and markers.
    pub name: String,
    /// Texels a side of a page, without its border.
    pub tile: u32,
    /// Texels around a page that repeat its neighbours.
    pub border: u32,
    /// One atlas each.
    pub layers: Vec<LayerFormat>,
    /// Memory of all layers (and, when split, of all atlases), in bytes.
    pub budget_bytes: u64,
    /// Multiplies the budget (`vt.pool_scale`).
    pub scale: f32,
    /// More pages a side than this make a second pool rather than a larger one (`vt.pool_split_tiles`); 0 is off.
    pub split_tiles: u32,
    /// The largest side of a 2D image that the device has, in texels.
    pub largest_image: u32,
    /// Whether a full pool may raise the mip bias.
    pub residency_bias: bool,
}

impl PoolDesc {
    /// A pool of 64 MiB that is not split, for a device whose images have 16384 texels a side.
    pub fn new(name: &str, tile: u32, border: u32, layers: &[LayerFormat]) -> Self {
        Self {
            name: name.into(),
            tile,
            border,
            layers: layers.to_vec(),
            budget_bytes: 64 << 20,
            scale: 1.0,
            split_tiles: 0,
            largest_image: 16384,
            residency_bias: true,
        }
    }

    /// Texels a side of a page with its border: what a page takes in the atlas.
    pub fn physical_tile(&self) -> u32 {
        self.tile.saturating_add(self.border.saturating_mul(2))
    }

    /// Bytes of one page over all layers.
    pub fn page_bytes(&self) -> u64 {
        let side = self.physical_tile();
        self.layers.iter().fold(0, |sum: u64, layer| sum.saturating_add(layer.bytes(side, side)))
    }

    /// Border by tile: how much of a page its neighbours see of it.
    pub fn border_share(&self) -> f32 {
        self.border as f32 / self.tile.max(1) as f32
    }
}
