//! Sweeping a height map along one direction, in time linear in its samples.
//!
//! The map is cut into parallel lines one sample apart, each walked away from the light. On a line, heights are
//! interpolated between the two samples beside it, and what the walk yields at a sample is interpolated between the
//! two lines beside that; so nothing is smeared however far it is carried, for any azimuth. Lines are
//! independent of each other, which makes the result the same for any number of threads. The horizon by a convex
//! hull follows V. Timonen, "Line-Sweep Ambient Obscurance" (2013).

use std::sync::atomic::{AtomicU32, Ordering};

use glam::Vec2;

/// Heights of the samples in metres, row by row.
pub(super) struct Grid<'a> {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) pixel: Vec2,
    pub(super) heights: &'a [f32],
}

/// A map that threads write into, each value by one of them.
pub(super) struct Store(Vec<AtomicU32>);

impl Store {
    pub(super) fn new(len: usize) -> Store {
        Store((0..len).map(|_| AtomicU32::new(0)).collect())
    }

    pub(super) fn get(&self, index: usize) -> f32 {
        f32::from_bits(self.0[index].load(Ordering::Relaxed))
    }

    pub(super) fn set(&self, index: usize, value: f32) {
        self.0[index].store(value.to_bits(), Ordering::Relaxed);
    }

    pub(super) fn into_values(self) -> Vec<f32> {
        self.0.into_iter().map(|value| f32::from_bits(value.into_inner())).collect()
    }
}

/// How the lines of one direction run over the grid. "Major" is the axis along which a step is one sample.
struct Lines {
    majors: usize,
    minors: usize,
    major_stride: usize,
    minor_stride: usize,
    /// The light comes from the end of the major axis.
    reversed: bool,
    /// Line `l` is at `l - shear * k` on the minor axis after `k` steps.
    shear: f64,
    /// Metres a step.
    step: f32,
}

impl Lines {
    fn new(grid: &Grid<'_>, toward: Vec2) -> Lines {
        let per_sample = (toward / grid.pixel).as_dvec2();
        let pixel = grid.pixel.as_dvec2();
        let along_rows = per_sample.y.abs() >= per_sample.x.abs();
        let (major, minor, major_pixel, minor_pixel) = if along_rows {
            (per_sample.y, per_sample.x, pixel.y, pixel.x)
        } else {
            (per_sample.x, per_sample.y, pixel.x, pixel.y)
        };
        let shear = minor / major.abs();
        let step = major_pixel.hypot(shear * minor_pixel) as f32;
        let (width, height) = (grid.width, grid.height);
        let (majors, minors, major_stride, minor_stride) =
            if along_rows { (height, width, width, 1) } else { (width, height, 1, width) };
        Lines { majors, minors, major_stride, minor_stride, reversed: major > 0.0, shear, step }
    }

    /// The lines that touch the grid: between each and the next lie samples.
    fn range(&self) -> std::ops::Range<i64> {
        let drift = self.shear * (self.majors - 1) as f64;
        let first = drift.min(0.0).floor() as i64 - 1;
        let last = (self.minors as f64 + drift.max(0.0)).ceil() as i64;
        first..last
    }

    fn minor(&self, line: i64, k: usize) -> f64 {
        line as f64 - self.shear * k as f64
    }

    fn start_of(&self, k: usize) -> usize {
        (if self.reversed { self.majors - 1 - k } else { k }) * self.major_stride
    }
}

/// One walked line.
#[derive(Default)]
struct Walk {
    /// The step at which it enters the grid.
    first: usize,
    heights: Vec<f32>,
    out: Vec<[f32; 2]>,
}

/// Walks every line away from the light, which comes from `toward` (of length 1: x east, y south).
///
/// `kernel` gets the heights along a line, nearest to the light first, and the metres between them, and pushes
/// one result for each. `write` gets each sample's index once, with the result there.
pub(super) fn sweep(
    grid: &Grid<'_>,
    toward: Vec2,
    threads: usize,
    kernel: impl Fn(&[f32], f32, &mut Vec<[f32; 2]>) + Sync,
    write: impl Fn(usize, [f32; 2]) + Sync,
) {
    let lines = Lines::new(grid, toward);
    let range = lines.range();
    let count = (range.end - range.start) as usize;
    let share = count.div_ceil(threads.clamp(1, 64)).max(1);
    std::thread::scope(|scope| {
        for begin in (0..count).step_by(share) {
            let (lines, kernel, write) = (&lines, &kernel, &write);
            let first = range.start + begin as i64;
            let own = first..first + share.min(count - begin) as i64;
            let work = move || {
                let (mut left, mut right) = (Walk::default(), Walk::default());
                walk(grid, lines, own.start, kernel, &mut left);
                for line in own {
                    walk(grid, lines, line + 1, kernel, &mut right);
                    between(lines, line, &left, &right, write);
                    std::mem::swap(&mut left, &mut right);
                }
            };
            if share == count {
                work();
            } else {
                scope.spawn(work);
            }
        }
    });
}

fn walk(
    grid: &Grid<'_>,
    lines: &Lines,
    line: i64,
    kernel: &impl Fn(&[f32], f32, &mut Vec<[f32; 2]>),
    walk: &mut Walk,
) {
    walk.heights.clear();
    walk.out.clear();
    let last = (lines.minors - 1) as f64;
    for k in 0..lines.majors {
        let minor = lines.minor(line, k);
        if minor <= -1.0 || minor >= last + 1.0 {
            if walk.heights.is_empty() {
                continue;
            }
            break;
        }
        if walk.heights.is_empty() {
            walk.first = k;
        }
        // Up to one sample outside, a line goes along the edge.
        let minor = minor.clamp(0.0, last);
        let index = minor as usize;
        let fraction = (minor - index as f64) as f32;
        let at = lines.start_of(k) + index * lines.minor_stride;
        let height = grid.heights[at];
        let next = if fraction > 0.0 { grid.heights[at + lines.minor_stride] } else { height };
        walk.heights.push(height + (next - height) * fraction);
    }
    if !walk.heights.is_empty() {
        kernel(&walk.heights, lines.step, &mut walk.out);
    }
}

/// Writes the samples that lie on the left line or between it and the right one.
fn between(lines: &Lines, line: i64, left: &Walk, right: &Walk, write: &impl Fn(usize, [f32; 2])) {
    for (i, at_left) in left.out.iter().enumerate() {
        let k = left.first + i;
        let minor = lines.minor(line, k);
        let sample = minor.ceil();
        if sample < 0.0 || sample >= lines.minors as f64 {
            continue;
        }
        let fraction = (sample - minor) as f32;
        let at_right = k.checked_sub(right.first).and_then(|i| right.out.get(i));
        let value = match at_right {
            Some(at_right) if fraction > 0.0 => {
                std::array::from_fn(|c| at_left[c] + (at_right[c] - at_left[c]) * fraction)
            }
            _ => *at_left,
        };
        write(lines.start_of(k) + sample as usize * lines.minor_stride, value);
    }
}

/// Pushes (height of the shadow, distance of what throws it). `drop` is the tangent of the sun's elevation;
/// `none` is the least height given, for where there is no shadow.
pub(super) fn shadow_line(heights: &[f32], step: f32, drop: f32, none: f32, out: &mut Vec<[f32; 2]>) {
    let (mut shadow, mut distance) = (f32::NEG_INFINITY, 0.0);
    for &height in heights {
        out.push(if shadow > none { [shadow, distance] } else { [none, 0.0] });
        if height >= shadow {
            (shadow, distance) = (height, 0.0);
        }
        shadow -= drop * step;
        distance += step;
    }
}

/// Pushes (cos^2 of the horizon's angle towards the light, 0). A horizon below the horizontal counts as level.
pub(super) fn horizon_line(heights: &[f32], step: f32, out: &mut Vec<[f32; 2]>) {
    // The upper convex hull of what has been passed, as (distance, height); the horizon touches its end.
    let mut hull: Vec<(f32, f32)> = Vec::with_capacity(64);
    for (i, &height) in heights.iter().enumerate() {
        let here = i as f32 * step;
        let tangent = |&(there, top): &(f32, f32)| (top - height) / (here - there);
        while let [.., second, top] = hull[..] {
            if tangent(&second) < tangent(&top) {
                break;
            }
            hull.pop();
        }
        let horizon = hull.last().map_or(0.0, tangent).max(0.0);
        out.push([1.0 / (1.0 + horizon * horizon), 0.0]);
        hull.push((here, height));
    }
}
