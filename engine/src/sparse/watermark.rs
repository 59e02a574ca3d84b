//! Watermark planner.
