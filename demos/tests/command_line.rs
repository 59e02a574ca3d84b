//! The program as people and scripts use it: bad input is one line that says what to do, with the right exit
//! status. Nothing here needs a Vulkan driver.

use std::path::Path;
use std::process::{Command, Output};

/// Runs the program without display and without any Vulkan driver.
fn demos(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_demos"))
        .args(arguments)
        .env_remove("DISPLAY")
        .env_remove("WAYLAND_DISPLAY")
        .env_remove("WAYLAND_SOCKET")
        .env_remove("VASA_ASSETS")
        .env("VK_DRIVER_FILES", "/nowhere/driver.json")
        .env("VK_ICD_FILENAMES", "/nowhere/driver.json")
        .output()
        .unwrap()
}

/// The one `error:` line, the last of standard error.
fn error_of(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let errors: Vec<&str> = text.lines().filter(|line| line.starts_with("error:")).collect();
    assert_eq!(errors.len(), 1, "{text}");
    assert_eq!(text.lines().last(), errors.first().copied(), "{text}");
    assert!(!text.contains("panicked"), "{text}");
    errors[0].to_owned()
}

fn refused(arguments: &[&str], status: i32, says: &str) {
    let output = demos(arguments);
    let error = error_of(&output);
    assert_eq!(output.status.code(), Some(status), "{arguments:?}: {error}");
    assert!(error.contains(says), "{arguments:?}: {error}");
}

fn files(folder: &Path) -> usize {
    std::fs::read_dir(folder).unwrap().count()
}

#[test]
fn wrong_usage_is_status_two() {
    let out = tempfile::tempdir().unwrap();
    let out = out.path().to_str().unwrap();
    for (arguments, says) in [
        (&["terrain", "--size", "0x0"][..], "at least 1x1"),
        (&["terrain", "--frames", "0"], "at least 1"),
        (&["terrain", "--budget", "100"], "--budget"),
        (&["terrain", "--set", "light.exposure=dark", "--out", out], "0.01 to 100"),
        (&["terrain", "--exec", "vt pools", "--out", out], "known: device"),
        (&["terrain", "--headless", "--window"], "cannot be used with"),
        (&["volcano"], "unrecognized subcommand"),
    ] {
        refused(arguments, 2, says);
    }
    assert_eq!(files(Path::new(out)), 0, "nothing was begun");
}

#[test]
fn what_cannot_be_done_is_status_one() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(at("file"), "").unwrap();
    std::fs::write(at("text.tif"), "not a height map").unwrap();
    let (out, blocked) = (at("out"), at("file/out"));
    refused(&["terrain", "--out", &blocked], 1, "choose another with --out");
    refused(&["terrain", "--window", "--out", &out], 1, "leave --window out");
    refused(&["terrain", "--knobs", &at("none"), "--out", &out], 1, "cannot be read");
    for (file, says) in [("missing.tif", "missing.tif"), ("file", "empty"), ("text.tif", "text")] {
        refused(&["terrain", "--headless", "--dem", &at(file), "--out", &out], 1, says);
    }
    assert_eq!(files(Path::new(&out)), 0, "nothing half-written");
}

#[test]
fn without_a_driver_there_is_an_error_that_says_what_to_do() {
    let out = tempfile::tempdir().unwrap();
    let out = out.path().to_str().unwrap();
    refused(&["terrain", "--out", out], 1, "cargo xtask driver");
    assert_eq!(files(Path::new(out)), 0, "nothing half-written");
}

#[test]
fn no_display_is_said_once_and_headless_follows() {
    let out = tempfile::tempdir().unwrap();
    let output = demos(&["terrain", "--out", out.path().to_str().unwrap()]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(text.matches("running headless").count(), 1, "{text}");
}

#[test]
fn the_device_report_is_json_even_without_a_driver() {
    let output = demos(&["devices", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let keys: Vec<_> = report.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["chosen", "devices", "loader_error"]);
    assert!(report["chosen"].is_null() && report["devices"].as_array().unwrap().is_empty());
    assert!(report["loader_error"].as_str().unwrap().contains("Vulkan"), "{report}");
    assert_eq!(output.stderr.len(), 0, "JSON readers get nothing else");
}

#[test]
fn help_is_complete() {
    let output = demos(&["terrain", "--help"]);
    assert!(output.status.success());
    let text = String::from_utf8_lossy(&output.stdout);
    for flag in [
        "--headless",
        "--frames",
        "--size",
        "--out",
        "--seed",
        "--fallback",
        "--mask",
        "--validate",
        "--device",
        "--set",
        "--exec",
        "--yes",
        "--dem",
        "--grow",
        "--exaggerate",
        "--pixel-size",
        "--window",
        "--knobs",
    ] {
        assert!(text.contains(flag), "{flag} is missing:\n{text}");
    }
}
