//! Who lay in the bytes of a heap last.

use super::cell::NONE;
use crate::graph::order::LANES;

/// Bytes of a heap and the resource that took them last.
#[derive(Debug, Clone, Copy)]
struct Segment {
    start: u64,
    end: u64,
    resource: u32,
}

/// What a transient that takes memory over has to wait for.
#[derive(Debug, Clone, Copy)]
pub(super) struct TakeOver {
    /// Stages and write accesses, by lane.
    pub(super) stages: [u64; LANES],
    pub(super) accesses: [u64; LANES],
    /// One of those that lay there; [`NONE`] if nobody did.
    pub(super) occupant: u32,
    pub(super) is_known: bool,
    /// Bits of the lanes on which the frame before may have it still.
    pub(super) external: u8,
}

impl TakeOver {
    pub(super) const UNKNOWN: Self =
        Self { stages: [0; LANES], accesses: [0; LANES], occupant: NONE, is_known: false, external: 0 };
}

/// Occupants of all heaps, in bytes order. Only the last occupant of a byte is kept: it waited for those before.
#[derive(Debug, Default)]
pub(super) struct Memory {
    heaps: Vec<Vec<Segment>>,
    found: Vec<u32>,
}

impl Memory {
    pub(super) fn clear(&mut self, heaps: usize) {
        if self.heaps.len() < heaps {
            self.heaps.resize_with(heaps, Vec::new);
        }
        for heap in &mut self.heaps {
            heap.clear();
        }
    }

    /// Gives bytes to a resource. Returns who lay there, and whether some of the bytes were nobody's this frame.
    pub(super) fn take(&mut self, heap: u32, start: u64, bytes: u64, resource: u32) -> (&[u32], bool) {
        self.found.clear();
        let end = start.saturating_add(bytes);
        let Some(segments) = self.heaps.get_mut(heap as usize).filter(|_| start < end) else {
            return (&self.found, true);
        };
        let first = segments.partition_point(|segment| segment.end <= start);
        let mut last = first;
        let mut free_from = start;
        let mut has_free = false;
        while let Some(segment) = segments.get(last).filter(|segment| segment.start < end) {
            has_free |= segment.start > free_from;
            free_from = segment.end;
            if !self.found.contains(&segment.resource) {
                self.found.push(segment.resource);
            }
            last += 1;
        }
        has_free |= free_from < end;
        let before = segments.get(first).filter(|segment| first < last && segment.start < start).copied();
        let after = last.checked_sub(1).filter(|&at| at >= first).and_then(|at| segments.get(at)).copied();
        let parts = [
            before.map(|segment| Segment { end: start, ..segment }),
            Some(Segment { start, end, resource }),
            after.filter(|segment| segment.end > end).map(|segment| Segment { start: end, ..segment }),
        ];
        // In place: a splice of unknown length would allocate.
        let mut at = first;
        for part in parts.into_iter().flatten() {
            match segments.get_mut(at).filter(|_| at < last) {
                Some(segment) => *segment = part,
                None => segments.insert(at, part),
            }
            at += 1;
        }
        if at < last {
            segments.drain(at..last);
        }
        (&self.found, has_free)
    }
}
