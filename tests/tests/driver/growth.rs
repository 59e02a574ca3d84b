//! Growing and shrinking keeps what stays, and nothing that people hold on to changes.

use std::collections::BTreeSet;

use ash::vk::{BufferUsageFlags, Handle};
use vasa::sparse::{GrowableBuffer, GrowableDesc, SparseKnobs, SparseMemory};
use vasa_tests::growable::{resize, storage, waits};
use vasa_tests::pattern::Pattern;
use vasa_tests::{MIB, TILE, on_device};

#[test]
fn growth_keeps_contents_step_by_step() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let mut buffer = storage(&sparse, "Steps", 32 * MIB);
        let pattern = Pattern::new(1);
        let mut had = 0;
        for bytes in [TILE, MIB, MIB + TILE, 3 * MIB, 3 * MIB + 5 * TILE, 10 * MIB] {
            let wait = waits(resize(&sparse, &mut buffer, bytes));
            h.write(&buffer, pattern, (had, bytes), &wait);
            h.expect(&buffer, pattern, (0, bytes), &[]);
            had = bytes;
        }
    });
}

#[test]
fn shrinking_keeps_the_front_and_regrowth_gives_a_usable_tail() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let mut buffer = storage(&sparse, "Wave", 16 * MIB);
        let pattern = Pattern::new(2);
        let mut least = 0;
        for (round, bytes) in [8 * MIB, 2 * MIB + TILE, 7 * MIB, 3 * TILE, 5 * MIB].into_iter().enumerate() {
            let wait = waits(resize(&sparse, &mut buffer, bytes));
            least = if round == 0 { 0 } else { bytes.min(least) };
            // What survived every shrink is checked before anything is written again.
            if least > 0 {
                h.expect(&buffer, pattern, (0, least), &wait);
            }
            h.write(&buffer, pattern, (least, bytes), &wait);
            h.expect(&buffer, pattern, (0, bytes), &[]);
            least = bytes;
        }
    });
}

#[test]
fn contents_survive_full_size_chunks() {
    on_device(|h| {
        let sparse = SparseMemory::new(&h.device, SparseKnobs { check: true, ..Default::default() });
        let mut buffer = storage(&sparse, "Full", 64 * MIB);
        let pattern = Pattern::new(3);
        let wait = waits(resize(&sparse, &mut buffer, 17 * MIB));
        h.write(&buffer, pattern, (0, 17 * MIB), &wait);
        let wait = waits(resize(&sparse, &mut buffer, 40 * MIB));
        h.write(&buffer, pattern, (17 * MIB, 40 * MIB), &wait);
        resize(&sparse, &mut buffer, 33 * MIB);
        h.expect(&buffer, pattern, (0, 33 * MIB), &waits(sparse.flush(None).unwrap()));
        h.expect_in_chunks(&buffer, pattern);
    });
}

#[test]
fn handle_slot_and_capacity_stay_where_buffers_grow_in_place() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let mut buffer = storage(&sparse, "Fixed", 8 * MIB);
        let (handle, slot, capacity) = (buffer.buffer().raw(), buffer.slot(), buffer.capacity());
        for bytes in [MIB, 4 * MIB, 2 * MIB, 0, 8 * MIB] {
            resize(&sparse, &mut buffer, bytes);
            assert_eq!(buffer.capacity(), capacity);
            assert_eq!(buffer.buffer().raw() == handle, buffer.in_place(), "at {bytes} bytes");
            if buffer.in_place() {
                assert_eq!(buffer.slot(), slot);
            }
        }
    });
}

#[test]
fn a_recreated_buffer_takes_no_slot_that_work_in_flight_reads() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let mut buffer = storage(&sparse, "Slots", 16 * MIB);
        let pattern = Pattern::new(4);
        let wait = waits(resize(&sparse, &mut buffer, MIB));
        let first = h.write(&buffer, pattern, (0, MIB), &wait);
        let mut seen = BTreeSet::from([buffer.slot()]);
        let steps = 4;
        for step in 2..2 + steps {
            let wait = waits(resize(&sparse, &mut buffer, step * MIB));
            h.write(&buffer, pattern, ((step - 1) * MIB, step * MIB), &wait);
            seen.insert(buffer.slot());
        }
        let expected = if buffer.in_place() { 1 } else { 1 + steps as usize };
        assert_eq!(seen.len(), expected, "nothing was collected yet, so no slot may come back");
        h.device.wait(&[first]).unwrap();
        h.expect(&buffer, pattern, (0, (1 + steps) * MIB), &[]);
    });
}

#[test]
fn a_slot_written_once_reaches_the_whole_storage_range_as_it_grows() {
    on_device(|h| {
        let limit = h.device.capabilities().limits.max_storage_buffer_range;
        let capacity = limit.min(128 * MIB) / TILE * TILE;
        let sparse = SparseMemory::new(&h.device, SparseKnobs { check: true, ..Default::default() });
        let mut buffer = storage(&sparse, "Range", capacity);
        let pattern = Pattern::new(5);
        let slot = buffer.slot();
        let mut had = 0;
        // No host wait between the steps: each writes through the same slot while the next is bound.
        for step in 1..=4 {
            let bytes = capacity * step / 4 / TILE * TILE;
            let wait = waits(resize(&sparse, &mut buffer, bytes));
            h.write(&buffer, pattern, (had, bytes), &wait);
            had = bytes;
        }
        assert_eq!(buffer.committed(), capacity);
        assert!(!buffer.in_place() || buffer.slot() == slot);
        // The ends of every step and the very last tile: all of it would be 128 MiB of readback.
        for edge in [0, capacity / 4, capacity / 2, capacity * 3 / 4, capacity] {
            let edge = edge / TILE * TILE;
            let range = (edge.saturating_sub(TILE), (edge + TILE).min(capacity));
            h.expect(&buffer, pattern, range, &[]);
        }
    });
}

#[test]
fn u64_max_commits_all_and_zero_gives_everything_back() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let mut buffer = storage(&sparse, "Ends", 5 * MIB + 1);
        let wait = waits(resize(&sparse, &mut buffer, u64::MAX));
        assert_eq!(buffer.committed(), 5 * MIB + TILE, "the capacity is rounded up to whole tiles");
        assert_eq!(buffer.committed(), buffer.capacity());
        let pattern = Pattern::new(6);
        h.write(&buffer, pattern, (0, buffer.capacity()), &wait);
        h.expect_in_chunks(&buffer, pattern);
        resize(&sparse, &mut buffer, 0);
        let sizes = buffer.sizes();
        assert_eq!((sizes.committed, sizes.physical, sizes.chunks, sizes.slack), (0, 0, 0, 0));
        assert_eq!(sizes.uncommitted, buffer.capacity());
        assert!(buffer.locate(0).is_none());
        let wait = waits(resize(&sparse, &mut buffer, 2 * MIB));
        h.write(&buffer, pattern, (0, 2 * MIB), &wait);
        h.expect_in_chunks(&buffer, pattern);
    });
}

#[test]
fn commits_round_up_to_whole_tiles_and_the_same_tiles_move_nothing() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let mut buffer = storage(&sparse, "Tiles", MIB);
        assert!(buffer.commit(1).unwrap().moved);
        assert_eq!(buffer.committed(), TILE);
        let bound = sparse.flush(None).unwrap().wait.unwrap();
        // Until a bind is done, every flush names it again.
        h.device.wait(&[bound]).unwrap();
        assert!(!buffer.commit(TILE).unwrap().moved);
        assert!(!buffer.commit(TILE / 2).unwrap().moved);
        h.settle();
        assert_eq!(sparse.flush(None).unwrap().wait, None, "nothing moved, so there is nothing to wait for");
        assert!(buffer.commit(TILE + 1).unwrap().moved);
        assert_eq!(buffer.committed(), 2 * TILE);
        sparse.flush(None).unwrap();
    });
}

#[test]
fn a_buffer_without_storage_usage_has_no_slot_and_grows_the_same() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let desc = GrowableDesc::new("Indices", 4 * MIB, BufferUsageFlags::INDEX_BUFFER);
        let mut buffer = GrowableBuffer::new(&sparse, &desc).unwrap();
        assert_eq!(buffer.slot(), None);
        let wait = waits(resize(&sparse, &mut buffer, MIB));
        h.submit("Fill", &wait, |encoder| encoder.fill_buffer(buffer.buffer(), 0, MIB, 0xABCD_EF01));
        let wait = waits(resize(&sparse, &mut buffer, 3 * MIB));
        let words = h.read(buffer.buffer(), 0, MIB, &wait);
        assert!(words.iter().all(|word| *word == 0xABCD_EF01));
        assert!(!buffer.buffer().raw().is_null());
    });
}

#[test]
fn two_commits_before_a_flush_leave_the_last_one() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let mut buffer = storage(&sparse, "Twice", 16 * MIB);
        let pattern = Pattern::new(7);
        let wait = waits(resize(&sparse, &mut buffer, 3 * MIB));
        h.write(&buffer, pattern, (0, 3 * MIB), &wait);
        for (first, second) in [(6, 9), (12, 4), (2, 5), (8, 3), (5, 2)] {
            let kept = buffer.committed().min(first * MIB).min(second * MIB);
            buffer.commit(first * MIB).unwrap();
            buffer.commit(second * MIB).unwrap();
            let wait = waits(sparse.flush(None).unwrap());
            assert_eq!(buffer.committed(), second * MIB);
            h.expect(&buffer, pattern, (0, kept), &wait);
            h.write(&buffer, pattern, (kept, second * MIB), &wait);
            h.expect_in_chunks(&buffer, pattern);
        }
    });
}

#[test]
fn follow_grows_at_once_and_shrinks_late() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let policy = vasa::sparse::CommitPolicy {
            step_bytes: MIB,
            headroom_bytes: 0,
            shrink_hysteresis: 5,
            ahead: false,
        };
        let desc = GrowableDesc {
            policy,
            ..GrowableDesc::new("Policy", 16 * MIB, BufferUsageFlags::STORAGE_BUFFER)
        };
        let mut buffer = GrowableBuffer::new(&sparse, &desc).unwrap();
        assert!(buffer.follow(MIB + 1, 0).unwrap().moved);
        assert_eq!(buffer.committed(), 2 * MIB, "in steps");
        sparse.flush(None).unwrap();
        let mut shrunk_at = None;
        for frame in 1..20 {
            if buffer.follow(TILE, frame).unwrap().moved {
                shrunk_at.get_or_insert(frame);
            }
            assert_eq!(buffer.sizes().requested, TILE, "what is requested is shown, not the target");
            sparse.flush(None).unwrap();
        }
        assert!(shrunk_at.is_some_and(|frame| (5..=7).contains(&frame)), "{shrunk_at:?}");
        assert_eq!(buffer.committed(), MIB);
    });
}
