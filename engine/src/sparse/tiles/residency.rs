//! The residency map: what a shader may sample where.
//!
//! One byte for each mip-0 tile of one layer: the finest mip that may be sampled there. Shaders fetch it
//! (unfiltered) at the sample's position and clamp their LOD with it, so that neither residency instructions
//! nor strict reads of empty tiles are needed.
//!
//! The *raw* value of a mip-0 tile is the smallest `m` such that every tile of every mip `n >= m` that a
//! point of this mip-0 tile can fall in is mapped. The map is *dilated*: a texel holds the largest raw value
//! of its 3x3 (3x3x3) neighbourhood, around the edge in axes that wrap.
//!
//! Why filtering at an LOD of at least that value reads only mapped tiles: trilinear filtering reads two
//! mips, both at least the value. In a mip `n`, bilinear filtering reads the texel that the point falls in
//! and, in each axis, a neighbour whose near edge is at most half a texel away. As long as half a texel of
//! mip `n` is no wider than a tile of mip 0, that edge lies in the same mip-0 tile or in the one beside it,
//! and the neighbour's tile is among those that the raw value over there stands for.
//!
//! Two cases fall outside of that argument, and the map covers them by asking also, in each axis, for all
//! within one *texel of mip n* around the mip-0 tile: mips so coarse that half of their texel is wider than
//! a tile (a 3D image of 2048 texels in tiles of 16), and a wrapping axis whose last tile is cut to less
//! than half a texel. The whole texel, where half a one would do, is the margin for the rounding of
//! positions in shaders and samplers. Whole tiles of 128x128 in images up to 16384 texels (of 64 in images up
//! to 8192) are asked for nothing that 3x3 does not.
//!
//! Mirrored axes read no further than clamped ones. Anisotropic or scaled footprints are safe as long as they
//! stay within one mip-0 tile of the sample: that is what the dilation is for.

use super::{TexelRegion, TileCoord, TileError, TileLayout};

/// Tiles of one mip in one axis; past the last one it goes on at 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Span {
    first: u32,
    count: u32,
}

/// One mip as the map sees it: for each mip-0 tile of an axis, the tiles of this mip that it depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Level {
    tiles: [u32; 3],
    spans: [Vec<Span>; 3],
}

/// The finest mip that a shader may sample in each mip-0 tile of one layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResidencyMap {
    layer: u32,
    /// In mip-0 tiles.
    size: [u32; 3],
    /// The mips that can be missing, finest first; the one after them is always resident.
    levels: Vec<Level>,
    texels: Vec<u8>,
}

impl ResidencyMap {
    /// The map of one layer with nothing mapped but what is always resident (see [`TileLayout::floor_lod`]).
    /// `wrap` says for each axis whether the sampler repeats; otherwise it clamps or mirrors. An image that
    /// is all tail has a map of one texel.
    ///
    /// # Errors
    /// A layer that does not exist, or more mip-0 tiles than a 32-bit count.
    pub fn new(layout: &TileLayout, layer: u32, wrap: [bool; 3]) -> Result<Self, TileError> {
        let layers = layout.tiling().layers;
        if layer >= layers {
            return Err(TileError::NoSuchLayer { layer, layers });
        }
        let size = layout.mip_tiles(0).map(|n| n.max(1));
        let limit = u64::from(u32::MAX);
        let count = size.iter().fold(1u64, |product, &n| product.saturating_mul(u64::from(n)));
        if count > limit {
            return Err(TileError::TooManyTiles { tiles: count, limit });
        }
        let levels = (0..layout.floor_lod()).map(|mip| Level {
            tiles: layout.mip_tiles(mip),
            spans: std::array::from_fn(|axis| {
                let axis_mip = AxisMip {
                    fine: i128::from(layout.mip_extent(0)[axis]),
                    coarse: i128::from(layout.mip_extent(mip)[axis]),
                    granularity: i128::from(layout.tiling().granularity[axis]),
                    wrap: wrap[axis],
                };
                (0..size[axis]).map(|x| axis_mip.span(x)).collect()
            }),
        });
        let levels: Vec<_> = levels.collect();
        let texels = vec![levels.len() as u8; count as usize];
        Ok(Self { layer, size, levels, texels })
    }

    /// The layer that it maps.
    pub fn layer(&self) -> u32 {
        self.layer
    }

    /// The size in texels, which are mip-0 tiles: width, height, depth.
    pub fn size(&self) -> [u32; 3] {
        self.size
    }

    /// The value of a texel with nothing mapped: the mip that is always resident.
    pub fn floor_lod(&self) -> u32 {
        self.levels.len() as u32
    }

    /// One byte a mip-0 tile: x fastest, then y, then z, without padding.
    pub fn texels(&self) -> &[u8] {
        &self.texels
    }

    /// How many texels hold each value, from 0 to [`Self::floor_lod`]: a histogram to look at.
    pub fn resident_levels(&self) -> Vec<u64> {
        let mut counts = vec![0; self.levels.len() + 1];
        for &value in &self.texels {
            if let Some(count) = counts.get_mut(usize::from(value)) {
                *count += 1;
            }
        }
        counts
    }

    /// Computes the whole map again. `is_mapped` is asked for tiles of this layer in front of
    /// [`TileLayout::floor_lod`] only. Returns the smallest box that holds every texel that changed.
    pub fn update(&mut self, is_mapped: impl Fn(TileCoord) -> bool) -> Option<TexelRegion> {
        let end = self.size;
        let all =
            (0..end[2]).flat_map(|z| (0..end[1]).flat_map(move |y| (0..end[0]).map(move |x| [x, y, z])));
        self.refresh(all, is_mapped)
    }

    /// The same as [`Self::update`] where only the tiles in `changed` were mapped or unmapped since the last
    /// one; looks only at the texels that depend on them. Tiles of other layers, and of mips that are always
    /// resident, are passed over.
    pub fn update_tiles(
        &mut self,
        changed: &[TileCoord],
        is_mapped: impl Fn(TileCoord) -> bool,
    ) -> Option<TexelRegion> {
        let mut dirty = vec![false; self.texels.len()];
        let mut texels = Vec::new();
        for tile in changed.iter().filter(|tile| tile.layer == self.layer) {
            let Some(level) = self.levels.get(tile.mip as usize) else { continue };
            let [xs, ys, zs] = level.dependents(tile.position());
            for &z in &zs {
                for &y in &ys {
                    for &x in &xs {
                        let index = self.texel_index([x, y, z]);
                        if dirty.get(index) == Some(&false) {
                            dirty[index] = true;
                            texels.push([x, y, z]);
                        }
                    }
                }
            }
        }
        self.refresh(texels, is_mapped)
    }

    fn refresh(
        &mut self,
        texels: impl IntoIterator<Item = [u32; 3]>,
        is_mapped: impl Fn(TileCoord) -> bool,
    ) -> Option<TexelRegion> {
        let mut changed: Option<([u32; 3], [u32; 3])> = None;
        for texel in texels {
            let value = self.value(texel, &is_mapped);
            let index = self.texel_index(texel);
            if self.texels.get(index) == Some(&value) {
                continue;
            }
            self.texels[index] = value;
            let (low, high) = changed.get_or_insert((texel, texel));
            for axis in 0..3 {
                low[axis] = low[axis].min(texel[axis]);
                high[axis] = high[axis].max(texel[axis]);
            }
        }
        let (low, high) = changed?;
        Some(TexelRegion { offset: low, extent: std::array::from_fn(|axis| high[axis] - low[axis] + 1) })
    }

    /// From the coarsest mip on, as the first one with a hole decides.
    fn value(&self, texel: [u32; 3], is_mapped: &impl Fn(TileCoord) -> bool) -> u8 {
        let incomplete = self.levels.iter().enumerate().rposition(|(mip, level)| {
            !level.all(texel, |position| is_mapped(TileCoord::new(self.layer, mip as u32, position)))
        });
        incomplete.map_or(0, |mip| mip as u8 + 1)
    }

    fn texel_index(&self, [x, y, z]: [u32; 3]) -> usize {
        (z as usize * self.size[1] as usize + y as usize) * self.size[0] as usize + x as usize
    }
}

impl Level {
    /// Whether `test` holds for every tile of this mip that a mip-0 tile depends on.
    fn all(&self, texel: [u32; 3], test: impl Fn([u32; 3]) -> bool) -> bool {
        let spans: [Span; 3] = std::array::from_fn(|axis| self.spans[axis][texel[axis] as usize]);
        let at = |axis: usize, step: u32| {
            let tile = u64::from(spans[axis].first) + u64::from(step);
            (tile % u64::from(self.tiles[axis])) as u32
        };
        (0..spans[2].count).all(|z| {
            (0..spans[1].count).all(|y| (0..spans[0].count).all(|x| test([at(0, x), at(1, y), at(2, z)])))
        })
    }

    /// In each axis, the mip-0 tiles that depend on a tile of this mip.
    fn dependents(&self, position: [u32; 3]) -> [Vec<u32>; 3] {
        std::array::from_fn(|axis| {
            let tiles = self.tiles[axis];
            let (tile, spans) = (position[axis], &self.spans[axis]);
            let depends = |span: &Span| {
                // How far behind the span's first tile it lies, around the edge.
                let ahead = if tile >= span.first { tile - span.first } else { tiles - span.first + tile };
                tile < tiles && ahead < span.count
            };
            (0u32..).zip(spans).filter(|(_, span)| depends(span)).map(|(x, _)| x).collect()
        })
    }
}

/// One axis of mip 0 (`fine`) and of another mip (`coarse`), in texels. A wrapping axis is unrolled: the
/// image repeats every `fine` texels of mip 0 and every `coarse` texels of the other mip.
struct AxisMip {
    fine: i128,
    coarse: i128,
    granularity: i128,
    wrap: bool,
}

impl AxisMip {
    /// The tiles of the coarser mip that mip-0 tile `x` depends on: those of its neighbourhood, and those
    /// within one texel of the coarser mip around it.
    fn span(&self, x: u32) -> Span {
        let Self { fine, coarse, granularity, wrap } = *self;
        let x = i128::from(x);
        let (start, end) = (x * granularity, ((x + 1) * granularity).min(fine));
        let last_start = (fine - 1) / granularity * granularity;
        let before = if wrap && x == 0 { last_start - fine } else { start - granularity };
        let after = if end < fine { (end + granularity).min(fine) } else { fine + granularity.min(fine) };
        let floor = |texel: i128| (texel * coarse).div_euclid(fine);
        let ceil = |texel: i128| -((-texel * coarse).div_euclid(fine));
        let mut first = floor(before).min(floor(start) - 1);
        let mut end = ceil(after).max(ceil(end) + 1);
        if !wrap {
            first = first.max(0);
            end = end.min(coarse);
        }
        let tiles = (coarse - 1) / granularity + 1;
        let tile = |texel: i128| texel.div_euclid(coarse) * tiles + texel.rem_euclid(coarse) / granularity;
        let (first, last) = (tile(first), tile(end - 1));
        let count = (last - first + 1).min(tiles);
        let first = if count == tiles { 0 } else { first.rem_euclid(tiles) };
        // Below the tile count of an axis, which has 32 bits.
        Span { first: first as u32, count: count as u32 }
    }
}
