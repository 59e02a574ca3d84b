//! What one can see of it: pools, textures, page tables, and single pages with their histories.

use std::fmt;

use super::{Cause, FrameCounters, PageEvent, PageReason, Planner, Quality, TextureId, key};
use crate::vt::SpaceId;
use crate::vt::address::PageAddress;
use crate::vt::pool::{PhysicalPage, PoolId};
use crate::vt::space::SpaceLayout;

/// One pool.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct PoolUsage {
    /// Which.
    pub pool: PoolId,
    /// What it is called.
    pub name: String,
    /// Formats of its layers, such as `BC1 + BC5`.
    pub formats: String,
    /// Texels a side of a page with its border.
    pub tile: u32,
    /// Pages a side.
    pub side: u32,
    /// Pages that can be used: all but page 0.
    pub pages: u32,
    /// Bytes of all layers.
    pub bytes: u64,
    /// Pages that are taken.
    pub allocated: u32,
    /// Pages that are locked.
    pub locked: u32,
    /// Bytes of these.
    pub locked_bytes: u64,
    /// Entries that are mapped to its pages themselves: more than are allocated where textures share pages.
    pub mapped: u32,
    /// (Locked + used within the threshold) / pages: the red curve.
    pub residency: f32,
    /// Locked / pages: the yellow curve.
    pub locked_share: f32,
    /// Bias / largest bias: the green curve.
    pub bias_share: f32,
    /// The bias in levels.
    pub bias: f32,
}

/// One texture.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct TextureUsage {
    /// Which.
    pub texture: TextureId,
    /// What it is called.
    pub name: String,
    /// Where its page table is.
    pub space: SpaceId,
    /// Whether it gives feedback.
    pub fed: bool,
    /// Tiles along u and v.
    pub tiles: [u32; 2],
    /// Its coarsest level.
    pub max_level: u8,
    /// Pages that are there, over all groups.
    pub pages: u32,
    /// Of these, locked ones.
    pub locked: u32,
    /// Of these, those to be drawn again.
    pub dirty: u32,
    /// Bytes of these pages. Textures that share pages all name them.
    pub bytes: u64,
}

/// One page table.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct SpaceUsage {
    /// Which.
    pub space: SpaceId,
    /// What its textures have in common.
    pub layout: SpaceLayout,
    /// Pages a side of level 0; it has `log2(side) + 1` mips.
    pub side: u32,
    /// Bytes of all mips and channels.
    pub bytes: u64,
    /// Textures in it.
    pub textures: usize,
    /// Pages that are mapped, over all channels.
    pub mapped: u32,
    /// Whether it gives feedback: 16 spaces do.
    pub fed: bool,
}

/// Everything.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Usage {
    /// By id.
    pub pools: Vec<PoolUsage>,
    /// By slot.
    pub textures: Vec<TextureUsage>,
    /// By id.
    pub spaces: Vec<SpaceUsage>,
    /// Mappings of all pages.
    pub mappings: u32,
    /// Counters of the last plan.
    pub counters: FrameCounters,
}

/// One page that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct PageInfo {
    /// Where.
    pub physical: PhysicalPage,
    /// The frame in which it was used last.
    pub last_used: u64,
    /// Locks on it.
    pub locks: u32,
    /// What its inputs were when it was drawn.
    pub quality: Quality,
    /// Why it is to be drawn again.
    pub dirty: Option<Cause>,
    /// When and why it was made.
    pub made: (u64, PageReason),
    /// When and why it was drawn again last.
    pub redrawn: Option<(u64, PageReason)>,
    /// Entries that are mapped to it itself.
    pub mappings: u32,
}

impl Planner {
    /// A page of a texture, if it is there.
    pub fn page(&self, texture: TextureId, group: u8, page: PageAddress) -> Option<PageInfo> {
        let known = self.texture(texture).ok().filter(|known| group < known.groups)?;
        let place = self.residency.get(key::pack(known.source, group, page))?;
        let (pool, slot) = key::pool_and_slot(place);
        let state = self.pools.get(usize::from(pool))?.as_ref()?;
        let slot_state = state.pool.slot(slot);
        Some(PageInfo {
            physical: PhysicalPage { pool: PoolId(pool), index: slot },
            last_used: state.pool.last_used(slot),
            locks: slot_state.locks,
            quality: slot_state.quality,
            dirty: slot_state.dirty,
            made: slot_state.made,
            redrawn: slot_state.redrawn,
            mappings: self.mappings.iter(slot_state.mappings).count() as u32,
        })
    }

    /// What a lookup of `page` finds, once the last plan is painted: the page itself or its nearest ancestor, and where
    /// in the atlas that is.
    pub fn lookup(
        &self,
        texture: TextureId,
        group: u8,
        page: PageAddress,
    ) -> Option<(PageAddress, PhysicalPage)> {
        let known = self.texture(texture).ok()?;
        let table = self.spaces.get(known.placement.space)?.tables.get(usize::from(group))?;
        let (found, entry) = table.nearest(known.placement.in_space(page))?;
        let pool = PoolId(*known.pools.get(usize::from(group))?);
        let side = self.pools.get(usize::from(pool.0))?.as_ref()?.pool.size.side;
        let index = u32::from(entry.page[0]) + u32::from(entry.page[1]) * side;
        Some((known.placement.in_texture(found), PhysicalPage { pool, index: index as u16 }))
    }

    /// Whose page is in a place of an atlas: texture, group, and page of the texture.
    pub fn owner(&self, physical: PhysicalPage) -> Option<(TextureId, u8, PageAddress)> {
        let owner = self.pools.get(usize::from(physical.pool.0))?.as_ref()?.pool.owner(physical.index)?;
        Some((self.id_of(key::source(owner))?, key::group(owner), key::page(owner)))
    }

    /// What became of a page, over all groups, from the oldest event that is remembered.
    pub fn history(&self, texture: TextureId, page: PageAddress) -> Vec<PageEvent> {
        let is_it = |event: &&PageEvent| event.texture == texture && event.page == page;
        self.history.iter().filter(is_it).copied().collect()
    }

    /// The newest events of all pages, from the oldest of them.
    pub fn events(&self, most: usize) -> Vec<PageEvent> {
        let count = self.history.iter().count();
        self.history.iter().skip(count.saturating_sub(most)).copied().collect()
    }

    /// Pools, textures and page tables as they are now.
    pub fn usage(&self) -> Usage {
        Usage {
            pools: self.pool_usage(),
            textures: self.textures.iter().flatten().map(|texture| self.texture_usage(texture)).collect(),
            spaces: self.space_usage(),
            mappings: self.mappings.len(),
            counters: self.last,
        }
    }

    /// All pools, with the curves of their residency.
    pub fn pool_usage(&self) -> Vec<PoolUsage> {
        let states = (0u8..=u8::MAX).zip(&self.pools);
        let states = states.filter_map(|(id, state)| Some((id, state.as_ref()?)));
        let most = self.knobs.residency_bias_max.max(f32::MIN_POSITIVE);
        states
            .map(|(id, state)| {
                let (pool, size) = (&state.pool, state.pool.size);
                let formats: Vec<String> = pool.desc.layers.iter().map(ToString::to_string).collect();
                let mappings =
                    pool.taken().map(|(slot, _)| self.mappings.iter(pool.slot(slot).mappings).count());
                let share = |count: u32| count as f32 / size.usable() as f32;
                PoolUsage {
                    pool: PoolId(id),
                    name: pool.desc.name.clone(),
                    formats: formats.join(" + "),
                    tile: pool.desc.physical_tile(),
                    side: size.side,
                    pages: size.usable(),
                    bytes: size.bytes(),
                    allocated: pool.allocated(),
                    locked: pool.locked,
                    locked_bytes: u64::from(pool.locked) * size.page_bytes,
                    mapped: mappings.sum::<usize>() as u32,
                    residency: share(pool.used(self.frame, self.knobs.page_free_threshold)),
                    locked_share: share(pool.locked),
                    bias_share: state.governor.bias() / most,
                    bias: state.governor.bias(),
                }
            })
            .collect()
    }

    fn texture_usage(&self, texture: &super::Texture) -> TextureUsage {
        let grid = texture.placement.grid;
        let mut usage = TextureUsage {
            texture: texture.id,
            name: texture.name.clone(),
            space: texture.placement.space,
            fed: texture.placement.fed,
            tiles: grid.tiles(),
            max_level: grid.max_level(),
            pages: 0,
            locked: 0,
            dirty: 0,
            bytes: 0,
        };
        for state in self.pools.iter().flatten() {
            for (slot, _) in state.pool.taken().filter(|(_, owner)| key::source(*owner) == texture.source) {
                let slot = state.pool.slot(slot);
                usage.pages += 1;
                usage.locked += u32::from(slot.locks > 0);
                usage.dirty += u32::from(!slot.is_current());
                usage.bytes += state.pool.size.page_bytes;
            }
        }
        usage
    }

    fn space_usage(&self) -> Vec<SpaceUsage> {
        let of = |(space, known): (SpaceId, &crate::vt::space::Space)| {
            let side = 1u64 << known.log2_side;
            let texels: u64 = (0..=known.log2_side).map(|mip| (side >> mip) * (side >> mip)).sum();
            SpaceUsage {
                space,
                layout: known.layout,
                side: side as u32,
                // Images have one, two or four channels.
                bytes: texels
                    * u64::from(known.layout.channels.next_power_of_two())
                    * known.layout.format.bytes(),
                textures: known.textures(),
                mapped: known.tables.iter().map(|table| table.mapped()).sum(),
                fed: space.is_fed(),
            }
        };
        self.spaces.iter().map(of).collect()
    }
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// The text of `vt pools` and `vt usage`.
impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for pool in &self.pools {
            writeln!(
                f,
                "{} {} ({}): tile {}, {} x {} pages, {:.3} MiB; {} allocated, {} locked ({:.3} MiB), {} mapped; \
                 residency {:.2}, bias {:.2}",
                pool.pool,
                pool.name,
                pool.formats,
                pool.tile,
                pool.side,
                pool.side,
                mib(pool.bytes),
                pool.allocated,
                pool.locked,
                mib(pool.locked_bytes),
                pool.mapped,
                pool.residency,
                pool.bias
            )?;
        }
        for texture in &self.textures {
            let [across, down] = texture.tiles;
            write!(f, "{} {}: {across} x {down} tiles, ", texture.texture, texture.name)?;
            write!(f, "levels 0 to {}, in {}; {} pages, ", texture.max_level, texture.space, texture.pages)?;
            write!(f, "{:.3} MiB, {} locked, {} dirty", mib(texture.bytes), texture.locked, texture.dirty)?;
            f.write_str(if texture.fed { "\n" } else { "; not fed: 16 spaces are\n" })?;
        }
        for space in &self.spaces {
            writeln!(
                f,
                "{}: {} x {}, {} channels of {}, {:.3} MiB; {} textures, {} pages mapped{}",
                space.space,
                space.side,
                space.side,
                space.layout.channels,
                space.layout.format,
                mib(space.bytes),
                space.textures,
                space.mapped,
                if space.fed { "" } else { "; not fed: 16 spaces are" }
            )?;
        }
        Ok(())
    }
}
