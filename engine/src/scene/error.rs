//! Errors of the scene.

use super::ranges::StaleRange;

/// Result of the scene.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong with what the world is.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A buffer's addresses are used up.
    #[error("{what} is full: {asked} more elements asked for, its addresses hold {capacity}")]
    Full {
        /// The buffer.
        what: String,
        /// Elements asked for.
        asked: u64,
        /// Elements its addresses hold.
        capacity: u64,
    },
    /// A handle of something that was removed.
    #[error("a handle was used after what it names was removed ({0})")]
    Stale(#[from] StaleRange),
    /// A mesh that cannot be drawn.
    #[error("a mesh {0}")]
    Mesh(String),
    /// The terrain's level of detail.
    #[error("terrain: {0}")]
    Lod(#[from] super::terrain::lod::LodError),
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
