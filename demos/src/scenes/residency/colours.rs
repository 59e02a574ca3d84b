//! The colours of the island, seen from above: linear, filtered to the size of a texel.
//!
//! Every edge and line is drawn by how much of a texel it covers, and every noise leaves when texels become larger than
//! its waves, so that a coarser mip is the mean of a finer one.

use glam::{Vec2, Vec3};

use super::noise::{floor, random, smoothstep, value};
use super::shape::{Place, RELIEF, Region, Shape};

/// Of open water: the colour of the image's edge, and of everything beyond.
pub const DEEP: Vec3 = Vec3::new(0.0085, 0.036, 0.075);
const SHALLOW: Vec3 = Vec3::new(0.058, 0.27, 0.285);
const MIDDLE: Vec3 = Vec3::new(0.016, 0.115, 0.165);
const SAND: Vec3 = Vec3::new(0.56, 0.46, 0.31);
const ROCK: Vec3 = Vec3::new(0.155, 0.135, 0.112);
const SCREE: Vec3 = Vec3::new(0.235, 0.21, 0.17);
const HEATH: Vec3 = Vec3::new(0.108, 0.112, 0.036);
const FOREST: Vec3 = Vec3::new(0.026, 0.052, 0.016);
const CROWN: Vec3 = Vec3::new(0.060, 0.105, 0.028);
const HEDGE: Vec3 = Vec3::new(0.028, 0.052, 0.017);
const ROAD: Vec3 = Vec3::new(0.36, 0.335, 0.29);
/// Of fields: what grows there in early summer.
const CROPS: [Vec3; 10] = [
    Vec3::new(0.42, 0.31, 0.105),
    Vec3::new(0.36, 0.29, 0.12),
    Vec3::new(0.085, 0.15, 0.032),
    Vec3::new(0.12, 0.18, 0.042),
    Vec3::new(0.16, 0.19, 0.062),
    Vec3::new(0.155, 0.098, 0.055),
    Vec3::new(0.20, 0.135, 0.075),
    Vec3::new(0.45, 0.37, 0.055),
    Vec3::new(0.105, 0.165, 0.052),
    Vec3::new(0.26, 0.24, 0.095),
];
const ROOFS: [Vec3; 4] = [
    Vec3::new(0.36, 0.105, 0.055),
    Vec3::new(0.30, 0.125, 0.075),
    Vec3::new(0.22, 0.20, 0.185),
    Vec3::new(0.44, 0.20, 0.11),
];

/// How much of a texel of `side` metres a line covers whose middle is `distance` away and that is `width` wide.
#[inline]
fn line(distance: f32, width: f32, side: f32) -> f32 {
    let half = side * 0.5;
    let (from, to) = ((distance - half).max(-width * 0.5), (distance + half).min(width * 0.5));
    ((to - from) / side).clamp(0.0, 1.0)
}

/// How much of waves of that length is left in texels of `side` metres.
#[inline]
fn left(wavelength: f32, side: f32) -> f32 {
    1.0 - smoothstep(0.3, 0.9, side / wavelength)
}

/// Noise that is gone where texels are larger than its waves.
#[inline]
fn grain(p: Vec2, wavelength: f32, side: f32, seed: u32) -> f32 {
    let weight = left(wavelength, side);
    if weight > 0.0 { weight * value(p / wavelength, seed) } else { 0.0 }
}

/// The colours of one island.
#[derive(Debug)]
pub struct Colours<'a> {
    /// Its shape.
    pub shape: &'a Shape,
    /// Side of a texel, metres.
    pub side: f32,
    /// Seed of everything that is scattered.
    pub seed: u32,
}

impl Colours<'_> {
    /// The colour of a texel around `p`.
    pub fn at(&self, p: Vec2, place: &Place) -> Vec3 {
        // Where a texel is wider than the beach, the coast runs through it.
        let spread = 0.0012 + self.side * 0.0011;
        let dry = smoothstep(-spread, spread, place.height - 0.0006);
        let mut colour = Vec3::ZERO;
        if dry < 1.0 {
            colour = self.sea(p, place.height.min(0.0)) * (1.0 - dry);
        }
        if dry > 0.0 {
            colour += self.land(p, place) * dry;
        }
        colour
    }

    fn sea(&self, p: Vec2, height: f32) -> Vec3 {
        let depth = -height;
        let bottom = 1.0 + 0.16 * grain(p, 46.0, self.side, 0x61) + 0.10 * grain(p, 17.0, self.side, 0x62);
        let near = SHALLOW * bottom;
        let colour =
            near.lerp(MIDDLE, smoothstep(0.0, 0.10, depth)).lerp(DEEP, smoothstep(0.05, 0.33, depth));
        // Swell, drawn out across the wind.
        let wind = Vec2::new(0.86 * p.x + 0.5 * p.y, (-0.5 * p.x + 0.86 * p.y) * 0.4);
        let waves = 0.07 * grain(wind, 7.0, self.side, 0x63) + 0.05 * grain(wind, 2.4, self.side, 0x64);
        let surf = smoothstep(0.011, 0.0, depth + 0.004 * grain(p, 21.0, self.side, 0x65)) * 0.75;
        (colour * (1.0 + waves))
            .lerp(Vec3::new(0.62, 0.66, 0.66), surf * (0.75 + 0.25 * grain(p, 3.1, self.side, 0x66)))
    }

    fn land(&self, p: Vec2, place: &Place) -> Vec3 {
        let metres = place.height * RELIEF;
        let fine = grain(p, 1.3, self.side, 0x71);
        let middle = grain(p, 9.0, self.side, 0x72);
        let wide = grain(p, 70.0, self.side, 0x73);
        let mut colour = Vec3::ZERO;
        // What is all rock or forest needs no fields below.
        let stony = smoothstep(112.0, 160.0, metres + 26.0 * wide + 12.0 * middle).max(smoothstep(
            0.75,
            1.1,
            place.slope + 0.12 * middle,
        ));
        let edge = 0.02 + 0.004 * self.side;
        let wooded = smoothstep(-edge, edge, place.forest + 0.035 * middle + 0.03 * wide)
            * smoothstep(3.0, 7.0, metres)
            * smoothstep(250.0, 190.0, metres + 30.0 * wide);
        let bent = p + place.bend;
        let region = self.shape.region(bent);
        if stony < 1.0 && wooded < 1.0 {
            colour = self.fields(bent, place, &region, metres);
        }
        if stony > 0.0 {
            let heath = HEATH * (1.0 + 0.22 * middle + 0.2 * wide);
            let bare = ROCK.lerp(SCREE, smoothstep(-0.3, 0.5, wide + 0.5 * middle))
                * (1.0 + 0.16 * middle + 0.16 * fine);
            let bareness = smoothstep(205.0, 275.0, metres + 34.0 * middle + 30.0 * wide).max(smoothstep(
                0.85,
                1.25,
                place.slope,
            ));
            colour = colour.lerp(heath.lerp(bare, bareness), stony);
        }
        if wooded > 0.0 {
            colour = colour.lerp(self.forest(p, wide), wooded);
        }
        colour *= 1.0 + 0.07 * fine;
        colour *= 0.2 + 0.8 * place.shade;
        colour = self.road(bent, place, &region, colour, metres);
        let beach = smoothstep(2.9, 1.5, metres + 0.6 * middle + 0.3 * wide);
        if beach <= 0.0 {
            return colour;
        }
        let ripples = 0.10 * fine + 0.08 * middle + 0.09 * grain(p, 3.7, self.side, 0x74) + 0.08 * wide;
        colour.lerp(SAND * (1.0 + ripples) * (0.62 + 0.38 * smoothstep(0.15, 0.9, metres)), beach)
    }

    fn forest(&self, p: Vec2, wide: f32) -> Vec3 {
        let mean = FOREST.lerp(CROWN, 0.36 + 0.12 * wide);
        let detail = left(6.0, self.side);
        if detail <= 0.0 {
            return mean;
        }
        // One tree a square, lit from the south-east, with its shadow beside it.
        let (x, y, cell) = floor(p / 5.2);
        let jitter = Vec2::new(random(x, y, 0x81), random(x, y, 0x82)) - 0.5;
        let to = p / 5.2 - cell - 0.5 - 0.55 * jitter;
        let radius = 0.36 + 0.16 * random(x, y, 0x83);
        let dome = (1.0 - to.length_squared() / (radius * radius)).max(0.0);
        let light = dome * (0.75 + 1.1 * to.dot(Vec2::new(0.88, 0.47)));
        let tree = FOREST.lerp(CROWN * (0.8 + 0.5 * random(x, y, 0x84)), (light * 0.85).clamp(0.0, 1.0));
        mean.lerp(tree, detail)
    }

    fn fields(&self, p: Vec2, place: &Place, region: &Region, metres: f32) -> Vec3 {
        let along = Vec2::new(p.dot(region.along), p.dot(region.along.perp()));
        // Strips of one region are as wide as each other; each is cut into fields of its own lengths.
        let pick = |what: u32| random(region.id as i32, what as i32, self.seed ^ 0x91);
        let width = 34.0 + 46.0 * pick(0);
        let (_, strip, low) = floor(along / width);
        let across = along.y - low.y * width;
        let length = 90.0 + 150.0 * random(strip, region.id as i32, self.seed ^ 0x92);
        let shift = 1000.0 * random(strip, region.id as i32, self.seed ^ 0x93);
        // Tracks that machines leave repeat along the same axis.
        let (field, track, low) = floor(Vec2::new((along.x + shift) / length, (across + 6.0) / 18.0));
        let ahead = along.x + shift - low.x * length;
        let beside = across + 6.0 - 18.0 * track as f32 - 9.0;
        let id = strip.wrapping_mul(73).wrapping_add(field);
        let draw = |what: u32| random(id, region.id as i32, self.seed ^ 0xa0 ^ what);
        let crop = CROPS[(draw(0) * CROPS.len() as f32) as usize % CROPS.len()];
        let pasture = CROPS[4].lerp(CROPS[8], draw(1));
        // On slopes and higher up there is only grass.
        let grass = smoothstep(0.16, 0.34, place.slope).max(smoothstep(55.0, 95.0, metres));
        let mut colour = crop.lerp(pasture, grass) * (0.86 + 0.28 * draw(2));
        let rows = left(2.4, self.side) * (1.0 - grass) * 0.10;
        if rows > 0.0 {
            let (_, _, low) = floor(Vec2::new(across / 2.4, 0.0));
            colour *= 1.0 + rows * (4.0 * (across / 2.4 - low.x - 0.5).abs() - 1.0);
        }
        colour *= 1.0 + 0.11 * grain(p, 23.0, self.side, 0x95) + 0.05 * grain(p, 5.0, self.side, 0x96);
        colour -= colour * 0.4 * line(beside, 0.7, self.side) * (1.0 - grass);
        let border = across.min(width - across).min(ahead).min(length - ahead);
        let hedge =
            line(border, 2.6 + 2.2 * draw(3), self.side) * (0.72 + 0.28 * grain(p, 4.0, self.side, 0x97));
        colour.lerp(HEDGE, hedge.clamp(0.0, 1.0) * 0.9)
    }

    fn road(&self, p: Vec2, place: &Place, region: &Region, under: Vec3, metres: f32) -> Vec3 {
        let passable = smoothstep(2.5, 4.5, metres)
            * smoothstep(150.0, 120.0, metres)
            * smoothstep(0.8, 0.5, place.slope);
        if passable <= 0.0 || region.border > 44.0 + self.side {
            return under;
        }
        let verge = line(region.border, 9.0, self.side) * passable;
        let mut colour = under.lerp(HEDGE * 1.5, verge * 0.45);
        colour = self.houses(p, place, region, colour, passable);
        colour.lerp(ROAD, line(region.border, 4.6, self.side) * passable)
    }

    /// Two rows of houses along the roads of a village.
    fn houses(&self, p: Vec2, place: &Place, region: &Region, under: Vec3, passable: f32) -> Vec3 {
        if place.village <= 0.0 || passable < 1.0 || !(8.0..40.0).contains(&region.border) {
            return under;
        }
        let spacing = 21.0;
        let along = Vec2::new(p.dot(region.along), p.dot(region.along.perp()));
        let (x, y, cell) = floor(along / spacing);
        let draw = |what: u32| random(x, y, self.seed ^ 0xb0 ^ what ^ region.id << 8);
        if draw(0) > 0.35 + 1.3 * place.village {
            return under;
        }
        let to = along - (cell + 0.5) * spacing - (Vec2::new(draw(1), draw(2)) - 0.5) * 5.0;
        let half = Vec2::new(4.0 + 2.6 * draw(3), 3.2 + 1.6 * draw(4));
        let cover = |to: Vec2| line(to.x, 2.0 * half.x, self.side) * line(to.y, 2.0 * half.y, self.side);
        let garden = CROPS[3].lerp(CROPS[8], draw(5)) * (1.0 + 0.2 * grain(p, 3.0, self.side, 0xb8));
        let mut colour = under.lerp(garden, 0.6 * left(30.0, self.side));
        // Shadow to the north-west, in the map's own axes.
        let away = Vec2::new(-0.88, -0.47) * 2.6;
        let shadow = to - Vec2::new(away.dot(region.along), away.dot(region.along.perp()));
        colour *= 1.0 - 0.62 * cover(shadow);
        let roof =
            ROOFS[(draw(6) * 4.0) as usize % 4] * if to.y * region.along.x > 0.0 { 1.14 } else { 0.86 };
        colour.lerp(roof, cover(to))
    }
}
