//! `vt-gpu`: what virtual textures cost a GPU: in a steady frame, for each page that is drawn, and for page tables.
//!
//! ```text
//! two engines with one terrain, without and with virtual textures -> steady frames at each size, in turn
//! pages thrown away before every frame, so that the budget decides -> pages at 1, 8, 32 a frame, in turn
//! page tables alone in a frame graph                               -> updates of 1, 64, 1024 pages, in turn
//! ```
//!
//! Rounds in which the clock moved are thrown away; it is seen by passes that do the same work in every frame, and where
//! page tables are alone by a fill.

mod frames;
mod summary;
mod tables;

use serde::Serialize;
use vasa::vk::FeatureMask;

use crate::Bench;
use crate::error::Error;
use crate::ground::Ground;
use crate::harness::{Context, is_software};
use crate::report::Outcome;

/// The bench.
pub(crate) const BENCH: Bench = Bench {
    name: "vt-gpu",
    about: "GPU time of virtual textures: a steady frame, pages, updates of page tables",
    needs_device: true,
    run: measure,
};

/// How much is measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Plan {
    /// Sizes of steady frames in pixels. Pages are drawn at the first.
    extents: Vec<[u32; 2]>,
    /// Pages a frame, and whether blocks are written straight into the atlas.
    pages: Vec<(i32, bool)>,
    /// Pages that one update of a page table maps.
    tables: Vec<u32>,
    /// Frames of a variant in a round.
    frames: u32,
    /// Steady rounds.
    rounds: u32,
    /// The most frames that a view may take to settle.
    settle: u32,
    /// Layers of material.
    layers: u32,
}

impl Plan {
    fn of(software: bool, quick: bool, rounds: u32) -> Self {
        let small = software && quick;
        let extents = match (software, quick) {
            (true, true) => vec![[320, 180]],
            (true, false) => vec![[1280, 720]],
            (false, _) => vec![[1280, 720], [3840, 2160]],
        };
        Self {
            extents,
            pages: vec![(1, true), (8, true), (8, false), (32, true)],
            tables: vec![1, 64, 1024],
            frames: if small { 2 } else { if quick || software { 6 } else { 16 } },
            rounds: if software { rounds.min(2) } else { rounds },
            settle: if small { 120 } else { 400 },
            layers: if small { 2 } else { 8 },
        }
    }
}

fn measure(context: &Context) -> Result<Outcome, Error> {
    let device = context.open(FeatureMask::default())?;
    let software = is_software(&device);
    let plan = Plan::of(software, context.quick, context.runs);
    let small = software && context.quick;
    let ground = Ground::load()?;
    eprintln!("vt-gpu: making the terrains");
    let mut without = ground.engine(&device, plan.layers, small)?;
    let mut with = ground.engine(&device, plan.layers, small)?;
    crate::ground::use_textures(&mut with, &Default::default())?;
    let mut steady = Vec::new();
    for extent in plan.extents.iter().copied() {
        eprintln!("vt-gpu: steady frames, {} x {}", extent[0], extent[1]);
        steady.push(frames::steady(&plan, (&mut without, &mut with), &ground.view, extent)?);
    }
    drop(without);
    eprintln!("vt-gpu: pages");
    let pages = frames::pages(&plan, &mut with, &ground.view)?;
    drop(with);
    eprintln!("vt-gpu: page tables");
    let tables = tables::measure(&device, &plan)?;
    let summary = summary::Summary { plan, steady, pages, tables };
    Ok(Outcome { text: summary.to_string(), json: summary.json() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_the_published_ones() {
        let gpu = Plan::of(false, false, 5);
        assert_eq!((gpu.extents.len(), gpu.rounds, gpu.layers), (2, 5, 8));
        assert_eq!(gpu.tables, [1, 64, 1024]);
        assert!([1, 8, 32].iter().all(|budget| gpu.pages.contains(&(*budget, true))));
        assert!(Plan::of(true, true, 2).frames < gpu.frames);
    }
}
