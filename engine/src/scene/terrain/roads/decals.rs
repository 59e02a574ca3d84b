//! What is painted on the ground in one place.

use glam::Vec2;

use super::planner::Random;
use super::{Road, RoadKind};
use crate::scene::terrain::surface::Surface;

/// What a decal shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DecalKind {
    /// Standing water and the wet ground around it.
    Puddle,
    /// Burnt ground.
    Scorch,
    /// A ploughed field.
    Field,
    /// A landing place, painted white.
    Mark,
    /// Trodden ground: stones pressed in. Changes normals and roughness, not colour.
    Trodden,
}

/// Which attributes a decal changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Attributes(pub u32);

impl Attributes {
    /// Base colour.
    pub const COLOUR: Self = Self(1);
    /// Normal.
    pub const NORMAL: Self = Self(2);
    /// Roughness, specular and occlusion.
    pub const ROUGHNESS: Self = Self(4);
    /// All of them.
    pub const ALL: Self = Self(7);

    /// Whether it has those of another.
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl std::ops::BitOr for Attributes {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// A rectangle on the ground.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Decal {
    /// x and z, metres.
    pub centre: Vec2,
    /// Half its length and width, metres.
    pub half_extent: Vec2,
    /// Cosine and sine of its turn, from x towards z.
    pub rotation: Vec2,
    /// What it shows.
    pub kind: DecalKind,
    /// Place among all that is painted: higher lies on top.
    pub order: i32,
    /// What it changes.
    pub attributes: Attributes,
}

impl Decal {
    /// The place of (u, v) from -1 to 1.
    pub fn place(&self, uv: Vec2) -> Vec2 {
        let local = uv * self.half_extent;
        let (cos, sin) = (self.rotation.x, self.rotation.y);
        self.centre + Vec2::new(cos * local.x - sin * local.y, sin * local.x + cos * local.y)
    }

    /// (u, v) of a place: from -1 to 1 inside.
    pub fn uv(&self, place: Vec2) -> Vec2 {
        let (cos, sin) = (self.rotation.x, self.rotation.y);
        let out = place - self.centre;
        Vec2::new(cos * out.x + sin * out.y, cos * out.y - sin * out.x) / self.half_extent
    }

    /// Least and greatest x and z.
    pub fn bounds(&self) -> (Vec2, Vec2) {
        let (x, y) = (self.rotation.abs() * self.half_extent.x, self.rotation.abs() * self.half_extent.y);
        let reach = Vec2::new(x.x + y.y, x.y + y.x);
        (self.centre - reach, self.centre + reach)
    }
}

/// Decals of a kind that lie below the roads, and above them.
const BELOW: i32 = -10;
const ABOVE: i32 = 10;

/// Puddles in the ruts, and what people left at the places where roads meet.
pub(super) fn scatter(surface: &Surface, roads: &[Road], places: &[Vec2], random: &mut Random) -> Vec<Decal> {
    let mut decals = Vec::new();
    for road in roads {
        for (i, pair) in road.points.windows(2).enumerate().skip(2) {
            // Water stands where the road is level.
            let grade =
                (pair[1].height - pair[0].height).abs() / pair[0].place.distance(pair[1].place).max(0.1);
            if i % 3 != 0 || random.unit() > 0.55 - 6.0 * grade {
                continue;
            }
            let along = (pair[1].place - pair[0].place).normalize_or(Vec2::X);
            let rut = if road.kind == RoadKind::Gravel { 1.5 } else { 0.95 };
            let side = if random.unit() < 0.5 { -rut } else { rut };
            let size = 0.6 + 0.9 * random.unit();
            decals.push(Decal {
                centre: pair[0].place + Vec2::new(-along.y, along.x) * (side + 0.5 * random.signed()),
                half_extent: Vec2::new(size * (1.4 + 1.6 * random.unit()), size * 0.75),
                rotation: along,
                kind: DecalKind::Puddle,
                order: ABOVE,
                attributes: Attributes::ALL,
            });
        }
    }
    for place in places {
        let mut tries = 0;
        let mut fields = 0;
        while tries < 40 && fields < 6 {
            tries += 1;
            let away =
                Vec2::from_angle(random.unit() * std::f32::consts::TAU) * (30.0 + 330.0 * random.unit());
            let (centre, half) =
                (*place + away, Vec2::new(26.0 + 40.0 * random.unit(), 16.0 + 22.0 * random.unit()));
            let turn = Vec2::from_angle(0.3 * random.signed() + 0.9);
            let is_level = [Vec2::ZERO, half, -half, Vec2::new(half.x, -half.y), Vec2::new(-half.x, half.y)]
                .into_iter()
                .all(|corner| {
                    let at = centre + turn.rotate(corner);
                    surface.gradient(at.x, at.y, 16.0).length() < 0.22
                });
            if is_level {
                fields += 1;
                decals.push(Decal {
                    centre,
                    half_extent: half,
                    rotation: turn,
                    kind: DecalKind::Field,
                    order: BELOW,
                    attributes: Attributes::ALL,
                });
            }
        }
        for kind in [DecalKind::Trodden, DecalKind::Mark, DecalKind::Scorch, DecalKind::Scorch] {
            let (reach, size) = match kind {
                DecalKind::Trodden => (0.0, 14.0),
                DecalKind::Mark => (18.0, 7.0),
                _ => (45.0, 2.0 + 2.0 * random.unit()),
            };
            let away = Vec2::from_angle(random.unit() * std::f32::consts::TAU) * reach;
            let attributes = match kind {
                DecalKind::Trodden => Attributes::NORMAL | Attributes::ROUGHNESS,
                DecalKind::Mark | DecalKind::Scorch => Attributes::COLOUR | Attributes::ROUGHNESS,
                _ => Attributes::ALL,
            };
            decals.push(Decal {
                centre: *place + away,
                half_extent: Vec2::splat(size),
                rotation: Vec2::from_angle(random.unit() * std::f32::consts::TAU),
                kind,
                order: if kind == DecalKind::Trodden { BELOW + 1 } else { ABOVE + 1 },
                attributes,
            });
        }
    }
    decals
}
