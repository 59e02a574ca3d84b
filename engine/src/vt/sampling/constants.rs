//! What shaders know of a texture and of a frame.

use crate::vk::layout::gpu_struct;
use crate::vt::Kind;
use crate::vt::{EntryFormat, Grid, SpaceId};

/// [`VirtualTexture::feedback_id`] of a texture that gets no feedback.
pub const NO_FEEDBACK: u32 = u32::MAX;

/// Bits of [`VirtualTexture::flags`].
pub mod flags {
    /// Entries of the page table have 32 bits.
    pub const ENTRIES_32: u32 = 1;
    /// Two bits: [`Wrap`](super::Wrap) along u.
    pub const WRAP_U_SHIFT: u32 = 1;
    /// Two bits: [`Wrap`](super::Wrap) along v.
    pub const WRAP_V_SHIFT: u32 = 3;
    /// Filtered anisotropically inside of pages.
    pub const ANISOTROPIC: u32 = 1 << 5;
    /// Two levels are looked up and mixed.
    pub const TRILINEAR: u32 = 1 << 6;
    /// One of the two levels by chance, for use with temporal filtering.
    pub const STOCHASTIC: u32 = 1 << 7;
    /// Pages are tinted by their level.
    pub const SHOW_LEVELS: u32 = 1 << 8;
    /// Edges of pages are drawn.
    pub const SHOW_BORDERS: u32 = 1 << 9;
    /// Anisotropy by several taps in the shader.
    pub const MANUAL_TAPS: u32 = 1 << 10;
    /// Layers are those of low quality.
    pub const LOW_QUALITY: u32 = 1 << 11;
    /// Two bits: channel of the page table.
    pub const CHANNEL_SHIFT: u32 = 12;
}

gpu_struct! {
    /// One texture, see `shaders/lib/virtual_texture.wgsl`.
    pub struct VirtualTexture {
        /// Logical tiles along u and v.
        pub tiles: [f32; 2],
        /// Corner of its square in the page table, in pages of level 0.
        pub offset: [u32; 2],
        /// Coarsest level.
        pub max_level: u32,
        /// Space id << 28, or [`NO_FEEDBACK`].
        pub feedback_id: u32,
        /// Logical texels a side of a tile.
        pub tile: f32,
        /// Texels around a tile.
        pub border: f32,
        /// Texels a side of the atlas.
        pub atlas_side: f32,
        /// See [`flags`].
        pub flags: u32,
        /// Added to every level.
        pub bias: f32,
        /// What the residency adds, last of all.
        pub table_bias: f32,
        /// Height in metres = stored * scale + offset.
        pub height_scale: f32,
        /// Height of a stored 0, metres.
        pub height_offset: f32,
        /// How much longer than wide a footprint may be before it counts as wider, and most taps along it.
        pub anisotropy: f32,
        /// [`Kind`] as a number.
        pub kind: u32,
        /// What each layer gives where nothing is resident.
        pub fallback: [[f32; 4]; 3],
    }

    /// What is the same for all textures in a frame and a view, see `shaders/lib/virtual_texture.wgsl`. It stands in front
    /// of the textures in their buffer.
    pub struct VirtualTextureFrame {
        /// Blocks of pixels along x and y.
        pub feedback_side: [u32; 2],
        /// Pixels a side of a block, as a logarithm.
        pub feedback_factor_log2: u32,
        /// Words of feedback that there is room for.
        pub feedback_capacity: u32,
        /// Frame number: moves noise and turns of feedback.
        pub frame: u32,
        /// Added to every level of every texture.
        pub global_bias: f32,
        /// Textures that follow.
        pub texture_count: u32,
        /// To a multiple of 16 bytes.
        pub padding: u32,
    }
}

impl VirtualTextureFrame {
    /// The constants of a view of `extent` pixels, of which one of each `factor` x `factor` gives feedback (rounded up to
    /// a power of two, at most 4096) and on average `overdraw` samples of a pixel find room.
    pub fn new(extent: [u32; 2], factor: u32, overdraw: u32) -> Self {
        let factor = factor.clamp(1, 4096).next_power_of_two();
        let feedback_side = extent.map(|pixels| pixels.max(1).div_ceil(factor));
        let words = (u64::from(feedback_side[0]) * u64::from(feedback_side[1]))
            .saturating_mul(u64::from(overdraw.max(1)));
        Self {
            feedback_side,
            feedback_factor_log2: factor.trailing_zeros(),
            feedback_capacity: u32::try_from(words).unwrap_or(u32::MAX - FIRST_WORDS),
            ..Self::default()
        }
    }

    /// Bytes of the feedback buffer: its counters and the words.
    pub fn feedback_bytes(&self) -> u64 {
        4 * (u64::from(FIRST_WORDS) + u64::from(self.feedback_capacity))
    }
}

const FIRST_WORDS: u32 = super::FIRST_FEEDBACK_WORD as u32;

/// What is outside of a texture, along one axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize)]
pub enum Wrap {
    /// Its last texel goes on.
    #[default]
    Clamp = 0,
    /// It comes again. The borders of its outer pages hold texels of the other side.
    Repeat = 1,
    /// It comes again mirrored.
    Mirror = 2,
}

/// How footprints that are longer than wide are filtered inside of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize)]
pub enum Anisotropy {
    /// One bilinear sample.
    #[default]
    Off,
    /// By the sampler, which must be anisotropic. Some drivers ignore that where gradients are explicit.
    Sampler,
    /// By several bilinear samples.
    Taps,
}

/// How levels are mixed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize)]
pub enum Trilinear {
    /// One level.
    #[default]
    Off,
    /// Two levels, mixed.
    Manual,
    /// One of two levels by chance: for use with temporal filtering.
    Stochastic,
}

/// A texture as sampling sees it: where it lies, and how it is filtered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SampledTexture {
    /// Tiles and coarsest level.
    pub grid: Grid,
    /// Corner of its square in the page table, in pages of level 0.
    pub offset: [u32; 2],
    /// Its space, for feedback; nothing for a texture that gets none.
    pub space: Option<SpaceId>,
    /// Logical texels a side of a tile.
    pub tile: u32,
    /// Texels around a tile.
    pub border: u32,
    /// Pages a side of the atlas.
    pub side: u32,
    /// Width of the page table's entries.
    pub entries: EntryFormat,
    /// Channel of the page table, 0 to 3.
    pub channel: u8,
    /// What is outside of it along u and v.
    pub wrap: [Wrap; 2],
    /// How long footprints are filtered.
    pub anisotropy: Anisotropy,
    /// How much longer than wide a footprint may be before it counts as wider, 1 to 16; with or without anisotropy.
    pub most_anisotropy: f32,
    /// How levels are mixed.
    pub trilinear: Trilinear,
    /// Added to every level.
    pub bias: f32,
    /// What the residency adds, last of all.
    pub table_bias: f32,
    /// What it stores.
    pub kind: Kind,
    /// Whether it stores that in 16 bits a texel, see [`KindOptions`](crate::vt::runtime::KindOptions).
    pub is_low_quality: bool,
    /// Height in metres = stored * scale + offset.
    pub height: [f32; 2],
    /// What each layer gives where nothing is resident.
    pub fallback: [[f32; 4]; 3],
    /// Whether pages are tinted by their level.
    pub shows_levels: bool,
    /// Whether the edges of pages are drawn.
    pub shows_borders: bool,
}

impl SampledTexture {
    /// A texture of `grid` at `offset` in a page table, with pages of `tile` + 2 x `border` texels in an atlas of `side`
    /// pages a side: clamped, bilinear, without feedback, white where nothing is resident.
    pub fn new(grid: Grid, offset: [u32; 2], (tile, border): (u32, u32), side: u32, kind: Kind) -> Self {
        Self {
            grid,
            offset,
            space: None,
            tile,
            border,
            side,
            entries: EntryFormat::for_side(side),
            channel: 0,
            wrap: [Wrap::Clamp; 2],
            anisotropy: Anisotropy::Off,
            most_anisotropy: 8.0,
            trilinear: Trilinear::Off,
            bias: 0.0,
            table_bias: 0.0,
            kind,
            is_low_quality: false,
            height: [1.0, 0.0],
            fallback: [[1.0; 4]; 3],
            shows_levels: false,
            shows_borders: false,
        }
    }

    /// What shaders read.
    pub fn constants(&self) -> VirtualTexture {
        let bit = |is_set: bool, bit: u32| if is_set { bit } else { 0 };
        let flags = bit(self.entries == EntryFormat::Bits32, flags::ENTRIES_32)
            | (self.wrap[0] as u32) << flags::WRAP_U_SHIFT
            | (self.wrap[1] as u32) << flags::WRAP_V_SHIFT
            | bit(self.anisotropy != Anisotropy::Off, flags::ANISOTROPIC)
            | bit(self.anisotropy == Anisotropy::Taps, flags::MANUAL_TAPS)
            | bit(self.trilinear == Trilinear::Manual, flags::TRILINEAR)
            | bit(self.trilinear == Trilinear::Stochastic, flags::STOCHASTIC)
            | bit(self.shows_levels, flags::SHOW_LEVELS)
            | bit(self.shows_borders, flags::SHOW_BORDERS)
            | bit(self.is_low_quality, flags::LOW_QUALITY)
            | (u32::from(self.channel) & 3) << flags::CHANNEL_SHIFT;
        let physical = u64::from(self.tile) + 2 * u64::from(self.border);
        let fed = self.space.filter(|space| space.is_fed());
        VirtualTexture {
            tiles: self.grid.tiles().map(|side| side as f32),
            offset: self.offset,
            max_level: u32::from(self.grid.max_level()),
            feedback_id: fed.map_or(NO_FEEDBACK, |space| u32::from(space.0) << 28),
            tile: self.tile as f32,
            border: self.border as f32,
            atlas_side: (u64::from(self.side) * physical).max(1) as f32,
            flags,
            bias: self.bias,
            table_bias: self.table_bias,
            height_scale: self.height[0],
            height_offset: self.height[1],
            anisotropy: self.most_anisotropy,
            kind: self.kind as u32,
            fallback: self.fallback,
        }
    }
}
