//! Errors of streamed images.

use ash::vk::Format;

use crate::sparse::tiles::TileError;

/// Result of streaming.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a streamed image cannot be made. What goes wrong later, in a frame, is not an error: it costs sharpness and is
/// counted.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A format whose texels this room cannot lay out.
    #[error(
        "{name} is to be streamed in the format {format:?}: only BC1, BC3, BC4, BC5, BC7 and RGBA8 can be"
    )]
    Format {
        /// The image.
        name: String,
        /// Its format.
        format: Format,
    },
    /// A compressed format on a device without them.
    #[error(
        "{name} is to be streamed in the format {format:?}, which needs the feature textureCompressionBC: {device} \
         does not have it, or it is masked"
    )]
    NoCompression {
        /// The image.
        name: String,
        /// Its format.
        format: Format,
        /// The device.
        device: String,
    },
    /// The tiles that a driver reports.
    #[error("{name}: {source}")]
    Tiles {
        /// The image.
        name: String,
        /// What is wrong with them.
        source: TileError,
    },
    /// Reserved memory.
    #[error(transparent)]
    Sparse(#[from] crate::sparse::Error),
    /// The Vulkan floor.
    #[error(transparent)]
    Vulkan(#[from] crate::vk::Error),
}

impl Error {
    /// The report of a refused allocation, if it is one.
    pub fn out_of_memory(&self) -> Option<&crate::vk::OutOfMemory> {
        match self {
            Self::Sparse(error) => error.out_of_memory(),
            Self::Vulkan(error) => error.out_of_memory(),
            _ => None,
        }
    }
}
