//! The textures of a terrain: its surface, its height, and the displacement of its vertices.

use glam::Vec2;

use super::{RuntimeTextureDesc, VirtualTextures, VtResult};
use crate::scene::terrain::Terrain;
use crate::sparse::SparseMemory;
use crate::vt::runtime::{Rectangle, Shape, Volume, WriterDesc, WriterId, WritesTo};
use crate::vt::{Kind, TextureId};

/// Largest displacement up or down that is stored, metres.
const MOST_DISPLACEMENT: f32 = 1.0;
/// Room above and below the terrain's own heights, metres: for what stands on it.
const HEIGHT_MARGIN: f32 = 40.0;

/// Bias of the surface's levels. What two samplings of detail blur - a texel's of its materials, a pixel's of the texels -
/// is won back by finer texels, whose materials are evaluated for a little more than a texel: `FOOTPRINT` of
/// `shaders/vt/page_terrain.wgsl`. Together, the ground looks as if it were evaluated in the pixel.
const SURFACE_BIAS: f32 = -0.3;

/// How a terrain's textures are made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GroundTexturesDesc {
    /// Pages along the longer side of the surface's texture, at most 4096.
    pub tiles: u32,
    /// Pages along the longer side of the textures of height and displacement; 0 is none of them.
    pub height_tiles: u32,
    /// Texels a side of a page, without its border.
    pub tile: u32,
}

impl Default for GroundTexturesDesc {
    fn default() -> Self {
        Self { tiles: 4096, height_tiles: 1024, tile: 256 }
    }
}

/// The textures that a terrain is drawn with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroundTextures {
    /// Base colour, normal, roughness, specular, occlusion.
    pub surface: TextureId,
    /// Height of the world.
    pub height: Option<TextureId>,
    /// Displacement of vertices along y.
    pub displacement: Option<TextureId>,
    /// The terrain itself, as it is drawn into them.
    pub terrain: WriterId,
}

impl GroundTextures {
    /// Whether a texture is one of them.
    pub fn has(&self, id: TextureId) -> bool {
        self.all().any(|texture| texture == id)
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = TextureId> {
        [Some(self.surface), self.height, self.displacement].into_iter().flatten()
    }
}

impl VirtualTextures {
    /// Makes the textures of a terrain, over all of it, and draws the ground of the scene with them from now on. What
    /// lies on the ground (roads, decals, stamps) is added to [`writers_mut`](Self::writers_mut).
    ///
    /// # Errors
    /// See [`create_texture`](Self::create_texture); no texture of the ground is left then, those before neither.
    pub fn set_ground(
        &mut self,
        sparse: &SparseMemory,
        terrain: &Terrain,
        desc: &GroundTexturesDesc,
    ) -> VtResult<GroundTextures> {
        self.remove_ground()?;
        let before: Vec<TextureId> = self.textures.iter().map(|texture| texture.id).collect();
        let made = self.make_ground(sparse, terrain, desc);
        // What the ground does not use does not stay: of a ground that could not be made, all of it.
        let used = |id| made.as_ref().is_ok_and(|ground| ground.has(id));
        let all = self.textures.iter().map(|texture| texture.id);
        let unused: Vec<TextureId> = all.filter(|id| !before.contains(id) && !used(*id)).collect();
        unused.into_iter().try_for_each(|id| self.destroy_texture(id))?;
        self.ground = made.as_ref().ok().copied();
        made
    }

    fn make_ground(
        &mut self,
        sparse: &SparseMemory,
        terrain: &Terrain,
        desc: &GroundTexturesDesc,
    ) -> VtResult<GroundTextures> {
        let half = terrain.surface().half_extent();
        let (low, high) = terrain.surface().height_bounds(-half.x, -half.y, half.x, half.y);
        let volume = |heights| Volume::new((-half).into(), (half * 2.0).into(), heights);
        let heights = [low - HEIGHT_MARGIN, high + HEIGHT_MARGIN];
        let surface = self.create_texture(
            sparse,
            &RuntimeTextureDesc {
                // Grey ground that faces up, until the coarsest page is there.
                fallback: [[0.518, 0.51, 0.0, 0.45], [0.502, 0.502, 0.0, 1.0], [0.3, 0.9, 1.0, 0.9]],
                tile: desc.tile,
                bias: SURFACE_BIAS,
                ..RuntimeTextureDesc::new(
                    "Terrain",
                    volume(heights)?,
                    Kind::BaseColorNormalSpecularMaskYCoCg,
                    desc.tiles,
                )
            },
        )?;
        // One channel, and few pages of it.
        let pool_mib = Some((self.options.pool_mib / 4).max(2));
        let mut small = |name: &str, kind, fallback: f32, beside: Option<TextureId>| {
            if desc.height_tiles == 0 {
                return Ok(None);
            }
            let made = RuntimeTextureDesc {
                fallback: [[fallback; 4]; 3],
                tile: desc.tile,
                // 16 bits, so that both share a pool and a page table.
                is_compressed: false,
                pool_mib,
                beside,
                displacements: [-MOST_DISPLACEMENT, MOST_DISPLACEMENT],
                ..RuntimeTextureDesc::new(name, volume(heights)?, kind, desc.height_tiles)
            };
            self.create_texture(sparse, &made).map(Some)
        };
        let height = small("Terrain.Height", Kind::WorldHeight, 0.0, None)?;
        let displacement = small("Terrain.Displacement", Kind::Displacement, 0.5, height)?;
        // Both are sampled through one page table and one atlas.
        let is_one = height.zip(displacement).is_none_or(|(a, b)| self.share_images(a, b));
        if !is_one {
            log::warn!(
                "the ground is not displaced: make `vt.space_side` at least {}",
                2 * desc.height_tiles
            );
        }
        let displacement = displacement.filter(|_| is_one);
        let rectangle = Rectangle { centre: Vec2::ZERO, along: Vec2::X, half };
        let textures = [Some(surface), height, displacement].into_iter().flatten().collect();
        let terrain = self.registry.add(WriterDesc {
            into: WritesTo::Only(textures),
            ..WriterDesc::new("Terrain", Shape::Terrain(rectangle))
        })?;
        Ok(GroundTextures { surface, height, displacement, terrain })
    }

    fn share_images(&self, a: TextureId, b: TextureId) -> bool {
        let space = |id| self.planner.placement(id).map(|placement| placement.space);
        let pool = |id| self.textures.iter().find(|info| info.id == id).map(|info| info.pool);
        (space(a), pool(a)) == (space(b), pool(b))
    }

    /// Draws the ground without virtual textures from now on, and destroys those that it had.
    ///
    /// # Errors
    /// When a texture was destroyed already.
    pub fn remove_ground(&mut self) -> VtResult<()> {
        let Some(ground) = self.ground.take() else { return Ok(()) };
        self.registry.remove(ground.terrain)?;
        for texture in ground.all() {
            self.destroy_texture(texture)?;
        }
        Ok(())
    }
}
