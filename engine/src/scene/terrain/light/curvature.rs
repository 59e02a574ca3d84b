//! Crests and hollows: a height against the mean of those around it, at two widths.

use super::sweep::Grid;

/// Half widths of the means, in samples, and their shares.
const WIDTHS: [(usize, f32); 2] = [(2, 0.6), (7, 0.4)];
/// How many times the usual difference gives a curvature of 0.7.
const CONTRAST: f32 = 1.8;

/// From -1 to 1; 1 is a crest. All zero on a plane that is level.
pub(super) fn curvature(grid: &Grid<'_>) -> Vec<f32> {
    let mut sum = vec![0.0; grid.heights.len()];
    for (radius, share) in WIDTHS {
        let rows = mean_along(grid.heights, grid.width, grid.height, 1, grid.width, radius);
        let means = mean_along(&rows, grid.height, grid.width, grid.width, 1, radius);
        let power: f64 = grid.heights.iter().zip(&means).map(|(h, mean)| f64::from(h - mean).powi(2)).sum();
        let roughness = CONTRAST * (power / sum.len() as f64).sqrt() as f32;
        // Less than a millimetre is only rounding.
        if roughness < 1.0e-3 {
            continue;
        }
        for ((sum, height), mean) in sum.iter_mut().zip(grid.heights).zip(&means) {
            *sum += share * (height - mean) / roughness;
        }
    }
    for value in &mut sum {
        *value /= (1.0 + *value * *value).sqrt();
    }
    sum
}

/// The mean over `2 * radius + 1` values along lines of `len` values `stride` apart; lines start `line_stride`
/// apart. Beyond an end a line goes on at its own slope, mirrored through the end, so that a plane is its own mean.
fn mean_along(
    values: &[f32],
    len: usize,
    lines: usize,
    stride: usize,
    line_stride: usize,
    radius: usize,
) -> Vec<f32> {
    let mut means = vec![0.0; values.len()];
    for line in 0..lines {
        let start = line * line_stride;
        let at = |i: i64| {
            let last = len as i64 - 1;
            let value = |i: i64| f64::from(values[start + i.clamp(0, last) as usize * stride]);
            if i < 0 {
                2.0 * value(0) - value(-i)
            } else if i > last {
                2.0 * value(last) - value(2 * last - i)
            } else {
                value(i)
            }
        };
        let radius = radius as i64;
        let mut sum: f64 = (-radius..=radius).map(at).sum();
        for i in 0..len as i64 {
            means[start + i as usize * stride] = (sum / (2 * radius + 1) as f64) as f32;
            sum += at(i + radius + 1) - at(i - radius);
        }
    }
    means
}
