//! Defragmentation: pages move together while the resources are read and written, and nobody can tell.

use ash::vk::{BufferUsageFlags, Handle};
use vasa::sparse::{Defragmentation, GrowableBuffer, GrowableDesc, SparseMemory};
use vasa::vk::{Point, Site};
use vasa_tests::growable::waits;
use vasa_tests::hooks;
use vasa_tests::random::Random;
use vasa_tests::zoo::{Zoo, image_descs};
use vasa_tests::{Harness, MIB, TILE, on_device};

const TILES: u64 = 80;
/// Enough for everything that a test has to move, at any budget that it sets.
const PATIENCE: usize = 2000;

fn knobs(tiles: u64) -> Option<Defragmentation> {
    Some(Defragmentation { bytes_per_frame: tiles * TILE, max_fill: 1.0 })
}

/// Full chunks, then one tile in `n` left.
fn fragmented(h: &Harness, sparse: &SparseMemory, seed: u64, n: u64) -> Zoo {
    let mut zoo = Zoo::new(h, sparse, 3, TILES, &image_descs());
    zoo.fill(h, sparse);
    zoo.thin(sparse, &mut Random::new(seed), n);
    zoo
}

/// Flushes until nothing is left to move.
fn finish(sparse: &SparseMemory) -> Vec<Point> {
    for _ in 0..PATIENCE {
        let wait = waits(sparse.flush(None).unwrap());
        sparse.end_frame();
        if !sparse.is_defragmenting() {
            return wait;
        }
    }
    panic!("still defragmenting after {PATIENCE} flushes");
}

fn flush_times(sparse: &SparseMemory, times: u32) -> Vec<Point> {
    (0..times).flat_map(|_| waits(sparse.flush(None).unwrap())).collect()
}

/// The fewest chunks that the mapped tiles of all resources fit into.
fn fewest(sparse: &SparseMemory) -> u64 {
    (sparse.stats().committed_bytes / TILE).div_ceil(MIB / TILE)
}

#[test]
fn contents_are_right_all_the_time_while_pages_move_under_load() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let mut zoo = fragmented(h, &sparse, 1, 4);
        let mut random = Random::new(2);
        let before = sparse.stats();
        let handles = |zoo: &Zoo| {
            let buffers = zoo.buffers.iter().map(|m| (m.buffer.buffer().raw().as_raw(), m.buffer.slot()));
            let images = zoo.images.iter().map(|m| (m.image.image().raw().as_raw(), None));
            buffers.chain(images).collect::<Vec<_>>()
        };
        let known = handles(&zoo);
        assert!(!sparse.is_defragmenting(), "nobody asked for it");
        sparse.set_defragmentation(knobs(6));
        assert_eq!(sparse.is_defragmenting(), h.in_place());
        let (mut wait, mut frames, mut moved) = (Vec::new(), 0, 0);
        while frames == 0 || sparse.is_defragmenting() {
            zoo.touch(h, &mut random, 3, &wait);
            hooks::take_bind_calls();
            wait = waits(sparse.flush(None).unwrap());
            assert!(hooks::take_bind_calls().len() <= 1, "one call a flush");
            zoo.expect_some(h, &mut random, 3, &wait);
            if frames % 8 == 0 {
                zoo.expect_all(h, &wait);
            }
            sparse.end_frame();
            let now = sparse.stats().remapped_tiles;
            assert!(now - moved <= 6, "{} tiles moved in a frame", now - moved);
            (frames, moved) = (frames + 1, now);
            assert!(frames < PATIENCE, "it does not end");
        }
        zoo.expect_all(h, &wait);
        assert_eq!(handles(&zoo), known);
        let after = sparse.stats();
        assert_eq!(after.committed_bytes, before.committed_bytes);
        if h.in_place() {
            println!("{} tiles moved, {} bytes freed in {frames} frames", moved, after.defragmented_bytes);
            assert!(after.remapped_tiles > 0 && after.defragmented_bytes > 0);
            assert_eq!(after.defragmented_bytes, before.physical_bytes - after.physical_bytes);
            assert_eq!(after.chunks, fewest(&sparse), "the fewest chunks that hold it");
        } else {
            assert_eq!((after.remapped_tiles, after.defragmented_bytes, frames), (0, 0, 1));
        }
    });
}

#[test]
fn tiles_that_come_and_go_in_the_middle_of_a_step_are_their_owners() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let mut zoo = fragmented(h, &sparse, 3, 3);
        let mut random = Random::new(4);
        sparse.set_defragmentation(knobs(24));
        let mut wait = Vec::new();
        for round in 0..60 {
            // Between staging and rebinding: away for good, away and back, and new ones.
            for index in 0..zoo.buffers.len() {
                let model = &mut zoo.buffers[index];
                let mapped: Vec<u64> = model.tiles.keys().copied().collect();
                let gone = random.some(&mapped, 12);
                model.buffer.unmap_each(&gone).unwrap();
                model.tiles.retain(|tile, _| !gone.contains(tile));
                let back = random.some(&gone, 4);
                let every: Vec<u64> = (0..TILES).filter(|t| !model.tiles.contains_key(t)).collect();
                let mut fresh = random.some(&every, 10);
                fresh.extend(&back);
                model.buffer.map_each(&fresh).unwrap();
                // Written after the flush; until then the model has no such tile.
                wait = waits(sparse.flush(None).unwrap());
                zoo.write_buffer(h, index, &fresh, &wait);
            }
            for index in 0..zoo.images.len() {
                let model = &mut zoo.images[index];
                let floor = model.image.layout().floor_lod();
                let mapped: Vec<_> =
                    model.tiles.values().map(|(t, _)| *t).filter(|t| t.mip < floor).collect();
                let gone = random.some(&mapped, 8);
                model.image.unmap(&gone).unwrap();
                model.tiles.retain(|_, (tile, _)| !gone.contains(tile));
                let fresh: Vec<_> = random.some(&model.movable(), 8);
                let fresh: Vec<_> =
                    fresh.into_iter().filter(|t| !model.tiles.values().any(|(m, _)| m == t)).collect();
                model.image.map(&fresh).unwrap();
                wait = waits(sparse.flush(None).unwrap());
                zoo.write_image(h, index, &fresh, &wait);
            }
            sparse.end_frame();
            zoo.expect_some(h, &mut random, 4, &wait);
            if round % 10 == 9 {
                zoo.expect_all(h, &wait);
            }
        }
        let wait: Vec<Point> = wait.into_iter().chain(finish(&sparse)).collect();
        zoo.expect_all(h, &wait);
        assert_eq!(sparse.stats().remapped_tiles > 0, h.in_place());
    });
}

#[test]
fn owners_that_are_dropped_in_the_middle_of_a_step_take_nothing_with_them() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let mut zoo = fragmented(h, &sparse, 5, 4);
        sparse.set_defragmentation(knobs(10));
        for flushes in [1, 1, 2, 1] {
            for _ in 0..flushes {
                zoo.touch(h, &mut Random::new(6), 2, &[]);
                sparse.flush(None).unwrap();
            }
            // The targets of its tiles are bound to a twin by now.
            drop(zoo.buffers.pop());
            if flushes == 1 {
                drop(zoo.images.pop());
            }
            let wait = waits(sparse.flush(None).unwrap());
            zoo.expect_all(h, &wait);
            sparse.end_frame();
        }
        drop(zoo);
        sparse.flush(None).unwrap();
        h.settle();
        finish(&sparse);
        sparse.trim();
        let stats = sparse.stats();
        assert_eq!((stats.chunks, stats.physical_bytes, stats.resources.len()), (0, 0, 0));
    });
}

#[test]
fn a_step_that_fails_at_any_stage_loses_nothing_and_fails_no_frame_of_its_own() {
    on_device(|h| {
        for (site, is_the_frames_own) in [(Site::Submit, false), (Site::Bind, true)] {
            for nth in 0..6 {
                let sparse = h.small_chunks();
                let mut zoo = fragmented(h, &sparse, 7 + nth, 4);
                zoo.expect_all(h, &[]);
                sparse.set_defragmentation(knobs(12));
                let mut failed = 0;
                for frame in 0..6 {
                    if frame == nth {
                        h.device.faults().refuse(site, 0);
                    }
                    let flushed = sparse.flush(None);
                    h.device.faults().clear();
                    assert!(is_the_frames_own || flushed.is_ok(), "{flushed:?}");
                    failed += u64::from(flushed.is_err());
                    let wait = waits(flushed.unwrap_or_default());
                    zoo.expect_all(h, &wait);
                    zoo.touch(h, &mut Random::new(nth), 2, &wait);
                }
                assert_eq!(failed, u64::from(is_the_frames_own && h.in_place()), "{site:?} {nth}");
                // It is tried again after a while, and ends as it would have.
                let mut wait = Vec::new();
                for _ in 0..70 {
                    wait = waits(sparse.flush(None).unwrap());
                    h.device.wait_idle().unwrap();
                    sparse.end_frame();
                }
                let wait: Vec<Point> = wait.into_iter().chain(finish(&sparse)).collect();
                zoo.expect_all(h, &wait);
                if h.in_place() {
                    assert_eq!(sparse.stats().chunks, fewest(&sparse), "{site:?} {nth}");
                }
            }
        }
    });
}

#[test]
fn without_addresses_for_a_twin_frames_go_on() {
    on_device(|h| {
        let space = h.device.capabilities().sparse.address_space_bytes;
        if !h.in_place() || !h.is_software() {
            // Nothing moves in the fallback; a GPU's driver has more addresses than a buffer can take.
            return;
        }
        let sparse = h.small_chunks();
        let zoo = fragmented(h, &sparse, 9, 4);
        let left = space - h.device.reserved_addresses();
        let desc = GrowableDesc::new("Hog", left / TILE * TILE, BufferUsageFlags::INDEX_BUFFER);
        let hog = GrowableBuffer::new(&sparse, &desc).unwrap();
        sparse.set_defragmentation(knobs(8));
        for _ in 0..4 {
            let wait = waits(sparse.flush(None).unwrap());
            zoo.expect_some(h, &mut Random::new(1), 8, &wait);
        }
        assert!(!sparse.is_defragmenting(), "it rests after it failed");
        assert_eq!(sparse.stats().remapped_tiles, 0);
        drop(hog);
        h.settle();
        zoo.expect_all(h, &[]);
        sparse.set_defragmentation(knobs(8));
        let wait = finish(&sparse);
        assert!(sparse.stats().remapped_tiles > 0);
        zoo.expect_all(h, &wait);
    });
}

#[test]
fn it_stops_when_told_and_moves_nothing_of_fuller_chunks_than_allowed() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let zoo = fragmented(h, &sparse, 10, 3);
        sparse.set_defragmentation(knobs(4));
        flush_times(&sparse, 5);
        sparse.set_defragmentation(None);
        // What is under way is ended.
        flush_times(&sparse, 2);
        assert!(!sparse.is_defragmenting());
        let moved = sparse.stats().remapped_tiles;
        assert_eq!(moved > 0, h.in_place());
        let wait = flush_times(&sparse, 5);
        assert_eq!(sparse.stats().remapped_tiles, moved);
        zoo.expect_all(h, &wait);
        // Every chunk is fuller than nothing.
        sparse.set_defragmentation(Some(Defragmentation { max_fill: 0.0, ..Defragmentation::default() }));
        assert!(!sparse.is_defragmenting());
        sparse.set_defragmentation(Some(Defragmentation { bytes_per_frame: u64::MAX, max_fill: f64::NAN }));
        assert!(!sparse.is_defragmenting());
        sparse.set_defragmentation(Some(Defragmentation { bytes_per_frame: u64::MAX, max_fill: 9.0 }));
        let wait = finish(&sparse);
        zoo.expect_all(h, &wait);
        if h.in_place() {
            assert_eq!(sparse.stats().chunks, fewest(&sparse));
        }
        // A budget of nothing still moves one tile a step.
        sparse.set_defragmentation(Some(Defragmentation { bytes_per_frame: 0, max_fill: 1.0 }));
        assert!(!sparse.is_defragmenting(), "nothing is left to gain");
    });
}
