//! Squares that do not overlap, and spaces that are shared.

use proptest::prelude::*;

use super::*;

const LAYOUT: SpaceLayout = SpaceLayout { tile: 128, border: 4, channels: 2, format: EntryFormat::Bits16 };

proptest! {
    #[test]
    fn squares_are_aligned_and_apart(steps in prop::collection::vec((0u8..=4, 0u16..12, any::<bool>()), 0..80)) {
        let mut spaces = Spaces::default();
        let mut placed: Vec<(u16, SpaceId, PageAddress, u8)> = Vec::new();
        for (log2, texture, comes) in steps {
            let here = placed.iter().position(|p| p.0 == texture);
            match here {
                None if comes => {
                    let (space, corner) = spaces.place(LAYOUT, log2, texture, 16).unwrap();
                    prop_assert_eq!((corner.x % (1 << log2), corner.y % (1 << log2)), (0, 0));
                    prop_assert!(u32::from(corner.x.max(corner.y)) + (1 << log2) <= 16);
                    placed.push((texture, space, corner, log2));
                }
                Some(index) if !comes => {
                    let (texture, space, ..) = placed.remove(index);
                    let last = placed.iter().all(|p| p.1 != space);
                    prop_assert_eq!(spaces.remove(space, texture), last);
                    prop_assert_eq!(spaces.get(space).is_none(), last);
                }
                _ => {}
            }
            // Page by page: each belongs to one texture at most, and is found.
            for (id, space) in spaces.iter() {
                for (x, y) in (0..16u16).flat_map(|x| (0..16u16).map(move |y| (x, y))) {
                    let mut owners = placed.iter().filter(|(_, space, corner, log2)| {
                        *space == id && x >> log2 == corner.x >> log2 && y >> log2 == corner.y >> log2
                    });
                    let owner = owners.next().map(|p| p.0);
                    prop_assert!(owners.next().is_none(), "two textures at {x},{y}");
                    let code = PageAddress::new(0, x, y).morton();
                    prop_assert_eq!(space.texture_at(code).map(|square| square.texture), owner);
                }
            }
        }
    }
}

#[test]
fn same_layouts_share_and_others_do_not() {
    let mut spaces = Spaces::default();
    let wide = SpaceLayout { format: EntryFormat::Bits32, ..LAYOUT };
    let ids = [(LAYOUT, 2), (wide, 2), (LAYOUT, 3), (LAYOUT, 4), (wide, 12)].map(|(layout, log2)| {
        let id = spaces.place(layout, log2, u16::from(log2), 16).unwrap().0;
        (id.0, spaces.get(id).unwrap().log2_side)
    });
    assert_eq!(ids, [(0, 4), (1, 4), (0, 4), (2, 4), (3, 12)]);
    assert_eq!(spaces.get(SpaceId(0)).unwrap().tables.len(), 2);
    assert_eq!(spaces.get(SpaceId(0)).unwrap().textures(), 2);
}

#[test]
fn spaces_end() {
    let mut spaces = Spaces::default();
    for texture in 0..256 {
        assert!(spaces.place(LAYOUT, 12, texture, 1).is_some());
    }
    assert_eq!(spaces.place(LAYOUT, 12, 300, 1), None);
    assert!(spaces.remove(SpaceId(7), 7));
    assert_eq!(spaces.place(LAYOUT, 12, 300, 1).map(|(id, _)| id), Some(SpaceId(7)));
    assert!(SpaceId(15).is_fed() && !SpaceId(16).is_fed());
}
