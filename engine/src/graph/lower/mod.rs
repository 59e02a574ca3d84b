//! From a compiled frame to Vulkan: the half that needs a device.
//!
//! ```text
//! FrameGraph::begin -> Frame     passes are declared, each with what it records     (waits for the frame in its place)
//! Frame::compile    -> Ready     order, places and barriers are known
//! Ready::record     -> Recorded  transients exist, passes have recorded             (nothing is submitted yet)
//! Recorded::submit  -> Done      in flight; resources know how the frame left them
//! ```
//!
//! Each step consumes the one before. Until the last, nothing has happened that the next frame could see: a frame that
//! fails is dropped, and whatever it had made stays for the next.

mod context;
mod error;
mod frame;
mod frame_graph;
mod history;
mod info;
mod needs;
mod record;
mod states;
mod stats;
mod submit;
mod transients;

pub use context::{PassContext, PassResources};
pub use error::{Error, PassError, Result};
pub use frame::{Frame, PassBuilder, Ready};
pub use frame_graph::{FrameGraph, GraphOptions};
pub use record::Recorded;
pub use stats::GraphStats;
pub use submit::Done;
