//! Images and their views: committed ones with memory of their own, and reserved ones that are only addresses.

use std::sync::Arc;

use ash::vk;

use super::addresses::ReservationId;
use super::buffer::Requirements;
use super::device::Device;
use super::error::{Error, Result};
use super::memory::{DeviceMemory, Location, StaticRange};
use super::retire::Garbage;
use super::sparse_image::SparseImage;

/// How many dimensions an image has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Dimensions {
    /// Width.
    One,
    /// Width and height.
    #[default]
    Two,
    /// Width, height and depth.
    Three,
}

/// What an image is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ImageDesc {
    /// Texel format.
    pub format: vk::Format,
    /// Dimensions.
    pub dimensions: Dimensions,
    /// Width and height in texels; height 1 for one dimension.
    pub extent: [u32; 2],
    /// Depth in texels; 1 unless three-dimensional.
    pub depth: u32,
    /// Array layers.
    pub layers: u32,
    /// Mip levels.
    pub mips: u32,
    /// Samples a texel.
    pub samples: vk::SampleCountFlags,
    /// How it is used.
    pub usage: vk::ImageUsageFlags,
    /// A block-compressed image whose blocks shaders may write, through views of an integer format
    /// ([`ImageView::of_blocks`](super::ImageView::of_blocks)).
    pub block_views: bool,
}

impl ImageDesc {
    /// A 2D image with one mip, one layer and one sample.
    pub fn new_2d(format: vk::Format, extent: [u32; 2], usage: vk::ImageUsageFlags) -> Self {
        Self {
            format,
            dimensions: Dimensions::Two,
            extent,
            depth: 1,
            layers: 1,
            mips: 1,
            samples: vk::SampleCountFlags::TYPE_1,
            usage,
            block_views: false,
        }
    }

    /// A 1D image with one mip and one layer.
    pub fn new_1d(format: vk::Format, width: u32, usage: vk::ImageUsageFlags) -> Self {
        Self { dimensions: Dimensions::One, ..Self::new_2d(format, [width, 1], usage) }
    }

    /// A 3D image with one mip.
    pub fn new_3d(format: vk::Format, extent: [u32; 3], usage: vk::ImageUsageFlags) -> Self {
        let [width, height, depth] = extent;
        Self { dimensions: Dimensions::Three, depth, ..Self::new_2d(format, [width, height], usage) }
    }

    /// Mips down to one texel.
    pub fn full_mips(&self) -> u32 {
        let [width, height, depth] = self.extent3();
        width.max(height).max(depth).max(1).ilog2() + 1
    }

    /// Width, height and depth in texels.
    pub fn extent3(&self) -> [u32; 3] {
        [self.extent[0], self.extent[1], self.depth]
    }

    /// Size of a mip in texels.
    pub fn mip_extent(&self, mip: u32) -> [u32; 3] {
        self.extent3().map(|side| side.checked_shr(mip).unwrap_or(0).max(1))
    }

    /// The aspect that its format has.
    pub fn aspect(&self) -> vk::ImageAspectFlags {
        match self.format {
            vk::Format::D32_SFLOAT | vk::Format::D16_UNORM => vk::ImageAspectFlags::DEPTH,
            _ => vk::ImageAspectFlags::COLOR,
        }
    }

    pub(super) fn image_type(&self) -> vk::ImageType {
        match self.dimensions {
            Dimensions::One => vk::ImageType::TYPE_1D,
            Dimensions::Two => vk::ImageType::TYPE_2D,
            Dimensions::Three => vk::ImageType::TYPE_3D,
        }
    }

    pub(super) fn create_info(&self) -> vk::ImageCreateInfo<'static> {
        let [width, height, depth] = self.extent3();
        vk::ImageCreateInfo::default()
            .image_type(self.image_type())
            .format(self.format)
            .extent(vk::Extent3D { width, height, depth })
            .mip_levels(self.mips)
            .array_layers(self.layers)
            .samples(self.samples)
            .usage(self.usage)
            .flags(self.flags())
    }

    fn flags(&self) -> vk::ImageCreateFlags {
        if !self.block_views {
            return vk::ImageCreateFlags::empty();
        }
        vk::ImageCreateFlags::MUTABLE_FORMAT
            | vk::ImageCreateFlags::BLOCK_TEXEL_VIEW_COMPATIBLE
            | vk::ImageCreateFlags::EXTENDED_USAGE
    }

    /// Usage that a view in the image's own format has.
    fn view_usage(&self) -> vk::ImageUsageFlags {
        // No format of blocks can be stored to.
        if self.block_views { self.usage & !vk::ImageUsageFlags::STORAGE } else { self.usage }
    }

    /// # Errors
    /// A side, a number of mips or of layers that the device or Vulkan does not allow.
    pub(super) fn check(&self, device: &Device, name: &str) -> Result<()> {
        let limits = &device.capabilities().limits;
        let limit = match self.dimensions {
            Dimensions::One => limits.max_image_1d,
            Dimensions::Two => limits.max_image_2d,
            Dimensions::Three => limits.max_image_3d,
        };
        let within = |what: &str, asked: u32, limit: u32| match asked {
            asked if asked == 0 || asked > limit => Err(Error::Limit {
                what: format!("{what} of the image {name} (at least 1)"),
                asked: u64::from(asked),
                limit: u64::from(limit),
            }),
            _ => Ok(()),
        };
        within("width in texels", self.extent[0], limit)?;
        within(
            "height in texels",
            self.extent[1],
            if self.dimensions == Dimensions::One { 1 } else { limit },
        )?;
        within("depth in texels", self.depth, if self.dimensions == Dimensions::Three { limit } else { 1 })?;
        let layers = if self.dimensions == Dimensions::Three { 1 } else { limits.max_image_layers };
        within("number of layers", self.layers, layers)?;
        within("number of mips", self.mips, self.full_mips())
    }
}

/// A `VkImage` with one view of all its mips and layers. Destroyed through the retire queue when dropped.
#[derive(Debug)]
pub struct Image {
    device: Arc<Device>,
    raw: vk::Image,
    view: vk::ImageView,
    desc: ImageDesc,
    name: String,
    is_shared: bool,
    backing: Backing,
}

#[derive(Debug)]
enum Backing {
    /// A range of the static heap.
    Committed(Option<Box<StaticRange>>),
    /// An allocation that holds nothing else.
    Dedicated(#[allow(dead_code)] DeviceMemory), // Held until the image is dropped.
    /// A place in memory that others may use at other times.
    Placed(#[allow(dead_code)] Arc<DeviceMemory>), // Held until the image is dropped.
    /// Addresses only: bound by [`Device::bind_sparse`].
    Reserved { addresses: ReservationId, sparse: SparseImage },
}

impl Image {
    /// An image with memory of the static heap.
    ///
    /// # Errors
    /// An extent of zero or over the device's limit, or out of memory.
    pub fn committed(device: &Arc<Device>, name: &str, desc: ImageDesc) -> Result<Self> {
        Self::of_static_heap(device, name, desc, false)
    }

    /// The same for an image that several queues use without handing it over.
    ///
    /// # Errors
    /// See [`committed`](Self::committed).
    pub fn committed_shared(device: &Arc<Device>, name: &str, desc: ImageDesc) -> Result<Self> {
        Self::of_static_heap(device, name, desc, true)
    }

    fn of_static_heap(device: &Arc<Device>, name: &str, desc: ImageDesc, is_shared: bool) -> Result<Self> {
        Self::make(device, name, desc, vk::ImageCreateFlags::empty(), is_shared, |raw| {
            let allocation =
                device.allocate_static(name, memory_requirements(device, raw), Location::Device, false)?;
            let (memory, offset) = (&allocation.allocation, allocation.allocation.offset());
            // SAFETY: the allocation was made for exactly these requirements and the image is not bound yet.
            let bound = unsafe { device.raw.bind_image_memory(raw, memory.memory(), offset) };
            if let Err(result) = bound {
                device.free_static(allocation);
                return Err(device.noticed(Error::of("vkBindImageMemory")(result)));
            }
            Ok(Backing::Committed(Some(Box::new(allocation))))
        })
    }

    /// An image with one allocation of its own, counted as a chunk.
    ///
    /// # Errors
    /// An extent of zero or over the device's limit, an image larger than one allocation may be, or out of memory.
    pub fn dedicated(device: &Arc<Device>, name: &str, desc: ImageDesc) -> Result<Self> {
        Self::make(device, name, desc, vk::ImageCreateFlags::empty(), false, |raw| {
            let needs = memory_requirements(device, raw);
            let memory_type = device.chunk_memory_type(needs.memory_type_bits)?;
            let memory = device.allocate_memory(name, needs.size, memory_type, true)?;
            // SAFETY: the memory has the size and a type that the image asked for, and the image is not bound yet.
            unsafe { device.raw.bind_image_memory(raw, memory.raw(), 0) }
                .map_err(|r| device.noticed(Error::of("vkBindImageMemory")(r)))?;
            Ok(Backing::Dedicated(memory))
        })
    }

    /// An image at a place in memory that is shared with others: who uses it when is the caller's to order, and its
    /// contents are undefined whenever another took the place meanwhile. `is_shared` lets several queues use it.
    ///
    /// # Errors
    /// An extent over the device's limit, a place that does not fit, or what the driver said.
    pub fn placed(
        device: &Arc<Device>,
        name: &str,
        desc: ImageDesc,
        is_shared: bool,
        (memory, offset): (&Arc<DeviceMemory>, u64),
    ) -> Result<Self> {
        Self::make(device, name, desc, vk::ImageCreateFlags::empty(), is_shared, |raw| {
            memory.check_place(name, memory_requirements(device, raw), offset)?;
            // SAFETY: size, alignment and memory type were just checked, and the image is not bound yet.
            unsafe { device.raw.bind_image_memory(raw, memory.raw(), offset) }
                .map_err(|r| device.noticed(Error::of("vkBindImageMemory")(r)))?;
            Ok(Backing::Placed(memory.clone()))
        })
    }

    /// A reserved image: addresses and no memory. `aliased` allows its pages to be shared with other aliased
    /// resources of the same description.
    ///
    /// # Errors
    /// When the device cannot bind such an image, has no addresses left (with who holds them), or the description is
    /// over a limit.
    pub fn reserved(device: &Arc<Device>, name: &str, desc: ImageDesc, sparse: SparseImage) -> Result<Self> {
        sparse.check(device, name, &desc)?;
        Self::make(device, name, desc, sparse.flags(), false, |raw| {
            let addresses = device.reserve_addresses(name, memory_requirements(device, raw).size)?;
            Ok(Backing::Reserved { addresses, sparse })
        })
    }

    fn make(
        device: &Arc<Device>,
        name: &str,
        desc: ImageDesc,
        flags: vk::ImageCreateFlags,
        is_shared: bool,
        back: impl FnOnce(vk::Image) -> Result<Backing>,
    ) -> Result<Self> {
        desc.check(device, name)?;
        device.alive("vkCreateImage")?;
        let mut info = desc.create_info();
        info.flags |= flags;
        // A reserved image may be written by another queue while it streams.
        let families = device.queue_plan().user_families();
        if (!flags.is_empty() || is_shared) && families.len() > 1 {
            info = info.sharing_mode(vk::SharingMode::CONCURRENT).queue_family_indices(&families);
        }
        // SAFETY: the description was just checked, `families` outlives the call, and sparse flags are only passed
        // when the device has them.
        let raw = unsafe { device.raw.create_image(&info, None) }
            .map_err(|r| device.noticed(Error::of("vkCreateImage")(r)))?;
        device.counters.made();
        device.set_name(raw, name);
        let backing = match back(raw) {
            Ok(backing) => backing,
            Err(error) => {
                device.retire(Garbage::Image(raw));
                return Err(error);
            }
        };
        // From here on dropping it gives everything back.
        let mut image = Self {
            device: device.clone(),
            raw,
            view: vk::ImageView::null(),
            desc,
            name: name.into(),
            is_shared: is_shared || !flags.is_empty(),
            backing,
        };
        image.view = view(device, raw, &desc)?;
        // An image that is only copied has none.
        if image.view != vk::ImageView::null() {
            device.counters.made();
            device.set_name(image.view, name);
        }
        Ok(image)
    }

    /// The raw handle.
    pub fn raw(&self) -> vk::Image {
        self.raw
    }

    /// The view of all mips and layers.
    pub fn view(&self) -> vk::ImageView {
        self.view
    }

    /// Whether queues of several families may use it without handing it over.
    pub fn is_shared(&self) -> bool {
        self.is_shared || self.device.queue_plan().user_families().len() == 1
    }

    /// What it is.
    pub fn desc(&self) -> &ImageDesc {
        &self.desc
    }

    /// Debug name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The device it was made on.
    pub fn device(&self) -> &Arc<Device> {
        &self.device
    }

    /// How it is reserved; `None` for one with memory of its own.
    pub fn sparse(&self) -> Option<SparseImage> {
        match self.backing {
            Backing::Reserved { sparse, .. } => Some(sparse),
            _ => None,
        }
    }

    /// Whether single tiles of it can be bound.
    pub fn is_partially_resident(&self) -> bool {
        self.sparse().is_some_and(|sparse| sparse.residency)
    }

    /// Size, granularity of opaque binds, and memory types.
    pub fn requirements(&self) -> Requirements {
        let raw = memory_requirements(&self.device, self.raw);
        Requirements { bytes: raw.size, alignment: raw.alignment, memory_types: raw.memory_type_bits }
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        if self.view != vk::ImageView::null() {
            self.device.retire(Garbage::View(self.view));
        }
        self.device.retire(Garbage::Image(self.raw));
        match &mut self.backing {
            Backing::Committed(allocation) => {
                if let Some(allocation) = allocation.take() {
                    self.device.retire(Garbage::Allocation(allocation));
                }
            }
            // Retired when the field is dropped, after the image.
            Backing::Dedicated(_) | Backing::Placed(_) => {}
            Backing::Reserved { addresses, .. } => self.device.retire_addresses(*addresses),
        }
    }
}

impl Device {
    /// What an image of this description needs, without making it.
    ///
    /// # Errors
    /// When the description is over a limit of the device.
    pub fn image_requirements(&self, name: &str, desc: &ImageDesc, is_shared: bool) -> Result<Requirements> {
        desc.check(self, name)?;
        let families = self.queue_plan().user_families();
        let mut info = desc.create_info();
        if is_shared && families.len() > 1 {
            info = info.sharing_mode(vk::SharingMode::CONCURRENT).queue_family_indices(&families);
        }
        let query = vk::DeviceImageMemoryRequirements::default().create_info(&info);
        let mut out = vk::MemoryRequirements2::default();
        // SAFETY: the description was just checked; all pointers are locals that outlive the call.
        unsafe { self.raw.get_device_image_memory_requirements(&query, &mut out) };
        let raw = out.memory_requirements;
        Ok(Requirements { bytes: raw.size, alignment: raw.alignment, memory_types: raw.memory_type_bits })
    }
}

fn memory_requirements(device: &Device, raw: vk::Image) -> vk::MemoryRequirements {
    // SAFETY: the image was made by this device and is alive.
    unsafe { device.raw.get_image_memory_requirements(raw) }
}

fn view(device: &Device, raw: vk::Image, desc: &ImageDesc) -> Result<vk::ImageView> {
    let range = vk::ImageSubresourceRange::default()
        .aspect_mask(desc.aspect())
        .level_count(desc.mips)
        .layer_count(desc.layers);
    let view_type = match (desc.dimensions, desc.layers) {
        (Dimensions::One, 1) => vk::ImageViewType::TYPE_1D,
        (Dimensions::One, _) => vk::ImageViewType::TYPE_1D_ARRAY,
        (Dimensions::Two, 1) => vk::ImageViewType::TYPE_2D,
        (Dimensions::Two, _) => vk::ImageViewType::TYPE_2D_ARRAY,
        (Dimensions::Three, _) => vk::ImageViewType::TYPE_3D,
    };
    let usable = vk::ImageUsageFlags::SAMPLED
        | vk::ImageUsageFlags::STORAGE
        | vk::ImageUsageFlags::COLOR_ATTACHMENT
        | vk::ImageUsageFlags::DEPTH_STENCIL_ATTACHMENT;
    if !desc.usage.intersects(usable) {
        // Copies need no view, and Vulkan has none for an image that is only copied.
        return Ok(vk::ImageView::null());
    }
    let mut usage = vk::ImageViewUsageCreateInfo::default().usage(desc.view_usage());
    let mut info = vk::ImageViewCreateInfo::default()
        .image(raw)
        .view_type(view_type)
        .format(desc.format)
        .subresource_range(range);
    if desc.block_views {
        info = info.push_next(&mut usage);
    }
    // SAFETY: the image is alive, and bound unless it is sparse; the range covers exactly its subresources.
    unsafe { device.raw.create_image_view(&info, None) }
        .map_err(|r| device.noticed(Error::of("vkCreateImageView")(r)))
}
