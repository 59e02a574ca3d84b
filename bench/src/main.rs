//! `bench`: measures the engine against its alternatives, and says what it found. It asserts nothing.
//!
//! ```text
//! cli -> registry (below) -> a bench: harness (devices, clocks, turns) -> stats -> report (table, JSON)
//!                                 pack, graph, vt-cpu: host (clock, allocations), no device at all
//! ```
//!
//! One file a bench; comparison crates are dependencies of this crate alone. Exit status: 0 = measured,
//! 1 = failed (one line on stderr that starts with `error:`), 2 = wrong usage.

mod bc;
mod bind;
mod cli;
mod error;
mod graph;
mod ground;
mod growth;
mod harness;
mod host;
mod pack;
mod report;
mod rvt;
mod stats;
mod vt_cpu;
mod vt_gpu;

use std::process::ExitCode;

use cli::{Cli, Parsed};
use error::Error;
use harness::Context;
use report::{Facts, JsonFile, Outcome};

/// A bench: what it is called, what it measures, and how it is run.
pub(crate) struct Bench {
    /// Name on the command line and in the JSON.
    pub(crate) name: &'static str,
    /// One line for `--help`.
    pub(crate) about: &'static str,
    /// Whether it measures a device; the others run where there is no Vulkan.
    pub(crate) needs_device: bool,
    /// Measures.
    pub(crate) run: fn(&Context) -> Result<Outcome, Error>,
}

/// Every bench, in the order they run.
pub(crate) const BENCHES: &[Bench] = &[
    growth::BENCH,
    bind::BENCH,
    pack::BENCH,
    graph::BENCH,
    bc::BENCH,
    vt_cpu::BENCH,
    vt_gpu::BENCH,
    rvt::BENCH,
];

fn run(cli: &Cli) -> Result<(), Error> {
    let json = cli.json.as_deref().map(JsonFile::prepare).transpose()?;
    let wanted: Vec<&Bench> =
        BENCHES.iter().filter(|b| cli.name.as_deref().is_none_or(|name| name == b.name)).collect();
    let needs_device = wanted.iter().any(|bench| bench.needs_device);
    let context = if needs_device { Context::new(cli)? } else { Context::without_device(cli) };
    let facts = if needs_device { context.facts()? } else { Facts::of_host() };
    println!("{facts}");
    let mut outcomes = Vec::new();
    for bench in wanted {
        let outcome = (bench.run)(&context)?;
        println!("\n{}", outcome.text);
        outcomes.push((bench.name, outcome.json));
    }
    if let Some(file) = json {
        file.append(report::document(&facts, cli.quick, outcomes))?;
    }
    Ok(())
}

fn main() -> ExitCode {
    env_logger::Builder::from_env(env_logger::Env::default().default_filter_or("warn")).init();
    let cli = match cli::parse(std::env::args_os()) {
        Parsed::Run(cli) => cli,
        Parsed::Print(text) => {
            print!("{text}");
            return ExitCode::SUCCESS;
        }
        Parsed::Wrong(why) => {
            eprintln!("error: {why}");
            return ExitCode::from(2);
        }
    };
    match run(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", error.one_line());
            ExitCode::FAILURE
        }
    }
}
