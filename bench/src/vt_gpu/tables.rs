//! Updates of page tables, alone in a frame: quads that map so many pages at once.

use std::sync::Arc;

use serde::Serialize;
use vasa::graph::{Access, FrameGraph, GraphOptions, Queue, ShaderStages};
use vasa::vk::Device;
use vasa::vk::timeline::PresentSync;
use vasa::vt::tables::{PageTableDesc, PageTables};
use vasa::vt::{Entry, EntryFormat, PageAddress, SpaceId, TableQuad, TableUpdate};

use super::Plan;
use super::frames::Kept;
use crate::error::Error;
use crate::ground::{CANARY_TOLERANCE, engine};
use crate::harness::{Clock, MOST_ROUNDS, canary_buffer, canary_bytes};
use crate::stats::{self, Spread};

const SPACE: SpaceId = SpaceId(0);
/// Pages of level 0 a side.
const SIDE: u32 = 4096;
/// Levels of mixed pages: 0 to this.
const MOST_LEVEL: u16 = 5;
/// Frames before the measured ones: the first clears the table.
const WARM_UP: u32 = 3;

/// Updates of one kind, over kept rounds.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Tables {
    /// Pages that are mapped.
    pub(super) pages: u32,
    /// Whether they are of several levels; otherwise all of level 0.
    pub(super) is_mixed: bool,
    /// Quads that map them.
    pub(super) quads: usize,
    /// Draws: one a mip.
    pub(super) draws: usize,
    pub(super) rounds: Kept,
    /// Milliseconds of `VirtualTexturePageTableUpdates`.
    pub(super) ms: Option<Spread>,
}

/// Pages beside each other, as a view asks for them.
fn updates(pages: u32, is_mixed: bool) -> Vec<TableUpdate> {
    let entry = |n: u16, level| Entry { level, page: [(n % 64) as u8, (n / 64 % 64) as u8] };
    let most = if is_mixed { MOST_LEVEL } else { 0 };
    let mut mips: Vec<Vec<TableQuad>> = vec![Vec::new(); usize::from(most) + 1];
    // Coarse pages first: finer ones are painted over them.
    for level in (0..=most).rev() {
        for n in (0..pages as u16).filter(|n| n % (most + 1) == level) {
            let at = n / (most + 1);
            let page = PageAddress { level: level as u8, x: 16 + at % 32, y: 24 + at / 32 };
            for mip in 0..=page.level {
                mips[usize::from(mip)].push(TableQuad::of(page, mip, entry(n, page.level)));
            }
        }
    }
    let update = |(mip, quads)| TableUpdate { space: SPACE, texture: 0, mip: mip as u8, channel: 0, quads };
    let all = mips.into_iter().enumerate().rev().map(update);
    all.filter(|update: &TableUpdate| !update.quads.is_empty()).collect()
}

/// All kinds in turn, each round between two canaries.
pub(super) fn measure(device: &Arc<Device>, plan: &Plan) -> Result<Vec<Tables>, Error> {
    let mut tables = PageTables::new(device, 1).map_err(engine)?;
    let desc = PageTableDesc { side: SIDE, channels: 1, format: EntryFormat::Bits16 };
    tables.create(SPACE, desc).map_err(engine)?;
    let mut graph = FrameGraph::new(device, 1, GraphOptions::default())?;
    let mut clock = Clock::new(device)?;
    let canary = canary_buffer(device)?;
    clock.warm_up(&canary, canary_bytes(device))?;
    let kinds: Vec<(u32, bool)> = [false, true]
        .into_iter()
        .flat_map(|is_mixed| plan.tables.iter().map(move |pages| (*pages, is_mixed)))
        .collect();
    let made: Vec<Vec<TableUpdate>> = kinds.iter().map(|(pages, mixed)| updates(*pages, *mixed)).collect();
    // By round, by kind.
    let mut times: Vec<Vec<f64>> = Vec::new();
    let mut canaries: Vec<Vec<f64>> = Vec::new();
    while times.len() < plan.rounds.saturating_mul(MOST_ROUNDS) as usize {
        let mut seen = vec![clock.median_fill(&canary, canary_bytes(device))?];
        let mut round = Vec::new();
        for updates in &made {
            let mut samples = Vec::new();
            for _ in 0..WARM_UP + plan.frames {
                samples.extend(paint(&mut graph, &mut tables, updates)?);
            }
            let measured = samples.get(WARM_UP as usize..).unwrap_or_default();
            round.push(stats::median(measured).unwrap_or(0.0));
        }
        seen.push(clock.median_fill(&canary, canary_bytes(device))?);
        times.push(round);
        canaries.push(seen);
        let kept = stats::steady(&canaries, CANARY_TOLERANCE).into_iter().filter(|kept| *kept).count();
        if kept >= plan.rounds as usize {
            break;
        }
    }
    let kept = stats::steady(&canaries, CANARY_TOLERANCE);
    let count = kept.iter().filter(|kept| **kept).count();
    let rounds = Kept { kept: count, thrown_away: times.len() - count };
    let row = |(at, (pages, is_mixed)): (usize, (u32, bool))| {
        let kept = times.iter().zip(&kept).filter(|(_, kept)| **kept);
        Tables {
            pages,
            is_mixed,
            quads: made[at].iter().map(|update| update.quads.len()).sum(),
            draws: made[at].len(),
            rounds,
            ms: Spread::of(&kept.filter_map(|(round, _)| round.get(at).copied()).collect::<Vec<_>>()),
        }
    };
    Ok(kinds.iter().copied().enumerate().map(row).collect())
}

/// One frame that paints and does nothing else. Milliseconds of the pass.
fn paint(
    graph: &mut FrameGraph,
    tables: &mut PageTables,
    updates: &[TableUpdate],
) -> Result<Option<f64>, Error> {
    graph.wait_for_place()?;
    tables.prepare(updates, graph.place()).map_err(engine)?;
    let mut frame = graph.begin();
    let handles = tables.declare(&mut frame);
    let sampled = Access::Sampled(ShaderStages::COMPUTE);
    let pass = frame.pass("Bench.Sample", Queue::Graphics).side_effects();
    pass.read_all(handles.get(SPACE, 0), sampled).record(|_| Ok(()));
    frame.compile()?.record()?.submit(&[], PresentSync::default())?;
    if !tables.submitted() {
        return Err(engine("an update of a page table was not painted"));
    }
    let times = graph.wait_for_all()?;
    let painted = times.into_iter().flatten().find(|(name, _)| *name == "VirtualTexturePageTableUpdates");
    Ok(painted.map(|(_, ms)| ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_is_painted_in_its_mip_and_all_finer_ones() {
        let one = updates(1, false);
        assert_eq!((one.len(), one[0].quads.len(), one[0].mip), (1, 1, 0));
        let plain = updates(1024, false);
        assert_eq!((plain.len(), plain[0].quads.len()), (1, 1024));
        let mixed = updates(64, true);
        assert_eq!(mixed.iter().map(|update| update.mip).collect::<Vec<_>>(), [5, 4, 3, 2, 1, 0]);
        assert_eq!(mixed.last().map(|update| update.quads.len()), Some(64), "all of them in mip 0");
        let quads: usize = mixed.iter().map(|update| update.quads.len()).sum();
        let expected: usize = (0..64).map(|n| n % 6 + 1).sum();
        assert_eq!(quads, expected);
        for update in updates(1024, true) {
            let side = SIDE >> update.mip;
            for quad in &update.quads {
                let end = |at: u16| u32::from(at) + (1 << quad.log2_size);
                assert!(end(quad.x) <= side && end(quad.y) <= side, "{quad:?} in mip {}", update.mip);
            }
        }
    }
}
