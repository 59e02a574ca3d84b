//! Dropping at bad moments: with a commit that is not flushed, with work in flight, in any order. The harness
//! looks for leaks and for what validation says about destroyed objects.

use ash::vk::BufferUsageFlags;
use vasa::sparse::{CommitPolicy, Contents, GrowableBuffer, GrowableDesc};
use vasa::vk::{CommandPool, Timeline};
use vasa_tests::growable::{resize, storage, waits};
use vasa_tests::pattern::Pattern;
use vasa_tests::{MIB, TILE, on_device};

#[test]
fn dropping_a_buffer_that_never_committed() {
    on_device(|h| {
        let sparse = h.small_chunks();
        drop(storage(&sparse, "Empty", 8 * MIB));
        assert_eq!(sparse.stats().reserved_bytes, 0);
    });
}

#[test]
fn dropping_a_buffer_with_growth_that_was_not_flushed() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let mut buffer = storage(&sparse, "Grows", 8 * MIB);
        resize(&sparse, &mut buffer, MIB);
        buffer.commit(4 * MIB).unwrap();
        drop(buffer);
        let binds = h.device.submitted(Timeline::Bind);
        sparse.flush(None).unwrap();
        assert_eq!(h.device.submitted(Timeline::Bind), binds, "what is gone is not bound");
    });
}

#[test]
fn dropping_a_buffer_with_a_shrink_that_was_not_flushed() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let mut buffer = storage(&sparse, "Shrinks", 8 * MIB);
        let wait = waits(resize(&sparse, &mut buffer, 5 * MIB));
        h.write(&buffer, Pattern::new(1), (0, 5 * MIB), &wait);
        buffer.commit(MIB).unwrap();
        drop(buffer);
        assert_eq!(
            sparse.stats().cached_chunks,
            0,
            "its chunks are still bound to it, so nobody may get them"
        );
        sparse.flush(None).unwrap();
    });
}

#[test]
fn dropping_a_buffer_while_work_reads_and_writes_it() {
    on_device(|h| {
        let sparse = h.small_chunks();
        for round in 0..5 {
            let mut buffer = storage(&sparse, "InFlight", 32 * MIB);
            let wait = waits(resize(&sparse, &mut buffer, 16 * MIB));
            h.write(&buffer, Pattern::new(round), (0, 16 * MIB), &wait);
            let before = h.device.retiring();
            drop(buffer);
            assert!(h.device.retiring() > before, "dropped is not destroyed at once");
            // Destroys what is done; validation says so if it is more than that.
            h.device.collect().unwrap();
        }
    });
}

#[test]
fn dropping_a_buffer_while_its_growth_is_being_bound() {
    on_device(|h| {
        let sparse = h.small_chunks();
        for _ in 0..5 {
            let mut buffer = storage(&sparse, "Binding", 32 * MIB);
            resize(&sparse, &mut buffer, 16 * MIB);
            resize(&sparse, &mut buffer, TILE);
        }
        h.device.collect().unwrap();
    });
}

#[test]
fn dropping_a_buffer_while_a_recording_that_uses_it_is_open() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let mut buffer = storage(&sparse, "Recorded", 8 * MIB);
        let wait = waits(resize(&sparse, &mut buffer, 2 * MIB));
        let mut pool = CommandPool::new(&h.device, Timeline::Graphics).unwrap();
        let mut encoder = pool.begin("Late").unwrap();
        h.record_fill(&mut encoder, buffer.slot().unwrap(), Pattern::new(1), (0, 2 * MIB / 4));
        drop(buffer);
        h.device.wait_idle().unwrap();
        assert!(h.device.retiring() > 0, "the recording still needs it");
        h.device.submit(Timeline::Graphics, vec![encoder.finish().unwrap()], &wait).unwrap();
    });
}

#[test]
fn dropping_the_memory_before_its_buffers() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let mut buffer = storage(&sparse, "Orphan", 8 * MIB);
        resize(&sparse, &mut buffer, 3 * MIB);
        buffer.commit(5 * MIB).unwrap();
        drop(sparse);
        buffer.commit(MIB).unwrap();
        assert_eq!(buffer.committed(), MIB);
    });
}

#[test]
fn dropping_several_buffers_of_one_flush_in_any_order() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let mut buffers: Vec<GrowableBuffer> =
            (0..4).map(|i| storage(&sparse, &format!("Several{i}"), 8 * MIB)).collect();
        for (i, buffer) in buffers.iter_mut().enumerate() {
            buffer.commit((i as u64 + 1) * MIB).unwrap();
        }
        drop(buffers.remove(2));
        let mut wait = waits(sparse.flush(None).unwrap());
        buffers[0].commit(0).unwrap();
        drop(buffers.remove(1));
        drop(buffers.remove(0));
        wait.extend(waits(sparse.flush(None).unwrap()));
        h.write(&buffers[0], Pattern::new(1), (0, 4 * MIB), &wait);
        h.expect_in_chunks(&buffers[0], Pattern::new(1));
    });
}

#[test]
fn a_thousand_steps_leave_no_more_than_one() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let mut buffer = storage(&sparse, "Thousand", 16 * MIB);
        let mut random = 0x2545_F491_4F6C_DD1D_u64;
        let mut most = 0;
        for step in 0..1000 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            resize(&sparse, &mut buffer, random % (8 * MIB));
            let counts = h.device.object_counts();
            if step % 10 == 9 {
                h.settle();
                most = most.max(h.device.object_counts().live);
            }
            // Eight chunks of the buffer, four ready ones, and those of ten steps that may wait to be freed.
            assert!(counts.chunk_allocations <= 8 + 4 + 80, "{counts:?} at step {step}");
        }
        let sizes = buffer.sizes();
        assert_eq!(sizes.physical, sizes.committed + sizes.slack);
        resize(&sparse, &mut buffer, 0);
        sparse.trim();
        h.settle();
        let counts = h.device.object_counts();
        assert_eq!(counts.chunk_allocations, 0);
        assert!(most <= counts.live + 8 + 4, "{most} objects at most, {} now", counts.live);
    });
}

#[test]
fn a_recording_that_is_overtaken_keeps_what_it_uses() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let mut buffer = storage(&sparse, "Overtaken", 8 * MIB);
        let wait = waits(resize(&sparse, &mut buffer, 2 * MIB));
        let mut pool = vasa::vk::CommandPool::new(&h.device, vasa::vk::Timeline::Graphics).unwrap();
        let mut encoder = pool.begin("Slow").unwrap();
        h.record_fill(&mut encoder, buffer.slot().unwrap(), Pattern::new(5), (0, 1024));
        drop(buffer);
        // Submissions that the open recording knows nothing of.
        for _ in 0..3 {
            let point = h.submit("Fast", &[], |_| {});
            h.device.wait(&[point]).unwrap();
            h.device.collect().unwrap();
        }
        assert!(h.device.retiring() > 0, "destroyed under an open recording");
        assert!(pool.reset().is_err(), "a pool was reset under an open recording");
        let commands = vec![encoder.finish().unwrap()];
        let point = h.device.submit(vasa::vk::Timeline::Graphics, commands, &wait).unwrap();
        h.device.wait(&[point]).unwrap();
        h.device.collect().unwrap();
        assert_eq!(h.device.retiring(), 0);
        pool.reset().unwrap();
    });
}

#[test]
fn a_dropped_buffer_takes_its_queued_commands_along() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let desc = GrowableDesc {
            contents: Contents::Zeroed,
            policy: CommitPolicy::AHEAD,
            ..GrowableDesc::new("Queued", 8 * MIB, BufferUsageFlags::STORAGE_BUFFER)
        };
        let mut buffer = GrowableBuffer::new(&sparse, &desc).unwrap();
        buffer.commit(TILE).unwrap();
        sparse.flush(None).unwrap();
        buffer.commit(2 * TILE).unwrap();
        sparse.flush(None).unwrap();
        sparse.end_frame();
        sparse.wait_for_ahead();
        assert!(!h.in_place() || buffer.committed() > 2 * TILE, "nothing was committed ahead");
        h.device.wait_idle().unwrap();
        // Within what is bound ahead: nothing to bind, but a clear to record; in the fallback a copy as well.
        let commit = buffer.commit(3 * TILE).unwrap();
        assert_eq!(commit.moved, !h.in_place());
        drop(buffer);
        let last = h.device.submitted(Timeline::Graphics);
        assert_eq!(sparse.flush(None).unwrap().wait, None);
        assert_eq!(h.device.submitted(Timeline::Graphics), last, "commands for a buffer that is gone");
    });
}
