//! Colours of levels, and what says which is which.

use super::DIM;
use crate::sparse::shadow::canvas::{Canvas, Colour, Rect};
use crate::sparse::shadow::font;

/// `vt_level_colour` of `shaders/lib/virtual_texture.wgsl`: linear, and again from the eighth level on.
pub(super) const LEVELS: [[f32; 3]; 7] = [
    [0.98, 0.89, 0.35],
    [0.96, 0.55, 0.20],
    [0.86, 0.24, 0.31],
    [0.60, 0.16, 0.49],
    [0.33, 0.17, 0.55],
    [0.17, 0.19, 0.45],
    [0.10, 0.14, 0.25],
];

/// The colour of a level, as the flat view of a texture shows it: what shaders tint with, in steps that look even.
pub fn level_colour(level: u8) -> [u8; 3] {
    let linear = LEVELS[usize::from(level) % LEVELS.len()];
    linear.map(|channel| (channel.sqrt() * 255.0).round() as u8)
}

/// A colour that text on it is read in.
pub(super) fn ink(colour: Colour) -> Colour {
    let [red, green, blue] = colour.map(u32::from);
    if 3 * red + 6 * green + blue > 1300 { [16, 19, 25] } else { [230, 234, 240] }
}

/// Draws entries one after the other, and goes on in the next line where one has no room. The row below.
pub(super) fn draw(
    canvas: &mut Canvas,
    (left, top): (u32, u32),
    right: u32,
    entries: &[(Colour, String)],
) -> u32 {
    let (mut x, mut y) = (left, top);
    for (colour, text) in entries {
        let width = 20 + font::width(text) + 18;
        if x > left && x + width > right {
            (x, y) = (left, y + 16);
        }
        canvas.fill(Rect { x, y, width: 14, height: 10 }, *colour);
        canvas.text(x + 20, y + 1, 1, DIM, text);
        x += width;
    }
    y + 20
}
