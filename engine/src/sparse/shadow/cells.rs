//! Tiles as cells: how many tiles a cell stands for, and what each column of its pixels shows.

use std::ops::Range;

use super::canvas::{Canvas, Colour, Rect};

/// How a strip of tiles is cut into rows of cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Grid {
    /// Tiles in all.
    pub(super) tiles: u64,
    /// Tiles a cell: a power of two.
    pub(super) group: u64,
    /// Cells a row.
    pub(super) columns: u64,
    /// Pixels of a cell; one more to the next.
    pub(super) size: u32,
}

impl Grid {
    /// The smallest power of two of tiles a cell that needs at most `rows` rows of `columns` cells.
    pub(super) fn new(tiles: u64, columns: u64, rows: u64, size: u32) -> Self {
        let columns = columns.max(1);
        let cells = columns.saturating_mul(rows).max(1);
        let group = tiles.div_ceil(cells).checked_next_power_of_two().unwrap_or(1 << 63).max(1);
        Self { tiles, group, columns, size }
    }

    pub(super) fn cells(&self) -> u64 {
        self.tiles.div_ceil(self.group)
    }

    pub(super) fn rows(&self) -> u32 {
        u32::try_from(self.cells().div_ceil(self.columns)).unwrap_or(u32::MAX)
    }

    /// Pixels from the top of the first row to the bottom of the last.
    pub(super) fn height(&self) -> u32 {
        self.rows().saturating_mul(self.size + 1).saturating_sub(1)
    }

    /// The rectangle of a cell of a grid that begins at (x, y).
    pub(super) fn rect(&self, cell: u64, x: u32, y: u32) -> Rect {
        let pitch = self.size + 1;
        // Both are below the bounds that `new` was given.
        let (column, row) = ((cell % self.columns) as u32, (cell / self.columns) as u32);
        // The last cell is as narrow as the tiles that are left.
        let tiles = self.tiles_of(cell);
        let share = u128::from(tiles.end.saturating_sub(tiles.start)) * u128::from(self.size);
        let width = share.div_ceil(u128::from(self.group)).clamp(1, u128::from(self.size)) as u32;
        Rect { x: x + column * pitch, y: y + row * pitch, width, height: self.size }
    }

    /// The tiles behind a cell.
    pub(super) fn tiles_of(&self, cell: u64) -> Range<u64> {
        let start = cell.saturating_mul(self.group);
        start..start.saturating_add(self.group).min(self.tiles)
    }

    /// The tiles behind one column of pixels of a cell, never none: where a cell has fewer tiles than
    /// columns, a tile is several columns wide.
    fn tiles_of_column(&self, cell: u64, column: u32) -> Range<u64> {
        let first = cell.saturating_mul(self.group);
        let at = |column: u32| {
            let offset = u128::from(self.group) * u128::from(column) / u128::from(self.size.max(1));
            first.saturating_add(u64::try_from(offset).unwrap_or(u64::MAX))
        };
        let start = at(column);
        start..at(column + 1).max(start.saturating_add(1)).min(self.tiles)
    }

    /// Paints the columns of a cell whose tiles lie in a run, in the colour of that run.
    pub(super) fn paint(&self, canvas: &mut Canvas, rect: Rect, cell: u64, runs: &Runs) {
        for column in 0..rect.width {
            if let Some(colour) = runs.in_range(self.tiles_of_column(cell, column)) {
                canvas.fill(Rect { x: rect.x + column, width: 1, ..rect }, colour);
            }
        }
    }
}

/// Coloured runs of tiles, sorted so that they are found fast.
#[derive(Debug)]
pub(super) struct Runs(Vec<(Range<u64>, Colour)>);

impl Runs {
    /// Takes runs in any order; where they overlap, the one that begins first is shown.
    pub(super) fn new(runs: impl Iterator<Item = (Range<u64>, Colour)>) -> Self {
        let mut sorted: Vec<_> = runs.filter(|(run, _)| !run.is_empty()).collect();
        sorted.sort_by_key(|(run, _)| (run.start, run.end));
        let mut end = 0;
        sorted.retain_mut(|(run, _)| {
            run.start = run.start.max(end);
            end = end.max(run.end);
            !run.is_empty()
        });
        Self(sorted)
    }

    /// The colour of the first run that touches `range`.
    pub(super) fn in_range(&self, range: Range<u64>) -> Option<Colour> {
        let first = self.0.partition_point(|(run, _)| run.end <= range.start);
        self.0.get(first).filter(|(run, _)| run.start < range.end).map(|(_, colour)| *colour)
    }
}

/// The colour of a chunk: hues a golden section apart, so that neighbours differ most, with the ambers left
/// out, since those mean slack, and two lightnesses in turn.
pub(super) fn chunk_colour(index: usize) -> Colour {
    const GOLDEN: f64 = 0.618_033_988_749_895;
    let turn = ((index % 100_000) as f64 * GOLDEN).fract();
    let hue = (75.0 + turn * 305.0) % 360.0;
    let lightness = if index.is_multiple_of(2) { 0.64 } else { 0.72 };
    hsl(hue, 0.62, lightness)
}

/// Hue in degrees, saturation and lightness from 0 to 1.
fn hsl(hue: f64, saturation: f64, lightness: f64) -> Colour {
    let chroma = saturation * lightness.min(1.0 - lightness);
    let channel = |shift: f64| {
        let k = (shift + hue / 30.0) % 12.0;
        let value = lightness - chroma * (k - 3.0).min(9.0 - k).clamp(-1.0, 1.0);
        (value * 255.0).round() as u8
    };
    [channel(0.0), channel(8.0), channel(4.0)]
}
