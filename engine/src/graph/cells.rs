//! Resources cut into cells: the parts that uses tell apart. A resource that is only ever used as a whole is one cell,
//! a mip chain has one a mip. Later phases keep their state by cell, so that parts never need comparing again.
//!
//! ```text
//! uses of a chain of three mips        rows = mips, columns = layers (or bytes of a buffer)
//!   write mip 0                          cell 0
//!   read mip 0, write mip 1              cell 0, cell 1
//!   read all                             cells 0..3
//! ```

use super::declaration::{Declaration, ResourceInfo, Subresources};

/// The cells of a use: rows and columns of the resource's grid, ends exclusive.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CellRange {
    pub(super) first_row: u32,
    pub(super) end_row: u32,
    pub(super) first_column: u32,
    pub(super) end_column: u32,
}

/// The cells of a resource.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Grid {
    /// Index of the first cell; rows follow each other.
    pub(super) first: u32,
    pub(super) rows: u32,
    pub(super) columns: u32,
    /// Where the borders of rows and of columns begin in the list of borders.
    row_borders: u32,
    column_borders: u32,
}

impl Grid {
    /// All cells, as indices.
    pub(super) fn all(&self) -> std::ops::Range<usize> {
        self.first as usize..(self.first + self.rows * self.columns) as usize
    }

    /// All cells, as rows and columns.
    pub(super) fn range(&self) -> CellRange {
        CellRange { first_row: 0, end_row: self.rows, first_column: 0, end_column: self.columns }
    }

    /// Indices of the cells of a range, by row.
    pub(super) fn cells(&self, range: CellRange) -> impl Iterator<Item = usize> + use<> {
        let (first, columns) = (self.first, self.columns);
        (range.first_row..range.end_row).flat_map(move |row| {
            let start = first + row * columns;
            (start + range.first_column) as usize..(start + range.end_column) as usize
        })
    }
}

/// The borders of a part: rows (mips), then columns (layers or bytes); `None` where it is not inside.
pub(super) fn borders(info: &ResourceInfo, part: Subresources) -> Option<[u64; 4]> {
    let (rows, columns) = size(info);
    let [first_row, end_row, first_column, end_column] = match (part, info) {
        (Subresources::All, _) => return Some([0, rows, 0, columns]),
        (Subresources::Image { first_mip, mips, first_layer, layers }, ResourceInfo::Image(_)) => {
            let (mip, layer) = (u64::from(first_mip), u64::from(first_layer));
            [mip, mip + u64::from(mips), layer, layer + u64::from(layers)]
        }
        (Subresources::Bytes { offset, bytes }, ResourceInfo::Buffer(_)) => {
            [0, 1, offset, offset.checked_add(bytes)?]
        }
        _ => return None,
    };
    let is_inside =
        first_row < end_row && end_row <= rows && first_column < end_column && end_column <= columns;
    is_inside.then_some([first_row, end_row, first_column, end_column])
}

fn size(info: &ResourceInfo) -> (u64, u64) {
    match info {
        ResourceInfo::Image(info) => (u64::from(info.mips.max(1)), u64::from(info.layers.max(1))),
        ResourceInfo::Buffer(info) => (1, info.bytes.max(1)),
    }
}

/// The cells of all resources and uses.
#[derive(Debug, Default)]
pub(super) struct Cells {
    pub(super) grids: Vec<Grid>,
    /// Of every use.
    pub(super) ranges: Vec<CellRange>,
    /// Number of cells.
    pub(super) count: usize,
    borders: Vec<u64>,
    /// Borders inside resources: resource, whether of columns, where.
    inner: Vec<(u32, bool, u64)>,
}

impl Cells {
    /// Cuts the resources of a declaration that was checked.
    pub(super) fn cut(&mut self, declaration: &Declaration) {
        let resources = &declaration.resources;
        self.inner.clear();
        for usage in &declaration.uses {
            if usage.part == Subresources::All {
                continue;
            }
            let id = usage.resource.0;
            let info = &resources[id as usize].info;
            let (rows, columns) = size(info);
            let Some([first_row, end_row, first_column, end_column]) = borders(info, usage.part) else {
                continue;
            };
            for (at, end) in [(first_row, rows), (end_row, rows)] {
                if at > 0 && at < end {
                    self.inner.push((id, false, at));
                }
            }
            for (at, end) in [(first_column, columns), (end_column, columns)] {
                if at > 0 && at < end {
                    self.inner.push((id, true, at));
                }
            }
        }
        self.inner.sort_unstable();
        self.inner.dedup();
        self.lay_out(declaration);
        self.ranges.clear();
        for usage in &declaration.uses {
            let grid = self.grids[usage.resource.0 as usize];
            let range = if usage.part == Subresources::All || grid.rows * grid.columns == 1 {
                grid.range()
            } else {
                self.range(&grid, &resources[usage.resource.0 as usize].info, usage.part)
            };
            self.ranges.push(range);
        }
    }

    fn lay_out(&mut self, declaration: &Declaration) {
        self.grids.clear();
        self.borders.clear();
        let mut first = 0u32;
        let mut at = 0;
        for (id, resource) in declaration.resources.iter().enumerate() {
            let mut grid = Grid { first, rows: 1, columns: 1, ..Grid::default() };
            if self.inner.get(at).is_some_and(|inner| inner.0 as usize == id) {
                let (rows, columns) = size(&resource.info);
                for (is_column, end) in [(false, rows), (true, columns)] {
                    let start = self.borders.len() as u32;
                    self.borders.push(0);
                    while let Some(&(_, _, border)) =
                        self.inner.get(at).filter(|inner| inner.0 as usize == id && inner.1 == is_column)
                    {
                        self.borders.push(border);
                        at += 1;
                    }
                    self.borders.push(end);
                    let count = self.borders.len() as u32 - start - 1;
                    if is_column {
                        (grid.column_borders, grid.columns) = (start, count);
                    } else {
                        (grid.row_borders, grid.rows) = (start, count);
                    }
                }
            }
            first += grid.rows * grid.columns;
            self.grids.push(grid);
        }
        self.count = first as usize;
    }

    fn range(&self, grid: &Grid, info: &ResourceInfo, part: Subresources) -> CellRange {
        let Some(at) = borders(info, part) else { return grid.range() };
        let find = |start: u32, count: u32, value: u64| {
            let borders = &self.borders[start as usize..(start + count + 1) as usize];
            borders.partition_point(|&border| border < value) as u32
        };
        CellRange {
            first_row: find(grid.row_borders, grid.rows, at[0]),
            end_row: find(grid.row_borders, grid.rows, at[1]),
            first_column: find(grid.column_borders, grid.columns, at[2]),
            end_column: find(grid.column_borders, grid.columns, at[3]),
        }
    }

    /// The part that cells make up.
    pub(super) fn part(&self, grid: &Grid, info: &ResourceInfo, range: CellRange) -> Subresources {
        let CellRange { first_row, end_row, first_column, end_column } = range;
        if end_row - first_row == grid.rows && end_column - first_column == grid.columns {
            return Subresources::All;
        }
        let row = |at: u32| self.borders[(grid.row_borders + at) as usize];
        let column = |at: u32| self.borders[(grid.column_borders + at) as usize];
        match info {
            ResourceInfo::Image(_) => Subresources::Image {
                first_mip: row(first_row) as u32,
                mips: (row(end_row) - row(first_row)) as u32,
                first_layer: column(first_column) as u32,
                layers: (column(end_column) - column(first_column)) as u32,
            },
            ResourceInfo::Buffer(_) => Subresources::Bytes {
                offset: column(first_column),
                bytes: column(end_column) - column(first_column),
            },
        }
    }
}
