//! Which pages of one chunk are free: a bitmap that finds single pages and runs.

/// The free pages of one chunk, one bit a page.
#[derive(Debug, Clone)]
pub(super) struct FreePages {
    /// A set bit is a free page; the bits past the last page are never set.
    words: Vec<u64>,
    count: u32,
    /// The longest run as (first page, pages), until a page changes.
    longest: Option<(u32, u32)>,
}

/// Whether the longest run is known already makes no difference.
impl PartialEq for FreePages {
    fn eq(&self, other: &Self) -> bool {
        self.words == other.words
    }
}

impl Eq for FreePages {}

impl FreePages {
    /// `pages` pages, all free.
    pub(super) fn all(pages: u32) -> Self {
        let words = (0..pages.div_ceil(64)).map(|word| {
            let pages_here = (pages - word * 64).min(64);
            u64::MAX >> (64 - pages_here)
        });
        Self { words: words.collect(), count: pages, longest: None }
    }

    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// Marks `page` as free or not.
    pub(super) fn set(&mut self, page: u32, is_free: bool) {
        let bit = 1 << (page % 64);
        let Some(word) = self.words.get_mut((page / 64) as usize) else { return };
        match (*word & bit != 0, is_free) {
            (false, true) => self.count += 1,
            (true, false) => self.count -= 1,
            _ => return,
        }
        *word ^= bit;
        self.longest = None;
    }

    /// The free pages, ascending.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        std::iter::successors(self.next(0, true), |&page| self.next(page + 1, true))
    }

    /// The lowest page of the lowest run of at least `pages` pages.
    pub(super) fn find_run(&self, pages: u32) -> Option<u32> {
        self.runs().find(|run| run.1 >= pages).map(|run| run.0)
    }

    /// The longest run as (first page, pages), the lowest of several.
    pub(super) fn longest_run(&mut self) -> Option<(u32, u32)> {
        if self.longest.is_none() {
            self.longest = self.runs().reduce(|best, run| if run.1 > best.1 { run } else { best });
        }
        self.longest
    }

    /// The maximal runs as (first page, pages), ascending.
    fn runs(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let run_from = |from| {
            let first = self.next(from, true)?;
            let end = self.next(first, false).unwrap_or(self.words.len() as u32 * 64);
            Some((first, end - first))
        };
        std::iter::successors(run_from(0), move |&(first, pages)| run_from(first + pages))
    }

    /// The first page at or after `from` that is free, or that is not.
    fn next(&self, from: u32, is_free: bool) -> Option<u32> {
        let mut mask = u64::MAX << (from % 64);
        for (index, &word) in self.words.iter().enumerate().skip((from / 64) as usize) {
            let found = if is_free { word } else { !word } & mask;
            if found != 0 {
                return Some(index as u32 * 64 + found.trailing_zeros());
            }
            mask = u64::MAX;
        }
        None
    }
}
