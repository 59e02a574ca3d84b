//! Which distribution this is, and whether a Mesa is new enough.

use std::collections::BTreeMap;

/// The oldest Mesa whose lavapipe has sparse binding.
pub const OLDEST_MESA: (u32, u32) = (24, 2);

/// The parts of `/etc/os-release` that are used here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Release {
    /// `debian`, `ubuntu`, `fedora`...
    pub id: String,
    /// Like `id`, of what it descends from.
    pub id_like: Vec<String>,
    /// `12`, `24.04`; empty on a rolling release.
    pub version: String,
    /// The name by which package sources call it; of the parent for a descendant of Ubuntu.
    pub codename: String,
}

impl Release {
    /// Reads `/etc/os-release`; empty where there is none.
    pub fn of_this_system() -> Self {
        let text = std::fs::read_to_string("/etc/os-release")
            .or_else(|_| std::fs::read_to_string("/usr/lib/os-release"))
            .unwrap_or_default();
        Self::parse(&text)
    }

    /// Parses the text of an os-release file: `NAME=value` lines, values quoted as in a shell.
    pub fn parse(text: &str) -> Self {
        let values: BTreeMap<&str, String> = text
            .lines()
            .filter_map(|line| line.trim().split_once('='))
            .map(|(name, value)| (name, value.trim().trim_matches(['"', '\'']).to_owned()))
            .collect();
        let get = |name: &str| values.get(name).cloned().unwrap_or_default();
        let codename = [get("UBUNTU_CODENAME"), get("DEBIAN_CODENAME"), get("VERSION_CODENAME")];
        Self {
            id: get("ID"),
            id_like: get("ID_LIKE").split_whitespace().map(str::to_owned).collect(),
            version: get("VERSION_ID"),
            codename: codename.into_iter().find(|name| !name.is_empty()).unwrap_or_default(),
        }
    }

    /// Whether this is Ubuntu or descends from it: no backports suite that carries Mesa.
    pub fn is_ubuntu(&self) -> bool {
        self.id == "ubuntu" || self.id_like.iter().any(|id| id == "ubuntu")
    }

    /// Whether this is Debian or descends from it without Ubuntu between.
    pub fn is_debian(&self) -> bool {
        !self.is_ubuntu() && (self.id == "debian" || self.id_like.iter().any(|id| id == "debian"))
    }

    /// A name for folders: programs fetched for one release do not run on every other.
    pub fn key(&self) -> String {
        let id = if self.id.is_empty() { "linux" } else { &self.id };
        let version = if self.version.is_empty() { &self.codename } else { &self.version };
        let key = if version.is_empty() { id.to_owned() } else { format!("{id}-{version}") };
        key.chars().map(|c| if c.is_ascii_alphanumeric() || ".-".contains(c) { c } else { '_' }).collect()
    }
}

/// Major and minor number of a Mesa package version such as `25.0.7-2~bpo12+1` or `1:24.2.8-1ubuntu1`.
pub fn mesa_version(package_version: &str) -> Option<(u32, u32)> {
    let upstream = package_version.split_once(':').map_or(package_version, |(_, rest)| rest);
    let mut numbers = upstream.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// Whether the lavapipe of this Mesa has sparse binding.
pub fn is_new_enough(package_version: &str) -> bool {
    mesa_version(package_version).is_some_and(|version| version >= OLDEST_MESA)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn os_release_files_are_read() {
        let debian = Release::parse("ID=debian\nVERSION_ID=\"12\"\nVERSION_CODENAME=bookworm\n");
        assert_eq!((debian.key().as_str(), debian.codename.as_str()), ("debian-12", "bookworm"));
        assert!(debian.is_debian() && !debian.is_ubuntu());

        let mint = Release::parse(
            "ID=linuxmint\nID_LIKE=\"ubuntu debian\"\nVERSION_ID=\"22\"\nVERSION_CODENAME=wilma\nUBUNTU_CODENAME=noble",
        );
        assert_eq!(mint.codename, "noble");
        assert!(mint.is_ubuntu() && !mint.is_debian());

        let sid = Release::parse("ID=debian\nVERSION_CODENAME=forky");
        assert_eq!(sid.key(), "debian-forky");
        assert_eq!(Release::parse("").key(), "linux");
        assert_eq!(Release::parse("ID='../x'\nVERSION_ID='/y'").key(), ".._x-_y");
    }

    #[test]
    fn mesa_versions_compare_as_numbers() {
        for old in ["22.3.6-1+deb12u1", "24.1.9-1", "23.2.1-1ubuntu3.1~22.04.3", "(none)", "", "24"] {
            assert!(!is_new_enough(old), "{old}");
        }
        for new in
            ["24.2.0-1", "24.2.8-1ubuntu1~24.04.1", "25.0.7-2~bpo12+1", "1:24.10.0-1", "26.1~rc1-1", "100.0"]
        {
            assert!(is_new_enough(new), "{new}");
        }
    }
}
