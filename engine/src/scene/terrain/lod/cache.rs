//! Which terrain chunks to create, keep and evict, frame by frame.
//!
//! A chunk is the vertices of one node, in growable buffers. It is created when its node is first drawn
//! and kept for some frames when it is not, because a camera that turns back wants it again.

use std::collections::BTreeMap;

use super::Node;

/// What to do in one frame. Both lists have a stable order and no duplicates, and share no node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CachePlan {
    /// Selected and missing, in the order of the selection. All of them are needed in this frame.
    pub create: Vec<Node>,
    /// No longer worth their memory: least recently selected first, then by node.
    pub evict: Vec<Node>,
}

/// Which nodes have chunks, and when each was last selected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkCache {
    keep_frames: u32,
    max_idle: usize,
    last_selected: BTreeMap<Node, u64>,
}

impl ChunkCache {
    /// An empty cache. A chunk that is not selected is kept for `keep_frames` frames after the last one
    /// that selected it (0: evicted in the very next frame), and of those that are not selected at most
    /// `max_idle` are kept, the most recently selected.
    pub fn new(keep_frames: u32, max_idle: usize) -> Self {
        Self { keep_frames, max_idle, last_selected: BTreeMap::new() }
    }

    /// Moves to frame `frame` (never falling), in which `selected` is drawn.
    pub fn update(&mut self, selected: &[Node], frame: u64) -> CachePlan {
        let mut plan = CachePlan::default();
        for &node in selected {
            if self.last_selected.insert(node, frame).is_none() {
                plan.create.push(node);
            }
        }
        let mut idle: Vec<(u64, Node)> = self
            .last_selected
            .iter()
            .filter(|&(_, &last)| last < frame)
            .map(|(&node, &last)| (last, node))
            .collect();
        idle.sort_unstable();
        let too_many = idle.len().saturating_sub(self.max_idle);
        let evicted = idle
            .iter()
            .enumerate()
            .filter(|&(index, &(last, _))| index < too_many || frame - last > u64::from(self.keep_frames));
        plan.evict = evicted.map(|(_, &(_, node))| node).collect();
        for node in &plan.evict {
            self.last_selected.remove(node);
        }
        plan
    }

    /// Forgets a chunk whose creation failed or that was taken away; it is created again when selected.
    /// Says whether it was there.
    pub fn forget(&mut self, node: Node) -> bool {
        self.last_selected.remove(&node).is_some()
    }

    /// Whether a node has a chunk.
    pub fn contains(&self, node: Node) -> bool {
        self.last_selected.contains_key(&node)
    }

    /// Chunks in all.
    pub fn len(&self) -> usize {
        self.last_selected.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.last_selected.is_empty()
    }
}
