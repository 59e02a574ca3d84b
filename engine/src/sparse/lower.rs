//! Lowering a batch plan: numbers of resources and chunks become Vulkan handles, growth and shrinking become the two
//! batches of one `vkQueueBindSparse` call.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use super::batch::{BindPlan, Memory, ResourceBinds};
use super::chunk::Chunk;
use super::resource::{Target, Work};
use crate::vk::{
    BindBatch, BufferBinds, Device, ImageBinds, ImageTileBinds, MemoryBind, Point, Result, TileBind,
};

use ash::vk::{DeviceMemory, ImageAspectFlags};

/// Spreads numbers that were counted up: nobody outside chooses them, so nothing stronger is needed.
#[derive(Debug, Default)]
struct NumberHasher(u64);

impl Hasher for NumberHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u64(&mut self, number: u64) {
        // 2^64 divided by the golden ratio.
        self.0 = (self.0 ^ number).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

type ByNumber<T> = HashMap<u64, T, BuildHasherDefault<NumberHasher>>;

/// Everything a plan names, by number.
#[derive(Debug, Default)]
pub(super) struct Names {
    targets: ByNumber<Target>,
    chunks: ByNumber<Arc<Chunk>>,
}

impl Names {
    pub(super) fn add(&mut self, work: &Work) {
        self.targets.entry(work.id).or_insert_with(|| work.target.clone());
        self.chunks.reserve(work.chunks.len());
        for chunk in &work.chunks {
            self.chunks.entry(chunk.id()).or_insert_with(|| chunk.clone());
        }
    }

    pub(super) fn add_chunk(&mut self, chunk: &Arc<Chunk>) {
        self.chunks.entry(chunk.id()).or_insert_with(|| chunk.clone());
    }

    /// Debug name of a resource.
    pub(super) fn resource(&self, id: u64) -> &str {
        self.targets.get(&id).map_or("(unknown)", Target::name)
    }

    /// Debug name of a chunk.
    pub(super) fn chunk(&self, id: u64) -> &str {
        self.chunks.get(&id).map_or("(unknown)", |chunk| chunk.name())
    }

    fn memory(&self, memory: Option<Memory>) -> Option<(DeviceMemory, u64)> {
        let Memory { chunk, offset } = memory?;
        self.chunks.get(&chunk).map(|chunk| (chunk.raw(), offset))
    }

    /// The memory type and tile of a dummy page that may stand in for unbound tiles of a resource; `None` when its
    /// pages cannot be shared.
    pub(super) fn dummy_needs(&self, device: &Device, id: u64) -> Result<Option<(u32, u64)>> {
        let needs = match self.targets.get(&id) {
            Some(Target::Buffer(buffer)) if buffer.is_aliased() => buffer.requirements(),
            Some(Target::Image(image)) if image.sparse().is_some_and(|sparse| sparse.aliased) => {
                image.requirements()
            }
            _ => return Ok(None),
        };
        Ok(Some((device.chunk_memory_type(needs.memory_types)?, needs.alignment)))
    }
}

impl Target {
    pub(super) fn name(&self) -> &str {
        match self {
            Target::Buffer(buffer) => buffer.name(),
            Target::Image(image) => image.name(),
        }
    }
}

/// Binds of one resource, with handles.
struct Lowered {
    target: Target,
    bytes: Vec<MemoryBind>,
    tiles: Vec<TileBind>,
}

fn lower(names: &Names, resources: &[ResourceBinds]) -> Vec<Lowered> {
    let one = |r: &ResourceBinds| {
        let target = names.targets.get(&r.resource)?.clone();
        let bytes = r.bytes.iter().map(|b| MemoryBind {
            resource_offset: b.offset,
            size: b.bytes,
            memory: names.memory(b.memory),
            metadata: b.metadata,
        });
        let tiles = r.tiles.iter().map(|t| TileBind {
            aspect: ImageAspectFlags::from_raw(t.aspect),
            mip: t.mip,
            layer: t.layer,
            offset: t.offset,
            extent: t.extent,
            memory: names.memory(t.memory),
        });
        Some(Lowered { bytes: bytes.collect(), tiles: tiles.collect(), target })
    };
    resources.iter().filter_map(one).collect()
}

/// The moments when growth and shrinking are done.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Done {
    pub(super) growth: Option<Point>,
    pub(super) shrink: Option<Point>,
}

impl Done {
    /// The later one.
    pub(super) fn last(self) -> Option<Point> {
        self.shrink.or(self.growth)
    }
}

/// Executes a plan in one call. Growth waits for `growth_waits`, shrinking for `shrink_waits`.
pub(super) fn execute(
    device: &Device,
    names: &Names,
    plan: &BindPlan,
    growth_waits: &[Point],
    shrink_waits: &[Point],
    on_graphics: bool,
) -> Result<Done> {
    let lowered = [lower(names, &plan.growth), lower(names, &plan.shrink)];
    let lists: Vec<_> = lowered.iter().map(|resources| Lists::of(resources)).collect();
    let batch = |i: usize, waits| -> BindBatch<'_> {
        let Lists { buffers, images, tiles } = &lists[i];
        BindBatch { buffers, images, tiles, waits }
    };
    let batches = [batch(0, growth_waits), batch(1, shrink_waits)];
    let points = device.bind_sparse_batches(&batches, on_graphics)?;
    let point = |i: usize| points.get(i).copied().flatten();
    Ok(Done { growth: point(0), shrink: point(1) })
}

struct Lists<'a> {
    buffers: Vec<BufferBinds<'a>>,
    images: Vec<ImageBinds<'a>>,
    tiles: Vec<ImageTileBinds<'a>>,
}

impl<'a> Lists<'a> {
    fn of(resources: &'a [Lowered]) -> Self {
        let (mut buffers, mut images, mut tiles) = (Vec::new(), Vec::new(), Vec::new());
        for lowered in resources {
            match &lowered.target {
                Target::Buffer(buffer) => buffers.push(BufferBinds { buffer, binds: &lowered.bytes }),
                Target::Image(image) => {
                    if !lowered.bytes.is_empty() {
                        images.push(ImageBinds { image, binds: &lowered.bytes });
                    }
                    if !lowered.tiles.is_empty() {
                        tiles.push(ImageTileBinds { image, binds: &lowered.tiles });
                    }
                }
            }
        }
        Self { buffers, images, tiles }
    }
}
