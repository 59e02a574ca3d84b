//! One device a test: opened, used, and checked at the end.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use ash::vk::{AccessFlags2, BufferUsageFlags, PipelineStageFlags2};
use vasa::sparse::{SparseKnobs, SparseMemory};
use vasa::vk::capabilities::DeviceType;
use vasa::vk::{
    self, Buffer, BufferCopy, CommandEncoder, CommandPool, ComputePipeline, Device, Instance,
    InstanceOptions, Location, ObjectCounts, Point, Timeline, shader,
};

use crate::hooks;
use crate::pattern::Pattern;
use crate::settings::Settings;

/// Any stage, any access: tests are about something else than tight barriers.
pub const ANY: (PipelineStageFlags2, AccessFlags2) = (
    PipelineStageFlags2::ALL_COMMANDS,
    AccessFlags2::from_raw(AccessFlags2::MEMORY_READ.as_raw() | AccessFlags2::MEMORY_WRITE.as_raw()),
);

/// A device, and what every test does with one.
pub struct Harness {
    /// The device.
    pub device: Arc<Device>,
    pub(crate) settings: Settings,
    fill: ComputePipeline,
}

/// Runs a test on a device of its own. Afterwards nothing may be left of it: no validation message, no report of the
/// checker, no object, no chunk, no byte.
///
/// # Panics
/// When the test left something, or when there is no device and the environment forbids skips.
pub fn on_device(test: impl FnOnce(&Harness)) {
    let _turn = one_at_a_time();
    let settings = Settings::from_environment();
    // A test before this one on the same thread may have failed with calls still to be refused.
    hooks::reset();
    let (instance, device) = match open(&settings) {
        Ok(opened) => opened,
        Err(error) if settings.require_driver || settings.device.is_some() => {
            panic!("a driver is required (VASA_REQUIRE_DRIVER or VASA_DEVICE): {error}")
        }
        Err(error) => return settings.skip(&error.to_string()),
    };
    let watch = Watch(instance.clone());
    let harness = Harness::new(device, settings).unwrap();
    let before = harness.device.object_counts();
    hooks::reset();
    test(&harness);
    hooks::reset();
    harness.settle();
    check_nothing_left(&before, &harness.device.object_counts());
    assert_eq!(harness.device.retiring(), 0, "the retire queue still holds something");
    drop(harness);
    let texts = watch.0.messages().failure_texts();
    let failures = watch.0.messages().failures();
    let (reports, checker) = (watch.0.messages().checker_reports(), watch.0.messages().checker_texts());
    drop((watch, instance));
    assert_eq!(failures, 0, "validation said:\n{}", texts.join("\n"));
    assert_eq!(reports, 0, "the checker said:\n{}", checker.join("\n"));
}

/// Prints what validation and the checker said when a test fails for another reason: it is often the cause.
struct Watch(Arc<Instance>);

impl Drop for Watch {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.messages().failure_texts().iter().for_each(|text| println!("validation: {text}"));
            self.0.messages().checker_texts().iter().for_each(|text| println!("checker: {text}"));
        }
    }
}

/// Keeps one instance for the whole process. Every test makes and drops its own; with the last one the loader would
/// unload driver and layer, and some drivers (NVIDIA 580) cannot be loaded again after a few dozen times, or crash
/// threads that are just ending.
pub fn keep_driver_loaded() {
    static KEPT: OnceLock<Option<Arc<Instance>>> = OnceLock::new();
    KEPT.get_or_init(|| {
        let options = InstanceOptions { validation: vk::Validation::IfInstalled, ..Default::default() };
        Instance::new(options).ok()
    });
}

/// Held by a test from its first Vulkan call to its last: one device at a time in a process. With several, test
/// processes crashed about once in ten runs; the validation layer (1.3.239) looks the data of a device up in a map
/// that making and dropping another changes.
pub fn one_at_a_time() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    // It guards no data: a failed test leaves nothing half-done behind it.
    TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn open(settings: &Settings) -> vk::Result<(Arc<Instance>, Arc<Device>)> {
    keep_driver_loaded();
    let entry = hooks::entry().map_err(vk::Error::LoaderMissing)?;
    let instance = Instance::new(InstanceOptions { entry: Some(entry), ..settings.instance() })?;
    let device = Device::open(&instance, &settings.device())?;
    Ok((instance, device))
}

fn check_nothing_left(before: &ObjectCounts, after: &ObjectCounts) {
    assert_eq!(after.live, before.live, "Vulkan objects leaked");
    assert_eq!(after.chunk_allocations, before.chunk_allocations, "chunks leaked");
    assert_eq!(after.memory_bytes, before.memory_bytes, "bytes leaked");
}

impl Harness {
    pub(crate) fn new(device: Arc<Device>, settings: Settings) -> vk::Result<Self> {
        let fill = ComputePipeline::new(&device, &shader::FILL, "fill")?;
        Ok(Self { device, settings, fill })
    }

    /// Whether buffers can grow in place here. What a test expects of the fallback goes by this.
    pub fn in_place(&self) -> bool {
        self.device.capabilities().sparse.growable_buffers()
    }

    /// How the test's device was opened.
    pub fn device_options(&self) -> vk::DeviceOptions {
        self.settings.device()
    }

    /// The same device again, without sparse binding.
    pub fn open_fallback(&self) -> Arc<Device> {
        let mut options = self.settings.device();
        options.mask = options.mask.and(vk::FeatureMask::fallback());
        Device::open(self.device.instance(), &options).unwrap()
    }

    /// The same device again, with one more feature hidden.
    pub fn open_masked(&self, feature: &str) -> Arc<Device> {
        let mut options = self.settings.device();
        options.mask = options.mask.and(vk::FeatureMask::parse(feature).unwrap());
        Device::open(self.device.instance(), &options).unwrap()
    }

    /// The same device again, with a quirk switched on.
    pub fn open_with_switch(&self, switch: vk::quirks::Switch) -> Arc<Device> {
        let options = vk::DeviceOptions { switches: vec![switch], ..self.settings.device() };
        Device::open(self.device.instance(), &options).unwrap()
    }

    /// Whether the device is a software driver.
    pub fn is_software(&self) -> bool {
        self.device.capabilities().device_type == DeviceType::Cpu
    }

    /// Says that the test is skipped on this device.
    pub fn skip(&self, why: &str) {
        self.settings.skip(&format!("{}: {why}", self.device.capabilities().name));
    }

    /// Reserved memory with small chunks (1 MiB, 16 tiles), so that buffers of few bytes have several.
    pub fn small_chunks(&self) -> SparseMemory {
        SparseMemory::new(
            &self.device,
            SparseKnobs { check: true, chunk_bytes: crate::MIB, ..Default::default() },
        )
    }

    /// Records and submits. The pool goes with the recording; the retire queue keeps it as long as needed.
    pub fn submit(&self, name: &str, waits: &[Point], record: impl FnOnce(&mut CommandEncoder)) -> Point {
        let mut pool = CommandPool::new(&self.device, Timeline::Graphics).unwrap();
        let mut encoder = pool.begin(name).unwrap();
        record(&mut encoder);
        self.device.submit(Timeline::Graphics, vec![encoder.finish().unwrap()], waits).unwrap()
    }

    /// Records the shader that writes a pattern into the words `[first, first + count)` of a slot.
    pub fn record_fill(&self, encoder: &mut CommandEncoder, slot: u32, pattern: Pattern, words: (u64, u64)) {
        let (first, count) = words;
        if count == 0 {
            return;
        }
        let narrow = |n: u64| u32::try_from(n).expect("tests stay below 16 GiB");
        let groups = self.fill.groups([narrow(count), 1, 1])[0];
        let width = groups.min(4096);
        let push = [slot, narrow(first), narrow(count), pattern.word(first), pattern.step];
        encoder.memory_barrier(ANY, ANY);
        encoder.dispatch(
            &self.fill,
            &vasa::vk::PassBindings::default(),
            &push,
            [width, groups.div_ceil(width), 1],
        );
        encoder.memory_barrier(ANY, ANY);
    }

    /// Reads bytes of a buffer, after `waits` and everything submitted before.
    pub fn read(&self, buffer: &Buffer, offset: u64, bytes: u64, waits: &[Point]) -> Vec<u32> {
        let back = Buffer::committed(
            &self.device,
            "Readback",
            bytes,
            BufferUsageFlags::TRANSFER_DST,
            Location::Readback,
        )
        .unwrap();
        let done = self.submit("Readback", waits, |encoder| {
            encoder.memory_barrier(ANY, (PipelineStageFlags2::COPY, AccessFlags2::TRANSFER_READ));
            encoder.copy_buffer(buffer, &back, &[BufferCopy { source: offset, destination: 0, bytes }]);
            encoder.memory_barrier(
                (PipelineStageFlags2::COPY, AccessFlags2::TRANSFER_WRITE),
                (PipelineStageFlags2::HOST, AccessFlags2::HOST_READ),
            );
        });
        self.device.wait(&[done]).unwrap();
        let mapped = back.mapped().expect("readback memory is mapped");
        mapped[..bytes as usize]
            .chunks_exact(4)
            .map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
            .collect()
    }

    /// Waits for everything and destroys what was dropped. An empty submission first: what was dropped beside
    /// a recording that was never submitted is held until the next submission.
    pub fn settle(&self) {
        self.submit("Settle", &[], |_| {});
        self.device.wait_idle().unwrap();
    }
}
