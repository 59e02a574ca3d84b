//! Where a primitive lies on the ground: rectangles, each turned as the primitive is, so that a thin road or a slanted
//! decal touches the pages that it crosses and not those of a box around it.

use glam::{Mat2, Vec2, Vec3};

use super::volume::{PageCamera, Volume};
use crate::vt::grid::Region;

/// A rectangle on the ground.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rectangle {
    /// Its middle: x and z, metres.
    pub centre: Vec2,
    /// Unit vector along its first side; the second is a quarter turn further, from x to z.
    pub along: Vec2,
    /// Half its sides, metres.
    pub half: Vec2,
}

impl Rectangle {
    /// A rectangle with sides along x and z around two corners.
    pub fn around(a: Vec2, b: Vec2) -> Self {
        Self { centre: (a + b) * 0.5, along: Vec2::X, half: (b - a).abs() * 0.5 }
    }

    /// Its corners, in order.
    pub fn corners(&self) -> [Vec2; 4] {
        let (u, v) = (self.along * self.half.x, self.along.perp() * self.half.y);
        [self.centre - u - v, self.centre + u - v, self.centre + u + v, self.centre - u + v]
    }

    /// From places to the rectangle's own axes.
    fn turn(&self) -> Mat2 {
        Mat2::from_cols(self.along, self.along.perp()).transpose()
    }

    /// Whether it reaches into a convex quadrilateral; their edges meeting counts.
    fn meets(&self, other: &[Vec2; 4]) -> bool {
        // Separating axes: of two convex shapes that are apart, a side of one tells them apart. The other is a rectangle
        // too, so two of its sides are enough.
        let turn = self.turn();
        let apart = |low: Vec2, high: Vec2, half: Vec2| low.cmpgt(half).any() || high.cmplt(-half).any();
        let span = |points: [Vec2; 4]| {
            points.into_iter().fold((Vec2::INFINITY, Vec2::NEG_INFINITY), |(l, h), p| (l.min(p), h.max(p)))
        };
        let (low, high) = span(other.map(|p| turn * (p - self.centre)));
        if apart(low, high, self.half) {
            return false;
        }
        let corners = self.corners();
        let sides = [other[1] - other[0], other[3] - other[0]];
        sides.into_iter().all(|side| {
            let reach = |points: &[Vec2; 4]| {
                points
                    .iter()
                    .map(|p| p.dot(side))
                    .fold((f32::INFINITY, f32::NEG_INFINITY), |(l, h), d| (l.min(d), h.max(d)))
            };
            let (a, b) = (reach(&corners), reach(other));
            a.0 <= b.1 && b.0 <= a.1
        })
    }
}

/// Where a primitive lies: on the ground, and how high.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Footprint {
    /// Rectangles that cover it.
    pub rectangles: Vec<Rectangle>,
    /// Lowest and highest of it; `None` for what lies on whatever is there.
    pub heights: Option<[f32; 2]>,
}

impl Footprint {
    /// One rectangle.
    pub fn of(rectangle: Rectangle) -> Self {
        Self { rectangles: vec![rectangle], heights: None }
    }

    /// Of a box (least and largest corner) that stands in the world by the rows of a matrix: the rectangle that the turned
    /// box covers, turned as its longer side is.
    pub fn of_box(low: Vec3, high: Vec3, rows: &[[f32; 4]; 3]) -> Self {
        let (centre, half) = ((low + high) * 0.5, (high - low) * 0.5);
        let row = |r: &[f32; 4]| Vec3::new(r[0], r[1], r[2]);
        let at = |r: &[f32; 4]| row(r).dot(centre) + r[3];
        let middle = Vec2::new(at(&rows[0]), at(&rows[2]));
        // Half edges of the box, on the ground.
        let edges = [0, 1, 2].map(|axis| Vec2::new(rows[0][axis], rows[2][axis]) * half[axis]);
        let longest = edges.into_iter().max_by(|a, b| a.length_squared().total_cmp(&b.length_squared()));
        let along = longest.unwrap_or(Vec2::X).normalize_or(Vec2::X);
        let reach = |axis: Vec2| edges.iter().map(|edge| edge.dot(axis).abs()).sum();
        let half_height = row(&rows[1]).abs().dot(half);
        let height = at(&rows[1]);
        Self {
            rectangles: vec![Rectangle {
                centre: middle,
                along,
                half: Vec2::new(reach(along), reach(along.perp())),
            }],
            heights: Some([height - half_height, height + half_height]),
        }
    }

    /// Its parts of a volume's texture, in UV: one a rectangle that is not wholly outside. What stands above or below
    /// the box has none.
    pub fn regions(&self, volume: &Volume) -> Vec<Region> {
        if !self.is_between(volume.heights()) {
            return Vec::new();
        }
        let region = |rectangle: &Rectangle| {
            let corners = rectangle.corners().map(|corner| volume.uv(corner));
            let low = corners.into_iter().fold(Vec2::INFINITY, Vec2::min);
            let high = corners.into_iter().fold(Vec2::NEG_INFINITY, Vec2::max);
            let is_outside = high.cmplt(Vec2::ZERO).any() || low.cmpgt(Vec2::ONE).any();
            (!is_outside && low.is_finite() && high.is_finite())
                .then(|| Region { min: low.into(), max: high.into() })
        };
        self.rectangles.iter().filter_map(region).collect()
    }

    /// Whether a page sees any of it, its border included.
    pub fn is_on(&self, camera: &PageCamera) -> bool {
        if !self.is_between(camera.heights) {
            return false;
        }
        let page = camera.corners(0.0).map(|corner| Vec2::new(corner.x, corner.z));
        // A texel more on each side: shapes are drawn a little larger, and numbers round.
        let slack = camera.texel_size();
        self.rectangles
            .iter()
            .any(|rectangle| Rectangle { half: rectangle.half + slack, ..*rectangle }.meets(&page))
    }

    /// The longer side of what it covers, metres.
    pub fn extent(&self) -> f32 {
        let corners = self.rectangles.iter().flat_map(Rectangle::corners);
        let (low, high) = corners.fold((Vec2::INFINITY, Vec2::NEG_INFINITY), |(low, high), corner| {
            (low.min(corner), high.max(corner))
        });
        let longest = self.rectangles.iter().map(|one| one.half.max_element() * 2.0).fold(0.0, f32::max);
        let all = (high - low).max_element();
        // One turned rectangle is as long as its side, not as the box around it.
        if self.rectangles.len() == 1 { longest } else { all.max(0.0) }
    }

    fn is_between(&self, [low, high]: [f32; 2]) -> bool {
        self.heights.is_none_or(|[lowest, highest]| lowest <= high && highest >= low)
    }
}
