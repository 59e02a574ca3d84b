//! Binding sparse memory: the one choke point for `vkQueueBindSparse`.
//!
//! Binding is an operation of a queue and not of a command buffer, and nothing but semaphores orders it with its
//! neighbours, not even on one queue. Every batch waits for the one before it, signals the bind timeline, and is noted
//! in the clocks.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use ash::vk;

use super::buffer::Buffer;
use super::device::Device;
use super::error::{Error, Result};
use super::faults::Site;
use super::image::Image;
use super::timeline::{Point, Timeline};

/// One range of sparse memory to bind, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryBind {
    /// Offset in the resource, a multiple of its alignment.
    pub resource_offset: u64,
    /// Length, a multiple of the alignment (or up to the resource's end).
    pub size: u64,
    /// The memory and the offset in it; `None` unbinds.
    pub memory: Option<(vk::DeviceMemory, u64)>,
    /// The range is metadata of an image.
    pub metadata: bool,
}

impl MemoryBind {
    /// A range of ordinary bytes.
    pub fn new(resource_offset: u64, size: u64, memory: Option<(vk::DeviceMemory, u64)>) -> Self {
        Self { resource_offset, size, memory, metadata: false }
    }
}

/// Tiles of one mip of an image to bind: a box of whole tiles, or up to the mip's edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TileBind {
    /// Aspect.
    pub aspect: vk::ImageAspectFlags,
    /// Mip level.
    pub mip: u32,
    /// Array layer.
    pub layer: u32,
    /// First texel, a multiple of the granularity.
    pub offset: [u32; 3],
    /// Size in texels.
    pub extent: [u32; 3],
    /// The memory and the offset in it; `None` unbinds.
    pub memory: Option<(vk::DeviceMemory, u64)>,
}

/// Binds of one buffer.
#[derive(Debug, Clone, Copy)]
pub struct BufferBinds<'a> {
    /// The reserved buffer.
    pub buffer: &'a Buffer,
    /// Its ranges.
    pub binds: &'a [MemoryBind],
}

/// Opaque binds of one image: byte ranges of a chunked image, mip tails and metadata of a partially resident one.
#[derive(Debug, Clone, Copy)]
pub struct ImageBinds<'a> {
    /// The reserved image.
    pub image: &'a Image,
    /// Its ranges.
    pub binds: &'a [MemoryBind],
}

/// Tile binds of one partially resident image.
#[derive(Debug, Clone, Copy)]
pub struct ImageTileBinds<'a> {
    /// The reserved image.
    pub image: &'a Image,
    /// Its tiles.
    pub binds: &'a [TileBind],
}

/// One batch of a `vkQueueBindSparse` call: its binds and what it waits for. Empty lists are left out.
#[derive(Debug, Clone, Copy, Default)]
pub struct BindBatch<'a> {
    /// Binds of buffers.
    pub buffers: &'a [BufferBinds<'a>],
    /// Opaque binds of images.
    pub images: &'a [ImageBinds<'a>],
    /// Tile binds of images.
    pub tiles: &'a [ImageTileBinds<'a>],
    /// Moments to wait for before binding.
    pub waits: &'a [Point],
}

impl Device {
    /// Whether binds can go to the graphics queue.
    pub fn graphics_binds(&self) -> bool {
        let family = self.queues.graphics.family as usize;
        self.capabilities().queue_families.get(family).is_some_and(|f| f.sparse)
    }

    /// Whether sparse binds have a queue of their own beside the graphics queue.
    pub fn has_side_queue(&self) -> bool {
        self.queue_plan().sparse.is_some_and(|sparse| sparse != self.queue_plan().graphics)
    }

    /// The raw queue that binds go to and its family; `None` where nothing binds. Its host access must not overlap the
    /// engine's calls.
    pub fn raw_sparse_queue(&self) -> Option<(vk::Queue, u32)> {
        self.queues.sparse.as_ref().map(|queue| (queue.raw, queue.family))
    }

    /// Time spent inside `vkQueueBindSparse` so far, all calls of all threads together: what of a bind is the driver's.
    pub fn bind_driver_time(&self) -> Duration {
        Duration::from_nanos(self.counters.bind_ns.load(Ordering::Relaxed))
    }

    /// [`Device::bind_sparse_batches`], for those who wait for all of it: the moment when the last batch is done, `None`
    /// when there was nothing to bind.
    ///
    /// # Errors
    /// Those of [`Device::bind_sparse_batches`].
    pub fn bind_sparse(&self, batches: &[BindBatch<'_>], on_graphics: bool) -> Result<Option<Point>> {
        Ok(self.bind_sparse_batches(batches, on_graphics)?.into_iter().flatten().last())
    }

    /// Submits all batches in **one** `vkQueueBindSparse` call, on the sparse queue or, when `on_graphics`
    /// and it can bind, on the graphics queue. Batches run in order, each after the one before it and after
    /// its own waits. Empty batches are left out (an empty list has lost devices).
    ///
    /// Returns the moment when each batch is done; `None` for one that had nothing to bind.
    ///
    /// # Errors
    /// When the device cannot bind, is lost, or has no memory for the page tables; nothing was bound then.
    pub fn bind_sparse_batches(
        &self,
        batches: &[BindBatch<'_>],
        on_graphics: bool,
    ) -> Result<Vec<Option<Point>>> {
        let queue = if on_graphics && self.graphics_binds() {
            Some(&self.queues.graphics)
        } else {
            self.queues.sparse.as_ref()
        };
        let queue = queue.ok_or_else(|| self.unsupported("binding sparse memory", "sparseBinding"))?;
        check_reserved(batches)?;
        let raw: Vec<RawBatch> = batches.iter().map(RawBatch::new).collect();
        if raw.iter().all(RawBatch::is_empty) {
            return Ok(vec![None; batches.len()]);
        }
        self.alive("vkQueueBindSparse")?;
        self.faults.call(Site::Bind).map_err(Error::of("vkQueueBindSparse"))?;
        self.lose_on_purpose(Site::LoseInBind, "vkQueueBindSparse")?;
        // Binds share one timeline, whichever queue they go to.
        let _order = self.bind_order.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let _host = queue.lock();
        let state = &self.timelines[Timeline::Bind as usize];
        let mut value = state.submitted.load(Ordering::Acquire);
        let mut points = Vec::with_capacity(raw.len());
        let mut notes: Vec<(Point, Vec<Point>)> = Vec::new();
        let mut parts: Vec<Lists<'_>> = Vec::new();
        for (batch, asked) in raw.iter().zip(batches) {
            if batch.is_empty() {
                points.push(None);
                continue;
            }
            let mut waits = asked.waits.to_vec();
            for lists in batch.parts() {
                waits.push(Point { timeline: Timeline::Bind, value });
                value += 1;
                waits.retain(|point| point.value > 0);
                notes.push((Point { timeline: Timeline::Bind, value }, std::mem::take(&mut waits)));
                parts.push(lists);
            }
            points.push(Some(Point { timeline: Timeline::Bind, value }));
        }
        let signal_semaphore = [state.raw];
        let semaphores: Vec<(Vec<vk::Semaphore>, Vec<u64>, [u64; 1])> = notes
            .iter()
            .map(|(point, waits)| {
                let (raw, values) =
                    waits.iter().map(|p| (self.timelines[p.timeline as usize].raw, p.value)).unzip();
                (raw, values, [point.value])
            })
            .collect();
        let mut timeline_infos: Vec<_> = semaphores
            .iter()
            .map(|(_, values, signal)| {
                vk::TimelineSemaphoreSubmitInfo::default()
                    .wait_semaphore_values(values)
                    .signal_semaphore_values(signal)
            })
            .collect();
        let infos: Vec<_> = parts
            .iter()
            .zip(&semaphores)
            .zip(&mut timeline_infos)
            .map(|((lists, (waits, ..)), timeline)| {
                let mut info = vk::BindSparseInfo::default()
                    .wait_semaphores(waits)
                    .signal_semaphores(&signal_semaphore)
                    .push_next(timeline);
                // The pointer of an empty list stays null: some layers look behind it.
                if !lists.buffers.is_empty() {
                    info = info.buffer_binds(&lists.buffers);
                }
                if !lists.images.is_empty() {
                    info = info.image_opaque_binds(&lists.images);
                }
                if !lists.tiles.is_empty() {
                    info = info.image_binds(&lists.tiles);
                }
                info
            })
            .collect();
        let started = Instant::now();
        // SAFETY: all arrays are locals that outlive the call; the queue lock is held; resources are reserved ones
        // of this device (checked above), and their memory is kept by the caller's chunks until the retire queue
        // has passed the bind timeline.
        let bound = unsafe { self.raw.queue_bind_sparse(queue.raw, &infos, vk::Fence::null()) };
        self.counters.bind_ns.fetch_add(started.elapsed().as_nanos() as u64, Ordering::Relaxed);
        bound.map_err(|r| self.noticed(Error::of("vkQueueBindSparse")(r)))?;
        let mut clocks = self.clocks();
        notes.iter().for_each(|(point, waits)| clocks.note(*point, waits));
        drop(clocks);
        state.submitted.store(value, Ordering::Release);
        Ok(points)
    }
}

fn check_reserved(batches: &[BindBatch<'_>]) -> Result<()> {
    let plain = |name: &str, what| {
        Err(Error::Other(format!("{name} is no {what}: it cannot be bound; make it with `reserved`")))
    };
    for batch in batches {
        if let Some(b) = batch.buffers.iter().find(|b| !b.buffer.is_reserved()) {
            return plain(b.buffer.name(), "reserved buffer");
        }
        if let Some(i) = batch.images.iter().find(|i| i.image.sparse().is_none()) {
            return plain(i.image.name(), "reserved image");
        }
        let partial = |i: &&ImageTileBinds<'_>| !i.image.is_partially_resident();
        if let Some(i) = batch.tiles.iter().find(partial) {
            return plain(i.image.name(), "partially resident image");
        }
    }
    Ok(())
}

struct RawBatch {
    buffers: Vec<(vk::Buffer, Vec<vk::SparseMemoryBind>)>,
    images: Vec<(vk::Image, Vec<vk::SparseMemoryBind>)>,
    tiles: Vec<(vk::Image, Vec<vk::SparseImageMemoryBind>)>,
}

struct Lists<'a> {
    buffers: Vec<vk::SparseBufferMemoryBindInfo<'a>>,
    images: Vec<vk::SparseImageOpaqueMemoryBindInfo<'a>>,
    tiles: Vec<vk::SparseImageMemoryBindInfo<'a>>,
}

impl Lists<'_> {
    fn is_empty(&self) -> bool {
        self.buffers.is_empty() && self.images.is_empty() && self.tiles.is_empty()
    }
}

impl RawBatch {
    fn new(batch: &BindBatch<'_>) -> Self {
        let buffers = batch.buffers.iter().filter(|b| !b.binds.is_empty());
        let images = batch.images.iter().filter(|i| !i.binds.is_empty());
        let tiles = batch.tiles.iter().filter(|i| !i.binds.is_empty());
        Self {
            buffers: buffers.map(|b| (b.buffer.raw(), b.binds.iter().map(raw_bind).collect())).collect(),
            images: images.map(|i| (i.image.raw(), i.binds.iter().map(raw_bind).collect())).collect(),
            tiles: tiles.map(|i| (i.image.raw(), i.binds.iter().map(raw_tile).collect())).collect(),
        }
    }

    fn is_empty(&self) -> bool {
        self.buffers.is_empty() && self.images.is_empty() && self.tiles.is_empty()
    }

    /// The lists, those of buffers apart from those of images: validation layer 1.3.239 crashed on a `VkBindSparseInfo` with
    /// both. The later part waits for the earlier.
    fn parts(&self) -> impl Iterator<Item = Lists<'_>> {
        let all = self.lists();
        let buffers = Lists { buffers: all.buffers, images: Vec::new(), tiles: Vec::new() };
        let images = Lists { buffers: Vec::new(), images: all.images, tiles: all.tiles };
        [buffers, images].into_iter().filter(|lists| !lists.is_empty())
    }

    fn lists(&self) -> Lists<'_> {
        let buffers = self.buffers.iter();
        let images = self.images.iter();
        let tiles = self.tiles.iter();
        Lists {
            buffers: buffers
                .map(|(raw, binds)| vk::SparseBufferMemoryBindInfo::default().buffer(*raw).binds(binds))
                .collect(),
            images: images
                .map(|(raw, binds)| vk::SparseImageOpaqueMemoryBindInfo::default().image(*raw).binds(binds))
                .collect(),
            tiles: tiles
                .map(|(raw, binds)| vk::SparseImageMemoryBindInfo::default().image(*raw).binds(binds))
                .collect(),
        }
    }
}

fn raw_bind(bind: &MemoryBind) -> vk::SparseMemoryBind {
    let (memory, offset) = bind.memory.unwrap_or((vk::DeviceMemory::null(), 0));
    let flags =
        if bind.metadata { vk::SparseMemoryBindFlags::METADATA } else { vk::SparseMemoryBindFlags::empty() };
    vk::SparseMemoryBind::default()
        .resource_offset(bind.resource_offset)
        .size(bind.size)
        .memory(memory)
        .memory_offset(offset)
        .flags(flags)
}

fn raw_tile(bind: &TileBind) -> vk::SparseImageMemoryBind {
    let (memory, offset) = bind.memory.unwrap_or((vk::DeviceMemory::null(), 0));
    let [x, y, z] = bind.offset.map(|texel| texel as i32);
    let [width, height, depth] = bind.extent;
    vk::SparseImageMemoryBind::default()
        .subresource(vk::ImageSubresource {
            aspect_mask: bind.aspect,
            mip_level: bind.mip,
            array_layer: bind.layer,
        })
        .offset(vk::Offset3D { x, y, z })
        .extent(vk::Extent3D { width, height, depth })
        .memory(memory)
        .memory_offset(offset)
}
