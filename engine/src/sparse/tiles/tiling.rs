//! The numbers that a driver reports about a tiled image, as plain numbers.

use super::TileError;

/// A mip tail (or the metadata aspect), as in `VkSparseImageMemoryRequirements`.
///
/// The default is no tail at all. Offsets count from the start of the image's opaque address range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct MipTail {
    /// The first mip inside the tail. Equal to the mip count (or larger) where there is no tail; of no
    /// meaning for metadata.
    pub first_lod: u32,
    /// The size of one tail in bytes; zero where there is none.
    pub bytes: u64,
    /// Where the tail of layer 0 starts, in bytes.
    pub offset: u64,
    /// Bytes from one layer's tail to the next one's. Of no meaning for a single tail or a single layer.
    pub stride: u64,
    /// All layers share one tail (`SINGLE_MIPTAIL`).
    pub single: bool,
}

impl MipTail {
    /// How many of these a driver wants bound: one a layer, or one for all.
    pub(super) fn copies(&self, layers: u32) -> u32 {
        if self.bytes == 0 {
            0
        } else if self.single {
            1
        } else {
            layers
        }
    }

    fn check(&self, part: &'static str, tiling: &ImageTiling) -> Result<(), TileError> {
        let ImageTiling { tile_bytes, layers, extent, .. } = *tiling;
        let copies = self.copies(layers);
        if copies == 0 {
            return Ok(());
        }
        let stride = if copies > 1 { self.stride } else { 0 };
        for (what, bytes) in [("size", self.bytes), ("offset", self.offset), ("stride", stride)] {
            if !bytes.is_multiple_of(tile_bytes) {
                return Err(TileError::UnalignedTail { part, what, bytes, tile_bytes });
            }
        }
        if copies > 1 && stride < self.bytes {
            return Err(TileError::OverlappingTails { part, stride, bytes: self.bytes, layers });
        }
        let end = u64::from(copies - 1)
            .checked_mul(stride)
            .and_then(|last| last.checked_add(self.offset))
            .and_then(|last| last.checked_add(self.bytes));
        end.map(|_| ()).ok_or(TileError::TooLarge { extent, layers })
    }
}

/// What a driver reports about a partially resident image. The input of
/// [`TileLayout::new`](super::TileLayout::new).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ImageTiling {
    /// Mip 0 in texels; 1 in the axes that the image does not have.
    pub extent: [u32; 3],
    /// Mip levels, at least 1.
    pub mips: u32,
    /// Array layers, at least 1.
    pub layers: u32,
    /// The shape of a tile in texels: what the driver reports, through [`granularity_in_texels`].
    pub granularity: [u32; 3],
    /// One tile in bytes: the alignment of the image's memory.
    pub tile_bytes: u64,
    /// The mip tail; the default where there is none.
    pub tail: MipTail,
    /// The metadata aspect, where a driver has one. It must be bound too, before anything else is used.
    pub metadata: Option<MipTail>,
}

impl ImageTiling {
    /// Mips in front of the tail; all of them where there is no tail. A driver says "no tail" by a first mip
    /// past the last one, by a size of zero, or both.
    pub(super) fn standard_mips(&self) -> u32 {
        if self.tail.bytes == 0 { self.mips } else { self.tail.first_lod.min(self.mips) }
    }

    pub(super) fn check(&self) -> Result<(), TileError> {
        let zeros = [
            ("extent", self.extent.contains(&0)),
            ("mip count", self.mips == 0),
            ("layer count", self.layers == 0),
            ("granularity", self.granularity.contains(&0)),
            ("tile size", self.tile_bytes == 0),
        ];
        if let Some((what, _)) = zeros.into_iter().find(|(_, zero)| *zero) {
            return Err(TileError::Zero { what });
        }
        let limit = self.extent.iter().map(|e| u32::BITS - e.leading_zeros()).max().unwrap_or(0);
        if self.mips > limit {
            return Err(TileError::TooManyMips { mips: self.mips, limit, extent: self.extent });
        }
        if self.standard_mips() < self.mips {
            self.tail.check("mip tail", self)?;
        }
        self.metadata.iter().try_for_each(|metadata| metadata.check("metadata", self))
    }
}

/// The granularity of a tile in texels, from what a driver reports for a format.
///
/// Vulkan lets a driver count the granularity of a block-compressed format in blocks or in texels, and both
/// exist (Mesa 25.0 says 128x64 for BC1, Mesa 26.1 says 512x256). The unit follows from the size: if that
/// many blocks fill exactly one tile, it was blocks. `block_extent` is 1x1 and `block_bytes` the size of a
/// texel for formats without blocks, which come back unchanged; `alignment` is the image's memory alignment,
/// that is, one tile. For multisampled images pass the bytes of all samples of a texel.
pub fn granularity_in_texels(
    reported: [u32; 3],
    block_extent: [u32; 2],
    block_bytes: u64,
    alignment: u64,
) -> [u32; 3] {
    let [w, h, d] = reported;
    let bytes = [w, h, d].iter().try_fold(block_bytes, |bytes, &n| bytes.checked_mul(u64::from(n)));
    if bytes == Some(alignment) {
        [w.saturating_mul(block_extent[0]), h.saturating_mul(block_extent[1]), d]
    } else {
        reported
    }
}
