//! Page tables and chunk maps as text and JSON.

use super::tests::*;
use super::*;

fn busy() -> Shadow {
    let (mut shadow, mut clocks) = used();
    clocks.wait(bind_point(2), [1, 0, 1]);
    assert_eq!(
        bind(&mut shadow, 2, &[unmap(A, 1, 1), map(A, 6, 2, (D, 2)), map(B, 0, 1, (D, 0))], &clocks),
        []
    );
    clocks.wait(transfer(3), [0, 0, 2]);
    assert_eq!(shadow.use_range(A, 2 * TILE..3 * TILE, transfer(3), &clocks), []);
    shadow
}

#[test]
fn page_tables_print() {
    let shadow = busy();
    let table = shadow.page_table(A).unwrap();
    insta::assert_snapshot!(table, @r#"
    "A" growable buffer: 672 KiB reserved = 320 KiB committed + 352 KiB uncommitted, tiles of 64 KiB
      tiles 0..1 -> "C" tiles 0..1, since Bind 1, users [Graphics 1]
      tiles 1..2 -> reserved only, since Bind 2
      tiles 2..3 -> "C" tiles 2..3, since Bind 1, users [Graphics 1, Transfer 3]
      tiles 3..4 -> "C" tiles 3..4, since Bind 1, users [Graphics 1]
      tiles 4..6 -> reserved only
      tiles 6..8 -> "D" tiles 2..4, since Bind 2, users [none]
      tiles 8..11 -> reserved only
    "#);
    assert_eq!(shadow.page_table(ResourceId(9)), None);
    let rows = serde_json::to_string(&table.rows[..3]).unwrap();
    insta::assert_snapshot!(rows, @r#"[{"tiles":{"start":0,"end":1},"state":"mapped","chunk":1,"chunk_name":"C","chunk_tiles":{"start":0,"end":1},"since":{"timeline":"Bind","value":1},"users":[{"timeline":"Graphics","value":1}]},{"tiles":{"start":1,"end":2},"state":"reserved","unbound":{"timeline":"Bind","value":2}},{"tiles":{"start":2,"end":3},"state":"mapped","chunk":1,"chunk_name":"C","chunk_tiles":{"start":2,"end":3},"since":{"timeline":"Bind","value":1},"users":[{"timeline":"Graphics","value":1},{"timeline":"Transfer","value":3}]}]"#);
    assert_eq!(table.mapped_bytes, shadow.mapped_bytes(A));
}

#[test]
fn chunk_maps_print() {
    let mut shadow = busy();
    shadow.add_chunk(ChunkId(3), "Idle", 3 * TILE + 1);
    let text: String = shadow.chunk_map().iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(text, @r#"
    "C" 512 KiB = 192 KiB mapped + 320 KiB free, pages of 64 KiB
      pages 0..1 -> "A" tiles 0..1
      pages 1..2 -> free
      pages 2..4 -> "A" tiles 2..4
      pages 4..8 -> free
    "D" 512 KiB = 192 KiB mapped + 320 KiB free, pages of 64 KiB
      pages 0..1 -> "B" tiles 0..1
      pages 1..2 -> free
      pages 2..4 -> "A" tiles 6..8
      pages 4..8 -> free
    "Idle" 192.001 KiB = 0 B mapped + 192.001 KiB free, pages of 64 KiB
      pages 0..4 -> free
    "#);
    let json = serde_json::to_string(&shadow.chunk_map()[1]).unwrap();
    insta::assert_snapshot!(json, @r#"{"chunk":2,"name":"D","bytes":524288,"page_bytes":65536,"mapped_bytes":196608,"free_bytes":327680,"runs":[{"pages":{"start":0,"end":1},"owners":[{"resource":2,"name":"B","tiles":{"start":0,"end":1}}]},{"pages":{"start":1,"end":2},"owners":[]},{"pages":{"start":2,"end":4},"owners":[{"resource":1,"name":"A","tiles":{"start":6,"end":8}}]},{"pages":{"start":4,"end":8},"owners":[]}]}"#);
}

#[test]
fn shared_memory_is_counted_once() {
    let mut shadow = shadow(true);
    let clocks = Clocks::default();
    assert_eq!(bind(&mut shadow, 1, &[map(A, 0, 4, (C, 0)), map(B, 2, 3, (C, 2))], &clocks), []);
    insta::assert_snapshot!(shadow.chunk_map()[0], @r#"
    "C" 512 KiB = 320 KiB mapped + 192 KiB free, pages of 64 KiB
      pages 0..2 -> "A" tiles 0..2
      pages 2..4 -> "A" tiles 2..4 and "B" tiles 2..4
      pages 4..5 -> "B" tiles 4..5
      pages 5..8 -> free
    "#);
}

#[test]
fn reports_are_json() {
    let (mut shadow, clocks) = used();
    let report = &bind(&mut shadow, 2, &[unmap(A, 0, 1)], &clocks)[0];
    insta::assert_snapshot!(serde_json::to_string_pretty(report).unwrap(), @r#"
    {
      "kind": "running_reader",
      "users": [
        {
          "timeline": "Graphics",
          "value": 1
        }
      ],
      "during": {
        "bind": {
          "timeline": "Bind",
          "value": 2
        }
      },
      "place": {
        "resource": 1,
        "name": "A",
        "tile_bytes": 65536,
        "bytes": {
          "start": 0,
          "end": 65536
        }
      },
      "memory": {
        "chunk": 1,
        "name": "C",
        "tile_bytes": 65536,
        "bytes": {
          "start": 0,
          "end": 65536
        }
      }
    }
    "#);
    assert_eq!(serde_json::to_value(report).unwrap()["kind"], report.kind.name());
}
