//! One terrain at one size: settled, then all variants in turn.

use std::time::Instant;

use serde::Serialize;
use vasa::Engine;
use vasa::render::View;
use vasa::vt::Knobs;

use super::{Plan, Variant};
use crate::error::Error;
use crate::ground::{self, CANARY_TOLERANCE, Settled};
use crate::harness::MOST_ROUNDS;
use crate::stats;

/// Frames before a picture is taken: times and feedback of the variant before are gone.
const PICTURE_FRAMES: u32 = 8;

/// What one variant took in one round: medians over its frames, milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Times {
    /// The base pass.
    pub(super) base_ms: f64,
    /// All passes of virtual textures.
    pub(super) textures_ms: f64,
    /// All passes.
    pub(super) frame_ms: f64,
    /// Sky and tone mapping.
    pub(super) canary_ms: f64,
    /// Pages drawn in all its frames: none, when settled.
    pub(super) pages: usize,
}

/// All rounds of one terrain at one size.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Measured {
    pub(super) layers: u32,
    pub(super) extent: [u32; 2],
    pub(super) settled: Settled,
    /// By round, in the order of [`Variant::ALL`].
    pub(super) rounds: Vec<Vec<Times>>,
    /// Mean FLIP error to what is evaluated directly, in the order of [`Variant::RVT`]; empty where it was not compared.
    pub(super) flip: Vec<f64>,
}

/// Frames from a cut to a view of which nothing is there but the coarsest level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct Sharp {
    /// Pages a frame.
    pub(super) budget: i32,
    /// Frames until 99 of a hundred samples found the level they wished for; nothing: not within those counted.
    pub(super) frames: Option<u32>,
}

/// An engine with a terrain, and how it is looked at.
pub(super) struct Scene<'a> {
    pub(super) engine: &'a mut Engine,
    pub(super) view: &'a View,
    pub(super) extent: [u32; 2],
}

impl Scene<'_> {
    fn choose(&mut self, variant: Variant) {
        self.engine.set_ground_shading(variant.shading());
        ground::change(self.engine, |options| {
            options.near_detail = variant.has_near_detail();
            options.anisotropy = variant == Variant::RvtAnisotropic;
        });
    }

    fn draw(&mut self, frames: u32) -> Result<(), Error> {
        for _ in 0..frames {
            self.engine.render(self.view, self.extent, None)?;
        }
        Ok(())
    }

    /// Settles the view, measures all variants in turn, and compares pictures where that is wanted.
    pub(super) fn measure(&mut self, plan: &Plan, layers: u32, compares: bool) -> Result<Measured, Error> {
        // Anisotropic sampling wishes for finer pages, and those of one do not push out those of the other.
        self.choose(Variant::RvtWhole);
        let mut settled = ground::settle(self.engine, self.view, self.extent, plan.settle)?;
        self.choose(Variant::RvtAnisotropic);
        let finer = ground::settle(self.engine, self.view, self.extent, plan.settle)?;
        settled.is_settled &= finer.is_settled;
        let mut rounds: Vec<Vec<Times>> = Vec::new();
        let started = Instant::now();
        while rounds.len() < plan.rounds.saturating_mul(MOST_ROUNDS) as usize {
            if steady(&rounds).into_iter().filter(|kept| *kept).count() >= plan.rounds as usize
                || (!rounds.is_empty() && started.elapsed() > plan.limit)
            {
                break;
            }
            let mut round = Vec::new();
            for variant in Variant::ALL {
                self.choose(variant);
                let block = ground::block(self.engine, self.view, self.extent, plan.frames, |_| ())?;
                round.push(Times {
                    base_ms: block.pass_ms("BasePass"),
                    textures_ms: block.textures_ms(),
                    frame_ms: block.frame_ms(),
                    canary_ms: block.canary_ms(),
                    pages: block.pages.iter().sum(),
                });
            }
            rounds.push(round);
        }
        let flip = if compares { self.flips()? } else { Vec::new() };
        Ok(Measured { layers, extent: self.extent, settled, rounds, flip })
    }

    fn picture(&mut self, variant: Variant) -> Result<Vec<u8>, Error> {
        self.choose(variant);
        self.draw(PICTURE_FRAMES)?;
        Ok(self.engine.read_back()?)
    }

    fn flips(&mut self) -> Result<Vec<f64>, Error> {
        let direct = self.picture(Variant::Direct)?;
        let mut flips = Vec::new();
        for variant in Variant::RVT {
            flips.push(flip(&self.picture(variant)?, &direct, self.extent));
        }
        Ok(flips)
    }

    /// Throws all pages away, and counts frames until the view is sharp again.
    pub(super) fn until_sharp(&mut self, budget: i32, most: u32) -> Result<Sharp, Error> {
        self.choose(Variant::RvtWhole);
        // Looks the other way before: what was sampled there is still heard when the view is cut.
        let mut away = *self.view;
        away.camera.yaw += std::f32::consts::PI;
        for _ in 0..PICTURE_FRAMES {
            self.engine.render(&away, self.extent, None)?;
        }
        let knobs = ground::eager();
        ground::change(self.engine, |options| {
            options.planner = Knobs { max_uploads_per_frame: budget, ..knobs };
        });
        if let Some(textures) = self.engine.textures_mut() {
            textures.flush();
        }
        self.engine.cut();
        let before = self.sharp_cuts().len();
        let mut frames = None;
        for _ in 0..most {
            self.draw(1)?;
            frames = self.sharp_cuts().get(before).copied().flatten();
            if frames.is_some() {
                break;
            }
        }
        ground::change(self.engine, |options| options.planner = knobs);
        Ok(Sharp { budget, frames })
    }

    fn sharp_cuts(&self) -> Vec<Option<u32>> {
        self.engine.textures().map(|textures| textures.stats().frames_until_sharp).unwrap_or_default()
    }
}

/// Which rounds were made while the clock stood.
pub(super) fn steady(rounds: &[Vec<Times>]) -> Vec<bool> {
    let canaries: Vec<Vec<f64>> =
        rounds.iter().map(|round| round.iter().map(|times| times.canary_ms).collect()).collect();
    stats::steady(&canaries, CANARY_TOLERANCE)
}

/// Mean FLIP error of two pictures (Andersson et al., "FLIP: A Difference Evaluator for Alternating Images", 2020).
fn flip(a: &[u8], b: &[u8], [width, height]: [u32; 2]) -> f64 {
    let rgb = |rgba: &[u8]| rgba.chunks_exact(4).flat_map(|p| [p[0], p[1], p[2]]).collect::<Vec<u8>>();
    let image = |rgba| nv_flip::FlipImageRgb8::with_data(width, height, &rgb(rgba));
    let map = nv_flip::flip(image(a), image(b), nv_flip::DEFAULT_PIXELS_PER_DEGREE);
    f64::from(nv_flip::FlipPool::from_image(&map).mean())
}
