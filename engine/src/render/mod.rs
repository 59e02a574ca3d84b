//! The frame itself.
