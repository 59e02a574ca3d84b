//! Endings: a chunk is freed, a resource is destroyed. Both only after everything that knew of them.

use super::bind::bare;
use super::log::Found;
use super::report::{MemoryPlace, Operation, Report, ReportKind};
use super::state::Owner;
use super::{ChunkId, Order, ResourceId, Shadow, Users, is_done};
use crate::vk::Point;

/// The unit for chunks that nobody has memory in: the tile of every desktop driver.
const IDLE_PAGE_BYTES: u64 = 64 << 10;

impl Shadow {
    /// Tells that a chunk is freed now. Returns what is wrong: it is still mapped, or the unbind or a user of
    /// its past is not done.
    pub fn free_chunk(&mut self, id: ChunkId, order: &dyn Order) -> Vec<Report> {
        let mut found = Found::default();
        let during = Operation::FreeChunk;
        match self.chunks.get(&id) {
            None => found.push(bare(self.unknown_chunk(id), during)),
            Some(chunk) => {
                for (range, page) in chunk.pages.iter() {
                    let memory = |tile_bytes| {
                        let name = chunk.name.clone();
                        Some(MemoryPlace { chunk: id, name, tile_bytes, bytes: range.clone() })
                    };
                    for owner in &page.owners {
                        let end = owner.offset.saturating_add(range.end - range.start);
                        let place = self.place(owner.resource, owner.offset..end);
                        let memory = memory(place.as_ref().map_or(1, |place| place.tile_bytes));
                        found.push(Report { kind: ReportKind::FreedWhileMapped, during, place, memory });
                    }
                    let mut say = |kind| {
                        let memory = memory(self.page_bytes(id));
                        found.push(Report { kind, during, place: None, memory });
                    };
                    if let Some(released) = page.released.filter(|point| !is_done(order, *point)) {
                        say(ReportKind::FreedWhileUnbinding { released });
                    }
                    let users = page.users.only(|user| !is_done(order, user));
                    if !users.is_empty() {
                        say(ReportKind::FreedWhileUsed { users });
                    }
                }
            }
        }
        if let Some(chunk) = self.chunks.remove(&id) {
            self.freed.add(id, chunk.name);
        }
        self.log.add(found)
    }

    /// Tells that a resource is destroyed now, and with it its mappings; the memory stays. Returns what is
    /// wrong: a bind in flight, a user that is not done.
    pub fn remove_resource(&mut self, id: ResourceId, order: &dyn Order) -> Vec<Report> {
        let mut found = Found::default();
        let during = Operation::RemoveResource;
        match self.resources.get(&id) {
            None => found.push(bare(self.unknown_resource(id), during)),
            Some(resource) => {
                let not_done = |users: &Users| users.only(|point| !is_done(order, point));
                let (binds, users) = (not_done(&resource.binds), not_done(&resource.users));
                let place = self.place(id, 0..resource.desc.bytes);
                let mut say = |kind| found.push(Report { kind, during, place: place.clone(), memory: None });
                if !binds.is_empty() {
                    say(ReportKind::DestroyedWhileBinding { binds });
                }
                if !users.is_empty() {
                    say(ReportKind::DestroyedWhileUsed { users });
                }
            }
        }
        self.forget_resource(id, |point| is_done(order, point));
        self.log.add(found)
    }

    /// Drops a resource and its mappings. What is not done stays on record with the memory.
    pub(super) fn forget_resource(&mut self, id: ResourceId, done: impl Fn(Point) -> bool) {
        let Some(resource) = self.resources.remove(&id) else { return };
        for (range, tile) in resource.tiles.iter() {
            let Some((chunk, offset)) = tile.memory else { continue };
            let Some(chunk) = self.chunks.get_mut(&chunk) else { continue };
            let released = Some(tile.since).filter(|since| !done(*since));
            let users = tile.users.only(|user| !done(user));
            let pages = chunk.cut(offset, range.end - range.start);
            chunk.release(pages, Owner { resource: id, offset: range.start }, released, &users);
        }
        self.removed.add(id, resource.desc.name);
    }

    /// The unit that pages of a chunk are counted in: the tile of whoever has memory in it, 64 KiB where that
    /// says nothing.
    pub(super) fn page_bytes(&self, id: ChunkId) -> u64 {
        let owners = self.chunks.get(&id).into_iter().flat_map(|chunk| chunk.pages.iter());
        let tile = |owner: &Owner| Some(self.resources.get(&owner.resource)?.desc.tile_bytes);
        let mut tiles = owners.flat_map(|(_, page)| &page.owners).filter_map(tile);
        tiles.next().unwrap_or(IDLE_PAGE_BYTES)
    }
}
