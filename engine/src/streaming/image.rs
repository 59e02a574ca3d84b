//! The streamed image, and what happens to it in a frame.

use std::sync::Arc;

use ash::vk::{
    AccessFlags2 as Access, BufferUsageFlags, Format, ImageLayout, ImageUsageFlags,
    PipelineStageFlags2 as Stage,
};

use super::error::{Error, Result};
use super::source::{Piece, TileSource, fill_all};
use super::stats::ResidencyStats;
use super::tiling::{Block, pinned_lod, pinned_tiles, streamed_layout};
use crate::memory::{Upload, UploadRing};
use crate::sparse::tiles::{
    ResidencyMap, StreamerKnobs, TexelRegion, TileCoord, TileLayout, TileRequest, TileStreamer,
};
use crate::sparse::{Missing, PartiallyResidentDesc, PartiallyResidentImage, SparseMemory};
use crate::vk::{Buffer, CommandEncoder, Device, Image, ImageDesc, ImageRegion, Location, Point};

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

/// After memory ran out, frames until more than what is there is tried again.
const RETRY_FRAMES: u64 = 60;
/// Places of the residency map's staging buffer: more than frames can be in flight.
const MAP_PLACES: u64 = 4;

const SAMPLED: (Stage, Access) = (
    Stage::ALL_COMMANDS,
    Access::from_raw(Access::SHADER_SAMPLED_READ.as_raw() | Access::TRANSFER_READ.as_raw()),
);
const COPIED: (Stage, Access) = (Stage::ALL_TRANSFER, Access::TRANSFER_WRITE);

/// An image of which only what is needed has memory, with the map that tells shaders what they may sample.
///
/// Both images are in the layout `SHADER_READ_ONLY_OPTIMAL` between submissions. At most three frames may be in flight.
#[derive(Debug)]
pub struct StreamedImage {
    image: PartiallyResidentImage,
    /// One texel a mip-0 tile: the finest mip that may be sampled there.
    map_image: Image,
    map_staging: Buffer,
    map: ResidencyMap,
    streamed: TileLayout,
    streamer: TileStreamer,
    source: Arc<dyn TileSource>,
    block: Block,
    /// Tiles whose texels are there, by index: what the map is made from.
    filled: Vec<bool>,
    /// Mapped tiles that have no texels yet, in the order of importance.
    waiting: Vec<TileCoord>,
    /// Tiles whose unbind was refused: mapped, but not the streamer's any more.
    leftovers: Vec<TileCoord>,
    /// Tiles that came or went since the map was last computed.
    changed: Vec<TileCoord>,
    pinned: Pinned,
    /// What this frame's plan asked for, until the flush has answered.
    planned: (Vec<TileCoord>, Vec<TileCoord>),
    /// What this frame's commands will do, until they are submitted.
    recorded: Vec<(Upload, TileCoord)>,
    recorded_pinned: Vec<(Upload, u32)>,
    map_is_dirty: bool,
    map_is_new: bool,
    /// Submissions that wrote the map: each takes the next place of the staging buffer.
    map_writes: u64,
    frame: u64,
    budget_tiles: u64,
    short_until: Option<u64>,
    stats: ResidencyStats,
    streak: u64,
    said_failure: bool,
}

/// How far the pinned mips are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd)]
enum Pinned {
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
        // Pages of tiles that leave are free one flush later than those of the tiles that come are taken.
        let streaming = budget
            .saturating_sub(pinned_tiles(&layout))
            .saturating_sub(u64::from(desc.maps_per_frame).min(budget / 4));
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
    fn map_pitch(map: &ResidencyMap) -> u64 {
        (map.texels().len() as u64).next_multiple_of(16)
    }

    /// Tiles of the pinned mips that are not in a tail.
    fn pinned_in_tiles(&self) -> Vec<TileCoord> {
        let layout = self.image.layout();
        let mips = pinned_lod(layout)..layout.floor_lod();
        mips.flat_map(|mip| layout.mip_block(0, mip).tiles()).collect()
    }

    /// Maps them. Those that are mapped already keep what they have.
    fn map_pinned(&mut self) -> Result<()> {
        let tiles = self.pinned_in_tiles();
        self.image.map(&tiles)?;
        Ok(())
    }

    /// Decides what this frame maps and unmaps, and queues it for the next flush. Call it before the flush of the frame
    /// whose view asked for these tiles.
    pub fn plan(&mut self, requests: &[TileRequest]) {
        self.frame += 1;
        self.stats.requested = requests.len() as u64;
        (self.stats.mapped, self.stats.unmapped) = (0, 0);
        if self.pinned == Pinned::Unbound {
            if let Err(error) = self.map_pinned() {
                self.say(&error);
            }
            return;
        }
        if self.short_until.is_some_and(|until| self.frame >= until) {
            self.short_until = None;
            self.streamer.set_budget(self.budget_tiles);
        }
        let plan = self.streamer.update(requests, self.frame);
        let streamer = &self.streamer;
        let mut leaving = std::mem::take(&mut self.leftovers);
        leaving.retain(|tile| !streamer.is_mapped(*tile));
        leaving.extend(&plan.unmap);
        if let Err(error) = self.image.unmap(&leaving) {
            log::error!("{error}"); // Plans name tiles that exist.
        }
        let coming = self.map_first_of(&plan.map);
        let (mapped, failed) = plan.map.split_at(coming);
        self.streamer.failed(failed);
        for tile in &leaving {
            self.set_filled(*tile, false);
        }
        self.waiting.retain(|tile| !leaving.contains(tile));
        // A tile that was left over and is wanted again is filled again: it is not in the map.
        mapped.iter().for_each(|tile| self.set_filled(*tile, false));
        self.waiting.extend(mapped);
        self.changed.extend(leaving.iter().chain(mapped));
        self.stats.mapped = mapped.len() as u64;
        self.stats.unmapped = leaving.len() as u64;
        self.stats.deferred = plan.deferred + failed.len() as u64;
        self.planned = (mapped.to_vec(), leaving);
    }

    /// Maps the first tiles of a list, as many as there is memory for.
    fn map_first_of(&mut self, tiles: &[TileCoord]) -> usize {
        let mut count = tiles.len();
        while count > 0 {
            match self.image.map(&tiles[..count]) {
                Ok(_) => break,
                Err(error) => {
                    self.say(&error.into());
                    count /= 2;
                }
            }
        }
        if count < tiles.len() {
            self.stats.map_failures += 1;
            // Exchanges go on; what is more than that waits, so that not every frame asks in vain.
            self.short_until = Some(self.frame + RETRY_FRAMES);
            let failed = (tiles.len() - count) as u64;
            self.streamer.set_budget(self.streamer.mapped().saturating_sub(failed));
        }
        count
    }

    /// The flush after [`Self::plan`] went well.
    pub fn bound(&mut self) {
        let has_pinned = |tile: &TileCoord| self.image.is_mapped(*tile);
        if self.pinned == Pinned::Unbound && self.pinned_in_tiles().iter().all(has_pinned) {
            self.pinned = Pinned::Bound;
        }
        let (mapped, unmapped) = std::mem::take(&mut self.planned);
        self.stats.maps += mapped.len() as u64;
        self.stats.unmaps += unmapped.len() as u64;
    }

    /// The flush after [`Self::plan`] was refused: what it did not bind is taken back.
    pub fn refused(&mut self) {
        self.stats.bind_failures += 1;
        let (mapped, unmapped) = std::mem::take(&mut self.planned);
        let (image, streamer) = (&self.image, &mut self.streamer);
        let lost: Vec<TileCoord> = mapped.into_iter().filter(|tile| !image.is_mapped(*tile)).collect();
        streamer.failed(&lost);
        self.waiting.retain(|tile| !lost.contains(tile));
        self.leftovers.extend(unmapped.into_iter().filter(|tile| image.is_mapped(*tile)));
        (self.stats.mapped, self.stats.unmapped) = (0, 0);
    }

    /// Fills the tiles that have memory now and puts their texels into the ring. Call it after the flush.
    pub fn fill(&mut self, ring: &mut UploadRing) {
        profiling::scope!("StreamedImage::fill");
        if self.pinned == Pinned::Bound && self.recorded_pinned.is_empty() {
            self.fill_pinned(ring);
        }
        let tiles = std::mem::take(&mut self.waiting);
        let mut pieces: Vec<Piece> = Vec::with_capacity(tiles.len());
        for tile in &tiles {
            let Some(region) = self.streamed.region(*tile) else { continue };
            pieces.push(self.piece(tile.mip, region));
        }
        fill_all(&*self.source, &mut pieces);
        for (tile, piece) in tiles.into_iter().zip(&pieces) {
            match ring.write(&piece.bytes) {
                Ok(upload) => {
                    self.stats.uploaded_bytes += upload.bytes;
                    self.recorded.push((upload, tile));
                    self.set_filled(tile, true);
                    self.changed.push(tile);
                }
                Err(error) => {
                    self.say(&error.into());
                    self.waiting.push(tile);
                }
            }
        }
        self.update_map();
        self.count_frame();
    }

    fn piece(&self, mip: u32, region: TexelRegion) -> Piece {
        let bytes = usize::try_from(self.block.bytes(region)).unwrap_or_default();
        Piece { mip, region, bytes: vec![0; bytes] }
    }

    fn fill_pinned(&mut self, ring: &mut UploadRing) {
        let layout = self.image.layout().clone();
        let mut pieces: Vec<Piece> = (pinned_lod(&layout)..layout.tiling().mips)
            .map(|mip| self.piece(mip, TexelRegion { offset: [0; 3], extent: layout.mip_extent(mip) }))
            .collect();
        fill_all(&*self.source, &mut pieces);
        for piece in &pieces {
            match ring.write(&piece.bytes) {
                Ok(upload) => self.recorded_pinned.push((upload, piece.mip)),
                Err(error) => {
                    self.say(&error.into());
                    return self.recorded_pinned.clear();
                }
            }
        }
    }

    fn update_map(&mut self) {
        let changed = std::mem::take(&mut self.changed);
        let (streamed, filled) = (&self.streamed, &self.filled);
        let is_filled = |tile: TileCoord| is_filled(streamed, filled, tile);
        self.map_is_dirty |= self.map.update_tiles(&changed, is_filled).is_some();
    }

    fn count_frame(&mut self) {
        let moves = self.stats.mapped + self.stats.unmapped > 0 || !self.waiting.is_empty();
        if moves {
            self.streak += 1;
            self.stats.unsettled_frames += 1;
            self.stats.frames_until_settled = None;
        } else if self.streak > 0 {
            self.stats.frames_until_settled = Some(std::mem::take(&mut self.streak));
        }
        self.stats.mapped_tiles_max = self.stats.mapped_tiles_max.max(self.streamer.mapped());
    }

    fn set_filled(&mut self, tile: TileCoord, is: bool) {
        let index = self.streamed.tile_index(tile).and_then(|index| usize::try_from(index).ok());
        if let Some(filled) = index.and_then(|index| self.filled.get_mut(index)) {
            *filled = is;
        }
    }

    /// Once a cause: it may come back every frame.
    fn say(&mut self, error: &Error) {
        if !std::mem::replace(&mut self.said_failure, true) {
            log::warn!("{} goes on with what it has: {error}", self.stats.name);
        }
    }

    /// Records the copies of what [`Self::fill`] made ready, and the residency map: before anything that samples.
    ///
    /// # Errors
    /// When the staging buffer cannot be written (it always can).
    pub fn record(&mut self, encoder: &mut CommandEncoder) -> Result<()> {
        let read = ImageLayout::SHADER_READ_ONLY_OPTIMAL;
        let write = ImageLayout::TRANSFER_DST_OPTIMAL;
        if !(self.recorded.is_empty() && self.recorded_pinned.is_empty()) {
            let image = self.image.image();
            let aspect = image.desc().aspect();
            encoder.image_barrier(image.raw(), aspect, (read, write), SAMPLED, COPIED);
            for (index, (buffer, copies)) in self.copies().into_iter().enumerate() {
                if index > 0 {
                    // Nothing overlaps; but validation counts rows of blocks for rows of texels.
                    encoder.memory_barrier(COPIED, COPIED);
                }
                encoder.copy_buffer_to_regions(&buffer, image, write, &copies);
            }
            encoder.image_barrier(image.raw(), aspect, (write, read), COPIED, SAMPLED);
        }
        if self.map_is_dirty {
            let place = (self.map_writes % MAP_PLACES) * Self::map_pitch(&self.map);
            self.map_staging.write_mapped(place, self.map.texels())?;
            let image = &self.map_image;
            let aspect = image.desc().aspect();
            let before = if self.map_is_new { ImageLayout::UNDEFINED } else { read };
            encoder.image_barrier(image.raw(), aspect, (before, write), SAMPLED, COPIED);
            let region = ImageRegion::mip(image, 0, 0);
            encoder.copy_buffer_to_regions(&self.map_staging, image, write, &[(place, region)]);
            encoder.image_barrier(image.raw(), aspect, (write, read), COPIED, SAMPLED);
        }
        Ok(())
    }

    /// What was made ready, in one list a buffer: the ring's own, and others where something did not fit.
    fn copies(&self) -> Vec<(Arc<Buffer>, Vec<(u64, ImageRegion)>)> {
        let tile = |(upload, tile): &(Upload, TileCoord)| {
            let TexelRegion { offset, extent } = self.streamed.region(*tile)?;
            Some((upload.clone(), ImageRegion { mip: tile.mip, layer: tile.layer, offset, extent }))
        };
        let mip =
            |(upload, mip): &(Upload, u32)| (upload.clone(), ImageRegion::mip(self.image.image(), 0, *mip));
        let pinned = self.recorded_pinned.iter().map(mip);
        let mut lists: Vec<(Arc<Buffer>, Vec<(u64, ImageRegion)>)> = Vec::new();
        for (upload, region) in self.recorded.iter().filter_map(tile).chain(pinned) {
            let copy = (upload.offset, region);
            match lists.iter_mut().find(|(buffer, _)| Arc::ptr_eq(buffer, &upload.buffer)) {
                Some((_, copies)) => copies.push(copy),
                None => lists.push((upload.buffer, vec![copy])),
            }
        }
        lists
    }

    /// What was recorded is submitted.
    pub fn submitted(&mut self) {
        self.recorded.clear();
        if !self.recorded_pinned.is_empty() {
            self.recorded_pinned.clear();
            self.pinned = Pinned::Filled;
        }
        if std::mem::take(&mut self.map_is_dirty) {
            self.map_is_new = false;
            self.map_writes += 1;
        }
    }

    /// What was recorded is not submitted: it is done again by the next frame.
    pub fn keep_unsubmitted(&mut self) {
        let again: Vec<TileCoord> = self.recorded.drain(..).map(|(_, tile)| tile).collect();
        again.iter().for_each(|tile| self.set_filled(*tile, false));
        self.changed.extend(&again);
        self.waiting.splice(0..0, again);
        self.recorded_pinned.clear();
        self.map_is_dirty = true;
    }

    /// Whether it can be sampled: before the first flush and frame that went well there is nothing in it.
    pub fn is_ready(&self) -> bool {
        self.pinned == Pinned::Filled || !self.recorded_pinned.is_empty()
    }

    /// Tells the checker of reserved memory that a submission with the moment `at` may use every tile that the residency
    /// map allows, and the pinned mips.
    pub fn declare_uses(&self, sparse: &SparseMemory, at: Point) {
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

fn is_filled(layout: &TileLayout, filled: &[bool], tile: TileCoord) -> bool {
    let index = layout.tile_index(tile).and_then(|index| usize::try_from(index).ok());
    index.and_then(|index| filled.get(index)).copied().unwrap_or(false)
}
