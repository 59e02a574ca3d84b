//! What roads do to the ground: the twin of `lib/terrain_roads.wgsl`, sum by sum.

use glam::Vec2;

use super::grid::Item;
use super::{DecalKind, Overlays, RoadPoint};

/// What roads make of the ground at a place.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Flattening {
    /// How much of the height is the roads': 1 on a road, 0 beyond its shoulder.
    pub share: f32,
    /// The roads' height, metres.
    pub height: f32,
}

impl Flattening {
    /// The height of ground that is `natural` metres high.
    pub fn apply(self, natural: f32) -> f32 {
        natural + (self.height - natural) * self.share
    }
}

/// Distance to a segment, and how far along it the nearest place is, from 0 to 1.
pub(super) fn nearest(place: Vec2, from: Vec2, to: Vec2) -> (f32, f32) {
    let (along, out) = (to - from, place - from);
    let t = ((along.x * out.x + along.y * out.y) / (along.x * along.x + along.y * along.y).max(1e-6))
        .clamp(0.0, 1.0);
    let off = out - along * t;
    ((off.x * off.x + off.y * off.y).sqrt(), t)
}

impl Overlays {
    /// What the roads make of the ground at a place, for a mesh of cells `cell` metres wide: cells that are wide beside
    /// a road cannot carry it.
    pub fn flattening(&self, place: Vec2, cell: f32) -> Flattening {
        let (mut share, mut height, mut total) = (0.0_f32, 0.0, 0.0);
        for item in self.grid().items_at(place) {
            let Item::Segment { road, segment } = item else { continue };
            let Some((road, from, to)) = self.segment(road, segment) else { continue };
            let (distance, t) = nearest(place, from.place, to.place);
            let reach = road.half_width + road.shoulder;
            if distance >= reach {
                continue;
            }
            let carried = 1.0 - smoothstep(0.35 * reach, 1.2 * reach, cell);
            share = share.max(carried * (1.0 - smoothstep(road.half_width, reach, distance)));
            // Near ones count for nearly all, and none begins or ends with a step.
            let window = 1.0 - distance * distance / (reach * reach);
            let close = 1.0 / (distance * distance + 1.0);
            let weight = window * window * close * close;
            height += weight * (from.height + (to.height - from.height) * t);
            total += weight;
        }
        if total <= 0.0 {
            return Flattening::default();
        }
        Flattening { share, height: height / total }
    }

    /// Whether nothing else may lie at a place: it is on a road, in a field or on a mark.
    pub fn is_kept_clear(&self, place: Vec2) -> bool {
        self.grid().items_at(place).any(|item| match item {
            Item::Segment { road, segment } => self.segment(road, segment).is_some_and(|(road, from, to)| {
                nearest(place, from.place, to.place).0 < road.half_width + 0.3 * road.shoulder
            }),
            Item::Decal(index) => self.decals().get(index as usize).is_some_and(|decal| {
                let uv = decal.uv(place).abs().max_element();
                matches!(decal.kind, DecalKind::Field | DecalKind::Mark) && uv < 1.0
            }),
        })
    }

    /// A segment of a road: its ends.
    pub(super) fn segment(&self, road: u32, segment: u32) -> Option<(&super::Road, RoadPoint, RoadPoint)> {
        let road = self.roads().get(road as usize)?;
        let (from, to) = (road.points.get(segment as usize)?, road.points.get(segment as usize + 1)?);
        Some((road, *from, *to))
    }
}

fn smoothstep(low: f32, high: f32, value: f32) -> f32 {
    let t = ((value - low) / (high - low)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}
