//! Numbers that people look at add up.

use vasa::sparse::{GrowableBuffer, SparseStats};
use vasa_tests::growable::storage;
use vasa_tests::{MIB, TILE, on_device};

fn check(stats: &SparseStats) {
    for resource in &stats.resources {
        let name = &resource.name;
        assert_eq!(resource.reserved_bytes, resource.committed_bytes + resource.uncommitted_bytes, "{name}");
        assert!(resource.requested_bytes <= resource.committed_bytes, "{name}");
        assert!(resource.physical_bytes >= resource.committed_bytes, "{name}");
    }
    let sum = |pick: fn(&vasa::sparse::ResourceStats) -> u64| stats.resources.iter().map(pick).sum::<u64>();
    assert_eq!(stats.reserved_bytes, sum(|r| r.reserved_bytes));
    assert_eq!(stats.requested_bytes, sum(|r| r.requested_bytes));
    assert_eq!(stats.committed_bytes, sum(|r| r.committed_bytes));
    assert_eq!(stats.physical_bytes, sum(|r| r.physical_bytes));
    assert_eq!(stats.chunks, sum(|r| r.chunks));
    assert_eq!(stats.physical_bytes, stats.committed_bytes + stats.slack_bytes);
    assert_eq!(stats.committed_bytes, stats.committed_buffer_bytes + stats.committed_image_bytes);
    assert!(stats.committed_bytes_max >= stats.committed_bytes);
}

#[test]
fn totals_are_sums_of_the_resources_after_every_step() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let mut buffers: Vec<GrowableBuffer> =
            (0..3).map(|i| storage(&sparse, &format!("Stat{i}"), (4 + i) * MIB)).collect();
        check(&sparse.stats());
        for tiles in [[1, 20, 64], [30, 0, 17], [64, 64, 64], [0, 0, 0]] {
            for (buffer, tiles) in buffers.iter_mut().zip(tiles) {
                buffer.commit(tiles * TILE).unwrap();
                check(&sparse.stats());
            }
            sparse.flush(None).unwrap();
            check(&sparse.stats());
            let committed = tiles.iter().sum::<u64>() * TILE;
            assert_eq!(sparse.stats().committed_bytes, committed);
        }
        assert_eq!(sparse.stats().committed_bytes_max, 192 * TILE);
        buffers.remove(1);
        let stats = sparse.stats();
        check(&stats);
        assert_eq!(stats.resources.len(), 2, "a dropped buffer is no resource");
        assert_eq!(stats.reserved_bytes, (4 + 6) * MIB);
    });
}

#[test]
fn chunks_and_slack_are_those_of_the_worked_example() {
    on_device(|h| {
        let before = h.device.object_counts().memory_bytes;
        let sparse = vasa::sparse::SparseMemory::new(
            &h.device,
            vasa::sparse::SparseKnobs { check: true, ..Default::default() },
        );
        let mut buffer = storage(&sparse, "Example", 64 * MIB);
        buffer.commit(40 * MIB).unwrap();
        let sizes = buffer.sizes();
        assert_eq!(sizes.committed, 40 * MIB);
        let expected = if buffer.in_place() { (3, 8 * MIB, 48 * MIB) } else { (1, 0, 40 * MIB) };
        assert_eq!((sizes.chunks, sizes.slack, sizes.physical), expected);
        if buffer.in_place() {
            let (chunk, offset) = buffer.locate(17 * MIB).unwrap();
            assert_eq!(
                (chunk.bytes(), offset),
                (16 * MIB, MIB),
                "byte 17 MiB lies in the second chunk at 1 MiB"
            );
            assert_eq!(h.device.object_counts().memory_bytes - before, 48 * MIB);
        }
        sparse.flush(None).unwrap();
    });
}

#[test]
fn which_path_runs_is_shown() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let buffer = storage(&sparse, "Kind", MIB);
        let stats = sparse.stats();
        assert_eq!((stats.supported, stats.fallback), (h.in_place(), !h.in_place()));
        let kind = if h.in_place() { "growable buffer" } else { "growable buffer (fallback)" };
        assert_eq!((stats.resources[0].kind, stats.resources[0].name.as_str()), (kind, "Kind"));
        assert_eq!(buffer.in_place(), h.in_place());
    });
}

#[test]
fn commits_are_counted_by_direction_and_binds_by_range() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let mut buffer = storage(&sparse, "Counts", 8 * MIB);
        for mib in [3, 1, 1, 5, 0] {
            buffer.commit(mib * MIB).unwrap();
            sparse.flush(None).unwrap();
        }
        let stats = sparse.stats();
        assert_eq!((stats.grows, stats.shrinks), (2, 2));
        assert_eq!((buffer.stats().grows, buffer.stats().shrinks), (2, 2));
        // 3 chunks, then 4 more; each shrink is one range of no memory.
        let expected = if h.in_place() { (4, 7, 2) } else { (0, 0, 0) };
        assert_eq!((stats.bind_calls, stats.binds, stats.unbinds), expected);
        assert!(buffer.stats().last_commit_ns > 0);
    });
}

#[test]
fn calls_are_counted_by_frame() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let mut buffer = storage(&sparse, "Frames", 8 * MIB);
        for mib in 1..4 {
            buffer.commit(mib * MIB).unwrap();
            sparse.flush(None).unwrap();
            sparse.end_frame();
        }
        assert_eq!(sparse.stats().max_bind_calls_per_frame, u64::from(h.in_place()));
        for mib in 4..6 {
            buffer.commit(mib * MIB).unwrap();
            sparse.flush(None).unwrap();
        }
        sparse.end_frame();
        let twice = if h.in_place() { 2 } else { 0 };
        assert_eq!(sparse.stats().max_bind_calls_per_frame, twice, "two flushes in one frame are seen");
    });
}
