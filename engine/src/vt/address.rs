//! A page: its level, and its place counted in pages of that level.
//!
//! Level 0 is the finest. A page of level L covers `2^L x 2^L` pages of level 0, and its Morton code (the Z-curve of its
//! corner at level 0, x in the even bits) starts a run of `4^L` codes, so that its low `2L` bits are zero.

use std::cmp::{Ordering, Reverse};

/// The coarsest level that a page table of the largest side has.
pub const MOST_LEVEL: u8 = 12;
/// The largest side of a page table, in pages of level 0: 12 bits.
pub const MOST_SIDE: u32 = 1 << MOST_LEVEL;

/// A page of a texture, or of a space; which of the two is said where it stands.
///
/// There is no order of its own: see [`PageAddress::coarse_first`] and [`PageAddress::along_curve`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize)]
pub struct PageAddress {
    /// 0 is the finest, [`MOST_LEVEL`] the coarsest.
    pub level: u8,
    /// Column, in pages of this level.
    pub x: u16,
    /// Row, in pages of this level.
    pub y: u16,
}

impl PageAddress {
    /// The page at column `x` and row `y` of `level`.
    pub const fn new(level: u8, x: u16, y: u16) -> Self {
        Self { level, x, y }
    }

    /// The Morton code of its corner at level 0: 24 bits, x in the even ones. What lies outside a page table of the
    /// largest side is cut off.
    pub fn morton(self) -> u32 {
        let level = u32::from(self.level.min(MOST_LEVEL));
        let corner = |at: u16| (u32::from(at) << level) & (MOST_SIDE - 1);
        spread(corner(self.x)) | spread(corner(self.y)) << 1
    }

    /// The page of `level` that holds the page of level 0 with this code.
    pub fn from_morton(code: u32, level: u8) -> Self {
        let level = level.min(MOST_LEVEL);
        let at = |code: u32| (gather(code) & (MOST_SIDE - 1)) >> level;
        Self { level, x: at(code) as u16, y: at(code >> 1) as u16 }
    }

    /// The page of the next coarser level that holds this one.
    pub fn parent(self) -> Self {
        Self { level: self.level.saturating_add(1), x: self.x >> 1, y: self.y >> 1 }
    }

    /// The page of `level` that holds this one; itself where `level` is not coarser.
    pub fn ancestor(self, level: u8) -> Self {
        match level.checked_sub(self.level) {
            None | Some(0) => self,
            Some(up) => {
                let at = |at: u16| at.checked_shr(u32::from(up)).unwrap_or(0);
                Self { level, x: at(self.x), y: at(self.y) }
            }
        }
    }

    /// Whether `other` is this page, or lies in it.
    pub fn contains(self, other: Self) -> bool {
        other.level <= self.level && other.ancestor(self.level) == self
    }

    /// The four pages of the next finer level; nothing at level 0.
    pub fn children(self) -> impl Iterator<Item = Self> {
        let level = self.level.checked_sub(1);
        level.into_iter().flat_map(move |level| {
            [(0, 0), (1, 0), (0, 1), (1, 1)].into_iter().map(move |(x, y)| Self {
                level,
                x: self.x.wrapping_shl(1) | x,
                y: self.y.wrapping_shl(1) | y,
            })
        })
    }

    /// Level, row and column in one number: 4 + 12 + 12 bits, injective for pages that a page table has.
    pub fn pack(self) -> u32 {
        u32::from(self.level & 15) << 24 | u32::from(self.y & 0xfff) << 12 | u32::from(self.x & 0xfff)
    }

    /// What [`PageAddress::pack`] made.
    pub fn unpack(packed: u32) -> Self {
        Self {
            level: (packed >> 24 & 15) as u8,
            x: (packed & 0xfff) as u16,
            y: (packed >> 12 & 0xfff) as u16,
        }
    }

    /// The order in which quads are painted and pages are made: coarse before fine, then along the curve.
    pub fn coarse_first(self, other: Self) -> Ordering {
        let key = |page: Self| (Reverse(page.level), page.morton());
        key(self).cmp(&key(other))
    }

    /// Along the Z-curve; a page stands before the pages in it.
    pub fn along_curve(self, other: Self) -> Ordering {
        let key = |page: Self| (page.morton(), Reverse(page.level));
        key(self).cmp(&key(other))
    }
}

impl std::fmt::Display for PageAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "level {}, page {},{}", self.level, self.x, self.y)
    }
}

/// Twelve bits to the even ones of 24.
fn spread(bits: u32) -> u32 {
    let bits = bits & 0xffff;
    let bits = (bits | bits << 8) & 0x00ff_00ff;
    let bits = (bits | bits << 4) & 0x0f0f_0f0f;
    let bits = (bits | bits << 2) & 0x3333_3333;
    (bits | bits << 1) & 0x5555_5555
}

/// The even bits, together.
fn gather(bits: u32) -> u32 {
    let bits = bits & 0x5555_5555;
    let bits = (bits | bits >> 1) & 0x3333_3333;
    let bits = (bits | bits >> 2) & 0x0f0f_0f0f;
    let bits = (bits | bits >> 4) & 0x00ff_00ff;
    (bits | bits >> 8) & 0x0000_ffff
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn page() -> impl Strategy<Value = PageAddress> {
        (0..=MOST_LEVEL).prop_flat_map(|level| {
            let side = (MOST_SIDE >> level) as u16;
            (Just(level), 0..side, 0..side).prop_map(|(level, x, y)| PageAddress { level, x, y })
        })
    }

    proptest! {
        #[test]
        fn a_code_is_the_bits_of_both_axes(page in page()) {
            let code = page.morton();
            for bit in 0..12 {
                let (x, y) = (u32::from(page.x) << page.level, u32::from(page.y) << page.level);
                prop_assert_eq!(code >> (2 * bit) & 1, x >> bit & 1);
                prop_assert_eq!(code >> (2 * bit + 1) & 1, y >> bit & 1);
            }
            prop_assert_eq!(code & ((1 << (2 * u32::from(page.level))) - 1), 0, "low 2L bits");
            prop_assert!(code < 1 << 24);
            prop_assert_eq!(PageAddress::from_morton(code, page.level), page);
            prop_assert_eq!(PageAddress::unpack(page.pack()), page);
        }

        #[test]
        fn ancestors_are_runs_of_codes(page in page(), level in 0..=MOST_LEVEL, other in page()) {
            let above = page.ancestor(level);
            prop_assert!(above.contains(page));
            let run = |page: PageAddress| page.morton()..page.morton() + (1 << (2 * u32::from(page.level)));
            let inside = run(other).start >= run(page).start && run(other).end <= run(page).end;
            prop_assert_eq!(page.contains(other), inside);
            let mut steps = page;
            while steps.level < level {
                steps = steps.parent();
            }
            prop_assert_eq!(steps, above);
            for child in page.children() {
                prop_assert_eq!(child.parent(), page);
            }
            prop_assert_eq!(page.children().count(), if page.level == 0 { 0 } else { 4 });
        }

        #[test]
        fn any_numbers_are_taken(level: u8, x: u16, y: u16, to: u8, code: u32) {
            let page = PageAddress { level, x, y };
            let _ = (page.morton(), page.parent(), page.ancestor(to), page.contains(page.parent()), page.pack());
            let _ = (page.children().count(), PageAddress::from_morton(code, to), PageAddress::unpack(code));
        }
    }

    #[test]
    fn orders() {
        let mut pages = [(0, 1, 0), (2, 0, 0), (0, 0, 0), (1, 1, 1), (1, 0, 0)]
            .map(|(l, x, y)| PageAddress::new(l, x, y));
        let levels = |pages: &[PageAddress]| pages.iter().map(|p| (p.level, p.x, p.y)).collect::<Vec<_>>();
        pages.sort_by(|a, b| a.coarse_first(*b));
        assert_eq!(levels(&pages), [(2, 0, 0), (1, 0, 0), (1, 1, 1), (0, 0, 0), (0, 1, 0)]);
        pages.sort_by(|a, b| a.along_curve(*b));
        assert_eq!(levels(&pages), [(2, 0, 0), (1, 0, 0), (0, 0, 0), (0, 1, 0), (1, 1, 1)]);
    }
}
