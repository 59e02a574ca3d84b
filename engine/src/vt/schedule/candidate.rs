//! A page that is wanted, as one number that sorts: 64 bits, so that tens of thousands are picked from at once.

use crate::vt::address::PageAddress;
use crate::vt::planner::Priority;

/// The first thing that is sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    /// There is an entry that shows it, and no data.
    Withdrawn,
    /// Locked pages: exempt from budgets.
    Locked,
    /// By priority.
    Of(Priority),
}

impl Class {
    fn code(self) -> u64 {
        match self {
            Self::Withdrawn => 0,
            Self::Locked => 1,
            Self::Of(Priority::High) => 2,
            Self::Of(Priority::Normal) => 3,
            Self::Of(Priority::Low) => 4,
        }
    }

    fn of_code(code: u64) -> Self {
        match code {
            0 => Self::Withdrawn,
            1 => Self::Locked,
            2 => Self::Of(Priority::High),
            3 => Self::Of(Priority::Normal),
            _ => Self::Of(Priority::Low),
        }
    }
}

/// Where the wish comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Sampled.
    Feedback,
    /// On the way to sampled ones.
    Prefetch,
    /// Asked for ahead.
    Preload,
    /// Locked.
    Lock,
    /// There already, and to be drawn again.
    Redraw,
}

const KINDS: [Kind; 5] = [Kind::Feedback, Kind::Prefetch, Kind::Preload, Kind::Lock, Kind::Redraw];

/// A wanted page. The order is (class, coarse first, often sampled first, texture, group, along the curve).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) class: Class,
    pub(crate) page: PageAddress,
    /// Samples, of which 65535 count.
    pub(crate) count: u32,
    /// Slot of the texture.
    pub(crate) texture: u16,
    pub(crate) group: u8,
    pub(crate) kind: Kind,
}

impl Candidate {
    /// As [`Candidate::pack_code`], of the page.
    pub(crate) fn pack(self) -> u64 {
        self.pack_code(PageAddress { level: 0, ..self.page }.morton())
    }

    /// 3 bits of class, 4 of level, 16 of count, 12 of texture, 2 of group, 24 of address (`code`: among the pages of the
    /// level, whatever column and row say), 3 of kind.
    #[inline]
    pub(crate) fn pack_code(self, code: u32) -> u64 {
        self.class.code() << 61
            | u64::from(15 - (self.page.level & 15)) << 57
            | u64::from(0xffff - self.count.min(0xffff)) << 41
            | u64::from(self.texture & 0xfff) << 29
            | u64::from(self.group & 3) << 27
            | u64::from(code & 0xff_ffff) << 3
            | self.kind as u64
    }

    pub(crate) fn unpack(key: u64) -> Self {
        let level = 15 - (key >> 57 & 15) as u8;
        let address = PageAddress::from_morton((key >> 3 & 0xff_ffff) as u32, 0);
        Self {
            class: Class::of_code(key >> 61),
            page: PageAddress { level, ..address },
            count: 0xffff - (key >> 41 & 0xffff) as u32,
            texture: (key >> 29 & 0xfff) as u16,
            group: (key >> 27 & 3) as u8,
            kind: KINDS[(key & 7) as usize % KINDS.len()],
        }
    }
}
