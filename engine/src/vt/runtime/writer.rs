//! What is drawn into runtime virtual textures: its shape, how it looks, where and when it takes part.

use std::ops::RangeInclusive;
use std::sync::Arc;

use glam::{Vec2, Vec3};

use super::error::{Result, RuntimeError};
use super::footprint::{Footprint, Rectangle};
use super::kind::Attributes;
use crate::scene::MeshHandle;
use crate::scene::gpu_scene::InstanceSet;
use crate::vk::Image;
use crate::vt::{Quality, TextureId};

/// Where a ribbon passes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RibbonKnot {
    /// Its middle: x and z, metres.
    pub place: Vec2,
    /// Half its width there, metres.
    pub half_width: f32,
}

/// The shape of a writer.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// The scene's terrain with its material, over its rectangle.
    Terrain(Rectangle),
    /// The calibration pattern: smooth functions of the place, with a twin on the CPU
    /// ([`pattern`](super::pattern)).
    Pattern(Rectangle),
    /// A band along a line: coordinates along it in metres and across it from -1 to 1.
    Ribbon(Vec<RibbonKnot>),
    /// A rectangle, with coordinates from -1 to 1 along its sides.
    Decal(Rectangle),
    /// A mesh of the scene, drawn from above with its own geometry.
    Mesh {
        /// Which.
        mesh: MeshHandle,
        /// Least and largest corner of it, object space.
        bounds: [Vec3; 2],
        /// Rows of the object-to-world matrix.
        rows: [[f32; 4]; 3],
    },
}

impl Shape {
    /// Classes are drawn one after the other: the ground first, then what lies on it.
    pub fn rank(&self) -> u8 {
        match self {
            Self::Terrain(_) | Self::Pattern(_) => 0,
            Self::Ribbon(_) => 1,
            Self::Decal(_) => 2,
            Self::Mesh { .. } => 3,
        }
    }

    /// Where it lies.
    pub fn footprint(&self) -> Footprint {
        match self {
            Self::Terrain(rectangle) | Self::Pattern(rectangle) | Self::Decal(rectangle) => {
                Footprint::of(*rectangle)
            }
            Self::Ribbon(knots) => Footprint {
                rectangles: knots.windows(2).map(|ends| band(ends[0], ends[1])).collect(),
                heights: None,
            },
            Self::Mesh { bounds: [low, high], rows, .. } => Footprint::of_box(*low, *high, rows),
        }
    }

    /// The same shape elsewhere. `by`: metres along x, y and z.
    #[must_use]
    pub fn moved(&self, by: Vec3) -> Self {
        let flat = Vec2::new(by.x, by.z);
        let there = |r: &Rectangle| Rectangle { centre: r.centre + flat, ..*r };
        match self {
            Self::Terrain(r) => Self::Terrain(there(r)),
            Self::Pattern(r) => Self::Pattern(there(r)),
            Self::Decal(r) => Self::Decal(there(r)),
            Self::Ribbon(knots) => Self::Ribbon(
                knots.iter().map(|knot| RibbonKnot { place: knot.place + flat, ..*knot }).collect(),
            ),
            Self::Mesh { mesh, bounds, rows } => {
                let mut rows = *rows;
                rows.iter_mut().zip(by.to_array()).for_each(|(row, by)| row[3] += by);
                Self::Mesh { mesh: *mesh, bounds: *bounds, rows }
            }
        }
    }

    fn check(&self) -> Result<()> {
        let refuse = |why: &str| Err(RuntimeError::Shape(why.into()));
        let area = |r: &Rectangle| {
            r.centre.is_finite()
                && r.half.is_finite()
                && r.half.min_element() > 0.0
                && r.along.is_normalized()
        };
        match self {
            Self::Terrain(r) | Self::Pattern(r) | Self::Decal(r) if !area(r) => refuse(
                "is a rectangle without an area: give it a finite middle, half sides above zero and a unit direction",
            ),
            Self::Ribbon(knots) if knots.len() < 2 => {
                refuse("is a ribbon of one point: give it two at least")
            }
            Self::Ribbon(knots)
                if !knots
                    .iter()
                    .all(|k| k.place.is_finite() && k.half_width.is_finite() && k.half_width > 0.0)
                    || knots.windows(2).any(|ends| ends[0].place.distance(ends[1].place) < 1e-3) =>
            {
                refuse(
                    "is a ribbon with a width that is not positive, or with two points in one place: leave one out",
                )
            }
            Self::Mesh { bounds: [low, high], rows, .. }
                if !(low.is_finite() && high.is_finite() && rows.iter().flatten().all(|f| f.is_finite())) =>
            {
                refuse("is a mesh whose bounds or transform are not finite")
            }
            _ => Ok(()),
        }
    }
}

/// The rectangle around a ribbon between two knots, its rounded ends included.
pub(super) fn band(a: RibbonKnot, b: RibbonKnot) -> Rectangle {
    let reach = a.half_width.max(b.half_width);
    let along = (b.place - a.place).normalize_or(Vec2::X);
    let half = Vec2::new(a.place.distance(b.place) * 0.5 + reach, reach);
    Rectangle { centre: (a.place + b.place) * 0.5, along, half }
}

/// What procedural materials of ribbons and decals paint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u32)]
pub enum Paint {
    /// One colour.
    #[default]
    Solid = 0,
    /// A road: worn tracks, and a dashed middle line in the second colour.
    Road = 1,
    /// Two wheel tracks in the second colour, the ground between them left alone.
    Tracks = 2,
    /// A round basin with a rim: its relief is in the normals.
    Crater = 3,
    /// The writer's image, laid once over a decal: its colour times the colour, its alpha times the opacity.
    Image = 4,
}

/// An image to stamp with: 2D, with mips, in the layout `SHADER_READ_ONLY_OPTIMAL`. Two are equal when they are the same.
#[derive(Debug, Clone)]
pub struct StampImage(pub Arc<Image>);

impl PartialEq for StampImage {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// How a writer looks. Meshes take colour and roughness from the scene and the rest from here.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    /// What is painted.
    pub paint: Paint,
    /// Linear base colour.
    pub colour: [f32; 3],
    /// A second one; what for is told at [`Paint`].
    pub second: [f32; 3],
    /// 0 to 1.
    pub roughness: f32,
    /// 0 to 1.
    pub specular: f32,
    /// The mask (first of them), or all four of `Mask4`.
    pub mask: [f32; 4],
    /// Height of what repeats, metres: normals follow from it.
    pub relief: f32,
    /// Length of what repeats along a ribbon, metres.
    pub period: f32,
    /// Metres over which it fades out towards its edges.
    pub feather: f32,
    /// Height of the world it writes, metres.
    pub height: f32,
    /// Displacement it writes, metres.
    pub displacement: f32,
}

impl Default for Look {
    fn default() -> Self {
        Self {
            paint: Paint::Solid,
            colour: [0.18; 3],
            second: [0.6; 3],
            roughness: 0.9,
            specular: 0.5,
            mask: [1.0; 4],
            relief: 0.0,
            period: 6.0,
            feather: 0.0,
            height: 0.0,
            displacement: 0.0,
        }
    }
}

/// Whether the main pass draws a primitive that also writes a virtual texture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub enum MainPass {
    /// Never: it is only a stamp.
    #[default]
    Never,
    /// Unless a volume that it writes to, and that hides primitives, is there: then its picture is in the ground.
    FromVirtualTexture,
    /// Always, beside its picture in the ground.
    Always,
}

/// Which textures a writer writes to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum WritesTo {
    /// All that it lies in.
    #[default]
    All,
    /// These.
    Only(Vec<TextureId>),
}

impl WritesTo {
    /// Whether a texture is among them.
    pub fn has(&self, texture: TextureId) -> bool {
        match self {
            Self::All => true,
            Self::Only(some) => some.contains(&texture),
        }
    }
}

/// A primitive that writes runtime virtual textures.
#[derive(Debug, Clone, PartialEq)]
pub struct WriterDesc {
    /// What it is called in reports.
    pub name: String,
    /// Its shape.
    pub shape: Shape,
    /// How it looks.
    pub look: Look,
    /// What [`Paint::Image`] stamps with.
    pub image: Option<StampImage>,
    /// What it writes; the rest keeps what was there.
    pub attributes: Attributes,
    /// 0 to 1.
    pub opacity: f32,
    /// Among what lies on the ground, low numbers are drawn first; then roads, decals, meshes; then who was added first.
    pub order: i32,
    /// Levels on whose pages it is drawn.
    pub levels: RangeInclusive<u8>,
    /// Left out of pages on which its longer side is shorter than so many texels.
    pub least_texels: f32,
    /// Whether the main pass draws it too: the instances below.
    pub main_pass: MainPass,
    /// The instances of the scene that are this primitive in the main pass: hidden and shown as `main_pass` says.
    pub instances: Option<InstanceSet>,
    /// How good what it is drawn from is now, while it is still loading: pages that show it are drawn again when this rises
    /// ([`Registry::set_quality`](super::Registry::set_quality)).
    pub quality: Quality,
    /// Which textures it writes to.
    pub into: WritesTo,
}

impl WriterDesc {
    /// An opaque writer of everything, at all levels.
    pub fn new(name: &str, shape: Shape) -> Self {
        Self {
            name: name.into(),
            shape,
            look: Look::default(),
            image: None,
            attributes: Attributes::ALL,
            opacity: 1.0,
            order: 0,
            levels: 0..=u8::MAX,
            least_texels: 0.0,
            main_pass: MainPass::Never,
            instances: None,
            quality: Quality::FULL,
            into: WritesTo::All,
        }
    }

    /// Its place among all writers.
    pub(super) fn key(&self, sequence: u64) -> (bool, i32, u8, u64) {
        let is_stamp = self.shape.rank() > 0;
        (is_stamp, self.order, self.shape.rank(), sequence)
    }

    pub(super) fn check(&self) -> Result<()> {
        let look = &self.look;
        let rest = [look.roughness, look.specular, look.relief, look.period, look.feather, look.height];
        let numbers = look.colour.into_iter().chain(look.second).chain(look.mask).chain(rest);
        if !numbers.chain([look.displacement, self.opacity]).all(f32::is_finite) {
            return Err(RuntimeError::Shape("has a look or an opacity that is not finite".into()));
        }
        if look.paint == Paint::Image && (self.image.is_none() || !matches!(self.shape, Shape::Decal(_))) {
            return Err(RuntimeError::Shape(
                "is to be painted with an image: give it one, and the shape of a decal".into(),
            ));
        }
        self.shape.check()
    }
}
