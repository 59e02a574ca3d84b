//! The scripted flight over a terrain. Pure: the same ground gives the same path.
//!
//! ```text
//! peaks of the smoothed ground -> the best last picture -> a chain of ridges that leads to it
//!   -> ridge, valley, high, ridge, ... as a curve -> heights above the ground, smoothed, never through it
//! ```
//!
//! Low over a ridge, along the valley beside it, up until the land lies spread out, down to the next ridge: three
//! times, so that what lies near the camera comes and goes. The last frame is chosen for its composition.

mod composition;
mod path;

use std::f32::consts::PI;

use glam::{Vec2, Vec3};
use vasa::scene::Camera;
use vasa::scene::terrain::surface::Surface;

use self::composition::Outlook;
use self::path::{Key, Path};

/// Descents and climbs of the whole flight.
const LEGS: usize = 3;
/// Heights above the ground at a ridge, in a valley and in between, metres; on maps narrower than
/// [`FULL_EXTENT`] everything shrinks with the map.
const RIDGE: f32 = 18.0;
const VALLEY: f32 = 90.0;
const HIGH: f32 = 1050.0;
/// Where the flight ends above the last ridge, metres.
const LAST: f32 = 16.0;
/// Narrowest side of a map on which heights are as above, metres.
const FULL_EXTENT: f32 = 12_000.0;
/// Pitch of the last picture: the horizon a third down from the upper edge at 50 degrees of view.
const LAST_PITCH: f32 = -0.135;

/// A flight over one terrain.
#[derive(Debug, Clone)]
pub struct TerrainFlight {
    path: Path,
    /// Heading and pitch of the last picture.
    last: (f32, f32),
    /// Near plane, metres.
    near: f32,
}

impl TerrainFlight {
    /// Plans the flight over a surface under a sun in that direction (towards it).
    pub fn plan(surface: &Surface, sun: Vec3) -> Self {
        let half = surface.half_extent();
        let scale = (2.0 * half.min_element() / FULL_EXTENT).clamp(1e-3, 1.0);
        let last = composition::best_outlook(surface, sun, LAST * scale);
        let ridges = ridges_before(surface, &last);
        let keys = keys(surface, &ridges, &last, scale);
        Self {
            path: Path::new(surface, &keys, scale),
            last: (last.heading, LAST_PITCH),
            near: (0.25 * scale).max(0.01),
        }
    }

    /// Level ground that is seen from the flight, the last picture's first: where roads are worth looking at.
    pub fn places(&self, surface: &Surface, count: usize) -> Vec<Vec2> {
        let half = surface.half_extent();
        let scale = (2.0 * half.min_element() / FULL_EXTENT).clamp(1e-3, 1.0);
        let place = |(u, ahead): &(f32, f32)| {
            let camera = self.camera(*u);
            let eye = camera.position;
            let from = Vec2::new(eye.x, eye.z);
            let at = |i: usize| {
                let (side, far) = (i % 15, i / 15);
                let heading = camera.yaw + (side as f32 - 7.0) * 0.07;
                let distance = ahead * scale * (0.6 + 0.09 * far as f32);
                (from + heading_vector(heading) * distance).clamp(-half * 0.94, half * 0.94)
            };
            let cost = |place: &Vec2| {
                let ground = surface.natural_height(place.x, place.y, 16.0) + 2.0;
                let hidden = (1..40).filter(|i| {
                    let share = *i as f32 / 40.0;
                    let on = from.lerp(*place, share);
                    surface.natural_height(on.x, on.y, 8.0) > eye.y + (ground - eye.y) * share
                });
                surface.base_gradient(place.x, place.y).length() + 0.3 * hidden.count().min(8) as f32
            };
            let places = (0..165).map(at).map(|place| (place, cost(&place)));
            places.min_by(|a, b| a.1.total_cmp(&b.1)).map_or(from, |(place, _)| place)
        };
        STATIONS.iter().take(count).map(place).collect()
    }

    /// The camera at `u`, from 0 (the start) to 1 (the last picture).
    pub fn camera(&self, u: f32) -> Camera {
        let u = u.clamp(0.0, 1.0);
        let position = self.path.position(u);
        let (yaw, pitch) = self.path.direction(u);
        // The last stretch turns into the picture it ends with.
        let turn = smoothstep(0.86, 0.985, u);
        let to = (self.last.0 - yaw + PI).rem_euclid(2.0 * PI) - PI;
        Camera {
            position,
            yaw: yaw + to * turn,
            pitch: pitch + (self.last.1 - pitch) * turn,
            near: self.near,
            ..Camera::default()
        }
    }
}

/// Where a place for a road is looked for: at a share of the flight, so many metres ahead.
const STATIONS: [(f32, f32); 13] = [
    (1.0, 420.0),
    (1.0, 1300.0),
    (1.0, 3300.0),
    (0.90, 500.0),
    (0.78, 600.0),
    (0.66, 500.0),
    (0.52, 600.0),
    (0.40, 500.0),
    (0.28, 600.0),
    (0.18, 500.0),
    (0.09, 500.0),
    (0.0, 700.0),
    (0.0, 250.0),
];

/// The ridges flown over before the last, in flying order: each about a leg before the next, the last one where the
/// last picture's view comes from.
fn ridges_before(surface: &Surface, last: &Outlook) -> Vec<Vec2> {
    let half = surface.half_extent();
    let leg = 0.32 * half.min_element();
    let peaks = composition::peaks(surface);
    let room = half * 0.86;
    let mut ridges = Vec::with_capacity(LEGS);
    let mut at = last.place;
    // Backwards: away from where one looks.
    let mut back = -heading_vector(last.heading);
    for _ in 0..LEGS {
        let best = peaks
            .iter()
            .filter(|peak| {
                let to = **peak - at;
                let distance = to.length();
                distance > 0.55 * leg && distance < 1.6 * leg && to.dot(back) > -0.2 * distance
            })
            .map(|peak| {
                let to = *peak - at;
                let straight = to.normalize_or_zero().dot(back);
                let distance = (to.length() / leg - 1.0).abs();
                (*peak, surface.base_height(peak.x, peak.y) / leg + 0.9 * straight - 0.4 * distance)
            })
            .max_by(|a, b| a.1.total_cmp(&b.1));
        let next = best.map_or_else(
            || {
                // No ridge that way: straight on, or back towards the middle where the map ends.
                let ahead = at + back * leg;
                if ahead.abs().cmple(room).all() { ahead } else { at - at.normalize_or(Vec2::X) * leg }
            },
            |(peak, _)| peak,
        );
        let next = next.clamp(-room, room);
        back = (next - at).normalize_or(back);
        ridges.push(next);
        at = next;
    }
    ridges.reverse();
    ridges
}

/// Ridge, valley, high, for each leg, and the end.
fn keys(surface: &Surface, ridges: &[Vec2], last: &Outlook, scale: f32) -> Vec<Key> {
    let mut keys = Vec::with_capacity(3 * ridges.len() + 2);
    let ends = ridges.iter().skip(1).copied().chain([last.place]);
    for (from, to) in ridges.iter().copied().zip(ends) {
        keys.push(Key { place: from, above: RIDGE * scale });
        keys.push(Key { place: valley(surface, from, to), above: VALLEY * scale });
        // Comes down to the last ridge along the view that the flight ends with.
        let high = if to == last.place {
            let behind = last.place - heading_vector(last.heading) * (0.4 * (to - from).length());
            from.lerp(to, 0.66).lerp(behind, 0.7)
        } else {
            from.lerp(to, 0.68)
        };
        keys.push(Key { place: high, above: HIGH * scale });
    }
    keys.push(Key { place: last.place, above: LAST * scale });
    keys
}

/// The lowest place about a third of the way, to either side of the straight line.
fn valley(surface: &Surface, from: Vec2, to: Vec2) -> Vec2 {
    let along = to - from;
    let across = along.perp() * 0.24;
    (0..15)
        .flat_map(|side| (0..4).map(move |step| (side as f32 / 7.0 - 1.0, 0.24 + 0.06 * step as f32)))
        .map(|(side, step)| from + along * step + across * side)
        .min_by(|a, b| surface.base_height(a.x, a.y).total_cmp(&surface.base_height(b.x, b.y)))
        .unwrap_or(from)
}

/// Unit vector (x, z) of a heading.
fn heading_vector(heading: f32) -> Vec2 {
    let (sin, cos) = heading.sin_cos();
    Vec2::new(sin, -cos)
}

fn smoothstep(low: f32, high: f32, value: f32) -> f32 {
    let t = ((value - low) / (high - low)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

#[cfg(test)]
mod tests;
