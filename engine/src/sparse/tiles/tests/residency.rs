//! The map against its definition in words, and against a sampler that reads texel by texel.

use std::collections::HashSet;

use super::*;

type Tiles = HashSet<TileCoord>;

/// Mapped tiles at random; `closed` takes out what has a hole above it.
fn mapped(layout: &TileLayout, bits: &[bool], closed: bool) -> Tiles {
    let mut all = naive_tiles(layout.tiling(), 0);
    all.retain(|tile| tile.mip < layout.floor_lod());
    all.sort_by_key(|tile| std::cmp::Reverse(tile.mip));
    let mut tiles = Tiles::new();
    for (tile, bit) in all.into_iter().zip(bits.iter().cycle()) {
        let parents =
            || layout.parents(tile).tiles().all(|p| p.mip >= layout.floor_lod() || tiles.contains(&p));
        if *bit && (!closed || parents()) {
            tiles.insert(tile);
        }
    }
    tiles
}

/// The raw value of one mip-0 tile, from the definition.
fn naive_raw(layout: &TileLayout, tile: TileCoord, mapped: &Tiles) -> u8 {
    let holds = |mip: u32| {
        let mut tiles = naive_tiles(layout.tiling(), 0);
        tiles.retain(|t| t.mip == mip && naive_share_a_point(layout.tiling(), *t, tile));
        tiles.iter().all(|t| mapped.contains(t))
    };
    (0..=layout.floor_lod()).find(|&m| (m..layout.floor_lod()).all(holds)).unwrap() as u8
}

/// The largest raw value of each 3x3x3 neighbourhood.
fn naive_dilated(layout: &TileLayout, wrap: [bool; 3], mapped: &Tiles) -> Vec<u8> {
    let size = layout.mip_tiles(0).map(i64::from);
    let mut tiles = naive_tiles(layout.tiling(), 0);
    tiles.retain(|tile| tile.mip == 0);
    let raw: Vec<u8> = tiles.iter().map(|tile| naive_raw(layout, *tile, mapped)).collect();
    let neighbour = |axis: usize, at: u32, step: i64| {
        let at = i64::from(at) + step;
        if wrap[axis] { at.rem_euclid(size[axis]) } else { at.clamp(0, size[axis] - 1) }
    };
    let values = tiles.iter().map(|tile| {
        let steps = (0..27).map(|n| [n % 3 - 1, n / 3 % 3 - 1, n / 9 - 1]);
        let values = steps.map(|[dx, dy, dz]| {
            let (x, y, z) = (neighbour(0, tile.x, dx), neighbour(1, tile.y, dy), neighbour(2, tile.z, dz));
            raw[((z * size[1] + y) * size[0] + x) as usize]
        });
        values.max().unwrap()
    });
    values.collect()
}

/// The tile columns of mip `mip` in one axis that mip-0 tile `x` depends on, texel by texel.
fn naive_columns(layout: &TileLayout, axis: usize, mip: u32, x: u32, wrap: bool) -> HashSet<u32> {
    let (g, fine) = (layout.tiling().granularity[axis], layout.mip_extent(0)[axis]);
    let (coarse, tiles) = (layout.mip_extent(mip)[axis], layout.mip_tiles(0)[axis]);
    let next = |at: u32, count: u32| match at + 1 < count {
        true => at + 1,
        false if wrap => 0,
        false => at,
    };
    let previous = |at: u32, count: u32| match at {
        0 if wrap => count - 1,
        _ => at.saturating_sub(1),
    };
    let touched = |tile: u32| -> HashSet<u32> {
        let texels = (tile * g..fine.min((tile + 1) * g)).flat_map(|t| {
            (0..coarse).filter(move |c| c * fine < (t + 1) * coarse && t * coarse < (c + 1) * fine)
        });
        texels.collect()
    };
    let mut texels: HashSet<u32> = HashSet::new();
    for texel in touched(x) {
        texels.extend([previous(texel, coarse), texel, next(texel, coarse)]);
    }
    texels.extend(touched(previous(x, tiles)));
    texels.extend(touched(next(x, tiles)));
    texels.into_iter().map(|texel| texel / g).collect()
}

/// The neighbourhood and one texel around, in each axis.
fn naive_rules(layout: &TileLayout, wrap: [bool; 3], mapped: &Tiles) -> Vec<u8> {
    let mut tiles = naive_tiles(layout.tiling(), 0);
    tiles.retain(|tile| tile.mip == 0);
    let value = |tile: TileCoord| {
        let complete = |mip: u32| {
            let columns = |axis: usize, x| naive_columns(layout, axis, mip, x, wrap[axis]);
            let (xs, ys, zs) = (columns(0, tile.x), columns(1, tile.y), columns(2, tile.z));
            let mut all = naive_tiles(layout.tiling(), 0);
            all.retain(|t| t.mip == mip && xs.contains(&t.x) && ys.contains(&t.y) && zs.contains(&t.z));
            all.iter().all(|t| mapped.contains(t))
        };
        (0..=layout.floor_lod()).find(|&m| (m..layout.floor_lod()).all(complete)).unwrap() as u8
    };
    tiles.into_iter().map(value).collect()
}

/// The texels of one axis of a mip that a bilinear lookup at `num / den` of the image reads.
fn footprint(num: i128, den: i128, extent: u32, wrap: bool) -> [u32; 2] {
    let extent = i128::from(extent);
    let first = (2 * num * extent - den).div_euclid(2 * den);
    [first, first + 1].map(|texel| {
        let texel = if wrap { texel.rem_euclid(extent) } else { texel.clamp(0, extent - 1) };
        texel as u32
    })
}

/// Samples at `points` (a fraction of the image in 2^20ths, each axis) and panics on a read of what is not
/// there.
fn sample_everywhere(
    layout: &TileLayout,
    map: &ResidencyMap,
    wrap: [bool; 3],
    is: &Tiles,
    points: &[[u32; 3]],
) {
    const ONE: i128 = 1 << 20;
    let (extent, granularity, size) = (layout.tiling().extent, layout.tiling().granularity, map.size());
    for point in points {
        let at = point.map(i128::from);
        let texel: [u32; 3] = std::array::from_fn(|axis| {
            let texel = (at[axis] * i128::from(extent[axis])).div_euclid(ONE) as u32;
            (texel / granularity[axis]).min(size[axis] - 1)
        });
        let index = (texel[2] * size[1] + texel[1]) * size[0] + texel[0];
        let value = u32::from(map.texels()[index as usize]);
        // An LOD of at least the value reads this mip or any coarser one.
        for mip in value..layout.tiling().mips {
            let extent = layout.mip_extent(mip);
            let read: [[u32; 2]; 3] =
                std::array::from_fn(|axis| footprint(at[axis], ONE, extent[axis], wrap[axis]));
            for corner in 0..8 {
                let texel = std::array::from_fn(|axis| read[axis][corner >> axis & 1]);
                match layout.tile_of_texel(0, mip, texel) {
                    Some(TileLocation::Tail { .. }) => {}
                    Some(TileLocation::Tile(tile)) => assert!(
                        tile.mip >= layout.floor_lod() || is.contains(&tile),
                        "a sample at {point:?} with lod {mip} reads {tile}, map says {value}"
                    ),
                    None => panic!("the sampler left the image"),
                }
            }
        }
    }
}

/// Points near the edges of mip-0 tiles and mip texels, where it matters, and anywhere.
fn points() -> impl Strategy<Value = Vec<[u32; 3]>> {
    let near = (0u32..256, 1u32..256, -2i32..3).prop_map(|(a, b, off)| {
        let at = (u64::from(a % b) << 20) / u64::from(b);
        (at as i32 + off).clamp(0, (1 << 20) - 1) as u32
    });
    let axis = prop_oneof![near, 0u32..1 << 20];
    prop::collection::vec(prop::array::uniform3(axis), 1..200)
}

#[test]
fn a_small_map_by_hand() {
    // 512x512, tiles of 128, mips 0 to 2 in front of the tail: 4x4, 2x2, 1.
    let layout = TileLayout::new(worked_example(true)).unwrap();
    let mut map = ResidencyMap::new(&layout, 0, [false; 3]).unwrap();
    assert_eq!((map.size(), map.texels()), ([4, 4, 1], &[3u8; 16][..]));
    assert_eq!(map.resident_levels(), [0, 0, 0, 16]);
    assert_eq!(map.update(|_| false), None);

    let all = map.update(|_| true);
    assert_eq!(all, Some(TexelRegion { offset: [0; 3], extent: [4, 4, 1] }));
    assert_eq!(map.resident_levels(), [16, 0, 0, 0]);

    // Mip 0 misses its top left tile: clamped, the hole spreads to three neighbours.
    let hole = TileCoord::default();
    let changed = map.update_tiles(&[hole], |tile| tile != hole);
    assert_eq!(changed, Some(TexelRegion { offset: [0; 3], extent: [2, 2, 1] }));
    assert_eq!(map.texels(), [1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);

    // Wrapped in x, it spreads around the edge.
    let mut map = ResidencyMap::new(&layout, 0, [true, false, false]).unwrap();
    map.update(|tile| tile != hole);
    assert_eq!(map.texels(), [1, 1, 0, 1, 1, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]);

    // A hole in the coarsest mip hides everything finer, mapped or not.
    map.update(|tile| tile.mip != 2);
    assert_eq!(map.texels(), [3; 16]);
    assert_eq!(map.resident_levels(), [0, 0, 0, 16]);
}

#[test]
fn images_without_anything_to_stream() {
    let all_tail = MipTail { first_lod: 0, bytes: TILE, ..MipTail::default() };
    let layout =
        TileLayout::new(ImageTiling { tail: all_tail, ..plain([60, 60, 1], [128, 128, 1], 3) }).unwrap();
    let mut map = ResidencyMap::new(&layout, 0, [true; 3]).unwrap();
    assert_eq!(map.update(|_| false), None);
    assert_eq!((map.size(), map.texels()), ([1; 3], &[0u8][..]));
    // One mip and no tail: it is always resident.
    let layout = TileLayout::new(plain([256, 256, 1], [128, 128, 1], 1)).unwrap();
    let mut map = ResidencyMap::new(&layout, 0, [true; 3]).unwrap();
    assert_eq!(map.update(|_| false), None);
    assert_eq!((map.size(), map.texels()), ([2, 2, 1], &[0u8; 4][..]));
    assert_eq!(map.update_tiles(&[TileCoord::default()], |_| false), None);

    assert_eq!(ResidencyMap::new(&layout, 1, [true; 3]), Err(TileError::NoSuchLayer { layer: 1, layers: 1 }));
    let huge = TileLayout::new(plain([1 << 20, 1 << 20, 1], [1, 1, 1], 1)).unwrap();
    let error = ResidencyMap::new(&huge, 0, [true; 3]).unwrap_err();
    assert_eq!(error, TileError::TooManyTiles { tiles: 1 << 40, limit: u64::from(u32::MAX) });
}

#[test]
fn thin_tiles_of_a_large_volume_ask_for_more_than_neighbours() {
    // As a 3D image of 2048 texels in tiles of 16, only smaller: a texel of mip 4 is as wide as four tiles of
    // mip 0, and half a one as two.
    let layout = TileLayout::new(plain([128, 1, 1], [4, 1, 1], 8)).unwrap();
    let mut map = ResidencyMap::new(&layout, 0, [false; 3]).unwrap();
    // Mip 4 has 8 texels in two tiles; the second one is missing.
    let is_mapped = |tile: TileCoord| tile != TileCoord { mip: 4, x: 1, ..TileCoord::default() };
    map.update(is_mapped);
    // Texels 64.. of mip 0 lie over it; those from 56 on read it when they filter. 3x3 alone would say 60.
    let first = map.texels().iter().position(|&value| value == 5);
    assert_eq!(first, Some(12), "one texel of mip 4, 16 texels of mip 0, before texel 64");
    assert!(map.texels()[12..].iter().all(|&value| value == 5) && map.texels()[11] == 0);
}

#[test]
fn a_cut_last_tile_lets_its_neighbour_wrap_past_it() {
    // The last of five tiles is one texel wide: a sample near the end of the fourth reads around the edge.
    let layout = TileLayout::new(plain([129, 1, 1], [32, 1, 1], 8)).unwrap();
    let mut map = ResidencyMap::new(&layout, 0, [true, false, false]).unwrap();
    let hole = TileCoord { mip: 1, ..TileCoord::default() };
    map.update(|tile| tile != hole);
    assert_eq!(map.texels(), [2, 2, 2, 2, 2]);
    let mapped: Tiles = naive_tiles(layout.tiling(), 0).into_iter().filter(|tile| *tile != hole).collect();
    let edge = ((128u64 << 20) / 129) as u32;
    sample_everywhere(&layout, &map, [true, false, false], &mapped, &[[edge, 0, 0]]);
}

#[test]
fn common_images_need_only_the_neighbourhood() {
    let shapes = [([256, 256, 1], 0), ([128, 128, 1], 0), ([64, 64, 1], 0), ([32, 32, 16], 1)];
    for (granularity, depth) in shapes {
        let extent = if depth == 0 { [8 * granularity[0], 4 * granularity[1], 1] } else { [128, 64, 64] };
        let layout = TileLayout::new(plain(extent, granularity, full_mips(extent))).unwrap();
        for (wrap, step) in [([false; 3], 5), ([true; 3], 3)] {
            let mut map = ResidencyMap::new(&layout, 0, wrap).unwrap();
            let bits: Vec<bool> = (0..step).map(|n| n > 0).collect();
            let mapped = mapped(&layout, &bits, true);
            map.update(|tile| mapped.contains(&tile));
            assert_eq!(map.texels(), naive_dilated(&layout, wrap, &mapped));
        }
    }
}

proptest! {
    /// No sample at an LOD of at least the map's value reads what is not mapped.
    #[test]
    fn filtering_is_safe(
        tiling in any_tiling(64, 1),
        bits in prop::collection::vec(prop::bool::weighted(0.8), 1..200),
        closed in any::<bool>(),
        wrap in any::<[bool; 3]>(),
        points in points(),
    ) {
        let layout = TileLayout::new(tiling).unwrap();
        let mapped = mapped(&layout, &bits, closed);
        let mut map = ResidencyMap::new(&layout, 0, wrap).unwrap();
        map.update(|tile| mapped.contains(&tile));
        sample_everywhere(&layout, &map, wrap, &mapped, &points);
    }

    /// Exactly what the rules ask for, and so never finer than the dilated definition.
    #[test]
    fn the_map_is_what_the_rules_ask_for(
        tiling in any_tiling(24, 1),
        bits in prop::collection::vec(prop::bool::weighted(0.9), 1..100),
        wrap in any::<[bool; 3]>(),
    ) {
        let layout = TileLayout::new(tiling).unwrap();
        if layout.standard_mips() == 0 {
            return Ok(());
        }
        let mapped = mapped(&layout, &bits, false);
        let mut map = ResidencyMap::new(&layout, 0, wrap).unwrap();
        map.update(|tile| mapped.contains(&tile));
        let dilated = naive_dilated(&layout, wrap, &mapped);
        prop_assert!(map.texels().iter().zip(&dilated).all(|(value, least)| value >= least));
        prop_assert_eq!(map.texels(), naive_rules(&layout, wrap, &mapped));
        // One texel of the coarsest mip in question is no wider than a tile, and no tile is cut.
        let plain = (0..3).all(|axis| {
            let coarsest = layout.mip_extent(layout.floor_lod().saturating_sub(1))[axis];
            let whole = tiling.extent[axis].is_multiple_of(tiling.granularity[axis]);
            whole && tiling.extent[axis] <= coarsest * tiling.granularity[axis]
        });
        if plain {
            prop_assert_eq!(map.texels(), dilated);
        }
    }

    /// Updates of a few tiles end where a full update ends, and report a box that holds all changes.
    #[test]
    fn partial_updates_equal_full_ones(
        tiling in any_tiling(32, 2),
        wrap in any::<[bool; 3]>(),
        flips in prop::collection::vec(prop::collection::vec(any::<prop::sample::Index>(), 0..6), 1..10),
        start in prop::collection::vec(prop::bool::weighted(0.9), 1..50),
    ) {
        let layout = TileLayout::new(tiling).unwrap();
        let layer = tiling.layers - 1;
        let all = naive_tiles(&tiling, layer);
        let mut mapped: Tiles = all.iter().zip(start.iter().cycle()).filter(|(_, bit)| **bit).map(|(t, _)| *t).collect();
        let mut map = ResidencyMap::new(&layout, layer, wrap).unwrap();
        map.update(|tile| mapped.contains(&tile));
        for step in flips {
            if all.is_empty() {
                break;
            }
            let mut changed = vec![TileCoord { layer: layer + 1, ..TileCoord::default() }];
            for index in step {
                let tile = *index.get(&all);
                if !mapped.remove(&tile) {
                    mapped.insert(tile);
                }
                changed.push(tile);
            }
            let before = map.clone();
            let partial = map.update_tiles(&changed, |tile| mapped.contains(&tile));
            let mut full = before.clone();
            let region = full.update(|tile| mapped.contains(&tile));
            prop_assert_eq!(&map, &full);
            prop_assert_eq!(partial, region);
            let size = map.size();
            let (mut low, mut high) = ([u32::MAX; 3], [0; 3]);
            for (at, (old, new)) in before.texels().iter().zip(map.texels()).enumerate() {
                let at = at as u32;
                if old != new {
                    let texel = [at % size[0], at / size[0] % size[1], at / size[0] / size[1]];
                    low = std::array::from_fn(|axis| low[axis].min(texel[axis]));
                    high = std::array::from_fn(|axis| high[axis].max(texel[axis] + 1));
                }
            }
            let expected = (low[0] != u32::MAX)
                .then(|| TexelRegion { offset: low, extent: std::array::from_fn(|axis| high[axis] - low[axis]) });
            prop_assert_eq!(region, expected);
            prop_assert_eq!(map.resident_levels().iter().sum::<u64>(), map.texels().len() as u64);
        }
    }
}
