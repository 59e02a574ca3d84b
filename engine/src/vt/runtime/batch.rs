//! Pages that are drawn together: as array layers of the same targets, compressed by one dispatch.

use std::ops::Range;

/// Most pages of a batch: the array layers of the targets.
pub const BATCH_PAGES: usize = 8;

/// Cuts a list of pages into batches: one ends at [`BATCH_PAGES`], and where the target of the next page is another.
/// Pages keep their order.
pub fn batches<T, K: PartialEq>(pages: &[T], target: impl Fn(&T) -> K) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for (index, page) in pages.iter().enumerate() {
        let fits = |range: &Range<usize>| {
            range.len() < BATCH_PAGES
                && pages.get(range.start).is_some_and(|first| target(first) == target(page))
        };
        match ranges.last_mut().filter(|range| fits(range)) {
            Some(range) => range.end = index + 1,
            None => ranges.push(index..index + 1),
        }
    }
    ranges
}
