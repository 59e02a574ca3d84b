//! The command line: names and flags are an interface that scripts rely on.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

/// The commands of the Vasa workspace.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version, about, long_about = None)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// One command.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a demo scene, with a Vulkan driver set up first where there is none
    #[command(
        override_usage = "cargo xtask demo <SCENE> [--driver <DRIVER>] [--yes] [FLAGS OF THE DEMO]...",
        after_help = DEMO_HELP,
        disable_help_flag = true
    )]
    Demo {
        /// The scene, then flags. `cargo xtask demo <SCENE> --help` lists those of the demo
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "SCENE and FLAGS")]
        args: Vec<OsString>,
    },
    /// Show which Vulkan devices were seen, why each was taken or refused, and what would be used
    Driver {
        /// Print `export` lines that point any program at the same driver (set up first if needed):
        /// eval "$(cargo xtask driver --env)"
        #[arg(long)]
        env: bool,
        /// Print the report as JSON
        #[arg(long, conflicts_with = "env")]
        json: bool,
        /// Which driver, and whether to ask.
        #[command(flatten)]
        driver: DriverArgs,
    },
    /// Run the tests, ring by ring, and print one line a ring at the end
    #[command(after_help = TEST_HELP)]
    Test(TestArgs),
    /// Measure: all benchmarks or the one named
    Bench {
        /// The benchmark (all of them when left out)
        name: Option<String>,
        /// Also write the results to this file
        #[arg(long, value_name = "FILE")]
        json: Option<PathBuf>,
        /// Part of the name of the device to measure (the best one when left out)
        #[arg(long, value_name = "NAME")]
        device: Option<String>,
        /// Steady runs of each variant
        #[arg(long, value_name = "N")]
        runs: Option<u32>,
        /// A shorter measurement, to see that everything works
        #[arg(long)]
        quick: bool,
        /// Which driver, and whether to ask.
        #[command(flatten)]
        driver: DriverArgs,
    },
    /// Prepare assets ahead of time (no kind exists yet: always exit status 2)
    Bake {
        /// What to bake
        kind: String,
        /// The files to read
        #[arg(required = true)]
        input: Vec<PathBuf>,
        /// The file to write
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
    },
    /// Make a folder that runs on another Linux machine with a Vulkan loader and no Rust
    Dist {
        /// The folder to make; an earlier one made by this command is replaced [default: target/dist]
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
        /// The cargo profile to build with
        #[arg(long, default_value = "release", value_name = "NAME")]
        profile: String,
    },
}

/// The driver flags that `driver`, `test` and `bench` share (`demo` takes them out of its arguments).
#[derive(Debug, Clone, Copy, Args)]
pub struct DriverArgs {
    /// Which Vulkan driver to run on
    #[arg(long, value_enum, default_value_t = DriverChoice::Auto)]
    pub driver: DriverChoice,
    /// Fetch the software driver without asking when one is needed
    #[arg(long)]
    pub yes: bool,
}

/// Which Vulkan driver the child processes get.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DriverChoice {
    /// What the system has where it can be used, else the software driver
    Auto,
    /// Only what the system has; fail if it cannot be used
    System,
    /// The software driver (Mesa's lavapipe) from the cache folder, fetched if it is not there
    Software,
}

/// The arguments of `test`.
#[derive(Debug, Args)]
pub struct TestArgs {
    /// Run only tests whose name contains this
    pub filter: Option<String>,
    /// Which tests to run
    #[arg(long, value_enum, default_value_t = Ring::All)]
    pub ring: Ring,
    /// Run through cargo-nextest, which must be installed, instead of `cargo test`
    #[arg(long)]
    pub nextest: bool,
    /// Which driver, and whether to ask.
    #[command(flatten)]
    pub driver: DriverArgs,
}

/// A ring of tests: each needs more of the machine than the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Ring {
    /// No Vulkan at all: unit tests, property tests, doc tests, the layering of the sources
    Pure,
    /// The whole API on a driver that executes nothing
    Null,
    /// A Vulkan driver, once sparse and once in fallback, and the engine's examples
    Driver,
    /// A real GPU: what a software driver cannot prove, and the driver tests again
    Gpu,
    /// pure, null and driver, and gpu where there is one
    All,
}

const DEMO_HELP: &str = "\
Taken by this command (the rest goes to the demo as it is):
      --driver <DRIVER>  auto, system or software: which Vulkan driver to run on [default: auto]
      --yes              Fetch the software driver without asking when one is needed
  -h, --help             With a scene: the demo's own help. Without: this text

Examples:
  cargo xtask demo terrain
  cargo xtask demo terrain --headless --frames 60 --out /tmp/picture
  cargo xtask demo terrain --driver software --validate
  cargo xtask demo help            (lists the scenes)

Exit status: that of the demo (0 did what was asked, 1 failed, 2 wrong usage).";

const TEST_HELP: &str = "\
Without --driver, the driver ring runs on the software driver even where there is a GPU: goldens and
validation belong to one driver build. Where it cannot be set up, the GPU is used and that is said.
The gpu ring runs on the system's GPU only.

The tests see VASA_REQUIRE_DRIVER=1 (a missing device is a failure, not a skip), VASA_FALLBACK=1 in the
second run of the driver tests, VASA_DEMOS (the demos binary), and VASA_NO_SKIPS=1 where CI is set.";

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_demo_takes_any_flag_after_the_scene() {
        let cli =
            Cli::try_parse_from(["xtask", "demo", "terrain", "--help", "--set", "a=b", "--yes"]).unwrap();
        let Command::Demo { args } = cli.command else { panic!("not a demo: {cli:?}") };
        assert_eq!(args, ["terrain", "--help", "--set", "a=b", "--yes"]);
    }

    #[test]
    fn env_and_json_exclude_each_other() {
        assert!(Cli::try_parse_from(["xtask", "driver", "--env", "--json"]).is_err());
        assert!(Cli::try_parse_from(["xtask", "driver", "--env", "--driver", "hardware"]).is_err());
    }
}
