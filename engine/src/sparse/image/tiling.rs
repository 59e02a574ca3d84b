//! From what the driver reports of an image to the pure [`TileLayout`].

use std::sync::Arc;

use crate::sparse::error::{Error, Result};
use crate::sparse::tiles::{ImageTiling, MipTail, TileLayout, granularity_in_texels};
use crate::vk::{Device, Image, SparseImageRequirements};

use ash::vk::{Format, ImageAspectFlags};

/// The tiles of a partially resident image.
///
/// # Errors
/// When the driver reports no tiles for it, or some that make no sense.
pub(in crate::sparse) fn tile_layout(device: &Device, image: &Image) -> Result<Arc<TileLayout>> {
    let all = image.sparse_requirements();
    let aspect = image.desc().aspect().as_raw();
    let ours = all.iter().find(|r| r.aspect & aspect != 0);
    let ours = *ours.ok_or_else(|| crate::vk::Error::Unsupported {
        what: image.name().into(),
        needs: format!("tiles of the aspect of {:?}", image.desc().format),
        device: device.capabilities().name.clone(),
    })?;
    let metadata = all.iter().find(|r| r.aspect & ImageAspectFlags::METADATA.as_raw() != 0);
    let desc = image.desc();
    let needs = image.requirements();
    let (block, block_bytes) = block_of(desc.format);
    let tail = |r: &SparseImageRequirements| MipTail {
        first_lod: r.tail_first_lod,
        bytes: r.tail_bytes,
        offset: r.tail_offset,
        stride: r.tail_stride,
        single: r.single_tail,
    };
    let tiling = ImageTiling {
        extent: desc.extent3(),
        mips: desc.mips,
        layers: desc.layers,
        granularity: granularity_in_texels(ours.granularity, block, block_bytes, needs.alignment),
        tile_bytes: needs.alignment,
        // What drivers without a tail say of its place is of no meaning.
        tail: if ours.tail_bytes == 0 { MipTail::default() } else { tail(&ours) },
        metadata: metadata.filter(|m| m.tail_bytes > 0).map(tail),
    };
    let named = |source| Error::Tiles { name: image.name().into(), source };
    Ok(Arc::new(TileLayout::new(tiling).map_err(named)?))
}

/// Width and height of a block of a format in texels, and its bytes; one texel for formats that have no blocks. Only a
/// compressed format's bytes are looked at.
fn block_of(format: Format) -> ([u32; 2], u64) {
    match format {
        Format::BC1_RGB_UNORM_BLOCK
        | Format::BC1_RGB_SRGB_BLOCK
        | Format::BC1_RGBA_UNORM_BLOCK
        | Format::BC1_RGBA_SRGB_BLOCK
        | Format::BC4_UNORM_BLOCK
        | Format::BC4_SNORM_BLOCK => ([4, 4], 8),
        Format::BC2_UNORM_BLOCK
        | Format::BC2_SRGB_BLOCK
        | Format::BC3_UNORM_BLOCK
        | Format::BC3_SRGB_BLOCK
        | Format::BC5_UNORM_BLOCK
        | Format::BC5_SNORM_BLOCK
        | Format::BC6H_UFLOAT_BLOCK
        | Format::BC6H_SFLOAT_BLOCK
        | Format::BC7_UNORM_BLOCK
        | Format::BC7_SRGB_BLOCK => ([4, 4], 16),
        _ => ([1, 1], 0),
    }
}
