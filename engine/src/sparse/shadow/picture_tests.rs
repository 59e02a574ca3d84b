//! Pictures: right colours at the right cells, and nothing that makes them fail.

use proptest::prelude::*;

use super::cells::{Grid, Runs, chunk_colour};
use super::tests::*;
use super::*;

const RESERVED: [u8; 3] = [41, 48, 60];

fn pixel(picture: &PagePicture, x: u32, y: u32) -> [u8; 3] {
    let at = ((y * picture.width + x) * 3) as usize;
    picture.pixels[at..at + 3].try_into().unwrap()
}

fn count(picture: &PagePicture, colour: [u8; 3]) -> usize {
    picture.pixels.chunks_exact(3).filter(|pixel| **pixel == colour).count()
}

fn view() -> PageView {
    let clocks = Clocks::default();
    let mut shadow = shadow(false);
    shadow.add_chunk(ChunkId(3), "Idle", 4 * TILE);
    let binds = [map(A, 0, 3, (C, 0)), map(A, 9, 1, (D, 5)), map(B, 0, 1, (D, 0))];
    assert_eq!(bind(&mut shadow, 1, &binds, &clocks), []);
    PageView::of_shadow(&shadow)
}

#[test]
fn views_say_who_owns_what() {
    let view = view();
    assert_eq!(view.resources[0].runs, [(0..3, 0), (9..10, 1)]);
    assert_eq!((view.resources[0].tiles, view.resources[0].mapped_tiles()), (11, 4));
    assert_eq!(view.resources[0].tails.first(), Some(&(9..11)));
    assert_eq!(view.chunks[1].runs, [(0..1, 1), (5..6, 0)]);
    let owners: Vec<_> = view.chunks.iter().map(ChunkView::owner).collect();
    assert_eq!(owners, [Some(0), None, None]);
    assert_eq!(view.chunks[1].owners().len(), 2);
}

#[test]
fn a_view_of_one_resource_has_all_it_shares_chunks_with() {
    let mut shadow = shadow(false);
    let clocks = Clocks::default();
    assert_eq!(PageView::of_resource(&shadow, ResourceId(9)), None);
    shadow.add_resource(ResourceId(3), ResourceDesc { name: "Apart".into(), ..desc() });
    assert_eq!(
        bind(&mut shadow, 1, &[map(A, 0, 1, (D, 0)), map(B, 0, 1, (D, 1)), map(B, 1, 1, (C, 0))], &clocks),
        []
    );
    let view = PageView::of_resource(&shadow, B).unwrap();
    let names: Vec<_> = view.resources.iter().map(|resource| resource.name.as_str()).collect();
    assert_eq!(names, ["B", "A"]);
    assert_eq!(view.chunks.iter().map(|chunk| chunk.name.as_str()).collect::<Vec<_>>(), ["C", "D"]);
    assert_eq!(view.resources[0].runs, [(0..1, 1), (1..2, 0)]);
    assert!(PagePicture::of_resource(&shadow, B).is_some());
}

#[test]
fn cells_have_the_colours_of_their_chunks() {
    let picture = PagePicture::of_view(&view());
    // The first cell of the first resource stands where reserved cells follow mapped ones.
    let (x, pitch) = (128 + 2, 11);
    let row = (0..picture.height).find(|y| {
        pixel(&picture, x, *y) == chunk_colour(0) && pixel(&picture, x + 3 * pitch, *y) == RESERVED
    });
    let y = row.unwrap();
    let cells: Vec<_> = (0..12).map(|cell| pixel(&picture, x + cell * pitch, y)).collect();
    let (first, second) = (chunk_colour(0), chunk_colour(1));
    assert_eq!(cells[..9], [first, first, first, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED]);
    assert_eq!(cells[9..11], [second, RESERVED]);
    // Past the last tile there is nothing.
    assert_ne!(cells[11], RESERVED);
    assert_eq!(pixel(&picture, x + 9 * pitch + 3, y + 4), [255, 255, 255], "tails are marked");
    assert_eq!(picture.pixels.len(), (picture.width * picture.height * 3) as usize);
}

#[test]
fn slack_is_amber_and_idle_chunks_are_not() {
    let mut view = view();
    // The inside of a slack cell, a colour that no words have.
    let (slack, free) = ([78, 57, 22], [88, 110, 98]);
    let picture = PagePicture::of_view(&view);
    view.chunks[0].runs = vec![(0..8, 0)];
    let without = PagePicture::of_view(&view);
    assert_eq!(count(&picture, slack), count(&without, slack) + 5 * 4 * 4);
    view.chunks[2].runs = vec![(0..4, 0)];
    let used = PagePicture::of_view(&view);
    assert_eq!(count(&without, free), count(&used, free) + 4 * 6 * 6);
}

#[test]
fn grids_group_tiles_by_powers_of_two() {
    let cells = |tiles| {
        let grid = Grid::new(tiles, 128, 8, 10);
        (grid.group, grid.cells(), grid.rows())
    };
    assert_eq!(cells(0), (1, 0, 0));
    assert_eq!(cells(1), (1, 1, 1));
    assert_eq!(cells(1024), (1, 1024, 8));
    assert_eq!(cells(1025), (2, 513, 5));
    assert_eq!(cells(32768), (32, 1024, 8));
    assert_eq!(cells(u64::MAX), (1 << 54, 1024, 8));
    let grid = Grid::new(1025, 128, 8, 10);
    assert_eq!(grid.tiles_of(512), 1024..1025);
    assert_eq!((grid.rect(512, 0, 0).width, grid.rect(0, 0, 0).width), (5, 10));
}

#[test]
fn a_cell_of_several_tiles_shows_each_in_its_columns() {
    let resource = |runs| ResourceView { tiles: 1025, tile_bytes: 1, runs, ..Default::default() };
    let view = |runs| PageView { resources: vec![resource(runs)], ..Default::default() };
    // Sixteen tiles on ten columns: the ninth tile is the sixth column, and no other.
    let (grid, runs) = (Grid::new(16 << 10, 128, 8, 10), Runs::new(std::iter::once((8..9, [7; 3]))));
    let mut canvas = super::canvas::Canvas::new(10, [0; 3]);
    grid.paint(&mut canvas, grid.rect(0, 0, 0), 0, &runs);
    let first_row: Vec<u8> = canvas.into_parts().2.chunks_exact(3).take(10).map(|pixel| pixel[0]).collect();
    assert_eq!(first_row, [0, 0, 0, 0, 0, 7, 0, 0, 0, 0]);
    let none = PagePicture::of_view(&view(vec![]));
    for (runs, columns) in [(vec![(6..7, 9)], 0..5), (vec![(7..8, 9)], 5..10), (vec![(6..8, 9)], 0..10)] {
        let some = PagePicture::of_view(&view(runs));
        let coloured = (0..some.width * some.height).filter(|at| {
            let (x, y) = (at % some.width, at / some.width);
            pixel(&some, x, y) == chunk_colour(9) && pixel(&none, x, y) == RESERVED
        });
        let xs: std::collections::BTreeSet<u32> = coloured.map(|at| at % some.width).collect();
        let cell = 128 + 3 * 11;
        assert!(xs.into_iter().eq(columns.map(|column| cell + column)));
    }
}

#[test]
fn overlapping_runs_show_the_first() {
    let runs = Runs::new([(4..9, [2; 3]), (0..6, [1; 3]), (5..6, [3; 3]), (3..3, [4; 3])].into_iter());
    let shown: Vec<_> = (0..10).map(|tile| runs.in_range(tile..tile + 1).map_or(0, |c| c[0])).collect();
    assert_eq!(shown, [1, 1, 1, 1, 1, 1, 2, 2, 2, 0]);
    assert_eq!(runs.in_range(7..20), Some([2; 3]));
}

#[test]
fn chunks_differ_in_colour_and_none_looks_like_slack() {
    for index in 0..400 {
        let [red, green, blue] = chunk_colour(index).map(i32::from);
        assert_ne!(chunk_colour(index), chunk_colour(index + 1));
        let is_amber = red > green + 25 && green > blue + 60;
        assert!(!is_amber, "chunk {index}: {red} {green} {blue}");
    }
}

#[test]
fn every_character_is_a_different_one_and_fits() {
    let glyph = |c| super::font::pixels(c).collect::<std::collections::BTreeSet<_>>();
    let mut seen = std::collections::BTreeMap::new();
    for character in (' '..='~').chain(['\u{e9}']) {
        let pixels = glyph(character);
        assert_eq!(pixels.is_empty(), character == ' ');
        assert!(pixels.iter().all(|(x, y)| *x < 5 && *y < 9));
        let hangs = pixels.iter().any(|(_, y)| *y >= super::font::HEIGHT);
        assert_eq!(hangs, "gpqy,".contains(character), "{character}");
        assert_eq!(seen.insert(pixels, character), None, "{character}");
    }
    assert_eq!(glyph('\n'), glyph('\u{10ffff}'));
}

#[test]
fn long_lists_are_cut_and_say_so() {
    let resource =
        ResourceView { name: "R".repeat(300), tiles: u64::MAX, tile_bytes: u64::MAX, ..Default::default() };
    let chunk = ChunkView {
        name: "Grösse…".into(),
        pages: 300,
        page_bytes: 1,
        runs: vec![(0..9, 77)],
        pooled: false,
    };
    let few = PageView {
        title: "Few".into(),
        resources: vec![resource.clone(); 48],
        chunks: vec![chunk.clone(); 384],
    };
    let many = PageView { resources: vec![resource; 500], chunks: vec![chunk; 5000], ..few.clone() };
    let (few, many) = (PagePicture::of_view(&few), PagePicture::of_view(&many));
    assert_eq!(many.height, few.height + 2 * 36);
}

fn runs() -> impl Strategy<Value = Vec<(std::ops::Range<u64>, usize)>> {
    let end = prop_oneof![0..400u64, Just(u64::MAX)];
    prop::collection::vec(((0..400u64, end).prop_map(|(a, b)| a..b), 0..5usize), 0..8)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn any_view_can_be_drawn(
        resources in prop::collection::vec((runs(), prop_oneof![0..3000u64, Just(u64::MAX)], 0..9u64), 0..5),
        chunks in prop::collection::vec((runs(), prop_oneof![0..600u64, Just(u64::MAX)], 0..9u64), 0..5),
    ) {
        let resources = resources.into_iter().map(|(runs, tiles, tile_bytes)| {
            let tails = runs.iter().map(|(run, _)| run.clone()).collect();
            ResourceView { name: "R".into(), kind: "buffer".into(), tiles, tile_bytes, runs, tails }
        });
        let chunks = chunks.into_iter().map(|(runs, pages, page_bytes)| {
            ChunkView { name: "C".into(), pages, page_bytes, runs, pooled: false }
        });
        let view = PageView { title: "T".into(), resources: resources.collect(), chunks: chunks.collect() };
        for (resource, tiles) in view.resources.iter().map(|r| (r, r.tiles.min(1000))) {
            let naive = (0..tiles).filter(|t| resource.runs.iter().any(|(run, _)| run.contains(t))).count() as u64;
            if resource.tiles <= 1000 {
                prop_assert_eq!(resource.mapped_tiles(), naive);
            }
        }
        let picture = PagePicture::of_view(&view);
        prop_assert_eq!(picture.pixels.len(), (picture.width * picture.height * 3) as usize);
        prop_assert_eq!(&picture, &PagePicture::of_view(&view));
    }
}
