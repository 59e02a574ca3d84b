//! The physical side of a pool on the GPU: one large image a layer, made at full size, in chunks.
//!
//! ```text
//! PoolDesc, PoolSize --new--> images, bound by the next flush --import--> handles in a frame
//!                                                                    | compressor, page drawing: write pages
//!                                                                    | materials: sample
//! ```
//!
//! Why one big image: one descriptor, no branch, all draws keep the same binding. It rests in the layout for sampling
//! between frames. What is in a page that was never written is undefined.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ash::vk::{Format, ImageLayout, ImageUsageFlags};

use super::{ALLOCATE, LayerFormat, PhysicalPage, PoolDesc, PoolSize};
use crate::graph::{
    Access, BufferHandle, Frame, ImageHandle, ImportState, LeftState, PassId, Queue, ShaderStages,
};
use crate::sparse::{ChunkedImage, SparseMemory};
use crate::vk::{Buffer, Image, ImageDesc, ImageRegion, ImageView};

/// Why an atlas cannot be.
#[derive(Debug, Clone, thiserror::Error)]
pub enum AtlasError {
    /// Blocks on a device that has none.
    #[error(
        "pool {pool}: layer {layer} is {format:?}, and the device {device} has no BC formats: ask for `Rgba8` (heights: \
         `R16`) in its place"
    )]
    NoBlocks {
        /// The pool.
        pool: String,
        /// Which layer.
        layer: usize,
        /// Its format.
        format: LayerFormat,
        /// The device.
        device: String,
    },
    /// A page that is not there.
    #[error(
        "the atlas {atlas} has {side} x {side} pages, of which page 0 is reserved: there is no page {page} to use"
    )]
    NoPage {
        /// The pool.
        atlas: String,
        /// What was asked for.
        page: u16,
        /// Pages a side.
        side: u32,
    },
    /// A layer that is not there.
    #[error("the atlas {atlas} has {layers} layers: there is no layer {layer}")]
    NoLayer {
        /// The pool.
        atlas: String,
        /// What was asked for, from 0.
        layer: usize,
        /// How many there are.
        layers: usize,
    },
    /// Memory, or a limit of the device.
    #[error(transparent)]
    Sparse(#[from] crate::sparse::Error),
    /// What the driver said.
    #[error(transparent)]
    Vulkan(#[from] crate::vk::Error),
}

/// The format that a layer's image has.
pub fn image_format(layer: LayerFormat) -> Format {
    match layer {
        LayerFormat::Bc1 => Format::BC1_RGB_UNORM_BLOCK,
        LayerFormat::Bc3 => Format::BC3_UNORM_BLOCK,
        LayerFormat::Bc4 => Format::BC4_UNORM_BLOCK,
        LayerFormat::Bc5 => Format::BC5_UNORM_BLOCK,
        LayerFormat::R16 => Format::R16_UNORM,
        LayerFormat::Rgba8 => Format::R8G8B8A8_UNORM,
        LayerFormat::Rgb565 => Format::R5G6B5_UNORM_PACK16,
        // The one of its kind that every device can draw into.
        LayerFormat::Rgba5551 => Format::A1R5G5B5_UNORM_PACK16,
    }
}

/// The images of a pool.
#[derive(Debug)]
pub struct Atlas {
    name: String,
    side: u32,
    tile: u32,
    layers: Vec<Layer>,
    is_new: AtomicBool,
}

#[derive(Debug)]
struct Layer {
    // Dropped before the image.
    /// For shaders that write: blocks as integers, or texels.
    storage: Option<ImageView>,
    image: ChunkedImage,
    format: LayerFormat,
}

/// The layers of an atlas in a frame, as its passes leave them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AtlasHandles {
    /// One a layer.
    pub layers: Vec<ImageHandle>,
}

impl Atlas {
    /// Makes the images of one atlas of a pool. They have memory once `sparse` was flushed. `direct` is whether shaders
    /// are to write into them (`vt.direct_compress`), through views of their blocks.
    ///
    /// # Errors
    /// See [`AtlasError`]; nothing is left then.
    pub fn new(
        sparse: &SparseMemory,
        desc: &PoolDesc,
        size: &PoolSize,
        direct: bool,
    ) -> Result<Self, AtlasError> {
        let device = sparse.device();
        let count = desc.layers.len();
        let mut layers = Vec::with_capacity(count);
        for (index, format) in desc.layers.iter().enumerate() {
            if format.is_block() && !device.capabilities().optional.bc {
                let (pool, device) = (desc.name.clone(), device.capabilities().name.clone());
                return Err(AtlasError::NoBlocks { pool, layer: index, format: *format, device });
            }
            let is_stored = direct && (format.is_block() || *format == LayerFormat::Rgba8);
            let mut usage =
                ImageUsageFlags::SAMPLED | ImageUsageFlags::TRANSFER_DST | ImageUsageFlags::TRANSFER_SRC;
            if is_stored {
                usage |= ImageUsageFlags::STORAGE;
            }
            let image = ImageDesc::new_2d(image_format(*format), [size.texels; 2], usage);
            let image = ImageDesc { block_views: is_stored && format.is_block(), ..image };
            let name = format!("VirtualTexture_Physical ({:?}) {}/{count}", image_format(*format), index + 1);
            let image = ChunkedImage::new(sparse, &name, image)?;
            let storage = match is_stored {
                false => None,
                true if format.is_block() => Some(ImageView::of_blocks(image.image())?),
                true => Some(ImageView::of_layers(image.image())?),
            };
            layers.push(Layer { storage, image, format: *format });
        }
        let (name, tile) = (desc.name.clone(), desc.physical_tile());
        Ok(Self { name, side: size.side, tile, layers, is_new: AtomicBool::new(true) })
    }

    /// Its pool's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Pages a side.
    pub fn side(&self) -> u32 {
        self.side
    }

    /// Texels a side of a page with its border.
    pub fn tile(&self) -> u32 {
        self.tile
    }

    /// Formats of its layers.
    pub fn formats(&self) -> Vec<LayerFormat> {
        self.layers.iter().map(|layer| layer.format).collect()
    }

    /// Whether shaders can write into all of its layers that are packed by shaders.
    pub fn is_direct(&self) -> bool {
        self.layers.iter().all(|layer| layer.storage.is_some())
    }

    /// The image of a layer, to sample.
    pub fn image(&self, layer: usize) -> Option<&Image> {
        self.layers.get(layer).map(|layer| layer.image.image())
    }

    /// The same, to be kept by a recording.
    pub fn shared_image(&self, layer: usize) -> Option<Arc<Image>> {
        self.layers.get(layer).map(|layer| layer.image.shared_image())
    }

    /// The view of a layer that shaders write through: an array image of one layer.
    pub(super) fn storage(&self, layer: usize) -> Option<&ImageView> {
        self.layers.get(layer)?.storage.as_ref()
    }

    /// Whether no frame used it yet: it has no layout then.
    pub(super) fn is_new(&self) -> bool {
        self.is_new.load(Ordering::Relaxed)
    }

    /// Bytes of memory of all layers.
    pub fn bytes(&self) -> u64 {
        self.layers.iter().map(|layer| layer.image.bytes()).sum()
    }

    /// Bytes of a page in a layer.
    pub fn page_bytes(&self, layer: usize) -> u64 {
        self.layers.get(layer).map_or(0, |layer| layer.format.bytes(self.tile, self.tile))
    }

    /// Where a page lies, in texels.
    ///
    /// # Errors
    /// A page that the atlas does not have, and page 0, which is reserved.
    pub fn region(&self, page: PhysicalPage) -> Result<ImageRegion, AtlasError> {
        let PhysicalPage { index, .. } = page;
        if index == 0 || u32::from(index) >= self.side.saturating_mul(self.side) {
            return Err(AtlasError::NoPage { atlas: self.name.clone(), page: index, side: self.side });
        }
        let [x, y] = page.at(self.side).map(u32::from);
        let offset = [x * self.tile, y * self.tile, 0];
        Ok(ImageRegion { mip: 0, layer: 0, offset, extent: [self.tile, self.tile, 1] })
    }

    /// A layer's image in a frame.
    pub(super) fn handle(&self, handles: &AtlasHandles, layer: usize) -> Result<ImageHandle, AtlasError> {
        let no_layer = || AtlasError::NoLayer { atlas: self.name.clone(), layer, layers: self.layers.len() };
        handles.layers.get(layer).copied().ok_or_else(no_layer)
    }

    /// Its images in a frame. `sparse`, which it was made with, is told which submissions use them.
    pub fn import<'f>(&'f self, frame: &mut Frame<'_, 'f>, sparse: &'f SparseMemory) -> AtlasHandles {
        let sampled = Access::Sampled(ShaderStages::DRAW.union(ShaderStages::COMPUTE));
        let rests = LeftState::after(sampled, Queue::Graphics, true);
        let before = match self.is_new.load(Ordering::Relaxed) {
            true => ImportState::Undefined,
            false => ImportState::After(rests),
        };
        let mut layers = Vec::with_capacity(self.layers.len());
        for layer in &self.layers {
            let image = &layer.image;
            let handle = frame.import_image(image.image(), before, Some(sampled));
            frame.when_used(handle, move |at| {
                self.is_new.store(false, Ordering::Relaxed);
                if image.in_chunks() {
                    sparse.declare_use(image.id(), 0..image.bytes(), at);
                }
            });
            layers.push(handle);
        }
        AtlasHandles { layers }
    }

    /// Declares the pass `VirtualTextureAllocate` where no frame used the atlas yet, after the commit of its memory and before
    /// anything is done with it: it gives the images their layout.
    pub fn declare_allocate(&self, frame: &mut Frame<'_, '_>, handles: &mut AtlasHandles) {
        if !self.is_new.load(Ordering::Relaxed) {
            return;
        }
        // Pages are written one by one, and the graph wants to know who wrote the rest: nobody, and nobody reads it.
        let mut pass = frame.pass(ALLOCATE, Queue::Graphics).group(ALLOCATE);
        for handle in &mut handles.layers {
            pass = pass.write(handle, Access::CopyDestination);
        }
        pass.record(|_| Ok(()));
    }

    /// Declares a copy of a page of one layer into a buffer, rows packed, [`Self::page_bytes`] long: to look at it, as it
    /// is stored.
    ///
    /// # Errors
    /// A page or a layer that the atlas does not have.
    pub fn declare_read<'f>(
        &'f self,
        frame: &mut Frame<'_, 'f>,
        handles: &AtlasHandles,
        (layer, page): (usize, PhysicalPage),
        (buffer, handle, offset): (&'f Buffer, &mut BufferHandle, u64),
    ) -> Result<PassId, AtlasError> {
        let region = self.region(page)?;
        let source = self.handle(handles, layer)?;
        let pass = frame
            .pass("VirtualTextureReadPage", Queue::Graphics)
            .read(source, Access::CopySource)
            .write(handle, Access::CopyDestinationOver);
        Ok(pass.record(move |pass| {
            let (encoder, resources) = pass.split();
            let image = resources.image(source)?;
            let layout = ImageLayout::TRANSFER_SRC_OPTIMAL;
            encoder.copy_regions_to_buffer(image, layout, buffer, &[(offset, region)]);
            Ok(())
        }))
    }
}
