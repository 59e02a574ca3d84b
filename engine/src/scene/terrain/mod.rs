//! A terrain made from a height map.
pub mod detail;
pub mod heightmap;
pub mod light;
pub mod lod;
pub mod surface;
