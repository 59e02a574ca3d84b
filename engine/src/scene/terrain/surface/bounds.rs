//! Bounds of a rectangle of coefficients, from a pyramid of blocks of 2 x 2.

use std::ops::RangeInclusive;

use glam::Vec2;

use super::slope_factor;

/// What a block holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    pub(super) low: f32,
    pub(super) high: f32,
    /// The greatest [`slope_factor`] that the spline can have on these coefficients.
    pub(super) slope_factor: f32,
}

impl Range {
    const NONE: Range = Range { low: f32::INFINITY, high: f32::NEG_INFINITY, slope_factor: 0.0 };

    fn join(self, other: Range) -> Range {
        Range {
            low: self.low.min(other.low),
            high: self.high.max(other.high),
            slope_factor: self.slope_factor.max(other.slope_factor),
        }
    }
}

/// The pyramid; its finest level has a range for each coefficient.
#[derive(Clone, Debug)]
pub(super) struct Bounds {
    levels: Vec<(usize, usize, Vec<Range>)>,
}

impl Bounds {
    pub(super) fn new(width: usize, height: usize, pixel: Vec2, coefficients: &[f32]) -> Bounds {
        let mut ranges = Vec::with_capacity(coefficients.len());
        for z in 0..height {
            for x in 0..width {
                let here = coefficients[z * width + x];
                let east = coefficients[z * width + (x + 1).min(width - 1)];
                let south = coefficients[(z + 1).min(height - 1) * width + x];
                // The spline's slope is a mean of the differences of neighbouring coefficients; each
                // axis takes its own mean, so the slope's length needs the greatest of each, joined in `over`.
                let slope = Vec2::new((east - here).abs(), (south - here).abs()) / pixel;
                ranges.push(Range { low: here, high: here, slope_factor: slope.x.max(slope.y) });
            }
        }
        // Steepness is monotonic in `slope_factor`: with each axis at most s, the length is at most s * sqrt 2.
        for range in &mut ranges {
            range.slope_factor = slope_factor(Vec2::new(range.slope_factor * 1.4143, 0.0));
        }
        let mut levels = vec![(width, height, ranges)];
        while let Some((width, height, ranges)) = levels.last().filter(|(w, h, _)| *w > 1 || *h > 1) {
            let (coarse_width, coarse_height) = (width.div_ceil(2), height.div_ceil(2));
            let mut coarse = vec![Range::NONE; coarse_width * coarse_height];
            for z in 0..*height {
                for x in 0..*width {
                    let block = &mut coarse[z / 2 * coarse_width + x / 2];
                    *block = block.join(ranges[z * width + x]);
                }
            }
            levels.push((coarse_width, coarse_height, coarse));
        }
        Bounds { levels }
    }

    /// The joined range of the coefficients in a rectangle; indices past the edge mean the edge.
    pub(super) fn over(&self, columns: RangeInclusive<usize>, rows: RangeInclusive<usize>) -> Range {
        // The level on which the rectangle is a few blocks across.
        let span = (columns.end() - columns.start()).max(rows.end() - rows.start());
        let level = (span / 4 + 1).ilog2() as usize;
        let level = level.min(self.levels.len() - 1);
        let (width, height, ranges) = &self.levels[level];
        let column = |x: &usize| (x >> level).min(width - 1);
        let row = |z: &usize| (z >> level).min(height - 1);
        let mut range = Range::NONE;
        for z in row(rows.start())..=row(rows.end()) {
            for x in column(columns.start())..=column(columns.end()) {
                range = range.join(ranges[z * width + x]);
            }
        }
        range
    }
}
