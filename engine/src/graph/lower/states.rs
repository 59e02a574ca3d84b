//! How frames left what outlives them, by raw handle: the one place where states are kept between frames.

use std::collections::HashMap;

use crate::graph::{ImportState, LeftState};
use crate::vk::Point;

/// A resource of somebody else's.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct ImportKey {
    pub(super) handle: u64,
    pub(super) name: String,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    left: LeftState,
    frame: u64,
}

/// States of imported resources, and how far each queue was with them.
#[derive(Debug, Default)]
pub(super) struct States {
    entries: HashMap<ImportKey, Entry>,
    /// Last submission of each queue kind.
    pub(super) last: [Option<Point>; 4],
}

/// A state is forgotten once its resource was not imported for so many frames: a handle may be given out again.
const REMEMBERED: u64 = 2;

impl States {
    /// How the last frame left it; `first` for one that no frame has touched.
    pub(super) fn before(&self, key: &ImportKey, first: ImportState) -> ImportState {
        self.entries.get(key).map_or(first, |entry| ImportState::After(entry.left))
    }

    /// A frame left it so.
    pub(super) fn leave(&mut self, key: ImportKey, left: Option<LeftState>, frame: u64) {
        match left {
            Some(left) => {
                self.entries.insert(key, Entry { left, frame });
            }
            // Declared and not touched: as it was.
            None => {
                if let Some(entry) = self.entries.get_mut(&key) {
                    entry.frame = frame;
                }
            }
        }
    }

    /// A frame is over.
    pub(super) fn forget_old(&mut self, frame: u64) {
        self.entries.retain(|_, entry| entry.frame + REMEMBERED > frame);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Access, Queue};

    fn key(handle: u64, name: &str) -> ImportKey {
        ImportKey { handle, name: name.into() }
    }

    #[test]
    fn a_state_is_that_of_the_handle_and_its_name_and_goes_when_nobody_imports_it() {
        let mut states = States::default();
        let left = LeftState::after(Access::CopySource, Queue::Graphics, true);
        states.leave(key(1, "A"), Some(left), 1);
        assert_eq!(states.before(&key(1, "A"), ImportState::Undefined), ImportState::After(left));
        assert_eq!(states.before(&key(1, "B"), ImportState::Undefined), ImportState::Undefined);
        assert_eq!(states.before(&key(2, "A"), ImportState::Undefined), ImportState::Undefined);
        states.leave(key(1, "A"), None, 2);
        states.forget_old(3);
        assert_eq!(states.before(&key(1, "A"), ImportState::Undefined), ImportState::After(left), "kept");
        states.forget_old(4);
        assert_eq!(states.before(&key(1, "A"), ImportState::Undefined), ImportState::Undefined);
    }
}
