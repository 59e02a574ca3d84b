//! Lowering: pipelines, and the passes of a batch.

use std::collections::BTreeMap;
use std::sync::Arc;

use ash::vk::{Format, ImageLayout};

use super::{Kind, Storage};
use crate::graph::{Access, Frame, ImageHandle, ImageInfo, Queue, ShaderStages};
use crate::vk::layout::gpu_struct;
use crate::vk::{ComputePipeline, Device, Image, ImageRegion, ImageView, PassBindings, shader};
use crate::vt::atlas::{Atlas, AtlasError, AtlasHandles};
use crate::vt::{FINALIZE, LayerFormat, PhysicalPage};

/// Most pages of a batch: the array layers of the targets and of the intermediate images.
pub const BATCH_PAGES: usize = 8;
/// Bindings of the targets, and of what is written.
const TARGETS: [u32; 3] = [8, 9, 10];
const OUTPUTS: [u32; 3] = [13, 14, 22];
const BLOCK_NAMES: [&str; 3] = ["CompressTexture0", "CompressTexture1", "CompressTexture2"];
const TEXEL_NAMES: [&str; 3] = ["CopyTexture0", "CopyTexture1", "CopyTexture2"];

gpu_struct! {
    /// Push constants of `shaders/vt/compress.wgsl`.
    pub struct CompressPush {
        /// Blocks a side of a page.
        pub blocks: u32,
        /// Pages of the batch.
        pub pages: u32,
        /// 1 where page i goes to array layer i, 0 where all go to the first.
        pub layer_step: u32,
        /// Nothing.
        pub padding: u32,
        /// Where pages begin, in blocks: x in the low half, y in the high half.
        pub origins: [[u32; 4]; 2],
    }
}

/// Pages that are compressed together: page i is array layer i of the targets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// What they store.
    pub kind: Kind,
    /// Where they go, all in one atlas; [`BATCH_PAGES`] at most.
    pub pages: Vec<PhysicalPage>,
}

/// Why a batch cannot be compressed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CompressError {
    /// The layers of the atlas are not those of the kind.
    #[error(
        "pages of {kind} cannot be stored in the atlas {atlas}, whose layers are {layers:?}: it wants {wants:?}"
    )]
    Layers {
        /// What was to be stored.
        kind: Kind,
        /// The pool.
        atlas: String,
        /// Its layers.
        layers: Vec<LayerFormat>,
        /// Layers of the kind.
        wants: Vec<LayerFormat>,
    },
    /// No pipeline was made.
    #[error(
        "pages of {kind} as {storage:?} were not prepared: name them when the compressor is made, or call `prepare`"
    )]
    NotPrepared {
        /// What was to be stored.
        kind: Kind,
        /// And how.
        storage: Storage,
    },
    /// Too many pages, none, or one twice.
    #[error("a batch has 1 to {BATCH_PAGES} pages, no two of them the same: this has {pages:?}")]
    Pages {
        /// Numbers of the pages.
        pages: Vec<u16>,
    },
    /// A target is missing.
    #[error("pages of {kind} are made from {needs} targets, and target {target} was not given")]
    Target {
        /// What was to be stored.
        kind: Kind,
        /// Targets it needs.
        needs: usize,
        /// Which is missing.
        target: usize,
    },
    /// A page that the atlas does not have.
    #[error(transparent)]
    Atlas(#[from] AtlasError),
}

/// Compresses batches of pages into atlases.
#[derive(Debug)]
pub struct Compressor {
    device: Arc<Device>,
    pipelines: BTreeMap<(Kind, Storage), ComputePipeline>,
}

/// One output of the shader.
enum Output<'f> {
    View(&'f ImageView),
    Transient(ImageHandle),
}

impl Compressor {
    /// Makes the pipelines of these kinds. What is stored as it is drawn needs none.
    ///
    /// # Errors
    /// What the driver said.
    pub fn new(device: &Arc<Device>, uses: &[(Kind, Storage)]) -> crate::vk::Result<Self> {
        let mut this = Self { device: device.clone(), pipelines: BTreeMap::new() };
        uses.iter().try_for_each(|(kind, storage)| this.prepare(*kind, *storage))?;
        Ok(this)
    }

    /// Makes a kind's pipeline, if it has none yet.
    ///
    /// # Errors
    /// What the driver said.
    pub fn prepare(&mut self, kind: Kind, storage: Storage) -> crate::vk::Result<()> {
        if let (Some(entry), false) =
            (kind.entry_point(storage), self.pipelines.contains_key(&(kind, storage)))
        {
            let pipeline = ComputePipeline::new(&self.device, &shader::VT_COMPRESS, entry)?;
            self.pipelines.insert((kind, storage), pipeline);
        }
        Ok(())
    }

    /// Declares the passes of a batch, after those that draw its targets. `direct` is whether the shader writes into the
    /// atlas (`vt.direct_compress`); it does not where the atlas was made without. Targets have one array layer a page,
    /// [`BATCH_PAGES`] in all, and the size of a page with its border.
    ///
    /// # Errors
    /// See [`CompressError`]; nothing is declared then.
    pub fn declare<'f>(
        &'f self,
        frame: &mut Frame<'_, 'f>,
        batch: &Batch,
        targets: [Option<ImageHandle>; 3],
        (atlas, handles): (&'f Atlas, &mut AtlasHandles),
        direct: bool,
    ) -> Result<(), CompressError> {
        let (kind, layers) = (batch.kind, atlas.formats());
        let storage = kind.storage(&layers).ok_or_else(|| CompressError::Layers {
            kind,
            atlas: atlas.name().into(),
            layers: layers.clone(),
            wants: kind.blocks().to_vec(),
        })?;
        let regions = regions(batch, atlas)?;
        let needs = kind.targets_read(storage);
        let mut read = Vec::with_capacity(needs);
        for (target, handle) in targets.iter().enumerate().take(needs) {
            read.push(handle.ok_or(CompressError::Target { kind, needs, target })?);
        }
        if storage == Storage::AsDrawn {
            copy(frame, &read, &regions, 1, handles);
            return Ok(());
        }
        let pipeline = self.pipelines.get(&(kind, storage));
        let pipeline = pipeline.ok_or(CompressError::NotPrepared { kind, storage })?;
        let direct = direct && atlas.is_direct();
        let job = Job { pipeline, kind, regions, atlas, direct };
        let made = job.compress(frame, &read, handles);
        if !direct {
            copy(frame, &made, &job.regions, if storage == Storage::Blocks { 4 } else { 1 }, handles);
        }
        Ok(())
    }
}

struct Job<'f> {
    pipeline: &'f ComputePipeline,
    kind: Kind,
    regions: Vec<ImageRegion>,
    atlas: &'f Atlas,
    direct: bool,
}

impl<'f> Job<'f> {
    /// The pass `VirtualTextureCompress`; returns the images it wrote, unless it wrote into the atlas.
    fn compress(
        &self,
        frame: &mut Frame<'_, 'f>,
        targets: &[ImageHandle],
        handles: &mut AtlasHandles,
    ) -> Vec<ImageHandle> {
        let formats = self.atlas.formats();
        let mut made: Vec<ImageHandle> = Vec::new();
        if !self.direct {
            for (index, format) in formats.iter().enumerate().take(OUTPUTS.len()) {
                let (name, info) = intermediate(index, *format, self.atlas.tile());
                made.push(frame.image(name, info));
            }
        }
        let compute = ShaderStages::COMPUTE;
        let mut pass = frame
            .pass("VirtualTextureCompress", Queue::Graphics)
            .group(FINALIZE)
            .about(format!("{}, {} pages", self.kind, self.regions.len()))
            .read_all(targets.iter().copied(), Access::Sampled(compute));
        // The other pages of an atlas stay. Of an intermediate image nothing is read but what is written here.
        let (written, access) = match self.direct {
            true => (&mut handles.layers, Access::StorageReadWrite(compute)),
            false => (&mut made, Access::StorageWrite(compute)),
        };
        for handle in written.iter_mut() {
            pass = pass.write(handle, access);
        }
        let outputs: Vec<Output<'f>> = match self.direct {
            true => {
                (0..formats.len()).filter_map(|layer| self.atlas.storage(layer)).map(Output::View).collect()
            }
            false => made.iter().copied().map(Output::Transient).collect(),
        };
        let blocks = self.atlas.tile() / 4;
        let push = self.push(blocks);
        let (layers, pages) = (formats.len() as u32, self.regions.len() as u32);
        let (pipeline, targets) = (self.pipeline, targets.to_vec());
        pass.record(move |pass| {
            let (encoder, resources) = pass.split();
            let mut images: Vec<(u32, &Image)> = Vec::with_capacity(targets.len());
            for (binding, target) in TARGETS.into_iter().zip(&targets) {
                images.push((binding, resources.image(*target)?));
            }
            let mut storage_images: Vec<(u32, &Image)> = Vec::new();
            let mut storage_views: Vec<(u32, &ImageView)> = Vec::new();
            for (binding, output) in OUTPUTS.into_iter().zip(&outputs) {
                match output {
                    Output::View(view) => storage_views.push((binding, view)),
                    Output::Transient(handle) => storage_images.push((binding, resources.image(*handle)?)),
                }
            }
            let bindings = PassBindings {
                images: &images,
                storage_images: &storage_images,
                storage_views: &storage_views,
                ..Default::default()
            };
            let groups = pipeline.groups([blocks * blocks, layers, pages]);
            encoder.dispatch(pipeline, &bindings, &push, groups);
            Ok(())
        });
        made
    }

    fn push(&self, blocks: u32) -> CompressPush {
        let mut push = CompressPush {
            blocks,
            pages: self.regions.len() as u32,
            layer_step: u32::from(!self.direct),
            ..Default::default()
        };
        if self.direct {
            for (word, region) in push.origins.iter_mut().flatten().zip(&self.regions) {
                *word = (region.offset[0] / 4) | (region.offset[1] / 4) << 16;
            }
        }
        push
    }
}

/// Name and description of the image that stands between for a layer: texels, or one texel a block.
fn intermediate(index: usize, format: LayerFormat, tile: u32) -> (&'static str, ImageInfo) {
    let (names, format, side) = match format {
        LayerFormat::Bc1 | LayerFormat::Bc4 => (BLOCK_NAMES, Format::R32G32_UINT, tile / 4),
        LayerFormat::Bc3 | LayerFormat::Bc5 => (BLOCK_NAMES, Format::R32G32B32A32_UINT, tile / 4),
        _ => (TEXEL_NAMES, Format::R8G8B8A8_UNORM, tile),
    };
    let name = names.get(index).copied().unwrap_or(names[0]);
    (name, ImageInfo { layers: BATCH_PAGES as u32, ..ImageInfo::new_2d(format, [side; 2]) })
}

/// Where the pages of a batch lie in the atlas.
fn regions(batch: &Batch, atlas: &Atlas) -> Result<Vec<ImageRegion>, CompressError> {
    let mut numbers: Vec<u16> = batch.pages.iter().map(|page| page.index).collect();
    let wrong = || CompressError::Pages { pages: batch.pages.iter().map(|page| page.index).collect() };
    numbers.sort_unstable();
    numbers.dedup();
    if numbers.len() != batch.pages.len() || !(1..=BATCH_PAGES).contains(&numbers.len()) {
        return Err(wrong());
    }
    batch.pages.iter().map(|page| Ok(atlas.region(*page)?)).collect()
}

/// The passes `VirtualTextureCopy`, one a layer: array layer i to the place of page i. A texel of the source stands for
/// `unit` x `unit` texels.
fn copy<'f>(
    frame: &mut Frame<'_, 'f>,
    sources: &[ImageHandle],
    regions: &[ImageRegion],
    unit: u32,
    handles: &mut AtlasHandles,
) {
    let copies: Vec<(ImageRegion, ImageRegion)> = (0..)
        .zip(regions)
        .map(|(layer, to)| {
            let [width, height, _] = to.extent;
            let extent = [width / unit, height / unit, 1];
            (ImageRegion { mip: 0, layer, offset: [0; 3], extent }, *to)
        })
        .collect();
    for (layer, (source, handle)) in sources.iter().copied().zip(&mut handles.layers).enumerate() {
        let pass = frame
            .pass("VirtualTextureCopy", Queue::Graphics)
            .group(FINALIZE)
            .about(format!("layer {layer}, {} pages", regions.len()))
            .read(source, Access::CopySource)
            .write(handle, Access::CopyDestinationOver);
        let (destination, copies) = (*handle, copies.clone());
        pass.record(move |pass| {
            let (encoder, resources) = pass.split();
            let from = (resources.image(source)?, ImageLayout::TRANSFER_SRC_OPTIMAL);
            let to = (resources.image(destination)?, ImageLayout::TRANSFER_DST_OPTIMAL);
            encoder.copy_regions_to(from, to, &copies);
            Ok(())
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vk::layout::{GpuStruct as _, check_layouts};

    #[test]
    fn push_constants_are_what_the_shader_thinks() {
        check_layouts(&[CompressPush::LAYOUT]).unwrap();
    }
}
