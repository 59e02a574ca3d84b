//! One page: whether it is there and where, why it was made, what became of it.

use std::fmt::Write as _;

use crate::vt::planner::{PageEvent, Planner};
use crate::vt::{PageAddress, TextureId};

/// Everything that is known of a page: why it was made, which frame's feedback asked for it with which count, which
/// budget let it through, where it is, who locks it, and what became of it before. A page that the texture does not
/// have says which it has.
pub fn page_text(planner: &Planner, texture: TextureId, page: PageAddress) -> String {
    let usage = planner.usage();
    let known = usage.textures.iter().find(|usage| usage.texture == texture);
    let (Some(known), Some(placement)) = (known, planner.placement(texture)) else {
        return format!("{texture} is not there (any more)");
    };
    let grid = placement.grid;
    let mut text = format!("{} level {} page {},{}", known.name, page.level, page.x, page.y);
    // Writing into a string cannot fail.
    let mut line = |part: String| {
        let _ = write!(text, "\n  {part}");
    };
    if !grid.has(page) {
        let [across, down] = grid.pages(page.level);
        let (level, max_level) = (page.level, grid.max_level());
        line(match level <= max_level {
            true => format!("there is no such page: level {level} has {across} x {down}"),
            false => format!("there is no such page: the coarsest level is {max_level}"),
        });
        return text;
    }
    let mut is_there = false;
    for group in 0..4 {
        let Some(info) = planner.page(texture, group, page) else { continue };
        is_there = true;
        let side = planner.pool(info.physical.pool).map_or(1, |pool| pool.size.side);
        let [column, row] = info.physical.at(side);
        line(format!("resident: {}, column {column}, row {row} of {side} x {side}", info.physical));
        line(format!(
            "last used in frame {}, {} locks, {} mappings",
            info.last_used, info.locks, info.mappings
        ));
        let (frame, reason) = info.made;
        line(format!("made in frame {frame}: {reason}"));
        if let Some((frame, reason)) = info.redrawn {
            line(format!("drawn again in frame {frame}: {reason}"));
        }
        if let Some(cause) = info.dirty {
            line(format!("to be drawn again: {cause}"));
        }
    }
    if !is_there {
        line(match planner.lookup(texture, 0, page) {
            Some((found, physical)) if found != page => {
                format!(
                    "not resident; level {} page {},{} in {physical} is shown",
                    found.level, found.x, found.y
                )
            }
            Some(_) => "not resident, and mapped: it is being drawn".into(),
            None => "not resident, and nothing above it is: the fallback colour is shown".into(),
        });
    }
    let events = planner.history(texture, page);
    if events.is_empty() {
        line("no event of it is remembered".into());
    }
    events.iter().for_each(|event| line(happened(event)));
    text
}

/// Events, a line each, with the names of their textures.
pub fn events_text(planner: &Planner, events: &[PageEvent]) -> String {
    if events.is_empty() {
        return "no page was made yet".into();
    }
    let textures = planner.usage().textures;
    let name = |event: &PageEvent| {
        let known = textures.iter().find(|usage| usage.texture == event.texture);
        known.map_or_else(|| event.texture.to_string(), |usage| usage.name.clone())
    };
    let line = |event: &PageEvent| {
        let PageAddress { level, x, y } = event.page;
        format!("{} level {level} page {x},{y}: {}", name(event), happened(event))
    };
    events.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn happened(event: &PageEvent) -> String {
    format!("frame {}, {}: {}", event.frame, event.physical, event.happening)
}
