//! What can go wrong with a frame.

use std::sync::Arc;

use crate::graph::GraphError;
use crate::vk;

/// Result of the frame graph.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What a pass gives when it cannot record.
pub type PassError = Box<dyn std::error::Error + Send + Sync>;

/// What can go wrong with a frame. Nothing of it was submitted but for [`Error::Half`], and the graph is ready for the
/// next.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The declaration, or how a pass uses it.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// The driver.
    #[error(transparent)]
    Vulkan(#[from] vk::Error),
    /// A submission was refused after others of the frame had been made: those are in flight, and do what their passes
    /// say.
    #[error("only {done} of {all} submissions of a frame were made: {source}")]
    Half {
        /// Submissions that were made.
        done: usize,
        /// Submissions of the frame.
        all: usize,
        /// Moment when the graphics queue is done with those.
        graphics: vk::Point,
        /// Why the next was refused.
        source: Box<vk::Error>,
    },
    /// A pass could not record.
    #[error("pass '{pass}': {source}")]
    Pass {
        /// Name of the pass.
        pass: &'static str,
        /// What it said.
        source: Arc<dyn std::error::Error + Send + Sync>,
    },
}

impl Error {
    /// What a pass said: errors of the graph and of the driver stay what they are.
    pub(super) fn of_pass(pass: &'static str, error: PassError) -> Self {
        let error = match error.downcast::<Error>() {
            Ok(own) => return *own,
            Err(error) => error,
        };
        let error = match error.downcast::<GraphError>() {
            Ok(graph) => return Error::Graph(*graph),
            Err(error) => error,
        };
        match error.downcast::<vk::Error>() {
            Ok(vulkan) => Error::Vulkan(*vulkan),
            Err(error) => Error::Pass { pass, source: error.into() },
        }
    }
}
