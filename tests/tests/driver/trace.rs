//! The bind trace: one line a bind, with everything that one looks for.

use ash::vk::Format;
use vasa::sparse::tiles::TileCoord;
use vasa::vk::ImageDesc;
use vasa_tests::growable::{resize, storage};
use vasa_tests::images::{USAGE, resident};
use vasa_tests::paged::paged;
use vasa_tests::{MIB, TILE, on_device};

#[test]
fn every_bind_has_a_line_with_its_frame_range_chunk_and_times() {
    on_device(|h| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("binds.tsv");
        let sparse = h.small_chunks();
        let mut before = storage(&sparse, "Before", MIB);
        resize(&sparse, &mut before, TILE);
        sparse.trace_binds(&path).unwrap();
        let mut growable = storage(&sparse, "Traced", 4 * MIB);
        let mut pages = paged(&sparse, "Pages", 32);
        resize(&sparse, &mut growable, 2 * MIB);
        sparse.end_frame();
        pages.map_each(&[0, 1, 2, 9]).unwrap();
        growable.commit(MIB).unwrap();
        sparse.flush(None).unwrap();
        sparse.end_frame();
        let desc = ImageDesc { mips: 2, ..ImageDesc::new_2d(Format::R8G8B8A8_UNORM, [256, 256], USAGE) };
        let mut image = resident(&sparse, "Tiles", desc);
        // The fallback counts in larger tiles.
        let y = u32::from(h.in_place());
        image.map(&[TileCoord { y, ..TileCoord::default() }]).unwrap();
        sparse.flush(None).unwrap();
        let chunks =
            [growable.locate(0), pages.locate(9)].map(|at| at.map(|(chunk, _)| chunk.name().to_owned()));
        sparse.end_trace().unwrap();
        // Nothing is written any more.
        resize(&sparse, &mut growable, 0);
        let text = std::fs::read_to_string(&path).unwrap();
        let mut lines = text.lines();
        let head = "frame\tsource\tphase\tresource\trange\tchunk\tchunk_offset\tcpu_us\tusable_us";
        assert_eq!(lines.next(), Some(head));
        let lines: Vec<Vec<&str>> = lines.map(|line| line.split('\t').collect()).collect();
        if !h.in_place() {
            assert_eq!(lines.len(), 0, "nothing is bound in the fallback: {text}");
            return;
        }
        assert!(lines.iter().all(|line| line.len() == 9), "{text}");
        for line in &lines {
            let [cpu, usable] = [line[7], line[8]].map(|time| time.parse::<f64>().unwrap());
            assert!(cpu > 0.0 && usable > 0.0, "{line:?}");
            assert_eq!(line[5] == "-", line[2] == "shrink", "{line:?}");
        }
        let what: Vec<String> = lines.iter().map(|line| line[..5].join(" ")).collect();
        let tile =
            |y: u32, mip: u32| format!("2 frame growth Tiles layer 0 mip {mip} texels 0,{y},0 +128x128x1");
        let expected = [
            "0 frame growth Traced bytes 0..1048576".to_owned(),
            "0 frame growth Traced bytes 1048576..2097152".to_owned(),
            "1 frame growth Pages bytes 0..196608".to_owned(),
            "1 frame growth Pages bytes 589824..655360".to_owned(),
            "1 frame shrink Traced bytes 1048576..2097152".to_owned(),
            tile(128, 0),
            tile(0, 1),
        ];
        if h.is_software() {
            assert_eq!(what, expected, "{text}");
        }
        let [growable_chunk, page_chunk] = chunks.map(Option::unwrap);
        assert!(growable_chunk.starts_with("Traced.Chunk") && lines[0][5] == growable_chunk, "{text}");
        assert!(lines[3][5] == page_chunk && lines[3][6] == (3 * TILE).to_string(), "{text}");
    });
}

#[test]
fn a_trace_that_cannot_be_written_is_an_error() {
    on_device(|h| {
        let folder = tempfile::tempdir().unwrap();
        let sparse = h.small_chunks();
        assert!(sparse.trace_binds(&folder.path().join("no/such/folder.tsv")).is_err());
        sparse.end_trace().unwrap();
        // A second trace ends the first.
        sparse.trace_binds(&folder.path().join("one.tsv")).unwrap();
        sparse.trace_binds(&folder.path().join("two.tsv")).unwrap();
        let mut buffer = storage(&sparse, "Two", MIB);
        resize(&sparse, &mut buffer, TILE);
        sparse.end_trace().unwrap();
        let lines = |name| std::fs::read_to_string(folder.path().join(name)).unwrap().lines().count();
        assert_eq!((lines("one.tsv"), lines("two.tsv")), (1, 1 + usize::from(h.in_place())));
        // A trace that is never ended is whole all the same.
        sparse.trace_binds(&folder.path().join("dropped.tsv")).unwrap();
        resize(&sparse, &mut buffer, 0);
        drop((buffer, sparse));
        assert_eq!(lines("dropped.tsv"), 1 + usize::from(h.in_place()));
    });
}
