//! Set-up: fetch Mesa's lavapipe, the loader and the validation layer, keep what they need, seal the folder.

use super::apt::{self, Apt};
use super::cache::{self, Installed};
use super::release::{self, Release};
use super::{manual, sources};
use crate::error::Error;
use crate::{process, workspace};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

const MESA: &str = "mesa-vulkan-drivers";
const PACKAGES: [&str; 3] = [MESA, "libvulkan1", "vulkan-validationlayers"];
/// The libraries we are after; what they need comes with them.
const LIBRARIES: [&str; 3] = ["libvulkan_lvp.so", "libvulkan.so.1", LAYER_LIBRARY];
const LAYER_LIBRARY: &str = "libVkLayer_khronos_validation.so";

/// The software driver from the cache, or fetched after asking (`yes`, CI and a stdin that is no terminal
/// count as an answer). `why` says what made it necessary.
///
/// # Errors
///
/// [`Error::SetUp`] with the next step, after printing the commands for doing it by hand.
pub fn software_driver(why: &str, yes: bool) -> Result<Installed, Error> {
    if let Some(installed) = cache::find() {
        eprintln!(
            "vasa: software driver (Mesa {}) from {}: {why}",
            installed.stamp.mesa,
            installed.folder.display()
        );
        return Ok(installed);
    }
    let release = Release::of_this_system();
    if !apt::is_available() {
        return Err(by_hand(
            &release,
            "the software driver can be fetched by this command only through apt".to_owned(),
        ));
    }
    eprintln!("vasa: the software driver (Mesa's lavapipe, sparse binding) is needed: {why}");
    if !yes && !workspace::in_ci() && std::io::stdin().is_terminal() && !ask()? {
        return Err(by_hand(&release, "the software driver was not fetched because you said no".to_owned()));
    }
    let held = cache::hold()?;
    // The one that we waited for may have done it.
    let folder = held.base.join(cache::key());
    if let Some(installed) = cache::open(&folder) {
        return Ok(installed);
    }
    let work = Work::new(held.base.join(format!("tmp-{}", std::process::id())))?;
    let made = work.0.join("made");
    fetch(&release, &work.0, &made)?;
    process::check_interrupt()?;
    if folder.exists() {
        std::fs::remove_dir_all(&folder).map_err(Error::io("cannot remove", &folder))?;
    }
    std::fs::rename(&made, &folder).map_err(Error::io("cannot rename the new driver to", &folder))?;
    let installed = cache::open(&folder).ok_or_else(|| Error::SetUp {
        reason: format!("the driver in {} is not complete", folder.display()),
        next: "remove that folder and run the command again".to_owned(),
    })?;
    eprintln!(
        "vasa: unpacked into {}; only processes started from here use it, nothing was installed, and removing the \
         folder undoes it",
        folder.display()
    );
    Ok(installed)
}

fn ask() -> Result<bool, Error> {
    eprint!("vasa: fetch it now through apt (about 60 MB, into the user cache folder, without root)? [y/N] ");
    // A prompt that cannot be shown is followed by the same answer.
    let _ = std::io::stderr().flush();
    // Reading on a thread leaves this one free to notice Ctrl-C.
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut answer = String::new();
        // No answer and an unreadable one both count as no; the receiver may be gone.
        let _ = std::io::stdin().read_line(&mut answer);
        let _ = sender.send(answer);
    });
    let answer = loop {
        process::check_interrupt()?;
        match receiver.recv_timeout(Duration::from_millis(50)) {
            Ok(answer) => break answer,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break String::new(),
        }
    };
    Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

/// Prints the commands for doing it by hand and gives the error that ends the command.
fn by_hand(release: &Release, reason: String) -> Error {
    eprint!("{}", manual::instructions(release));
    Error::SetUp { reason, next: "use the commands above, then run this again".to_owned() }
}

/// A working folder that goes away whatever happens.
struct Work(PathBuf);

impl Work {
    fn new(folder: PathBuf) -> Result<Self, Error> {
        std::fs::create_dir_all(&folder).map_err(Error::io("cannot make folder", &folder))?;
        Ok(Self(folder))
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        // What cannot be removed now is removed by the next set-up; without a stamp nobody takes it.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Fetches into `work` and leaves a sealed driver in `made`.
fn fetch(release: &Release, work: &Path, made: &Path) -> Result<(), Error> {
    let (mut own, codename) = apt::system_sources(release)?;
    if own.is_empty() {
        let reason = format!("apt has no package source for this release ({})", release.key());
        return Err(by_hand(release, reason));
    }
    let mut apt = Apt::new(&work.join("apt"), &own)?;
    let mut complaint = apt.update()?;
    let mut mesa = apt.candidate(MESA)?;
    if !mesa.as_deref().is_some_and(release::is_new_enough) && release.is_debian() {
        own.extend(sources::backports(&own, &codename));
        apt.prefer(&own, &format!("{codename}-backports"))?;
        complaint = apt.update()?.or(complaint);
        mesa = apt.candidate(MESA)?.or(mesa);
    }
    let Some(mesa) = mesa else {
        let why = complaint.unwrap_or_else(|| "it is in none of the system's package sources".to_owned());
        return Err(Error::SetUp {
            reason: format!("apt does not find {MESA} ({why})"),
            next: "check the network and `apt-get update`, then run the command again".to_owned(),
        });
    };
    if !release::is_new_enough(&mesa) {
        let why = complaint.map(|why| format!(" ({why})")).unwrap_or_default();
        let reason = format!("the newest Mesa of this release is {mesa}, and 24.2 is needed{why}");
        return Err(by_hand(release, reason));
    }
    let packages = apt.closure(&PACKAGES)?;
    let bytes: u64 = packages.iter().map(|package| package.bytes).sum();
    eprintln!(
        "vasa: fetching Mesa {mesa} through apt: {} packages, {} MB",
        packages.len(),
        bytes.div_ceil(1_000_000)
    );
    let root = work.join("root");
    std::fs::create_dir_all(&root).map_err(Error::io("cannot make folder", &root))?;
    for file in apt.download(&packages)? {
        apt::unpack(&file, &root)?;
        std::fs::remove_file(&file).map_err(Error::io("cannot remove", &file))?;
    }
    keep(&root, made)?;
    cache::seal(made, &mesa, packages.into_iter().map(|package| package.name).collect())?;
    Ok(())
}

/// Copies the driver, the loader, the layer and the libraries that they need from `root` to `made`.
fn keep(root: &Path, made: &Path) -> Result<(), Error> {
    for part in ["lib", "icd", "layers"] {
        let path = made.join(part);
        std::fs::create_dir_all(&path).map_err(Error::io("cannot make folder", &path))?;
    }
    let folders = library_folders(root);
    let search =
        std::env::join_paths(&folders).map_err(|_| unexpected("a folder name with a colon in it"))?;
    let mut kept: BTreeMap<String, PathBuf> = BTreeMap::new();
    for name in LIBRARIES {
        let path = folders.iter().map(|folder| folder.join(name)).find(|path| path.exists());
        let path = path.ok_or_else(|| unexpected(&format!("no {name} in the packages")))?;
        let output = process::output(
            Command::new("ldd").arg(&path).env("LC_ALL", "C").env("LD_LIBRARY_PATH", &search),
        )?;
        let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        kept.extend(needed(&text, root).map_err(|missing| unexpected(&format!("{name} needs {missing}")))?);
        kept.insert(name.to_owned(), path);
    }
    for (name, path) in kept {
        // Following links: one file under the name that the linker asks for.
        std::fs::copy(&path, made.join("lib").join(&name)).map_err(Error::io("cannot copy", &path))?;
    }
    manifest(&find_json(root, "icd.d", "lvp_icd")?, "ICD", "libvulkan_lvp.so", &made.join("icd/lvp.json"))?;
    let layer = "VkLayer_khronos_validation";
    let to = made.join("layers").join(format!("{layer}.json"));
    manifest(&find_json(root, "explicit_layer.d", layer)?, "layer", LAYER_LIBRARY, &to)
}

/// The folders under `root` in which the linker looks for libraries; some packages still use `/lib`.
fn library_folders(root: &Path) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for top in ["usr/lib", "lib"] {
        let top = root.join(top);
        let inner = std::fs::read_dir(&top).into_iter().flatten().flatten().map(|entry| entry.path());
        let mut inner: Vec<PathBuf> =
            inner.filter(|path| path.is_dir() && path.to_string_lossy().contains("-linux-")).collect();
        inner.sort();
        folders.extend(inner);
        folders.extend(Some(top).filter(|top| top.is_dir()));
    }
    folders
}

/// From what `ldd` printed: the libraries found under `root`, by the name asked for. `Err` names one that
/// was not found, or a version of it that was not.
fn needed(ldd: &str, root: &Path) -> Result<BTreeMap<String, PathBuf>, String> {
    let mut found = BTreeMap::new();
    for line in ldd.lines().map(str::trim) {
        if line.contains("not found") {
            let short = line.find("version `").map_or(line, |start| &line[start..]);
            return Err(short.split(" (required by").next().unwrap_or(short).to_owned());
        }
        let Some((name, rest)) = line.split_once(" => ") else { continue };
        let path = rest.rsplit_once(" (0x").map_or(rest, |(path, _)| path);
        if Path::new(path).starts_with(root) {
            found.insert(name.to_owned(), PathBuf::from(path));
        }
    }
    Ok(found)
}

fn find_json(root: &Path, folder: &str, start: &str) -> Result<PathBuf, Error> {
    let folder = root.join("usr/share/vulkan").join(folder);
    let entries = std::fs::read_dir(&folder).map_err(Error::io("cannot read", &folder))?;
    entries
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(start)))
        .ok_or_else(|| unexpected(&format!("no {start}*.json in the packages")))
}

/// Writes the loader's JSON file `from` to `to`, with the library found relative to the file itself: the
/// whole folder can be moved.
fn manifest(from: &Path, object: &str, library: &str, to: &Path) -> Result<(), Error> {
    let text = std::fs::read_to_string(from).map_err(Error::io("cannot read", from))?;
    let mut value: Value =
        serde_json::from_str(&text).map_err(|error| unexpected(&format!("{}: {error}", from.display())))?;
    let entry = value.get_mut(object).and_then(Value::as_object_mut);
    let entry = entry.ok_or_else(|| unexpected(&format!("{} has no {object}", from.display())))?;
    entry.insert("library_path".to_owned(), Value::from(format!("../lib/{library}")));
    std::fs::write(to, format!("{value:#}\n")).map_err(Error::io("cannot write", to))
}

fn unexpected(what: &str) -> Error {
    Error::SetUp {
        reason: format!("the fetched packages are not as expected: {what}"),
        next:
            "`cargo xtask driver` shows the system's own devices, docs/driver.md how to install one by hand"
                .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ldd_found_in_our_folder_is_kept() {
        let text = "\tlinux-vdso.so.1 (0x00007f4a0fd36000)\n\
            \tlibLLVM-15.so.1 => /w o/root/usr/lib/libLLVM-15.so.1 (0x00007f4a08000000)\n\
            \tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f4a07a1e000)\n\
            \t/lib64/ld-linux-x86-64.so.2 (0x00007f4a0fd38000)\n";
        let found = needed(text, Path::new("/w o/root")).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found["libLLVM-15.so.1"], Path::new("/w o/root/usr/lib/libLLVM-15.so.1"));
    }

    #[test]
    fn a_library_or_a_version_that_is_missing_is_named() {
        let root = Path::new("/r");
        let missing = needed("\tlibz3.so.4 => not found\n", root).unwrap_err();
        assert!(missing.contains("libz3.so.4"));
        let old = "/r/x.so: /lib/libc.so.6: version `GLIBC_2.38' not found (required by /r/x.so)";
        assert_eq!(needed(old, root).unwrap_err(), "version `GLIBC_2.38' not found");
    }

    #[test]
    fn a_manifest_points_at_its_neighbour() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from.json"), folder.path().join("to.json"));
        std::fs::write(&from, r#"{"ICD":{"api_version":"1.4.305","library_path":"libvulkan_lvp.so"}}"#)
            .unwrap();
        manifest(&from, "ICD", "libvulkan_lvp.so", &to).unwrap();
        let value: Value = serde_json::from_str(&std::fs::read_to_string(&to).unwrap()).unwrap();
        assert_eq!(value["ICD"]["library_path"], "../lib/libvulkan_lvp.so");
        assert_eq!(value["ICD"]["api_version"], "1.4.305");
        assert!(manifest(&from, "layer", "x.so", &to).is_err());
    }

    #[test]
    fn a_working_folder_goes_away() {
        let base = tempfile::tempdir().unwrap();
        let folder = base.path().join("tmp-1");
        let work = Work::new(folder.clone()).unwrap();
        std::fs::write(work.0.join("half"), "done").unwrap();
        drop(work);
        assert!(!folder.exists());
    }
}
