//! Semaphores and fences, and waiting for them.

use super::instance::timeline_start;
use super::queue::{is_met, progress};
use super::state::{Data, Inner, State, enter};
use super::support::{get, list, set};
use ash::vk::{self, Handle};
use std::sync::{MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a wait hopes that another thread does what it waits for. Within one thread nothing pending can
/// happen by itself, so there is no use in waiting the full time.
const PATIENCE: Duration = Duration::from_millis(200);

/// Waits until `done`, for at most `timeout` nanoseconds and for as long as there is hope.
pub(super) fn wait(
    state: &State,
    mut inner: MutexGuard<'_, Inner>,
    device: u64,
    timeout: u64,
    mut done: impl FnMut(&Inner) -> bool,
) -> vk::Result {
    let call = inner.current;
    let end = Instant::now() + Duration::from_nanos(timeout).min(PATIENCE);
    loop {
        if inner.lost.contains(&device) {
            return vk::Result::ERROR_DEVICE_LOST;
        }
        if done(&inner) {
            return vk::Result::SUCCESS;
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            if Duration::from_nanos(timeout) > PATIENCE {
                inner.current = call;
                inner.error("would never return: nothing pending brings what it waits for".to_owned());
            }
            return vk::Result::TIMEOUT;
        }
        inner = state.changed.wait_timeout(inner, left).unwrap_or_else(PoisonError::into_inner).0;
    }
}

pub(super) unsafe extern "system" fn create_semaphore(
    device: vk::Device,
    info: *const vk::SemaphoreCreateInfo<'_>,
    _: *const vk::AllocationCallbacks<'_>,
    out: *mut vk::Semaphore,
) -> vk::Result {
    let (_, mut inner) = enter(device, "vkCreateSemaphore");
    let info = get!(info);
    // SAFETY: the creation info is the caller's, and valid.
    let timeline = unsafe { timeline_start(info) };
    set!(out, inner.create(device.as_raw(), Data::Semaphore { timeline, signalled: false }));
    vk::Result::SUCCESS
}

pub(super) unsafe extern "system" fn destroy_semaphore(
    device: vk::Device,
    semaphore: vk::Semaphore,
    _: *const vk::AllocationCallbacks<'_>,
) {
    let (_, mut inner) = enter(device, "vkDestroySemaphore");
    let raw = semaphore.as_raw();
    let in_use =
        inner.pending.values().flatten().any(|pending| {
            pending.waits.iter().chain(&pending.signals).any(|(semaphore, _)| *semaphore == raw)
        });
    if in_use && raw != 0 && !inner.lost.contains(&device.as_raw()) {
        inner.error(format!("semaphore {raw:#x} belongs to a pending submission"));
    }
    inner.destroy(semaphore);
}

pub(super) unsafe extern "system" fn get_semaphore_counter_value(
    device: vk::Device,
    semaphore: vk::Semaphore,
    out: *mut u64,
) -> vk::Result {
    let (_, mut inner) = enter(device, "vkGetSemaphoreCounterValue");
    if inner.lost.contains(&device.as_raw()) {
        return vk::Result::ERROR_DEVICE_LOST;
    }
    let value = match inner.data(semaphore) {
        Some(Data::Semaphore { timeline: Some(value), .. }) => *value,
        _ => {
            inner.error("not a timeline semaphore".to_owned());
            0
        }
    };
    set!(out, value);
    vk::Result::SUCCESS
}

pub(super) unsafe extern "system" fn signal_semaphore(
    device: vk::Device,
    info: *const vk::SemaphoreSignalInfo<'_>,
) -> vk::Result {
    let (dispatch, mut inner) = enter(device, "vkSignalSemaphore");
    let info = get!(info);
    super::queue::signal(&mut inner, info.semaphore.as_raw(), info.value);
    progress(&mut inner);
    dispatch.state.changed.notify_all();
    vk::Result::SUCCESS
}

pub(super) unsafe extern "system" fn wait_semaphores(
    device: vk::Device,
    info: *const vk::SemaphoreWaitInfo<'_>,
    timeout: u64,
) -> vk::Result {
    let (dispatch, mut inner) = enter(device, "vkWaitSemaphores");
    let info = get!(info);
    let semaphores: &[vk::Semaphore] = list!(info.p_semaphores, info.semaphore_count);
    let values: &[u64] = list!(info.p_values, info.semaphore_count);
    for semaphore in semaphores {
        inner.data(*semaphore);
    }
    let any = info.flags.contains(vk::SemaphoreWaitFlags::ANY);
    wait(dispatch.state, inner, device.as_raw(), timeout, |inner| {
        let mut met =
            semaphores.iter().zip(values).map(|(semaphore, value)| is_met(inner, semaphore.as_raw(), *value));
        if any { met.any(|met| met) } else { met.all(|met| met) }
    })
}

pub(super) unsafe extern "system" fn create_fence(
    device: vk::Device,
    info: *const vk::FenceCreateInfo<'_>,
    _: *const vk::AllocationCallbacks<'_>,
    out: *mut vk::Fence,
) -> vk::Result {
    let (_, mut inner) = enter(device, "vkCreateFence");
    let signalled = get!(info).flags.contains(vk::FenceCreateFlags::SIGNALED);
    set!(out, inner.create(device.as_raw(), Data::Fence { signalled }));
    vk::Result::SUCCESS
}

pub(super) unsafe extern "system" fn destroy_fence(
    device: vk::Device,
    fence: vk::Fence,
    _: *const vk::AllocationCallbacks<'_>,
) {
    let (_, mut inner) = enter(device, "vkDestroyFence");
    inner.destroy(fence);
}

pub(super) unsafe extern "system" fn reset_fences(
    device: vk::Device,
    count: u32,
    fences: *const vk::Fence,
) -> vk::Result {
    let (_, mut inner) = enter(device, "vkResetFences");
    for fence in list!(fences, count) {
        if let Some(Data::Fence { signalled }) = inner.data(*fence) {
            *signalled = false;
        }
    }
    vk::Result::SUCCESS
}

fn fence_signalled(inner: &Inner, fence: vk::Fence) -> bool {
    inner
        .live
        .get(&fence.as_raw())
        .is_some_and(|object| matches!(object.data, Data::Fence { signalled: true }))
}

pub(super) unsafe extern "system" fn get_fence_status(device: vk::Device, fence: vk::Fence) -> vk::Result {
    let (_, mut inner) = enter(device, "vkGetFenceStatus");
    inner.data(fence);
    if inner.lost.contains(&device.as_raw()) {
        vk::Result::ERROR_DEVICE_LOST
    } else if fence_signalled(&inner, fence) {
        vk::Result::SUCCESS
    } else {
        vk::Result::NOT_READY
    }
}

pub(super) unsafe extern "system" fn wait_for_fences(
    device: vk::Device,
    count: u32,
    fences: *const vk::Fence,
    all: vk::Bool32,
    timeout: u64,
) -> vk::Result {
    let (dispatch, mut inner) = enter(device, "vkWaitForFences");
    let fences: &[vk::Fence] = list!(fences, count);
    for fence in fences {
        inner.data(*fence);
    }
    wait(dispatch.state, inner, device.as_raw(), timeout, |inner| {
        let mut signalled = fences.iter().map(|fence| fence_signalled(inner, *fence));
        if all == vk::TRUE { signalled.all(|done| done) } else { signalled.any(|done| done) }
    })
}
