//! Noise on the plane: hashes, values, gradients. Deterministic, the same on every machine.

use glam::Vec2;

/// A hash of two numbers and a seed.
#[inline]
pub fn hash(x: i32, y: i32, seed: u32) -> u32 {
    let mut h = (x as u32).wrapping_mul(0x9e37_79b9) ^ (y as u32).wrapping_mul(0x85eb_ca6b) ^ seed;
    h ^= h >> 15;
    h = h.wrapping_mul(0x2c1b_3c6d);
    h ^= h >> 12;
    h = h.wrapping_mul(0x297a_2d39);
    h ^ h >> 15
}

/// The same from 0 to 1.
#[inline]
pub fn random(x: i32, y: i32, seed: u32) -> f32 {
    (hash(x, y, seed) >> 8) as f32 * (1.0 / 16_777_216.0)
}

/// From 0 at `low` to 1 at `high`, without corners.
#[inline]
pub fn smoothstep(low: f32, high: f32, x: f32) -> f32 {
    let t = ((x - low) / (high - low)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

/// The whole number at or below each coordinate, as numbers and as coordinates. Without a call into the C library, which
/// `f32::floor` is on processors that must not be assumed to have SSE 4.1.
#[inline]
pub fn floor(p: Vec2) -> (i32, i32, Vec2) {
    let below = |x: f32| {
        let whole = x as i32;
        whole - i32::from(whole as f32 > x)
    };
    let (x, y) = (below(p.x), below(p.y));
    (x, y, Vec2::new(x as f32, y as f32))
}

/// Values from -1 to 1 at whole places, smooth in between.
#[inline]
pub fn value(p: Vec2, seed: u32) -> f32 {
    let (x, y, low) = floor(p);
    let f = p - low;
    let w = f * f * (Vec2::splat(3.0) - 2.0 * f);
    let a = random(x, y, seed);
    let b = random(x + 1, y, seed);
    let c = random(x, y + 1, seed);
    let d = random(x + 1, y + 1, seed);
    let (top, bottom) = (a + (b - a) * w.x, c + (d - c) * w.x);
    2.0 * (top + (bottom - top) * w.y) - 1.0
}

/// Gradient noise, about -1 to 1.
pub fn gradient(p: Vec2, seed: u32) -> f32 {
    let (x, y, low) = floor(p);
    let f = p - low;
    let w = f * f * f * (f * (f * 6.0 - 15.0) + 10.0);
    let corner = |dx: i32, dy: i32| {
        let h = hash(x + dx, y + dy, seed);
        // Eight directions are enough where octaves are added.
        let d = f - Vec2::new(dx as f32, dy as f32);
        let (u, v) = if h & 4 == 0 { (d.x, d.y) } else { (d.y, d.x) };
        (if h & 1 == 0 { u } else { -u }) + (if h & 2 == 0 { v } else { -v }) * 0.5
    };
    let top = corner(0, 0) + (corner(1, 0) - corner(0, 0)) * w.x;
    let bottom = corner(0, 1) + (corner(1, 1) - corner(0, 1)) * w.x;
    1.2 * (top + (bottom - top) * w.y)
}

/// Octaves of gradient noise from a wavelength in metres down; those near and below `finest` are left out, softly.
pub fn octaves(p: Vec2, wavelength: f32, count: u32, gain: f32, finest: f32, seed: u32) -> f32 {
    let (mut sum, mut weight, mut length) = (0.0, 1.0, wavelength);
    for octave in 0..count {
        let kept = smoothstep(finest, 2.0 * finest, length);
        if kept == 0.0 {
            break;
        }
        // Turned from octave to octave, so that their lattices do not show.
        let turned = Vec2::new(0.8 * p.x + 0.6 * p.y, -0.6 * p.x + 0.8 * p.y);
        let at = if octave % 2 == 0 { p } else { turned } / length;
        sum += weight * kept * gradient(at + Vec2::splat(17.3 * octave as f32), seed.wrapping_add(octave));
        weight *= gain;
        length *= 0.5;
    }
    sum
}
