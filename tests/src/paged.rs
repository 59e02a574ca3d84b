//! What tests do with paged buffers: write tiles, read them back, prove where they lie.

use ash::vk::BufferUsageFlags;
use vasa::sparse::{Contents, PagedBuffer, PagedDesc, SparseMemory};
use vasa::vk::{BindBatch, Buffer, BufferBinds, BufferCopy, Location, MemoryBind, Point, Timeline};

use crate::harness::ANY;
use crate::pattern::Pattern;
use crate::{Harness, TILE};

/// A storage buffer of so many tiles, nothing mapped.
///
/// # Panics
/// When it cannot be made.
pub fn paged(sparse: &SparseMemory, name: &str, tiles: u64) -> PagedBuffer {
    paged_with(sparse, name, tiles, Contents::Undefined)
}

/// [`paged`], with a promise about new tiles.
///
/// # Panics
/// When it cannot be made.
pub fn paged_with(sparse: &SparseMemory, name: &str, tiles: u64, contents: Contents) -> PagedBuffer {
    let usage = BufferUsageFlags::STORAGE_BUFFER;
    let desc = PagedDesc { name, capacity: tiles * TILE, usage, contents };
    PagedBuffer::new(sparse, &desc).unwrap()
}

/// A tile and the pattern in it.
pub type Written = (u64, Pattern);

impl Harness {
    /// Writes a pattern into each tile with the shader, after `waits`.
    pub fn write_tiles(&self, buffer: &PagedBuffer, tiles: &[Written], waits: &[Point]) -> Point {
        let slot = buffer.slot().expect("a storage buffer has a slot");
        self.submit("WriteTiles", waits, |encoder| {
            for (tile, pattern) in tiles {
                self.record_fill(encoder, slot, *pattern, (tile * TILE / 4, TILE / 4));
            }
        })
    }

    /// Tiles of a buffer, read by one submission.
    pub fn read_tiles(&self, buffer: &Buffer, tiles: &[u64], waits: &[Point]) -> Vec<Vec<u32>> {
        let bytes = (tiles.len() as u64 * TILE).max(4);
        let usage = BufferUsageFlags::TRANSFER_DST;
        let back = Buffer::committed(&self.device, "Readback", bytes, usage, Location::Readback).unwrap();
        let copy = |(index, tile): (usize, &u64)| BufferCopy {
            source: tile * TILE,
            destination: index as u64 * TILE,
            bytes: TILE,
        };
        let copies: Vec<BufferCopy> = tiles.iter().enumerate().map(copy).collect();
        let done = self.submit("ReadTiles", waits, |encoder| {
            encoder.memory_barrier(ANY, ANY);
            encoder.copy_buffer(buffer, &back, &copies);
            encoder.memory_barrier(ANY, ANY);
        });
        self.device.wait(&[done]).unwrap();
        let mapped = back.mapped().expect("readback memory is mapped");
        let words = |bytes: &[u8]| bytes.chunks_exact(4).map(bytemuck::pod_read_unaligned).collect();
        mapped.chunks_exact(TILE as usize).take(tiles.len()).map(words).collect()
    }

    /// Panics unless every tile, read through the buffer, holds its pattern.
    pub fn expect_tiles(&self, buffer: &PagedBuffer, tiles: &[Written], waits: &[Point]) {
        let numbers: Vec<u64> = tiles.iter().map(|(tile, _)| *tile).collect();
        let read = self.read_tiles(buffer.buffer(), &numbers, waits);
        check(buffer.name(), tiles, &read);
    }

    /// Panics unless every tile lies where the buffer says: read through a twin whose tiles are bound, in reverse, to
    /// the very chunks. In the fallback the buffer has all its memory, and is read itself.
    pub fn expect_pages(&self, buffer: &PagedBuffer, tiles: &[Written]) {
        if !buffer.in_place() {
            assert!(!buffer.buffer().is_reserved() && tiles.iter().all(|(t, _)| buffer.locate(*t).is_none()));
            return self.expect_tiles(buffer, tiles, &[]);
        }
        if tiles.is_empty() {
            return;
        }
        let count = tiles.len() as u64;
        let usage = BufferUsageFlags::TRANSFER_SRC | BufferUsageFlags::TRANSFER_DST;
        let twin = Buffer::reserved(&self.device, "Twin", count * TILE, usage, true).unwrap();
        // Held until the twin is gone, as a bound chunk must be.
        let (mut chunks, mut binds) = (Vec::new(), Vec::new());
        for (index, (tile, _)) in (0..count).zip(tiles) {
            let (chunk, offset) = buffer.locate(*tile).expect("a mapped tile has a place");
            let at = (count - 1 - index) * TILE;
            binds.push(MemoryBind::new(at, TILE, Some((chunk.raw(), offset))));
            chunks.push(chunk);
        }
        let buffers = [BufferBinds { buffer: &twin, binds: &binds }];
        let writers = [self.device.submitted(Timeline::Graphics)];
        let batch = BindBatch { buffers: &buffers, waits: &writers, ..Default::default() };
        let bound: Vec<Point> = self.device.bind_sparse(&[batch], false).unwrap().into_iter().collect();
        let numbers: Vec<u64> = (0..count).rev().collect();
        let read = self.read_tiles(&twin, &numbers, &bound);
        drop((twin, chunks));
        check(&format!("{} (its chunks)", buffer.name()), tiles, &read);
    }
}

fn check(name: &str, tiles: &[Written], read: &[Vec<u32>]) {
    for ((tile, pattern), words) in tiles.iter().zip(read) {
        if let Err(error) = pattern.check(tile * TILE / 4, words) {
            panic!("{name}: tile {tile}: {error}");
        }
    }
}
