//! Paged buffers: any tile comes and goes, and each mapped one keeps its bytes where the buffer says they lie.

use std::collections::BTreeMap;

use ash::vk::{BufferUsageFlags, Handle};
use vasa::sparse::{Contents, Error, POISON, PagedBuffer, PagedDesc, SparseKnobs, SparseMemory};
use vasa::vk::{Point, Site};
use vasa_tests::growable::waits;
use vasa_tests::hooks;
use vasa_tests::paged::{Written, paged, paged_with};
use vasa_tests::pattern::Pattern;
use vasa_tests::random::Random;
use vasa_tests::{Harness, MIB, TILE, on_device};

const TILES: u64 = 96;

fn all(model: &BTreeMap<u64, Pattern>) -> Vec<Written> {
    model.iter().map(|(tile, pattern)| (*tile, *pattern)).collect()
}

#[test]
fn tiles_come_and_go_at_random_and_the_mapped_ones_keep_their_bytes() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let mut buffer = paged(&sparse, "Random", TILES);
        let (raw, slot) = (buffer.buffer().raw(), buffer.slot());
        let mut random = Random::new(1);
        let mut model: BTreeMap<u64, Pattern> = BTreeMap::new();
        let every: Vec<u64> = (0..TILES).collect();
        for round in 0..24u32 {
            let gone = random.some(&every, 20);
            let wanted = random.some(&every, 24);
            let had = gone.iter().filter(|tile| model.contains_key(tile)).count() as u64;
            assert_eq!(buffer.unmap_each(&gone).unwrap(), had);
            model.retain(|tile, _| !gone.contains(tile));
            let fresh: Vec<Written> = (0u32..)
                .zip(wanted.iter().filter(|tile| !model.contains_key(tile)))
                .map(|(i, tile)| (*tile, Pattern::new(round * 1000 + i)))
                .collect();
            assert_eq!(buffer.map_each(&wanted).unwrap(), fresh.len() as u64);
            hooks::take_bind_calls();
            let wait = waits(sparse.flush(None).unwrap());
            assert!(hooks::take_bind_calls().len() <= 1, "one call a flush");
            sparse.end_frame();
            h.write_tiles(&buffer, &fresh, &wait);
            model.extend(fresh);
            assert_eq!(buffer.mapped_tiles(), model.keys().copied().collect::<Vec<_>>());
            if round % 4 == 3 {
                h.expect_tiles(&buffer, &all(&model), &wait);
                h.expect_pages(&buffer, &all(&model));
            }
        }
        assert_eq!((buffer.buffer().raw(), buffer.slot()), (raw, slot), "it never moved");
        let stats = sparse.stats();
        let bytes = if buffer.in_place() { model.len() as u64 * TILE } else { TILES * TILE };
        assert_eq!((stats.committed_bytes, stats.reserved_bytes), (bytes, TILES * TILE));
        assert_eq!((stats.committed_buffer_bytes, stats.committed_image_bytes), (bytes, 0));
        assert!(stats.physical_bytes >= bytes && stats.max_bind_calls_per_frame <= 1);
    });
}

#[test]
fn neighbours_are_bound_together_and_scattered_tiles_one_by_one() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let mut buffer = paged(&sparse, "Merged", TILES);
        hooks::take_bind_calls();
        buffer.map(0..12).unwrap();
        buffer.map_each(&[20, 22, 24]).unwrap();
        sparse.flush(None).unwrap();
        let calls = hooks::take_bind_calls();
        if !buffer.in_place() {
            assert_eq!(calls.len(), 0);
            assert_eq!(buffer.mapped_tiles().len(), 15);
            return;
        }
        assert_eq!(calls.len(), 1);
        let ranges: Vec<(u64, u64)> =
            calls[0][0].ranges.iter().map(|r| (r.offset / TILE, r.size / TILE)).collect();
        assert_eq!(ranges, [(0, 12), (20, 1), (22, 1), (24, 1)]);
        assert_eq!(sparse.stats().merged_binds, 11);
        buffer.unmap(4..23).unwrap();
        sparse.flush(None).unwrap();
        let calls = hooks::take_bind_calls();
        assert_eq!((calls.len(), calls[0].len()), (1, 1), "one batch, that waits");
        assert!(calls[0][0].ranges.iter().all(|r| r.memory.is_null()));
        let ranges: Vec<(u64, u64)> =
            calls[0][0].ranges.iter().map(|r| (r.offset / TILE, r.size / TILE)).collect();
        assert_eq!(ranges, [(4, 8), (20, 1), (22, 1)]);
        assert_eq!(buffer.mapped_tiles(), [0, 1, 2, 3, 24]);
    });
}

fn words_are(h: &Harness, buffer: &PagedBuffer, tiles: &[u64], word: u32, wait: &[Point]) {
    for (tile, words) in tiles.iter().zip(h.read_tiles(buffer.buffer(), tiles, wait)) {
        let wrong = words.iter().filter(|w| **w != word).count();
        assert_eq!(wrong, 0, "{wrong} words of tile {tile} are not {word:#x}");
    }
}

#[test]
fn zeroed_tiles_are_zero_in_used_pages_each_time_they_come() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let mut dirty = paged(&sparse, "Dirty", 32);
        dirty.map(0..32).unwrap();
        let wait = waits(sparse.flush(None).unwrap());
        let rubbish: Vec<Written> = (0..32).map(|tile| (tile, Pattern::new(tile as u32))).collect();
        h.write_tiles(&dirty, &rubbish, &wait);
        dirty.unmap(0..32).unwrap();
        sparse.flush(None).unwrap();
        let mut buffer = paged_with(&sparse, "Zeroed", TILES, Contents::Zeroed);
        let tiles = [3, 4, 5, 40, 90];
        for round in 0..3 {
            buffer.map_each(&tiles).unwrap();
            let wait = waits(sparse.flush(None).unwrap());
            words_are(h, &buffer, &tiles, 0, &wait);
            let written: Vec<Written> =
                tiles.iter().map(|tile| (*tile, Pattern::new(round * 100 + *tile as u32))).collect();
            h.write_tiles(&buffer, &written, &[]);
            h.expect_pages(&buffer, &written);
            // A neighbour that comes clears nothing of the others.
            buffer.map(6..8).unwrap();
            let wait = waits(sparse.flush(None).unwrap());
            h.expect_tiles(&buffer, &written, &wait);
            words_are(h, &buffer, &[6, 7], 0, &[]);
            buffer.unmap(0..TILES).unwrap();
            sparse.flush(None).unwrap();
        }
    });
}

#[test]
fn undefined_tiles_are_poisoned_when_asked_for() {
    on_device(|h| {
        let knobs = SparseKnobs { check: true, chunk_bytes: MIB, poison: true, ..Default::default() };
        let sparse = SparseMemory::new(&h.device, knobs);
        let mut buffer = paged(&sparse, "Poisoned", TILES);
        buffer.map_each(&[1, 2, 70]).unwrap();
        let wait = waits(sparse.flush(None).unwrap());
        words_are(h, &buffer, &[1, 2, 70], POISON, &wait);
        let mut zeroed = paged_with(&sparse, "Zeroed", TILES, Contents::Zeroed);
        zeroed.map_each(&[1]).unwrap();
        let wait = waits(sparse.flush(None).unwrap());
        words_are(h, &zeroed, &[1], 0, &wait);
    });
}

#[test]
fn tiles_past_the_end_are_named_and_change_nothing() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let mut buffer = paged(&sparse, "End", 10);
        assert_eq!((buffer.tiles(), buffer.tile_bytes()), (10, TILE));
        let results = [
            buffer.map(5..11),
            buffer.map(0..u64::MAX),
            buffer.map_each(&[1, 10]),
            buffer.unmap(10..12),
            buffer.unmap_each(&[u64::MAX]),
        ];
        for result in results {
            let error = result.unwrap_err();
            assert!(matches!(error, Error::NoTile { .. }), "{error}");
            assert!(error.to_string().contains("End") && error.to_string().contains("10 tiles"), "{error}");
        }
        assert_eq!(buffer.mapped_tiles(), [] as [u64; 0]);
        assert_eq!(buffer.map(3..3).unwrap(), 0);
        #[allow(clippy::reversed_empty_ranges)]
        let backwards = buffer.map(9..2).unwrap();
        assert_eq!(backwards, 0);
        assert_eq!(sparse.flush(None).unwrap().wait, None);
        assert_eq!(buffer.locate(u64::MAX).map(|(_, at)| at), None);
        let usage = BufferUsageFlags::STORAGE_BUFFER;
        let zero = PagedDesc { name: "Zero", capacity: 0, usage, contents: Contents::Undefined };
        assert!(matches!(PagedBuffer::new(&sparse, &zero), Err(Error::Plan { .. })));
        let huge = PagedDesc { capacity: u64::MAX, ..zero };
        if h.in_place() {
            // In the fallback all of it would be allocated.
            let limits = h.device.capabilities().limits;
            let huge = PagedBuffer::new(&sparse, &huge).unwrap();
            assert!(huge.tiles() * TILE <= limits.max_storage_buffer_range);
        }
    });
}

#[test]
fn a_refused_bind_rolls_maps_and_unmaps_back() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let mut buffer = paged(&sparse, "Refused", TILES);
        buffer.map(0..20).unwrap();
        let wait = waits(sparse.flush(None).unwrap());
        let written: Vec<Written> = (0..20).map(|tile| (tile, Pattern::new(tile as u32 + 7))).collect();
        h.write_tiles(&buffer, &written, &wait);
        let before = (buffer.mapped_tiles(), sparse.stats().committed_bytes);
        // Taken away, given back elsewhere, taken away again, and new ones: all in one refused flush.
        buffer.unmap(5..15).unwrap();
        buffer.map(8..40).unwrap();
        buffer.unmap(10..12).unwrap();
        h.device.faults().refuse(Site::Bind, 0);
        let flushed = sparse.flush(None);
        h.device.faults().clear();
        if !buffer.in_place() {
            return flushed.map(|_| ()).unwrap();
        }
        assert!(matches!(flushed, Err(Error::Vulkan(_))), "{flushed:?}");
        assert_eq!((buffer.mapped_tiles(), sparse.stats().committed_bytes), before);
        h.expect_tiles(&buffer, &written, &[]);
        h.expect_pages(&buffer, &written);
        // And nothing of the refused flush is left to bother the next one.
        buffer.map(20..60).unwrap();
        let wait = waits(sparse.flush(None).unwrap());
        let more: Vec<Written> = (20..60).map(|tile| (tile, Pattern::new(tile as u32 + 7))).collect();
        h.write_tiles(&buffer, &more, &wait);
        h.expect_pages(&buffer, &written);
        h.expect_pages(&buffer, &more);
    });
}

#[test]
fn running_out_of_memory_half_way_maps_nothing() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let mut buffer = paged(&sparse, "Half", TILES);
        buffer.map(0..8).unwrap();
        let wait = waits(sparse.flush(None).unwrap());
        let written: Vec<Written> = (0..8).map(|tile| (tile, Pattern::new(tile as u32))).collect();
        h.write_tiles(&buffer, &written, &wait);
        hooks::fail_allocations_after(Some(2));
        let mapped = buffer.map(8..TILES);
        hooks::fail_allocations_after(None);
        if !buffer.in_place() {
            assert_eq!(mapped.unwrap(), TILES - 8, "all of it had memory already");
            return;
        }
        assert!(matches!(mapped, Err(Error::Vulkan(ref error)) if error.is_out_of_memory()), "{mapped:?}");
        assert_eq!(buffer.mapped_tiles().len(), 8);
        assert_eq!(sparse.flush(None).unwrap().wait, None, "nothing is pending");
        h.expect_pages(&buffer, &written);
        assert_eq!(buffer.map(8..TILES).unwrap(), TILES - 8);
        sparse.flush(None).unwrap();
    });
}

#[test]
fn pages_of_a_dropped_buffer_serve_others_once_the_gpu_is_done() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let mut chunks = Vec::new();
        for round in 0..6 {
            let mut buffer = paged(&sparse, "Dropped", 64);
            buffer.map(0..48).unwrap();
            let wait = waits(sparse.flush(None).unwrap());
            let written: Vec<Written> =
                (0..48).map(|tile| (tile, Pattern::new(round * 64 + tile as u32))).collect();
            h.write_tiles(&buffer, &written, &wait);
            h.expect_pages(&buffer, &written);
            // Pending changes go with the buffer.
            buffer.unmap(0..10).unwrap();
            buffer.map(50..60).unwrap();
            drop(buffer);
            sparse.flush(None).unwrap();
            h.settle();
            sparse.end_frame();
            chunks.push(sparse.stats().chunks);
        }
        let most = if h.in_place() { 4 } else { 0 };
        assert!(chunks.iter().all(|count| *count <= most), "pages are not given back: {chunks:?}");
        for _ in 0..70 {
            sparse.end_frame();
        }
        assert_eq!(sparse.stats().chunks, 0, "empty chunks are given back after a while");
    });
}

#[test]
fn pages_of_a_dropped_buffer_are_nobodys_until_nothing_can_use_them() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let mut buffer = paged(&sparse, "Dropped", 24);
        buffer.map(0..4).unwrap();
        sparse.flush(None).unwrap();
        let Some(place) = buffer.locate(0) else { return assert!(!h.in_place()) };
        let place = (place.0.id(), place.1);
        // A recording that is open may use whatever lived when it began.
        let mut pool = vasa::vk::CommandPool::new(&h.device, vasa::vk::Timeline::Graphics).unwrap();
        let encoder = pool.begin("Open").unwrap();
        drop(buffer);
        let mut other = paged(&sparse, "Other", 24);
        let mut places = |tiles: std::ops::Range<u64>| {
            h.device.wait_idle().unwrap();
            sparse.end_frame();
            other.map(tiles.clone()).unwrap();
            sparse.flush(None).unwrap();
            let of = |tile| other.locate(tile).map(|(chunk, offset)| (chunk.id(), offset));
            tiles.filter_map(of).collect::<Vec<_>>()
        };
        assert!(!places(0..8).contains(&place), "a page under an open recording was given away");
        drop(encoder);
        h.settle();
        assert!(places(8..16).contains(&place), "a page that nobody can use any more was not given back");
    });
}
