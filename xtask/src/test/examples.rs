//! The engine's examples, each run for a few frames: what is shown to newcomers must work.

use super::tally::Line;
use crate::driver::ChildEnv;
use crate::error::Error;
use crate::{process, workspace};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Every example takes `--frames` and falls back to headless without a display.
const FRAMES: &str = "3";
/// Far more than an example needs on a slow machine.
const LIMIT: Duration = Duration::from_secs(180);

/// Builds and runs every example of the engine.
///
/// # Errors
///
/// [`Error::Build`] if they do not build, [`Error::Io`] if their folder cannot be made.
pub fn run(env: &ChildEnv) -> Result<Line, Error> {
    let began = Instant::now();
    if std::fs::read_dir(workspace::root().join("engine/examples")).is_err() {
        return Ok(Line::skipped("driver (examples)", "engine/examples does not exist"));
    }
    let built = workspace::build(workspace::cargo(&["build"]).arg("--examples"), "the examples")?;
    let examples: Vec<_> = built.into_iter().filter(|artifact| artifact.kind == "example").collect();
    let folder = workspace::root().join("target/examples");
    std::fs::create_dir_all(&folder).map_err(Error::io("cannot make folder", &folder))?;
    let mut failed = Vec::new();
    for example in &examples {
        eprintln!("vasa: example {}", example.name);
        let mut command = Command::new(&example.path);
        command.args(["--frames", FRAMES]).current_dir(&folder).stdin(Stdio::null());
        env.apply(&mut command);
        let status = process::run_within(&mut command, LIMIT)?;
        process::check_interrupt()?;
        if !status.is_some_and(|status| status.success()) {
            let how =
                status.map_or_else(|| format!("not done after {} s", LIMIT.as_secs()), |s| s.to_string());
            eprintln!("vasa: example {} failed: {how}", example.name);
            failed.push(example.name.clone());
        }
    }
    let ok = failed.is_empty() && !examples.is_empty();
    let counts = match (examples.len(), failed.len()) {
        (0, _) => "no example was built".to_owned(),
        (all, 0) => format!("{all} ran"),
        (all, _) => format!("{all} ran, failed: {}", failed.join(", ")),
    };
    Ok(Line::other("driver (examples)", ok, counts, began.elapsed()))
}
