//! The partially resident image: tiles that come and go, a tail that stays.

use std::sync::Arc;

use ash::vk::ImageLayout;

use crate::sparse::batch::{Memory, Phase, Place, Request};
use crate::sparse::chunk::Chunk;
use crate::sparse::error::{Error, Result};
use crate::sparse::memory::{Inner, Shared, SparseMemory};
use crate::sparse::paged::{Mapped, Paged, PagedBacking};
use crate::sparse::pages::PageRef;
use crate::sparse::pools::PoolKey;
use crate::sparse::resource::{Command, Resource, Target, Work};
use crate::sparse::shadow::{Kind, ResourceDesc};
use crate::sparse::stats::ResourceStats;
use crate::sparse::tiles::{ImageTiling, MipTail, TileCoord, TileLayout, TileLocation};
use crate::vk::{Image, ImageDesc, SparseImage};

use super::tile_layout;

/// What happens where the device cannot map single tiles of such an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Missing {
    /// An error that names the missing feature.
    #[default]
    Refuse,
    /// All of the image has memory, and which tiles count as mapped is only book-keeping, so that everything built on
    /// it goes on: the same tiles hold the same texels.
    CommitAll,
}

/// How to make a [`PartiallyResidentImage`].
#[derive(Debug, Clone)]
pub struct PartiallyResidentDesc<'a> {
    /// Debug name.
    pub name: &'a str,
    /// What it is: two or three dimensions. Transfer source and destination are added to its usage.
    pub image: ImageDesc,
    /// The layout that it is in whenever memory may be moved: after each submission, and before the first, which finds
    /// it there already.
    pub rest_layout: ImageLayout,
    /// What to do where the device cannot.
    pub missing: Missing,
}

/// An image any tile of which can be mapped or not; its tail (or its last mip, where there is no tail) always is.
///
/// Shaders must not reach what is not mapped: they clamp their level of detail with a
/// [`ResidencyMap`](crate::sparse::tiles::ResidencyMap). New tiles hold undefined texels until they are written.
#[derive(Debug)]
pub struct PartiallyResidentImage {
    // Dropped in this order.
    image: Arc<Image>,
    backing: Arc<PagedBacking>,
    layout: Arc<TileLayout>,
    shared: Arc<Shared>,
}

/// Tile shape of the book-keeping where the driver has none: that of 64 KiB of BC1, or of the nearest power of two.
const FALLBACK_TILE: [u32; 3] = [512, 256, 1];
const FALLBACK_TILE_3D: [u32; 3] = [64, 64, 32];

impl PartiallyResidentImage {
    /// Reserves addresses, and maps the tail with the next flush.
    ///
    /// # Errors
    /// A device that cannot ([`Missing`]), a description over a limit, a tail larger than a chunk, no addresses left, or
    /// out of memory.
    pub fn new(sparse: &SparseMemory, desc: &PartiallyResidentDesc<'_>) -> Result<Self> {
        let shared = sparse.shared.clone();
        let device = shared.device.clone();
        let support = device.capabilities().sparse;
        let movable = support.residency_aliased;
        let mut image_desc = desc.image;
        image_desc.usage |= ash::vk::ImageUsageFlags::TRANSFER_SRC | ash::vk::ImageUsageFlags::TRANSFER_DST;
        let reserved = Image::reserved(
            &device,
            desc.name,
            image_desc,
            SparseImage { residency: true, aliased: movable },
        );
        let (image, in_place) = match reserved {
            Ok(image) => (image, true),
            Err(error) if desc.missing == Missing::CommitAll && is_missing(&error) => {
                log::warn!("{error}: all of it has memory instead");
                (Image::dedicated(&device, desc.name, image_desc)?, false)
            }
            Err(error) => return Err(error.into()),
        };
        let image = Arc::new(image);
        let layout =
            if in_place { tile_layout(&device, &image)? } else { fallback_layout(desc.name, &image_desc)? };
        let named = |source| Error::Tiles { name: desc.name.into(), source };
        layout.check_chunk(shared.knobs.chunk_bytes).map_err(named)?;
        let needs = image.requirements();
        let memory_type = device.chunk_memory_type(needs.memory_types)?;
        let id = shared.next_id();
        let mut inner = shared.lock();
        let key = PoolKey { memory_type, tile_bytes: layout.tile_bytes(), movable };
        let pool = inner.pools.find(key, shared.knobs.chunk_bytes);
        let backing = Arc::new(PagedBacking::new(Paged {
            id,
            name: desc.name.into(),
            kind: if in_place { "partially resident image" } else { "partially resident image (fallback)" },
            target: Target::Image(image.clone()),
            layout: Some(layout.clone()),
            aspect: image_desc.aspect().as_raw(),
            rest_layout: desc.rest_layout,
            reserved_bytes: layout.tiles() * layout.tile_bytes(),
            pool,
            tile_bytes: layout.tile_bytes(),
            tiles: layout.tiles(),
            in_place,
        }));
        let resource: Arc<dyn Resource> = backing.clone();
        inner.register(Arc::downgrade(&resource));
        if in_place {
            let tile = layout.tile_bytes();
            let tails = layout.tails().map(|t| t.first_tile * tile..t.first_tile * tile + t.bytes);
            let shadow = ResourceDesc {
                name: desc.name.into(),
                kind: Kind::TiledImage,
                bytes: layout.tiles() * tile,
                tile_bytes: tile,
                aliased: movable,
                tails: tails.collect(),
            };
            shared.checker.add_resource(id, shadow, Some(layout.clone()));
        }
        drop(inner);
        // From here on dropping it gives everything back.
        let this = Self { image, backing, layout, shared };
        this.map_floor()?;
        Ok(this)
    }

    /// Maps what always is: tails, metadata, and the last mip where there is no tail. The first layout goes with it.
    fn map_floor(&self) -> Result<()> {
        let mut inner = self.shared.lock();
        let commands = vec![Command::Layout(self.backing.rest_layout)];
        let floor: Vec<u64> = self.layout.floor_tiles().filter_map(|t| self.layout.tile_index(t)).collect();
        let Mapped { mut requests, mut chunks, .. } = self.backing.map(&self.shared, &mut inner, &floor)?;
        for tail in self.layout.tails() {
            let pages = tail.bytes / self.layout.tile_bytes().max(1);
            let tiles = tail.first_tile..tail.first_tile + pages;
            if self.backing.in_place {
                let run = self.take_run(&mut inner, tiles.start, pages)?;
                let tiles: Vec<_> = tiles.zip(run.iter().map(|page| Some(*page))).collect();
                self.backing.set(&tiles);
                self.push_run(&inner, (tail.offset, tail.bytes, false), &run, &mut requests, &mut chunks);
            }
        }
        if self.backing.in_place {
            // Metadata has no tiles of its own; its pages count from behind the last tile.
            let mut first = self.layout.tiles();
            for (offset, bytes) in self.layout.metadata() {
                let pages = bytes.div_ceil(self.layout.tile_bytes().max(1));
                let run = self.take_run(&mut inner, first, pages)?;
                self.backing.keep(&run);
                self.push_run(&inner, (offset, bytes, true), &run, &mut requests, &mut chunks);
                first += pages;
            }
        }
        self.backing.make_permanent();
        let resource: Arc<dyn Resource> = self.backing.clone();
        let mut work = Work::new(self.backing.id, Arc::downgrade(&resource), self.backing.target.clone());
        (work.requests, work.chunks, work.commands, work.retries) = (requests, chunks, commands, true);
        inner.work.push(work);
        Ok(())
    }

    fn take_run(&self, inner: &mut Inner, first_tile: u64, pages: u64) -> Result<Vec<PageRef>> {
        let owner = (self.backing.name.as_str(), self.backing.id);
        let pages = u32::try_from(pages).unwrap_or(u32::MAX);
        self.shared.take_run(inner, self.backing.pool, owner, first_tile, pages)
    }

    fn push_run(
        &self,
        inner: &Inner,
        (offset, bytes, metadata): (u64, u64, bool),
        run: &[PageRef],
        requests: &mut Vec<Request>,
        chunks: &mut Vec<Arc<Chunk>>,
    ) {
        let first = run.first().and_then(|page| inner.pools.pools.get(self.backing.pool)?.place(*page));
        let Some((chunk, at)) = first else { return };
        requests.push(Request {
            resource: self.backing.id,
            place: Place::Bytes { offset, bytes, metadata },
            memory: Some(Memory { chunk: chunk.id(), offset: at }),
            phase: Phase::Growth,
        });
        chunks.push(chunk);
    }

    /// Gives tiles memory from the next flush on, all or none. Tiles that have some keep it. Returns how many were mapped
    /// now.
    ///
    /// # Errors
    /// A tile that the image does not have, or out of memory: nothing has changed.
    pub fn map(&mut self, tiles: &[TileCoord]) -> Result<u64> {
        profiling::scope!("CommitReservedResource");
        let tiles = self.indices(tiles)?;
        let mut inner = self.shared.lock();
        let Mapped { tiles: mapped, requests, chunks } =
            self.backing.map(&self.shared, &mut inner, &tiles)?;
        if !requests.is_empty() {
            self.backing.queue(&mut inner, requests, chunks, Vec::new());
        }
        inner.stats.grows += u64::from(!mapped.is_empty());
        Ok(mapped.len() as u64)
    }

    /// Takes memory away with the next flush. Make sure first that shaders do not reach these tiles any more: commands
    /// submitted before the flush may, commands submitted after it must not. Returns how many were unmapped now.
    ///
    /// # Errors
    /// A tile that the image does not have, or one of the last mip of an image without a tail, which stays: nothing has
    /// changed.
    pub fn unmap(&mut self, tiles: &[TileCoord]) -> Result<u64> {
        profiling::scope!("CommitReservedResource");
        if let Some(floor) = tiles.iter().find(|t| t.mip >= self.layout.floor_lod()) {
            return Err(self.no_tile(floor, "its last mip always stays".into()));
        }
        let tiles = self.indices(tiles)?;
        let mut inner = self.shared.lock();
        let (unmapped, requests) = self.backing.unmap(&tiles);
        if !requests.is_empty() {
            self.backing.queue(&mut inner, requests, Vec::new(), Vec::new());
        }
        inner.stats.shrinks += u64::from(!unmapped.is_empty());
        Ok(unmapped.len() as u64)
    }

    fn indices(&self, tiles: &[TileCoord]) -> Result<Vec<u64>> {
        let index = |tile: &TileCoord| {
            let why = || {
                let [x, y, z] = self.layout.mip_tiles(tile.mip);
                let (mip, layers) = (tile.mip, self.layout.tiling().layers);
                let (first, mips) = (self.layout.tail_first_lod(), self.layout.tiling().mips);
                match mip {
                    mip if mip >= mips => format!("it has {mips} mips"),
                    mip if mip >= first => format!("mips from {first} on are its tail"),
                    mip => format!("mip {mip} has {x} x {y} x {z} tiles in each of {layers} layers"),
                }
            };
            self.layout.tile_index(*tile).ok_or_else(|| self.no_tile(tile, why()))
        };
        tiles.iter().map(index).collect()
    }

    fn no_tile(&self, tile: &TileCoord, why: String) -> Error {
        let TileCoord { layer, mip, x, y, z } = *tile;
        Error::NoTile {
            name: self.backing.name.clone(),
            tile: format!("({x}, {y}, {z}) of mip {mip}, layer {layer}"),
            why,
        }
    }

    /// The image. It is in the rest layout of its description whenever no commands of the caller's own say otherwise.
    pub fn image(&self) -> &Image {
        &self.image
    }

    /// The image, to be kept by a recording.
    pub fn shared_image(&self) -> Arc<Image> {
        self.image.clone()
    }

    /// How its tiles are numbered and where they lie.
    pub fn layout(&self) -> &Arc<TileLayout> {
        &self.layout
    }

    /// The layout that it is in between submissions.
    pub fn rest_layout(&self) -> ImageLayout {
        self.backing.rest_layout
    }

    /// Its number for [`SparseMemory::declare_use`] and the checker's page tables.
    pub fn id(&self) -> u64 {
        self.backing.id
    }

    /// Whether tiles are bound one by one (`false`: all of it has memory).
    pub fn in_place(&self) -> bool {
        self.backing.in_place
    }

    /// Whether a tile is mapped, as of the last map or unmap.
    pub fn is_mapped(&self, tile: TileCoord) -> bool {
        self.layout.tile_index(tile).is_some_and(|index| self.backing.page(index).is_some())
    }

    /// Tiles mapped, tails included.
    pub fn mapped(&self) -> u64 {
        self.backing.mapped()
    }

    /// The mapped tiles that are not tails.
    pub fn mapped_tiles(&self) -> Vec<TileCoord> {
        let coord = |index: u64| match self.layout.locate(index)? {
            TileLocation::Tile(coord) => Some(coord),
            TileLocation::Tail { .. } => None,
        };
        self.backing.mapped_tiles().into_iter().filter_map(coord).collect()
    }

    /// The statistics of this image.
    pub fn stats(&self) -> ResourceStats {
        self.backing.stats()
    }

    /// Which chunk, and which byte of it, a tile lies in; `None` without memory and in the fallback.
    pub fn locate(&self, tile: TileCoord) -> Option<(Arc<Chunk>, u64)> {
        // Locked first: a page that is being moved is at one place or the other, and not in between.
        let inner = self.shared.lock();
        let page = self.backing.page(self.layout.tile_index(tile)?)?;
        inner.pools.pools.get(self.backing.pool)?.place(page)
    }
}

impl Drop for PartiallyResidentImage {
    fn drop(&mut self) {
        let mut inner = self.shared.lock();
        inner.work.retain(|w| w.id != self.backing.id);
        self.backing.retire(&self.shared.device, &mut inner.pools);
        drop(inner);
        if self.backing.in_place {
            self.shared.checker.remove_resource(self.backing.id);
        }
    }
}

/// Whether an error says that the device cannot do it at all.
fn is_missing(error: &crate::vk::Error) -> bool {
    matches!(error, crate::vk::Error::Unsupported { .. })
}

/// Tiles for book-keeping, where no driver says how large they are.
fn fallback_layout(name: &str, desc: &ImageDesc) -> Result<Arc<TileLayout>> {
    let granularity = if desc.depth > 1 { FALLBACK_TILE_3D } else { FALLBACK_TILE };
    let tiling = ImageTiling {
        extent: desc.extent3(),
        mips: desc.mips,
        layers: desc.layers,
        granularity,
        tile_bytes: crate::sparse::watermark::DEFAULT_TILE_BYTES,
        tail: MipTail::default(),
        metadata: None,
    };
    let named = |source| Error::Tiles { name: name.into(), source };
    Ok(Arc::new(TileLayout::new(tiling).map_err(named)?))
}
