//! Submissions and sparse binds: signalled at once when their waits are met, in order within a queue.

use super::config::Fault;
use super::state::{BindPlace, BindRecord, Data, Dispatch, Inner, Pending, Phase, enter};
use super::support::{find, list};
use super::sync::wait;
use ash::vk::{self, Handle};

/// Whether a semaphore has reached a value; a binary one, whether it is signalled.
pub(super) fn is_met(inner: &Inner, semaphore: u64, value: u64) -> bool {
    match inner.live.get(&semaphore).map(|object| &object.data) {
        Some(Data::Semaphore { timeline: Some(now), .. }) => *now >= value,
        Some(Data::Semaphore { signalled, .. }) => *signalled,
        // Destroyed meanwhile, which was an error; do not hang on it too.
        _ => true,
    }
}

pub(super) fn signal(inner: &mut Inner, semaphore: u64, value: u64) {
    let fault = match inner.live.get_mut(&semaphore).map(|object| &mut object.data) {
        Some(Data::Semaphore { timeline: Some(now), .. }) => {
            let fault = (*now >= value)
                .then(|| format!("semaphore {semaphore:#x} is at {now} and cannot be signalled to {value}"));
            *now = value.max(*now);
            fault
        }
        Some(Data::Semaphore { signalled, .. }) => {
            let twice = std::mem::replace(signalled, true);
            twice.then(|| format!("binary semaphore {semaphore:#x} is signalled twice without a wait"))
        }
        _ => Some(format!("semaphore {semaphore:#x} is signalled after it was destroyed")),
    };
    if let Some(fault) = fault {
        inner.error(fault);
    }
}

/// Lets everything happen that can.
pub(super) fn progress(inner: &mut Inner) {
    loop {
        let ready = inner.pending.iter().find_map(|(queue, pending)| {
            let first = pending.front()?;
            let met = first.waits.iter().all(|(semaphore, value)| is_met(inner, *semaphore, *value));
            met.then_some(*queue)
        });
        let Some(queue) = ready else { return };
        match &mut inner.allowed {
            Some(0) => return,
            Some(allowed) => *allowed -= 1,
            None => {}
        }
        let Some(work) = inner.pending.get_mut(&queue).and_then(std::collections::VecDeque::pop_front) else {
            return;
        };
        for (semaphore, _) in work.waits {
            if let Some(object) = inner.live.get_mut(&semaphore)
                && let Data::Semaphore { timeline: None, signalled } = &mut object.data
            {
                *signalled = false;
            }
        }
        for (semaphore, value) in work.signals {
            signal(inner, semaphore, value);
        }
        if let Some(object) = inner.live.get_mut(&work.fence)
            && let Data::Fence { signalled } = &mut object.data
        {
            *signalled = true;
        }
    }
}

/// Queues work, the fence on the last of it, and runs what can run.
fn push(dispatch: &Dispatch, inner: &mut Inner, queue: vk::Queue, mut work: Vec<Pending>, fence: vk::Fence) {
    if !fence.is_null() {
        if matches!(inner.data(fence), Some(Data::Fence { signalled: true })) {
            inner.error("the fence is signalled already".to_owned());
        }
        if work.is_empty() {
            work.push(Pending { waits: Vec::new(), signals: Vec::new(), fence: 0, uses: Vec::new() });
        }
        if let Some(last) = work.last_mut() {
            last.fence = fence.as_raw();
        }
    }
    for item in &work {
        for (semaphore, _) in item.waits.iter().chain(&item.signals) {
            inner.data(vk::Semaphore::from_raw(*semaphore));
        }
    }
    inner.pending.entry(queue.as_raw()).or_default().extend(work);
    progress(inner);
    dispatch.state.changed.notify_all();
}

/// The answer to a submit or bind that fails, if it does.
fn failure(dispatch: &Dispatch, inner: &mut Inner, fault: Fault) -> Option<vk::Result> {
    if inner.trips(Fault::LoseDevice) {
        inner.lost.insert(dispatch.device);
        dispatch.state.changed.notify_all();
    }
    if inner.lost.contains(&dispatch.device) {
        return Some(vk::Result::ERROR_DEVICE_LOST);
    }
    let result = match fault {
        Fault::Submit => vk::Result::ERROR_OUT_OF_HOST_MEMORY,
        _ => vk::Result::ERROR_OUT_OF_DEVICE_MEMORY,
    };
    inner.trips(fault).then_some(result)
}

/// Checks that a command buffer can be submitted, and adds it and what its commands name to `all`.
fn take_buffer(inner: &mut Inner, buffer: vk::CommandBuffer, all: &mut Vec<u64>) {
    if let Some(Data::CommandBuffer { phase, uses, .. }) = inner.data(buffer) {
        all.push(buffer.as_raw());
        all.extend(uses.iter());
        if *phase != Phase::Executable {
            let message = format!("a command buffer is {phase:?}, not ended");
            inner.error(message);
        }
    }
}

pub(super) unsafe extern "system" fn queue_submit2(
    queue: vk::Queue,
    count: u32,
    infos: *const vk::SubmitInfo2<'_>,
    fence: vk::Fence,
) -> vk::Result {
    let (dispatch, mut inner) = enter(queue, "vkQueueSubmit2");
    if let Some(result) = failure(dispatch, &mut inner, Fault::Submit) {
        return result;
    }
    let pairs = |list: &[vk::SemaphoreSubmitInfo<'_>]| {
        list.iter().map(|info| (info.semaphore.as_raw(), info.value)).collect()
    };
    let mut work = Vec::new();
    for info in list!(infos, count) {
        let buffers: &[vk::CommandBufferSubmitInfo<'_>] =
            list!(info.p_command_buffer_infos, info.command_buffer_info_count);
        let mut uses = Vec::new();
        for buffer in buffers {
            take_buffer(&mut inner, buffer.command_buffer, &mut uses);
        }
        work.push(Pending {
            waits: pairs(list!(info.p_wait_semaphore_infos, info.wait_semaphore_info_count)),
            signals: pairs(list!(info.p_signal_semaphore_infos, info.signal_semaphore_info_count)),
            fence: 0,
            uses,
        });
    }
    push(dispatch, &mut inner, queue, work, fence);
    vk::Result::SUCCESS
}

/// Semaphores with the values a timeline info gives them.
fn with_values(semaphores: &[vk::Semaphore], values: &[u64]) -> Vec<(u64, u64)> {
    let value = |index: usize| values.get(index).copied().unwrap_or(0);
    semaphores.iter().enumerate().map(|(index, semaphore)| (semaphore.as_raw(), value(index))).collect()
}

fn timeline_values<'a>(info: Option<&vk::TimelineSemaphoreSubmitInfo<'a>>) -> (&'a [u64], &'a [u64]) {
    info.map_or((&[], &[]), |info| {
        (
            list!(info.p_wait_semaphore_values, info.wait_semaphore_value_count),
            list!(info.p_signal_semaphore_values, info.signal_semaphore_value_count),
        )
    })
}

pub(super) unsafe extern "system" fn queue_submit(
    queue: vk::Queue,
    count: u32,
    infos: *const vk::SubmitInfo<'_>,
    fence: vk::Fence,
) -> vk::Result {
    let (dispatch, mut inner) = enter(queue, "vkQueueSubmit");
    if let Some(result) = failure(dispatch, &mut inner, Fault::Submit) {
        return result;
    }
    let mut work = Vec::new();
    for info in list!(infos, count) {
        let mut uses = Vec::new();
        for buffer in list!(info.p_command_buffers, info.command_buffer_count) {
            take_buffer(&mut inner, *buffer, &mut uses);
        }
        // SAFETY: the chain of a valid submit info, which outlives this call.
        let (waits, signals) = timeline_values(unsafe { find(info.p_next) });
        work.push(Pending {
            waits: with_values(list!(info.p_wait_semaphores, info.wait_semaphore_count), waits),
            signals: with_values(list!(info.p_signal_semaphores, info.signal_semaphore_count), signals),
            fence: 0,
            uses,
        });
    }
    push(dispatch, &mut inner, queue, work, fence);
    vk::Result::SUCCESS
}

pub(super) unsafe extern "system" fn queue_bind_sparse(
    queue: vk::Queue,
    count: u32,
    infos: *const vk::BindSparseInfo<'_>,
    fence: vk::Fence,
) -> vk::Result {
    let (dispatch, mut inner) = enter(queue, "vkQueueBindSparse");
    if let Some(result) = failure(dispatch, &mut inner, Fault::Bind) {
        return result;
    }
    let family = dispatch.device_config().queue_families[dispatch.family as usize];
    if !family.queue_flags.contains(vk::QueueFlags::SPARSE_BINDING) {
        inner.error(format!("queue family {} does not bind sparse memory", dispatch.family));
    }
    let mut work = Vec::new();
    for info in list!(infos, count) {
        let first = inner.binds.len();
        for of_buffer in list!(info.p_buffer_binds, info.buffer_bind_count) {
            for bind in list!(of_buffer.p_binds, of_buffer.bind_count) {
                let place = BindPlace::Buffer { offset: bind.resource_offset, size: bind.size };
                record(dispatch, &mut inner, of_buffer.buffer, place, bind.memory, bind.memory_offset);
            }
        }
        for of_image in list!(info.p_image_opaque_binds, info.image_opaque_bind_count) {
            for bind in list!(of_image.p_binds, of_image.bind_count) {
                let place = BindPlace::ImageOpaque { offset: bind.resource_offset, size: bind.size };
                record(dispatch, &mut inner, of_image.image, place, bind.memory, bind.memory_offset);
            }
        }
        for of_image in list!(info.p_image_binds, info.image_bind_count) {
            for bind in list!(of_image.p_binds, of_image.bind_count) {
                let vk::ImageSubresource { mip_level: mip, array_layer: layer, .. } = bind.subresource;
                let place = BindPlace::ImageTiles { mip, layer, offset: bind.offset, extent: bind.extent };
                record(dispatch, &mut inner, of_image.image, place, bind.memory, bind.memory_offset);
            }
        }
        let uses = inner.binds[first..]
            .iter()
            .flat_map(|bind| [Some(bind.resource), bind.memory])
            .flatten()
            .collect();
        // SAFETY: the chain of a valid bind info, which outlives this call.
        let (waits, signals) = timeline_values(unsafe { find(info.p_next) });
        work.push(Pending {
            waits: with_values(list!(info.p_wait_semaphores, info.wait_semaphore_count), waits),
            signals: with_values(list!(info.p_signal_semaphores, info.signal_semaphore_count), signals),
            fence: 0,
            uses,
        });
    }
    inner.bind_calls += 1;
    push(dispatch, &mut inner, queue, work, fence);
    vk::Result::SUCCESS
}

/// Checks what the specification asks of a bind, and keeps it.
fn record<H: Handle + Copy>(
    dispatch: &Dispatch,
    inner: &mut Inner,
    resource: H,
    place: BindPlace,
    memory: vk::DeviceMemory,
    memory_offset: u64,
) {
    let alignment = dispatch.device_config().sparse_alignment;
    let limit = match inner.data(resource) {
        Some(Data::Buffer { size, sparse: true, .. }) => Some(*size),
        Some(Data::Image { info, .. }) if info.flags.contains(vk::ImageCreateFlags::SPARSE_BINDING) => None,
        _ => {
            inner.error(format!("{:#x} is not a sparse resource", resource.as_raw()));
            None
        }
    };
    let length = match place {
        BindPlace::Buffer { offset, size } | BindPlace::ImageOpaque { offset, size } => {
            let end = offset.saturating_add(size);
            let beyond = limit.is_some_and(|limit| end > limit.next_multiple_of(alignment));
            let whole = size.is_multiple_of(alignment) || limit == Some(end);
            if !offset.is_multiple_of(alignment) || !whole || size == 0 || beyond {
                inner.error(format!(
                    "bytes {offset}+{size} are empty, not aligned to {alignment}, or outside"
                ));
            }
            size
        }
        BindPlace::ImageTiles { extent, .. } => {
            if extent.width == 0 || extent.height == 0 || extent.depth == 0 {
                inner.error(format!("empty extent {extent:?}"));
            }
            alignment
        }
    };
    if !memory.is_null() {
        let size = match inner.data(memory) {
            Some(Data::Memory { size, .. }) => *size,
            _ => 0,
        };
        if !memory_offset.is_multiple_of(alignment) || memory_offset.saturating_add(length) > size {
            inner
                .error(format!("memory bytes {memory_offset}+{length} of {size} are not aligned or outside"));
        }
    }
    let bind = BindRecord {
        call: inner.bind_calls,
        queue_family: dispatch.family,
        resource: resource.as_raw(),
        place,
        memory: (!memory.is_null()).then(|| memory.as_raw()),
        memory_offset,
    };
    inner.binds.push(bind);
}

fn idle(inner: &Inner, queue: u64) -> bool {
    inner.pending.get(&queue).is_none_or(std::collections::VecDeque::is_empty)
}

/// A wait for idle has no timeout to answer; what would hang is a lost device.
fn idle_result(result: vk::Result) -> vk::Result {
    if result == vk::Result::SUCCESS { result } else { vk::Result::ERROR_DEVICE_LOST }
}

pub(super) unsafe extern "system" fn queue_wait_idle(queue: vk::Queue) -> vk::Result {
    let (dispatch, inner) = enter(queue, "vkQueueWaitIdle");
    let done = |inner: &Inner| idle(inner, queue.as_raw());
    idle_result(wait(dispatch.state, inner, dispatch.device, u64::MAX, done))
}

pub(super) unsafe extern "system" fn device_wait_idle(device: vk::Device) -> vk::Result {
    let (dispatch, mut inner) = enter(device, "vkDeviceWaitIdle");
    let queues: Vec<u64> = match inner.data(device) {
        Some(Data::Device { queues }) => queues.iter().map(|(_, _, queue)| *queue).collect(),
        _ => Vec::new(),
    };
    let done = |inner: &Inner| queues.iter().all(|queue| idle(inner, *queue));
    idle_result(wait(dispatch.state, inner, device.as_raw(), u64::MAX, done))
}
