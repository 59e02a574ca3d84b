//! The chunked image: fully committed, in chunks instead of one large allocation.

use std::sync::Arc;

use crate::sparse::batch::{Memory, Phase, Place, Request};
use crate::sparse::chunk::Chunk;
use crate::sparse::error::{Error, Result};
use crate::sparse::memory::{Shared, SparseMemory};
use crate::sparse::resource::{Resource, Target, Work};
use crate::sparse::shadow::{Kind, ResourceDesc};
use crate::sparse::stats::ResourceStats;
use crate::sparse::tiles::{TileLayout, TileLocation};
use crate::vk::{Image, ImageDesc, SparseImage};

use super::tile_layout;

/// An image (1D, 2D, 3D, arrays) that has all its memory, in as many chunks as it takes.
///
/// What that buys: an image of 256 MiB needs sixteen small allocations and not one long free run, may be larger than
/// one allocation can be, and can be paged in pieces by the system. It must be bound before its first use: the flush
/// that follows its creation does it. It has no layout yet, like any new image.
///
/// Where the device cannot bind sparse memory it has one dedicated allocation.
#[derive(Debug)]
pub struct ChunkedImage {
    // Dropped in this order: the image is destroyed before the chunks that it lies in are freed.
    image: Arc<Image>,
    backing: Arc<ChunkedBacking>,
    shared: Arc<Shared>,
    id: u64,
}

#[derive(Debug)]
struct ChunkedBacking {
    id: u64,
    name: String,
    bytes: u64,
    granularity: u64,
    in_place: bool,
    chunks: Vec<Arc<Chunk>>,
}

impl ChunkedImage {
    /// Makes the image and takes its chunks. They are bound by the next flush.
    ///
    /// # Errors
    /// A description over a limit, no addresses left, or out of memory: nothing is left of it then.
    pub fn new(sparse: &SparseMemory, name: &str, desc: ImageDesc) -> Result<Self> {
        let shared = sparse.shared.clone();
        let device = shared.device.clone();
        let id = shared.next_id();
        if !device.capabilities().sparse.binding {
            let image = Arc::new(Image::dedicated(&device, name, desc)?);
            let bytes = image.requirements().bytes;
            let backing = Self::backing(id, name, bytes, 1, Vec::new());
            return Ok(Self::register(image, backing, shared, id));
        }
        // Capture tools replay images with residency only. Some drivers list tiles of images that have none.
        let tiled = SparseImage { residency: true, aliased: false };
        let residency = shared.knobs.capture_friendly && tiled.is_supported(&device, &desc);
        let image = Image::reserved(&device, name, desc, SparseImage { residency, aliased: false })?;
        let image = Arc::new(image);
        let needs = image.requirements();
        let layout = if residency { Some(tile_layout(&device, &image)?) } else { None };
        let places = match &layout {
            Some(layout) => tiles(layout, desc.aspect().as_raw()),
            None => vec![(Place::Bytes { offset: 0, bytes: needs.bytes, metadata: false }, needs.bytes)],
        };
        let memory_type = device.chunk_memory_type(needs.memory_types)?;
        let mut inner = shared.lock();
        let mut cutter = Cutter::new(id, shared.knobs.chunk_bytes, needs.alignment);
        places.into_iter().for_each(|(place, bytes)| cutter.place(place, bytes));
        let mut chunks = Vec::new();
        for bytes in cutter.chunk_sizes() {
            match shared.take_chunk(&mut inner, name, bytes, memory_type) {
                Ok(chunk) => chunks.push(chunk),
                Err(error) => {
                    chunks.into_iter().for_each(|chunk| inner.cache.give(chunk));
                    return Err(error);
                }
            }
        }
        drop(inner);
        let (kind, tails) = match &layout {
            Some(layout) => (Kind::TiledImage, tails(layout)),
            None => (Kind::OpaqueImage, Vec::new()),
        };
        let bytes = layout.as_ref().map_or(needs.bytes, |layout| layout.tiles() * layout.tile_bytes());
        let tile_bytes = needs.alignment;
        let shadow = ResourceDesc { name: name.into(), kind, bytes, tile_bytes, aliased: false, tails };
        shared.checker.add_resource(id, shadow, layout);
        let backing = Self::backing(id, name, needs.bytes, needs.alignment, chunks);
        let this = Self::register(image, backing, shared, id);
        let resource: Arc<dyn Resource> = this.backing.clone();
        let mut work = Work::new(id, Arc::downgrade(&resource), Target::Image(this.image.clone()));
        work.requests = cutter.requests(&this.backing.chunks);
        work.chunks = this.backing.chunks.clone();
        work.retries = true;
        this.shared.lock().work.push(work);
        Ok(this)
    }

    fn backing(
        id: u64,
        name: &str,
        bytes: u64,
        granularity: u64,
        chunks: Vec<Arc<Chunk>>,
    ) -> Arc<ChunkedBacking> {
        let in_place = !chunks.is_empty();
        Arc::new(ChunkedBacking { id, name: name.into(), bytes, granularity, in_place, chunks })
    }

    fn register(image: Arc<Image>, backing: Arc<ChunkedBacking>, shared: Arc<Shared>, id: u64) -> Self {
        let resource: Arc<dyn Resource> = backing.clone();
        shared.lock().register(Arc::downgrade(&resource));
        Self { image, backing, shared, id }
    }

    /// The image.
    pub fn image(&self) -> &Image {
        &self.image
    }

    /// The image, to be kept by a recording.
    pub fn shared_image(&self) -> Arc<Image> {
        self.image.clone()
    }

    /// Its number for [`SparseMemory::declare_use`] and the checker's page tables.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Whether it lies in chunks (`false`: in one dedicated allocation).
    pub fn in_chunks(&self) -> bool {
        self.backing.in_place
    }

    /// Its chunks, in the order of the bytes or tiles that they back.
    pub fn chunks(&self) -> &[Arc<Chunk>] {
        &self.backing.chunks
    }

    /// Bytes of memory it needs.
    pub fn bytes(&self) -> u64 {
        self.backing.bytes
    }

    /// The statistics of this image.
    pub fn stats(&self) -> ResourceStats {
        self.backing.stats()
    }

    /// A chunked image cannot be committed in part.
    ///
    /// # Errors
    /// Always, unless all of its bytes are asked for: use a
    /// [`PartiallyResidentImage`](super::PartiallyResidentImage) for less.
    pub fn commit(&self, bytes: u64) -> Result<()> {
        if bytes == u64::MAX || bytes == self.backing.bytes {
            return Ok(());
        }
        Err(Error::Whole {
            name: self.backing.name.clone(),
            kind: "chunked image",
            instead: "make a partially resident image to map parts, or drop it to give it back",
        })
    }
}

impl Drop for ChunkedImage {
    fn drop(&mut self) {
        self.shared.lock().work.retain(|w| w.id != self.id);
        if self.backing.in_place {
            self.shared.checker.remove_resource(self.id);
        }
    }
}

impl Resource for ChunkedBacking {
    fn id(&self) -> u64 {
        self.id
    }

    fn name(&self) -> String {
        self.name.clone()
    }

    fn numbers(&self) -> ResourceStats {
        let physical = self.chunks.iter().map(|chunk| chunk.bytes()).sum::<u64>().max(self.bytes);
        ResourceStats {
            id: self.id,
            kind: if self.in_place { "chunked image" } else { "chunked image (fallback)" },
            reserved_bytes: self.bytes,
            requested_bytes: self.bytes,
            committed_bytes: self.bytes,
            uncommitted_bytes: 0,
            physical_bytes: physical.next_multiple_of(self.granularity.max(1)).max(physical),
            chunks: if self.in_place { self.chunks.len() as u64 } else { 1 },
            is_image: true,
            ..Default::default()
        }
    }

    fn bound(&self) {}

    // Its binds are tried again by the next flush.
    fn roll_back(&self) {}
}

fn tails(layout: &TileLayout) -> Vec<std::ops::Range<u64>> {
    let tile = layout.tile_bytes();
    layout.tails().map(|tail| tail.first_tile * tile..tail.first_tile * tile + tail.bytes).collect()
}

/// Everything to bind of an image with residency flags: tiles, tails, metadata, with their bytes.
fn tiles(layout: &TileLayout, aspect: u32) -> Vec<(Place, u64)> {
    let tile_bytes = layout.tile_bytes();
    let mut all = Vec::new();
    for index in 0..layout.tiles() {
        let Some(TileLocation::Tile(coord)) = layout.locate(index) else { continue };
        let Some(region) = layout.region(coord) else { continue };
        let (layer, mip, tile) = (coord.layer, coord.mip, [coord.x, coord.y, coord.z]);
        let (offset, extent) = (region.offset, region.extent);
        let place = Place::Tile { aspect, layer, mip, tile, offset, extent, bytes: tile_bytes };
        all.push((place, tile_bytes));
    }
    let bytes = |offset, bytes, metadata| (Place::Bytes { offset, bytes, metadata }, bytes);
    all.extend(layout.tails().map(|tail| bytes(tail.offset, tail.bytes, false)));
    all.extend(layout.metadata().map(|(offset, size)| bytes(offset, size, true)));
    all
}

/// Lays places into chunks one after the other; a byte range may be cut, a tile and a tail may not.
struct Cutter {
    id: u64,
    chunk_bytes: u64,
    alignment: u64,
    /// Bytes used of each chunk.
    used: Vec<u64>,
    placed: Vec<(Place, usize, u64)>,
}

impl Cutter {
    fn new(id: u64, chunk_bytes: u64, alignment: u64) -> Self {
        Self { id, chunk_bytes, alignment: alignment.max(1), used: Vec::new(), placed: Vec::new() }
    }

    fn place(&mut self, place: Place, bytes: u64) {
        match place {
            Place::Bytes { offset, bytes, metadata: false } if bytes > self.chunk_bytes => {
                let mut at = 0;
                while at < bytes {
                    let part = self.chunk_bytes.min(bytes - at);
                    let piece = Place::Bytes { offset: offset + at, bytes: part, metadata: false };
                    self.used.push(part);
                    self.placed.push((piece, self.used.len() - 1, 0));
                    at += part;
                }
            }
            place => {
                let fits = self.used.last().is_some_and(|used| used + bytes <= self.chunk_bytes);
                if !fits {
                    self.used.push(0);
                }
                let chunk = self.used.len() - 1;
                self.placed.push((place, chunk, self.used[chunk]));
                self.used[chunk] += bytes.next_multiple_of(self.alignment);
            }
        }
    }

    /// Full chunks can be cached and reused; only the last may be smaller.
    fn chunk_sizes(&self) -> Vec<u64> {
        let last = self.used.len().saturating_sub(1);
        let size = |(index, used): (usize, &u64)| {
            let whole = if index < last { self.chunk_bytes } else { used.next_multiple_of(self.alignment) };
            whole.max(*used)
        };
        self.used.iter().enumerate().map(size).collect()
    }

    fn requests(&self, chunks: &[Arc<Chunk>]) -> Vec<Request> {
        let request = |(place, chunk, offset): &(Place, usize, u64)| {
            let memory = Memory { chunk: chunks.get(*chunk)?.id(), offset: *offset };
            Some(Request { resource: self.id, place: *place, memory: Some(memory), phase: Phase::Growth })
        };
        self.placed.iter().filter_map(request).collect()
    }
}
