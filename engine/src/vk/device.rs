//! The logical device: everything else in this room hangs from it.

use std::mem::ManuallyDrop;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, OnceLock};

use ash::{ext, khr, vk};
use gpu_allocator::vulkan::{Allocator, AllocatorCreateDesc};

use super::addresses::{AddressBudget, DEFAULT_ADDRESS_WARNING};
use super::breadcrumbs::Breadcrumbs;
use super::capabilities::{self, Capabilities, FeatureMask};
use super::clocks::Clocks;
use super::counters::Counters;
use super::error::{Error, Result};
use super::faults::Faults;
use super::instance::Instance;
use super::loss::LossReport;
use super::owners::Owners;
use super::pressure::{NO_LIMIT, Reclaimers};
use super::queue_policy::{self, QueueChoice, QueuePlan, SparseQueuePolicy};
use super::quirks::{Quirks, Switch};
use super::retire::RetireQueue;
use super::select::{self, DeviceReport, Wanted};
use super::surface::Surface;
use super::timeline::{Queue, Semaphore, Timeline};

/// How to open a [`Device`].
#[derive(Debug, Clone, Default)]
pub struct DeviceOptions {
    /// Part of a device's name; `None` takes the best.
    pub name: Option<String>,
    /// Features to hide.
    pub mask: FeatureMask,
    /// Where sparse binds go.
    pub sparse_queue: SparseQueuePolicy,
    /// Whether the device must be able to present; [`Device::open_for_surface`] also asks the surface.
    pub present: bool,
    /// Folder for the pipeline cache; `None` keeps none on disk.
    pub cache_folder: Option<std::path::PathBuf>,
    /// Quirk switches to turn whatever the table of quirks says: for a driver that is not in it yet, and tests.
    pub switches: Vec<Switch>,
    /// Leave out the marks that tell after a loss which pass ran: see [`super::breadcrumbs`].
    pub no_breadcrumbs: bool,
}

pub(super) struct Queues {
    pub(super) graphics: Queue,
    pub(super) sparse: Option<Queue>,
    pub(super) transfer: Queue,
    pub(super) compute: Queue,
}

impl Queues {
    /// The queues of a plan; roles that share a queue share its lock.
    ///
    /// # Safety
    /// The device was made with these queues.
    unsafe fn new(raw: &ash::Device, plan: &QueuePlan) -> Self {
        let mut made: Vec<(QueueChoice, Queue)> = Vec::new();
        let mut choose = |choice: QueueChoice| match made.iter().find(|(known, _)| *known == choice) {
            Some((_, queue)) => queue.clone(),
            None => {
                // SAFETY: the caller's promise.
                let raw = unsafe { raw.get_device_queue(choice.family, choice.index) };
                let queue = Queue::new(raw, choice.family);
                made.push((choice, queue.clone()));
                queue
            }
        };
        Self {
            graphics: choose(plan.graphics),
            sparse: plan.sparse.map(&mut choose),
            transfer: choose(plan.transfer),
            compute: choose(plan.compute),
        }
    }
}

/// An open Vulkan device. Handles made from it keep it alive; it is destroyed after the last of them.
pub struct Device {
    pub(super) instance: Arc<Instance>,
    pub(super) physical: vk::PhysicalDevice,
    pub(super) raw: ash::Device,
    owned: bool,
    capabilities: Capabilities,
    quirks: Quirks,
    queue_plan: QueuePlan,
    pub(super) queues: Queues,
    pub(super) timelines: [Semaphore; Timeline::ALL.len()],
    /// Serialises binds of all queues.
    pub(super) bind_order: Mutex<()>,
    pub(super) clocks: Mutex<Clocks>,
    pub(super) faults: Faults,
    pub(super) owners: Owners,
    pub(super) reclaimers: Reclaimers,
    /// Own bytes allowed in each device-local heap.
    pub(super) memory_limit: AtomicU64,
    pub(super) addresses: Mutex<AddressBudget>,
    pub(super) retire: RetireQueue,
    pub(super) counters: Counters,
    pub(super) allocator: Mutex<ManuallyDrop<Allocator>>,
    pub(super) bindless: OnceLock<super::bindless::Bindless>,
    pub(super) breadcrumbs: OnceLock<Breadcrumbs>,
    pub(super) pipelines: OnceLock<super::pipeline::PipelineCommon>,
    #[cfg(feature = "hot-reload")]
    pub(super) registry: super::reload::Registry,
    pub(super) cache_folder: Option<std::path::PathBuf>,
    pub(super) debug: Option<ext::debug_utils::Device>,
    pub(super) swapchain: Option<khr::swapchain::Device>,
    pub(super) pageable: Option<ext::pageable_device_local_memory::Device>,
    /// Granularity of binds of buffers, bytes, as probed; 1 without sparse binding.
    sparse_buffer_alignment: u64,
    /// `VK_EXT_device_fault`, where it is enabled.
    pub(super) fault: Option<ext::device_fault::Device>,
    pub(super) lost: OnceLock<Arc<LossReport>>,
    /// Graphics submissions when an allocation was refused last, plus one; 0 = never.
    pub(super) pressure: AtomicU64,
}

impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Device").field("name", &self.capabilities.name).finish_non_exhaustive()
    }
}

/// Asks every device of an instance what it can do.
///
/// # Errors
/// When the driver fails to list its devices.
pub fn enumerate(instance: &Instance) -> Result<Vec<(vk::PhysicalDevice, Capabilities)>> {
    // SAFETY: a plain query; the result is an owned vector.
    let all = unsafe { instance.raw().enumerate_physical_devices() }.map_err(|r| match r {
        vk::Result::ERROR_INITIALIZATION_FAILED => Error::NoDriver("the driver refused to start".into()),
        other => Error::of("vkEnumeratePhysicalDevices")(other),
    })?;
    all.into_iter().map(|p| Ok((p, capabilities::query(instance, p)?))).collect()
}

/// The report of [`Device::open`], without opening anything.
///
/// # Errors
/// When the driver fails to list its devices.
pub fn report(instance: &Instance, options: &DeviceOptions) -> Result<DeviceReport> {
    let mut all = enumerate(instance)?;
    all.iter_mut().for_each(|(_, c)| options.mask.apply(c));
    let wanted = Wanted { name: options.name.clone(), present: options.present };
    Ok(select::select(&all.into_iter().map(|(_, c)| c).collect::<Vec<_>>(), &wanted))
}

impl Device {
    /// Opens the best device of an instance.
    ///
    /// # Errors
    /// [`Error::NoDevice`] with a line a device, or what the driver said.
    pub fn open(instance: &Arc<Instance>, options: &DeviceOptions) -> Result<Arc<Self>> {
        Self::open_best(instance, options, None)
    }

    /// Opens the best device that can present to a surface from its graphics queue.
    ///
    /// # Errors
    /// [`Error::NoDevice`] with a line a device, or what the driver said.
    pub fn open_for_surface(
        instance: &Arc<Instance>,
        options: &DeviceOptions,
        surface: &Surface,
    ) -> Result<Arc<Self>> {
        Self::open_best(instance, options, Some(surface))
    }

    fn open_best(
        instance: &Arc<Instance>,
        options: &DeviceOptions,
        surface: Option<&Surface>,
    ) -> Result<Arc<Self>> {
        let mut all = enumerate(instance)?;
        all.iter_mut().for_each(|(_, c)| options.mask.apply(c));
        if let Some(surface) = surface {
            for (physical, capabilities) in &mut all {
                surface.judge(*physical, capabilities)?;
            }
        }
        let list: Vec<_> = all.iter().map(|(_, c)| c.clone()).collect();
        let present = options.present || surface.is_some();
        let report = select::select(&list, &Wanted { name: options.name.clone(), present });
        log::debug!("devices:\n{}", report.table());
        let chosen = report.chosen.ok_or_else(|| Error::NoDevice { report: report.to_string() })?;
        let (physical, capabilities) = all.swap_remove(chosen);
        let plan = queue_policy::plan(&capabilities, options.sparse_queue).map_err(Error::Other)?;
        let raw = super::features::create(instance, physical, &capabilities, &plan)?;
        // SAFETY: the device was made with the queues of this plan.
        let queues = unsafe { Queues::new(&raw, &plan) };
        Self::assemble(instance.clone(), physical, raw, true, capabilities, plan, queues, options)
    }

    /// Wraps an application's own device, with the queues the engine may use.
    ///
    /// What the application does first, on plain `ash` (`engine/examples/growable_buffer.rs` is all of it):
    ///
    /// 1. make an instance for Vulkan 1.3 and wrap it ([`Instance::from_raw`]);
    /// 2. ask a physical device what it can do ([`capabilities::query`]) and which queues to take
    ///    ([`queue_policy::plan`], or a [`QueuePlan`] of its own);
    /// 3. make a device with the queues of [`QueuePlan::families`] and the features of [`feature_chain`](super::features::feature_chain), which
    ///    are [`required_features`](super::features::required_features) and what sparse resources need, beside features and extensions of its own.
    ///
    /// The engine uses of the device what the physical device reports. `mask` hides what was not enabled:
    /// [`FeatureMask::fallback`] where `sparseBinding` was not, `bc` or `anisotropy` likewise. A plan without a
    /// sparse queue hides sparse binding too. No extension is needed.
    ///
    /// The application's own command buffers go through [`Device::submit_raw`], so that the engine knows until
    /// when its resources are in use. Where the application uses the queues directly (presenting, say), that must
    /// not overlap the engine's calls: Vulkan leaves this to the caller.
    ///
    /// # Errors
    /// When the device lacks what is needed (by name), the plan names a queue that does not exist, or objects
    /// cannot be made.
    ///
    /// # Safety
    /// `physical` and `raw` belong to `instance`; the features above that are not masked are enabled; the queues of
    /// `plan` were made with the device. All of it stays valid until the returned value and everything made from it
    /// are dropped, which does not destroy it.
    pub unsafe fn from_raw(
        instance: Arc<Instance>,
        physical: vk::PhysicalDevice,
        raw: ash::Device,
        plan: QueuePlan,
        mask: &FeatureMask,
    ) -> Result<Arc<Self>> {
        let mut capabilities = capabilities::query(&instance, physical)?;
        mask.apply(&mut capabilities);
        if plan.sparse.is_none() {
            FeatureMask::fallback().apply(&mut capabilities);
        }
        if !capabilities.missing.is_empty() {
            let needs = capabilities.missing.join(", ");
            return Err(Error::Unsupported { what: "the engine".into(), needs, device: capabilities.name });
        }
        for (family, count) in plan.families() {
            let limit = capabilities.queue_families.get(family as usize).map_or(0, |f| f.count);
            if count > limit {
                let what = format!("queues of family {family} on {}", capabilities.name);
                return Err(Error::Limit { what, asked: count.into(), limit: limit.into() });
            }
        }
        // Extensions that the application may not have enabled.
        capabilities.optional.memory_priority = false;
        capabilities.optional.pageable_memory = false;
        capabilities.optional.device_fault = false;
        // SAFETY: the device was made with the queues of this plan.
        let queues = unsafe { Queues::new(&raw, &plan) };
        let options = DeviceOptions::default();
        Self::assemble(instance, physical, raw, false, capabilities, plan, queues, &options)
    }

    #[allow(clippy::too_many_arguments)] // One private call site a constructor; a struct would only repeat the names.
    fn assemble(
        instance: Arc<Instance>,
        physical: vk::PhysicalDevice,
        raw: ash::Device,
        owned: bool,
        capabilities: Capabilities,
        queue_plan: QueuePlan,
        queues: Queues,
        options: &DeviceOptions,
    ) -> Result<Arc<Self>> {
        let made = Self::make_timelines(&raw).and_then(|timelines| {
            // Leaks are counted by our own counters; the allocator's report at exit would only repeat them.
            let mut quiet = gpu_allocator::AllocatorDebugSettings::default();
            quiet.log_leaks_on_shutdown = false;
            let allocator = Allocator::new(&AllocatorCreateDesc {
                instance: instance.raw().clone(),
                device: raw.clone(),
                physical_device: physical,
                debug_settings: quiet,
                buffer_device_address: false,
                allocation_sizes: gpu_allocator::AllocationSizes::default(),
            });
            Ok((timelines, allocator.map_err(|e| Error::Other(e.to_string()))?))
        });
        let (timelines, allocator) = match made {
            Ok(made) => made,
            Err(error) => {
                if owned {
                    // SAFETY: nothing but failed objects was made from it.
                    unsafe { raw.destroy_device(None) };
                }
                return Err(error);
            }
        };
        let debug = instance.has_debug_utils().then(|| ext::debug_utils::Device::new(instance.raw(), &raw));
        let swapchain = (owned && instance.has_surfaces() && capabilities.optional.swapchain)
            .then(|| khr::swapchain::Device::new(instance.raw(), &raw));
        let pageable = (owned && capabilities.optional.pageable_memory)
            .then(|| ext::pageable_device_local_memory::Device::new(instance.raw(), &raw));
        let fault =
            capabilities.optional.device_fault.then(|| ext::device_fault::Device::new(instance.raw(), &raw));
        let addresses = AddressBudget::new(capabilities.sparse.address_space_bytes, DEFAULT_ADDRESS_WARNING);
        let mut device = Self {
            quirks: Quirks::of(&capabilities, &options.switches),
            counters: Counters::new(capabilities.heaps.len()),
            instance,
            physical,
            raw,
            owned,
            capabilities,
            queue_plan,
            queues,
            timelines,
            bind_order: Mutex::default(),
            clocks: Mutex::default(),
            faults: Faults::default(),
            owners: Owners::default(),
            reclaimers: Reclaimers::default(),
            memory_limit: AtomicU64::new(NO_LIMIT),
            addresses: Mutex::new(addresses),
            retire: RetireQueue::default(),
            allocator: Mutex::new(ManuallyDrop::new(allocator)),
            bindless: OnceLock::new(),
            breadcrumbs: OnceLock::new(),
            pipelines: OnceLock::new(),
            #[cfg(feature = "hot-reload")]
            registry: Default::default(),
            cache_folder: options.cache_folder.clone(),
            debug,
            swapchain,
            pageable,
            sparse_buffer_alignment: 1,
            fault,
            lost: OnceLock::new(),
            pressure: AtomicU64::new(0),
        };
        device.name_timelines();
        device.probe_sparse()?;
        device.probe_sparse_images()?;
        let device = Arc::new(device);
        device.make_common(options)?;
        Ok(device)
    }

    fn make_common(&self, options: &DeviceOptions) -> Result<()> {
        let bindless = super::bindless::Bindless::new(self)?;
        let bindless = self.bindless.get_or_init(|| bindless);
        let pipelines = super::pipeline::PipelineCommon::new(self, bindless)?;
        self.pipelines.get_or_init(|| pipelines);
        if !options.no_breadcrumbs {
            let breadcrumbs = Breadcrumbs::new(self)?;
            self.breadcrumbs.get_or_init(|| breadcrumbs);
        }
        Ok(())
    }

    /// Some drivers advertise sparse binding and offer no memory type for it: make a dummy buffer and look.
    fn probe_sparse(&mut self) -> Result<()> {
        if !self.capabilities.sparse.growable_buffers() {
            return Ok(());
        }
        match self.sparse_buffer_requirements() {
            Ok(needs) if needs.memory_types != 0 => self.sparse_buffer_alignment = needs.alignment,
            Ok(_) => {
                log::warn!(
                    "{} advertises sparse binding but has no memory type for it: not used",
                    self.capabilities.name
                );
                self.capabilities.sparse = Default::default();
            }
            // Having no memory now says nothing of what the device can do.
            Err(error) if error.is_out_of_memory() => return Err(error),
            Err(error) => {
                log::warn!(
                    "{} advertises sparse binding but a reserved buffer fails ({error}): not used",
                    self.capabilities.name
                );
                self.capabilities.sparse = Default::default();
            }
        }
        Ok(())
    }

    /// The same for images: some drivers have memory for sparse buffers only.
    fn probe_sparse_images(&mut self) -> Result<()> {
        let sparse = self.capabilities.sparse;
        if !sparse.binding || !sparse.residency_image_2d {
            return Ok(());
        }
        let why = match self.sparse_image_memory_types() {
            Ok(0) => "has no memory type for them".to_owned(),
            Ok(_) => return Ok(()),
            Err(error) if error.is_out_of_memory() => return Err(error),
            Err(error) => format!("one fails ({error})"),
        };
        log::warn!(
            "{} advertises partially resident images but {why}: they are not used",
            self.capabilities.name
        );
        self.capabilities.sparse.residency_image_2d = false;
        self.capabilities.sparse.residency_image_3d = false;
        Ok(())
    }

    /// What the device can do, after masks and probes.
    pub fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    /// The granularity at which memory is bound to reserved buffers, in bytes, as the driver reported it.
    pub fn sparse_buffer_alignment(&self) -> u64 {
        self.sparse_buffer_alignment
    }

    /// Faults on purpose, for tests: see [`super::faults`].
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// Known faults of the driver.
    pub fn quirks(&self) -> &Quirks {
        &self.quirks
    }

    /// Which queue does what, and why.
    pub fn queue_plan(&self) -> &QueuePlan {
        &self.queue_plan
    }

    /// The instance this device was opened on.
    pub fn instance(&self) -> &Arc<Instance> {
        &self.instance
    }

    /// The raw device, for code that records its own commands beside the engine's.
    pub fn raw(&self) -> &ash::Device {
        &self.raw
    }

    /// The raw physical device.
    pub fn physical(&self) -> vk::PhysicalDevice {
        self.physical
    }

    /// Runs something that uses the graphics queue directly, while nothing of the engine's does, its worker included.
    /// Nothing may be submitted through the device in it.
    pub fn with_graphics_queue<T>(&self, run: impl FnOnce(vk::Queue) -> T) -> T {
        let _host = self.queues.graphics.lock();
        run(self.queues.graphics.raw)
    }

    /// The raw graphics queue and its family. Its host access must not overlap the engine's calls:
    /// [`Device::with_graphics_queue`] keeps them apart.
    pub fn raw_graphics_queue(&self) -> (vk::Queue, u32) {
        (self.queues.graphics.raw, self.queues.graphics.family)
    }

    pub(super) fn unsupported(&self, what: &str, needs: &str) -> Error {
        Error::Unsupported { what: what.into(), needs: needs.into(), device: self.capabilities.name.clone() }
    }

    /// Gives a Vulkan object the name that captures and validation messages show.
    pub(super) fn set_name<H: vk::Handle>(&self, handle: H, name: &str) {
        let Some(debug) = self.debug.as_ref().filter(|_| !self.is_lost()) else { return };
        let name = std::ffi::CString::new(name.replace('\0', " ")).unwrap_or_default();
        let info = vk::DebugUtilsObjectNameInfoEXT::default().object_handle(handle).object_name(&name);
        // SAFETY: the handle was just made by this device and the name is NUL-terminated. A failure only
        // costs the name.
        let _ = unsafe { debug.set_debug_utils_object_name(&info) };
    }
}

impl Device {
    /// After a loss nothing is destroyed: neither the device nor the instance that it would outlive.
    fn forget(&self) {
        self.drain_retired();
        std::mem::forget(self.instance.clone());
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        if self.is_lost() {
            self.forget();
            return;
        }
        // What the engine submitted is enough: the queues of an application's own device may be in use by it.
        let idle = self.wait(&Timeline::ALL.map(|t| self.submitted(t)));
        if matches!(idle, Err(Error::DeviceLost { .. })) {
            self.forget();
            return;
        }
        self.drain_retired();
        if let Some(pipelines) = self.pipelines.take() {
            pipelines.destroy(&self.raw);
        }
        if let Some(breadcrumbs) = self.breadcrumbs.take() {
            breadcrumbs.destroy(self);
        }
        if let Some(bindless) = self.bindless.take() {
            bindless.destroy(&self.raw);
        }
        let allocator = self.allocator.get_mut().unwrap_or_else(|poisoned| poisoned.into_inner());
        // SAFETY: taken once, here; nothing uses the allocator after this.
        unsafe { ManuallyDrop::drop(allocator) };
        for timeline in &self.timelines {
            // SAFETY: the device is idle.
            unsafe { self.raw.destroy_semaphore(timeline.raw, None) };
        }
        if self.owned {
            // SAFETY: everything made from it has just been destroyed.
            unsafe { self.raw.destroy_device(None) };
        }
    }
}
