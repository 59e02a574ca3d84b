//! The workspace: where it is, and how its binaries are built.

use crate::error::Error;
use crate::process;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// An executable that cargo built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// The target's name, as in `demos` or `driver`.
    pub name: String,
    /// `bin`, `test`, `example`, `lib`...
    pub kind: String,
    /// Whether it was built as a test harness.
    pub test: bool,
    /// The file.
    pub path: PathBuf,
}

/// The root folder of the workspace.
pub fn root() -> PathBuf {
    // `cargo run` sets the variable; a binary started by hand falls back on where it was built.
    let own = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    own.parent().map_or_else(|| own.clone(), Path::to_path_buf)
}

/// `cargo` on this workspace, without the variables that `cargo run` set for us: build scripts that
/// look at them would run again.
///
/// Packages are never selected one by one where it can be avoided: cargo unifies features over what is
/// selected, and another selection would build the engine a second time.
pub fn cargo(subcommand: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(subcommand).arg("--manifest-path").arg(root().join("Cargo.toml"));
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(set_by_cargo_run) {
            command.env_remove(name);
        }
    }
    command
}

fn set_by_cargo_run(name: &str) -> bool {
    name.starts_with("CARGO_PKG_")
        || name.starts_with("CARGO_MANIFEST_")
        || matches!(name, "CARGO_BIN_NAME" | "CARGO_CRATE_NAME" | "CARGO_PRIMARY_PACKAGE")
}

/// Runs a cargo command that builds, and gives back the executables. Its messages go to stderr.
///
/// # Errors
///
/// [`Error::Build`] if it fails, [`Error::Start`] if there is no cargo.
pub fn build(command: &mut Command, what: &str) -> Result<Vec<Artifact>, Error> {
    command.arg("--message-format=json-render-diagnostics").stdin(Stdio::null()).stdout(Stdio::piped());
    let child = process::start(command)?;
    let output = child
        .wait_with_output()
        .map_err(|source| Error::Start { program: process::program(command), source })?;
    process::check_interrupt()?;
    if !output.status.success() {
        return Err(Error::Build { what: what.to_owned() });
    }
    Ok(executables(&String::from_utf8_lossy(&output.stdout)))
}

/// Builds the demos binary.
///
/// # Errors
///
/// As [`build`]; [`Error::Answer`] if cargo built no such binary.
pub fn demos() -> Result<PathBuf, Error> {
    let mut command = cargo(&["build"]);
    command.args(["--bin", "demos"]);
    one(build(&mut command, "the demos")?, "demos")
}

/// Builds the bench binary with the features that everything else is built with.
///
/// # Errors
///
/// As [`build`]; [`Error::Answer`] if cargo built no such binary.
pub fn bench() -> Result<PathBuf, Error> {
    let mut command = cargo(&["build"]);
    command.args(["--workspace", "--bin", "bench"]);
    one(build(&mut command, "the benchmarks")?, "bench")
}

fn one(artifacts: Vec<Artifact>, name: &str) -> Result<PathBuf, Error> {
    artifacts
        .into_iter()
        .find(|artifact| artifact.kind == "bin" && !artifact.test && artifact.name == name)
        .map_or_else(
            || {
                Err(Error::Answer {
                    program: "cargo".to_owned(),
                    problem: format!("built no binary {name}; check the [[bin]] sections of the workspace"),
                })
            },
            |artifact| Ok(artifact.path),
        )
}

/// The executables named in cargo's JSON messages, in the order built.
fn executables(messages: &str) -> Vec<Artifact> {
    let mut found = Vec::new();
    for line in messages.lines() {
        let Ok(message) = serde_json::from_str::<Value>(line) else { continue };
        let (Some("compiler-artifact"), Some(path)) =
            (message["reason"].as_str(), message["executable"].as_str())
        else {
            continue;
        };
        found.push(Artifact {
            name: message["target"]["name"].as_str().unwrap_or_default().to_owned(),
            kind: message["target"]["kind"][0].as_str().unwrap_or_default().to_owned(),
            test: message["profile"]["test"].as_bool().unwrap_or(false),
            path: PathBuf::from(path),
        });
    }
    found
}

/// Whether a CI system runs us, by the variable that all of them set.
pub fn in_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| !matches!(value.as_str(), "" | "0" | "false"))
}

/// The file called `name` in `PATH`, if there is one.
pub fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executables_are_read_from_cargos_messages() {
        let messages = concat!(
            r#"{"reason":"compiler-artifact","target":{"kind":["lib"],"name":"vasa"},"profile":{"test":false},"executable":null}"#,
            "\n",
            r#"{"reason":"compiler-artifact","target":{"kind":["test"],"name":"driver"},"profile":{"test":true},"executable":"/t/driver-1"}"#,
            "\nnot json\n",
            r#"{"reason":"build-finished","success":true}"#,
        );
        let expected = Artifact {
            name: "driver".to_owned(),
            kind: "test".to_owned(),
            test: true,
            path: PathBuf::from("/t/driver-1"),
        };
        assert_eq!(executables(messages), [expected]);
    }

    #[test]
    fn only_what_cargo_run_sets_is_taken_away() {
        assert!(set_by_cargo_run("CARGO_PKG_NAME"));
        assert!(set_by_cargo_run("CARGO_MANIFEST_DIR"));
        assert!(!set_by_cargo_run("CARGO_TARGET_DIR"));
        assert!(!set_by_cargo_run("CARGO_HOME"));
    }

    #[test]
    fn the_root_is_the_workspace() {
        assert!(root().join("Cargo.toml").is_file());
        assert!(root().join("xtask").is_dir());
    }
}
