//! Droplets that run down a wrapping height field, take rock where they hurry and leave it where they rest:
//! this is what turns noise into gullies and fans. After H. T. Beyer, "Implementation of a method for
//! hydraulic erosion" (2015).

use super::noise::{hash, unit};

const INERTIA: f32 = 0.08;
const CAPACITY: f32 = 5.0;
const LEAST_SLOPE: f32 = 0.02;
const EROSION: f32 = 0.3;
const DEPOSITION: f32 = 0.25;
const EVAPORATION: f32 = 0.03;
const GRAVITY: f32 = 6.0;
const STEPS: u32 = 48;

/// Lets `droplets` run over a `size` x `size` field that wraps. Heights are in units of the grid's distance.
pub(super) fn erode(field: &mut [f32], size: usize, droplets: u32, seed: u32) {
    for droplet in 0..droplets {
        let start = hash(droplet ^ hash(seed));
        let place = |h: u32| unit(h) * size as f32;
        run(field, size, place(start), place(hash(start ^ 0x9e37_79b9)));
    }
}

/// The four grid points around a place and the fractions between them.
fn corners(size: usize, x: f32, y: f32) -> ([usize; 4], f32, f32) {
    let (x0, y0) = (x as usize % size, y as usize % size);
    let (x1, y1) = ((x0 + 1) % size, (y0 + 1) % size);
    ([y0 * size + x0, y0 * size + x1, y1 * size + x0, y1 * size + x1], x - x.floor(), y - y.floor())
}

fn run(field: &mut [f32], size: usize, mut x: f32, mut y: f32) {
    let wrap = |value: f32| {
        let wrapped = value - (value / size as f32).floor() * size as f32;
        // Just below 0 rounds up to the size itself.
        if wrapped >= size as f32 { 0.0 } else { wrapped }
    };
    let (mut dx, mut dy, mut speed, mut water, mut sediment) = (0.0_f32, 0.0_f32, 1.0_f32, 1.0_f32, 0.0_f32);
    for _ in 0..STEPS {
        let (at, fx, fy) = corners(size, x, y);
        let [a, b, c, d] = at.map(|i| field[i]);
        let slope_x = (b - a) * (1.0 - fy) + (d - c) * fy;
        let slope_y = (c - a) * (1.0 - fx) + (d - b) * fx;
        let here = (a * (1.0 - fx) + b * fx) * (1.0 - fy) + (c * (1.0 - fx) + d * fx) * fy;
        dx = dx * INERTIA - slope_x * (1.0 - INERTIA);
        dy = dy * INERTIA - slope_y * (1.0 - INERTIA);
        let length = (dx * dx + dy * dy).sqrt();
        if length < 1.0e-6 {
            break;
        }
        (dx, dy) = (dx / length, dy / length);
        (x, y) = (wrap(x + dx), wrap(y + dy));
        let (next, nx, ny) = corners(size, x, y);
        let [a, b, c, d] = next.map(|i| field[i]);
        let there = (a * (1.0 - nx) + b * nx) * (1.0 - ny) + (c * (1.0 - nx) + d * nx) * ny;
        let rise = there - here;

        let capacity = (-rise).max(LEAST_SLOPE) * speed * water * CAPACITY;
        let take = if rise > 0.0 {
            // Uphill: fill the pit behind.
            -rise.min(sediment)
        } else if sediment > capacity {
            -(sediment - capacity) * DEPOSITION
        } else {
            ((capacity - sediment) * EROSION).min(-rise)
        };
        sediment += take;
        let weights = [(1.0 - fx) * (1.0 - fy), fx * (1.0 - fy), (1.0 - fx) * fy, fx * fy];
        for (i, weight) in at.into_iter().zip(weights) {
            field[i] -= take * weight;
        }
        speed = (speed * speed - rise * GRAVITY).max(0.0).sqrt().min(6.0);
        water *= 1.0 - EVAPORATION;
    }
}
