//! Worked examples, refusals, and every texel of small images counted.

use super::*;

fn layout(tiling: ImageTiling) -> TileLayout {
    TileLayout::new(tiling).unwrap()
}

fn tile(layer: u32, mip: u32, x: u32, y: u32, z: u32) -> TileCoord {
    TileCoord { layer, mip, x, y, z }
}

#[test]
fn the_worked_example() {
    let with_tail = layout(worked_example(true));
    assert_eq!(with_tail.tiles(), 22);
    assert_eq!(with_tail.locate(18), Some(TileLocation::Tile(tile(0, 1, 0, 1, 0))));
    assert_eq!(with_tail.locate(21), Some(TileLocation::Tail { layer: 0, tile: 0 }));
    assert_eq!(with_tail.locate(22), None);
    assert_eq!((with_tail.has_tail(), with_tail.tail_first_lod(), with_tail.floor_lod()), (true, 3, 3));
    assert_eq!(with_tail.floor_tiles().count(), 0);
    let tail = TailRange { layer: 0, offset: 21 * TILE, bytes: TILE, first_tile: 21 };
    assert_eq!(with_tail.tails().collect::<Vec<_>>(), [tail]);
    assert_eq!(with_tail.tile_of_texel(0, 9, [0, 0, 0]), Some(TileLocation::Tail { layer: 0, tile: 0 }));
    assert_eq!(with_tail.tile_of_texel(0, 10, [0, 0, 0]), None);
    assert!(with_tail.parents(tile(0, 2, 0, 0, 0)).is_empty(), "the next mip is in the tail");

    let without = layout(worked_example(false));
    assert_eq!((without.tiles(), without.has_tail(), without.tail_first_lod()), (28, false, 10));
    assert_eq!(without.floor_lod(), 9);
    assert_eq!(without.floor_tiles().collect::<Vec<_>>(), [tile(0, 9, 0, 0, 0)]);
    assert_eq!(without.tails().count(), 0);
    let last = TexelRegion { offset: [0, 0, 0], extent: [1, 1, 1] };
    assert_eq!(without.region(tile(0, 9, 0, 0, 0)), Some(last));

    insta::assert_snapshot!(format!("{with_tail}{without}"), @r"
    512x512x1 texels, 10 mips, 1 layers: 22 tiles
      a tile is 128x128x1 texels, 65536 bytes
      mip 0: 4x4x1 tiles from tile 0 of its layer
      mip 1: 2x2x1 tiles from tile 16 of its layer
      mip 2: 1x1x1 tiles from tile 20 of its layer
      tail from mip 3: 1 tiles a layer
    512x512x1 texels, 10 mips, 1 layers: 28 tiles
      a tile is 128x128x1 texels, 65536 bytes
      mip 0: 4x4x1 tiles from tile 0 of its layer
      mip 1: 2x2x1 tiles from tile 16 of its layer
      mip 2: 1x1x1 tiles from tile 20 of its layer
      mip 3: 1x1x1 tiles from tile 21 of its layer
      mip 4: 1x1x1 tiles from tile 22 of its layer
      mip 5: 1x1x1 tiles from tile 23 of its layer
      mip 6: 1x1x1 tiles from tile 24 of its layer
      mip 7: 1x1x1 tiles from tile 25 of its layer
      mip 8: 1x1x1 tiles from tile 26 of its layer
      mip 9: 1x1x1 tiles from tile 27 of its layer
      no mip tail: mip 9 is always resident
    ");
}

#[test]
fn a_measured_image_with_cut_tiles() {
    // 1000x700 RGBA8 on NVIDIA 580: the tail starts where a mip drops below a tile in either axis.
    let tail = MipTail { first_lod: 3, bytes: 2 * TILE, offset: 0x50_0000, stride: 0, single: false };
    let image = layout(ImageTiling { tail, ..plain([1000, 700, 1], [128, 128, 1], 10) });
    assert_eq!([0, 1, 2, 3].map(|mip| image.mip_tiles(mip)), [[8, 6, 1], [4, 3, 1], [2, 2, 1], [0, 0, 0]]);
    assert_eq!(image.mip_extent(3), [125, 87, 1]);
    assert_eq!(image.tiles(), 48 + 12 + 4 + 2);
    let corner = TexelRegion { offset: [896, 640, 0], extent: [104, 60, 1] };
    assert_eq!(image.region(tile(0, 0, 7, 5, 0)), Some(corner));
    assert_eq!(image.locate(65), Some(TileLocation::Tail { layer: 0, tile: 1 }));
}

#[test]
fn tile_shapes_of_64_kib() {
    let two: [([u32; 3], u64, [u32; 2]); 11] = [
        ([256, 256, 1], 1, [1, 1]),
        ([256, 128, 1], 2, [1, 1]),
        ([128, 128, 1], 4, [1, 1]),
        ([128, 64, 1], 8, [1, 1]),
        ([64, 64, 1], 16, [1, 1]),
        ([64, 32, 32], 1, [1, 1]),
        ([32, 32, 32], 2, [1, 1]),
        ([32, 32, 16], 4, [1, 1]),
        ([32, 16, 16], 8, [1, 1]),
        ([16, 16, 16], 16, [1, 1]),
        ([512, 256, 1], 8, [4, 4]),
    ];
    // The 3D block formats, whose 64 KiB are counted in blocks of 4x4x1 texels.
    let three = [([128, 64, 16], 8, [4, 4]), ([64, 64, 16], 16, [4, 4])];
    for (shape, bytes, block) in two.into_iter().chain(three) {
        let blocks = [shape[0] / block[0], shape[1] / block[1], shape[2]];
        let product = blocks.iter().fold(bytes, |bytes, &n| bytes * u64::from(n));
        assert_eq!(product, TILE, "{shape:?} is a tile");
        // Both ways of reporting it come to the same.
        for reported in [shape, blocks] {
            assert_eq!(granularity_in_texels(reported, block, bytes, TILE), shape);
        }
        // Two tiles and a bit in each axis that exists.
        let extent = shape.map(|n| if n == 1 { 1 } else { 2 * n + 1 });
        let image = layout(plain(extent, shape, full_mips(extent)));
        let axes = shape.iter().filter(|&&n| n > 1).count() as u32;
        let per_axis = |tiles: [u32; 3]| tiles.map(u64::from).iter().product::<u64>();
        assert_eq!(per_axis(image.mip_tiles(0)), 3u64.pow(axes));
        assert_eq!(per_axis(image.mip_tiles(1)), 1);
        assert_eq!(image.tiles(), 3u64.pow(axes) + u64::from(image.standard_mips()) - 1);
    }
}

#[test]
fn granularity_units() {
    assert_eq!(granularity_in_texels([128, 64, 1], [4, 4], 8, TILE), [512, 256, 1], "Mesa 25.0, BC1");
    assert_eq!(granularity_in_texels([512, 256, 1], [4, 4], 8, TILE), [512, 256, 1], "Mesa 26.1, BC1");
    assert_eq!(granularity_in_texels([64, 64, 1], [4, 4], 16, TILE), [256, 256, 1], "BC5 in blocks");
    assert_eq!(granularity_in_texels([128, 128, 1], [1, 1], 4, TILE), [128, 128, 1]);
    let largest = [u32::MAX; 3];
    assert_eq!(granularity_in_texels(largest, [4, 4], u64::MAX, TILE), largest, "no overflow");
}

#[test]
fn arrays_with_their_own_or_a_shared_tail() {
    let image = |single| {
        let tail = MipTail { first_lod: 3, bytes: 2 * TILE, offset: 64 * TILE, stride: 32 * TILE, single };
        layout(ImageTiling { layers: 3, tail, ..worked_example(true) })
    };
    let own = image(false);
    assert_eq!((own.tiles_per_layer(), own.tiles()), (23, 69));
    assert_eq!(own.locate(44), Some(TileLocation::Tail { layer: 1, tile: 0 }));
    assert_eq!(own.locate(46), Some(TileLocation::Tile(tile(2, 0, 0, 0, 0))));
    let tails: Vec<_> = own.tails().map(|tail| (tail.layer, tail.offset / TILE, tail.first_tile)).collect();
    assert_eq!(tails, [(0, 64, 21), (1, 96, 44), (2, 128, 67)]);
    assert_eq!(own.tile_of_texel(2, 4, [0; 3]), Some(TileLocation::Tail { layer: 2, tile: 0 }));

    let shared = image(true);
    assert_eq!((shared.tiles_per_layer(), shared.tiles()), (21, 65));
    assert_eq!(shared.locate(64), Some(TileLocation::Tail { layer: 0, tile: 1 }));
    assert_eq!(shared.index(TileLocation::Tail { layer: 1, tile: 0 }), None);
    let tails: Vec<_> =
        shared.tails().map(|tail| (tail.layer, tail.offset / TILE, tail.first_tile)).collect();
    assert_eq!(tails, [(0, 64, 63)]);
    assert_eq!(shared.tile_of_texel(2, 4, [0; 3]), Some(TileLocation::Tail { layer: 0, tile: 0 }));
}

#[test]
fn images_that_are_all_tail() {
    for single in [false, true] {
        let tail = MipTail { first_lod: 0, bytes: TILE, offset: 0, stride: TILE, single };
        let image = layout(ImageTiling { layers: 4, tail, ..plain([60, 60, 1], [128, 128, 1], 6) });
        let copies = if single { 1 } else { 4 };
        assert_eq!((image.tiles(), image.standard_mips(), image.floor_lod()), (copies, 0, 0));
        assert_eq!(image.tails().count() as u64, copies);
        let last = TileLocation::Tail { layer: copies as u32 - 1, tile: 0 };
        assert_eq!(image.locate(copies - 1), Some(last));
        assert_eq!(image.mip_tiles(0), [0; 3]);
        assert!(image.mip_block(0, 0).is_empty());
    }
}

#[test]
fn arrays_past_32_bits() {
    // NVIDIA 580: RGBA8 of 16384 texels has its tail from mip 8, one tile.
    let tail =
        MipTail { first_lod: 8, bytes: TILE, offset: 21845 * TILE, stride: 21846 * TILE, single: false };
    let image = layout(ImageTiling { layers: 2048, tail, ..plain([16384, 16384, 1], [128, 128, 1], 15) });
    assert_eq!(image.tiles(), 21846 * 2048);
    assert_eq!(image.tiles() * image.tile_bytes(), 2_932_120_485_888);
    let last = image.tiles() - 1;
    assert_eq!(image.locate(last), Some(TileLocation::Tail { layer: 2047, tile: 0 }));
    assert_eq!(image.locate(last - 1), Some(TileLocation::Tile(tile(2047, 7, 0, 0, 0))));
    assert_eq!(image.tails().last().map(|tail| tail.offset), Some((2047 * 21846 + 21845) * TILE));
    assert_eq!(image.tile_index(tile(2047, 0, 127, 127, 0)), Some(2047 * 21846 + 16383));

    let huge = plain([u32::MAX, u32::MAX, 1], [1, 1, 1], 1);
    let too_large = TileError::TooLarge { extent: huge.extent, layers: 1 };
    assert_eq!(TileLayout::new(huge), Err(too_large), "2^64 tiles of 2^16 bytes");
    let huge = ImageTiling { tile_bytes: 1, ..huge };
    let index = layout(huge).tile_index(tile(0, 0, u32::MAX - 1, u32::MAX - 1, 0));
    assert_eq!(index, Some(u64::from(u32::MAX) * u64::from(u32::MAX) - 1));
    assert_eq!(layout(huge).locate(index.unwrap_or(0)).map(|at| layout(huge).index(at)), Some(index));
    assert!(TileLayout::new(ImageTiling { layers: 2, ..huge }).is_err());
}

#[test]
fn metadata_and_chunks() {
    let metadata =
        MipTail { first_lod: 0, bytes: 2 * TILE, offset: 100 * TILE, stride: 4 * TILE, single: false };
    let image = layout(ImageTiling { layers: 3, metadata: Some(metadata), ..worked_example(false) });
    let expected: Vec<_> = [100, 104, 108].map(|at| (at * TILE, 2 * TILE)).into();
    assert_eq!(image.metadata().collect::<Vec<_>>(), expected);
    assert_eq!(image.tiles(), 3 * 28, "no tile of it is in the order");
    let single = MipTail { single: true, ..metadata };
    let image = layout(ImageTiling { metadata: Some(single), ..worked_example(true) });
    assert_eq!(image.metadata().collect::<Vec<_>>(), [(100 * TILE, 2 * TILE)]);
    assert_eq!(image.check_chunk(2 * TILE), Ok(()));
    insta::assert_snapshot!(image.check_chunk(TILE).unwrap_err(), @"the metadata is 131072 bytes, but a chunk is 65536 bytes, and a tail must lie in one chunk: raise the knob sparse.chunk to at least 131072 bytes");
    let error = image.check_chunk(TILE - 1).unwrap_err();
    assert_eq!(error, TileError::TailPastChunk { part: "mip tail", bytes: TILE, chunk_bytes: TILE - 1 });
    assert_eq!(layout(worked_example(false)).check_chunk(0), Ok(()), "nothing to fit");
}

#[test]
fn what_is_refused() {
    let good = ImageTiling { layers: 2, ..worked_example(true) };
    let tail = MipTail { stride: 22 * TILE, ..good.tail };
    let good = ImageTiling { tail, ..good };
    assert!(TileLayout::new(good).is_ok());
    let refuse = |tiling| TileLayout::new(tiling).unwrap_err().to_string();
    let mut text = String::new();
    for bad in [
        ImageTiling { extent: [512, 0, 1], ..good },
        ImageTiling { mips: 0, ..good },
        ImageTiling { layers: 0, ..good },
        ImageTiling { granularity: [128, 128, 0], ..good },
        ImageTiling { tile_bytes: 0, ..good },
        ImageTiling { mips: 11, ..good },
        ImageTiling { tail: MipTail { bytes: TILE + 1, ..tail }, ..good },
        ImageTiling { tail: MipTail { offset: 100, ..tail }, ..good },
        ImageTiling { tail: MipTail { stride: TILE + 4096, ..tail }, ..good },
        ImageTiling { tail: MipTail { bytes: 23 * TILE, ..tail }, ..good },
        ImageTiling { tail: MipTail { offset: u64::MAX - TILE + 1, ..tail }, ..good },
        ImageTiling { metadata: Some(MipTail { bytes: 1, ..MipTail::default() }), ..good },
    ] {
        text += &refuse(bad);
        text.push('\n');
    }
    insta::assert_snapshot!(text, @r"
    the extent of a tiled image is zero: it must be at least one (a 2D image has depth 1)
    the mip count of a tiled image is zero: it must be at least one (a 2D image has depth 1)
    the layer count of a tiled image is zero: it must be at least one (a 2D image has depth 1)
    the granularity of a tiled image is zero: it must be at least one (a 2D image has depth 1)
    the tile size of a tiled image is zero: it must be at least one (a 2D image has depth 1)
    11 mips were asked for, but an extent of 512x512x1 texels has at most 10: ask for fewer
    the size of the mip tail is 65537 bytes, which is no multiple of the tile (65536 bytes): opaque binds need whole tiles, pass what the driver reports for this image
    the offset of the mip tail is 100 bytes, which is no multiple of the tile (65536 bytes): opaque binds need whole tiles, pass what the driver reports for this image
    the stride of the mip tail is 69632 bytes, which is no multiple of the tile (65536 bytes): opaque binds need whole tiles, pass what the driver reports for this image
    the mip tail has a stride of 1441792 bytes a layer, but is 1507328 bytes in each of 2 layers: the stride must not be smaller, or the tail must be a single one
    an image of 512x512x1 texels in 2 layers passes 2^64 bytes of tiles or tail: ask for less
    the size of the metadata is 1 bytes, which is no multiple of the tile (65536 bytes): opaque binds need whole tiles, pass what the driver reports for this image
    ");
    // Numbers that nothing uses may be anything.
    let odd = MipTail { stride: 5, ..tail };
    assert!(TileLayout::new(ImageTiling { layers: 1, tail: odd, ..good }).is_ok());
    assert!(TileLayout::new(ImageTiling { tail: MipTail { single: true, ..odd }, ..good }).is_ok());
    assert!(
        TileLayout::new(ImageTiling { tail: MipTail { first_lod: 10, offset: 5, ..odd }, ..good }).is_ok()
    );
}

#[test]
fn extents_that_are_no_power_of_two_have_two_parents() {
    // Mip 0 is 5 texels, mip 1 is 2: the middle texel covers the end of one and the start of the other.
    let image = layout(plain([5, 1, 1], [1, 1, 1], 3));
    let parents = |x| image.parents(tile(0, 0, x, 0, 0)).tiles().map(|parent| parent.x).collect::<Vec<_>>();
    assert_eq!([0, 1, 2, 3, 4].map(parents), [vec![0], vec![0], vec![0, 1], vec![1], vec![1]]);
    let children = |x| image.children(tile(0, 1, x, 0, 0)).tiles().map(|child| child.x).collect::<Vec<_>>();
    assert_eq!([0, 1].map(children), [vec![0, 1, 2], vec![2, 3, 4]]);
    assert!(image.parents(tile(0, 2, 0, 0, 0)).is_empty(), "the last mip");
    assert!(image.children(tile(0, 0, 0, 0, 0)).is_empty(), "mip 0");
    assert!(image.parents(tile(0, 0, 5, 0, 0)).is_empty(), "no such tile");
    assert!(image.parents(tile(0, u32::MAX, 0, 0, 0)).is_empty());
    assert!(image.children(tile(0, u32::MAX, 0, 0, 0)).is_empty());
}

proptest! {
    /// The order, both ways, against a list that is made by walking over the image.
    #[test]
    fn index_and_location_are_inverse(tiling in any_tiling(24, 4)) {
        let layout = TileLayout::new(tiling).unwrap();
        let has_tail = naive_standard_mips(&tiling) < tiling.mips;
        let tail_tiles = if has_tail { tiling.tail.bytes / tiling.tile_bytes } else { 0 };
        let mut all = Vec::new();
        for layer in 0..tiling.layers {
            all.extend(naive_tiles(&tiling, layer).into_iter().map(TileLocation::Tile));
            if !tiling.tail.single {
                all.extend((0..tail_tiles).map(|tile| TileLocation::Tail { layer, tile }));
            }
        }
        if tiling.tail.single {
            all.extend((0..tail_tiles).map(|tile| TileLocation::Tail { layer: 0, tile }));
        }
        prop_assert_eq!(layout.tiles(), all.len() as u64);
        for (index, location) in (0u64..).zip(&all) {
            prop_assert_eq!(layout.locate(index), Some(*location));
            prop_assert_eq!(layout.index(*location), Some(index));
        }
        prop_assert_eq!(layout.locate(all.len() as u64), None);
        prop_assert_eq!(layout.locate(u64::MAX), None);
        for location in [
            TileLocation::Tail { layer: 0, tile: tail_tiles },
            TileLocation::Tail { layer: tiling.layers, tile: 0 },
            TileLocation::Tile(tile(tiling.layers, 0, 0, 0, 0)),
            TileLocation::Tile(tile(0, naive_standard_mips(&tiling), 0, 0, 0)),
            TileLocation::Tile(tile(0, 0, tiling.extent[0].div_ceil(tiling.granularity[0]), 0, 0)),
            TileLocation::Tile(tile(0, 0, u32::MAX, u32::MAX, u32::MAX)),
        ] {
            prop_assert_eq!(layout.index(location), None);
        }

        let tails: Vec<_> = layout.tails().collect();
        let copies = if !has_tail { 0 } else if tiling.tail.single { 1 } else { tiling.layers as usize };
        prop_assert_eq!(tails.len(), copies);
        let mut end = 0;
        for tail in tails {
            prop_assert_eq!(layout.locate(tail.first_tile), Some(TileLocation::Tail { layer: tail.layer, tile: 0 }));
            prop_assert_eq!(tail.offset, tiling.tail.offset + u64::from(tail.layer) * tiling.tail.stride);
            prop_assert!(tail.offset >= end && tail.bytes == tiling.tail.bytes);
            end = tail.offset + tail.bytes;
        }
    }

    /// Every texel of every mip and layer lies in exactly one region, and regions hold nothing else.
    #[test]
    fn regions_partition_their_mip(tiling in any_tiling(24, 2)) {
        let layout = TileLayout::new(tiling).unwrap();
        for layer in 0..tiling.layers {
            let tiles = naive_tiles(&tiling, layer);
            for mip in 0..tiling.mips {
                let extent = naive_extent(&tiling, mip);
                prop_assert_eq!(layout.mip_extent(mip), extent);
                let [w, h, d] = extent.map(|e| e as usize);
                let mut owner = vec![None; w * h * d];
                for tile in tiles.iter().filter(|tile| tile.mip == mip) {
                    let TexelRegion { offset, extent } = layout.region(*tile).unwrap();
                    prop_assert!(extent.iter().all(|&e| e > 0));
                    let [x0, y0, z0] = offset.map(|e| e as usize);
                    let [ew, eh, ed] = extent.map(|e| e as usize);
                    prop_assert!(x0 + ew <= w && y0 + eh <= h && z0 + ed <= d, "past the edge");
                    for z in z0..z0 + ed {
                        for y in y0..y0 + eh {
                            for x in x0..x0 + ew {
                                let slot = &mut owner[(z * h + y) * w + x];
                                prop_assert_eq!(slot.replace(*tile), None, "two tiles hold a texel");
                            }
                        }
                    }
                }
                for (at, owner) in owner.into_iter().enumerate() {
                    let texel = [at % w, at / w % h, at / w / h].map(|t| t as u32);
                    let expected = owner.map_or(
                        TileLocation::Tail { layer: if tiling.tail.single { 0 } else { layer }, tile: 0 },
                        TileLocation::Tile,
                    );
                    prop_assert_eq!(owner.is_none(), mip >= naive_standard_mips(&tiling));
                    prop_assert_eq!(layout.tile_of_texel(layer, mip, texel), Some(expected));
                    prop_assert!(layout.index(expected).is_some());
                }
                prop_assert_eq!(layout.tile_of_texel(layer, mip, extent), None);
            }
        }
        prop_assert_eq!(layout.tile_of_texel(tiling.layers, 0, [0; 3]), None);
    }

    /// Parents are the tiles of the next mip that share a point, children the inverse.
    #[test]
    fn parents_and_children_share_points(tiling in any_tiling(16, 2)) {
        let layout = TileLayout::new(tiling).unwrap();
        let all: Vec<_> = (0..tiling.layers).flat_map(|layer| naive_tiles(&tiling, layer)).collect();
        for &a in &all {
            let (parents, children) = (layout.parents(a), layout.children(a));
            for axis in 0..3 {
                prop_assert!(parents.end[axis] - parents.first[axis] <= 2, "two an axis");
            }
            for (block, mip) in [(&parents, a.mip.wrapping_add(1)), (&children, a.mip.wrapping_sub(1))] {
                let expected: Vec<_> = all
                    .iter()
                    .copied()
                    .filter(|b| b.mip == mip && naive_share_a_point(&tiling, a, *b))
                    .collect();
                prop_assert_eq!(block.is_empty(), expected.is_empty());
                prop_assert!(all.iter().all(|b| block.contains(*b) == expected.contains(b)));
                prop_assert_eq!(block.tiles().collect::<Vec<_>>(), expected);
            }
            prop_assert!(children.tiles().all(|child| layout.parents(child).contains(a)));
            prop_assert!(parents.tiles().all(|parent| layout.children(parent).contains(a)));
        }
    }
}
