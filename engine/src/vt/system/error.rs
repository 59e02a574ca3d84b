//! What can go wrong.

use crate::vt::atlas::AtlasError;
use crate::vt::planner::PlannerError;
use crate::vt::runtime::RuntimeError;
use crate::vt::tables::TableError;

/// What can go wrong with virtual textures.
#[derive(Debug, Clone, thiserror::Error)]
pub enum VtError {
    /// A texture or a pool that cannot be.
    #[error(transparent)]
    Planner(#[from] PlannerError),
    /// A page table that cannot be.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A writer or a volume that cannot be.
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    /// An atlas that cannot be.
    #[error(transparent)]
    Atlas(#[from] AtlasError),
    /// A ground without a terrain, or without virtual textures.
    #[error(
        "there is no ground for virtual textures: make them (`Engine::use_textures`) and put a terrain into the scene first"
    )]
    NoGround,
    /// Virtual textures are not in use.
    #[error("virtual textures are not in use: call `Engine::use_textures` first")]
    Off,
    /// A picture of a size that cannot be.
    #[error("a view of {width} x {height} pixels cannot be drawn: give 1 to {most} along each side")]
    ViewExtent {
        /// What was asked for.
        width: u32,
        /// What was asked for.
        height: u32,
        /// The largest side.
        most: u32,
    },
    /// A texture that nothing was drawn for yet.
    #[error("{texture} cannot be looked at: no frame was drawn since it was made; draw one first")]
    NotDrawn {
        /// What was named.
        texture: crate::vt::TextureId,
    },
    /// What the driver said.
    #[error(transparent)]
    Vulkan(#[from] crate::vk::Error),
    /// Reserved memory.
    #[error(transparent)]
    Sparse(#[from] crate::sparse::Error),
}

/// A result of virtual textures.
pub type VtResult<T> = std::result::Result<T, VtError>;

impl VtError {
    /// What the driver said, if it is that.
    pub fn vulkan(&self) -> Option<&crate::vk::Error> {
        match self {
            Self::Vulkan(error)
            | Self::Table(TableError::Vk(error))
            | Self::Runtime(RuntimeError::Vulkan(error))
            | Self::Atlas(AtlasError::Vulkan(error)) => Some(error),
            _ => None,
        }
    }

    /// The report of a refused allocation, if it is one.
    pub fn out_of_memory(&self) -> Option<&crate::vk::OutOfMemory> {
        match self {
            Self::Sparse(error) | Self::Atlas(AtlasError::Sparse(error)) => error.out_of_memory(),
            other => other.vulkan().and_then(crate::vk::Error::out_of_memory),
        }
    }
}
