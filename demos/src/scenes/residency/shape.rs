//! The shape of the land: heights, slopes lit by the sun, where forests and villages are, and which region a place
//! belongs to.

use glam::Vec2;

use super::noise::{floor, gradient, octaves, random, smoothstep};

/// Side of the square that the island lies in, metres.
pub const SIDE: f32 = 4096.0;
/// Metres from sea level to a height of 1.
pub const RELIEF: f32 = 330.0;
/// Side of the squares that hold one region's centre each, metres.
const REGION: f32 = 330.0;
const REGIONS: i32 = 14;

/// What changes slowly from place to place.
#[derive(Debug, Clone, Copy, Default)]
pub struct Place {
    /// Above the sea, in [`RELIEF`]; negative below it.
    pub height: f32,
    /// Light of the sun on the slope: 1 on level ground.
    pub shade: f32,
    /// Steepness, metres a metre.
    pub slope: f32,
    /// Above 0 there is forest.
    pub forest: f32,
    /// Above 0 there are houses along the roads.
    pub village: f32,
    /// How far roads and fields are bent there, metres.
    pub bend: Vec2,
}

impl Place {
    /// Between two places.
    #[inline]
    pub fn mix(self, other: Self, t: f32) -> Self {
        let mix = |a: f32, b: f32| a + (b - a) * t;
        Self {
            height: mix(self.height, other.height),
            shade: mix(self.shade, other.shade),
            slope: mix(self.slope, other.slope),
            forest: mix(self.forest, other.forest),
            village: mix(self.village, other.village),
            bend: self.bend + (other.bend - self.bend) * t,
        }
    }
}

/// The nearest region of a place.
#[derive(Debug, Clone, Copy)]
pub struct Region {
    /// Its number.
    pub id: u32,
    /// Unit vector along its fields.
    pub along: Vec2,
    /// Metres to its border.
    pub border: f32,
}

/// The island.
#[derive(Debug)]
pub struct Shape {
    seed: u32,
    /// Unit vector towards the sun, on the map.
    sun: Vec2,
    centres: Vec<(Vec2, Vec2)>,
}

impl Shape {
    /// An island of a seed, in the light of a sun at a compass azimuth in degrees.
    pub fn new(seed: u32, azimuth: f32) -> Self {
        let (sin, cos) = azimuth.to_radians().sin_cos();
        let centres = (0..REGIONS * REGIONS).map(|i| {
            let (x, y) = (i % REGIONS, i / REGIONS);
            let jitter = Vec2::new(random(x, y, seed ^ 0x51), random(x, y, seed ^ 0x52));
            let angle = random(x, y, seed ^ 0x53) * std::f32::consts::PI;
            let centre = (Vec2::new(x as f32 - 0.5, y as f32 - 0.5) + 0.12 + 0.76 * jitter) * REGION;
            (centre, Vec2::from_angle(angle))
        });
        Self { seed, sun: Vec2::new(sin, -cos), centres: centres.collect() }
    }

    /// Height with octaves down to `finest` metres, from 0 at the sea.
    pub fn height(&self, p: Vec2, finest: f32) -> f32 {
        let from_middle = (p - Vec2::splat(SIDE * 0.5)) / (SIDE * 0.5);
        let bent = from_middle
            + 0.20
                * Vec2::new(gradient(p / 1100.0, self.seed ^ 0x11), gradient(p / 1100.0, self.seed ^ 0x12));
        // A bay cut into the south, an arm to the east.
        let round = bent * Vec2::new(1.02, 1.16);
        let bay = (-(bent - Vec2::new(0.05, 0.62)).length_squared() * 9.0).exp();
        let islet = (-(bent - Vec2::new(0.55, 0.52)).length_squared() * 70.0).exp();
        let base = 0.42 - 0.98 * round.length_squared() - 0.50 * bay + 0.34 * islet;
        let rough = octaves(p, 900.0, 8, 0.52, finest, self.seed ^ 0x21);
        let fall = smoothstep(0.86, 0.99, from_middle.abs().max_element());
        let low = base + 0.27 * rough - 0.5 * fall;
        // Hills stand back from the coast, and are sharper than the plain.
        let inland = smoothstep(0.10, 0.52, base + 0.10 * rough);
        let ridge = 1.0 - octaves(p + Vec2::splat(4000.0), 1150.0, 7, 0.5, finest, self.seed ^ 0x31).abs();
        let plain = 0.17 * smoothstep(0.0, 0.5, low) + 0.08 * low.max(0.0);
        let land = plain + 1.15 * inland * inland * ridge * ridge * smoothstep(0.12, 0.7, low + 0.25);
        if low > 0.0 { land } else { low }
    }

    /// Everything that changes slowly at a place, with detail down to `finest` metres.
    pub fn place(&self, p: Vec2, finest: f32) -> Place {
        let height = self.height(p, finest);
        let (mut shade, mut slope) = (1.0, 0.0);
        if height > 0.0 {
            let step = finest.max(1.5);
            let east = (self.height(p + Vec2::new(step, 0.0), finest) - height) / step * RELIEF;
            let south = (self.height(p + Vec2::new(0.0, step), finest) - height) / step * RELIEF;
            let rise = Vec2::new(east, south);
            slope = rise.length();
            // A sun 40 degrees high, as the light of level ground.
            let normal = 1.0 / (1.0 + slope * slope).sqrt();
            shade = ((1.0 - 1.6 * rise.dot(self.sun)) * normal).clamp(0.2, 1.9);
        }
        let forest =
            octaves(p, 620.0, 6, 0.55, finest, self.seed ^ 0x41) + 0.9 * (height - 0.34).min(0.25) - 0.06;
        let village = gradient(p / 520.0, self.seed ^ 0x42) - 0.12;
        let bend = 26.0
            * Vec2::new(gradient(p / 210.0, self.seed ^ 0x43), gradient(p / 210.0, self.seed ^ 0x44))
            + 70.0 * Vec2::new(gradient(p / 800.0, self.seed ^ 0x45), gradient(p / 800.0, self.seed ^ 0x46));
        Place { height, shade, slope, forest, village, bend }
    }

    /// The region of a place, as bent.
    pub fn region(&self, p: Vec2) -> Region {
        let (x, y, _) = floor(p / REGION + 0.5);
        let mut best = (f32::INFINITY, 0usize);
        let mut second = (f32::INFINITY, 0usize);
        for dy in -1..=1 {
            for dx in -1..=1 {
                let (x, y) = ((x + dx).clamp(0, REGIONS - 1), (y + dy).clamp(0, REGIONS - 1));
                let index = (y * REGIONS + x) as usize;
                let distance = (self.centres[index].0 - p).length_squared();
                if distance < best.0 {
                    if index != best.1 {
                        second = best;
                    }
                    best = (distance, index);
                } else if distance < second.0 && index != best.1 {
                    second = (distance, index);
                }
            }
        }
        let (centre, along) = self.centres[best.1];
        // To the line half-way between both centres.
        let between = self.centres[second.1].0 - centre;
        let border = ((centre + between * 0.5 - p).dot(between) / between.length().max(1.0)).max(0.0);
        Region { id: best.1 as u32, along, border }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_land_and_the_edge_is_deep_water() {
        let shape = Shape::new(1, 118.0);
        let mut land = 0;
        for i in 0..64 * 64 {
            let p = (Vec2::new((i % 64) as f32, (i / 64) as f32) + 0.5) * SIDE / 64.0;
            land += u32::from(shape.height(p, 20.0) > 0.0);
        }
        assert!((64 * 64 / 5..64 * 64 * 3 / 4).contains(&land), "{land} of {} are land", 64 * 64);
        for i in 0..=256 {
            let along = i as f32 / 256.0 * SIDE;
            for p in [(along, 0.0), (along, SIDE), (0.0, along), (SIDE, along)] {
                let height = shape.height(p.into(), 1.0);
                assert!(height < -0.4, "height {height} at the edge {p:?}");
            }
        }
    }
}
