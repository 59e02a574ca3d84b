//! What `demos devices --json` saw: the engine's own view of the machine, asked through a child process
//! so that a driver which crashes does not take us with it.

use super::env::ChildEnv;
use crate::error::Error;
use crate::process;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::process::Command;

/// The devices of a machine as the engine sees them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Report {
    /// Index of the device that would be taken.
    pub chosen: Option<usize>,
    /// Every device seen.
    pub devices: Vec<Device>,
    /// Why there is no Vulkan at all.
    pub loader_error: Option<String>,
}

/// One device.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Device {
    /// The device's own name.
    pub name: String,
    /// Driver name and version.
    pub driver: String,
    /// Vulkan version.
    pub api: String,
    /// What sort of device it is.
    #[serde(rename = "type")]
    pub kind: DeviceKind,
    /// `none`, `1`, `2` or `3`.
    pub sparse_tier: String,
    /// Whether buffers can be bound sparsely.
    pub sparse_binding: bool,
    /// Whether the engine can run on it.
    pub usable: bool,
    /// Why it was taken or refused.
    pub reasons: Vec<String>,
}

/// Vulkan's device types.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeviceKind {
    /// A graphics card.
    Discrete,
    /// A GPU beside the CPU.
    Integrated,
    /// A GPU passed through to a virtual machine.
    Virtual,
    /// A software driver.
    Cpu,
    /// None of these.
    #[default]
    #[serde(other)]
    Other,
}

impl Report {
    /// The device that would be taken.
    pub fn chosen(&self) -> Option<&Device> {
        self.chosen.and_then(|index| self.devices.get(index)).filter(|device| device.usable)
    }

    /// One line: why nothing here can be used.
    pub fn refusal(&self) -> String {
        if let Some(error) = &self.loader_error {
            return error.clone();
        }
        let refused: Vec<String> = self
            .devices
            .iter()
            .filter(|device| !device.usable)
            .map(|device| format!("{}: {}", device.name, device.reasons.join(", ")))
            .collect();
        if refused.is_empty() { "no Vulkan device was found".to_owned() } else { refused.join("; ") }
    }
}

impl Device {
    /// Whether it is a GPU and not a software driver.
    pub fn is_gpu(&self) -> bool {
        self.kind != DeviceKind::Cpu
    }
}

/// Asks the demos binary which devices it sees in `env`. A binary that crashes (a driver can do that)
/// is reported like a missing loader.
///
/// # Errors
///
/// [`Error::Start`] if it cannot be started, [`Error::Answer`] if it prints something else than a report.
pub fn ask(demos: &Path, env: &ChildEnv) -> Result<Report, Error> {
    let mut command = Command::new(demos);
    command.args(["devices", "--json"]);
    env.apply(&mut command);
    let output = process::output(&mut command)?;
    let text = String::from_utf8_lossy(&output.stdout);
    match serde_json::from_str(text.trim()) {
        Ok(report) => Ok(report),
        Err(_) if output.status.code().is_none() => Ok(Report {
            loader_error: Some(format!(
                "looking at the devices crashed ({}): a broken driver",
                output.status
            )),
            ..Report::default()
        }),
        Err(error) => {
            let stderr = String::from_utf8_lossy(&output.stderr);
            let last = stderr.lines().last().unwrap_or("nothing on stderr");
            Err(Error::Answer {
                program: "demos devices --json".to_owned(),
                problem: format!("printed no device report ({error}; {last}); run it by hand to see why"),
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_read_and_unknown_keys_pass() {
        let text = r#"{"chosen":0,"devices":[{"name":"llvmpipe","driver":"llvmpipe 25.0.7","api":"1.4.305","type":"cpu",
            "sparse_tier":"2","sparse_binding":true,"usable":true,"reasons":["software"],"score":3}],"loader_error":null}"#;
        let report: Report = serde_json::from_str(text).unwrap();
        let device = report.chosen().unwrap();
        assert!(!device.is_gpu() && device.sparse_binding);
    }

    #[test]
    fn a_refusal_names_every_reason() {
        let mut report = Report { loader_error: Some("no libvulkan.so.1".to_owned()), ..Report::default() };
        assert_eq!(report.refusal(), "no libvulkan.so.1");
        report.loader_error = None;
        assert_eq!(report.refusal(), "no Vulkan device was found");
        let reasons = vec!["Vulkan 1.2 where 1.3 is needed".to_owned()];
        report.devices.push(Device { name: "Old".to_owned(), reasons, ..Device::default() });
        assert_eq!(report.refusal(), "Old: Vulkan 1.2 where 1.3 is needed");
    }

    #[test]
    fn a_crash_is_a_refusal_and_prose_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("demos");
        // Written by another process: this one starts children on other threads, which could inherit
        // the open file and keep it from being run.
        let write = |body: &str| {
            let mut shell = Command::new("sh");
            shell
                .args(["-c", "printf '#!/bin/sh\n%s\n' \"$1\" > \"$0\" && chmod 755 \"$0\""])
                .arg(&script)
                .arg(body);
            assert!(shell.status().unwrap().success());
        };
        write("kill -SEGV $$");
        let report = ask(&script, &ChildEnv::default()).unwrap();
        assert!(report.refusal().contains("crashed"), "{}", report.refusal());
        write("echo hello; echo 'error: no such scene' >&2; exit 2");
        let error = ask(&script, &ChildEnv::default()).unwrap_err().to_string();
        assert!(error.contains("no such scene"), "{error}");
    }
}
