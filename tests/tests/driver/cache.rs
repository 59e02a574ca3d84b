//! Chunks that shrinking frees are kept and bound again; no memory is allocated twice for the same need.

use vasa::sparse::{ChunkPolicy, SparseKnobs, SparseMemory};
use vasa_tests::growable::{resize, storage, waits};
use vasa_tests::pattern::Pattern;
use vasa_tests::{MIB, TILE, hooks, on_device};

#[test]
fn regrowth_takes_the_chunks_that_shrinking_gave_back() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let mut buffer = storage(&sparse, "Reuse", 16 * MIB);
        resize(&sparse, &mut buffer, 4 * MIB);
        resize(&sparse, &mut buffer, MIB);
        if !buffer.in_place() {
            assert_eq!(sparse.stats().cached_chunks, 0, "ordinary buffers have no chunks to keep");
            return;
        }
        assert_eq!(sparse.stats().cached_chunks, 3);
        let before = h.device.object_counts().created;
        resize(&sparse, &mut buffer, 4 * MIB);
        assert_eq!(h.device.object_counts().created, before, "nothing new was needed");
        assert_eq!(sparse.stats().cached_chunks, 0);
        let wait = waits(sparse.flush(None).unwrap());
        h.write(&buffer, Pattern::new(1), (0, 4 * MIB), &wait);
        h.expect_in_chunks(&buffer, Pattern::new(1));
    });
}

#[test]
fn another_buffer_takes_them_too() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let mut first = storage(&sparse, "Giver", 16 * MIB);
        let mut second = storage(&sparse, "Taker", 16 * MIB);
        let wait = waits(resize(&sparse, &mut first, 4 * MIB));
        h.write(&first, Pattern::new(1), (0, 4 * MIB), &wait);
        resize(&sparse, &mut first, 0);
        let allocated = h.device.object_counts().chunk_allocations;
        // No host wait: the bind must wait for the unbind by itself.
        let wait = waits(resize(&sparse, &mut second, 4 * MIB));
        assert_eq!(h.device.object_counts().chunk_allocations, allocated);
        h.write(&second, Pattern::new(2), (0, 4 * MIB), &wait);
        h.expect_in_chunks(&second, Pattern::new(2));
    });
}

#[test]
fn the_cache_keeps_no_more_than_its_limit() {
    on_device(|h| {
        let knobs = SparseKnobs { check: true, chunk_bytes: MIB, cached_chunks: 2, ..Default::default() };
        let sparse = SparseMemory::new(&h.device, knobs);
        let mut buffer = storage(&sparse, "Limit", 16 * MIB);
        resize(&sparse, &mut buffer, 8 * MIB);
        resize(&sparse, &mut buffer, 0);
        h.settle();
        let kept = if buffer.in_place() { 2 } else { 0 };
        assert_eq!(sparse.stats().cached_chunks, kept);
        assert_eq!(h.device.object_counts().chunk_allocations, kept, "the others are freed");
    });
}

#[test]
fn trim_gives_the_cache_back() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let mut buffer = storage(&sparse, "Trim", 16 * MIB);
        resize(&sparse, &mut buffer, 3 * MIB);
        resize(&sparse, &mut buffer, 0);
        sparse.trim();
        h.settle();
        assert_eq!(sparse.stats().cached_chunks, 0);
        assert_eq!(h.device.object_counts().chunk_allocations, 0);
    });
}

#[test]
fn chunks_that_are_not_full_are_not_kept() {
    on_device(|h| {
        let chunk_policy = ChunkPolicy::Exact;
        let sparse = SparseMemory::new(
            &h.device,
            SparseKnobs { check: true, chunk_bytes: MIB, chunk_policy, ..Default::default() },
        );
        let mut buffer = storage(&sparse, "Exact", 16 * MIB);
        resize(&sparse, &mut buffer, MIB + 3 * TILE);
        resize(&sparse, &mut buffer, 0);
        assert_eq!(sparse.stats().cached_chunks, u64::from(buffer.in_place()));
    });
}

#[test]
fn growth_inside_the_slack_of_a_chunk_allocates_nothing() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let mut buffer = storage(&sparse, "Slack", 16 * MIB);
        resize(&sparse, &mut buffer, TILE);
        let before = hooks::allocations();
        for tiles in 2..=16 {
            resize(&sparse, &mut buffer, tiles * TILE);
        }
        if buffer.in_place() {
            assert_eq!(hooks::allocations(), before);
            assert_eq!((buffer.sizes().chunks, buffer.sizes().slack), (1, 0));
        } else {
            assert_eq!(buffer.sizes().physical, 16 * TILE);
        }
    });
}
