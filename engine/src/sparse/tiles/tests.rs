//! Images to try things on; the tests are in the files beside, one for each part.

use proptest::prelude::*;

use super::*;

mod layout;
mod residency;
mod streamer;

const TILE: u64 = 64 << 10;

/// The 512x512 RGBA8 image of the worked example, with or without its tail.
fn worked_example(with_tail: bool) -> ImageTiling {
    let tail = MipTail { first_lod: 3, bytes: TILE, offset: 21 * TILE, stride: 0, single: false };
    ImageTiling {
        extent: [512, 512, 1],
        mips: 10,
        layers: 1,
        granularity: [128, 128, 1],
        tile_bytes: TILE,
        // What lavapipe reports: a tail past the last mip, of no size.
        tail: if with_tail { tail } else { MipTail { first_lod: 10, ..MipTail::default() } },
        metadata: None,
    }
}

/// A whole image in 2D or 3D without a tail.
fn plain(extent: [u32; 3], granularity: [u32; 3], mips: u32) -> ImageTiling {
    ImageTiling {
        extent,
        mips,
        layers: 1,
        granularity,
        tile_bytes: TILE,
        tail: MipTail::default(),
        metadata: None,
    }
}

fn full_mips(extent: [u32; 3]) -> u32 {
    extent.into_iter().max().map_or(1, |longest| longest.ilog2() + 1)
}

/// Small images of every kind: 1D to 3D, arrays, any tail or none, awkward extents and granularities.
fn any_tiling(longest: u32, layers: u32) -> impl Strategy<Value = ImageTiling> {
    let extent = prop_oneof![
        (1..=longest).prop_map(|w| [w, 1, 1]),
        (1..=longest, 1..=longest).prop_map(|(w, h)| [w, h, 1]),
        (1..=longest / 2 + 1, 1..=longest / 2 + 1, 1..=longest / 4 + 1).prop_map(|(w, h, d)| [w, h, d]),
    ];
    let tail = (0u32..8, 0u64..4, 0u64..9, 0u64..3, any::<bool>());
    let metadata = prop::option::of((1u64..3, 0u64..3, any::<bool>()));
    (extent, prop::array::uniform3(1u32..6), 1u32..=8, 1..=layers, tail, metadata).prop_map(
        |(extent, granularity, mips, layers, (first_lod, tiles, offset, gap, single), metadata)| {
            ImageTiling {
                extent,
                mips: mips.min(full_mips(extent)),
                layers,
                granularity,
                tile_bytes: 256,
                tail: MipTail {
                    first_lod,
                    bytes: tiles * 256,
                    offset: offset * 256,
                    stride: (tiles + gap) * 256,
                    single,
                },
                metadata: metadata.map(|(tiles, offset, single)| MipTail {
                    first_lod: 0,
                    bytes: tiles * 256,
                    offset: offset * 256,
                    stride: tiles * 256,
                    single,
                }),
            }
        },
    )
}

/// Extents of a mip, computed by halving step by step.
fn naive_extent(tiling: &ImageTiling, mip: u32) -> [u32; 3] {
    let mut extent = tiling.extent;
    for _ in 0..mip {
        extent = extent.map(|e| if e == 1 { 1 } else { e / 2 });
    }
    extent
}

/// Mips in front of the tail, by the rule in words.
fn naive_standard_mips(tiling: &ImageTiling) -> u32 {
    (0..tiling.mips).filter(|&mip| tiling.tail.bytes == 0 || mip < tiling.tail.first_lod).count() as u32
}

/// Every tile of every layer in front of the tail, in the linear order, by walking over texels.
fn naive_tiles(tiling: &ImageTiling, layer: u32) -> Vec<TileCoord> {
    let mut tiles = Vec::new();
    for mip in 0..naive_standard_mips(tiling) {
        let [w, h, d] = naive_extent(tiling, mip);
        let [gw, gh, gd] = tiling.granularity.map(|g| g as usize);
        for z in (0..d).step_by(gd) {
            for y in (0..h).step_by(gh) {
                for x in (0..w).step_by(gw) {
                    let [gw, gh, gd] = tiling.granularity;
                    tiles.push(TileCoord { layer, mip, x: x / gw, y: y / gh, z: z / gd });
                }
            }
        }
    }
    tiles
}

/// Whether some point of the image falls in both tiles, whatever their mips: products instead of quotients.
fn naive_share_a_point(tiling: &ImageTiling, a: TileCoord, b: TileCoord) -> bool {
    let (from, to) = (naive_extent(tiling, a.mip), naive_extent(tiling, b.mip));
    let (at, bt) = ([a.x, a.y, a.z], [b.x, b.y, b.z]);
    a.layer == b.layer
        && (0..3).all(|axis| {
            let g = u64::from(tiling.granularity[axis]);
            let (w, v) = (u64::from(from[axis]), u64::from(to[axis]));
            let (a0, b0) = (u64::from(at[axis]) * g, u64::from(bt[axis]) * g);
            let (a1, b1) = ((a0 + g).min(w), (b0 + g).min(v));
            a0 * v < b1 * w && b0 * w < a1 * v
        })
}
