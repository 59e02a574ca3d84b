//! The check values of sizes, and who goes.

use proptest::prelude::*;

use super::*;
use crate::vt::planner::{Budget, Cause, PageReason, Quality};
use LayerFormat::*;

const MIB: u64 = 1 << 20;

fn desc(tile: u32, layers: &[LayerFormat], mib: u64) -> PoolDesc {
    PoolDesc { budget_bytes: mib * MIB, ..PoolDesc::new("test", tile, 4, layers) }
}

#[test]
fn sizes_are_the_check_values() {
    let size = PoolSize::of(&desc(128, &[Bc1], 64)).unwrap();
    assert_eq!((size.page_bytes, size.asked_pages), (9248, 7256));
    assert_eq!((size.side, size.pages(), size.texels), (85, 7225, 11560));
    assert_eq!(format!("{:.3}", size.bytes() as f64 / MIB as f64), "63.721");

    let three = [Bc3, Bc5, Bc3];
    let size = PoolSize::of(&desc(256, &three, 256)).unwrap();
    assert_eq!((size.page_bytes, size.side, size.pages(), size.texels), (209_088, 35, 1225, 9240));
    assert_eq!(format!("{:.3}", size.bytes() as f64 / MIB as f64), "244.267");
    assert_eq!(size.usable(), 1224);
    assert_eq!(PoolSize::of(&desc(256, &three, 64)).unwrap().side, 17);
    assert_eq!(desc(256, &three, 64).physical_tile(), 264);
    assert_eq!(desc(128, &three, 64).physical_tile(), 136);
}

#[test]
fn sides_are_cut_to_the_image_and_to_page_ids() {
    // 16384 texels hold 120 pages of 136.
    let size = PoolSize::of(&desc(128, &[Bc1], 1024)).unwrap();
    assert_eq!((size.asked_side, size.side, size.texels), (340, 120, 16320));
    let size = PoolSize::of(&PoolDesc { largest_image: 32768, ..desc(128, &[Bc1], 1024) }).unwrap();
    assert_eq!((size.side, size.usable()), (181, 32760));
    assert!(size.pages() < 1 << 15 && 182 * 182 > 1 << 15);
}

#[test]
fn a_split_pool_adds_atlases_until_a_side_fits() {
    let split = |split_tiles| PoolSize::of(&PoolDesc { split_tiles, ..desc(128, &[Bc1], 64) }).unwrap();
    assert_eq!((split(0).pools, split(0).side), (1, 85));
    assert_eq!((split(85).pools, split(85).side), (1, 85));
    // 7256 / 2 = 3628, whose root is 60.
    assert_eq!((split(64).pools, split(64).side), (2, 60));
    for most in 2..90 {
        let size = split(most);
        let side = |pools: u64| (7256 / pools).isqrt();
        assert!(side(u64::from(size.pools)) <= u64::from(most) || size.pools == 64);
        assert!(
            size.pools == 1 || side(u64::from(size.pools) - 1) > u64::from(most),
            "no more than are needed"
        );
    }
    let huge = PoolDesc { split_tiles: 4096, ..desc(128, &[Bc1], 1024) };
    assert_eq!(PoolSize::of(&huge).map(|size| (size.pools, size.side)).unwrap(), (8, 120));
}

#[test]
fn what_cannot_be_is_told() {
    let refused = |desc: PoolDesc| PoolSize::of(&desc).unwrap_err().to_string();
    let refusals = [
        refused(desc(128, &[], 64)),
        refused(desc(0, &[Bc1], 64)),
        refused(PoolDesc { border: 1, ..desc(128, &[Bc1], 64) }),
        refused(desc(128, &[Bc1], 0)),
        refused(PoolDesc { largest_image: 200, ..desc(128, &[Bc1], 64) }),
    ];
    insta::assert_snapshot!(refusals.join("\n"), @r"
    pool test: 0 layers and tiles of 128 texels were asked for: it needs 1 to 4 layers and a tile of at least 1 texel
    pool test: 1 layers and tiles of 0 texels were asked for: it needs 1 to 4 layers and a tile of at least 1 texel
    pool test: a tile of 128 texels with a border of 1 makes pages of 130, which are no whole blocks of 4: choose a tile and a border whose sum tile + 2 * border is a multiple of 4
    pool test: 0 bytes and images of 16384 texels a side give 0 pages a side, at 9248 bytes and 136 texels a page: it needs 2; raise `vt.pool_mib`, or use smaller tiles
    pool test: 67108864 bytes and images of 200 texels a side give 1 pages a side, at 9248 bytes and 136 texels a page: it needs 2; raise `vt.pool_mib`, or use smaller tiles
    ");
    assert!(
        PoolSize::of(&PoolDesc { border: 1, ..desc(128, &[R16], 64) }).is_ok(),
        "texels need no whole blocks"
    );
    assert!(
        PoolSize::of(&PoolDesc { scale: f32::NAN, ..desc(128, &[Bc1], 64) })
            .is_ok_and(|size| size.side == 85)
    );
    assert_eq!(PoolSize::of(&PoolDesc { scale: 0.25, ..desc(128, &[Bc1], 64) }).unwrap().side, 42);
}

#[test]
fn tiles_have_their_bytes() {
    let bytes = [Bc1, Bc3, Bc4, Bc5, R16, Rgba8, Rgb565, Rgba5551].map(|format| format.bytes(136, 136));
    assert_eq!(bytes, [9248, 18496, 9248, 18496, 36992, 73984, 36992, 36992]);
    assert_eq!(Bc1.bytes(5, 1), 16);
    assert!(Rgba8.bytes(u32::MAX, u32::MAX) > 0);
}

const REASON: PageReason = PageReason { cause: Cause::Preload, budget: Budget::Exempt };

fn pool(side: u32) -> Pool {
    let desc = PoolDesc { budget_bytes: u64::from(side * side) * 9248, ..desc(128, &[Bc1], 0) };
    let size = PoolSize::of(&desc).unwrap();
    assert_eq!(size.side, side);
    Pool::new(desc, size)
}

fn put(pool: &mut Pool, owner: u64, frame: u64) -> Option<u16> {
    let slot = pool.take(frame, 15)?;
    pool.release(slot);
    pool.place(slot, owner, frame, (REASON, Quality::FULL), 0);
    Some(slot)
}

#[test]
fn who_was_used_longest_ago_goes_first() {
    let mut pool = pool(2);
    let slots: Vec<u16> = (0..3).map(|owner| put(&mut pool, owner, 10).unwrap()).collect();
    assert_eq!(slots, [1, 2, 3], "page 0 is reserved");
    pool.touch(2, 11);
    assert_eq!((pool.allocated(), pool.take(25, 15)), (3, None), "all were used within 15 frames");
    pool.lock(1, 1);
    assert_eq!(put(&mut pool, 7, 26), Some(3), "1 is locked, 2 was used later");
    assert_eq!(put(&mut pool, 8, 26), None, "2 was used within 15 frames");
    assert_eq!(put(&mut pool, 8, 27), Some(2));
    assert_eq!(put(&mut pool, 9, 1000), Some(3));
    assert_eq!((pool.used(1000, 15), pool.locked, pool.owner(1)), (2, 1, Some(0)));
    pool.release(1);
    assert_eq!((pool.locked, pool.allocated(), pool.take(1000, 15)), (0, 2, Some(1)));
}

#[test]
fn of_one_frame_the_finer_go_first() {
    let mut pool = pool(2);
    for level in [3u64, 0, 5] {
        put(&mut pool, level << OWNER_LEVEL_SHIFT, 1);
    }
    let gone: Vec<_> = (0..3)
        .map(|_| {
            let slot = pool.take(100, 15).unwrap();
            let level = pool.owner(slot).unwrap() >> OWNER_LEVEL_SHIFT;
            pool.release(slot);
            pool.place(slot, 9 << OWNER_LEVEL_SHIFT, 100, (REASON, Quality::FULL), 0);
            level
        })
        .collect();
    assert_eq!(gone, [0, 3, 5]);
    assert_eq!(pool.take(100, 15), None);
}

proptest! {
    #[test]
    fn lists_of_mappings(steps in prop::collection::vec((0usize..4, 0u16..40, any::<bool>()), 0..200)) {
        let (mut ours, mut heads, mut model) = (Mappings::new(), [mappings::END; 4], vec![Vec::new(); 4]);
        for (list, x, push) in steps {
            let mapping = Mapping { table: x % 3, page: crate::vt::PageAddress::new(0, x, 0) };
            if push {
                ours.push(&mut heads[list], mapping);
                model[list].push(mapping);
            } else if x % 2 == 0 {
                ours.remove(&mut heads[list], |m| m == mapping);
                model[list].retain(|m| *m != mapping);
            } else {
                let gone = ours.pop(&mut heads[list]);
                prop_assert_eq!(gone.is_some(), !model[list].is_empty());
                if let Some(place) = model[list].iter().position(|m| Some(*m) == gone) {
                    model[list].remove(place);
                }
            }
            for (head, model) in heads.iter().zip(&model) {
                let mut found: Vec<_> = ours.iter(*head).map(|m| (m.table, m.page.x)).collect();
                let mut wanted: Vec<_> = model.iter().map(|m| (m.table, m.page.x)).collect();
                found.sort();
                wanted.sort();
                prop_assert_eq!(found, wanted);
            }
            prop_assert_eq!(ours.len() as usize, model.iter().map(Vec::len).sum::<usize>());
        }
    }
}
