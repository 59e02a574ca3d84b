//! What the application asks for itself: locked pages, and regions to be loaded ahead.

use super::{Planner, PlannerError, TextureId, key};
use crate::vt::address::PageAddress;
use crate::vt::grid::Region;
use crate::vt::pool::PoolId;

impl Planner {
    /// A page never goes again, and is made first of all if it is not there. Locks are counted.
    ///
    /// # Errors
    /// The texture or the page is not there, or its pool has nothing left to lock.
    pub fn lock(&mut self, texture: TextureId, page: PageAddress) -> Result<(), PlannerError> {
        let known = self.page_of(texture, page)?;
        let count = self.locks.get(known).unwrap_or(0) as u32;
        let (source, pools) = (key::source(known), self.texture(texture)?.pools);
        let groups = self.texture(texture)?.groups;
        if count == 0 {
            for pool in &pools[..usize::from(groups)] {
                let id = PoolId(*pool);
                let state =
                    self.pools[usize::from(*pool)].as_ref().ok_or(PlannerError::NoPool { pool: id })?;
                let (locked, usable) = (self.locked_in(id), state.pool.size.usable());
                if locked >= usable {
                    return Err(PlannerError::Locked { pool: id, locked, usable });
                }
            }
        }
        self.set_locks(source, page, &pools[..usize::from(groups)], count.saturating_add(1));
        match self.lock_list.iter_mut().find(|lock| (lock.0, lock.1) == (texture, page)) {
            Some(lock) => lock.2 += 1,
            None => self.lock_list.push((texture, page, 1)),
        }
        Ok(())
    }

    /// Takes one lock back. A page that was not locked through this texture stays as it is.
    ///
    /// # Errors
    /// The texture or the page is not there.
    pub fn unlock(&mut self, texture: TextureId, page: PageAddress) -> Result<(), PlannerError> {
        let known = self.page_of(texture, page)?;
        let Some(index) = self.lock_list.iter().position(|lock| (lock.0, lock.1) == (texture, page)) else {
            return Ok(());
        };
        self.lock_list[index].2 -= 1;
        if self.lock_list[index].2 == 0 {
            self.lock_list.remove(index);
        }
        let count = (self.locks.get(known).unwrap_or(0) as u32).saturating_sub(1);
        let (pools, groups) = (self.texture(texture)?.pools, self.texture(texture)?.groups);
        self.set_locks(key::source(known), page, &pools[..usize::from(groups)], count);
        Ok(())
    }

    /// Locks all pages of `level` and coarser: what is always there, so that no sample finds nothing.
    ///
    /// # Errors
    /// As [`Planner::lock`]; then nothing is locked.
    pub fn lock_from_level(&mut self, texture: TextureId, level: u8) -> Result<u32, PlannerError> {
        let grid = self.texture(texture)?.placement.grid;
        let mut locked: Vec<PageAddress> = Vec::new();
        for level in level.min(grid.max_level())..=grid.max_level() {
            let [across, down] = grid.pages(level);
            for (x, y) in (0..down as u16).flat_map(|y| (0..across as u16).map(move |x| (x, y))) {
                let page = PageAddress { level, x, y };
                if let Err(error) = self.lock(texture, page) {
                    for page in locked {
                        self.unlock(texture, page)?;
                    }
                    return Err(error);
                }
                locked.push(page);
            }
        }
        Ok(locked.len() as u32)
    }

    fn set_locks(&mut self, source: u16, page: PageAddress, pools: &[u8], count: u32) {
        let known = key::pack(source, 0, page);
        if count > 0 {
            self.locks.insert(known, u64::from(count));
        } else {
            self.locks.remove(known);
        }
        for (group, pool) in (0u8..).zip(pools) {
            let place = self.residency.get(key::pack(source, group, page)).map(key::pool_and_slot);
            if let (Some((_, slot)), Some(state)) = (place, &mut self.pools[usize::from(*pool)]) {
                state.pool.lock(slot, count);
            }
        }
    }

    /// Locked pages of a pool, there or not.
    fn locked_in(&self, pool: PoolId) -> u32 {
        let sources = self.locks.iter().filter_map(|(known, _)| {
            let source = self.sources.get(usize::from(key::source(known)))?.as_ref()?;
            Some(source.pools.iter().filter(|other| **other == pool).count() as u32)
        });
        sources.sum()
    }

    /// The key of a page in group 0, if the texture has the page.
    fn page_of(&self, texture: TextureId, page: PageAddress) -> Result<u64, PlannerError> {
        let known = self.texture(texture)?;
        let grid = known.placement.grid;
        if !grid.has(page) {
            let (max_level, tiles) = (grid.max_level(), grid.tiles());
            return Err(PlannerError::NoPage { texture, page: page.to_string(), max_level, tiles });
        }
        Ok(key::pack(known.source, 0, page))
    }

    /// Asks for the pages of `level` that show `region`, as if they had been sampled, until they are there: before a
    /// teleport, with [`Planner::is_ready`]. Gives how many are asked for.
    ///
    /// # Errors
    /// The texture is not there, or its pool has fewer pages than that.
    pub fn request_preload(
        &mut self,
        texture: TextureId,
        region: Region,
        level: u8,
    ) -> Result<u32, PlannerError> {
        let known = self.texture(texture)?;
        let grid = known.placement.grid;
        let pools = &known.pools[..usize::from(known.groups)];
        let usable =
            pools.iter().filter_map(|pool| self.pool(PoolId(*pool))).map(|pool| pool.size.usable()).min();
        let usable = usable.unwrap_or(0);
        let level = level.min(grid.max_level());
        let count = |level: u8| {
            let range = grid.touched(region, level, 0.0);
            range.map_or(0, |[first, last]| {
                let side = |axis: usize| u64::from(last[axis] - first[axis]) + 1;
                side(0) * side(1)
            })
        };
        let asked = count(level);
        if asked > u64::from(usable) {
            let fits = (level..=grid.max_level()).find(|level| count(*level) <= u64::from(usable));
            let enough = fits.unwrap_or(grid.max_level());
            return Err(PlannerError::Preload { texture, level, asked, usable, enough });
        }
        let Some([first, last]) = grid.touched(region, level, 0.0) else { return Ok(0) };
        for y in first[1]..=last[1] {
            for x in first[0]..=last[0] {
                let wanted = (texture, PageAddress { level, x, y });
                if !self.preloads.contains(&wanted) {
                    self.preloads.push(wanted);
                }
            }
        }
        Ok(asked as u32)
    }

    /// Whether all pages of `level` that show `region` are there, drawn from inputs as good as they get, with nothing to
    /// be drawn again. True for a region outside the texture; false for a texture that is not there.
    pub fn is_ready(&self, texture: TextureId, region: Region, level: u8) -> bool {
        let Ok(known) = self.texture(texture) else { return false };
        let grid = known.placement.grid;
        let level = level.min(grid.max_level());
        let Some(range) = grid.touched(region, level, 0.0) else { return true };
        if self.is_edit_pending(known.source, &grid, level, range) {
            return false;
        }
        let [first, last] = range;
        let mut pages =
            (first[1]..=last[1]).flat_map(|y| (first[0]..=last[0]).map(move |x| PageAddress { level, x, y }));
        pages.all(|page| {
            (0..known.groups).all(|group| {
                let place = self.residency.get(key::pack(known.source, group, page)).map(key::pool_and_slot);
                place.is_some_and(|(pool, slot)| {
                    self.pools[usize::from(pool)].as_ref().is_some_and(|state| {
                        let known = state.pool.slot(slot);
                        known.is_current() && known.quality == super::Quality::FULL
                    })
                })
            })
        })
    }
}
