//! The producer that the planner asks: pages of runtime textures can be drawn once the world is there.

use std::collections::BTreeMap;

use super::registry::Registry;
use crate::vt::{Availability, PageRequest, Producer, Quality, TextureId};

/// What the world has ready, as the producer needs to know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Readiness {
    /// Whether scene and GPU scene hold what is to be drawn.
    pub is_scene_ready: bool,
    /// How good the inputs of pages are. Pages that were drawn from less are drawn again when it rises.
    pub quality: Quality,
}

impl Default for Readiness {
    fn default() -> Self {
        Self { is_scene_ready: false, quality: Quality::FULL }
    }
}

/// Draws pages of runtime textures: says which can be drawn now.
#[derive(Debug)]
pub struct RuntimeProducer<'r> {
    registry: &'r Registry,
    readiness: Readiness,
    /// Inputs of single textures that are worse than the rest: a terrain of which a part still streams.
    qualities: BTreeMap<TextureId, Quality>,
}

impl<'r> RuntimeProducer<'r> {
    /// The producer of one frame.
    pub fn new(registry: &'r Registry, readiness: Readiness) -> Self {
        Self { registry, readiness, qualities: BTreeMap::new() }
    }

    /// Says that the inputs of a texture are of another quality than the rest.
    #[must_use]
    pub fn with_quality(mut self, texture: TextureId, quality: Quality) -> Self {
        self.qualities.insert(texture, quality);
        self
    }

    /// How good the inputs of a texture are now.
    pub fn quality(&self, texture: TextureId) -> Quality {
        let own = self.qualities.get(&texture).copied().unwrap_or(Quality::FULL);
        own.min(self.readiness.quality)
    }
}

impl Producer for RuntimeProducer<'_> {
    fn request(&mut self, request: &PageRequest) -> Availability {
        let texture = self.registry.texture(request.texture);
        let is_ours = texture.is_some_and(|texture| {
            usize::from(request.group) < texture.groups.len() && texture.shape.grid.has(request.page)
        });
        match is_ours && self.readiness.is_scene_ready {
            true => Availability::Available(self.quality(request.texture)),
            false => Availability::Saturated,
        }
    }
}
