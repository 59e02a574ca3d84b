//! The compaction of feedback, done by the host in the order of entries: what the shaders in `shaders/vt` are held against.
//!
//! The GPU's order of entries is another in every run, and so is the order of its pairs. While the table has room the pairs
//! are the same ones. Where it has none, which words are dropped depends on the order; but a word is counted with all of
//! its entries or dropped with all, and what is counted and dropped adds up to what was written.

use super::feedback::NONE;
use super::passes::{COMPACTED_HEADER_WORDS, FEEDBACK_HEADER_WORDS, FeedbackLayout, MOST_PROBES};

/// Feedback, compacted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Compacted {
    /// Words and how often each was written, in the order in which they came first.
    pub pairs: Vec<(u32, u32)>,
    /// Entries that no pair counts: table or list were full.
    pub dropped: u32,
    /// Entries that were asked for.
    pub asked: u32,
    /// Entries past the capacity of the feedback buffer.
    pub overflow: u32,
}

impl Compacted {
    /// As the GPU lays it out: the header and the pairs.
    pub fn words(&self) -> Vec<u32> {
        let mut words = vec![self.pairs.len() as u32, self.dropped, self.asked, self.overflow];
        words.resize(COMPACTED_HEADER_WORDS as usize, 0);
        words.extend(self.pairs.iter().flat_map(|(word, count)| [*word, *count]));
        words
    }
}

/// Compacts a feedback buffer, given as its words: the header, then entries. Words past the end count as nothing written.
pub fn compact(buffer: &[u32], layout: &FeedbackLayout) -> Compacted {
    let asked = buffer.first().copied().unwrap_or(0);
    let entries = asked.min(layout.capacity);
    let slots = layout.table_slots().max(1).next_power_of_two();
    let mut keys = vec![NONE; slots as usize];
    let mut counts = vec![0u32; slots as usize];
    let mut elements = Vec::new();
    let mut dropped = 0u32;
    let written = buffer.iter().skip(FEEDBACK_HEADER_WORDS as usize).take(entries as usize);
    for word in written.copied().filter(|word| *word != NONE) {
        let first = first_slot(word, slots);
        let slots_of_word = (0..MOST_PROBES).map(|probe| (first.wrapping_add(probe) & (slots - 1)) as usize);
        match slots_of_word.into_iter().find(|slot| keys[*slot] == word || keys[*slot] == NONE) {
            Some(slot) => {
                if keys[slot] == NONE {
                    keys[slot] = word;
                    elements.push(slot);
                }
                counts[slot] = counts[slot].saturating_add(1);
            }
            None => dropped = dropped.saturating_add(1),
        }
    }
    let (listed, past) = elements.split_at(elements.len().min(layout.pairs as usize));
    dropped = past.iter().fold(dropped, |sum, slot| sum.saturating_add(counts[*slot]));
    let pairs = listed.iter().map(|slot| (keys[*slot], counts[*slot])).collect();
    Compacted { pairs, dropped, asked, overflow: asked - entries }
}

/// Where the search for a word begins, as in `shaders/lib/vt_feedback.wgsl`; `slots` is a power of two.
fn first_slot(word: u32, slots: u32) -> u32 {
    let mut hash = word;
    hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
    (hash ^ (hash >> 16)) & (slots - 1)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn buffer(asked: u32, words: &[u32]) -> Vec<u32> {
        [asked, 0, 0, 0].into_iter().chain(words.iter().copied()).collect()
    }

    /// How often each word was written.
    fn counted(words: &[u32]) -> BTreeMap<u32, u32> {
        let mut counts = BTreeMap::new();
        words.iter().filter(|word| **word != NONE).for_each(|word| *counts.entry(*word).or_insert(0) += 1);
        counts
    }

    proptest! {
        #[test]
        fn words_are_counted_with_all_of_their_entries_or_not_at_all(
            words in prop::collection::vec(prop_oneof![0..40u32, 0..4000u32, Just(NONE)], 0..600),
            capacity in 0..700u32,
        ) {
            let layout = FeedbackLayout { capacity, ..FeedbackLayout::new([1; 2], 16, 1) };
            let asked = words.len() as u32;
            let kept = &words[..words.len().min(capacity as usize)];
            let truth = counted(kept);
            let found = compact(&buffer(asked, &words), &layout);
            prop_assert_eq!(found.overflow, asked.saturating_sub(capacity));
            prop_assert_eq!(found.asked, asked);
            for (word, count) in &found.pairs {
                prop_assert_eq!(truth.get(word), Some(count));
            }
            let unique: BTreeMap<u32, u32> = found.pairs.iter().copied().collect();
            prop_assert_eq!(unique.len(), found.pairs.len(), "a word comes once");
            let sum = |counts: &BTreeMap<u32, u32>| counts.values().sum::<u32>();
            prop_assert_eq!(sum(&unique) + found.dropped, sum(&truth));
            prop_assert!(found.pairs.len() <= layout.pairs as usize);
            // 64 probes go all the way round a table of 32: only the list drops words.
            prop_assert_eq!(found.pairs.len(), truth.len().min(layout.pairs as usize));
        }

        #[test]
        fn any_buffer_is_taken(words in prop::collection::vec(any::<u32>(), 0..60), pairs in 0..40u32) {
            let layout = FeedbackLayout { pairs, ..FeedbackLayout::new([64; 2], 16, 2) };
            let found = compact(&words, &layout);
            prop_assert!(found.pairs.len() <= pairs as usize);
        }
    }

    #[test]
    fn a_full_table_drops_words_and_says_so() {
        let layout = FeedbackLayout { capacity: 1 << 20, pairs: 1024, ..FeedbackLayout::new([1; 2], 16, 1) };
        let words: Vec<u32> = (0..20_000).chain(0..20_000).collect();
        let found = compact(&buffer(40_000, &words), &layout);
        assert_eq!(found.pairs.len(), 1024);
        assert!(found.pairs.iter().all(|(_, count)| *count == 2));
        assert_eq!(found.dropped, 40_000 - 2048);
        assert_eq!(found.words()[..6], [1024, found.dropped, 40_000, 0, 0, 2]);
    }

    #[test]
    fn neighbours_lie_apart() {
        // Pages of a square: the longest search stays short at half a table.
        let words: Vec<u32> = (0..64).flat_map(|y| (0..64).map(move |x| x | y << 12 | 4 << 24)).collect();
        let slots = 8192;
        let mut taken = vec![false; slots as usize];
        let mut longest = 0;
        for word in words {
            let first = first_slot(word, slots);
            let probes = (0..slots).find(|probe| !taken[((first + probe) & (slots - 1)) as usize]).unwrap();
            taken[((first + probes) & (slots - 1)) as usize] = true;
            longest = longest.max(probes);
        }
        assert!(longest < MOST_PROBES, "{longest} probes");
    }
}
