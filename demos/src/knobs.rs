//! Knobs: one table with name, default, range, when they take effect, and meaning.
//!
//! `--exec knobs` prints it, `--set` and `--knobs` read it at the start, the console's `set` changes live ones.

use std::fmt::Write as _;
use std::path::Path;
use std::str::FromStr;

use vasa::render::{Atmosphere, RenderOptions, Switch};
use vasa::scene::terrain::TerrainDesc;
use vasa::sparse::{ChunkPolicy, SparseKnobs};
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

impl Default for Settings {
    fn default() -> Self {
        let (morning, terrain) = (Atmosphere::morning(), TerrainDesc::new(Atmosphere::morning().sun));
        Self {
            sparse: SparseKnobs::default(),
            sparse_queue: SparseQueuePolicy::default(),
            render: RenderOptions::default(),
            frames_in_flight: 2,
            upload_bytes: 32 << 20,
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

/// Every knob there is.
pub const KNOBS: &[Knob] = &[
    knob!(
        "camera.field_of_view",
        Live,
        "10 to 120",
        "vertical field of view, degrees",
        |s| s.field_of_view.to_string(),
        |s, t| store(&mut s.field_of_view, number(t, 10.0, 120.0))
    ),
    knob!(
        "frame.in_flight",
        StartUp,
        "1 to 3",
        "frames recorded before the first of them must be done",
        |s| s.frames_in_flight.to_string(),
        |s, t| store(&mut s.frames_in_flight, number(t, 1, 3))
    ),
    knob!(
        "frame.upload_mib",
        StartUp,
        "1 to 1024",
        "size of the upload ring, MiB",
        |s| (s.upload_bytes >> 20).to_string(),
        |s, t| store(&mut s.upload_bytes, number::<u64>(t, 1, 1024).map(|mib| mib << 20))
    ),
    knob!(
        "frame.vsync",
        StartUp,
        "on, off",
        "wait for the display (windows only)",
        |s| if s.vsync { "on" } else { "off" }.to_owned(),
        |s, t| store(&mut s.vsync, one_of(t, &[("on", true), ("off", false)]))
    ),
    knob!(
        "light.exposure",
        Live,
        "0.01 to 100",
        "multiplies light before tone mapping",
        |s| s.exposure.to_string(),
        |s, t| store(&mut s.exposure, number(t, 0.01, 100.0))
    ),
    knob!(
        "light.haze_km",
        Live,
        "1 to 10000",
        "distance at which haze takes 63% of the light, kilometres",
        |s| s.haze_kilometres.to_string(),
        |s, t| store(&mut s.haze_kilometres, number(t, 1.0, 10_000.0))
    ),
    knob!(
        "light.sun_azimuth",
        StartUp,
        "0 to 360",
        "compass direction of the sun, degrees (90 is east)",
        |s| s.sun_azimuth.to_string(),
        |s, t| store(&mut s.sun_azimuth, number(t, 0.0, 360.0))
    ),
    knob!(
        "light.sun_elevation",
        StartUp,
        "1 to 90",
        "elevation of the sun above the horizon, degrees",
        |s| s.sun_elevation.to_string(),
        |s, t| store(&mut s.sun_elevation, number(t, 1.0, 90.0))
    ),
    knob!(
        "render.ambient_occlusion",
        StartUp,
        "auto, on, off",
        "take light from the sky away where near forms hide it",
        |s| switch(s.render.ambient_occlusion),
        |s, t| store(&mut s.render.ambient_occlusion, one_of(t, SWITCHES))
    ),
    knob!(
        "render.anisotropy",
        StartUp,
        "0 to 16",
        "largest anisotropy of textures; 0 is automatic",
        |s| s.render.anisotropy.to_string(),
        |s, t| store(&mut s.render.anisotropy, number(t, 0, 16))
    ),
    knob!(
        "render.async_compute",
        StartUp,
        "auto, on, off",
        "compute beside rendering, where there is a queue for it",
        |s| switch(s.render.async_compute),
        |s, t| store(&mut s.render.async_compute, one_of(t, SWITCHES))
    ),
    knob!(
        "render.auto_exposure",
        StartUp,
        "auto, on, off",
        "let the exposure follow the light",
        |s| switch(s.render.auto_exposure),
        |s, t| store(&mut s.render.auto_exposure, one_of(t, SWITCHES))
    ),
    knob!(
        "render.bloom",
        StartUp,
        "auto, on, off",
        "let bright light spread over its neighbours",
        |s| switch(s.render.bloom),
        |s, t| store(&mut s.render.bloom, one_of(t, SWITCHES))
    ),
    knob!(
        "render.samples",
        StartUp,
        "0, 1, 2, 4, 8",
        "samples a pixel; 0 is automatic: 1 with render.temporal or in software, else 4",
        |s| s.render.samples.to_string(),
        |s, t| store(&mut s.render.samples, one_of(t, &[("0", 0), ("1", 1), ("2", 2), ("4", 4), ("8", 8)]))
    ),
    knob!(
        "render.temporal",
        StartUp,
        "auto, on, off",
        "smooth edges over time, from what frames before saw",
        |s| switch(s.render.temporal),
        |s, t| store(&mut s.render.temporal, one_of(t, SWITCHES))
    ),
    knob!(
        "residency.bias",
        Live,
        "0 to 8",
        "levels by which everything is coarser than it could be",
        |s| s.residency_bias.to_string(),
        |s, t| store(&mut s.residency_bias, number(t, 0.0, 8.0))
    ),
    knob!(
        "residency.budget_mib",
        StartUp,
        "1 to 4096",
        "memory for the tiles of the streamed image, MiB",
        |s| (s.residency_budget >> 20).to_string(),
        |s, t| store(&mut s.residency_budget, number::<u64>(t, 1, 4096).map(|mib| mib << 20))
    ),
    knob!(
        "residency.inset",
        Live,
        "on, off",
        "draw the residency map into the picture's corner",
        |s| if s.residency_inset { "on" } else { "off" }.to_owned(),
        |s, t| store(&mut s.residency_inset, one_of(t, &[("on", true), ("off", false)]))
    ),
    knob!(
        "residency.keep_frames",
        StartUp,
        "0 to 10000",
        "frames that a tile stays after the last request",
        |s| s.residency_keep_frames.to_string(),
        |s, t| store(&mut s.residency_keep_frames, number(t, 0, 10_000))
    ),
    knob!(
        "residency.maps",
        StartUp,
        "0 to 1024",
        "tiles mapped in one frame at most",
        |s| s.residency_maps.to_string(),
        |s, t| store(&mut s.residency_maps, number(t, 0, 1024))
    ),
    knob!(
        "residency.taps",
        StartUp,
        "1 to 16",
        "samples along a pixel's footprint at most",
        |s| s.residency_taps.to_string(),
        |s, t| store(&mut s.residency_taps, number(t, 1, 16))
    ),
    knob!(
        "residency.tint",
        Live,
        "0 to 1",
        "how much every place shows the colour of its resident mip",
        |s| s.residency_tint.to_string(),
        |s, t| store(&mut s.residency_tint, number(t, 0.0, 1.0))
    ),
    knob!(
        "sparse.cache_frames",
        StartUp,
        "1 to 100000",
        "frames after which a ready chunk that nobody took is freed",
        |s| s.sparse.cache_frames.to_string(),
        |s, t| store(&mut s.sparse.cache_frames, number(t, 1, 100_000))
    ),
    knob!(
        "sparse.cached_chunks",
        StartUp,
        "0 to 64",
        "most full chunks kept ready when buffers shrink",
        |s| s.sparse.cached_chunks.to_string(),
        |s, t| store(&mut s.sparse.cached_chunks, number(t, 0, 64))
    ),
    knob!(
        "sparse.capture_friendly",
        StartUp,
        "on, off",
        "small reservations and residency flags, for capture tools",
        |s| on_off(s.sparse.capture_friendly),
        |s, t| store(&mut s.sparse.capture_friendly, one_of(t, &[("on", true), ("off", false)]))
    ),
    knob!(
        "sparse.check",
        StartUp,
        "on, off",
        "check every bind and every use against a shadow page table",
        |s| on_off(s.sparse.check),
        |s, t| store(&mut s.sparse.check, one_of(t, &[("on", true), ("off", false)]))
    ),
    knob!(
        "sparse.chunk_mib",
        StartUp,
        "16, 32, 64",
        "size of a full chunk, MiB",
        |s| (s.sparse.chunk_bytes >> 20).to_string(),
        |s, t| {
            let sizes = [("16", 16 << 20), ("32", 32 << 20), ("64", 64 << 20)];
            store(&mut s.sparse.chunk_bytes, one_of(t, &sizes))
        }
    ),
    knob!(
        "sparse.chunk_policy",
        StartUp,
        "whole, exact",
        "whether a chunk is allocated whole or only as needed",
        |s| s.sparse.chunk_policy.to_string(),
        |s, t| {
            let policies = [("whole", ChunkPolicy::Whole), ("exact", ChunkPolicy::Exact)];
            store(&mut s.sparse.chunk_policy, one_of(t, &policies))
        }
    ),
    knob!(
        "sparse.commit_ahead",
        StartUp,
        "on, off",
        "a worker commits ahead of need",
        |s| on_off(s.sparse.commit_ahead),
        |s, t| store(&mut s.sparse.commit_ahead, one_of(t, &[("on", true), ("off", false)]))
    ),
    knob!(
        "sparse.poison",
        StartUp,
        "on, off",
        "fill new bytes whose contents are undefined",
        |s| on_off(s.sparse.poison),
        |s, t| store(&mut s.sparse.poison, one_of(t, &[("on", true), ("off", false)]))
    ),
    knob!(
        "sparse.queue",
        StartUp,
        "auto, graphics, side",
        "the queue that binds memory",
        |s| match s.sparse_queue {
            SparseQueuePolicy::Auto => "auto",
            SparseQueuePolicy::Graphics => "graphics",
            SparseQueuePolicy::Side => "side",
        }
        .to_owned(),
        |s, t| store(&mut s.sparse_queue, t.parse().ok())
    ),
    knob!(
        "terrain.layers",
        StartUp,
        "1 to 16",
        "layers of material: eight kinds of ground, then variants of them",
        |s| s.terrain_layers.to_string(),
        |s, t| store(&mut s.terrain_layers, number(t, 1, 16))
    ),
    knob!(
        "terrain.quads",
        StartUp,
        "16, 32, 64",
        "cells along a side of a chunk",
        |s| s.terrain_quads.to_string(),
        |s, t| store(&mut s.terrain_quads, one_of(t, &[("16", 16), ("32", 32), ("64", 64)]))
    ),
    knob!(
        "terrain.reach",
        StartUp,
        "1.5 to 8",
        "reach of a level of detail, in sizes of the next coarser chunk",
        |s| s.terrain_reach.to_string(),
        |s, t| store(&mut s.terrain_reach, number(t, 1.5, 8.0))
    ),
    knob!(
        "terrain.roads",
        StartUp,
        "0 to 12",
        "roads over the ground at most, with what lies beside them; 0 for none",
        |s| s.terrain_roads.to_string(),
        |s, t| store(&mut s.terrain_roads, number(t, 0, 12))
    ),
    knob!(
        "terrain.rocks",
        StartUp,
        "0 to 2000",
        "distance up to which rocks lie around the camera, metres",
        |s| s.terrain_rocks.to_string(),
        |s, t| store(&mut s.terrain_rocks, number(t, 0.0, 2000.0))
    ),
];

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
        let Some(knob) = KNOBS.iter().find(|k| k.name == name) else {
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
            format!("{:<22} {:<9} {:<9} {:<22} {:<9} meaning", "knob", "value", "default", "range", "when");
        for knob in KNOBS {
            let when = if knob.when == When::Live { "live" } else { "start-up" };
            let (value, default) = ((knob.get)(self), (knob.get)(&defaults));
            // Writing into a string cannot fail.
            let _ = write!(
                text,
                "\n{:<22} {value:<9} {default:<9} {:<22} {when:<9} {}",
                knob.name, knob.range, knob.meaning
            );
        }
        text
    }
}

fn near(name: &str) -> String {
    let last = name.rsplit('.').next().unwrap_or(name);
    let found = KNOBS.iter().find(|k| {
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
        assert!(KNOBS.windows(2).all(|pair| pair[0].name < pair[1].name));
        for knob in KNOBS {
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
        assert_eq!(table.lines().count(), KNOBS.len() + 1);
        let line = table.lines().find(|l| l.starts_with("sparse.chunk_policy")).unwrap();
        assert!(line.contains("exact") && line.contains("whole"), "{line}");
    }
}
