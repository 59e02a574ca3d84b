//! Uses: what a submission may touch must be there, and be there for it.

use std::ops::Range;

use super::bind::bare;
use super::log::Found;
use super::report::{Operation, Report, ReportKind};
use super::{Order, ResourceId, Shadow, is_ordered};
use crate::vk::Point;

impl Shadow {
    /// Tells that the submission that signals `at` may use `range` (bytes) of a resource. Call it when the
    /// submission is made, after the binds it waits for were told. Returns what is wrong.
    pub fn use_range(
        &mut self,
        id: ResourceId,
        range: Range<u64>,
        at: Point,
        order: &dyn Order,
    ) -> Vec<Report> {
        let mut found = Found::default();
        self.check_use(id, range, at, order, &mut found);
        self.log.add(found)
    }

    fn check_use(
        &mut self,
        id: ResourceId,
        range: Range<u64>,
        at: Point,
        order: &dyn Order,
        found: &mut Found,
    ) {
        if range.is_empty() {
            return;
        }
        let during = Operation::Use(at);
        let Some(resource) = self.resources.get(&id) else {
            found.push(bare(self.unknown_resource(id), during));
            return;
        };
        let limit = resource.desc.bytes;
        let inside = range.start.min(limit)..range.end.min(limit);
        if range.end > limit {
            let kind =
                ReportKind::PastResourceEnd { offset: range.start, bytes: range.end - range.start, limit };
            found.push(Report { kind, during, place: self.place(id, inside.clone()), memory: None });
        }
        for (piece, tile) in resource.tiles.pieces(inside.clone()) {
            let mut say = |kind| {
                let memory = tile.as_ref().and_then(|tile| self.memory_place(tile, &piece, id));
                found.push(Report { kind, during, place: self.place(id, piece.clone()), memory });
            };
            let Some((tile, (chunk, _))) = tile.as_ref().and_then(|tile| Some((tile, tile.memory?))) else {
                say(ReportKind::UnmappedUse { unbound: tile.as_ref().map(|tile| tile.since) });
                continue;
            };
            if self.freed.name(chunk).is_some() && !self.chunks.contains_key(&chunk) {
                say(ReportKind::FreedMemoryUse);
            }
            if !is_ordered(order, tile.since, at) {
                say(ReportKind::UnorderedUse { since: tile.since });
            }
        }
        if let Some(resource) = self.resources.get_mut(&id) {
            resource.users.add(at);
            resource.tiles.modify(inside, |tile| {
                if tile.memory.is_some() {
                    tile.users.add(at);
                }
            });
        }
    }
}
