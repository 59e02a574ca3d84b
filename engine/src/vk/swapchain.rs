//! The swapchain: images that a surface shows.
//!
//! ```text
//! acquire -> Image(sync) -> record -> submit_with_present(sync) -> present
//!         -> Resize, Minimised, Busy: no frame now, ask again later
//! ```
//!
//! Whatever a window does (resize in a storm, minimise, change its display) comes back as a value; an error
//! means that the device or the memory is gone. A frame that fails between two steps leaves the swapchain
//! usable: an image that was acquired and not rendered to is handed out again, one that was rendered to and
//! not presented is presented by the next [`Swapchain::acquire`].
//!
//! Semaphores: one a *frame* for acquiring (the next image is not known before), waited for on the host
//! before it is used again; one an *image* for presenting, because only acquiring an image again proves that
//! the present before has stopped waiting for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ash::{khr, vk};

use super::device::Device;
use super::error::{Error, Result};
use super::retire::Garbage;
use super::surface::Surface;
use super::swapchain_policy as policy;
use super::timeline::{Point, PresentSync, Timeline};

/// How a [`Swapchain`] shows its images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SwapchainOptions {
    /// Wait for the display, so that nothing tears and no frame is drawn for nothing.
    pub vsync: bool,
    /// Frames recorded before the first of them must be done; at least 1.
    pub frames_in_flight: usize,
}

impl Default for SwapchainOptions {
    fn default() -> Self {
        Self { vsync: true, frames_in_flight: 2 }
    }
}

/// An image to render to.
///
/// Its contents are undefined: begin with a barrier from `UNDEFINED`, whose first scope is
/// `COLOR_ATTACHMENT_OUTPUT | ALL_TRANSFER` (the stages at which a submission waits for the acquire), and end
/// with one to `PRESENT_SRC_KHR`. Usage: transfer destination and colour attachment.
#[derive(Debug, Clone)]
pub struct AcquiredImage {
    /// Its index in the swapchain.
    pub index: u32,
    /// The image, owned by the swapchain.
    pub image: vk::Image,
    /// A view of it in [`Swapchain::format`].
    pub view: vk::ImageView,
    /// Width and height in pixels.
    pub extent: [u32; 2],
    /// For [`Device::submit_with_present`] on the graphics timeline.
    pub sync: PresentSync,
}

/// What [`Swapchain::acquire`] found.
#[derive(Debug, Clone)]
pub enum Acquired {
    /// An image to render to.
    Image(AcquiredImage),
    /// The window changes faster than swapchains can be made: give its new size to [`Swapchain::resize`] and
    /// ask again in the next frame.
    Resize,
    /// The window has no pixels. Ask again when it has.
    Minimised,
    /// No image became free in a tenth of a second (a hidden window, on some systems). Ask again.
    Busy,
}

/// What became of a present.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presented {
    /// The image is on its way to the display.
    Shown,
    /// The window no longer matches; the next acquire makes a new swapchain.
    Resize,
}

/// Longest wait for a free image. An event loop stays responsive, and a display of 24 Hz is well inside.
const ACQUIRE_NANOSECONDS: u64 = 100_000_000;

/// A `VkSwapchainKHR`, its images, views and semaphores.
pub struct Swapchain {
    device: Arc<Device>,
    functions: khr::swapchain::Device,
    surface: Option<Surface>,
    options: SwapchainOptions,
    format: vk::SurfaceFormatKHR,
    wanted: [u32; 2],
    stale: bool,
    live: Option<Live>,
    frames: Vec<FrameSlot>,
    next_frame: usize,
    held: Option<AcquiredImage>,
    recreations: u64,
}

/// One swapchain object and what belongs to its images.
struct Live {
    raw: vk::SwapchainKHR,
    extent: [u32; 2],
    images: Vec<SwapchainImage>,
}

struct SwapchainImage {
    raw: vk::Image,
    view: vk::ImageView,
    rendered: vk::Semaphore,
}

impl std::fmt::Debug for Swapchain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Swapchain")
            .field("extent", &self.extent())
            .field("images", &self.image_count())
            .field("format", &self.format.format)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

/// A semaphore for acquiring, and the submission that waited for it last.
struct FrameSlot {
    acquired: vk::Semaphore,
    submitted: Arc<AtomicU64>,
}

impl Swapchain {
    /// Makes a swapchain for a window of `extent` pixels. A minimised window (a zero in `extent`) is fine:
    /// the swapchain is made when the window has pixels.
    ///
    /// # Errors
    /// When the device cannot present here, the surface offers no 8-bit UNORM format that can be copied to,
    /// or the driver has no memory.
    pub fn new(
        device: &Arc<Device>,
        surface: Surface,
        extent: [u32; 2],
        options: SwapchainOptions,
    ) -> Result<Self> {
        device.alive("vkCreateSwapchainKHR")?;
        let functions =
            device.swapchain.clone().ok_or_else(|| device.unsupported("a swapchain", "VK_KHR_swapchain"))?;
        if !Arc::ptr_eq(surface.instance(), device.instance()) {
            return Err(Error::Other(
                "the surface was made by another Vulkan instance than the device".into(),
            ));
        }
        let (_, family) = device.raw_graphics_queue();
        if !surface.supports(device.physical(), family)? {
            return Err(device.unsupported("this window", "presentation from its graphics queue"));
        }
        let usage = surface.capabilities(device.physical())?.supported_usage_flags;
        if !usage.contains(image_usage()) {
            return Err(device.unsupported("this window", "swapchain images that can be copied to"));
        }
        let format = policy::format(&surface.formats(device.physical())?)
            .ok_or_else(|| device.unsupported("this window", "an 8-bit UNORM surface format"))?;
        device.counters.made(); // The surface, which the retire queue will destroy.
        let mut swapchain = Self {
            device: device.clone(),
            functions,
            surface: Some(surface),
            options,
            format,
            wanted: extent,
            stale: true,
            live: None,
            frames: Vec::new(),
            next_frame: 0,
            held: None,
            recreations: 0,
        };
        for _ in 0..options.frames_in_flight.max(1) {
            let acquired = binary_semaphore(device, "Swapchain.Acquired")?;
            swapchain.frames.push(FrameSlot { acquired, submitted: Arc::default() });
        }
        swapchain.recreate()?;
        Ok(swapchain)
    }

    /// Format of the images.
    pub fn format(&self) -> vk::Format {
        self.format.format
    }

    /// Width and height of the images in pixels; `None` while there are none (minimised).
    pub fn extent(&self) -> Option<[u32; 2]> {
        self.live.as_ref().map(|live| live.extent)
    }

    /// Number of images.
    pub fn image_count(&self) -> usize {
        self.live.as_ref().map_or(0, |live| live.images.len())
    }

    /// How often a swapchain object was made.
    pub fn recreations(&self) -> u64 {
        self.recreations
    }

    /// Tells the size of the window in pixels. Cheap: the next [`Swapchain::acquire`] does the work, once for
    /// a storm of calls. Call it at every resize: some compositors never say that a swapchain is out of date.
    pub fn resize(&mut self, extent: [u32; 2]) {
        if self.wanted != extent {
            self.wanted = extent;
            self.stale = true;
        }
    }

    /// Takes the next image to render to, after making a new swapchain where the window has changed.
    ///
    /// # Errors
    /// When the device or the surface is lost, or memory ran out. What the window does is a value.
    pub fn acquire(&mut self) -> Result<Acquired> {
        profiling::scope!("acquire");
        self.device.alive("vkAcquireNextImageKHR")?;
        if let Some(held) = &self.held {
            if held.sync.submitted().is_some() {
                self.present()?;
            } else if !self.stale {
                return Ok(Acquired::Image(held.clone()));
            }
        }
        // Out of date once is what a resize looks like; twice in a row, and the window is still moving.
        for _ in 0..2 {
            if (self.stale || self.live.is_none())
                && let Some(not_now) = self.recreate()?
            {
                return Ok(not_now);
            }
            match self.acquire_once()? {
                Acquired::Resize => self.stale = true,
                other => return Ok(other),
            }
        }
        Ok(Acquired::Resize)
    }

    fn acquire_once(&mut self) -> Result<Acquired> {
        let Some(live) = &self.live else { return Ok(Acquired::Minimised) };
        let slot = &self.frames[self.next_frame];
        // The semaphore is free again when the submission that waited for it is done.
        let last = Point { timeline: Timeline::Graphics, value: slot.submitted.load(Ordering::Acquire) };
        self.device.wait(&[last])?;
        // SAFETY: the swapchain is alive and used by one thread (`&mut self`); the semaphore is unsignalled:
        // new, or its last wait is done (above), and no acquire of it is pending (`held` is `None`, since
        // `acquire` and `recreate` hand out or drain a held image first).
        let answer = unsafe {
            self.functions.acquire_next_image(live.raw, ACQUIRE_NANOSECONDS, slot.acquired, vk::Fence::null())
        };
        let (index, suboptimal) = match answer {
            Ok(answer) => answer,
            Err(vk::Result::ERROR_OUT_OF_DATE_KHR) => return Ok(Acquired::Resize),
            Err(vk::Result::TIMEOUT | vk::Result::NOT_READY) => return Ok(Acquired::Busy),
            Err(other) => return Err(self.device.noticed(Error::of("vkAcquireNextImageKHR")(other))),
        };
        let Some(image) = live.images.get(index as usize) else {
            return Err(Error::Other(format!("the driver acquired image {index} of {}", live.images.len())));
        };
        slot.submitted.store(0, Ordering::Release);
        let acquired = AcquiredImage {
            index,
            image: image.raw,
            view: image.view,
            extent: live.extent,
            sync: PresentSync::new(slot.acquired, image.rendered, slot.submitted.clone()),
        };
        self.held = Some(acquired.clone());
        self.next_frame = (self.next_frame + 1) % self.frames.len();
        if suboptimal {
            self.note_suboptimal()?;
        }
        Ok(Acquired::Image(acquired))
    }

    /// Some systems call a swapchain suboptimal for as long as it lives; only a change of size can be mended.
    fn note_suboptimal(&mut self) -> Result<()> {
        let now = self.wanted_extent()?;
        self.stale |= now != self.extent();
        Ok(())
    }

    fn wanted_extent(&self) -> Result<Option<[u32; 2]>> {
        match &self.surface {
            Some(surface) => Ok(policy::extent(&surface.capabilities(self.device.physical())?, self.wanted)),
            None => Ok(None),
        }
    }

    /// Presents the image acquired last, after the submission that rendered to it.
    ///
    /// # Errors
    /// When nothing was acquired, or nothing was submitted with its [`PresentSync`]; when the device or the
    /// surface is lost.
    pub fn present(&mut self) -> Result<Presented> {
        profiling::scope!("present");
        self.device.alive("vkQueuePresentKHR")?;
        let (Some(held), Some(live)) = (&self.held, &self.live) else {
            return Err(Error::Other("present without an acquired image: call acquire first".into()));
        };
        if held.sync.submitted().is_none() {
            return Err(Error::Other(
                "present without rendering: submit with the acquired image's sync first".into(),
            ));
        }
        let (rendered, swapchains, indices) = ([held.sync.rendered], [live.raw], [held.index]);
        let info = vk::PresentInfoKHR::default()
            .wait_semaphores(&rendered)
            .swapchains(&swapchains)
            .image_indices(&indices);
        let queue = &self.device.queues.graphics;
        let answer = {
            let _host = queue.lock();
            // SAFETY: the arrays are locals; the queue lock is held and the swapchain used by one thread; the
            // image is acquired, and a submission that signals `rendered` is on this queue (just checked).
            unsafe { self.functions.queue_present(queue.raw, &info) }
        };
        self.held = None;
        match answer {
            Ok(false) => Ok(Presented::Shown),
            Ok(true) => {
                self.note_suboptimal()?;
                Ok(if self.stale { Presented::Resize } else { Presented::Shown })
            }
            Err(vk::Result::ERROR_OUT_OF_DATE_KHR) => {
                self.stale = true;
                Ok(Presented::Resize)
            }
            Err(other) => Err(self.device.noticed(Error::of("vkQueuePresentKHR")(other))),
        }
    }

    /// Makes a swapchain object for the window's present size, or says why there is none now.
    fn recreate(&mut self) -> Result<Option<Acquired>> {
        if self.wanted_extent()?.is_none() {
            return Ok(Some(Acquired::Minimised));
        }
        self.drain()?;
        let Some(surface) = &self.surface else { return Ok(Some(Acquired::Minimised)) };
        let physical = self.device.physical();
        // Asked for again: the queue was waited for, and the window may have moved on.
        let capabilities = surface.capabilities(physical)?;
        let Some(extent) = policy::extent(&capabilities, self.wanted) else {
            return Ok(Some(Acquired::Minimised));
        };
        let mode = policy::present_mode(&surface.present_modes(physical)?, self.options.vsync);
        let identity = vk::SurfaceTransformFlagsKHR::IDENTITY;
        let transform = if capabilities.supported_transforms.contains(identity) {
            identity
        } else {
            capabilities.current_transform
        };
        let old = self.live.take();
        let info = vk::SwapchainCreateInfoKHR::default()
            .surface(surface.raw())
            .min_image_count(policy::image_count(&capabilities))
            .image_format(self.format.format)
            .image_color_space(self.format.color_space)
            .image_extent(vk::Extent2D { width: extent[0], height: extent[1] })
            .image_array_layers(1)
            .image_usage(image_usage())
            .image_sharing_mode(vk::SharingMode::EXCLUSIVE)
            .pre_transform(transform)
            .composite_alpha(policy::composite_alpha(capabilities.supported_composite_alpha))
            .present_mode(mode)
            .clipped(true)
            .old_swapchain(old.as_ref().map_or(vk::SwapchainKHR::null(), |old| old.raw));
        // SAFETY: the surface is alive, has no other swapchain than `old`, and every value was taken from what
        // it offers, asked for just now.
        let made = unsafe { self.functions.create_swapchain(&info, None) };
        // Creation retires the old one even where it fails.
        if let Some(old) = old {
            self.retire(old);
        }
        let raw = match made {
            Ok(raw) => raw,
            // The window went on changing since its size was asked for; drivers differ in what they call it.
            Err(vk::Result::ERROR_OUT_OF_DATE_KHR) => return Ok(Some(Acquired::Resize)),
            Err(vk::Result::ERROR_INITIALIZATION_FAILED) if self.wanted_extent()? != Some(extent) => {
                return Ok(Some(Acquired::Resize));
            }
            Err(other) => return Err(self.device.noticed(Error::of("vkCreateSwapchainKHR")(other))),
        };
        self.device.counters.made();
        self.recreations += 1;
        let mut live = Live { raw, extent, images: Vec::new() };
        if let Err(error) = self.adopt_images(&mut live) {
            self.retire(live);
            return Err(error);
        }
        self.live = Some(live);
        self.stale = false;
        Ok(None)
    }

    fn adopt_images(&self, live: &mut Live) -> Result<()> {
        // SAFETY: the swapchain was just made.
        let images = unsafe { self.functions.get_swapchain_images(live.raw) }
            .map_err(|r| self.device.noticed(Error::of("vkGetSwapchainImagesKHR")(r)))?;
        for (i, image) in images.into_iter().enumerate() {
            let name = format!("Swapchain[{i}]");
            self.device.set_name(image, &name);
            let range = vk::ImageSubresourceRange::default()
                .aspect_mask(vk::ImageAspectFlags::COLOR)
                .level_count(1)
                .layer_count(1);
            let info = vk::ImageViewCreateInfo::default()
                .image(image)
                .view_type(vk::ImageViewType::TYPE_2D)
                .format(self.format.format)
                .subresource_range(range);
            // SAFETY: the image belongs to the swapchain and has this format.
            let view = unsafe { self.device.raw.create_image_view(&info, None) }
                .map_err(|r| self.device.noticed(Error::of("vkCreateImageView")(r)))?;
            self.device.counters.made();
            self.device.set_name(view, &name);
            let rendered = binary_semaphore(&self.device, &format!("{name}.Rendered")).inspect_err(|_| {
                self.device.retire(Garbage::View(view));
            })?;
            live.images.push(SwapchainImage { raw: image, view, rendered });
        }
        Ok(())
    }

    /// Brings every semaphore to rest, so that what belongs to the images may be destroyed.
    ///
    /// A held image still has its acquire semaphore to be signalled, or its rendering to be presented: the
    /// first is waited for by an empty submission, the second is dropped with its image. Then the queue is
    /// waited for. A timeline alone would not do: the wait of a present is an operation of the queue that no
    /// timeline covers, and the queue being idle is what drivers and layers take as the end of it. (A fence a
    /// present would say it by the letter, with `VK_EXT_swapchain_maintenance1`, which few have.)
    fn drain(&mut self) -> Result<()> {
        if self.live.is_none() {
            return Ok(());
        }
        self.device.alive("vkQueueWaitIdle")?;
        if let Some(held) = self.held.take()
            && held.sync.submitted().is_none()
        {
            let sync = PresentSync { rendered: vk::Semaphore::null(), ..held.sync };
            self.device.submit_with_present(Timeline::Graphics, Vec::new(), &[], sync)?;
        }
        let queue = &self.device.queues.graphics;
        let _host = queue.lock();
        // SAFETY: the queue lives as long as the device, and its lock is held.
        unsafe { self.device.raw.queue_wait_idle(queue.raw) }
            .map_err(|r| self.device.noticed(Error::of("vkQueueWaitIdle")(r)))
    }

    fn retire(&self, old: Live) {
        for image in &old.images {
            self.device.retire(Garbage::View(image.view));
        }
        self.device.retire(Garbage::Swapchain(old.raw));
        for image in old.images {
            self.device.retire(Garbage::Semaphore(image.rendered));
        }
    }
}

impl Drop for Swapchain {
    fn drop(&mut self) {
        if let Err(error) = self.drain() {
            // Only a lost device or no memory can do this; the retire queue knows what to do with the first.
            log::warn!("a swapchain was dropped while the queue could not be waited for: {error}");
        }
        if let Some(live) = self.live.take() {
            self.retire(live);
        }
        for slot in std::mem::take(&mut self.frames) {
            self.device.retire(Garbage::Semaphore(slot.acquired));
        }
        if let Some(surface) = self.surface.take() {
            self.device.retire(Garbage::Surface(surface.into_retired()));
        }
    }
}

fn image_usage() -> vk::ImageUsageFlags {
    vk::ImageUsageFlags::TRANSFER_DST | vk::ImageUsageFlags::COLOR_ATTACHMENT
}

fn binary_semaphore(device: &Device, name: &str) -> Result<vk::Semaphore> {
    // SAFETY: a binary semaphore without a chain.
    let raw = unsafe { device.raw.create_semaphore(&vk::SemaphoreCreateInfo::default(), None) }
        .map_err(|r| device.noticed(Error::of("vkCreateSemaphore")(r)))?;
    device.counters.made();
    device.set_name(raw, name);
    Ok(raw)
}
