//! Commands: nothing is executed; each is counted and noted in its command buffer, and the handles it names must be
//! alive.

use super::state::{Data, Inner, Phase, enter};
use super::support::get;
use super::table::erase;
use ash::vk::{self, Handle};
use std::ffi::c_void;

/// What is looked at in a parameter of a command.
trait Argument {
    fn check(&self, inner: &mut Inner, buffer: vk::CommandBuffer);
}

/// Parameters that are not looked at.
macro_rules! plain {
    ($($ty:ty;)*) => { $( impl Argument for $ty {
        fn check(&self, _: &mut Inner, _: vk::CommandBuffer) {}
    } )* };
}

/// Parameters that are handles.
macro_rules! handles {
    ($($ty:ty;)*) => { $( impl Argument for $ty {
        fn check(&self, inner: &mut Inner, buffer: vk::CommandBuffer) {
            uses(inner, buffer, *self);
        }
    } )* };
}

/// Parameters that point to a struct with a source and a destination.
macro_rules! transfers {
    ($($ty:ty: $source:ident, $destination:ident;)*) => { $( impl Argument for $ty {
        fn check(&self, inner: &mut Inner, buffer: vk::CommandBuffer) {
            let info = get!(*self);
            uses(inner, buffer, info.$source);
            uses(inner, buffer, info.$destination);
        }
    } )* };
}

plain! {
    *const [f32; 4];
    *const c_void;
    *const u32;
    *const u64;
    *const vk::Buffer;
    *const vk::BufferCopy;
    *const vk::BufferImageCopy;
    *const vk::BufferMemoryBarrier<'_>;
    *const vk::ClearAttachment;
    *const vk::ClearColorValue;
    *const vk::ClearDepthStencilValue;
    *const vk::ClearRect;
    *const vk::CommandBuffer;
    *const vk::DebugUtilsLabelEXT<'_>;
    *const vk::DependencyInfo<'_>;
    *const vk::DescriptorSet;
    *const vk::Event;
    *const vk::ImageBlit;
    *const vk::ImageCopy;
    *const vk::ImageMemoryBarrier<'_>;
    *const vk::ImageResolve;
    *const vk::ImageSubresourceRange;
    *const vk::MemoryBarrier<'_>;
    *const vk::Rect2D;
    *const vk::RenderingInfo<'_>;
    *const vk::Viewport;
    f32;
    i32;
    u32;
    u64;
    vk::CompareOp;
    vk::CullModeFlags;
    vk::DependencyFlags;
    vk::Filter;
    vk::FrontFace;
    vk::ImageLayout;
    vk::IndexType;
    vk::PipelineBindPoint;
    vk::PipelineStageFlags;
    vk::PipelineStageFlags2;
    vk::PrimitiveTopology;
    vk::QueryControlFlags;
    vk::QueryResultFlags;
    vk::ShaderStageFlags;
    vk::StencilFaceFlags;
    vk::StencilOp;
}

handles! {
    vk::Buffer;
    vk::Event;
    vk::Image;
    vk::Pipeline;
    vk::PipelineLayout;
    vk::QueryPool;
}

transfers! {
    *const vk::CopyBufferInfo2<'_>: src_buffer, dst_buffer;
    *const vk::CopyImageInfo2<'_>: src_image, dst_image;
    *const vk::CopyBufferToImageInfo2<'_>: src_buffer, dst_image;
    *const vk::CopyImageToBufferInfo2<'_>: src_image, dst_buffer;
    *const vk::BlitImageInfo2<'_>: src_image, dst_image;
    *const vk::ResolveImageInfo2<'_>: src_image, dst_image;
}

/// Notes that a buffer's commands need an object.
fn uses<H: Handle + Copy>(inner: &mut Inner, buffer: vk::CommandBuffer, handle: H) {
    inner.data(handle);
    if let Some(Data::CommandBuffer { uses, .. }) = inner.data(buffer) {
        uses.push(handle.as_raw());
    }
}

/// Notes a command in its buffer, and complains where that is not recording.
fn note(inner: &mut Inner, buffer: vk::CommandBuffer, name: &'static str) {
    match inner.data(buffer) {
        Some(Data::CommandBuffer { phase: Phase::Recording, recorded, .. }) => recorded.push(name),
        _ => inner.error("the command buffer is not recording".to_owned()),
    }
}

macro_rules! commands {
    ($( $name:literal $pfn:ident($($argument:ident: $ty:ty),*); )*) => {
        /// The address of a command, whose signature is checked against Vulkan's here.
        pub(super) fn address(name: &str) -> vk::PFN_vkVoidFunction {
            match name {
                $( $name => {
                    unsafe extern "system" fn command(buffer: vk::CommandBuffer $(, $argument: $ty)*) {
                        let (_, mut inner) = enter(buffer, $name);
                        note(&mut inner, buffer, $name);
                        $( $argument.check(&mut inner, buffer); )*
                    }
                    erase!($pfn, command)
                } )*
                _ => None,
            }
        }
    };
}

commands! {
    "vkCmdBindPipeline" PFN_vkCmdBindPipeline(a: vk::PipelineBindPoint, b: vk::Pipeline);
    "vkCmdSetViewport" PFN_vkCmdSetViewport(a: u32, b: u32, c: *const vk::Viewport);
    "vkCmdSetScissor" PFN_vkCmdSetScissor(a: u32, b: u32, c: *const vk::Rect2D);
    "vkCmdSetLineWidth" PFN_vkCmdSetLineWidth(a: f32);
    "vkCmdSetDepthBias" PFN_vkCmdSetDepthBias(a: f32, b: f32, c: f32);
    "vkCmdSetBlendConstants" PFN_vkCmdSetBlendConstants(a: *const [f32; 4]);
    "vkCmdSetDepthBounds" PFN_vkCmdSetDepthBounds(a: f32, b: f32);
    "vkCmdSetStencilCompareMask" PFN_vkCmdSetStencilCompareMask(a: vk::StencilFaceFlags, b: u32);
    "vkCmdSetStencilWriteMask" PFN_vkCmdSetStencilWriteMask(a: vk::StencilFaceFlags, b: u32);
    "vkCmdSetStencilReference" PFN_vkCmdSetStencilReference(a: vk::StencilFaceFlags, b: u32);
    "vkCmdBindDescriptorSets" PFN_vkCmdBindDescriptorSets(a: vk::PipelineBindPoint, b: vk::PipelineLayout, c: u32, d: u32, e: *const vk::DescriptorSet, f: u32, g: *const u32);
    "vkCmdBindIndexBuffer" PFN_vkCmdBindIndexBuffer(a: vk::Buffer, b: u64, c: vk::IndexType);
    "vkCmdBindVertexBuffers" PFN_vkCmdBindVertexBuffers(a: u32, b: u32, c: *const vk::Buffer, d: *const u64);
    "vkCmdDraw" PFN_vkCmdDraw(a: u32, b: u32, c: u32, d: u32);
    "vkCmdDrawIndexed" PFN_vkCmdDrawIndexed(a: u32, b: u32, c: u32, d: i32, e: u32);
    "vkCmdDrawIndirect" PFN_vkCmdDrawIndirect(a: vk::Buffer, b: u64, c: u32, d: u32);
    "vkCmdDrawIndexedIndirect" PFN_vkCmdDrawIndexedIndirect(a: vk::Buffer, b: u64, c: u32, d: u32);
    "vkCmdDispatch" PFN_vkCmdDispatch(a: u32, b: u32, c: u32);
    "vkCmdDispatchIndirect" PFN_vkCmdDispatchIndirect(a: vk::Buffer, b: u64);
    "vkCmdCopyBuffer" PFN_vkCmdCopyBuffer(a: vk::Buffer, b: vk::Buffer, c: u32, d: *const vk::BufferCopy);
    "vkCmdCopyImage" PFN_vkCmdCopyImage(a: vk::Image, b: vk::ImageLayout, c: vk::Image, d: vk::ImageLayout, e: u32, f: *const vk::ImageCopy);
    "vkCmdBlitImage" PFN_vkCmdBlitImage(a: vk::Image, b: vk::ImageLayout, c: vk::Image, d: vk::ImageLayout, e: u32, f: *const vk::ImageBlit, g: vk::Filter);
    "vkCmdCopyBufferToImage" PFN_vkCmdCopyBufferToImage(a: vk::Buffer, b: vk::Image, c: vk::ImageLayout, d: u32, e: *const vk::BufferImageCopy);
    "vkCmdCopyImageToBuffer" PFN_vkCmdCopyImageToBuffer(a: vk::Image, b: vk::ImageLayout, c: vk::Buffer, d: u32, e: *const vk::BufferImageCopy);
    "vkCmdUpdateBuffer" PFN_vkCmdUpdateBuffer(a: vk::Buffer, b: u64, c: u64, d: *const c_void);
    "vkCmdFillBuffer" PFN_vkCmdFillBuffer(a: vk::Buffer, b: u64, c: u64, d: u32);
    "vkCmdClearColorImage" PFN_vkCmdClearColorImage(a: vk::Image, b: vk::ImageLayout, c: *const vk::ClearColorValue, d: u32, e: *const vk::ImageSubresourceRange);
    "vkCmdClearDepthStencilImage" PFN_vkCmdClearDepthStencilImage(a: vk::Image, b: vk::ImageLayout, c: *const vk::ClearDepthStencilValue, d: u32, e: *const vk::ImageSubresourceRange);
    "vkCmdClearAttachments" PFN_vkCmdClearAttachments(a: u32, b: *const vk::ClearAttachment, c: u32, d: *const vk::ClearRect);
    "vkCmdResolveImage" PFN_vkCmdResolveImage(a: vk::Image, b: vk::ImageLayout, c: vk::Image, d: vk::ImageLayout, e: u32, f: *const vk::ImageResolve);
    "vkCmdSetEvent" PFN_vkCmdSetEvent(a: vk::Event, b: vk::PipelineStageFlags);
    "vkCmdResetEvent" PFN_vkCmdResetEvent(a: vk::Event, b: vk::PipelineStageFlags);
    "vkCmdWaitEvents" PFN_vkCmdWaitEvents(a: u32, b: *const vk::Event, c: vk::PipelineStageFlags, d: vk::PipelineStageFlags, e: u32, f: *const vk::MemoryBarrier<'_>, g: u32, h: *const vk::BufferMemoryBarrier<'_>, i: u32, j: *const vk::ImageMemoryBarrier<'_>);
    "vkCmdPipelineBarrier" PFN_vkCmdPipelineBarrier(a: vk::PipelineStageFlags, b: vk::PipelineStageFlags, c: vk::DependencyFlags, d: u32, e: *const vk::MemoryBarrier<'_>, f: u32, g: *const vk::BufferMemoryBarrier<'_>, h: u32, i: *const vk::ImageMemoryBarrier<'_>);
    "vkCmdBeginQuery" PFN_vkCmdBeginQuery(a: vk::QueryPool, b: u32, c: vk::QueryControlFlags);
    "vkCmdEndQuery" PFN_vkCmdEndQuery(a: vk::QueryPool, b: u32);
    "vkCmdResetQueryPool" PFN_vkCmdResetQueryPool(a: vk::QueryPool, b: u32, c: u32);
    "vkCmdWriteTimestamp" PFN_vkCmdWriteTimestamp(a: vk::PipelineStageFlags, b: vk::QueryPool, c: u32);
    "vkCmdCopyQueryPoolResults" PFN_vkCmdCopyQueryPoolResults(a: vk::QueryPool, b: u32, c: u32, d: vk::Buffer, e: u64, f: u64, g: vk::QueryResultFlags);
    "vkCmdPushConstants" PFN_vkCmdPushConstants(a: vk::PipelineLayout, b: vk::ShaderStageFlags, c: u32, d: u32, e: *const c_void);
    "vkCmdExecuteCommands" PFN_vkCmdExecuteCommands(a: u32, b: *const vk::CommandBuffer);
    "vkCmdDispatchBase" PFN_vkCmdDispatchBase(a: u32, b: u32, c: u32, d: u32, e: u32, f: u32);
    "vkCmdDrawIndirectCount" PFN_vkCmdDrawIndirectCount(a: vk::Buffer, b: u64, c: vk::Buffer, d: u64, e: u32, f: u32);
    "vkCmdDrawIndexedIndirectCount" PFN_vkCmdDrawIndexedIndirectCount(a: vk::Buffer, b: u64, c: vk::Buffer, d: u64, e: u32, f: u32);
    "vkCmdSetEvent2" PFN_vkCmdSetEvent2(a: vk::Event, b: *const vk::DependencyInfo<'_>);
    "vkCmdResetEvent2" PFN_vkCmdResetEvent2(a: vk::Event, b: vk::PipelineStageFlags2);
    "vkCmdWaitEvents2" PFN_vkCmdWaitEvents2(a: u32, b: *const vk::Event, c: *const vk::DependencyInfo<'_>);
    "vkCmdPipelineBarrier2" PFN_vkCmdPipelineBarrier2(a: *const vk::DependencyInfo<'_>);
    "vkCmdWriteTimestamp2" PFN_vkCmdWriteTimestamp2(a: vk::PipelineStageFlags2, b: vk::QueryPool, c: u32);
    "vkCmdCopyBuffer2" PFN_vkCmdCopyBuffer2(a: *const vk::CopyBufferInfo2<'_>);
    "vkCmdCopyImage2" PFN_vkCmdCopyImage2(a: *const vk::CopyImageInfo2<'_>);
    "vkCmdCopyBufferToImage2" PFN_vkCmdCopyBufferToImage2(a: *const vk::CopyBufferToImageInfo2<'_>);
    "vkCmdCopyImageToBuffer2" PFN_vkCmdCopyImageToBuffer2(a: *const vk::CopyImageToBufferInfo2<'_>);
    "vkCmdBlitImage2" PFN_vkCmdBlitImage2(a: *const vk::BlitImageInfo2<'_>);
    "vkCmdResolveImage2" PFN_vkCmdResolveImage2(a: *const vk::ResolveImageInfo2<'_>);
    "vkCmdBeginRendering" PFN_vkCmdBeginRendering(a: *const vk::RenderingInfo<'_>);
    "vkCmdEndRendering" PFN_vkCmdEndRendering();
    "vkCmdSetCullMode" PFN_vkCmdSetCullMode(a: vk::CullModeFlags);
    "vkCmdSetFrontFace" PFN_vkCmdSetFrontFace(a: vk::FrontFace);
    "vkCmdSetPrimitiveTopology" PFN_vkCmdSetPrimitiveTopology(a: vk::PrimitiveTopology);
    "vkCmdSetViewportWithCount" PFN_vkCmdSetViewportWithCount(a: u32, b: *const vk::Viewport);
    "vkCmdSetScissorWithCount" PFN_vkCmdSetScissorWithCount(a: u32, b: *const vk::Rect2D);
    "vkCmdBindVertexBuffers2" PFN_vkCmdBindVertexBuffers2(a: u32, b: u32, c: *const vk::Buffer, d: *const u64, e: *const u64, f: *const u64);
    "vkCmdSetDepthTestEnable" PFN_vkCmdSetDepthTestEnable(a: vk::Bool32);
    "vkCmdSetDepthWriteEnable" PFN_vkCmdSetDepthWriteEnable(a: vk::Bool32);
    "vkCmdSetDepthCompareOp" PFN_vkCmdSetDepthCompareOp(a: vk::CompareOp);
    "vkCmdSetDepthBoundsTestEnable" PFN_vkCmdSetDepthBoundsTestEnable(a: vk::Bool32);
    "vkCmdSetStencilTestEnable" PFN_vkCmdSetStencilTestEnable(a: vk::Bool32);
    "vkCmdSetStencilOp" PFN_vkCmdSetStencilOp(a: vk::StencilFaceFlags, b: vk::StencilOp, c: vk::StencilOp, d: vk::StencilOp, e: vk::CompareOp);
    "vkCmdSetRasterizerDiscardEnable" PFN_vkCmdSetRasterizerDiscardEnable(a: vk::Bool32);
    "vkCmdSetDepthBiasEnable" PFN_vkCmdSetDepthBiasEnable(a: vk::Bool32);
    "vkCmdSetPrimitiveRestartEnable" PFN_vkCmdSetPrimitiveRestartEnable(a: vk::Bool32);
    "vkCmdBeginDebugUtilsLabelEXT" PFN_vkCmdBeginDebugUtilsLabelEXT(a: *const vk::DebugUtilsLabelEXT<'_>);
    "vkCmdEndDebugUtilsLabelEXT" PFN_vkCmdEndDebugUtilsLabelEXT();
    "vkCmdInsertDebugUtilsLabelEXT" PFN_vkCmdInsertDebugUtilsLabelEXT(a: *const vk::DebugUtilsLabelEXT<'_>);
}
