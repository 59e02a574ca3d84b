//! Notes the commit the benches are built from, for their reports. Without git it stays unknown.

use std::path::Path;
use std::process::Command;

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok().filter(|o| o.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_string();
    (!text.is_empty()).then_some(text)
}

fn main() {
    // `intel_tex_2` comes with kernels that were compiled from C++, and does not say so.
    if std::env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|env| env == "gnu") {
        println!("cargo::rustc-link-lib=stdc++");
    }
    println!("cargo::rerun-if-env-changed=VASA_COMMIT");
    // What decides between clean and `-dirty`: the index, the head, and the sources that are measured.
    for file in ["HEAD", "logs/HEAD", "index"] {
        if let Some(path) = git(&["rev-parse", "--git-path", file]).filter(|p| Path::new(p).exists()) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    for source in ["src", "../engine/src", "../shaders"] {
        println!("cargo::rerun-if-changed={source}");
    }
    let given = std::env::var("VASA_COMMIT").ok().filter(|c| !c.trim().is_empty());
    let commit = given
        .or_else(|| git(&["describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]))
        .unwrap_or_else(|| "unknown".into());
    println!("cargo::rustc-env=VASA_BUILD_COMMIT={}", commit.trim());
}
