//! What the tests share, and the plain checks of uses, endings and counting.

use std::collections::BTreeMap;

use super::*;

pub(super) const TILE: u64 = 64 << 10;
pub(super) const A: ResourceId = ResourceId(1);
pub(super) const B: ResourceId = ResourceId(2);
pub(super) const C: ChunkId = ChunkId(1);
pub(super) const D: ChunkId = ChunkId(2);

pub(super) fn graphics(value: u64) -> Point {
    Point { timeline: Timeline::Graphics, value }
}

pub(super) fn transfer(value: u64) -> Point {
    Point { timeline: Timeline::Transfer, value }
}

pub(super) fn bind_point(value: u64) -> Point {
    Point { timeline: Timeline::Bind, value }
}

/// Vector clocks: what each moment waits for, and what is done. A moment without one waits for nothing.
#[derive(Debug, Clone, Default)]
pub(super) struct Clocks {
    pub(super) waits: BTreeMap<(Timeline, u64), [u64; 3]>,
    pub(super) done: [u64; 3],
}

impl Clocks {
    /// `later` waits for graphics, transfer and bind values.
    pub(super) fn wait(&mut self, later: Point, values: [u64; 3]) -> &Self {
        self.waits.insert((later.timeline, later.value), values);
        self
    }
}

impl Order for Clocks {
    fn is_before(&self, earlier: Point, later: Point) -> bool {
        let clock = self.waits.get(&(later.timeline, later.value));
        clock.is_some_and(|clock| earlier.value <= clock[earlier.timeline as usize])
    }

    fn is_done(&self, point: Point) -> bool {
        point.value <= self.done[point.timeline as usize]
    }
}

/// Two buffers of ten and a half tiles and two chunks of eight tiles.
pub(super) fn shadow(aliased: bool) -> Shadow {
    let mut shadow = Shadow::new();
    for (id, name) in [(A, "A"), (B, "B")] {
        let bytes = 10 * TILE + TILE / 2;
        let desc = ResourceDesc {
            name: name.to_owned(),
            kind: Kind::Buffer,
            bytes,
            tile_bytes: TILE,
            aliased,
            tails: std::iter::once(9 * TILE..bytes).collect(),
        };
        shadow.add_resource(id, desc);
    }
    shadow.add_chunk(C, "C", 8 * TILE);
    shadow.add_chunk(D, "D", 8 * TILE);
    shadow
}

/// `count` tiles from `tile` on, bound to tiles of a chunk.
pub(super) fn map(resource: ResourceId, tile: u64, count: u64, memory: (ChunkId, u64)) -> BindRange {
    let memory = Some((memory.0, memory.1 * TILE));
    BindRange { resource, offset: tile * TILE, bytes: count * TILE, memory }
}

pub(super) fn unmap(resource: ResourceId, tile: u64, count: u64) -> BindRange {
    BindRange { resource, offset: tile * TILE, bytes: count * TILE, memory: None }
}

/// One batch that signals Bind `value`.
pub(super) fn bind(shadow: &mut Shadow, value: u64, binds: &[BindRange], order: &Clocks) -> Vec<Report> {
    shadow.bind(&[Batch { at: bind_point(value), binds }], order)
}

pub(super) fn names(reports: &[Report]) -> Vec<&'static str> {
    reports.iter().map(|report| report.kind.name()).collect()
}

pub(super) fn text(reports: &[Report]) -> String {
    reports.iter().map(|report| format!("{report}\n")).collect()
}

/// A shadow with tiles 0..4 of A in C since Bind 1, used by Graphics 1, which waited for it.
pub(super) fn used() -> (Shadow, Clocks) {
    let (mut shadow, mut clocks) = (shadow(false), Clocks::default());
    assert_eq!(bind(&mut shadow, 1, &[map(A, 0, 4, (C, 0))], &clocks), []);
    clocks.wait(graphics(1), [0, 0, 1]);
    assert_eq!(shadow.use_range(A, 0..4 * TILE, graphics(1), &clocks), []);
    (shadow, clocks)
}

#[test]
fn use_of_an_unmapped_tile() {
    let (mut shadow, mut clocks) = used();
    clocks.wait(graphics(2), [1, 0, 2]);
    clocks.wait(bind_point(2), [1, 0, 1]);
    assert_eq!(bind(&mut shadow, 2, &[unmap(A, 2, 2)], &clocks), []);
    let reports = shadow.use_range(A, TILE..6 * TILE, graphics(2), &clocks);
    insta::assert_snapshot!(text(&reports), @r#"
    unmapped_use: "A" tiles 2..4, at Graphics 2: used without memory behind it (unbound at Bind 2): commit the range first, or keep shaders out of it
    unmapped_use: "A" tiles 4..6, at Graphics 2: used without memory behind it (never bound): commit the range first, or keep shaders out of it
    "#);
    assert_eq!(shadow.use_range(A, 0..2 * TILE, graphics(2), &clocks), []);
}

#[test]
fn use_without_waiting_for_the_bind() {
    let (mut shadow, mut clocks) = used();
    clocks.wait(bind_point(2), [0, 0, 1]);
    assert_eq!(bind(&mut shadow, 2, &[map(A, 4, 4, (C, 4))], &clocks), []);
    clocks.wait(graphics(2), [1, 0, 1]);
    let reports = shadow.use_range(A, 0..8 * TILE, graphics(2), &clocks);
    insta::assert_snapshot!(text(&reports), @r#"unordered_use: "A" tiles 4..8 in "C" tiles 4..8, at Graphics 2: used without waiting for its bind: let the submission wait for Bind 2"#);
    clocks.wait(graphics(3), [2, 0, 2]);
    assert_eq!(shadow.use_range(A, 0..8 * TILE, graphics(3), &clocks), []);
}

#[test]
fn use_past_the_end() {
    let (mut shadow, clocks) = used();
    assert_eq!(bind(&mut shadow, 2, &[map(A, 4, 4, (C, 4)), map(A, 8, 2, (D, 0))], &clocks), []);
    let last = BindRange { bytes: TILE / 2, ..map(A, 10, 1, (D, 2)) };
    assert_eq!(bind(&mut shadow, 3, &[last], &clocks), []);
    let mut clocks = clocks;
    clocks.wait(graphics(2), [1, 0, 3]);
    assert_eq!(shadow.use_range(A, 0..10 * TILE + TILE / 2, graphics(2), &clocks), []);
    let reports = shadow.use_range(A, 10 * TILE..11 * TILE, graphics(2), &clocks);
    insta::assert_snapshot!(text(&reports), @r#"past_resource_end: "A" tiles 10..11, at Graphics 2: 65536 bytes at byte 655360 were asked for, but the resource ends at byte 688128: cut them"#);
    assert_eq!(
        names(&shadow.use_range(A, u64::MAX - 1..u64::MAX, graphics(2), &clocks)),
        ["past_resource_end"]
    );
    let backwards = std::ops::Range { start: 5, end: 3 };
    assert_eq!(shadow.use_range(A, backwards, graphics(2), &clocks), []);
}

#[test]
fn use_of_an_unknown_or_removed_resource() {
    let (mut shadow, mut clocks) = used();
    clocks.done = [1, 0, 1];
    assert_eq!(shadow.remove_resource(B, &clocks), []);
    let mut reports = shadow.use_range(B, 0..1, graphics(2), &clocks);
    reports.extend(shadow.use_range(ResourceId(7), 0..1, graphics(2), &clocks));
    reports.extend(shadow.remove_resource(B, &clocks));
    insta::assert_snapshot!(text(&reports), @r#"
    unknown_resource: at Graphics 2: resource "B" was removed already: add resources when they are created, and touch none after its removal
    unknown_resource: at Graphics 2: resource 7 was never added: add resources when they are created, and touch none after its removal
    unknown_resource: at the destruction of the resource: resource "B" was removed already: add resources when they are created, and touch none after its removal
    "#);
}

#[test]
fn memory_freed_while_mapped_and_used_after() {
    let (mut shadow, mut clocks) = used();
    clocks.done = [1, 0, 1];
    let mut reports = shadow.free_chunk(C, &clocks);
    clocks.wait(graphics(2), [1, 0, 1]);
    reports.extend(shadow.use_range(A, 0..2 * TILE, graphics(2), &clocks));
    reports.extend(shadow.free_chunk(C, &clocks));
    reports.extend(shadow.free_chunk(ChunkId(9), &clocks));
    insta::assert_snapshot!(text(&reports), @r#"
    freed_while_mapped: "A" tiles 0..4 in "C" tiles 0..4, at the free of the chunk: memory freed while mapped: unbind it, wait for the unbind, then free it
    freed_memory_use: "A" tiles 0..2 in "C" tiles 0..2, at Graphics 2: used after its memory was freed: rebind the tiles, and free chunks only when they are unbound
    freed_chunk: at the free of the chunk: chunk "C" was freed already: keep it until nothing names it any more
    unknown_chunk: at the free of the chunk: chunk 9 was never added: add chunks when they are allocated
    "#);

    // The same with an unbind that is waited for.
    let (mut shadow, mut clocks) = used();
    clocks.wait(bind_point(2), [1, 0, 1]);
    assert_eq!(bind(&mut shadow, 2, &[unmap(A, 0, 4)], &clocks), []);
    clocks.done = [1, 0, 2];
    assert_eq!(shadow.free_chunk(C, &clocks), []);
    assert_eq!(shadow.free_chunk(D, &clocks), []);
}

#[test]
fn memory_freed_too_early() {
    let (mut shadow, mut clocks) = used();
    clocks.wait(bind_point(2), [1, 0, 1]);
    assert_eq!(bind(&mut shadow, 2, &[unmap(A, 0, 4)], &clocks), []);
    clocks.done = [0, 0, 1];
    insta::assert_snapshot!(text(&shadow.free_chunk(C, &clocks)), @r#"
    freed_while_unbinding: "C" tiles 0..4, at the free of the chunk: memory freed while Bind 2 of it may still run: free it after that
    freed_while_used: "C" tiles 0..4, at the free of the chunk: memory freed before its last users are done: free it after Graphics 1
    "#);
}

#[test]
fn users_that_an_unbind_ignored_stay_on_record() {
    let (mut shadow, mut clocks) = used();
    clocks.wait(bind_point(2), [0, 0, 1]);
    assert_eq!(names(&bind(&mut shadow, 2, &[unmap(A, 0, 4)], &clocks)), ["running_reader"]);
    clocks.wait(bind_point(3), [0, 0, 2]);
    assert_eq!(bind(&mut shadow, 3, &[map(B, 0, 4, (C, 0))], &clocks), []);
    clocks.wait(bind_point(4), [0, 0, 3]);
    assert_eq!(bind(&mut shadow, 4, &[unmap(B, 0, 4)], &clocks), []);
    clocks.done = [0, 0, 4];
    assert_eq!(names(&shadow.free_chunk(C, &clocks)), ["freed_while_used"]);
}

#[test]
fn destruction_too_early() {
    let (mut early, mut clocks) = used();
    let reports = early.remove_resource(A, &clocks);
    insta::assert_snapshot!(text(&reports), @r#"
    destroyed_while_binding: "A" tiles 0..11, at the destruction of the resource: destroyed with a bind in flight: destroy it after Bind 1
    destroyed_while_used: "A" tiles 0..11, at the destruction of the resource: destroyed before its last users are done: destroy it after Graphics 1
    "#);
    // The memory is free, but remembers what is not done.
    assert_eq!(names(&early.free_chunk(C, &clocks)), ["freed_while_unbinding", "freed_while_used"]);

    let (mut late, _) = used();
    clocks.done = [1, 0, 1];
    assert_eq!(late.remove_resource(A, &clocks), []);
    assert_eq!(late.free_chunk(C, &clocks), []);

    // Users of tiles without memory count too, and so do unbinds.
    let (mut shadow, mut clocks) = used();
    clocks.done = [1, 0, 1];
    clocks.wait(bind_point(2), [1, 0, 1]);
    assert_eq!(bind(&mut shadow, 2, &[unmap(A, 0, 4)], &clocks), []);
    assert_eq!(names(&shadow.use_range(A, 9 * TILE..10 * TILE, transfer(5), &clocks)), ["unmapped_use"]);
    let expected = ["destroyed_while_binding", "destroyed_while_used"];
    assert_eq!(names(&shadow.remove_resource(A, &clocks)), expected);
}

#[test]
fn reports_are_counted_and_the_last_are_kept() {
    let (mut shadow, clocks) = (shadow(false), Clocks::default());
    for value in 1..=100 {
        shadow.use_range(A, 0..TILE, graphics(value), &clocks);
    }
    shadow.bind(&[], &clocks);
    assert_eq!(shadow.reports_total(), 101);
    assert_eq!(shadow.reports_by_kind().get("unmapped_use"), Some(&100));
    let last: Vec<_> = shadow.last_reports().map(|report| report.during).collect();
    assert_eq!(last.len(), REPORTS_KEPT);
    assert_eq!(last.first(), Some(&Operation::Use(graphics(101 - 63))));
    assert_eq!(last.last(), Some(&Operation::BindCall));

    // More than is kept in one call.
    let tiny = ResourceDesc { name: "T".into(), kind: Kind::TiledImage, bytes: 400, tile_bytes: 0, ..desc() };
    shadow.add_resource(ResourceId(3), tiny);
    let every_second: Vec<BindRange> = (0..200)
        .map(|i| BindRange { resource: ResourceId(3), offset: 2 * i, bytes: 1, memory: Some((C, 2 * i)) })
        .collect();
    assert_eq!(bind(&mut shadow, 1, &every_second, &clocks), []);
    let mut clocks = clocks;
    clocks.wait(graphics(200), [0, 0, 1]);
    assert_eq!(shadow.use_range(ResourceId(3), 0..400, graphics(200), &clocks).len(), 200);
    assert_eq!((shadow.reports_total(), shadow.last_reports().count()), (301, REPORTS_KEPT));
}

pub(super) fn desc() -> ResourceDesc {
    ResourceDesc {
        name: String::new(),
        kind: Kind::Buffer,
        bytes: 1,
        tile_bytes: 1,
        aliased: false,
        tails: Vec::new(),
    }
}

#[test]
fn an_id_that_is_added_again_starts_anew() {
    let (mut shadow, mut clocks) = used();
    shadow.add_resource(A, ResourceDesc { name: "A2".into(), bytes: TILE, tile_bytes: TILE, ..desc() });
    assert_eq!(shadow.mapped_bytes(A), 0);
    // What the memory had seen is kept.
    assert_eq!(names(&shadow.free_chunk(C, &clocks)), ["freed_while_unbinding", "freed_while_used"]);
    clocks.done = [1, 0, 1];
    assert_eq!(shadow.remove_resource(A, &clocks), []);
}

#[test]
fn a_terabyte_with_few_runs_and_many_scattered_tiles_are_cheap() {
    let mut shadow = Shadow::new();
    let mut clocks = Clocks::default();
    shadow.add_resource(A, ResourceDesc { name: "A".into(), bytes: 1 << 40, tile_bytes: TILE, ..desc() });
    shadow.add_chunk(C, "C", 1 << 40);
    assert_eq!(bind(&mut shadow, 1, &[map(A, 0, 1 << 23, (C, 0))], &clocks), []);
    clocks.wait(graphics(1), [0, 0, 1]);
    assert_eq!(shadow.use_range(A, 0..1 << 39, graphics(1), &clocks), []);
    let reports = shadow.use_range(A, 0..1 << 40, graphics(1), &clocks);
    assert_eq!(names(&reports), ["unmapped_use"]);
    assert_eq!(shadow.page_table(A).unwrap().rows.len(), 2);

    let scattered: Vec<BindRange> =
        (0..10_000).map(|i| map(A, (1 << 23) + 2 * i, 1, (C, (1 << 23) + (i * 7919) % 10_000))).collect();
    assert_eq!(bind(&mut shadow, 2, &scattered, &clocks), []);
    clocks.wait(graphics(2), [1, 0, 2]);
    let start = (1 << 23) * TILE;
    let reports = shadow.use_range(A, start..start + 20_000 * TILE, graphics(2), &clocks);
    assert_eq!(reports.len(), 10_000);
    assert_eq!(shadow.page_table(A).unwrap().rows.len(), 1 + 20_000);
}
