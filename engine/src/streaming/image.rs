//! The streamed image: what it is made of. What happens to it in a frame is in `frame.rs`.

use std::sync::Arc;

use ash::vk::{BufferUsageFlags, Format, ImageLayout, ImageUsageFlags};

use super::error::{Error, Result};
use super::source::TileSource;
use super::stats::ResidencyStats;
use super::tiling::{Block, pinned_lod, pinned_tiles, streamed_layout};
use crate::memory::Upload;
use crate::sparse::tiles::{ResidencyMap, StreamerKnobs, TileCoord, TileLayout, TileStreamer};
use crate::sparse::{Missing, PartiallyResidentDesc, PartiallyResidentImage, SparseMemory};
use crate::vk::{Buffer, Device, Image, ImageDesc, Location, Point};

/// How to make a [`StreamedImage`].
#[derive(Debug, Clone)]
pub struct StreamedImageDesc {
    /// Debug name.
    pub name: String,
    /// Format of the texels.
    pub format: Format,
    /// Width and height in texels; there are all mips.
    pub extent: [u32; 2],
    /// Memory for its tiles at most, bytes: pinned ones, streamed ones, and pages that are being exchanged.
    pub budget_bytes: u64,
    /// Tiles mapped in one frame at most, and unmapped as well.
    pub maps_per_frame: u32,
    /// Frames that a tile stays after the last request for it.
    pub keep_frames: u32,
    /// What to do where the device cannot map single tiles.
    pub missing: Missing,
}

/// Places of the residency map's staging buffer: more than frames can be in flight.
pub(super) const MAP_PLACES: u64 = 4;

/// An image of which only what is needed has memory, with the map that tells shaders what they may sample.
///
/// Both images are in the layout `SHADER_READ_ONLY_OPTIMAL` between submissions. At most three frames may be in flight.
#[derive(Debug)]
pub struct StreamedImage {
    pub(super) image: PartiallyResidentImage,
    /// One texel a mip-0 tile: the finest mip that may be sampled there.
    pub(super) map_image: Image,
    pub(super) map_staging: Buffer,
    pub(super) map: ResidencyMap,
    pub(super) streamed: TileLayout,
    pub(super) streamer: TileStreamer,
    pub(super) source: Arc<dyn TileSource>,
    pub(super) block: Block,
    /// Tiles whose texels are there, by index: what the map is made from.
    pub(super) filled: Vec<bool>,
    /// Mapped tiles that have no texels yet, in the order of importance.
    pub(super) waiting: Vec<TileCoord>,
    /// Tiles whose unbind was refused: mapped, but not the streamer's any more.
    pub(super) leftovers: Vec<TileCoord>,
    /// Tiles that came or went since the map was last computed.
    pub(super) changed: Vec<TileCoord>,
    pub(super) pinned: Pinned,
    /// What this frame's plan asked for, until the flush has answered.
    pub(super) planned: (Vec<TileCoord>, Vec<TileCoord>),
    /// What this frame's commands will do, until they are submitted.
    pub(super) recorded: Vec<(Upload, TileCoord)>,
    pub(super) recorded_pinned: Vec<(Upload, u32)>,
    pub(super) map_is_dirty: bool,
    pub(super) map_is_new: bool,
    /// Submissions that wrote the map: each takes the next place of the staging buffer.
    pub(super) map_writes: u64,
    pub(super) frame: u64,
    pub(super) budget_tiles: u64,
    pub(super) short_until: Option<u64>,
    pub(super) stats: ResidencyStats,
    pub(super) streak: u64,
    pub(super) said_failure: bool,
}

/// How far the pinned mips are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd)]
pub(super) enum Pinned {
    /// Not known to have memory.
    Unbound,
    /// They have memory and no texels.
    Bound,
    /// Their texels are there.
    Filled,
}

impl StreamedImage {
    /// Reserves the addresses. The pinned mips are mapped by the first flush, and filled by the frame after it.
    ///
    /// # Errors
    /// A format that is not known, a device without it, or what [`PartiallyResidentImage::new`] says.
    pub fn new(sparse: &SparseMemory, desc: &StreamedImageDesc, source: Arc<dyn TileSource>) -> Result<Self> {
        let device = sparse.device();
        let block = Block::of(&desc.name, desc.format)?;
        if block.compressed && !device.capabilities().optional.bc {
            return Err(Error::NoCompression {
                name: desc.name.clone(),
                format: desc.format,
                device: device.capabilities().name.clone(),
            });
        }
        let usage = ImageUsageFlags::SAMPLED;
        let mut image_desc = ImageDesc::new_2d(desc.format, desc.extent, usage);
        image_desc.mips = image_desc.full_mips();
        let image = PartiallyResidentImage::new(
            sparse,
            &PartiallyResidentDesc {
                name: &desc.name,
                image: image_desc,
                rest_layout: ImageLayout::SHADER_READ_ONLY_OPTIMAL,
                missing: desc.missing,
            },
        )?;
        let layout = image.layout().clone();
        let named = |source| Error::Tiles { name: desc.name.clone(), source };
        let streamed = streamed_layout(&desc.name, &layout)?;
        let map = ResidencyMap::new(&streamed, 0, [false; 3]).map_err(named)?;
        let budget = desc.budget_bytes / layout.tile_bytes().max(1);
        let streaming = streaming_tiles(budget, pinned_tiles(&layout), desc.maps_per_frame);
        let knobs = StreamerKnobs {
            budget_tiles: streaming,
            maps_per_update: desc.maps_per_frame,
            unmaps_per_update: desc.maps_per_frame,
            keep_frames: desc.keep_frames,
        };
        let streamer = TileStreamer::new(&streamed, knobs).map_err(named)?;
        let (map_image, map_staging) = Self::make_map(device, &desc.name, &map)?;
        let standard = layout.tiles().min(streamed.tiles());
        let filled = vec![false; usize::try_from(standard).unwrap_or(usize::MAX)];
        let mips = 0..streamed.floor_lod();
        let tiles_in = |mip| streamed.mip_tiles(mip).iter().map(|n| u64::from(*n)).product();
        let stats = ResidencyStats {
            name: desc.name.clone(),
            in_place: image.in_place(),
            extent: desc.extent,
            tile_bytes: layout.tile_bytes(),
            tiles: mips.clone().map(tiles_in).sum::<u64>() + pinned_tiles(&layout),
            budget_tiles: budget,
            pinned_tiles: pinned_tiles(&layout),
            tiles_per_mip: mips.map(tiles_in).collect(),
            frames_until_settled: Some(0),
            ..Default::default()
        };
        let mut this = Self {
            image,
            map_image,
            map_staging,
            map,
            streamed,
            streamer,
            source,
            block,
            filled,
            waiting: Vec::new(),
            leftovers: Vec::new(),
            changed: Vec::new(),
            pinned: Pinned::Unbound,
            planned: Default::default(),
            recorded: Vec::new(),
            recorded_pinned: Vec::new(),
            map_is_dirty: true,
            map_is_new: true,
            map_writes: 0,
            frame: 0,
            budget_tiles: streaming,
            short_until: None,
            stats,
            streak: 0,
            said_failure: false,
        };
        this.map_pinned()?;
        Ok(this)
    }

    fn make_map(device: &Arc<Device>, name: &str, map: &ResidencyMap) -> Result<(Image, Buffer)> {
        let [width, height, _] = map.size();
        let usage = ImageUsageFlags::SAMPLED | ImageUsageFlags::TRANSFER_DST;
        let desc = ImageDesc::new_2d(Format::R8_UINT, [width, height], usage);
        let image = Image::committed(device, &format!("{name}.Residency"), desc)?;
        let bytes = Self::map_pitch(map) * MAP_PLACES;
        let usage = BufferUsageFlags::TRANSFER_SRC;
        let name = format!("{name}.ResidencyStaging");
        Ok((image, Buffer::committed(device, &name, bytes, usage, Location::Upload)?))
    }

    /// Bytes of one place of the staging buffer.
    pub(super) fn map_pitch(map: &ResidencyMap) -> u64 {
        (map.texels().len() as u64).next_multiple_of(16)
    }

    /// Tiles of the pinned mips that are not in a tail.
    pub(super) fn pinned_in_tiles(&self) -> Vec<TileCoord> {
        let layout = self.image.layout();
        let mips = pinned_lod(layout)..layout.floor_lod();
        mips.flat_map(|mip| layout.mip_block(0, mip).tiles()).collect()
    }

    /// Maps them. Those that are mapped already keep what they have.
    pub(super) fn map_pinned(&mut self) -> Result<()> {
        let tiles = self.pinned_in_tiles();
        self.image.map(&tiles)?;
        Ok(())
    }

    /// Whether it can be sampled: before the first flush and frame that went well there is nothing in it.
    pub fn is_ready(&self) -> bool {
        self.pinned == Pinned::Filled || !self.recorded_pinned.is_empty()
    }

    /// Tells the checker of reserved memory that a submission with the moment `at` may use every tile that the residency
    /// map allows, and the pinned mips.
    pub(super) fn declare_uses(&self, sparse: &SparseMemory, at: Point) {
        if !self.image.in_place() || !sparse.checker().is_on() || !self.is_ready() {
            return;
        }
        let layout = self.image.layout();
        let tile_bytes = layout.tile_bytes();
        let first_pinned = layout.mip_block(0, pinned_lod(layout)).tiles().next();
        let pinned = first_pinned.and_then(|tile| layout.tile_index(tile));
        let pinned = pinned.or_else(|| layout.tails().next().map(|tail| tail.first_tile));
        let pinned = pinned.unwrap_or(layout.tiles())..layout.tiles();
        let mut runs: Vec<std::ops::Range<u64>> = vec![pinned];
        for (index, _) in (0u64..).zip(&self.filled).filter(|(_, filled)| **filled) {
            match runs.last_mut() {
                Some(run) if run.end == index => run.end += 1,
                _ => runs.push(index..index + 1),
            }
        }
        for run in runs.into_iter().filter(|run| !run.is_empty()) {
            sparse.declare_use(self.image.id(), run.start * tile_bytes..run.end * tile_bytes, at);
        }
    }

    /// Memory for its tiles at most from now on, bytes, as [`StreamedImageDesc::budget_bytes`]. Tiles beyond it go with the
    /// next plan, the least important first.
    pub fn set_budget(&mut self, bytes: u64) {
        let layout = self.image.layout();
        let budget = bytes / layout.tile_bytes().max(1);
        if budget == self.stats.budget_tiles {
            return;
        }
        let knobs = *self.streamer.knobs();
        self.stats.budget_tiles = budget;
        self.budget_tiles = streaming_tiles(budget, pinned_tiles(layout), knobs.maps_per_update);
        // Where memory ran out a moment ago, less is tried for a while.
        let now = if self.short_until.is_some() { knobs.budget_tiles } else { u64::MAX };
        self.streamer.set_budget(self.budget_tiles.min(now));
    }

    /// Frames that a tile stays after the last request for it, from now on.
    pub fn set_keep_frames(&mut self, frames: u32) {
        self.streamer.set_keep_frames(frames);
    }

    /// Bytes of the tiles that are mapped, pinned ones included.
    pub fn mapped_bytes(&self) -> u64 {
        (self.streamer.mapped() + self.stats.pinned_tiles) * self.stats.tile_bytes
    }

    /// Whether more tiles would be mapped if there were more memory.
    pub fn is_limited(&self) -> bool {
        self.stats.deferred > 0 || self.streamer.mapped() >= self.streamer.knobs().budget_tiles
    }

    /// Whether tiles are bound one by one, so that fewer tiles are less memory.
    pub fn in_place(&self) -> bool {
        self.image.in_place()
    }

    /// The image.
    pub fn image(&self) -> &Image {
        self.image.image()
    }

    /// The image with its tiles.
    pub fn tiles(&self) -> &PartiallyResidentImage {
        &self.image
    }

    /// The residency map as shaders see it: `R8_UINT`, one texel a mip-0 tile.
    pub fn map_image(&self) -> &Image {
        &self.map_image
    }

    /// The residency map of the last frame that was filled.
    pub fn map(&self) -> &ResidencyMap {
        &self.map
    }

    /// The tiles that are streamed; everything from the first pinned mip on is its tail.
    pub fn layout(&self) -> &TileLayout {
        &self.streamed
    }

    /// The planner, to look at.
    pub fn streamer(&self) -> &TileStreamer {
        &self.streamer
    }

    /// Whether a tile's texels are there, or recorded.
    pub fn is_filled(&self, tile: TileCoord) -> bool {
        is_filled(&self.streamed, &self.filled, tile)
    }

    /// The numbers.
    pub fn stats(&self) -> ResidencyStats {
        ResidencyStats {
            streaming_tiles: self.streamer.knobs().budget_tiles,
            mapped_tiles: self.streamer.mapped(),
            mapped_per_mip: self.streamer.mapped_per_mip().to_vec(),
            resident_levels: self.map.resident_levels(),
            ..self.stats.clone()
        }
    }
}

/// Tiles that may be streamed within a budget: pages of tiles that leave are free one flush later than those of the tiles
/// that come are taken.
fn streaming_tiles(budget: u64, pinned: u64, maps_per_frame: u32) -> u64 {
    budget.saturating_sub(pinned).saturating_sub(u64::from(maps_per_frame).min(budget / 4))
}

pub(super) fn is_filled(layout: &TileLayout, filled: &[bool], tile: TileCoord) -> bool {
    let index = layout.tile_index(tile).and_then(|index| usize::try_from(index).ok());
    index.and_then(|index| filled.get(index)).copied().unwrap_or(false)
}
