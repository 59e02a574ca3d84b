//! Geometry of roads and decals, for drawing them from above.

use glam::Vec2;

use super::{Decal, Road};

/// A corner of a ribbon or quad.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RibbonVertex {
    /// x and z, metres.
    pub place: Vec2,
    /// Of a road: metres from its beginning. Of a decal: u from -1 to 1.
    pub along: f32,
    /// Of a road: metres from its middle, to the right when walking along above 0. Of a decal: v from -1 to 1.
    pub across: f32,
}

/// Triangles (three corners each, counter-clockwise seen from above with x to the right and z downwards) of the
/// painted part of a road: `margin` metres wider than it on both sides.
pub fn ribbon(road: &Road, margin: f32) -> Vec<RibbonVertex> {
    let half = road.half_width + margin;
    let points = &road.points;
    let side = |i: usize| {
        let (before, after) = (i.saturating_sub(1), (i + 1).min(points.len() - 1));
        let along = (points[after].place - points[before].place).normalize_or(Vec2::X);
        // Mitred, so that edges of a bend are as far from the middle as elsewhere; sharp corners are cut.
        let here = (points[(i + 1).min(points.len() - 1)].place - points[i.min(points.len() - 2)].place)
            .normalize_or(along);
        let right = Vec2::new(-along.y, along.x);
        let cosine = right.dot(Vec2::new(-here.y, here.x)).max(0.5);
        right / cosine
    };
    if points.len() < 2 {
        return Vec::new();
    }
    let corner = |i: usize, sign: f32| RibbonVertex {
        place: points[i].place + side(i) * (half * sign),
        along: points[i].along,
        across: half * sign,
    };
    let mut vertices = Vec::with_capacity((points.len() - 1) * 6);
    for i in 0..points.len() - 1 {
        let (a, b) = (corner(i, -1.0), corner(i, 1.0));
        let (c, d) = (corner(i + 1, -1.0), corner(i + 1, 1.0));
        vertices.extend([a, b, c, c, b, d]);
    }
    vertices
}

/// The two triangles of a decal.
pub fn quad(decal: &Decal) -> [RibbonVertex; 6] {
    let corner = |u: f32, v: f32| RibbonVertex { place: decal.place(Vec2::new(u, v)), along: u, across: v };
    let (a, b, c, d) = (corner(-1.0, -1.0), corner(1.0, -1.0), corner(-1.0, 1.0), corner(1.0, 1.0));
    [a, c, b, b, c, d]
}
