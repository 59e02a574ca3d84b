//! What can be turned: budgets a frame, and how pages stay and go.

/// Knobs of the planner. The budgets count pages of one frame; a negative one is no limit, for comparisons.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Knobs {
    /// `vt.max_uploads_per_frame`: pages that are drawn at run time. Locked pages are exempt from all budgets.
    pub max_uploads_per_frame: i32,
    /// `vt.max_tiles_produced_per_frame`: pages of all kinds.
    pub max_tiles_produced_per_frame: i32,
    /// `vt.max_uploads_per_frame_streaming`: pages that come from a file.
    pub max_uploads_per_frame_streaming: i32,
    /// `vt.max_continuous_updates_per_frame`: refreshes, out of what the uploads left over. Negative: every visible
    /// page, every frame.
    pub max_continuous_updates_per_frame: i32,
    /// `vt.force_continuous_update`: all textures that are drawn at run time are refreshed.
    pub force_continuous_update: bool,
    /// `vt.page_free_threshold`: a page that was used within as many frames is not taken from its owner.
    pub page_free_threshold: u32,
    /// `vt.dirty_visible_frames`: an invalidated page that was seen within as many frames is redrawn in place.
    pub dirty_visible_frames: u32,
    /// `vt.produce_locked_on_flush`: a flush draws locked pages again.
    pub produce_locked_on_flush: bool,
    /// `vt.prefetch`: levels between what is there and what is wished for are asked for too.
    pub prefetch: bool,
    /// `vt.freeze`: nothing is drawn, nothing is taken.
    pub freeze: bool,
    /// `vt.residency_bias`: full pools raise the mip bias.
    pub residency_bias: bool,
    /// `vt.residency_bias_rate`: the most that the bias changes a frame, in levels.
    pub residency_bias_rate: f32,
    /// `vt.residency_bias_max`: the largest bias, in levels.
    pub residency_bias_max: f32,
    /// `vt.residency_upper`: the share of a pool in use above which its bias rises.
    pub residency_upper: f32,
    /// `vt.residency_locked_upper`: the share of locked pages above which there is no bias, since it could not help.
    pub residency_locked_upper: f32,
    /// `vt.space_side`: pages a side of a new page table; one that a texture does not fit into is made larger.
    pub space_side: u32,
    /// `vt.history`: events that are kept for looking at.
    pub history: u32,
}

impl Knobs {
    /// While a game runs: little a frame.
    pub fn game() -> Self {
        Self {
            max_uploads_per_frame: 2,
            max_tiles_produced_per_frame: 32,
            max_uploads_per_frame_streaming: 32,
            max_continuous_updates_per_frame: 1,
            force_continuous_update: false,
            page_free_threshold: 15,
            dirty_visible_frames: 8,
            produce_locked_on_flush: true,
            prefetch: true,
            freeze: false,
            residency_bias: true,
            residency_bias_rate: 0.2,
            residency_bias_max: 4.0,
            residency_upper: 0.95,
            residency_locked_upper: 0.65,
            space_side: 1024,
            history: 4096,
        }
    }

    /// While a world is edited: sharp at once.
    pub fn editor() -> Self {
        Self {
            max_uploads_per_frame: 32,
            max_tiles_produced_per_frame: 500,
            max_uploads_per_frame_streaming: 500,
            max_continuous_updates_per_frame: 8,
            ..Self::game()
        }
    }
}

impl Default for Knobs {
    fn default() -> Self {
        Self::game()
    }
}
