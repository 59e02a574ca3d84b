//! Recording draws: targets of a rendering, and what is drawn into them.

use ash::vk;

use super::buffer::Buffer;
use super::command::CommandEncoder;
use super::pass_bindings::PassBindings;
use super::pipeline::GraphicsPipeline;

/// What a target holds when drawing begins.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Load {
    /// Nothing that matters: all of it is drawn over.
    #[default]
    Discard,
    /// One colour.
    Clear([f32; 4]),
    /// What was there.
    Keep,
}

impl Load {
    fn op(self) -> vk::AttachmentLoadOp {
        match self {
            Load::Discard => vk::AttachmentLoadOp::DONT_CARE,
            Load::Clear(_) => vk::AttachmentLoadOp::CLEAR,
            Load::Keep => vk::AttachmentLoadOp::LOAD,
        }
    }
}

/// A colour target of a rendering, in the layout `COLOR_ATTACHMENT_OPTIMAL`.
#[derive(Debug, Clone, Copy)]
pub struct ColourTarget {
    /// View to draw into.
    pub view: vk::ImageView,
    /// What it holds before.
    pub load: Load,
    /// View that gets the mean of the samples; the samples are not kept then.
    pub resolve: Option<vk::ImageView>,
}

/// The depth target of a rendering. Depth is reversed: cleared to 0, which is far.
#[derive(Debug, Clone, Copy)]
pub struct DepthTarget {
    /// View to test against.
    pub view: vk::ImageView,
    /// Whether it is cleared before; otherwise it keeps what was there.
    pub is_cleared: bool,
    /// Whether it is written: in the layout `DEPTH_ATTACHMENT_OPTIMAL`, otherwise `DEPTH_READ_ONLY_OPTIMAL`.
    pub is_written: bool,
    /// Whether anybody reads it afterwards.
    pub is_kept: bool,
    /// View that gets the first sample of each pixel.
    pub resolve: Option<vk::ImageView>,
}

impl DepthTarget {
    /// Depth that is there already and is only tested against.
    pub fn tested(view: vk::ImageView) -> Self {
        Self { view, is_cleared: false, is_written: false, is_kept: true, resolve: None }
    }

    fn info(&self) -> vk::RenderingAttachmentInfo<'static> {
        let layout = if self.is_written {
            vk::ImageLayout::DEPTH_ATTACHMENT_OPTIMAL
        } else {
            vk::ImageLayout::DEPTH_READ_ONLY_OPTIMAL
        };
        let load = if self.is_cleared { vk::AttachmentLoadOp::CLEAR } else { vk::AttachmentLoadOp::LOAD };
        let store = match (self.is_written, self.is_kept) {
            // Read only: nothing to write back, and nothing to lose.
            (false, _) => vk::AttachmentStoreOp::NONE,
            (true, true) => vk::AttachmentStoreOp::STORE,
            (true, false) => vk::AttachmentStoreOp::DONT_CARE,
        };
        let mut info = vk::RenderingAttachmentInfo::default()
            .image_view(self.view)
            .image_layout(layout)
            .load_op(load)
            .store_op(store)
            .clear_value(vk::ClearValue {
                depth_stencil: vk::ClearDepthStencilValue { depth: 0.0, stencil: 0 },
            });
        if let Some(resolve) = self.resolve {
            info = info
                .resolve_mode(vk::ResolveModeFlags::SAMPLE_ZERO)
                .resolve_image_view(resolve)
                .resolve_image_layout(vk::ImageLayout::DEPTH_ATTACHMENT_OPTIMAL);
        }
        info
    }
}

impl CommandEncoder {
    /// Begins drawing over what a colour target holds already (an overlay).
    pub fn begin_rendering_over(&mut self, extent: [u32; 2], view: vk::ImageView) {
        let attachments = [vk::RenderingAttachmentInfo::default()
            .image_view(view)
            .image_layout(vk::ImageLayout::COLOR_ATTACHMENT_OPTIMAL)
            .load_op(vk::AttachmentLoadOp::LOAD)
            .store_op(vk::AttachmentStoreOp::STORE)];
        let area = vk::Rect2D {
            offset: vk::Offset2D::default(),
            extent: vk::Extent2D { width: extent[0], height: extent[1] },
        };
        let info =
            vk::RenderingInfo::default().render_area(area).layer_count(1).color_attachments(&attachments);
        // SAFETY: recording; the view is alive; the array is a local that outlives the call.
        unsafe { self.device().cmd_begin_rendering(self.raw, &info) };
    }

    /// Begins drawing into the targets, with viewport and scissor over all of them.
    pub fn begin_rendering(
        &mut self,
        extent: [u32; 2],
        colours: &[ColourTarget],
        depth: Option<DepthTarget>,
    ) {
        let attachments: Vec<_> = colours
            .iter()
            .map(|target| {
                let mut info = vk::RenderingAttachmentInfo::default()
                    .image_view(target.view)
                    .image_layout(vk::ImageLayout::COLOR_ATTACHMENT_OPTIMAL)
                    .load_op(target.load.op())
                    .store_op(if target.resolve.is_some() {
                        vk::AttachmentStoreOp::DONT_CARE
                    } else {
                        vk::AttachmentStoreOp::STORE
                    })
                    .clear_value(vk::ClearValue {
                        color: vk::ClearColorValue {
                            float32: if let Load::Clear(colour) = target.load { colour } else { [0.0; 4] },
                        },
                    });
                if let Some(resolve) = target.resolve {
                    info = info
                        .resolve_mode(vk::ResolveModeFlags::AVERAGE)
                        .resolve_image_view(resolve)
                        .resolve_image_layout(vk::ImageLayout::COLOR_ATTACHMENT_OPTIMAL);
                }
                info
            })
            .collect();
        let depth = depth.map(|target| target.info());
        let area = vk::Rect2D {
            offset: vk::Offset2D::default(),
            extent: vk::Extent2D { width: extent[0], height: extent[1] },
        };
        let mut info =
            vk::RenderingInfo::default().render_area(area).layer_count(1).color_attachments(&attachments);
        if let Some(depth) = &depth {
            info = info.depth_attachment(depth);
        }
        let viewport = vk::Viewport {
            x: 0.0,
            y: 0.0,
            width: extent[0] as f32,
            height: extent[1] as f32,
            min_depth: 0.0,
            max_depth: 1.0,
        };
        // SAFETY: recording; views are alive; arrays are locals; viewport and scissor lie inside the targets.
        unsafe {
            self.device().cmd_begin_rendering(self.raw, &info);
            self.device().cmd_set_viewport(self.raw, 0, &[viewport]);
            self.device().cmd_set_scissor(self.raw, 0, &[area]);
        }
    }

    /// Draws into a part of the targets from now on: corner and size in pixels.
    pub fn set_viewport(&mut self, [x, y]: [u32; 2], [width, height]: [u32; 2]) {
        let viewport = vk::Viewport {
            x: x as f32,
            y: y as f32,
            width: width as f32,
            height: height as f32,
            min_depth: 0.0,
            max_depth: 1.0,
        };
        let scissor = vk::Rect2D {
            offset: vk::Offset2D { x: x as i32, y: y as i32 },
            extent: vk::Extent2D { width, height },
        };
        // SAFETY: recording; both arrays are locals.
        unsafe {
            self.device().cmd_set_viewport(self.raw, 0, &[viewport]);
            self.device().cmd_set_scissor(self.raw, 0, &[scissor]);
        }
    }

    /// Ends drawing into the targets.
    pub fn end_rendering(&mut self) {
        // SAFETY: recording; callers pair the calls.
        unsafe { self.device().cmd_end_rendering(self.raw) };
    }

    /// Binds a graphics pipeline with its resources and push constants. Returns whether drawing may go on; if not,
    /// `finish` reports why.
    #[must_use]
    pub fn bind_graphics<P: bytemuck::Pod>(
        &mut self,
        pipeline: &GraphicsPipeline,
        bindings: &PassBindings<'_>,
        push: &P,
    ) -> bool {
        self.bind(vk::PipelineBindPoint::GRAPHICS, pipeline.raw(), bindings, push)
    }

    /// Binds 32-bit indices from the start of a buffer.
    pub fn bind_indices(&mut self, buffer: &Buffer) {
        // SAFETY: recording; the buffer is alive and was made for index use.
        unsafe { self.device().cmd_bind_index_buffer(self.raw, buffer.raw(), 0, vk::IndexType::UINT32) };
    }

    /// Binds 16-bit indices from the start of a buffer.
    pub fn bind_short_indices(&mut self, buffer: &Buffer) {
        // SAFETY: recording; the buffer is alive and was made for index use.
        unsafe { self.device().cmd_bind_index_buffer(self.raw, buffer.raw(), 0, vk::IndexType::UINT16) };
    }

    /// Draws instances of indexed vertices. `first` is the first index and the first instance.
    pub fn draw_indexed(&mut self, indices: u32, instances: u32, first: (u32, u32)) {
        // SAFETY: recording inside a rendering with pipeline and indices bound.
        unsafe { self.device().cmd_draw_indexed(self.raw, indices, instances, first.0, 0, first.1) };
    }

    /// Draws vertices without indices, from an instance on.
    pub fn draw_from(&mut self, vertices: u32, instances: u32, first: (u32, u32)) {
        // SAFETY: recording inside a rendering with a pipeline bound.
        unsafe { self.device().cmd_draw(self.raw, vertices, instances, first.0, first.1) };
    }

    /// Draws vertices without indices.
    pub fn draw(&mut self, vertices: u32, instances: u32) {
        // SAFETY: recording inside a rendering with a pipeline bound.
        unsafe { self.device().cmd_draw(self.raw, vertices, instances, 0, 0) };
    }

    /// Draws as many indexed draws of `commands` as the word at `count_offset` of `count` says.
    pub fn draw_indexed_indirect_count(
        &mut self,
        commands: &Buffer,
        count: &Buffer,
        count_offset: u64,
        max_draws: u32,
    ) {
        let stride = size_of::<vk::DrawIndexedIndirectCommand>() as u32;
        // SAFETY: recording inside a rendering with pipeline and indices bound; both buffers are alive, made
        // for indirect use, and hold `max_draws` commands.
        unsafe {
            self.device().cmd_draw_indexed_indirect_count(
                self.raw,
                commands.raw(),
                0,
                count.raw(),
                count_offset,
                max_draws,
                stride,
            );
        }
    }
}
