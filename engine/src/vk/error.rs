//! Errors of the Vulkan floor: only what a caller cannot foresee.

use std::sync::Arc;

use ash::vk;

use super::loss::LossReport;

/// Result of the Vulkan floor.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong between the engine and a Vulkan driver.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The Vulkan loader library is not installed or cannot be used.
    #[error(
        "no Vulkan loader was found ({0}); install one (Debian: `apt install libvulkan1`), or run `cargo xtask driver`"
    )]
    LoaderMissing(String),
    /// The loader works, but no driver answers, or none can be created.
    #[error("no Vulkan driver can be used ({0}); run `cargo xtask driver` to see what was found")]
    NoDriver(String),
    /// Every device was refused. `report` says why, a line a device.
    #[error("no Vulkan device can run this: {report}")]
    NoDevice {
        /// One line a device with the reasons.
        report: String,
    },
    /// The validation layer was demanded and is not installed.
    #[error(
        "the validation layer was asked for but is not installed (Debian: `apt install vulkan-validationlayers`)"
    )]
    ValidationMissing,
    /// A device cannot do what was asked of it.
    #[error("{what} needs {needs}, which the device {device} does not have")]
    Unsupported {
        /// What was asked.
        what: String,
        /// The missing feature or extension, by its Vulkan name.
        needs: String,
        /// Device name.
        device: String,
    },
    /// An argument can never work on this device: what, and the limit.
    #[error("{what}: asked for {asked}, the limit is {limit}")]
    Limit {
        /// What was asked for.
        what: String,
        /// The value asked for.
        asked: u64,
        /// The largest value allowed.
        limit: u64,
    },
    /// The device has no addresses left for a reservation; the text names who holds them.
    #[error(transparent)]
    Addresses(#[from] super::addresses::AddressBudgetError),
    /// The driver or our own budget has no memory left.
    #[error(transparent)]
    OutOfMemory(Box<super::pressure::OutOfMemory>),
    /// The device is lost: every handle of it is dead.
    #[error("the Vulkan device was lost during {during} ({last_passes}); create the engine again")]
    DeviceLost {
        /// What the engine was doing.
        during: &'static str,
        /// What was known when it was lost: the last pass that each queue began and finished, and more.
        last_passes: Arc<LossReport>,
    },
    /// The window's surface no longer matches its swapchain.
    #[error("the swapchain is out of date")]
    OutOfDate,
    /// Any other answer of the driver.
    #[error("{call} failed: {result}")]
    Vulkan {
        /// The Vulkan call.
        call: &'static str,
        /// Its result.
        result: vk::Result,
    },
    /// The pipeline cache, a shader or another file could not be used.
    #[error("{0}")]
    Other(String),
}

impl Error {
    /// Names the call of a plain Vulkan result, and tells device loss and an outdated swapchain apart.
    pub(crate) fn of(call: &'static str) -> impl Fn(vk::Result) -> Error {
        move |result| match result {
            vk::Result::ERROR_DEVICE_LOST => Error::DeviceLost { during: call, last_passes: Arc::default() },
            vk::Result::ERROR_OUT_OF_DATE_KHR => Error::OutOfDate,
            result => Error::Vulkan { call, result },
        }
    }

    /// Says what was tried before giving up, where memory has run out.
    pub(crate) fn tried(mut self, what: &str) -> Self {
        if let Error::OutOfMemory(report) = &mut self {
            report.tried = what.into();
        }
        self
    }

    /// Logs that a refused allocation is tried again after something was done.
    pub(crate) fn say_trying_again(&self, tried: &str) {
        if let Error::OutOfMemory(report) = self {
            let (what, bytes) = (&report.what, super::bytes::Bytes(report.requested));
            log::warn!("{bytes} for {what} were refused; {tried}, and trying again");
        }
    }

    /// The report of a refused allocation, if it is one.
    pub fn out_of_memory(&self) -> Option<&super::pressure::OutOfMemory> {
        match self {
            Error::OutOfMemory(report) => Some(report),
            _ => None,
        }
    }

    /// What is known of the loss of the device, if that is what this is.
    pub fn loss(&self) -> Option<&Arc<LossReport>> {
        match self {
            Error::DeviceLost { last_passes, .. } => Some(last_passes),
            _ => None,
        }
    }

    /// Whether this is any kind of running out of memory.
    pub fn is_out_of_memory(&self) -> bool {
        match self {
            Error::OutOfMemory(_) => true,
            Error::Vulkan { result, .. } => {
                matches!(
                    *result,
                    vk::Result::ERROR_OUT_OF_DEVICE_MEMORY | vk::Result::ERROR_OUT_OF_HOST_MEMORY
                )
            }
            _ => false,
        }
    }
}
