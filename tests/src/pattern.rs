//! Known contents: arithmetic sequences of words, as the `fill` shader writes them.

/// An arithmetic sequence that starts at word 0 of a buffer: word `i` is `value + i * step`.
///
/// The step is odd, so that every word of a 16 GiB buffer differs from every other: a page in the wrong place
/// cannot look right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pattern {
    /// Word 0.
    pub value: u32,
    /// By how much each word is more than the one before.
    pub step: u32,
}

impl Pattern {
    /// A pattern that differs from that of every other seed.
    pub fn new(seed: u32) -> Self {
        Self {
            value: seed.wrapping_mul(0x9E37_79B9),
            step: seed.wrapping_mul(2).wrapping_add(0x0100_0193) | 1,
        }
    }

    /// Word `index`.
    pub fn word(self, index: u64) -> u32 {
        self.value.wrapping_add((index as u32).wrapping_mul(self.step))
    }

    /// Whether `words`, read from word `first` on, are this pattern.
    ///
    /// # Errors
    /// How many differ, and the first of them with what it should be.
    pub fn check(self, first: u64, words: &[u32]) -> Result<(), String> {
        let wrong = || words.iter().enumerate().filter(|(i, word)| **word != self.word(first + *i as u64));
        let Some((i, word)) = wrong().next() else { return Ok(()) };
        let index = first + i as u64;
        Err(format!(
            "{} of {} words are wrong; the first is word {index} (byte {} of tile {}): {word:#010x} instead of \
             {:#010x}",
            wrong().count(),
            words.len(),
            index * 4 % crate::TILE,
            index * 4 / crate::TILE,
            self.word(index)
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_word_is_found_and_named() {
        let pattern = Pattern::new(3);
        let mut words: Vec<u32> = (100..200).map(|i| pattern.word(i)).collect();
        assert_eq!(pattern.check(100, &words), Ok(()));
        words[50] ^= 1;
        let error = pattern.check(100, &words).unwrap_err();
        assert!(error.starts_with("1 of 100 words are wrong; the first is word 150"), "{error}");
        assert!(pattern.check(101, &words).is_err(), "a shifted page must not look right");
        assert!(Pattern::new(4).check(100, &words).is_err());
    }
}
