//! Vulkan calls seen and refused on purpose, between the engine and the driver.
//!
//! The engine is given an entry point of ours; it hands out the driver's functions except two: `vkQueueBindSparse`
//! is written down before it is passed on, and both it and `vkAllocateMemory` can be told to fail. (Those of windows
//! are in [`presents`](crate::presents), those of markers in [`labels`](crate::labels).) Tests run on
//! one thread each and the engine calls Vulkan on the caller's, so what is seen and what is refused is kept
//! by thread.
//!
//! `unsafe`, since function pointers cannot be wrapped without it.

use std::cell::RefCell;
use std::ffi::{CStr, c_char};
use std::sync::OnceLock;

use ash::vk::{self, Handle};

/// One batch of a `vkQueueBindSparse` call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// Every range of every buffer.
    pub ranges: Vec<Range>,
    /// Timeline semaphores waited for, with their values.
    pub waits: Vec<(vk::Semaphore, u64)>,
    /// Timeline semaphores signalled, with their values.
    pub signals: Vec<(vk::Semaphore, u64)>,
    /// Buffers listed, with the number of ranges of each.
    pub buffers: Vec<(vk::Buffer, usize)>,
    /// Every opaque range of every image.
    pub opaque: Vec<OpaqueRange>,
    /// Every box of tiles of every image.
    pub tiles: Vec<Tiles>,
}

impl Batch {
    /// Ranges and boxes of it.
    pub fn binds(&self) -> usize {
        self.ranges.len() + self.opaque.len() + self.tiles.len()
    }
}

/// One bound or unbound range of an image's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpaqueRange {
    /// Which image.
    pub image: vk::Image,
    /// First byte.
    pub offset: u64,
    /// Length in bytes.
    pub size: u64,
    /// The chunk, null for an unbind.
    pub memory: vk::DeviceMemory,
    /// First byte of the chunk.
    pub memory_offset: u64,
}

/// One bound or unbound box of an image's tiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tiles {
    /// Which image.
    pub image: vk::Image,
    /// Mip level.
    pub mip: u32,
    /// Array layer.
    pub layer: u32,
    /// First texel.
    pub offset: [i32; 3],
    /// Size in texels.
    pub extent: [u32; 3],
    /// The chunk, null for an unbind.
    pub memory: vk::DeviceMemory,
    /// First byte of the chunk.
    pub memory_offset: u64,
}

/// One bound or unbound range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    /// Which buffer.
    pub buffer: vk::Buffer,
    /// First byte of the buffer.
    pub offset: u64,
    /// Length in bytes.
    pub size: u64,
    /// The chunk, null for an unbind.
    pub memory: vk::DeviceMemory,
    /// First byte of the chunk.
    pub memory_offset: u64,
}

#[derive(Default)]
struct Seen {
    calls: Vec<Vec<Batch>>,
    allocations: u64,
    /// Allocations to let through before one fails; `None` lets all through.
    allocations_left: Option<u64>,
    binds_fail: Option<vk::Result>,
}

thread_local! {
    static SEEN: RefCell<Seen> = RefCell::default();
}

struct Real {
    entry: ash::Entry,
    bind_sparse: OnceLock<vk::PFN_vkQueueBindSparse>,
    allocate: OnceLock<vk::PFN_vkAllocateMemory>,
    device_proc: OnceLock<vk::PFN_vkGetDeviceProcAddr>,
}

static REAL: OnceLock<Result<Real, String>> = OnceLock::new();

fn real() -> Result<&'static Real, String> {
    let load = || {
        // SAFETY: loading the system's Vulkan loader runs its initialisers, as the engine itself would.
        let entry = unsafe { ash::Entry::load() }.map_err(|e| e.to_string())?;
        let (bind_sparse, allocate, device_proc) = Default::default();
        Ok(Real { entry, bind_sparse, allocate, device_proc })
    };
    REAL.get_or_init(load).as_ref().map_err(Clone::clone)
}

/// The entry point to give to the engine.
///
/// # Errors
/// Why the loader could not be loaded.
pub fn entry() -> Result<ash::Entry, String> {
    real()?;
    let functions = ash::StaticFn { get_instance_proc_addr: instance_proc };
    // SAFETY: `instance_proc` answers like the loader's own function, whose library is never unloaded.
    Ok(unsafe { ash::Entry::from_static_fn(functions) })
}

/// Forgets what this thread has seen and refuses nothing any more.
pub fn reset() {
    crate::presents::reset();
    crate::labels::reset();
    SEEN.take();
}

/// The `vkQueueBindSparse` calls of this thread since the last time this was asked.
pub fn take_bind_calls() -> Vec<Vec<Batch>> {
    SEEN.with_borrow_mut(|seen| std::mem::take(&mut seen.calls))
}

/// The `vkAllocateMemory` calls of this thread that were let through since [`reset`].
pub fn allocations() -> u64 {
    SEEN.with_borrow(|seen| seen.allocations)
}

/// Lets `count` more allocations of this thread through, then says that there is no memory left.
pub fn fail_allocations_after(count: Option<u64>) {
    SEEN.with_borrow_mut(|seen| seen.allocations_left = count);
}

/// Refuses every sparse bind of this thread with a result, or none.
pub fn fail_binds(result: Option<vk::Result>) {
    SEEN.with_borrow_mut(|seen| seen.binds_fail = result);
}

/// Ranges of a batch that overlap another of the same buffer: a tile must appear once in a batch.
pub fn overlaps(batch: &Batch) -> Vec<(Range, Range)> {
    let mut ranges = batch.ranges.clone();
    ranges.sort_by_key(|r| (r.buffer.as_raw(), r.offset));
    let pairs = ranges.windows(2).map(|pair| (pair[0], pair[1]));
    pairs.filter(|(a, b)| a.buffer == b.buffer && a.offset + a.size > b.offset).collect()
}

unsafe extern "system" fn instance_proc(
    instance: vk::Instance,
    name: *const c_char,
) -> vk::PFN_vkVoidFunction {
    let real = real().ok()?;
    let ask = |name: &CStr| {
        // SAFETY: the loader's own function, with the caller's instance and a NUL-terminated name.
        unsafe { (real.entry.static_fn().get_instance_proc_addr)(instance, name.as_ptr()) }
    };
    // SAFETY: Vulkan's contract: the name is NUL-terminated.
    let name = unsafe { CStr::from_ptr(name) };
    if name == c"vkGetDeviceProcAddr" {
        // SAFETY: the loader returned these for exactly these names; each type is that of its name. They are its
        // trampolines, which serve the devices of every instance.
        unsafe {
            real.device_proc.get_or_init(|| std::mem::transmute(ask(c"vkGetDeviceProcAddr")));
            real.bind_sparse.get_or_init(|| std::mem::transmute(ask(c"vkQueueBindSparse")));
            real.allocate.get_or_init(|| std::mem::transmute(ask(c"vkAllocateMemory")));
            for name in [c"vkAcquireNextImageKHR", c"vkQueuePresentKHR", c"vkCreateSwapchainKHR"] {
                crate::presents::function(name, || ask(name));
            }
            for name in [c"vkCmdBeginDebugUtilsLabelEXT", c"vkCmdEndDebugUtilsLabelEXT"] {
                crate::labels::function(name, || ask(name));
            }
            return std::mem::transmute::<vk::PFN_vkGetDeviceProcAddr, vk::PFN_vkVoidFunction>(device_proc);
        }
    }
    let own = crate::presents::function(name, || ask(name));
    own.or_else(|| crate::labels::function(name, || ask(name))).or_else(|| ask(name))
}

unsafe extern "system" fn device_proc(device: vk::Device, name: *const c_char) -> vk::PFN_vkVoidFunction {
    let real = real().ok()?;
    // SAFETY: Vulkan's contract: the name is NUL-terminated.
    match unsafe { CStr::from_ptr(name) }.to_bytes() {
        // SAFETY: function pointers of one size; the caller knows the type by the name.
        b"vkQueueBindSparse" => unsafe {
            std::mem::transmute::<vk::PFN_vkQueueBindSparse, vk::PFN_vkVoidFunction>(bind_sparse)
        },
        // SAFETY: as above.
        b"vkAllocateMemory" => unsafe {
            std::mem::transmute::<vk::PFN_vkAllocateMemory, vk::PFN_vkVoidFunction>(allocate)
        },
        _ => {
            // SAFETY: the loader's own function with the caller's arguments.
            let theirs = || unsafe { (real.device_proc.get()?)(device, name) };
            // SAFETY: as above: the name is NUL-terminated.
            let name = unsafe { CStr::from_ptr(name) };
            let own = crate::presents::function(name, theirs);
            own.or_else(|| crate::labels::function(name, theirs)).or_else(theirs)
        }
    }
}

unsafe extern "system" fn allocate(
    device: vk::Device,
    info: *const vk::MemoryAllocateInfo<'_>,
    callbacks: *const vk::AllocationCallbacks<'_>,
    memory: *mut vk::DeviceMemory,
) -> vk::Result {
    let refused = SEEN.with_borrow_mut(|seen| {
        let refused = seen.allocations_left == Some(0);
        seen.allocations_left = seen.allocations_left.map(|left| left.saturating_sub(1));
        seen.allocations += u64::from(!refused);
        refused
    });
    match real().ok().and_then(|real| real.allocate.get()) {
        // SAFETY: the driver's own function with the caller's arguments.
        Some(function) if !refused => unsafe { function(device, info, callbacks, memory) },
        _ => vk::Result::ERROR_OUT_OF_DEVICE_MEMORY,
    }
}

unsafe extern "system" fn bind_sparse(
    queue: vk::Queue,
    count: u32,
    infos: *const vk::BindSparseInfo<'_>,
    fence: vk::Fence,
) -> vk::Result {
    // SAFETY: Vulkan's contract: `count` valid structures.
    let batches = unsafe { list(infos, count) }.iter().map(|info| unsafe { read(info) }).collect();
    let refused = SEEN.with_borrow_mut(|seen| {
        if seen.binds_fail.is_none() {
            seen.calls.push(batches);
        }
        seen.binds_fail
    });
    match (refused, real().ok().and_then(|real| real.bind_sparse.get())) {
        (Some(result), _) => result,
        // SAFETY: the driver's own function with the caller's arguments.
        (None, Some(function)) => unsafe { function(queue, count, infos, fence) },
        (None, None) => vk::Result::ERROR_INITIALIZATION_FAILED,
    }
}

/// An array of Vulkan's: a null pointer goes with a count of zero.
///
/// # Safety
/// `count` valid elements behind the pointer.
unsafe fn list<'a, T>(first: *const T, count: u32) -> &'a [T] {
    // SAFETY: the caller's promise, and a null pointer is not touched.
    if count == 0 { &[] } else { unsafe { std::slice::from_raw_parts(first, count as usize) } }
}

/// # Safety
/// A valid structure, whose chain holds at most a timeline structure first.
unsafe fn read(info: &vk::BindSparseInfo<'_>) -> Batch {
    // SAFETY: arrays and chain of a valid structure; the chain's type is checked before it is read.
    unsafe {
        let timeline = (info.p_next as *const vk::TimelineSemaphoreSubmitInfo<'_>)
            .as_ref()
            .filter(|t| t.s_type == vk::StructureType::TIMELINE_SEMAPHORE_SUBMIT_INFO);
        let values = |pick: fn(&vk::TimelineSemaphoreSubmitInfo<'_>) -> (*const u64, u32)| {
            timeline.map(pick).map_or(&[][..], |(first, count)| list(first, count))
        };
        let zip = |semaphores: &[vk::Semaphore], values: &[u64]| {
            semaphores.iter().copied().zip(values.iter().copied()).collect::<Vec<_>>()
        };
        let waits = list(info.p_wait_semaphores, info.wait_semaphore_count);
        let signals = list(info.p_signal_semaphores, info.signal_semaphore_count);
        let (mut ranges, mut buffers) = (Vec::new(), Vec::new());
        let (mut opaque, mut tiles) = (Vec::new(), Vec::new());
        for image in list(info.p_image_opaque_binds, info.image_opaque_bind_count) {
            opaque.extend(list(image.p_binds, image.bind_count).iter().map(|bind| OpaqueRange {
                image: image.image,
                offset: bind.resource_offset,
                size: bind.size,
                memory: bind.memory,
                memory_offset: bind.memory_offset,
            }));
        }
        for image in list(info.p_image_binds, info.image_bind_count) {
            tiles.extend(list(image.p_binds, image.bind_count).iter().map(|bind| Tiles {
                image: image.image,
                mip: bind.subresource.mip_level,
                layer: bind.subresource.array_layer,
                offset: [bind.offset.x, bind.offset.y, bind.offset.z],
                extent: [bind.extent.width, bind.extent.height, bind.extent.depth],
                memory: bind.memory,
                memory_offset: bind.memory_offset,
            }));
        }
        for buffer in list(info.p_buffer_binds, info.buffer_bind_count) {
            buffers.push((buffer.buffer, buffer.bind_count as usize));
            ranges.extend(list(buffer.p_binds, buffer.bind_count).iter().map(|bind| Range {
                buffer: buffer.buffer,
                offset: bind.resource_offset,
                size: bind.size,
                memory: bind.memory,
                memory_offset: bind.memory_offset,
            }));
        }
        Batch {
            ranges,
            buffers,
            opaque,
            tiles,
            waits: zip(waits, values(|t| (t.p_wait_semaphore_values, t.wait_semaphore_value_count))),
            signals: zip(signals, values(|t| (t.p_signal_semaphore_values, t.signal_semaphore_value_count))),
        }
    }
}
