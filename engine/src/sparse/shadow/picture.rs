//! Page tables as a picture: a block of cells a resource, a block a chunk, and a legend.
//!
//! ```text
//! Page tables                                   reserved .. committed .. slack .. free
//! legend
//! name  kind  reserved  committed  slack
//! [cells: dark where only reserved, else in the colour of the chunk]
//! ...
//! Chunks
//! [cells: the chunk's colour where mapped, amber frames for slack, grey-green where free]
//! ```
//!
//! A tile of a resource and the page it lies in have the same colour. Where there are more tiles than cells,
//! a cell stands for a power of two of them and each column of its pixels for its share.

use super::canvas::{Canvas, Colour, Rect};
use super::cells::{Grid, Runs, chunk_colour};
use super::view::{ChunkView, PageView, ResourceView};
use super::{ResourceId, Shadow, font};
use crate::vk::Bytes;

const WIDTH: u32 = 1568;
const MARGIN: u32 = 32;
/// Room for the offsets before the rows of a resource.
const GUTTER: u32 = 96;
const RESOURCE_COLUMNS: u64 = 128;
const RESOURCE_ROWS: u64 = 8;
const RESOURCE_CELL: u32 = 10;
const CHUNK_COLUMNS: u64 = 16;
const CHUNK_ROWS: u64 = 16;
const CHUNK_CELL: u32 = 6;
const CHUNK_GAP: u32 = 15;
const CHUNK_PITCH: u32 = CHUNK_COLUMNS as u32 * (CHUNK_CELL + 1) - 1 + CHUNK_GAP;
/// Beyond these the picture says how many it leaves out.
const MOST_RESOURCES: usize = 48;
const MOST_CHUNKS: usize = 384;

const BACKGROUND: Colour = [16, 19, 25];
const RESERVED: Colour = [41, 48, 60];
const SLACK: Colour = [226, 160, 48];
const SLACK_INSIDE: Colour = [78, 57, 22];
const FREE: Colour = [88, 110, 98];
const TAIL: Colour = [255, 255, 255];
const TEXT: Colour = [230, 234, 240];
const DIM: Colour = [150, 160, 175];
const RULE: Colour = [52, 60, 74];

/// An RGB8 picture of page tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PagePicture {
    /// Pixels a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Rows from the top, three bytes a pixel: red, green, blue in sRGB.
    pub pixels: Vec<u8>,
}

impl PagePicture {
    /// All page tables and chunks that a shadow knows.
    pub fn of_shadow(shadow: &Shadow) -> Self {
        Self::of_view(&PageView::of_shadow(shadow))
    }

    /// One resource and what shares chunks with it; `None` when it is not known.
    pub fn of_resource(shadow: &Shadow, id: ResourceId) -> Option<Self> {
        Some(Self::of_view(&PageView::of_resource(shadow, id)?))
    }

    /// Any view. Indexes that lead nowhere and runs past the end are drawn as far as they make sense.
    pub fn of_view(view: &PageView) -> Self {
        let mut canvas = Canvas::new(WIDTH, BACKGROUND);
        let mut y = MARGIN;
        y = draw_head(&mut canvas, view, y);
        for (index, resource) in view.resources.iter().take(MOST_RESOURCES).enumerate() {
            y = draw_resource(&mut canvas, view, index, resource, y);
        }
        y = draw_left_out(&mut canvas, view.resources.len(), MOST_RESOURCES, "resources", y);
        y = draw_chunks(&mut canvas, view, y);
        canvas.extend(y + MARGIN / 2);
        let (width, height, pixels) = canvas.into_parts();
        Self { width, height, pixels }
    }
}

/// Slack, free and total bytes of the chunks.
fn chunk_bytes(chunk: &ChunkView) -> (u64, u64, u64) {
    let total = chunk.pages.saturating_mul(chunk.page_bytes);
    let rest = (chunk.pages - chunk.mapped_pages()).saturating_mul(chunk.page_bytes);
    if chunk.owner().is_some() { (rest, 0, total) } else { (0, rest, total) }
}

fn sum(values: impl Iterator<Item = u64>) -> u64 {
    values.fold(0, u64::saturating_add)
}

fn draw_head(canvas: &mut Canvas, view: &PageView, y: u32) -> u32 {
    canvas.text(MARGIN, y, 3, TEXT, &view.title);
    let reserved = sum(view.resources.iter().map(|r| r.tiles.saturating_mul(r.tile_bytes)));
    let committed = sum(view.resources.iter().map(|r| r.mapped_tiles().saturating_mul(r.tile_bytes)));
    let slack = sum(view.chunks.iter().map(|chunk| chunk_bytes(chunk).0));
    let free = sum(view.chunks.iter().map(|chunk| chunk_bytes(chunk).1));
    let physical = sum(view.chunks.iter().map(|chunk| chunk_bytes(chunk).2));
    let totals = [
        ("reserved", reserved, TEXT),
        ("committed", committed, TEXT),
        ("slack", slack, SLACK),
        ("free", free, FREE_TEXT),
        ("in chunks", physical, TEXT),
    ];
    draw_sizes(canvas, y + 7, &totals);
    let y = y + 40;
    draw_legend(canvas, y);
    let y = y + 28;
    canvas.fill(Rect { x: MARGIN, y, width: WIDTH - 2 * MARGIN, height: 1 }, RULE);
    y + 20
}

/// The grey-green of free pages, light enough to read.
const FREE_TEXT: Colour = [136, 170, 152];

/// Sizes with their names, ending at the right margin.
fn draw_sizes(canvas: &mut Canvas, y: u32, sizes: &[(&str, u64, Colour)]) {
    let texts: Vec<_> = sizes.iter().map(|(name, bytes, c)| (*name, short_bytes(*bytes), *c)).collect();
    let gap = 2 * font::ADVANCE * 2;
    let width: u32 =
        texts.iter().map(|(name, size, _)| (font::width(name) + font::width(size) + font::ADVANCE) * 2).sum();
    let gaps = gap * u32::try_from(texts.len()).unwrap_or(0).saturating_sub(1);
    let mut x = (WIDTH - MARGIN).saturating_sub(width + gaps);
    for (name, size, colour) in texts {
        x = canvas.text(x, y, 2, DIM, name) + font::ADVANCE * 2;
        x = canvas.text(x, y, 2, colour, &size) + gap;
    }
}

/// `1.5 GiB`: at most two decimals, and none that say nothing.
fn short_bytes(bytes: u64) -> String {
    let text = Bytes(bytes).to_string();
    match text.split_once('.') {
        None => text,
        Some((whole, rest)) => {
            let (decimals, unit) = rest.split_once(' ').unwrap_or((rest, ""));
            let decimals: String = decimals.chars().take(2).collect();
            match decimals.trim_end_matches('0') {
                "" => format!("{whole} {unit}"),
                decimals => format!("{whole}.{decimals} {unit}"),
            }
        }
    }
}

fn draw_legend(canvas: &mut Canvas, y: u32) {
    let size = RESOURCE_CELL;
    let cell = |x: u32| Rect { x, y: y - 2, width: size, height: size };
    let mut x = MARGIN;
    let word = |canvas: &mut Canvas, x: u32, text: &str| canvas.text(x, y, 1, DIM, text) + 22;
    canvas.fill(cell(x), RESERVED);
    x = word(canvas, x + size + 7, "reserved only: addresses without memory");
    for index in 0..4 {
        canvas.fill(cell(x), chunk_colour(index));
        x += size + 1;
    }
    x = word(canvas, x + 6, "committed: same colour, same chunk");
    canvas.fill(cell(x), chunk_colour(0));
    draw_tail_mark(canvas, cell(x));
    x = word(canvas, x + size + 7, "mip tail");
    draw_slack(canvas, cell(x));
    x = word(canvas, x + size + 7, "slack: memory of one resource without an address");
    canvas.fill(cell(x), FREE);
    word(canvas, x + size + 7, "free: cached chunk, or page of a shared one");
}

fn draw_tail_mark(canvas: &mut Canvas, rect: Rect) {
    let (across, down) = (rect.width / 3, rect.height / 3);
    let (width, height) = (rect.width - 2 * across, rect.height - 2 * down);
    canvas.fill(Rect { x: rect.x + across, y: rect.y + down, width, height }, TAIL);
}

fn draw_slack(canvas: &mut Canvas, rect: Rect) {
    canvas.fill(rect, SLACK_INSIDE);
    canvas.frame(rect, SLACK);
}

fn draw_left_out(canvas: &mut Canvas, count: usize, most: usize, what: &str, y: u32) -> u32 {
    if count <= most {
        return y;
    }
    canvas.text(MARGIN, y, 2, DIM, &format!("and {} more {what}", count - most));
    y + 36
}

fn draw_resource(canvas: &mut Canvas, view: &PageView, index: usize, resource: &ResourceView, y: u32) -> u32 {
    let bytes = |tiles: u64| tiles.saturating_mul(resource.tile_bytes);
    let owned = view.chunks.iter().filter(|chunk| chunk.owner() == Some(index));
    let slack = sum(owned.map(|chunk| chunk_bytes(chunk).0));
    let grid = Grid::new(resource.tiles, RESOURCE_COLUMNS, RESOURCE_ROWS, RESOURCE_CELL);

    let x = canvas.text(MARGIN, y, 2, TEXT, &cut(&resource.name, 40)) + 18;
    let x = canvas.text(x, y, 2, DIM, &cut(&resource.kind, 24)) + 24;
    canvas.text(x, y + 6, 1, DIM, &format!("1 cell = {}", short_bytes(bytes(grid.group))));
    let mut sizes =
        vec![("reserved", bytes(resource.tiles), TEXT), ("committed", bytes(resource.mapped_tiles()), TEXT)];
    if slack > 0 {
        sizes.push(("slack", slack, SLACK));
    }
    draw_sizes(canvas, y, &sizes);

    let y = y + 26;
    let runs = Runs::new(resource.runs.iter().map(|(run, chunk)| (run.clone(), chunk_colour(*chunk))));
    let tails = Runs::new(resource.tails.iter().map(|tail| (tail.clone(), TAIL)));
    for row in 0..grid.rows() {
        let first = u64::from(row) * grid.columns * grid.group;
        let label = if row == 0 { "0".to_owned() } else { short_bytes(bytes(first)) };
        let x = (MARGIN + GUTTER - 10).saturating_sub(font::width(&label));
        canvas.text(x, y + row * (RESOURCE_CELL + 1) + 2, 1, DIM, &label);
    }
    for cell in 0..grid.cells() {
        let rect = grid.rect(cell, MARGIN + GUTTER, y);
        canvas.fill(rect, RESERVED);
        grid.paint(canvas, rect, cell, &runs);
        if tails.in_range(grid.tiles_of(cell)).is_some() {
            draw_tail_mark(canvas, rect);
        }
    }
    y + grid.height() + 28
}

fn draw_chunks(canvas: &mut Canvas, view: &PageView, y: u32) -> u32 {
    if view.chunks.is_empty() {
        return y;
    }
    canvas.fill(Rect { x: MARGIN, y, width: WIDTH - 2 * MARGIN, height: 1 }, RULE);
    let mut y = y + 20;
    let idle = view.chunks.iter().filter(|chunk| chunk.runs.is_empty()).count();
    let x = canvas.text(MARGIN, y, 2, TEXT, &format!("{} chunks", view.chunks.len())) + 18;
    canvas.text(x, y, 2, DIM, &format!("{} in use, {idle} free", view.chunks.len() - idle));
    y += 34;
    let per_row = ((WIDTH - 2 * MARGIN + CHUNK_GAP) / CHUNK_PITCH).max(1) as usize;
    let shown = view.chunks.get(..MOST_CHUNKS).unwrap_or(&view.chunks);
    for (row, chunks) in shown.chunks(per_row).enumerate() {
        let mut lowest = 0;
        for ((x, chunk), index) in (MARGIN..).step_by(CHUNK_PITCH as usize).zip(chunks).zip(row * per_row..) {
            lowest = lowest.max(draw_chunk(canvas, view, chunk, chunk_colour(index), x, y));
        }
        y = lowest + 18;
    }
    draw_left_out(canvas, view.chunks.len(), MOST_CHUNKS, "chunks", y)
}

/// Draws one chunk; returns its lower edge.
fn draw_chunk(
    canvas: &mut Canvas,
    view: &PageView,
    chunk: &ChunkView,
    colour: Colour,
    x: u32,
    y: u32,
) -> u32 {
    let owners = chunk.owners();
    let title = format!("{} {}", last_part(&chunk.name), short_bytes(chunk_bytes(chunk).2));
    canvas.text(x, y, 1, if owners.is_empty() { FREE_TEXT } else { colour }, &cut(&title, 18));
    let names: Vec<&str> = owners.iter().filter_map(|o| view.resources.get(*o)).map(|r| &*r.name).collect();
    let owner = match (names.as_slice(), owners.len()) {
        (_, 0) => "free".to_owned(),
        ([name], 1) => last_part(name).to_owned(),
        (_, count) => format!("{count} resources"),
    };
    canvas.text(x, y + 11, 1, DIM, &cut(&owner, 18));
    let y = y + 24;
    let grid = Grid::new(chunk.pages, CHUNK_COLUMNS, CHUNK_ROWS, CHUNK_CELL);
    let runs = Runs::new(chunk.runs.iter().map(|(run, _)| (run.clone(), colour)));
    for cell in 0..grid.cells() {
        let rect = grid.rect(cell, x, y);
        match chunk.owner() {
            Some(_) => draw_slack(canvas, rect),
            None => canvas.fill(rect, FREE),
        }
        grid.paint(canvas, rect, cell, &runs);
    }
    y + grid.height()
}

/// What follows the last point of a dotted name.
fn last_part(name: &str) -> &str {
    name.rsplit('.').find(|part| !part.is_empty()).unwrap_or(name)
}

/// A text of at most `most` characters; `..` stands for what is cut.
fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(2)).chain("..".chars()).collect()
}
