//! Places squares along the Z-curve: first fit, aligned to their own length.

/// The run of Morton codes of one texture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Square {
    /// Its first code, a multiple of its length.
    pub(crate) start: u32,
    /// Its side in pages of level 0, as a logarithm: it has `4^log2_side` codes.
    pub(crate) log2_side: u8,
    /// Whose it is.
    pub(crate) texture: u16,
}

impl Square {
    fn length(log2_side: u8) -> u32 {
        1 << (2 * u32::from(log2_side.min(12)))
    }

    fn end(&self) -> u32 {
        self.start + Self::length(self.log2_side)
    }

    /// All codes of it.
    pub(crate) fn codes(&self) -> std::ops::Range<u32> {
        self.start..self.end()
    }

    pub(crate) fn holds(&self, code: u32) -> bool {
        (self.start..self.end()).contains(&code)
    }
}

/// Puts a square into the first gap of a table of `2^log2_table` pages a side; gives its first code.
pub(super) fn insert(squares: &mut Vec<Square>, log2_table: u8, log2_side: u8, texture: u16) -> Option<u32> {
    let (length, table) = (Square::length(log2_side), Square::length(log2_table));
    let mut start = 0u32;
    let mut place = squares.len();
    for (index, square) in squares.iter().enumerate() {
        if start + length <= square.start {
            place = index;
            break;
        }
        start = square.end().next_multiple_of(length);
    }
    if start + length > table {
        return None;
    }
    squares.insert(place, Square { start, log2_side, texture });
    Some(start)
}
