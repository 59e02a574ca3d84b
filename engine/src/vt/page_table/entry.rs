//! One entry: which page of the atlas, and of which level it is.

/// How wide an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
pub enum EntryFormat {
    /// 4 + 6 + 6 bits, a channel of `R16_UINT`: pools of at most 64 pages a side.
    Bits16,
    /// 4 + 8 + 8 bits, a channel of `R32_UINT`.
    Bits32,
}

impl EntryFormat {
    /// The largest side of a pool that 16 bits can address.
    pub const MOST_SIDE_16: u32 = 64;

    /// The narrowest one for a pool of `side` pages a side.
    pub fn for_side(side: u32) -> Self {
        if side <= Self::MOST_SIDE_16 { Self::Bits16 } else { Self::Bits32 }
    }

    /// Bytes of one channel.
    pub fn bytes(self) -> u64 {
        match self {
            Self::Bits16 => 2,
            Self::Bits32 => 4,
        }
    }
}

impl std::fmt::Display for EntryFormat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Bits16 => "16 bits",
            Self::Bits32 => "32 bits",
        })
    }
}

/// What a texel of a page table says: the mapped level in the low 4 bits, then page x, then page y.
///
/// Page (0, 0) of every pool is reserved, so an entry that names it, at whatever level, says that nothing is mapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize)]
pub struct Entry {
    /// Level of the page that is mapped: the one asked for, or a coarser one.
    pub level: u8,
    /// Column and row in the atlas, in pages.
    pub page: [u8; 2],
}

impl Entry {
    /// Nothing is mapped.
    pub const NONE: Self = Self { level: 0, page: [0, 0] };

    /// Whether nothing is mapped.
    pub fn is_none(self) -> bool {
        self.page == [0, 0]
    }

    /// For a pool of at most 64 pages a side; higher bits of level and page are cut off.
    pub fn pack16(self) -> u16 {
        u16::from(self.level & 15) | u16::from(self.page[0] & 63) << 4 | u16::from(self.page[1] & 63) << 10
    }

    /// For any pool.
    pub fn pack32(self) -> u32 {
        u32::from(self.level & 15) | u32::from(self.page[0]) << 4 | u32::from(self.page[1]) << 12
    }

    /// In the width of `format`.
    pub fn pack(self, format: EntryFormat) -> u32 {
        match format {
            EntryFormat::Bits16 => u32::from(self.pack16()),
            EntryFormat::Bits32 => self.pack32(),
        }
    }

    /// What [`Entry::pack16`] made.
    pub fn unpack16(packed: u16) -> Self {
        Self { level: (packed & 15) as u8, page: [(packed >> 4 & 63) as u8, (packed >> 10) as u8] }
    }

    /// What [`Entry::pack32`] made.
    pub fn unpack32(packed: u32) -> Self {
        Self { level: (packed & 15) as u8, page: [(packed >> 4) as u8, (packed >> 12) as u8] }
    }

    /// What [`Entry::pack`] made.
    pub fn unpack(packed: u32, format: EntryFormat) -> Self {
        match format {
            EntryFormat::Bits16 => Self::unpack16(packed as u16),
            EntryFormat::Bits32 => Self::unpack32(packed),
        }
    }
}

impl std::fmt::Display for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.is_none() {
            return f.write_str("nothing");
        }
        write!(f, "atlas page {},{} of level {}", self.page[0], self.page[1], self.level)
    }
}
