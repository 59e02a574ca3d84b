//! The environment by which a child process finds its Vulkan driver.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Variables that would let other drivers in beside ours, or keep ours out.
const OTHER_DRIVERS: [&str; 5] = [
    "VK_ICD_FILENAMES",
    "VK_ADD_DRIVER_FILES",
    "VK_LOADER_DRIVERS_SELECT",
    "VK_LOADER_DRIVERS_DISABLE",
    "VK_LOADER_DEVICE_SELECT",
];

/// Changes to the environment of child processes. Our own stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChildEnv {
    set: BTreeMap<&'static str, OsString>,
    /// Folders to put in front of what a list of folders already has.
    in_front: BTreeMap<&'static str, PathBuf>,
    remove: Vec<&'static str>,
}

/// The parts of a software driver that an environment points at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriverFiles {
    /// The folder of shared libraries: loader, driver and what they need.
    pub libraries: PathBuf,
    /// The driver's JSON file.
    pub icd: PathBuf,
    /// The folder that holds the validation layer's JSON file and no other.
    pub layers: PathBuf,
}

impl ChildEnv {
    /// The environment of the software driver, and of nothing else.
    pub fn software(files: &DriverFiles) -> Self {
        let mut env = Self::default();
        env.set.insert("VK_DRIVER_FILES", files.icd.clone().into());
        env.in_front.insert("LD_LIBRARY_PATH", files.libraries.clone());
        env.in_front.insert("VK_LAYER_PATH", files.layers.clone());
        // Mesa's implicit layers come from the system's Mesa, whose libraries may be older than ours.
        env.set.insert("NODEVICE_SELECT", "1".into());
        env.set.insert("DISABLE_LAYER_MESA_ANTI_LAG", "1".into());
        // It would filter images that are not sparse in 8 bits and sparse ones in floats: pictures would differ by how
        // memory is bound.
        env.set.insert("GALLIVM_PERF", "no_aos_sampling".into());
        env.remove = OTHER_DRIVERS.to_vec();
        env
    }

    /// The system's driver, with the validation layer from our folder. The layer needs nothing from
    /// there but itself, so the system's libraries stay in charge.
    pub fn system_with_layers(files: &DriverFiles) -> Self {
        let mut env = Self::default();
        env.in_front.insert("VK_LAYER_PATH", files.layers.clone());
        env
    }

    /// Applies the changes to a command.
    pub fn apply(&self, command: &mut Command) {
        for name in &self.remove {
            command.env_remove(name);
        }
        command.envs(&self.set);
        for (name, folder) in &self.in_front {
            command.env(name, in_front(folder, std::env::var_os(name)));
        }
    }

    /// The changes as lines for a POSIX shell.
    pub fn exports(&self) -> String {
        let mut text = String::new();
        for name in self.remove.iter().filter(|name| std::env::var_os(name).is_some()) {
            text.push_str(&format!("unset {name}\n"));
        }
        for (name, value) in &self.set {
            text.push_str(&format!("export {name}={}\n", quoted(&value.to_string_lossy())));
        }
        // The shell's own list, not ours: cargo has put folders of its own into ours.
        for (name, folder) in &self.in_front {
            text.push_str(&format!(
                "export {name}={}${{{name}:+:${name}}}\n",
                quoted(&folder.to_string_lossy())
            ));
        }
        text
    }
}

fn in_front(folder: &Path, rest: Option<OsString>) -> OsString {
    let mut list = folder.as_os_str().to_owned();
    if let Some(rest) = rest.filter(|rest| !rest.is_empty() && rest != folder.as_os_str()) {
        list.push(":");
        list.push(rest);
    }
    list
}

/// `text` as one word of a POSIX shell.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:~=".contains(c);
    if !text.is_empty() && text.chars().all(plain) && !text.contains('~') {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files() -> DriverFiles {
        DriverFiles {
            libraries: "/c/a b/lib".into(),
            icd: "/c/a b/icd/lvp.json".into(),
            layers: "/c/a b/layers".into(),
        }
    }

    #[test]
    fn our_folder_stands_first() {
        assert_eq!(in_front(Path::new("/a"), Some("/b:/c".into())), "/a:/b:/c");
        assert_eq!(in_front(Path::new("/a"), Some("".into())), "/a");
        assert_eq!(in_front(Path::new("/a"), None), "/a");
    }

    #[test]
    fn a_shell_reads_the_exports_back() {
        let script = format!("{}printf '%s' \"$VK_DRIVER_FILES\"", ChildEnv::software(&files()).exports());
        let output = Command::new("sh").arg("-c").arg(script).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "/c/a b/icd/lvp.json");
    }

    #[test]
    fn a_shells_own_list_is_kept() {
        let exports = ChildEnv::software(&files()).exports();
        for (before, after) in [("/x:/y", "/c/a b/lib:/x:/y"), ("", "/c/a b/lib")] {
            let script = format!("LD_LIBRARY_PATH={before}\n{exports}echo \"$LD_LIBRARY_PATH\"");
            let output = Command::new("sh").arg("-c").arg(script).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), after);
        }
    }

    #[test]
    fn quotes_survive() {
        assert_eq!(quoted("/plain/path:/other"), "/plain/path:/other");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }

    #[test]
    fn a_child_sees_the_driver_and_no_other() {
        let mut command = Command::new("sh");
        command
            .env("VK_ICD_FILENAMES", "/other.json")
            .args(["-c", "echo $VK_DRIVER_FILES,$VK_ICD_FILENAMES"]);
        ChildEnv::software(&files()).apply(&mut command);
        let output = command.output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "/c/a b/icd/lvp.json,\n");
    }
}
