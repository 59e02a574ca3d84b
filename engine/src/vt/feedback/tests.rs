//! Bits of words, and merging.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::vt::address::PageAddress;

proptest! {
    #[test]
    fn words_keep_what_they_say(x in 0u16..4096, y in 0u16..4096, level in -3i8..=12, space in 0u8..16) {
        let word = Word { space: SpaceId(space), level, x, y };
        prop_assert_eq!(word.pack() & 0xfff, u32::from(x));
        prop_assert_eq!(word.pack() >> 12 & 0xfff, u32::from(y));
        prop_assert_eq!((word.pack() >> 24 & 15) as i8 - 3, level);
        prop_assert_eq!(word.pack() >> 28, u32::from(space));
        if word.pack() != NONE {
            prop_assert_eq!(Word::unpack(word.pack()), Some(word));
        }
    }

    #[test]
    fn wishes_are_sorted_and_summed(
        frames in prop::collection::vec(prop::collection::vec((0u8..3, 0u8..4, 0u16..40, 0u16..9, 0u32..9), 0..900), 1..4)
    ) {
        let mut wishes = Wishes::default();
        for frame in frames {
            wishes.clear();
            let mut model: BTreeMap<(u8, u32, Reverse<u8>), u32> = BTreeMap::new();
            for (space, level, x, y, count) in frame {
                let page = PageAddress::new(level, x, y);
                wishes.push(sort_key(SpaceId(space), page.morton(), level), count);
                *model.entry((space, page.morton(), Reverse(level))).or_insert(0) += count;
            }
            wishes.sort();
            let found: Vec<_> =
                wishes.list().iter().map(|w| ((w.space().0, w.code(), Reverse(w.level())), w.count)).collect();
            let wanted: Vec<_> = model.clone().into_iter().collect();
            prop_assert_eq!(found, wanted);
            for (space, level, x, y) in [(0, 0, 0, 0), (1, 3, 8, 2), (2, 1, 39, 8), (17, 0, 1, 1)] {
                let page = PageAddress::new(level, x, y);
                let count = model.get(&(space, page.morton(), Reverse(level))).copied();
                prop_assert_eq!(wishes.count(SpaceId(space), page), count);
            }
            wishes.forget(SpaceId(1), PageAddress::new(3, 1, 0));
            model.retain(|(space, code, _), _| *space != 1 || !(64..128).contains(code));
            prop_assert_eq!(wishes.list().len(), model.len());
            wishes.sort();
            prop_assert_eq!(wishes.list().len(), model.len());
        }
    }
}

#[test]
fn nothing_written_names_nothing() {
    assert_eq!(Word::unpack(NONE), None);
    let word = Word { space: SpaceId(15), level: 12, x: 0, y: 0 };
    assert_eq!(Word::unpack(word.pack()), Some(word));
    assert_eq!(Word { space: SpaceId(0), level: -9, x: 0, y: 0 }.pack(), 0, "levels are cut off");
}
