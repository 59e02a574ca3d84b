//! Where rocks lie. Pure: the same cell of the same field gives the same rocks, whatever was asked before,
//! so that cells can come and go with the camera.
//!
//! Rocks come from cliffs and come to rest where it is just flat enough: most on scree slopes of 25 to 40
//! degrees and below steep ground, few on meadows, none on walls. They lie in patches, and large ones are rare.

use glam::{Vec2, Vec3};

use super::detail::SIZE;
use super::surface::Surface;

/// Forms narrower than this many metres do not count for a place's steepness.
const STEEPNESS_CELL: f32 = 12.0;
/// How far uphill a cliff is looked for, in metres.
const UPHILL: [f32; 2] = [45.0, 110.0];
/// Sizes of rocks: from the least, ever rarer, to the greatest; radius in metres.
const RADIUS: (f32, f32) = (0.4, 7.0);
/// Period of the patches in metres.
const PATCHES: f32 = 620.0;
/// Period of the heaps inside patches in metres.
const HEAPS: f32 = 137.0;
/// The most rocks tried in one cell.
const MAX_CANDIDATES: f32 = 65_536.0;

/// One rock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RockPlacement {
    /// Its centre in the world, sunk into the ground by a part of its size.
    pub position: Vec3,
    /// Turn about the vertical in radians, from 0 to 2 pi.
    pub yaw: f32,
    /// Radius in metres.
    pub scale: f32,
    /// From 0 (dark) to 1 (light).
    pub tint: f32,
}

/// Rocks all over a surface, cell by cell. Cell (0, 0) has its north-west corner at the origin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RockField {
    /// Side of a cell in metres.
    pub cell: f32,
    /// Rocks a hectare where they are densest.
    pub density: f32,
    /// Different seeds give different fields.
    pub seed: u32,
}

impl Default for RockField {
    fn default() -> RockField {
        RockField { cell: 128.0, density: 320.0, seed: 1 }
    }
}

impl RockField {
    /// The rocks of one cell, in a fixed order. None outside the map.
    pub fn scatter(&self, cell_x: i32, cell_z: i32, surface: &Surface) -> Vec<RockPlacement> {
        let wanted = self.density * self.cell * self.cell / 10_000.0;
        // Not a number becomes none.
        let candidates = if wanted > 0.0 { wanted.min(MAX_CANDIDATES) } else { 0.0 };
        // One try in each square of a grid: chance without heaps.
        let side = (candidates.sqrt().ceil() as u32).max(1);
        let fill = candidates / (side * side) as f32;
        let corner = Vec2::new(cell_x as f32, cell_z as f32) * self.cell;
        let half = surface.half_extent();
        let mut rocks = Vec::new();
        for index in 0..side * side {
            let mut random = Random(mix(index ^ mix(cell_x as u32 ^ mix(cell_z as u32 ^ mix(self.seed)))));
            let square = Vec2::new((index % side) as f32, (index / side) as f32);
            let place =
                corner + (square + Vec2::new(random.unit(), random.unit())) * (self.cell / side as f32);
            let chance = random.unit();
            // Written so that a place that is not a number is outside.
            let inside = place.x.abs() <= half.x && place.y.abs() <= half.y;
            if !inside || chance >= fill * likelihood(surface, place) {
                continue;
            }
            let scale = (RADIUS.0 / (1.0 - random.unit()).sqrt()).min(RADIUS.1);
            let ground = surface.height(place.x, place.y, 0.0);
            let sunk = (0.15 + 0.33 * random.unit()) * scale;
            rocks.push(RockPlacement {
                position: Vec3::new(place.x, ground - sunk, place.y),
                yaw: random.unit() * std::f32::consts::TAU,
                scale,
                tint: random.unit(),
            });
        }
        rocks
    }
}

/// From 0 to 1, for a place.
fn likelihood(surface: &Surface, place: Vec2) -> f32 {
    if surface.overlays().is_some_and(|overlays| overlays.is_kept_clear(place)) {
        return 0.0;
    }
    let slope = surface.gradient(place.x, place.y, STEEPNESS_CELL);
    let degrees = slope.length().atan().to_degrees();
    let rests = 1.0 - smoothstep(38.0, 50.0, degrees);
    if rests <= 0.0 {
        return 0.0;
    }
    let scree = smoothstep(16.0, 28.0, degrees);
    let uphill = slope.normalize_or_zero();
    let cliff = UPHILL
        .iter()
        .map(|distance| {
            let above = place + uphill * *distance;
            let steepness = surface.base_gradient(above.x, above.y).length();
            smoothstep(36.0, 48.0, steepness.atan().to_degrees())
        })
        .fold(0.0, f32::max);
    let meadow = 0.10;
    let texture = surface.detail().texture();
    // A few texels wide at most, so that patches have soft rims.
    let patch = texture.sample(place / PATCHES, (SIZE as f32 / 128.0).log2())[3];
    let patch = 0.10 + 0.90 * smoothstep(-0.20, 0.35, patch);
    // Stones lie where others stopped.
    let heap = texture.sample(place / HEAPS, (SIZE as f32 / 64.0).log2())[3];
    let heap = 0.08 + 0.92 * smoothstep(0.0, 0.30, heap);
    rests * patch * heap * (meadow + 0.55 * scree + 0.6 * cliff).min(1.0)
}

fn smoothstep(low: f32, high: f32, value: f32) -> f32 {
    let t = ((value - low) / (high - low)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

fn mix(mut x: u32) -> u32 {
    x = x.wrapping_add(0x9e37_79b9);
    x ^= x >> 16;
    x = x.wrapping_mul(0x21f0_aaad);
    x ^= x >> 15;
    x = x.wrapping_mul(0x735a_2d97);
    x ^ (x >> 15)
}

/// A short stream of numbers from 0 to 1 (exclusive).
struct Random(u32);

impl Random {
    fn unit(&mut self) -> f32 {
        self.0 = mix(self.0);
        (self.0 >> 8) as f32 * (1.0 / 16_777_216.0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::heightmap::HeightMap;
    use super::*;

    /// A plane falling to the east with the given slope.
    fn plane(slope: f32) -> Surface {
        let (width, height) = (60, 60);
        let heights = (0..width * height).map(|i| -slope * 50.0 * (i % width) as f32).collect();
        let map = HeightMap {
            width,
            height,
            heights,
            pixel_size_metres: (50.0, 50.0),
            filled: 0,
            georeferenced: false,
        };
        Surface::new(&map, 1.0)
    }

    fn count(surface: &Surface) -> usize {
        let field = RockField::default();
        (-8..8)
            .flat_map(|x| (-8..8).map(move |z| (x, z)))
            .map(|(x, z)| field.scatter(x, z, surface).len())
            .sum()
    }

    #[test]
    fn scree_has_most_rocks_meadows_few_and_walls_none() {
        let (meadow, scree, wall) = (count(&plane(0.05)), count(&plane(0.62)), count(&plane(3.0)));
        assert!(scree > 5 * meadow, "{scree} on scree, {meadow} on meadows");
        assert!(meadow > 0);
        // The detail leaves ledges on a wall.
        assert!(wall * 20 < scree, "{wall} on a wall, {scree} on scree");
    }

    #[test]
    fn a_cell_is_the_same_every_time_and_other_cells_and_seeds_are_not() {
        let surface = plane(0.6);
        let field = RockField::default();
        let rocks = field.scatter(2, -3, &surface);
        assert!(!rocks.is_empty());
        assert_eq!(rocks, field.scatter(2, -3, &surface));
        let offset = |rocks: &[RockPlacement], x: f32| rocks.iter().map(|r| r.position.x - x).sum::<f32>();
        assert_ne!(offset(&rocks, 256.0), offset(&field.scatter(3, -3, &surface), 384.0));
        assert_ne!(rocks, RockField { seed: 2, ..field }.scatter(2, -3, &surface));
    }

    #[test]
    fn rocks_lie_in_their_cell_on_the_ground() {
        let surface = plane(0.6);
        let field = RockField::default();
        for rock in field.scatter(-2, 4, &surface) {
            let RockPlacement { position, yaw, scale, tint } = rock;
            assert!((-256.0..=-128.0).contains(&position.x) && (512.0..=640.0).contains(&position.z));
            let above = position.y - surface.height(position.x, position.z, 0.0);
            assert!(above <= 0.0 && above >= -0.5 * scale, "{above}");
            assert!((0.0..std::f32::consts::TAU).contains(&yaw) && (0.0..1.0).contains(&tint));
            assert!((RADIUS.0..=RADIUS.1).contains(&scale));
        }
    }

    #[test]
    fn nothing_lies_outside_the_map_or_comes_of_absurd_fields() {
        let surface = plane(0.6);
        assert!(RockField::default().scatter(1000, 0, &surface).is_empty());
        for bad in [f32::NAN, -1.0, 0.0, f32::INFINITY] {
            RockField { cell: bad, ..RockField::default() }.scatter(0, 0, &surface);
            let field = RockField { density: bad, ..RockField::default() };
            assert!(field.scatter(0, 0, &surface).len() <= MAX_CANDIDATES as usize);
        }
    }
}
