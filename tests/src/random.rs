//! Numbers that look random and come again with their seed.

use vasa::graph::pack::Numbers;

/// A small generator: the engine's [`Numbers`]. Tests print the seed that they start from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Random(Numbers);

impl Random {
    /// Numbers that differ from those of every other seed.
    pub fn new(seed: u64) -> Self {
        Self(Numbers::new(seed))
    }

    /// Any number.
    pub fn number(&mut self) -> u64 {
        self.0.any()
    }

    /// A number below `limit` (0 for a limit of 0).
    pub fn below(&mut self, limit: u64) -> u64 {
        self.number() % limit.max(1)
    }

    /// Yes once in `n` times.
    pub fn once_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// One of them, if there are any.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        from.get(self.below(from.len() as u64) as usize)
    }

    /// About `count` of them, in their order.
    pub fn some<T: Copy>(&mut self, from: &[T], count: u64) -> Vec<T> {
        let all = from.len() as u64;
        from.iter().filter(|_| self.below(all) < count).copied().collect()
    }

    /// So many bytes.
    pub fn bytes(&mut self, count: u64) -> Vec<u8> {
        let words = (0..count.div_ceil(8)).flat_map(|_| self.number().to_le_bytes());
        words.take(count as usize).collect()
    }
}
