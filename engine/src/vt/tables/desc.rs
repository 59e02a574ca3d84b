//! What a page table is, and the quad that its shader reads.

use ash::vk::Format;

use super::error::{TableError, TableResult};
use crate::vk::layout::gpu_struct;
use crate::vt::address::MOST_SIDE;
use crate::vt::{EntryFormat, TableQuad};

/// Channels of a page table: four images of four.
pub const MOST_CHANNELS: u32 = 16;

gpu_struct! {
    /// Push constants of `shaders/vt/page_table.wgsl`.
    pub struct PageTablePush {
        /// First quad of the draw in the buffer.
        pub first_quad: u32,
        /// Quads of the draw.
        pub quads: u32,
        /// Side of the mip in texels.
        pub side: u32,
        /// To a multiple of 16 bytes.
        pub padding: u32,
    }

    /// A [`TableQuad`] as `shaders/vt/page_table.wgsl` reads it.
    pub struct PageTableQuad {
        /// Morton code of the first texel in its mip in bits 0 to 23, logarithm of the side in 24 to 27, mip in 28 to 31.
        pub address: u32,
        /// The packed entry.
        pub entry: u32,
    }
}

impl PageTableQuad {
    /// A quad of mip `mip`, with its entry in the width of `format`.
    pub fn new(quad: &TableQuad, mip: u8, format: EntryFormat) -> Self {
        let address = quad.morton() | u32::from(quad.log2_size & 15) << 24 | u32::from(mip & 15) << 28;
        Self { address, entry: quad.entry.pack(format) }
    }
}

/// What a page table is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
pub struct PageTableDesc {
    /// Pages of level 0 a side: a power of two, at most 4096.
    pub side: u32,
    /// Channels, one for each group of layers: 1 to [`MOST_CHANNELS`].
    pub channels: u32,
    /// Width of its entries.
    pub format: EntryFormat,
}

impl PageTableDesc {
    /// # Errors
    /// A side or a number of channels that no page table has.
    pub fn check(&self) -> TableResult<()> {
        let Self { side, channels, .. } = *self;
        if !side.is_power_of_two() || side > MOST_SIDE {
            return Err(TableError::Side { side });
        }
        if !(1..=MOST_CHANNELS).contains(&channels) {
            return Err(TableError::Channels { channels });
        }
        Ok(())
    }

    /// Mips, one a level: down to one entry.
    pub fn mips(&self) -> u32 {
        self.side.max(1).ilog2() + 1
    }

    /// Side of a mip.
    pub fn mip_side(&self, mip: u32) -> u32 {
        self.side.checked_shr(mip).unwrap_or(0).max(1)
    }

    /// Images: one for every four channels.
    pub fn images(&self) -> u32 {
        self.channels.div_ceil(4)
    }

    /// Channels of an image that its format has: 1, 2 or 4.
    pub fn image_channels(&self, image: u32) -> u32 {
        let used = self.channels.saturating_sub(image.saturating_mul(4)).clamp(1, 4);
        used.next_power_of_two()
    }

    /// Format of an image.
    pub fn image_format(&self, image: u32) -> Format {
        match (self.format, self.image_channels(image)) {
            (EntryFormat::Bits16, 1) => Format::R16_UINT,
            (EntryFormat::Bits16, 2) => Format::R16G16_UINT,
            (EntryFormat::Bits16, _) => Format::R16G16B16A16_UINT,
            (EntryFormat::Bits32, 1) => Format::R32_UINT,
            (EntryFormat::Bits32, 2) => Format::R32G32_UINT,
            (EntryFormat::Bits32, _) => Format::R32G32B32A32_UINT,
        }
    }

    /// The name that captures show for an image: format, and which of the space's images it is, from 1.
    pub fn image_name(&self, image: u32) -> String {
        let format = self.image_format(image);
        format!("VirtualTexture_PageTable ({format:?}) {}/{}", image + 1, self.images())
    }

    /// Bytes of the entries of all images and mips, without what a driver adds.
    pub fn bytes(&self) -> u64 {
        let texels: u64 = (0..self.mips()).map(|mip| u64::from(self.mip_side(mip)).pow(2)).sum();
        let channels: u32 = (0..self.images()).map(|image| self.image_channels(image)).sum();
        texels * u64::from(channels) * self.format.bytes()
    }
}
