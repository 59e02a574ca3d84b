//! Pools and textures come and go.

use super::texture::{Source, Texture};
use super::{Placement, Planner, PlannerError, PoolState, TextureDesc, TextureId, key};
use crate::vt::grid::Grid;
use crate::vt::page_table::{Entry, EntryFormat};
use crate::vt::pool::{Mapping, Pool, PoolDesc, PoolId, PoolSize};
use crate::vt::schedule::BiasGovernor;
use crate::vt::space::{MOST_SPACES, SpaceLayout};

/// Pools that there may be.
pub const MOST_POOLS: usize = 256;

/// Names a pool that is there, and how large it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PoolView<'a> {
    /// What was asked for.
    pub desc: &'a PoolDesc,
    /// What came out.
    pub size: PoolSize,
}

impl Planner {
    /// Makes a pool, or as many as a split pool takes.
    ///
    /// # Errors
    /// See [`PoolSize::of`]; or there are [`MOST_POOLS`].
    pub fn create_pools(&mut self, desc: &PoolDesc) -> Result<Vec<PoolId>, PlannerError> {
        let size = PoolSize::of(desc)?;
        let vacant: Vec<usize> = (0..MOST_POOLS)
            .filter(|index| self.pools.get(*index).is_none_or(Option::is_none))
            .take(size.pools as usize)
            .collect();
        if vacant.len() < size.pools as usize {
            let count = self.pools.iter().flatten().count();
            let name = desc.name.clone();
            return Err(PlannerError::Pools { name, asked: size.pools, count, most: MOST_POOLS });
        }
        for index in &vacant {
            let state = PoolState {
                pool: Pool::new(desc.clone(), size),
                governor: BiasGovernor::default(),
                wanted: 0,
                missing: 0,
                sampled_made: 0,
                no_room: 0,
                is_full: false,
                is_tight: false,
                biases: [(u64::MAX, 0.0); super::BIASES],
            };
            if self.pools.len() <= *index {
                self.pools.resize_with(index + 1, || None);
            }
            self.pools[*index] = Some(state);
        }
        Ok(vacant.into_iter().map(|index| PoolId(index as u8)).collect())
    }

    /// The pool of a split one in which the fewest textures have pages: where the next texture should go.
    pub fn emptiest(&self, pools: &[PoolId]) -> Option<PoolId> {
        pools.iter().copied().min_by_key(|pool| (self.textures_in(*pool), pool.0))
    }

    fn textures_in(&self, pool: PoolId) -> usize {
        self.sources.iter().flatten().filter(|source| source.pools.contains(&pool)).count()
    }

    /// What a pool is.
    pub fn pool(&self, pool: PoolId) -> Option<PoolView<'_>> {
        let state = self.pools.get(usize::from(pool.0))?.as_ref()?;
        Some(PoolView { desc: &state.pool.desc, size: state.pool.size })
    }

    /// Destroys a pool.
    ///
    /// # Errors
    /// It is not there, or textures have pages in it.
    pub fn destroy_pool(&mut self, pool: PoolId) -> Result<(), PlannerError> {
        let textures = self.textures_in(pool);
        if textures > 0 {
            return Err(PlannerError::PoolInUse { pool, textures });
        }
        let state = self.pools.get_mut(usize::from(pool.0)).filter(|state| state.is_some());
        *state.ok_or(PlannerError::NoPool { pool })? = None;
        Ok(())
    }

    /// Makes a texture: from the next plan on its page table can be sampled, and says that nothing is there.
    ///
    /// # Errors
    /// See [`PlannerError`].
    pub fn create_texture(&mut self, desc: &TextureDesc) -> Result<TextureId, PlannerError> {
        let name = || desc.name.clone();
        let grid = Grid::new(desc.tiles, desc.removed_low_mips)
            .map_err(|source| PlannerError::Grid { name: name(), source })?;
        if !(1..=4).contains(&desc.groups.len()) {
            return Err(PlannerError::Groups { name: name(), groups: desc.groups.len() });
        }
        let mut side = 0;
        for pool in &desc.groups {
            let view = self.pool(*pool).ok_or(PlannerError::NoPool { pool: *pool })?;
            side = side.max(view.size.side);
        }
        let shared = desc.shares.map(|with| self.shared_source(desc, grid, with)).transpose()?;
        let full = || PlannerError::Textures { name: name(), most: TextureId::MOST };
        let index = self.textures.iter().position(Option::is_none).unwrap_or(self.textures.len());
        let source = match shared {
            Some(source) => usize::from(source),
            None => self.sources.iter().position(Option::is_none).unwrap_or(self.sources.len()),
        };
        if index >= TextureId::MOST || source >= TextureId::MOST {
            return Err(full());
        }
        let first = self.pool(desc.groups[0]).ok_or(PlannerError::NoPool { pool: desc.groups[0] })?;
        let layout = SpaceLayout {
            tile: first.desc.tile,
            border: first.desc.border,
            channels: desc.groups.len() as u8,
            format: EntryFormat::for_side(side),
        };
        let (space, corner) = self
            .spaces
            .place(layout, grid.log2_side(), index as u16, self.knobs.space_side)
            .ok_or_else(|| PlannerError::Spaces { name: name(), most: MOST_SPACES })?;
        let placement = Placement { space, offset: [corner.x, corner.y], grid, fed: space.is_fed() };
        if index == self.textures.len() {
            self.textures.push(None);
            self.generations.push(0);
        }
        let mut pools = [0; 4];
        for (to, pool) in pools.iter_mut().zip(&desc.groups) {
            *to = pool.0;
        }
        let id = TextureId::from_parts(index as u32, self.generations[index]);
        self.textures[index] = Some(Texture {
            id,
            name: name(),
            placement,
            source: source as u16,
            groups: desc.groups.len() as u8,
            pools,
            priority: desc.priority,
            created: self.frame + u64::from(self.is_planned),
        });
        if source == self.sources.len() {
            self.sources.push(None);
        }
        if let Some(known) = &mut self.sources[source] {
            known.users.push(index as u16);
            self.map_shared(source as u16, placement);
        } else {
            self.sources[source] = Some(Source {
                users: vec![index as u16],
                grid,
                pools: desc.groups.clone(),
                continuous: desc.continuous,
                baked_from: desc.baked_from,
                edited: Default::default(),
                saturated: None,
            });
        }
        Ok(id)
    }

    fn shared_source(&self, desc: &TextureDesc, grid: Grid, with: TextureId) -> Result<u16, PlannerError> {
        let source = self.texture(with)?.source;
        let known = self.sources.get(usize::from(source)).and_then(Option::as_ref);
        match known {
            Some(known) if known.grid == grid && known.pools == desc.groups => Ok(source),
            _ => Err(PlannerError::Shared { name: desc.name.clone(), with }),
        }
    }

    /// Maps all pages that a source has in another place too.
    fn map_shared(&mut self, source: u16, placement: Placement) {
        let Some(space) = self.spaces.get_mut(placement.space) else { return };
        for state in self.pools.iter_mut().flatten() {
            let side = state.pool.size.side;
            let pool = &mut state.pool;
            for slot in 1..pool.size.pages() as u16 {
                let Some(owner) = pool.owner(slot).filter(|owner| key::source(*owner) == source) else {
                    continue;
                };
                let (group, page) = (key::group(owner), key::page(owner));
                let physical = crate::vt::PhysicalPage { pool: PoolId(0), index: slot };
                let in_space = placement.in_space(page);
                let table = u16::from(placement.space.0) * 4 + u16::from(group);
                if let Some(channel) = space.tables.get_mut(usize::from(group)) {
                    channel.map(in_space, Entry { level: page.level, page: physical.at(side) });
                    let mapping = Mapping { table, page: in_space };
                    self.mappings.push(&mut pool.slot_mut(slot).mappings, mapping);
                }
            }
        }
    }

    /// Destroys a texture: its pages go (unless another texture shares them), its part of the page table says that
    /// nothing is there, and whatever was asked for it is forgotten. An id or feedback from before names nothing.
    ///
    /// # Errors
    /// It is not there.
    pub fn destroy_texture(&mut self, id: TextureId) -> Result<(), PlannerError> {
        let texture = self.texture(id)?;
        let (index, source, placement) = (id.index(), texture.source, texture.placement);
        self.wishes.forget(placement.space, placement.square());
        self.preloads.retain(|(texture, _)| *texture != id);
        let locks: Vec<_> = self.lock_list.iter().filter(|lock| lock.0 == id).copied().collect();
        for (_, page, count) in locks {
            for _ in 0..count {
                let _ = self.unlock(id, page);
            }
        }
        let last = self.source_mut(source).is_none_or(|source| {
            source.users.retain(|user| usize::from(*user) != index);
            source.users.is_empty()
        });
        self.leave(source, placement, last);
        if last && let Some(slot) = self.sources.get_mut(usize::from(source)) {
            *slot = None;
            self.edits.retain(|edit| edit.source != source);
        }
        if let Some(space) = self.spaces.get_mut(placement.space) {
            space.tables.iter_mut().for_each(|table| table.touch(placement.square()));
        }
        self.spaces.remove(placement.space, index as u16);
        self.textures[index] = None;
        self.generations[index] = self.generations[index].wrapping_add(1);
        Ok(())
    }

    /// Takes the mappings in one place away, and with the last place the pages.
    fn leave(&mut self, source: u16, placement: Placement, last: bool) {
        let Some(space) = self.spaces.get_mut(placement.space) else { return };
        let first = u16::from(placement.space.0) * 4;
        for state in self.pools.iter_mut().flatten() {
            let pool = &mut state.pool;
            for slot in 1..pool.size.pages() as u16 {
                let Some(owner) = pool.owner(slot).filter(|owner| key::source(*owner) == source) else {
                    continue;
                };
                let table = first + u16::from(key::group(owner));
                let page = placement.in_space(key::page(owner));
                let list = &mut pool.slot_mut(slot).mappings;
                self.mappings.remove(list, |mapping| mapping == Mapping { table, page });
                if let Some(channel) = space.tables.get_mut(usize::from(key::group(owner))) {
                    channel.unmap(page);
                }
                if last {
                    self.residency.remove(owner);
                    pool.release(slot);
                }
            }
        }
    }
}
