//! `vt-cpu`: what one frame of the virtual textures' planner costs, from feedback to a plan.
//!
//! ```text
//! words of a view: some of them name pages that are there, the others a part of the texture that is new in each frame
//!     -> the planner, and a plain one of hash maps and sorted lists, in turn -> microseconds, ratio, allocations
//! ```
//!
//! A pool of 4096 pages holds 4095 at most. So of 16k and 64k requests not all can be there: the part asked for is of
//! what could be, and the table says how many were.

mod plain;

use std::time::Instant;

use serde::Serialize;
use serde_json::json;
use vasa::vt::feedback::Word;
use vasa::vt::{
    Availability, Feedback, FramePlan, Knobs, LayerFormat, PageRequest, Planner, PoolDesc, Producer, Quality,
    SpaceId, TextureDesc,
};

use crate::Bench;
use crate::error::Error;
use crate::harness::Context;
use crate::host::allocations;
use crate::report::{Outcome, Table, figure};
use crate::stats::{self, Spread};
use plain::Plain;

/// The bench.
pub(crate) const BENCH: Bench = Bench {
    name: "vt-cpu",
    about: "planning virtual textures: requests to pages, against hash maps and sorted lists; no GPU",
    needs_device: false,
    run: measure,
};

/// Unique requests of a frame.
const REQUESTS: [usize; 3] = [1 << 10, 1 << 14, 1 << 16];
/// The part of what can be there that is.
const RESIDENT: [f64; 3] = [0.0, 0.5, 1.0];
/// Pages a side of the pool.
const POOL_SIDE: u32 = 64;
/// The texture has as many tiles a side as a page table can have.
const TOP: u8 = 12;
/// Parts of the texture that are new in turn; by the time one comes again its pages have gone.
const PARTS: u64 = 200;
/// Frames before the first that is timed: what is to be there is made, lists have grown.
const WARM_UP: usize = 160;
/// Timed frames a run.
const FRAMES: u32 = 15;

/// One count of requests and one part that is there.
#[derive(Debug, Serialize)]
struct Row {
    requests: usize,
    /// Pages that were there when the last timed frame asked.
    resident: u32,
    /// Pages that the last timed frame made.
    made: u32,
    ours_us: Option<Spread>,
    plain_us: Option<Spread>,
    /// Plain by ours, of medians.
    ratio: Option<f64>,
    nanoseconds_per_request: Option<f64>,
    /// Heap allocations of ours in one frame.
    allocations: u64,
}

struct Ready;

impl Producer for Ready {
    fn request(&mut self, _: &PageRequest) -> Availability {
        Availability::Available(Quality::FULL)
    }
}

/// A row's work: the planner, the plain one, and the words of each frame.
struct Work {
    ours: Planner,
    plan: FramePlan,
    plain: Plain,
    kept: Vec<(u32, u32)>,
    requests: usize,
    pairs: Vec<(u32, u32)>,
    frame: u64,
}

impl Work {
    fn new(requests: usize, resident: f64) -> Result<Self, Error> {
        // The bias is left out, since the plain one has none; it takes one step a frame.
        let knobs = Knobs { residency_bias: false, space_side: 1 << TOP, ..Knobs::editor() };
        let mut ours = Planner::new(knobs);
        let mut desc = PoolDesc::new("pool", 128, 4, &[LayerFormat::Bc1]);
        desc.budget_bytes = u64::from(POOL_SIDE * POOL_SIDE) * desc.page_bytes();
        let pools = ours.create_pools(&desc)?;
        let pool = pools.first().copied().unwrap_or(vasa::vt::PoolId(0));
        ours.create_texture(&TextureDesc::new("texture", [1 << TOP; 2], pool))?;
        let most = requests.min((POOL_SIDE * POOL_SIDE - 1) as usize);
        let count = (most as f64 * resident) as usize;
        let kept = (0..count).map(|index| word(0, index)).collect();
        let plain = Plain::new(TOP, POOL_SIDE, knobs);
        let mut work =
            Self { ours, plan: FramePlan::default(), plain, kept, requests, pairs: Vec::new(), frame: 0 };
        work.warm_up();
        Ok(work)
    }

    /// Makes the pages that are to be there, at first without others that would take their room.
    fn warm_up(&mut self) {
        let requests = std::mem::replace(&mut self.requests, self.kept.len());
        for _ in 0..WARM_UP {
            self.next();
            self.ours();
            self.plain();
        }
        self.requests = requests;
        for _ in 0..WARM_UP {
            self.next();
            self.ours();
            self.plain();
        }
    }

    /// The words of the next frame: what is there, and a part of the texture that is not.
    fn next(&mut self) {
        self.frame += 1;
        self.pairs.clear();
        self.pairs.extend_from_slice(&self.kept);
        let part = 1 + (self.frame % PARTS) as usize;
        self.pairs.extend((0..self.requests - self.kept.len()).map(|index| word(part, index)));
        shuffle(&mut self.pairs, self.frame);
    }

    fn ours(&mut self) -> f64 {
        let start = Instant::now();
        self.ours.begin_frame(self.frame);
        self.ours.feed(&Feedback { frame: self.frame, pairs: &self.pairs, overflow: 0, dropped: 0 });
        self.ours.plan_into(&mut Ready, &mut self.plan);
        start.elapsed().as_secs_f64() * 1e6
    }

    fn plain(&mut self) -> (f64, plain::Plan) {
        let start = Instant::now();
        let plan = self.plain.frame(self.frame, std::hint::black_box(&self.pairs));
        (start.elapsed().as_secs_f64() * 1e6, plan)
    }
}

/// Page `index` of a part of the texture, as a view has them: most are fine, and each level has a quarter of the next
/// finer one. Parts are squares of 256 pages of level 0 a side.
fn word(part: usize, index: usize) -> (u32, u32) {
    let (level, index) = match index % 85 {
        0 => (3, index / 85),
        1..=4 => (2, index / 85 * 4 + index % 85 - 1),
        5..=20 => (1, index / 85 * 16 + index % 85 - 5),
        rest => (0, index / 85 * 64 + rest - 21),
    };
    let side = 256usize >> level;
    let corner = [part % 16 * side, part / 16 * side];
    let (x, y) = (corner[0] + index % side, corner[1] + index / side);
    let word = Word { space: SpaceId(0), level: level as i8, x: x as u16, y: y as u16 };
    (word.pack(), 1 + (index * 7 % 61) as u32)
}

/// The order in which a hash table on the GPU gives words: none.
fn shuffle(pairs: &mut [(u32, u32)], seed: u64) {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    for index in (1..pairs.len()).rev() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        pairs.swap(index, (state % (index as u64 + 1)) as usize);
    }
}

fn measure(context: &Context) -> Result<Outcome, Error> {
    let mut rows = Vec::new();
    for requests in REQUESTS {
        for resident in RESIDENT {
            eprintln!("vt-cpu: {requests} requests, {:.0}% resident", resident * 100.0);
            rows.push(row(requests, resident, context.runs)?);
        }
    }
    let side = POOL_SIDE * POOL_SIDE;
    let text = format!("vt-cpu, from feedback to a plan, a pool of {side} pages\n{}\n{NOTE}", table(&rows));
    Ok(Outcome { text, json: json!({ "pool": side, "rows": rows }) })
}

const NOTE: &str = "\
Requests are unique and come in no order; those that are not resident are new in every frame. Budgets of the editor: 32
pages a frame. Min / median / max over frames, ours and the plain one in turn. Plain: HashMap and sorted Vec of the
standard library, which choose the same pages; it keeps no history, locks, edits or bias. Allocations: ours, one frame.";

fn row(requests: usize, resident: f64, runs: u32) -> Result<Row, Error> {
    let mut work = Work::new(requests, resident)?;
    let (mut ours, mut plain) = (Vec::new(), Vec::new());
    for _ in 0..runs.max(1) * FRAMES {
        work.next();
        ours.push(work.ours());
        plain.push(std::hint::black_box(work.plain()).0);
    }
    work.next();
    let allocations = allocations(|| {
        work.ours();
    });
    let ratio = stats::median(&plain).zip(stats::median(&ours)).map(|(plain, ours)| plain / ours);
    Ok(Row {
        requests,
        resident: work.plan.counters.resident,
        made: work.plan.counters.made,
        ratio,
        nanoseconds_per_request: stats::median(&ours).map(|us| us * 1e3 / requests as f64),
        ours_us: Spread::of(&ours),
        plain_us: Spread::of(&plain),
        allocations,
    })
}

fn table(rows: &[Row]) -> Table {
    let headings = [
        "requests",
        "resident",
        "made",
        "ours: us",
        "ns a request",
        "plain: us",
        "plain / ours",
        "allocations",
    ];
    let mut table = Table::new(&headings);
    for row in rows {
        table.row(vec![
            row.requests.to_string(),
            row.resident.to_string(),
            row.made.to_string(),
            crate::report::spread(row.ours_us, 0),
            figure(row.nanoseconds_per_request, 0),
            crate::report::spread(row.plain_us, 0),
            figure(row.ratio, 1),
            row.allocations.to_string(),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn requests_are_unique() {
        for part in [0, 1, 15, 199] {
            let words: BTreeSet<u32> = (0..1 << 16).map(|index| word(part, index).0).collect();
            assert_eq!(words.len(), 1 << 16);
        }
    }

    #[test]
    fn both_choose_the_same_pages() {
        for (requests, resident) in [(300, 0.5), (5000, 0.0), (5000, 1.0)] {
            let mut work = Work::new(requests, resident).unwrap();
            for _ in 0..40 {
                work.next();
                work.ours();
                let plan = work.plain().1;
                assert_eq!(plan.made, plain::made(&work.plan), "{requests} requests, {resident}");
            }
            let counters = work.plan.counters;
            assert_eq!(counters.unique as usize, requests);
            assert!(counters.made == 32 || counters.no_room > 0);
        }
    }

    #[test]
    fn frames_take_no_memory() {
        let row = row(2000, 0.5, 1).unwrap();
        assert_eq!((row.resident, row.made, row.allocations), (1000, 32, 0));
        assert!(row.ours_us.is_some() && row.ratio > Some(0.0));
    }
}
