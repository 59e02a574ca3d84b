//! Where the software driver is kept, and whether what is there is whole.
//!
//! ```text
//! $XDG_CACHE_HOME/vasa/driver/      (else ~/.cache/..., else target/driver)
//!     lock                          held by the one that sets up
//!     tmp-<pid>/                    half-done work; renamed at the end, or removed
//!     debian-12-x86_64/             one folder a release: libraries of one do not run on all others
//!         lib/ icd/ layers/         libraries, the driver's JSON, the validation layer's JSON
//!         stamp.json                written last: format, Mesa version, every file with its size
//! ```

use super::env::DriverFiles;
use super::release::Release;
use crate::error::Error;
use crate::workspace;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

/// Changes whenever the layout or the content of the folder does.
pub const FORMAT: u32 = 1;

/// What `stamp.json` says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// [`FORMAT`] when it was written.
    pub format: u32,
    /// Version of the Mesa package.
    pub mesa: String,
    /// The packages that it came from.
    pub packages: Vec<String>,
    /// Every file, relative to the folder, with its size in bytes.
    pub files: BTreeMap<String, u64>,
}

/// A complete software driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// Its folder.
    pub folder: PathBuf,
    /// What it is.
    pub stamp: Stamp,
}

impl Installed {
    /// The parts that an environment points at.
    pub fn files(&self) -> DriverFiles {
        DriverFiles {
            libraries: self.folder.join("lib"),
            icd: self.folder.join("icd/lvp.json"),
            layers: self.folder.join("layers"),
        }
    }
}

/// The folders that may hold drivers, best first.
pub fn bases() -> Vec<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let user = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
    let mut bases: Vec<PathBuf> = user.map(|user| user.join("vasa/driver")).into_iter().collect();
    bases.push(workspace::root().join("target/driver"));
    bases
}

/// The name of this system's folder in a base.
pub fn key() -> String {
    format!("{}-{}", Release::of_this_system().key(), std::env::consts::ARCH)
}

/// A complete driver in any of the places.
pub fn find() -> Option<Installed> {
    bases().iter().find_map(|base| open(&base.join(key())))
}

/// The driver in `folder` if it is complete.
pub fn open(folder: &Path) -> Option<Installed> {
    let text = std::fs::read_to_string(folder.join("stamp.json")).ok()?;
    let stamp: Stamp = serde_json::from_str(&text).ok()?;
    let whole = stamp.format == FORMAT
        && !stamp.files.is_empty()
        && stamp.files.iter().all(|(name, bytes)| {
            std::fs::metadata(folder.join(name)).is_ok_and(|file| file.is_file() && file.len() == *bytes)
        });
    whole.then(|| Installed { folder: folder.to_owned(), stamp })
}

/// Writes the stamp of `folder`: from then on it counts as complete.
///
/// # Errors
///
/// [`Error::Io`].
pub fn seal(folder: &Path, mesa: &str, packages: Vec<String>) -> Result<Stamp, Error> {
    let mut files = BTreeMap::new();
    for part in ["lib", "icd", "layers"] {
        let part_folder = folder.join(part);
        for entry in std::fs::read_dir(&part_folder).map_err(Error::io("cannot read", &part_folder))? {
            let entry = entry.map_err(Error::io("cannot read", &part_folder))?;
            let size = std::fs::metadata(entry.path()).map_err(Error::io("cannot read", entry.path()))?.len();
            files.insert(format!("{part}/{}", entry.file_name().to_string_lossy()), size);
        }
    }
    let stamp = Stamp { format: FORMAT, mesa: mesa.to_owned(), packages, files };
    let path = folder.join("stamp.json");
    let text = serde_json::to_string_pretty(&stamp).map_err(|error| Error::Answer {
        program: "stamp".to_owned(),
        problem: format!("cannot be written as JSON: {error}"),
    })?;
    std::fs::write(&path, text).map_err(Error::io("cannot write", path))?;
    Ok(stamp)
}

/// A base that is held for writing until this is dropped.
#[derive(Debug)]
pub struct Held {
    /// The base folder.
    pub base: PathBuf,
    /// The lock ends when the file closes, also when the process dies.
    _lock: File,
}

/// Holds the first base that can be written, waiting for another set-up that is under way. What earlier
/// ones left half-done is removed.
///
/// # Errors
///
/// [`Error::Io`] about the last place if none can be written.
pub fn hold() -> Result<Held, Error> {
    let bases = bases();
    let mut refused = None;
    for base in bases {
        match hold_at(&base) {
            Ok(held) => return Ok(held),
            Err(error) => refused = Some(error),
        }
    }
    // `bases` is never empty, so that there is an error to give.
    Err(refused.unwrap_or(Error::Interrupted))
}

fn hold_at(base: &Path) -> Result<Held, Error> {
    std::fs::create_dir_all(base).map_err(Error::io("cannot make folder", base))?;
    let path = base.join("lock");
    let lock = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(Error::io("cannot write", &path))?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            eprintln!("vasa: waiting for another set-up in {} to end", base.display());
            lock.lock().map_err(Error::io("cannot lock", &path))?;
        }
        Err(TryLockError::Error(error)) => return Err(Error::io("cannot lock", &path)(error)),
    }
    for entry in std::fs::read_dir(base).map_err(Error::io("cannot read", base))?.flatten() {
        if entry.file_name().to_string_lossy().starts_with("tmp-") {
            // Left by a set-up that was killed: we hold the lock, so that nobody is at work on it.
            std::fs::remove_dir_all(entry.path()).map_err(Error::io("cannot remove", entry.path()))?;
        }
    }
    Ok(Held { base: base.to_owned(), _lock: lock })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn make(folder: &Path) {
        for (name, text) in [("lib/a.so", "12345"), ("icd/lvp.json", "{}"), ("layers/v.json", "{}")] {
            let path = folder.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
    }

    #[test]
    fn only_a_sealed_and_whole_folder_opens() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        assert!(open(folder).is_none());
        make(folder);
        assert!(open(folder).is_none(), "no stamp yet");
        let stamp = seal(folder, "25.0.7-2", vec!["mesa-vulkan-drivers".to_owned()]).unwrap();
        assert_eq!(stamp.files["lib/a.so"], 5);
        assert_eq!(open(folder).unwrap().stamp, stamp);

        std::fs::write(folder.join("lib/a.so"), "123").unwrap();
        assert!(open(folder).is_none(), "a file was cut short");
        std::fs::remove_file(folder.join("lib/a.so")).unwrap();
        assert!(open(folder).is_none(), "a file is gone");
    }

    #[test]
    fn another_format_is_not_taken() {
        let folder = tempfile::tempdir().unwrap();
        make(folder.path());
        let mut stamp = seal(folder.path(), "25.0.7-2", Vec::new()).unwrap();
        stamp.format = FORMAT + 1;
        std::fs::write(folder.path().join("stamp.json"), serde_json::to_string(&stamp).unwrap()).unwrap();
        assert!(open(folder.path()).is_none());
        std::fs::write(folder.path().join("stamp.json"), "{ half").unwrap();
        assert!(open(folder.path()).is_none());
    }

    #[test]
    fn two_cannot_hold_one_base_and_leftovers_go() {
        let base = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(base.path().join("tmp-1/root")).unwrap();
        let held = hold_at(base.path()).unwrap();
        assert!(!base.path().join("tmp-1").exists());
        let other = File::options().write(true).open(base.path().join("lock")).unwrap();
        assert!(matches!(other.try_lock(), Err(TryLockError::WouldBlock)));
        drop(held);
        other.try_lock().unwrap();
    }

    #[test]
    fn a_place_that_cannot_be_written_is_an_error() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = hold_at(&file.path().join("driver")).unwrap_err().to_string();
        assert!(error.contains("cannot make folder"), "{error}");
    }
}
