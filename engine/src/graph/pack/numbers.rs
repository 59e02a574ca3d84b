//! Numbers that look random and are the same on every machine.

/// A sequence of numbers that a seed decides: splitmix64.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Numbers(u64);

impl Numbers {
    /// The sequence of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next of all 64-bit numbers.
    pub fn any(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`; 0 for an `end` of 0.
    pub fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.any()) * u128::from(end)) >> 64) as u64
    }

    /// A number from `least` to `most`, each power of two between them as likely as the next. Whole numbers only, so that
    /// it is the same on every machine.
    pub fn logarithmic(&mut self, least: u64, most: u64) -> u64 {
        let (low, high) = (least.max(1).ilog2(), most.max(1).ilog2());
        for _ in 0..64 {
            let power = 1u64 << (u64::from(low) + self.below(u64::from(high.saturating_sub(low)) + 1));
            let number = power + self.below(power);
            if (least..=most).contains(&number) {
                return number;
            }
        }
        least
    }

    /// One of a list, any as likely as the next; `None` of nothing.
    pub fn one_of<T: Copy>(&mut self, of: &[T]) -> Option<T> {
        of.get(self.below(of.len() as u64) as usize).copied()
    }
}
