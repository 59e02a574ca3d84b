//! Encoders of the processor, ours and others, and the decoder that judges all of them.

use serde::Serialize;
use vasa::vt::LayerFormat;
use vasa::vt::compress::twin;

use super::pictures::{Picture, SIDE};

/// How a picture is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) enum Format {
    /// Colour.
    Bc1,
    /// Colour and alpha.
    Bc3,
    /// One channel.
    Bc4,
    /// Two channels.
    Bc5,
    /// Colour in BC3 as chroma and luma; only we have it.
    Ycocg,
}

impl Format {
    /// The blocks that it is stored in.
    pub(crate) fn blocks(self) -> LayerFormat {
        match self {
            Self::Bc1 => LayerFormat::Bc1,
            Self::Bc3 | Self::Ycocg => LayerFormat::Bc3,
            Self::Bc4 => LayerFormat::Bc4,
            Self::Bc5 => LayerFormat::Bc5,
        }
    }
}

/// An encoder that runs on one thread of the processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoder {
    Twin,
    BlockCompression,
    TexpressoCluster,
    TexpressoIterative,
    Intel,
}

impl Encoder {
    /// Those that know a format.
    pub(crate) fn all(format: Format) -> Vec<Self> {
        match format {
            Format::Ycocg => vec![Self::Twin],
            Format::Bc1 | Format::Bc3 => vec![
                Self::Twin,
                Self::BlockCompression,
                Self::TexpressoCluster,
                Self::TexpressoIterative,
                Self::Intel,
            ],
            Format::Bc4 | Format::Bc5 => {
                vec![Self::Twin, Self::BlockCompression, Self::TexpressoCluster, Self::Intel]
            }
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Twin => "vasa, CPU",
            Self::BlockCompression => "block_compression, CPU",
            Self::TexpressoCluster => "texpresso, cluster fit",
            Self::TexpressoIterative => "texpresso, iterative",
            Self::Intel => "intel_tex_2",
        }
    }

    /// The blocks of a picture, row after row.
    pub(crate) fn encode(self, picture: &Picture, format: Format) -> Vec<u8> {
        let rgba = picture.texels.as_flattened();
        match self {
            Self::Twin => twin(picture, format),
            Self::BlockCompression => block_compression(rgba, format),
            Self::TexpressoCluster => texpresso(rgba, format, texpresso::Algorithm::ClusterFit),
            Self::TexpressoIterative => texpresso(rgba, format, texpresso::Algorithm::IterativeClusterFit),
            Self::Intel => intel(picture, format),
        }
    }
}

/// Ours, on the processor.
fn twin(picture: &Picture, format: Format) -> Vec<u8> {
    blocks_of(picture, format, |texels| texels)
}

/// The same after packing, which brings normals to length one: what the GPU must say too.
pub(crate) fn packed_twin(picture: &Picture, format: Format) -> Vec<u8> {
    blocks_of(picture, format, |[x, y, z, w]| match format {
        Format::Bc5 => {
            let [x, y, z] = twin::unit_normals(&x, &y, &z);
            [x, y, z, w]
        }
        _ => [x, y, z, w],
    })
}

fn blocks_of(picture: &Picture, format: Format, pack: impl Fn(twin::Texels) -> twin::Texels) -> Vec<u8> {
    let mut out = Vec::new();
    for y in (0..SIDE).step_by(4) {
        for x in (0..SIDE).step_by(4) {
            let texels: twin::Texels = std::array::from_fn(|c| {
                std::array::from_fn(|i| i32::from(picture.texels[(y + i / 4) * SIDE + x + i % 4][c]))
            });
            let texels = pack(texels);
            let texels = if format == Format::Ycocg { twin::ycocg(&texels) } else { texels };
            let words = twin::block(format.blocks(), &texels, [1; 3]);
            out.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        }
    }
    out
}

fn block_compression(rgba: &[u8], format: Format) -> Vec<u8> {
    use block_compression::CompressionVariant as Variant;
    let variant = match format {
        Format::Bc1 => Variant::BC1,
        Format::Bc3 | Format::Ycocg => Variant::BC3,
        Format::Bc4 => Variant::BC4,
        Format::Bc5 => Variant::BC5,
    };
    let side = SIDE as u32;
    let mut out = vec![0; variant.blocks_byte_size(side, side)];
    block_compression::encode::compress_rgba8(variant, rgba, &mut out, side, side, side * 4);
    out
}

fn texpresso(rgba: &[u8], format: Format, algorithm: texpresso::Algorithm) -> Vec<u8> {
    let (kind, mut rgba) = match format {
        Format::Bc1 => (texpresso::Format::Bc1, rgba.to_vec()),
        Format::Bc3 | Format::Ycocg => (texpresso::Format::Bc3, rgba.to_vec()),
        Format::Bc4 => (texpresso::Format::Bc4, rgba.to_vec()),
        Format::Bc5 => (texpresso::Format::Bc5, rgba.to_vec()),
    };
    if format == Format::Bc1 {
        // It would make transparent what is not opaque.
        rgba.chunks_mut(4).for_each(|texel| texel[3] = 255);
    }
    // What is measured is error over all channels alike.
    let weights = texpresso::COLOUR_WEIGHTS_UNIFORM;
    let params = texpresso::Params { algorithm, weights, weigh_colour_by_alpha: false };
    let mut out = vec![0; kind.compressed_size(SIDE, SIDE)];
    kind.compress(&rgba, SIDE, SIDE, params, &mut out);
    out
}

fn intel(picture: &Picture, format: Format) -> Vec<u8> {
    use intel_tex_2::{RSurface, RgSurface, RgbaSurface};
    let (width, height) = (SIDE as u32, SIDE as u32);
    let pick = |count: usize| -> Vec<u8> {
        picture.texels.iter().flat_map(|texel| texel[..count].to_vec()).collect()
    };
    match format {
        Format::Bc1 => {
            let data = picture.texels.as_flattened();
            intel_tex_2::bc1::compress_blocks(&RgbaSurface { data, width, height, stride: width * 4 })
        }
        Format::Bc3 | Format::Ycocg => {
            let data = picture.texels.as_flattened();
            intel_tex_2::bc3::compress_blocks(&RgbaSurface { data, width, height, stride: width * 4 })
        }
        Format::Bc4 => {
            let data = &pick(1);
            intel_tex_2::bc4::compress_blocks(&RSurface { data, width, height, stride: width })
        }
        Format::Bc5 => {
            let data = &pick(2);
            intel_tex_2::bc5::compress_blocks(&RgSurface { data, width, height, stride: width * 2 })
        }
    }
}

/// The picture that blocks hold, 0..1, by `bcdec_rs`; chroma and luma are brought back to colours.
pub(crate) fn decode(format: Format, blocks: &[u8]) -> Vec<[f32; 4]> {
    let bytes = format.blocks().unit_bytes() as usize;
    let mut out = vec![[0.0, 0.0, 0.0, 1.0]; SIDE * SIDE];
    for (index, block) in blocks.chunks_exact(bytes).enumerate() {
        let (x, y) = (index % (SIDE / 4) * 4, index / (SIDE / 4) * 4);
        let texels = decode_block(format, block);
        for (i, texel) in texels.into_iter().enumerate() {
            if let Some(place) = out.get_mut((y + i / 4) * SIDE + x + i % 4) {
                *place = texel;
            }
        }
    }
    if format == Format::Ycocg { out.into_iter().map(colour_of).collect() } else { out }
}

fn decode_block(format: Format, block: &[u8]) -> [[f32; 4]; 16] {
    let mut bytes = [0u8; 64];
    let mut floats = [0f32; 32];
    match format.blocks() {
        LayerFormat::Bc1 => bcdec_rs::bc1(block, &mut bytes, 16),
        LayerFormat::Bc3 => bcdec_rs::bc3(block, &mut bytes, 16),
        LayerFormat::Bc4 => {
            bcdec_rs::bc4_float(block, &mut floats, 4, false);
            return std::array::from_fn(|i| [floats[i], 0.0, 0.0, 1.0]);
        }
        _ => {
            bcdec_rs::bc5_float(block, &mut floats, 8, false);
            return std::array::from_fn(|i| [floats[2 * i], floats[2 * i + 1], 0.0, 1.0]);
        }
    }
    std::array::from_fn(|i| std::array::from_fn(|c| f32::from(bytes[4 * i + c]) / 255.0))
}

/// `vt_decode_ycocg` of `shaders/lib/virtual_texture_kinds.wgsl`.
pub(crate) fn colour_of([co, cg, scale, y]: [f32; 4]) -> [f32; 4] {
    let share = 1.0 / (1.0 + scale * (255.0 / 33.0));
    let (co, cg) = ((co * 255.0 - 132.0) * (share / 246.0), (cg * 255.0 - 130.0) * (share / 250.0));
    let [r, g, b] = [y + co - cg, y + cg, y - co - cg].map(|v| v.clamp(0.0, 1.0));
    [r, g, b, 1.0]
}
