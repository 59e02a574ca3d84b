//! The calibration pattern on the CPU: the twin of `shaders/vt/page_pattern.wgsl`.
//!
//! Everything is a smooth periodic function of the place, of squares and products alone, so that both sides compute the
//! same to the last bits. What tests compare pages with, and what one looks at when seams or shifts are in doubt.

use glam::{Vec2, Vec3};

/// What the pattern says of a place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pattern {
    /// Linear, 0..1.
    pub base_colour: [f32; 3],
    /// Of the world, y up, of length one.
    pub normal: Vec3,
    /// 0..1.
    pub roughness: f32,
    /// 0..1.
    pub specular: f32,
    /// 0..1.
    pub mask: [f32; 4],
    /// Metres.
    pub height: f32,
    /// Metres.
    pub displacement: f32,
}

/// Height of the pattern's waves, metres.
pub const AMPLITUDE: f32 = 60.0;
/// Greatest displacement of the pattern, metres.
pub const DISPLACEMENT: f32 = 2.0;
/// Lengths of its waves, metres.
const PERIODS: [f32; 4] = [912.0, 648.0, 496.0, 384.0];

/// A wave of period 1 between 0 and 1, with a continuous slope.
fn wave(t: f32) -> f32 {
    let f = t - t.floor();
    let g = f * (1.0 - f);
    16.0 * g * g
}

fn wave_slope(t: f32) -> f32 {
    let f = t - t.floor();
    32.0 * f * (1.0 - f) * (1.0 - 2.0 * f)
}

impl Pattern {
    /// The pattern at a place: x and z, metres.
    pub fn at(place: Vec2) -> Self {
        let [a, b, c, d] = PERIODS;
        let (x, z) = (place.x, place.y);
        let sum = x + z;
        let slope = Vec2::new(
            AMPLITUDE / a * wave_slope(x / a) * wave(z / b),
            AMPLITUDE / b * wave(x / a) * wave_slope(z / b),
        );
        Self {
            base_colour: [0.1 + 0.8 * wave(x / a), 0.1 + 0.8 * wave(z / b), 0.1 + 0.8 * wave(sum / c)],
            normal: Vec3::new(-slope.x, 1.0, -slope.y).normalize(),
            roughness: 0.2 + 0.6 * wave((x - z) / d),
            specular: 0.1 + 0.5 * wave(x / c),
            mask: [wave(z / d), wave(x / b), wave(sum / a), wave(z / c)],
            height: AMPLITUDE * wave(x / a) * wave(z / b),
            displacement: DISPLACEMENT * wave(sum / b),
        }
    }
}
