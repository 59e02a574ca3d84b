//! What the low sun and the open sky do to the ground, worked out once for the whole map.
//!
//! # For a shader
//!
//! Maps have one texel for each sample of the height map, at the same places as the surface's
//! coefficients; sample them bilinearly at `g` (see [`surface`](super::surface)). At height y the sun shows
//!
//! ```text
//! penumbra = max(occluder_distance * SUN_RADIUS / cos^2(elevation), softness)
//! sun      = smoothstep(shadow_height - penumbra, shadow_height + penumbra, y)
//! ```
//!
//! so shadows are sharp where they are thrown and soften with the distance, as the sun's disc makes them;
//! `softness` is a metre or so, for the grid's own coarseness. The ambient light is multiplied by
//! `sky_visibility`; `curvature` is for colours: crests above 0, hollows below.

mod curvature;
mod sweep;
#[cfg(test)]
mod tests;

use glam::{Vec2, Vec3};

use super::surface::Surface;
use sweep::{Grid, Store, horizon_line, shadow_line, sweep};

/// Angular radius of the sun in radians.
pub const SUN_RADIUS: f32 = 0.004_65;
/// Azimuths in which the horizon is looked for.
pub const SKY_DIRECTIONS: u32 = 12;

/// Light over the map, one value for each sample, row by row.
#[derive(Clone, Debug, PartialEq)]
pub struct LightMaps {
    /// Values a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Height in metres below which a point here is in the shadow of the ground around it. Where nothing
    /// throws a shadow, a little below the lowest ground.
    pub shadow_height: Vec<f32>,
    /// Distance on the map, in metres, to what throws that shadow; 0 where nothing does.
    pub occluder_distance: Vec<f32>,
    /// How much of the sky is seen, weighted by its cosine, from 0 to 1: 1 on a plain.
    pub sky_visibility: Vec<f32>,
    /// From -1 (hollow) over 0 (plane) to 1 (crest), scaled by the map's own roughness.
    pub curvature: Vec<f32>,
    pixel: Vec2,
    /// `SUN_RADIUS / cos^2(elevation)`, the penumbra in metres of height for each metre of distance.
    penumbra: f32,
}

impl LightMaps {
    /// Works out the light of a sun in `sun_direction` (towards the sun, any length) on the surface without its
    /// detail, on `threads` threads (0 counts as 1). The result is the same for any number of threads.
    ///
    /// A sun at or below the horizon leaves everything in shadow; one overhead, nothing.
    pub fn compute(surface: &Surface, sun_direction: Vec3, threads: usize) -> LightMaps {
        let (width, height) = surface.size();
        let heights = surface.sample_heights();
        let grid = Grid {
            width: width as usize,
            height: height as usize,
            pixel: surface.pixel_size(),
            heights: &heights,
        };
        let (low, high) =
            heights.iter().fold((f32::INFINITY, f32::NEG_INFINITY), |(a, b), &h| (a.min(h), b.max(h)));

        let sun = sun_direction.normalize_or(Vec3::Y);
        let horizontal = Vec2::new(sun.x, sun.z).length();
        let none = low - 1.0;
        let (shadow_height, occluder_distance) = if sun.y <= 0.0 {
            (vec![high + (high - low) + 1000.0; heights.len()], vec![0.0; heights.len()])
        } else if horizontal < 1.0e-4 {
            (vec![none; heights.len()], vec![0.0; heights.len()])
        } else {
            let (shadow, distance) = (Store::new(heights.len()), Store::new(heights.len()));
            let drop = sun.y / horizontal;
            sweep(
                &grid,
                Vec2::new(sun.x, sun.z) / horizontal,
                threads,
                |line, step, out| shadow_line(line, step, drop, none, out),
                |pixel, [height, occluder]| {
                    shadow.set(pixel, height);
                    distance.set(pixel, occluder);
                },
            );
            (shadow.into_values(), distance.into_values())
        };
        LightMaps {
            width,
            height,
            shadow_height,
            occluder_distance,
            sky_visibility: sky_visibility(&grid, threads),
            curvature: curvature::curvature(&grid),
            pixel: grid.pixel,
            penumbra: SUN_RADIUS / horizontal.powi(2).max(1.0e-6),
        }
    }

    /// Share of the sun's disc seen from a point, from 0 to 1: the formula above, on the processor. `softness`
    /// is the least half height of the shadow's edge in metres.
    pub fn sun_visibility(&self, point: Vec3, softness: f32) -> f32 {
        let shadow = self.bilinear(&self.shadow_height, point.x, point.z);
        let distance = self.bilinear(&self.occluder_distance, point.x, point.z);
        let penumbra = (distance * self.penumbra).max(softness).max(1.0e-3);
        let t = ((point.y - shadow) / (2.0 * penumbra) + 0.5).clamp(0.0, 1.0);
        t * t * (3.0 - 2.0 * t)
    }

    /// One of the maps at a place in the world.
    pub fn bilinear(&self, map: &[f32], x: f32, z: f32) -> f32 {
        let axis = |place: f32, len: u32| {
            let last = (len - 1) as f32;
            let place = (place + 0.5 * last).max(0.0).min(last);
            let index = (place as usize).min(len as usize - 2);
            (index, place - index as f32)
        };
        let (column, fx) = axis(x / self.pixel.x, self.width);
        let (row, fz) = axis(z / self.pixel.y, self.height);
        let at = |x: usize, z: usize| map.get(z * self.width as usize + x).copied().unwrap_or(0.0);
        let north = at(column, row) + (at(column + 1, row) - at(column, row)) * fx;
        let south = at(column, row + 1) + (at(column + 1, row + 1) - at(column, row + 1)) * fx;
        north + (south - north) * fz
    }
}

/// The mean over all azimuths of the cosine-weighted sky above the horizon, which is cos^2 of its angle.
fn sky_visibility(grid: &Grid<'_>, threads: usize) -> Vec<f32> {
    let sum = Store::new(grid.heights.len());
    for direction in 0..SKY_DIRECTIONS {
        let azimuth = (direction as f32 + 0.5) * (std::f32::consts::TAU / SKY_DIRECTIONS as f32);
        // One direction after another, so that sums do not depend on the threads.
        sweep(grid, Vec2::from_angle(azimuth), threads, horizon_line, |pixel, [open, _]| {
            sum.set(pixel, sum.get(pixel) + open);
        });
    }
    let mut values = sum.into_values();
    for value in &mut values {
        *value = (*value / SKY_DIRECTIONS as f32).min(1.0);
    }
    values
}
