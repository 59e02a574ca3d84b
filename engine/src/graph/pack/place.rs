//! Placing items one after the other, each at the lowest offset that is free for as long as it lives.

use super::Item;

/// Lives that are tested against another in one go.
const BLOCK: usize = 8;

/// First and last place at which an item is alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Life {
    first: u32,
    last: u32,
}

impl Life {
    fn of(item: &Item) -> Self {
        Self { first: item.first, last: item.last.max(item.first) }
    }

    /// Without a branch: a block of these is a few vector instructions.
    fn meets(self, other: Self) -> bool {
        (self.first <= other.last) & (other.first <= self.last)
    }
}

/// Bytes that an item takes.
#[derive(Debug, Clone, Copy)]
struct Extent {
    offset: u64,
    end: u64,
}

/// Which item, and when it was placed.
#[derive(Debug, Clone, Copy)]
struct Who {
    index: u32,
    rank: u32,
}

/// Items placed so far, by offset. Three lists side by side, because a scan mostly reads lives.
#[derive(Debug, Clone, Default)]
pub(super) struct Heap {
    lives: Vec<Life>,
    extents: Vec<Extent>,
    who: Vec<Who>,
    height: u64,
    /// Items looked at since this was last set: the measure of work.
    pub(super) steps: u64,
}

impl Heap {
    /// Highest end of what is placed.
    pub(super) fn height(&self) -> u64 {
        self.height
    }

    /// Forgets all items placed at `rank` or later.
    pub(super) fn rewind(&mut self, rank: u32) {
        self.steps = self.steps.saturating_add(self.who.len() as u64);
        let (mut kept, mut height) = (0, 0);
        for from in 0..self.who.len() {
            if self.who[from].rank < rank {
                self.lives[kept] = self.lives[from];
                self.extents[kept] = self.extents[from];
                self.who[kept] = self.who[from];
                height = height.max(self.extents[from].end);
                kept += 1;
            }
        }
        self.lives.truncate(kept);
        self.extents.truncate(kept);
        self.who.truncate(kept);
        self.height = height;
    }

    /// Places an item at the lowest free offset. Where it would end above `limit` it is not placed, and this is `false`.
    pub(super) fn place(&mut self, item: &Item, index: u32, rank: u32, limit: u64) -> bool {
        let life = Life::of(item);
        let offset = if item.bytes == 0 { 0 } else { self.lowest(item, life) };
        let end = offset.saturating_add(item.bytes);
        if end > limit {
            return false;
        }
        let at = self.extents.partition_point(|extent| extent.offset < offset);
        self.lives.insert(at, life);
        self.extents.insert(at, Extent { offset, end });
        self.who.insert(at, Who { index, rank });
        self.height = self.height.max(end);
        true
    }

    /// The lowest offset at which an item meets nothing that is alive beside it.
    fn lowest(&mut self, item: &Item, life: Life) -> u64 {
        let alignment = item.alignment.max(1);
        let mut offset = 0u64;
        for (block, (lives, extents)) in self.lives.chunks(BLOCK).zip(self.extents.chunks(BLOCK)).enumerate()
        {
            let mut hits = lives
                .iter()
                .enumerate()
                .fold(0u32, |hits, (i, other)| hits | (u32::from(life.meets(*other)) << i));
            while hits != 0 {
                let i = hits.trailing_zeros() as usize;
                hits &= hits - 1;
                let extent = extents[i];
                if extent.offset >= offset.saturating_add(item.bytes) {
                    self.steps = self.steps.saturating_add((block * BLOCK + i) as u64);
                    return offset;
                }
                if extent.end > offset {
                    offset = align_up(extent.end, alignment);
                }
            }
        }
        self.steps = self.steps.saturating_add(self.lives.len() as u64 + 1);
        offset
    }

    /// Writes the offset of every item that is placed to its index.
    pub(super) fn write_offsets(&self, offsets: &mut [u64]) {
        for (who, extent) in self.who.iter().zip(&self.extents) {
            if let Some(offset) = offsets.get_mut(who.index as usize) {
                *offset = extent.offset;
            }
        }
    }
}

fn align_up(offset: u64, alignment: u64) -> u64 {
    if alignment.is_power_of_two() {
        let mask = alignment - 1;
        return offset.checked_add(mask).map_or(u64::MAX, |sum| sum & !mask);
    }
    offset.checked_next_multiple_of(alignment).unwrap_or(u64::MAX)
}
