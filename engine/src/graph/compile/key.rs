//! What a compiled frame is found by: the declaration itself, compared after a fast hash.

use std::hash::{Hash, Hasher};

use super::{Options, Order};
use crate::graph::declaration::{Declaration, Pass, Resource};

/// A declaration and options, kept beside what they compiled to.
#[derive(Debug, Default)]
pub(super) struct Key {
    hash: u64,
    declaration: Declaration,
    /// `None` while nothing is kept.
    options: Option<Options>,
}

impl Key {
    /// Whether it is the key of this frame.
    pub(super) fn is(&self, hash: u64, declaration: &Declaration, options: &Options) -> bool {
        self.hash == hash
            && self.options.as_ref() == Some(options)
            && self.declaration.passes == declaration.passes
            && self.declaration.resources == declaration.resources
            && self.declaration.uses == declaration.uses
            && self.declaration.orders == declaration.orders
            && declaration.mistake.is_none()
    }

    /// Matches nothing until set again; keeps its memory.
    pub(super) fn forget(&mut self) {
        self.options = None;
    }

    /// Becomes the key of a frame that compiled, in the memory that it has.
    pub(super) fn set(&mut self, hash: u64, declaration: &Declaration, options: &Options) {
        self.hash = hash;
        self.options = Some(*options);
        copy_list(&mut self.declaration.passes, &declaration.passes, copy_pass);
        copy_list(&mut self.declaration.resources, &declaration.resources, copy_resource);
        self.declaration.uses.clone_from(&declaration.uses);
        self.declaration.orders.clone_from(&declaration.orders);
    }
}

fn copy_list<T: Clone>(to: &mut Vec<T>, from: &[T], copy: impl Fn(&mut T, &T)) {
    to.truncate(from.len());
    for (to, from) in to.iter_mut().zip(from) {
        copy(to, from);
    }
    let start = to.len();
    to.extend(from[start..].iter().cloned());
}

// Names keep their memory: a derived `clone_from` would take a new string for each.

fn copy_pass(to: &mut Pass, from: &Pass) {
    let Pass { name, queue, has_side_effects, is_on, uses } = from;
    to.name.clone_from(name);
    (to.queue, to.has_side_effects, to.is_on) = (*queue, *has_side_effects, *is_on);
    to.uses = uses.clone();
}

fn copy_resource(to: &mut Resource, from: &Resource) {
    let Resource { name, info, origin, needs, versions } = from;
    to.name.clone_from(name);
    (to.info, to.origin, to.needs, to.versions) = (*info, *origin, *needs, *versions);
}

/// Hash of a declaration (without its number) and options.
pub(super) fn hash(declaration: &Declaration, options: &Options) -> u64 {
    let mut hasher = Multiply(0);
    declaration.passes.hash(&mut hasher);
    declaration.resources.hash(&mut hasher);
    declaration.uses.hash(&mut hasher);
    declaration.orders.hash(&mut hasher);
    match options.order {
        Order::Declared => hasher.write_u8(0),
        Order::Random(seed) => hasher.write_u64(seed),
    }
    hasher.finish()
}

/// A word at a time: rotate, mix in, multiply. Not for keys that somebody chooses to collide: equality decides anyway.
struct Multiply(u64);

impl Multiply {
    fn add(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
}

impl Hasher for Multiply {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.add(u64::from_le_bytes(*word));
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.add(u64::from_le_bytes(last));
    }

    fn write_u8(&mut self, value: u8) {
        self.add(u64::from(value));
    }

    fn write_u32(&mut self, value: u32) {
        self.add(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        self.add(value);
    }

    fn write_usize(&mut self, value: usize) {
        self.add(value as u64);
    }

    fn write_isize(&mut self, value: isize) {
        self.add(value as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::declaration::{BufferInfo, ImportState, Queue};

    /// Equality decides, whatever hashes say: here they are all the same.
    #[test]
    fn frames_of_one_hash_are_told_apart() {
        let base = || {
            let mut frame = Declaration::default();
            let info = BufferInfo { bytes: 64, usage: 0 };
            let mut buffer = frame.import_buffer("buffer", info, ImportState::Undefined, None);
            let pass = frame.pass("pass", Queue::Graphics);
            frame.write(pass, &mut buffer, crate::graph::Access::CopyDestination);
            frame.pass("other", Queue::Graphics);
            frame
        };
        let options = Options::default();
        let mut key = Key::default();
        assert!(!key.is(0, &Declaration::default(), &options));
        key.set(0, &base(), &options);
        assert!(key.is(0, &base(), &options));
        let changes: [fn(&mut Declaration); 4] = [
            |frame| frame.passes[1].queue = Queue::Compute,
            |frame| frame.resources[0].versions = 2,
            |frame| frame.uses[0].access = crate::graph::Access::CopyDestinationOver,
            |frame| frame.orders.push((crate::graph::PassId(0), crate::graph::PassId(1))),
        ];
        for change in changes {
            let mut other = base();
            change(&mut other);
            assert!(!key.is(0, &other, &options));
        }
        assert!(!key.is(0, &base(), &Options { aliasing: false, ..options }));
        key.forget();
        assert!(!key.is(0, &base(), &options));
    }
}
