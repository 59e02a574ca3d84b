//! A sorted map for keys that mostly come in order.

use std::collections::BTreeMap;

/// Entries by ascending key. As long as keys come in ascending order they are only appended to a list, which is several
/// times faster than a tree; the first one that does not turns the list into a tree, once.
#[derive(Debug, Clone)]
pub(super) struct Ordered<K, V> {
    list: Vec<(K, V)>,
    /// Holds everything once it holds anything.
    tree: BTreeMap<K, V>,
}

impl<K, V> Default for Ordered<K, V> {
    fn default() -> Self {
        Self { list: Vec::new(), tree: BTreeMap::new() }
    }
}

impl<K: Ord, V> Ordered<K, V> {
    /// The entry with the highest key.
    pub(super) fn last(&self) -> Option<(&K, &V)> {
        self.tree.last_key_value().or_else(|| self.list.last().map(|(key, value)| (key, value)))
    }

    /// Adds an entry whose key is above all others.
    pub(super) fn push(&mut self, key: K, value: V) {
        if self.tree.is_empty() {
            self.list.push((key, value));
        } else {
            self.tree.insert(key, value);
        }
    }

    /// Everything, to be changed anywhere.
    pub(super) fn tree(&mut self) -> &mut BTreeMap<K, V> {
        if self.tree.is_empty() {
            self.tree.extend(self.list.drain(..));
        }
        &mut self.tree
    }

    /// The entries by ascending key.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.list.iter().map(|(key, value)| (key, value)).chain(&self.tree)
    }
}
