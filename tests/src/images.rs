//! What tests do with reserved images: write texels, read them back, prove where a tile lies.
//!
//! Reading through the image itself proves nothing on drivers whose unbound memory stores what is written. So a tile is
//! read a second time through a twin: an image of the same description whose tile is bound to the very chunk.

use std::sync::Arc;

use ash::vk::{Format, ImageAspectFlags, ImageLayout, ImageUsageFlags};
use vasa::sparse::tiles::{TileCoord, TileLayout};
use vasa::sparse::{Chunk, Missing, PartiallyResidentDesc, PartiallyResidentImage, SparseMemory};
use vasa::vk::{
    BindBatch, Buffer, Image, ImageDesc, ImageRegion, ImageTileBinds, Location, Point, SparseImage, TileBind,
    Timeline,
};

use crate::Harness;
use crate::harness::ANY;
use crate::random::Random;

/// The layout that test images rest in.
pub const REST: ImageLayout = ImageLayout::GENERAL;

/// Usage of test images: looked at by shaders, copied to and from.
pub const USAGE: ImageUsageFlags = ImageUsageFlags::from_raw(
    ImageUsageFlags::SAMPLED.as_raw()
        | ImageUsageFlags::TRANSFER_SRC.as_raw()
        | ImageUsageFlags::TRANSFER_DST.as_raw(),
);

/// A box of texels and the bytes in it, rows packed.
pub type Texels = (ImageRegion, Vec<u8>);

/// Width and height of a block of a format, and its bytes.
///
/// # Panics
/// For formats that no test uses.
pub fn block(format: Format) -> ([u32; 2], u64) {
    match format {
        Format::BC1_RGBA_UNORM_BLOCK | Format::BC4_UNORM_BLOCK => ([4, 4], 8),
        Format::BC3_UNORM_BLOCK | Format::BC5_UNORM_BLOCK => ([4, 4], 16),
        Format::R8_UNORM | Format::R8_UINT => ([1, 1], 1),
        Format::R16_UINT | Format::R16_UNORM => ([1, 1], 2),
        Format::R8G8B8A8_UNORM | Format::R32_UINT => ([1, 1], 4),
        Format::R16G16B16A16_UINT | Format::R16G16B16A16_SFLOAT | Format::R32G32_UINT => ([1, 1], 8),
        Format::R32G32B32A32_UINT => ([1, 1], 16),
        other => panic!("{other:?} is not known to the tests"),
    }
}

/// Bytes of a box of texels, rows packed.
pub fn bytes_of(format: Format, region: &ImageRegion) -> u64 {
    let ([width, height], bytes) = block(format);
    let [w, h, d] = region.extent;
    u64::from(w.div_ceil(width)) * u64::from(h.div_ceil(height)) * u64::from(d) * bytes
}

/// The same bytes for the same seed, others for every other one.
pub fn contents(format: Format, region: ImageRegion, seed: u64) -> Texels {
    (region, Random::new(seed).bytes(bytes_of(format, &region)))
}

/// The texels of a tile.
///
/// # Panics
/// Where the image has no such tile.
pub fn tile_region(layout: &TileLayout, tile: TileCoord) -> ImageRegion {
    let region = layout.region(tile).expect("a tile of the image");
    ImageRegion { mip: tile.mip, layer: tile.layer, offset: region.offset, extent: region.extent }
}

/// Every tile in front of the tail.
pub fn all_tiles(layout: &TileLayout) -> Vec<TileCoord> {
    let mips = (0..layout.tiling().layers)
        .flat_map(|layer| (0..layout.standard_mips()).map(move |mip| (layer, mip)));
    mips.flat_map(|(layer, mip)| {
        let [w, h, d] = layout.mip_tiles(mip);
        (0..d).flat_map(move |z| {
            (0..h).flat_map(move |y| (0..w).map(move |x| TileCoord { layer, mip, x, y, z }))
        })
    })
    .collect()
}

/// Every mip of every layer.
pub fn all_mips(image: &Image) -> Vec<ImageRegion> {
    let desc = *image.desc();
    (0..desc.layers)
        .flat_map(|layer| (0..desc.mips).map(move |mip| (layer, mip)))
        .map(|(layer, mip)| ImageRegion::mip(image, layer, mip))
        .collect()
}

/// A partially resident image; all of it has memory where the device cannot.
///
/// # Panics
/// When it cannot be made.
pub fn resident(sparse: &SparseMemory, name: &str, image: ImageDesc) -> PartiallyResidentImage {
    let desc = PartiallyResidentDesc { name, image, rest_layout: REST, missing: Missing::CommitAll };
    PartiallyResidentImage::new(sparse, &desc).unwrap()
}

/// Offsets of boxes in a buffer, and its size. Copies want multiples of the block and of four.
fn places(format: Format, regions: impl Iterator<Item = ImageRegion>) -> (Vec<(u64, ImageRegion)>, u64) {
    let mut end = 0;
    let mut placed = Vec::new();
    for region in regions {
        placed.push((end, region));
        end += bytes_of(format, &region).next_multiple_of(16);
    }
    (placed, end.max(16))
}

impl Harness {
    /// Gives a new image its first layout.
    pub fn lay_out(&self, image: &Image, waits: &[Point]) -> Point {
        self.submit("LayOut", waits, |encoder| {
            let layouts = (ImageLayout::UNDEFINED, REST);
            encoder.image_barrier(image.raw(), image.desc().aspect(), layouts, ANY, ANY);
        })
    }

    /// Writes boxes of texels by copies, after `waits`.
    pub fn write_texels(&self, image: &Image, texels: &[Texels], waits: &[Point]) -> Point {
        use ash::vk::BufferUsageFlags;
        let (placed, bytes) = places(image.desc().format, texels.iter().map(|(region, _)| *region));
        let upload = Buffer::committed(
            &self.device,
            "Upload",
            bytes,
            BufferUsageFlags::TRANSFER_SRC,
            Location::Upload,
        )
        .unwrap();
        for ((offset, _), (_, bytes)) in placed.iter().zip(texels) {
            upload.write_mapped(*offset, bytes).unwrap();
        }
        self.submit("WriteTexels", waits, |encoder| {
            encoder.memory_barrier(ANY, ANY);
            encoder.copy_buffer_to_regions(&upload, image, REST, &placed);
            encoder.memory_barrier(ANY, ANY);
        })
    }

    /// Reads boxes of texels by copies, after `waits` and everything submitted before.
    pub fn read_texels(&self, image: &Image, regions: &[ImageRegion], waits: &[Point]) -> Vec<Vec<u8>> {
        use ash::vk::BufferUsageFlags;
        let format = image.desc().format;
        let (placed, bytes) = places(format, regions.iter().copied());
        let back = Buffer::committed(
            &self.device,
            "Readback",
            bytes,
            BufferUsageFlags::TRANSFER_DST,
            Location::Readback,
        )
        .unwrap();
        let done = self.submit("ReadTexels", waits, |encoder| {
            encoder.memory_barrier(ANY, ANY);
            encoder.copy_regions_to_buffer(image, REST, &back, &placed);
            encoder.memory_barrier(ANY, ANY);
        });
        self.device.wait(&[done]).unwrap();
        let mapped = back.mapped().expect("readback memory is mapped");
        let one = |(offset, region): &(u64, ImageRegion)| {
            mapped[*offset as usize..][..bytes_of(format, region) as usize].to_vec()
        };
        placed.iter().map(one).collect()
    }

    /// Panics unless boxes of an image hold these texels.
    pub fn expect_texels(&self, image: &Image, texels: &[Texels], waits: &[Point]) {
        let regions: Vec<ImageRegion> = texels.iter().map(|(region, _)| *region).collect();
        for (read, (region, bytes)) in self.read_texels(image, &regions, waits).iter().zip(texels) {
            expect_same(image.name(), region, read, bytes);
        }
    }

    /// Panics unless tiles hold these bytes when they are read from their chunks, and not through the image. In the
    /// fallback there are no chunks, and all of the image has memory.
    pub fn expect_tiles_in_chunks(&self, image: &PartiallyResidentImage, tiles: &[(TileCoord, Vec<u8>)]) {
        let region = |tile: &TileCoord| tile_region(image.layout(), *tile);
        if !image.in_place() {
            assert!(tiles.iter().all(|(tile, _)| image.locate(*tile).is_none()));
            let texels: Vec<Texels> =
                tiles.iter().map(|(tile, bytes)| (region(tile), bytes.clone())).collect();
            return self.expect_texels(image.image(), &texels, &[]);
        }
        let places: Vec<(TileCoord, Arc<Chunk>, u64)> = tiles
            .iter()
            .map(|(tile, _)| {
                let (chunk, offset) = image.locate(*tile).expect("a mapped tile has a place");
                (*tile, chunk, offset)
            })
            .collect();
        let (twin, bound) = self.twin(image, &places);
        let regions: Vec<ImageRegion> = tiles.iter().map(|(tile, _)| region(tile)).collect();
        let read = self.read_texels(&twin, &regions, &bound);
        drop((twin, places));
        for ((read, region), (_, bytes)) in read.iter().zip(&regions).zip(tiles) {
            expect_same(&format!("{} (its chunk)", image.image().name()), region, read, bytes);
        }
    }

    /// An image of the same description, tiles of which lie where it is said.
    fn twin(
        &self,
        image: &PartiallyResidentImage,
        places: &[(TileCoord, Arc<Chunk>, u64)],
    ) -> (Image, Vec<Point>) {
        let desc = *image.image().desc();
        let sparse = SparseImage { residency: true, aliased: true };
        let twin = Image::reserved(&self.device, "Twin", desc, sparse).unwrap();
        // Before it has any memory, so that a layout change can lose none of it.
        self.lay_out(&twin, &[]);
        let bind = |(tile, chunk, offset): &(TileCoord, Arc<Chunk>, u64)| {
            let ImageRegion { mip, layer, offset: texel, extent } = tile_region(image.layout(), *tile);
            let memory = Some((chunk.raw(), *offset));
            TileBind { aspect: aspect(&desc), mip, layer, offset: texel, extent, memory }
        };
        let binds: Vec<TileBind> = places.iter().map(bind).collect();
        let tiles = [ImageTileBinds { image: &twin, binds: &binds }];
        let waits = [self.device.submitted(Timeline::Graphics)];
        let bound = self
            .device
            .bind_sparse(&[BindBatch { tiles: &tiles, waits: &waits, ..Default::default() }], false)
            .unwrap();
        (twin, bound.into_iter().collect())
    }
}

fn aspect(desc: &ImageDesc) -> ImageAspectFlags {
    desc.aspect()
}

fn expect_same(name: &str, region: &ImageRegion, read: &[u8], expected: &[u8]) {
    if read != expected {
        let wrong = read.iter().zip(expected).filter(|(a, b)| a != b).count();
        let first = read.iter().zip(expected).position(|(a, b)| a != b);
        panic!("{name}: {wrong} of {} bytes are wrong in {region:?}, the first is {first:?}", expected.len());
    }
}
