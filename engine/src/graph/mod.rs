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
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use vasa::graph::{Access, BufferInfo, FrameGraph, GraphOptions, Queue};
//! use vasa::vk::timeline::PresentSync;
//! use vasa::vk::{Buffer, BufferCopy, Device};
//!
//! fn draw_once(device: &Arc<Device>, result: &Buffer) -> Result<(), vasa::graph::Error> {
//!     const BYTES: u64 = 256 << 10;
//!     let mut graph = FrameGraph::new(device, 2, GraphOptions::default())?; // once; two frames in flight
//!
//!     graph.wait_for_place()?; // until the frame that was in this place is done
//!     let mut frame = graph.begin();
//!     let mut out = frame.import_buffer(result, Some(Access::HostRead));
//!     let mut work = frame.buffer("Work", BufferInfo::new(BYTES));
//!
//!     let fill = frame.pass("Fill", Queue::Graphics).write(&mut work, Access::CopyDestination);
//!     let filled = work; // the version that this pass leaves
//!     fill.record(move |pass| {
//!         let (encoder, resources) = pass.split();
//!         encoder.fill_buffer(resources.buffer(filled)?, 0, BYTES, 7);
//!         Ok(())
//!     });
//!
//!     let copy = frame
//!         .pass("Copy", Queue::Graphics)
//!         .read(work, Access::CopySource)
//!         .write(&mut out, Access::CopyDestination);
//!     copy.record(move |pass| {
//!         let (encoder, resources) = pass.split();
//!         let part = BufferCopy { source: 0, destination: 0, bytes: 4 };
//!         encoder.copy_buffer(resources.buffer(work)?, result, &[part]);
//!         Ok(())
//!     });
//!
//!     frame.compile()?.record()?.submit(&[], PresentSync::default())?;
//!     Ok(())
//! }
//! ```

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
