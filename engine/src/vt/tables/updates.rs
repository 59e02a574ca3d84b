//! All page tables in a frame: new ones are cleared, quads are painted.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ash::vk::{BufferUsageFlags, ColorComponentFlags, CullModeFlags, Format, SampleCountFlags};

use super::desc::{PageTableDesc, PageTablePush, PageTableQuad};
use super::error::{TableError, TableResult};
use super::images::{AT_REST, Table, TableImage};
use super::jobs::{self, Job, QUADS_AN_INSTANCE};
use crate::graph::{Access, Frame, ImageHandle, PassContext, Queue};
use crate::vk::{
    Blend, Buffer, ColourTarget, Device, GraphicsDesc, GraphicsPipeline, Image, Load, Location, PassBindings,
    shader,
};
use crate::vt::{ALLOCATE, SpaceId, TableUpdate};

/// The images of page tables in a frame, as its updates leave them.
#[derive(Debug, Clone, Default)]
pub struct TableHandles {
    images: Vec<((SpaceId, u8), ImageHandle)>,
}

impl TableHandles {
    /// An image of a space's page table; passes read it with `Access::Sampled`.
    pub fn get(&self, space: SpaceId, texture: u8) -> Option<ImageHandle> {
        self.images.iter().find(|(key, _)| *key == (space, texture)).map(|(_, handle)| *handle)
    }
}

/// A page table, as it is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct PageTableInfo {
    /// Whose it is.
    pub space: SpaceId,
    /// What it is.
    pub desc: PageTableDesc,
    /// Bytes of its entries.
    pub bytes: u64,
}

/// Indices of the quads of one instance: two triangles of four corners each.
const INDICES: usize = QUADS_AN_INSTANCE as usize * 6;

/// The page tables of all spaces.
///
/// ```text
/// create, destroy -> prepare -> declare -> (passes that sample) -> (submission) submitted | keep_unsubmitted
/// ```
#[derive(Debug)]
pub struct PageTables {
    device: Arc<Device>,
    tables: BTreeMap<SpaceId, Table>,
    /// One for every format and channel in use.
    pipelines: Vec<((Format, u8), GraphicsPipeline)>,
    indices: Buffer,
    /// Quads, by place of the frame.
    uploads: Vec<Option<Buffer>>,
    /// Draws of the present frame, and its place.
    jobs: Vec<Job>,
    place: usize,
    /// Memory to encode into.
    quads: Vec<PageTableQuad>,
    /// Whether a submission of the present frame paints.
    is_painted: AtomicBool,
}

impl PageTables {
    /// Without any table.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn new(device: &Arc<Device>, frames_in_flight: usize) -> TableResult<Self> {
        let indices: [u16; INDICES] = std::array::from_fn(|at| {
            let (quad, corner) = (at / 6, [0, 1, 2, 2, 1, 3][at % 6]);
            quad as u16 * 4 + corner
        });
        let bytes: &[u8] = bytemuck::cast_slice(&indices);
        let usage = BufferUsageFlags::INDEX_BUFFER;
        let name = "VirtualTexture_PageTableUpdateIndices";
        let buffer = Buffer::committed(device, name, bytes.len() as u64, usage, Location::Upload)?;
        buffer.write_mapped(0, bytes)?;
        Ok(Self {
            device: device.clone(),
            tables: BTreeMap::new(),
            pipelines: Vec::new(),
            indices: buffer,
            uploads: (0..frames_in_flight.max(1)).map(|_| None).collect(),
            jobs: Vec::new(),
            place: 0,
            quads: Vec::new(),
            is_painted: AtomicBool::new(false),
        })
    }

    /// Makes the page table of a space. The next frame clears it.
    ///
    /// # Errors
    /// A description that no page table has, a space that has one, a pipeline that the driver refuses, or no memory.
    pub fn create(&mut self, space: SpaceId, desc: PageTableDesc) -> TableResult<()> {
        if self.tables.contains_key(&space) {
            return Err(TableError::Taken { space });
        }
        desc.check()?;
        for image in 0..desc.images() {
            for channel in 0..desc.image_channels(image) as u8 {
                self.make_pipeline(desc.image_format(image), channel)?;
            }
        }
        self.tables.insert(space, Table::new(&self.device, desc)?);
        Ok(())
    }

    /// Drops the page table of a space, once no frame in flight uses it. Updates prepared for it go with it.
    pub fn destroy(&mut self, space: SpaceId) {
        self.tables.remove(&space);
        self.jobs.retain(|job| job.space != space);
    }

    /// All page tables.
    pub fn tables(&self) -> impl Iterator<Item = PageTableInfo> {
        let info = |(space, table): (&SpaceId, &Table)| PageTableInfo {
            space: *space,
            desc: table.desc,
            bytes: table.desc.bytes(),
        };
        self.tables.iter().map(info)
    }

    /// An image of a space's page table.
    pub fn image(&self, space: SpaceId, texture: u8) -> Option<&Image> {
        Some(&self.table_image(space, texture)?.image)
    }

    /// Whether a frame painted the first image of a space's page table; before, it has no layout.
    pub fn is_painted(&self, space: SpaceId) -> bool {
        self.table_image(space, 0).is_some_and(|table| !table.is_new)
    }

    /// Takes the updates of the frame in `place` (of those in flight): their quads go into upload memory, which the frame
    /// that had the place before is done with. Replaces what was prepared and not declared.
    ///
    /// # Errors
    /// An update of something that is not there, or no memory: the frame then has no updates at all.
    pub fn prepare(&mut self, updates: &[TableUpdate], place: usize) -> TableResult<()> {
        self.jobs.clear();
        self.quads.clear();
        let prepared = self.encode(updates).and_then(|()| self.upload(place));
        if prepared.is_err() {
            self.jobs.clear();
        }
        prepared
    }

    fn encode(&mut self, updates: &[TableUpdate]) -> TableResult<()> {
        let all: u64 = updates.iter().map(|update| update.quads.len() as u64).sum();
        let range = self.device.capabilities().limits.max_storage_buffer_range.min(u64::from(u32::MAX));
        let limit = range / size_of::<PageTableQuad>() as u64;
        if all > limit {
            return Err(TableError::Quads { quads: all, limit });
        }
        for update in updates {
            let space = update.space;
            let table = self.tables.get(&space).ok_or(TableError::NoTable { space })?;
            jobs::check(&table.desc, update)?;
            self.jobs.extend(jobs::encode(&table.desc, update, &mut self.quads));
        }
        // A mip is drawn into once: what several renderings do to it would need barriers between them. The sort is
        // stable, so that updates of one mip keep their order.
        self.jobs.sort_by_key(Job::target);
        Ok(())
    }

    fn upload(&mut self, place: usize) -> TableResult<()> {
        if self.jobs.is_empty() {
            return Ok(());
        }
        if self.uploads.len() <= place {
            self.uploads.resize_with(place.saturating_add(1), || None);
        }
        self.place = place;
        let bytes: &[u8] = bytemuck::cast_slice(&self.quads);
        let needed = bytes.len() as u64;
        let held = &mut self.uploads[place];
        let buffer = match held.take().filter(|buffer| buffer.bytes() >= needed) {
            Some(buffer) => buffer,
            None => {
                const LEAST: u64 = 4096;
                let limit = self.device.capabilities().limits.max_storage_buffer_range;
                let bytes = needed.max(LEAST).next_power_of_two().min(limit).max(needed);
                let (name, usage) =
                    ("VirtualTexture_PageTableUpdateBuffer", BufferUsageFlags::STORAGE_BUFFER);
                Buffer::committed(&self.device, name, bytes, usage, Location::Upload)?
            }
        };
        let buffer = held.insert(buffer);
        Ok(buffer.write_mapped(0, bytes)?)
    }

    /// Declares what the frame does to page tables, before every pass that samples them: both passes, one after the other.
    pub fn declare<'f>(&'f self, frame: &mut Frame<'_, 'f>) -> TableHandles {
        let mut handles = self.declare_allocate(frame);
        self.declare_updates(frame, &mut handles);
        handles
    }

    /// Declares `VirtualTextureAllocate`, which clears new tables, before anything is done with them. It takes no part where
    /// there are none.
    pub fn declare_allocate<'f>(&'f self, frame: &mut Frame<'_, 'f>) -> TableHandles {
        let mut images: Vec<(&'f TableImage, (SpaceId, u8), ImageHandle)> = Vec::new();
        for (space, table) in &self.tables {
            for (texture, image) in (0..).zip(&table.images) {
                let handle = frame.import_image(&image.image, image.state(), Some(AT_REST));
                image.is_used.store(false, Ordering::Release);
                frame.when_used(handle, |_| image.is_used.store(true, Ordering::Release));
                images.push((image, (*space, texture), handle));
            }
        }
        let new: Vec<&'f TableImage> =
            images.iter().map(|(image, ..)| *image).filter(|image| image.is_new).collect();
        let mut clear = frame.pass(ALLOCATE, Queue::Graphics).group(ALLOCATE).when(!new.is_empty());
        for (_, _, handle) in images.iter_mut().filter(|(image, ..)| image.is_new) {
            clear = clear.write(handle, Access::CopyDestination);
        }
        clear.record(move |pass| {
            new.iter().for_each(|new| pass.encoder().clear_image(&new.image, [0; 4]));
            Ok(())
        });
        TableHandles { images: images.into_iter().map(|(_, key, handle)| (key, handle)).collect() }
    }

    /// Declares `VirtualTexturePageTableUpdates`, which paints what was prepared. It takes no part where that is nothing.
    pub fn declare_updates<'f>(&'f self, frame: &mut Frame<'_, 'f>, handles: &mut TableHandles) {
        self.is_painted.store(false, Ordering::Release);
        // Nobody else uses the indices: a submission that does paints.
        let indices = frame.import_buffer(&self.indices, None);
        frame.when_used(indices, |_| self.is_painted.store(true, Ordering::Release));
        let mut paint = frame
            .pass("VirtualTexturePageTableUpdates", Queue::Graphics)
            .when(!self.jobs.is_empty())
            .read(indices, Access::Index);
        for (key, handle) in &mut handles.images {
            if self.jobs.iter().any(|job| (job.space, job.texture) == *key) {
                paint = paint.write(handle, Access::ColourAttachmentOver);
            }
        }
        paint.record(|pass| {
            self.paint(pass);
            Ok(())
        });
    }

    /// One rendering a mip, one draw a channel of it.
    fn paint(&self, pass: &mut PassContext<'_>) {
        let Some(Some(quads)) = self.uploads.get(self.place) else { return };
        let bindings = PassBindings { buffers: &[(0, quads)], ..Default::default() };
        let encoder = pass.encoder();
        for jobs in self.jobs.chunk_by(|a, b| a.target() == b.target()) {
            let Some(first) = jobs.first() else { continue };
            let Some(image) = self.table_image(first.space, first.texture) else { continue };
            let Some(view) = image.mips.get(usize::from(first.mip)) else { continue };
            let [side, ..] = image.image.desc().mip_extent(first.mip.into());
            let target = ColourTarget { view: view.raw(), load: Load::Keep, resolve: None };
            encoder.begin_rendering([side; 2], &[target], None);
            for job in jobs {
                let key = (image.image.desc().format, job.channel);
                let Some((_, pipeline)) = self.pipelines.iter().find(|(made, _)| *made == key) else {
                    continue;
                };
                let push = PageTablePush { first_quad: job.first, quads: job.quads, side, padding: 0 };
                encoder.begin_label(&job.label());
                if encoder.bind_graphics(pipeline, &bindings, &push) {
                    encoder.bind_short_indices(&self.indices);
                    encoder.draw_indexed(INDICES as u32, job.instances(), (0, 0));
                }
                encoder.end_label();
            }
            encoder.end_rendering();
        }
    }

    /// The frame was submitted, in part at least. Returns whether what was prepared is being painted; if not, it has to be
    /// prepared again.
    #[must_use]
    pub fn submitted(&mut self) -> bool {
        for image in self.tables.values_mut().flat_map(|table| &mut table.images) {
            // Whoever uses a new image comes after its clear.
            if std::mem::take(image.is_used.get_mut()) {
                image.is_new = false;
            }
        }
        let is_painted = std::mem::take(self.is_painted.get_mut());
        let was_empty = self.jobs.is_empty();
        self.jobs.clear();
        is_painted || was_empty
    }

    /// What was recorded is not submitted: new tables stay new, and what was prepared has to be prepared again.
    pub fn keep_unsubmitted(&mut self) {
        self.tables.values_mut().flat_map(|table| &mut table.images).for_each(|image| {
            *image.is_used.get_mut() = false;
        });
        *self.is_painted.get_mut() = false;
        self.jobs.clear();
    }

    fn table_image(&self, space: SpaceId, texture: u8) -> Option<&TableImage> {
        self.tables.get(&space)?.images.get(usize::from(texture))
    }

    fn make_pipeline(&mut self, format: Format, channel: u8) -> TableResult<()> {
        if self.pipelines.iter().any(|(key, _)| *key == (format, channel)) {
            return Ok(());
        }
        let channels =
            [ColorComponentFlags::R, ColorComponentFlags::G, ColorComponentFlags::B, ColorComponentFlags::A];
        let mask = channels.get(usize::from(channel)).copied().unwrap_or_default();
        let desc = GraphicsDesc {
            name: "VirtualTexturePageTableUpdates",
            shader: &shader::VT_PAGE_TABLE,
            vertex: "page_table_vertex",
            fragment: Some("page_table_fragment"),
            colours: &[format],
            blends: &[Blend { is_over: false, mask }],
            depth: None,
            cull: CullModeFlags::NONE,
            samples: SampleCountFlags::TYPE_1,
        };
        self.pipelines.push(((format, channel), GraphicsPipeline::new(&self.device, &desc)?));
        Ok(())
    }
}
