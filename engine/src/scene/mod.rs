//! What the world is: meshes, instances, terrain; and where their data lies in the GPU's buffers.
pub mod dirty;
pub mod ranges;
pub mod terrain;
