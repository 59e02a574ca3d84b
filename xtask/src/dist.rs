//! `cargo xtask dist`: a folder that runs on another Linux machine with a Vulkan loader and no Rust.
//!
//! ```text
//! DIR/demos DIR/bench DIR/tests    scripts: they say where the assets are, and start what is in bin/
//! DIR/bin/                         the binaries
//! DIR/assets/ DIR/golden/          what they read
//! DIR/README DIR/LICENSE-*
//! ```
//!
//! The folder is made beside its final name and renamed, so that a half-made one is never mistaken for it.

use crate::error::Error;
use crate::workspace::{self, Artifact};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// First line of the README, by which an earlier folder of ours is known.
const TITLE: &str = "Vasa: demos, benchmarks and tests, ready to run";

/// Tests that read the sources of the workspace and so cannot run elsewhere.
const SOURCE_TESTS: [&str; 1] = ["layering"];

/// Runs `cargo xtask dist`.
///
/// # Errors
///
/// [`Error::Build`], [`Error::Io`], and [`Error::Usage`] if `out` is a folder of something else.
pub fn dist(out: Option<&Path>, profile: &str) -> Result<u8, Error> {
    let out = out.map_or_else(|| workspace::root().join("target/dist"), Path::to_path_buf);
    let out = std::path::absolute(&out).map_err(Error::io("cannot find", &out))?;
    may_replace(&out)?;
    // One selection of packages for both: nothing is built twice.
    let build = |subcommand: &str, rest: &[&str], what: &str| {
        let mut command = workspace::cargo(&[subcommand]);
        command.args(["--workspace", "--profile", profile]).args(rest);
        workspace::build(&mut command, what)
    };
    let mut artifacts = build("build", &["--bin", "demos", "--bin", "bench"], "the demos and benchmarks")?;
    artifacts.extend(build("test", &["--no-run", "--test", "*"], "the tests")?);

    let name = out.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let made = out.with_file_name(format!(".{name}-{}", std::process::id()));
    let result = fill(&made, &artifacts).and_then(|()| {
        crate::process::check_interrupt()?;
        if out.exists() {
            std::fs::remove_dir_all(&out).map_err(Error::io("cannot replace", &out))?;
        }
        std::fs::rename(&made, &out).map_err(Error::io("cannot rename to", &out))
    });
    if result.is_err() {
        // The first error is the one to show; what cannot be removed has a name that says so.
        let _ = std::fs::remove_dir_all(&made);
    }
    result?;
    println!("{}", out.display());
    Ok(0)
}

/// Whether `out` may be replaced: absent, empty, or made by us before.
fn may_replace(out: &Path) -> Result<(), Error> {
    let ours = std::fs::read_to_string(out.join("README")).is_ok_and(|text| text.starts_with(TITLE));
    let empty = std::fs::read_dir(out).is_ok_and(|mut entries| entries.next().is_none());
    if !out.exists() || ours || empty {
        return Ok(());
    }
    Err(Error::Usage(format!(
        "--out {} is there and was not made by this command; name another folder",
        out.display()
    )))
}

fn fill(made: &Path, artifacts: &[Artifact]) -> Result<(), Error> {
    let bin = made.join("bin");
    std::fs::create_dir_all(&bin).map_err(Error::io("cannot make folder", &bin))?;
    let mut tests = 0;
    for artifact in artifacts {
        let to = match artifact.kind.as_str() {
            "bin" if !artifact.test && ["demos", "bench"].contains(&artifact.name.as_str()) => {
                artifact.name.clone()
            }
            "test" if !SOURCE_TESTS.contains(&artifact.name.as_str()) => {
                tests += 1;
                format!("test-{}", artifact.name)
            }
            _ => continue,
        };
        // `copy` keeps the mode, and with it the right to run.
        std::fs::copy(&artifact.path, bin.join(to)).map_err(Error::io("cannot copy", &artifact.path))?;
    }
    if tests == 0 {
        return Err(Error::Answer {
            program: "cargo".to_owned(),
            problem: "built no integration test; check the [[test]] sections of the tests crate".to_owned(),
        });
    }
    let root = workspace::root();
    copy_folder(&root.join("assets"), &made.join("assets"))?;
    let golden =
        ["tests/golden", "tests/goldens"].into_iter().map(|name| root.join(name)).find(|path| path.is_dir());
    if let Some(golden) = golden {
        copy_folder(&golden, &made.join("golden"))?;
    }
    for license in ["LICENSE-APACHE", "LICENSE-MIT"] {
        let from = root.join(license);
        std::fs::copy(&from, made.join(license)).map_err(Error::io("cannot copy", &from))?;
    }
    script(&made.join("demos"), &format!("{HEAD}exec \"$here/bin/demos\" \"$@\"\n"))?;
    script(&made.join("bench"), &format!("{HEAD}exec \"$here/bin/bench\" \"$@\"\n"))?;
    script(&made.join("tests"), &format!("{HEAD}{TESTS}"))?;
    let readme = made.join("README");
    std::fs::write(&readme, format!("{TITLE}\n{README}")).map_err(Error::io("cannot write", readme))
}

fn copy_folder(from: &Path, to: &Path) -> Result<(), Error> {
    std::fs::create_dir_all(to).map_err(Error::io("cannot make folder", to))?;
    for entry in std::fs::read_dir(from).map_err(Error::io("cannot read", from))? {
        let path = entry.map_err(Error::io("cannot read", from))?.path();
        let target: PathBuf = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            copy_folder(&path, &target)?;
        } else {
            std::fs::copy(&path, target).map_err(Error::io("cannot copy", &path))?;
        }
    }
    Ok(())
}

fn script(path: &Path, text: &str) -> Result<(), Error> {
    std::fs::write(path, text).map_err(Error::io("cannot write", path))?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))
        .map_err(Error::io("cannot write", path))
}

const HEAD: &str = r#"#!/bin/sh
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd -P) || exit 1
export VASA_ASSETS="$here/assets"
"#;

const TESTS: &str = r#"# Every test binary with the arguments given; those of the driver once more in fallback.
export VASA_GOLDEN="$here/golden" VASA_DEMOS="$here/bin/demos"
export VASA_REQUIRE_DRIVER="${VASA_REQUIRE_DRIVER-1}"
failed=
for test in "$here"/bin/test-*; do
    echo "== ${test##*/bin/}"
    "$test" "$@" || failed="$failed ${test##*/test-}"
done
if [ -x "$here/bin/test-driver" ]; then
    echo "== test-driver, fallback"
    VASA_FALLBACK=1 "$here/bin/test-driver" "$@" || failed="$failed driver-fallback"
fi
if [ -n "$failed" ]; then
    echo "error: failed:$failed; the output above names each test" >&2
    exit 1
fi
"#;

const README: &str = r#"
Needs Linux with the C library of the machine it was built on or a newer one, a Vulkan loader (libvulkan.so.1)
and a Vulkan 1.3 driver. No Rust. Nothing is installed; the folder can be moved and removed.

    ./demos devices             the devices seen, and why each is taken or refused
    ./demos help                the scenes
    ./demos terrain             a scene, in a window or, without a display, headless
    ./demos terrain --help      its flags
    ./bench                     every benchmark; ./bench growth --json growth.json for one
    ./tests                     every test; arguments go to each test binary, as in ./tests some_name

The tests in bin/test-gpu want a real GPU. A driver other than the system's is chosen as for any Vulkan
program, by VK_DRIVER_FILES=/path/to/icd.json.
"#;

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn fake(folder: &Path, name: &str, kind: &str, body: &str) -> Artifact {
        let path = folder.join(format!("{name}-0123"));
        script(&path, &format!("#!/bin/sh\n{body}\n")).unwrap();
        Artifact { name: name.to_owned(), kind: kind.to_owned(), test: kind == "test", path }
    }

    #[test]
    fn a_folder_runs_its_binaries_with_arguments_and_assets() {
        let work = tempfile::tempdir().unwrap();
        let demos = "echo \"demo $1 $VASA_ASSETS\"; exit 2";
        let artifacts = [
            fake(work.path(), "demos", "bin", demos),
            fake(work.path(), "bench", "bin", "exit 0"),
            fake(
                work.path(),
                "driver",
                "test",
                "echo \"driver $1 $VASA_FALLBACK\"; [ -z \"$VASA_FALLBACK\" ]",
            ),
            fake(work.path(), "layering", "test", "echo never"),
        ];
        let made = work.path().join("with space");
        fill(&made, &artifacts).unwrap();
        let text = |command: &mut Command| {
            let output = command.output().unwrap();
            (String::from_utf8_lossy(&output.stdout).into_owned(), output.status.code())
        };
        let (shown, status) = text(Command::new("sh").arg(made.join("demos")).arg("terrain"));
        let assets = made.canonicalize().unwrap().join("assets");
        assert_eq!((shown, status), (format!("demo terrain {}\n", assets.display()), Some(2)));
        let (shown, status) = text(Command::new("sh").arg(made.join("tests")).arg("filter"));
        assert!(shown.contains("driver filter \n") && shown.contains("driver filter 1\n"), "{shown}");
        assert!(!shown.contains("never"));
        assert_eq!(status, Some(1), "the fallback run failed");
        for file in ["README", "LICENSE-MIT", "assets/README.md"] {
            assert!(made.join(file).is_file(), "{file}");
        }
        may_replace(&made).unwrap();
    }

    #[test]
    fn a_folder_of_something_else_stays() {
        let folder = tempfile::tempdir().unwrap();
        may_replace(folder.path()).unwrap();
        may_replace(&folder.path().join("absent")).unwrap();
        std::fs::write(folder.path().join("README"), "mine").unwrap();
        assert_eq!(may_replace(folder.path()).unwrap_err().exit_status(), 2);
    }
}
