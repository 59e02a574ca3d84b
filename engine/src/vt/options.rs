//! What can be turned, beside the planner's own [`Knobs`]: pools, feedback, how pages are made and sampled.

use super::Knobs;

/// How neighbouring levels are mixed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub enum Filter {
    /// `Stochastic` where frames are averaged over time, otherwise `Trilinear`.
    #[default]
    Auto,
    /// Not at all: one level, filtered in itself.
    Bilinear,
    /// Two lookups and their mean by distance.
    Trilinear,
    /// One lookup, of a level chosen by noise that changes with the frame: smooth where frames are averaged over time.
    Stochastic,
}

/// What is painted over sampled pages, to look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub enum Borders {
    /// Nothing.
    #[default]
    Off,
    /// The pages' borders.
    On,
    /// Borders, and the level as a colour.
    Level,
}

/// How virtual textures work. `vt.` knobs set it.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Options {
    /// Budgets, residency, history.
    pub planner: Knobs,
    /// `vt.pool_mib`: memory of one pool, MiB.
    pub pool_mib: u64,
    /// `vt.pool_scale`: multiplies it.
    pub pool_scale: f32,
    /// `vt.pool_split_tiles`: more pages a side than this make a further atlas; 0 is off.
    pub pool_split_tiles: u32,
    /// `vt.direct_compress`: blocks are written straight into the atlas; otherwise to an image beside and copied.
    pub direct_compress: bool,
    /// `vt.anisotropy`: pages are sampled along the footprint, as far as their border reaches.
    pub anisotropy: bool,
    /// `vt.filter`: how levels are mixed.
    pub filter: Filter,
    /// `vt.borders`: what is painted over pages.
    pub borders: Borders,
    /// `vt.near_detail`: closer than the finest page shows, the ground's materials are evaluated in the pixel.
    pub near_detail: bool,
    /// `vt.bias`: added to every level; positive is coarser.
    pub bias: f32,
    /// `vt.feedback_factor`: of so many pixels a side one gives feedback; rounded up to a power of two.
    pub feedback_factor: u32,
    /// `vt.feedback_overdraw`: how many samples a pixel the feedback buffer has room for.
    pub feedback_overdraw: u32,
    /// Uses exactly the feedback of three frames ago, waiting for it: the same run draws the same pages. Otherwise the
    /// newest that has arrived.
    pub is_exact: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            planner: Knobs { space_side: 2048, ..Knobs::default() },
            pool_mib: 64,
            pool_scale: 1.0,
            pool_split_tiles: 0,
            direct_compress: true,
            anisotropy: false,
            filter: Filter::default(),
            borders: Borders::default(),
            near_detail: true,
            bias: 0.0,
            feedback_factor: 16,
            feedback_overdraw: 2,
            is_exact: false,
        }
    }
}
