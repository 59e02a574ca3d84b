//! A terrain made from a height map.
//!
//! ```text
//! file -> heightmap: metres on a grid -> surface: a smooth function of place, with bounds
//!                                          + detail: its shape below the samples
//!           surface -> light: shadows, sky, curvature, once for the map
//!           surface -> lod: which patches are drawn how finely
//!           surface -> scatter: where rocks lie
//! ```
//!
//! All of it is pure and runs on the processor. What a shader must repeat exactly (the surface and its
//! detail) is written as a formula at the head of its file.
pub mod detail;
pub mod heightmap;
pub mod light;
pub mod lod;
pub mod scatter;
pub mod surface;
