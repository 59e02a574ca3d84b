//! Which tiles of neighbouring mips cover the same part of the image.

use std::ops::Range;

use super::{TileCoord, TileLayout};

/// A box of tiles of one mip and layer; may be empty.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TileBlock {
    /// Array layer.
    pub layer: u32,
    /// Mip level.
    pub mip: u32,
    /// The first tile in each axis.
    pub first: [u32; 3],
    /// The tile after the last one in each axis.
    pub end: [u32; 3],
}

impl TileBlock {
    /// Whether there is no tile in it.
    pub fn is_empty(&self) -> bool {
        (0..3).any(|axis| self.first[axis] >= self.end[axis])
    }

    /// Whether `tile` is in it.
    pub fn contains(&self, tile: TileCoord) -> bool {
        let position = tile.position();
        tile.layer == self.layer
            && tile.mip == self.mip
            && (0..3).all(|axis| (self.first[axis]..self.end[axis]).contains(&position[axis]))
    }

    /// Its tiles in the linear order: x fastest, then y, then z.
    pub fn tiles(&self) -> impl Iterator<Item = TileCoord> + use<> {
        let Self { layer, mip, .. } = *self;
        let [x, y, z]: [Range<u32>; 3] = std::array::from_fn(|axis| self.first[axis]..self.end[axis]);
        z.flat_map(move |z| {
            let x = x.clone();
            y.clone().flat_map(move |y| x.clone().map(move |x| TileCoord::new(layer, mip, [x, y, z])))
        })
    }
}

impl TileLayout {
    /// The tiles of the next coarser mip that a point inside `tile` can fall in.
    ///
    /// One tile where the extent halves evenly, up to two an axis where it does not. Empty when the next mip
    /// is in the tail (or there is none), and for tiles that do not exist. Filtering may read one texel
    /// further: the residency map takes care of that.
    pub fn parents(&self, tile: TileCoord) -> TileBlock {
        self.related(tile, tile.mip.checked_add(1))
    }

    /// The tiles of the next finer mip that have `tile` among their parents. Empty for mip 0.
    pub fn children(&self, tile: TileCoord) -> TileBlock {
        self.related(tile, tile.mip.checked_sub(1))
    }

    /// All tiles of a mip of a layer; empty where there are none.
    pub fn mip_block(&self, layer: u32, mip: u32) -> TileBlock {
        let end = if layer < self.tiling().layers { self.mip_tiles(mip) } else { [0; 3] };
        TileBlock { layer, mip, first: [0; 3], end }
    }

    fn related(&self, tile: TileCoord, mip: Option<u32>) -> TileBlock {
        let empty = TileBlock { layer: tile.layer, mip: tile.mip, first: [0; 3], end: [0; 3] };
        let mip = mip.filter(|&mip| mip < self.standard_mips());
        let (Some(mip), Some(region)) = (mip, self.region(tile)) else { return empty };
        let (from, to) = (self.mip_extent(tile.mip), self.mip_extent(mip));
        let mut block = TileBlock { mip, ..empty };
        for axis in 0..3 {
            let texels = region.offset[axis]..region.offset[axis] + region.extent[axis];
            let covered = same_part(texels, from[axis], to[axis]);
            let granularity = self.tiling().granularity[axis];
            block.first[axis] = covered.start / granularity;
            block.end[axis] = covered.end.div_ceil(granularity);
        }
        block
    }
}

/// The texels of a mip of extent `to` that overlap `texels` of a mip of extent `from`, both seen as parts of
/// the image: a point of the half-open interval falls in the texel `floor(point * to)`.
///
/// Overlap is symmetric, which is what makes children the inverse of parents.
fn same_part(texels: Range<u32>, from: u32, to: u32) -> Range<u32> {
    let (from, to) = (u64::from(from), u64::from(to));
    let start = u64::from(texels.start) * to / from;
    let end = (u64::from(texels.end) * to).div_ceil(from);
    // Both are at most `to`, which has 32 bits.
    start as u32..end as u32
}
