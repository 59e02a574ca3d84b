//! The passes around what a frame draws: feedback is cleared before, and compacted and read back after it.
//!
//! ```text
//! frame N    VirtualTextureClear -> (samplers write words) -> VirtualTextureUpdate:
//!              words --feedback_build--> hash table --feedback_compact--> (word, count) pairs --copy--> readback ring
//! frame N+2  Feedback::take -> planner        (or exactly frame N+3, waited for: headless)
//! ```
//!
//! `layout.rs` (sizes) and `ring.rs` (which readback buffer is whose) decide and are pure; `feedback.rs` lowers. The twin of
//! the shaders is [`feedback_twin`](super::feedback_twin).

mod feedback;
mod layout;
mod ring;
#[cfg(test)]
mod tests;

pub use feedback::{Arrived, Feedback, FeedbackHandles, FeedbackStats};
pub use layout::{
    BuildHashTableArgs, COMPACTED_HEADER_WORDS, FEEDBACK_HEADER_WORDS, FeedbackLayout, FeedbackPush,
    MOST_PROBES,
};
