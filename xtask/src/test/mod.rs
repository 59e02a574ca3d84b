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
use std::io::{IsTerminal, Read, Write};
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
        let sources = ["--lib", "--bins", "--test", "layering", "--test", "graph_allocations"];
        lines.push(cargo_test(args, &ChildEnv::default(), &Run::plain("pure", &sources))?);
        if !args.nextest {
            lines.push(cargo_test(args, &ChildEnv::default(), &Run::plain("pure (docs)", &["--doc"]))?);
        }
    }
    if wants(Ring::Null) {
        lines.push(cargo_test(args, &ChildEnv::default(), &Run::plain("null", &["--test", "null"]))?);
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
    let sparse = [("VASA_DEMOS", demos)];
    let fallback = [("VASA_DEMOS", demos), ("VASA_FALLBACK", "1".as_ref())];
    let sparse = Run { ring: "driver (sparse)", selection: &with_demos, variables: &sparse };
    let fallback = Run { ring: "driver (fallback)", selection: &tests, variables: &fallback };
    if is_beside(args, prepared) {
        lines.extend(both(args, &prepared.env, &sparse, &fallback)?);
    } else {
        lines.push(cargo_test(args, &prepared.env, &sparse)?);
        lines.push(cargo_test(args, &prepared.env, &fallback)?);
    }
    if args.filter.is_none() {
        lines.push(examples::run(&prepared.env)?);
    }
    Ok(())
}

/// Whether both runs of the driver ring go on at once. Each has one test at a time, which mostly keeps one processor
/// busy; on a GPU they would take memory from each other.
fn is_beside(args: &TestArgs, prepared: &Prepared) -> bool {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    !args.nextest && processors > 1 && !prepared.device.is_gpu()
}

/// Two runs at once: the first is shown as it goes, the second when both are done.
fn both(args: &TestArgs, env: &ChildEnv, first: &Run<'_>, second: &Run<'_>) -> Result<[Line; 2], Error> {
    // Built before, or one would wait for the other's build.
    let began = std::time::Instant::now();
    let mut build = workspace::cargo(&["test", "--no-run"]);
    build.args(first.selection);
    if !process::run(&mut build)?.success() {
        return Ok([first, second].map(|run| Line::ran(run.ring, false, Tally::default(), began.elapsed())));
    }
    eprintln!("vasa: ring {} goes on beside it, and is shown afterwards", second.ring);
    let (mut kept, mut said, name) = (Vec::new(), Vec::new(), second.ring);
    let piped = |source| Error::Start { program: "a pipe".to_owned(), source };
    let (mut reader, writer) = std::io::pipe().map_err(piped)?;
    let (first, second) = std::thread::scope(|scope| {
        scope.spawn(|| reader.read_to_end(&mut said));
        let beside = scope.spawn(|| cargo_test_into(args, env, second, &mut kept, writer.into()));
        let first = cargo_test(args, env, first);
        let gone = || Err(Error::Tests(format!("ring {name} was not waited for")));
        (first, beside.join().unwrap_or_else(|_| gone()))
    });
    println!("\nring {name}:");
    // If nobody reads it any more, the counting still matters.
    let _ = std::io::stderr().write_all(&said);
    let _ = std::io::stdout().write_all(&kept);
    Ok([first?, second?])
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
    lines.push(cargo_test(
        args,
        &prepared.env,
        &Run { ring: "gpu", selection: &tests, variables: &variables },
    )?);
    let fallback = [("VASA_DEMOS", demos.as_os_str()), ("VASA_FALLBACK", OsStr::new("1"))];
    let fallback = Run { ring: "gpu (fallback)", selection: &["--test", "driver"], variables: &fallback };
    lines.push(cargo_test(args, &prepared.env, &fallback)?);
    Ok(())
}

/// What one run of cargo's tests is.
struct Run<'a> {
    /// Its name in the last lines.
    ring: &'a str,
    /// Which tests, as cargo's arguments.
    selection: &'a [&'a str],
    /// Variables of its own.
    variables: &'a [(&'a str, &'a OsStr)],
}

impl<'a> Run<'a> {
    fn plain(ring: &'a str, selection: &'a [&'a str]) -> Self {
        Self { ring, selection, variables: &[] }
    }
}

/// One run of cargo's tests: shown as it goes, counted for the last line.
fn cargo_test(args: &TestArgs, env: &ChildEnv, run: &Run<'_>) -> Result<Line, Error> {
    eprintln!("vasa: ring {}", run.ring);
    cargo_test_into(args, env, run, &mut std::io::stdout(), Stdio::inherit())
}

/// The same, shown into `shown`; what cargo itself says goes to `said`.
fn cargo_test_into(
    args: &TestArgs,
    env: &ChildEnv,
    run: &Run<'_>,
    shown: &mut impl Write,
    said: Stdio,
) -> Result<Line, Error> {
    let Run { ring, selection, variables } = run;
    let mut command = if args.nextest {
        let mut command = workspace::cargo(&["nextest", "run"]);
        command.arg("--no-tests=pass");
        command
    } else {
        workspace::cargo(&["test"])
    };
    command.args(["--no-fail-fast"]).args(*selection).args(args.filter.as_deref());
    if !args.nextest && std::io::stdout().is_terminal() {
        command.args(["--", "--color=always"]);
    }
    env.apply(&mut command);
    command.env("VASA_REQUIRE_DRIVER", "1").envs(variables.iter().copied());
    if workspace::in_ci() {
        command.env("VASA_NO_SKIPS", "1");
    }
    let began = std::time::Instant::now();
    command.stdin(Stdio::null()).stderr(said);
    let mut tally = Tally::default();
    let status = if args.nextest {
        process::run(&mut command)?
    } else {
        command.stdout(Stdio::piped());
        let mut child = process::start(&mut command)?;
        if let Some(stdout) = child.stdout.take() {
            tally.follow(stdout, shown);
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
