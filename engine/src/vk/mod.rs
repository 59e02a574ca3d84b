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
//! One choke point each: device memory ([`memory`]), submissions ([`timeline`]), sparse binds ([`bind`]), naming
//! (`Device::set_name`), descriptors ([`bindless`]), destruction ([`retire`](Device::collect)).

pub mod addresses;
#[cfg(test)]
mod addresses_tests;
pub mod barriers;
pub mod bind;
pub mod bindless;
pub mod breadcrumbs;
pub mod buffer;
pub mod bytes;
pub mod capabilities;
pub mod clocks;
pub mod command;
pub mod copies;
mod counters;
pub mod device;
mod error;
pub mod faults;
pub mod features;
pub mod image;
mod image_view;
pub mod instance;
pub mod layout;
pub mod loss;
pub mod memory;
pub mod messages;
#[cfg(any(test, feature = "null-driver"))]
pub mod null;
mod owners;
pub mod pass_bindings;
pub mod pipeline;
pub mod pressure;
pub mod query;
pub mod queue_policy;
pub mod quirks;
#[cfg(feature = "hot-reload")]
pub mod reload;
pub mod rendering;
mod retire;
pub mod sampler;
pub mod select;
pub mod shader;
pub mod sparse_image;
pub mod surface;
pub mod swapchain;
mod swapchain_policy;
pub mod timeline;

pub use addresses::{AddressBudgetError, AddressHolder};
pub use barriers::{BarrierBatch, BufferBarrier, ImageBarrier, StageAccess};
pub use bind::{BindBatch, BufferBinds, ImageBinds, ImageTileBinds, MemoryBind, TileBind};
pub use bindless::Slot;
pub use breadcrumbs::{PassMark, QueuePasses};
pub use buffer::Buffer;
pub use bytes::Bytes;
pub use capabilities::{Capabilities, FeatureMask, SparseSupport, SparseTier};
pub use command::{BufferCopy, CommandBuffer, CommandEncoder, CommandPool};
pub use copies::ImageRegion;
pub use counters::ObjectCounts;
pub use device::{Device, DeviceOptions};
pub use error::{Error, Result};
pub use faults::{Faults, Site};
pub use image::{Dimensions, Image, ImageDesc};
pub use image_view::ImageView;
pub use instance::{Instance, InstanceOptions, Validation};
pub use loss::LossReport;
pub use memory::{DeviceMemory, Location};
pub use owners::OwnerBytes;
pub use pass_bindings::PassBindings;
pub use pipeline::{Blend, ComputePipeline, GraphicsDesc, GraphicsPipeline};
pub use pressure::{OutOfMemory, Reclaim, Trimmed};
pub use query::PassTimer;
pub use queue_policy::SparseQueuePolicy;
pub use rendering::{ColourTarget, DepthTarget, Load};
pub use retire::RetireToken;
pub use sampler::{Sampler, SamplerDesc};
pub use sparse_image::{SparseImage, SparseImageRequirements};
pub use surface::Surface;
pub use swapchain::{Acquired, AcquiredImage, Presented, Swapchain, SwapchainOptions};
pub use timeline::{Point, PresentSync, Timeline};
