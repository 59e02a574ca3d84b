//! `pack`: how much memory transients take when they share it, against the bound that nothing can beat.
//!
//! Frames: the seeded corpus of the engine (50 to 1000 transients), and the recorded frames that come with it. Ways: no
//! sharing at all, reuse of resources of one description, the packer with each effort, and pages bound one by one.
//!
//! ```text
//! frames -> Way::bytes + time -> a Row a way: bytes by bound (mean, worst), time a frame
//!        -> pages: bytes saved against the packer, binds of a steady frame
//! ```

mod ways;

use std::time::Instant;

use serde::Serialize;
use serde_json::json;
use vasa::graph::pack::{Item, bound, corpus, pages};
use vasa::graph::{Compiler, Options, Queues, recorded};

use crate::Bench;
use crate::error::Error;
use crate::harness::Context;
use crate::report::{Outcome, Table, figure, mebibytes};
use crate::stats;
use ways::Way;

/// The bench.
pub(crate) const BENCH: Bench = Bench {
    name: "pack",
    about: "memory of transients that share it, against the bound; no GPU",
    needs_device: false,
    run: measure,
};

/// Frames of the corpus with `--quick`, and those that the most thorough way gets.
const FEW: u64 = 100;

struct Frame {
    name: String,
    items: Vec<Item>,
    bound: u64,
}

impl Frame {
    fn new(name: String, items: Vec<Item>) -> Self {
        Self { name, bound: bound(&items), items }
    }
}

/// One way over many frames.
#[derive(Debug, Serialize)]
struct Row {
    way: &'static str,
    frames: usize,
    mean_by_bound: Option<f64>,
    worst_by_bound: Option<f64>,
    /// Frames no more than a thousandth above the bound.
    at_bound: usize,
    time_us: Option<stats::FrameTimes>,
    nanoseconds_per_transient: Option<f64>,
}

/// Pages against the packer, on one frame.
#[derive(Debug, Serialize)]
struct PagesRow {
    frame: String,
    transients: usize,
    bound_bytes: u64,
    packed_bytes: u64,
    page_bytes: u64,
    saved_bytes: i64,
    /// Binds of every steady frame where a page has one owner at a time.
    steady_ranges: u64,
    steady_cuts: u64,
    /// Binds when the shape changes, which are all where pages may have several owners.
    first_ranges: u64,
}

fn measure(context: &Context) -> Result<Outcome, Error> {
    let count = if context.quick { FEW } else { corpus::FRAMES };
    let random: Vec<Frame> =
        (0..count).map(|seed| Frame::new(format!("random {seed}"), corpus::random_frame(seed))).collect();
    let recorded = recorded_frames()?;
    let mut tables = Vec::new();
    let mut sets = Vec::new();
    for (name, frames) in [("random", &random), ("recorded", &recorded)] {
        eprintln!("pack: {name} frames");
        let rows: Vec<Row> = Way::ALL.into_iter().map(|way| row(way, frames, context)).collect();
        tables.push(format!("pack, {} {name} frames\n{}", frames.len(), table(&rows)));
        sets.push(json!({ "frames": name, "ways": rows }));
    }
    let pages: Vec<PagesRow> = recorded.iter().map(pages_row).collect();
    let corpus_pages: Vec<PagesRow> = random.iter().map(pages_row).collect();
    tables.push(pages_table(&pages, &corpus_pages));
    tables.push(NOTE.into());
    let json = json!({ "sets": sets, "pages": pages, "pages_of_corpus": summary(&corpus_pages) });
    Ok(Outcome { text: tables.join("\n"), json })
}

const NOTE: &str = "\
By bound: bytes of the heap by the most bytes alive at one pass. At bound: within a thousandth of it.
Reuse is of resources with the same size and alignment, which is more than have the same description.
Saved: bytes of the packer less those of pages. A cut is a vkQueueBindSparse between two submissions that wait
for each other; `bench bind` says what one costs. Pages that may have several owners (SPARSE_ALIASED) are bound
only when the frame's shape changes.";

/// The frames that come with the engine: transients as compiled with queues of their own for compute and copies.
fn recorded_frames() -> Result<Vec<Frame>, Error> {
    let queues = Queues { compute: true, transfer: true, commit: true };
    let options = Options { queues, ..Options::default() };
    let mut compiler = Compiler::new();
    let mut frames = Vec::new();
    for frame in recorded::FRAMES {
        let declaration = frame.declaration()?;
        let compiled = compiler.compile(&declaration, &options)?;
        let places = compiled.placements.iter().zip(&compiled.lifetimes).zip(&declaration.resources);
        let items = places.filter_map(|((placement, lifetime), resource)| {
            let (placement, lifetime, needs) = ((*placement)?, (*lifetime)?, resource.needs?);
            Some(Item {
                bytes: placement.bytes,
                alignment: needs.alignment,
                first: lifetime.first,
                last: lifetime.last,
            })
        });
        frames.push(Frame::new(frame.name.into(), items.collect()));
    }
    Ok(frames)
}

fn row(way: Way, frames: &[Frame], context: &Context) -> Row {
    let mut worker = way.worker();
    let most = if way == Way::Thorough { FEW as usize } else { usize::MAX };
    let frames = frames.get(..frames.len().min(most)).unwrap_or_default();
    let (mut ratios, mut times, mut transients) = (Vec::new(), Vec::new(), 0);
    let repeats = if way == Way::Thorough { 1 } else { context.runs };
    for frame in frames {
        let mut best = f64::INFINITY;
        let mut bytes = 0;
        for _ in 0..repeats {
            let start = Instant::now();
            bytes = worker(std::hint::black_box(&frame.items));
            best = best.min(start.elapsed().as_secs_f64() * 1e6);
        }
        ratios.push(bytes as f64 / frame.bound.max(1) as f64);
        times.push(best);
        transients += frame.items.len();
    }
    Row {
        way: way.name(),
        frames: frames.len(),
        mean_by_bound: mean(&ratios),
        worst_by_bound: stats::percentile(&ratios, 1.0),
        at_bound: ratios.iter().filter(|ratio| **ratio <= 1.001).count(),
        nanoseconds_per_transient: (transients > 0)
            .then(|| times.iter().sum::<f64>() * 1e3 / transients as f64),
        time_us: stats::FrameTimes::of(&times),
    }
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn table(rows: &[Row]) -> Table {
    let headings = [
        "way",
        "frames",
        "by bound: mean",
        "worst",
        "at bound",
        "us: median",
        "p99",
        "max",
        "ns a transient",
    ];
    let mut table = Table::new(&headings);
    for row in rows {
        let time = |pick: fn(&stats::FrameTimes) -> f64| figure(row.time_us.as_ref().map(pick), 1);
        table.row(vec![
            row.way.into(),
            row.frames.to_string(),
            figure(row.mean_by_bound, 4),
            figure(row.worst_by_bound, 4),
            row.at_bound.to_string(),
            time(|t| t.median),
            time(|t| t.p99),
            time(|t| t.max),
            figure(row.nanoseconds_per_transient, 0),
        ]);
    }
    table
}

fn pages_row(frame: &Frame) -> PagesRow {
    let packed = Way::Balanced.worker()(&frame.items);
    let plan = pages::assign(&frame.items, pages::PAGE_BYTES);
    let steady = plan.steady_binds(&frame.items);
    PagesRow {
        frame: frame.name.clone(),
        transients: frame.items.len(),
        bound_bytes: frame.bound,
        packed_bytes: packed,
        page_bytes: plan.bytes(),
        saved_bytes: packed as i64 - plan.bytes() as i64,
        steady_ranges: steady.ranges,
        steady_cuts: steady.cuts,
        first_ranges: plan.first_binds(&frame.items).ranges,
    }
}

/// What pages came to over many frames.
#[derive(Debug, Serialize)]
struct PagesSummary {
    frames: usize,
    /// Frames on which pages take less than the packer.
    wins: usize,
    mean_saved_share: Option<f64>,
    most_saved_share: Option<f64>,
    mean_steady_ranges: Option<f64>,
    mean_steady_cuts: Option<f64>,
}

fn summary(rows: &[PagesRow]) -> PagesSummary {
    let of = |pick: fn(&PagesRow) -> f64| rows.iter().map(pick).collect::<Vec<_>>();
    let saved = of(|row| row.saved_bytes as f64 / row.packed_bytes.max(1) as f64);
    PagesSummary {
        frames: rows.len(),
        wins: rows.iter().filter(|row| row.saved_bytes > 0).count(),
        mean_saved_share: mean(&saved),
        most_saved_share: stats::percentile(&saved, 1.0),
        mean_steady_ranges: mean(&of(|row| row.steady_ranges as f64)),
        mean_steady_cuts: mean(&of(|row| row.steady_cuts as f64)),
    }
}

fn pages_table(rows: &[PagesRow], corpus: &[PagesRow]) -> String {
    let headings = [
        "pages of 64 KiB",
        "transients",
        "bound MiB",
        "packed MiB",
        "pages MiB",
        "saved MiB",
        "binds a frame",
        "cuts",
        "binds a shape",
    ];
    let mut table = Table::new(&headings);
    for row in rows {
        table.row(vec![
            row.frame.clone(),
            row.transients.to_string(),
            figure(Some(mebibytes(row.bound_bytes)), 1),
            figure(Some(mebibytes(row.packed_bytes)), 1),
            figure(Some(mebibytes(row.page_bytes)), 1),
            figure(Some(row.saved_bytes as f64 / f64::from(1 << 20)), 2),
            row.steady_ranges.to_string(),
            row.steady_cuts.to_string(),
            row.first_ranges.to_string(),
        ]);
    }
    let of = summary(corpus);
    let percent = |share: Option<f64>| figure(share.map(|share| share * 100.0), 2);
    format!(
        "{table}Random frames: pages take less on {} of {}, {}% on average and {}% at most, for {} binds in {} cuts a frame.\n",
        of.wins,
        of.frames,
        percent(of.mean_saved_share),
        percent(of.most_saved_share),
        figure(of.mean_steady_ranges, 0),
        figure(of.mean_steady_cuts, 0)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_frames_have_transients() {
        let frames = recorded_frames().unwrap();
        assert!(frames.len() == 5 && frames.iter().all(|frame| frame.items.len() > 20));
        for frame in frames {
            let row = pages_row(&frame);
            assert!(row.packed_bytes >= row.bound_bytes && row.page_bytes >= row.bound_bytes, "{row:?}");
            assert_eq!(row.saved_bytes, row.packed_bytes as i64 - row.page_bytes as i64);
        }
    }
}
