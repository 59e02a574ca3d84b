//! `demo` and `bench`: prepare a driver, then run the binary in the user's own folder.

use crate::cli::{DriverArgs, DriverChoice};
use crate::driver;
use crate::error::Error;
use crate::{process, workspace};
use std::ffi::{OsStr, OsString};
use std::process::Command;

/// The arguments of `demo`, taken apart.
#[derive(Debug, PartialEq, Eq)]
struct DemoArgs {
    driver: DriverChoice,
    yes: bool,
    /// What the demo gets, unchanged and in order.
    rest: Vec<OsString>,
}

/// Takes `--driver` and `--yes` out; everything after `--` is the demo's.
fn split(args: &[OsString]) -> Result<DemoArgs, Error> {
    let mut split = DemoArgs { driver: DriverChoice::Auto, yes: false, rest: Vec::new() };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.to_str() {
            Some("--yes") => split.yes = true,
            Some("--driver") => split.driver = choice(args.next().map(OsString::as_os_str))?,
            Some(text) if text.starts_with("--driver=") => {
                split.driver = choice(text.strip_prefix("--driver=").map(OsStr::new))?;
            }
            Some("--") => {
                split.rest.push(arg.clone());
                split.rest.extend(args.by_ref().cloned());
            }
            _ => split.rest.push(arg.clone()),
        }
    }
    Ok(split)
}

fn choice(value: Option<&OsStr>) -> Result<DriverChoice, Error> {
    match value.and_then(OsStr::to_str) {
        Some("auto") => Ok(DriverChoice::Auto),
        Some("system") => Ok(DriverChoice::System),
        Some("software") => Ok(DriverChoice::Software),
        _ => {
            let given = value.map_or_else(|| "nothing".to_owned(), |value| format!("{value:?}"));
            Err(Error::Usage(format!("--driver takes auto, system or software, not {given}")))
        }
    }
}

/// Whether the demo will only print something and needs no Vulkan.
fn prints_only(rest: &[OsString]) -> bool {
    let flag = |name: &str| rest.iter().take_while(|arg| *arg != "--").any(|arg| arg == name);
    rest.is_empty() || rest[0] == "help" || ["--help", "-h", "--version", "-V"].into_iter().any(flag)
}

/// Runs `cargo xtask demo`. Gives back the demo's exit status.
///
/// # Errors
///
/// Wrong `--driver`, a build that fails, or no driver.
pub fn demo(args: &[OsString]) -> Result<u8, Error> {
    if matches!(args.first().and_then(|arg| arg.to_str()), Some("--help" | "-h")) {
        return own_help();
    }
    let args = split(args)?;
    if args.rest.is_empty() {
        return Err(Error::Usage("no scene named; `cargo xtask demo help` lists them".to_owned()));
    }
    let demos = workspace::demos()?;
    let mut command = Command::new(&demos);
    command.args(&args.rest);
    if !prints_only(&args.rest) {
        let wanted = driver::Wanted {
            choice: args.driver,
            yes: args.yes,
            layers: args.rest.iter().any(|arg| arg == "--validate"),
        };
        driver::prepare(&demos, wanted)?.env.apply(&mut command);
    }
    process::run(&mut command).map(process::exit_code)
}

/// Clap's help flag is off for `demo`, so that `demo terrain --help` is the demo's.
fn own_help() -> Result<u8, Error> {
    use clap::CommandFactory;
    let mut cli = crate::cli::Cli::command();
    if let Some(demo) = cli.find_subcommand_mut("demo") {
        println!("{}", demo.render_long_help());
    }
    Ok(0)
}

/// Benches that measure the processor alone: they need no driver, and none is set up for them.
const HOST_BENCHES: [&str; 2] = ["pack", "graph"];

/// Runs `cargo xtask bench`. Gives back the benchmark's exit status.
///
/// # Errors
///
/// A build that fails, or no driver.
pub fn bench(arguments: &[OsString], args: &DriverArgs) -> Result<u8, Error> {
    let is_host = arguments.first().is_some_and(|name| HOST_BENCHES.iter().any(|host| name == host));
    let prepared = if is_host {
        None
    } else {
        let wanted = driver::Wanted { choice: args.driver, yes: args.yes, layers: false };
        Some(driver::prepare(&workspace::demos()?, wanted)?)
    };
    let mut command = Command::new(workspace::bench()?);
    command.args(arguments);
    if let Some(prepared) = prepared {
        prepared.env.apply(&mut command);
    }
    process::run(&mut command).map(process::exit_code)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn os(args: &[&str]) -> Vec<OsString> {
        args.iter().map(OsString::from).collect()
    }

    #[test]
    fn our_flags_are_taken_out_wherever_they_stand() {
        let split =
            split(&os(&["--yes", "terrain", "--size", "1x1", "--driver", "software", "--grow"])).unwrap();
        let rest = os(&["terrain", "--size", "1x1", "--grow"]);
        assert_eq!(split, DemoArgs { driver: DriverChoice::Software, yes: true, rest });
    }

    #[test]
    fn what_follows_two_dashes_is_the_demos() {
        let split = split(&os(&["terrain", "--driver=system", "--", "--yes", "--driver"])).unwrap();
        assert_eq!(split.driver, DriverChoice::System);
        assert!(!split.yes);
        assert_eq!(split.rest, os(&["terrain", "--", "--yes", "--driver"]));
    }

    #[test]
    fn a_wrong_driver_is_wrong_usage() {
        for args in [&["terrain", "--driver"][..], &["terrain", "--driver", "cuda"], &["--driver="]] {
            let error = split(&os(args)).unwrap_err();
            assert_eq!(error.exit_status(), 2, "{args:?}: {error}");
        }
    }

    #[test]
    fn help_needs_no_driver() {
        assert!(prints_only(&os(&["terrain", "--help"])));
        assert!(prints_only(&os(&["help", "terrain"])));
        assert!(!prints_only(&os(&["terrain", "--exec", "help"])));
        assert!(!prints_only(&os(&["terrain", "--", "--help"])));
    }
}
