//! `cargo xtask test`: the rings, what each runs, and one line a ring at the end.
//!
//! ```text
//! pure    libs, bins and docs of the default members; the layering of the sources
//! null    vasa-tests --test null
//! driver  vasa-tests --test driver, sparse, with the demos' own tests (command line, window); again with
//!         VASA_FALLBACK=1; every example of the engine
//! gpu     vasa-tests --test gpu and --test driver, on the system's GPU; --test driver again in fallback
//! ```
//!
//! Every cargo call selects all default members and narrows by target: another selection of packages
//! would unify features in another way and build the engine again.

mod examples;
mod tally;

use crate::cli::{DriverChoice, Ring, TestArgs};
use crate::driver::{self, ChildEnv, Prepared, Wanted};
use crate::error::Error;
use crate::{process, workspace};
use std::ffi::OsStr;
use std::io::IsTerminal;
use std::path::Path;
use std::process::Stdio;
use tally::{Line, Tally};

/// Runs the tests that `args` asks for.
///
/// # Errors
///
/// [`Error::Tests`] if any failed, and what [`driver::prepare`] says if there is no driver.
pub fn test(args: &TestArgs) -> Result<u8, Error> {
    check_tools(args)?;
    let wants = |ring| args.ring == ring || args.ring == Ring::All;
    let mut lines = Vec::new();
    if wants(Ring::Pure) {
        lines.push(cargo_test(
            args,
            "pure",
            &["--lib", "--bins", "--test", "layering", "--test", "graph_allocations"],
            &ChildEnv::default(),
            &[],
        )?);
        if !args.nextest {
            lines.push(cargo_test(args, "pure (docs)", &["--doc"], &ChildEnv::default(), &[])?);
        }
    }
    if wants(Ring::Null) {
        lines.push(cargo_test(args, "null", &["--test", "null"], &ChildEnv::default(), &[])?);
    }
    if wants(Ring::Driver) || wants(Ring::Gpu) {
        let demos = workspace::demos()?;
        if wants(Ring::Driver) {
            let prepared = for_driver_ring(&demos, args)?;
            driver_ring(args, &prepared, &demos, &mut lines)?;
        }
        if wants(Ring::Gpu) {
            gpu_ring(args, &demos, &mut lines)?;
        }
    }
    finish(&lines)
}

/// The driver for the driver ring: the software driver unless another was named.
fn for_driver_ring(demos: &Path, args: &TestArgs) -> Result<Prepared, Error> {
    let wanted = Wanted { choice: args.driver.driver, yes: args.driver.yes, layers: true };
    let prepared = driver::prepare(demos, wanted)?;
    let named =
        ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"].into_iter().any(|name| std::env::var_os(name).is_some());
    if wanted.choice != DriverChoice::Auto || named || !prepared.device.is_gpu() {
        return Ok(prepared);
    }
    match driver::prepare(demos, Wanted { choice: DriverChoice::Software, ..wanted }) {
        Ok(software) => Ok(software),
        Err(Error::Interrupted) => Err(Error::Interrupted),
        Err(error) => {
            eprintln!("vasa: the driver ring runs on {} instead: {error}", prepared.device.name);
            Ok(prepared)
        }
    }
}

fn driver_ring(
    args: &TestArgs,
    prepared: &Prepared,
    demos: &Path,
    lines: &mut Vec<Line>,
) -> Result<(), Error> {
    eprintln!("vasa: driver ring on {} ({})", prepared.device.name, prepared.device.driver);
    let demos = demos.as_os_str();
    let tests = ["--test", "driver"];
    let with_demos = ["--test", "driver", "--test", "command_line", "--test", "window_smoke"];
    lines.push(cargo_test(args, "driver (sparse)", &with_demos, &prepared.env, &[("VASA_DEMOS", demos)])?);
    let fallback = [("VASA_DEMOS", demos), ("VASA_FALLBACK", "1".as_ref())];
    lines.push(cargo_test(args, "driver (fallback)", &tests, &prepared.env, &fallback)?);
    if args.filter.is_none() {
        lines.push(examples::run(&prepared.env)?);
    }
    Ok(())
}

/// The system's GPU or, in ring `all`, a line that says why there is none.
fn gpu_ring(args: &TestArgs, demos: &Path, lines: &mut Vec<Line>) -> Result<(), Error> {
    if let Some(explicit) = driver::Explicit::from_env() {
        explicit.check()?;
    }
    let report = driver::report::ask(demos, &ChildEnv::default())?;
    let refusal = match report.chosen() {
        Some(device) if device.is_gpu() => None,
        Some(device) => Some(format!("{} is a software driver", device.name)),
        None => Some(report.refusal()),
    };
    if let Some(why) = refusal {
        if args.ring == Ring::Gpu {
            return Err(Error::Driver(format!(
                "ring gpu needs a real GPU with Vulkan 1.3 ({why}); `cargo xtask driver` shows the devices, --ring \
                 driver runs on the software driver"
            )));
        }
        lines.push(Line::skipped("gpu", &format!("no real GPU ({why})")));
        return Ok(());
    }
    // The validation layer is fetched only where the command line leaves the choice open.
    let choice = match args.driver.driver {
        DriverChoice::Auto => DriverChoice::Auto,
        DriverChoice::System | DriverChoice::Software => DriverChoice::System,
    };
    let prepared = driver::prepare(demos, Wanted { choice, yes: args.driver.yes, layers: true })?;
    eprintln!("vasa: gpu ring on {} ({})", prepared.device.name, prepared.device.driver);
    let variables = [("VASA_DEMOS", demos.as_os_str())];
    let tests = ["--test", "gpu", "--test", "driver"];
    lines.push(cargo_test(args, "gpu", &tests, &prepared.env, &variables)?);
    let fallback = [("VASA_DEMOS", demos.as_os_str()), ("VASA_FALLBACK", OsStr::new("1"))];
    lines.push(cargo_test(args, "gpu (fallback)", &["--test", "driver"], &prepared.env, &fallback)?);
    Ok(())
}

/// One run of cargo's tests: shown as it goes, counted for the last line.
fn cargo_test(
    args: &TestArgs,
    ring: &str,
    selection: &[&str],
    env: &ChildEnv,
    variables: &[(&str, &std::ffi::OsStr)],
) -> Result<Line, Error> {
    let mut command = if args.nextest {
        let mut command = workspace::cargo(&["nextest", "run"]);
        command.arg("--no-tests=pass");
        command
    } else {
        workspace::cargo(&["test"])
    };
    command.args(["--no-fail-fast"]).args(selection).args(args.filter.as_deref());
    if !args.nextest && std::io::stdout().is_terminal() {
        command.args(["--", "--color=always"]);
    }
    env.apply(&mut command);
    command.env("VASA_REQUIRE_DRIVER", "1").envs(variables.iter().copied());
    if workspace::in_ci() {
        command.env("VASA_NO_SKIPS", "1");
    }
    eprintln!("vasa: ring {ring}");
    let began = std::time::Instant::now();
    command.stdin(Stdio::null());
    let mut tally = Tally::default();
    let status = if args.nextest {
        process::run(&mut command)?
    } else {
        command.stdout(Stdio::piped());
        let mut child = process::start(&mut command)?;
        if let Some(stdout) = child.stdout.take() {
            tally.follow(stdout, &mut std::io::stdout());
        }
        process::wait(&mut child, &command, None)?.unwrap_or_default()
    };
    process::check_interrupt()?;
    Ok(Line::ran(ring, status.success(), tally, began.elapsed()))
}

/// What the tests need and cargo would complain about less clearly.
fn check_tools(args: &TestArgs) -> Result<(), Error> {
    if args.nextest && workspace::find_program("cargo-nextest").is_none() {
        return Err(Error::Usage(
            "--nextest needs cargo-nextest in PATH: `cargo install cargo-nextest`, or leave the flag out"
                .to_owned(),
        ));
    }
    let lock = std::fs::read_to_string(workspace::root().join("Cargo.lock")).unwrap_or_default();
    let compiler = ["c++", "g++", "clang++"].into_iter().any(|name| workspace::find_program(name).is_some());
    if lock.contains("name = \"nv-flip-sys\"") && !compiler && std::env::var_os("CXX").is_none() {
        return Err(Error::SetUp {
            reason: "the comparison of pictures is written in C++ and there is no C++ compiler".to_owned(),
            next: "install one (Debian and Ubuntu: `sudo apt-get install g++`; Fedora: `sudo dnf install gcc-c++`; \
                   Arch: `sudo pacman -S gcc`) or set CXX"
                .to_owned(),
        });
    }
    Ok(())
}

fn finish(lines: &[Line]) -> Result<u8, Error> {
    println!();
    for line in lines {
        println!("{line}");
    }
    let failed: Vec<&str> = lines.iter().filter(|line| line.failed()).map(Line::ring).collect();
    if failed.is_empty() {
        return Ok(0);
    }
    Err(Error::Tests(format!("tests failed in: {}; the output above names each", failed.join(", "))))
}
