//! apt with a state of its own: lists, cache and an empty package database in our folder, the mirror and
//! keys of the system. It needs no root and leaves the system as it is.
//!
//! The empty database makes apt name everything that the driver needs, whatever happens to be installed,
//! so that the folder goes on working when the system's packages change. Only the C and C++ runtimes,
//! which every program here already uses, stay the system's.

use super::release::Release;
use super::sources::{self, Source};
use crate::error::Error;
use crate::{process, workspace};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Packages that must be the system's own, and data packages that hold no library.
const NOT_FETCHED: [&str; 9] = [
    "libc6",
    "libc-bin",
    "libgcc-s1",
    "libstdc++6",
    "libcrypt1",
    "libx11-data",
    "libdrm-common",
    "debconf",
    "sensible-utils",
];

/// A package that apt would fetch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Size of the download in bytes.
    pub bytes: u64,
}

/// A private apt.
#[derive(Debug)]
pub struct Apt {
    folder: PathBuf,
    /// The suite to prefer, as `-t` takes it.
    target: Option<String>,
}

impl Apt {
    /// Makes the private state under `folder`, with these sources.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if the folder cannot be written, [`Error::Start`] without dpkg.
    pub fn new(folder: &Path, sources: &[Source]) -> Result<Self, Error> {
        for part in ["lists/partial", "cache/archives/partial", "debs"] {
            let path = folder.join(part);
            std::fs::create_dir_all(&path).map_err(Error::io("cannot make folder", &path))?;
        }
        let output = process::output(Command::new("dpkg").arg("--print-architecture"))?;
        let architecture = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        let apt = Self { folder: folder.to_owned(), target: None };
        apt.write("status", "")?;
        apt.write("apt.conf", &configuration(folder, &architecture))?;
        apt.write_sources(sources)?;
        Ok(apt)
    }

    /// Adds a source and prefers it.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if the folder cannot be written.
    pub fn prefer(&mut self, sources: &[Source], suite: &str) -> Result<(), Error> {
        self.target = Some(suite.to_owned());
        self.write_sources(sources)
    }

    /// Fetches the package lists. One source that fails is no error: what matters is whether the packages
    /// are found afterwards. The answer is apt's complaint, if it had one.
    ///
    /// # Errors
    ///
    /// [`Error::Start`] without apt, [`Error::Interrupted`].
    pub fn update(&self) -> Result<Option<String>, Error> {
        let mut command = self.command("apt-get", false);
        let output = process::output(command.args(["-q", "update"]))?;
        Ok(complaint(&output))
    }

    /// The version of `package` that would be installed.
    ///
    /// # Errors
    ///
    /// As [`Apt::update`].
    pub fn candidate(&self, package: &str) -> Result<Option<String>, Error> {
        let mut command = self.command("apt-cache", true);
        let output = process::output(command.args(["policy", package]))?;
        Ok(parse_candidate(&String::from_utf8_lossy(&output.stdout)))
    }

    /// Everything to fetch for `packages`, without what stays the system's.
    ///
    /// # Errors
    ///
    /// [`Error::SetUp`] if apt cannot resolve them.
    pub fn closure(&self, packages: &[&str]) -> Result<Vec<Package>, Error> {
        let mut command = self.command("apt-get", true);
        command.args(["-y", "--no-install-recommends", "--print-uris", "install"]).args(packages);
        let output = process::output(&mut command)?;
        let found = parse_uris(&String::from_utf8_lossy(&output.stdout));
        if !output.status.success() || found.is_empty() {
            return Err(failed("apt cannot resolve the driver's packages", &output));
        }
        Ok(found.into_iter().filter(|package| is_fetched(&package.name)).collect())
    }

    /// Downloads `packages` (apt checks their hashes against the signed lists). The answer is the files.
    ///
    /// # Errors
    ///
    /// [`Error::SetUp`] if a download fails.
    pub fn download(&self, packages: &[Package]) -> Result<Vec<PathBuf>, Error> {
        let folder = self.folder.join("debs");
        let mut command = self.command("apt-get", true);
        command
            .args(["-q", "download"])
            .args(packages.iter().map(|package| &package.name))
            .current_dir(&folder);
        let output = process::output(&mut command)?;
        let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
            .map_err(Error::io("cannot read", &folder))?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.extension().is_some_and(|extension| extension == "deb"))
            .collect();
        files.sort();
        if !output.status.success() || files.len() != packages.len() {
            return Err(failed("downloading the driver's packages failed", &output));
        }
        Ok(files)
    }

    fn command(&self, program: &str, targeted: bool) -> Command {
        let mut command = Command::new(program);
        command.env("LC_ALL", "C").env_remove("APT_CONFIG").arg("-c").arg(self.folder.join("apt.conf"));
        if let Some(target) = self.target.as_ref().filter(|_| targeted) {
            command.arg("-o").arg(format!("APT::Default-Release={target}"));
        }
        command
    }

    fn write_sources(&self, sources: &[Source]) -> Result<(), Error> {
        let stanzas: Vec<String> = sources.iter().map(Source::to_deb822).collect();
        self.write("vasa.sources", &stanzas.join("\n"))
    }

    fn write(&self, name: &str, text: &str) -> Result<(), Error> {
        let path = self.folder.join(name);
        std::fs::write(&path, text).map_err(Error::io("cannot write", path))
    }
}

/// Unpacks `package` into `root` without installing it.
///
/// # Errors
///
/// [`Error::SetUp`] if it is damaged or the disk is full.
pub fn unpack(package: &Path, root: &Path) -> Result<(), Error> {
    let output = process::output(Command::new("dpkg-deb").arg("-x").arg(package).arg(root))?;
    if output.status.success() {
        return Ok(());
    }
    Err(failed(&format!("unpacking {} failed", package.display()), &output))
}

/// Whether the tools for all this are here.
pub fn is_available() -> bool {
    ["apt-get", "apt-cache", "dpkg", "dpkg-deb", "ldd"]
        .into_iter()
        .all(|name| workspace::find_program(name).is_some())
}

/// The sources that this system uses for its own release; empty if there are none.
///
/// # Errors
///
/// [`Error::Start`] without apt.
pub fn system_sources(release: &Release) -> Result<(Vec<Source>, String), Error> {
    let configured = configured_sources()?;
    // A system that follows a suite by its role says so in place of the name.
    for name in [release.codename.as_str(), "stable", "testing", "unstable", "sid"] {
        let found = sources::of_release(&configured, name);
        if !name.is_empty() && !found.is_empty() {
            return Ok((found, name.to_owned()));
        }
    }
    let mut command = Command::new("apt-get");
    command.env("LC_ALL", "C").args(["indextargets", "--format", sources::INDEXTARGETS_FORMAT]);
    let output = process::output(command.arg("Created-By: Packages"))?;
    let listed = sources::parse_indextargets(&String::from_utf8_lossy(&output.stdout));
    Ok((sources::of_release(&listed, &release.codename), release.codename.clone()))
}

/// Every enabled source in the configured files.
fn configured_sources() -> Result<Vec<Source>, Error> {
    let mut command = Command::new("apt-config");
    let output = process::output(command.args([
        "shell",
        "F",
        "Dir::Etc::sourcelist/f",
        "D",
        "Dir::Etc::sourceparts/d",
    ]))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let value = |name: &str, default: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        PathBuf::from(line.map_or(default, |value| value.trim_matches('\'')))
    };
    let mut files = vec![value("F", "/etc/apt/sources.list")];
    if let Ok(entries) = std::fs::read_dir(value("D", "/etc/apt/sources.list.d")) {
        files.extend(entries.filter_map(|entry| Some(entry.ok()?.path())));
    }
    files.sort();
    let mut found = Vec::new();
    for file in files {
        let Ok(text) = std::fs::read_to_string(&file) else { continue };
        match file.extension().and_then(|extension| extension.to_str()) {
            Some("list") => found.extend(sources::parse_list(&text)),
            Some("sources") => found.extend(sources::parse_deb822(&text)),
            _ => {}
        }
    }
    Ok(found)
}

/// The configuration file of the private apt, read after the system's (whose proxies are kept).
fn configuration(folder: &Path, architecture: &str) -> String {
    let at = |name: &str| folder.join(name).display().to_string();
    format!(
        "#clear APT::Update::Pre-Invoke;\n#clear APT::Update::Post-Invoke;\n#clear APT::Update::Post-Invoke-Success;\n\
         #clear APT::Architectures;\nAPT::Architecture \"{architecture}\";\nAPT::Architectures {{ \"{architecture}\"; }};\n\
         APT::Default-Release \"\";\nAPT::Sandbox::User \"\";\nAPT::Install-Recommends \"false\";\n\
         Debug::NoLocking \"true\";\nAcquire::Languages \"none\";\nAcquire::Retries \"2\";\n\
         Acquire::http::Timeout \"30\";\nAcquire::https::Timeout \"30\";\n\
         Dir::State::status \"{}\";\nDir::State::extended_states \"{}\";\nDir::State::Lists \"{}\";\nDir::Cache \"{}\";\n\
         Dir::Etc::SourceList \"{}\";\nDir::Etc::SourceParts \"/dev/null\";\n\
         Dir::Etc::Preferences \"/dev/null\";\nDir::Etc::PreferencesParts \"/dev/null\";\n",
        at("status"),
        at("extended_states"),
        at("lists"),
        at("cache"),
        at("vasa.sources"),
    )
}

fn is_fetched(name: &str) -> bool {
    let base = name.starts_with("gcc-") && name.ends_with("-base");
    !base && !NOT_FETCHED.contains(&name)
}

/// The packages in what `apt-get --print-uris` printed: `'URI' NAME_VERSION_ARCH.deb BYTES HASH`.
fn parse_uris(text: &str) -> Vec<Package> {
    text.lines()
        .filter_map(|line| {
            let (_, rest) = line.strip_prefix('\'')?.split_once("' ")?;
            let mut words = rest.split_whitespace();
            let (name, _) = words.next()?.strip_suffix(".deb")?.split_once('_')?;
            Some(Package { name: name.to_owned(), bytes: words.next()?.parse().ok()? })
        })
        .collect()
}

/// The candidate in what `apt-cache policy` printed.
fn parse_candidate(text: &str) -> Option<String> {
    let version = text.lines().find_map(|line| line.trim().strip_prefix("Candidate:"))?.trim();
    (version != "(none)").then(|| version.to_owned())
}

/// The line of apt's or dpkg's messages that says most: a full disk, else the first error or warning.
fn complaint(output: &Output) -> Option<String> {
    let text = String::from_utf8_lossy(&output.stderr);
    let full = text.lines().find(|line| line.contains("No space left on device"));
    let line = full.or_else(|| {
        ["E:", "dpkg-deb: error:", "Err:", "W:"]
            .into_iter()
            .find_map(|prefix| text.lines().find_map(|line| line.strip_prefix(prefix)))
    })?;
    Some(line.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn failed(what: &str, output: &Output) -> Error {
    let why = complaint(output).unwrap_or_else(|| format!("it said nothing, {}", output.status));
    Error::SetUp {
        reason: format!("{what} ({why})"),
        next: "check the network, the free disk space and `apt-get update`, then run the command again"
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_are_read() {
        let text = "Reading package lists...\nThe following NEW packages will be installed:\n  libvulkan1\n\
            'http://m.test/pool/z/zlib1g_1.2.13.dfsg-1_amd64.deb' zlib1g_1%3a1.2.13.dfsg-1_amd64.deb 86684 MD5Sum:ec42\n\
            'http://m.test/pool/m/mesa_25.0.7-2%7ebpo12%2b1_amd64.deb' mesa-vulkan-drivers_25.0.7-2~bpo12+1_amd64.deb 11366132 \n\
            'http://m.test/lists/InRelease' m.test_InRelease 0\n'unfinished\n";
        let expected = [("zlib1g", 86684), ("mesa-vulkan-drivers", 11_366_132)]
            .map(|(name, bytes)| Package { name: name.to_owned(), bytes });
        assert_eq!(parse_uris(text), expected);
    }

    #[test]
    fn candidates_are_read() {
        let text =
            "mesa-vulkan-drivers:\n  Installed: (none)\n  Candidate: 22.3.6-1+deb12u2\n  Version table:\n";
        assert_eq!(parse_candidate(text).as_deref(), Some("22.3.6-1+deb12u2"));
        assert_eq!(parse_candidate("x:\n  Candidate: (none)\n"), None);
        assert_eq!(parse_candidate("N: Unable to locate package x"), None);
    }

    #[test]
    fn runtimes_stay_the_systems() {
        for name in ["libc6", "libstdc++6", "libgcc-s1", "gcc-12-base"] {
            assert!(!is_fetched(name), "{name}");
        }
        for name in ["libllvm15", "mesa-vulkan-drivers", "libvulkan1", "zlib1g", "libz3-4"] {
            assert!(is_fetched(name), "{name}");
        }
    }

    #[test]
    fn the_first_error_is_shown_on_one_line() {
        let output = |stderr: &str| Output {
            status: std::process::ExitStatus::default(),
            stdout: Vec::new(),
            stderr: stderr.as_bytes().to_vec(),
        };
        let text = "W: a warning\nE: Failed to fetch\tx  timed out\nE: second";
        assert_eq!(complaint(&output(text)).as_deref(), Some("Failed to fetch x timed out"));
        assert_eq!(complaint(&output("")), None);
        let error = failed("downloading failed", &output(text)).to_string();
        assert!(error.contains("timed out") && !error.contains('\n'), "{error}");
        let text = "tar: ./x.so: Cannot write: No space left on device\ndpkg-deb: error: tar failed";
        assert!(complaint(&output(text)).is_some_and(|line| line.contains("No space left")));
    }
}
