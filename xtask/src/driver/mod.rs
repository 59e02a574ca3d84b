//! Finding a Vulkan driver for the child processes, and setting one up where there is none.
//!
//! ```text
//! demos devices --json --> report --+
//! --driver, VK_DRIVER_FILES --------+--> decide (pure) --> System   --> the environment as it is
//!                                                      `-> Software --> cache::find, else setup (apt)
//! ```
//!
//! Nothing is installed and our own environment is not changed: a [`ChildEnv`] is applied to each child.

mod apt;
mod cache;
mod decide;
mod env;
mod manual;
mod release;
pub mod report;
mod setup;
pub mod show;
mod sources;

use crate::cli::DriverChoice;
use crate::error::Error;
use decide::Decision;
pub use decide::Explicit;
pub use env::ChildEnv;
use report::{Device, Report};
use std::path::{Path, PathBuf};

/// What a command wants of a driver.
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    /// Which driver.
    pub choice: DriverChoice,
    /// Fetch without asking.
    pub yes: bool,
    /// Whether the validation layer is needed too.
    pub layers: bool,
}

/// A driver ready for use.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// What children need in their environment.
    pub env: ChildEnv,
    /// The device that the engine takes there.
    pub device: Device,
}

/// Finds or sets up a driver. `demos` is the binary that is asked for the devices.
///
/// # Errors
///
/// [`Error::Driver`] if the system's driver was asked for and cannot be used, [`Error::SetUp`] if the
/// software driver cannot be had.
pub fn prepare(demos: &Path, wanted: Wanted) -> Result<Prepared, Error> {
    let explicit = Explicit::from_env();
    let mut report = Report::default();
    if wanted.choice != DriverChoice::Software {
        if let Some(explicit) = &explicit {
            explicit.check()?;
        }
        report = report::ask(demos, &ChildEnv::default())?;
    }
    match decide::decide(wanted.choice, explicit.as_ref(), &report)? {
        Decision::Software(why) => software(demos, &why, wanted.yes),
        Decision::System(why) => {
            let device = report.chosen().cloned().unwrap_or_default();
            let needs_layers = wanted.layers && system_layer().is_none();
            // The software driver brings its layer along; a GPU borrows the layer alone.
            if needs_layers && !device.is_gpu() && explicit.is_none() && wanted.choice == DriverChoice::Auto {
                return software(demos, &format!("{why}, but the validation layer is missing"), wanted.yes);
            }
            let env = if needs_layers { borrowed_layers(wanted) } else { ChildEnv::default() };
            Ok(Prepared { env, device })
        }
    }
}

/// The software driver from the cache or fetched, and checked: a device with sparse binding must appear.
fn software(demos: &Path, why: &str, yes: bool) -> Result<Prepared, Error> {
    let installed = setup::software_driver(why, yes)?;
    let env = ChildEnv::software(&installed.files());
    let report = report::ask(demos, &env)?;
    match report.chosen() {
        Some(device) if device.sparse_binding => Ok(Prepared { env, device: device.clone() }),
        _ => Err(Error::SetUp {
            reason: format!(
                "the software driver in {} shows no device with sparse binding ({})",
                installed.folder.display(),
                report.refusal()
            ),
            next: "remove that folder and run the command again".to_owned(),
        }),
    }
}

/// The validation layer for the system's driver, from our folder; fetched only if the choice is open.
/// Without it the tests still run.
fn borrowed_layers(wanted: Wanted) -> ChildEnv {
    if let Some(installed) = cache::find() {
        return ChildEnv::system_with_layers(&installed.files());
    }
    if wanted.choice != DriverChoice::Auto {
        eprintln!("vasa: going on without the validation layer, which the system does not have");
        return ChildEnv::default();
    }
    match setup::software_driver(
        "the validation layer comes with it; the system's device stays in use",
        wanted.yes,
    ) {
        Ok(installed) => ChildEnv::system_with_layers(&installed.files()),
        Err(error) => {
            eprintln!("vasa: going on without the validation layer: {error}");
            ChildEnv::default()
        }
    }
}

/// The system's manifest of the Khronos validation layer.
fn system_layer() -> Option<PathBuf> {
    let list = |name: &str| -> Vec<PathBuf> {
        std::env::var_os(name).map(|value| std::env::split_paths(&value).collect()).unwrap_or_default()
    };
    let mut folders = list("VK_LAYER_PATH");
    if folders.is_empty() {
        let mut shares = list("XDG_DATA_DIRS");
        shares.extend(["/usr/local/share", "/usr/share", "/usr/local/etc", "/etc"].map(PathBuf::from));
        shares.extend(std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/share")));
        folders = shares.into_iter().map(|share| share.join("vulkan/explicit_layer.d")).collect();
        folders.extend(list("VK_ADD_LAYER_PATH"));
    }
    folders
        .into_iter()
        .map(|folder| folder.join("VkLayer_khronos_validation.json"))
        .find(|file| file.is_file())
}
