//! Two maps of numbers in flat memory: what a frame asks tens of thousands of times must not chase pointers.
//!
//! Both probe linearly from a multiplicative hash (Knuth, The Art of Computer Programming, 6.4), at most half full.

const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;
const LEAST_SLOTS: usize = 16;

/// Keys to values, kept from frame to frame. No key may be `u64::MAX`.
#[derive(Debug, Clone)]
pub(crate) struct KeyMap {
    slots: Vec<(u64, u64)>,
    len: usize,
    shift: u32,
}

const EMPTY: u64 = u64::MAX;

impl KeyMap {
    pub(crate) fn new() -> Self {
        Self::with_slots(LEAST_SLOTS)
    }

    /// Room for as many keys without growing.
    pub(crate) fn with_capacity(keys: usize) -> Self {
        Self::with_slots((keys.saturating_mul(2) + 1).next_power_of_two().max(LEAST_SLOTS))
    }

    fn with_slots(slots: usize) -> Self {
        Self { slots: vec![(EMPTY, 0); slots], len: 0, shift: 64 - slots.trailing_zeros() }
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    fn home(&self, key: u64) -> usize {
        (key.wrapping_mul(MULTIPLIER) >> self.shift) as usize
    }

    /// The slot of `key`, or the empty one where it belongs.
    fn find(&self, key: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = self.home(key) & mask;
        loop {
            let found = self.slots[at].0;
            if found == key || found == EMPTY {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    pub(crate) fn get(&self, key: u64) -> Option<u64> {
        let (found, value) = self.slots[self.find(key)];
        (found == key && key != EMPTY).then_some(value)
    }

    pub(crate) fn insert(&mut self, key: u64, value: u64) {
        let slot = self.entry(key);
        *slot = value;
    }

    /// The value of `key`, made as 0 where there is none.
    pub(crate) fn entry(&mut self, key: u64) -> &mut u64 {
        debug_assert_ne!(key, EMPTY);
        if (self.len + 1) * 2 > self.slots.len() {
            let mut larger = Self::with_slots(self.slots.len() * 2);
            for (key, value) in self.iter() {
                let at = larger.find(key);
                larger.slots[at] = (key, value);
            }
            larger.len = self.len;
            *self = larger;
        }
        let at = self.find(key);
        if self.slots[at].0 == EMPTY {
            self.slots[at] = (key, 0);
            self.len += 1;
        }
        &mut self.slots[at].1
    }

    /// Takes `key` out; those behind it move up, so that no probe ever meets a grave.
    pub(crate) fn remove(&mut self, key: u64) -> Option<u64> {
        let mut hole = self.find(key);
        let (found, value) = self.slots[hole];
        if found != key || key == EMPTY {
            return None;
        }
        let mask = self.slots.len() - 1;
        let mut at = hole;
        loop {
            at = (at + 1) & mask;
            let (next, _) = self.slots[at];
            if next == EMPTY {
                break;
            }
            // It may move into the hole when the hole lies between its home and where it is.
            let from_home = at.wrapping_sub(self.home(next)) & mask;
            if from_home >= (at.wrapping_sub(hole) & mask) {
                self.slots[hole] = self.slots[at];
                hole = at;
            }
        }
        self.slots[hole] = (EMPTY, 0);
        self.len -= 1;
        Some(value)
    }

    /// All keys with their values, in no order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.slots.iter().copied().filter(|(key, _)| *key != EMPTY)
    }
}

/// Keys to indices of a list that the caller keeps, for one frame: forgetting all of them costs nothing.
///
/// A slot is 32 bits of the hash, 12 of the frame's number and 20 of the index.
#[derive(Debug, Clone)]
pub(crate) struct FrameMap {
    slots: Vec<u64>,
    len: usize,
    epoch: u64,
    shift: u32,
}

const INDEX_BITS: u32 = 20;
const EPOCHS: u64 = 1 << 12;

impl FrameMap {
    /// Keys that one frame may have.
    pub(crate) const MOST: usize = 1 << INDEX_BITS;

    pub(crate) fn new() -> Self {
        Self { slots: vec![0; LEAST_SLOTS], len: 0, epoch: 1, shift: 64 - LEAST_SLOTS.trailing_zeros() }
    }

    /// Forgets all keys.
    pub(crate) fn clear(&mut self) {
        self.len = 0;
        self.epoch += 1;
        if self.epoch == EPOCHS {
            self.slots.fill(0);
            self.epoch = 1;
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    fn mixed(key: u64) -> u64 {
        // The high half of the product decides the home; the tag is folded so that its bits are others.
        let product = key.wrapping_mul(MULTIPLIER);
        product ^ (product >> 32)
    }

    /// The index of `key`; `is_it` says whether the key at an index of the list is that one.
    pub(crate) fn get(&self, key: u64, is_it: impl Fn(usize) -> bool) -> Option<usize> {
        self.probe(Self::mixed(key), is_it).ok()
    }

    fn probe(&self, mixed: u64, is_it: impl Fn(usize) -> bool) -> Result<usize, usize> {
        let mask = self.slots.len() - 1;
        let wanted = mixed << 32 | self.epoch << INDEX_BITS;
        let mut at = (mixed >> self.shift) as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot >> INDEX_BITS & (EPOCHS - 1) != self.epoch {
                return Err(at);
            }
            let index = (slot & (Self::MOST as u64 - 1)) as usize;
            if slot >> INDEX_BITS == wanted >> INDEX_BITS && is_it(index) {
                return Ok(index);
            }
            at = (at + 1) & mask;
        }
    }

    /// The index of `key`, or `next` from now on where it has none: then `Err`, and the caller appends the key to its
    /// list. `key_at` gives the keys of the list. Past [`FrameMap::MOST`] keys nothing is kept.
    pub(crate) fn get_or_insert(
        &mut self,
        key: u64,
        next: usize,
        key_at: impl Fn(usize) -> u64,
    ) -> Result<usize, usize> {
        if (self.len + 1) * 2 > self.slots.len() {
            self.grow(&key_at);
        }
        let mixed = Self::mixed(key);
        match self.probe(mixed, |index| key_at(index) == key) {
            Ok(index) => Ok(index),
            Err(at) => {
                if next < Self::MOST {
                    self.slots[at] = mixed << 32 | self.epoch << INDEX_BITS | next as u64;
                    self.len += 1;
                }
                Err(next)
            }
        }
    }

    fn grow(&mut self, key_at: &impl Fn(usize) -> u64) {
        let slots = self.slots.len() * 2;
        let old = std::mem::replace(&mut self.slots, vec![0; slots]);
        self.shift = 64 - slots.trailing_zeros();
        let epoch = self.epoch;
        for slot in old.into_iter().filter(|slot| slot >> INDEX_BITS & (EPOCHS - 1) == epoch) {
            let mixed = Self::mixed(key_at((slot & (Self::MOST as u64 - 1)) as usize));
            if let Err(at) = self.probe(mixed, |_| false) {
                self.slots[at] = slot;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn keys_come_and_go(steps in prop::collection::vec((0u64..60, 0u64..3), 0..400)) {
            // Far keys share homes, so that runs wrap and overlap.
            let (mut ours, mut model) = (KeyMap::new(), BTreeMap::new());
            for (key, what) in steps {
                let key = key * 0x1000_0000_0001;
                match what {
                    0 => prop_assert_eq!(ours.remove(key), model.remove(&key)),
                    1 => {
                        ours.insert(key, key + 1);
                        model.insert(key, key + 1);
                    }
                    _ => {
                        *ours.entry(key) += 3;
                        *model.entry(key).or_insert(0) += 3;
                    }
                }
                prop_assert_eq!(ours.len(), model.len());
                let found: BTreeMap<u64, u64> = ours.iter().collect();
                prop_assert_eq!(&found, &model);
                for key in 0..60 {
                    let key = key * 0x1000_0000_0001;
                    prop_assert_eq!(ours.get(key), model.get(&key).copied());
                }
            }
        }

        #[test]
        fn frames_forget(frames in prop::collection::vec(prop::collection::vec(0u64..200, 0..100), 1..12)) {
            let mut map = FrameMap::new();
            map.epoch = EPOCHS - 5;
            let mut keys: Vec<u64> = Vec::new();
            for frame in frames {
                map.clear();
                keys.clear();
                for key in &frame {
                    let key = key << 30 | key;
                    let known = keys.iter().position(|k| *k == key);
                    prop_assert_eq!(map.get(key, |i| keys[i] == key), known);
                    match map.get_or_insert(key, keys.len(), |i| keys[i]) {
                        Ok(index) => prop_assert_eq!(Some(index), known),
                        Err(next) => {
                            prop_assert_eq!((next, known), (keys.len(), None));
                            keys.push(key);
                        }
                    }
                }
                prop_assert_eq!(map.is_empty(), frame.is_empty());
            }
        }
    }
}
