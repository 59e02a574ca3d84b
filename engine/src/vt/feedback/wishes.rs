//! Words of all views of a frame, merged and sorted along the Z-curve: each page once, an ancestor before what is in it.
//!
//! Sorted lists rather than a hash table: merging, finding ancestors and finding textures become steps to a neighbour,
//! and what a view samples lies together in memory. The sort is by digits (LSD radix).

use crate::vt::SpaceId;
use crate::vt::address::PageAddress;

/// A page that was sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wish {
    /// See [`sort_key`].
    pub(crate) key: u32,
    /// How often it was sampled.
    pub(crate) count: u32,
}

/// 4 bits of space, 24 of the code of the page's corner, 4 of level, coarse first.
#[inline]
pub(crate) fn sort_key(space: SpaceId, code: u32, level: u8) -> u32 {
    u32::from(space.0 & 15) << 28 | (code & 0xff_ffff) << 4 | u32::from(15 - (level & 15))
}

impl Wish {
    pub(crate) fn space(self) -> SpaceId {
        SpaceId((self.key >> 28) as u8)
    }

    /// Code of its corner in the space.
    pub(crate) fn code(self) -> u32 {
        self.key >> 4 & 0xff_ffff
    }

    pub(crate) fn level(self) -> u8 {
        15 - (self.key & 15) as u8
    }
}

/// Unique pages of one frame.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wishes {
    /// Key and count, as they came.
    raw: Vec<u64>,
    scratch: Vec<u64>,
    list: Vec<Wish>,
}

impl Wishes {
    pub(crate) fn clear(&mut self) {
        self.raw.clear();
        self.list.clear();
    }

    #[inline]
    pub(crate) fn push(&mut self, key: u32, count: u32) {
        self.raw.push(u64::from(key) << 32 | u64::from(count));
    }

    /// Sorts and merges what was pushed.
    pub(crate) fn sort(&mut self) {
        self.sort_by_digits();
        self.list.clear();
        for packed in &self.raw {
            let (key, count) = ((packed >> 32) as u32, *packed as u32);
            match self.list.last_mut() {
                Some(last) if last.key == key => last.count = last.count.saturating_add(count),
                _ => self.list.push(Wish { key, count }),
            }
        }
    }

    fn sort_by_digits(&mut self) {
        match self.raw.len() {
            0..128 => self.raw.sort_unstable(),
            // Few words, few counters.
            128..8192 => self.sort_by::<8, 256, 4>(),
            _ => self.sort_by::<11, 2048, 3>(),
        }
    }

    fn sort_by<const BITS: u32, const VALUES: usize, const DIGITS: usize>(&mut self) {
        self.scratch.resize(self.raw.len(), 0);
        let digit = |packed: u64, nth: u32| (packed >> (32 + nth * BITS)) as usize & (VALUES - 1);
        let mut ends = [[0u32; VALUES]; DIGITS];
        for packed in &self.raw {
            for (nth, ends) in (0..).zip(&mut ends) {
                ends[digit(*packed, nth)] += 1;
            }
        }
        let first = self.raw.first().copied().unwrap_or(0);
        for (nth, ends) in (0..).zip(&mut ends) {
            // A digit that all have is sorted already.
            if ends[digit(first, nth)] as usize == self.raw.len() {
                continue;
            }
            let mut sum = 0;
            for end in ends.iter_mut() {
                sum += std::mem::replace(end, sum);
            }
            for packed in &self.raw {
                let place = &mut ends[digit(*packed, nth)];
                self.scratch[*place as usize] = *packed;
                *place += 1;
            }
            std::mem::swap(&mut self.raw, &mut self.scratch);
        }
    }

    /// Sorted and merged; valid after [`Wishes::sort`].
    pub(crate) fn list(&self) -> &[Wish] {
        &self.list
    }

    /// How often a page of a space was sampled; valid after [`Wishes::sort`].
    pub(crate) fn count(&self, space: SpaceId, page: PageAddress) -> Option<u32> {
        if !space.is_fed() {
            return None;
        }
        let key = sort_key(space, page.morton(), page.level);
        let index = self.list.binary_search_by_key(&key, |wish| wish.key).ok()?;
        Some(self.list[index].count)
    }

    /// Forgets what was pushed of a square of a space: its texture is gone.
    pub(crate) fn forget(&mut self, space: SpaceId, square: PageAddress) {
        let is_in = |key: u32| {
            let wish = Wish { key, count: 0 };
            space.is_fed()
                && wish.space() == space
                && square.contains(PageAddress::from_morton(wish.code(), 0))
        };
        self.raw.retain(|packed| !is_in((packed >> 32) as u32));
        self.list.retain(|wish| !is_in(wish.key));
    }
}
