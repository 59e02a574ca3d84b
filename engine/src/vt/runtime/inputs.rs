//! What pages are drawn from, and how good it is: so that pages that were drawn too early are drawn again.
//!
//! A writer may lack its mesh or terrain, or have worse inputs than it will have ([`WriterDesc::quality`]). Pages that
//! show such a writer are of that quality; when its inputs become better, those pages are drawn again, and no others.
//!
//! [`WriterDesc::quality`]: super::WriterDesc::quality

use super::cull::{Verdict, verdict};
use super::registry::{Registry, WriterId};
use super::volume::PageCamera;
use super::writer::Shape;
use crate::vt::grid::Region;
use crate::vt::{PageAddress, Quality, TextureId};

/// A part of a texture whose inputs have become better.
#[derive(Debug, Clone, PartialEq)]
pub struct Sharpened {
    /// Of which texture.
    pub texture: TextureId,
    /// Which part, in UV.
    pub region: Region,
    /// How good they are now.
    pub quality: Quality,
}

/// Writers whose inputs are not as good as they could be.
#[derive(Debug, Default)]
pub struct Inputs {
    poor: Vec<(WriterId, Quality)>,
    spare: Vec<(WriterId, Quality)>,
}

impl Inputs {
    /// Looks at the inputs of a new frame; `has` says whether what a shape is made of is there. Gives what has become
    /// better since the last frame.
    pub fn follow(&mut self, registry: &Registry, has: impl Fn(&Shape) -> bool) -> Vec<Sharpened> {
        let mut now = std::mem::take(&mut self.spare);
        now.clear();
        now.extend(registry.with_inputs().filter_map(|(id, writer)| {
            let quality = if has(&writer.desc.shape) { writer.desc.quality } else { Quality::NONE };
            (quality < Quality::FULL).then_some((id, quality))
        }));
        let mut sharpened = Vec::new();
        for (id, before) in &self.poor {
            let found = now.iter().find(|(now, _)| now == id);
            let quality = found.map_or(Quality::FULL, |(_, quality)| *quality);
            // Where one was removed, its pages are stale anyway.
            if let Ok(writer) = registry.writer(*id)
                && quality > *before
            {
                for (texture, runtime) in registry.textures() {
                    let regions = writer.footprint.regions(&runtime.volume).into_iter();
                    let of = |region| Sharpened { texture, region, quality };
                    sharpened.extend(regions.filter(|_| writer.desc.into.has(texture)).map(of));
                }
            }
        }
        self.spare = std::mem::replace(&mut self.poor, now);
        sharpened
    }

    /// How good the inputs of a page are: as good as the worst of what it shows.
    pub fn quality(
        &self,
        registry: &Registry,
        (texture, group): (TextureId, u8),
        page: PageAddress,
    ) -> Quality {
        if self.poor.is_empty() {
            return Quality::FULL;
        }
        let Some(runtime) = registry.texture(texture) else { return Quality::FULL };
        let Some((kind, _)) = runtime.groups.get(usize::from(group)) else { return Quality::FULL };
        let camera = PageCamera::new(&runtime.volume, &runtime.shape, page);
        let shows = |id: &WriterId| {
            let found = registry.writer(*id).map(|writer| verdict(writer, texture, *kind, &camera));
            matches!(found, Ok(Verdict::Drawn(_)))
        };
        let shown = self.poor.iter().filter(|(id, _)| shows(id)).map(|(_, quality)| *quality);
        shown.min().unwrap_or(Quality::FULL)
    }
}
