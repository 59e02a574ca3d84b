//! The frame graph: passes say what they read and write, everything else follows.
//!
//! ```text
//! Declaration --compile--> Compiled                              (pure: no Vulkan call, no clock, no I/O)
//!   declare    passes, resources, accesses; versioned handles
//!   cull       passes whose results nobody uses go
//!   order      a legal order, cut into submissions, a queue each
//!   lifetime   first and last use of every transient, across queues
//!   pack       transients that never meet share memory
//!   sync       barriers, batched one a pass; semaphores between submissions
//! ```
//!
//! A frame goes one way, and each step consumes the one before: declared, compiled, executing, retired.

mod access;
mod cells;
mod check;
mod compile;
mod compiled;
mod cull;
mod declaration;
mod declare;
mod error;
mod handle;
mod lifetime;
mod lower;
mod order;
mod sync;
#[cfg(test)]
mod tests;

pub mod dump;
pub mod pack;
pub mod recorded;

pub use access::{Access, ShaderStages};
pub use compile::{CompileStats, Compiler, Options, Order, Queues};
pub use compiled::{
    Barrier, Compiled, CullReason, HeapPlan, Lifetime, PassPlan, Placement, Scope, Submission, Wait,
};
pub use declaration::{
    BufferInfo, Declaration, HeapKey, ImageInfo, ImportState, LeftState, MemoryNeeds, Name, Origin, Pass,
    Queue, Resource, ResourceInfo, Subresources, Use,
};
pub use error::GraphError;
pub use handle::{BufferHandle, Handle, ImageHandle, PassId, ResourceId};
pub use lower::{
    Done, Error, Frame, FrameGraph, GraphOptions, GraphStats, PassBuilder, PassContext, PassError,
    PassResources, Ready, Recorded, Result,
};
