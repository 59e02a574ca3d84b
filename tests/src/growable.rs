//! What tests do with growable buffers: write a pattern, read it back, prove where it lies.

use ash::vk::BufferUsageFlags;
use vasa::sparse::{Flushed, GrowableBuffer, GrowableDesc, SparseMemory};
use vasa::vk::{BindBatch, Buffer, BufferBinds, MemoryBind, Point, Timeline};

use crate::pattern::Pattern;
use crate::{Harness, TILE};

/// A storage buffer whose chunks may be bound to a twin as well.
pub fn storage(sparse: &SparseMemory, name: &str, capacity: u64) -> GrowableBuffer {
    let desc =
        GrowableDesc { aliased: true, ..GrowableDesc::new(name, capacity, BufferUsageFlags::STORAGE_BUFFER) };
    GrowableBuffer::new(sparse, &desc).unwrap()
}

/// Commits and flushes.
pub fn resize(sparse: &SparseMemory, buffer: &mut GrowableBuffer, bytes: u64) -> Flushed {
    buffer.commit(bytes).unwrap();
    sparse.flush(None).unwrap()
}

/// The moments that a user waits for after a flush.
pub fn waits(flushed: Flushed) -> Vec<Point> {
    flushed.wait.into_iter().collect()
}

impl Harness {
    /// Writes a pattern into a range of bytes with the shader, through the buffer's slot.
    pub fn write(
        &self,
        buffer: &GrowableBuffer,
        pattern: Pattern,
        bytes: (u64, u64),
        waits: &[Point],
    ) -> Point {
        let slot = buffer.slot().expect("a storage buffer has a slot");
        let done = self.submit("Write", waits, |encoder| {
            self.record_fill(encoder, slot, pattern, (bytes.0 / 4, (bytes.1 - bytes.0) / 4));
        });
        buffer.declare_use(bytes.0..bytes.1, done);
        done
    }

    /// Panics unless a range of bytes, read through the buffer itself, holds the pattern.
    pub fn expect(&self, buffer: &GrowableBuffer, pattern: Pattern, bytes: (u64, u64), waits: &[Point]) {
        let words = self.read(buffer.buffer(), bytes.0, bytes.1 - bytes.0, waits);
        if let Err(error) = pattern.check(bytes.0 / 4, &words) {
            panic!("{} [{}, {}): {error}", buffer.name(), bytes.0, bytes.1);
        }
    }

    /// Panics unless every committed tile lies where the buffer says: it is read through a twin, a second
    /// reserved buffer whose tiles are bound, one by one and in reverse, to the very chunks.
    ///
    /// Reading through the buffer itself proves nothing on drivers whose unbound memory stores what is written.
    /// In the fallback there are no chunks: the contents are read through the buffer, which is an ordinary one.
    pub fn expect_in_chunks(&self, buffer: &GrowableBuffer, pattern: Pattern) {
        self.expect_front_in_chunks(buffer, pattern, buffer.committed());
    }

    /// The same of the first `bytes` bytes (whole tiles): of a buffer that a worker may grow meanwhile.
    pub fn expect_front_in_chunks(&self, buffer: &GrowableBuffer, pattern: Pattern, bytes: u64) {
        if !buffer.in_place() {
            assert!(!buffer.buffer().is_reserved() && buffer.locate(0).is_none());
            return self.expect(buffer, pattern, (0, bytes), &[]);
        }
        let words = self.read_front_of_chunks(buffer, bytes);
        let tile_words = (TILE / 4) as usize;
        for (i, words) in words.chunks_exact(tile_words).enumerate() {
            let tile = bytes / TILE - 1 - i as u64;
            if let Err(error) = pattern.check(tile * TILE / 4, words) {
                panic!("{}: tile {tile} does not lie in its chunk: {error}", buffer.name());
            }
        }
    }

    /// All committed tiles in reverse order, read from the chunks and not through the buffer.
    pub fn read_chunks(&self, buffer: &GrowableBuffer) -> Vec<u32> {
        self.read_front_of_chunks(buffer, buffer.committed())
    }

    fn read_front_of_chunks(&self, buffer: &GrowableBuffer, bytes: u64) -> Vec<u32> {
        let tiles = bytes / TILE;
        let usage = BufferUsageFlags::STORAGE_BUFFER
            | BufferUsageFlags::TRANSFER_SRC
            | BufferUsageFlags::TRANSFER_DST;
        let twin = Buffer::reserved(&self.device, "Twin", tiles * TILE, usage, true).unwrap();
        // Held until the twin is gone, as a bound chunk must be.
        let (mut chunks, mut binds) = (Vec::new(), Vec::new());
        for tile in 0..tiles {
            let (memory, offset) =
                buffer.locate((tiles - 1 - tile) * TILE).expect("committed bytes have a place");
            binds.push(MemoryBind::new(tile * TILE, TILE, Some((memory.raw(), offset))));
            chunks.push(memory);
        }
        let buffers = [BufferBinds { buffer: &twin, binds: &binds }];
        let writers = [self.device.submitted(Timeline::Graphics)];
        let bound = self
            .device
            .bind_sparse(&[BindBatch { buffers: &buffers, waits: &writers, ..Default::default() }], false)
            .unwrap();
        let words = self.read(&twin, 0, tiles * TILE, &bound.into_iter().collect::<Vec<_>>());
        drop(twin);
        words
    }
}
