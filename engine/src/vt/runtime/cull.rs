//! Which writers a page needs, and why not the others.

use std::fmt;

use super::kind::Attributes;
use super::registry::{Registry, Writer, WriterId};
use super::volume::PageCamera;
use crate::vt::Kind;
use crate::vt::TextureId;

/// What becomes of a writer on a page.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Verdict {
    /// It is drawn, and writes these.
    Drawn(Attributes),
    /// It does not write this texture.
    OtherTexture,
    /// The texture stores nothing that it writes.
    NothingStored,
    /// It is fully transparent.
    Transparent,
    /// It is not drawn at this level.
    OtherLevel,
    /// The page does not see it.
    Outside,
    /// It would be so many texels large, fewer than it asks for.
    Small(f32),
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Drawn(attributes) => write!(f, "drawn: {attributes}"),
            Self::OtherTexture => f.write_str("writes other textures"),
            Self::NothingStored => f.write_str("the texture stores nothing that it writes"),
            Self::Transparent => f.write_str("transparent"),
            Self::OtherLevel => f.write_str("not at this level"),
            Self::Outside => f.write_str("outside of the page"),
            Self::Small(texels) => write!(f, "only {texels:.1} texels large"),
        }
    }
}

/// What becomes of one writer on a page of a texture.
pub fn verdict(writer: &Writer, texture: TextureId, kind: Kind, camera: &PageCamera) -> Verdict {
    let desc = &writer.desc;
    let attributes = desc.attributes.and(kind.attributes());
    let texels = writer.footprint.extent() / camera.texel_size();
    match () {
        () if !desc.into.has(texture) => Verdict::OtherTexture,
        () if attributes.is_empty() => Verdict::NothingStored,
        () if desc.opacity <= 0.0 => Verdict::Transparent,
        () if !desc.levels.contains(&camera.level) => Verdict::OtherLevel,
        () if texels < desc.least_texels => Verdict::Small(texels),
        () if !writer.footprint.is_on(camera) => Verdict::Outside,
        () => Verdict::Drawn(attributes),
    }
}

/// The writers that a page shows, in the order in which they are drawn, with what they write.
pub fn visible(
    registry: &Registry,
    texture: TextureId,
    kind: Kind,
    camera: &PageCamera,
) -> Vec<(WriterId, Attributes)> {
    let drawn = |(id, writer): (WriterId, &Writer)| match verdict(writer, texture, kind, camera) {
        Verdict::Drawn(attributes) => Some((id, attributes)),
        _ => None,
    };
    registry.writers().filter_map(drawn).collect()
}

/// Every writer with its verdict, a line each.
pub fn explain(registry: &Registry, texture: TextureId, kind: Kind, camera: &PageCamera) -> String {
    let line = |(_, writer): (WriterId, &Writer)| {
        format!("{}: {}\n", writer.desc.name, verdict(writer, texture, kind, camera))
    };
    registry.writers().map(line).collect()
}
