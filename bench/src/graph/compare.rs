//! The reordering of `vk-graph`, called without a device through the harness that it measures itself with.
//!
//! It is one phase: given which command touches which resource, an order. It does not cull, lay out memory, find barriers
//! or cut submissions; that happens elsewhere there, with a device.

use std::path::PathBuf;

use vk_graph::Graph;
use vk_graph::submission::bench::{ReorderBenchHarness, ReorderBenchSpec};

use super::frames::Counts;
use crate::host;

/// The version that is measured, as in `Cargo.toml`.
pub(super) const VERSION: &str = "0.14.8";

/// Its published counts: two captured from a game (49 and 114 commands), and two of its generated ones.
pub(super) const COUNTS: [Counts; 4] = [
    Counts { passes: 49, resources: 125, uses: 2, long_lived: 4, long_uses: 5 },
    Counts { passes: 114, resources: 114, uses: 3, long_lived: 4, long_uses: 18 },
    Counts { passes: 512, resources: 128, uses: 3, long_lived: 4, long_uses: 96 },
    Counts { passes: 2000, resources: 256, uses: 2, long_lived: 12, long_uses: 220 },
];

/// Microseconds of one reordering of a generated frame with these counts.
pub(super) fn generated(counts: Counts, runs: u32) -> Vec<f64> {
    time(
        ReorderBenchHarness::new(ReorderBenchSpec {
            cmd_count: counts.passes,
            resource_count: counts.resources,
            short_lived_uses: counts.uses,
            long_lived_resource_count: counts.long_lived,
            long_lived_uses: counts.long_uses,
        }),
        runs,
    )
}

/// Microseconds of one reordering of the captured frame with so many commands, where there is one and the crate's sources
/// are on this machine.
pub(super) fn captured(commands: usize, runs: u32) -> Option<Vec<f64>> {
    let file = match commands {
        49 => "graph-1783212230368.bin",
        114 => "graph-1783212245365.bin",
        _ => return None,
    };
    let graph = Graph::import_fixture(fixture(file)?).ok()?;
    let harness = ReorderBenchHarness::from_graph(&graph, 1);
    (harness.cmd_count() == commands).then(|| time(harness, runs))
}

fn time(mut harness: ReorderBenchHarness, runs: u32) -> Vec<f64> {
    host::microseconds(runs, || {
        std::hint::black_box(harness.reorder_once());
    })
}

/// A file among the sources that cargo unpacked to build this.
fn fixture(file: &str) -> Option<PathBuf> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")))?;
    let registries = std::fs::read_dir(home.join("registry/src")).ok()?;
    let path = |folder: PathBuf| folder.join(format!("vk-graph-{VERSION}/res/graph-fixture/{file}"));
    registries.flatten().map(|entry| path(entry.path())).find(|path| path.is_file())
}
