//! Residency over time: red the pages in use, yellow the locked ones, green the bias; below them pages that came and went.

use super::{BACKGROUND, DIM, TEXT, finish, legend};
use crate::inspect::Chart;
use crate::sparse::shadow::canvas::{Canvas, Colour, Rect};
use crate::sparse::shadow::font;
use crate::vt::FrameRecord;

const WIDTH: u32 = 1280;
pub(super) const LEFT: u32 = 72;
pub(super) const RIGHT: u32 = WIDTH - 32;
const TITLE: u32 = 20;
const LEGEND: u32 = 56;
pub(super) const SHARES: Plot = Plot { top: 92, height: 300 };
pub(super) const COUNTS: Plot = Plot { top: 428, height: 160 };

pub(super) const RESIDENCY: Colour = [232, 68, 60];
pub(super) const LOCKED: Colour = [240, 208, 64];
pub(super) const BIAS: Colour = [92, 208, 100];
pub(super) const SHARPNESS: Colour = [150, 200, 255];
pub(super) const MADE: Colour = [240, 240, 240];
pub(super) const EVICTED: Colour = [222, 120, 220];
const GRID: Colour = [40, 47, 58];

/// A part of the picture with an axis of its own.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plot {
    pub(super) top: u32,
    pub(super) height: u32,
}

impl Plot {
    /// The row of a share of its height.
    pub(super) fn row(self, share: f64) -> u32 {
        let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
        self.top + self.height - (share * f64::from(self.height)).round() as u32
    }

    fn line(self, canvas: &mut Canvas, share: f64, label: &str) {
        let y = self.row(share);
        canvas.fill(Rect { x: LEFT, y, width: RIGHT - LEFT, height: 1 }, GRID);
        canvas.text((LEFT - 10).saturating_sub(font::width(label)), y.saturating_sub(3), 1, DIM, label);
    }
}

/// The record of a column of pixels.
fn at(records: &[FrameRecord], x: u32) -> Option<&FrameRecord> {
    let index = u64::from(x - LEFT) * records.len() as u64 / u64::from(RIGHT - LEFT);
    records.get(usize::try_from(index).ok()?)
}

/// A step of 1, 2 or 5 times a power of ten of which at most five make `most`.
fn step(most: u32) -> u32 {
    let steps = (0..9u32).flat_map(|power| [1, 2, 5].map(|n| n * 10u32.pow(power)));
    steps.into_iter().find(|step| most / step <= 5).unwrap_or(most.max(1))
}

/// Draws records in the order of their frames: shares above, pages a frame below. Without any there are only the axes.
pub fn residency_curves(title: &str, records: &[FrameRecord]) -> Chart {
    let mut canvas = Canvas::new(WIDTH, BACKGROUND);
    canvas.extend(COUNTS.top + COUNTS.height + 44);
    canvas.text(LEFT, TITLE, 3, TEXT, title);
    let last = records.last().copied().unwrap_or_default();
    let entries = [
        (RESIDENCY, format!("residency: (locked + used lately) / pages, now {:.2}", last.residency)),
        (LOCKED, format!("locked / pages, now {:.2}", last.locked)),
        (BIAS, format!("bias / largest bias, now {:.2}", last.bias)),
        (SHARPNESS, format!("sharpness: share at the wished level, now {:.3}", last.sharpness)),
    ];
    legend::draw(&mut canvas, (LEFT, LEGEND), RIGHT, &entries);
    for tenth in (0..=10).step_by(2) {
        SHARES.line(&mut canvas, f64::from(tenth) / 10.0, &format!("{:.1}", f64::from(tenth) / 10.0));
    }
    let made = |record: &FrameRecord| record.made.saturating_add(record.redrawn);
    let most = records.iter().map(|record| made(record).max(record.evicted)).max().unwrap_or(0).max(1);
    let step = step(most);
    let top = most.div_ceil(step).saturating_mul(step);
    for value in (0..=top / step).map(|n| n * step) {
        COUNTS.line(&mut canvas, f64::from(value) / f64::from(top), &value.to_string());
    }
    let total = |count: fn(&FrameRecord) -> u32| records.iter().map(|r| u64::from(count(r))).sum::<u64>();
    let (new, again, evicted) = (total(|r| r.made), total(|r| r.redrawn), total(|r| r.evicted));
    let entries = [
        (MADE, format!("pages drawn a frame: {new} made in all, {again} again in place")),
        (EVICTED, format!("evicted: {evicted} in all")),
    ];
    legend::draw(&mut canvas, (LEFT, COUNTS.top - 18), RIGHT, &entries);
    let count = |value: u32| f64::from(value) / f64::from(top);
    type Curve<'a> = (Plot, Colour, u32, &'a dyn Fn(&FrameRecord) -> f64);
    let curves: [Curve<'_>; 6] = [
        (SHARES, SHARPNESS, 1, &|r| r.sharpness),
        (SHARES, BIAS, 2, &|r| f64::from(r.bias)),
        (SHARES, LOCKED, 2, &|r| f64::from(r.locked)),
        (SHARES, RESIDENCY, 2, &|r| f64::from(r.residency)),
        (COUNTS, EVICTED, 1, &|r| count(r.evicted)),
        (COUNTS, MADE, 1, &|r| count(made(r))),
    ];
    for (plot, colour, thick, value) in curves {
        let mut before = None;
        for x in LEFT..RIGHT {
            let Some(record) = at(records, x) else { break };
            let y = plot.row(value(record));
            let from = before.replace(y).unwrap_or(y);
            canvas.fill(Rect { x, y: y.min(from), width: 1, height: y.abs_diff(from) + thick }, colour);
        }
    }
    frames(&mut canvas, records);
    finish(canvas)
}

/// Numbers of frames below both plots.
fn frames(canvas: &mut Canvas, records: &[FrameRecord]) {
    for tenth in 0..=10 {
        let x = LEFT + (RIGHT - LEFT - 1) * tenth / 10;
        for plot in [SHARES, COUNTS] {
            canvas.fill(Rect { x, y: plot.top + plot.height, width: 1, height: 5 }, DIM);
        }
        if let Some(record) = at(records, x) {
            let label = record.frame.to_string();
            let left = x.saturating_sub(font::width(&label) / 2);
            canvas.text(left, COUNTS.top + COUNTS.height + 9, 1, DIM, &label);
        }
    }
    canvas.text(LEFT, COUNTS.top + COUNTS.height + 24, 1, DIM, "frames");
}
