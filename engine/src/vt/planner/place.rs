//! A page gets its place, or loses it: owner, mappings and page tables move together.

use super::{Happening, PageEvent, PageReason, Planner, Quality, TextureId, key};
use crate::vt::page_table::Entry;
use crate::vt::pool::{Mapping, PhysicalPage, PoolId};

impl Planner {
    /// Maps a page everywhere it is shown.
    pub(super) fn settle(&mut self, key: u64, pool: u8, slot: u16, made: (PageReason, Quality)) {
        let locks = self.locks.get(key::without_group(key)).unwrap_or(0) as u32;
        let Some(state) = &mut self.pools[usize::from(pool)] else { return };
        state.pool.place(slot, key, self.frame, made, locks);
        self.residency.insert(key, key::place(pool, slot));
        let (group, page) = (key::group(key), key::page(key));
        let at = PhysicalPage { pool: PoolId(pool), index: slot }.at(state.pool.size.side);
        let Some(source) = &self.sources[usize::from(key::source(key))] else { return };
        for user in &source.users {
            let Some(texture) = &self.textures[usize::from(*user)] else { continue };
            let in_space = texture.placement.in_space(page);
            let Some(space) = self.spaces.get_mut(texture.placement.space) else { continue };
            let Some(table) = space.tables.get_mut(usize::from(group)) else { continue };
            table.map(in_space, Entry { level: page.level, page: at });
            let table = u16::from(texture.placement.space.0) * 4 + u16::from(group);
            let mapping = Mapping { table, page: in_space };
            self.mappings.push(&mut state.pool.slot_mut(slot).mappings, mapping);
        }
    }

    /// Takes a page away; its entries will show the nearest ancestor.
    pub(super) fn evict(&mut self, pool: u8, slot: u16, happening: Happening) {
        let Some(state) = &mut self.pools[usize::from(pool)] else { return };
        let Some(owner) = state.pool.owner(slot) else { return };
        while let Some(mapping) = self.mappings.pop(&mut state.pool.slot_mut(slot).mappings) {
            let (space, channel) =
                (crate::vt::SpaceId((mapping.table / 4) as u8), usize::from(mapping.table % 4));
            if let Some(table) = self.spaces.get_mut(space).and_then(|space| space.tables.get_mut(channel)) {
                table.unmap(mapping.page);
            }
        }
        state.pool.release(slot);
        self.residency.remove(owner);
        self.counters.evicted += 1;
        self.record(owner, pool, slot, happening);
    }

    /// Puts an event into the history.
    pub(super) fn record(&mut self, owner: u64, pool: u8, slot: u16, happening: Happening) {
        let Some(texture) = self.id_of(key::source(owner)) else { return };
        self.history.push(PageEvent {
            frame: self.frame,
            texture,
            group: key::group(owner),
            page: key::page(owner),
            physical: PhysicalPage { pool: PoolId(pool), index: slot },
            happening,
        });
    }

    /// The texture that pages of a source are named after.
    pub(super) fn id_of(&self, source: u16) -> Option<TextureId> {
        let first = self.first_user(source)?;
        self.textures.get(usize::from(first))?.as_ref().map(|texture| texture.id)
    }
}
