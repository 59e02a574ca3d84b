//! Filling holes: a pyramid of averages down (pull), smooth surfaces up (push).
//!
//! The push-pull scheme of Gortler et al., "The Lumigraph" (1996), with a few steps of relaxation of
//! Laplace's equation on every level, so that the fill meets the rim without a step and is a smooth
//! membrane inside.

/// Steps of relaxation on each level; the coarser level has already solved the long waves.
const RELAXATION_STEPS: usize = 8;

/// Replaces every NaN in a `width` x `height` grid from its surroundings; returns how many there were.
/// A grid of nothing but NaN is left as it is.
pub(super) fn fill_holes(width: usize, height: usize, values: &mut [f32]) -> u64 {
    let holes: Vec<usize> = (0..values.len()).filter(|&i| values[i].is_nan()).collect();
    if !holes.is_empty() && holes.len() < values.len() {
        fill_level(width, height, values, &holes);
    }
    holes.len() as u64
}

fn fill_level(width: usize, height: usize, values: &mut [f32], holes: &[usize]) {
    // Pull: the mean of what is known in each 2 x 2 block.
    let (coarse_width, coarse_height) = (width.div_ceil(2), height.div_ceil(2));
    let mut coarse = vec![f32::NAN; coarse_width * coarse_height];
    for y in 0..coarse_height {
        for x in 0..coarse_width {
            let (mut sum, mut count) = (0.0, 0.0);
            for row in 2 * y..(2 * y + 2).min(height) {
                for value in &values[row * width + 2 * x..row * width + (2 * x + 2).min(width)] {
                    if !value.is_nan() {
                        sum += value;
                        count += 1.0;
                    }
                }
            }
            if count > 0.0 {
                coarse[y * coarse_width + x] = sum / count;
            }
        }
    }
    let coarse_holes: Vec<usize> = (0..coarse.len()).filter(|&i| coarse[i].is_nan()).collect();
    if !coarse_holes.is_empty() {
        fill_level(coarse_width, coarse_height, &mut coarse, &coarse_holes);
    }

    // Push: bilinear from the coarser level, whose samples lie between ours.
    for &hole in holes {
        let axis = |i: usize, len: usize| {
            let near = i / 2;
            let far = if i.is_multiple_of(2) { near.saturating_sub(1) } else { (near + 1).min(len - 1) };
            (near, far)
        };
        let (x0, x1) = axis(hole % width, coarse_width);
        let (y0, y1) = axis(hole / width, coarse_height);
        let at = |x: usize, y: usize| coarse[y * coarse_width + x];
        values[hole] = (9.0 * at(x0, y0) + 3.0 * at(x1, y0) + 3.0 * at(x0, y1) + at(x1, y1)) / 16.0;
    }

    // Relax: each hole towards the mean of its neighbours.
    for _ in 0..RELAXATION_STEPS {
        for &hole in holes {
            let (x, y) = (hole % width, hole / width);
            let (mut sum, mut count) = (0.0, 0.0);
            let mut add = |inside: bool, index: usize| {
                if inside {
                    sum += values[index];
                    count += 1.0;
                }
            };
            add(x > 0, hole.wrapping_sub(1));
            add(x + 1 < width, hole + 1);
            add(y > 0, hole.wrapping_sub(width));
            add(y + 1 < height, hole + width);
            values[hole] = sum / count;
        }
    }
}
