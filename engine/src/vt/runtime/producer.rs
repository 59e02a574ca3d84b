//! The producer that the planner asks: pages of runtime textures can be drawn once the world is there.

use super::inputs::Inputs;
use super::registry::Registry;
use crate::vt::{Availability, PageRequest, Producer};

/// Draws pages of runtime textures: says which can be drawn now, and how good they will be.
#[derive(Debug)]
pub struct RuntimeProducer<'r> {
    registry: &'r Registry,
    inputs: &'r Inputs,
    is_scene_ready: bool,
}

impl<'r> RuntimeProducer<'r> {
    /// The producer of one frame. Until scene and GPU scene hold what is to be drawn, no page can be.
    pub fn new(registry: &'r Registry, inputs: &'r Inputs, is_scene_ready: bool) -> Self {
        Self { registry, inputs, is_scene_ready }
    }
}

impl Producer for RuntimeProducer<'_> {
    fn request(&mut self, request: &PageRequest) -> Availability {
        let texture = self.registry.texture(request.texture);
        let is_ours = texture.is_some_and(|texture| {
            usize::from(request.group) < texture.groups.len() && texture.shape.grid.has(request.page)
        });
        if !is_ours || !self.is_scene_ready {
            return Availability::Saturated;
        }
        let page = (request.texture, request.group);
        Availability::Available(self.inputs.quality(self.registry, page, request.page))
    }
}
