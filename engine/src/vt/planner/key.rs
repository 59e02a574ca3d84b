//! A page of a source in one number: 12 bits of source, 2 of group, 4 of level, 24 of its Morton code among the pages of
//! its level. No two pages have the same, and the key of a parent is two shifts away.

use crate::vt::address::PageAddress;

const LEVEL_SHIFT: u32 = crate::vt::pool::OWNER_LEVEL_SHIFT;
const GROUP_SHIFT: u32 = 28;
const SOURCE_SHIFT: u32 = 30;

/// The key of a page.
#[inline]
pub(crate) fn pack(source: u16, group: u8, page: PageAddress) -> u64 {
    base(source, group) | in_base(page.level, PageAddress { level: 0, ..page }.morton())
}

/// What keys of all pages of a group have in common.
#[inline]
pub(crate) fn base(source: u16, group: u8) -> u64 {
    u64::from(source) << SOURCE_SHIFT | u64::from(group & 3) << GROUP_SHIFT
}

/// The rest of a key: level, and code among the pages of that level.
#[inline]
pub(crate) fn in_base(level: u8, code: u32) -> u64 {
    u64::from(level & 15) << LEVEL_SHIFT | u64::from(code & 0xff_ffff)
}

/// Whose page it is.
pub(crate) fn source(key: u64) -> u16 {
    (key >> SOURCE_SHIFT) as u16
}

/// Of which group.
pub(crate) fn group(key: u64) -> u8 {
    (key >> GROUP_SHIFT & 3) as u8
}

/// Which one.
pub(crate) fn page(key: u64) -> PageAddress {
    let level = (key >> LEVEL_SHIFT & 15) as u8;
    PageAddress { level, ..PageAddress::from_morton(key as u32 & 0xff_ffff, 0) }
}

/// The same page of every group: what locks are counted by.
pub(crate) fn without_group(key: u64) -> u64 {
    key & !(3 << GROUP_SHIFT)
}

/// Where a page is: pool and slot in one number.
pub(crate) fn place(pool: u8, slot: u16) -> u64 {
    u64::from(pool) << 16 | u64::from(slot)
}

/// What [`place`] made.
pub(crate) fn pool_and_slot(place: u64) -> (u8, u16) {
    ((place >> 16) as u8, place as u16)
}
