//! The Vulkan instance: loader, layers, debug messenger.

use std::ffi::{CStr, CString};
use std::sync::Arc;

use ash::{ext, khr, vk};
use raw_window_handle::RawDisplayHandle;

use super::error::{Error, Result};
use super::messages::{self, MessageLog};

const VALIDATION_LAYER: &CStr = c"VK_LAYER_KHRONOS_validation";

/// Whether the Khronos validation layer (with synchronisation validation) is enabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Validation {
    /// Never.
    Off,
    /// In debug builds, when it is installed.
    #[default]
    Debug,
    /// When it is installed.
    IfInstalled,
    /// Always; an error when it is not installed.
    Required,
}

/// How to make an [`Instance`].
#[derive(Default)]
pub struct InstanceOptions {
    /// Name that drivers and captures show.
    pub application: String,
    /// Validation layer policy.
    pub validation: Validation,
    /// Where the validation layer is on: let it instrument shaders and check what they access while they run
    /// (GPU-assisted validation), in place of synchronisation validation. Slow; for a run now and then.
    pub gpu_assisted: bool,
    /// Window system to make surfaces for; `None` is headless and needs no window system at all.
    pub display: Option<RawDisplayHandle>,
    /// Offer `VK_EXT_headless_surface` where present: swapchains without a window system (tests).
    pub headless_surface: bool,
    /// Vulkan entry points other than the system's loader (the null driver, or an application's own).
    pub entry: Option<ash::Entry>,
}

impl std::fmt::Debug for InstanceOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InstanceOptions")
            .field("application", &self.application)
            .field("validation", &self.validation)
            .field("display", &self.display)
            .finish_non_exhaustive()
    }
}

/// A Vulkan 1.3 instance. Everything made from it keeps it alive.
pub struct Instance {
    entry: ash::Entry,
    raw: ash::Instance,
    debug: Option<DebugUtils>,
    messages: Arc<MessageLog>,
    validation: bool,
    gpu_assisted: bool,
    surface_extensions: Vec<&'static CStr>,
    owned: bool,
}

struct DebugUtils {
    instance: ext::debug_utils::Instance,
    messenger: vk::DebugUtilsMessengerEXT,
}

impl Instance {
    /// Loads Vulkan and makes an instance.
    ///
    /// # Errors
    /// [`Error::LoaderMissing`], [`Error::NoDriver`], [`Error::ValidationMissing`], or
    /// [`Error::Unsupported`] when the window system has no Vulkan surface here.
    pub fn new(options: InstanceOptions) -> Result<Arc<Self>> {
        let entry = match options.entry {
            Some(entry) => entry,
            // SAFETY: loading the system's Vulkan loader runs its initialisers; it is the one library this
            // crate exists to use.
            None => unsafe { ash::Entry::load() }.map_err(|e| Error::LoaderMissing(e.to_string()))?,
        };
        // SAFETY: plain queries without preconditions; the results are owned vectors.
        let (available, layers) = unsafe {
            (
                entry.enumerate_instance_extension_properties(None).map_err(no_driver)?,
                entry.enumerate_instance_layer_properties().unwrap_or_default(),
            )
        };
        // SAFETY: a plain query; absent on 1.0 loaders, which ash handles.
        let version = unsafe { entry.try_enumerate_instance_version() }
            .map_err(no_driver)?
            .unwrap_or(vk::API_VERSION_1_0);
        if version < vk::API_VERSION_1_3 {
            return Err(Error::NoDriver("the Vulkan loader is older than 1.3".into()));
        }
        let has = |name: &CStr| available.iter().any(|e| e.extension_name_as_c_str() == Ok(name));
        let validation = validation_wanted(options.validation, &layers)?;

        let mut extensions: Vec<&CStr> = Vec::new();
        if has(ext::debug_utils::NAME) || validation {
            extensions.push(ext::debug_utils::NAME);
        }
        let surface_extensions = surface_extensions(
            &options.display,
            options.headless_surface && has(ext::headless_surface::NAME),
        )?;
        for &name in &surface_extensions {
            if !has(name) {
                return Err(Error::Unsupported {
                    what: "a window".into(),
                    needs: name.to_string_lossy().into_owned(),
                    device: "Vulkan loader".into(),
                });
            }
            extensions.push(name);
        }
        let extension_names: Vec<_> = extensions.iter().map(|n| n.as_ptr()).collect();
        let layer_names: Vec<_> = validation.then_some(VALIDATION_LAYER.as_ptr()).into_iter().collect();

        let messages = Arc::new(MessageLog::default());
        let application = CString::new(options.application).unwrap_or_default();
        let application = vk::ApplicationInfo::default()
            .application_name(&application)
            .engine_name(c"Vasa")
            .api_version(vk::API_VERSION_1_3);
        let mut messenger = messenger_info(&messages);
        let enabled = match options.gpu_assisted {
            // One of the two at a time: together they are slower than anybody waits for.
            true => vec![
                vk::ValidationFeatureEnableEXT::GPU_ASSISTED,
                vk::ValidationFeatureEnableEXT::GPU_ASSISTED_RESERVE_BINDING_SLOT,
            ],
            false => vec![vk::ValidationFeatureEnableEXT::SYNCHRONIZATION_VALIDATION],
        };
        let mut features = vk::ValidationFeaturesEXT::default().enabled_validation_features(&enabled);
        let mut info = vk::InstanceCreateInfo::default()
            .application_info(&application)
            .enabled_extension_names(&extension_names)
            .enabled_layer_names(&layer_names);
        if validation {
            info = info.push_next(&mut features);
        }
        let debug_utils = extensions.contains(&ext::debug_utils::NAME);
        if debug_utils {
            info = info.push_next(&mut messenger);
        }
        // SAFETY: every pointer in `info` refers to a local that outlives the call.
        let raw = unsafe { entry.create_instance(&info, None) }.map_err(no_driver)?;
        let debug = if debug_utils {
            let instance = ext::debug_utils::Instance::new(&entry, &raw);
            // SAFETY: the messenger's user data is the message log, which this struct keeps alive until the
            // messenger is destroyed in Drop.
            let messenger =
                unsafe { instance.create_debug_utils_messenger(&messenger_info(&messages), None) }
                    .map_err(Error::of("vkCreateDebugUtilsMessengerEXT"))?;
            Some(DebugUtils { instance, messenger })
        } else {
            None
        };
        let gpu_assisted = validation && options.gpu_assisted;
        Ok(Arc::new(Self {
            entry,
            raw,
            debug,
            messages,
            validation,
            gpu_assisted,
            surface_extensions,
            owned: true,
        }))
    }

    /// Wraps an application's own instance, which must have been made for Vulkan 1.3.
    ///
    /// # Safety
    /// `raw` must stay valid until the returned value and everything made from it are dropped; it is not
    /// destroyed by them. `entry` must be what it was made with; keep a clone of it for destroying `raw`
    /// afterwards, since the Vulkan library is unloaded with the last one.
    pub unsafe fn from_raw(entry: ash::Entry, raw: ash::Instance) -> Arc<Self> {
        Arc::new(Self {
            entry,
            raw,
            debug: None,
            messages: Arc::default(),
            validation: false,
            gpu_assisted: false,
            surface_extensions: Vec::new(),
            owned: false,
        })
    }

    /// The entry points this instance was made with.
    pub fn entry(&self) -> &ash::Entry {
        &self.entry
    }

    /// The raw instance.
    pub fn raw(&self) -> &ash::Instance {
        &self.raw
    }

    /// Messages of the validation layer and the driver.
    pub fn messages(&self) -> &Arc<MessageLog> {
        &self.messages
    }

    /// Whether the validation layer is on.
    pub fn validation(&self) -> bool {
        self.validation
    }

    /// Whether surfaces can be made (a display was given, or headless surfaces are on).
    pub fn has_surfaces(&self) -> bool {
        !self.surface_extensions.is_empty()
    }

    pub(super) fn has_headless_surfaces(&self) -> bool {
        self.surface_extensions.contains(&ext::headless_surface::NAME)
    }

    /// Whether shaders are checked while they run.
    pub fn gpu_assisted(&self) -> bool {
        self.gpu_assisted
    }

    pub(super) fn has_debug_utils(&self) -> bool {
        self.debug.is_some()
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        if let Some(debug) = &self.debug {
            // SAFETY: the messenger was made by this instance and nothing else destroys it.
            unsafe { debug.instance.destroy_debug_utils_messenger(debug.messenger, None) };
        }
        if self.owned {
            // SAFETY: every child holds an Arc of this instance, so none is left.
            unsafe { self.raw.destroy_instance(None) };
        }
    }
}

fn no_driver(result: vk::Result) -> Error {
    Error::NoDriver(match result {
        vk::Result::ERROR_INCOMPATIBLE_DRIVER => "the loader found no driver".into(),
        other => other.to_string(),
    })
}

fn validation_wanted(policy: Validation, layers: &[vk::LayerProperties]) -> Result<bool> {
    let installed = layers.iter().any(|l| l.layer_name_as_c_str() == Ok(VALIDATION_LAYER));
    match policy {
        Validation::Off => Ok(false),
        Validation::Debug => Ok(cfg!(debug_assertions) && installed),
        Validation::IfInstalled => Ok(installed),
        Validation::Required if installed => Ok(true),
        Validation::Required => Err(Error::ValidationMissing),
    }
}

fn surface_extensions(display: &Option<RawDisplayHandle>, headless: bool) -> Result<Vec<&'static CStr>> {
    let mut names = Vec::new();
    if let Some(display) = display {
        let needed =
            ash_window::enumerate_required_extensions(*display).map_err(Error::of("window system"))?;
        for &name in needed {
            // SAFETY: ash-window returns pointers to static NUL-terminated extension names.
            names.push(unsafe { CStr::from_ptr(name) });
        }
    }
    if headless {
        if names.is_empty() {
            names.push(khr::surface::NAME);
        }
        names.push(ext::headless_surface::NAME);
    }
    Ok(names)
}

fn messenger_info(log: &Arc<MessageLog>) -> vk::DebugUtilsMessengerCreateInfoEXT<'static> {
    use vk::DebugUtilsMessageSeverityFlagsEXT as Severity;
    use vk::DebugUtilsMessageTypeFlagsEXT as Kind;
    vk::DebugUtilsMessengerCreateInfoEXT::default()
        .message_severity(Severity::ERROR | Severity::WARNING)
        .message_type(Kind::GENERAL | Kind::VALIDATION | Kind::PERFORMANCE)
        .pfn_user_callback(Some(messages::callback))
        .user_data(Arc::as_ptr(log) as *mut _)
}
