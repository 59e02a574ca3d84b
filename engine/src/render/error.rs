//! Errors of rendering.

/// Result of rendering.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong with a frame. The scene and all other resources stay valid.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The scene.
    #[error(transparent)]
    Scene(#[from] crate::scene::Error),
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
            Self::Scene(error) => error.out_of_memory(),
            Self::Sparse(error) => error.out_of_memory(),
            Self::Vulkan(error) => error.out_of_memory(),
        }
    }
}
