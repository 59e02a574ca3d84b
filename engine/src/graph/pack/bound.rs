//! The lower bound of a packing: the most bytes alive at one place.

use super::Item;

/// The largest sum of bytes alive at one place in the order: no heap that holds the items can be smaller. Alignment does
/// not count, so that a heap may have to be a little larger. Saturates at `u64::MAX`.
pub fn bound(items: &[Item]) -> u64 {
    Events::default().bound(items)
}

/// Births and deaths in the order of time; kept, so that the next frame allocates nothing.
#[derive(Debug, Clone, Default)]
pub(super) struct Events {
    /// (first place, bytes)
    births: Vec<(u32, u64)>,
    /// (last place, bytes)
    deaths: Vec<(u32, u64)>,
}

impl Events {
    /// See [`bound`].
    pub(super) fn bound(&mut self, items: &[Item]) -> u64 {
        self.births.clear();
        self.births.extend(items.iter().map(|item| (item.first, item.bytes)));
        self.births.sort_unstable();
        self.deaths.clear();
        self.deaths.extend(items.iter().map(|item| (item.last.max(item.first), item.bytes)));
        self.deaths.sort_unstable();
        let (mut live, mut most) = (0u128, 0u128);
        let mut deaths = self.deaths.iter().peekable();
        for (first, bytes) in &self.births {
            while let Some((_, gone)) = deaths.next_if(|(last, _)| last < first) {
                live = live.saturating_sub(u128::from(*gone));
            }
            live += u128::from(*bytes);
            most = most.max(live);
        }
        u64::try_from(most).unwrap_or(u64::MAX)
    }
}
