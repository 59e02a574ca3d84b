//! Errors of reserved resources. Nothing has changed when one of these comes back.

use super::watermark::{AddressBudgetError, PlanError};
use crate::vk;

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
    /// The device has no addresses left for the reservation.
    #[error(transparent)]
    Addresses(#[from] AddressBudgetError),
    /// What Vulkan said.
    #[error(transparent)]
    Vulkan(#[from] vk::Error),
}
