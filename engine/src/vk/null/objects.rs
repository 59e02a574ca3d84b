//! Everything else that is created and destroyed: views, samplers, descriptors, pipelines, queries.

use super::state::{Data, Inner, enter};
use super::support::{get, list, set};
use super::table::erase;
use ash::vk::{self, Handle};
use std::ffi::c_void;

/// Objects of which only the existence matters.
macro_rules! plain_objects {
    ($( $create:literal $create_pfn:ident($info:ident) -> $handle:ident, $destroy:literal $destroy_pfn:ident; )*) => {
        /// The address of a create or destroy function.
        pub(super) fn address(name: &str) -> vk::PFN_vkVoidFunction {
            match name {
                $(
                    $create => {
                        unsafe extern "system" fn create(
                            device: vk::Device,
                            _: *const vk::$info<'_>,
                            _: *const vk::AllocationCallbacks<'_>,
                            out: *mut vk::$handle,
                        ) -> vk::Result {
                            let (_, mut inner) = enter(device, $create);
                            set!(out, inner.create(device.as_raw(), Data::Plain));
                            vk::Result::SUCCESS
                        }
                        erase!($create_pfn, create)
                    }
                    $destroy => {
                        unsafe extern "system" fn destroy(
                            device: vk::Device,
                            handle: vk::$handle,
                            _: *const vk::AllocationCallbacks<'_>,
                        ) {
                            let (_, mut inner) = enter(device, $destroy);
                            inner.destroy(handle);
                        }
                        erase!($destroy_pfn, destroy)
                    }
                )*
                _ => None,
            }
        }
    };
}

plain_objects! {
    "vkCreateBufferView" PFN_vkCreateBufferView(BufferViewCreateInfo) -> BufferView,
        "vkDestroyBufferView" PFN_vkDestroyBufferView;
    "vkCreateSampler" PFN_vkCreateSampler(SamplerCreateInfo) -> Sampler,
        "vkDestroySampler" PFN_vkDestroySampler;
    "vkCreateShaderModule" PFN_vkCreateShaderModule(ShaderModuleCreateInfo) -> ShaderModule,
        "vkDestroyShaderModule" PFN_vkDestroyShaderModule;
    "vkCreatePipelineCache" PFN_vkCreatePipelineCache(PipelineCacheCreateInfo) -> PipelineCache,
        "vkDestroyPipelineCache" PFN_vkDestroyPipelineCache;
    "vkCreatePipelineLayout" PFN_vkCreatePipelineLayout(PipelineLayoutCreateInfo) -> PipelineLayout,
        "vkDestroyPipelineLayout" PFN_vkDestroyPipelineLayout;
    "vkCreateDescriptorSetLayout" PFN_vkCreateDescriptorSetLayout(DescriptorSetLayoutCreateInfo) -> DescriptorSetLayout,
        "vkDestroyDescriptorSetLayout" PFN_vkDestroyDescriptorSetLayout;
    "vkCreateEvent" PFN_vkCreateEvent(EventCreateInfo) -> Event,
        "vkDestroyEvent" PFN_vkDestroyEvent;
}

pub(super) unsafe extern "system" fn create_image_view(
    device: vk::Device,
    info: *const vk::ImageViewCreateInfo<'_>,
    _: *const vk::AllocationCallbacks<'_>,
    out: *mut vk::ImageView,
) -> vk::Result {
    let (_, mut inner) = enter(device, "vkCreateImageView");
    inner.data(get!(info).image);
    set!(out, inner.create(device.as_raw(), Data::Plain));
    vk::Result::SUCCESS
}

pub(super) unsafe extern "system" fn destroy_image_view(
    device: vk::Device,
    view: vk::ImageView,
    _: *const vk::AllocationCallbacks<'_>,
) {
    let (_, mut inner) = enter(device, "vkDestroyImageView");
    inner.destroy(view);
}

pub(super) unsafe extern "system" fn get_pipeline_cache_data(
    device: vk::Device,
    cache: vk::PipelineCache,
    size: *mut usize,
    out: *mut c_void,
) -> vk::Result {
    let (dispatch, mut inner) = enter(device, "vkGetPipelineCacheData");
    inner.data(cache);
    // The header the specification asks for, and nothing after it.
    let properties = &dispatch.device_config().properties;
    let mut bytes = Vec::new();
    for word in [32, 1, properties.vendor_id, properties.device_id] {
        bytes.extend(u32::to_le_bytes(word));
    }
    bytes.extend([dispatch.physical as u8 + 1; vk::UUID_SIZE]);
    if out.is_null() {
        set!(size, bytes.len());
        return vk::Result::SUCCESS;
    }
    let fits = (*get!(size)).min(bytes.len());
    // SAFETY: the caller has room for `*size` bytes, and `fits` is no more than that.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), out.cast(), fits) };
    set!(size, fits);
    if fits < bytes.len() { vk::Result::INCOMPLETE } else { vk::Result::SUCCESS }
}

pub(super) unsafe extern "system" fn merge_pipeline_caches(
    device: vk::Device,
    _: vk::PipelineCache,
    _: u32,
    _: *const vk::PipelineCache,
) -> vk::Result {
    let (_, _inner) = enter(device, "vkMergePipelineCaches");
    vk::Result::SUCCESS
}

fn check_stages(
    inner: &mut Inner,
    layout: vk::PipelineLayout,
    stages: &[vk::PipelineShaderStageCreateInfo<'_>],
) {
    inner.data(layout);
    for stage in stages {
        inner.data(stage.module);
    }
}

pub(super) unsafe extern "system" fn create_graphics_pipelines(
    device: vk::Device,
    _: vk::PipelineCache,
    count: u32,
    infos: *const vk::GraphicsPipelineCreateInfo<'_>,
    _: *const vk::AllocationCallbacks<'_>,
    out: *mut vk::Pipeline,
) -> vk::Result {
    let (_, mut inner) = enter(device, "vkCreateGraphicsPipelines");
    let infos: &[vk::GraphicsPipelineCreateInfo<'_>] = list!(infos, count);
    for (index, info) in infos.iter().enumerate() {
        check_stages(&mut inner, info.layout, list!(info.p_stages, info.stage_count));
        let pipeline = inner.create(device.as_raw(), Data::Plain);
        // SAFETY: the caller has a place for each pipeline.
        set!(unsafe { out.add(index) }, pipeline);
    }
    vk::Result::SUCCESS
}

pub(super) unsafe extern "system" fn create_compute_pipelines(
    device: vk::Device,
    _: vk::PipelineCache,
    count: u32,
    infos: *const vk::ComputePipelineCreateInfo<'_>,
    _: *const vk::AllocationCallbacks<'_>,
    out: *mut vk::Pipeline,
) -> vk::Result {
    let (_, mut inner) = enter(device, "vkCreateComputePipelines");
    let infos: &[vk::ComputePipelineCreateInfo<'_>] = list!(infos, count);
    for (index, info) in infos.iter().enumerate() {
        check_stages(&mut inner, info.layout, &[info.stage]);
        let pipeline = inner.create(device.as_raw(), Data::Plain);
        // SAFETY: the caller has a place for each pipeline.
        set!(unsafe { out.add(index) }, pipeline);
    }
    vk::Result::SUCCESS
}

pub(super) unsafe extern "system" fn destroy_pipeline(
    device: vk::Device,
    pipeline: vk::Pipeline,
    _: *const vk::AllocationCallbacks<'_>,
) {
    let (_, mut inner) = enter(device, "vkDestroyPipeline");
    inner.destroy(pipeline);
}

pub(super) unsafe extern "system" fn create_descriptor_pool(
    device: vk::Device,
    _: *const vk::DescriptorPoolCreateInfo<'_>,
    _: *const vk::AllocationCallbacks<'_>,
    out: *mut vk::DescriptorPool,
) -> vk::Result {
    let (_, mut inner) = enter(device, "vkCreateDescriptorPool");
    set!(out, inner.create(device.as_raw(), Data::DescriptorPool { sets: Vec::new() }));
    vk::Result::SUCCESS
}

fn free_sets(inner: &mut Inner, pool: vk::DescriptorPool) {
    if let Some(Data::DescriptorPool { sets }) = inner.data(pool) {
        for set in std::mem::take(sets) {
            inner.live.remove(&set);
        }
    }
}

pub(super) unsafe extern "system" fn reset_descriptor_pool(
    device: vk::Device,
    pool: vk::DescriptorPool,
    _: vk::DescriptorPoolResetFlags,
) -> vk::Result {
    let (_, mut inner) = enter(device, "vkResetDescriptorPool");
    free_sets(&mut inner, pool);
    vk::Result::SUCCESS
}

pub(super) unsafe extern "system" fn destroy_descriptor_pool(
    device: vk::Device,
    pool: vk::DescriptorPool,
    _: *const vk::AllocationCallbacks<'_>,
) {
    let (_, mut inner) = enter(device, "vkDestroyDescriptorPool");
    if !pool.is_null() {
        free_sets(&mut inner, pool);
        inner.destroy(pool);
    }
}

pub(super) unsafe extern "system" fn allocate_descriptor_sets(
    device: vk::Device,
    info: *const vk::DescriptorSetAllocateInfo<'_>,
    out: *mut vk::DescriptorSet,
) -> vk::Result {
    let (_, mut inner) = enter(device, "vkAllocateDescriptorSets");
    let info = get!(info);
    let layouts: &[vk::DescriptorSetLayout] = list!(info.p_set_layouts, info.descriptor_set_count);
    for (index, layout) in layouts.iter().enumerate() {
        inner.data(*layout);
        let set: vk::DescriptorSet = inner.create(device.as_raw(), Data::Plain);
        if let Some(Data::DescriptorPool { sets }) = inner.data(info.descriptor_pool) {
            sets.push(set.as_raw());
        }
        // SAFETY: the caller has a place for each set.
        set!(unsafe { out.add(index) }, set);
    }
    vk::Result::SUCCESS
}

pub(super) unsafe extern "system" fn free_descriptor_sets(
    device: vk::Device,
    pool: vk::DescriptorPool,
    count: u32,
    freed: *const vk::DescriptorSet,
) -> vk::Result {
    let (_, mut inner) = enter(device, "vkFreeDescriptorSets");
    for set in list!(freed, count) {
        inner.destroy(*set);
        if let Some(Data::DescriptorPool { sets }) = inner.data(pool) {
            sets.retain(|raw| *raw != set.as_raw());
        }
    }
    vk::Result::SUCCESS
}

pub(super) unsafe extern "system" fn update_descriptor_sets(
    device: vk::Device,
    count: u32,
    writes: *const vk::WriteDescriptorSet<'_>,
    _: u32,
    _: *const vk::CopyDescriptorSet<'_>,
) {
    let (_, mut inner) = enter(device, "vkUpdateDescriptorSets");
    let writes: &[vk::WriteDescriptorSet<'_>] = list!(writes, count);
    for write in writes {
        inner.data(write.dst_set);
        match write.descriptor_type {
            vk::DescriptorType::STORAGE_BUFFER | vk::DescriptorType::UNIFORM_BUFFER => {
                for info in list!(write.p_buffer_info, write.descriptor_count) {
                    inner.check(info.buffer);
                }
            }
            vk::DescriptorType::SAMPLED_IMAGE | vk::DescriptorType::STORAGE_IMAGE => {
                for info in list!(write.p_image_info, write.descriptor_count) {
                    inner.check(info.image_view);
                }
            }
            vk::DescriptorType::SAMPLER => {
                for info in list!(write.p_image_info, write.descriptor_count) {
                    inner.check(info.sampler);
                }
            }
            _ => {}
        }
    }
}

pub(super) unsafe extern "system" fn get_descriptor_set_layout_support(
    device: vk::Device,
    _: *const vk::DescriptorSetLayoutCreateInfo<'_>,
    out: *mut vk::DescriptorSetLayoutSupport<'_>,
) {
    let (_, _inner) = enter(device, "vkGetDescriptorSetLayoutSupport");
    // SAFETY: the caller passes a valid output struct.
    unsafe { (*out).supported = vk::TRUE };
}

pub(super) unsafe extern "system" fn create_query_pool(
    device: vk::Device,
    info: *const vk::QueryPoolCreateInfo<'_>,
    _: *const vk::AllocationCallbacks<'_>,
    out: *mut vk::QueryPool,
) -> vk::Result {
    let (_, mut inner) = enter(device, "vkCreateQueryPool");
    set!(out, inner.create(device.as_raw(), Data::Queries { count: get!(info).query_count }));
    vk::Result::SUCCESS
}

pub(super) unsafe extern "system" fn destroy_query_pool(
    device: vk::Device,
    pool: vk::QueryPool,
    _: *const vk::AllocationCallbacks<'_>,
) {
    let (_, mut inner) = enter(device, "vkDestroyQueryPool");
    inner.destroy(pool);
}

pub(super) unsafe extern "system" fn reset_query_pool(
    device: vk::Device,
    pool: vk::QueryPool,
    first: u32,
    count: u32,
) {
    let (_, mut inner) = enter(device, "vkResetQueryPool");
    check_queries(&mut inner, pool, first, count);
}

fn check_queries(inner: &mut Inner, pool: vk::QueryPool, first: u32, count: u32) {
    if let Some(Data::Queries { count: have }) = inner.data(pool)
        && first.saturating_add(count) > *have
    {
        let message = format!("queries {first}+{count} of {have}");
        inner.error(message);
    }
}

/// Every query reads one thousand more than the one before.
pub(super) unsafe extern "system" fn get_query_pool_results(
    device: vk::Device,
    pool: vk::QueryPool,
    first: u32,
    count: u32,
    size: usize,
    out: *mut c_void,
    stride: u64,
    flags: vk::QueryResultFlags,
) -> vk::Result {
    let (_, mut inner) = enter(device, "vkGetQueryPoolResults");
    check_queries(&mut inner, pool, first, count);
    let with_availability = flags.contains(vk::QueryResultFlags::WITH_AVAILABILITY);
    let wide = flags.contains(vk::QueryResultFlags::TYPE_64);
    for index in 0..count as usize {
        inner.timestamp += 1000;
        let values = [inner.timestamp, 1];
        let width = if wide { 8 } else { 4 };
        for (word, value) in values[..1 + usize::from(with_availability)].iter().enumerate() {
            let at = index * stride as usize + word * width;
            if at + width > size {
                inner.error(format!("{size} bytes are too few for {count} queries"));
                return vk::Result::NOT_READY;
            }
            // SAFETY: the caller has room for `size` bytes, and this ends within them.
            let place = unsafe { out.cast::<u8>().add(at) };
            let bytes = value.to_ne_bytes();
            let low = (*value as u32).to_ne_bytes();
            let from = if wide { &bytes[..] } else { &low[..] };
            // SAFETY: as above; `width` bytes at both ends.
            unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), place, width) };
        }
    }
    vk::Result::SUCCESS
}
