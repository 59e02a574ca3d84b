//! What can go wrong between a primitive and a page.

/// Why a runtime virtual texture or what is drawn into it was refused.
#[derive(Debug, Clone, thiserror::Error)]
pub enum RuntimeError {
    /// A box without an area, or with numbers that are none.
    #[error(
        "the box of a runtime virtual texture has a side of {size:?} m and heights of {heights:?} m: sides must be \
         positive and finite, the upper height above the lower"
    )]
    Volume {
        /// Sides along u and v.
        size: [f32; 2],
        /// Lowest and highest.
        heights: [f32; 2],
    },
    /// A tile that cannot be drawn.
    #[error(
        "a tile of {tile} texels with a border of {border} was asked for: the tile must be 8 to 4096 and the border at \
         most half of it"
    )]
    Tile {
        /// Logical texels a side.
        tile: u32,
        /// Texels of border on each side.
        border: u32,
    },
    /// A writer that writes nothing: fewer than two points, a rectangle without an area, numbers that are none.
    #[error("what is to be drawn into virtual textures {0}")]
    Shape(String),
    /// A writer or volume that was removed.
    #[error("the {what} of runtime virtual textures was removed: ask for the one that took its place")]
    Gone {
        /// Writer or volume.
        what: &'static str,
    },
    /// The origin cannot be another one.
    #[error(
        "{name} is drawn by absolute coordinates, so the origin of virtual textures cannot be shifted: remove it first, or \
         leave the origin where it is"
    )]
    Origin {
        /// Name of the writer.
        name: String,
    },
    /// What the scene said.
    #[error(transparent)]
    Scene(#[from] crate::scene::Error),
    /// What the device said.
    #[error(transparent)]
    Vulkan(#[from] crate::vk::Error),
}

/// The result of a call here.
pub type Result<T, E = RuntimeError> = std::result::Result<T, E>;
