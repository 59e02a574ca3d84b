//! Formats of atlas layers, as far as sizes need them.

/// Format of one layer of a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
pub enum LayerFormat {
    /// Colour, 8 bytes a block of 4 x 4.
    Bc1,
    /// Colour and alpha, 16 bytes a block.
    Bc3,
    /// One channel, 8 bytes a block.
    Bc4,
    /// Two channels, 16 bytes a block.
    Bc5,
    /// 16 bits, normalized: heights.
    R16,
    /// 8 bits a channel: what takes the place of blocks where a device has none.
    Rgba8,
    /// Colour of low quality, 16 bits.
    Rgb565,
    /// Colour of low quality with a bit of alpha, 16 bits.
    Rgba5551,
}

impl LayerFormat {
    /// Whether texels are stored in blocks of 4 x 4.
    pub fn is_block(self) -> bool {
        matches!(self, Self::Bc1 | Self::Bc3 | Self::Bc4 | Self::Bc5)
    }

    /// Bytes of a block, or of a texel where there are no blocks.
    pub fn unit_bytes(self) -> u64 {
        match self {
            Self::Bc1 | Self::Bc4 => 8,
            Self::Bc3 | Self::Bc5 => 16,
            Self::Rgba8 => 4,
            Self::R16 | Self::Rgb565 | Self::Rgba5551 => 2,
        }
    }

    /// Bytes of `width x height` texels.
    pub fn bytes(self, width: u32, height: u32) -> u64 {
        let units = |side: u32| u64::from(if self.is_block() { side.div_ceil(4) } else { side });
        units(width).saturating_mul(units(height)).saturating_mul(self.unit_bytes())
    }
}

impl std::fmt::Display for LayerFormat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Bc1 => "BC1",
            Self::Bc3 => "BC3",
            Self::Bc4 => "BC4",
            Self::Bc5 => "BC5",
            Self::R16 => "R16",
            Self::Rgba8 => "RGBA8",
            Self::Rgb565 => "RGB565",
            Self::Rgba5551 => "RGBA5551",
        })
    }
}
