//! Pixels: an RGB8 image that grows downwards as things are drawn on it.

use super::font;

/// A colour, red, green, blue.
pub(crate) type Colour = [u8; 3];

/// A rectangle of pixels.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rect {
    pub(crate) x: u32,
    pub(crate) y: u32,
    pub(crate) width: u32,
    pub(crate) height: u32,
}

#[derive(Debug)]
pub(crate) struct Canvas {
    width: u32,
    height: u32,
    background: Colour,
    pixels: Vec<u8>,
}

impl Canvas {
    pub(crate) fn new(width: u32, background: Colour) -> Self {
        Self { width, height: 0, background, pixels: Vec::new() }
    }

    /// Makes the image at least `height` high.
    pub(crate) fn extend(&mut self, height: u32) {
        if height > self.height {
            let added = (height - self.height) as usize * self.width as usize;
            self.pixels.extend(std::iter::repeat_n(self.background, added).flatten());
            self.height = height;
        }
    }

    /// Fills a rectangle; what lies to the right of the image is cut.
    pub(crate) fn fill(&mut self, rect: Rect, colour: Colour) {
        self.extend(rect.y.saturating_add(rect.height));
        let right = rect.x.saturating_add(rect.width).min(self.width);
        for y in rect.y..rect.y.saturating_add(rect.height) {
            let row = y as usize * self.width as usize;
            let (from, to) = ((row + rect.x as usize) * 3, (row + right as usize) * 3);
            for pixel in self.pixels.get_mut(from..to).into_iter().flat_map(|row| row.chunks_exact_mut(3)) {
                pixel.copy_from_slice(&colour);
            }
        }
    }

    /// A frame of one pixel around the inside of a rectangle.
    pub(crate) fn frame(&mut self, rect: Rect, colour: Colour) {
        let Rect { x, y, width, height } = rect;
        self.fill(Rect { height: 1.min(height), ..rect }, colour);
        self.fill(Rect { y: y + height.saturating_sub(1), height: 1.min(height), ..rect }, colour);
        self.fill(Rect { width: 1.min(width), ..rect }, colour);
        self.fill(Rect { x: x + width.saturating_sub(1), width: 1.min(width), ..rect }, colour);
    }

    /// Writes a line of text with its top left corner at (x, y); returns where the next character would be.
    pub(crate) fn text(&mut self, x: u32, y: u32, scale: u32, colour: Colour, text: &str) -> u32 {
        let mut left = x;
        for character in text.chars() {
            if left >= self.width {
                break;
            }
            for (column, row) in font::pixels(character) {
                let (x, y) = (left + column * scale, y + row * scale);
                self.fill(Rect { x, y, width: scale, height: scale }, colour);
            }
            left += font::ADVANCE * scale;
        }
        left
    }

    /// Width, height and pixels: rows from the top, three bytes a pixel.
    pub(crate) fn into_parts(self) -> (u32, u32, Vec<u8>) {
        (self.width, self.height, self.pixels)
    }
}
