//! Reserved images: chunked ones, all bound at creation in many small allocations, and partially resident ones, whose
//! tiles come and go.
//!
//! | | needs | memory | when the device cannot |
//! | --- | --- | --- | --- |
//! | [`ChunkedImage`] | `sparseBinding` | all of it, in chunks | one dedicated allocation |
//! | [`PartiallyResidentImage`] | and `sparseResidencyImage2D` (`3D`) | the tiles that are mapped, and the tail | an error, or all of it ([`Missing`]) |
//!
//! An image cannot change its size: make another one, and drop what this one cached.

mod chunked;
mod resident;
mod tiling;

pub use chunked::ChunkedImage;
pub use resident::{Missing, PartiallyResidentDesc, PartiallyResidentImage};
pub(super) use tiling::tile_layout;
