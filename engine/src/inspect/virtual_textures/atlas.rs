//! An atlas: whose page is in every slot, as a picture and as views that show the pages themselves.
//!
//! Raw texels of an atlas look like corruption, since neighbours have nothing to do with each other. So each page is
//! drawn as what it shows: through the page table, at its own level.

use super::{BACKGROUND, DIM, EMPTY, TEXT, WHITE, finish, legend};
use crate::inspect::Chart;
use crate::sparse::shadow::canvas::{Canvas, Colour, Rect};
use crate::sparse::shadow::font;
use crate::vt::address::MOST_LEVEL;
use crate::vt::planner::Planner;
use crate::vt::system::ViewPart;
use crate::vt::{PageAddress, PhysicalPage, PoolId, Region, TextureId};

const MARGIN: u32 = 32;
/// Pixels that an atlas is wide at most, unless its slots were too small to see then.
const MOST_WIDTH: u32 = 1280;
const RESERVED: Colour = [92, 98, 108];
/// Textures, in turns.
const TEXTURES: [Colour; 6] =
    [[255, 255, 255], [88, 214, 236], [126, 232, 134], [255, 150, 220], [255, 196, 120], [150, 170, 255]];

/// Who is in a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AtlasSlot {
    /// Whose page.
    pub texture: TextureId,
    /// Which.
    pub page: PageAddress,
    /// Whether it may not be taken.
    pub is_locked: bool,
}

/// An atlas and who is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AtlasPicture {
    /// What stands above it.
    pub title: String,
    /// Slots a side.
    pub side: u32,
    /// Textures and their names.
    pub textures: Vec<(TextureId, String)>,
    /// Row by row; the first is reserved.
    pub slots: Vec<Option<AtlasSlot>>,
}

impl AtlasPicture {
    /// The atlas of a pool; nothing where there is no such pool.
    pub fn of(planner: &Planner, pool: PoolId) -> Option<Self> {
        let view = planner.pool(pool)?;
        let slot = |index: u32| {
            let physical = PhysicalPage { pool, index: u16::try_from(index).ok()? };
            let (texture, group, page) = planner.owner(physical)?;
            let is_locked = planner.page(texture, group, page).is_some_and(|info| info.locks > 0);
            Some(AtlasSlot { texture, page, is_locked })
        };
        let slots: Vec<_> = (0..view.size.pages()).map(slot).collect();
        let names = planner.usage().textures.into_iter().map(|usage| (usage.texture, usage.name));
        let textures =
            names.filter(|(id, _)| slots.iter().flatten().any(|slot| slot.texture == *id)).collect();
        Some(Self { title: format!("{pool}: {}", view.desc.name), side: view.size.side, textures, slots })
    }

    /// Pixels a side of a slot, from `least` to `most`.
    fn cell(&self, least: u32, most: u32) -> u32 {
        (MOST_WIDTH / self.side.max(1)).clamp(least, most)
    }

    /// Columns, rows and slots.
    fn places(&self) -> impl Iterator<Item = ([u32; 2], &Option<AtlasSlot>)> {
        let side = self.side.max(1);
        (0u32..).zip(&self.slots).map(move |(index, slot)| ([index % side, index / side], slot))
    }

    /// Slots in the colours of their levels, with a frame in the colour of the texture; a white square where locked.
    pub fn draw(&self) -> Chart {
        let cell = self.cell(8, 64);
        let width = (self.side * cell).max(720) + 2 * MARGIN;
        let mut canvas = Canvas::new(width, BACKGROUND);
        canvas.text(MARGIN, 20, 2, TEXT, &self.title);
        let taken: Vec<&AtlasSlot> = self.slots.iter().flatten().collect();
        let locked = taken.iter().filter(|slot| slot.is_locked).count();
        let usable = self.slots.len().saturating_sub(1);
        let line = format!("{} of {usable} slots taken, {locked} locked (white square)", taken.len());
        canvas.text(MARGIN, 46, 1, DIM, &line);
        let mut entries: Vec<(Colour, String)> = (0..=MOST_LEVEL)
            .filter_map(|level| {
                let count = taken.iter().filter(|slot| slot.page.level == level).count();
                (count > 0).then(|| (legend::level_colour(level), format!("level {level}: {count}")))
            })
            .collect();
        entries.extend([(EMPTY, "free".into()), (RESERVED, "reserved".into())]);
        let y = legend::draw(&mut canvas, (MARGIN, 62), width - MARGIN, &entries);
        let frames: Vec<_> = (0..)
            .zip(&self.textures)
            .map(|(index, (_, name))| (TEXTURES[index % TEXTURES.len()], format!("frame: {name}")))
            .collect();
        let top = legend::draw(&mut canvas, (MARGIN, y), width - MARGIN, &frames) + 8;
        for ([column, row], slot) in self.places() {
            let (x, y) = (MARGIN + column * cell, top + row * cell);
            let inner = Rect { x, y, width: cell - 1, height: cell - 1 };
            let Some(slot) = slot else {
                canvas.fill(inner, if [column, row] == [0, 0] { RESERVED } else { EMPTY });
                continue;
            };
            let colour = legend::level_colour(slot.page.level);
            canvas.fill(inner, colour);
            let owner = self.textures.iter().position(|(id, _)| *id == slot.texture).unwrap_or(0);
            canvas.frame(inner, TEXTURES[owner % TEXTURES.len()]);
            let label = slot.page.level.to_string();
            if cell >= 24 {
                let left = x + (cell - font::width(&label)) / 2;
                canvas.text(left, y + (cell - font::HEIGHT) / 2, 1, legend::ink(colour), &label);
            }
            if slot.is_locked {
                let mark = (cell / 5).max(2);
                canvas.fill(Rect { x: x + 2, y: y + 2, width: mark, height: mark }, WHITE);
            }
        }
        canvas.extend(top + self.side * cell + MARGIN);
        finish(canvas)
    }

    /// The size of a sheet on which every page is drawn as what it shows, and what to draw on it.
    pub fn sheet(&self, planner: &Planner) -> ([u32; 2], Vec<ViewPart>) {
        let cell = self.cell(24, 128);
        let part = |([column, row], slot): ([u32; 2], &Option<AtlasSlot>)| {
            let slot = slot.as_ref()?;
            let grid = planner.placement(slot.texture)?.grid;
            // Where a page goes on past the end of its texture there is nothing to see.
            let whole = grid.region(slot.page);
            let (mut max, mut extent) = (whole.max, [cell - 1; 2]);
            for axis in 0..2 {
                let span = whole.max[axis] - whole.min[axis];
                let inside = ((1.0 - whole.min[axis]) / span).clamp(0.0, 1.0);
                extent[axis] = ((extent[axis] as f32 * inside).round() as u32).max(1);
                max[axis] = whole.min[axis] + span * extent[axis] as f32 / (cell - 1) as f32;
            }
            Some(ViewPart {
                texture: slot.texture,
                region: Region { min: whole.min, max },
                level: Some(slot.page.level),
                corner: [column * cell, row * cell],
                extent,
            })
        };
        ([(self.side * cell).max(1); 2], self.places().filter_map(part).collect())
    }
}
