//! The `gpu` ring: what a software driver hides, shown on a real GPU.
//!
//! Where unbound memory reads zero by contract, reading through the resource itself is proof.

use vasa::vk::Timeline;
use vasa_tests::growable::{resize, storage, waits};
use vasa_tests::pattern::Pattern;
use vasa_tests::{Harness, MIB, TILE, on_device};

/// Runs a test on a real GPU; a software driver proves nothing here and is skipped.
fn on_gpu(test: impl FnOnce(&Harness)) {
    on_device(|h| if h.is_software() { h.skip("a software driver, this ring needs a GPU") } else { test(h) });
}

/// The checker says what these tests do on purpose: use pages without memory. Anything else fails the test.
fn uses_without_memory(h: &Harness) {
    let reports = h.device.instance().messages().take_checker_reports();
    assert!(!reports.is_empty(), "the checker missed the use of pages without memory");
    assert!(reports.iter().all(|report| report.starts_with("unmapped_use")), "{reports:?}");
}

#[test]
fn a_page_without_memory_reads_zero_and_swallows_writes() {
    on_gpu(|h| {
        let sparse = h.small_chunks();
        let mut buffer = storage(&sparse, "Strict", 8 * MIB);
        let pattern = Pattern::new(1);
        let wait = waits(resize(&sparse, &mut buffer, MIB + 3 * TILE));
        if !(buffer.in_place() && h.device.capabilities().sparse.non_resident_strict) {
            // An ordinary buffer ends where its memory ends.
            h.write(&buffer, pattern, (0, MIB + 3 * TILE), &wait);
            return h.expect(&buffer, pattern, (0, MIB + 3 * TILE), &[]);
        }
        h.write(&buffer, pattern, (0, 8 * MIB), &wait);
        uses_without_memory(h);
        h.expect(&buffer, pattern, (0, MIB + 3 * TILE), &[]);
        let words = h.read(buffer.buffer(), MIB + 3 * TILE, 7 * MIB - 3 * TILE, &[]);
        assert!(words.iter().all(|word| *word == 0), "memory behind addresses that were never committed");
    });
}

#[test]
fn shrinking_takes_the_memory_away_and_growing_binds_it_tile_by_tile() {
    on_gpu(|h| {
        let sparse = h.small_chunks();
        let mut buffer = storage(&sparse, "Line", 8 * MIB);
        for (round, tiles) in [40, 19, 20, 64, 1, 33, 0, 16].into_iter().enumerate() {
            let wait = waits(resize(&sparse, &mut buffer, tiles * TILE));
            let pattern = Pattern::new(round as u32);
            let strict = buffer.in_place() && h.device.capabilities().sparse.non_resident_strict;
            let reach = if strict { 8 * MIB } else { tiles * TILE };
            h.write(&buffer, pattern, (0, reach), &wait);
            if strict {
                uses_without_memory(h);
            }
            if tiles > 0 {
                h.expect(&buffer, pattern, (0, tiles * TILE), &[]);
            }
            if strict {
                let words = h.read(buffer.buffer(), tiles * TILE, 8 * MIB - tiles * TILE, &[]);
                assert!(words.iter().all(|word| *word == 0), "the line is not at {tiles} tiles");
            }
        }
    });
}

#[test]
fn several_gibibytes_grow_through_one_slot() {
    on_gpu(|h| {
        let range = h.device.capabilities().limits.max_storage_buffer_range / TILE * TILE;
        let heap = h.device.capabilities().heaps.iter().filter(|h| h.device_local).map(|h| h.bytes).max();
        let capacity = range.min(heap.unwrap_or(0) / 4 / TILE * TILE);
        let sparse = vasa::sparse::SparseMemory::new(&h.device, Default::default());
        let mut buffer = storage(&sparse, "Large", capacity);
        let (slot, pattern) = (buffer.slot(), Pattern::new(7));
        let mut had = 0;
        for step in 1..=4 {
            let bytes = capacity * step / 4 / TILE * TILE;
            let wait = waits(resize(&sparse, &mut buffer, bytes));
            h.write(&buffer, pattern, (had, bytes), &wait);
            had = bytes;
        }
        assert!(!buffer.in_place() || buffer.slot() == slot);
        // Past 4 GiB minus a tile 32-bit arithmetic would have gone wrong.
        for part in 0..=16 {
            let at = (capacity / 16 * part / TILE * TILE).min(capacity - TILE);
            h.expect(&buffer, pattern, (at, at + TILE), &[]);
        }
    });
}

#[test]
fn growth_on_a_side_queue_passes_rendering_that_is_stuck() {
    on_gpu(|h| {
        let sparse = h.small_chunks();
        let mut buffer = storage(&sparse, "Side", 8 * MIB);
        let plan = h.device.queue_plan();
        if !buffer.in_place() || plan.sparse == Some(plan.graphics) {
            // One queue: its order is its order. Growth still gives a usable buffer.
            let wait = waits(resize(&sparse, &mut buffer, MIB));
            h.write(&buffer, Pattern::new(1), (0, MIB), &wait);
            return h.expect(&buffer, Pattern::new(1), (0, MIB), &[]);
        }
        // Rendering that waits for the very bind that comes after it: if the growth waited for rendering, neither
        // would ever end, and the wait below would time out.
        let bind = h.device.submitted(Timeline::Bind);
        let next = vasa::vk::Point { timeline: Timeline::Bind, value: bind.value + 1 };
        let stuck = h.submit("Stuck", &[next], |_| {});
        let wait = waits(resize(&sparse, &mut buffer, MIB));
        assert_eq!(wait, [next]);
        h.device.wait(&[stuck]).unwrap();
        h.write(&buffer, Pattern::new(2), (0, MIB), &wait);
        h.expect(&buffer, Pattern::new(2), (0, MIB), &[]);
    });
}

#[test]
fn chunks_are_where_the_buffer_says() {
    on_gpu(|h| {
        let sparse = h.small_chunks();
        let mut buffer = storage(&sparse, "Twin", 8 * MIB);
        for (round, tiles) in [40, 19, 33].into_iter().enumerate() {
            let wait = waits(resize(&sparse, &mut buffer, tiles * TILE));
            let pattern = Pattern::new(20 + round as u32);
            h.write(&buffer, pattern, (0, tiles * TILE), &wait);
            h.expect_in_chunks(&buffer, pattern);
        }
    });
}
