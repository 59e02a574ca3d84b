//! Worked examples, and random batches executed on a page table of single bytes and tiles.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

const TILE: u64 = 64 << 10;
const GIB: u64 = 1 << 30;

fn at(chunk: u64, offset: u64) -> Option<Memory> {
    Some(Memory { chunk, offset })
}

fn bytes(resource: u64, offset: u64, bytes: u64, memory: Option<Memory>, phase: Phase) -> Request {
    Request { resource, place: Place::Bytes { offset, bytes, metadata: false }, memory, phase }
}

/// A tile of 128 x 128 texels in a mip of 320 x 320: the third of each row is cut.
fn tile(resource: u64, x: u32, y: u32, memory: Option<Memory>, phase: Phase) -> Request {
    let (offset, extent) = ([x * 128, y * 128, 0], [128.min(320 - x * 128), 128.min(320 - y * 128), 1]);
    let place = Place::Tile { aspect: 1, layer: 0, mip: 0, tile: [x, y, 0], offset, extent, bytes: TILE };
    Request { resource, place, memory, phase }
}

fn finish(requests: &[Request], merge: bool) -> BindPlan {
    let mut batcher = Batcher::new();
    for request in requests {
        batcher.push(*request).unwrap();
    }
    let plan = batcher.finish(BatchOptions { merge });
    assert!(batcher.is_empty());
    assert_eq!(batcher.finish(BatchOptions { merge }), BindPlan::default());
    plan
}

#[test]
fn a_frame_of_several_resources() {
    use Phase::{Growth, Shrink};
    let requests = [
        // A buffer grows by two chunks; the second bind goes on in the first one's chunk.
        bytes(9, 0, TILE, at(1, 0), Growth),
        bytes(9, TILE, TILE, at(1, TILE), Growth),
        bytes(9, 2 * TILE, TILE, at(2, 2 * TILE), Growth),
        // An image gets a row of three and one tile of the next row, whose memory goes on.
        tile(4, 2, 0, at(3, 2 * TILE), Growth),
        tile(4, 0, 0, at(3, 0), Growth),
        tile(4, 1, 0, at(3, TILE), Growth),
        tile(4, 0, 1, at(3, 3 * TILE), Growth),
        // Two tiles go, one of them for good, and one is moved.
        tile(4, 1, 2, None, Shrink),
        tile(4, 2, 2, None, Shrink),
        tile(4, 2, 2, at(7, 0), Growth),
        tile(4, 0, 2, at(7, TILE), Shrink),
        // A tail with its metadata.
        Request {
            resource: 4,
            place: Place::Bytes { offset: 5 * GIB, bytes: TILE, metadata: true },
            memory: at(8, 0),
            phase: Growth,
        },
        bytes(4, 5 * GIB + TILE, TILE, at(8, TILE), Growth),
        // The buffer's owner changes its mind about the middle; another one asks for nothing.
        bytes(9, TILE, TILE, None, Shrink),
        bytes(5, 0, 0, at(1, 0), Growth),
    ];
    insta::assert_snapshot!(finish(&requests, true), @r"
    growth: resource 9 bytes 0..65536 -> chunk 1 at 0
    growth: resource 9 bytes 131072..196608 -> chunk 2 at 131072
    growth: resource 4 metadata 5368709120..5368774656 -> chunk 8 at 0
    growth: resource 4 bytes 5368774656..5368840192 -> chunk 8 at 65536
    growth: resource 4 aspect 1 layer 0 mip 0 at (0, 0, 0) size 320x128x1 -> chunk 3 at 0
    growth: resource 4 aspect 1 layer 0 mip 0 at (0, 128, 0) size 128x128x1 -> chunk 3 at 196608
    shrink: resource 9 bytes 65536..131072 -> no memory
    shrink: resource 4 aspect 1 layer 0 mip 0 at (0, 256, 0) size 128x64x1 -> chunk 7 at 65536
    shrink: resource 4 aspect 1 layer 0 mip 0 at (128, 256, 0) size 128x64x1 -> no memory
    shrink: resource 4 aspect 1 layer 0 mip 0 at (256, 256, 0) size 64x64x1 -> chunk 7 at 0
    10 binds = 15 requests - 1 dropped - 2 replaced + 0 split - 2 merged; 1 delayed
    ");
    insta::assert_snapshot!(finish(&requests, false), @r"
    growth: resource 9 bytes 0..65536 -> chunk 1 at 0
    growth: resource 9 bytes 131072..196608 -> chunk 2 at 131072
    growth: resource 4 metadata 5368709120..5368774656 -> chunk 8 at 0
    growth: resource 4 bytes 5368774656..5368840192 -> chunk 8 at 65536
    growth: resource 4 aspect 1 layer 0 mip 0 at (0, 0, 0) size 128x128x1 -> chunk 3 at 0
    growth: resource 4 aspect 1 layer 0 mip 0 at (128, 0, 0) size 128x128x1 -> chunk 3 at 65536
    growth: resource 4 aspect 1 layer 0 mip 0 at (256, 0, 0) size 64x128x1 -> chunk 3 at 131072
    growth: resource 4 aspect 1 layer 0 mip 0 at (0, 128, 0) size 128x128x1 -> chunk 3 at 196608
    shrink: resource 9 bytes 65536..131072 -> no memory
    shrink: resource 4 aspect 1 layer 0 mip 0 at (0, 256, 0) size 128x64x1 -> chunk 7 at 65536
    shrink: resource 4 aspect 1 layer 0 mip 0 at (128, 256, 0) size 128x64x1 -> no memory
    shrink: resource 4 aspect 1 layer 0 mip 0 at (256, 256, 0) size 64x64x1 -> chunk 7 at 0
    12 binds = 15 requests - 1 dropped - 2 replaced + 0 split - 0 merged; 1 delayed
    ");
}

#[test]
fn tiles_of_two_rows_never_become_one_bind() {
    // The second lies where the first ends along x, but a row (and in memory a row) further down.
    for memory in [None, at(1, 0)] {
        let next = memory.and_then(|memory| memory.advanced(TILE));
        let (first, phase) = (tile(1, 0, 0, memory, Phase::Shrink), Phase::Shrink);
        assert_eq!(finish(&[first, tile(1, 1, 0, next, phase)], true).binds(), 1);
        assert_eq!(finish(&[first, tile(1, 1, 1, next, phase)], true).binds(), 2);
        assert_eq!(finish(&[first, tile(1, 2, 0, next, phase)], true).binds(), 2);
    }
}

#[test]
fn ranges_are_cut_where_later_ones_lie() {
    use Phase::{Growth, Shrink};
    let plan = finish(&[bytes(1, 0, 100, at(1, 1000), Growth), bytes(1, 40, 20, None, Shrink)], true);
    insta::assert_snapshot!(plan, @r"
    growth: resource 1 bytes 0..40 -> chunk 1 at 1000
    growth: resource 1 bytes 60..100 -> chunk 1 at 1060
    shrink: resource 1 bytes 40..60 -> no memory
    3 binds = 2 requests - 0 dropped - 0 replaced + 1 split - 0 merged; 0 delayed
    ");
    // The same memory again: the pieces join.
    let plan = finish(&[bytes(1, 0, 100, at(1, 1000), Growth), bytes(1, 40, 20, at(1, 1040), Growth)], true);
    insta::assert_snapshot!(plan, @r"
    growth: resource 1 bytes 0..100 -> chunk 1 at 1000
    1 binds = 2 requests - 0 dropped - 0 replaced + 1 split - 2 merged; 0 delayed
    ");
    // A later shrink of all of it: the growth disappears.
    let plan = finish(&[bytes(1, 0, 100, at(1, 1000), Growth), bytes(1, 0, 100, None, Shrink)], true);
    assert!(plan.growth.is_empty());
    assert_eq!((plan.binds(), plan.replaced), (1, 1));
    // Metadata is another place.
    let mut other = bytes(1, 0, 100, at(1, 0), Growth);
    other.place = Place::Bytes { offset: 0, bytes: 100, metadata: true };
    assert_eq!(finish(&[bytes(1, 0, 100, at(2, 0), Growth), other], true).binds(), 2);
}

#[test]
fn no_growth_passes_a_pending_unbind() {
    use Phase::{Growth, Shrink};
    // Address 50 still has memory that somebody reads: what replaces its unbind has to wait as well.
    let plan = finish(&[bytes(1, 50, 10, None, Shrink), bytes(1, 0, 100, at(1, 0), Growth)], true);
    assert!(plan.growth.is_empty());
    assert_eq!((plan.shrink[0].bytes.len(), plan.delayed, plan.replaced), (1, 1, 1));
    let plan = finish(&[tile(1, 0, 0, None, Shrink), tile(1, 0, 0, at(1, 0), Growth)], true);
    assert!(plan.growth.is_empty());
    assert_eq!((plan.shrink[0].tiles.len(), plan.delayed), (1, 1));
    // An unbind waits, whatever its caller says.
    assert!(finish(&[bytes(1, 0, 1, None, Growth)], true).growth.is_empty());
    // Growth beside it does not.
    let plan = finish(&[bytes(1, 50, 10, None, Shrink), bytes(1, 60, 40, at(1, 0), Growth)], true);
    assert_eq!((plan.growth.len(), plan.delayed), (1, 0));
}

#[test]
fn sizes_past_four_gibibytes_do_not_wrap_and_past_64_bits_are_refused() {
    let far = 5 * GIB;
    let plan = finish(
        &[
            bytes(1, far, 6 * GIB, at(1, far), Phase::Growth),
            bytes(1, far + 6 * GIB, TILE, at(1, far + 6 * GIB), Phase::Growth),
        ],
        true,
    );
    assert_eq!(plan.growth[0].bytes[0].bytes, 6 * GIB + TILE);

    let mut batcher = Batcher::new();
    let error = batcher.push(bytes(1, u64::MAX - 9, 11, None, Phase::Shrink)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a bind of 11 bytes at offset 18446744073709551606 of resource 1 was asked for, but offsets end at \
         2^64 - 1: check the offset"
    );
    let error = batcher.push(bytes(1, 0, 11, at(3, u64::MAX - 9), Phase::Growth)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a bind of 11 bytes of resource 1 to chunk 3 at 18446744073709551606 was asked for, but offsets end \
         at 2^64 - 1: check the offset in the chunk"
    );
    assert!(batcher.is_empty());
    assert_eq!(batcher.finish(BatchOptions::default()), BindPlan::default());
    batcher.push(bytes(1, u64::MAX - 10, 10, at(3, u64::MAX - 10), Phase::Growth)).unwrap();
    assert_eq!(batcher.finish(BatchOptions::default()).binds(), 1);
    // Texels that leave 32 bits do not merge.
    let edge = |x: u32, offset: u32| Request {
        resource: 1,
        place: Place::Tile {
            aspect: 1,
            layer: 0,
            mip: 0,
            tile: [x, 0, 0],
            offset: [offset, 0, 0],
            extent: [u32::MAX, 1, 1],
            bytes: 1,
        },
        memory: None,
        phase: Phase::Shrink,
    };
    assert_eq!(finish(&[edge(0, 0), edge(1, u32::MAX)], true).binds(), 2);
}

#[test]
fn many_overlapping_requests_are_fast() {
    // Quadratic behaviour would take 10^10 steps here.
    let mut batcher = Batcher::new();
    for i in 0..100_000u64 {
        let offset = i.wrapping_mul(0x9E37_79B9_7F4A_7C15) % 99_999_000;
        batcher.push(bytes(i % 3, offset, 1 + i % 500, at(i % 7, offset), Phase::Growth)).unwrap();
        if i % 10_000 == 0 {
            batcher.push(bytes(i % 3, 0, 100_000_000, at(9, i), Phase::Growth)).unwrap();
        }
        batcher.push(tile(i % 3, (i % 3) as u32, (i % 2) as u32, at(9, i * TILE), Phase::Growth)).unwrap();
    }
    let plan = batcher.finish(BatchOptions::default());
    assert_eq!(plan.requests, 200_010);
    assert_eq!(plan.requests - plan.replaced + plan.split - plan.merged, plan.binds());
}

/// One address of the model: a byte (`metadata` in the first field of the place), or a tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Address {
    Byte(u64, bool, u64),
    Tile(u64, u32, u32, u32, [u32; 3]),
}

type Entry = (Option<(u64, u64)>, Phase);

/// Tiles are 4 x 4 x 2 texels of 8 bytes of memory in mips of 14 x 11 x 5 texels: cut at each edge.
const GRANULARITY: [u32; 3] = [4, 4, 2];
const MIP: [u32; 3] = [14, 11, 5];
const TILE_BYTES: u64 = 8;

/// Every address with what it should end up with: the page table that knows of no ranges.
#[derive(Debug, Default)]
struct Model {
    table: BTreeMap<Address, Entry>,
    delayed: u64,
}

impl Model {
    fn push(&mut self, request: &Request) {
        let mut touched = Vec::new();
        match request.place {
            Place::Bytes { offset, bytes, metadata } => {
                for i in 0..bytes {
                    let memory = request.memory.map(|m| (m.chunk, m.offset + i));
                    touched.push((Address::Byte(request.resource, metadata, offset + i), memory));
                }
            }
            Place::Tile { aspect, layer, mip, tile, bytes, .. } if bytes > 0 => {
                let memory = request.memory.map(|m| (m.chunk, m.offset));
                touched.push((Address::Tile(request.resource, aspect, layer, mip, tile), memory));
            }
            Place::Tile { .. } => {}
        }
        let mut phase = request.phase;
        if request.memory.is_none() {
            phase = Phase::Shrink;
        }
        let pending = |a: &Address| self.table.get(a).is_some_and(|entry| entry.1 == Phase::Shrink);
        if phase == Phase::Growth && touched.iter().any(|(address, _)| pending(address)) {
            phase = Phase::Shrink;
            self.delayed += 1;
        }
        self.table.extend(touched.into_iter().map(|(address, memory)| (address, (memory, phase))));
    }

    /// The fewest binds: a new one wherever the next address does not go on.
    fn fewest_binds(&self) -> u64 {
        let goes_on = |address: &Address, entry: &Entry| {
            let (before, step) = match *address {
                Address::Byte(resource, metadata, byte) => {
                    (byte.checked_sub(1).map(|byte| Address::Byte(resource, metadata, byte)), 1)
                }
                Address::Tile(resource, aspect, layer, mip, [x, y, z]) => {
                    let left = x.checked_sub(1);
                    (left.map(|x| Address::Tile(resource, aspect, layer, mip, [x, y, z])), TILE_BYTES)
                }
            };
            let Some(&(memory, phase)) = before.and_then(|before| self.table.get(&before)) else {
                return false;
            };
            phase == entry.1 && memory.map(|(chunk, offset)| (chunk, offset + step)) == entry.0
        };
        self.table.iter().filter(|(address, entry)| !goes_on(address, entry)).count() as u64
    }
}

/// What a driver would do with a plan: growth, then shrink; nothing twice.
fn execute(plan: &BindPlan) -> BTreeMap<Address, Entry> {
    let mut table = BTreeMap::new();
    let mut bind = |address, memory: Option<(u64, u64)>, phase| {
        assert!(table.insert(address, (memory, phase)).is_none(), "{address:?} twice in one batch");
    };
    for phase in [Phase::Growth, Phase::Shrink] {
        for ResourceBinds { resource, bytes, tiles } in plan.phase(phase) {
            assert!(!bytes.is_empty() || !tiles.is_empty(), "empty lists");
            assert!(bytes.is_sorted_by(|a, b| (a.offset, a.metadata) < (b.offset, b.metadata)));
            let key = |t: &TileBind| (t.aspect, t.layer, t.mip, t.offset[2], t.offset[1], t.offset[0]);
            assert!(tiles.is_sorted_by(|a, b| key(a) < key(b)));
            for b in bytes {
                assert!(b.bytes > 0);
                for i in 0..b.bytes {
                    let memory = b.memory.map(|m| (m.chunk, m.offset + i));
                    bind(Address::Byte(*resource, b.metadata, b.offset + i), memory, phase);
                }
            }
            for t in tiles {
                let mut next = t.memory.map(|m| (m.chunk, m.offset));
                let mut covered = 0;
                // Memory goes to the tiles of a region x first; regions here are one row.
                let [_, y, z] = t.offset;
                let mut x = t.offset[0];
                while x < t.offset[0] + t.extent[0] {
                    let place = [x, y, z];
                    let tile: [u32; 3] = std::array::from_fn(|i| place[i] / GRANULARITY[i]);
                    let cut: [u32; 3] = std::array::from_fn(|i| GRANULARITY[i].min(MIP[i] - place[i]));
                    assert_eq!(
                        (t.extent[1], t.extent[2]),
                        (cut[1], cut[2]),
                        "one row, whole or cut at the edge"
                    );
                    bind(Address::Tile(*resource, t.aspect, t.layer, t.mip, tile), next, phase);
                    next = next.map(|(chunk, offset)| (chunk, offset + TILE_BYTES));
                    covered += TILE_BYTES;
                    x += cut[0];
                }
                assert_eq!(x, t.offset[0] + t.extent[0], "whole tiles");
                assert_eq!(covered, t.bytes);
            }
        }
    }
    table
}

fn requests() -> impl Strategy<Value = Vec<Request>> {
    let range = (0..40u64, 0..16u64, prop::bool::weighted(0.2))
        .prop_map(|(offset, bytes, metadata)| Place::Bytes { offset, bytes, metadata });
    let tile = (1..3u32, 0..2u32, 0..2u32, (0..4u32, 0..3u32, 0..3u32), prop::bool::weighted(0.03)).prop_map(
        |(aspect, layer, mip, (x, y, z), is_nothing)| {
            let tile = [x, y, z];
            let offset: [u32; 3] = std::array::from_fn(|i| tile[i] * GRANULARITY[i]);
            let extent = std::array::from_fn(|i| GRANULARITY[i].min(MIP[i] - offset[i]));
            let bytes = if is_nothing { 0 } else { TILE_BYTES };
            Place::Tile { aspect, layer, mip, tile, offset, extent, bytes }
        },
    );
    // Offsets in memory often go along with the address, so that neighbours merge.
    let request = (0..2u64, prop_oneof![1 => range, 2 => tile], 0..4u64, 0..3u64, any::<bool>()).prop_map(
        |(resource, place, chunk, shift, grows)| {
            let along = match place {
                Place::Bytes { offset, .. } => offset,
                Place::Tile { tile: [x, y, z], .. } => u64::from(x + 4 * y + 12 * z) * TILE_BYTES,
            };
            let memory = (chunk > 0).then_some(Memory { chunk, offset: along + 100 * (shift / 2) });
            let phase = if grows { Phase::Growth } else { Phase::Shrink };
            Request { resource: resource * 1000, place, memory, phase }
        },
    );
    prop::collection::vec(request, 0..120)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn a_plan_leaves_what_its_requests_would_have(requests in requests()) {
        let mut model = Model::default();
        requests.iter().for_each(|request| model.push(request));
        let is_nothing = |r: &&Request| {
            matches!(r.place, Place::Bytes { bytes: 0, .. } | Place::Tile { bytes: 0, .. })
        };
        let dropped = requests.iter().filter(is_nothing).count() as u64;

        let mut first_seen: Vec<u64> = Vec::new();
        for request in requests.iter().filter(|r| !is_nothing(r)) {
            if !first_seen.contains(&request.resource) {
                first_seen.push(request.resource);
            }
        }

        let mut counts = Vec::new();
        for merge in [true, false] {
            let plan = finish(&requests, merge);
            prop_assert_eq!(&execute(&plan), &model.table, "merge {}", merge);
            prop_assert_eq!(plan.requests, requests.len() as u64);
            prop_assert_eq!(plan.dropped, dropped);
            prop_assert_eq!(plan.delayed, model.delayed);
            let binds = plan.requests - plan.dropped - plan.replaced + plan.split - plan.merged;
            prop_assert_eq!(binds, plan.binds());
            prop_assert_eq!(plan.is_empty(), plan.binds() == 0);
            if merge {
                prop_assert_eq!(plan.binds(), model.fewest_binds());
            } else {
                prop_assert_eq!(plan.merged, 0);
            }
            for list in [&plan.growth, &plan.shrink] {
                let order = list.iter().map(|r| first_seen.iter().position(|seen| *seen == r.resource));
                prop_assert!(order.is_sorted_by(|a, b| a.is_some() && a < b), "order of first requests");
            }
            prop_assert_eq!(plan.to_string().lines().count() as u64, plan.binds() + 1, "one line a bind");
            counts.push((plan.replaced, plan.split));
        }
        prop_assert_eq!(counts[0], counts[1], "merging changes only `merged`");
    }

    #[test]
    fn a_request_is_replaced_when_nothing_of_it_is_left(requests in requests()) {
        // The last writer of each address, by the number of the request.
        let mut writer: BTreeMap<Address, usize> = BTreeMap::new();
        let mut alive = 0;
        for (index, request) in requests.iter().enumerate() {
            let mut one = Model::default();
            one.push(request);
            alive += u64::from(!one.table.is_empty());
            writer.extend(one.table.into_keys().map(|address| (address, index)));
        }
        let left: std::collections::BTreeSet<usize> = writer.into_values().collect();
        prop_assert_eq!(finish(&requests, true).replaced, alive - left.len() as u64);
    }
}
