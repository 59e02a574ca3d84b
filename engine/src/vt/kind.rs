//! What a virtual texture stores. Layers and channels are told in `shaders/lib/virtual_texture_kinds.wgsl`.
//!
//! The rooms add what they need to know of a kind: `runtime/kind.rs` targets and write masks, `compress/kind.rs` how its layers
//! are made, `sampling/kinds.rs` what is in which channel.

use std::fmt;

/// What a virtual texture stores. The numbers are those of `VT_KIND_...` in `shaders/lib/virtual_texture_kinds.wgsl`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
pub enum Kind {
    /// Base colour.
    BaseColor = 0,
    /// Base colour, normal, roughness.
    BaseColorNormalRoughness = 1,
    /// Base colour, normal, roughness, specular.
    BaseColorNormalSpecular = 2,
    /// The same with luma and chroma apart, and the normal's two channels of their own.
    BaseColorNormalSpecularYCoCg = 3,
    /// The same and a mask.
    BaseColorNormalSpecularMaskYCoCg = 4,
    /// Four masks.
    Mask4 = 5,
    /// Height of the world: 16 bits, never compressed.
    WorldHeight = 6,
    /// Height above the geometry.
    Displacement = 7,
}

impl Kind {
    /// All, in the order of their numbers.
    pub const ALL: [Self; 8] = [
        Self::BaseColor,
        Self::BaseColorNormalRoughness,
        Self::BaseColorNormalSpecular,
        Self::BaseColorNormalSpecularYCoCg,
        Self::BaseColorNormalSpecularMaskYCoCg,
        Self::Mask4,
        Self::WorldHeight,
        Self::Displacement,
    ];

    /// Its number in shaders.
    pub fn number(self) -> u32 {
        self as u32
    }

    /// Whether it is one height a texel.
    pub fn is_height(self) -> bool {
        matches!(self, Self::WorldHeight | Self::Displacement)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}
