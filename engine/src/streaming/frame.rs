//! What happens to a streamed image in a frame.
//!
//! ```text
//! plan -> (flush) bound | refused -> fill -> declare -> (submission) submitted | keep_unsubmitted
//! ```

use std::sync::Arc;

use ash::vk::ImageLayout;

use super::error::Error;
use super::image::{MAP_PLACES, Pinned, StreamedImage, is_filled};
use super::source::{Piece, fill_all};
use super::tiling::pinned_lod;
use crate::graph::{Access, Frame, ImageHandle, ImportState, LeftState, Queue, ShaderStages};
use crate::memory::{Upload, UploadRing};
use crate::sparse::SparseMemory;
use crate::sparse::tiles::{TexelRegion, TileCoord, TileRequest};
use crate::vk::{Buffer, ImageRegion};

/// After memory ran out, frames until more than what is there is tried again.
const RETRY_FRAMES: u64 = 60;
/// Copies out of one buffer: byte offset and region each.
type CopyList = (Arc<Buffer>, Vec<(u64, ImageRegion)>);

/// A streamed image in a frame, as its updates leave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamedImages {
    /// The image.
    pub image: ImageHandle,
    /// Its residency map.
    pub map: ImageHandle,
}

impl StreamedImage {
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

    /// The image and its map in a frame, before its updates.
    /// `sparse` is told which of its tiles submissions may use.
    pub fn import<'f>(&'f self, frame: &mut Frame<'_, 'f>, sparse: &'f SparseMemory) -> StreamedImages {
        let sampled = Access::Sampled(ShaderStages::DRAW);
        let at_rest = |is_new: bool| match is_new {
            true => ImportState::Undefined,
            false => ImportState::After(LeftState::after(sampled, Queue::Graphics, true)),
        };
        // Both rest in the layout for sampling between frames: whoever moves pages counts on it.
        let images = StreamedImages {
            image: frame.import_image(self.image.image(), at_rest(false), Some(sampled)),
            map: frame.import_image(&self.map_image, at_rest(self.map_is_new), Some(sampled)),
        };
        frame.when_used(images.image, move |at| self.declare_uses(sparse, at));
        images
    }

    /// Declares the copies of what [`Self::fill`] made ready, and of the residency map.
    pub fn declare<'f>(&'f self, frame: &mut Frame<'_, 'f>, images: &mut StreamedImages) {
        let write = ImageLayout::TRANSFER_DST_OPTIMAL;
        // A pass a buffer: nothing overlaps, but validation counts rows of blocks for rows of texels.
        for (buffer, copies) in self.copies() {
            frame
                .pass("StreamTiles", Queue::Graphics)
                .write(&mut images.image, Access::CopyDestinationOver)
                .record(move |pass| {
                    let image = self.image.image();
                    pass.encoder().copy_buffer_to_regions(&buffer, image, write, &copies);
                    Ok(())
                });
        }
        frame
            .pass("StreamResidencyMap", Queue::Graphics)
            .write(&mut images.map, Access::CopyDestination)
            .when(self.map_is_dirty)
            .record(move |pass| {
                let place = (self.map_writes % MAP_PLACES) * Self::map_pitch(&self.map);
                self.map_staging.write_mapped(place, self.map.texels())?;
                let region = ImageRegion::mip(&self.map_image, 0, 0);
                let copies = [(place, region)];
                pass.encoder().copy_buffer_to_regions(&self.map_staging, &self.map_image, write, &copies);
                Ok(())
            });
    }

    /// What was made ready, in one list a buffer: the ring's own, and others where something did not fit.
    fn copies(&self) -> Vec<CopyList> {
        let tile = |(upload, tile): &(Upload, TileCoord)| {
            let TexelRegion { offset, extent } = self.streamed.region(*tile)?;
            Some((upload.clone(), ImageRegion { mip: tile.mip, layer: tile.layer, offset, extent }))
        };
        let mip =
            |(upload, mip): &(Upload, u32)| (upload.clone(), ImageRegion::mip(self.image.image(), 0, *mip));
        let pinned = self.recorded_pinned.iter().map(mip);
        let mut lists: Vec<CopyList> = Vec::new();
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
}
