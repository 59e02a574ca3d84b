//! What new bytes of a reserved resource hold.

/// What new bytes of a reserved buffer hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Contents {
    /// Whatever was in that memory.
    #[default]
    Undefined,
    /// Zeros: cleared by the GPU before the first command that follows the commit.
    Zeroed,
}

/// What undefined bytes are filled with where they are poisoned: no index, no float and no pointer that anybody means.
pub const POISON: u32 = 0xDEAD_C0DE;

impl Contents {
    /// The word that new bytes are filled with, if they are.
    pub(super) fn fill(self, poison: bool) -> Option<u32> {
        match self {
            Contents::Zeroed => Some(0),
            Contents::Undefined => poison.then_some(POISON),
        }
    }
}
