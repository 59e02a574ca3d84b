//! What is written on every tile of mip 0: its column and row, and a cross at its corner, as on a survey sheet.

/// Rows of the digits, five pixels wide; bit 4 is the left one.
const DIGITS: [[u8; 7]; 11] = [
    [0x0e, 0x11, 0x13, 0x15, 0x19, 0x11, 0x0e],
    [0x04, 0x0c, 0x04, 0x04, 0x04, 0x04, 0x0e],
    [0x0e, 0x11, 0x01, 0x06, 0x08, 0x10, 0x1f],
    [0x0e, 0x11, 0x01, 0x06, 0x01, 0x11, 0x0e],
    [0x02, 0x06, 0x0a, 0x12, 0x1f, 0x02, 0x02],
    [0x1f, 0x10, 0x1e, 0x01, 0x01, 0x11, 0x0e],
    [0x06, 0x08, 0x10, 0x1e, 0x11, 0x11, 0x0e],
    [0x1f, 0x01, 0x02, 0x02, 0x04, 0x04, 0x04],
    [0x0e, 0x11, 0x11, 0x0e, 0x11, 0x11, 0x0e],
    [0x0e, 0x11, 0x11, 0x0f, 0x01, 0x02, 0x0c],
    // A dot between them.
    [0x00, 0x00, 0x00, 0x04, 0x00, 0x00, 0x00],
];
/// Texels a pixel of the digits.
const SCALE: u32 = 2;
/// Of the first digit, from the tile's corner.
const PLACE: [u32; 2] = [18, 16];
const CHARACTERS: u32 = 5;
/// Half the length of the cross, and half its width.
const CROSS: (u32, u32) = (12, 1);

/// Tiles along x and y that carry a label.
#[derive(Debug, Clone, Copy)]
pub struct Labels {
    /// Width and height of a tile in texels of mip 0.
    pub tile: [u32; 2],
}

impl Labels {
    /// How much of a square of `side` texels of mip 0 is ink: white, and the dark rim around it. The corner lies at
    /// (x, y), a multiple of `side`.
    pub fn ink(&self, x: u32, y: u32, side: u32) -> (f32, f32) {
        // Coarser squares hold too little of it to be seen.
        if side > 8 || !self.is_near(x % self.tile[0], y % self.tile[1], side) {
            return (0.0, 0.0);
        }
        let (mut white, mut dark) = (0, 0);
        for dy in 0..side {
            for dx in 0..side {
                let (x, y) = (x + dx, y + dy);
                if self.is_white(x, y) {
                    white += 1;
                } else if (0..9)
                    .any(|i| self.is_white((x + i % 3).saturating_sub(1), (y + i / 3).saturating_sub(1)))
                {
                    dark += 1;
                }
            }
        }
        let area = (side * side) as f32;
        (white as f32 / area, dark as f32 / area)
    }

    fn is_near(&self, x: u32, y: u32, side: u32) -> bool {
        let reach = side + 2;
        let in_label = x + reach >= PLACE[0]
            && x < PLACE[0] + CHARACTERS * 6 * SCALE + reach
            && y + reach >= PLACE[1]
            && y < PLACE[1] + 7 * SCALE + reach;
        let near = |at: u32, tile: u32, within: u32| at < within + reach || at + within + reach >= tile;
        let (long, wide) = CROSS;
        let in_cross = (near(x, self.tile[0], long) && near(y, self.tile[1], wide))
            || (near(x, self.tile[0], wide) && near(y, self.tile[1], long));
        in_label || in_cross
    }

    fn is_white(&self, x: u32, y: u32) -> bool {
        let (column, row) = (x / self.tile[0], y / self.tile[1]);
        let (x, y) = (x % self.tile[0], y % self.tile[1]);
        let from = |at: u32, tile: u32| at.min(tile - 1 - at);
        let (near_x, near_y) = (from(x, self.tile[0]), from(y, self.tile[1]));
        let (long, wide) = CROSS;
        if (near_x < long && near_y < wide) || (near_x < wide && near_y < long) {
            return true;
        }
        let (Some(x), Some(y)) = (x.checked_sub(PLACE[0]), y.checked_sub(PLACE[1])) else { return false };
        let (x, y) = (x / SCALE, y / SCALE);
        let text = [column / 10 % 10, column % 10, 10, row / 10 % 10, row % 10];
        let Some(glyph) = text.get((x / 6) as usize).and_then(|digit| DIGITS.get(*digit as usize)) else {
            return false;
        };
        x % 6 < 5 && glyph.get(y as usize).is_some_and(|row| row >> (4 - x % 6) & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LABELS: Labels = Labels { tile: [512, 256] };

    #[test]
    fn every_tile_says_its_own_number() {
        let text = |column: u32, row: u32| -> Vec<bool> {
            let (x, y) = (column * 512 + PLACE[0], row * 256 + PLACE[1]);
            (0..7 * 30).map(|i| LABELS.is_white(x + i % 30 * SCALE, y + i / 30 * SCALE)).collect()
        };
        let mut all: Vec<_> = (0..32 * 64).map(|i| text(i % 32, i / 32)).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 32 * 64);
    }

    #[test]
    fn coarser_squares_hold_the_mean_of_finer_ones() {
        for (x, y) in [(16, 16), (0, 0), (504, 248), (512 + 24, 256 + 16), (200, 100)] {
            let (white, dark) = LABELS.ink(x, y, 8);
            let mut sum = (0.0, 0.0);
            for i in 0..64 {
                let ink = LABELS.ink(x + i % 8, y + i / 8, 1);
                sum = (sum.0 + ink.0 / 64.0, sum.1 + ink.1 / 64.0);
            }
            assert!((white - sum.0).abs() < 1e-5 && (dark - sum.1).abs() < 1e-5, "{x} {y}");
        }
    }
}
