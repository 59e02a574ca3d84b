//! Errors of reserved resources. Nothing has changed when one of these comes back.

use super::pages::PageError;
use super::tiles::TileError;
use super::watermark::PlanError;
use crate::vk::{self, AddressBudgetError};

/// Result of reserved resources.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong with a reserved resource.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A commit or a layout that can never work.
    #[error("{name}: {source}")]
    Plan {
        /// The resource.
        name: String,
        /// What is wrong with it.
        source: PlanError,
    },
    /// An image whose tiles cannot be laid out, or not with these knobs.
    #[error("{name}: {source}")]
    Tiles {
        /// The resource.
        name: String,
        /// What is wrong with it.
        source: TileError,
    },
    /// Pages that cannot be had.
    #[error("{name}: {source}")]
    Pages {
        /// The resource.
        name: String,
        /// What is wrong.
        source: PageError,
    },
    /// A tile that the resource does not have, or that cannot come and go.
    #[error("{name} has no tile {tile}: {why}")]
    NoTile {
        /// The resource.
        name: String,
        /// What was asked for.
        tile: String,
        /// What it has, or why not.
        why: String,
    },
    /// Part of something that only exists as a whole.
    #[error("{name} is a {kind}: all of it has memory from creation to the end; {instead}")]
    Whole {
        /// The resource.
        name: String,
        /// What it is.
        kind: &'static str,
        /// What to do instead.
        instead: &'static str,
    },
    /// Reserved resources live in device memory and are filled by the GPU.
    #[error(
        "{name}: a reserved resource cannot be {asked}: its pages are device memory that comes later; upload with a copy,          or use an ordinary buffer"
    )]
    NotReservable {
        /// The resource.
        name: String,
        /// What was asked for.
        asked: &'static str,
    },
    /// The device has no addresses left for the reservation.
    #[error(transparent)]
    Addresses(AddressBudgetError),
    /// What Vulkan said.
    #[error(transparent)]
    Vulkan(vk::Error),
}

impl Error {
    /// The report of a refused allocation, if it is one.
    pub fn out_of_memory(&self) -> Option<&crate::vk::OutOfMemory> {
        match self {
            Self::Vulkan(error) => error.out_of_memory(),
            _ => None,
        }
    }
}

impl From<vk::Error> for Error {
    fn from(error: vk::Error) -> Self {
        match error {
            vk::Error::Addresses(error) => Self::Addresses(error),
            error => Self::Vulkan(error),
        }
    }
}
