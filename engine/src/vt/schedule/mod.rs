//! What comes first, how much of it in one frame, and how blurry a full pool has to be.
//!
//! ```text
//! pages wanted --Candidate (one number each, sorted)--> most urgent first --Budgets--> this frame's
//! pages in use --BiasGovernor--> mip bias
//! ```

mod bias;
mod budget;
mod candidate;
#[cfg(test)]
mod tests;

pub use bias::{BiasGovernor, BiasLimits, PoolLoad};
pub use budget::Budgets;
pub(crate) use candidate::{Candidate, Class, Kind};
