//! Quads against a table worked out texel by texel, and how few there are.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

const LOG2_SIDE: u8 = 4;

fn page() -> impl Strategy<Value = PageAddress> {
    (0..=LOG2_SIDE).prop_flat_map(|level| {
        let side = 1u16 << (LOG2_SIDE - level);
        (Just(level), 0..side, 0..side).prop_map(|(level, x, y)| PageAddress { level, x, y })
    })
}

/// The definition, texel by texel: the entry of the nearest mapped page that holds it.
fn defined(mapped: &BTreeMap<(u8, u16, u16), Entry>, level: u8, x: u16, y: u16) -> Entry {
    let up = |above: u8| (above, x >> (above - level), y >> (above - level));
    (level..=LOG2_SIDE).find_map(|above| mapped.get(&up(above))).copied().unwrap_or(Entry::NONE)
}

fn updates(table: &mut PageTable) -> Vec<TableUpdate> {
    let mut out = Vec::new();
    table.paint(SpaceId(3), 1, &mut Vec::new(), &mut out);
    out
}

fn quads(updates: &[TableUpdate]) -> usize {
    updates.iter().map(|update| update.quads.len()).sum()
}

fn entry(level: u8, n: u8) -> Entry {
    Entry { level, page: [n, n / 2] }
}

proptest! {
    #[test]
    fn painted_texels_are_as_defined(
        frames in prop::collection::vec(prop::collection::vec((page(), any::<bool>(), 1u8..255), 0..12), 1..8)
    ) {
        let (mut table, mut image) = (PageTable::new(LOG2_SIDE), TableImage::new(LOG2_SIDE));
        let mut model = BTreeMap::new();
        for frame in frames {
            let before = image.clone();
            for (page, map, n) in &frame {
                let key = (page.level, page.x, page.y);
                if *map {
                    table.map(*page, entry(page.level, *n));
                    model.insert(key, entry(page.level, *n));
                } else {
                    prop_assert_eq!(table.unmap(*page), model.remove(&key).is_some());
                }
            }
            prop_assert_eq!(table.mapped() as usize, model.len());
            let updates = updates(&mut table);
            prop_assert!(!table.is_changed());
            let mut last = None;
            for update in &updates {
                prop_assert!(last.is_none_or(|mip| mip > update.mip), "coarse mips first, each once");
                last = Some(update.mip);
                let sizes: Vec<u8> = update.quads.iter().map(|quad| quad.log2_size).collect();
                prop_assert!(sizes.is_sorted_by(|a, b| a >= b), "coarse quads first");
                for quad in &update.quads {
                    prop_assert_eq!(TableQuad::of(quad.page(update.mip), update.mip, quad.entry), *quad);
                    // A quad is never painted for nothing: it is not where all four quarters are painted over.
                    let page = quad.page(update.mip);
                    let over = page.children().filter(|c| c.level >= update.mip).filter(|child| {
                        update.quads.iter().any(|other| other.page(update.mip) == *child)
                    });
                    prop_assert!(over.count() < 4);
                }
                image.apply(update);
            }
            for level in 0..=LOG2_SIDE {
                for y in 0..1 << (LOG2_SIDE - level) {
                    for x in 0..1 << (LOG2_SIDE - level) {
                        let page = PageAddress { level, x, y };
                        let wanted = defined(&model, level, x, y);
                        prop_assert_eq!(image.get(page), wanted, "{}", page);
                        prop_assert_eq!(table.nearest(page).map_or(Entry::NONE, |(_, entry)| entry), wanted);
                    }
                }
            }
            // Bounded: one quad for each mip of the changed pages and of the mapped pages inside them.
            let bound: usize = frame.iter().map(|(page, ..)| {
                let inside = model.keys().filter(|(level, x, y)| {
                    let other = PageAddress { level: *level, x: *x, y: *y };
                    other != *page && page.contains(other)
                });
                inside.map(|(level, ..)| usize::from(*level) + 1).sum::<usize>() + usize::from(page.level) + 1
            }).sum();
            prop_assert!(quads(&updates) <= bound, "{} quads of {bound}", quads(&updates));
            if frame.is_empty() {
                prop_assert_eq!(&before, &image);
                prop_assert!(updates.is_empty());
            }
        }
    }

    #[test]
    fn entries_keep_what_they_say(level in 0u8..16, x: u8, y: u8) {
        let entry = Entry { level, page: [x, y] };
        prop_assert_eq!(Entry::unpack32(entry.pack32()), entry);
        prop_assert_eq!(entry.pack32() >> 20, 0);
        let narrow = Entry { level, page: [x & 63, y & 63] };
        prop_assert_eq!(Entry::unpack16(narrow.pack16()), narrow);
        prop_assert_eq!(entry.pack16(), narrow.pack16());
    }
}

#[test]
fn entries_have_their_bits() {
    let entry = Entry { level: 5, page: [3, 7] };
    assert_eq!(entry.pack16(), 5 | 3 << 4 | 7 << 10);
    assert_eq!(entry.pack32(), 5 | 3 << 4 | 7 << 12);
    assert_eq!(Entry::NONE.pack16(), 0);
    assert!(Entry { level: 9, page: [0, 0] }.is_none() && !entry.is_none());
    let formats = [2, 64, 65, 181].map(EntryFormat::for_side);
    assert_eq!(formats, [EntryFormat::Bits16, EntryFormat::Bits16, EntryFormat::Bits32, EntryFormat::Bits32]);
    for format in formats {
        assert_eq!(Entry::unpack(entry.pack(format), format), entry);
    }
    assert_eq!(entry.to_string() + "; " + &Entry::NONE.to_string(), "atlas page 3,7 of level 5; nothing");
}

#[test]
fn a_lone_page_takes_one_quad_a_mip() {
    let mut table = PageTable::new(LOG2_SIDE);
    let page = PageAddress::new(2, 3, 1);
    table.map(page, entry(2, 9));
    let mapped = updates(&mut table);
    let seen: Vec<_> =
        mapped.iter().map(|u| (u.mip, u.quads[0].x, u.quads[0].y, u.quads[0].log2_size)).collect();
    assert_eq!(seen, [(2, 3, 1, 0), (1, 6, 2, 1), (0, 12, 4, 2)]);
    assert!(
        mapped
            .iter()
            .all(|update| update.quads.len() == 1 && (update.space, update.channel) == (SpaceId(3), 1))
    );
    table.unmap(page);
    assert_eq!(quads(&updates(&mut table)), 3);
    assert!(updates(&mut table).is_empty(), "nothing changed");
}

#[test]
fn pages_inside_are_painted_again_and_no_more() {
    let mut table = PageTable::new(LOG2_SIDE);
    let parent = PageAddress::new(1, 0, 0);
    table.map(PageAddress::new(0, 0, 0), entry(0, 1));
    table.map(PageAddress::new(0, 9, 9), entry(0, 2));
    let _ = updates(&mut table);
    table.map(parent, entry(1, 3));
    let painted = updates(&mut table);
    assert_eq!(painted[0].quads, [TableQuad::of(parent, 1, entry(1, 3))]);
    let inside = TableQuad::of(PageAddress::new(0, 0, 0), 0, entry(0, 1));
    assert_eq!(
        painted[1].quads,
        [TableQuad::of(parent, 0, entry(1, 3)), inside],
        "the far page is left alone"
    );

    for child in parent.children() {
        table.map(child, entry(0, 4));
    }
    let _ = updates(&mut table);
    table.map(parent, entry(1, 5));
    let painted = updates(&mut table);
    assert_eq!(painted.len(), 1, "its children cover it in mip 0: {painted:?}");
    assert_eq!(painted[0].mip, 1);
}

#[test]
fn what_was_lost_is_painted_again() {
    let (mut table, mut image) = (PageTable::new(LOG2_SIDE), TableImage::new(LOG2_SIDE));
    table.map(PageAddress::new(3, 1, 0), entry(3, 1));
    table.map(PageAddress::new(0, 9, 1), entry(0, 2));
    let lost = updates(&mut table);
    for update in &lost {
        for quad in &update.quads {
            table.touch(quad.page(update.mip));
        }
    }
    for update in updates(&mut table) {
        assert!(image.apply(&update) > 0);
    }
    assert_eq!(image.get(PageAddress::new(0, 9, 1)), entry(0, 2));
    assert_eq!(image.get(PageAddress::new(1, 4, 0)), entry(3, 1));
}

#[test]
fn pages_outside_are_left_alone() {
    let mut table = PageTable::new(2);
    for page in [PageAddress::new(3, 0, 0), PageAddress::new(0, 4, 0), PageAddress::new(255, 0, 0)] {
        table.map(page, entry(1, 1));
        table.touch(page);
        assert!(!table.unmap(page) && table.nearest(page).is_none());
    }
    assert!(updates(&mut table).is_empty());
    let mut image = TableImage::new(2);
    let quad = TableQuad { x: 3, y: 60000, log2_size: 200, entry: entry(1, 1) };
    assert_eq!(
        image.apply(&TableUpdate { space: SpaceId(0), texture: 0, mip: 9, channel: 0, quads: vec![quad] }),
        0
    );
    assert_eq!(
        image.apply(&TableUpdate { space: SpaceId(0), texture: 0, mip: 0, channel: 0, quads: vec![quad] }),
        0
    );
}
