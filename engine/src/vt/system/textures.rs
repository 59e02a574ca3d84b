//! Textures and the pools that hold their pages.

use super::{VirtualTextures, VtResult};
use crate::sparse::SparseMemory;
use crate::vt::atlas::Atlas;
use crate::vt::feedback::MOST_FED_SPACES;
use crate::vt::planner::{PlannerError, PoolUsage, SpaceUsage, TextureDesc, Usage};
use crate::vt::runtime::{KindOptions, PageShape, RuntimeTexture, Volume};
use crate::vt::sampling::Wrap;
use crate::vt::stats::{PoolStats, SpaceStats, TextureStats, VtStats};
use crate::vt::tables::PageTableDesc;
use crate::vt::{Grid, Kind, LayerFormat, PageAddress, PhysicalPage, PoolDesc, PoolId, Priority, TextureId};

/// A runtime virtual texture to be.
#[derive(Debug, Clone, PartialEq)]
pub struct RuntimeTextureDesc {
    /// What it is called in tables, histories and markers.
    pub name: String,
    /// What it covers.
    pub volume: Volume,
    /// What it stores.
    pub kind: Kind,
    /// Least and greatest displacement that is stored, metres, where that is what it stores.
    pub displacements: [f32; 2],
    /// In blocks, where the device has them; displacement has 16 bits a texel otherwise, the rest 8 bits a channel.
    pub is_compressed: bool,
    /// 16 bits a texel instead of blocks, where the kind has that.
    pub is_low_quality: bool,
    /// Pages of level 0 along its longer side, at most 4096; the other side follows its aspect.
    pub tiles: u32,
    /// Texels a side of a page, without its border.
    pub tile: u32,
    /// Texels around a page that repeat its neighbours.
    pub border: u32,
    /// The coarsest levels that it goes without.
    pub removed_low_mips: u8,
    /// Levels from this one on are always there; nothing: the coarsest one.
    pub locked_from: Option<u8>,
    /// Memory of the pool that is made for its pages where there is none yet, MiB; nothing: that of the options.
    pub pool_mib: Option<u64>,
    /// Its pages lie in the pool of this texture where they are of the same formats, so that both are sampled through one
    /// atlas; nothing: in the pool with the fewest textures.
    pub beside: Option<TextureId>,
    /// How urgent its pages are.
    pub priority: Priority,
    /// Its pages are refreshed all the time, in turns.
    pub is_continuous: bool,
    /// Added to the level of every sample: below 0 is finer.
    pub bias: f32,
    /// What is outside of it.
    pub wrap: [Wrap; 2],
    /// What each layer gives where nothing is there, as it is stored.
    pub fallback: [[f32; 4]; 3],
}

impl RuntimeTextureDesc {
    /// Pages of 256 texels and 4 around them, `tiles` along the longer side of its volume.
    pub fn new(name: &str, volume: Volume, kind: Kind, tiles: u32) -> Self {
        Self {
            name: name.into(),
            volume,
            kind,
            displacements: [-0.5, 0.5],
            is_compressed: true,
            is_low_quality: false,
            tiles,
            tile: 256,
            border: 4,
            removed_low_mips: 0,
            locked_from: None,
            pool_mib: None,
            beside: None,
            priority: Priority::Normal,
            is_continuous: false,
            bias: 0.0,
            wrap: [Wrap::Clamp; 2],
            fallback: [[0.5; 4]; 3],
        }
    }

    /// What 0 and 1 of a stored height stand for, metres.
    pub fn heights(&self) -> [f32; 2] {
        if self.kind == Kind::Displacement { self.displacements } else { self.volume.heights() }
    }
}

/// A pool on the GPU.
#[derive(Debug)]
pub(super) struct PoolAtlas {
    pub(super) pool: PoolId,
    /// Pools of one split pool have one number.
    set: u32,
    pub(super) atlas: Atlas,
}

/// What is remembered of a texture.
#[derive(Debug)]
pub(super) struct TextureInfo {
    pub(super) id: TextureId,
    pub(super) desc: RuntimeTextureDesc,
    pub(super) storage: KindOptions,
    pub(super) pool: PoolId,
}

impl VirtualTextures {
    /// Makes a texture, and where there is none that suits it, a pool for its pages and a page table. Its coarsest level is
    /// locked, so that every sample finds something.
    ///
    /// # Errors
    /// A texture or a pool that cannot be, with what to do; or no memory: nothing is left of it after the next frame.
    pub fn create_texture(
        &mut self,
        sparse: &SparseMemory,
        desc: &RuntimeTextureDesc,
    ) -> VtResult<TextureId> {
        let grid = Grid::of_box(desc.volume.size().into(), desc.tiles, desc.removed_low_mips)
            .map_err(|source| PlannerError::Grid { name: desc.name.clone(), source })?;
        let shape = PageShape::new(grid, desc.tile, desc.border)?;
        let is_compressed = desc.is_compressed && self.device.capabilities().optional.bc;
        let options = KindOptions { is_compressed, is_low_quality: desc.is_low_quality };
        let pool = self.pool_for(sparse, desc, &desc.kind.layers(options))?;
        let id = self.planner.create_texture(&TextureDesc {
            priority: desc.priority,
            continuous: desc.is_continuous,
            removed_low_mips: desc.removed_low_mips,
            ..TextureDesc::new(&desc.name, grid.tiles(), pool)
        })?;
        let made = self.complete(id, desc, (shape, options));
        if let Err(error) = made {
            self.registry.remove_texture(id);
            self.planner.destroy_texture(id)?;
            // Otherwise the next texture would be looked for in the table that this one was to have.
            self.drop_tables();
            return Err(error);
        }
        self.tell_unfed(id, &desc.name);
        self.totals.created += 1;
        self.textures.push(TextureInfo { id, desc: desc.clone(), storage: options, pool });
        Ok(id)
    }

    fn complete(
        &mut self,
        id: TextureId,
        desc: &RuntimeTextureDesc,
        (shape, options): (PageShape, KindOptions),
    ) -> VtResult<()> {
        self.make_tables()?;
        if let Some(storage) = desc.kind.storage(&desc.kind.layers(options)) {
            self.compressor.prepare(desc.kind, storage)?;
        }
        let texture = RuntimeTexture {
            name: desc.name.clone(),
            volume: desc.volume,
            shape,
            groups: vec![(desc.kind, options)],
            displacements: desc.displacements,
        };
        self.registry.set_texture(id, texture);
        let from = desc.locked_from.unwrap_or(shape.grid.max_level()).min(shape.grid.max_level());
        self.planner.lock_from_level(id, from)?;
        Ok(())
    }

    /// Metres of a texel of the finest level of a texture, along its longer side.
    pub fn texel_metres(&self, id: TextureId) -> Option<f32> {
        let info = self.textures.iter().find(|info| info.id == id)?;
        let texels = info.desc.tiles * info.desc.tile;
        Some(info.desc.volume.size().max_element() / texels.max(1) as f32)
    }

    /// Says once that nobody hears what is sampled of a texture.
    fn tell_unfed(&mut self, id: TextureId, name: &str) {
        let is_fed = self.planner.placement(id).is_none_or(|placement| placement.fed);
        if !is_fed && !std::mem::replace(&mut self.told_unfed, true) {
            log::warn!(
                "{name} and textures after it show only pages that are locked or preloaded: their page tables are beyond the \
                 {MOST_FED_SPACES} that get feedback. Destroy others first, or raise `vt.space_side` so that more share one"
            );
        }
    }

    /// Page tables of spaces that the planner does not have any more go.
    fn drop_tables(&mut self) {
        let there: Vec<_> = self.tables.tables().map(|table| table.space).collect();
        let spaces = self.planner.usage().spaces;
        for gone in there.iter().filter(|space| spaces.iter().all(|usage| usage.space != **space)) {
            self.tables.destroy(*gone);
        }
    }

    /// Page tables on the GPU are those that the planner has.
    fn make_tables(&mut self) -> VtResult<()> {
        self.drop_tables();
        let there: Vec<_> = self.tables.tables().map(|table| table.space).collect();
        let spaces = self.planner.usage().spaces;
        for usage in spaces.iter().filter(|usage| !there.contains(&usage.space)) {
            let layout = usage.layout;
            let desc = PageTableDesc {
                side: usage.side,
                channels: u32::from(layout.channels),
                format: layout.format,
            };
            self.tables.create(usage.space, desc)?;
        }
        Ok(())
    }

    /// A pool for such pages.
    fn pool_for(
        &mut self,
        sparse: &SparseMemory,
        desc: &RuntimeTextureDesc,
        layers: &[LayerFormat],
    ) -> VtResult<PoolId> {
        let suits = |pool: &&PoolAtlas| {
            self.planner.pool(pool.pool).is_some_and(|view| {
                (view.desc.tile, view.desc.border, view.desc.layers.as_slice())
                    == (desc.tile, desc.border, layers)
            })
        };
        let found: Vec<PoolId> = self.pools.iter().filter(suits).map(|pool| pool.pool).collect();
        let beside = self.textures.iter().find(|texture| Some(texture.id) == desc.beside);
        if let Some(pool) = beside.map(|texture| texture.pool).filter(|pool| found.contains(pool)) {
            return Ok(pool);
        }
        if let Some(pool) = self.planner.emptiest(&found) {
            return Ok(pool);
        }
        let names: Vec<String> = layers.iter().map(ToString::to_string).collect();
        let wanted = PoolDesc {
            budget_bytes: desc.pool_mib.unwrap_or(self.options.pool_mib) << 20,
            scale: self.options.pool_scale,
            split_tiles: self.options.pool_split_tiles,
            largest_image: self.device.capabilities().limits.max_image_2d,
            ..PoolDesc::new(&format!("{} {}", names.join(" + "), desc.tile), desc.tile, desc.border, layers)
        };
        let pools = self.planner.create_pools(&wanted)?;
        let set = self.pools.iter().map(|pool| pool.set + 1).max().unwrap_or(0);
        for pool in &pools {
            match self.make_atlas(sparse, *pool) {
                Ok(atlas) => self.pools.push(PoolAtlas { pool: *pool, set, atlas }),
                Err(error) => {
                    self.pools.retain(|made| !pools.contains(&made.pool));
                    for pool in pools {
                        self.planner.destroy_pool(pool)?;
                    }
                    return Err(error);
                }
            }
        }
        let none = PlannerError::NoPool { pool: PoolId(0) };
        self.planner.emptiest(&pools).ok_or(none.into())
    }

    /// Pools that no texture has pages in any more are given back; of a split pool all atlases or none. Called as a frame
    /// begins, so that a texture that takes the place of another finds the pool of that one.
    pub(super) fn release_pools(&mut self) {
        let is_used = |pool: &PoolAtlas| self.textures.iter().any(|texture| texture.pool == pool.pool);
        let used: Vec<u32> = self.pools.iter().filter(|pool| is_used(pool)).map(|pool| pool.set).collect();
        if self.pools.iter().all(|pool| used.contains(&pool.set)) {
            return;
        }
        let planner = &mut self.planner;
        self.pools.retain(|pool| {
            // Frames in flight keep the atlas as long as they need it.
            let goes = !used.contains(&pool.set) && planner.destroy_pool(pool.pool).is_ok();
            !goes
        });
    }

    fn make_atlas(&self, sparse: &SparseMemory, pool: PoolId) -> VtResult<Atlas> {
        let view = self.planner.pool(pool).ok_or(PlannerError::NoPool { pool })?;
        // Where blocks cannot be written through views, they are copied.
        Ok(Atlas::new(sparse, view.desc, &view.size, true)?)
    }
}

impl VirtualTextures {
    /// Destroys a texture: its pages and its part of the page table go, frames in flight keep what they use. With the next
    /// frame its pool goes too, if no other texture has pages in it.
    ///
    /// # Errors
    /// It is not there.
    pub fn destroy_texture(&mut self, id: TextureId) -> VtResult<()> {
        self.planner.destroy_texture(id)?;
        self.totals.destroyed += 1;
        self.registry.remove_texture(id);
        self.textures.retain(|texture| texture.id != id);
        if let Some(ground) = self.ground.take_if(|ground| ground.has(id)) {
            self.registry.remove(ground.terrain)?;
        }
        self.make_tables()
    }

    /// Throws all pages away with the next frame; locked ones stay, and are drawn again if the knob says so.
    pub fn flush(&mut self) {
        self.totals.flushes += 1;
        self.planner.flush();
    }

    /// Every number one can see.
    pub fn stats(&self) -> VtStats {
        let usage = self.planner.usage();
        let feedback = self.feedback.stats();
        let t = &self.totals;
        VtStats {
            spaces: usage.spaces.len() as u32,
            page_table_bytes: usage.spaces.iter().map(|space| space.bytes).sum(),
            pools: usage.pools.iter().map(pool_stats).collect(),
            textures: self
                .textures
                .iter()
                .filter_map(|texture| self.texture_stats(texture, &usage))
                .collect(),
            page_tables: usage.spaces.iter().map(space_stats).collect(),
            feedback_requests: t.requests,
            unique_requests: t.unique,
            resident_hits: t.resident,
            pages_drawn: t.drawn,
            pages_redrawn: t.redrawn,
            pages_streamed: 0,
            evicted: t.evicted,
            evicted_last_frame: t.last.evicted,
            deferred: t.deferred,
            lost_feedback: feedback.lost_feedback,
            overflow: feedback.overflow + feedback.table_full,
            table_quads: t.quads,
            mip_bias: self.planner.mip_bias(),
            mip_bias_max: t.mip_bias_max,
            sharpness: t.last.sharpness(),
            frames_until_sharp: t.frames_until_sharp.iter().copied().collect(),
            flushes: t.flushes,
            feedback_resizes: t.resizes,
            textures_created: t.created,
            textures_destroyed: t.destroyed,
            steady_frames: t.steady,
            withdrawn_frames: t.withdrawn,
            invalidations: t.invalidations,
            unfed_textures: usage.textures.iter().filter(|texture| !texture.fed).count() as u32,
        }
    }

    /// Frames as they went, from the oldest that is remembered.
    pub fn records(&self) -> impl Iterator<Item = &super::FrameRecord> {
        self.totals.records.iter()
    }

    /// What all pages of a pool's atlas hold, by index: texture and page; nothing where it is free.
    pub fn atlas_owners(&self, pool: PoolId) -> Vec<Option<(TextureId, PageAddress)>> {
        let pages = self.planner.pool(pool).map_or(0, |view| view.size.pages());
        let owner = |index: u32| {
            let physical = PhysicalPage { pool, index: u16::try_from(index).ok()? };
            self.planner.owner(physical).map(|(texture, _, page)| (texture, page))
        };
        (0..pages).map(owner).collect()
    }

    fn texture_stats(&self, texture: &TextureInfo, usage: &Usage) -> Option<TextureStats> {
        let known = usage.textures.iter().find(|known| known.texture == texture.id)?;
        let mut resident_per_level = vec![0; usize::from(known.max_level) + 1];
        for (owner, page) in self.atlas_owners(texture.pool).into_iter().flatten() {
            if let Some(count) =
                resident_per_level.get_mut(usize::from(page.level)).filter(|_| owner == texture.id)
            {
                *count += 1;
            }
        }
        Some(TextureStats {
            name: known.name.clone(),
            kind: format!("{:?}", texture.desc.kind),
            tiles: known.tiles,
            space: known.space.0,
            resident: known.pages,
            locked: known.locked,
            resident_per_level,
        })
    }
}

fn pool_stats(pool: &PoolUsage) -> PoolStats {
    PoolStats {
        name: pool.name.clone(),
        format: pool.formats.clone(),
        tile: pool.tile,
        side: pool.side,
        tiles: pool.pages + 1,
        allocated: pool.allocated,
        locked: pool.locked,
        locked_bytes: pool.locked_bytes,
        mapped: pool.mapped,
        bytes: pool.bytes,
        mip_bias: pool.bias,
        residency: pool.residency,
    }
}

fn space_stats(space: &SpaceUsage) -> SpaceStats {
    SpaceStats {
        space: space.space.0,
        format: format!("{} x {}", space.layout.channels, space.layout.format),
        side: space.side,
        bytes: space.bytes,
        textures: space.textures as u32,
        is_fed: space.fed,
    }
}
