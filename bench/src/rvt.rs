//! `rvt`: what the terrain's ground costs a frame through virtual textures, and evaluated directly.
//!
//! ```text
//! a terrain for each number of layers -> for each size: settled, then plain, direct, RVT ... in turn, round by round
//!                                     -> GPU times of the base pass; pictures, compared by FLIP; frames until sharp
//! ```
//!
//! *Plain* is the same geometry with one material everywhere: what the base pass costs apart from the ground's materials.
//! Rounds in which the clock moved - sky and tone mapping, the same work in every frame, took another time - are thrown
//! away.

mod run;
mod summary;

use std::time::Duration;

use serde::Serialize;
use vasa::render::GroundShading;
use vasa::vk::FeatureMask;

use crate::Bench;
use crate::error::Error;
use crate::ground::Ground;
use crate::harness::{Context, is_software};
use crate::report::Outcome;

/// The bench.
pub(crate) const BENCH: Bench = Bench {
    name: "rvt",
    about: "base pass of a terrain by layers of material, through virtual textures and directly",
    needs_device: true,
    run: measure,
};

/// What the ground is drawn with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
enum Variant {
    /// One material everywhere.
    Plain,
    /// The layers, evaluated in every pixel.
    Direct,
    /// The virtual texture of the surface.
    Rvt,
    /// The same, sampled along the footprint as far as a page's border reaches.
    RvtAnisotropic,
    /// The surface; closer than its finest page, the layers are evaluated.
    RvtNear,
    /// All virtual textures: displaced vertices and ground at the foot of rocks too.
    RvtWhole,
}

impl Variant {
    const ALL: [Self; 6] =
        [Self::Plain, Self::Direct, Self::Rvt, Self::RvtAnisotropic, Self::RvtNear, Self::RvtWhole];
    /// Those that draw with virtual textures.
    const RVT: [Self; 4] = [Self::Rvt, Self::RvtAnisotropic, Self::RvtNear, Self::RvtWhole];

    fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Direct => "direct",
            Self::Rvt => "RVT",
            Self::RvtAnisotropic => "+ anisotropy",
            Self::RvtNear => "+ near detail",
            Self::RvtWhole => "+ displaced",
        }
    }

    fn shading(self) -> GroundShading {
        match self {
            Self::Plain => GroundShading::Plain,
            Self::Direct => GroundShading::Direct,
            Self::Rvt | Self::RvtAnisotropic | Self::RvtNear => GroundShading::Surface,
            Self::RvtWhole => GroundShading::Auto,
        }
    }

    fn has_near_detail(self) -> bool {
        matches!(self, Self::RvtNear | Self::RvtWhole)
    }
}

/// How much is measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Plan {
    /// Layers of material.
    layers: Vec<u32>,
    /// Sizes in pixels. Pictures are compared at the first.
    extents: Vec<[u32; 2]>,
    /// Frames of a variant in a round.
    frames: u32,
    /// Steady rounds.
    rounds: u32,
    /// The most frames that a view may take to settle.
    settle: u32,
    /// After so long, at a size, no further round begins.
    limit: Duration,
    /// Frames until sharp are counted with so many layers, at the first size.
    sharp_layers: u32,
    /// Pages a frame with which they are.
    sharp_budgets: Vec<i32>,
    /// The most frames counted.
    sharp_frames: u32,
}

impl Plan {
    fn of(software: bool, quick: bool, rounds: u32) -> Self {
        let all = vec![1, 2, 4, 8, 16];
        let full = Self {
            layers: all,
            extents: if software { vec![[1280, 720]] } else { vec![[1280, 720], [3840, 2160]] },
            frames: if software { 4 } else { 12 },
            rounds: if software { rounds.min(3) } else { rounds },
            settle: 400,
            limit: Duration::from_secs(if software { 60 } else { 5 }),
            sharp_layers: 8,
            sharp_budgets: vec![2, 16],
            sharp_frames: 1500,
        };
        match (quick, software) {
            (false, _) => full,
            (true, false) => Self { layers: vec![1, 8], extents: vec![[1280, 720]], frames: 6, ..full },
            (true, true) => Self {
                layers: vec![1, 8],
                extents: vec![[320, 180]],
                frames: 2,
                limit: Duration::from_secs(20),
                settle: 120,
                sharp_frames: 60,
                sharp_budgets: vec![16],
                ..full
            },
        }
    }
}

fn measure(context: &Context) -> Result<Outcome, Error> {
    let device = context.open(FeatureMask::default())?;
    let software = is_software(&device);
    let plan = Plan::of(software, context.quick, context.runs);
    let ground = Ground::load()?;
    let mut measured = Vec::new();
    let mut sharp = Vec::new();
    for layers in plan.layers.iter().copied() {
        let mut engine = ground.engine(&device, layers, software && context.quick)?;
        crate::ground::use_textures(&mut engine, &Default::default())?;
        for (index, extent) in plan.extents.iter().copied().enumerate() {
            eprintln!("rvt: {layers} layers, {} x {}", extent[0], extent[1]);
            let mut scene = run::Scene { engine: &mut engine, view: &ground.view, extent };
            measured.push(scene.measure(&plan, layers, index == 0)?);
            if index == 0 && layers == plan.sharp_layers {
                for budget in plan.sharp_budgets.iter().copied() {
                    sharp.push(scene.until_sharp(budget, plan.sharp_frames)?);
                }
            }
        }
    }
    let summary = summary::Summary::of(plan, measured, sharp);
    Ok(Outcome { text: summary.to_string(), json: summary.json() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_the_published_ones() {
        let gpu = Plan::of(false, false, 5);
        assert_eq!((gpu.layers.as_slice(), gpu.extents.len(), gpu.rounds), (&[1, 2, 4, 8, 16][..], 2, 5));
        let software = Plan::of(true, false, 5);
        assert_eq!((software.extents.as_slice(), software.rounds), (&[[1280, 720]][..], 3));
        for quick in [Plan::of(false, true, 2), Plan::of(true, true, 2)] {
            assert!(quick.layers.len() < gpu.layers.len() && quick.frames < gpu.frames);
            assert!(quick.layers.contains(&quick.sharp_layers));
        }
    }
}
