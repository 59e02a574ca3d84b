//! What one pass reads and writes, bound exactly: set 1 of every pipeline, written for each dispatch or draw.
//!
//! | binding | what |
//! | --- | --- |
//! | 0 to 7 | storage buffers |
//! | 8 to 11 | sampled images |
//! | 12 | sampler |
//! | 13, 14 | storage images |
//! | 15 to 20 | more sampled images |
//! | 21 | second sampler |
//! | 22, 23 | more storage images |
//! | 24, 25 | more storage buffers |
//! | 26, 27 | yet more sampled images |
//!
//! Why beside the bindless table: synchronisation validation takes every element of an array binding for used, so
//! passes that reached their buffers and targets through the table could not be checked; and drivers that run
//! lanes in software index such arrays lane by lane. The table is for what is read-only for long.
//!
//! Sets come from an arena that is reset with its command pool.

use std::sync::{Arc, Mutex};

use ash::vk;

use super::buffer::Buffer;
use super::device::Device;
use super::error::{Error, Result};
use super::image::Image;
use super::image_view::ImageView;
use super::sampler::Sampler;

/// Number of storage buffer bindings, from 0.
pub const PASS_BUFFERS: u32 = 8;
/// Number of sampled image bindings, from 8.
pub const PASS_IMAGES: u32 = 4;
/// Binding of the sampler.
pub const PASS_SAMPLER: u32 = PASS_BUFFERS + PASS_IMAGES;
/// Number of storage image bindings, after the sampler.
pub const PASS_STORAGE_IMAGES: u32 = 2;
/// First of the further sampled image bindings.
pub const PASS_FIRST_MORE_IMAGE: u32 = PASS_SAMPLER + PASS_STORAGE_IMAGES + 1;
/// Number of further sampled image bindings.
pub const PASS_MORE_IMAGES: u32 = 6;
/// Binding of the second sampler.
pub const PASS_SECOND_SAMPLER: u32 = PASS_FIRST_MORE_IMAGE + PASS_MORE_IMAGES;
/// First of the further storage image bindings.
pub const PASS_FIRST_MORE_STORAGE: u32 = PASS_SECOND_SAMPLER + 1;
/// Number of further storage image bindings.
pub const PASS_MORE_STORAGE: u32 = 2;
/// First of the further storage buffer bindings.
pub const PASS_FIRST_MORE_BUFFER: u32 = PASS_FIRST_MORE_STORAGE + PASS_MORE_STORAGE;
/// Number of further storage buffer bindings.
pub const PASS_MORE_BUFFERS: u32 = 2;
/// First of the last sampled image bindings.
pub const PASS_FIRST_LAST_IMAGE: u32 = PASS_FIRST_MORE_BUFFER + PASS_MORE_BUFFERS;
/// Number of the last sampled image bindings.
pub const PASS_LAST_IMAGES: u32 = 2;
/// Sets an arena takes from one descriptor pool.
const SETS_A_POOL: u32 = 64;

/// The resources of one pass. Bindings that its shader does not use may be left out.
#[derive(Debug, Clone, Copy, Default)]
pub struct PassBindings<'a> {
    /// Storage buffers by binding; at most `maxStorageBufferRange` of each is seen.
    pub buffers: &'a [(u32, &'a Buffer)],
    /// Sampled images by binding, in the layout `SHADER_READ_ONLY_OPTIMAL`.
    pub images: &'a [(u32, &'a Image)],
    /// The sampler.
    pub sampler: Option<&'a Sampler>,
    /// Storage images by binding, in the layout `GENERAL`.
    pub storage_images: &'a [(u32, &'a Image)],
    /// The second sampler.
    pub second_sampler: Option<&'a Sampler>,
    /// Parts of images to sample by binding, in the layout `SHADER_READ_ONLY_OPTIMAL`.
    pub views: &'a [(u32, &'a ImageView)],
    /// Parts of images to load and store by binding, in the layout `GENERAL`.
    pub storage_views: &'a [(u32, &'a ImageView)],
}

pub(super) fn make_layout(device: &Device) -> Result<vk::DescriptorSetLayout> {
    let binding = |binding, kind| {
        vk::DescriptorSetLayoutBinding::default()
            .binding(binding)
            .descriptor_type(kind)
            .descriptor_count(1)
            .stage_flags(vk::ShaderStageFlags::ALL)
    };
    let bindings: Vec<_> = (0..PASS_BUFFERS)
        .map(|b| binding(b, vk::DescriptorType::STORAGE_BUFFER))
        .chain((PASS_BUFFERS..PASS_SAMPLER).map(|b| binding(b, vk::DescriptorType::SAMPLED_IMAGE)))
        .chain([binding(PASS_SAMPLER, vk::DescriptorType::SAMPLER)])
        .chain(
            (PASS_SAMPLER + 1..PASS_FIRST_MORE_IMAGE).map(|b| binding(b, vk::DescriptorType::STORAGE_IMAGE)),
        )
        .chain(
            (PASS_FIRST_MORE_IMAGE..PASS_SECOND_SAMPLER)
                .map(|b| binding(b, vk::DescriptorType::SAMPLED_IMAGE)),
        )
        .chain([binding(PASS_SECOND_SAMPLER, vk::DescriptorType::SAMPLER)])
        .chain(
            (PASS_FIRST_MORE_STORAGE..PASS_FIRST_MORE_BUFFER)
                .map(|b| binding(b, vk::DescriptorType::STORAGE_IMAGE)),
        )
        .chain(
            (PASS_FIRST_MORE_BUFFER..PASS_FIRST_LAST_IMAGE)
                .map(|b| binding(b, vk::DescriptorType::STORAGE_BUFFER)),
        )
        .chain(
            (PASS_FIRST_LAST_IMAGE..PASS_FIRST_LAST_IMAGE + PASS_LAST_IMAGES)
                .map(|b| binding(b, vk::DescriptorType::SAMPLED_IMAGE)),
        )
        .collect();
    // A pass leaves out what its shader has no use for.
    let flags = vec![vk::DescriptorBindingFlags::PARTIALLY_BOUND; bindings.len()];
    let mut flags = vk::DescriptorSetLayoutBindingFlagsCreateInfo::default().binding_flags(&flags);
    let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings).push_next(&mut flags);
    // SAFETY: all pointers are locals that outlive the call.
    unsafe { device.raw.create_descriptor_set_layout(&info, None) }
        .map_err(|r| device.noticed(Error::of("vkCreateDescriptorSetLayout")(r)))
}

/// Descriptor sets of one command pool.
#[derive(Debug, Clone)]
pub(super) struct Arena {
    device: Arc<Device>,
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug, Default)]
struct Inner {
    pools: Vec<vk::DescriptorPool>,
    /// Pool in use and sets taken from it.
    current: usize,
    taken: u32,
}

impl Arena {
    pub(super) fn new(device: &Arc<Device>) -> Self {
        Self { device: device.clone(), inner: Arc::default() }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        // Plain handles and counters, changed one at a time.
        self.inner.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Makes all sets free again. The caller has waited for everything that used them.
    pub(super) fn reset(&self) -> Result<()> {
        self.device.alive("vkResetDescriptorPool")?;
        let mut inner = self.lock();
        for pool in inner.pools.iter().take(inner.current + 1) {
            // SAFETY: no work in flight uses sets of this pool (the caller's command pool was waited for).
            unsafe { self.device.raw.reset_descriptor_pool(*pool, vk::DescriptorPoolResetFlags::empty()) }
                .map_err(|r| self.device.noticed(Error::of("vkResetDescriptorPool")(r)))?;
        }
        (inner.current, inner.taken) = (0, 0);
        Ok(())
    }

    /// A set with these resources.
    pub(super) fn write(
        &self,
        layout: vk::DescriptorSetLayout,
        bindings: &PassBindings<'_>,
    ) -> Result<vk::DescriptorSet> {
        self.device.alive("vkAllocateDescriptorSets")?;
        let mut inner = self.lock();
        if inner.taken == SETS_A_POOL {
            (inner.current, inner.taken) = (inner.current + 1, 0);
        }
        if inner.current == inner.pools.len() {
            let pool = self.make_pool()?;
            inner.pools.push(pool);
        }
        inner.taken += 1;
        let layouts = [layout];
        let info = vk::DescriptorSetAllocateInfo::default()
            .descriptor_pool(inner.pools[inner.current])
            .set_layouts(&layouts);
        // SAFETY: the pool has room for SETS_A_POOL sets of this layout and is used under the lock.
        let set = unsafe { self.device.raw.allocate_descriptor_sets(&info) }
            .map_err(|r| self.device.noticed(Error::of("vkAllocateDescriptorSets")(r)))?[0];
        self.fill(set, bindings);
        Ok(set)
    }

    fn fill(&self, set: vk::DescriptorSet, bindings: &PassBindings<'_>) {
        let most = self.device.capabilities().limits.max_storage_buffer_range;
        let buffers: Vec<_> = bindings
            .buffers
            .iter()
            .map(|(_, b)| {
                [vk::DescriptorBufferInfo { buffer: b.raw(), offset: 0, range: b.bytes().min(most) }]
            })
            .collect();
        let image = |view, image_layout| {
            [vk::DescriptorImageInfo { sampler: vk::Sampler::null(), image_view: view, image_layout }]
        };
        let read = vk::ImageLayout::SHADER_READ_ONLY_OPTIMAL;
        let images = bindings.images.iter().map(|(binding, of)| (*binding, image(of.view(), read)));
        let views = bindings.views.iter().map(|(binding, of)| (*binding, image(of.raw(), read)));
        let sampled: Vec<_> = images.chain(views).collect();
        let general = vk::ImageLayout::GENERAL;
        let images =
            bindings.storage_images.iter().map(|(binding, of)| (*binding, image(of.view(), general)));
        let views = bindings.storage_views.iter().map(|(binding, of)| (*binding, image(of.raw(), general)));
        let stored: Vec<_> = images.chain(views).collect();
        let sampler = |of: &Sampler| [vk::DescriptorImageInfo { sampler: of.raw(), ..Default::default() }];
        let samplers = [(PASS_SAMPLER, bindings.sampler), (PASS_SECOND_SAMPLER, bindings.second_sampler)]
            .map(|(binding, of)| (binding, of.map(sampler)));
        let write = |binding, kind| {
            vk::WriteDescriptorSet::default().dst_set(set).dst_binding(binding).descriptor_type(kind)
        };
        let mut writes = Vec::with_capacity(buffers.len() + sampled.len() + stored.len() + samplers.len());
        for ((binding, _), info) in bindings.buffers.iter().zip(&buffers) {
            writes.push(write(*binding, vk::DescriptorType::STORAGE_BUFFER).buffer_info(info));
        }
        for (binding, info) in &sampled {
            writes.push(write(*binding, vk::DescriptorType::SAMPLED_IMAGE).image_info(info));
        }
        for (binding, info) in &stored {
            writes.push(write(*binding, vk::DescriptorType::STORAGE_IMAGE).image_info(info));
        }
        for (binding, info) in &samplers {
            if let Some(info) = info {
                writes.push(write(*binding, vk::DescriptorType::SAMPLER).image_info(info));
            }
        }
        // SAFETY: the set is fresh, so nothing in flight reads it; the infos are locals; buffers, views and
        // samplers are alive, and are kept so by the retire queue while a recording that uses them is open.
        unsafe { self.device.raw.update_descriptor_sets(&writes, &[]) };
    }

    fn make_pool(&self) -> Result<vk::DescriptorPool> {
        let size = |ty, count| vk::DescriptorPoolSize { ty, descriptor_count: count * SETS_A_POOL };
        let sizes = [
            size(vk::DescriptorType::STORAGE_BUFFER, PASS_BUFFERS + PASS_MORE_BUFFERS),
            size(vk::DescriptorType::SAMPLED_IMAGE, PASS_IMAGES + PASS_MORE_IMAGES + PASS_LAST_IMAGES),
            size(vk::DescriptorType::SAMPLER, 2),
            size(vk::DescriptorType::STORAGE_IMAGE, PASS_STORAGE_IMAGES + PASS_MORE_STORAGE),
        ];
        let info = vk::DescriptorPoolCreateInfo::default().max_sets(SETS_A_POOL).pool_sizes(&sizes);
        // SAFETY: the array is a local that outlives the call.
        let pool = unsafe { self.device.raw.create_descriptor_pool(&info, None) }
            .map_err(|r| self.device.noticed(Error::of("vkCreateDescriptorPool")(r)))?;
        self.device.counters.made();
        Ok(pool)
    }

    /// The pools, to be retired with the command pool.
    pub(super) fn take_pools(&self) -> Vec<vk::DescriptorPool> {
        std::mem::take(&mut self.lock().pools)
    }
}
