//! What can go wrong with an engine.

use crate::{graph, render, scene, sparse, streaming, vk, vt};

/// Result of the engine.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong, from whichever layer. The engine and all its resources stay valid, except after
/// [`vk::Error::DeviceLost`].
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The Vulkan floor.
    #[error(transparent)]
    Vulkan(#[from] vk::Error),
    /// Reserved memory.
    #[error(transparent)]
    Sparse(#[from] sparse::Error),
    /// The scene.
    #[error(transparent)]
    Scene(#[from] scene::Error),
    /// Streamed images.
    #[error(transparent)]
    Streaming(#[from] streaming::Error),
    /// Rendering.
    #[error(transparent)]
    Render(#[from] render::Error),
    /// Virtual textures.
    #[error(transparent)]
    Textures(#[from] vt::VtError),
    /// The frame graph.
    #[error(transparent)]
    Graph(graph::Error),
}

impl From<graph::Error> for Error {
    fn from(error: graph::Error) -> Self {
        match error {
            graph::Error::Vulkan(error) => Self::Vulkan(error),
            graph::Error::Half { source, .. } => Self::Vulkan(*source),
            other => Self::Graph(other),
        }
    }
}

impl Error {
    /// The report of a refused allocation, if it is one.
    pub fn out_of_memory(&self) -> Option<&vk::OutOfMemory> {
        match self {
            Self::Vulkan(error) => error.out_of_memory(),
            Self::Sparse(error) => error.out_of_memory(),
            Self::Scene(error) => error.out_of_memory(),
            Self::Streaming(error) => error.out_of_memory(),
            Self::Render(error) => error.out_of_memory(),
            Self::Textures(error) => error.out_of_memory(),
            Self::Graph(graph::Error::Pass { source, .. }) => {
                let scene = source.downcast_ref::<scene::Error>().and_then(scene::Error::out_of_memory);
                let sparse = || source.downcast_ref::<sparse::Error>().and_then(sparse::Error::out_of_memory);
                scene.or_else(sparse)
            }
            Self::Graph(_) => None,
        }
    }
}
