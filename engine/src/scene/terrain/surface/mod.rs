//! The ground as a continuous function of place.
//!
//! World axes: x east, y up, z south (the direction of the map's rows), in metres; the origin is at the
//! map's centre at sea level. Heights are multiplied by a factor, `exaggerate`.
//!
//! # The formula
//!
//! A uniform cubic B-spline over one coefficient for each sample of the map. It has two continuous
//! derivatives and lies between the least and the greatest of its 16 coefficients, so it cannot ring;
//! bounds follow from the coefficients alone. It smooths a little, so the coefficients are the samples
//! sharpened by a small step towards interpolation, held between the samples around them.
//! Ported to a shader, with the coefficients in a texture `c` of `size` texels:
//!
//! ```text
//! g  = p.xz / pixel_size + (size - 1) / 2, clamped to 0 .. size - 1    place in samples
//! i  = min(floor(g), size - 2),  f = g - i
//! w  = ((1-f)^3, 3f^3 - 6f^2 + 4, -3f^3 + 3f^2 + 3f + 1, f^3) / 6      weights, on each axis
//! d  = (-(1-f)^2, 3f^2 - 4f, -3f^2 + 2f + 1, f^2) / 2                  derivatives of the weights
//! y          = sum over m, n in 0..4 of w_x[m] w_z[n] c[clamp(i + (m, n) - 1)]
//! dy/dx      = sum of d_x[m] w_z[n] c[..] / pixel_size.x,   dy/dz likewise
//! ```
//!
//! Below the samples' own distance the ground is that of [`Detail`], see [`Surface::height`].

use std::sync::Arc;

use glam::{Vec2, Vec3};

use super::detail::Detail;
use super::heightmap::HeightMap;
use super::roads::{Flattening, Overlays};

mod bounds;
#[cfg(test)]
mod tests;

use bounds::Bounds;

/// How far coefficients step from the samples towards interpolating them; 1/6 on each axis would
/// interpolate to first order, and would also bring out the whole metres of the data as terraces.
const SHARPEN: f32 = 1.0 / 12.0;

/// The ground over the whole map.
#[derive(Clone, Debug)]
pub struct Surface {
    width: usize,
    height: usize,
    pixel: Vec2,
    coefficients: Vec<f32>,
    bounds: Bounds,
    detail: Detail,
    overlays: Option<Arc<Overlays>>,
}

impl Surface {
    /// Makes the surface of a map whose heights are multiplied by `exaggerate`, with the default detail
    /// for the map's pixel size.
    pub fn new(map: &HeightMap, exaggerate: f32) -> Surface {
        let (east, north) = map.pixel_size_metres;
        Surface::with_detail(map, exaggerate, Detail::for_pixel((east * north).sqrt() as f32))
    }

    /// Makes the surface with given detail.
    pub fn with_detail(map: &HeightMap, exaggerate: f32, detail: Detail) -> Surface {
        let (width, height) = (map.width as usize, map.height as usize);
        let pixel = Vec2::new(map.pixel_size_metres.0 as f32, map.pixel_size_metres.1 as f32);
        let coefficients = coefficients(width, height, &map.heights, exaggerate);
        let bounds = Bounds::new(width, height, pixel, &coefficients);
        Surface { width, height, pixel, coefficients, bounds, detail, overlays: None }
    }

    /// The same ground with roads and decals on it: [`Surface::height`] is flattened.
    pub fn with_overlays(mut self, overlays: Arc<Overlays>) -> Surface {
        self.overlays = Some(overlays);
        self
    }

    /// Roads and decals, if there are any.
    pub fn overlays(&self) -> Option<&Arc<Overlays>> {
        self.overlays.as_ref()
    }

    /// Samples (a row, rows) of the map.
    pub fn size(&self) -> (u32, u32) {
        (self.width as u32, self.height as u32)
    }

    /// Distance between samples in metres, east-west and north-south.
    pub fn pixel_size(&self) -> Vec2 {
        self.pixel
    }

    /// Half the extent of the map in metres, east-west and north-south: x and z run from minus to plus
    /// this. Beyond, the ground goes on as it is at the edge.
    pub fn half_extent(&self) -> Vec2 {
        Vec2::new((self.width - 1) as f32, (self.height - 1) as f32) * self.pixel * 0.5
    }

    /// The spline's coefficients in metres, row by row, for a shader's texture.
    pub fn coefficients(&self) -> &[f32] {
        &self.coefficients
    }

    /// The detail below the samples.
    pub fn detail(&self) -> &Detail {
        &self.detail
    }

    /// Height in metres without detail. NaN counts as 0.
    pub fn base_height(&self, x: f32, z: f32) -> f32 {
        self.base(x, z).0
    }

    /// Slopes (dy/dx, dy/dz) without detail.
    pub fn base_gradient(&self, x: f32, z: f32) -> Vec2 {
        self.base(x, z).1
    }

    /// Height and slopes without detail.
    pub fn base(&self, x: f32, z: f32) -> (f32, Vec2) {
        let (column, fx) = locate(x / self.pixel.x, self.width);
        let (row, fz) = locate(z / self.pixel.y, self.height);
        let (wx, dx) = weights(fx);
        let (wz, dz) = weights(fz);
        let columns: [usize; 4] = std::array::from_fn(|m| (column + m).saturating_sub(1).min(self.width - 1));
        let (mut height, mut slope_x, mut slope_z) = (0.0, 0.0, 0.0);
        for n in 0..4 {
            let row = (row + n).saturating_sub(1).min(self.height - 1);
            let row = &self.coefficients[row * self.width..(row + 1) * self.width];
            let c = columns.map(|column| row[column]);
            let along = c[0] * wx[0] + c[1] * wx[1] + c[2] * wx[2] + c[3] * wx[3];
            let across = c[0] * dx[0] + c[1] * dx[1] + c[2] * dx[2] + c[3] * dx[3];
            height += wz[n] * along;
            slope_x += wz[n] * across;
            slope_z += dz[n] * along;
        }
        (height, Vec2::new(slope_x, slope_z) / self.pixel)
    }

    /// Height in metres with the detail that a mesh of cells `cell` metres wide can carry; 0 for all of it. Roads are
    /// flat. Continuous in all three.
    pub fn height(&self, x: f32, z: f32, cell: f32) -> f32 {
        self.flattening(x, z, cell).apply(self.natural_height(x, z, cell))
    }

    /// [`Surface::height`] as it would be without roads.
    pub fn natural_height(&self, x: f32, z: f32, cell: f32) -> f32 {
        let (base, slope) = self.base(x, z);
        base + self.detail.height(x, z, slope_factor(slope), cell)
    }

    /// What roads make of the ground at a place: a share of 0 where there is none.
    pub fn flattening(&self, x: f32, z: f32, cell: f32) -> Flattening {
        self.overlays.as_ref().map_or_else(Flattening::default, |o| o.flattening(Vec2::new(x, z), cell))
    }

    /// Slopes of [`Surface::height`], leaving out how the detail's strength changes from place to place.
    pub fn gradient(&self, x: f32, z: f32, cell: f32) -> Vec2 {
        if self.flattening(x, z, cell).share > 0.0 {
            // Half a metre to each side: narrow beside a shoulder.
            let along =
                |dx: f32, dz: f32| self.height(x + dx, z + dz, cell) - self.height(x - dx, z - dz, cell);
            return Vec2::new(along(0.5, 0.0), along(0.0, 0.5));
        }
        let slope = self.base_gradient(x, z);
        slope + self.detail.gradient(x, z, slope_factor(slope), cell)
    }

    /// The upward normal of [`Surface::gradient`], of length 1.
    pub fn normal(&self, x: f32, z: f32, cell: f32) -> Vec3 {
        let slope = self.gradient(x, z, cell);
        Vec3::new(-slope.x, 1.0, -slope.y).normalize()
    }

    /// Least and greatest height in the rectangle, detail included: nothing inside leaves them, for
    /// any `cell`. The corners may be given in any order.
    pub fn height_bounds(&self, x0: f32, z0: f32, x1: f32, z1: f32) -> (f32, f32) {
        let column = |x: f32| locate(x / self.pixel.x, self.width).0;
        let row = |z: f32| locate(z / self.pixel.y, self.height).0;
        let range = self.bounds.over(
            column(x0.min(x1)).saturating_sub(1)..=column(x0.max(x1)) + 2,
            row(z0.min(z1)).saturating_sub(1)..=row(z0.max(z1)) + 2,
        );
        let detail = self.detail.amplitude(range.slope_factor);
        // The sums of products of the spline round differently from the bounds.
        let rounding = 1.0e-5 * range.low.abs().max(range.high.abs());
        let (low, high) = (range.low - detail - rounding, range.high + detail + rounding);
        let (from, to) = (Vec2::new(x0.min(x1), z0.min(z1)), Vec2::new(x0.max(x1), z0.max(z1)));
        let roads = self.overlays.as_ref().and_then(|overlays| overlays.height_bounds(from, to));
        // Means of the roads' heights round differently, too.
        roads.map_or((low, high), |(least, most)| (low.min(least - 0.01), high.max(most + 0.01)))
    }

    /// Base heights at the samples, row by row: what the light is computed from.
    pub fn sample_heights(&self) -> Vec<f32> {
        let filter = |a: f32, b: f32, c: f32| (a + 4.0 * b + c) / 6.0;
        let mut rows = vec![0.0; self.coefficients.len()];
        for (out, row) in rows.chunks_exact_mut(self.width).zip(self.coefficients.chunks_exact(self.width)) {
            for x in 0..self.width {
                out[x] = filter(row[x.saturating_sub(1)], row[x], row[(x + 1).min(self.width - 1)]);
            }
        }
        let mut heights = vec![0.0; rows.len()];
        for z in 0..self.height {
            let at = |z: usize| z * self.width;
            let (above, below) = (at(z.saturating_sub(1)), at((z + 1).min(self.height - 1)));
            for x in 0..self.width {
                heights[at(z) + x] = filter(rows[above + x], rows[at(z) + x], rows[below + x]);
            }
        }
        heights
    }
}

/// How much the detail grows with steepness: 0 on flats, 1 from 45 degrees on.
pub fn slope_factor(slope: Vec2) -> f32 {
    let t = ((slope.length() - 0.05) / 0.95).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

/// Sample before and fraction beyond it, for a place in samples from the centre.
fn locate(from_centre: f32, len: usize) -> (usize, f32) {
    let last = (len - 1) as f32;
    // `max` before `min`, so that NaN becomes a number.
    let place = (from_centre + 0.5 * last).max(0.0).min(last);
    let index = (place as usize).min(len - 2);
    (index, place - index as f32)
}

/// Weights of the four coefficients around, and their derivatives.
fn weights(f: f32) -> ([f32; 4], [f32; 4]) {
    let (f2, f3, g) = (f * f, f * f * f, 1.0 - f);
    (
        [
            g * g * g / 6.0,
            (3.0 * f3 - 6.0 * f2 + 4.0) / 6.0,
            (-3.0 * f3 + 3.0 * f2 + 3.0 * f + 1.0) / 6.0,
            f3 / 6.0,
        ],
        [-0.5 * g * g, 0.5 * (3.0 * f2 - 4.0 * f), 0.5 * (-3.0 * f2 + 2.0 * f + 1.0), 0.5 * f2],
    )
}

fn coefficients(width: usize, height: usize, heights: &[f32], exaggerate: f32) -> Vec<f32> {
    let mut coefficients = Vec::with_capacity(heights.len());
    for z in 0..height {
        for x in 0..width {
            let (west, east) = (x.saturating_sub(1), (x + 1).min(width - 1));
            let (north, south) = (z.saturating_sub(1), (z + 1).min(height - 1));
            let (mut low, mut high) = (f32::INFINITY, f32::NEG_INFINITY);
            for row in north..=south {
                for &h in &heights[row * width + west..=row * width + east] {
                    low = low.min(h);
                    high = high.max(h);
                }
            }
            let at = |x: usize, z: usize| heights[z * width + x];
            let centre = at(x, z);
            let laplacian = at(west, z) + at(east, z) + at(x, north) + at(x, south) - 4.0 * centre;
            coefficients.push((centre - SHARPEN * laplacian).clamp(low, high) * exaggerate);
        }
    }
    coefficients
}
