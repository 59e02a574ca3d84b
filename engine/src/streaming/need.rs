//! What a view of a ground plane needs: a pure function from camera and plane to tiles.
//!
//! ```text
//! tiles of the coarsest streamed mip --> in view? --> finest level wished in it < mip + 1 ? --> request, and on to
//!                                                                                            its children
//! ```
//!
//! The level that the shader wishes for at a point, with up to `taps` samples along the footprint's longer axis, is
//! `log2(max(minor, major / taps))`, minor and major being a pixel's extent in texels of mip 0 (`wished_lod` in
//! `shaders/lib/residency.wgsl`). On a plane that a camera without roll sees from the height `h`, at the depth `w`, and
//! with `k` metres a pixel at a depth of one metre, that is at least
//!
//! ```text
//! log2(texels a metre * k * w * max(min(1, w / h), w / (h taps)))
//! ```
//!
//! which grows with the depth, so that the nearest point of a tile decides. Neither feedback nor readback is needed.
//!
//! The residency map is dilated by a tile of mip 0 and the shader's smoothing by another. So a tile counts as seen
//! where that margin around it is.

use glam::{Vec2, Vec3, Vec4};

use crate::scene::Camera;
use crate::sparse::tiles::{TileCoord, TileLayout, TileRequest};

/// A level plane with an image on it: the image's columns run east (+x), its rows south (+z).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GroundPlane {
    /// The image's north-western corner, metres.
    pub corner: Vec3,
    /// Width (x) and height (z) of the image, metres.
    pub size: Vec2,
}

/// What else a need depends on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sight {
    /// Size of the picture in pixels.
    pub extent: [u32; 2],
    /// Samples along the longer axis of a footprint at most.
    pub taps: u32,
    /// Added to every wished level: positive is coarser.
    pub bias: f32,
}

/// Margin around a tile in tiles of mip 0.
const MARGIN: f32 = 2.0;

/// The tiles that a view needs, coarser ones first. The priority is by how many levels the nearest point of a tile
/// would be too coarse without it: the nearest tile of a mip has the highest.
///
/// A camera in or under the plane sees nothing of it.
pub fn ground_requests(
    camera: &Camera,
    plane: &GroundPlane,
    layout: &TileLayout,
    sight: &Sight,
) -> Vec<TileRequest> {
    let height = camera.position.y - plane.corner.y;
    let [width, rows, _] = layout.mip_extent(0);
    let is_sane = height > 0.0 && height.is_finite() && plane.size.min_element() > 0.0;
    let Some(coarsest) = layout.floor_lod().checked_sub(1).filter(|_| is_sane) else {
        return Vec::new();
    };
    let [x, y] = sight.extent.map(|side| side.max(1) as f32);
    let [tile_width, tile_height, _] = layout.tiling().granularity;
    let metres = plane.size / Vec2::new(width as f32, rows as f32);
    let view = ViewOfPlane {
        corner: plane.corner - camera.position,
        metres,
        margin: MARGIN * metres * Vec2::new(tile_width as f32, tile_height as f32),
        forward: camera.forward(),
        planes: camera.frustum(x / y),
        height,
        taps: sight.taps.max(1) as f32,
        // Metres a pixel at a depth of one metre, in texels.
        scale: 2.0 * (camera.fov_y * 0.5).tan() / y / metres.min_element(),
        bias: sight.bias,
        nearest: nearest_depth(camera, height),
    };
    let mut requests = Vec::new();
    let mut level: Vec<TileCoord> = layout.mip_block(0, coarsest).tiles().collect();
    while !level.is_empty() {
        let mut next = Vec::new();
        for tile in level {
            let Some(lod) = view.finest_lod(layout, tile) else { continue };
            let too_coarse = (tile.mip + 1) as f32 - lod;
            if too_coarse > 0.0 {
                requests.push(TileRequest { tile, priority: too_coarse });
                next.extend(layout.children(tile).tiles());
            }
        }
        level = next;
        // A tile has two parents where an extent is no power of two.
        level.sort_unstable_by_key(|tile| (tile.y, tile.x));
        level.dedup();
    }
    requests
}

/// The smallest depth at which the plane is in the picture: at its lower edge, or straight below.
fn nearest_depth(camera: &Camera, height: f32) -> f32 {
    let (sin, cos) = camera.pitch.sin_cos();
    // Steepest ray of the picture at depth one, at its lower edge for a camera that looks ahead or down.
    let fall = -sin + (camera.fov_y * 0.5).tan() * cos;
    if fall > 0.0 { (height / fall).max(camera.near) } else { f32::INFINITY }
}

struct ViewOfPlane {
    /// Of the image, relative to the camera.
    corner: Vec3,
    /// Metres a texel of mip 0.
    metres: Vec2,
    margin: Vec2,
    forward: Vec3,
    planes: [Vec4; 5],
    height: f32,
    taps: f32,
    scale: f32,
    bias: f32,
    nearest: f32,
}

impl ViewOfPlane {
    /// The finest level that is wished for anywhere in a tile and its margin; `None` out of view.
    fn finest_lod(&self, layout: &TileLayout, tile: TileCoord) -> Option<f32> {
        let region = layout.region(tile)?;
        let (extent, fine) = (layout.mip_extent(tile.mip), layout.mip_extent(0));
        let edge = |texel: u32, axis: usize| {
            let texels = f64::from(texel) * f64::from(fine[axis]) / f64::from(extent[axis]);
            texels as f32 * self.metres[axis]
        };
        let low = Vec2::new(edge(region.offset[0], 0), edge(region.offset[1], 1)) - self.margin;
        let high = Vec2::new(
            edge(region.offset[0] + region.extent[0], 0),
            edge(region.offset[1] + region.extent[1], 1),
        ) + self.margin;
        let corners = [(low.x, low.y), (high.x, low.y), (low.x, high.y), (high.x, high.y)]
            .map(|(x, z)| self.corner + Vec3::new(x, 0.0, z));
        let outside = |plane: &Vec4| corners.iter().all(|p| plane.dot(p.extend(1.0)) < 0.0);
        if self.planes.iter().any(outside) {
            return None;
        }
        let depths = corners.map(|p| p.dot(self.forward));
        let depth = depths.into_iter().fold(f32::INFINITY, f32::min).max(self.nearest);
        Some(self.lod_at_depth(depth))
    }

    fn lod_at_depth(&self, depth: f32) -> f32 {
        let stretch = depth / self.height;
        (self.scale * depth * stretch.min(1.0).max(stretch / self.taps)).log2() + self.bias
    }
}
