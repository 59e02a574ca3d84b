//! What pages are drawn from, and how good it is: so that pages that were drawn too early are drawn again.
//!
//! A writer may lack its mesh or terrain, or have worse inputs than it will have ([`WriterDesc::quality`]). Pages that
//! show such a writer are of that quality; when its inputs become better, those pages are drawn again, and no others.
//!
//! [`WriterDesc::quality`]: super::WriterDesc::quality

use slotmap::SecondaryMap;

use super::cull::{Verdict, verdict};
use super::registry::{Registry, Writer, WriterId};
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
    poor: SecondaryMap<WriterId, Quality>,
}

impl Inputs {
    /// Looks at the inputs of a new frame; `has` says whether what a shape is made of is there. Gives what has become
    /// better since the last frame.
    pub fn follow(&mut self, registry: &Registry, has: impl Fn(&Shape) -> bool) -> Vec<Sharpened> {
        let quality = |writer: &Writer| {
            if has(&writer.desc.shape) { writer.desc.quality } else { Quality::NONE }
        };
        let mut sharpened = Vec::new();
        self.poor.retain(|id, before| {
            // Of one that was removed the pages are stale anyway.
            let Ok(writer) = registry.writer(id) else { return false };
            let quality = quality(writer);
            if quality > *before {
                for (texture, runtime) in registry.textures().filter(|(id, _)| writer.desc.into.has(*id)) {
                    let regions = writer.footprint.regions(&runtime.volume).into_iter();
                    sharpened.extend(regions.map(|region| Sharpened { texture, region, quality }));
                }
            }
            *before = quality;
            quality < Quality::FULL
        });
        for (id, writer) in registry.with_inputs() {
            let quality = quality(writer);
            if quality < Quality::FULL {
                self.poor.insert(id, quality);
            }
        }
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
        let (grid, border) = (&runtime.shape.grid, runtime.shape.border_share());
        let camera = PageCamera::new(&runtime.volume, &runtime.shape, page);
        let shows = |id: WriterId| {
            let Ok(writer) = registry.writer(id) else { return false };
            // Exactly the pages that the planner draws again when the writer's regions sharpen: drawing itself reaches a
            // texel further.
            let reached = |region: Region| {
                grid.touched(region, page.level, border).is_some_and(|[first, last]| {
                    (first[0]..=last[0]).contains(&page.x) && (first[1]..=last[1]).contains(&page.y)
                })
            };
            matches!(verdict(writer, texture, *kind, &camera), Verdict::Drawn(_))
                && writer.footprint.regions(&runtime.volume).into_iter().any(reached)
        };
        let shown = self.poor.iter().filter(|(id, _)| shows(*id)).map(|(_, quality)| *quality);
        shown.min().unwrap_or(Quality::FULL)
    }
}
