//! Several resources whose tiles come and go, and a model of what every mapped tile holds.

use std::collections::BTreeMap;

use ash::vk::Format;
use vasa::sparse::tiles::TileCoord;
use vasa::sparse::{PagedBuffer, PartiallyResidentImage, SparseMemory};
use vasa::vk::{ImageDesc, Point};

use crate::Harness;
use crate::growable::waits;
use crate::images::{self, Texels, USAGE, all_tiles, contents, tile_region};
use crate::paged::{Written, paged};
use crate::pattern::Pattern;
use crate::random::Random;

/// A paged buffer and the pattern in each mapped tile.
#[derive(Debug)]
pub struct BufferModel {
    /// The buffer.
    pub buffer: PagedBuffer,
    /// What its mapped tiles hold.
    pub tiles: BTreeMap<u64, Pattern>,
}

/// A partially resident image and the seed of the texels in each mapped tile, by tile index.
#[derive(Debug)]
pub struct ImageModel {
    /// The image.
    pub image: PartiallyResidentImage,
    /// What its mapped tiles hold.
    pub tiles: BTreeMap<u64, (TileCoord, u64)>,
}

/// The resources of a test.
#[derive(Debug)]
pub struct Zoo {
    /// Paged buffers.
    pub buffers: Vec<BufferModel>,
    /// Partially resident images.
    pub images: Vec<ImageModel>,
    next: u64,
}

/// Images of two formats and a volume, of some dozen tiles each.
pub fn image_descs() -> Vec<ImageDesc> {
    let flat = |format, extent| ImageDesc::new_2d(format, extent, USAGE);
    vec![
        ImageDesc { mips: 4, ..flat(Format::R8G8B8A8_UNORM, [900, 700]) },
        ImageDesc { mips: 3, layers: 2, ..flat(Format::BC1_RGBA_UNORM_BLOCK, [2300, 1030]) },
        ImageDesc { mips: 2, ..ImageDesc::new_3d(Format::R8G8B8A8_UNORM, [80, 70, 40], USAGE) },
    ]
}

impl BufferModel {
    fn written(&self) -> Vec<Written> {
        self.tiles.iter().map(|(tile, pattern)| (*tile, *pattern)).collect()
    }
}

impl ImageModel {
    fn texels(&self, coord: TileCoord, seed: u64) -> Texels {
        contents(self.image.image().desc().format, tile_region(self.image.layout(), coord), seed)
    }

    /// Tiles that come and go.
    pub fn movable(&self) -> Vec<TileCoord> {
        let floor = self.image.layout().floor_lod();
        all_tiles(self.image.layout()).into_iter().filter(|tile| tile.mip < floor).collect()
    }
}

impl Zoo {
    /// Makes so many paged buffers of `tiles` tiles and one image a description, and flushes.
    pub fn new(h: &Harness, sparse: &SparseMemory, buffers: usize, tiles: u64, images: &[ImageDesc]) -> Self {
        let buffer =
            |i| BufferModel { buffer: paged(sparse, &format!("Buffer{i}"), tiles), tiles: BTreeMap::new() };
        let image = |(i, desc): (usize, &ImageDesc)| ImageModel {
            image: images::resident(sparse, &format!("Image{i}"), *desc),
            tiles: BTreeMap::new(),
        };
        let mut zoo = Self {
            buffers: (0..buffers).map(buffer).collect(),
            images: images.iter().enumerate().map(image).collect(),
            next: 0,
        };
        let wait = waits(sparse.flush(None).unwrap());
        for index in 0..zoo.images.len() {
            let model = &zoo.images[index];
            let floor = model.image.layout().floor_lod();
            let always: Vec<TileCoord> =
                all_tiles(model.image.layout()).into_iter().filter(|tile| tile.mip >= floor).collect();
            zoo.write_image(h, index, &always, &wait);
        }
        zoo
    }

    /// Writes new contents into tiles of a buffer.
    pub fn write_buffer(&mut self, h: &Harness, index: usize, tiles: &[u64], wait: &[Point]) {
        let fresh: Vec<Written> = tiles
            .iter()
            .map(|tile| {
                self.next += 1;
                (*tile, Pattern::new(self.next as u32))
            })
            .collect();
        let model = &mut self.buffers[index];
        if !fresh.is_empty() {
            h.write_tiles(&model.buffer, &fresh, wait);
        }
        model.tiles.extend(fresh);
    }

    /// Writes new contents into tiles of an image.
    pub fn write_image(&mut self, h: &Harness, index: usize, tiles: &[TileCoord], wait: &[Point]) {
        let mut all = Vec::new();
        for tile in tiles {
            self.next += 1;
            let model = &mut self.images[index];
            let Some(number) = model.image.layout().tile_index(*tile) else { continue };
            model.tiles.insert(number, (*tile, self.next));
            all.push(model.texels(*tile, self.next));
        }
        if !all.is_empty() {
            h.write_texels(self.images[index].image.image(), &all, wait);
        }
    }

    /// Maps everything, flushes and writes it.
    pub fn fill(&mut self, h: &Harness, sparse: &SparseMemory) {
        for model in &mut self.buffers {
            model.buffer.map(0..model.buffer.tiles()).unwrap();
        }
        for model in &mut self.images {
            let tiles = model.movable();
            model.image.map(&tiles).unwrap();
        }
        let wait = waits(sparse.flush(None).unwrap());
        for index in 0..self.buffers.len() {
            let tiles: Vec<u64> = (0..self.buffers[index].buffer.tiles()).collect();
            self.write_buffer(h, index, &tiles, &wait);
        }
        for index in 0..self.images.len() {
            let tiles = self.images[index].movable();
            self.write_image(h, index, &tiles, &wait);
        }
    }

    /// Unmaps all but about one in `n` tiles of everything.
    pub fn thin(&mut self, sparse: &SparseMemory, random: &mut Random, n: u64) {
        for model in &mut self.buffers {
            let gone: Vec<u64> = model.tiles.keys().copied().filter(|_| !random.once_in(n)).collect();
            model.buffer.unmap_each(&gone).unwrap();
            model.tiles.retain(|tile, _| !gone.contains(tile));
        }
        for model in &mut self.images {
            let gone: Vec<TileCoord> = model.movable().into_iter().filter(|_| !random.once_in(n)).collect();
            model.image.unmap(&gone).unwrap();
            model.tiles.retain(|_, (tile, _)| !gone.contains(tile));
        }
        sparse.flush(None).unwrap();
    }

    /// Writes new contents into about so many mapped tiles of everything.
    pub fn touch(&mut self, h: &Harness, random: &mut Random, count: u64, wait: &[Point]) {
        for index in 0..self.buffers.len() {
            let mapped: Vec<u64> = self.buffers[index].tiles.keys().copied().collect();
            let tiles = random.some(&mapped, count);
            self.write_buffer(h, index, &tiles, wait);
        }
        for index in 0..self.images.len() {
            let mapped: Vec<TileCoord> = self.images[index].tiles.values().map(|(tile, _)| *tile).collect();
            let tiles = random.some(&mapped, count);
            self.write_image(h, index, &tiles, wait);
        }
    }

    /// Panics unless about so many tiles of everything hold what they should, read through the resources.
    pub fn expect_some(&self, h: &Harness, random: &mut Random, count: u64, wait: &[Point]) {
        for model in &self.buffers {
            let tiles = random.some(&model.written(), count);
            if !tiles.is_empty() {
                h.expect_tiles(&model.buffer, &tiles, wait);
            }
        }
        for model in &self.images {
            let mapped: Vec<(TileCoord, u64)> = model.tiles.values().copied().collect();
            let tiles = random.some(&mapped, count);
            let texels: Vec<Texels> = tiles.iter().map(|(tile, seed)| model.texels(*tile, *seed)).collect();
            if !texels.is_empty() {
                h.expect_texels(model.image.image(), &texels, wait);
            }
        }
    }

    /// Forgets the tiles that are not mapped any more.
    pub fn forget_unmapped(&mut self) {
        for BufferModel { buffer, tiles } in &mut self.buffers {
            tiles.retain(|tile, _| buffer.is_mapped(*tile));
        }
        for ImageModel { image, tiles } in &mut self.images {
            tiles.retain(|_, (tile, _)| image.is_mapped(*tile));
        }
    }

    /// Writes new contents into the mapped tiles that the model does not know.
    pub fn write_unknown(&mut self, h: &Harness, wait: &[Point]) {
        for index in 0..self.buffers.len() {
            let BufferModel { buffer, tiles } = &self.buffers[index];
            let fresh: Vec<u64> =
                buffer.mapped_tiles().into_iter().filter(|tile| !tiles.contains_key(tile)).collect();
            self.write_buffer(h, index, &fresh, wait);
        }
        for index in 0..self.images.len() {
            let ImageModel { image, tiles } = &self.images[index];
            let is_known = |tile: &TileCoord| tiles.values().any(|(known, _)| known == tile);
            let fresh: Vec<TileCoord> =
                image.mapped_tiles().into_iter().filter(|tile| !is_known(tile)).collect();
            self.write_image(h, index, &fresh, wait);
        }
    }

    /// Panics unless the mapped tiles are exactly those of the model.
    pub fn expect_mapped(&self) {
        for model in &self.buffers {
            let tiles: Vec<u64> = model.tiles.keys().copied().collect();
            assert_eq!(model.buffer.mapped_tiles(), tiles, "{}", model.buffer.name());
        }
        for model in &self.images {
            let tiles: Vec<TileCoord> = model.tiles.values().map(|(tile, _)| *tile).collect();
            assert_eq!(model.image.mapped_tiles(), tiles, "{}", model.image.image().name());
        }
    }

    /// Panics unless every mapped tile holds what it should, read through the resources and from their chunks; and
    /// unless the mapped tiles are exactly those of the model.
    pub fn expect_all(&self, h: &Harness, wait: &[Point]) {
        self.expect_mapped();
        self.expect_contents(h, wait);
    }

    /// Panics unless every tile of the model that is mapped holds what it should, read through the resources and from
    /// their chunks.
    pub fn expect_contents(&self, h: &Harness, wait: &[Point]) {
        for model in &self.buffers {
            let mut tiles = model.written();
            tiles.retain(|(tile, _)| model.buffer.is_mapped(*tile));
            if !tiles.is_empty() {
                h.expect_tiles(&model.buffer, &tiles, wait);
                h.expect_pages(&model.buffer, &tiles);
            }
        }
        for model in &self.images {
            let mapped = model.tiles.values().filter(|(tile, _)| model.image.is_mapped(*tile));
            let texels: Vec<(TileCoord, Texels)> =
                mapped.map(|(tile, seed)| (*tile, model.texels(*tile, *seed))).collect();
            let through: Vec<Texels> = texels.iter().map(|(_, texels)| texels.clone()).collect();
            h.expect_texels(model.image.image(), &through, wait);
            let tiles: Vec<_> = texels.into_iter().map(|(tile, (_, bytes))| (tile, bytes)).collect();
            h.expect_tiles_in_chunks(&model.image, &tiles);
        }
    }
}
