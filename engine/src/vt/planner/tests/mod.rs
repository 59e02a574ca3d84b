//! The planner as a whole, against a GPU that only does what plans say, and against a planner of lists and loops.

mod edits;
mod life;
mod naive;
mod random;
mod seen;
mod views;
mod world;

use super::*;
use crate::vt::feedback::Feedback;
use crate::vt::grid::Region;
use crate::vt::pool::{LayerFormat, PhysicalPage, PoolDesc, PoolId};
use world::{Mood, World, page};
