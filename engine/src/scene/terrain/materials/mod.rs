//! What the ground is made of: layers of material that a compute shader makes, and how they are told apart.
//!
//! ```text
//! table (pure: colours, sizes) --+--> Layers: terrain_layers.wgsl, a layer at a time -> two array images
//!                                +--> TerrainConstants.materials --> lib/terrain_materials.wgsl
//! ```
//!
//! A layer is a tile that repeats: colours relative to its mean, height, normal, roughness, occlusion. The shader
//! library lays each twice, near and far, over the forms of the map, and blends them by height.

mod layers;
mod overlays;
pub mod splat;
mod table;
#[cfg(test)]
mod tests;

pub use layers::{Layers, LayersDesc, TerrainLayerPush};
pub use overlays::{OverlayBuffers, OverlayPrimitive};
pub use table::{GROUND_KINDS, GroundKind, MAX_LAYERS, MaterialLayer, material_layers};
