//! The bindless table: one descriptor set for everything, bound once a command buffer.
//!
//! Set 0, see `shaders/lib/bindless.wgsl`:
//!
//! | binding | what |
//! | --- | --- |
//! | 0 to 7 | storage buffers. All eight arrays hold the *same* buffers: WGSL types a binding, so a shader that views several buffers as different types uses one binding a type |
//! | 8 | sampled 2D images |
//! | 9 | samplers |
//!
//! Slots are plain numbers that travel in push constants and frame constants. A slot is written before
//! its first use and never rewritten while work that may read it is in flight: a buffer that is recreated
//! takes a new slot.

use std::sync::{Arc, Mutex};

use ash::vk;

use super::buffer::Buffer;
use super::device::Device;
use super::error::{Error, Result};
use super::image::Image;
use super::retire::Garbage;
use super::sampler::Sampler;

/// Number of storage buffer bindings that mirror each other.
pub const BUFFER_VIEWS: u32 = 8;
/// Binding of the sampled images.
pub const TEXTURE_BINDING: u32 = 8;
/// Binding of the samplers.
pub const SAMPLER_BINDING: u32 = 9;
/// Most storage buffers alive at once.
pub const MAX_BUFFERS: u32 = 256;
/// Most sampled images alive at once.
pub const MAX_TEXTURES: u32 = 1024;
/// Most samplers alive at once.
pub const MAX_SAMPLERS: u32 = 32;

/// Kind of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SlotKind {
    /// Storage buffer.
    Buffer,
    /// Sampled image.
    Texture,
    /// Sampler.
    Sampler,
}

/// A slot of the table. Given back, after everything in flight, when dropped.
#[derive(Debug)]
pub struct Slot {
    device: Arc<Device>,
    kind: SlotKind,
    index: u32,
}

impl Slot {
    /// The number that shaders use.
    pub fn index(&self) -> u32 {
        self.index
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.device.retire(Garbage::Slot(self.kind, self.index));
    }
}

/// Free slots of one kind: the lowest first, so that numbers are the same in every run.
#[derive(Debug)]
struct FreeList {
    free: std::collections::BTreeSet<u32>,
}

impl FreeList {
    fn new(count: u32) -> Self {
        Self { free: (0..count).collect() }
    }
}

pub(super) struct Bindless {
    pub(super) layout: vk::DescriptorSetLayout,
    pool: vk::DescriptorPool,
    pub(super) set: vk::DescriptorSet,
    /// Also guards host access to the set.
    free: Mutex<[FreeList; 3]>,
}

impl Bindless {
    pub(super) fn new(device: &Device) -> Result<Self> {
        let stages = vk::ShaderStageFlags::ALL;
        let binding = |binding, kind, count| {
            vk::DescriptorSetLayoutBinding::default()
                .binding(binding)
                .descriptor_type(kind)
                .descriptor_count(count)
                .stage_flags(stages)
        };
        let mut bindings: Vec<_> =
            (0..BUFFER_VIEWS).map(|b| binding(b, vk::DescriptorType::STORAGE_BUFFER, MAX_BUFFERS)).collect();
        bindings.push(binding(TEXTURE_BINDING, vk::DescriptorType::SAMPLED_IMAGE, MAX_TEXTURES));
        bindings.push(binding(SAMPLER_BINDING, vk::DescriptorType::SAMPLER, MAX_SAMPLERS));
        let flags = vec![
            vk::DescriptorBindingFlags::PARTIALLY_BOUND
                | vk::DescriptorBindingFlags::UPDATE_AFTER_BIND
                | vk::DescriptorBindingFlags::UPDATE_UNUSED_WHILE_PENDING;
            bindings.len()
        ];
        let mut flags = vk::DescriptorSetLayoutBindingFlagsCreateInfo::default().binding_flags(&flags);
        let info = vk::DescriptorSetLayoutCreateInfo::default()
            .flags(vk::DescriptorSetLayoutCreateFlags::UPDATE_AFTER_BIND_POOL)
            .bindings(&bindings)
            .push_next(&mut flags);
        let sizes = [
            vk::DescriptorPoolSize {
                ty: vk::DescriptorType::STORAGE_BUFFER,
                descriptor_count: BUFFER_VIEWS * MAX_BUFFERS,
            },
            vk::DescriptorPoolSize { ty: vk::DescriptorType::SAMPLED_IMAGE, descriptor_count: MAX_TEXTURES },
            vk::DescriptorPoolSize { ty: vk::DescriptorType::SAMPLER, descriptor_count: MAX_SAMPLERS },
        ];
        let pool_info = vk::DescriptorPoolCreateInfo::default()
            .flags(vk::DescriptorPoolCreateFlags::UPDATE_AFTER_BIND)
            .max_sets(1)
            .pool_sizes(&sizes);
        // SAFETY: all infos are locals that outlive the calls; a failed step destroys what came before it.
        unsafe {
            let raw = &device.raw;
            let layout = raw
                .create_descriptor_set_layout(&info, None)
                .map_err(Error::of("vkCreateDescriptorSetLayout"))?;
            let pool = raw.create_descriptor_pool(&pool_info, None).map_err(|r| {
                raw.destroy_descriptor_set_layout(layout, None);
                Error::of("vkCreateDescriptorPool")(r)
            })?;
            let layouts = [layout];
            let allocate =
                vk::DescriptorSetAllocateInfo::default().descriptor_pool(pool).set_layouts(&layouts);
            let set = raw.allocate_descriptor_sets(&allocate).map(|sets| sets[0]).map_err(|r| {
                raw.destroy_descriptor_pool(pool, None);
                raw.destroy_descriptor_set_layout(layout, None);
                Error::of("vkAllocateDescriptorSets")(r)
            })?;
            device.set_name(set, "Bindless");
            let free = [FreeList::new(MAX_BUFFERS), FreeList::new(MAX_TEXTURES), FreeList::new(MAX_SAMPLERS)];
            Ok(Self { layout, pool, set, free: Mutex::new(free) })
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, [FreeList; 3]> {
        // Sets of plain numbers: a panic elsewhere leaves them consistent.
        self.free.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub(super) fn release(&self, kind: SlotKind, index: u32) {
        self.lock()[kind as usize].free.insert(index);
    }

    pub(super) fn destroy(self, raw: &ash::Device) {
        // SAFETY: called when the device is idle and about to be destroyed.
        unsafe {
            raw.destroy_descriptor_pool(self.pool, None);
            raw.destroy_descriptor_set_layout(self.layout, None);
        }
    }
}

impl Device {
    fn table(&self) -> Result<&Bindless> {
        self.bindless.get().ok_or_else(|| Error::Other("the bindless table is not made yet".into()))
    }

    fn take_slot(self: &Arc<Self>, kind: SlotKind, write: impl FnOnce(&Bindless, u32)) -> Result<Slot> {
        self.alive("vkUpdateDescriptorSets")?;
        let table = self.table()?;
        let limit = [MAX_BUFFERS, MAX_TEXTURES, MAX_SAMPLERS][kind as usize];
        let mut free = table.lock();
        let index = free[kind as usize].free.pop_first().ok_or_else(|| Error::Limit {
            what: format!("bindless {kind:?} slots alive at once"),
            asked: u64::from(limit) + 1,
            limit: u64::from(limit),
        })?;
        // Written under the lock: descriptor set updates are externally synchronised.
        write(table, index);
        drop(free);
        Ok(Slot { device: self.clone(), kind, index })
    }

    /// Puts `bytes` of a buffer from offset 0 into the table (all buffer bindings). The range is cut to
    /// `maxStorageBufferRange`: a reservation can be larger than a descriptor.
    ///
    /// # Errors
    /// When the table is full.
    pub fn bind_buffer(self: &Arc<Self>, buffer: &Buffer, bytes: u64) -> Result<Slot> {
        let range = bytes.min(buffer.bytes()).min(self.capabilities().limits.max_storage_buffer_range);
        self.take_slot(SlotKind::Buffer, |table, index| {
            let infos = [vk::DescriptorBufferInfo { buffer: buffer.raw(), offset: 0, range }];
            let writes: Vec<_> = (0..BUFFER_VIEWS)
                .map(|binding| {
                    vk::WriteDescriptorSet::default()
                        .dst_set(table.set)
                        .dst_binding(binding)
                        .dst_array_element(index)
                        .descriptor_type(vk::DescriptorType::STORAGE_BUFFER)
                        .buffer_info(&infos)
                })
                .collect();
            // SAFETY: the slot is free, so no work in flight reads it; host access is under the table's lock.
            unsafe { self.raw.update_descriptor_sets(&writes, &[]) };
        })
    }

    /// Puts a sampled image into the table; it is read in the layout `SHADER_READ_ONLY_OPTIMAL`.
    ///
    /// # Errors
    /// When the table is full.
    pub fn bind_texture(self: &Arc<Self>, image: &Image) -> Result<Slot> {
        self.take_slot(SlotKind::Texture, |table, index| {
            let infos = [vk::DescriptorImageInfo {
                sampler: vk::Sampler::null(),
                image_view: image.view(),
                image_layout: vk::ImageLayout::SHADER_READ_ONLY_OPTIMAL,
            }];
            self.write_image(table, TEXTURE_BINDING, index, vk::DescriptorType::SAMPLED_IMAGE, &infos);
        })
    }

    /// Puts a sampler into the table.
    ///
    /// # Errors
    /// When the table is full.
    pub fn bind_sampler(self: &Arc<Self>, sampler: &Sampler) -> Result<Slot> {
        self.take_slot(SlotKind::Sampler, |table, index| {
            let infos = [vk::DescriptorImageInfo { sampler: sampler.raw(), ..Default::default() }];
            self.write_image(table, SAMPLER_BINDING, index, vk::DescriptorType::SAMPLER, &infos);
        })
    }

    fn write_image(
        &self,
        table: &Bindless,
        binding: u32,
        index: u32,
        kind: vk::DescriptorType,
        infos: &[vk::DescriptorImageInfo],
    ) {
        let write = vk::WriteDescriptorSet::default()
            .dst_set(table.set)
            .dst_binding(binding)
            .dst_array_element(index)
            .descriptor_type(kind)
            .image_info(infos);
        // SAFETY: the slot is free, so no work in flight reads it; the caller holds the table's lock.
        unsafe { self.raw.update_descriptor_sets(&[write], &[]) };
    }
}
