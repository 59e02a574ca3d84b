//! Which driver to use: a pure table over what was asked for and what the machine has.

use super::report::Report;
use crate::cli::DriverChoice;
use crate::error::Error;
use std::path::PathBuf;

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Run on what the system has, and why.
    System(String),
    /// Run on the software driver from our folder, and why.
    Software(String),
}

/// What the user has pointed the Vulkan loader at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explicit {
    /// `VK_DRIVER_FILES` or `VK_ICD_FILENAMES`.
    pub variable: &'static str,
    /// The files it names.
    pub files: Vec<PathBuf>,
}

impl Explicit {
    /// What the environment says. `VK_DRIVER_FILES` goes before its older name, as in the loader.
    pub fn from_env() -> Option<Self> {
        ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"].into_iter().find_map(|variable| {
            let value = std::env::var_os(variable)?;
            let files = std::env::split_paths(&value).filter(|file| !file.as_os_str().is_empty()).collect();
            Some(Self { variable, files }).filter(|explicit: &Self| !explicit.files.is_empty())
        })
    }

    /// Fails if nothing that it names exists: the loader would say only that there is no driver.
    ///
    /// # Errors
    ///
    /// [`Error::Driver`].
    pub fn check(&self) -> Result<(), Error> {
        if self.files.iter().any(|file| file.exists()) {
            return Ok(());
        }
        let names: Vec<String> = self.files.iter().map(|file| file.display().to_string()).collect();
        Err(Error::Driver(format!(
            "{} names {}, which does not exist; correct it, unset it, or pass --driver software",
            self.variable,
            names.join(" and ")
        )))
    }
}

/// Decides. `report` is what the system's own environment shows.
///
/// # Errors
///
/// [`Error::Driver`] where the system's driver, or one named by hand, was asked for and cannot be used.
pub fn decide(choice: DriverChoice, explicit: Option<&Explicit>, report: &Report) -> Result<Decision, Error> {
    if choice == DriverChoice::Software {
        return Ok(Decision::Software("--driver software was asked for".to_owned()));
    }
    let Some(device) = report.chosen() else {
        let why = report.refusal();
        return match (choice, explicit) {
            (_, Some(explicit)) => Err(Error::Driver(format!(
                "the driver that {} names cannot be used ({why}); unset it or pass --driver software",
                explicit.variable
            ))),
            (DriverChoice::System, None) => Err(Error::Driver(format!(
                "the system has no Vulkan device that can be used ({why}); install a driver for Vulkan 1.3 or pass \
                 --driver software"
            ))),
            _ => Ok(Decision::Software(why)),
        };
    };
    if let Some(explicit) = explicit {
        return Ok(Decision::System(format!("{}, named by {}", device.name, explicit.variable)));
    }
    if choice == DriverChoice::System {
        return Ok(Decision::System(format!("{}, as --driver system asked", device.name)));
    }
    if device.is_gpu() {
        let sparse = if device.sparse_binding { "" } else { ", without sparse binding: fallback" };
        return Ok(Decision::System(format!("{} is a GPU with Vulkan {}{sparse}", device.name, device.api)));
    }
    if device.sparse_binding {
        return Ok(Decision::System(format!("{} is a software driver with sparse binding", device.name)));
    }
    Ok(Decision::Software(format!("{} ({}) has no sparse binding", device.name, device.driver)))
}

#[cfg(test)]
mod tests {
    use super::super::report::{Device, DeviceKind};
    use super::*;

    fn report(kind: DeviceKind, sparse_binding: bool) -> Report {
        let device = Device { name: "D".to_owned(), kind, sparse_binding, usable: true, ..Device::default() };
        Report { chosen: Some(0), devices: vec![device], loader_error: None }
    }

    fn nothing() -> Report {
        Report { loader_error: Some("no loader".to_owned()), ..Report::default() }
    }

    fn explicit() -> Explicit {
        Explicit { variable: "VK_DRIVER_FILES", files: vec!["/nonexistent.json".into()] }
    }

    fn is_system(decision: Result<Decision, Error>) -> bool {
        matches!(decision, Ok(Decision::System(_)))
    }

    fn is_software(decision: Result<Decision, Error>) -> bool {
        matches!(decision, Ok(Decision::Software(_)))
    }

    #[test]
    fn automatic_choice_follows_the_table() {
        let auto = |report| decide(DriverChoice::Auto, None, &report);
        for kind in [DeviceKind::Discrete, DeviceKind::Integrated, DeviceKind::Virtual, DeviceKind::Other] {
            assert!(is_system(auto(report(kind, true))), "{kind:?}");
            assert!(is_system(auto(report(kind, false))), "{kind:?} falls back, it is not replaced");
        }
        assert!(is_system(auto(report(DeviceKind::Cpu, true))));
        assert!(is_software(auto(report(DeviceKind::Cpu, false))), "an old software driver counts as none");
        assert!(is_software(auto(nothing())));
    }

    #[test]
    fn a_chosen_device_that_is_not_usable_counts_as_none() {
        let mut report = report(DeviceKind::Discrete, true);
        report.devices[0].usable = false;
        assert!(is_software(decide(DriverChoice::Auto, None, &report)));
        report.devices[0].usable = true;
        report.chosen = Some(7);
        assert!(is_software(decide(DriverChoice::Auto, None, &report)), "an index outside the list");
    }

    #[test]
    fn software_is_software_whatever_there_is() {
        let report = report(DeviceKind::Discrete, true);
        assert!(is_software(decide(DriverChoice::Software, None, &report)));
        assert!(is_software(decide(DriverChoice::Software, Some(&explicit()), &report)));
    }

    #[test]
    fn system_is_never_replaced() {
        assert!(is_system(decide(DriverChoice::System, None, &report(DeviceKind::Cpu, false))));
        let error = decide(DriverChoice::System, None, &nothing()).unwrap_err().to_string();
        assert!(error.contains("no loader") && error.contains("--driver software"), "{error}");
    }

    #[test]
    fn a_driver_named_by_hand_is_used_or_refused() {
        let explicit = explicit();
        assert!(is_system(decide(DriverChoice::Auto, Some(&explicit), &report(DeviceKind::Cpu, false))));
        let error = decide(DriverChoice::Auto, Some(&explicit), &nothing()).unwrap_err().to_string();
        assert!(error.contains("VK_DRIVER_FILES"), "{error}");
        let error = explicit.check().unwrap_err().to_string();
        assert!(error.contains("/nonexistent.json") && !error.contains('\n'), "{error}");
    }
}
