//! Why a page is made: what one sees when one asks for its history.

use super::{Priority, Quality};

/// Why a page is made, and what let it through in this frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
pub struct PageReason {
    /// Who wanted it.
    pub cause: Cause,
    /// Which budget it was counted in.
    pub budget: Budget,
}

/// Who wanted a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
pub enum Cause {
    /// It was sampled and not there.
    Feedback {
        /// The frame that sampled it.
        frame: u64,
        /// How many samples named it.
        count: u32,
    },
    /// It lies between what was there and what was sampled.
    Prefetch {
        /// The frame that sampled finer pages.
        frame: u64,
        /// How many samples named these.
        count: u32,
    },
    /// The application asked for its region.
    Preload,
    /// It is locked, and was not there.
    Locked,
    /// What it shows has changed.
    Invalidation {
        /// The urgency of the edit.
        priority: Priority,
        /// The frame of the edit.
        frame: u64,
    },
    /// It is refreshed all the time, and it was its turn.
    Continuous,
    /// Its inputs are better than those it was made from.
    Sharpened {
        /// What it was made from.
        from: Quality,
        /// What there is now.
        to: Quality,
    },
    /// Everything was thrown away, and it is locked.
    Flush,
    /// It was planned for a frame that was not submitted.
    Withdrawn,
}

/// Which budget a page was counted in, and how many it had counted then, this one too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
pub enum Budget {
    /// `max_uploads_per_frame`.
    Uploads {
        /// Its place among the pages of the frame, from 1.
        nth: u32,
        /// The limit; negative: none.
        limit: i32,
    },
    /// `max_uploads_per_frame_streaming`.
    Streaming {
        /// Its place among the pages of the frame, from 1.
        nth: u32,
        /// The limit; negative: none.
        limit: i32,
    },
    /// `max_continuous_updates_per_frame`.
    Continuous {
        /// Its place among the refreshes of the frame, from 1.
        nth: u32,
        /// The limit; negative: none.
        limit: i32,
    },
    /// None: locked pages are exempt.
    Exempt,
}

impl std::fmt::Display for PageReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}; {}", self.cause, self.budget)
    }
}

impl std::fmt::Display for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Feedback { frame, count } => write!(f, "sampled {count} times in frame {frame}"),
            Self::Prefetch { frame, count } => {
                write!(f, "on the way to pages sampled {count} times in frame {frame}")
            }
            Self::Preload => f.write_str("its region was asked for ahead"),
            Self::Locked => f.write_str("locked"),
            Self::Invalidation { priority, frame } => {
                write!(f, "edited in frame {frame}, {priority} priority")
            }
            Self::Continuous => f.write_str("its turn to be refreshed"),
            Self::Sharpened { from, to } => write!(f, "inputs sharpened from {} to {}", from.0, to.0),
            Self::Flush => f.write_str("flushed while locked"),
            Self::Withdrawn => f.write_str("planned for a frame that was not submitted"),
        }
    }
}

impl std::fmt::Display for Budget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (name, nth, limit) = match self {
            Self::Uploads { nth, limit } => ("uploads", nth, limit),
            Self::Streaming { nth, limit } => ("streaming uploads", nth, limit),
            Self::Continuous { nth, limit } => ("continuous updates", nth, limit),
            Self::Exempt => return f.write_str("exempt from budgets"),
        };
        if *limit < 0 { write!(f, "{nth} of {name}, no limit") } else { write!(f, "{nth} of {limit} {name}") }
    }
}
