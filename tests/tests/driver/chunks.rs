//! Binds, proven: what is written through the buffer is found in its chunks, read through a second buffer.

use vasa::sparse::{ChunkPolicy, SparseKnobs, SparseMemory};
use vasa_tests::growable::{resize, storage, waits};
use vasa_tests::pattern::Pattern;
use vasa_tests::{Harness, MIB, TILE, on_device};

fn memory(h: &Harness, chunk_policy: ChunkPolicy) -> SparseMemory {
    SparseMemory::new(
        &h.device,
        SparseKnobs { check: true, chunk_bytes: MIB, chunk_policy, ..Default::default() },
    )
}

/// Walks a buffer through sizes; after each, everything is written anew and must lie in the chunks.
fn walk(chunk_policy: ChunkPolicy, seed: u32, sizes: &[u64]) {
    on_device(|h| {
        let sparse = memory(h, chunk_policy);
        let mut buffer = storage(&sparse, "Walk", 16 * MIB);
        for (round, tiles) in sizes.iter().enumerate() {
            let wait = waits(resize(&sparse, &mut buffer, tiles * TILE));
            let pattern = Pattern::new(seed + round as u32);
            h.write(&buffer, pattern, (0, tiles * TILE), &wait);
            h.expect_in_chunks(&buffer, pattern);
        }
    });
}

#[test]
fn every_tile_of_several_whole_chunks_lies_in_its_chunk() {
    walk(ChunkPolicy::Whole, 10, &[40]);
}

#[test]
fn every_tile_of_several_exact_chunks_lies_in_its_chunk() {
    walk(ChunkPolicy::Exact, 20, &[5, 21, 40]);
}

#[test]
fn every_tile_lies_in_its_chunk_after_shrinking_and_growing_again() {
    for policy in [ChunkPolicy::Whole, ChunkPolicy::Exact] {
        walk(policy, 30, &[40, 19, 33, 3, 64, 63, 64, 1, 16, 17]);
    }
}

#[test]
fn growth_into_the_slack_of_the_last_chunk_binds_the_right_part_of_it() {
    // 19 tiles leave 13 of the second chunk unmapped; 20 to 32 must come from there.
    walk(ChunkPolicy::Whole, 50, &[32, 19, 20, 31, 32]);
    walk(ChunkPolicy::Exact, 60, &[32, 19, 20, 31, 32]);
}

#[test]
fn the_front_stays_in_its_chunks_while_the_tail_moves() {
    on_device(|h| {
        let sparse = memory(h, ChunkPolicy::Whole);
        let mut buffer = storage(&sparse, "Front", 16 * MIB);
        let pattern = Pattern::new(70);
        let wait = waits(resize(&sparse, &mut buffer, 20 * TILE));
        h.write(&buffer, pattern, (0, 20 * TILE), &wait);
        let places = |buffer: &vasa::sparse::GrowableBuffer| -> Vec<_> {
            (0..10).map(|t| buffer.locate(t * TILE).map(|(m, offset)| (m.raw(), offset))).collect()
        };
        let before = places(&buffer);
        for tiles in [100, 10, 50] {
            let wait = waits(resize(&sparse, &mut buffer, tiles * TILE));
            assert_eq!(places(&buffer), before, "the front moved at {tiles} tiles");
            h.expect(&buffer, pattern, (0, 10 * TILE), &wait);
        }
        // Nothing below 10 tiles was written again since the start, and it is still found in its chunks.
        let wait = waits(resize(&sparse, &mut buffer, 10 * TILE));
        h.device.wait(&wait).unwrap();
        h.expect_in_chunks(&buffer, pattern);
    });
}

#[test]
fn two_buffers_never_share_a_chunk() {
    on_device(|h| {
        let sparse = memory(h, ChunkPolicy::Whole);
        let mut first = storage(&sparse, "First", 8 * MIB);
        let mut second = storage(&sparse, "Second", 8 * MIB);
        for (a, b) in [(40, 3), (3, 40), (17, 17), (0, 64), (64, 0), (20, 20)] {
            first.commit(a * TILE).unwrap();
            second.commit(b * TILE).unwrap();
            let wait = waits(sparse.flush(None).unwrap());
            let (one, two) = (Pattern::new(80), Pattern::new(81));
            h.write(&first, one, (0, a * TILE), &wait);
            h.write(&second, two, (0, b * TILE), &wait);
            for (buffer, pattern) in [(&first, one), (&second, two)] {
                if buffer.committed() > 0 {
                    h.expect_in_chunks(buffer, pattern);
                }
            }
        }
    });
}

#[test]
fn the_proof_itself_sees_a_tile_in_the_wrong_place() {
    on_device(|h| {
        let sparse = memory(h, ChunkPolicy::Whole);
        let mut buffer = storage(&sparse, "Proof", 4 * MIB);
        let wait = waits(resize(&sparse, &mut buffer, 20 * TILE));
        let pattern = Pattern::new(90);
        h.write(&buffer, pattern, (0, 20 * TILE), &wait);
        if !buffer.in_place() {
            let words = h.read(buffer.buffer(), 0, 2 * TILE, &[]);
            assert!(pattern.check(TILE / 4, &words).is_err());
            return;
        }
        let words = h.read_chunks(&buffer);
        let last = &words[..(TILE / 4) as usize];
        assert_eq!(pattern.check(19 * TILE / 4, last), Ok(()), "tiles come back in reverse");
        assert!(pattern.check(18 * TILE / 4, last).is_err());
    });
}
