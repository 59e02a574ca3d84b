//! A page table as a picture: which level is mapped where, in the whole texture and around a place.

use super::{BACKGROUND, DIM, EMPTY, TEXT, WHITE, finish, legend};
use crate::inspect::Chart;
use crate::sparse::shadow::canvas::{Canvas, Colour, Rect};
use crate::vt::{Grid, PageAddress, Region};

const MARGIN: u32 = 32;
/// Pixels of the longer side of a panel.
const PANEL: u32 = 768;
/// Pages of level 0 along the part that is shown larger; a texture that has not more is shown once.
const NEAR: u32 = 64;
/// Pages of fewer pixels a side have no edges.
const LEAST_EDGED: f32 = 6.0;
/// Pages of fewer have no number.
const LEAST_NUMBERED: f32 = 24.0;

/// Draws what `mapped` finds for pages of level 0: the page itself or the nearest one above it that is there. Where the
/// texture has many pages, a second panel shows those around `focus` (UV).
pub fn page_table_picture(
    title: &str,
    grid: &Grid,
    focus: [f32; 2],
    mapped: &dyn Fn(PageAddress) -> Option<PageAddress>,
) -> Chart {
    let tiles = grid.tiles();
    let longer = tiles[0].max(tiles[1]);
    let is_large = longer > NEAR;
    let width = MARGIN + (PANEL + MARGIN) * (1 + u32::from(is_large));
    let mut canvas = Canvas::new(width, BACKGROUND);
    canvas.text(MARGIN, 20, 2, TEXT, title);
    let mut entries: Vec<(Colour, String)> =
        (0..=grid.max_level()).map(|level| (legend::level_colour(level), format!("level {level}"))).collect();
    entries.push((EMPTY, "nothing".into()));
    let y = legend::draw(&mut canvas, (MARGIN, 48), width - MARGIN, &entries) + 20;
    let size = tiles.map(|side| (PANEL * side).div_ceil(longer).max(1));
    let caption = format!("all of it: {} x {} pages of level 0", tiles[0], tiles[1]);
    canvas.text(MARGIN, y - 14, 1, DIM, &caption);
    panel(&mut canvas, [MARGIN, y], size, grid, Region::ALL, mapped);
    let mut bottom = y + size[1];
    if is_large {
        let half = tiles.map(|side| NEAR as f32 / side as f32 / 2.0);
        let focus = focus.map(|at| if at.is_finite() { at.clamp(0.0, 1.0) } else { 0.5 });
        let region = Region {
            min: [focus[0] - half[0], focus[1] - half[1]],
            max: [focus[0] + half[0], focus[1] + half[1]],
        };
        let x = MARGIN + PANEL + MARGIN;
        let caption =
            format!("{NEAR} x {NEAR} of them around {:.4}, {:.4} (the white frame)", focus[0], focus[1]);
        canvas.text(x, y - 14, 1, DIM, &caption);
        panel(&mut canvas, [x, y], [PANEL, PANEL], grid, region, mapped);
        let at = |axis: usize, uv: f32| (uv.clamp(0.0, 1.0) * size[axis] as f32) as u32;
        let [left, top] = [at(0, region.min[0]), at(1, region.min[1])];
        let [right, below] = [at(0, region.max[0]), at(1, region.max[1])];
        let frame = Rect {
            x: (MARGIN + left).saturating_sub(1),
            y: (y + top).saturating_sub(1),
            width: right - left + 2,
            height: below - top + 2,
        };
        canvas.frame(frame, WHITE);
        bottom = bottom.max(y + PANEL);
    }
    canvas.extend(bottom + MARGIN);
    finish(canvas)
}

fn panel(
    canvas: &mut Canvas,
    [left, top]: [u32; 2],
    size: [u32; 2],
    grid: &Grid,
    region: Region,
    mapped: &dyn Fn(PageAddress) -> Option<PageAddress>,
) {
    let tiles = grid.tiles();
    let pixels_a_page =
        size[0] as f32 / ((region.max[0] - region.min[0]) * tiles[0] as f32).max(f32::MIN_POSITIVE);
    // The page of level 0 at a pixel's centre; nothing outside of the texture.
    let page_at = |pixel: [u32; 2]| {
        let page = [0, 1].map(|axis| {
            let along = (pixel[axis] as f32 + 0.5) / size[axis] as f32;
            let uv = region.min[axis] + along * (region.max[axis] - region.min[axis]);
            let page = (uv * tiles[axis] as f32).floor();
            (page >= 0.0 && page < tiles[axis] as f32).then_some(page as u16)
        });
        Some(PageAddress::new(0, page[0]?, page[1]?))
    };
    let mut numbers = Vec::new();
    let mut above: Vec<Option<PageAddress>> = vec![None; size[0] as usize];
    for j in 0..size[1] {
        let (mut before, mut beside): (Option<PageAddress>, Option<PageAddress>) = (None, None);
        let mut run = (0, BACKGROUND);
        for (i, above) in (0..size[0]).zip(&mut above) {
            let page = page_at([i, j]);
            // Neighbouring pixels mostly show one page.
            let found = if page == before && i > 0 { beside } else { page.and_then(mapped) };
            let mut colour = match (page, found) {
                (None, _) => BACKGROUND,
                (_, None) => EMPTY,
                (_, Some(found)) => legend::level_colour(found.level),
            };
            let is_edge = (i > 0 && found != beside) || (j > 0 && found != *above);
            let side = found.map_or(0.0, |found| pixels_a_page * (1u32 << found.level.min(12)) as f32);
            let is_corner = (i == 0 || found != beside) && (j == 0 || found != *above);
            if let Some(found) = found.filter(|_| is_corner && side >= LEAST_NUMBERED) {
                numbers.push((i, j, found.level));
            }
            if is_edge && side >= LEAST_EDGED {
                colour = colour.map(|channel| channel / 2);
            }
            (before, beside, *above) = (page, found, found);
            if colour != run.1 {
                canvas.fill(Rect { x: left + run.0, y: top + j, width: i - run.0, height: 1 }, run.1);
                run = (i, colour);
            }
        }
        canvas.fill(Rect { x: left + run.0, y: top + j, width: size[0] - run.0, height: 1 }, run.1);
    }
    for (i, j, level) in numbers {
        // Not over the panel's edge, nor where another page begins at once.
        if i + 16 < size[0] && j + 12 < size[1] {
            let ink = legend::ink(legend::level_colour(level));
            canvas.text(left + i + 4, top + j + 4, 1, ink, &level.to_string());
        }
    }
}
