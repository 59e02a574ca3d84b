//! New bytes: zeros where asked for, even in memory that was used before; otherwise left alone.

use ash::vk::BufferUsageFlags;
use vasa::sparse::{Contents, GrowableBuffer, GrowableDesc, SparseMemory};
use vasa::vk::{CommandPool, Timeline};
use vasa_tests::growable::{resize, storage, waits};
use vasa_tests::pattern::Pattern;
use vasa_tests::{Harness, MIB, TILE, on_device};

fn zeroed(sparse: &SparseMemory, name: &str) -> GrowableBuffer {
    let desc = GrowableDesc {
        contents: Contents::Zeroed,
        aliased: true,
        ..GrowableDesc::new(name, 16 * MIB, BufferUsageFlags::STORAGE_BUFFER)
    };
    GrowableBuffer::new(sparse, &desc).unwrap()
}

fn expect_zeros(h: &Harness, buffer: &GrowableBuffer, bytes: (u64, u64), wait: &[vasa::vk::Point]) {
    let words = h.read(buffer.buffer(), bytes.0, bytes.1 - bytes.0, wait);
    let dirty = words.iter().filter(|word| **word != 0).count();
    assert_eq!(dirty, 0, "{dirty} words of [{}, {}) are not zero", bytes.0, bytes.1);
}

/// Leaves full chunks with rubbish in them in the cache.
fn dirty_cache(h: &Harness, sparse: &SparseMemory) {
    let mut dirty = storage(sparse, "Dirty", 16 * MIB);
    let wait = waits(resize(sparse, &mut dirty, 4 * MIB));
    h.write(&dirty, Pattern::new(1), (0, 4 * MIB), &wait);
    resize(sparse, &mut dirty, 0);
    let cached = if h.in_place() { 4 } else { 0 };
    assert_eq!(sparse.stats().cached_chunks, cached, "the next buffer must get used chunks");
}

#[test]
fn undefined_contents_of_a_used_chunk_are_what_was_in_it() {
    // Not a promise, but the reason why the next test proves something.
    on_device(|h| {
        let sparse = h.small_chunks();
        dirty_cache(h, &sparse);
        let mut buffer = storage(&sparse, "Rubbish", 16 * MIB);
        let wait = waits(resize(&sparse, &mut buffer, 4 * MIB));
        if buffer.in_place() {
            let words = h.read(buffer.buffer(), 0, 4 * MIB, &wait);
            assert!(words.iter().any(|word| *word != 0), "used chunks came back clean");
        } else {
            assert_eq!(sparse.stats().chunks, 1, "an ordinary buffer");
        }
    });
}

#[test]
fn zeroed_bytes_are_zero_in_a_used_chunk() {
    on_device(|h| {
        let sparse = h.small_chunks();
        dirty_cache(h, &sparse);
        let mut buffer = zeroed(&sparse, "Clean");
        let wait = waits(resize(&sparse, &mut buffer, 4 * MIB));
        expect_zeros(h, &buffer, (0, 4 * MIB), &wait);
        if buffer.in_place() {
            let words = h.read_chunks(&buffer);
            assert!(words.iter().all(|word| *word == 0), "the chunk itself must be clean");
        }
    });
}

#[test]
fn zeroed_bytes_are_zero_when_a_tail_comes_back() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let mut buffer = zeroed(&sparse, "Tail");
        let pattern = Pattern::new(2);
        let wait = waits(resize(&sparse, &mut buffer, 3 * MIB));
        h.write(&buffer, pattern, (0, 3 * MIB), &wait);
        // Into the middle of a chunk: what comes back is the same memory, with the pattern still in it.
        resize(&sparse, &mut buffer, MIB + 3 * TILE);
        let wait = waits(resize(&sparse, &mut buffer, 3 * MIB));
        h.expect(&buffer, pattern, (0, MIB + 3 * TILE), &wait);
        expect_zeros(h, &buffer, (MIB + 3 * TILE, 3 * MIB), &[]);
    });
}

#[test]
fn clears_can_be_part_of_the_callers_own_recording() {
    on_device(|h| {
        let sparse = h.small_chunks();
        dirty_cache(h, &sparse);
        let mut buffer = zeroed(&sparse, "Recorded");
        buffer.commit(4 * MIB).unwrap();
        let mut pool = CommandPool::new(&h.device, Timeline::Graphics).unwrap();
        let mut encoder = pool.begin("Frame").unwrap();
        let flushed = sparse.flush(Some(&mut encoder)).unwrap();
        // Commands after the flush see the zeros and may write over them.
        let pattern = Pattern::new(3);
        h.record_fill(&mut encoder, buffer.slot().unwrap(), pattern, (0, MIB / 4));
        h.device.submit(Timeline::Graphics, vec![encoder.finish().unwrap()], &waits(flushed)).unwrap();
        h.expect(&buffer, pattern, (0, MIB), &[]);
        expect_zeros(h, &buffer, (MIB, 4 * MIB), &[]);
    });
}

#[test]
fn zeroed_growth_clears_nothing_that_stays() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let mut buffer = zeroed(&sparse, "Stays");
        let pattern = Pattern::new(4);
        let wait = waits(resize(&sparse, &mut buffer, TILE));
        h.write(&buffer, pattern, (0, TILE), &wait);
        for tiles in [2, 16, 17, 40] {
            let wait = waits(resize(&sparse, &mut buffer, tiles * TILE));
            h.expect(&buffer, pattern, (0, TILE), &wait);
            expect_zeros(h, &buffer, (TILE, tiles * TILE), &[]);
        }
    });
}

#[test]
fn zeroed_commits_that_replace_each_other_before_a_flush_stay_right() {
    on_device(|h| {
        let sparse = h.small_chunks();
        dirty_cache(h, &sparse);
        let mut buffer = zeroed(&sparse, "Replaced");
        let pattern = Pattern::new(5);
        let wait = waits(resize(&sparse, &mut buffer, MIB));
        h.write(&buffer, pattern, (0, MIB), &wait);
        for mib in [3, 6, 4] {
            buffer.commit(mib * MIB).unwrap();
        }
        let wait = waits(sparse.flush(None).unwrap());
        h.expect(&buffer, pattern, (0, MIB), &wait);
        expect_zeros(h, &buffer, (MIB, 4 * MIB), &[]);
    });
}

#[test]
fn what_a_dip_before_a_flush_cut_off_comes_back_as_zeros() {
    // Committing less and then more before a flush binds the least possible, but the promise about new bytes
    // holds as if each commit had been flushed.
    on_device(|h| {
        let sparse = h.small_chunks();
        for after in [3, 2] {
            let mut buffer = zeroed(&sparse, "Dip");
            let pattern = Pattern::new(6);
            let wait = waits(resize(&sparse, &mut buffer, 2 * MIB));
            h.write(&buffer, pattern, (0, 2 * MIB), &wait);
            for mib in [1, 4, after] {
                buffer.commit(mib * MIB).unwrap();
            }
            let wait = waits(sparse.flush(None).unwrap());
            h.expect(&buffer, pattern, (0, MIB), &wait);
            expect_zeros(h, &buffer, (MIB, after * MIB), &wait);
        }
    });
}
