//! The tiles of an image as the streamer sees them: the same on all drivers.

use ash::vk::Format;

use super::error::{Error, Result};
use crate::sparse::tiles::{ImageTiling, MipTail, TexelRegion, TileLayout};

/// Width and height of a block in texels, and its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) extent: [u32; 2],
    pub(super) bytes: u64,
    pub(super) compressed: bool,
}

impl Block {
    pub(super) fn of(name: &str, format: Format) -> Result<Self> {
        let compressed = |bytes| Self { extent: [4, 4], bytes, compressed: true };
        Ok(match format {
            Format::BC1_RGB_UNORM_BLOCK
            | Format::BC1_RGB_SRGB_BLOCK
            | Format::BC1_RGBA_UNORM_BLOCK
            | Format::BC1_RGBA_SRGB_BLOCK
            | Format::BC4_UNORM_BLOCK => compressed(8),
            Format::BC3_UNORM_BLOCK
            | Format::BC3_SRGB_BLOCK
            | Format::BC5_UNORM_BLOCK
            | Format::BC7_UNORM_BLOCK
            | Format::BC7_SRGB_BLOCK => compressed(16),
            Format::R8G8B8A8_UNORM | Format::R8G8B8A8_SRGB => {
                Self { extent: [1, 1], bytes: 4, compressed: false }
            }
            _ => return Err(Error::Format { name: name.into(), format }),
        })
    }

    /// Bytes of a region's texels, packed. Blocks that are cut at the edge of a mip are whole.
    pub(super) fn bytes(&self, region: TexelRegion) -> u64 {
        let [width, height, _] = region.extent;
        let blocks = |side: u32, block: u32| u64::from(side.div_ceil(block));
        blocks(width, self.extent[0]) * blocks(height, self.extent[1]) * self.bytes
    }
}

/// The first mip that is smaller than a tile in either axis: it and all after it are pinned. The last mip always is.
pub(super) fn pinned_lod(layout: &TileLayout) -> u32 {
    let tiling = layout.tiling();
    let small = |mip: &u32| {
        let extent = layout.mip_extent(*mip);
        (0..2).any(|axis| extent[axis] < tiling.granularity[axis])
    };
    (0..tiling.mips).find(small).unwrap_or(tiling.mips - 1).min(layout.floor_lod())
}

/// The same tiles in the same order, with everything from the pinned mips on as one tail: what the streamer and the
/// residency map work with.
pub(super) fn streamed_layout(name: &str, layout: &TileLayout) -> Result<TileLayout> {
    let first_lod = pinned_lod(layout);
    let tile_bytes = layout.tile_bytes();
    let tail = MipTail { first_lod, bytes: tile_bytes, offset: 0, stride: 0, single: true };
    TileLayout::new(ImageTiling { tail, metadata: None, ..*layout.tiling() })
        .map_err(|source| Error::Tiles { name: name.into(), source })
}

/// Tiles that the pinned mips would have if none of them were in a tail: what they are counted with, on all drivers.
pub(super) fn pinned_tiles(layout: &TileLayout) -> u64 {
    let granularity = layout.tiling().granularity;
    let tiles = |mip| -> u64 {
        let extent = layout.mip_extent(mip);
        (0..3).map(|axis| u64::from(extent[axis].div_ceil(granularity[axis]))).product()
    };
    (pinned_lod(layout)..layout.tiling().mips).map(tiles).sum()
}
