//! The planner as a whole.
