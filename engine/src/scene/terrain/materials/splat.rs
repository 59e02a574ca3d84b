//! Which ground lies where: the twin of `terrain_forms` and `terrain_weights` in `shaders/lib/terrain_materials.wgsl`,
//! for whoever wants to know it without a GPU.

use glam::{Vec2, Vec4};

use super::table::{GROUND_KINDS, GroundKind};
use crate::scene::terrain::light::LightMaps;
use crate::scene::terrain::surface::{Surface, slope_factor};

/// The ground at a place before layers: what the weights are made from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Forms {
    /// Slopes (dy/dx, dy/dz) with the detail.
    pub slope: Vec2,
    /// Above 0 on crests, below in hollows.
    pub curvature: f32,
    /// From 0 to 1 over the map's range of heights.
    pub share: f32,
    /// Height of each detail layer, -1 to 1.
    pub relief: Vec4,
    /// Colour noise of each detail layer, -1 to 1.
    pub noise: Vec4,
    /// The map's greatest height, metres.
    pub highest: f32,
}

impl Forms {
    /// The ground at (x, z) with all its detail.
    pub fn at(surface: &Surface, light: &LightMaps, x: f32, z: f32) -> Self {
        let half = surface.half_extent();
        let (low, high) = surface.height_bounds(-half.x, -half.y, half.x, half.y);
        let (base_height, base) = surface.base(x, z);
        let upright = smoothstep(0.65, 1.10, base.length());
        let steep = slope_factor(base);
        let detail = surface.detail();
        let params = detail.params();
        let strength = params.flat + (params.steep - params.flat) * steep;
        let (mut slope, mut height) = (base, base_height);
        let (mut relief, mut noise) = (Vec4::ZERO, Vec4::ZERO);
        for (i, (layer, texel)) in detail.texels(x, z).enumerate().take(4) {
            let share = if i == 3 { 1.0 - 0.75 * upright } else { 1.0 };
            let r = layer.rotation;
            let [t, u, v, n] = texel.map(|value| value * share);
            slope += layer.gain * strength * Vec2::new(r.x * u - r.y * v, r.y * u + r.x * v);
            height += layer.gain * strength * layer.period * t;
            relief[i] = t;
            noise[i] = n;
        }
        let range = (high - low).max(600.0);
        Self {
            slope,
            curvature: light.bilinear(&light.curvature, x, z),
            share: ((height - low) / range).clamp(0.0, 1.0),
            relief,
            noise,
            highest: high,
        }
    }

    /// Shares of the eight kinds, in the order of [`GroundKind::ALL`]; they sum to 1.
    pub fn weights(&self) -> [f32; GROUND_KINDS] {
        let (noise, relief) = (self.noise, self.relief);
        let tangent = self.slope.length();
        let north = self.slope.y / (1.0 + tangent * tangent).sqrt();
        let patches = noise.dot(Vec4::new(0.55, 0.45, 0.35, 0.30));
        let crests = relief.dot(Vec4::new(0.5, 0.45, 0.35, 0.3));
        let rocky = smoothstep(
            0.62,
            0.92,
            tangent + 0.34 * crests + 0.22 * patches + 0.18 * self.curvature + 0.25 * (self.share - 0.4),
        );
        let stony = smoothstep(
            0.30,
            0.62,
            tangent * 0.8
                + 0.5 * (self.share - 0.45)
                + 0.30 * patches
                + 0.20 * crests
                + 0.16 * self.curvature,
        );
        let moist = (0.55 - 0.55 * self.curvature - 0.5 * crests
            + 0.55 * north
            + 0.5 * patches
            + 0.25 * (0.6 - self.share))
            .clamp(0.0, 1.0);
        let cold = self.share + 0.16 * north - 0.12 * self.curvature - 0.08 * crests + 0.06 * patches;
        let alpine = smoothstep(1500.0, 2600.0, self.highest);
        let snow = alpine * smoothstep(0.685, 0.76, cold) * (1.0 - smoothstep(0.75, 1.05, tangent));
        let flat = 1.0 - smoothstep(0.10, 0.30, tangent);
        let hollow = smoothstep(0.02, 0.30, -self.curvature - 0.25 * crests + 0.10 * patches);
        let muddy =
            flat * hollow * smoothstep(0.45, 0.80, moist) * smoothstep(-0.10, 0.35, noise.y + 0.5 * noise.w);
        let washed = flat
            * smoothstep(0.05, 0.40, -self.curvature + 0.30 * noise.z + 0.10 * noise.w - 0.15)
            * (1.0 - muddy);
        let settled = 1.0 - smoothstep(0.22, 0.46, tangent + 0.12 * noise.w);
        let below = 1.0 - smoothstep(0.40, 0.58, self.share + 0.10 * noise.y);
        let wooded = below
            * smoothstep(0.60, 0.78, moist + 0.30 * noise.z + 0.20 * noise.y)
            * (1.0 - smoothstep(0.55, 0.85, tangent));
        let green = smoothstep(0.30, 0.78, moist + 0.12 * noise.w);
        let loose = stony.max(0.8 * washed);

        let mut weights = [0.0; GROUND_KINDS];
        let mut rest = 1.0;
        let mut take = |kind: GroundKind, share: f32| {
            weights[kind as usize] = rest * share;
            rest *= 1.0 - share;
        };
        take(GroundKind::Snow, snow);
        take(GroundKind::Rock, rocky);
        take(GroundKind::Mud, muddy);
        take(GroundKind::Scree, loose);
        take(GroundKind::ForestFloor, wooded);
        take(GroundKind::GreenGrass, green);
        weights[GroundKind::DryGrass as usize] = rest;
        let stones = weights[GroundKind::Scree as usize];
        weights[GroundKind::Gravel as usize] = stones * settled;
        weights[GroundKind::Scree as usize] = stones * (1.0 - settled);
        weights
    }

    /// The kind with the greatest share.
    pub fn dominant(&self) -> GroundKind {
        let weights = self.weights();
        GroundKind::ALL
            .into_iter()
            .max_by(|a, b| weights[*a as usize].total_cmp(&weights[*b as usize]))
            .unwrap_or(GroundKind::Rock)
    }
}

fn smoothstep(low: f32, high: f32, value: f32) -> f32 {
    let t = ((value - low) / (high - low)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}
