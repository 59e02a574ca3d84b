//! What page shaders read: structures shared with `shaders/lib/virtual_texture_page.wgsl`, made of writers.

use glam::Vec2;

use crate::vk::layout::gpu_struct;
use crate::vt::runtime::registry::{Registry, Writer};
use crate::vt::runtime::writer::{RibbonKnot, Shape};

gpu_struct! {
    /// Push constants of the page shaders.
    pub struct PagePush {
        /// Where texel (0, 0) of the texture begins: x and z, metres.
        pub corner: [f32; 2],
        /// A texel of this level along u, metres.
        pub step_u: [f32; 2],
        /// A texel of this level along v, metres.
        pub step_v: [f32; 2],
        /// Texel of the level that the page's first texel is, border included.
        pub first_texel: [i32; 2],
        /// Texels a side, border included.
        pub side: f32,
        /// World size of a texel, metres.
        pub texel: f32,
        /// Level of the page.
        pub level: u32,
        /// Coarsest level of the texture.
        pub max_level: u32,
        /// Number of the kind.
        pub kind: u32,
        /// 1: drawn as it is stored, in 16 bits a texel.
        pub flags: u32,
        /// Lowest height that the texture stores, metres.
        pub height_offset: f32,
        /// One over the range of heights that it stores, 1/m.
        pub height_scale: f32,
        /// Lowest height that is seen, metres.
        pub depth_offset: f32,
        /// One over the range of heights that are seen, 1/m.
        pub depth_scale: f32,
        /// Meshes: index of the writer.
        pub writer: u32,
        /// Meshes: first word of the vertices.
        pub first_word: u32,
        /// Meshes: linear colour.
        pub colour: [f32; 3],
        /// Meshes: roughness.
        pub roughness: f32,
    }

    /// A writer.
    pub struct PageWriter {
        /// Middle of its rectangle: x and z, metres.
        pub centre: [f32; 2],
        /// Unit vector along its first side.
        pub along: [f32; 2],
        /// Half its sides, metres.
        pub half_size: [f32; 2],
        /// 0 to 1.
        pub opacity: f32,
        /// A [`Paint`](crate::vt::runtime::Paint).
        pub paint: u32,
        /// Linear base colour.
        pub colour: [f32; 3],
        /// 0 to 1.
        pub roughness: f32,
        /// A second colour.
        pub second: [f32; 3],
        /// 0 to 1.
        pub specular: f32,
        /// Masks.
        pub mask: [f32; 4],
        /// Height of what repeats, metres.
        pub relief: f32,
        /// Length of what repeats, metres.
        pub period: f32,
        /// Metres over which it fades out.
        pub feather: f32,
        /// Height of the world, metres.
        pub height: f32,
        /// Displacement, metres.
        pub displacement: f32,
        /// To 16 bytes.
        pub padding_a: f32,
        /// To 16 bytes.
        pub padding_b: f32,
        /// To 16 bytes.
        pub padding_c: f32,
        /// Rows of a mesh's object-to-world matrix.
        pub rows: [[f32; 4]; 3],
    }

    /// A knot of a ribbon.
    pub struct PageKnot {
        /// x and z, metres.
        pub place: [f32; 2],
        /// Mean direction of the pieces that meet here.
        pub forward: [f32; 2],
        /// Length of the ribbon before it, metres.
        pub along: f32,
        /// Half its width, metres.
        pub half_width: f32,
        /// Index of the writer.
        pub writer: u32,
        /// To 32 bytes.
        pub padding: u32,
    }
}

impl PageWriter {
    fn of(writer: &Writer) -> Self {
        let look = &writer.desc.look;
        let rectangle = match &writer.desc.shape {
            Shape::Terrain(r) | Shape::Pattern(r) | Shape::Decal(r) => Some(*r),
            Shape::Ribbon(_) | Shape::Mesh { .. } => None,
        };
        let rows = match &writer.desc.shape {
            Shape::Mesh { rows, .. } => *rows,
            _ => [[0.0; 4]; 3],
        };
        Self {
            centre: rectangle.map(|r| r.centre.into()).unwrap_or_default(),
            along: rectangle.map(|r| r.along.into()).unwrap_or_default(),
            half_size: rectangle.map(|r| r.half.into()).unwrap_or_default(),
            opacity: writer.desc.opacity.clamp(0.0, 1.0),
            paint: look.paint as u32,
            colour: look.colour,
            roughness: look.roughness,
            second: look.second,
            specular: look.specular,
            mask: look.mask,
            relief: look.relief,
            period: look.period.max(1e-3),
            feather: look.feather.max(0.0),
            height: look.height,
            displacement: look.displacement,
            rows,
            ..Self::default()
        }
    }
}

/// Writers in the order in which they are drawn, and the knots of all ribbons.
#[derive(Debug, Default)]
pub(super) struct Records {
    pub(super) writers: Vec<PageWriter>,
    pub(super) knots: Vec<PageKnot>,
    /// First knot of each writer that is a ribbon.
    pub(super) first_knots: Vec<u32>,
    /// The registry's revision that they were made of.
    pub(super) revision: Option<u64>,
}

impl Records {
    /// Makes them anew if the registry has changed. Returns whether it has.
    pub(super) fn follow(&mut self, registry: &Registry) -> bool {
        if self.revision == Some(registry.revision()) {
            return false;
        }
        self.revision = Some(registry.revision());
        self.writers.clear();
        self.knots.clear();
        self.first_knots.clear();
        for (_, writer) in registry.writers() {
            let index = self.writers.len() as u32;
            self.first_knots.push(self.knots.len() as u32);
            self.writers.push(PageWriter::of(writer));
            if let Shape::Ribbon(knots) = &writer.desc.shape {
                self.knots.extend(page_knots(knots, index));
            }
        }
        true
    }
}

/// Knots with the lines on which their pieces meet.
pub(super) fn page_knots(knots: &[RibbonKnot], writer: u32) -> Vec<PageKnot> {
    let direction = |i: usize| -> Option<Vec2> {
        let (a, b) = (knots.get(i)?, knots.get(i + 1)?);
        (b.place - a.place).try_normalize()
    };
    let mut along = 0.0;
    let mut made = Vec::with_capacity(knots.len());
    for (i, knot) in knots.iter().enumerate() {
        let before = i.checked_sub(1).and_then(direction);
        let after = direction(i);
        let either = before.or(after).unwrap_or(Vec2::X);
        // A ribbon that turns back on itself has no mean direction: it ends square and begins anew.
        let forward = (before.unwrap_or(either) + after.unwrap_or(either)).normalize_or(either);
        if let Some(last) = i.checked_sub(1).and_then(|last| knots.get(last)) {
            along += last.place.distance(knot.place);
        }
        made.push(PageKnot {
            place: knot.place.into(),
            forward: forward.into(),
            along,
            half_width: knot.half_width,
            writer,
            padding: 0,
        });
    }
    made
}
