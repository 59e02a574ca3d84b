//! One `vkQueueBindSparse` a flush, seen at the driver's door.

use ash::vk::Handle;
use vasa::sparse::GrowableBuffer;
use vasa_tests::growable::{resize, storage};
use vasa_tests::hooks::{self, Batch};
use vasa_tests::{MIB, TILE, on_device};

/// What must hold of every batch ever submitted.
fn check(batch: &Batch) {
    assert!(!batch.ranges.is_empty(), "an empty batch has lost devices");
    assert!(batch.buffers.iter().all(|(_, ranges)| *ranges > 0), "an empty list of a buffer");
    assert_eq!(hooks::overlaps(batch), [], "a tile appears once in a batch");
    for range in &batch.ranges {
        assert!(range.size > 0, "{range:?}");
        assert!([range.offset, range.size, range.memory_offset].iter().all(|n| n % TILE == 0), "{range:?}");
    }
    assert_eq!(batch.signals.len(), 1, "each batch signals the bind timeline");
}

fn bytes(batch: &Batch) -> u64 {
    batch.ranges.iter().map(|r| r.size).sum()
}

#[test]
fn many_buffers_that_grow_and_shrink_at_once_take_one_call() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let mut buffers: Vec<GrowableBuffer> =
            (0..6).map(|i| storage(&sparse, &format!("Many{i}"), 8 * MIB)).collect();
        let sizes: [[u64; 6]; 4] =
            [[4, 4, 4, 0, 0, 0], [1, 7, 0, 3, 3, 3], [0, 0, 0, 0, 0, 0], [8, 1, 8, 1, 8, 1]];
        hooks::take_bind_calls();
        for (flush, sizes) in sizes.iter().enumerate() {
            let had: Vec<u64> = buffers.iter().map(GrowableBuffer::committed).collect();
            for (buffer, mib) in buffers.iter_mut().zip(sizes) {
                buffer.commit(mib * MIB).unwrap();
            }
            sparse.flush(None).unwrap();
            sparse.end_frame();
            let calls = hooks::take_bind_calls();
            if !h.in_place() {
                assert_eq!(calls, [] as [Vec<Batch>; 0], "nothing is bound in the fallback");
                continue;
            }
            assert_eq!(calls.len(), 1, "flush {flush}");
            calls[0].iter().for_each(check);
            let grown: u64 = had.iter().zip(sizes).map(|(h, s)| (s * MIB).saturating_sub(*h)).sum();
            let shrunk: u64 = had.iter().zip(sizes).map(|(h, s)| h.saturating_sub(s * MIB)).sum();
            let is_unbind = |b: &&Batch| b.ranges.iter().all(|r| r.memory.is_null());
            let is_bind = |b: &&Batch| b.ranges.iter().all(|r| !r.memory.is_null());
            assert_eq!(calls[0].iter().filter(is_bind).map(bytes).sum::<u64>(), grown);
            assert_eq!(calls[0].iter().filter(is_unbind).map(bytes).sum::<u64>(), shrunk);
            assert_eq!(calls[0].len(), usize::from(grown > 0) + usize::from(shrunk > 0), "one batch a kind");
            if grown > 0 && shrunk > 0 {
                assert!(is_bind(&&calls[0][0]), "growth goes first: it waits for nobody");
            }
        }
        let stats = sparse.stats();
        let calls = if h.in_place() { 4 } else { 0 };
        assert_eq!((stats.bind_calls, stats.max_bind_calls_per_frame), (calls, calls.min(1)));
    });
}

#[test]
fn a_flush_of_nothing_calls_nothing() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let mut buffer = storage(&sparse, "Quiet", 8 * MIB);
        resize(&sparse, &mut buffer, 2 * MIB);
        // Until its bind is done, the next flush still tells of it.
        h.settle();
        hooks::take_bind_calls();
        let before = h.device.submitted(vasa::vk::Timeline::Graphics);
        buffer.commit(2 * MIB).unwrap();
        let flushed = sparse.flush(None).unwrap();
        assert_eq!((flushed.wait, flushed.waits), (None, false));
        assert_eq!(hooks::take_bind_calls().len(), 0);
        assert_eq!(h.device.submitted(vasa::vk::Timeline::Graphics), before);
    });
}

#[test]
fn a_commit_that_is_taken_back_binds_nothing() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let mut buffer = storage(&sparse, "Back", 8 * MIB);
        resize(&sparse, &mut buffer, 2 * MIB);
        hooks::take_bind_calls();
        let before = sparse.stats();
        buffer.commit(6 * MIB).unwrap();
        buffer.commit(2 * MIB).unwrap();
        assert_eq!(buffer.committed(), 2 * MIB);
        sparse.flush(None).unwrap();
        assert_eq!(hooks::take_bind_calls().len(), 0);
        assert_eq!(sparse.stats().committed_bytes, before.committed_bytes);
        assert_eq!(sparse.stats().physical_bytes, before.physical_bytes);
    });
}

#[test]
fn a_tile_is_bound_once_however_often_a_buffer_commits() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let mut buffer = storage(&sparse, "Often", 8 * MIB);
        resize(&sparse, &mut buffer, 3 * MIB);
        hooks::take_bind_calls();
        for mib in [5, 1, 7, 2, 6] {
            buffer.commit(mib * MIB).unwrap();
        }
        sparse.flush(None).unwrap();
        let calls = hooks::take_bind_calls();
        if !buffer.in_place() {
            assert_eq!((calls.len(), buffer.committed()), (0, 6 * MIB));
            return;
        }
        assert_eq!((calls.len(), calls[0].len()), (1, 1), "only the growth from 3 to 6 MiB is left");
        check(&calls[0][0]);
        assert_eq!(bytes(&calls[0][0]), 3 * MIB);
        assert!(calls[0][0].ranges.iter().all(|r| r.offset >= 3 * MIB && !r.memory.is_null()));
    });
}

#[test]
fn the_same_commit_twice_counts_once() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let mut buffer = storage(&sparse, "Same", 8 * MIB);
        assert!(buffer.commit(2 * MIB).unwrap().moved);
        assert!(!buffer.commit(2 * MIB).unwrap().moved, "the watermark did not move again");
        sparse.flush(None).unwrap();
        assert_eq!((sparse.stats().grows, buffer.stats().grows), (1, 1));
    });
}

#[test]
fn binds_of_one_chunk_are_merged() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let mut buffer = storage(&sparse, "Merged", 8 * MIB);
        hooks::take_bind_calls();
        resize(&sparse, &mut buffer, 3 * MIB + TILE);
        let ranges = hooks::take_bind_calls().concat().iter().map(|b| b.ranges.len()).sum::<usize>();
        assert_eq!(ranges, if buffer.in_place() { 4 } else { 0 }, "one range a chunk, not one a tile");
        resize(&sparse, &mut buffer, TILE);
        let ranges = hooks::take_bind_calls().concat().iter().map(|b| b.ranges.len()).sum::<usize>();
        assert_eq!(ranges, usize::from(buffer.in_place()), "an unbind needs no memory, so it is one range");
    });
}
