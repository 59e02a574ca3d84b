use super::curves::{BIAS, COUNTS, EVICTED, LEFT, LOCKED, MADE, RESIDENCY, RIGHT, SHARES, SHARPNESS};
use super::*;
use crate::inspect::Chart;
use crate::vt::planner::{Planner, Producer};
use crate::vt::{
    Availability, Feedback, FrameRecord, Grid, Knobs, LayerFormat, PageAddress, PageRequest, PoolDesc,
    PoolId, Quality, TextureDesc, TextureId,
};

fn pixel(chart: &Chart, x: u32, y: u32) -> [u8; 3] {
    assert_eq!(chart.pixels.len() as u64, u64::from(chart.size[0]) * u64::from(chart.size[1]) * 3);
    let at = (y * chart.size[0] + x) as usize * 3;
    [chart.pixels[at], chart.pixels[at + 1], chart.pixels[at + 2]]
}

#[test]
fn levels_have_the_colours_of_the_shader() {
    let shader = include_str!("../../../../shaders/lib/virtual_texture.wgsl");
    let colours = shader.split("fn vt_level_colour").nth(1).unwrap().split(");\n    return").next().unwrap();
    let found: Vec<Vec<f32>> = colours
        .split("vec3(")
        .skip(1)
        .map(|colour| {
            let numbers = colour.split(')').next().unwrap().split(',');
            numbers.map(|number| number.trim().parse().unwrap()).collect()
        })
        .collect();
    assert_eq!(found, legend::LEVELS.map(|colour| colour.to_vec()));
    assert_eq!(level_colour(0), [252, 241, 151]);
    assert_eq!(level_colour(7), level_colour(0));
}

#[test]
fn curves_lie_at_their_values() {
    let record = |frame| FrameRecord {
        frame,
        residency: if frame < 100 { 0.25 } else { 0.75 },
        locked: 0.125,
        bias: 0.5,
        made: 8,
        redrawn: 2,
        evicted: 5,
        sharpness: 0.875,
        ..Default::default()
    };
    let chart = residency_curves("Residency", &(0..200).map(record).collect::<Vec<_>>());
    let (early, late) = (LEFT + (RIGHT - LEFT) / 4 + 7, LEFT + (RIGHT - LEFT) * 3 / 4 + 7);
    assert_eq!(pixel(&chart, early, SHARES.row(0.25)), RESIDENCY);
    assert_eq!(pixel(&chart, late, SHARES.row(0.75)), RESIDENCY);
    assert_eq!(pixel(&chart, late, SHARES.row(0.25)), BACKGROUND);
    assert_eq!(pixel(&chart, early, SHARES.row(0.125)), LOCKED);
    assert_eq!(pixel(&chart, early, SHARES.row(0.5)), BIAS);
    assert_eq!(pixel(&chart, early, SHARES.row(0.875)), SHARPNESS);
    // Ten pages are the most: the axis ends there.
    assert_eq!(pixel(&chart, early, COUNTS.row(1.0)), MADE);
    assert_eq!(pixel(&chart, early, COUNTS.row(0.5)), EVICTED);
    let middle = LEFT + (RIGHT - LEFT) / 2;
    assert_eq!(pixel(&chart, middle, SHARES.row(0.6)), RESIDENCY, "the step from frame 99 to 100");
}

#[test]
fn any_records_can_be_drawn() {
    let odd = FrameRecord {
        frame: u64::MAX,
        residency: f32::NAN,
        locked: f32::INFINITY,
        bias: -1.0,
        made: u32::MAX,
        redrawn: u32::MAX,
        evicted: u32::MAX,
        sharpness: 1e300,
        ..Default::default()
    };
    for records in [vec![], vec![odd], vec![FrameRecord::default(); 5000]] {
        assert!(residency_curves("x", &records).size[1] > COUNTS.top + COUNTS.height);
    }
}

#[test]
fn a_page_table_shows_the_level_that_is_mapped() {
    let grid = Grid::new([128, 64], 0).unwrap();
    let top = PageAddress::new(7, 0, 0);
    let fine = PageAddress::new(0, 96, 16);
    let block = PageAddress::new(4, 2, 1);
    let mapped = move |page: PageAddress| {
        let found = [fine, block].into_iter().find(|resident| resident.contains(page));
        // The bottom half has nothing.
        found.or((page.y < 32).then_some(top))
    };
    let chart = page_table_picture("Page table", &grid, [0.75, 0.25], &mapped);
    // Six pixels a page of level 0 in the whole, twelve in the part.
    let [x, y] = [32, chart.size[1] - 32 - 768];
    let whole = |u: f32, v: f32| pixel(&chart, x + (u * 768.0) as u32, y + (v * 384.0) as u32);
    assert_eq!(whole(0.1, 0.1), level_colour(7));
    assert_eq!(whole(0.3, 0.4), level_colour(4));
    assert_eq!(whole(96.5 / 128.0, 16.5 / 64.0), level_colour(0));
    assert_eq!(whole(0.1, 0.9), EMPTY);
    let near = |u: f32, v: f32| {
        let along = [(u - 0.5) * 2.0, v + 0.25];
        pixel(&chart, x + 800 + (along[0] * 768.0) as u32, y + (along[1] * 768.0) as u32)
    };
    assert_eq!(near(96.5 / 128.0, 16.5 / 64.0), level_colour(0));
    assert_eq!(near(97.5 / 128.0, 16.5 / 64.0), level_colour(7));
    assert_eq!(near(0.75, -0.1), BACKGROUND, "outside of the texture");
    let small = page_table_picture("x", &Grid::new([1, 1], 0).unwrap(), [f32::NAN; 2], &|page| Some(page));
    assert_eq!(small.size[0], 832, "one panel");
}

struct Ready;

impl Producer for Ready {
    fn request(&mut self, _: &PageRequest) -> Availability {
        Availability::Available(Quality::FULL)
    }
}

/// A texture of 6 x 8 pages whose coarsest page is locked, and of which one fine page was asked for.
fn asked() -> (Planner, TextureId, PoolId) {
    let mut planner = Planner::new(Knobs { prefetch: false, ..Knobs::game() });
    let pool = PoolDesc { budget_bytes: 1 << 20, ..PoolDesc::new("Grounds", 128, 4, &[LayerFormat::Bc1]) };
    let pool = planner.create_pools(&pool).unwrap()[0];
    let texture = planner.create_texture(&TextureDesc::new("Ground", [6, 8], pool)).unwrap();
    planner.lock_from_level(texture, 3).unwrap();
    for frame in 1..=3 {
        planner.begin_frame(frame);
        if frame == 3 {
            let word = planner.placement(texture).unwrap().word(PageAddress::new(1, 2, 1));
            planner.feed(&Feedback { frame: 2, pairs: &[(word, 17)], ..Default::default() });
        }
        planner.plan(&mut Ready);
    }
    (planner, texture, pool)
}

#[test]
fn a_page_says_why_it_was_made() {
    let (planner, texture, _) = asked();
    let text = |level, x, y| page_text(&planner, texture, PageAddress::new(level, x, y));
    let all = [text(1, 2, 1), text(3, 0, 0), text(0, 4, 2), text(0, 1, 1), text(1, 9, 0), text(9, 0, 0)];
    insta::assert_snapshot!(all.join("\n"), @r"
    Ground level 1 page 2,1
      resident: pool 0 page 2, column 2, row 0 of 10 x 10
      last used in frame 3, 0 locks, 1 mappings
      made in frame 3: sampled 17 times in frame 2; 1 of 2 uploads
      frame 3, pool 0 page 2: made: sampled 17 times in frame 2; 1 of 2 uploads
    Ground level 3 page 0,0
      resident: pool 0 page 1, column 1, row 0 of 10 x 10
      last used in frame 3, 1 locks, 1 mappings
      made in frame 1: locked; exempt from budgets
      frame 1, pool 0 page 1: made: locked; exempt from budgets
    Ground level 0 page 4,2
      not resident; level 1 page 2,1 in pool 0 page 2 is shown
      no event of it is remembered
    Ground level 0 page 1,1
      not resident; level 3 page 0,0 in pool 0 page 1 is shown
      no event of it is remembered
    Ground level 1 page 9,0
      there is no such page: level 1 has 3 x 4
    Ground level 9 page 0,0
      there is no such page: the coarsest level is 3
    ");
}

#[test]
fn events_name_their_textures() {
    let (planner, ..) = asked();
    insta::assert_snapshot!(events_text(&planner, &planner.events(10)), @r"
    Ground level 3 page 0,0: frame 1, pool 0 page 1: made: locked; exempt from budgets
    Ground level 1 page 2,1: frame 3, pool 0 page 2: made: sampled 17 times in frame 2; 1 of 2 uploads
    ");
    assert_eq!(events_text(&planner, &[]), "no page was made yet");
}

#[test]
fn an_atlas_shows_who_is_in_it() {
    let (planner, texture, pool) = asked();
    let atlas = AtlasPicture::of(&planner, pool).unwrap();
    assert_eq!(AtlasPicture::of(&planner, PoolId(7)), None);
    assert_eq!(atlas.textures, [(texture, "Ground".to_owned())]);
    let taken: Vec<_> = atlas.slots.iter().flatten().map(|slot| (slot.page.level, slot.is_locked)).collect();
    assert_eq!(taken.len(), 2);
    assert!(taken.contains(&(3, true)) && taken.contains(&(1, false)));
    let chart = atlas.draw();
    // 64 pixels a slot; the first row begins above the lower margin.
    let cell = 64;
    let top = chart.size[1] - 32 - atlas.side * cell;
    for (index, slot) in (0u32..).zip(&atlas.slots) {
        let (x, y) = (32 + index % atlas.side * cell, top + index / atlas.side * cell);
        let inside = pixel(&chart, x + 40, y + 10);
        match slot {
            Some(slot) => {
                assert_eq!(inside, level_colour(slot.page.level));
                assert_eq!(pixel(&chart, x + 30, y), [255, 255, 255], "the texture's frame");
                let mark = if slot.is_locked { WHITE } else { level_colour(slot.page.level) };
                assert_eq!(pixel(&chart, x + 6, y + 6), mark);
            }
            None => assert_eq!(inside == EMPTY, index > 0, "slot {index}"),
        }
    }
    let (size, parts) = atlas.sheet(&planner);
    assert_eq!((size, parts.len()), ([atlas.side * 128; 2], 2));
    let of_level = |level| parts.iter().find(|part| part.level == Some(level)).unwrap();
    let (fine, coarse) = (of_level(1), of_level(3));
    assert_eq!((fine.extent, fine.region.min[1], fine.region.max[1]), ([127; 2], 0.25, 0.5));
    assert!((fine.region.min[0] - 4.0 / 6.0).abs() < 1e-6 && (fine.region.max[0] - 1.0).abs() < 1e-6);
    // The coarsest page ends past the texture, which fills three quarters of it.
    assert_eq!((coarse.extent, coarse.region.min), ([95, 127], [0.0; 2]));
    assert!((coarse.region.max[0] - 8.0 / 6.0 * 95.0 / 127.0).abs() < 1e-6, "{coarse:?}");
}
