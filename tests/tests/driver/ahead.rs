//! Growth committed ahead of need by a worker: frames that grow normally bind nothing and wait for nothing, and what
//! they grow into is really there.

use ash::vk::BufferUsageFlags;
use vasa::sparse::{CommitPolicy, Contents, GrowableBuffer, GrowableDesc, SparseKnobs, SparseMemory};
use vasa::vk::Site;
use vasa_tests::growable::waits;
use vasa_tests::hooks;
use vasa_tests::pattern::Pattern;
use vasa_tests::random::Random;
use vasa_tests::{Harness, MIB, TILE, on_device};

fn desc(name: &str, contents: Contents) -> GrowableDesc<'_> {
    GrowableDesc {
        policy: CommitPolicy::AHEAD,
        aliased: true,
        contents,
        ..GrowableDesc::new(name, 64 * MIB, BufferUsageFlags::STORAGE_BUFFER)
    }
}

fn ahead(sparse: &SparseMemory, name: &str) -> GrowableBuffer {
    GrowableBuffer::new(sparse, &desc(name, Contents::Undefined)).unwrap()
}

/// Everything committed now lies where the buffer says, given the pattern up to `written`. The rest is written here, and
/// waits for whoever bound it; the worker may go on meanwhile.
fn expect_all_in_chunks(
    h: &Harness,
    sparse: &SparseMemory,
    buffer: &mut GrowableBuffer,
    pattern: Pattern,
    written: u64,
) {
    let line = buffer.committed();
    buffer.commit(line).unwrap();
    let wait = waits(sparse.flush(None).unwrap());
    if line > written {
        h.write(buffer, pattern, (written, line), &wait);
    }
    h.expect_front_in_chunks(buffer, pattern, line);
}

#[test]
fn growth_within_what_is_ahead_binds_nothing_on_the_frame_thread() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let mut buffer = ahead(&sparse, "Ahead");
        assert_eq!(buffer.commits_ahead(), h.in_place());
        let pattern = Pattern::new(1);
        let first = buffer.commit(TILE).unwrap();
        assert_eq!((first.moved, first.waits), (true, h.in_place()), "nothing is ahead of the first");
        let wait = waits(sparse.flush(None).unwrap());
        h.write(&buffer, pattern, (0, TILE), &wait);
        sparse.end_frame();
        let mut requested = TILE;
        for step in 1..40 {
            // A chunk is ahead of the last frame, and this one grows by a quarter of it. The worker is waited for: one that
            // falls behind makes up for it with fewer, larger calls.
            sparse.wait_for_ahead();
            assert!(!h.in_place() || buffer.committed() >= requested + MIB, "step {step}: nothing is ahead");
            hooks::take_bind_calls();
            requested += MIB / 4;
            let commit = buffer.commit(requested).unwrap();
            let flushed = sparse.flush(None).unwrap();
            sparse.end_frame();
            let calls = hooks::take_bind_calls();
            assert_eq!(calls.len(), 0, "step {step}: the frame thread bound");
            assert_eq!(commit.moved, !h.in_place(), "step {step}");
            assert!(buffer.requested() == requested && buffer.committed() >= requested);
            h.write(&buffer, pattern, (requested - MIB / 4, requested), &waits(flushed));
        }
        h.expect(&buffer, pattern, (0, requested), &[]);
        sparse.wait_for_ahead();
        let stats = sparse.stats();
        if h.in_place() {
            assert_eq!(stats.bind_calls - stats.bind_calls_ahead, 1, "the frame thread's only call");
            // One call a frame, with a range at least.
            assert_eq!(stats.bind_calls_ahead, 40);
            assert!(buffer.stats().binds_ahead >= 40, "{} ranges", buffer.stats().binds_ahead);
            assert_eq!(stats.max_bind_calls_per_frame, 1);
            expect_all_in_chunks(h, &sparse, &mut buffer, pattern, requested);
        }
    });
}

#[test]
fn a_frame_that_outgrows_what_is_ahead_binds_the_rest_itself() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let mut buffer = ahead(&sparse, "Outgrown");
        let pattern = Pattern::new(2);
        let mut written = 0;
        for requested in [TILE, 20 * MIB, 20 * MIB + TILE, 50 * MIB, 64 * MIB] {
            let commit = buffer.commit(requested).unwrap();
            let wait = waits(sparse.flush(None).unwrap());
            // What it bound itself is waited for; what was ahead may be there by now.
            assert!(!commit.moved || !commit.waits || !wait.is_empty());
            sparse.end_frame();
            h.write(&buffer, pattern, (written, requested), &wait);
            written = requested;
            h.expect(&buffer, pattern, (0, written), &[]);
        }
        assert!(buffer.commit(64 * MIB + 1).is_err(), "past the capacity is past the capacity");
        h.expect_in_chunks(&buffer, pattern);
        assert!(buffer.commit(u64::MAX).is_ok() && buffer.committed() == 64 * MIB);
    });
}

#[test]
fn a_worker_without_memory_is_no_error_of_the_frame() {
    on_device(|h| {
        for site in [Site::Allocate, Site::Bind] {
            let sparse = h.small_chunks();
            let mut buffer = ahead(&sparse, "Refused");
            let pattern = Pattern::new(3);
            buffer.commit(TILE).unwrap();
            let wait = waits(sparse.flush(None).unwrap());
            h.write(&buffer, pattern, (0, TILE), &wait);
            sparse.end_frame();
            if h.in_place() {
                // What the first commit asked for is done; the request after it fails.
                sparse.wait_for_ahead();
                assert_eq!(buffer.committed(), TILE + MIB);
                let before = h.device.faults().calls(site);
                h.device.faults().refuse(site, 0);
                // A step of 1 MiB more reaches past the chunks that there are.
                buffer.commit(MIB + TILE).unwrap();
                sparse.flush(None).unwrap();
                sparse.end_frame();
                sparse.wait_for_ahead();
                let after = h.device.faults().calls(site);
                assert_eq!(after, before + 1, "the worker asked for nothing at {site:?}");
                assert!(!h.device.faults().clear(), "it was the worker's call");
                assert_eq!(buffer.committed(), TILE + MIB, "and it was refused");
            }
            // The frame goes on, with binds of its own.
            let mut written = TILE;
            for mib in 1..20 {
                buffer.commit(mib * MIB).unwrap();
                let wait = waits(sparse.flush(None).unwrap());
                sparse.end_frame();
                h.write(&buffer, pattern, (written, mib * MIB), &wait);
                written = mib * MIB;
            }
            h.expect(&buffer, pattern, (0, written), &[]);
            expect_all_in_chunks(h, &sparse, &mut buffer, pattern, written);
        }
    });
}

#[test]
fn dropping_a_buffer_while_the_worker_is_at_it() {
    on_device(|h| {
        let sparse = h.small_chunks();
        for round in 0..30 {
            let mut buffer = ahead(&sparse, "Dropped");
            buffer.commit(TILE).unwrap();
            let wait = waits(sparse.flush(None).unwrap());
            h.write(&buffer, Pattern::new(round), (0, TILE), &wait);
            for step in 0..round % 4 {
                buffer.commit(u64::from(step + 1) * MIB).unwrap();
                sparse.flush(None).unwrap();
            }
            drop(buffer);
            sparse.end_frame();
        }
        // And the memory with a request under way.
        let mut last = ahead(&sparse, "Last");
        last.commit(TILE).unwrap();
        sparse.flush(None).unwrap();
        last.commit(MIB).unwrap();
        drop((last, sparse));
    });
}

#[test]
fn what_is_ahead_is_given_back_when_growth_has_stopped_for_long() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let mut buffer = ahead(&sparse, "Shrinks");
        let pattern = Pattern::new(4);
        let mut frame = 0;
        for mib in 1..=8 {
            frame += 1;
            buffer.follow(mib * MIB, frame).unwrap();
            let wait = waits(sparse.flush(None).unwrap());
            sparse.end_frame();
            h.write(&buffer, pattern, ((mib - 1) * MIB, mib * MIB), &wait);
        }
        // Nothing falls at once.
        buffer.follow(2 * MIB, frame + 1).unwrap();
        sparse.flush(None).unwrap();
        assert!(buffer.committed() >= 8 * MIB);
        for later in frame + 2..frame + 800 {
            buffer.follow(2 * MIB, later).unwrap();
            let wait = waits(sparse.flush(None).unwrap());
            sparse.end_frame();
            if later % 100 == 0 {
                h.expect(&buffer, pattern, (0, 2 * MIB), &wait);
            }
        }
        assert_eq!(buffer.committed(), 2 * MIB, "long after the last growth nothing is kept ahead");
        h.expect_in_chunks(&buffer, pattern);
        // Growth after that finds the same addresses again.
        buffer.follow(5 * MIB, frame + 801).unwrap();
        let wait = waits(sparse.flush(None).unwrap());
        h.write(&buffer, pattern, (2 * MIB, 5 * MIB), &wait);
        h.expect(&buffer, pattern, (0, 5 * MIB), &[]);
    });
}

#[test]
fn after_giving_everything_back_nothing_comes_back_by_itself() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let mut buffer = ahead(&sparse, "Back");
        for bytes in [40 * MIB, 0, TILE, TILE] {
            buffer.commit(bytes).unwrap();
            sparse.flush(None).unwrap();
            sparse.end_frame();
        }
        sparse.wait_for_ahead();
        assert!(!h.in_place() || buffer.committed() >= TILE + MIB);
        // A chunk ahead of a tile, and not what was needed before.
        assert!(buffer.committed() <= 3 * MIB, "{} bytes", buffer.committed());
        let before = buffer.committed();
        buffer.commit(0).unwrap();
        sparse.flush(None).unwrap();
        assert_eq!(buffer.committed(), 0, "{before} bytes before");
    });
}

#[test]
fn promised_zeros_are_there_whoever_bound_them() {
    on_device(|h| {
        let sparse = h.small_chunks();
        // Chunks with rubbish in them come first.
        let mut dirty = vasa_tests::growable::storage(&sparse, "Dirty", 16 * MIB);
        let wait = waits(vasa_tests::growable::resize(&sparse, &mut dirty, 4 * MIB));
        h.write(&dirty, Pattern::new(5), (0, 4 * MIB), &wait);
        vasa_tests::growable::resize(&sparse, &mut dirty, 0);
        let mut buffer = GrowableBuffer::new(&sparse, &desc("Zeroed", Contents::Zeroed)).unwrap();
        let (mut random, pattern) = (Random::new(6), Pattern::new(7));
        // Bytes that hold the pattern: written, and under the committed line ever since.
        let (mut kept, mut requested) = (0, TILE);
        let (mut frame, mut cleared) = (0, 0);
        for step in 0..80 {
            // Down for longer than the policy's patience, or up.
            let frames = if random.once_in(5) { 70 } else { 1 };
            requested = match frames {
                1 => (requested + (1 + random.below(20)) * TILE).min(60 * MIB),
                _ => (requested / 4 / TILE * TILE).max(TILE),
            };
            let mut wait = Vec::new();
            for _ in 0..frames {
                frame += 1;
                buffer.follow(requested, frame).unwrap();
                wait = waits(sparse.flush(None).unwrap());
                sparse.end_frame();
                kept = kept.min(buffer.committed());
            }
            if requested > kept {
                let words = h.read(buffer.buffer(), kept, requested - kept, &wait);
                let wrong = words.iter().filter(|word| **word != 0).count();
                assert_eq!(wrong, 0, "step {step}: {wrong} new words are not zero");
                h.write(&buffer, pattern, (kept, requested), &[]);
                cleared += requested - kept;
                kept = requested;
            }
            h.expect(&buffer, pattern, (0, kept), &[]);
        }
        assert!(cleared > 4 * MIB, "only {cleared} bytes were new");
    });
}

#[test]
fn two_hundred_frames_of_several_buffers_keep_their_bytes() {
    on_device(|h| {
        let knobs = SparseKnobs { check: true, chunk_bytes: MIB, ..Default::default() };
        let sparse = SparseMemory::new(&h.device, knobs);
        let names = ["A", "B", "C"];
        let mut buffers: Vec<(GrowableBuffer, u64)> =
            names.iter().map(|name| (ahead(&sparse, name), 0)).collect();
        let mut random = Random::new(8);
        let mut refused = 0;
        for frame in 1..=200u64 {
            for (buffer, written) in &mut buffers {
                let requested = match random.below(12) {
                    0 => *written / 2 / TILE * TILE,
                    1..5 => *written,
                    _ => (*written + random.below(24) * TILE).min(48 * MIB),
                };
                buffer.follow(requested.max(TILE), frame).unwrap();
                *written = (*written).min(requested);
            }
            // Now and then the frame's own binds are refused: it goes back to what is bound.
            let refuses = frame % 20 == 0;
            if refuses {
                hooks::fail_binds(Some(ash::vk::Result::ERROR_OUT_OF_DEVICE_MEMORY));
            }
            let flushed = sparse.flush(None);
            hooks::fail_binds(None);
            assert!(refuses || flushed.is_ok(), "{flushed:?}");
            refused += u32::from(flushed.is_err());
            let flushed = flushed.or_else(|_| sparse.flush(None)).unwrap();
            sparse.end_frame();
            if frame == 1 {
                // At least once it is in time.
                sparse.wait_for_ahead();
            }
            let wait = waits(flushed);
            for (index, (buffer, written)) in (0u32..).zip(&mut buffers) {
                let end = buffer.requested().min(buffer.committed());
                if end > *written {
                    h.write(buffer, Pattern::new(20 + index), (*written, end), &wait);
                    *written = end;
                }
                if frame % 10 == u64::from(index) {
                    h.expect(buffer, Pattern::new(20 + index), (0, *written), &wait);
                }
            }
        }
        let stats = sparse.stats();
        println!(
            "{} calls, {} of them ahead, {refused} refused, {} frames waited",
            stats.bind_calls, stats.bind_calls_ahead, stats.frames_waited
        );
        assert!(stats.max_bind_calls_per_frame <= 1);
        assert_eq!(stats.bind_calls_ahead > 0, h.in_place());
        for (index, (buffer, written)) in (0u32..).zip(&mut buffers) {
            let pattern = Pattern::new(20 + index);
            h.expect(buffer, pattern, (0, *written), &[]);
            expect_all_in_chunks(h, &sparse, buffer, pattern, *written);
        }
    });
}
