//! Pictures of page tables and atlases, for the report and for the window.

use vasa::Engine;
use vasa::inspect::Chart;
use vasa::inspect::virtual_textures::{AtlasPicture, page_table_picture};
use vasa::vt::{PageAddress, PoolId, TextureId, ViewPart, VirtualTextures};

use crate::failure::Result;

/// Which picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VtPicture {
    /// Which level a texture has mapped where.
    PageTable(TextureId),
    /// Whose page is in every slot of an atlas.
    AtlasOwners(PoolId),
    /// What is in every slot, through the page table.
    AtlasPages(PoolId),
}

impl VtPicture {
    /// All that there are, in the order in which a window shows them.
    pub fn all(textures: &VirtualTextures) -> Vec<Self> {
        let tables = textures.writers().textures().map(|(id, _)| Self::PageTable(id));
        let pools = textures.planner().pool_usage();
        let atlases =
            pools.iter().flat_map(|pool| [Self::AtlasOwners(pool.pool), Self::AtlasPages(pool.pool)]);
        tables.chain(atlases).collect()
    }

    /// The one after `shown`; nothing comes after the last one, and before the first.
    pub fn after(shown: Option<Self>, textures: &VirtualTextures) -> Option<Self> {
        let all = Self::all(textures);
        match shown {
            None => all.first().copied(),
            Some(shown) => all.iter().skip_while(|one| **one != shown).nth(1).copied(),
        }
    }

    /// Draws it; nothing where what it shows is gone. `place` is where the camera is: x and z, metres.
    ///
    /// # Errors
    /// No memory, a lost device, or a texture that no frame was drawn of yet.
    pub fn draw(self, engine: &Engine, textures: &VirtualTextures, place: [f32; 2]) -> Result<Option<Chart>> {
        match self {
            Self::PageTable(texture) => Ok(page_table(textures, texture, place)),
            Self::AtlasOwners(pool) => Ok(atlas_owners(textures, pool)),
            Self::AtlasPages(pool) => atlas_pages(engine, textures, pool),
        }
    }
}

/// Which level a texture has mapped where.
pub fn page_table(textures: &VirtualTextures, id: TextureId, place: [f32; 2]) -> Option<Chart> {
    let texture = textures.writers().texture(id)?;
    let grid = textures.planner().placement(id)?.grid;
    let camera = texture.volume.uv(place.into()).to_array();
    let mapped = |page: PageAddress| textures.planner().lookup(id, 0, page).map(|(found, _)| found);
    Some(page_table_picture(&format!("Page table of {}", texture.name), &grid, camera, &mapped))
}

/// Whose page is in every slot of an atlas.
pub fn atlas_owners(textures: &VirtualTextures, pool: PoolId) -> Option<Chart> {
    Some(AtlasPicture::of(textures.planner(), pool)?.draw())
}

/// What is in every slot, through the page table.
///
/// # Errors
/// No memory, a lost device, or a texture that no frame was drawn of yet.
pub fn atlas_pages(engine: &Engine, textures: &VirtualTextures, pool: PoolId) -> Result<Option<Chart>> {
    let Some(atlas) = AtlasPicture::of(textures.planner(), pool) else { return Ok(None) };
    let (size, parts) = atlas.sheet(textures.planner());
    view(engine, &parts, size).map(Some)
}

/// Parts of textures beside each other.
///
/// # Errors
/// No memory, a lost device, or a texture that no frame was drawn of yet.
pub fn view(engine: &Engine, parts: &[ViewPart], size: [u32; 2]) -> Result<Chart> {
    let pixels = engine.view_textures(parts, size)?;
    let rgb = pixels.chunks_exact(4).flat_map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect();
    Ok(Chart { size, pixels: rgb })
}
