//! What the planner asks those who make pages.

use super::TextureId;
use crate::vt::address::PageAddress;

/// How urgent a page is. Urgent ones come first in every list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, serde::Serialize)]
pub enum Priority {
    /// Before what is merely seen: an edit under the user's hand.
    High,
    /// What is seen.
    #[default]
    Normal,
    /// When there is nothing better to do.
    Low,
}

impl std::fmt::Display for Priority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::High => "high",
            Self::Normal => "normal",
            Self::Low => "low",
        })
    }
}

/// How good the inputs of a page were when it was made: larger is better, the scale is the producer's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
pub struct Quality(pub u8);

impl Quality {
    /// Inputs are missing.
    pub const NONE: Self = Self(0);
    /// All inputs were there as they should be.
    pub const FULL: Self = Self(u8::MAX);
}

/// A page that is about to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PageRequest {
    /// Whose page.
    pub texture: TextureId,
    /// Which of its groups of layers.
    pub group: u8,
    /// The page, in the texture's own grid.
    pub page: PageAddress,
    /// How urgent it is.
    pub priority: Priority,
    /// Whether data baked ahead will do: false where the level was not baked, or was edited since.
    pub baked: bool,
}

/// What a producer says to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Availability {
    /// It can be made in this frame, from inputs of this quality.
    Available(Quality),
    /// It is being fetched: ask again.
    Pending,
    /// Nothing of this texture can be made now: ask again in a later frame.
    Saturated,
}

/// Who makes pages: draws them, or reads them from a file.
pub trait Producer {
    /// Says whether the page can be made in this frame. When it can, and the plan has room for it, it is in the plan.
    ///
    /// A page may be asked for again although the answer was `Available`: the pool may have had no room.
    fn request(&mut self, request: &PageRequest) -> Availability;
}
