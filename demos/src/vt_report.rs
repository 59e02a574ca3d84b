//! The report of virtual textures: what they hold and why, as texts, JSON and pictures.

use serde::Serialize;
use vasa::Engine;
use vasa::inspect::Chart;
use vasa::inspect::virtual_textures::{events_text, residency_curves};
use vasa::vt::planner::{PageEvent, Usage};
use vasa::vt::{FrameRecord, Options, Region, TextureId, ViewPart, VirtualTextures, VtStats};

use crate::failure::{Failure, Result};
use crate::output::Output;
use crate::vt_pictures;

/// Events that are written at most, the newest.
const MOST_EVENTS: usize = 4096;
/// Pixels of the longer side of a texture's view.
const VIEW: u32 = 1024;
/// Metres along the part of a texture around the camera.
const NEAR: f32 = 4000.0;
/// Frames of which the curves are drawn at most, the newest.
const MOST_FRAMES: usize = 4096;

const NONE: &str = "there are no virtual textures to report of: leave --direct out";

/// `vt.json`.
#[derive(Serialize)]
struct Report<'a> {
    options: &'a Options,
    stats: VtStats,
    usage: Usage,
    frames: Vec<&'a FrameRecord>,
}

/// Writes everything, and says where: `pools.txt`, `usage.txt`, `tables.txt`, `counters.txt`, `vt.json`, `history.txt`, `history.json`,
/// `curves.png`; for each texture `page-table-NAME.png`, `view-NAME.png` and `view-NAME-camera.png`; for each pool
/// `atlas-N.png` and `atlas-N-pages.png`. `place` is where the camera is: x and z, metres.
///
/// # Errors
/// When a file cannot be written, or there is no memory for a picture.
pub fn write(engine: &Engine, output: &Output, place: [f32; 2]) -> Result<()> {
    let textures = engine.textures().ok_or_else(|| Failure::failed(NONE))?;
    let mut written = texts(textures, output)?;
    let mut draw = |name: &str, chart: &Chart| -> Result<()> {
        written.push(output.rgb(name, chart.size, &chart.pixels)?);
        Ok(())
    };
    let frames: Vec<FrameRecord> = textures.records().copied().collect();
    let newest = &frames[frames.len().saturating_sub(MOST_FRAMES)..];
    draw("curves.png", &residency_curves("Virtual textures: residency", newest))?;
    for pool in textures.planner().pool_usage() {
        let number = pool.pool.0;
        let owners = vt_pictures::atlas_owners(textures, pool.pool);
        owners.iter().try_for_each(|chart| draw(&format!("atlas-{number}.png"), chart))?;
        let pages = vt_pictures::atlas_pages(engine, textures, pool.pool)?;
        pages.iter().try_for_each(|chart| draw(&format!("atlas-{number}-pages.png"), chart))?;
    }
    for (id, texture) in textures.writers().textures() {
        let Some(table) = vt_pictures::page_table(textures, id, place) else { continue };
        let name = file_name(&texture.name);
        draw(&format!("page-table-{name}.png"), &table)?;
        let camera = texture.volume.uv(place.into()).to_array();
        let size = texture.volume.size();
        let longer = size.max_element();
        let extent = [size.x, size.y].map(|side| ((VIEW as f32 * side / longer).round() as u32).max(1));
        draw(&format!("view-{name}.png"), &view(engine, id, Region::ALL, extent)?)?;
        let half = [size.x, size.y].map(|side| 0.5 * NEAR / side);
        let min = [camera[0] - half[0], camera[1] - half[1]];
        let around = Region { min, max: [camera[0] + half[0], camera[1] + half[1]] };
        draw(&format!("view-{name}-camera.png"), &view(engine, id, around, [VIEW; 2])?)?;
    }
    written.iter().for_each(|path| println!("{}", path.display()));
    Ok(())
}

fn texts(textures: &VirtualTextures, output: &Output) -> Result<Vec<std::path::PathBuf>> {
    let (planner, stats) = (textures.planner(), textures.stats());
    let events: Vec<PageEvent> = planner.events(MOST_EVENTS);
    let line = |text: String| text + "\n";
    let written = vec![
        output.text("pools.txt", &line(stats.pools_text()))?,
        output.text("usage.txt", &line(stats.usage_text()))?,
        output.text("tables.txt", &line(stats.tables_text()))?,
        output.text("counters.txt", &line(stats.counters_text()))?,
        output.text("history.txt", &line(events_text(planner, &events)))?,
        output.json("history.json", &events)?,
        output.json(
            "vt.json",
            &Report {
                options: textures.options(),
                stats,
                usage: planner.usage(),
                frames: textures.records().collect(),
            },
        )?,
    ];
    Ok(written)
}

fn view(engine: &Engine, texture: TextureId, region: Region, extent: [u32; 2]) -> Result<Chart> {
    let part = ViewPart { texture, region, level: None, corner: [0; 2], extent };
    vt_pictures::view(engine, &[part], extent)
}

/// A name of a texture as a part of a file's name.
fn file_name(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' }).collect()
}

#[cfg(test)]
mod tests {
    use super::file_name;

    #[test]
    fn names_of_textures_are_names_of_files() {
        assert_eq!(file_name("Terrain.Height"), "Terrain.Height");
        assert_eq!(file_name("../a b/c"), "..-a-b-c");
    }
}
