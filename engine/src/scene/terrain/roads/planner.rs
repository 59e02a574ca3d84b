//! Where roads go: least-cost paths over the map's samples, along gentle slopes, from place to place.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;

use glam::Vec2;

use super::{Overlays, Road, RoadKind, RoadPoint, decals, resample};
use crate::scene::terrain::surface::Surface;

/// What is planned.
#[derive(Debug, Clone, PartialEq)]
pub struct RoadsDesc {
    /// Roads, at most; 0 for none, and no decals then.
    pub count: u32,
    /// Seed of places and decals.
    pub seed: u32,
    /// Places that roads lead to, metres, in the order in which they are joined. Empty: level ground all over the map.
    pub places: Vec<Vec2>,
}

/// Metres between a road's points.
const SPACING: f32 = 8.0;
/// A grade that makes a path twice as costly.
const EASY_GRADE: f32 = 0.065;
/// The same of the slope across it.
const EASY_SLOPE: f32 = 0.25;
/// How much of its cost a path saves where a road is already.
const SHARED: f32 = 0.3;
/// How far a place that is chosen here is moved to level ground, as a share of the map's narrower side, and at most, metres.
const PLACE_SHARE: f32 = 0.012;
const PLACE_REACH: f32 = 700.0;
/// Steps in sixteen directions: less of the grid shows than with eight.
const STEPS: [(i32, i32); 16] = [
    (1, 0),
    (-1, 0),
    (0, 1),
    (0, -1),
    (1, 1),
    (1, -1),
    (-1, 1),
    (-1, -1),
    (2, 1),
    (2, -1),
    (-2, 1),
    (-2, -1),
    (1, 2),
    (1, -2),
    (-1, 2),
    (-1, -2),
];

/// Numbers from a seed.
#[derive(Debug, Clone)]
pub(super) struct Random(u32);

impl Random {
    pub(super) fn new(seed: u32) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9) ^ 0x68bc_21eb)
    }

    /// From 0 to 1.
    pub(super) fn unit(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
        let h = ((self.0 >> ((self.0 >> 28) + 4)) ^ self.0).wrapping_mul(277_803_737);
        (((h >> 22) ^ h) >> 8) as f32 / 16_777_216.0
    }

    /// From -1 to 1.
    pub(super) fn signed(&mut self) -> f32 {
        self.unit() * 2.0 - 1.0
    }
}

/// Plans roads and decals over a surface, as it is without any. The same surface and numbers give the same roads.
pub fn plan(surface: &Surface, desc: &RoadsDesc) -> Arc<Overlays> {
    let half = surface.half_extent();
    let mut random = Random::new(desc.seed);
    if desc.count == 0 {
        return Overlays::new(Vec::new(), Vec::new(), half);
    }
    let places = places(surface, desc, &mut random);
    let mut grid = Grid::new(surface);
    let mut roads = Vec::new();
    for (index, pair) in places.windows(2).take(desc.count as usize).enumerate() {
        let Some(corners) = grid.path(pair[0], pair[1]) else { continue };
        let kind = if index % 3 == 2 { RoadKind::Track } else { RoadKind::Gravel };
        let points = profile(surface, &resample(&smoothed(&corners), SPACING));
        if points.len() >= 2 {
            grid.share(&points);
            roads.push(Road::new(points, kind, index as i32));
        }
    }
    let decals = decals::scatter(surface, &roads, &places, &mut random);
    Overlays::new(roads, decals, half)
}

/// The places that were asked for, or level ground all over the map.
fn places(surface: &Surface, desc: &RoadsDesc, random: &mut Random) -> Vec<Vec2> {
    let half = surface.half_extent();
    let room = (half * 0.94).max(Vec2::ZERO);
    if !desc.places.is_empty() {
        return desc.places.iter().map(|place| place.clamp(-room, room)).collect();
    }
    let reach = (half.min_element() * 2.0 * PLACE_SHARE).min(PLACE_REACH);
    let mut at = Vec2::new(random.signed(), random.signed()) * half * 0.6;
    let mut places = Vec::new();
    for _ in 0..=desc.count {
        let around = (0..61).map(|i| {
            let away = Vec2::from_angle(i as f32 * 2.399_963) * (reach * (i as f32 / 60.0).sqrt());
            (at + away).clamp(-room, room)
        });
        let steepness = |at: &Vec2| surface.base_gradient(at.x, at.y).length();
        places.extend(around.min_by(|a, b| steepness(a).total_cmp(&steepness(b))));
        let away = Vec2::from_angle(random.unit() * std::f32::consts::TAU);
        at = (at + away * (half.min_element() * (0.12 + 0.14 * random.unit())))
            .clamp(-half * 0.85, half * 0.85);
    }
    places
}

/// The map's samples as a graph.
struct Grid<'a> {
    surface: &'a Surface,
    size: [i32; 2],
    heights: Vec<f32>,
    shared: Vec<bool>,
}

impl<'a> Grid<'a> {
    fn new(surface: &'a Surface) -> Self {
        let (width, height) = surface.size();
        let heights = surface.sample_heights();
        Self { surface, size: [width as i32, height as i32], shared: vec![false; heights.len()], heights }
    }

    fn sample_of(&self, place: Vec2) -> [i32; 2] {
        let at = (place + self.surface.half_extent()) / self.surface.pixel_size();
        [(at.x.round() as i32).clamp(0, self.size[0] - 1), (at.y.round() as i32).clamp(0, self.size[1] - 1)]
    }

    fn place_of(&self, [x, z]: [i32; 2]) -> Vec2 {
        Vec2::new(x as f32, z as f32) * self.surface.pixel_size() - self.surface.half_extent()
    }

    fn index(&self, [x, z]: [i32; 2]) -> usize {
        (z * self.size[0] + x) as usize
    }

    /// Marks where a road is: the next may join it.
    fn share(&mut self, points: &[RoadPoint]) {
        for point in points {
            let sample = self.sample_of(point.place);
            let index = self.index(sample);
            self.shared[index] = true;
        }
    }

    /// The cheapest way (A*, Hart, Nilsson and Raphael 1968), within a box around both ends.
    fn path(&self, from: Vec2, to: Vec2) -> Option<Vec<Vec2>> {
        let (start, goal) = (self.sample_of(from), self.sample_of(to));
        let span = (0..2).map(|axis| (start[axis] - goal[axis]).abs()).max().unwrap_or(0);
        let margin = 12 + span / 2;
        let low: [i32; 2] = std::array::from_fn(|i| (start[i].min(goal[i]) - margin).max(0));
        let high: [i32; 2] = std::array::from_fn(|i| (start[i].max(goal[i]) + margin).min(self.size[i] - 1));
        let end = self.place_of(goal);
        // Costs in centimetres: whole numbers have one order on every host.
        let mut best: HashMap<usize, (u64, [i32; 2])> = HashMap::from([(self.index(start), (0, start))]);
        let mut open = BinaryHeap::from([Reverse((0u64, self.index(start), start))]);
        while let Some(Reverse((_, index, at))) = open.pop() {
            if at == goal {
                return Some(self.trace(&best, start, goal));
            }
            let (cost, _) = best[&index];
            for (dx, dz) in STEPS {
                let next = [at[0] + dx, at[1] + dz];
                if (0..2).any(|axis| next[axis] < low[axis] || next[axis] > high[axis]) {
                    continue;
                }
                let next_index = self.index(next);
                let total = cost + self.cost(at, next);
                if best.get(&next_index).is_none_or(|(known, _)| total < *known) {
                    best.insert(next_index, (total, at));
                    let ahead = (self.place_of(next).distance(end) * SHARED * 100.0) as u64;
                    open.push(Reverse((total + ahead, next_index, next)));
                }
            }
        }
        None
    }

    fn cost(&self, from: [i32; 2], to: [i32; 2]) -> u64 {
        let (a, b) = (self.place_of(from), self.place_of(to));
        let length = a.distance(b);
        let grade = (self.heights[self.index(to)] - self.heights[self.index(from)]) / length;
        let middle = (a + b) * 0.5;
        let slope = self.surface.base_gradient(middle.x, middle.y);
        let across = (b - a).perp().normalize_or_zero().dot(slope);
        let steep = (grade / EASY_GRADE).powi(2) + (across / EASY_SLOPE).powi(2);
        let shared = if self.shared[self.index(to)] && self.shared[self.index(from)] { SHARED } else { 1.0 };
        (length * (1.0 + steep.min(400.0)) * shared * 100.0) as u64
    }

    fn trace(&self, best: &HashMap<usize, (u64, [i32; 2])>, start: [i32; 2], goal: [i32; 2]) -> Vec<Vec2> {
        let mut places = vec![self.place_of(goal)];
        let mut at = goal;
        while at != start {
            at = best[&self.index(at)].1;
            places.push(self.place_of(at));
        }
        places.reverse();
        places
    }
}

/// Corners that were on the grid, moved towards their neighbours; the ends stay.
fn smoothed(corners: &[Vec2]) -> Vec<Vec2> {
    let mut corners = corners.to_vec();
    for _ in 0..3 {
        let before = corners.clone();
        for (i, around) in before.windows(3).enumerate() {
            corners[i + 1] = around[0] * 0.25 + around[1] * 0.5 + around[2] * 0.25;
        }
    }
    corners
}

/// Heights along a road: those of the ground, with the bumps taken out.
fn profile(surface: &Surface, places: &[Vec2]) -> Vec<RoadPoint> {
    let mut heights: Vec<f32> =
        places.iter().map(|p| surface.natural_height(p.x, p.y, SPACING * 2.0)).collect();
    for _ in 0..24 {
        let before = heights.clone();
        for (i, around) in before.windows(3).enumerate() {
            heights[i + 1] = around[0] * 0.25 + around[1] * 0.5 + around[2] * 0.25;
        }
    }
    let mut along = 0.0;
    let mut last = places.first().copied().unwrap_or_default();
    places
        .iter()
        .zip(heights)
        .map(|(place, height)| {
            along += last.distance(*place);
            last = *place;
            RoadPoint { place: *place, height, along }
        })
        .collect()
}
