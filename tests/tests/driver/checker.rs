//! The checker on a real driver: mistakes that an application can make are reported, each with what to do, and the page
//! tables that it prints are those of the driver.

use ash::vk::BufferUsageFlags;
use vasa::sparse::{GrowableBuffer, GrowableDesc, SparseKnobs, SparseMemory};
use vasa::vk::{Point, Timeline};
use vasa_tests::growable::{resize, storage, waits};
use vasa_tests::paged::paged;
use vasa_tests::pattern::Pattern;
use vasa_tests::{Harness, MIB, TILE, on_device};

/// What the checker has to say, which is expected and no failure of the test.
fn taken(h: &Harness) -> Vec<String> {
    h.device.instance().messages().take_checker_reports()
}

/// Declares a use and returns what is said about it.
fn declared(
    h: &Harness,
    sparse: &SparseMemory,
    id: u64,
    tiles: std::ops::Range<u64>,
    at: Point,
) -> Vec<String> {
    sparse.declare_use(id, tiles.start * TILE..tiles.end * TILE, at);
    taken(h)
}

/// Exactly one report, of a kind, that names these.
fn expect_one(h: &Harness, reports: &[String], kind: &str, names: &[&str]) {
    if !h.in_place() {
        return assert_eq!(reports, [] as [String; 0], "nothing is bound in the fallback");
    }
    assert_eq!(reports.len(), 1, "{reports:?}");
    assert!(reports[0].starts_with(kind), "{reports:?}");
    assert!(names.iter().all(|name| reports[0].contains(name)), "{names:?}: {reports:?}");
}

/// Declares a use where there is something to declare it to: ordinary buffers have no page tables.
fn unknown_in_fallback(h: &Harness, reports: Vec<String>) -> Vec<String> {
    if h.in_place() {
        return reports;
    }
    assert!(reports.iter().all(|report| report.starts_with("unknown_resource")), "{reports:?}");
    Vec::new()
}

#[test]
fn the_use_of_tiles_without_memory_is_reported() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let mut buffer = storage(&sparse, "Unmapped", 4 * MIB);
        let wait = waits(resize(&sparse, &mut buffer, MIB));
        let at = h.write(&buffer, Pattern::new(1), (0, MIB), &wait);
        let fine = unknown_in_fallback(h, declared(h, &sparse, buffer.id(), 0..16, at));
        assert_eq!(fine, [] as [String; 0]);
        let reports = unknown_in_fallback(h, declared(h, &sparse, buffer.id(), 10..20, at));
        expect_one(h, &reports, "unmapped_use", &["\"Unmapped\" tiles 16..20", "never bound", "commit"]);
        let wait = waits(resize(&sparse, &mut buffer, 4 * TILE));
        let at = h.submit("Late", &wait, |_| {});
        let reports = unknown_in_fallback(h, declared(h, &sparse, buffer.id(), 0..5, at));
        expect_one(h, &reports, "unmapped_use", &["tiles 4..5", "unbound at Bind"]);
    });
}

#[test]
fn a_use_that_does_not_wait_for_its_bind_is_reported() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let mut buffer = storage(&sparse, "Unordered", 4 * MIB);
        let flushed = resize(&sparse, &mut buffer, MIB);
        // Before the bind can be seen done, a submission without any wait. Luck is no order; but what the host has
        // seen done is, so it is only reported where it was not done yet.
        let at = h.submit("Hasty", &[], |_| {});
        let was_done = flushed.wait.is_none_or(|point| h.device.reached(point).unwrap());
        let reports = unknown_in_fallback(h, declared(h, &sparse, buffer.id(), 0..16, at));
        if !was_done && !reports.is_empty() {
            expect_one(h, &reports, "unordered_use", &["\"Unordered\" tiles 0..16", "wait for Bind"]);
        }
        let at = h.submit("Patient", &waits(flushed), |_| {});
        let reports = unknown_in_fallback(h, declared(h, &sparse, buffer.id(), 0..16, at));
        assert_eq!(reports, [] as [String; 0], "with a wait there is nothing to say");
    });
}

#[test]
fn a_use_past_the_end_and_of_what_is_gone_is_reported() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let mut buffer = storage(&sparse, "Ends", MIB);
        let wait = waits(resize(&sparse, &mut buffer, MIB));
        let at = h.submit("Reader", &wait, |_| {});
        let reports = unknown_in_fallback(h, declared(h, &sparse, buffer.id(), 0..17, at));
        expect_one(h, &reports, "past_resource_end", &["Ends", "ends at byte 1048576"]);
        let id = buffer.id();
        drop(buffer);
        let reports = unknown_in_fallback(h, declared(h, &sparse, id, 0..1, at));
        expect_one(h, &reports, "unknown_resource", &["\"Ends\" was removed already"]);
        let reports = declared(h, &sparse, 123_456, 0..1, at);
        assert!(reports.len() == 1 && reports[0].contains("resource 123456 was never added"), "{reports:?}");
    });
}

#[test]
fn a_tile_that_is_taken_from_a_reader_that_nobody_waited_for_is_reported() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let mut buffer = paged(&sparse, "Reader", 32);
        buffer.map(0..8).unwrap();
        let wait = waits(sparse.flush(None).unwrap());
        h.submit("Maps", &wait, |_| {});
        // A reader that is yet to be submitted, but is declared already: the unbind cannot wait for it.
        let ahead =
            Point { timeline: Timeline::Graphics, value: h.device.submitted(Timeline::Graphics).value + 1 };
        let said = unknown_in_fallback(h, declared(h, &sparse, buffer.id(), 2..4, ahead));
        let is_order = |report: &String| report.starts_with("unordered_use");
        assert!(said.iter().all(is_order), "{said:?}");
        buffer.unmap(0..8).unwrap();
        sparse.flush(None).unwrap();
        let reports = unknown_in_fallback(h, taken(h));
        expect_one(
            h,
            &reports,
            "running_reader",
            &["\"Reader\" tiles 2..4", "Graphics", "let the bind wait"],
        );
        h.submit("Reads", &[], |_| {});
    });
}

#[test]
fn reports_are_counted_and_kept_and_a_checker_that_is_off_says_nothing() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let mut buffer = storage(&sparse, "Counted", MIB);
        let wait = waits(resize(&sparse, &mut buffer, TILE));
        let at = h.submit("Reader", &wait, |_| {});
        assert!(sparse.checker().is_on());
        let before = sparse.checker().reports();
        for _ in 0..3 {
            sparse.declare_use(buffer.id(), 0..2 * TILE, at);
        }
        assert_eq!((sparse.checker().reports() - before, taken(h).len()), (3, 3));
        let last = sparse.checker().last_reports();
        let kind = if h.in_place() { "unmapped_use" } else { "unknown_resource" };
        assert!(last.len() == 3 && last.iter().all(|report| report.kind.name() == kind));
        assert_eq!(h.device.instance().messages().checker_reports(), 0, "taken is forgotten");
        let off = SparseMemory::new(&h.device, SparseKnobs { check: false, ..Default::default() });
        let quiet =
            GrowableBuffer::new(&off, &GrowableDesc::new("Off", MIB, BufferUsageFlags::STORAGE_BUFFER))
                .unwrap();
        off.declare_use(quiet.id(), 0..u64::MAX, at);
        assert!(taken(h).is_empty() && !off.checker().is_on() && off.checker().reports() == 0);
        assert!(off.checker().page_tables().is_empty() && off.checker().picture().is_none());
        assert!(off.checker().page_table(quiet.id()).is_none() && off.checker().chunk_maps().is_empty());
    });
}

#[test]
fn page_tables_print_and_are_those_of_the_resources() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let mut buffer = paged(&sparse, "Pages", 24);
        buffer.map(0..4).unwrap();
        buffer.map_each(&[9]).unwrap();
        let wait = waits(sparse.flush(None).unwrap());
        let at = h.submit("Reader", &wait, |_| {});
        if !h.in_place() {
            assert!(sparse.checker().page_tables().is_empty(), "ordinary buffers have no page tables");
            return;
        }
        sparse.declare_use(buffer.id(), 0..2 * TILE, at);
        let chunk = buffer.locate(0).unwrap().0;
        let table = sparse.checker().page_table(buffer.id()).unwrap();
        // The number of a chunk and of a moment depend on what ran before.
        let text = table
            .to_string()
            .replace(chunk.name(), "CHUNK")
            .replace(&format!("Graphics {}", at.value), "Graphics N")
            .replace(&format!("resource {} ", buffer.id()), "resource ID ");
        insta::assert_snapshot!(text, @r#"
        "Pages" paged buffer: 1.500 MiB reserved = 320 KiB committed + 1.188 MiB uncommitted, tiles of 64 KiB
          tiles 0..2 -> "CHUNK" tiles 0..2, since Bind 1, users [Graphics N]
          tiles 2..4 -> "CHUNK" tiles 2..4, since Bind 1, users [none]
          tiles 4..9 -> reserved only
          tiles 9..10 -> "CHUNK" tiles 4..5, since Bind 1, users [none]
          tiles 10..24 -> reserved only
        "#);
        assert_eq!((table.mapped_bytes, table.bytes), (5 * TILE, 24 * TILE));
        let json: serde_json::Value = serde_json::to_value(&table).unwrap();
        assert_eq!(json["name"], "Pages");
        assert_eq!(json["rows"].as_array().map(Vec::len), Some(table.rows.len()));
        assert_eq!(json["rows"][0]["state"], "mapped");
        let maps = sparse.checker().chunk_maps();
        let map = maps.iter().find(|map| map.chunk.0 == chunk.id()).unwrap();
        assert_eq!((map.mapped_bytes, map.free_bytes), (5 * TILE, 11 * TILE));
        let picture = sparse.checker().picture().unwrap();
        assert_eq!(picture.pixels.len() as u64, u64::from(picture.width) * u64::from(picture.height) * 3);
    });
}
