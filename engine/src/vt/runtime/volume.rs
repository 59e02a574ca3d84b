//! A box in the world, and the camera that draws one page of it.
//!
//! A page is drawn by counting texels, not by dividing rectangles: texel (i, j) of a level has its centre at
//! `corner + (i + 1/2) step_u + (j + 1/2) step_v`, whichever page draws it, and a page differs from its neighbour only in
//! the texel it begins with. So a border holds exactly what the neighbour holds. Steps of a level are those of the finest
//! times a power of two, so that nothing shifts between levels either.

use glam::{Mat4, Vec2, Vec3, Vec4};

use super::error::{Result, RuntimeError};
use crate::vt::{Grid, PageAddress};

/// A box in the world that a virtual texture covers, seen from above: u and v run along its sides, (0, 0) is its corner.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Volume {
    corner: Vec2,
    /// Unit vector along u; v is a quarter turn further, from x to z.
    along: Vec2,
    size: Vec2,
    heights: [f32; 2],
    /// Whether primitives that are drawn `FromVirtualTexture` are hidden in the main pass.
    pub hide_primitives: bool,
}

impl Volume {
    /// A box with its sides along x (u) and z (v). `corner`: least x and z; `size`: metres along both; `heights`: lowest
    /// and highest, metres.
    ///
    /// # Errors
    /// Sides or heights without extent, or numbers that are none.
    pub fn new(corner: [f32; 2], size: [f32; 2], heights: [f32; 2]) -> Result<Self> {
        let is_fine = |extent: f32| extent.is_finite() && extent > 0.0;
        let all = [size[0], size[1], heights[1] - heights[0]];
        if !all.into_iter().all(is_fine) || !corner.iter().all(|at| at.is_finite()) {
            return Err(RuntimeError::Volume { size, heights });
        }
        Ok(Self { corner: corner.into(), along: Vec2::X, size: size.into(), heights, hide_primitives: false })
    }

    /// The same box turned about its corner, from x towards z. `angle`: radians.
    #[must_use]
    pub fn turned(self, angle: f32) -> Self {
        let angle = if angle.is_finite() { angle } else { 0.0 };
        Self { along: Vec2::from_angle(angle), ..self }
    }

    /// The same box elsewhere. `by`: metres along x, y (heights) and z.
    #[must_use]
    pub fn moved(self, by: Vec3) -> Self {
        let heights = self.heights.map(|height| height + by.y);
        Self { corner: self.corner + Vec2::new(by.x, by.z), heights, ..self }
    }

    /// The same box, over which the main pass leaves out what is drawn `FromVirtualTexture`.
    #[must_use]
    pub fn hiding_primitives(self) -> Self {
        Self { hide_primitives: true, ..self }
    }

    /// Where (0, 0) lies: x and z, metres.
    pub fn corner(&self) -> Vec2 {
        self.corner
    }

    /// Unit vectors along u and v in x and z.
    pub fn axes(&self) -> [Vec2; 2] {
        [self.along, self.along.perp()]
    }

    /// Sides along u and v, metres.
    pub fn size(&self) -> Vec2 {
        self.size
    }

    /// Lowest and highest, metres.
    pub fn heights(&self) -> [f32; 2] {
        self.heights
    }

    /// UV of a place (x and z).
    pub fn uv(&self, place: Vec2) -> Vec2 {
        let from = place - self.corner;
        let [u, v] = self.axes();
        Vec2::new(from.dot(u), from.dot(v)) / self.size
    }

    /// The place (x and z) of a UV.
    pub fn place(&self, uv: Vec2) -> Vec2 {
        let [u, v] = self.axes();
        let metres = uv * self.size;
        self.corner + u * metres.x + v * metres.y
    }

    /// A height as the share of the box's heights that textures store.
    pub fn height_share(&self, height: f32) -> f32 {
        ((height - self.heights[0]) / (self.heights[1] - self.heights[0])).clamp(0.0, 1.0)
    }
}

/// Pages of a texture and what a tile consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
pub struct PageShape {
    /// The pages.
    pub grid: Grid,
    /// Logical texels a side.
    pub tile: u32,
    /// Texels of border on each side.
    pub border: u32,
}

impl PageShape {
    /// Pages of `tile` texels and a border.
    ///
    /// # Errors
    /// A tile that is too small or too large, or has a border of more than half of it.
    pub fn new(grid: Grid, tile: u32, border: u32) -> Result<Self> {
        if !(8..=4096).contains(&tile) || border > tile / 2 {
            return Err(RuntimeError::Tile { tile, border });
        }
        Ok(Self { grid, tile, border })
    }

    /// The border as a share of a tile.
    pub fn border_share(&self) -> f32 {
        self.border as f32 / self.tile.max(1) as f32
    }

    /// Texels a side with the border on both sides.
    pub fn physical(&self) -> u32 {
        self.tile.saturating_add(self.border.saturating_mul(2))
    }

    /// World vectors of a texel of `level` along u and v.
    pub fn steps(&self, volume: &Volume, level: u8) -> [Vec2; 2] {
        let [across, down] = self.grid.tiles();
        let scale = (1u32 << u32::from(level.min(31))) as f32;
        let side = |metres: f32, tiles: u32| metres / (tiles as f32 * self.tile as f32) * scale;
        let [u, v] = volume.axes();
        [u * side(volume.size.x, across), v * side(volume.size.y, down)]
    }
}

/// The orthographic camera that draws one page, from above.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PageCamera {
    /// Level of the page.
    pub level: u8,
    /// Where texel (0, 0) of the texture begins: x and z.
    pub corner: Vec2,
    /// World vector of a texel along u and along v.
    pub steps: [Vec2; 2],
    /// Texel of the level that the page's first texel is, border included: negative at the texture's own edge.
    pub first_texel: [i32; 2],
    /// Texels a side, border included.
    pub side: u32,
    /// Lowest and highest that is seen, metres.
    pub heights: [f32; 2],
}

impl PageCamera {
    /// The camera of a page.
    pub fn new(volume: &Volume, shape: &PageShape, page: PageAddress) -> Self {
        let first = |at: u16| i32::from(at) * shape.tile as i32 - shape.border as i32;
        Self {
            level: page.level,
            corner: volume.corner,
            steps: shape.steps(volume, page.level),
            first_texel: [first(page.x), first(page.y)],
            side: shape.physical(),
            heights: volume.heights,
        }
    }

    /// The larger side of a texel in the world, metres.
    pub fn texel_size(&self) -> f32 {
        self.steps[0].length().max(self.steps[1].length())
    }

    /// The place (x and z) of the centre of the page's texel (i, j), by the same arithmetic as the shaders.
    pub fn centre(&self, i: u32, j: u32) -> Vec2 {
        let at = |first: i32, k: u32| (i64::from(first) + i64::from(k)) as f32 + 0.5;
        self.corner
            + (self.steps[0] * at(self.first_texel[0], i) + self.steps[1] * at(self.first_texel[1], j))
    }

    /// Where a place (x and z) lies on the page, in texels from its first one's corner.
    pub fn texel(&self, place: Vec2) -> Vec2 {
        let from = place - self.corner;
        let along = |step: Vec2| from.dot(step) / step.length_squared();
        let first = Vec2::new(self.first_texel[0] as f32, self.first_texel[1] as f32);
        Vec2::new(along(self.steps[0]), along(self.steps[1])) - first
    }

    /// From the world to clip space: x and y from -1 to 1 across the page, v down; depth 1 at the highest and 0 at the
    /// lowest height, so that of two surfaces the upper one passes the test.
    pub fn matrix(&self) -> Mat4 {
        let side = self.side as f32;
        let [low, high] = self.heights;
        let inverse = |step: Vec2| step / step.length_squared() * (2.0 / side);
        let [u, v] = self.steps.map(inverse);
        let start = |axis: Vec2, first: i32| -axis.dot(self.corner) - first as f32 * 2.0 / side - 1.0;
        let depth = 1.0 / (high - low);
        Mat4::from_cols(
            Vec4::new(u.x, v.x, 0.0, 0.0),
            Vec4::new(0.0, 0.0, depth, 0.0),
            Vec4::new(u.y, v.y, 0.0, 0.0),
            Vec4::new(start(u, self.first_texel[0]), start(v, self.first_texel[1]), -low * depth, 1.0),
        )
    }

    /// Corners of what it sees, at a height.
    pub fn corners(&self, height: f32) -> [Vec3; 4] {
        let [u, v] = self.steps;
        let at = |i: i64, j: i64| {
            let texel = |first: i32, k: i64| (i64::from(first) + k) as f32;
            let place = self.corner + u * texel(self.first_texel[0], i) + v * texel(self.first_texel[1], j);
            Vec3::new(place.x, height, place.y)
        };
        let side = i64::from(self.side);
        [at(0, 0), at(side, 0), at(side, side), at(0, side)]
    }
}
