//! Roads that flatten and paint the ground, and decals on it. Pure.
//!
//! ```text
//! surface + places + seed --planner: least-cost paths--> corners --spline--> Road: points, heights, widths
//!                         --decals--> Decal: puddles in the ruts, fields and marks at the places
//! roads + decals --grid--> Overlays: which of them lie near a place
//!     --> Surface::height and terrain_vertices.wgsl flatten alike
//!     --> lib/terrain_overlays.wgsl paints each pixel; or ribbons and quads are drawn into pages
//! ```
//!
//! Everything that is painted has an order. A road or decal is composited *over* what is below it, each attribute -
//! colour, normal, roughness - under its own opacity.

mod decals;
mod flatten;
mod grid;
mod planner;
mod ribbon;
mod spline;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use glam::Vec2;

pub use decals::{Attributes, Decal, DecalKind};
pub use flatten::Flattening;
pub use grid::{CELL, Item, OverlayGrid};
pub use planner::{RoadsDesc, plan};
pub use ribbon::{RibbonVertex, quad, ribbon};
pub use spline::{catmull_rom, resample};

/// A place on a road.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RoadPoint {
    /// x and z, metres.
    pub place: Vec2,
    /// Height of the road, metres.
    pub height: f32,
    /// Metres from the road's beginning.
    pub along: f32,
}

/// What a road is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RoadKind {
    /// Gravel, two lanes.
    Gravel,
    /// Two wheel tracks with grass between them.
    Track,
}

impl RoadKind {
    /// Metres from its middle to its edge.
    pub fn half_width(self) -> f32 {
        match self {
            Self::Gravel => 3.1,
            Self::Track => 1.9,
        }
    }

    /// Metres beyond the edge over which the ground goes back to what it was.
    pub fn shoulder(self) -> f32 {
        match self {
            Self::Gravel => 11.0,
            Self::Track => 7.0,
        }
    }
}

/// A road: points at even distances along a spline.
#[derive(Debug, Clone, PartialEq)]
pub struct Road {
    /// At least two.
    pub points: Vec<RoadPoint>,
    /// What it is made of.
    pub kind: RoadKind,
    /// Metres from the middle to the edge.
    pub half_width: f32,
    /// Metres beyond the edge over which the ground is blended.
    pub shoulder: f32,
    /// Place among all that is painted: higher lies on top.
    pub order: i32,
    /// Least and greatest x and z of the ground that it touches, shoulders included.
    pub bounds: (Vec2, Vec2),
}

impl Road {
    /// A road through points.
    pub fn new(points: Vec<RoadPoint>, kind: RoadKind, order: i32) -> Self {
        let (half_width, shoulder) = (kind.half_width(), kind.shoulder());
        let reach = Vec2::splat(half_width + shoulder);
        let (mut low, mut high) = (Vec2::INFINITY, Vec2::NEG_INFINITY);
        for point in &points {
            low = low.min(point.place - reach);
            high = high.max(point.place + reach);
        }
        Self { points, kind, half_width, shoulder, order, bounds: (low, high) }
    }

    /// How far from its middle it changes the ground, metres.
    pub fn reach(&self) -> f32 {
        self.half_width + self.shoulder
    }

    /// Metres from its beginning to its end.
    pub fn length(&self) -> f32 {
        self.points.last().map_or(0.0, |point| point.along)
    }
}

/// All roads and decals of a terrain, and which of them lie where.
#[derive(Debug, Clone, PartialEq)]
pub struct Overlays {
    roads: Vec<Road>,
    decals: Vec<Decal>,
    grid: OverlayGrid,
}

impl Overlays {
    /// Puts roads and decals on a map of that half extent, metres.
    pub fn new(roads: Vec<Road>, decals: Vec<Decal>, half_extent: Vec2) -> Arc<Self> {
        let grid = OverlayGrid::new(&roads, &decals, half_extent);
        Arc::new(Self { roads, decals, grid })
    }

    /// The roads, in the order of their indices in the grid.
    pub fn roads(&self) -> &[Road] {
        &self.roads
    }

    /// The decals, in the order of their indices in the grid.
    pub fn decals(&self) -> &[Decal] {
        &self.decals
    }

    /// What lies near a place.
    pub fn grid(&self) -> &OverlayGrid {
        &self.grid
    }

    /// Least and greatest height of the roads that touch a rectangle.
    pub fn height_bounds(&self, low: Vec2, high: Vec2) -> Option<(f32, f32)> {
        let mut range: Option<(f32, f32)> = None;
        for road in &self.roads {
            let (a, b) = road.bounds;
            if a.cmpgt(high).any() || b.cmplt(low).any() {
                continue;
            }
            let reach = Vec2::splat(road.reach());
            for pair in road.points.windows(2) {
                let (from, to) = (pair[0].place.min(pair[1].place), pair[0].place.max(pair[1].place));
                if (from - reach).cmple(high).all() && (to + reach).cmpge(low).all() {
                    let (least, most) = range.unwrap_or((f32::INFINITY, f32::NEG_INFINITY));
                    range = Some((
                        least.min(pair[0].height).min(pair[1].height),
                        most.max(pair[0].height).max(pair[1].height),
                    ));
                }
            }
        }
        range
    }
}
