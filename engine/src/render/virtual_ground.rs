//! What drawing the ground with virtual textures takes: images, buffers, slots of textures.

use glam::{DVec2, Vec3, Vec3Swizzles};

use super::base::BasePush;
use crate::graph::{Access, ImageHandle, ShaderStages};
use crate::vk::{Buffer, Image, Sampler};
use crate::vt::sampling::bindings;
use crate::vt::{Borders, GroundTextures, TextureId, VirtualTextures, VtImages};

/// Slot of no texture: `NO_TEXTURE` of `shaders/base.wgsl`.
const NO_TEXTURE: u32 = u32::MAX;
/// Metres from the camera where displacement begins to fade, and where it is gone.
const DISPLACEMENT_FADE: [f32; 2] = [60.0, 140.0];

/// Level where the materials begin to be evaluated: `NEAR_BEGIN` of `shaders/base.wgsl`.
const NEAR_BEGIN: f32 = 0.2;
/// How much further than level ground walls are evaluated, which pages, drawn from above, have few texels for.
const WALLS_FURTHER: f32 = 2.0;

/// Virtual textures that have a ground.
#[derive(Debug, Clone, Copy)]
pub(super) struct VirtualGround<'f> {
    textures: &'f VirtualTextures,
    ground: GroundTextures,
    /// Where the camera is: x and z, metres.
    camera: DVec2,
}

impl<'f> VirtualGround<'f> {
    /// Nothing where they have none, or where its images are not there.
    pub(super) fn of(textures: &'f VirtualTextures, camera: Vec3) -> Option<Self> {
        let ground = *textures.ground()?;
        textures.images(ground.surface)?;
        Some(Self { textures, ground, camera: camera.xz().as_dvec2() })
    }

    /// Page of level 0 of a texture in which the camera is, and how far into it: with more bits than shaders have, which
    /// only add what lies between the camera and a place.
    fn page_of_camera(&self, id: TextureId) -> ([i32; 2], [f32; 2]) {
        let texture = self.textures.writers().texture(id);
        texture.map_or(([0; 2], [0.0; 2]), |texture| {
            let volume = &texture.volume;
            let from = self.camera - volume.corner().as_dvec2();
            let [u, v] = volume.axes().map(|axis| from.dot(axis.as_dvec2()));
            let tiles = texture.shape.grid.tiles().map(f64::from);
            let at = DVec2::new(u, v) / volume.size().as_dvec2() * DVec2::from(tiles);
            let page = at.floor();
            (page.as_ivec2().to_array(), (at - page).as_vec2().to_array())
        })
    }

    /// The surface alone.
    pub(super) fn surface_alone(mut self) -> Self {
        self.ground.height = None;
        self.ground.displacement = None;
        self
    }

    /// Images that it samples, as the frame has them.
    pub(super) fn handles(&self, images: &VtImages) -> Vec<ImageHandle> {
        let mut all: Vec<ImageHandle> =
            self.ground.all().flat_map(|id| self.textures.handles(id, images)).collect();
        let mut seen = Vec::with_capacity(all.len());
        all.retain(|handle| {
            let is_new = !seen.contains(handle);
            seen.push(*handle);
            is_new
        });
        all
    }

    /// Metres from the camera within which pixels can be too fine for the finest page, so that the materials of the ground
    /// are evaluated in them; 0 where that is turned off, or pages are looked at. `pixels`: of a metre at a distance of one.
    pub(super) fn near_reach(&self, pixels: f32) -> f32 {
        let options = self.textures.options();
        let is_on = options.near_detail && options.borders == Borders::Off;
        match self.textures.texel_metres(self.ground.surface) {
            Some(texel) if is_on => NEAR_BEGIN.exp2() * texel * pixels * WALLS_FURTHER,
            _ => 0.0,
        }
    }

    /// How they are read: vertices are displaced by them too.
    pub(super) const SAMPLED: Access = Access::Sampled(ShaderStages::DRAW);

    pub(super) fn push(&self, frame_index: u32, near_reach: f32) -> BasePush {
        let slot = |id: Option<TextureId>| id.map_or(NO_TEXTURE, |id| id.index() as u32);
        let second = self.ground.height.or(self.ground.displacement);
        let (surface_page, surface_fraction) = self.page_of_camera(self.ground.surface);
        let (second_page, second_fraction) =
            second.map_or_else(Default::default, |id| self.page_of_camera(id));
        BasePush {
            frame_index,
            surface_texture: slot(Some(self.ground.surface)),
            height_texture: slot(self.ground.height),
            displacement_texture: slot(self.ground.displacement),
            displacement_fade: DISPLACEMENT_FADE,
            near_reach,
            padding: 0.0,
            surface_page,
            surface_fraction,
            second_page,
            second_fraction,
        }
    }

    /// Buffers to bind; feedback only where it is written.
    pub(super) fn buffers(&self, gives_feedback: bool) -> Vec<(u32, &'f Buffer)> {
        let constants = self.textures.constants().map(|buffer| (bindings::CONSTANTS, buffer));
        let feedback = self.textures.feedback_buffer().filter(|_| gives_feedback);
        constants.into_iter().chain(feedback.map(|buffer| (bindings::FEEDBACK, buffer))).collect()
    }

    /// Images to bind.
    pub(super) fn images(&self) -> Vec<(u32, &'f Image)> {
        let mut all = Vec::with_capacity(6);
        if let Some((table, layers)) = self.textures.images(self.ground.surface) {
            all.push((bindings::PAGE_TABLE, table));
            all.extend(bindings::LAYERS.into_iter().zip(layers));
        }
        all.extend(self.second_images());
        all
    }

    /// Those of height and displacement, which share page table and atlas.
    pub(super) fn second_images(&self) -> Vec<(u32, &'f Image)> {
        let second = self.ground.height.or(self.ground.displacement);
        let Some((table, layers)) = second.and_then(|id| self.textures.images(id)) else { return Vec::new() };
        let layer = layers.into_iter().next().map(|layer| (bindings::SECOND_LAYER, layer));
        std::iter::once((bindings::SECOND_PAGE_TABLE, table)).chain(layer).collect()
    }

    pub(super) fn sampler(&self) -> &'f Sampler {
        self.textures.sampler()
    }
}
