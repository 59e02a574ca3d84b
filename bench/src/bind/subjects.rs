//! What is bound through the engine and then bare: the same ranges to the same memory, read back from the engine.

use ash::vk;
use vasa::sparse::tiles::{TexelRegion, TileCoord};
use vasa::sparse::{GrowableBuffer, PagedBuffer, PartiallyResidentImage};

use super::raw::Binds;
use crate::error::Error;

/// Something that the engine binds and unbinds.
pub(super) trait Subject {
    /// Asks for all of it; the next flush binds.
    ///
    /// # Errors
    /// Out of memory.
    fn bind(&mut self) -> Result<(), Error>;

    /// Gives all of it back; the next flush unbinds.
    ///
    /// # Errors
    /// None in practice.
    fn unbind(&mut self) -> Result<(), Error>;

    /// The binds that the engine made, as long as they are bound.
    fn bound(&self) -> Binds;

    /// The unbinds that the engine makes, where they are not the same ranges.
    fn unbound(&self, bound: &Binds) -> Binds {
        bound.unbound()
    }
}

/// A run of memory: its allocation and the byte in it.
pub(super) type Place = (vk::DeviceMemory, u64);

/// Chunks of a growable buffer, all of them in one batch.
pub(super) struct Chunks {
    pub(super) data: GrowableBuffer,
    pub(super) bytes: u64,
    pub(super) chunk: u64,
}

impl Subject for Chunks {
    fn bind(&mut self) -> Result<(), Error> {
        self.data.commit(self.bytes)?;
        Ok(())
    }

    fn unbind(&mut self) -> Result<(), Error> {
        self.data.commit(0)?;
        Ok(())
    }

    fn bound(&self) -> Binds {
        let bind = |offset| {
            let (chunk, at) = self.data.locate(offset)?;
            Some(range(offset, self.chunk.min(self.bytes - offset), (chunk.raw(), at)))
        };
        let binds = (0..self.bytes).step_by(self.chunk.max(1) as usize).filter_map(bind).collect();
        Binds::Buffer(self.data.buffer().raw(), binds)
    }

    /// Neighbours are unbound as one.
    fn unbound(&self, _: &Binds) -> Binds {
        let all = range(0, self.bytes, (vk::DeviceMemory::null(), 0));
        Binds::Buffer(self.data.buffer().raw(), vec![all])
    }
}

/// Tiles of a paged buffer, none beside another.
pub(super) struct ScatteredTiles {
    pub(super) data: PagedBuffer,
    pub(super) tiles: Vec<u64>,
}

impl Subject for ScatteredTiles {
    fn bind(&mut self) -> Result<(), Error> {
        self.data.map_each(&self.tiles)?;
        Ok(())
    }

    fn unbind(&mut self) -> Result<(), Error> {
        self.data.unmap_each(&self.tiles)?;
        Ok(())
    }

    fn bound(&self) -> Binds {
        let tile = self.data.tile_bytes();
        let bind = |index: &u64| {
            let (chunk, at) = self.data.locate(*index)?;
            Some(range(index * tile, tile, (chunk.raw(), at)))
        };
        Binds::Buffer(self.data.buffer().raw(), self.tiles.iter().filter_map(bind).collect())
    }
}

/// Tiles of the first mip of an image.
pub(super) struct ImageTiles {
    pub(super) image: PartiallyResidentImage,
    /// In the order of rows.
    pub(super) tiles: Vec<TileCoord>,
}

impl Subject for ImageTiles {
    fn bind(&mut self) -> Result<(), Error> {
        self.image.map(&self.tiles)?;
        Ok(())
    }

    fn unbind(&mut self) -> Result<(), Error> {
        self.image.unmap(&self.tiles)?;
        Ok(())
    }

    fn bound(&self) -> Binds {
        let tile = |coord: &TileCoord| {
            let (chunk, at) = self.image.locate(*coord)?;
            Some((self.image.layout().region(*coord)?, (chunk.raw(), at)))
        };
        let tiles: Vec<_> = self.tiles.iter().filter_map(tile).collect();
        let joined = join(&tiles, self.image.layout().tile_bytes());
        Binds::Tiles(self.image.image().raw(), joined.into_iter().map(tile_bind).collect())
    }

    fn unbound(&self, _: &Binds) -> Binds {
        // Without memory all neighbours in a row are one bind, wherever their memory was.
        let regions = self.tiles.iter().filter_map(|coord| self.image.layout().region(*coord));
        let tiles: Vec<_> = regions.map(|region| (region, (vk::DeviceMemory::null(), 0))).collect();
        let joined = join(&tiles, 0);
        Binds::Tiles(self.image.image().raw(), joined.into_iter().map(tile_bind).collect())
    }
}

/// A bind of bytes.
pub(super) fn range(offset: u64, bytes: u64, (memory, at): Place) -> vk::SparseMemoryBind {
    vk::SparseMemoryBind::default().resource_offset(offset).size(bytes).memory(memory).memory_offset(at)
}

fn tile_bind((region, (memory, at)): (TexelRegion, Place)) -> vk::SparseImageMemoryBind {
    let [x, y, z] = region.offset.map(|texel| texel as i32);
    let [width, height, depth] = region.extent;
    vk::SparseImageMemoryBind::default()
        .subresource(vk::ImageSubresource {
            aspect_mask: vk::ImageAspectFlags::COLOR,
            mip_level: 0,
            array_layer: 0,
        })
        .offset(vk::Offset3D { x, y, z })
        .extent(vk::Extent3D { width, height, depth })
        .memory(memory)
        .memory_offset(at)
}

/// Tiles side by side along x whose memory goes on become one, as the engine joins them. A tile takes `tile_bytes` of
/// memory; 0 for tiles that have none.
fn join(tiles: &[(TexelRegion, Place)], tile_bytes: u64) -> Vec<(TexelRegion, Place)> {
    let mut joined: Vec<((TexelRegion, Place), u64)> = Vec::new();
    for (region, place) in tiles {
        if let Some(((last, at), bytes)) = joined.last_mut()
            && last.offset[0] + last.extent[0] == region.offset[0]
            && last.offset[1..] == region.offset[1..]
            && last.extent[1..] == region.extent[1..]
            && (at.0, at.1 + *bytes) == *place
        {
            last.extent[0] += region.extent[0];
            *bytes += tile_bytes;
        } else {
            joined.push(((*region, *place), tile_bytes));
        }
    }
    joined.into_iter().map(|(tile, _)| tile).collect()
}

/// So many numbers of tiles in four times as many, none beside another, the same ones each time.
pub(super) fn scattered(count: u64) -> Vec<u64> {
    // A multiplicative hash: the gaps between them are 2 to 6 tiles.
    (0..count).map(|i| i * 4 + (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 62) % 3).collect()
}

/// So many tiles of a grid of the given width, none beside another in its row, row by row.
pub(super) fn checkerboard(count: u64, width: u32) -> Vec<TileCoord> {
    let half = u64::from(width / 2).max(1);
    let tile = |i: u64| {
        let y = (i / half) as u32;
        TileCoord { layer: 0, mip: 0, x: (i % half) as u32 * 2 + y % 2, y, z: 0 }
    };
    (0..count).map(tile).collect()
}

/// So many tiles in whole rows of at most `width`, as square as it goes.
pub(super) fn block(count: u64, width: u32) -> Vec<TileCoord> {
    let side = count.isqrt().clamp(1, u64::from(width.max(1)));
    let tile = |i: u64| TileCoord { layer: 0, mip: 0, x: (i % side) as u32, y: (i / side) as u32, z: 0 };
    (0..count).map(tile).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ash::vk::Handle;

    fn tile(x: u32, y: u32, memory: u64, at: u64) -> (TexelRegion, Place) {
        let region = TexelRegion { offset: [x * 128, y * 128, 0], extent: [128, 128, 1] };
        (region, (vk::DeviceMemory::from_raw(memory), at))
    }

    #[test]
    fn scattered_tiles_have_no_neighbours_and_stay_in_their_range() {
        let tiles = scattered(4096);
        assert!(tiles.windows(2).all(|w| w[0] + 1 < w[1]));
        assert!(*tiles.last().unwrap() < 4 * 4096);
        let gaps: std::collections::BTreeSet<u64> = tiles.windows(2).map(|w| w[1] - w[0]).collect();
        assert!(gaps.len() > 2, "they are not a grid: {gaps:?}");
    }

    #[test]
    fn a_checkerboard_has_no_neighbours_and_a_block_has_rows() {
        let board = checkerboard(1024, 32);
        let last = board.last().unwrap();
        assert_eq!((last.x, last.y), (31, 63));
        let beside = |a: &TileCoord, b: &TileCoord| a.y == b.y && a.x.abs_diff(b.x) < 2;
        assert!(board.windows(2).all(|w| !beside(&w[0], &w[1])));
        assert!(
            board.windows(17).all(|w| w[0].x != w[16].x || w[0].y + 1 != w[16].y),
            "nor above each other"
        );
        let rows = block(1024, 32);
        assert_eq!((rows[31].x, rows[31].y, rows[32].x, rows[32].y), (31, 0, 0, 1));
        assert_eq!(block(1, 32).len(), 1);
    }

    #[test]
    fn tiles_join_along_rows_where_their_memory_goes_on() {
        let row = [tile(0, 0, 1, 0), tile(1, 0, 1, 100), tile(2, 0, 1, 300), tile(3, 0, 2, 400)];
        let joined = join(&row, 100);
        let widths: Vec<u32> = joined.iter().map(|(region, _)| region.extent[0]).collect();
        assert_eq!(widths, [256, 128, 128], "a gap in memory, then another chunk");
        let column = [tile(0, 0, 1, 0), tile(0, 1, 1, 100)];
        assert_eq!(join(&column, 100).len(), 2, "rows are never joined");
        let none = [tile(0, 0, 0, 0), tile(1, 0, 0, 0), tile(3, 0, 0, 0)];
        assert_eq!(join(&none, 0).len(), 2, "neighbours without memory are one");
    }

    #[test]
    fn unbinds_keep_their_ranges() {
        let (buffer, memory) = (vk::Buffer::from_raw(1), vk::DeviceMemory::from_raw(2));
        let binds = Binds::Buffer(buffer, vec![range(64, 32, (memory, 7)), range(128, 32, (memory, 39))]);
        let Binds::Buffer(_, unbound) = binds.unbound() else { panic!("still a buffer") };
        let ranges: Vec<_> = unbound.iter().map(|b| (b.resource_offset, b.size, b.memory_offset)).collect();
        assert_eq!(ranges, [(64, 32, 0), (128, 32, 0)]);
        assert!(unbound.iter().all(|b| b.memory == vk::DeviceMemory::null()));
        assert_eq!(binds.len(), 2);
    }
}
