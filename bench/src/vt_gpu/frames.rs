//! Frames of a terrain: steady ones without and with virtual textures, and ones that draw pages.

use std::collections::BTreeMap;

use serde::Serialize;
use vasa::Engine;
use vasa::render::{GroundShading, View};
use vasa::vt::{GroundTexturesDesc, Knobs};

use super::Plan;
use crate::error::Error;
use crate::ground::{self, Block, CANARY_TOLERANCE, Settled};
use crate::harness::MOST_ROUNDS;
use crate::stats::{self, Spread};

/// Figures of steady frames at one size, milliseconds over kept rounds.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Steady {
    pub(super) extent: [u32; 2],
    pub(super) settled: Settled,
    pub(super) rounds: Kept,
    /// All passes: ground with one material, ground evaluated directly, with virtual textures.
    pub(super) frame_ms: [Option<Spread>; 3],
    /// All passes of virtual textures.
    pub(super) textures_ms: Option<Spread>,
    /// Each of them.
    pub(super) passes_ms: BTreeMap<&'static str, Option<Spread>>,
    /// Pages drawn meanwhile: none, when settled.
    pub(super) pages: usize,
}

/// Rounds that were kept, and thrown away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct Kept {
    pub(super) kept: usize,
    pub(super) thrown_away: usize,
}

/// Pages at one budget, over kept rounds.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Pages {
    /// Pages a frame that were allowed.
    pub(super) budget: i32,
    /// Whether blocks are written straight into the atlas.
    pub(super) is_direct: bool,
    pub(super) rounds: Kept,
    /// Pages a frame that were drawn.
    pub(super) pages: Option<Spread>,
    /// Milliseconds of a frame by pass.
    pub(super) passes_ms: BTreeMap<&'static str, Option<Spread>>,
    /// All that pages take in a frame: drawing, compression, copy, tables.
    pub(super) frame_ms: Option<Spread>,
    /// The same for one page.
    pub(super) page_ms: Option<Spread>,
}

/// Passes that there are in a steady frame.
pub(super) const STEADY_PASSES: [&str; 2] = ["VirtualTextureClear", "VirtualTextureUpdate"];
/// Passes that pages take.
pub(super) const PAGE_PASSES: [&str; 4] = [
    "VirtualTextureFinalizeRequests",
    "VirtualTextureCompress",
    "VirtualTextureCopy",
    "VirtualTexturePageTableUpdates",
];

/// Rounds of blocks until enough of them were made while the clock stood; which were.
fn rounds(
    plan: &Plan,
    mut round: impl FnMut() -> Result<Vec<Block>, Error>,
) -> Result<(Vec<Vec<Block>>, Kept), Error> {
    let mut all: Vec<Vec<Block>> = Vec::new();
    let mut kept = Vec::new();
    while all.len() < plan.rounds.saturating_mul(MOST_ROUNDS) as usize {
        all.push(round()?);
        let canaries: Vec<Vec<f64>> =
            all.iter().map(|round| round.iter().map(Block::canary_ms).collect()).collect();
        kept = stats::steady(&canaries, CANARY_TOLERANCE);
        if kept.iter().filter(|kept| **kept).count() >= plan.rounds as usize {
            break;
        }
    }
    let made = all.len();
    let steady: Vec<Vec<Block>> =
        all.into_iter().zip(kept).filter(|(_, kept)| *kept).map(|(r, _)| r).collect();
    let count = Kept { kept: steady.len(), thrown_away: made - steady.len() };
    Ok((steady, count))
}

fn over(rounds: &[Vec<Block>], at: usize, of: impl Fn(&Block) -> f64) -> Option<Spread> {
    Spread::of(&rounds.iter().filter_map(|round| round.get(at)).map(of).collect::<Vec<_>>())
}

/// Steady frames of both engines, in turn.
pub(super) fn steady(
    plan: &Plan,
    (without, with): (&mut Engine, &mut Engine),
    view: &View,
    extent: [u32; 2],
) -> Result<Steady, Error> {
    let settled = ground::settle(with, view, extent, plan.settle)?;
    let (rounds, kept) = rounds(plan, || {
        without.set_ground_shading(GroundShading::Plain);
        let plain = ground::block(without, view, extent, plan.frames, |_| ())?;
        without.set_ground_shading(GroundShading::Direct);
        let direct = ground::block(without, view, extent, plan.frames, |_| ())?;
        Ok(vec![plain, direct, ground::block(with, view, extent, plan.frames, |_| ())?])
    })?;
    Ok(Steady {
        extent,
        settled,
        rounds: kept,
        frame_ms: [0, 1, 2].map(|at| over(&rounds, at, Block::frame_ms)),
        textures_ms: over(&rounds, 2, Block::textures_ms),
        passes_ms: STEADY_PASSES
            .into_iter()
            .map(|name| (name, over(&rounds, 2, |block| block.pass_ms(name))))
            .collect(),
        pages: rounds.iter().filter_map(|round| round.get(2)).flat_map(|block| &block.pages).sum(),
    })
}

/// Frames before each of which all pages are thrown away, so that each draws as many as it may.
pub(super) fn pages(plan: &Plan, engine: &mut Engine, view: &View) -> Result<Vec<Pages>, Error> {
    let extent = plan.extents.first().copied().unwrap_or([1280, 720]);
    // The surface alone: all pages are of one kind.
    ground::use_textures(engine, &GroundTexturesDesc { height_tiles: 0, ..Default::default() })?;
    ground::settle(engine, view, extent, plan.settle)?;
    let (rounds, kept) = rounds(plan, || {
        let mut blocks = Vec::new();
        for (budget, is_direct) in plan.pages.iter().copied() {
            ground::change(engine, |options| {
                options.direct_compress = is_direct;
                options.planner = Knobs {
                    max_uploads_per_frame: budget,
                    produce_locked_on_flush: false,
                    ..ground::eager()
                };
            });
            blocks.push(ground::block(engine, view, extent, plan.frames, |engine| {
                if let Some(textures) = engine.textures_mut() {
                    textures.flush();
                }
            })?);
        }
        Ok(blocks)
    })?;
    let all = |block: &Block| block.ms(|name| PAGE_PASSES.contains(&name));
    let row = |(at, (budget, is_direct)): (usize, (i32, bool))| Pages {
        budget,
        is_direct,
        rounds: kept,
        pages: over(&rounds, at, Block::pages_a_frame),
        passes_ms: PAGE_PASSES
            .into_iter()
            .map(|name| (name, over(&rounds, at, |block| block.pass_ms(name))))
            .collect(),
        frame_ms: over(&rounds, at, all),
        page_ms: over(&rounds, at, |block| all(block) / block.pages_a_frame().max(1.0)),
    };
    Ok(plan.pages.iter().copied().enumerate().map(row).collect())
}
