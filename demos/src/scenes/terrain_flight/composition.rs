//! Where a picture should be taken: ridges, and what is seen from them.

use std::f32::consts::TAU;

use glam::{Vec2, Vec3};
use vasa::scene::terrain::surface::Surface;

use super::{heading_vector, smoothstep};

/// Points of the coarse grid along a side on which ridges are looked for.
const GRID: usize = 72;
/// The most ridges that are looked at.
const MOST: usize = 64;
const HEADINGS: u32 = 32;
/// Rays across the view, and steps along each.
const RAYS: i32 = 9;
const STEPS: u32 = 28;
/// Half of the view across, in radians.
const HALF_VIEW: f32 = 0.62;

/// A place on a ridge and where to look from there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outlook {
    pub(super) place: Vec2,
    /// Heading in radians, as a camera's yaw.
    pub(super) heading: f32,
}

/// Tops of the ground seen coarsely, the highest first, none near the map's edge; at least one.
pub(super) fn peaks(surface: &Surface) -> Vec<Vec2> {
    let half = surface.half_extent() * 0.80;
    let step = half * 2.0 / (GRID - 1) as f32;
    let place = |x: usize, z: usize| Vec2::new(x as f32, z as f32) * step - half;
    let raw: Vec<f32> = (0..GRID * GRID)
        .map(|i| {
            let p = place(i % GRID, i / GRID);
            // A mean over the grid's own distance.
            let around = [(0.0, 0.0), (0.3, 0.0), (-0.3, 0.0), (0.0, 0.3), (0.0, -0.3)];
            around.iter().map(|(x, z)| surface.base_height(p.x + x * step.x, p.y + z * step.y)).sum::<f32>()
                / 5.0
        })
        .collect();
    let mut tops: Vec<(f32, Vec2)> = Vec::new();
    for z in 1..GRID - 1 {
        for x in 1..GRID - 1 {
            let here = raw[z * GRID + x];
            let around = (0..9).filter(|k| *k != 4).map(|k| raw[(z + k / 3 - 1) * GRID + x + k % 3 - 1]);
            // Strictly above those before it: of a plateau one, of a plain none.
            if around.clone().all(|other| here >= other) && around.into_iter().any(|other| here > other) {
                let top = climb(surface, place(x, z), step);
                tops.push((surface.base_height(top.x, top.y), top));
            }
        }
    }
    tops.sort_by(|a, b| b.0.total_cmp(&a.0));
    tops.truncate(MOST);
    if tops.is_empty() {
        tops.push((0.0, Vec2::ZERO));
    }
    tops.into_iter().map(|(_, top)| top).collect()
}

/// The top near a place, by steps uphill that halve.
fn climb(surface: &Surface, mut at: Vec2, step: Vec2) -> Vec2 {
    let mut reach = step * 0.5;
    for _ in 0..10 {
        let best = [Vec2::X, -Vec2::X, Vec2::Y, -Vec2::Y]
            .map(|way| at + way * reach)
            .into_iter()
            .max_by(|a, b| surface.base_height(a.x, a.y).total_cmp(&surface.base_height(b.x, b.y)));
        match best {
            Some(best) if surface.base_height(best.x, best.y) > surface.base_height(at.x, at.y) => at = best,
            _ => reach *= 0.6,
        }
    }
    at
}

/// The best picture of the map: from a ridge, with lit ground in front and ridge behind ridge.
pub(super) fn best_outlook(surface: &Surface, sun: Vec3, above: f32) -> Outlook {
    let shoulder = 0.012 * surface.half_extent().min_element();
    let half = surface.half_extent();
    let range = surface.height_bounds(-half.x, -half.y, half.x, half.y);
    let mut best = (f32::NEG_INFINITY, Outlook { place: Vec2::ZERO, heading: 0.0 });
    for top in peaks(surface) {
        for heading in (0..HEADINGS).map(|h| h as f32 * (TAU / HEADINGS as f32)) {
            let angle = heading_vector(heading).dot(Vec2::new(sun.x, sun.z).normalize_or_zero());
            // The sun from the side, rather from the front than from behind.
            let side = smoothstep(-0.70, -0.25, angle) * (1.0 - smoothstep(0.55, 0.85, angle));
            if side <= 0.0 {
                continue;
            }
            // A little behind the top, so that the ridge itself is in front.
            for back in [0.0, 1.0] {
                let place = top - heading_vector(heading) * (back * shoulder);
                let score = side * look(surface, sun, place, heading, above, range);
                if score > best.0 {
                    best = (score, Outlook { place, heading });
                }
            }
        }
    }
    best.1
}

/// How good the view from a place is; more is better.
fn look(surface: &Surface, sun: Vec3, place: Vec2, heading: f32, above: f32, range: (f32, f32)) -> f32 {
    let own = (surface.base_height(place.x, place.y) - range.0) / (range.1 - range.0).max(1.0);
    let eye = surface.base_height(place.x, place.y) + above;
    let extent = surface.half_extent().min_element();
    let (mut layers, mut lit, mut seen, mut blocked) = (0.0, 0.0, 0.0_f32, 0.0);
    let (mut skyline, mut skyline_squared, mut steep) = (0.0, 0.0, 0.0);
    let (mut depth, mut high) = (0.0, 0.0);
    for ray in 0..RAYS {
        let turn = HALF_VIEW * (2.0 * ray as f32 / (RAYS - 1) as f32 - 1.0);
        let way = heading_vector(heading + turn);
        let mut horizon = f32::NEG_INFINITY;
        let mut hidden = false;
        let mut lowest = 0.0_f32;
        let mut distance = extent * 0.003;
        for _ in 0..STEPS {
            let at = place + way * distance;
            let (height, slope) = surface.base(at.x, at.y);
            let tangent = (height - eye) / distance;
            if tangent > horizon {
                // Ground that rises behind ground that was hidden: another ridge.
                layers += if hidden { 1.0 } else { 0.0 };
                let normal = Vec3::new(-slope.x, 1.0, -slope.y).normalize();
                let near = 1.0 / (1.0 + distance / (0.3 * extent));
                lit +=
                    near * smoothstep(0.05, 0.35, normal.dot(sun)) * in_sun(surface, sun, at, height, extent);
                seen += near;
                steep += near * slope.length().min(1.0);
                // Snow one looks up to.
                if distance > 0.05 * extent && tangent > 0.0 {
                    high += smoothstep(0.62, 0.86, (height - range.0) / (range.1 - range.0).max(1.0));
                }
                horizon = tangent;
                if distance > 0.02 * extent {
                    lowest = lowest.min(tangent);
                }
                hidden = false;
            } else {
                hidden = true;
            }
            if distance < 0.14 * extent && tangent > -0.02 {
                blocked += 1.0;
            }
            distance *= 1.24;
        }
        skyline += horizon;
        depth -= lowest;
        skyline_squared += horizon * horizon;
    }
    let rays = RAYS as f32;
    let mean = skyline / rays;
    let uneven = (skyline_squared / rays - mean * mean).max(0.0).sqrt();
    // Layers, light, mountains that are steep and high, a valley to look down into, a skyline that is not level.
    0.9 * (layers / rays).min(4.0)
        + 1.6 * lit / seen.max(1e-3)
        + 2.5 * steep / seen.max(1e-3)
        + 2.6 * (high / rays).min(1.2) * (1.0 - smoothstep(0.60, 0.80, own))
        + 6.0 * (depth / rays).min(0.35)
        + 12.0 * uneven.min(0.08)
        + 6.0 * mean.clamp(-0.1, 0.06)
        - 1.5 * blocked / rays
}

/// 1 where the sun reaches the ground, 0 where other ground is before it.
fn in_sun(surface: &Surface, sun: Vec3, at: Vec2, height: f32, extent: f32) -> f32 {
    let mut distance = 0.006 * extent;
    for _ in 0..10 {
        let p = at + Vec2::new(sun.x, sun.z) * distance;
        if surface.base_height(p.x, p.y) > height + sun.y * distance {
            return 0.0;
        }
        distance *= 1.5;
    }
    1.0
}
