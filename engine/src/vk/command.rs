//! Recording commands: pools that know when they may be reset, encoders that keep recordings accounted for.
//!
//! Recording is safe Rust: handles are kept alive by the retire queue, which knows the open recordings, and a pool
//! is not reset under them. A pool and the recordings begun from it belong to one thread at a time (Vulkan's host
//! synchronisation). What commands do to each other on the GPU is the caller's contract, watched by the validation
//! layer.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use ash::vk;

use super::buffer::Buffer;
use super::device::Device;
use super::error::{Error, Result};
use super::image::Image;
use super::pass_bindings::{Arena, PassBindings};
use super::pipeline::ComputePipeline;
use super::retire::Garbage;
use super::timeline::{Point, Timeline};

/// Command buffers of one queue that are reset together.
#[derive(Debug)]
pub struct CommandPool {
    device: Arc<Device>,
    raw: vk::CommandPool,
    timeline: Timeline,
    free: Vec<vk::CommandBuffer>,
    used: Vec<vk::CommandBuffer>,
    last: Arc<AtomicU64>,
    /// Recordings begun here and neither submitted nor dropped.
    open: Arc<AtomicU32>,
    descriptors: Arena,
}

impl CommandPool {
    /// A pool for the queue of a timeline.
    ///
    /// # Errors
    /// When the queue does not exist or the driver has no memory.
    pub fn new(device: &Arc<Device>, timeline: Timeline) -> Result<Self> {
        let family =
            device.queue(timeline).ok_or_else(|| device.unsupported("a command pool", "that queue"))?.family;
        device.alive("vkCreateCommandPool")?;
        let info = vk::CommandPoolCreateInfo::default().queue_family_index(family);
        // SAFETY: the family was created with the device.
        let raw = unsafe { device.raw.create_command_pool(&info, None) }
            .map_err(|r| device.noticed(Error::of("vkCreateCommandPool")(r)))?;
        device.counters.made();
        Ok(Self {
            device: device.clone(),
            raw,
            timeline,
            free: Vec::new(),
            used: Vec::new(),
            last: Arc::default(),
            open: Arc::default(),
            descriptors: Arena::new(device),
        })
    }

    /// The raw command pool, for libraries that record commands of their own (an overlay).
    pub fn raw(&self) -> vk::CommandPool {
        self.raw
    }

    /// Waits until everything recorded here is done, and makes its command buffers free again.
    ///
    /// # Errors
    /// When a recording of this pool is neither submitted nor dropped, or the device is lost.
    pub fn reset(&mut self) -> Result<()> {
        if self.open.load(Ordering::Acquire) > 0 {
            return Err(Error::Other("a command pool was reset while a recording of it was open".into()));
        }
        let last = Point { timeline: self.timeline, value: self.last.load(Ordering::Acquire) };
        self.device.wait(&[last])?;
        // SAFETY: the wait above covers everything submitted from this pool, and no recording of it is open.
        unsafe { self.device.raw.reset_command_pool(self.raw, vk::CommandPoolResetFlags::empty()) }
            .map_err(|r| self.device.noticed(Error::of("vkResetCommandPool")(r)))?;
        self.free.append(&mut self.used);
        self.descriptors.reset()
    }

    /// Begins a recording.
    ///
    /// # Errors
    /// When the driver has no memory.
    pub fn begin(&mut self, name: &str) -> Result<CommandEncoder> {
        self.device.alive("vkBeginCommandBuffer")?;
        let raw = match self.free.pop() {
            Some(raw) => raw,
            None => {
                let info =
                    vk::CommandBufferAllocateInfo::default().command_pool(self.raw).command_buffer_count(1);
                // SAFETY: the pool is alive and used by one thread (`&mut self`).
                unsafe { self.device.raw.allocate_command_buffers(&info) }
                    .map_err(|r| self.device.noticed(Error::of("vkAllocateCommandBuffers")(r)))?[0]
            }
        };
        self.used.push(raw);
        let info = vk::CommandBufferBeginInfo::default().flags(vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT);
        // SAFETY: the command buffer is in its initial state: new, or reset with its pool.
        unsafe { self.device.raw.begin_command_buffer(raw, &info) }
            .map_err(|r| self.device.noticed(Error::of("vkBeginCommandBuffer")(r)))?;
        self.device.set_name(raw, name);
        self.open.fetch_add(1, Ordering::AcqRel);
        let token = Token {
            device: self.device.clone(),
            timeline: self.timeline,
            serial: self.device.begin_recording(self.timeline),
            last: self.last.clone(),
            open: self.open.clone(),
        };
        Ok(CommandEncoder {
            raw,
            token,
            descriptors: self.descriptors.clone(),
            failed: None,
            pass: 0,
            group: None,
            about: None,
            is_pass_labelled: false,
        })
    }
}

impl Drop for CommandPool {
    fn drop(&mut self) {
        for pool in self.descriptors.take_pools() {
            self.device.retire(Garbage::DescriptorPool(pool));
        }
        self.device.retire(Garbage::CommandPool(self.raw));
    }
}

/// One open recording: what it uses is not destroyed before it is submitted, and its pool not reset.
#[derive(Debug)]
pub(super) struct Token {
    pub(super) device: Arc<Device>,
    pub(super) timeline: Timeline,
    serial: u64,
    last: Arc<AtomicU64>,
    open: Arc<AtomicU32>,
}

impl Drop for Token {
    fn drop(&mut self) {
        self.device.end_recording(self.timeline, self.serial);
        self.open.fetch_sub(1, Ordering::AcqRel);
    }
}

/// A finished recording, to be submitted once.
#[derive(Debug)]
pub struct CommandBuffer {
    raw: vk::CommandBuffer,
    token: Token,
}

impl CommandBuffer {
    pub(super) fn raw(&self) -> vk::CommandBuffer {
        self.raw
    }

    pub(super) fn submitted(&self, point: Point) {
        self.token.last.fetch_max(point.value, Ordering::AcqRel);
    }
}

/// A recording under way.
#[derive(Debug)]
pub struct CommandEncoder {
    pub(super) raw: vk::CommandBuffer,
    pub(super) token: Token,
    descriptors: Arena,
    /// The first thing that went wrong while recording; reported by `finish`.
    failed: Option<Error>,
    /// Breadcrumb of the pass that is open; 0 = none.
    pub(super) pass: u32,
    /// The group of passes that is open.
    pub(super) group: Option<&'static str>,
    /// What the next pass is about.
    pub(super) about: Option<String>,
    /// Whether the pass that is open has a label of its own.
    pub(super) is_pass_labelled: bool,
}

/// A copy between buffers, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BufferCopy {
    /// Offset in the source.
    pub source: u64,
    /// Offset in the destination.
    pub destination: u64,
    /// Length.
    pub bytes: u64,
}

impl CommandEncoder {
    pub(super) fn device(&self) -> &ash::Device {
        &self.token.device.raw
    }

    /// The raw command buffer, for commands of other libraries (an overlay).
    pub fn raw(&self) -> vk::CommandBuffer {
        self.raw
    }

    /// Ends the recording.
    ///
    /// # Errors
    /// When the driver ran out of memory while recording.
    pub fn finish(mut self) -> Result<CommandBuffer> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        self.token.device.alive("vkEndCommandBuffer")?;
        // SAFETY: the command buffer is recording.
        unsafe { self.device().end_command_buffer(self.raw) }
            .map_err(|r| self.token.device.noticed(Error::of("vkEndCommandBuffer")(r)))?;
        Ok(CommandBuffer { raw: self.raw, token: self.token })
    }

    /// Opens a group: one label around the passes that follow, until another group or none. A pass that is named as its group
    /// gets no label of its own. Outside of passes; a group ends with its command buffer at the latest.
    pub fn set_group(&mut self, group: Option<&'static str>) {
        if self.group == group {
            return;
        }
        if self.group.is_some() {
            self.end_label();
        }
        if let Some(name) = group {
            self.begin_label(name);
        }
        self.group = group;
    }

    /// What the next pass is about: follows its name in its label.
    pub fn set_about(&mut self, about: Option<String>) {
        self.about = about;
    }

    /// Opens a labelled region that captures and profilers show.
    pub fn begin_label(&mut self, label: &str) {
        if let Some(debug) = &self.token.device.debug {
            let label = std::ffi::CString::new(label).unwrap_or_default();
            let info = vk::DebugUtilsLabelEXT::default().label_name(&label);
            // SAFETY: recording; the label is a local that outlives the call.
            unsafe { debug.cmd_begin_debug_utils_label(self.raw, &info) };
        }
    }

    /// Closes the region opened last.
    pub fn end_label(&mut self) {
        if let Some(debug) = &self.token.device.debug {
            // SAFETY: recording; callers pair the calls.
            unsafe { debug.cmd_end_debug_utils_label(self.raw) };
        }
    }

    /// Writes a timestamp once all earlier commands are done.
    pub fn write_timestamp(&mut self, pool: vk::QueryPool, query: u32) {
        // SAFETY: recording; the pool was reset for this frame by its owner.
        unsafe {
            self.device().cmd_write_timestamp2(self.raw, vk::PipelineStageFlags2::ALL_COMMANDS, pool, query)
        };
    }

    /// Copies ranges between buffers.
    pub fn copy_buffer(&mut self, source: &Buffer, destination: &Buffer, copies: &[BufferCopy]) {
        if copies.is_empty() {
            return;
        }
        let regions: Vec<_> = copies
            .iter()
            .map(|c| vk::BufferCopy { src_offset: c.source, dst_offset: c.destination, size: c.bytes })
            .collect();
        // SAFETY: recording; both buffers are alive; the array is a local.
        unsafe { self.device().cmd_copy_buffer(self.raw, source.raw(), destination.raw(), &regions) };
    }

    /// Fills a range with a word; offset and length are multiples of 4.
    pub fn fill_buffer(&mut self, buffer: &Buffer, offset: u64, bytes: u64, word: u32) {
        // SAFETY: recording; the buffer is alive.
        unsafe { self.device().cmd_fill_buffer(self.raw, buffer.raw(), offset, bytes, word) };
    }

    /// Copies a buffer into one mip of an image in the layout `TRANSFER_DST_OPTIMAL`.
    pub fn copy_buffer_to_image(&mut self, source: &Buffer, offset: u64, image: &Image, mip: u32) {
        let [width, height] = image.desc().extent.map(|side| (side >> mip).max(1));
        let region = vk::BufferImageCopy::default()
            .buffer_offset(offset)
            .image_subresource(
                vk::ImageSubresourceLayers::default()
                    .aspect_mask(image.desc().aspect())
                    .mip_level(mip)
                    .layer_count(1),
            )
            .image_extent(vk::Extent3D { width, height, depth: 1 });
        let layout = vk::ImageLayout::TRANSFER_DST_OPTIMAL;
        // SAFETY: recording; both are alive; the region is a local.
        unsafe {
            self.device().cmd_copy_buffer_to_image(self.raw, source.raw(), image.raw(), layout, &[region])
        };
    }

    /// Copies the first mip of an image in the layout `TRANSFER_SRC_OPTIMAL` into a buffer, rows packed.
    pub fn copy_image_to_buffer(&mut self, image: &Image, destination: &Buffer, offset: u64) {
        let [width, height] = image.desc().extent;
        let region = vk::BufferImageCopy::default()
            .buffer_offset(offset)
            .image_subresource(
                vk::ImageSubresourceLayers::default().aspect_mask(image.desc().aspect()).layer_count(1),
            )
            .image_extent(vk::Extent3D { width, height, depth: 1 });
        let layout = vk::ImageLayout::TRANSFER_SRC_OPTIMAL;
        // SAFETY: recording; both are alive; the region is a local.
        unsafe {
            self.device().cmd_copy_image_to_buffer(
                self.raw,
                image.raw(),
                layout,
                destination.raw(),
                &[region],
            )
        };
    }

    /// Copies one image over another (source `TRANSFER_SRC_OPTIMAL`, destination `TRANSFER_DST_OPTIMAL`),
    /// scaled and converted.
    pub fn blit(&mut self, source: (vk::Image, [u32; 2]), destination: (vk::Image, [u32; 2])) {
        let layers =
            vk::ImageSubresourceLayers::default().aspect_mask(vk::ImageAspectFlags::COLOR).layer_count(1);
        let corners =
            |[x, y]: [u32; 2]| [vk::Offset3D::default(), vk::Offset3D { x: x as i32, y: y as i32, z: 1 }];
        let region = vk::ImageBlit2::default()
            .src_subresource(layers)
            .dst_subresource(layers)
            .src_offsets(corners(source.1))
            .dst_offsets(corners(destination.1));
        let regions = [region];
        let info = vk::BlitImageInfo2::default()
            .src_image(source.0)
            .src_image_layout(vk::ImageLayout::TRANSFER_SRC_OPTIMAL)
            .dst_image(destination.0)
            .dst_image_layout(vk::ImageLayout::TRANSFER_DST_OPTIMAL)
            .regions(&regions)
            .filter(vk::Filter::LINEAR);
        // SAFETY: recording; both images are alive; the array is a local.
        unsafe { self.device().cmd_blit_image2(self.raw, &info) };
    }

    /// Binds a compute pipeline with its resources and push constants, and dispatches.
    pub fn dispatch<P: bytemuck::Pod>(
        &mut self,
        pipeline: &ComputePipeline,
        bindings: &PassBindings<'_>,
        push: &P,
        groups: [u32; 3],
    ) {
        if self.bind(vk::PipelineBindPoint::COMPUTE, pipeline.raw(), bindings, push) {
            // SAFETY: recording; pipeline and sets were just bound.
            unsafe { self.device().cmd_dispatch(self.raw, groups[0], groups[1], groups[2]) };
        }
    }

    /// The same with the number of workgroups read from a buffer: three words at `offset`, a multiple of 4.
    pub fn dispatch_indirect<P: bytemuck::Pod>(
        &mut self,
        pipeline: &ComputePipeline,
        bindings: &PassBindings<'_>,
        push: &P,
        (groups, offset): (&Buffer, u64),
    ) {
        if self.bind(vk::PipelineBindPoint::COMPUTE, pipeline.raw(), bindings, push) {
            // SAFETY: recording; pipeline and sets were just bound; the buffer is alive and made for indirect use.
            unsafe { self.device().cmd_dispatch_indirect(self.raw, groups.raw(), offset) };
        }
    }

    /// Returns whether everything is bound; otherwise the error waits for `finish`.
    pub(super) fn bind<P: bytemuck::Pod>(
        &mut self,
        point: vk::PipelineBindPoint,
        pipeline: vk::Pipeline,
        bindings: &PassBindings<'_>,
        push: &P,
    ) -> bool {
        const { assert!(size_of::<P>() <= super::pipeline::PUSH_CONSTANT_BYTES as usize) };
        let device = self.token.device.clone();
        let (Some(table), Some(common)) = (device.bindless.get(), device.pipelines.get()) else {
            return false;
        };
        let pass = match self.descriptors.write(common.pass_layout, bindings) {
            Ok(set) => set,
            Err(error) => {
                self.failed.get_or_insert(error);
                return false;
            }
        };
        // SAFETY: recording; sets and layout live as long as the device or the pool's recordings; push constants
        // fit the 128 bytes that every layout has (checked at compile time just above).
        unsafe {
            device.raw.cmd_bind_pipeline(self.raw, point, pipeline);
            device.raw.cmd_bind_descriptor_sets(self.raw, point, common.layout, 0, &[table.set, pass], &[]);
            let bytes = bytemuck::bytes_of(push);
            if !bytes.is_empty() {
                device.raw.cmd_push_constants(self.raw, common.layout, vk::ShaderStageFlags::ALL, 0, bytes);
            }
        }
        true
    }
}
