//! What the driver remembers: live objects, calls, errors, binds, pending work.

use super::config::{Fault, NullConfig};
use ash::vk::{self, Handle};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// One driver. Never freed: handles point into it, and a handle used too late must find something to complain to.
pub(super) struct State {
    pub config: NullConfig,
    inner: Mutex<Inner>,
    /// Told whenever something was signalled.
    pub changed: Condvar,
}

/// What a dispatchable handle points to. Never freed either.
pub(super) struct Dispatch {
    pub state: &'static State,
    /// The handle of the instance this belongs to.
    pub instance: u64,
    /// The handle of the device this belongs to; 0 above devices.
    pub device: u64,
    /// Index of the physical device.
    pub physical: usize,
    /// Queue family of a queue.
    pub family: u32,
}

/// One live object.
pub(super) struct Object {
    pub kind: vk::ObjectType,
    /// Handle of the device or instance that must outlive it.
    pub owner: u64,
    pub data: Data,
}

/// What is remembered about an object beyond its existence.
pub(super) enum Data {
    Plain,
    Device {
        queues: Vec<(u32, u32, u64)>,
    },
    Memory {
        size: u64,
        heap: usize,
        visible: bool,
        mapped: Option<Vec<u64>>,
    },
    Buffer {
        size: u64,
        sparse: bool,
        memory: Option<u64>,
    },
    Image {
        info: ImageInfo,
        memory: Option<u64>,
        swapchain: bool,
    },
    Semaphore {
        timeline: Option<u64>,
        signalled: bool,
    },
    Fence {
        signalled: bool,
    },
    CommandPool {
        buffers: Vec<u64>,
    },
    /// `uses` are the handles its commands name.
    CommandBuffer {
        phase: Phase,
        recorded: Vec<&'static str>,
        uses: Vec<u64>,
    },
    DescriptorPool {
        sets: Vec<u64>,
    },
    Queries {
        count: u32,
    },
    Swapchain {
        images: Vec<u64>,
        next: usize,
        extent: vk::Extent2D,
    },
}

/// Where in its life a command buffer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    Initial,
    Recording,
    Executable,
}

/// The part of `VkImageCreateInfo` that sizes depend on.
#[derive(Debug, Clone, Copy)]
pub(super) struct ImageInfo {
    pub flags: vk::ImageCreateFlags,
    pub format: vk::Format,
    pub extent: vk::Extent3D,
    pub mips: u32,
    pub layers: u32,
}

/// One sparse bind, as the engine asked for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BindRecord {
    /// Which `vkQueueBindSparse` it came with, counted from 0.
    pub call: u64,
    /// Family of the queue.
    pub queue_family: u32,
    /// Raw handle of the buffer or image.
    pub resource: u64,
    /// Where in the resource.
    pub place: BindPlace,
    /// Raw handle of the memory; none is an unbind.
    pub memory: Option<u64>,
    /// Bytes into the memory.
    pub memory_offset: u64,
}

/// Where in a resource memory is bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BindPlace {
    /// Bytes of a buffer.
    Buffer {
        /// First byte.
        offset: u64,
        /// How many.
        size: u64,
    },
    /// Bytes of an image: its mip tail, metadata, or all of an image that is only bound.
    ImageOpaque {
        /// First byte.
        offset: u64,
        /// How many.
        size: u64,
    },
    /// Tiles of a mip of an image.
    ImageTiles {
        /// Level of detail, 0 the largest.
        mip: u32,
        /// Array layer.
        layer: u32,
        /// First texel.
        offset: vk::Offset3D,
        /// Texels.
        extent: vk::Extent3D,
    },
}

/// A submission or bind whose turn has not come.
pub(super) struct Pending {
    pub waits: Vec<(u64, u64)>,
    pub signals: Vec<(u64, u64)>,
    pub fence: u64,
    /// Handles that must live until it is done.
    pub uses: Vec<u64>,
}

#[derive(Default)]
pub(super) struct Inner {
    last_handle: u64,
    /// Name of the call being answered, for messages.
    pub current: &'static str,
    pub live: BTreeMap<u64, Object>,
    pub calls: BTreeMap<&'static str, u64>,
    /// Calls that reached a lost device, in order.
    pub after_loss: Vec<&'static str>,
    pub errors: Vec<String>,
    pub binds: Vec<BindRecord>,
    pub faults: Vec<(Fault, u64)>,
    pub lost: BTreeSet<u64>,
    /// Work by queue handle.
    pub pending: BTreeMap<u64, VecDeque<Pending>>,
    /// How many submissions may still be completed; none is no limit.
    pub allowed: Option<u64>,
    /// Bytes allocated by physical device and heap.
    pub heap_used: BTreeMap<(usize, usize), u64>,
    /// Bytes others use, by physical device and heap.
    pub foreign: BTreeMap<(usize, usize), u64>,
    pub budgets: BTreeMap<(usize, usize), u64>,
    pub sparse_reserved: u64,
    pub bind_calls: u64,
    pub timestamp: u64,
    pub surface: SurfaceState,
    pub names: BTreeMap<u64, String>,
}

/// What the headless surface answers.
pub(super) struct SurfaceState {
    pub extent: vk::Extent2D,
    pub acquires: VecDeque<vk::Result>,
    pub presents: VecDeque<vk::Result>,
}

impl Default for SurfaceState {
    fn default() -> Self {
        let extent = vk::Extent2D { width: 640, height: 480 };
        Self { extent, acquires: VecDeque::new(), presents: VecDeque::new() }
    }
}

impl State {
    pub fn leak(config: NullConfig) -> &'static Self {
        let inner = Inner { faults: config.faults.clone(), ..Inner::default() };
        Box::leak(Box::new(Self { config, inner: Mutex::new(inner), changed: Condvar::new() }))
    }

    pub fn lock(&self) -> MutexGuard<'_, Inner> {
        // A test that failed while holding the lock must not hide its own message.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Dispatch {
    pub fn device_config(&self) -> &'static super::config::NullDevice {
        &self.state.config.devices[self.physical]
    }
}

/// Begins a call on a dispatchable handle: finds its state, counts the call, complains if it was destroyed.
pub(super) fn enter<H: Handle>(
    handle: H,
    call: &'static str,
) -> (&'static Dispatch, MutexGuard<'static, Inner>) {
    let raw = handle.as_raw();
    // SAFETY: dispatchable handles come from `Inner::dispatchable` only, whose targets are never freed; to pass
    // another value breaks the contract of every Vulkan function.
    let dispatch = unsafe { &*std::ptr::with_exposed_provenance::<Dispatch>(raw as usize) };
    let mut inner = dispatch.state.lock();
    inner.count(call);
    if inner.lost.contains(&raw) || inner.lost.contains(&dispatch.device) {
        inner.after_loss.push(call);
    }
    if !inner.live.contains_key(&raw) {
        inner.error(format!("{:?} {raw:#x} is used after it was destroyed", H::TYPE));
    }
    (dispatch, inner)
}

impl Inner {
    pub fn count(&mut self, call: &'static str) {
        self.current = call;
        *self.calls.entry(call).or_default() += 1;
    }

    pub fn error(&mut self, message: String) {
        let message = format!("{}: {message}", self.current);
        self.errors.push(message);
    }

    /// Whether this call is one that was chosen to fail.
    pub fn trips(&mut self, fault: Fault) -> bool {
        let mut tripped = false;
        for (kind, left) in &mut self.faults {
            if *kind == fault {
                *left = left.saturating_sub(1);
                tripped |= *left == 0;
            }
        }
        self.faults.retain(|(_, left)| *left > 0);
        tripped
    }

    pub fn create<H: Handle>(&mut self, owner: u64, data: Data) -> H {
        self.last_handle += 1;
        let raw = self.last_handle;
        self.live.insert(raw, Object { kind: H::TYPE, owner, data });
        H::from_raw(raw)
    }

    pub fn dispatchable<H: Handle>(&mut self, owner: u64, dispatch: Dispatch, data: Data) -> H {
        let raw = std::ptr::from_mut(Box::leak(Box::new(dispatch))).expose_provenance() as u64;
        self.live.insert(raw, Object { kind: H::TYPE, owner, data });
        H::from_raw(raw)
    }

    /// Forgets an object; null is allowed, anything not alive is an error.
    pub fn destroy<H: Handle>(&mut self, handle: H) -> Option<Object> {
        let raw = handle.as_raw();
        if raw == 0 {
            return None;
        }
        match self.live.get(&raw) {
            Some(object) if object.kind == H::TYPE => {
                let lost = self.lost.contains(&object.owner);
                if !lost && self.pending.values().flatten().any(|pending| pending.uses.contains(&raw)) {
                    self.error(format!("{:?} {raw:#x} is in use by work that is not done", H::TYPE));
                }
                self.live.remove(&raw)
            }
            _ => {
                self.error(format!("{:?} {raw:#x} is not alive: destroyed twice?", H::TYPE));
                None
            }
        }
    }

    /// Complains unless the object is alive; null is left to the caller.
    pub fn check<H: Handle>(&mut self, handle: H) -> bool {
        let raw = handle.as_raw();
        let alive = raw == 0 || self.live.get(&raw).is_some_and(|object| object.kind == H::TYPE);
        if !alive {
            self.error(format!("{:?} {raw:#x} is used after it was destroyed", H::TYPE));
        }
        alive
    }

    /// The data of a live object; complains about any other.
    pub fn data<H: Handle + Copy>(&mut self, handle: H) -> Option<&mut Data> {
        if handle.as_raw() == 0 {
            self.error(format!("{:?}: null handle", H::TYPE));
            return None;
        }
        if !self.check(handle) {
            return None;
        }
        self.live.get_mut(&handle.as_raw()).map(|object| &mut object.data)
    }

    /// Complains about every object that outlives its owner.
    pub fn check_orphans(&mut self, owner: u64) {
        let orphans: Vec<String> = self
            .live
            .iter()
            .filter(|(_, object)| object.owner == owner)
            .filter(|(_, object)| {
                !matches!(object.kind, vk::ObjectType::QUEUE | vk::ObjectType::PHYSICAL_DEVICE)
                    && !matches!(object.data, Data::Image { swapchain: true, .. })
            })
            .map(|(raw, object)| {
                let name = self.names.get(raw).map(String::as_str).unwrap_or_default();
                format!("{:?} {raw:#x} {name:?} is still alive", object.kind)
            })
            .collect();
        for orphan in orphans {
            self.error(orphan);
        }
        self.live.retain(|_, object| {
            object.owner != owner
                || !matches!(object.kind, vk::ObjectType::QUEUE | vk::ObjectType::PHYSICAL_DEVICE)
        });
    }
}
