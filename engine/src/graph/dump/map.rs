//! A heap at one moment as a picture: cells of bytes, coloured by owner.

use super::colour::{BACKGROUND, Colour, EMPTY, Palette};
use super::{Compiled, Declaration, alive, laid_in};

const COLUMNS: u64 = 96;
const ROWS: u64 = 48;
/// Pixels of a cell; one more to the next.
const CELL: u64 = 7;
/// Fewest bytes of a cell.
const LEAST: u64 = 256;

/// An RGBA8 picture of a heap: bytes across, then down, from offset 0 at the top left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OccupancyMap {
    /// Pixels a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Bytes that a cell stands for: a power of two.
    pub cell_bytes: u64,
    /// Rows from the top, four bytes a pixel: red, green, blue in sRGB, and 255.
    pub pixels: Vec<u8>,
}

/// The place in the order at which most bytes of a heap are alive, the first such; `None` where nothing lies in it.
pub fn peak_place(declaration: &Declaration, compiled: &Compiled, heap: u32) -> Option<u32> {
    let laid = laid_in(declaration, compiled, heap);
    let alive = alive(&laid, compiled.order.len());
    let most = alive.iter().copied().max().filter(|bytes| *bytes > 0)?;
    alive.iter().position(|bytes| *bytes == most).and_then(|place| u32::try_from(place).ok())
}

/// A heap while the pass at `place` of the order runs. Owners that are alive have their colours, the same as in the
/// lifetime chart; what is owned at other times only is a dark shade of its next owner, or of its last where there is no
/// next; what nobody ever owns is darker still. A cell shows the owner of its first byte that is owned. `None` where there
/// is no such heap.
pub fn occupancy_map(
    declaration: &Declaration,
    compiled: &Compiled,
    heap: u32,
    place: u32,
) -> Option<OccupancyMap> {
    let bytes = compiled.heaps.get(heap as usize)?.bytes;
    let palette = Palette::new(declaration);
    let cell_bytes = bytes.div_ceil(COLUMNS * ROWS).max(LEAST).checked_next_power_of_two()?;
    let cells = bytes.div_ceil(cell_bytes);
    let rows = cells.div_ceil(COLUMNS).max(1);
    let (width, height) = (COLUMNS * (CELL + 1) + 1, rows * (CELL + 1) + 1);
    let mut owners: Vec<Owner> = vec![Owner::default(); usize::try_from(cells).ok()?];
    for laid in laid_in(declaration, compiled, heap) {
        let (first, end) =
            (laid.placement.offset, laid.placement.offset.saturating_add(laid.placement.bytes));
        let rank = match (laid.lifetime.first, laid.lifetime.last) {
            (first, last) if first <= place && place <= last => 0,
            (first, _) if first > place => u64::from(first - place),
            (_, last) => (1 << 32) + u64::from(place - last),
        };
        let candidate = Owner { rank, colour: shade(palette.of(laid.id), rank) };
        let range = (first / cell_bytes) as usize..end.div_ceil(cell_bytes).min(cells) as usize;
        for owner in owners.get_mut(range).into_iter().flatten() {
            if candidate.rank < owner.rank {
                *owner = candidate;
            }
        }
    }
    let mut pixels: Vec<u8> = Vec::new();
    for y in 0..height {
        for x in 0..width {
            let (column, row) = (x / (CELL + 1), y / (CELL + 1));
            let is_gap = x % (CELL + 1) == 0 || y % (CELL + 1) == 0;
            let owner = owners.get((row * COLUMNS + column) as usize).filter(|_| !is_gap && column < COLUMNS);
            let [red, green, blue] = owner.map_or(BACKGROUND, |owner| owner.colour);
            pixels.extend([red, green, blue, 255]);
        }
    }
    Some(OccupancyMap {
        width: u32::try_from(width).ok()?,
        height: u32::try_from(height).ok()?,
        cell_bytes,
        pixels,
    })
}

/// Who a cell belongs to, and how near that is in time: 0 now, then those that come, then those that were.
#[derive(Debug, Clone, Copy)]
struct Owner {
    rank: u64,
    colour: Colour,
}

impl Default for Owner {
    fn default() -> Self {
        Self { rank: u64::MAX, colour: EMPTY }
    }
}

/// A fifth of the colour over the empty one, where the owner is not alive.
fn shade(colour: Colour, rank: u64) -> Colour {
    if rank == 0 {
        return colour;
    }
    let mut mixed = EMPTY;
    for (to, from) in mixed.iter_mut().zip(colour) {
        *to = ((u32::from(*to) * 4 + u32::from(from)) / 5) as u8;
    }
    mixed
}
