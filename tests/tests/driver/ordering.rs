//! Nothing but semaphores orders binds and work, so each edge is looked at: what a batch waits for, what users
//! are told to wait for, and what comes out when nobody waits on the host.

use ash::vk::{BufferUsageFlags, Handle, Semaphore};
use vasa::vk::{Buffer, BufferCopy, Location, Timeline};
use vasa_tests::growable::{resize, storage, waits};
use vasa_tests::harness::ANY;
use vasa_tests::hooks::{self, Batch};
use vasa_tests::pattern::Pattern;
use vasa_tests::{Harness, MIB, TILE, on_device};

impl Edges {
    fn of(h: &Harness) -> Self {
        let of = |timeline| h.device.timeline_semaphore(timeline);
        Self { graphics: of(Timeline::Graphics), transfer: of(Timeline::Transfer), bind: of(Timeline::Bind) }
    }
}

struct Edges {
    graphics: Semaphore,
    transfer: Semaphore,
    bind: Semaphore,
}

fn value(batch: &Batch, semaphore: Semaphore) -> Option<u64> {
    batch.waits.iter().find(|(s, _)| *s == semaphore).map(|(_, value)| *value)
}

#[test]
fn growth_waits_for_no_rendering() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let mut buffer = storage(&sparse, "Free", 8 * MIB);
        let edges = Edges::of(h);
        let wait = waits(resize(&sparse, &mut buffer, MIB));
        h.write(&buffer, Pattern::new(1), (0, MIB), &wait);
        hooks::take_bind_calls();
        resize(&sparse, &mut buffer, 2 * MIB);
        if !buffer.in_place() {
            return h.expect(&buffer, Pattern::new(1), (0, MIB), &[]);
        }
        let calls = hooks::take_bind_calls();
        let batch = &calls[0][0];
        assert_eq!((value(batch, edges.graphics), value(batch, edges.transfer)), (None, None));
    });
}

#[test]
fn shrinking_waits_for_everything_submitted_before_it() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let mut buffer = storage(&sparse, "Readers", 8 * MIB);
        let pattern = Pattern::new(2);
        let edges = Edges::of(h);
        let wait = waits(resize(&sparse, &mut buffer, 6 * MIB));
        h.write(&buffer, pattern, (0, 6 * MIB), &wait);
        let usage = BufferUsageFlags::TRANSFER_DST;
        let back = Buffer::committed(&h.device, "Back", 6 * MIB, usage, Location::Readback).unwrap();
        let last = h.submit("Reader", &[], |encoder| {
            let copy = BufferCopy { source: 0, destination: 0, bytes: 6 * MIB };
            encoder.memory_barrier(ANY, ANY);
            encoder.copy_buffer(buffer.buffer(), &back, &[copy]);
            encoder.memory_barrier(ANY, ANY);
        });
        hooks::take_bind_calls();
        // The reader has not been waited for; the tail goes away under it.
        let flushed = resize(&sparse, &mut buffer, TILE);
        let calls = hooks::take_bind_calls();
        if buffer.in_place() {
            assert_eq!(value(&calls[0][0], edges.graphics), Some(last.value));
        }
        h.device.wait(&[last]).unwrap();
        let bytes = &back.mapped().unwrap()[..(6 * MIB) as usize];
        let words: Vec<u32> =
            bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
        assert_eq!(pattern.check(0, &words), Ok(()));
        h.expect(&buffer, pattern, (0, TILE), &waits(flushed));
    });
}

#[test]
fn shrinking_waits_for_copies_of_the_transfer_queue_too() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let mut buffer = storage(&sparse, "Copies", 8 * MIB);
        let edges = Edges::of(h);
        let wait = waits(resize(&sparse, &mut buffer, 2 * MIB));
        h.device.wait(&wait).unwrap();
        let copied = h.device.submit(Timeline::Transfer, Vec::new(), &[]).unwrap();
        hooks::take_bind_calls();
        let flushed = resize(&sparse, &mut buffer, MIB);
        let calls = hooks::take_bind_calls();
        if buffer.in_place() {
            assert_eq!(value(&calls[0][0], edges.transfer), Some(copied.value));
        } else {
            // The copy out of the old buffer runs on the graphics queue, after those copies.
            assert!(flushed.wait.is_some());
        }
    });
}

#[test]
fn every_bind_waits_for_the_bind_before_it() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let mut buffer = storage(&sparse, "Chain", 8 * MIB);
        let mut other = storage(&sparse, "Other", 8 * MIB);
        let edges = Edges::of(h);
        hooks::take_bind_calls();
        // Growth over a range whose unbind is under way, and chunks that move from one buffer to the other.
        for (a, b) in [(4, 0), (1, 3), (6, 1), (0, 5), (7, 7)] {
            buffer.commit(a * MIB).unwrap();
            other.commit(b * MIB).unwrap();
            sparse.flush(None).unwrap();
        }
        let batches: Vec<Batch> = hooks::take_bind_calls().into_iter().flatten().collect();
        assert_eq!(batches.is_empty(), !h.in_place());
        let mut before = None;
        for batch in &batches {
            assert_eq!(value(batch, edges.bind), before, "a batch must wait for its predecessor");
            assert_eq!(batch.signals.len(), 1);
            assert_eq!(batch.signals[0].0, edges.bind);
            assert!(batch.signals[0].1 > before.unwrap_or(0), "timelines only rise");
            assert!(batch.waits.iter().all(|(semaphore, value)| !semaphore.is_null() && *value > 0));
            before = Some(batch.signals[0].1);
        }
        h.device.wait_idle().unwrap();
    });
}

#[test]
fn the_first_user_waits_for_the_moment_the_flush_returned() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let mut buffer = storage(&sparse, "User", 8 * MIB);
        let flushed = resize(&sparse, &mut buffer, MIB);
        let wait = flushed.wait.expect("growth gives a moment to wait for");
        let timeline = if buffer.in_place() { Timeline::Bind } else { Timeline::Graphics };
        assert_eq!(wait, h.device.submitted(timeline));
        h.device.wait(&[wait]).unwrap();
        assert!(h.device.reached(wait).unwrap());
        // A shrink and a growth at once: the moment covers both.
        let mut other = storage(&sparse, "Second", 8 * MIB);
        other.commit(2 * MIB).unwrap();
        buffer.commit(0).unwrap();
        let wait = sparse.flush(None).unwrap().wait.unwrap();
        assert_eq!(wait, h.device.submitted(timeline));
    });
}

#[test]
fn work_before_growth_and_work_after_it_need_no_host_wait_between() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let mut buffer = storage(&sparse, "Stream", 32 * MIB);
        let pattern = Pattern::new(3);
        let mut had = 0;
        for step in 1..=12 {
            let bytes = step * 2 * MIB;
            let wait = waits(resize(&sparse, &mut buffer, bytes));
            h.write(&buffer, pattern, (had, bytes), &wait);
            had = bytes;
        }
        h.expect_in_chunks(&buffer, pattern);
    });
}

#[test]
fn shrinking_and_growing_again_need_no_host_wait_between() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let mut buffer = storage(&sparse, "Breathing", 16 * MIB);
        let pattern = Pattern::new(4);
        let mut kept = 0;
        for mib in [8, 1, 8, 2, 8, 3, 8, 4, 8] {
            let wait = waits(resize(&sparse, &mut buffer, mib * MIB));
            kept = kept.min(mib * MIB);
            h.write(&buffer, pattern, (kept, mib * MIB), &wait);
            kept = mib * MIB;
        }
        h.expect_in_chunks(&buffer, pattern);
    });
}

#[test]
fn copies_of_the_fallback_can_be_part_of_the_callers_own_recording() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let mut buffer = storage(&sparse, "Recorded", 8 * MIB);
        let pattern = Pattern::new(5);
        let wait = waits(resize(&sparse, &mut buffer, MIB));
        h.write(&buffer, pattern, (0, MIB), &wait);
        let mut pool = vasa::vk::CommandPool::new(&h.device, Timeline::Graphics).unwrap();
        let mut encoder = pool.begin("Frame").unwrap();
        buffer.commit(3 * MIB).unwrap();
        let before = h.device.submitted(Timeline::Graphics);
        let flushed = sparse.flush(Some(&mut encoder)).unwrap();
        assert_eq!(h.device.submitted(Timeline::Graphics), before, "the flush submits nothing of its own");
        let slot = buffer.slot().unwrap();
        h.record_fill(&mut encoder, slot, pattern, (MIB / 4, 2 * MIB / 4));
        let commands = vec![encoder.finish().unwrap()];
        h.device.submit(Timeline::Graphics, commands, &waits(flushed)).unwrap();
        h.expect(&buffer, pattern, (0, 3 * MIB), &[]);
    });
}

#[test]
fn the_fallbacks_copy_comes_after_the_transfer_queue() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let mut buffer = storage(&sparse, "Uploads", 8 * MIB);
        let wait = waits(resize(&sparse, &mut buffer, MIB));
        h.device.wait(&wait).unwrap();
        let uploaded = h.device.submit(Timeline::Transfer, Vec::new(), &[]).unwrap();
        let mut pool = vasa::vk::CommandPool::new(&h.device, Timeline::Graphics).unwrap();
        let mut encoder = pool.begin("Frame").unwrap();
        buffer.commit(2 * MIB).unwrap();
        let flushed = sparse.flush(Some(&mut encoder)).unwrap();
        let expected = if buffer.in_place() { h.device.submitted(Timeline::Bind) } else { uploaded };
        assert_eq!(
            flushed.wait,
            Some(expected),
            "uploads into the old buffer must be done before it is copied"
        );
        h.device.submit(Timeline::Graphics, vec![encoder.finish().unwrap()], &waits(flushed)).unwrap();
    });
}

#[test]
fn the_fallbacks_copy_comes_after_earlier_commands_of_the_same_recording() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let mut buffer = storage(&sparse, "Same", 8 * MIB);
        let mut wait = waits(resize(&sparse, &mut buffer, MIB));
        let mut pool = vasa::vk::CommandPool::new(&h.device, Timeline::Graphics).unwrap();
        let mut encoder = pool.begin("Frame").unwrap();
        // No barrier of the caller's own: the flush promises to order itself after everything before it.
        encoder.fill_buffer(buffer.buffer(), 0, MIB, 0x1234_5678);
        buffer.commit(2 * MIB).unwrap();
        wait.extend(waits(sparse.flush(Some(&mut encoder)).unwrap()));
        h.device.submit(Timeline::Graphics, vec![encoder.finish().unwrap()], &wait).unwrap();
        let words = h.read(buffer.buffer(), 0, MIB, &[]);
        assert!(words.iter().all(|word| *word == 0x1234_5678));
    });
}
