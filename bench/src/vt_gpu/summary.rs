//! What was measured, as tables and JSON.

use std::fmt;

use serde_json::{Value, json};

use super::Plan;
use super::frames::{Kept, PAGE_PASSES, Pages, STEADY_PASSES, Steady};
use super::tables::Tables;
use crate::ground::CANARY_TOLERANCE;
use crate::report::{Table, figure, spread};

/// The whole measurement.
#[derive(Debug, Clone)]
pub(super) struct Summary {
    pub(super) plan: Plan,
    pub(super) steady: Vec<Steady>,
    pub(super) pages: Vec<Pages>,
    pub(super) tables: Vec<Tables>,
}

impl Summary {
    /// The bench's object in the JSON document.
    pub(super) fn json(&self) -> Value {
        json!({
            "plan": self.plan,
            "canary_tolerance": CANARY_TOLERANCE,
            "steady": self.steady,
            "pages": self.pages,
            "page_tables": self.tables,
        })
    }

    fn steady(&self) -> Table {
        let mut table = Table::new(&[
            "steady frame, ms",
            "clear",
            "update",
            "all VT passes",
            "frame with VT",
            "without, direct",
            "without, plain",
            "pages",
            "rounds",
            "thrown away",
        ]);
        for row in &self.steady {
            let [plain, direct, with] = row.frame_ms;
            let mut cells = vec![format!("{} x {}", row.extent[0], row.extent[1])];
            cells.extend(STEADY_PASSES.map(|name| spread(row.passes_ms.get(name).copied().flatten(), 4)));
            cells.push(spread(row.textures_ms, 4));
            cells.extend([with, direct, plain].map(|frame| spread(frame, 3)));
            cells.push(row.settled.pages.to_string());
            cells.extend(counts(row.rounds));
            table.row(cells);
        }
        table
    }

    fn pages(&self) -> Table {
        let mut table = Table::new(&[
            "pages a frame",
            "drawn",
            "draw, ms",
            "compress",
            "copy",
            "tables",
            "all, ms a frame",
            "us a page",
            "rounds",
            "thrown away",
        ]);
        for row in &self.pages {
            let way = if row.is_direct { "straight into the atlas" } else { "copied" };
            let mut cells = vec![format!("{}, {way}", row.budget)];
            cells.push(figure(row.pages.map(|s| s.median), 0));
            let median = |name: &&str| row.passes_ms.get(name).copied().flatten().map(|s| s.median);
            cells.extend(PAGE_PASSES.iter().map(|name| figure(median(name), 4)));
            cells.push(spread(row.frame_ms, 4));
            let us = row.page_ms.map(|s| crate::stats::Spread {
                min: s.min * 1e3,
                median: s.median * 1e3,
                max: s.max * 1e3,
            });
            cells.push(spread(us, 1));
            cells.extend(counts(row.rounds));
            table.row(cells);
        }
        table
    }

    fn tables(&self) -> Table {
        let mut table = Table::new(&["page table alone", "quads", "draws", "ms", "rounds", "thrown away"]);
        for row in &self.tables {
            let levels = if row.is_mixed { "levels 0 to 5" } else { "level 0" };
            let mut cells = vec![format!("{} pages, {levels}", row.pages)];
            cells.extend([row.quads.to_string(), row.draws.to_string(), spread(row.ms, 4)]);
            cells.extend(counts(row.rounds));
            table.row(cells);
        }
        table
    }
}

fn counts(rounds: Kept) -> [String; 2] {
    [rounds.kept.to_string(), rounds.thrown_away.to_string()]
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "vt-gpu: a terrain of {} layers; {} frames a variant and round, variants in turn; rounds are thrown away where the canary moved by more than {:.0}%\n",
            self.plan.layers,
            self.plan.frames,
            CANARY_TOLERANCE * 100.0,
        )?;
        writeln!(f, "{}\n{}\n{}", self.steady(), self.pages(), self.tables())?;
        for row in self.steady.iter().filter(|row| !row.settled.is_settled || row.pages > 0) {
            let [width, height] = row.extent;
            writeln!(f, "not steady: {width} x {height} drew {} pages while it was measured", row.pages)?;
        }
        writeln!(
            f,
            "GPU times. clear, update: VirtualTextureClear and VirtualTextureUpdate (compaction and copy). without: another engine with the same terrain, its ground evaluated directly or with one material. pages: of the surface (three layers of blocks), all thrown away before every frame. tables: of 4096 pages a side, 16 bits. three figures: min / median / max over rounds."
        )
    }
}
