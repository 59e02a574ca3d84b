//! Which captures are kept: those of frames that drew exactly one page, until there are enough.

/// What to do with a capture at the end of its frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// There is none.
    Nothing,
    /// Its frame drew one page.
    Keep,
    /// Its frame drew none or several, or failed.
    Discard,
}

/// Captures that are wanted and those that are kept.
#[derive(Debug)]
pub struct Count {
    wanted: u32,
    kept: u32,
    is_open: bool,
}

impl Count {
    /// None kept yet.
    pub fn new(wanted: u32) -> Self {
        Self { wanted, kept: 0, is_open: false }
    }

    /// How many are wanted in all.
    pub fn wanted(&self) -> u32 {
        self.wanted
    }

    /// How many are still to come.
    pub fn missing(&self) -> u32 {
        self.wanted - self.kept
    }

    /// A frame begins: whether a capture begins with it.
    pub fn begin_frame(&mut self) -> bool {
        self.is_open = self.missing() > 0;
        self.is_open
    }

    /// The frame drew as many pages; one that failed drew none.
    pub fn end_frame(&mut self, pages: usize) -> Verdict {
        match (std::mem::take(&mut self.is_open), pages) {
            (false, _) => Verdict::Nothing,
            (true, 1) => {
                self.kept += 1;
                Verdict::Keep
            }
            (true, _) => Verdict::Discard,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn frames_without_a_page_and_with_several_do_not_count() {
        let mut count = Count::new(2);
        let verdicts = [3, 0, 1, 2, 1, 1].map(|pages| {
            let began = count.begin_frame();
            (began, count.end_frame(pages))
        });
        use Verdict::{Discard, Keep, Nothing};
        let expected = [Discard, Discard, Keep, Discard, Keep, Nothing];
        assert_eq!(verdicts, expected.map(|verdict| (verdict != Nothing, verdict)));
    }

    proptest! {
        /// The first frames of one page are kept, as many as are wanted, and every capture that began ends once.
        #[test]
        fn the_first_frames_of_one_page_are_kept(
            wanted in 0_u32..6,
            frames in proptest::collection::vec(0_usize..4, 0..40),
        ) {
            let mut count = Count::new(wanted);
            let mut kept = Vec::new();
            for (index, pages) in frames.iter().enumerate() {
                let began = count.begin_frame();
                let verdict = count.end_frame(*pages);
                prop_assert_eq!(began, verdict != Verdict::Nothing);
                prop_assert_eq!(count.end_frame(1), Verdict::Nothing);
                if verdict == Verdict::Keep {
                    kept.push(index);
                }
            }
            let singles = frames.iter().enumerate().filter(|(_, pages)| **pages == 1);
            let expected: Vec<_> = singles.map(|(index, _)| index).take(wanted as usize).collect();
            prop_assert_eq!(count.missing() as usize, wanted as usize - kept.len());
            prop_assert_eq!(kept, expected);
        }
    }
}
