//! Transients on pages instead of offsets: sparse binding lets a resource lie on any pages that are free, so that nothing
//! is lost to holes and the bound in pages is reached exactly. What it costs is binds.
//!
//! ```text
//! items in the order of their births -> free pages, one run where one is long enough -> runs of pages an item
//!   alone          a page with one owner in the whole frame: bound once, never again
//!   exclusive      a page that several items own in turn is bound anew at every take-over, in every frame
//!   aliased        (`SPARSE_ALIASED`) all owners stay bound: binds only when the frame's shape changes
//! ```
//!
//! Assignment is a function of the items: a steady frame repeats it.

use std::collections::BTreeMap;

use super::Item;

/// Bytes of a page: the sparse block of every format and of buffers on the devices at hand.
pub const PAGE_BYTES: u64 = 64 << 10;

/// Contiguous pages of an item that lie on contiguous pages of memory: one bind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// Which item.
    pub item: u32,
    /// First page within the item.
    pub at: u64,
    /// First page of memory.
    pub page: u64,
    /// Number of pages.
    pub pages: u64,
}

/// Which pages every item lies on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PagePlan {
    /// Bytes of a page.
    pub page_bytes: u64,
    /// Pages of memory in all: the bound, the most pages owned at one place.
    pub pages: u64,
    /// Runs of all items, by the birth of the item and then by page within it.
    pub runs: Vec<Run>,
}

/// What a frame has to bind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Binds {
    /// Ranges: binds in the sense of `VkSparseMemoryBind`, contiguous pages merged.
    pub ranges: u64,
    /// Pages in them.
    pub pages: u64,
    /// Places in the order at which something is bound: cuts between submissions.
    pub cuts: u64,
}

impl PagePlan {
    /// Bytes of memory.
    pub fn bytes(&self) -> u64 {
        self.pages.saturating_mul(self.page_bytes)
    }

    /// Binds when the shape of the frame is new: every run, once. Where pages may stay bound to several resources
    /// (`SPARSE_ALIASED`) these are all there ever are.
    pub fn first_binds(&self, items: &[Item]) -> Binds {
        count(self.runs.iter().copied(), items)
    }

    /// Binds of every steady frame where a page belongs to one resource at a time: pages that change their owner within
    /// the frame, at each take-over, the first of the frame included (the last frame left them to another).
    pub fn steady_binds(&self, items: &[Item]) -> Binds {
        let shared = self.shared();
        let parts = self.runs.iter().flat_map(|run| {
            let end = run.page.saturating_add(run.pages);
            shared.iter().filter_map(move |&(from, to)| {
                let (from, to) = (from.max(run.page), to.min(end));
                (from < to).then(|| Run {
                    at: run.at + (from - run.page),
                    page: from,
                    pages: to - from,
                    ..*run
                })
            })
        });
        count(parts, items)
    }

    /// Ranges of pages that more than one item owns in the course of the frame, ascending, none touching the next.
    fn shared(&self) -> Vec<(u64, u64)> {
        let mut edges: Vec<(u64, i32)> = Vec::with_capacity(self.runs.len() * 2);
        for run in &self.runs {
            edges.push((run.page, 1));
            edges.push((run.page.saturating_add(run.pages), -1));
        }
        // Ends before starts, so that owners side by side do not count as two.
        edges.sort_unstable();
        let mut shared: Vec<(u64, u64)> = Vec::new();
        let (mut owners, mut from) = (0, 0);
        for (page, change) in edges {
            if owners >= 2 && page > from {
                match shared.last_mut() {
                    Some((_, end)) if *end == from => *end = page,
                    _ => shared.push((from, page)),
                }
            }
            owners += change;
            from = page;
        }
        shared
    }
}

fn count(runs: impl Iterator<Item = Run>, items: &[Item]) -> Binds {
    let mut places = std::collections::BTreeSet::new();
    let mut binds = Binds::default();
    for run in runs {
        binds.ranges += 1;
        binds.pages = binds.pages.saturating_add(run.pages);
        places.extend(items.get(run.item as usize).map(|item| item.first));
    }
    binds.cuts = places.len() as u64;
    binds
}

/// Gives every item pages of `page_bytes` (0 counts as 1) for as long as it lives. An item gets one run where a free one is
/// long enough (the shortest such), else the longest there are.
pub fn assign(items: &[Item], page_bytes: u64) -> PagePlan {
    let page_bytes = page_bytes.max(1);
    let pages_of = |item: &Item| item.bytes.div_ceil(page_bytes);
    let mut births: Vec<u32> = (0..u32::try_from(items.len()).unwrap_or(u32::MAX)).collect();
    let item_at = |index: u32| items.get(index as usize);
    births.sort_unstable_by_key(|&i| item_at(i).map(|item| (item.first, std::cmp::Reverse(item.bytes), i)));
    let mut deaths = births.clone();
    deaths.sort_unstable_by_key(|&i| item_at(i).map(|item| (item.last.max(item.first), i)));

    let counted: Vec<Item> = items.iter().map(|item| Item { bytes: pages_of(item), ..*item }).collect();
    let mut plan = PagePlan { page_bytes, pages: super::bound(&counted), runs: Vec::new() };
    let mut free = FreePages::new(plan.pages);
    // Runs of an item, as a range of the plan's.
    let mut held: Vec<std::ops::Range<usize>> = vec![0..0; items.len()];
    let mut deaths = deaths.into_iter().peekable();
    for index in births {
        let Some(item) = item_at(index) else { continue };
        let is_over = |&dead: &u32| item_at(dead).is_some_and(|dead| dead.last.max(dead.first) < item.first);
        while let Some(dead) = deaths.next_if(is_over) {
            let runs = held.get(dead as usize).and_then(|range| plan.runs.get(range.clone()));
            runs.into_iter().flatten().for_each(|run| free.give(run.page, run.pages));
        }
        let from = plan.runs.len();
        let (mut at, mut left) = (0, pages_of(item));
        while left > 0 {
            // The bound is the most that is owned at a time, so there are always enough.
            let Some((page, pages)) = free.take(left) else { break };
            plan.runs.push(Run { item: index, at, page, pages });
            at += pages;
            left -= pages;
        }
        if let Some(held) = held.get_mut(index as usize) {
            *held = from..plan.runs.len();
        }
    }
    plan
}

/// Runs of free pages: start to length, none touching the next.
struct FreePages(BTreeMap<u64, u64>);

impl FreePages {
    fn new(pages: u64) -> Self {
        Self((pages > 0).then_some((0, pages)).into_iter().collect())
    }

    /// Takes up to `wanted` pages: the front of the shortest run that holds them all, or all of the longest run.
    fn take(&mut self, wanted: u64) -> Option<(u64, u64)> {
        let whole = self
            .0
            .iter()
            .filter(|(_, length)| **length >= wanted)
            .min_by_key(|(start, length)| (**length, **start));
        let (&start, &length) = match whole {
            Some(run) => run,
            None => self.0.iter().max_by_key(|(start, length)| (**length, std::cmp::Reverse(**start)))?,
        };
        self.0.remove(&start);
        let taken = wanted.min(length);
        if taken < length {
            self.0.insert(start + taken, length - taken);
        }
        Some((start, taken))
    }

    fn give(&mut self, start: u64, pages: u64) {
        let (mut start, mut end) = (start, start.saturating_add(pages));
        if let Some((&before, &length)) = self.0.range(..start).next_back()
            && before.saturating_add(length) == start
        {
            self.0.remove(&before);
            start = before;
        }
        if let Some(after) = self.0.remove(&end) {
            end = end.saturating_add(after);
        }
        self.0.insert(start, end - start);
    }
}
