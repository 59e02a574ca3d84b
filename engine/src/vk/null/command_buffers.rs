//! Command pools, and the lives of their buffers.

use super::state::{Data, Dispatch, Inner, Phase, enter};
use super::support::{get, list, set};
use ash::vk::{self, Handle};

pub(super) unsafe extern "system" fn create_command_pool(
    device: vk::Device,
    _: *const vk::CommandPoolCreateInfo<'_>,
    _: *const vk::AllocationCallbacks<'_>,
    out: *mut vk::CommandPool,
) -> vk::Result {
    let (_, mut inner) = enter(device, "vkCreateCommandPool");
    set!(out, inner.create(device.as_raw(), Data::CommandPool { buffers: Vec::new() }));
    vk::Result::SUCCESS
}

pub(super) unsafe extern "system" fn destroy_command_pool(
    device: vk::Device,
    pool: vk::CommandPool,
    _: *const vk::AllocationCallbacks<'_>,
) {
    let (_, mut inner) = enter(device, "vkDestroyCommandPool");
    if let Some(object) = inner.destroy(pool)
        && let Data::CommandPool { buffers } = object.data
    {
        for buffer in buffers {
            inner.destroy(vk::CommandBuffer::from_raw(buffer));
        }
    }
}

pub(super) unsafe extern "system" fn reset_command_pool(
    device: vk::Device,
    pool: vk::CommandPool,
    _: vk::CommandPoolResetFlags,
) -> vk::Result {
    let (_, mut inner) = enter(device, "vkResetCommandPool");
    let buffers = match inner.data(pool) {
        Some(Data::CommandPool { buffers }) => buffers.clone(),
        _ => Vec::new(),
    };
    for buffer in buffers {
        set_phase(&mut inner, vk::CommandBuffer::from_raw(buffer), Phase::Initial);
    }
    vk::Result::SUCCESS
}

pub(super) unsafe extern "system" fn trim_command_pool(
    device: vk::Device,
    pool: vk::CommandPool,
    _: vk::CommandPoolTrimFlags,
) {
    let (_, mut inner) = enter(device, "vkTrimCommandPool");
    inner.data(pool);
}

pub(super) unsafe extern "system" fn allocate_command_buffers(
    device: vk::Device,
    info: *const vk::CommandBufferAllocateInfo<'_>,
    out: *mut vk::CommandBuffer,
) -> vk::Result {
    let (dispatch, mut inner) = enter(device, "vkAllocateCommandBuffers");
    let info = get!(info);
    for index in 0..info.command_buffer_count as usize {
        let own = Dispatch { device: device.as_raw(), ..*dispatch };
        let data = Data::CommandBuffer { phase: Phase::Initial, recorded: Vec::new(), uses: Vec::new() };
        let buffer: vk::CommandBuffer = inner.dispatchable(device.as_raw(), own, data);
        if let Some(Data::CommandPool { buffers }) = inner.data(info.command_pool) {
            buffers.push(buffer.as_raw());
        }
        // SAFETY: the caller has a place for each buffer.
        set!(unsafe { out.add(index) }, buffer);
    }
    vk::Result::SUCCESS
}

pub(super) unsafe extern "system" fn free_command_buffers(
    device: vk::Device,
    pool: vk::CommandPool,
    count: u32,
    freed: *const vk::CommandBuffer,
) {
    let (_, mut inner) = enter(device, "vkFreeCommandBuffers");
    for buffer in list!(freed, count) {
        inner.destroy(*buffer);
        if let Some(Data::CommandPool { buffers }) = inner.data(pool) {
            buffers.retain(|raw| *raw != buffer.as_raw());
        }
    }
}

fn set_phase(inner: &mut Inner, buffer: vk::CommandBuffer, next: Phase) -> Option<Phase> {
    match inner.data(buffer) {
        Some(Data::CommandBuffer { phase, recorded, uses }) => {
            if next != Phase::Executable {
                recorded.clear();
                uses.clear();
            }
            Some(std::mem::replace(phase, next))
        }
        _ => None,
    }
}

pub(super) unsafe extern "system" fn begin_command_buffer(
    buffer: vk::CommandBuffer,
    _: *const vk::CommandBufferBeginInfo<'_>,
) -> vk::Result {
    let (_, mut inner) = enter(buffer, "vkBeginCommandBuffer");
    if set_phase(&mut inner, buffer, Phase::Recording) == Some(Phase::Recording) {
        inner.error("the command buffer is recording already".to_owned());
    }
    vk::Result::SUCCESS
}

pub(super) unsafe extern "system" fn end_command_buffer(buffer: vk::CommandBuffer) -> vk::Result {
    let (_, mut inner) = enter(buffer, "vkEndCommandBuffer");
    if set_phase(&mut inner, buffer, Phase::Executable) != Some(Phase::Recording) {
        inner.error("the command buffer is not recording".to_owned());
    }
    vk::Result::SUCCESS
}

pub(super) unsafe extern "system" fn reset_command_buffer(
    buffer: vk::CommandBuffer,
    _: vk::CommandBufferResetFlags,
) -> vk::Result {
    let (_, mut inner) = enter(buffer, "vkResetCommandBuffer");
    set_phase(&mut inner, buffer, Phase::Initial);
    vk::Result::SUCCESS
}
