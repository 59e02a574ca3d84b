//! Tileable gradient noise from an integer hash: only sums, products and square roots, so that every
//! host makes the same bits.

/// A well mixed 32-bit hash ("lowbias32" of C. Wellons' hash prospector).
pub(super) fn hash(mut x: u32) -> u32 {
    x ^= x >> 16;
    x = x.wrapping_mul(0x7feb_352d);
    x ^= x >> 15;
    x = x.wrapping_mul(0x846c_a68b);
    x ^ (x >> 16)
}

/// A number from 0 to 1 (exclusive) from a hash.
pub(super) fn unit(hash: u32) -> f32 {
    (hash >> 8) as f32 * (1.0 / 16_777_216.0)
}

/// The gradient at a lattice point.
fn lattice_gradient(x: u32, y: u32, seed: u32) -> (f32, f32) {
    let h = hash(x ^ hash(y ^ hash(seed)));
    let (a, b) = ((h & 0xffff) as f32 / 32767.5 - 1.0, (h >> 16) as f32 / 32767.5 - 1.0);
    let length = (a * a + b * b).sqrt().max(1.0e-3);
    (a / length, b / length)
}

/// Gradient noise (Perlin 2002) of `period` lattice cells across the tile at (u, v) in tiles; about -1 to 1.
pub(super) fn gradient_noise(u: f32, v: f32, period: u32, seed: u32) -> f32 {
    let (x, y) = (u * period as f32, v * period as f32);
    let (floor_x, floor_y) = (x.floor(), y.floor());
    let (fx, fy) = (x - floor_x, y - floor_y);
    let wrap = |i: f32| (i as i32).rem_euclid(period as i32) as u32;
    let (x0, y0) = (wrap(floor_x), wrap(floor_y));
    let (x1, y1) = ((x0 + 1) % period, (y0 + 1) % period);
    let corner = |x: u32, y: u32, dx: f32, dy: f32| {
        let (gx, gy) = lattice_gradient(x, y, seed);
        gx * dx + gy * dy
    };
    let fade = |t: f32| t * t * t * (t * (t * 6.0 - 15.0) + 10.0);
    let (sx, sy) = (fade(fx), fade(fy));
    let top = mix(corner(x0, y0, fx, fy), corner(x1, y0, fx - 1.0, fy), sx);
    let bottom = mix(corner(x0, y1, fx, fy - 1.0), corner(x1, y1, fx - 1.0, fy - 1.0), sx);
    1.41 * mix(top, bottom, sy)
}

/// A sum of octaves, each twice as fine and half as strong.
pub(super) fn fractal(u: f32, v: f32, period: u32, octaves: u32, seed: u32) -> f32 {
    let (mut sum, mut gain) = (0.0, 1.0);
    for octave in 0..octaves {
        sum += gain * gradient_noise(u, v, period << octave, seed.wrapping_add(octave * 101));
        gain *= 0.5;
    }
    sum
}

/// Ridged multifractal (Musgrave, "Texturing and Modeling"): sharp crests, finer forms mostly on them.
/// From about 0 to 2.
pub(super) fn ridged(u: f32, v: f32, period: u32, octaves: u32, seed: u32) -> f32 {
    let (mut sum, mut gain, mut weight) = (0.0, 1.0, 1.0_f32);
    for octave in 0..octaves {
        let noise = gradient_noise(u, v, period << octave, seed.wrapping_add(octave * 131));
        let signal = 1.0 - noise.abs();
        let signal = signal * signal * weight;
        sum += gain * signal;
        weight = (signal * 1.6).clamp(0.0, 1.0);
        gain *= 0.5;
    }
    sum
}

fn mix(a: f32, b: f32, t: f32) -> f32 {
    a + (b - a) * t
}
