//! Terrain level of detail: which square nodes of a quadtree to draw, and how their vertices morph so
//! that no crack ever shows.
//!
//! The idea is CDLOD: Filip Strugar, "Continuous Distance-Dependent Level of Detail for Rendering
//! Heightmaps", Journal of Graphics, GPU, and Game Tools 14(4), 2010. What is added here is the condition
//! under which it is exact.
//!
//! World: x east, z south, metres, a rectangle of width x depth centred on the origin. A node of level L
//! (0 is the finest) is a grid of `quads` x `quads` cells of `cell * 2^L` metres; its corner is its
//! integer position times its size. The cell is a power of two and positions stay below 2^24 finest
//! cells, so every corner and every unmorphed vertex is exact in f32: two nodes compute the same bits for
//! a vertex they share.
//!
//! ```text
//! size(L)  = quads * cell * 2^L                                    metres
//! range(L) = k * size(L + 1)                                       so range(L + 1) = 2 range(L)
//! d(p)     = sqrt((p.x - camera.x)^2 + (p.z - camera.z)^2 + camera.height^2)
//! split a node of level L + 1 when its least d is below (1 + e) range(L)
//!
//! what the shader computes for grid vertex (i, j) of a node of level L, all in f32:
//! x = corner.x + i * cell(L)          z = corner.z + j * cell(L)
//! m = clamp((d(x, z) - start) / (end - start), 0, 1),  start = morph_start * range(L), end = range(L)
//! x -= m * cell(L) if i is odd        z -= m * cell(L) if j is odd
//! ```
//!
//! At m = 1 odd vertices lie on their even neighbours: the node looks like its parent's grid. The
//! coarsest level has no parent and does not morph.
//!
//! # Why there are no cracks
//!
//! `d` changes by at most one metre a metre, so inside a box of size s it varies by at most sqrt(2) s. Let
//! s = size(L + 1), and let a drawn node A of level L touch a drawn node B of a coarser level along an
//! edge, p on that edge. A's parent was split, and p lies in it:
//!
//! ```text
//! d(p) < (1 + e) k s + sqrt(2) s                                                   (1)
//! ```
//!
//! *One level apart.* Were B of level L + 2 or more, then, not being split, d(p) >= 2 (1 + e) k s, which
//! contradicts (1) when `(1 + e) k >= sqrt(2)`.
//!
//! *The fine side is fully morphed.* B of level L + 1 was not split: d(p) >= (1 + e) range(L). The margin
//! e = 1/1024 is far above the rounding of an f32 square root and division, so m is 1 and not nearly 1.
//!
//! *The coarse side is not morphed at all.* Its morph starts at morph_start * 2 k s, which is above (1)
//! when `morph_start >= (1 + e) (1/2 + sqrt(2) / (2 k))`; the factor 1 + e on the second term is room for
//! rounding. With k = 1.8 that is 0.8937, so 0.9 does; with k = 1.6 it is 0.9428. Since `morph_start` is below 1, k must exceed
//! sqrt(2) (1 + e) / (1 - e) = 1.417, which implies the first condition.
//!
//! Nodes of the same level agree because they compute the same numbers from the same vertex; `quads` is
//! even, so a vertex on an edge is odd in both nodes or in neither. [`Quadtree::new`] refuses parameters
//! outside these conditions, and the tests compare both sides of every edge bit for bit.

mod cache;
#[cfg(test)]
mod tests;

use std::ops::Range;

pub use cache::{CachePlan, ChunkCache};

/// `e` above: how much earlier than its range a node is split, so that rounding never shows.
pub const SELECTION_MARGIN: f64 = 1.0 / 1024.0;

/// f32 counts exactly up to here; no vertex lies further from the origin, in finest cells.
const EXACT_CELLS: f64 = 16_777_216.0;
const MAX_LEVELS: u32 = 24;
const MAX_QUADS: u32 = 254;
const MAX_ROOTS: f64 = 4096.0;
const MAX_K: f32 = 64.0;

/// Why a quadtree cannot be made.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum LodError {
    /// The rectangle has no area, or is not finite.
    #[error("a world of {width} x {depth} m was asked for: both must be finite and above zero")]
    World {
        /// Metres along x.
        width: f32,
        /// Metres along z.
        depth: f32,
    },
    /// Quads a side.
    #[error(
        "nodes of {0} x {0} quads were asked for: it must be even, from 2 to 254 (16, 32 or 64 are usual)"
    )]
    Quads(u32),
    /// The finest cell.
    #[error("a finest cell of {0} m was asked for: it must be a power of two from 2^-16 to 2^16")]
    Cell(f32),
    /// The number of levels.
    #[error("{0} levels were asked for: it must be 1 to 24")]
    Levels(u32),
    /// The range factor.
    #[error(
        "a range factor k of {0} was asked for: it must be above 1.417 and at most 64 (1.6 to 2 are usual)"
    )]
    K(f32),
    /// The start of the morph.
    #[error(
        "a morph start of {asked} was asked for: with this k it must be at least {least:.4} and at most 0.999, \
         or neighbouring levels leave cracks"
    )]
    MorphStart {
        /// What was asked for.
        asked: f32,
        /// The least value for the `k` that was asked for.
        least: f64,
    },
    /// The world is too large for exact coordinates.
    #[error(
        "the world reaches {cells} finest cells from the origin, and f32 is exact up to 16777216: \
         use a larger cell, or fewer levels if the coarsest node is larger than the world"
    )]
    TooLarge {
        /// Finest cells from the origin to the farthest corner of a root.
        cells: f64,
    },
    /// Too few levels for this world.
    #[error("the world needs {0} nodes of the coarsest level, at most 4096 are allowed: use more levels")]
    TooManyRoots(f64),
}

/// The knobs of the level of detail. See the top of the file for what they mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LodParams {
    /// Cells along a side of a node; even.
    pub quads: u32,
    /// The finest cell in metres; a power of two.
    pub cell: f32,
    /// Levels, at least 1; level `levels - 1` is the coarsest.
    pub levels: u32,
    /// How far a level reaches, in sizes of the next coarser node.
    pub k: f32,
    /// Where the morph starts, as a part of the range.
    pub morph_start: f32,
}

/// Where a level morphs into the next coarser one, in metres of `d`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Morph {
    /// Up to here vertices lie on the level's own grid.
    pub start: f32,
    /// From here on vertices lie on the parent's grid.
    pub end: f32,
}

impl Morph {
    /// The factor at distance `d`, 0 to 1.
    pub fn factor(&self, d: f32) -> f32 {
        ((d - self.start) / (self.end - self.start)).clamp(0.0, 1.0)
    }
}

impl LodParams {
    /// Knobs (k = 1.8, morph from 0.9) for a world of this size in metres, with as many levels
    /// as it takes for at most four roots. [`Quadtree::new`] says whether they can be used.
    pub fn for_world(width: f32, depth: f32, quads: u32, cell: f32) -> Self {
        let mut params = Self { quads, cell, levels: 1, k: 1.8, morph_start: 0.9 };
        while params.levels < MAX_LEVELS && params.size(params.levels - 1) < 0.5 * width.max(depth) {
            params.levels += 1;
        }
        params
    }

    /// The cell of a level in metres.
    pub fn cell_size(&self, level: u32) -> f32 {
        self.cell * 2f32.powi(level as i32)
    }

    /// The side of a node of a level in metres.
    pub fn size(&self, level: u32) -> f32 {
        self.quads as f32 * self.cell_size(level)
    }

    /// How far a level reaches, in metres of `d`.
    pub fn range(&self, level: u32) -> f32 {
        self.k * self.size(level + 1)
    }

    /// Where a level morphs; out of reach for the coarsest.
    pub fn morph(&self, level: u32) -> Morph {
        if level + 1 >= self.levels {
            return Morph { start: f32::MAX / 4.0, end: f32::MAX / 2.0 };
        }
        let end = self.range(level);
        Morph { start: self.morph_start * end, end }
    }

    /// The least `morph_start` that leaves no cracks with this `k`.
    pub fn least_morph_start(&self) -> f64 {
        (1.0 + SELECTION_MARGIN) * (0.5 + std::f64::consts::SQRT_2 / (2.0 * f64::from(self.k)))
    }

    /// Grid vertex (`i`, `j`) of `node` as the shader computes it: the CPU twin of that code.
    pub fn vertex(&self, node: Node, i: u32, j: u32, camera: &LodCamera) -> MorphedVertex {
        let [corner_x, corner_z] = node.corner(self);
        let cell = self.cell_size(node.level);
        let (x, z) = (corner_x + i as f32 * cell, corner_z + j as f32 * cell);
        let (dx, dz) = (x - camera.x, z - camera.z);
        let d = (dx * dx + dz * dz + camera.height * camera.height).sqrt();
        let morph = self.morph(node.level).factor(d);
        MorphedVertex { x: x - (i % 2) as f32 * cell * morph, z: z - (j % 2) as f32 * cell * morph, morph }
    }

    fn check(&self) -> Result<(), LodError> {
        if self.quads < 2 || self.quads > MAX_QUADS || !self.quads.is_multiple_of(2) {
            return Err(LodError::Quads(self.quads));
        }
        let exact_power = self.cell.is_normal() && self.cell.to_bits() & 0x007f_ffff == 0;
        if !exact_power || !(2f32.powi(-16)..=2f32.powi(16)).contains(&self.cell) {
            return Err(LodError::Cell(self.cell));
        }
        if self.levels == 0 || self.levels > MAX_LEVELS {
            return Err(LodError::Levels(self.levels));
        }
        let least_k = std::f64::consts::SQRT_2 * (1.0 + SELECTION_MARGIN) / (1.0 - SELECTION_MARGIN);
        if !(f64::from(self.k) > least_k && self.k <= MAX_K) {
            return Err(LodError::K(self.k));
        }
        let least = self.least_morph_start();
        if !(f64::from(self.morph_start) >= least && self.morph_start <= 0.999) {
            return Err(LodError::MorphStart { asked: self.morph_start, least });
        }
        Ok(())
    }
}

/// A vertex on the ground plane after morphing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MorphedVertex {
    /// Metres east.
    pub x: f32,
    /// Metres south.
    pub z: f32,
    /// The factor that was applied.
    pub morph: f32,
}

/// What selection needs to know of the camera: finite metres. The same numbers go to the shader.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LodCamera {
    /// Metres east.
    pub x: f32,
    /// Metres south.
    pub z: f32,
    /// Above the ground below it; its sign does not matter.
    pub height: f32,
}

/// One square of the quadtree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node {
    /// 0 is the finest.
    pub level: u32,
    /// Position on the grid of its level, in nodes; negative west of the origin.
    pub x: i32,
    /// Position on the grid of its level, in nodes; negative north of the origin.
    pub z: i32,
}

impl Node {
    /// The north-west corner in metres, exact.
    pub fn corner(&self, params: &LodParams) -> [f32; 2] {
        let size = params.size(self.level);
        [self.x as f32 * size, self.z as f32 * size]
    }

    /// The node of the next coarser level that it is a quarter of.
    pub fn parent(&self) -> Self {
        Self { level: self.level + 1, x: self.x >> 1, z: self.z >> 1 }
    }

    /// Its four quarters, or `None` at the finest level.
    pub fn children(&self) -> Option<[Self; 4]> {
        let level = self.level.checked_sub(1)?;
        let (x, z) = (self.x * 2, self.z * 2);
        Some([(x, z), (x + 1, z), (x, z + 1), (x + 1, z + 1)].map(|(x, z)| Self { level, x, z }))
    }
}

/// The quadtree over one world: a grid of roots of the coarsest level.
#[derive(Debug, Clone, PartialEq)]
pub struct Quadtree {
    params: LodParams,
    half: [f64; 2],
    roots: [Range<i32>; 2],
}

impl Quadtree {
    /// A quadtree over `width` x `depth` metres.
    ///
    /// # Errors
    /// Parameters outside the conditions at the top of the file; a world whose vertices would not be
    /// exact; too many roots.
    pub fn new(params: LodParams, width: f32, depth: f32) -> Result<Self, LodError> {
        if !(width.is_finite() && depth.is_finite() && width > 0.0 && depth > 0.0) {
            return Err(LodError::World { width, depth });
        }
        params.check()?;
        let size = f64::from(params.size(params.levels - 1));
        let half = [f64::from(width) / 2.0, f64::from(depth) / 2.0];
        let reach = half.map(|half| (half / size).ceil());
        let cells = reach[0].max(reach[1]) * size / f64::from(params.cell);
        if cells > EXACT_CELLS {
            return Err(LodError::TooLarge { cells });
        }
        let count = 4.0 * reach[0] * reach[1];
        if count > MAX_ROOTS {
            return Err(LodError::TooManyRoots(count));
        }
        Ok(Self { params, half, roots: reach.map(|reach| -(reach as i32)..reach as i32) })
    }

    /// The parameters it was made with.
    pub fn params(&self) -> &LodParams {
        &self.params
    }

    /// The nodes to draw for `camera`: they cover the world exactly once and neighbours along an edge
    /// differ by at most one level. The order depends on nothing but which nodes there are: depth first,
    /// rows from north to south, each from west to east. A camera that is not finite gets the roots.
    pub fn select(&self, camera: &LodCamera) -> Vec<Node> {
        let mut selected = Vec::new();
        let level = self.params.levels - 1;
        for z in self.roots[1].clone() {
            for x in self.roots[0].clone() {
                self.visit(Node { level, x, z }, camera, &mut selected);
            }
        }
        selected
    }

    fn visit(&self, node: Node, camera: &LodCamera, selected: &mut Vec<Node>) {
        if self.is_outside(node) {
            return;
        }
        match node.children().filter(|_| self.splits(node, camera)) {
            Some(children) => children.into_iter().for_each(|child| self.visit(child, camera, selected)),
            None => selected.push(node),
        }
    }

    /// The box of a node in metres, exact: [west, north], [east, south].
    fn bounds(&self, node: Node) -> [[f64; 2]; 2] {
        let size = f64::from(self.params.size(node.level));
        let (x, z) = (f64::from(node.x), f64::from(node.z));
        [[x * size, z * size], [(x + 1.0) * size, (z + 1.0) * size]]
    }

    /// Whether a node shares no area with the world.
    fn is_outside(&self, node: Node) -> bool {
        let [low, high] = self.bounds(node);
        (0..2).any(|axis| low[axis] >= self.half[axis] || high[axis] <= -self.half[axis])
    }

    fn splits(&self, node: Node, camera: &LodCamera) -> bool {
        let [low, high] = self.bounds(node);
        let outside = |axis: usize, at: f32| {
            let at = f64::from(at);
            (low[axis] - at).max(at - high[axis]).max(0.0)
        };
        let (dx, dz, height) = (outside(0, camera.x), outside(1, camera.z), f64::from(camera.height));
        let range = f64::from(self.params.range(node.level - 1)) * (1.0 + SELECTION_MARGIN);
        let finite = camera.x.is_finite() && camera.z.is_finite();
        finite && dx * dx + dz * dz + height * height < range * range
    }
}
