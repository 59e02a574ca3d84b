//! A first-fit stand-in behind the packer's interface.

/// Something to place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Item {
    /// Size in bytes.
    pub bytes: u64,
    /// Alignment in bytes.
    pub alignment: u64,
    /// First place at which it lives.
    pub first: u32,
    /// Last place, inclusive.
    pub last: u32,
}

/// Places items.
#[derive(Debug, Default)]
pub struct Packer {
    by_size: Vec<u32>,
    neighbours: Vec<(u64, u64)>,
}

impl Packer {
    /// Gives every item an offset such that items alive together do not overlap. Returns the height in bytes.
    pub fn pack(&mut self, items: &[Item], offsets: &mut Vec<u64>) -> u64 {
        offsets.clear();
        offsets.resize(items.len(), 0);
        self.by_size.clear();
        self.by_size.extend(0..items.len() as u32);
        self.by_size.sort_unstable_by_key(|&at| (std::cmp::Reverse(items[at as usize].bytes), at));
        let mut height = 0;
        for (done, &at) in self.by_size.iter().enumerate() {
            let item = items[at as usize];
            self.neighbours.clear();
            self.neighbours.extend(self.by_size[..done].iter().filter_map(|&other| {
                let neighbour = items[other as usize];
                let meets = neighbour.first <= item.last && item.first <= neighbour.last;
                let start = offsets[other as usize];
                meets.then_some((start, start.saturating_add(neighbour.bytes)))
            }));
            self.neighbours.sort_unstable();
            let mut offset = 0u64;
            for &(start, end) in &self.neighbours {
                if offset.saturating_add(item.bytes) > start && offset < end {
                    offset = end.div_ceil(item.alignment.max(1)).saturating_mul(item.alignment.max(1));
                }
            }
            offsets[at as usize] = offset;
            height = height.max(offset.saturating_add(item.bytes));
        }
        height
    }
}
