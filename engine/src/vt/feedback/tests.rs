//! Bits of words, and merging.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

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
    fn counts_are_summed(frames in prop::collection::vec(prop::collection::vec((0u32..50, 0u32..9), 0..200), 1..5)) {
        let mut wishes = Wishes::new();
        for frame in frames {
            wishes.clear();
            let mut model: BTreeMap<u32, u32> = BTreeMap::new();
            for (word, count) in frame {
                let taken = wishes.add(word << 20, count, || (word % 7 != 0).then_some((3, word)));
                prop_assert_eq!(taken, word % 7 != 0);
                if taken {
                    *model.entry(word << 20).or_insert(0) += count;
                }
            }
            let named = || wishes.list().iter().filter(|wish| wish.texture != NO_TEXTURE);
            let found: BTreeMap<u32, u32> = named().map(|wish| (wish.word, wish.count)).collect();
            prop_assert_eq!(named().count(), model.len());
            prop_assert_eq!(&found, &model);
            for word in 0..50 {
                prop_assert_eq!(wishes.count(word << 20), model.get(&(word << 20)).copied());
            }
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
