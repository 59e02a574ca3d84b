//! The knobs of virtual textures.

use vasa::render::Switch;
use vasa::vt::{Borders, Filter, Knobs};

use super::{Knob, Settings, When, knob, number, on_off, one_of, store, virtual_textures};

const ON_OFF: &[(&str, bool)] = &[("on", true), ("off", false)];
const BORDERS: &[(&str, Borders)] = &[("off", Borders::Off), ("on", Borders::On), ("level", Borders::Level)];
const FILTERS: &[(&str, Filter)] = &[
    ("auto", Filter::Auto),
    ("bilinear", Filter::Bilinear),
    ("trilinear", Filter::Trilinear),
    ("stochastic", Filter::Stochastic),
];

/// Whose budgets.
type Preset = fn() -> Knobs;

const PRESETS: &[(&str, Preset)] =
    &[("demo", || virtual_textures().planner), ("game", Knobs::game), ("editor", Knobs::editor)];

/// The budgets that a preset sets.
fn budgets(knobs: &mut Knobs) -> [&mut i32; 4] {
    [
        &mut knobs.max_uploads_per_frame,
        &mut knobs.max_tiles_produced_per_frame,
        &mut knobs.max_uploads_per_frame_streaming,
        &mut knobs.max_continuous_updates_per_frame,
    ]
}

fn apply(settings: &mut Settings, preset: Preset) {
    let mut of_preset = preset();
    let pairs = budgets(&mut settings.vt.planner).into_iter().zip(budgets(&mut of_preset));
    pairs.for_each(|(budget, of_preset)| *budget = *of_preset);
}

/// The preset that all budgets are of.
fn preset_of(settings: &Settings) -> &'static str {
    let mut own = settings.vt.planner;
    let is = |(_, preset): &&(&str, Preset)| budgets(&mut own) == budgets(&mut preset());
    PRESETS.iter().find(is).map_or("none", |(name, _)| name)
}

fn name_of<T: PartialEq>(values: &[(&str, T)], value: T) -> String {
    values.iter().find(|(_, other)| *other == value).map(|(name, _)| (*name).to_owned()).unwrap_or_default()
}

impl Settings {
    /// For a capture of a frame that makes pages: a steady one makes none. The frame graph keeps passes in the order of
    /// their declaration and merges none of them anyway.
    pub fn for_captures(&mut self) {
        self.vt.planner.force_continuous_update = true;
        self.vt.planner.max_continuous_updates_per_frame = 8;
        self.vt.planner.max_uploads_per_frame = 32;
        self.render.async_compute = Switch::Off;
    }
}

/// Negative budgets are no limit.
fn limit(pages: i32) -> String {
    if pages < 0 { "none".into() } else { pages.to_string() }
}

fn limit_of(text: &str) -> Option<i32> {
    if text == "none" { Some(-1) } else { number(text, 0, 4096) }
}

/// In order of their names.
pub const KNOBS: &[Knob] = &[
    knob!(
        "vt.anisotropy",
        Live,
        "on, off",
        "sample pages along the footprint, as far as their border reaches",
        |s| on_off(s.vt.anisotropy),
        |s, t| store(&mut s.vt.anisotropy, one_of(t, ON_OFF))
    ),
    knob!(
        "vt.bias",
        Live,
        "-0.99 to 12",
        "added to every level of virtual textures; positive is coarser",
        |s| s.vt.bias.to_string(),
        |s, t| store(&mut s.vt.bias, number(t, -0.99, 12.0))
    ),
    knob!(
        "vt.borders",
        Live,
        "off, on, level",
        "paint the borders of pages; `level` colours them by their level",
        |s| name_of(BORDERS, s.vt.borders),
        |s, t| store(&mut s.vt.borders, one_of(t, BORDERS))
    ),
    knob!(
        "vt.direct_compress",
        Live,
        "on, off",
        "write blocks straight into the atlas; off copies them there",
        |s| on_off(s.vt.direct_compress),
        |s, t| store(&mut s.vt.direct_compress, one_of(t, ON_OFF))
    ),
    knob!(
        "vt.dirty_visible_frames",
        Live,
        "0 to 1000",
        "frames after it was seen in which an edited page stays in place until it is drawn again",
        |s| s.vt.planner.dirty_visible_frames.to_string(),
        |s, t| store(&mut s.vt.planner.dirty_visible_frames, number(t, 0, 1000))
    ),
    knob!(
        "vt.feedback_factor",
        StartUp,
        "1 to 64",
        "one pixel of so many a side gives feedback; rounded up to a power of two",
        |s| s.vt.feedback_factor.to_string(),
        |s, t| store(&mut s.vt.feedback_factor, number(t, 1, 64))
    ),
    knob!(
        "vt.feedback_overdraw",
        StartUp,
        "1 to 16",
        "samples a pixel that the feedback buffer has room for",
        |s| s.vt.feedback_overdraw.to_string(),
        |s, t| store(&mut s.vt.feedback_overdraw, number(t, 1, 16))
    ),
    knob!(
        "vt.filter",
        Live,
        "auto, bilinear, trilinear, stochastic",
        "how levels of virtual textures are mixed",
        |s| name_of(FILTERS, s.vt.filter),
        |s, t| store(&mut s.vt.filter, one_of(t, FILTERS))
    ),
    knob!(
        "vt.force_continuous_update",
        Live,
        "on, off",
        "refresh all visible pages, a few a frame",
        |s| on_off(s.vt.planner.force_continuous_update),
        |s, t| store(&mut s.vt.planner.force_continuous_update, one_of(t, ON_OFF))
    ),
    knob!(
        "vt.freeze",
        Live,
        "on, off",
        "draw no page and take none",
        |s| on_off(s.vt.planner.freeze),
        |s, t| store(&mut s.vt.planner.freeze, one_of(t, ON_OFF))
    ),
    knob!(
        "vt.history",
        Live,
        "0 to 1000000",
        "events of pages that are kept to look at; another number begins anew",
        |s| s.vt.planner.history.to_string(),
        |s, t| store(&mut s.vt.planner.history, number(t, 0, 1_000_000))
    ),
    knob!(
        "vt.max_continuous_updates_per_frame",
        Live,
        "none, 0 to 4096",
        "pages refreshed in one frame",
        |s| limit(s.vt.planner.max_continuous_updates_per_frame),
        |s, t| store(&mut s.vt.planner.max_continuous_updates_per_frame, limit_of(t))
    ),
    knob!(
        "vt.max_tiles_produced_per_frame",
        Live,
        "none, 0 to 4096",
        "pages made in one frame, of all kinds",
        |s| limit(s.vt.planner.max_tiles_produced_per_frame),
        |s, t| store(&mut s.vt.planner.max_tiles_produced_per_frame, limit_of(t))
    ),
    knob!(
        "vt.max_uploads_per_frame",
        Live,
        "none, 0 to 4096",
        "pages drawn in one frame",
        |s| limit(s.vt.planner.max_uploads_per_frame),
        |s, t| store(&mut s.vt.planner.max_uploads_per_frame, limit_of(t))
    ),
    knob!(
        "vt.max_uploads_per_frame_streaming",
        Live,
        "none, 0 to 4096",
        "pages read from files in one frame",
        |s| limit(s.vt.planner.max_uploads_per_frame_streaming),
        |s, t| store(&mut s.vt.planner.max_uploads_per_frame_streaming, limit_of(t))
    ),
    knob!(
        "vt.near_detail",
        Live,
        "on, off",
        "evaluate the ground's materials where the finest page is too coarse",
        |s| on_off(s.vt.near_detail),
        |s, t| store(&mut s.vt.near_detail, one_of(t, ON_OFF))
    ),
    knob!(
        "vt.page_free_threshold",
        Live,
        "1 to 1000",
        "frames after its last use in which a page is not taken from its owner",
        |s| s.vt.planner.page_free_threshold.to_string(),
        |s, t| store(&mut s.vt.planner.page_free_threshold, number(t, 1, 1000))
    ),
    knob!(
        "vt.pool_mib",
        StartUp,
        "1 to 4096",
        "memory of one pool of pages, MiB",
        |s| s.vt.pool_mib.to_string(),
        |s, t| store(&mut s.vt.pool_mib, number(t, 1, 4096))
    ),
    knob!(
        "vt.pool_scale",
        StartUp,
        "0.01 to 16",
        "multiplies the memory of every pool",
        |s| s.vt.pool_scale.to_string(),
        |s, t| store(&mut s.vt.pool_scale, number(t, 0.01, 16.0))
    ),
    knob!(
        "vt.pool_split_tiles",
        StartUp,
        "0 to 181",
        "pages a side of an atlas above which a pool has a further one; 0 is off",
        |s| s.vt.pool_split_tiles.to_string(),
        |s, t| store(&mut s.vt.pool_split_tiles, number(t, 0, 181))
    ),
    knob!(
        "vt.prefetch",
        Live,
        "on, off",
        "make levels on the way to those that are wished for, too",
        |s| on_off(s.vt.planner.prefetch),
        |s, t| store(&mut s.vt.planner.prefetch, one_of(t, ON_OFF))
    ),
    knob!(
        "vt.preset",
        Live,
        "demo, game, editor",
        "budgets of pages a frame, all four at once: `game` makes few, `editor` is sharp at once",
        |s| preset_of(s).into(),
        |s, t| one_of(t, PRESETS).map(|preset| apply(s, preset)).is_some()
    ),
    knob!(
        "vt.produce_locked_on_flush",
        Live,
        "on, off",
        "draw locked pages again after a flush",
        |s| on_off(s.vt.planner.produce_locked_on_flush),
        |s, t| store(&mut s.vt.planner.produce_locked_on_flush, one_of(t, ON_OFF))
    ),
    knob!(
        "vt.residency_bias",
        Live,
        "on, off",
        "coarser levels while a pool is full",
        |s| on_off(s.vt.planner.residency_bias),
        |s, t| store(&mut s.vt.planner.residency_bias, one_of(t, ON_OFF))
    ),
    knob!(
        "vt.residency_bias_max",
        Live,
        "0 to 12",
        "the most levels that full pools coarsen by",
        |s| s.vt.planner.residency_bias_max.to_string(),
        |s, t| store(&mut s.vt.planner.residency_bias_max, number(t, 0.0, 12.0))
    ),
    knob!(
        "vt.residency_bias_rate",
        Live,
        "0 to 4",
        "the most that this bias changes in a frame, levels",
        |s| s.vt.planner.residency_bias_rate.to_string(),
        |s, t| store(&mut s.vt.planner.residency_bias_rate, number(t, 0.0, 4.0))
    ),
    knob!(
        "vt.residency_locked_upper",
        Live,
        "0 to 1",
        "share of locked pages of a pool above which its bias stays 0: it could not help",
        |s| s.vt.planner.residency_locked_upper.to_string(),
        |s, t| store(&mut s.vt.planner.residency_locked_upper, number(t, 0.0, 1.0))
    ),
    knob!(
        "vt.residency_upper",
        Live,
        "0.1 to 1",
        "share of a pool in use above which its bias rises",
        |s| s.vt.planner.residency_upper.to_string(),
        |s, t| store(&mut s.vt.planner.residency_upper, number(t, 0.1, 1.0))
    ),
    knob!(
        "vt.space_side",
        StartUp,
        "16 to 4096",
        "pages a side of a new page table, rounded up to a power of two; textures that do not fit get larger ones",
        |s| s.vt.planner.space_side.to_string(),
        |s, t| store(&mut s.vt.planner.space_side, number(t, 16, 4096))
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_set_all_budgets_and_single_ones_come_after() {
        let mut settings = Settings::default();
        assert_eq!(preset_of(&settings), "demo");
        settings.set("vt.preset=editor", true).unwrap();
        assert_eq!(settings.vt.planner.max_uploads_per_frame, 32);
        assert_eq!(settings.vt.planner.max_tiles_produced_per_frame, 500);
        assert_eq!(preset_of(&settings), "editor");
        settings.set("vt.max_uploads_per_frame=7", true).unwrap();
        assert_eq!(preset_of(&settings), "none");
        assert_eq!(settings.vt.planner.max_tiles_produced_per_frame, 500);
        settings.set("vt.preset=demo", true).unwrap();
        assert_eq!(settings, Settings::default());
        assert!(settings.set("vt.preset=none", true).unwrap_err().contains("demo, game, editor"));
    }
}
