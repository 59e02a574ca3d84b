//! Recording barriers. Between passes the frame graph works them out; single ones are for those who record by hand.

use ash::vk;

use super::command::CommandEncoder;

/// Stages and accesses, on one side of a barrier.
pub type StageAccess = (vk::PipelineStageFlags2, vk::AccessFlags2);

/// A barrier of an image or a part of it; `UNDEFINED` as the layout before discards its contents.
#[derive(Debug, Clone, Copy)]
pub struct ImageBarrier {
    /// The image.
    pub image: vk::Image,
    /// Aspect, mips and layers.
    pub range: vk::ImageSubresourceRange,
    /// Layout before and after.
    pub layouts: (vk::ImageLayout, vk::ImageLayout),
    /// What has to be over.
    pub from: StageAccess,
    /// What may begin.
    pub to: StageAccess,
}

/// A barrier of a range of a buffer.
#[derive(Debug, Clone, Copy)]
pub struct BufferBarrier {
    /// The buffer.
    pub buffer: vk::Buffer,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub bytes: u64,
    /// What has to be over.
    pub from: StageAccess,
    /// What may begin.
    pub to: StageAccess,
}

/// Barriers of one place in a recording, collected and recorded with one call. Kept from one place to the next.
#[derive(Debug, Default)]
pub struct BarrierBatch {
    memory: Vec<vk::MemoryBarrier2<'static>>,
    images: Vec<vk::ImageMemoryBarrier2<'static>>,
    buffers: Vec<vk::BufferMemoryBarrier2<'static>>,
}

impl BarrierBatch {
    /// Adds a barrier for all memory.
    pub fn memory(&mut self, from: StageAccess, to: StageAccess) {
        self.memory.push(
            vk::MemoryBarrier2::default()
                .src_stage_mask(from.0)
                .src_access_mask(from.1)
                .dst_stage_mask(to.0)
                .dst_access_mask(to.1),
        );
    }

    /// Adds a barrier of an image.
    pub fn image(&mut self, barrier: ImageBarrier) {
        self.images.push(
            vk::ImageMemoryBarrier2::default()
                .image(barrier.image)
                .old_layout(barrier.layouts.0)
                .new_layout(barrier.layouts.1)
                .src_queue_family_index(vk::QUEUE_FAMILY_IGNORED)
                .dst_queue_family_index(vk::QUEUE_FAMILY_IGNORED)
                .src_stage_mask(barrier.from.0)
                .src_access_mask(barrier.from.1)
                .dst_stage_mask(barrier.to.0)
                .dst_access_mask(barrier.to.1)
                .subresource_range(barrier.range),
        );
    }

    /// Adds a barrier of a buffer.
    pub fn buffer(&mut self, barrier: BufferBarrier) {
        self.buffers.push(
            vk::BufferMemoryBarrier2::default()
                .buffer(barrier.buffer)
                .offset(barrier.offset)
                .size(barrier.bytes)
                .src_queue_family_index(vk::QUEUE_FAMILY_IGNORED)
                .dst_queue_family_index(vk::QUEUE_FAMILY_IGNORED)
                .src_stage_mask(barrier.from.0)
                .src_access_mask(barrier.from.1)
                .dst_stage_mask(barrier.to.0)
                .dst_access_mask(barrier.to.1),
        );
    }

    /// Whether there is nothing to record.
    pub fn is_empty(&self) -> bool {
        self.memory.is_empty() && self.images.is_empty() && self.buffers.is_empty()
    }
}

impl CommandEncoder {
    /// Records the barriers of a batch with one call, and empties it.
    pub fn barriers(&mut self, batch: &mut BarrierBatch) {
        if batch.is_empty() {
            return;
        }
        let info = vk::DependencyInfo::default()
            .memory_barriers(&batch.memory)
            .image_memory_barriers(&batch.images)
            .buffer_memory_barriers(&batch.buffers);
        // SAFETY: recording; images and buffers are alive; the arrays outlive the call.
        unsafe { self.device().cmd_pipeline_barrier2(self.raw, &info) };
        batch.memory.clear();
        batch.images.clear();
        batch.buffers.clear();
    }

    /// Makes writes of `from` visible to `to`, for all memory.
    pub fn memory_barrier(
        &mut self,
        from: (vk::PipelineStageFlags2, vk::AccessFlags2),
        to: (vk::PipelineStageFlags2, vk::AccessFlags2),
    ) {
        let barriers = [vk::MemoryBarrier2::default()
            .src_stage_mask(from.0)
            .src_access_mask(from.1)
            .dst_stage_mask(to.0)
            .dst_access_mask(to.1)];
        let info = vk::DependencyInfo::default().memory_barriers(&barriers);
        // SAFETY: recording; the array is a local that outlives the call.
        unsafe { self.device().cmd_pipeline_barrier2(self.raw, &info) };
    }

    /// Moves all of an image from one layout to another; `UNDEFINED` discards its contents.
    pub fn image_barrier(
        &mut self,
        image: vk::Image,
        aspect: vk::ImageAspectFlags,
        layouts: (vk::ImageLayout, vk::ImageLayout),
        from: (vk::PipelineStageFlags2, vk::AccessFlags2),
        to: (vk::PipelineStageFlags2, vk::AccessFlags2),
    ) {
        let range = vk::ImageSubresourceRange::default()
            .aspect_mask(aspect)
            .level_count(vk::REMAINING_MIP_LEVELS)
            .layer_count(vk::REMAINING_ARRAY_LAYERS);
        let barriers = [vk::ImageMemoryBarrier2::default()
            .image(image)
            .old_layout(layouts.0)
            .new_layout(layouts.1)
            .src_stage_mask(from.0)
            .src_access_mask(from.1)
            .dst_stage_mask(to.0)
            .dst_access_mask(to.1)
            .subresource_range(range)];
        let info = vk::DependencyInfo::default().image_memory_barriers(&barriers);
        // SAFETY: recording; the image is alive; the array is a local that outlives the call.
        unsafe { self.device().cmd_pipeline_barrier2(self.raw, &info) };
    }
}
