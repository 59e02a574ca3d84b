//! The linear order of an image's tiles: array layer, then mip 0, mip 1, ..., then the mip tail.

use std::fmt;

use super::{ImageTiling, MipTail, TileError};

/// A tile in front of the mip tail. All fields count from zero; x, y and z count tiles, not texels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize)]
pub struct TileCoord {
    /// Array layer.
    pub layer: u32,
    /// Mip level.
    pub mip: u32,
    /// Column.
    pub x: u32,
    /// Row.
    pub y: u32,
    /// Slice; 0 in 2D.
    pub z: u32,
}

impl TileCoord {
    pub(super) fn new(layer: u32, mip: u32, [x, y, z]: [u32; 3]) -> Self {
        Self { layer, mip, x, y, z }
    }

    pub(super) fn position(&self) -> [u32; 3] {
        [self.x, self.y, self.z]
    }
}

impl fmt::Display for TileCoord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "layer {} mip {} tile {},{},{}", self.layer, self.mip, self.x, self.y, self.z)
    }
}

/// What a tile index means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TileLocation {
    /// A tile of a mip in front of the tail.
    Tile(TileCoord),
    /// A tile of a mip tail. A tail is mapped whole; how mips lie inside it is the driver's secret.
    Tail {
        /// The layer that it belongs to; 0 for a tail that all layers share.
        layer: u32,
        /// Which tile of it.
        tile: u64,
    },
}

/// A box of texels of one mip, or of texels of a residency map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TexelRegion {
    /// The first texel.
    pub offset: [u32; 3],
    /// The size in texels, never zero.
    pub extent: [u32; 3],
}

/// One mip tail to bind, with one opaque bind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TailRange {
    /// The layer that it belongs to; 0 for a tail that all layers share.
    pub layer: u32,
    /// Where it starts in the image's opaque address range, in bytes.
    pub offset: u64,
    /// Its size in bytes, a multiple of the tile.
    pub bytes: u64,
    /// The index of its first tile in the linear order.
    pub first_tile: u64,
}

/// The tiles of one mip of one layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct MipTiles {
    tiles: [u32; 3],
    /// Counted from the layer's first tile.
    first_tile: u64,
}

/// Converts between tile indexes, tile coordinates and texels of one partially resident image.
///
/// The order is: array layer, then mip 0, mip 1, ... (x fastest, then y, then z), then the layer's mip tail.
/// A tail that all layers share comes once, at the very end. Mips that are no multiple of the granularity
/// end in partial tiles, which are tiles like others but whose texel region is cut at the mip's edge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TileLayout {
    tiling: ImageTiling,
    /// The mips in front of the tail.
    mips: Vec<MipTiles>,
    /// Tiles of one layer in front of its tail.
    standard_tiles: u64,
    /// Tiles of one tail, 0 without one.
    tail_tiles: u64,
    tiles_per_layer: u64,
    tiles: u64,
}

impl TileLayout {
    /// Lays out the tiles of an image.
    ///
    /// # Errors
    /// Zero extents, counts, granularities or tile sizes; more mips than the extent has; tails (or metadata)
    /// whose size, offset or stride is no multiple of the tile, or whose stride is smaller than the tail;
    /// images that do not count in 64 bits. Strides that nothing uses (one layer, a single tail) are not
    /// looked at.
    pub fn new(tiling: ImageTiling) -> Result<Self, TileError> {
        tiling.check()?;
        let too_large = TileError::TooLarge { extent: tiling.extent, layers: tiling.layers };
        let mut mips = Vec::new();
        let mut standard_tiles = 0u64;
        for mip in 0..tiling.standard_mips() {
            let extent = halved(tiling.extent, mip);
            let tiles = std::array::from_fn(|axis| extent[axis].div_ceil(tiling.granularity[axis]));
            mips.push(MipTiles { tiles, first_tile: standard_tiles });
            standard_tiles = tiles
                .iter()
                .try_fold(1u64, |product, &n| product.checked_mul(u64::from(n)))
                .and_then(|count| standard_tiles.checked_add(count))
                .ok_or_else(|| too_large.clone())?;
        }
        let has_tail = tiling.standard_mips() < tiling.mips;
        let tail_tiles = if has_tail { tiling.tail.bytes / tiling.tile_bytes } else { 0 };
        let (own, shared) = if tiling.tail.single { (0, tail_tiles) } else { (tail_tiles, 0) };
        let tiles_per_layer = standard_tiles.checked_add(own).ok_or_else(|| too_large.clone())?;
        let tiles = tiles_per_layer
            .checked_mul(u64::from(tiling.layers))
            .and_then(|tiles| tiles.checked_add(shared))
            .filter(|tiles| tiles.checked_mul(tiling.tile_bytes).is_some())
            .ok_or(too_large)?;
        Ok(Self { tiling, mips, standard_tiles, tail_tiles, tiles_per_layer, tiles })
    }

    /// What the layout was made from.
    pub fn tiling(&self) -> &ImageTiling {
        &self.tiling
    }

    /// All tiles of the image, tails included.
    pub fn tiles(&self) -> u64 {
        self.tiles
    }

    /// One tile in bytes.
    pub fn tile_bytes(&self) -> u64 {
        self.tiling.tile_bytes
    }

    /// The tiles of one layer, its own tail included, a shared one not.
    pub fn tiles_per_layer(&self) -> u64 {
        self.tiles_per_layer
    }

    /// The tiles of one mip of one layer in each axis; zeros for a mip that is in the tail or does not exist.
    pub fn mip_tiles(&self, mip: u32) -> [u32; 3] {
        self.mips.get(mip as usize).map_or([0; 3], |mip| mip.tiles)
    }

    /// The extent of a mip in texels, also of one in the tail; zeros for a mip that does not exist.
    pub fn mip_extent(&self, mip: u32) -> [u32; 3] {
        if mip < self.tiling.mips { halved(self.tiling.extent, mip) } else { [0; 3] }
    }

    /// Mips in front of the tail: those that consist of tiles.
    pub fn standard_mips(&self) -> u32 {
        // At most 32 by construction.
        self.mips.len() as u32
    }

    /// Whether the image has a mip tail.
    pub fn has_tail(&self) -> bool {
        self.tail_tiles > 0
    }

    /// The first mip in the tail; the mip count where there is no tail.
    pub fn tail_first_lod(&self) -> u32 {
        self.standard_mips()
    }

    /// The finest mip that is always resident: the first one of the tail, or the last mip without a tail.
    pub fn floor_lod(&self) -> u32 {
        self.tail_first_lod().min(self.tiling.mips - 1)
    }

    /// The tiles that must be mapped at creation and stay, besides the tails: those of the last mip where
    /// there is no tail, layer by layer; none where there is one.
    pub fn floor_tiles(&self) -> impl Iterator<Item = TileCoord> + '_ {
        let mips = self.floor_lod()..self.standard_mips();
        mips.flat_map(|mip| (0..self.tiling.layers).map(move |layer| (layer, mip)))
            .flat_map(|(layer, mip)| self.mip_block(layer, mip).tiles())
    }

    /// What tile `index` is, or `None` past the end.
    pub fn locate(&self, index: u64) -> Option<TileLocation> {
        if index >= self.tiles {
            return None;
        }
        // An image that is all one shared tail has layers of no tiles.
        let layer = index.checked_div(self.tiles_per_layer).unwrap_or(u64::MAX);
        if layer >= u64::from(self.tiling.layers) {
            let first = self.tiles - self.tail_tiles;
            return Some(TileLocation::Tail { layer: 0, tile: index - first });
        }
        let layer = u32::try_from(layer).ok()?;
        let tile = index % self.tiles_per_layer;
        if tile >= self.standard_tiles {
            return Some(TileLocation::Tail { layer, tile: tile - self.standard_tiles });
        }
        let mip = self.mips.partition_point(|mip| mip.first_tile <= tile).checked_sub(1)?;
        let MipTiles { tiles: [w, h, _], first_tile } = *self.mips.get(mip)?;
        let (tile, w, h) = (tile - first_tile, u64::from(w), u64::from(h));
        // Below the tile counts of the mip, which are 32 bits wide.
        let position = [(tile % w) as u32, (tile / w % h) as u32, (tile / w / h) as u32];
        Some(TileLocation::Tile(TileCoord::new(layer, mip as u32, position)))
    }

    /// The index of a tile, or `None` where the image has no such tile.
    pub fn index(&self, location: TileLocation) -> Option<u64> {
        match location {
            TileLocation::Tile(tile) => self.tile_index(tile),
            TileLocation::Tail { layer, tile } => {
                let exists = tile < self.tail_tiles && layer < self.tail_copies();
                exists.then(|| self.tail_first_tile(layer) + tile)
            }
        }
    }

    /// The index of a tile in front of the tail, or `None` where the image has no such tile.
    pub fn tile_index(&self, tile: TileCoord) -> Option<u64> {
        let mip = self.mips.get(tile.mip as usize)?;
        let [w, h, d] = mip.tiles;
        if tile.layer >= self.tiling.layers || tile.x >= w || tile.y >= h || tile.z >= d {
            return None;
        }
        let row = u64::from(tile.z) * u64::from(h) + u64::from(tile.y);
        let in_mip = row * u64::from(w) + u64::from(tile.x);
        Some(u64::from(tile.layer) * self.tiles_per_layer + mip.first_tile + in_mip)
    }

    /// The texels of a tile, cut at the edge of its mip; `None` where the image has no such tile. This is the
    /// region of a `VkSparseImageMemoryBind`.
    pub fn region(&self, tile: TileCoord) -> Option<TexelRegion> {
        self.tile_index(tile)?;
        let (size, position) = (self.mip_extent(tile.mip), tile.position());
        let offset: [u32; 3] = std::array::from_fn(|axis| position[axis] * self.tiling.granularity[axis]);
        let extent = std::array::from_fn(|axis| self.tiling.granularity[axis].min(size[axis] - offset[axis]));
        Some(TexelRegion { offset, extent })
    }

    /// The tile that holds a texel; `None` outside of the image. A texel of a mip in the tail gives the
    /// tail's tile 0: a tail is mapped whole, and where a texel lies inside is not known.
    pub fn tile_of_texel(&self, layer: u32, mip: u32, texel: [u32; 3]) -> Option<TileLocation> {
        let extent = self.mip_extent(mip);
        if layer >= self.tiling.layers || (0..3).any(|axis| texel[axis] >= extent[axis]) {
            return None;
        }
        if mip >= self.standard_mips() {
            let layer = if self.tiling.tail.single { 0 } else { layer };
            return Some(TileLocation::Tail { layer, tile: 0 });
        }
        let position = std::array::from_fn(|axis| texel[axis] / self.tiling.granularity[axis]);
        Some(TileLocation::Tile(TileCoord::new(layer, mip, position)))
    }

    /// The mip tails to bind, each whole and in one chunk: one a layer (`offset + layer * stride`), one for
    /// all, or none.
    pub fn tails(&self) -> impl Iterator<Item = TailRange> + '_ {
        let MipTail { bytes, .. } = self.tiling.tail;
        tail_offsets(self.tiling.tail, self.tail_copies()).map(move |(layer, offset)| TailRange {
            layer,
            offset,
            bytes,
            first_tile: self.tail_first_tile(layer),
        })
    }

    /// The metadata to bind as (offset, size) in bytes, with the metadata flag; none on most drivers. It has
    /// no place in the tile order, since no texel lies in it.
    pub fn metadata(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.tiling.metadata.into_iter().flat_map(|metadata| {
            tail_offsets(metadata, metadata.copies(self.tiling.layers))
                .map(move |(_, offset)| (offset, metadata.bytes))
        })
    }

    /// Checks that every tail, and all metadata, fits into one chunk.
    ///
    /// # Errors
    /// [`TileError::TailPastChunk`], which names the knob to raise.
    pub fn check_chunk(&self, chunk_bytes: u64) -> Result<(), TileError> {
        let tail = self.tails().next().map(|tail| ("mip tail", tail.bytes));
        let metadata = self.metadata().next().map(|(_, bytes)| ("metadata", bytes));
        match [tail, metadata].into_iter().flatten().find(|(_, bytes)| *bytes > chunk_bytes) {
            Some((part, bytes)) => Err(TileError::TailPastChunk { part, bytes, chunk_bytes }),
            None => Ok(()),
        }
    }

    fn tail_copies(&self) -> u32 {
        if self.has_tail() { self.tiling.tail.copies(self.tiling.layers) } else { 0 }
    }

    /// For a layer that has a tail of its own, or layer 0 of a shared one.
    fn tail_first_tile(&self, layer: u32) -> u64 {
        if self.tiling.tail.single {
            self.tiles - self.tail_tiles
        } else {
            u64::from(layer) * self.tiles_per_layer + self.standard_tiles
        }
    }
}

impl fmt::Display for TileLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ImageTiling { extent: [w, h, d], granularity: [gw, gh, gd], mips, layers, .. } = self.tiling;
        let bytes = self.tile_bytes();
        writeln!(f, "{w}x{h}x{d} texels, {mips} mips, {layers} layers: {} tiles", self.tiles)?;
        writeln!(f, "  a tile is {gw}x{gh}x{gd} texels, {bytes} bytes")?;
        for (mip, MipTiles { tiles: [x, y, z], first_tile }) in self.mips.iter().enumerate() {
            writeln!(f, "  mip {mip}: {x}x{y}x{z} tiles from tile {first_tile} of its layer")?;
        }
        match (self.has_tail(), self.tiling.tail.single) {
            (false, _) => writeln!(f, "  no mip tail: mip {} is always resident", self.floor_lod()),
            (true, true) => {
                writeln!(f, "  tail from mip {}: {} tiles for all layers", self.floor_lod(), self.tail_tiles)
            }
            (true, false) => {
                writeln!(f, "  tail from mip {}: {} tiles a layer", self.floor_lod(), self.tail_tiles)
            }
        }
    }
}

fn halved(extent: [u32; 3], mip: u32) -> [u32; 3] {
    extent.map(|e| e.checked_shr(mip).unwrap_or(0).max(1))
}

/// (layer, offset) of each copy. The sums were checked when the layout was made.
fn tail_offsets(tail: MipTail, copies: u32) -> impl Iterator<Item = (u32, u64)> {
    (0..copies).map(move |layer| (layer, tail.offset + u64::from(layer) * tail.stride))
}
