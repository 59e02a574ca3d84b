//! What formats can do, how large texels are, and how sparse images are cut into tiles.

use super::config::NullDevice;
use super::state::ImageInfo;
use ash::vk;

/// Formats by number, first and last of a run: bytes of a texel block, and its side in texels. All others have
/// 4 bytes.
const BLOCKS: [(vk::Format, vk::Format, u64, u32); 20] = {
    use vk::Format as F;
    [
        (F::R4G4_UNORM_PACK8, F::R4G4_UNORM_PACK8, 1, 1),
        (F::R4G4B4A4_UNORM_PACK16, F::A1R5G5B5_UNORM_PACK16, 2, 1),
        (F::R8_UNORM, F::R8_SRGB, 1, 1),
        (F::R8G8_UNORM, F::R8G8_SRGB, 2, 1),
        (F::R8G8B8_UNORM, F::B8G8R8_SRGB, 3, 1),
        (F::R16_UNORM, F::R16_SFLOAT, 2, 1),
        (F::R16G16B16_UNORM, F::R16G16B16_SFLOAT, 6, 1),
        (F::R16G16B16A16_UNORM, F::R16G16B16A16_SFLOAT, 8, 1),
        (F::R32G32_UINT, F::R32G32_SFLOAT, 8, 1),
        (F::R32G32B32_UINT, F::R32G32B32_SFLOAT, 12, 1),
        (F::R32G32B32A32_UINT, F::R32G32B32A32_SFLOAT, 16, 1),
        (F::R64_UINT, F::R64_SFLOAT, 8, 1),
        (F::R64G64_UINT, F::R64G64_SFLOAT, 16, 1),
        (F::D16_UNORM, F::D16_UNORM, 2, 1),
        (F::S8_UINT, F::S8_UINT, 1, 1),
        (F::D32_SFLOAT_S8_UINT, F::D32_SFLOAT_S8_UINT, 8, 1),
        (F::BC1_RGB_UNORM_BLOCK, F::BC1_RGBA_SRGB_BLOCK, 8, 4),
        (F::BC2_UNORM_BLOCK, F::BC3_SRGB_BLOCK, 16, 4),
        (F::BC4_UNORM_BLOCK, F::BC4_SNORM_BLOCK, 8, 4),
        (F::BC5_UNORM_BLOCK, F::BC7_SRGB_BLOCK, 16, 4),
    ]
};

/// Bytes of a texel block and its width and height in texels.
pub(super) fn block(format: vk::Format) -> (u64, u32, u32) {
    let raw = format.as_raw();
    BLOCKS
        .iter()
        .find(|(first, last, ..)| (first.as_raw()..=last.as_raw()).contains(&raw))
        .map_or((4, 1, 1), |(_, _, bytes, side)| (*bytes, *side, *side))
}

pub(super) fn aspect(format: vk::Format) -> vk::ImageAspectFlags {
    use vk::Format as F;
    match format {
        F::D16_UNORM | F::X8_D24_UNORM_PACK32 | F::D32_SFLOAT => vk::ImageAspectFlags::DEPTH,
        F::S8_UINT => vk::ImageAspectFlags::STENCIL,
        F::D16_UNORM_S8_UINT | F::D24_UNORM_S8_UINT | F::D32_SFLOAT_S8_UINT => {
            vk::ImageAspectFlags::DEPTH | vk::ImageAspectFlags::STENCIL
        }
        _ => vk::ImageAspectFlags::COLOR,
    }
}

pub(super) fn properties(device: &NullDevice, format: vk::Format) -> vk::FormatProperties {
    use vk::FormatFeatureFlags as Flags;
    if format == vk::Format::UNDEFINED || device.unsupported_formats.contains(&format) {
        return vk::FormatProperties::default();
    }
    let transfer = Flags::TRANSFER_SRC | Flags::TRANSFER_DST | Flags::BLIT_SRC;
    let sampled = transfer | Flags::SAMPLED_IMAGE | Flags::SAMPLED_IMAGE_FILTER_LINEAR;
    let optimal_tiling_features = if aspect(format) != vk::ImageAspectFlags::COLOR {
        sampled | Flags::DEPTH_STENCIL_ATTACHMENT
    } else if block(format).1 > 1 {
        sampled
    } else {
        sampled
            | Flags::STORAGE_IMAGE
            | Flags::STORAGE_IMAGE_ATOMIC
            | Flags::COLOR_ATTACHMENT
            | Flags::COLOR_ATTACHMENT_BLEND
            | Flags::BLIT_DST
    };
    vk::FormatProperties {
        linear_tiling_features: transfer,
        optimal_tiling_features,
        buffer_features: Flags::VERTEX_BUFFER,
    }
}

pub(super) fn image_properties(
    device: &NullDevice,
    format: vk::Format,
    kind: vk::ImageType,
    flags: vk::ImageCreateFlags,
) -> Option<vk::ImageFormatProperties> {
    if properties(device, format).optimal_tiling_features.is_empty()
        || (flags.contains(vk::ImageCreateFlags::SPARSE_BINDING)
            && device.features.sparse_binding == vk::FALSE)
        || (flags.contains(vk::ImageCreateFlags::SPARSE_RESIDENCY) && !resident(device, kind))
    {
        return None;
    }
    let limits = &device.properties.limits;
    let (width, height, depth) = match kind {
        vk::ImageType::TYPE_1D => (limits.max_image_dimension1_d, 1, 1),
        vk::ImageType::TYPE_3D => {
            (limits.max_image_dimension3_d, limits.max_image_dimension3_d, limits.max_image_dimension3_d)
        }
        _ => (limits.max_image_dimension2_d, limits.max_image_dimension2_d, 1),
    };
    Some(vk::ImageFormatProperties {
        max_extent: vk::Extent3D { width, height, depth },
        max_mip_levels: width.max(1).ilog2() + 1,
        max_array_layers: if kind == vk::ImageType::TYPE_3D { 1 } else { limits.max_image_array_layers },
        sample_counts: vk::SampleCountFlags::TYPE_1 | vk::SampleCountFlags::TYPE_4,
        max_resource_size: 1 << 40,
    })
}

fn resident(device: &NullDevice, kind: vk::ImageType) -> bool {
    let feature = match kind {
        vk::ImageType::TYPE_2D => device.features.sparse_residency_image2_d,
        vk::ImageType::TYPE_3D => device.features.sparse_residency_image3_d,
        _ => vk::FALSE,
    };
    feature == vk::TRUE && device.features.sparse_binding == vk::TRUE
}

/// The standard tile shapes of the Vulkan specification: 64 KiB each.
pub(super) fn sparse(
    device: &NullDevice,
    format: vk::Format,
    kind: vk::ImageType,
    samples: vk::SampleCountFlags,
) -> Option<vk::SparseImageFormatProperties> {
    if !resident(device, kind)
        || samples != vk::SampleCountFlags::TYPE_1
        || properties(device, format).optimal_tiling_features.is_empty()
    {
        return None;
    }
    let (bytes, width, height) = block(format);
    let (x, y, z) = match (kind, bytes) {
        (vk::ImageType::TYPE_3D, 1) => (64, 32, 32),
        (vk::ImageType::TYPE_3D, 2) => (32, 32, 32),
        (vk::ImageType::TYPE_3D, 4) => (32, 32, 16),
        (vk::ImageType::TYPE_3D, 8) => (32, 16, 16),
        (vk::ImageType::TYPE_3D, 16) => (16, 16, 16),
        (_, 1) => (256, 256, 1),
        (_, 2) => (256, 128, 1),
        (_, 4) => (128, 128, 1),
        (_, 8) => (128, 64, 1),
        (_, 16) => (64, 64, 1),
        _ => return None,
    };
    Some(vk::SparseImageFormatProperties {
        aspect_mask: aspect(format),
        image_granularity: vk::Extent3D { width: x * width, height: y * height, depth: z },
        flags: vk::SparseImageFormatFlags::empty(),
    })
}

fn mip(extent: vk::Extent3D, level: u32) -> vk::Extent3D {
    let side = |length: u32| (length >> level).max(1);
    vk::Extent3D { width: side(extent.width), height: side(extent.height), depth: side(extent.depth) }
}

/// Where the mip tail of a tiled image begins: at the first mip that is smaller than a tile in some axis.
pub(super) fn first_tail_mip(info: &ImageInfo, tile: vk::Extent3D) -> u32 {
    (0..info.mips)
        .find(|level| {
            let size = mip(info.extent, *level);
            size.width < tile.width || size.height < tile.height || size.depth < tile.depth
        })
        .unwrap_or(info.mips)
}

/// Bytes of an image, and of its mip tail in one layer.
pub(super) fn sizes(info: &ImageInfo, tile: Option<vk::Extent3D>, alignment: u64) -> (u64, u64) {
    let (bytes, width, height) = block(info.format);
    let linear = |level| {
        let size = mip(info.extent, level);
        u64::from(size.width.div_ceil(width))
            * u64::from(size.height.div_ceil(height))
            * u64::from(size.depth)
            * bytes
    };
    let Some(tile) = tile else {
        let total: u64 = (0..info.mips).map(linear).sum::<u64>() * u64::from(info.layers);
        return (total.next_multiple_of(alignment), 0);
    };
    let first_tail = first_tail_mip(info, tile);
    let tiles = |level| {
        let size = mip(info.extent, level);
        u64::from(size.width.div_ceil(tile.width))
            * u64::from(size.height.div_ceil(tile.height))
            * u64::from(size.depth.div_ceil(tile.depth))
    };
    let tiled: u64 = (0..first_tail).map(tiles).sum::<u64>() * 65536;
    let tail = (first_tail..info.mips).map(linear).sum::<u64>().next_multiple_of(alignment);
    ((tiled + tail) * u64::from(info.layers), tail)
}
