//! What became of pages, and why: the last few thousand events.

use super::{PageReason, TextureId};
use crate::vt::address::PageAddress;
use crate::vt::pool::PhysicalPage;

/// What became of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
pub enum Happening {
    /// It was made.
    Made(PageReason),
    /// It was drawn again in place.
    Redrawn(PageReason),
    /// Its place went to another page.
    Evicted {
        /// The frame in which it was used last.
        last_used: u64,
    },
    /// It went since what it shows had changed and nobody had looked for a while.
    Discarded,
    /// It went with everything else.
    Flushed,
    /// Its frame was not submitted, and it could not be made again at once.
    Lost,
}

/// One event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
pub struct PageEvent {
    /// When.
    pub frame: u64,
    /// Whose page.
    pub texture: TextureId,
    /// Which group of layers.
    pub group: u8,
    /// The page, in the texture's own grid.
    pub page: PageAddress,
    /// Where it is or was.
    pub physical: PhysicalPage,
    /// What.
    pub happening: Happening,
}

impl std::fmt::Display for PageEvent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { frame, texture, group, page, physical, happening } = self;
        write!(f, "frame {frame}: {texture} group {group} {page} in {physical} {happening}")
    }
}

impl std::fmt::Display for Happening {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Made(reason) => write!(f, "made: {reason}"),
            Self::Redrawn(reason) => write!(f, "drawn again: {reason}"),
            Self::Evicted { last_used } => write!(f, "evicted: last used in frame {last_used}"),
            Self::Discarded => f.write_str("discarded: edited and not seen"),
            Self::Flushed => f.write_str("flushed"),
            Self::Lost => f.write_str("lost: its frame was not submitted"),
        }
    }
}

/// A ring of events.
#[derive(Debug, Clone)]
pub(crate) struct History {
    ring: Vec<PageEvent>,
    next: usize,
    most: usize,
}

impl History {
    pub(crate) fn new(most: u32) -> Self {
        let most = most as usize;
        Self { ring: Vec::with_capacity(most.min(1 << 16)), next: 0, most }
    }

    pub(crate) fn push(&mut self, event: PageEvent) {
        if self.ring.len() < self.most {
            self.ring.push(event);
        } else if let Some(oldest) = self.ring.get_mut(self.next) {
            *oldest = event;
            self.next = (self.next + 1) % self.most;
        }
    }

    /// From the oldest to the newest.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &PageEvent> {
        self.ring[self.next..].iter().chain(&self.ring[..self.next])
    }
}
