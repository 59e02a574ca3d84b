//! What pages store, as far as compression needs it: layers of a kind, and how each is made.

use crate::vt::{Kind, LayerFormat};

/// How the texels of targets become those of layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
pub enum Storage {
    /// Packed and compressed into blocks.
    Blocks,
    /// Packed, 8 bits a channel: where a device has no BC.
    Texels,
    /// A target is a layer as it is: 16-bit heights, low quality.
    AsDrawn,
}

impl Kind {
    /// Layers of its blocks; `WorldHeight` has none.
    pub fn blocks(self) -> &'static [LayerFormat] {
        use LayerFormat::{Bc1, Bc3, Bc4, Bc5};
        match self {
            Self::BaseColor => &[Bc1],
            Self::BaseColorNormalRoughness => &[Bc1, Bc3],
            Self::BaseColorNormalSpecular => &[Bc3, Bc3],
            Self::BaseColorNormalSpecularYCoCg => &[Bc3, Bc5, Bc1],
            Self::BaseColorNormalSpecularMaskYCoCg => &[Bc3, Bc5, Bc3],
            Self::Mask4 => &[Bc3],
            Self::WorldHeight => &[],
            Self::Displacement => &[Bc4],
        }
    }

    /// How it becomes these layers; nothing if it cannot.
    pub fn storage(self, layers: &[LayerFormat]) -> Option<Storage> {
        use LayerFormat::{R16, Rgb565, Rgba8, Rgba5551};
        let blocks = self.blocks();
        let is_height = matches!(self, Self::WorldHeight | Self::Displacement);
        if !blocks.is_empty() && layers == blocks {
            return Some(Storage::Blocks);
        }
        if !is_height && layers.len() == blocks.len() && layers.iter().all(|layer| *layer == Rgba8) {
            return Some(Storage::Texels);
        }
        let is_low = self == Self::BaseColorNormalRoughness && layers == [Rgb565, Rgba5551];
        (is_low || (is_height && layers == [R16])).then_some(Storage::AsDrawn)
    }

    /// Targets that are read to make its layers.
    pub fn targets_read(self, storage: Storage) -> usize {
        match self {
            Self::BaseColor | Self::WorldHeight | Self::Displacement => 1,
            Self::Mask4 => 2,
            _ if storage == Storage::AsDrawn => 2,
            _ => 3,
        }
    }

    /// Which pass makes its layers: the entry point of `shaders/vt/compress.wgsl`.
    pub fn entry_point(self, storage: Storage) -> Option<&'static str> {
        let names = match self {
            Self::BaseColor => ("base_color", "store_base_color"),
            Self::BaseColorNormalRoughness => {
                ("base_color_normal_roughness", "store_base_color_normal_roughness")
            }
            Self::BaseColorNormalSpecular => {
                ("base_color_normal_specular", "store_base_color_normal_specular")
            }
            Self::BaseColorNormalSpecularYCoCg => {
                ("base_color_normal_specular_ycocg", "store_base_color_normal_specular_ycocg")
            }
            Self::BaseColorNormalSpecularMaskYCoCg => {
                ("base_color_normal_specular_mask_ycocg", "store_base_color_normal_specular_mask_ycocg")
            }
            Self::Mask4 => ("mask4", "store_mask4"),
            Self::Displacement if storage == Storage::Blocks => ("displacement", ""),
            Self::WorldHeight | Self::Displacement => return None,
        };
        match storage {
            Storage::Blocks => Some(names.0),
            Storage::Texels => Some(names.1),
            Storage::AsDrawn => None,
        }
    }
}
