//! Surfaces: where a swapchain shows its images. A window, or nothing at all (headless, for tests).

use std::sync::Arc;

use ash::{ext, khr, vk};
use raw_window_handle::{HasDisplayHandle, HasWindowHandle};

use super::capabilities::Capabilities;
use super::error::{Error, Result};
use super::instance::Instance;
use super::queue_policy::{self, SparseQueuePolicy};

/// Any window that raw-window-handle 0.6 can name. Implemented for all of them.
pub trait Window: HasDisplayHandle + HasWindowHandle + Send + Sync {}

impl<T: HasDisplayHandle + HasWindowHandle + Send + Sync + ?Sized> Window for T {}

/// A `VkSurfaceKHR` and the window it belongs to, which it keeps alive.
pub struct Surface {
    instance: Arc<Instance>,
    raw: vk::SurfaceKHR,
    window: Option<Arc<dyn Window>>,
}

impl std::fmt::Debug for Surface {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Surface")
            .field("raw", &self.raw)
            .field("headless", &self.window.is_none())
            .finish_non_exhaustive()
    }
}

/// What is left of a surface for the retire queue: the handle, and the window that must outlive it.
pub(super) struct RetiredSurface {
    pub(super) raw: vk::SurfaceKHR,
    pub(super) _window: Option<Arc<dyn Window>>,
}

impl Surface {
    /// The surface of a window. The instance was made for the window's display
    /// ([`InstanceOptions::display`](super::InstanceOptions::display)); the window lives at least as long as
    /// the surface, which holds a share of it.
    ///
    /// # Errors
    /// When the window has no handle now (some systems take it away while an application is suspended), or
    /// the instance was made for another window system or for none.
    pub fn new<W: Window + 'static>(instance: &Arc<Instance>, window: Arc<W>) -> Result<Self> {
        let window: Arc<dyn Window> = window;
        if !instance.has_surfaces() {
            return Err(Error::Unsupported {
                what: "a window".into(),
                needs: "an instance made with InstanceOptions::display".into(),
                device: "headless instance".into(),
            });
        }
        let gone = |e: raw_window_handle::HandleError| Error::Other(format!("the window has no handle: {e}"));
        let display = window.display_handle().map_err(gone)?.as_raw();
        let handle = window.window_handle().map_err(gone)?.as_raw();
        // SAFETY: both handles come from a live window, and `window` is kept beside the surface until the
        // surface is destroyed.
        let raw =
            unsafe { ash_window::create_surface(instance.entry(), instance.raw(), display, handle, None) }
                .map_err(Error::of("creating the window's surface"))?;
        Ok(Self { instance: instance.clone(), raw, window: Some(window) })
    }

    /// A surface without any window: swapchains work, nothing is shown. For tests.
    ///
    /// # Errors
    /// When the instance was made without [`InstanceOptions::headless_surface`](super::InstanceOptions), or
    /// no driver has `VK_EXT_headless_surface`.
    pub fn headless(instance: &Arc<Instance>) -> Result<Self> {
        if !instance.has_headless_surfaces() {
            return Err(Error::Unsupported {
                what: "a headless surface".into(),
                needs: "VK_EXT_headless_surface (and InstanceOptions::headless_surface)".into(),
                device: "Vulkan instance".into(),
            });
        }
        let extension = ext::headless_surface::Instance::new(instance.entry(), instance.raw());
        // SAFETY: the extension is enabled (just checked); the create info holds no pointers.
        let raw =
            unsafe { extension.create_headless_surface(&vk::HeadlessSurfaceCreateInfoEXT::default(), None) }
                .map_err(Error::of("vkCreateHeadlessSurfaceEXT"))?;
        Ok(Self { instance: instance.clone(), raw, window: None })
    }

    /// The raw handle.
    pub fn raw(&self) -> vk::SurfaceKHR {
        self.raw
    }

    pub(super) fn instance(&self) -> &Arc<Instance> {
        &self.instance
    }

    /// Whether a queue family can present here.
    ///
    /// # Errors
    /// When the driver has no memory, or the surface is lost.
    pub fn supports(&self, physical: vk::PhysicalDevice, family: u32) -> Result<bool> {
        // SAFETY: the surface is alive; the family is one that this physical device listed.
        unsafe { self.functions().get_physical_device_surface_support(physical, family, self.raw) }
            .map_err(Error::of("vkGetPhysicalDeviceSurfaceSupportKHR"))
    }

    pub(super) fn capabilities(&self, physical: vk::PhysicalDevice) -> Result<vk::SurfaceCapabilitiesKHR> {
        // SAFETY: the surface is alive and the device belongs to its instance.
        unsafe { self.functions().get_physical_device_surface_capabilities(physical, self.raw) }
            .map_err(Error::of("vkGetPhysicalDeviceSurfaceCapabilitiesKHR"))
    }

    pub(super) fn formats(&self, physical: vk::PhysicalDevice) -> Result<Vec<vk::SurfaceFormatKHR>> {
        // SAFETY: as above; the result is an owned vector.
        unsafe { self.functions().get_physical_device_surface_formats(physical, self.raw) }
            .map_err(Error::of("vkGetPhysicalDeviceSurfaceFormatsKHR"))
    }

    pub(super) fn present_modes(&self, physical: vk::PhysicalDevice) -> Result<Vec<vk::PresentModeKHR>> {
        // SAFETY: as above; the result is an owned vector.
        unsafe { self.functions().get_physical_device_surface_present_modes(physical, self.raw) }
            .map_err(Error::of("vkGetPhysicalDeviceSurfacePresentModesKHR"))
    }

    /// Marks a device whose graphics queue cannot present here, so that the choice refuses it by name.
    pub(super) fn judge(&self, physical: vk::PhysicalDevice, capabilities: &mut Capabilities) -> Result<()> {
        if !capabilities.optional.swapchain {
            return Ok(()); // Refused for that already, and asking may need the extension.
        }
        let Ok(plan) = queue_policy::plan(capabilities, SparseQueuePolicy::Auto) else { return Ok(()) };
        if !self.supports(physical, plan.graphics.family)? {
            capabilities.missing.push("presentation to this window from its graphics queue");
        }
        Ok(())
    }

    /// Gives the handle up to the retire queue of the device whose swapchain used it.
    pub(super) fn into_retired(mut self) -> RetiredSurface {
        let raw = std::mem::replace(&mut self.raw, vk::SurfaceKHR::null());
        RetiredSurface { raw, _window: self.window.take() }
    }

    fn functions(&self) -> khr::surface::Instance {
        khr::surface::Instance::new(self.instance.entry(), self.instance.raw())
    }
}

impl Drop for Surface {
    fn drop(&mut self) {
        if self.raw != vk::SurfaceKHR::null() {
            // SAFETY: no swapchain uses it: a swapchain takes its surface by value and hands it to the retire
            // queue, which leaves a null handle here. The window is dropped after this.
            unsafe { self.functions().destroy_surface(self.raw, None) };
        }
    }
}
