//! Each report on a bind: what provokes it, and the twin that does not.

use super::tests::*;
use super::*;

#[test]
fn empty_calls_batches_and_binds() {
    let (mut shadow, clocks) = (shadow(false), Clocks::default());
    let mut reports = shadow.bind(&[], &clocks);
    reports.extend(bind(&mut shadow, 1, &[], &clocks));
    reports.extend(bind(&mut shadow, 2, &[map(A, 3, 0, (C, 0)), map(A, 0, 1, (C, 0))], &clocks));
    insta::assert_snapshot!(text(&reports), @r#"
    empty_batch: in a bind call: there is nothing to bind: leave the call or batch out, drivers have lost the device over it
    empty_batch: at Bind 1: there is nothing to bind: leave the call or batch out, drivers have lost the device over it
    empty_bind: "A" tiles 3..3 in "C" tiles 0..0, at Bind 2: a bind of 0 bytes at byte 196608: leave it out
    "#);
    assert_eq!(shadow.mapped_bytes(A), TILE);
}

#[test]
fn unknown_and_gone_names() {
    let (mut shadow, clocks) = (shadow(false), Clocks::default());
    assert_eq!(shadow.remove_resource(B, &clocks), []);
    assert_eq!(shadow.free_chunk(D, &clocks), []);
    let binds = [
        map(B, 0, 1, (C, 0)),
        map(ResourceId(9), 0, 1, (C, 0)),
        map(A, 0, 1, (D, 0)),
        map(A, 1, 1, (ChunkId(9), 0)),
        map(A, 2, 1, (C, 0)),
    ];
    insta::assert_snapshot!(text(&bind(&mut shadow, 1, &binds, &clocks)), @r#"
    unknown_resource: at Bind 1: resource "B" was removed already: add resources when they are created, and touch none after its removal
    unknown_resource: at Bind 1: resource 9 was never added: add resources when they are created, and touch none after its removal
    freed_chunk: "A" tiles 0..1 in "D" tiles 0..1, at Bind 1: chunk "D" was freed already: keep it until nothing names it any more
    unknown_chunk: "A" tiles 1..2 in "chunk 9" tiles 0..1, at Bind 1: chunk 9 was never added: add chunks when they are allocated
    "#);
    // Applied all the same: the driver was told.
    assert_eq!(shadow.mapped_bytes(A), 3 * TILE);
}

#[test]
fn misaligned_binds() {
    let (mut shadow, clocks) = (shadow(false), Clocks::default());
    let whole = map(A, 0, 1, (C, 0));
    let bad = [
        BindRange { offset: 17, ..whole },
        BindRange { bytes: TILE + 1, offset: 2 * TILE, ..whole },
        BindRange { offset: 4 * TILE, memory: Some((C, 4 * TILE + 4096)), ..whole },
        BindRange { bytes: 5, offset: 6 * TILE, memory: None, ..whole },
    ];
    let mut reports = Vec::new();
    for (bind, value) in bad.iter().zip(1..) {
        let mut fresh = self::shadow(false);
        reports.extend(self::bind(&mut fresh, value, &[*bind], &clocks));
    }
    insta::assert_snapshot!(text(&reports), @r#"
    misaligned: "A" tiles 0..2 in "C" tiles 0..1, at Bind 1: a bind of 65536 bytes at byte 17 to chunk offset 0: each must be a multiple of the tile (65536 bytes), only the size may end with the resource
    misaligned: "A" tiles 2..4 in "C" tiles 0..2, at Bind 2: a bind of 65537 bytes at byte 131072 to chunk offset 0: each must be a multiple of the tile (65536 bytes), only the size may end with the resource
    misaligned: "A" tiles 4..5 in "C" tiles 4..6, at Bind 3: a bind of 65536 bytes at byte 262144 to chunk offset 266240: each must be a multiple of the tile (65536 bytes), only the size may end with the resource
    misaligned: "A" tiles 6..7, at Bind 4: a bind of 5 bytes at byte 393216: each must be a multiple of the tile (65536 bytes), only the size may end with the resource
    "#);

    // The last tile may be cut by the end of the resource.
    let last = BindRange { bytes: TILE / 2, ..map(A, 10, 1, (C, 0)) };
    assert_eq!(bind(&mut shadow, 1, &[whole, last].map(|b| BindRange { memory: None, ..b }), &clocks), []);
}

#[test]
fn binds_past_an_end() {
    let (mut shadow, mut clocks) = (shadow(false), Clocks::default());
    let binds =
        [map(A, 10, 1, (C, 0)), map(A, 0, 4, (C, 5)), BindRange { offset: u64::MAX, ..unmap(B, 0, 1) }];
    let reports = bind(&mut shadow, 1, &binds, &clocks);
    insta::assert_snapshot!(text(&reports), @r#"
    past_resource_end: "A" tiles 10..11 in "C" tiles 0..1, at Bind 1: 65536 bytes at byte 655360 were asked for, but the resource ends at byte 688128: cut them
    past_chunk_end: "A" tiles 0..4 in "C" tiles 5..9, at Bind 1: 262144 bytes at chunk offset 327680 were asked for, but the chunk ends at byte 524288: cut the bind there and continue in another chunk
    misaligned: "B" tiles 10..11, at Bind 1: a bind of 65536 bytes at byte 18446744073709551615: each must be a multiple of the tile (65536 bytes), only the size may end with the resource
    past_resource_end: "B" tiles 10..11, at Bind 1: 65536 bytes at byte 18446744073709551615 were asked for, but the resource ends at byte 688128: cut them
    "#);
    assert_eq!(shadow.mapped_bytes(A), 4 * TILE + TILE / 2);
    clocks.wait(bind_point(2), [0, 0, 1]);
    let fits = [map(B, 0, 8, (D, 0))];
    assert_eq!(bind(&mut shadow, 2, &fits, &clocks), []);
}

#[test]
fn one_tile_twice_in_a_batch() {
    let (mut shadow, mut clocks) = (shadow(false), Clocks::default());
    let twice = [map(A, 0, 4, (C, 0)), map(A, 2, 4, (D, 0)), unmap(A, 3, 1)];
    insta::assert_snapshot!(text(&bind(&mut shadow, 1, &twice, &clocks)), @r#"
    tile_twice: "A" tiles 2..4 in "D" tiles 0..2, at Bind 1: bound twice in one batch, in no defined order: keep the last bind, or put it in a later batch
    tile_twice: "A" tiles 3..4, at Bind 1: bound twice in one batch, in no defined order: keep the last bind, or put it in a later batch
    "#);
    // The last one wins, and two batches of a call are in order.
    assert_eq!(shadow.mapped_bytes(A), 5 * TILE);
    clocks.wait(bind_point(2), [0, 0, 1]);
    clocks.wait(bind_point(3), [0, 0, 2]);
    let (grow, shrink) = ([map(A, 0, 4, (C, 0))], [unmap(A, 0, 4)]);
    let call = [Batch { at: bind_point(2), binds: &grow }, Batch { at: bind_point(3), binds: &shrink }];
    assert_eq!(shadow.bind(&call, &clocks), []);
}

#[test]
fn remap_and_unbind_under_a_running_reader() {
    let (mut shadow, mut clocks) = used();
    clocks.wait(transfer(3), [0, 0, 1]);
    assert_eq!(shadow.use_range(A, 2 * TILE..3 * TILE, transfer(3), &clocks), []);
    clocks.wait(bind_point(2), [0, 0, 1]);
    let reports = bind(&mut shadow, 2, &[map(A, 0, 1, (D, 0)), unmap(A, 1, 1), unmap(A, 2, 2)], &clocks);
    insta::assert_snapshot!(text(&reports), @r#"
    running_reader: "A" tiles 0..2 in "C" tiles 0..2, at Bind 2: the mapping changes while Graphics 1 may still use it: let the bind wait for that
    running_reader: "A" tiles 2..3 in "C" tiles 2..3, at Bind 2: the mapping changes while Graphics 1, Transfer 3 may still use it: let the bind wait for that
    running_reader: "A" tiles 3..4 in "C" tiles 3..4, at Bind 2: the mapping changes while Graphics 1 may still use it: let the bind wait for that
    "#);

    let (mut shadow, mut clocks) = used();
    clocks.wait(bind_point(2), [1, 0, 1]);
    assert_eq!(bind(&mut shadow, 2, &[map(A, 0, 1, (D, 0)), unmap(A, 1, 3)], &clocks), []);
    // A remap without users needs no wait but for the bind before it.
    clocks.wait(bind_point(3), [0, 0, 2]);
    assert_eq!(bind(&mut shadow, 3, &[map(A, 0, 1, (D, 1))], &clocks), []);
}

#[test]
fn a_bind_over_an_earlier_bind_or_unbind_that_may_still_run() {
    let (mut shadow, mut clocks) = used();
    clocks.wait(bind_point(2), [1, 0, 0]);
    let mut reports = bind(&mut shadow, 2, &[unmap(A, 0, 4)], &clocks);
    clocks.wait(bind_point(3), [1, 0, 1]);
    reports.extend(bind(&mut shadow, 3, &[map(A, 0, 2, (D, 0)), map(A, 2, 2, (D, 4))], &clocks));
    insta::assert_snapshot!(text(&reports), @r#"
    unordered_bind: "A" tiles 0..4, at Bind 2: bound while Bind 1 of the same tiles may still run: let the bind wait for it
    unordered_bind: "A" tiles 0..2 in "D" tiles 0..2, at Bind 3: bound while Bind 2 of the same tiles may still run: let the bind wait for it
    unordered_bind: "A" tiles 2..4 in "D" tiles 4..6, at Bind 3: bound while Bind 2 of the same tiles may still run: let the bind wait for it
    "#);
    clocks.wait(bind_point(4), [1, 0, 3]);
    assert_eq!(bind(&mut shadow, 4, &[map(A, 0, 4, (D, 0))], &clocks), []);
}

#[test]
fn memory_behind_two_tiles() {
    let (mut plain, clocks) = (shadow(false), Clocks::default());
    let sharing = [map(A, 0, 4, (C, 0)), map(B, 4, 4, (C, 2)), map(A, 6, 1, (C, 7)), map(A, 7, 1, (C, 7))];
    insta::assert_snapshot!(text(&bind(&mut plain, 1, &sharing, &clocks)), @r#"
    memory_twice: "A" tiles 7..8 in "C" tiles 7..8, at Bind 1: the memory lies behind tiles 6..7 of "A" too: unbind it there first, or create both aliased
    memory_twice: "B" tiles 4..6 in "C" tiles 2..4, at Bind 1: the memory lies behind tiles 2..4 of "A" too: unbind it there first, or create both aliased
    "#);

    let mut aliased = shadow(true);
    assert_eq!(bind(&mut aliased, 1, &sharing, &clocks), []);
    // Tails share with nobody, and A has its tail from tile 9 on.
    let reports =
        bind(&mut aliased, 2, &[map(B, 0, 1, (D, 0)), map(A, 8, 2, (D, 0)), map(B, 1, 1, (D, 1))], &clocks);
    insta::assert_snapshot!(text(&reports), @r#"memory_twice: "B" tiles 1..2 in "D" tiles 1..2, at Bind 2: the memory lies behind tiles 9..10 of "A" too: unbind it there first, or take other memory, since a mip tail never shares"#);
}

#[test]
fn one_side_aliased_is_not_enough() {
    let (mut shadow, clocks) = (shadow(true), Clocks::default());
    shadow.add_resource(B, ResourceDesc { name: "B".into(), bytes: 4 * TILE, tile_bytes: TILE, ..desc() });
    let reports = bind(&mut shadow, 1, &[map(A, 0, 1, (C, 0)), map(B, 0, 1, (C, 0))], &clocks);
    assert_eq!(names(&reports), ["memory_twice"]);
}

#[test]
fn memory_moves_within_a_batch_but_not_from_a_later_one() {
    let (mut shadow, mut clocks) = used();
    clocks.wait(bind_point(2), [1, 0, 1]);
    let swap = [map(B, 0, 4, (C, 0)), unmap(A, 0, 4)];
    assert_eq!(bind(&mut shadow, 2, &swap, &clocks), []);

    let (mut shadow, _) = used();
    clocks.wait(bind_point(3), [1, 0, 2]);
    let (grow, shrink) = ([map(B, 0, 4, (C, 0))], [unmap(A, 0, 4)]);
    let call = [Batch { at: bind_point(2), binds: &grow }, Batch { at: bind_point(3), binds: &shrink }];
    assert_eq!(names(&shadow.bind(&call, &clocks)), ["memory_twice"]);
}

#[test]
fn memory_bound_again_before_its_unbind_is_done() {
    let (mut shadow, mut clocks) = used();
    clocks.wait(bind_point(2), [1, 0, 1]);
    assert_eq!(bind(&mut shadow, 2, &[unmap(A, 0, 4)], &clocks), []);
    let mut twin = used().0;
    assert_eq!(bind(&mut twin, 2, &[unmap(A, 0, 4)], &clocks), []);

    clocks.wait(bind_point(3), [1, 0, 1]);
    let again = [map(B, 3, 3, (C, 2))];
    insta::assert_snapshot!(text(&bind(&mut shadow, 3, &again, &clocks)), @r#"memory_not_released: "B" tiles 3..5 in "C" tiles 2..4, at Bind 3: the memory is bound again while Bind 2 may still take it from its former tiles: let the bind wait for that"#);
    clocks.wait(bind_point(3), [1, 0, 2]);
    assert_eq!(bind(&mut twin, 3, &again, &clocks), []);
}

#[test]
fn findings_of_two_kinds_are_joined_each_for_itself() {
    let (mut shadow, mut clocks) = used();
    clocks.wait(transfer(3), [0, 0, 1]);
    assert_eq!(shadow.use_range(A, 2 * TILE..4 * TILE, transfer(3), &clocks), []);
    let reports = bind(&mut shadow, 2, &[unmap(A, 0, 4)], &clocks);
    assert_eq!(names(&reports), ["running_reader", "unordered_bind", "running_reader"]);
    let tiles: Vec<_> = reports.iter().filter_map(|report| Some(report.place.as_ref()?.tiles())).collect();
    assert_eq!(tiles, [0..2, 0..4, 2..4]);
}

#[test]
fn a_report_of_every_run_but_not_of_every_tile() {
    let (mut shadow, mut clocks) = (shadow(false), Clocks::default());
    let scattered: Vec<_> = (0..8).map(|tile| map(A, tile, 1, (C, 7 - tile))).collect();
    assert_eq!(bind(&mut shadow, 1, &scattered, &clocks), []);
    assert_eq!(names(&shadow.use_range(A, 0..8 * TILE, graphics(1), &clocks)), ["unordered_use"; 8]);
    clocks.wait(bind_point(2), [0, 0, 1]);
    // Eight runs in eight places of memory: each is named.
    let reports = bind(&mut shadow, 2, &[unmap(A, 0, 8)], &clocks);
    assert_eq!(names(&reports), ["running_reader"; 8]);
    // Without memory in it, one report does.
    assert_eq!(names(&shadow.use_range(A, 0..8 * TILE, graphics(2), &clocks)), ["unmapped_use"]);
}
