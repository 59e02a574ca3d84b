//! The Vulkan floor, and the only home of `unsafe`.
//!
//! An [`Instance`] finds devices; [`select`] and [`queue_policy`] decide (pure) which device and which of
//! its queues are used; a [`Device`] is opened and everything hangs from it:
//!
//! ```text
//! Instance -> Capabilities -> select, queue_policy -> Device
//!                                                       |- Buffer, Image, Sampler, pipelines   (handles)
//!                                                       |- bindless table                      (descriptors)
//!                                                       |- CommandPool -> CommandEncoder -> CommandBuffer
//!                                                       |- submit, bind_sparse -> Point        (timelines)
//!                             Surface ---------------> |- Swapchain -> acquire, present
//!                                                       `- retire queue                        (destruction)
//! ```
//!
//! One choke point each: device memory ([`memory`]), sparse binds and submissions ([`timeline`]), naming
//! (`Device::set_name`), descriptors ([`bindless`]), destruction ([`retire`](Device::collect)).

pub mod bindless;
pub mod buffer;
pub mod capabilities;
pub mod command;
mod counters;
pub mod device;
mod error;
pub mod image;
pub mod instance;
pub mod layout;
pub mod memory;
pub mod messages;
#[cfg(any(test, feature = "null-driver"))]
pub mod null;
pub mod pass_bindings;
pub mod pipeline;
pub mod query;
pub mod queue_policy;
pub mod quirks;
mod retire;
pub mod select;
pub mod shader;
pub mod surface;
pub mod swapchain;
mod swapchain_policy;
pub mod timeline;

pub use bindless::Slot;
pub use buffer::Buffer;
pub use capabilities::{Capabilities, FeatureMask, SparseSupport, SparseTier};
pub use command::{BufferCopy, ColourTarget, CommandBuffer, CommandEncoder, CommandPool};
pub use counters::ObjectCounts;
pub use device::{Device, DeviceOptions};
pub use error::{Error, Result};
pub use image::{Image, ImageDesc, Sampler, SamplerDesc};
pub use instance::{Instance, InstanceOptions, Validation};
pub use memory::{DeviceMemory, Location};
pub use pass_bindings::PassBindings;
pub use pipeline::{ComputePipeline, GraphicsDesc, GraphicsPipeline};
pub use query::PassTimer;
pub use queue_policy::SparseQueuePolicy;
pub use surface::Surface;
pub use swapchain::{Acquired, AcquiredImage, Presented, Swapchain, SwapchainOptions};
pub use timeline::{BindBatch, BufferBinds, MemoryBind, Point, PresentSync, Timeline};
