//! A page of a source in one number: 12 bits of source, 2 of group, 28 of page. No two pages have the same.

use crate::vt::address::PageAddress;

const GROUP_SHIFT: u32 = 28;
const SOURCE_SHIFT: u32 = 30;

/// The key of a page.
#[inline]
pub(crate) fn pack(source: u16, group: u8, page: PageAddress) -> u64 {
    u64::from(source) << SOURCE_SHIFT | u64::from(group & 3) << GROUP_SHIFT | u64::from(page.pack())
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
    PageAddress::unpack(key as u32)
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
