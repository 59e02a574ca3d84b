//! How a pass touches a resource, and what that means to Vulkan: stages, accesses, layout, usage.

use ash::vk::{AccessFlags2, BufferUsageFlags, ImageLayout, ImageUsageFlags, PipelineStageFlags2};
use serde::{Deserialize, Serialize};

use super::declaration::Queue;

/// A set of shader stages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ShaderStages(u8);

impl ShaderStages {
    /// Vertex shaders.
    pub const VERTEX: Self = Self(1);
    /// Fragment shaders.
    pub const FRAGMENT: Self = Self(2);
    /// Compute shaders.
    pub const COMPUTE: Self = Self(4);
    /// Vertex and fragment shaders.
    pub const DRAW: Self = Self(3);

    /// The stages of both.
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn stages(self) -> PipelineStageFlags2 {
        let all = [
            (Self::VERTEX, PipelineStageFlags2::VERTEX_SHADER),
            (Self::FRAGMENT, PipelineStageFlags2::FRAGMENT_SHADER),
            (Self::COMPUTE, PipelineStageFlags2::COMPUTE_SHADER),
        ];
        all.into_iter()
            .filter(|(stage, _)| self.0 & stage.0 != 0)
            .fold(PipelineStageFlags2::NONE, |flags, (_, flag)| flags | flag)
    }
}

/// How a pass touches a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Access {
    /// A colour attachment that is cleared, or drawn over as a whole: what was there is discarded. A resolve too.
    ColourAttachment,
    /// A colour attachment that keeps what was there: loaded, blended.
    ColourAttachmentOver,
    /// A depth attachment that is cleared: what was there is discarded.
    DepthAttachment,
    /// A depth attachment that keeps what was there, tested and written.
    DepthAttachmentOver,
    /// A depth attachment that is only tested against.
    DepthTest,
    /// A depth image with one sample a pixel that another with several is resolved into: what was there is discarded.
    DepthResolve,
    /// A sampled image.
    Sampled(ShaderStages),
    /// A storage buffer or image that shaders read.
    StorageRead(ShaderStages),
    /// A storage buffer or image that shaders write as a whole: what was there is discarded.
    StorageWrite(ShaderStages),
    /// A storage buffer or image that shaders write and that keeps the rest of what was there.
    StorageReadWrite(ShaderStages),
    /// Parameters of indirect draws and dispatches.
    Indirect,
    /// Indices.
    Index,
    /// Source of a copy or a blit.
    CopySource,
    /// Destination of a copy, blit, fill or clear that covers all of it: what was there is discarded.
    CopyDestination,
    /// Destination of a copy that keeps the rest of what was there.
    CopyDestinationOver,
    /// Read by the host once the frame is done.
    HostRead,
    /// Shown by a swapchain.
    Present,
    /// Pages are bound or unbound: only by passes on [`Queue::Commit`](super::Queue::Commit). No command touches the
    /// resource, what was there stays and layouts do not change; whoever uses it next waits.
    Commit,
}

impl Access {
    /// Whether it changes the resource.
    pub fn writes(self) -> bool {
        !matches!(
            self,
            Self::DepthTest
                | Self::Sampled(_)
                | Self::StorageRead(_)
                | Self::Indirect
                | Self::Index
                | Self::CopySource
                | Self::HostRead
                | Self::Present
        )
    }

    /// Whether it needs what was there before: everything but a write that discards.
    pub fn reads(self) -> bool {
        !matches!(
            self,
            Self::ColourAttachment
                | Self::DepthAttachment
                | Self::DepthResolve
                | Self::StorageWrite(_)
                | Self::CopyDestination
        )
    }

    /// Stages at which it happens.
    pub fn stages(self) -> PipelineStageFlags2 {
        use PipelineStageFlags2 as Stage;
        match self {
            // Depth is resolved where colour is written, as the specification has it.
            Self::ColourAttachment | Self::ColourAttachmentOver | Self::DepthResolve => {
                Stage::COLOR_ATTACHMENT_OUTPUT
            }
            Self::DepthAttachment | Self::DepthAttachmentOver | Self::DepthTest => {
                Stage::EARLY_FRAGMENT_TESTS | Stage::LATE_FRAGMENT_TESTS
            }
            Self::Sampled(stages)
            | Self::StorageRead(stages)
            | Self::StorageWrite(stages)
            | Self::StorageReadWrite(stages) => stages.stages(),
            Self::Indirect => Stage::DRAW_INDIRECT,
            Self::Index => Stage::INDEX_INPUT,
            Self::CopySource | Self::CopyDestination | Self::CopyDestinationOver => Stage::ALL_TRANSFER,
            Self::HostRead => Stage::HOST,
            Self::Present | Self::Commit => Stage::NONE,
        }
    }

    /// Memory accesses that it makes.
    pub fn accesses(self) -> AccessFlags2 {
        use AccessFlags2 as Flag;
        match self {
            Self::ColourAttachment | Self::DepthResolve => Flag::COLOR_ATTACHMENT_WRITE,
            Self::ColourAttachmentOver => Flag::COLOR_ATTACHMENT_READ | Flag::COLOR_ATTACHMENT_WRITE,
            // A cleared depth buffer is read by the very tests that fill it.
            Self::DepthAttachment | Self::DepthAttachmentOver => {
                Flag::DEPTH_STENCIL_ATTACHMENT_READ | Flag::DEPTH_STENCIL_ATTACHMENT_WRITE
            }
            Self::DepthTest => Flag::DEPTH_STENCIL_ATTACHMENT_READ,
            Self::Sampled(_) => Flag::SHADER_SAMPLED_READ,
            Self::StorageRead(_) => Flag::SHADER_STORAGE_READ,
            Self::StorageWrite(_) => Flag::SHADER_STORAGE_WRITE,
            Self::StorageReadWrite(_) => Flag::SHADER_STORAGE_READ | Flag::SHADER_STORAGE_WRITE,
            Self::Indirect => Flag::INDIRECT_COMMAND_READ,
            Self::Index => Flag::INDEX_READ,
            Self::CopySource => Flag::TRANSFER_READ,
            Self::CopyDestination | Self::CopyDestinationOver => Flag::TRANSFER_WRITE,
            Self::HostRead => Flag::HOST_READ,
            Self::Present | Self::Commit => Flag::NONE,
        }
    }

    /// Layout that an image has meanwhile.
    pub fn layout(self) -> ImageLayout {
        match self {
            Self::ColourAttachment | Self::ColourAttachmentOver => ImageLayout::COLOR_ATTACHMENT_OPTIMAL,
            Self::DepthAttachment | Self::DepthAttachmentOver | Self::DepthResolve => {
                ImageLayout::DEPTH_ATTACHMENT_OPTIMAL
            }
            Self::DepthTest => ImageLayout::DEPTH_READ_ONLY_OPTIMAL,
            Self::Sampled(_) => ImageLayout::SHADER_READ_ONLY_OPTIMAL,
            Self::StorageRead(_) | Self::StorageWrite(_) | Self::StorageReadWrite(_) => ImageLayout::GENERAL,
            Self::CopySource => ImageLayout::TRANSFER_SRC_OPTIMAL,
            Self::CopyDestination | Self::CopyDestinationOver => ImageLayout::TRANSFER_DST_OPTIMAL,
            Self::Present => ImageLayout::PRESENT_SRC_KHR,
            Self::Indirect | Self::Index | Self::HostRead => ImageLayout::GENERAL,
            Self::Commit => ImageLayout::UNDEFINED,
        }
    }

    /// Usage that an image must have been made with.
    pub fn image_usage(self) -> ImageUsageFlags {
        match self {
            Self::ColourAttachment | Self::ColourAttachmentOver => ImageUsageFlags::COLOR_ATTACHMENT,
            Self::DepthAttachment | Self::DepthAttachmentOver | Self::DepthTest | Self::DepthResolve => {
                ImageUsageFlags::DEPTH_STENCIL_ATTACHMENT
            }
            Self::Sampled(_) => ImageUsageFlags::SAMPLED,
            Self::StorageRead(_) | Self::StorageWrite(_) | Self::StorageReadWrite(_) => {
                ImageUsageFlags::STORAGE
            }
            Self::CopySource => ImageUsageFlags::TRANSFER_SRC,
            Self::CopyDestination | Self::CopyDestinationOver => ImageUsageFlags::TRANSFER_DST,
            Self::Indirect | Self::Index | Self::HostRead | Self::Present | Self::Commit => {
                ImageUsageFlags::empty()
            }
        }
    }

    /// Usage that a buffer must have been made with.
    pub fn buffer_usage(self) -> BufferUsageFlags {
        match self {
            Self::StorageRead(_) | Self::StorageWrite(_) | Self::StorageReadWrite(_) => {
                BufferUsageFlags::STORAGE_BUFFER
            }
            Self::Indirect => BufferUsageFlags::INDIRECT_BUFFER,
            Self::Index => BufferUsageFlags::INDEX_BUFFER,
            Self::CopySource => BufferUsageFlags::TRANSFER_SRC,
            Self::CopyDestination | Self::CopyDestinationOver => BufferUsageFlags::TRANSFER_DST,
            _ => BufferUsageFlags::empty(),
        }
    }

    /// Whether an image can be touched so.
    pub fn fits_images(self) -> bool {
        !matches!(self, Self::Indirect | Self::Index | Self::HostRead)
    }

    /// Whether a buffer can be touched so.
    pub fn fits_buffers(self) -> bool {
        matches!(self, Self::HostRead | Self::Commit) || !self.buffer_usage().is_empty()
    }

    /// Whether passes of a queue can touch a resource so: no draws on the compute queue, only copies on the transfer
    /// queue, only page binds on the commit queue.
    pub fn fits_queue(self, queue: Queue) -> bool {
        let is_commit = self == Self::Commit;
        match queue {
            Queue::Graphics => !is_commit,
            Queue::Compute => match self {
                Self::ColourAttachment
                | Self::ColourAttachmentOver
                | Self::DepthAttachment
                | Self::DepthAttachmentOver
                | Self::DepthTest
                | Self::DepthResolve
                | Self::Index => false,
                Self::Sampled(stages)
                | Self::StorageRead(stages)
                | Self::StorageWrite(stages)
                | Self::StorageReadWrite(stages) => stages == ShaderStages::COMPUTE,
                _ => !is_commit,
            },
            Queue::Transfer => {
                matches!(self, Self::CopySource | Self::CopyDestination | Self::CopyDestinationOver)
            }
            Queue::Commit => is_commit,
        }
    }
}
