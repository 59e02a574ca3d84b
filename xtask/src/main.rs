//! `cargo xtask`: the commands that people and CI share.
//!
//! This crate knows nothing of the engine. It builds the other binaries, finds or sets up a Vulkan
//! driver for them ([`driver`]), and starts them as child processes with the right environment.
//!
//! ```text
//! cli -> driver::prepare -> ChildEnv -> demo | test | bench | driver (as child processes)
//!            |                           dist (no driver: it only builds and copies)
//!            +- report (what `demos devices` saw) -> decide (pure) -> cache / apt (set-up)
//! ```
//!
//! Exit status: 0 = did what was asked, 1 = failed (one line on stderr that starts with `error:`),
//! 2 = wrong usage. A demo's own exit status is passed on.

mod cli;
mod demo;
mod dist;
mod driver;
mod error;
mod process;
mod test;
mod workspace;

use clap::Parser;
use cli::{Cli, Command};
use error::Error;
use std::ffi::OsString;
use std::process::ExitCode;

fn run(cli: Cli) -> Result<u8, Error> {
    match cli.command {
        Command::Demo { args } => demo::demo(&args),
        Command::Bench { name, json, device, runs, quick, driver } => {
            let mut arguments: Vec<OsString> = name.into_iter().map(OsString::from).collect();
            let mut flag = |flag: &str, value: OsString| arguments.extend([flag.into(), value]);
            json.into_iter().for_each(|file| flag("--json", file.into()));
            device.into_iter().for_each(|name| flag("--device", name.into()));
            runs.into_iter().for_each(|runs| flag("--runs", runs.to_string().into()));
            arguments.extend(quick.then(|| "--quick".into()));
            demo::bench(&arguments, &driver)
        }
        Command::Driver { env, json, driver } => driver::show::show(env, json, &driver),
        Command::Test(args) => test::test(&args),
        Command::Bake { kind, .. } => Err(Error::Usage(format!(
            "nothing can be baked yet: kind {kind:?} is unknown, and so is every other; scenes read their input as it is"
        ))),
        Command::Dist { out, profile } => dist::dist(out.as_deref(), &profile),
    }
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    if let Err(error) = process::catch_interrupts() {
        eprintln!("error: {error}");
        return ExitCode::from(1);
    }
    match run(cli) {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(error.exit_status())
        }
    }
}
