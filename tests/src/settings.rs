//! What the environment asks of the tests.
//!
//! | variable | meaning |
//! | --- | --- |
//! | `VASA_REQUIRE_DRIVER` | no device, or no validation layer, is a failure instead of a skip |
//! | `VASA_NO_SKIPS=1` | any skip is a failure |
//! | `VASA_FALLBACK=1` | sparse binding is masked: buffers are recreated and copied |
//! | `VASA_DEVICE=NAME` | part of the device's name to use |
//! | `VASA_VALIDATE=gpu` | GPU-assisted validation too: shaders are checked while they run |

use vasa::vk::{DeviceOptions, FeatureMask, InstanceOptions, Validation};

/// The environment, read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// A device and the validation layer must be there.
    pub require_driver: bool,
    /// Skips are failures.
    pub no_skips: bool,
    /// Sparse binding is masked.
    pub fallback: bool,
    /// Part of the device's name.
    pub device: Option<String>,
    /// GPU-assisted validation.
    pub gpu_assisted: bool,
}

impl Settings {
    /// Reads the variables of the table above. Unset, empty and `0` mean no.
    pub fn from_environment() -> Self {
        Self::read(|name| std::env::var(name).ok())
    }

    /// The same from any source, for testing this.
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Self {
        let text = |name| variable(name).filter(|value| !value.is_empty());
        let is_on = |name| text(name).is_some_and(|value| value != "0");
        Self {
            require_driver: is_on("VASA_REQUIRE_DRIVER"),
            no_skips: is_on("VASA_NO_SKIPS"),
            fallback: is_on("VASA_FALLBACK"),
            device: text("VASA_DEVICE"),
            gpu_assisted: text("VASA_VALIDATE").is_some_and(|value| value == "gpu"),
        }
    }

    /// How an instance is made for tests.
    pub fn instance(&self) -> InstanceOptions {
        let validation = if self.require_driver { Validation::Required } else { Validation::IfInstalled };
        let gpu_assisted = self.gpu_assisted;
        InstanceOptions { application: "vasa-tests".into(), validation, gpu_assisted, ..Default::default() }
    }

    /// How a device is opened for tests.
    pub fn device(&self) -> DeviceOptions {
        let mask = if self.fallback { FeatureMask::fallback() } else { FeatureMask::default() };
        // Breadcrumbs order more than passes ask for. Synchronisation validation, which sees more of the fallback, is
        // to miss nothing there.
        let no_breadcrumbs = self.fallback;
        DeviceOptions { name: self.device.clone(), mask, no_breadcrumbs, ..Default::default() }
    }

    /// Says that the running test is skipped, and why.
    ///
    /// # Panics
    /// With `VASA_NO_SKIPS`: a skip is a failure then.
    pub fn skip(&self, why: &str) {
        let test = std::thread::current().name().unwrap_or("test").to_owned();
        assert!(!self.no_skips, "VASA_NO_SKIPS is set, but {test} would be skipped: {why}");
        println!("skipped: {test}: {why}");
    }
}
