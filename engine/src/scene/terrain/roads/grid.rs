//! Which segments of roads and which decals lie near a place: a grid of cells, each with a list in painting order.

use glam::Vec2;

use super::{Decal, Road};

/// Side of a cell, metres.
pub const CELL: f32 = 96.0;
/// The most cells along a side: a larger map has larger cells.
const MOST_CELLS: f32 = 1024.0;

/// Something in a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item {
    /// Of a road, from a point to the next.
    Segment {
        /// Index of the road.
        road: u32,
        /// Index of its first point.
        segment: u32,
    },
    /// Index of a decal.
    Decal(u32),
}

/// The grid. Its words are what shaders read: for each cell where its list begins, one more where the last ends,
/// then the lists. A list holds indices of primitives: segments of all roads one after another, then decals.
#[derive(Debug, Clone, PartialEq)]
pub struct OverlayGrid {
    origin: Vec2,
    cell: f32,
    side: [u32; 2],
    words: Vec<u32>,
    items: Vec<Item>,
}

impl OverlayGrid {
    pub(super) fn new(roads: &[Road], decals: &[Decal], half_extent: Vec2) -> Self {
        let widest = (half_extent * 2.0).max_element().max(1.0);
        let cell = CELL.max(widest / MOST_CELLS);
        let is_empty = roads.is_empty() && decals.is_empty();
        let side = if is_empty {
            [0; 2]
        } else {
            [half_extent.x, half_extent.y].map(|half| (half * 2.0 / cell).ceil().max(1.0) as u32)
        };
        let mut grid = Self { origin: -half_extent, cell, side, words: Vec::new(), items: Vec::new() };
        let cells = side[0] as usize * side[1] as usize;
        // Order, then index: what lies below comes first, and segments of one road stay together.
        let mut entries: Vec<(i32, u32, Vec2, Vec2)> = Vec::new();
        for (index, road) in (0u32..).zip(roads) {
            let reach = Vec2::splat(road.reach());
            for (segment, pair) in (0u32..).zip(road.points.windows(2)) {
                let (a, b) = (pair[0].place, pair[1].place);
                entries.push((road.order, grid.items.len() as u32, a.min(b) - reach, a.max(b) + reach));
                grid.items.push(Item::Segment { road: index, segment });
            }
        }
        for (index, decal) in (0u32..).zip(decals) {
            let (low, high) = decal.bounds();
            entries.push((decal.order, grid.items.len() as u32, low, high));
            grid.items.push(Item::Decal(index));
        }
        entries.sort_by_key(|entry| (entry.0, entry.1));
        let mut lists: Vec<Vec<u32>> = vec![Vec::new(); cells];
        for (_, item, low, high) in entries {
            let (Some([x0, z0]), Some([x1, z1])) = (grid.cell_of(low), grid.cell_of(high)) else { continue };
            for z in z0..=z1 {
                for x in x0..=x1 {
                    lists[(z * side[0] + x) as usize].push(item);
                }
            }
        }
        let mut first = cells as u32 + 1;
        let mut words = Vec::with_capacity(cells + 1);
        for list in &lists {
            words.push(first);
            first += list.len() as u32;
        }
        words.push(first);
        words.extend(lists.into_iter().flatten());
        grid.words = words;
        grid
    }

    /// Cells along x and z; zeros where there is nothing at all.
    pub fn side(&self) -> [u32; 2] {
        self.side
    }

    /// Side of a cell, metres.
    pub fn cell(&self) -> f32 {
        self.cell
    }

    /// What shaders read.
    pub fn words(&self) -> &[u32] {
        &self.words
    }

    /// What the indices in the lists mean.
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// What may reach a place, in painting order.
    pub fn items_at(&self, place: Vec2) -> impl Iterator<Item = Item> + '_ {
        let list = self.cell_of(place).and_then(|[x, z]| {
            let cell = (z * self.side[0] + x) as usize;
            let (first, end) = (*self.words.get(cell)?, *self.words.get(cell + 1)?);
            self.words.get(first as usize..end as usize)
        });
        list.unwrap_or_default().iter().filter_map(|item| self.items.get(*item as usize).copied())
    }

    /// The cell of a place; beyond the map, that at the edge.
    fn cell_of(&self, place: Vec2) -> Option<[u32; 2]> {
        let [columns, rows] = self.side;
        if columns == 0 || rows == 0 {
            return None;
        }
        // Casts saturate, and NaN becomes 0.
        let at = (place - self.origin) / self.cell;
        Some([(at.x as u32).min(columns - 1), (at.y as u32).min(rows - 1)])
    }
}
