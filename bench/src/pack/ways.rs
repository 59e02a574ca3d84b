//! Ways to give transients memory.

use std::collections::BTreeMap;

use vasa::graph::pack::{Effort, Item, Packer, pages};

/// A way to give transients memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// Each has its own.
    Apart,
    /// One that is over passes its memory to the next of the same size and alignment.
    Reuse,
    /// The packer's first order.
    Quick,
    /// The packer as frames are compiled with.
    Balanced,
    /// The packer with all the time it wants.
    Thorough,
    /// Pages, any that are free.
    Pages,
}

/// Gives the bytes that the items of a frame take together.
pub(super) type Worker = Box<dyn FnMut(&[Item]) -> u64>;

impl Way {
    pub(super) const ALL: [Self; 6] =
        [Self::Apart, Self::Reuse, Self::Quick, Self::Balanced, Self::Thorough, Self::Pages];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Apart => "no sharing",
            Self::Reuse => "reuse of same descriptions",
            Self::Quick => "packer, first order only",
            Self::Balanced => "packer (ours)",
            Self::Thorough => "packer, thorough",
            Self::Pages => "pages of 64 KiB",
        }
    }

    /// What gives the bytes of a frame; it keeps its working memory from one to the next.
    pub(super) fn worker(self) -> Worker {
        let packer = |effort| -> Worker {
            let (mut packer, mut offsets) = (Packer::with_effort(effort), Vec::new());
            Box::new(move |items| packer.pack(items, &mut offsets))
        };
        match self {
            Self::Apart => Box::new(|items| items.iter().map(|item| item.bytes).sum()),
            Self::Reuse => Box::new(reuse),
            Self::Quick => packer(Effort::Quick),
            Self::Balanced => packer(Effort::Balanced),
            Self::Thorough => packer(Effort::Thorough),
            Self::Pages => Box::new(|items| pages::assign(items, pages::PAGE_BYTES).bytes()),
        }
    }
}

/// Bytes where a transient takes the memory of an earlier one of the same size and alignment, if one is over.
fn reuse(items: &[Item]) -> u64 {
    let mut by_birth: Vec<&Item> = items.iter().collect();
    by_birth.sort_by_key(|item| item.first);
    // The last place at which each piece of memory is in use.
    let mut pools: BTreeMap<(u64, u64), Vec<u32>> = BTreeMap::new();
    let mut bytes = 0;
    for item in by_birth {
        let pool = pools.entry((item.bytes, item.alignment)).or_default();
        match pool.iter_mut().find(|last| **last < item.first) {
            Some(last) => *last = item.last,
            None => {
                pool.push(item.last);
                bytes += item.bytes;
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_take_what_they_must() {
        let item = |bytes, first, last| Item { bytes, alignment: 1 << 16, first, last };
        let mib = 1 << 20;
        // Two of one size after each other, one of another size between.
        let items = [item(4 * mib, 0, 1), item(4 * mib, 2, 3), item(2 * mib, 2, 3)];
        let bytes: Vec<u64> = Way::ALL.into_iter().map(|way| way.worker()(&items) / mib).collect();
        assert_eq!(bytes, [10, 6, 6, 6, 6, 6]);
        let items = [item(4 * mib, 0, 1), item(2 * mib, 2, 3)];
        let bytes: Vec<u64> = Way::ALL.into_iter().map(|way| way.worker()(&items) / mib).collect();
        assert_eq!(bytes, [6, 6, 4, 4, 4, 4]);
    }

    #[test]
    fn a_warm_packer_allocates_nothing() {
        let frames: Vec<Vec<Item>> = (0..40).map(vasa::graph::pack::corpus::random_frame).collect();
        let (mut packer, mut offsets) = (Packer::default(), Vec::new());
        let mut pack_all = || {
            frames.iter().for_each(|items| {
                packer.pack(items, &mut offsets);
            });
        };
        assert!(crate::host::allocations(&mut pack_all) > 0, "nothing is counted");
        assert_eq!(crate::host::allocations(&mut pack_all), 0);
    }
}
