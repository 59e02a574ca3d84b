//! What a window system says to a swapchain, ordered by a test and written down.
//!
//! The functions stand between engine and loader, as those of [`hooks`](crate::hooks), which hands them out. An answer
//! that was ordered takes the place of the driver's: out of date and not ready instead of an acquire, suboptimal and
//! out of date after a present that was made. So the driver and its validation layer see only what is allowed.
//!
//! `unsafe`, since function pointers cannot be wrapped without it.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::ffi::CStr;
use std::sync::OnceLock;

use ash::vk;

/// One call, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// A swapchain was made.
    Created {
        /// The new one.
        swapchain: vk::SwapchainKHR,
        /// Its size.
        extent: [u32; 2],
        /// Least and most that the surface allowed when it was asked last.
        limits: [[u32; 2]; 2],
        /// The one that it replaces, or null.
        old: vk::SwapchainKHR,
    },
    /// An image was acquired.
    Acquired {
        /// From where.
        swapchain: vk::SwapchainKHR,
        /// What is signalled.
        semaphore: vk::Semaphore,
        /// Which.
        index: u32,
    },
    /// An image was presented.
    Presented {
        /// From where.
        swapchain: vk::SwapchainKHR,
        /// What is waited for.
        semaphore: vk::Semaphore,
        /// Which.
        index: u32,
    },
}

#[derive(Default)]
struct Orders {
    acquires: VecDeque<vk::Result>,
    presents: VecDeque<vk::Result>,
    creations: VecDeque<vk::Result>,
    size: Option<[u32; 2]>,
    limits: [[u32; 2]; 2],
    calls: Vec<Call>,
}

thread_local! {
    static ORDERS: RefCell<Orders> = RefCell::default();
}

type Slot = OnceLock<vk::PFN_vkVoidFunction>;
static ACQUIRE: Slot = OnceLock::new();
static PRESENT: Slot = OnceLock::new();
static CREATE: Slot = OnceLock::new();
static CAPABILITIES: Slot = OnceLock::new();

/// Forgets what was ordered and what was seen.
pub fn reset() {
    ORDERS.take();
}

/// What the next acquire answers that nothing was ordered for yet.
pub fn order_acquire(result: vk::Result) {
    ORDERS.with_borrow_mut(|orders| orders.acquires.push_back(result));
}

/// What the next present answers that nothing was ordered for yet, once it is made.
pub fn order_present(result: vk::Result) {
    ORDERS.with_borrow_mut(|orders| orders.presents.push_back(result));
}

/// What the next making of a swapchain answers that nothing was ordered for yet.
pub fn order_creation(result: vk::Result) {
    ORDERS.with_borrow_mut(|orders| orders.creations.push_back(result));
}

/// Forgets the orders that were not used yet.
pub fn forget_orders() {
    ORDERS.with_borrow_mut(|orders| {
        (orders.acquires, orders.presents, orders.creations) = Default::default();
    });
}

/// Makes surfaces of a size from now on, as window systems do that decide it; `None` lets the swapchain decide.
pub fn set_size(size: Option<[u32; 2]>) {
    ORDERS.with_borrow_mut(|orders| orders.size = size);
}

/// The calls since this was asked last.
pub fn take_calls() -> Vec<Call> {
    ORDERS.with_borrow_mut(|orders| std::mem::take(&mut orders.calls))
}

/// Our function of that name, if there is one; `real` is the loader's.
pub(crate) fn function(name: &CStr, real: impl Fn() -> vk::PFN_vkVoidFunction) -> vk::PFN_vkVoidFunction {
    let slot = match name.to_bytes() {
        b"vkAcquireNextImageKHR" => &ACQUIRE,
        b"vkQueuePresentKHR" => &PRESENT,
        b"vkCreateSwapchainKHR" => &CREATE,
        b"vkGetPhysicalDeviceSurfaceCapabilitiesKHR" => &CAPABILITIES,
        _ => return None,
    };
    (*slot.get_or_init(&real))?;
    // SAFETY: function pointers of one size; the caller knows the type by the name.
    unsafe {
        match name.to_bytes() {
            b"vkAcquireNextImageKHR" => {
                std::mem::transmute::<vk::PFN_vkAcquireNextImageKHR, vk::PFN_vkVoidFunction>(acquire)
            }
            b"vkQueuePresentKHR" => {
                std::mem::transmute::<vk::PFN_vkQueuePresentKHR, vk::PFN_vkVoidFunction>(present)
            }
            b"vkCreateSwapchainKHR" => {
                std::mem::transmute::<vk::PFN_vkCreateSwapchainKHR, vk::PFN_vkVoidFunction>(create)
            }
            _ => std::mem::transmute::<
                vk::PFN_vkGetPhysicalDeviceSurfaceCapabilitiesKHR,
                vk::PFN_vkVoidFunction,
            >(capabilities),
        }
    }
}

/// The loader's function behind a slot.
///
/// # Safety
/// `F` is the type of the function that the slot is for.
unsafe fn real<F: Copy>(slot: &Slot) -> Option<F> {
    let function = slot.get().copied().flatten()?;
    // SAFETY: the caller's promise; function pointers have one size.
    Some(unsafe { std::mem::transmute_copy(&function) })
}

unsafe extern "system" fn acquire(
    device: vk::Device,
    swapchain: vk::SwapchainKHR,
    timeout: u64,
    semaphore: vk::Semaphore,
    fence: vk::Fence,
    index: *mut u32,
) -> vk::Result {
    let ordered = ORDERS.with_borrow_mut(|orders| orders.acquires.pop_front());
    if let Some(refused) = ordered.filter(|o| !matches!(*o, vk::Result::SUCCESS | vk::Result::SUBOPTIMAL_KHR))
    {
        return refused;
    }
    // SAFETY: the slot's own type.
    let Some(function) = (unsafe { real::<vk::PFN_vkAcquireNextImageKHR>(&ACQUIRE) }) else {
        return vk::Result::ERROR_INITIALIZATION_FAILED;
    };
    // SAFETY: the caller's arguments.
    let result = unsafe { function(device, swapchain, timeout, semaphore, fence, index) };
    if !matches!(result, vk::Result::SUCCESS | vk::Result::SUBOPTIMAL_KHR) {
        return result;
    }
    // SAFETY: the call succeeded, so the index was written.
    let call = Call::Acquired { swapchain, semaphore, index: unsafe { *index } };
    ORDERS.with_borrow_mut(|orders| orders.calls.push(call));
    ordered.unwrap_or(result)
}

unsafe extern "system" fn present(queue: vk::Queue, info: *const vk::PresentInfoKHR<'_>) -> vk::Result {
    // SAFETY: a valid structure of one swapchain and one semaphore, which is all that the engine presents.
    let call = unsafe {
        Call::Presented {
            swapchain: *(*info).p_swapchains,
            semaphore: *(*info).p_wait_semaphores,
            index: *(*info).p_image_indices,
        }
    };
    let ordered = ORDERS.with_borrow_mut(|orders| {
        orders.calls.push(call);
        orders.presents.pop_front()
    });
    // SAFETY: the slot's own type, and the caller's arguments.
    match unsafe { real::<vk::PFN_vkQueuePresentKHR>(&PRESENT).map(|function| function(queue, info)) } {
        Some(vk::Result::SUCCESS) => ordered.unwrap_or(vk::Result::SUCCESS),
        Some(other) => other,
        None => vk::Result::ERROR_INITIALIZATION_FAILED,
    }
}

unsafe extern "system" fn create(
    device: vk::Device,
    info: *const vk::SwapchainCreateInfoKHR<'_>,
    callbacks: *const vk::AllocationCallbacks<'_>,
    out: *mut vk::SwapchainKHR,
) -> vk::Result {
    let ordered = ORDERS.with_borrow_mut(|orders| orders.creations.pop_front());
    if let Some(refused) = ordered.filter(|ordered| *ordered != vk::Result::SUCCESS) {
        return refused;
    }
    // SAFETY: the slot's own type, and the caller's arguments.
    let made =
        unsafe { real::<vk::PFN_vkCreateSwapchainKHR>(&CREATE).map(|f| f(device, info, callbacks, out)) };
    if made == Some(vk::Result::SUCCESS) {
        // SAFETY: a valid structure, and a handle that was written.
        let (info, swapchain) = unsafe { (&*info, *out) };
        let extent = [info.image_extent.width, info.image_extent.height];
        ORDERS.with_borrow_mut(|orders| {
            let (limits, old) = (orders.limits, info.old_swapchain);
            orders.calls.push(Call::Created { swapchain, extent, limits, old });
        });
    }
    made.unwrap_or(vk::Result::ERROR_INITIALIZATION_FAILED)
}

unsafe extern "system" fn capabilities(
    physical: vk::PhysicalDevice,
    surface: vk::SurfaceKHR,
    out: *mut vk::SurfaceCapabilitiesKHR,
) -> vk::Result {
    // SAFETY: the slot's own type, and the caller's arguments.
    let answer = unsafe {
        real::<vk::PFN_vkGetPhysicalDeviceSurfaceCapabilitiesKHR>(&CAPABILITIES)
            .map(|function| function(physical, surface, out))
    };
    if answer == Some(vk::Result::SUCCESS) {
        // SAFETY: the call succeeded, so the structure was written.
        let out = unsafe { &mut *out };
        ORDERS.with_borrow_mut(|orders| {
            if let Some([width, height]) = orders.size {
                let size = vk::Extent2D { width, height };
                (out.current_extent, out.min_image_extent, out.max_image_extent) = (size, size, size);
            }
            let sides = |extent: vk::Extent2D| [extent.width, extent.height];
            orders.limits = [sides(out.min_image_extent), sides(out.max_image_extent)];
        });
    }
    answer.unwrap_or(vk::Result::ERROR_INITIALIZATION_FAILED)
}
