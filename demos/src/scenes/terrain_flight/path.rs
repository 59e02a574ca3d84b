//! The curve: a spline through places, and heights that follow the ground without touching it.

use glam::{Vec2, Vec3};
use vasa::scene::terrain::surface::Surface;

use super::smoothstep;

/// Heights along the path.
const SAMPLES: usize = 2048;
/// Samples to each side over which the greatest ground counts, and over which it is smoothed afterwards. What is
/// smoothed lies above the ground as long as the first is the wider, by the two samples of the last spline.
const GREATEST: usize = 14;
const SMOOTHED: usize = 12;
/// How far ahead the camera looks, in u.
const AHEAD: f32 = 0.045;
/// How much it looks down beyond that, in radians.
const DOWN: f32 = 0.10;

/// A place to fly over.
#[derive(Debug, Clone, Copy)]
pub(super) struct Key {
    /// x and z, metres.
    pub(super) place: Vec2,
    /// Height above the ground, metres.
    pub(super) above: f32,
}

/// The curve over u from 0 to 1, and a little beyond.
#[derive(Debug, Clone)]
pub(super) struct Path {
    places: Vec<Vec2>,
    heights: Vec<f32>,
}

impl Path {
    pub(super) fn new(surface: &Surface, keys: &[Key], scale: f32) -> Self {
        let places: Vec<Vec2> = keys.iter().map(|key| key.place).collect();
        let mut path = Self { places, heights: Vec::new() };
        let at = |sample: usize| sample as f32 / (SAMPLES - 1) as f32;
        let ground: Vec<f32> =
            (0..SAMPLES).map(|sample| highest_around(surface, path.place(at(sample)), scale)).collect();
        let greatest: Vec<f32> = (0..SAMPLES)
            .map(|i| {
                let window = i.saturating_sub(GREATEST)..(i + GREATEST + 1).min(SAMPLES);
                ground[window].iter().copied().fold(f32::NEG_INFINITY, f32::max)
            })
            .collect();
        path.heights = (0..SAMPLES)
            .map(|i| {
                let (mut sum, mut total) = (0.0, 0.0);
                for (offset, j) in (i + SAMPLES - SMOOTHED..=i + SAMPLES + SMOOTHED).enumerate() {
                    let distance = (offset as f32 - SMOOTHED as f32) / (SMOOTHED + 1) as f32;
                    let weight = (1.0 - distance * distance).powi(2);
                    let j = j.clamp(SAMPLES, 2 * SAMPLES - 1) - SAMPLES;
                    sum += weight * greatest[j];
                    total += weight;
                }
                sum / total + above(keys, at(i))
            })
            .collect();
        path
    }

    /// Position at u; u beyond 1 goes straight on.
    pub(super) fn position(&self, u: f32) -> Vec3 {
        let place = self.place(u);
        let along = u.clamp(0.0, 1.0) * (SAMPLES - 1) as f32;
        let index = (along as usize).min(SAMPLES - 2);
        let f = along - index as f32;
        let g = 1.0 - f;
        let weights = [
            g * g * g / 6.0,
            (3.0 * f * f * f - 6.0 * f * f + 4.0) / 6.0,
            (3.0 * f * (1.0 + f - f * f) + 1.0) / 6.0,
            f * f * f / 6.0,
        ];
        let height = |k: usize| self.heights[(index + k).saturating_sub(1).min(SAMPLES - 1)];
        let y: f32 = weights.iter().enumerate().map(|(k, weight)| weight * height(k)).sum();
        Vec3::new(place.x, y, place.y)
    }

    /// Heading and pitch at u: towards where the path will be, a little downwards.
    pub(super) fn direction(&self, u: f32) -> (f32, f32) {
        let (from, to) = (self.position(u), self.position(u + AHEAD));
        let step = to - from;
        let flat = Vec2::new(step.x, step.z).length().max(1e-6);
        let heading = if flat > 1e-5 { step.x.atan2(-step.z) } else { 0.0 };
        // Half of the climb: the eye stays calmer than the aircraft.
        (heading, (0.5 * (step.y / flat).atan() - DOWN).clamp(-0.5, -0.03))
    }

    /// The place at u on a Catmull-Rom curve through the keys; straight on beyond the last.
    fn place(&self, u: f32) -> Vec2 {
        let last = self.places.len() - 1;
        let key = |i: isize| {
            // One more before the first and after the last, in line.
            let (a, b) = if i < 0 { (0, 1) } else { (last, last - 1) };
            let inside = usize::try_from(i).ok().filter(|i| *i <= last);
            inside.map_or(self.places[a] * 2.0 - self.places[b], |i| self.places[i])
        };
        let along = u.clamp(0.0, 1.0) * last as f32;
        let index = (along as usize).min(last - 1);
        let i = index as isize;
        let t = along - index as f32;
        let [a, b, c, d] = [key(i - 1), key(i), key(i + 1), key(i + 2)];
        let curve = |t: f32| {
            0.5 * (b * 2.0
                + (c - a) * t
                + (a * 2.0 - b * 5.0 + c * 4.0 - d) * (t * t)
                + (b * 3.0 - a - c * 3.0 + d) * (t * t * t))
        };
        if u <= 1.0 {
            return curve(t);
        }
        curve(1.0) + 0.5 * (d - b) * ((u - 1.0) * last as f32)
    }
}

/// Height above the ground at u: eased from key to key.
fn above(keys: &[Key], u: f32) -> f32 {
    let last = keys.len() - 1;
    let along = u.clamp(0.0, 1.0) * last as f32;
    let index = (along as usize).min(last - 1);
    let (from, to) = (keys[index].above, keys[index + 1].above);
    from + (to - from) * smoothstep(0.0, 1.0, along - index as f32)
}

/// The highest ground within some metres.
fn highest_around(surface: &Surface, place: Vec2, scale: f32) -> f32 {
    let mut highest = surface.height(place.x, place.y, 0.0);
    for radius in [8.0, 18.0, 30.0] {
        for turn in 0..8 {
            let at = place + Vec2::from_angle(turn as f32 * std::f32::consts::FRAC_PI_4) * (radius * scale);
            highest = highest.max(surface.height(at.x, at.y, 0.0));
        }
    }
    highest
}
