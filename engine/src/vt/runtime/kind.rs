//! What a runtime virtual texture stores: its layers, the targets its pages are drawn into, and who writes which channel.
//!
//! Pages are drawn into plain targets, a value times its opacity in each channel, and packed into the layers of the kind
//! afterwards. So a decal that changes normals writes the channels of the normal and leaves the rest, whatever the layers
//! are. How values are coded is told in `shaders/lib/virtual_texture_kinds.wgsl`.

use std::fmt;

use crate::vt::{Kind, LayerFormat};

/// How a kind is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
pub struct KindOptions {
    /// Whether layers are block-compressed; a device without BC has no choice.
    pub is_compressed: bool,
    /// 16 bits a texel for [`Kind::BaseColorNormalRoughness`]: drawn as it is stored, and not compressed.
    pub is_low_quality: bool,
}

impl Default for KindOptions {
    fn default() -> Self {
        Self { is_compressed: true, is_low_quality: false }
    }
}

/// Format of a target that pages are drawn into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
pub enum TargetFormat {
    /// 8 bits a channel.
    Rgba8,
    /// 16 bits, colour only.
    Rgb565,
    /// 16 bits, a bit of alpha.
    Rgba5551,
    /// 16 bits of one channel.
    R16,
}

impl TargetFormat {
    /// Bytes of a texel.
    pub fn texel_bytes(self) -> u64 {
        match self {
            Self::Rgba8 => 4,
            Self::Rgb565 | Self::Rgba5551 | Self::R16 => 2,
        }
    }
}

/// A set of what materials write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, serde::Serialize)]
pub struct Attributes(u8);

impl Attributes {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// Base colour.
    pub const BASE_COLOR: Self = Self(1);
    /// Normal.
    pub const NORMAL: Self = Self(2);
    /// Roughness.
    pub const ROUGHNESS: Self = Self(4);
    /// Specular.
    pub const SPECULAR: Self = Self(8);
    /// The mask, or the four of [`Kind::Mask4`].
    pub const MASK: Self = Self(16);
    /// Height of the world.
    pub const HEIGHT: Self = Self(32);
    /// Displacement.
    pub const DISPLACEMENT: Self = Self(64);
    /// Everything.
    pub const ALL: Self = Self(127);

    const NAMES: [(Self, &'static str); 7] = [
        (Self::BASE_COLOR, "base colour"),
        (Self::NORMAL, "normal"),
        (Self::ROUGHNESS, "roughness"),
        (Self::SPECULAR, "specular"),
        (Self::MASK, "mask"),
        (Self::HEIGHT, "height"),
        (Self::DISPLACEMENT, "displacement"),
    ];

    /// What either has.
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// What both have.
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// What this has and the other has not.
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether all of `other` is in it.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether there is nothing.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// One by one, in the order of the constants.
    pub fn each(self) -> impl Iterator<Item = Self> {
        Self::NAMES.into_iter().map(|(one, _)| one).filter(move |one| self.has(*one))
    }
}

impl fmt::Display for Attributes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("nothing");
        }
        let names: Vec<&str> =
            Self::NAMES.iter().filter(|(one, _)| self.has(*one)).map(|(_, n)| *n).collect();
        f.write_str(&names.join(", "))
    }
}

/// Channels of a target that a draw writes: red, green, blue and alpha from the lowest bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, serde::Serialize)]
pub struct Channels(pub u8);

impl Channels {
    /// None.
    pub const NONE: Self = Self(0);
    /// Red, green, alpha.
    pub const RGA: Self = Self(1 | 2 | 8);
    /// Red, alpha.
    pub const RA: Self = Self(1 | 8);
    /// Green, alpha.
    pub const GA: Self = Self(2 | 8);
    /// Blue, alpha.
    pub const BA: Self = Self(4 | 8);
    /// All four.
    pub const RGBA: Self = Self(15);
}

impl fmt::Display for Channels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        "RGBA"
            .chars()
            .enumerate()
            .filter(|(bit, _)| self.0 >> bit & 1 != 0)
            .try_for_each(|(_, c)| write!(f, "{c}"))
    }
}

/// Most targets that a page is drawn into.
pub const MOST_TARGETS: usize = 3;

impl Kind {
    /// Whether it is drawn as it is stored, in 16 bits a texel.
    pub fn is_low_quality(self, options: KindOptions) -> bool {
        options.is_low_quality && self == Self::BaseColorNormalRoughness
    }

    /// What it stores.
    pub fn attributes(self) -> Attributes {
        let rough = Attributes::BASE_COLOR.union(Attributes::NORMAL).union(Attributes::ROUGHNESS);
        let specular = rough.union(Attributes::SPECULAR);
        match self {
            Self::BaseColor => Attributes::BASE_COLOR,
            Self::BaseColorNormalRoughness => rough,
            Self::BaseColorNormalSpecular | Self::BaseColorNormalSpecularYCoCg => specular,
            Self::BaseColorNormalSpecularMaskYCoCg => specular.union(Attributes::MASK),
            Self::Mask4 => Attributes::MASK,
            Self::WorldHeight => Attributes::HEIGHT,
            Self::Displacement => Attributes::DISPLACEMENT,
        }
    }

    /// Formats of its layers in the atlas.
    pub fn layers(self, options: KindOptions) -> Vec<LayerFormat> {
        use LayerFormat::{Bc1, Bc3, Bc4, Bc5, R16, Rgb565, Rgba8, Rgba5551};
        if self.is_low_quality(options) {
            return vec![Rgb565, Rgba5551];
        }
        let layers: &[LayerFormat] = match self {
            Self::BaseColor => &[Bc1],
            Self::BaseColorNormalRoughness => &[Bc1, Bc3],
            Self::BaseColorNormalSpecular => &[Bc3, Bc3],
            Self::BaseColorNormalSpecularYCoCg => &[Bc3, Bc5, Bc1],
            Self::BaseColorNormalSpecularMaskYCoCg => &[Bc3, Bc5, Bc3],
            Self::Mask4 => &[Bc3],
            Self::WorldHeight => &[R16],
            Self::Displacement => &[Bc4],
        };
        let plain = |layer: &LayerFormat| match layer {
            _ if options.is_compressed => *layer,
            Bc4 | R16 => R16,
            _ => Rgba8,
        };
        layers.iter().map(plain).collect()
    }

    /// Formats of the targets that its pages are drawn into.
    pub fn targets(self, options: KindOptions) -> &'static [TargetFormat] {
        use TargetFormat::{R16, Rgb565, Rgba8, Rgba5551};
        match self {
            _ if self.is_low_quality(options) => &[Rgb565, Rgba5551],
            Self::BaseColor => &[Rgba8],
            Self::Mask4 => &[Rgba8; 2],
            Self::WorldHeight | Self::Displacement => &[R16],
            _ => &[Rgba8; 3],
        }
    }

    /// Channels of each target that a draw of these attributes writes.
    ///
    /// With three targets: base colour 0.RGBA, normal 1.RGA and 2.BA, roughness 2.GA, specular 2.RA, mask 1.BA. `Mask4` has
    /// two masks in each of its targets. In low quality: normal 1.RGA, roughness 1.BA.
    pub fn write_masks(self, options: KindOptions, attributes: Attributes) -> [Channels; MOST_TARGETS] {
        let mut masks = [Channels::NONE; MOST_TARGETS];
        let targets = self.targets(options).len();
        for one in attributes.and(self.attributes()).each() {
            for (mask, more) in masks.iter_mut().zip(self.channels(options, one)).take(targets) {
                mask.0 |= more.0;
            }
        }
        masks
    }

    fn channels(self, options: KindOptions, one: Attributes) -> [Channels; MOST_TARGETS] {
        use Channels as C;
        match one {
            Attributes::BASE_COLOR | Attributes::HEIGHT | Attributes::DISPLACEMENT => {
                [C::RGBA, C::NONE, C::NONE]
            }
            Attributes::NORMAL if self.is_low_quality(options) => [C::NONE, C::RGA, C::NONE],
            Attributes::NORMAL => [C::NONE, C::RGA, C::BA],
            Attributes::ROUGHNESS if self.is_low_quality(options) => [C::NONE, C::BA, C::NONE],
            Attributes::ROUGHNESS => [C::NONE, C::NONE, C::GA],
            Attributes::SPECULAR => [C::NONE, C::NONE, C::RA],
            Attributes::MASK if self == Self::Mask4 => [C::RGA, C::RGA, C::NONE],
            Attributes::MASK => [C::NONE, C::BA, C::NONE],
            _ => [C::NONE; MOST_TARGETS],
        }
    }
}
