//! What the world is: meshes, instances, terrain, a camera; and where their data lies in the GPU's buffers.
//!
//! ```text
//! meshes, instances ---+--> GpuScene      arrays of primitives, instances, payloads    (growable buffers)
//! terrain, rocks ------+--> GeometryPool  vertices and indices                         (growable buffers)
//! ```
//!
//! - `ranges`, `dirty`: pure bookkeeping of ranges that come, go, move and change.
//! - `gpu_scene`, `geometry`: the buffers.
//! - `world`: what applications add to and remove from; `terrain`: ground from a height map.

pub mod camera;
pub mod dirty;
pub mod error;
pub mod geometry;
pub mod gpu_scene;
pub mod ranges;
mod shapes;
pub mod terrain;
mod world;

pub use camera::Camera;
pub use error::{Error, Result};
pub use world::{MeshData, MeshHandle, Scene, SceneBuffers};
