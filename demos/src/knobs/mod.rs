//! Knobs: one table with name, default, range, when they take effect, and meaning.
//!
//! `--exec knobs` prints it, `--set` and `--knobs` read it at the start, the console's `set` changes live ones.

mod general;
mod vt;

use std::fmt::Write as _;
use std::path::Path;
use std::str::FromStr;

use vasa::render::{Atmosphere, RenderOptions, Switch};
use vasa::scene::terrain::TerrainDesc;
use vasa::sparse::SparseKnobs;
use vasa::vk::SparseQueuePolicy;

/// The values of all knobs.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Reserved memory.
    pub sparse: SparseKnobs,
    /// Which queue binds.
    pub sparse_queue: SparseQueuePolicy,
    /// Frames.
    pub render: RenderOptions,
    /// Frames that may be in flight at once.
    pub frames_in_flight: usize,
    /// Bytes of the upload ring.
    pub upload_bytes: u64,
    /// Virtual textures.
    pub vt: vasa::vt::Options,
    /// Wait for the display.
    pub vsync: bool,
    /// Layers of the terrain's material.
    pub terrain_layers: u32,
    /// Roads over the terrain, at most.
    pub terrain_roads: u32,
    /// Cells along a side of a terrain chunk.
    pub terrain_quads: u32,
    /// Reach of a level of detail, in sizes of the next coarser chunk.
    pub terrain_reach: f32,
    /// Distance up to which rocks lie around the camera, metres.
    pub terrain_rocks: f32,
    /// Added to every wished level of detail of the streamed image.
    pub residency_bias: f32,
    /// Memory for the tiles of the streamed image, bytes.
    pub residency_budget: u64,
    /// Draw the residency map into the picture's corner.
    pub residency_inset: bool,
    /// Frames that a tile stays after the last request for it.
    pub residency_keep_frames: u32,
    /// Tiles mapped in one frame at most.
    pub residency_maps: u32,
    /// Samples along a pixel's footprint at most.
    pub residency_taps: u32,
    /// How much every place shows the colour of its resident mip.
    pub residency_tint: f32,
    /// Compass azimuth of the sun, degrees.
    pub sun_azimuth: f32,
    /// Elevation of the sun, degrees.
    pub sun_elevation: f32,
    /// Multiplies light before tone mapping.
    pub exposure: f32,
    /// Distance at which haze takes 63% of the light, kilometres.
    pub haze_kilometres: f32,
    /// Vertical field of view, degrees.
    pub field_of_view: f32,
}

/// The flights are fast and pictures large: more pages, and more of them a frame, than a game would have. A library's user
/// begins with the library's own defaults (64 MiB a pool, 2 pages a frame).
fn virtual_textures() -> vasa::vt::Options {
    let usual = vasa::vt::Options::default();
    let planner = vasa::vt::Knobs { max_uploads_per_frame: 24, ..usual.planner };
    vasa::vt::Options { planner, pool_mib: 192, ..usual }
}

impl Default for Settings {
    fn default() -> Self {
        let (morning, terrain) = (Atmosphere::morning(), TerrainDesc::new(Atmosphere::morning().sun));
        Self {
            sparse: SparseKnobs::default(),
            sparse_queue: SparseQueuePolicy::default(),
            render: RenderOptions::default(),
            frames_in_flight: 2,
            upload_bytes: 32 << 20,
            vt: virtual_textures(),
            vsync: true,
            terrain_layers: terrain.layers,
            terrain_roads: 6,
            terrain_quads: terrain.quads,
            terrain_reach: terrain.reach,
            terrain_rocks: terrain.rock_distance,
            residency_bias: 0.0,
            residency_budget: 48 << 20,
            residency_inset: true,
            residency_keep_frames: 60,
            residency_maps: 24,
            residency_taps: 6,
            residency_tint: 0.0,
            sun_azimuth: Atmosphere::MORNING_SUN.0,
            sun_elevation: Atmosphere::MORNING_SUN.1,
            exposure: morning.exposure,
            haze_kilometres: (1.0 / morning.haze_density / 1000.0).round(),
            field_of_view: 50.0,
        }
    }
}

/// When a changed knob takes effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Only when it is set before the scene is built.
    StartUp,
    /// From the next frame on.
    Live,
}

/// One row of the table.
pub struct Knob {
    /// Name, `part.word`.
    pub name: &'static str,
    /// Values it takes.
    pub range: &'static str,
    /// When a change takes effect.
    pub when: When,
    /// What it does.
    pub meaning: &'static str,
    get: fn(&Settings) -> String,
    set: fn(&mut Settings, &str) -> bool,
}

macro_rules! knob {
    ($name:literal, $when:ident, $range:literal, $meaning:literal, $get:expr, $set:expr) => {
        Knob { name: $name, range: $range, when: When::$when, meaning: $meaning, get: $get, set: $set }
    };
}

pub(in crate::knobs) use knob;

/// Every knob there is, by name.
pub fn all() -> impl Iterator<Item = &'static Knob> {
    general::KNOBS.iter().chain(vt::KNOBS)
}

/// What a switch may be.
const SWITCHES: &[(&str, Switch)] = &[("auto", Switch::Auto), ("on", Switch::On), ("off", Switch::Off)];

fn switch(value: Switch) -> String {
    SWITCHES.iter().find(|(_, other)| *other == value).map(|(name, _)| (*name).to_owned()).unwrap_or_default()
}

fn on_off(value: bool) -> String {
    if value { "on" } else { "off" }.into()
}

fn store<T>(place: &mut T, value: Option<T>) -> bool {
    let given = value.is_some();
    if let Some(value) = value {
        *place = value;
    }
    given
}

/// A number in a range; no range holds NaN.
fn number<T: FromStr + PartialOrd>(text: &str, least: T, most: T) -> Option<T> {
    text.parse().ok().filter(|n| (least..=most).contains(n))
}

fn one_of<T: Copy>(text: &str, values: &[(&str, T)]) -> Option<T> {
    values.iter().find(|(name, _)| *name == text).map(|(_, value)| *value)
}

impl Settings {
    /// Sets one knob from `KEY=VALUE`. With `only_live`, refuses those that were needed at the start.
    ///
    /// # Errors
    /// A line: no such knob (and what comes near), a value outside its range, or too late.
    pub fn set(&mut self, assignment: &str, only_live: bool) -> Result<(), String> {
        let Some((name, value)) = assignment.split_once('=') else {
            return Err(format!("`{assignment}` sets nothing: write KEY=VALUE, such as light.exposure=1.5"));
        };
        let (name, value) = (name.trim(), value.trim());
        let Some(knob) = all().find(|k| k.name == name) else {
            return Err(format!("there is no knob `{name}`{}; `--exec knobs` lists them", near(name)));
        };
        if only_live && knob.when == When::StartUp {
            return Err(format!("{name} is needed at the start: set it with --set {name}={value}"));
        }
        if (knob.set)(self, value) {
            Ok(())
        } else {
            Err(format!("{name} takes {}, not `{value}`", knob.range))
        }
    }

    /// Sets knobs from a file: `KEY=VALUE` a line, `#` begins a comment.
    ///
    /// # Errors
    /// A line that names file and line.
    pub fn read_file(&mut self, path: &Path) -> Result<(), String> {
        let text = std::fs::read_to_string(path)
            .map_err(|e| format!("the knobs in {} cannot be read: {e}", path.display()))?;
        for (i, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            if !line.is_empty() {
                self.set(line, false).map_err(|e| format!("{}:{}: {e}", path.display(), i + 1))?;
            }
        }
        Ok(())
    }

    /// The table, with the present values.
    pub fn table(&self) -> String {
        let defaults = Self::default();
        let mut text =
            format!("{:<36} {:<9} {:<9} {:<22} {:<9} meaning", "knob", "value", "default", "range", "when");
        for knob in all() {
            let when = if knob.when == When::Live { "live" } else { "start-up" };
            let (value, default) = ((knob.get)(self), (knob.get)(&defaults));
            // Writing into a string cannot fail.
            let _ = write!(
                text,
                "\n{:<36} {value:<9} {default:<9} {:<22} {when:<9} {}",
                knob.name, knob.range, knob.meaning
            );
        }
        text
    }
}

fn near(name: &str) -> String {
    let last = name.rsplit('.').next().unwrap_or(name);
    let found = all().find(|k| {
        let own = k.name.rsplit('.').next().unwrap_or(k.name);
        !last.is_empty() && (own.contains(last) || last.contains(own))
    });
    found.map(|k| format!(" (did you mean `{}`?)", k.name)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_every_default_is_in_its_own_range() {
        assert!(all().zip(all().skip(1)).all(|(a, b)| a.name < b.name));
        for knob in all() {
            let mut settings = Settings::default();
            let default = (knob.get)(&settings);
            assert!((knob.set)(&mut settings, &default), "{} = {default}", knob.name);
            assert_eq!(settings, Settings::default(), "{}", knob.name);
            for bad in ["", "nonsense", "-1", "NaN", "1e30"] {
                assert!(!(knob.set)(&mut settings, bad), "{} took `{bad}`", knob.name);
            }
            assert_eq!(settings, Settings::default(), "a refused value changed {}", knob.name);
        }
    }

    #[test]
    fn errors_say_what_to_do() {
        let mut settings = Settings::default();
        for (assignment, says) in [
            ("exposure", "write KEY=VALUE"),
            ("exposure=2", "did you mean `light.exposure`?"),
            ("light.exposure=bright", "0.01 to 100"),
            ("sparse.chunk_mib=17", "16, 32, 64"),
        ] {
            let error = settings.set(assignment, false).unwrap_err();
            assert!(error.contains(says), "{assignment}: {error}");
        }
        assert!(settings.set("sparse.chunk_mib=32", true).unwrap_err().contains("--set sparse.chunk_mib=32"));
        settings.set("light.exposure = 2.5", true).unwrap();
        assert_eq!(settings.exposure, 2.5);
    }

    #[test]
    fn files_have_comments_and_errors_have_lines() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "# mine\n\nrender.samples=8 # smooth\nlight.exposure=0\n").unwrap();
        let mut settings = Settings::default();
        let error = settings.read_file(file.path()).unwrap_err();
        assert!(error.contains(":4: light.exposure takes"), "{error}");
        assert_eq!(settings.render.samples, 8);
        assert!(settings.read_file(Path::new("nowhere")).unwrap_err().contains("cannot be read"));
    }

    #[test]
    fn the_printed_table_has_every_knob_and_its_value() {
        let mut settings = Settings::default();
        settings.set("sparse.chunk_policy=exact", false).unwrap();
        let table = settings.table();
        assert_eq!(table.lines().count(), all().count() + 1);
        let line = table.lines().find(|l| l.starts_with("sparse.chunk_policy")).unwrap();
        assert!(line.contains("exact") && line.contains("whole"), "{line}");
    }

    #[test]
    fn the_reference_lists_every_knob() {
        let page = include_str!("../../../docs/reference/knobs.md");
        let defaults = Settings::default();
        for knob in all() {
            let when = if knob.when == When::Live { "live" } else { "start-up" };
            let default = match knob.name {
                "sparse.check" => "on in debug builds".to_owned(),
                _ => (knob.get)(&defaults),
            };
            // The page says more of some than the table.
            let row = format!("| `{}` | {default} | {} | {when} | ", knob.name, knob.range);
            assert!(
                page.lines().any(|line| line.starts_with(&row)),
                "docs/reference/knobs.md has no row\n{row}"
            );
        }
    }

    #[test]
    fn captures_make_pages_in_every_frame() {
        let mut settings = Settings::default();
        settings.for_captures();
        let planner = &settings.vt.planner;
        assert!(planner.force_continuous_update);
        assert_eq!((planner.max_continuous_updates_per_frame, planner.max_uploads_per_frame), (8, 32));
        assert_eq!(settings.render.async_compute, Switch::Off);
    }
}
