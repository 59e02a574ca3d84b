//! Ours on the GPU, through the compressor that the engine uses.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ash::vk::{BufferUsageFlags, Format as ImageFormat, ImageLayout, ImageUsageFlags};
use vasa::graph::{Access, FrameGraph, GraphOptions, ImageHandle, ImportState, Queue};
use vasa::sparse::{SparseKnobs, SparseMemory};
use vasa::vk::timeline::PresentSync;
use vasa::vk::{Buffer, Device, Image, ImageDesc, ImageRegion, Location};
use vasa::vt::compress::{BATCH_PAGES, Batch, Compressor, Kind, PageTexels, Storage};
use vasa::vt::{Atlas, PhysicalPage, PoolDesc, PoolId, PoolSize};

use super::Speed;
use super::encoders::{Format, colour_of};
use super::pictures::{Content, Picture, SIDE, all};
use crate::error::Error;
use crate::harness::is_software;
use crate::stats;

/// Compress for so long before batches that are timed, so many batches a frame.
pub(super) const WARM_UP: Duration = Duration::from_millis(150);
pub(super) const BUSY: usize = 64;
/// Turns of each kind.
pub(super) const TURNS: usize = 5;

/// The GPU's side of the bench.
pub(crate) struct Gpu {
    device: Arc<Device>,
    sparse: SparseMemory,
    compressor: Compressor,
    decoder: PageTexels,
}

/// Blocks of a picture, and what the sampler sees of them.
type Compressed = (Vec<u8>, Vec<[f32; 4]>);

impl Gpu {
    /// Makes the pipelines.
    ///
    /// # Errors
    /// When the driver refuses.
    pub(crate) fn new(device: &Arc<Device>) -> Result<Self, Error> {
        let kinds = Kind::ALL.map(|kind| (kind, Storage::Blocks));
        let sparse = SparseMemory::new(device, SparseKnobs::default());
        let compressor = Compressor::new(device, &kinds)?;
        let decoder = PageTexels::new(device)?;
        Ok(Self { device: device.clone(), sparse, compressor, decoder })
    }

    /// Compresses a picture as a page of a kind that stores it in the format.
    ///
    /// # Errors
    /// When the device is lost or has no memory.
    pub(crate) fn compress(&mut self, picture: &Picture, format: Format) -> Result<Compressed, Error> {
        let (kind, layer) = match format {
            Format::Bc1 => (Kind::BaseColor, 0),
            Format::Bc3 => (Kind::Mask4, 0),
            Format::Bc4 => (Kind::Displacement, 0),
            Format::Bc5 => (Kind::BaseColorNormalSpecularYCoCg, 1),
            Format::Ycocg => (Kind::BaseColorNormalSpecularYCoCg, 0),
        };
        let mut work = Work::new(self, kind, 1, &targets(picture, format))?;
        work.frame(self, Some(layer), 1)?;
        let blocks = work.blocks.mapped().unwrap_or_default();
        let blocks = blocks[..work.atlas.page_bytes(layer) as usize].to_vec();
        let floats = work.seen.mapped().unwrap_or_default().chunks_exact(4);
        let floats: Vec<f32> = floats.map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
        let seen = floats.chunks_exact(4).take(SIDE * SIDE).map(|t| [t[0], t[1], t[2], t[3]]);
        let seen = if format == Format::Ycocg { seen.map(colour_of).collect() } else { seen.collect() };
        Ok((blocks, seen))
    }

    /// Times batches of each kind: kinds take turns, and each turn begins with a while of nothing but the kind, or the
    /// GPU's clocks would be measured. The best turn counts.
    ///
    /// # Errors
    /// When the device is lost or has no memory.
    pub(crate) fn speeds(&mut self, frames: usize) -> Result<Vec<Speed>, Error> {
        let pictures = all();
        let ground = &pictures[0];
        let normals = pictures.iter().find(|p| p.content == Content::Normals).unwrap_or(ground);
        let mut works = Vec::new();
        for kind in Kind::ALL.into_iter().filter(|kind| !kind.blocks().is_empty()) {
            let drawn = match kind {
                Kind::Displacement => vec![heights(ground)],
                _ => vec![bytes(ground), bytes(normals), bytes(ground)],
            };
            works.push((kind, Work::new(self, kind, BATCH_PAGES, &drawn)?, Vec::new()));
        }
        let turns = if is_software(&self.device) { 1 } else { TURNS };
        for _ in 0..turns {
            for (_, work, medians) in &mut works {
                let started = Instant::now();
                work.frame(self, None, 1)?;
                while started.elapsed() < WARM_UP {
                    work.frame(self, None, if is_software(&self.device) { 1 } else { BUSY })?;
                }
                let mut ms = Vec::new();
                for _ in 0..frames {
                    ms.extend(work.frame(self, None, 1)?);
                }
                medians.extend(stats::median(&ms));
            }
        }
        let speed = |(kind, _, ms): (Kind, Work, Vec<f64>)| {
            let layers = kind.blocks().len() as u32;
            let texels = (SIDE * SIDE * BATCH_PAGES) as f64 * f64::from(layers);
            let best = ms.iter().copied().fold(f64::INFINITY, f64::min);
            Speed { kind: kind.to_string(), ms, layers, megapixels: texels / best / 1e3 }
        };
        Ok(works.into_iter().map(speed).collect())
    }
}

fn bytes(picture: &Picture) -> Vec<u8> {
    picture.texels.as_flattened().to_vec()
}

fn heights(picture: &Picture) -> Vec<u8> {
    picture.texels.iter().flat_map(|texel| (u16::from(texel[0]) * 257).to_le_bytes()).collect()
}

/// What the targets of the kind hold for a picture.
fn targets(picture: &Picture, format: Format) -> Vec<Vec<u8>> {
    let of = |f: &dyn Fn([u8; 4]) -> [u8; 4]| picture.texels.iter().flat_map(|t| f(*t)).collect();
    match format {
        Format::Bc1 => vec![bytes(picture)],
        Format::Bc3 => vec![of(&|t| [t[0], t[1], 0, 255]), of(&|t| [t[2], t[3], 0, 255])],
        Format::Bc4 => vec![heights(picture)],
        Format::Bc5 => vec![bytes(picture), bytes(picture), of(&|t| [0, 0, t[2], 255])],
        Format::Ycocg => vec![bytes(picture), of(&|_| [128, 128, 0, 255]), of(&|_| [0, 0, 255, 255])],
    }
}

/// An atlas, targets, and where results go.
struct Work {
    atlas: Atlas,
    graph: FrameGraph,
    batch: Batch,
    targets: Vec<(Image, Buffer)>,
    are_drawn: bool,
    blocks: Buffer,
    seen: Buffer,
}

impl Work {
    fn new(gpu: &Gpu, kind: Kind, pages: usize, drawn: &[Vec<u8>]) -> Result<Self, Error> {
        let device = &gpu.device;
        let mut desc = PoolDesc::new("Bench", SIDE as u32 - 8, 4, kind.blocks());
        desc.budget_bytes = desc.page_bytes() * 16;
        let size = PoolSize::of(&desc).map_err(|error| Error::Engine(error.to_string()))?;
        let atlas =
            Atlas::new(&gpu.sparse, &desc, &size, true).map_err(|error| Error::Engine(error.to_string()))?;
        if let Some(bound) = gpu.sparse.flush(None)?.wait {
            device.wait(&[bound])?;
        }
        let make = |bytes, usage, location| Buffer::committed(device, "Bench", bytes, usage, location);
        let mut targets = Vec::new();
        for content in drawn.iter().take(kind.targets_read(Storage::Blocks)) {
            let format = match kind {
                Kind::Displacement => ImageFormat::R16_UNORM,
                _ => ImageFormat::R8G8B8A8_UNORM,
            };
            let usage = ImageUsageFlags::SAMPLED | ImageUsageFlags::TRANSFER_DST;
            let plain = ImageDesc::new_2d(format, [SIDE as u32; 2], usage);
            let desc = ImageDesc { layers: BATCH_PAGES as u32, ..plain };
            let source = make(content.len() as u64, BufferUsageFlags::TRANSFER_SRC, Location::Upload)?;
            source.write_mapped(0, content)?;
            targets.push((Image::committed(device, "Bench.Target", desc)?, source));
        }
        let page = |index| PhysicalPage { pool: PoolId(0), index };
        let block_bytes = (0..kind.blocks().len()).map(|layer| atlas.page_bytes(layer)).max().unwrap_or(1);
        let seen_bytes = PageTexels::TEXEL_BYTES * (SIDE * SIDE) as u64;
        Ok(Self {
            atlas,
            graph: FrameGraph::new(device, 1, GraphOptions::default())?,
            batch: Batch { kind, pages: (1..=pages as u16).map(page).collect() },
            targets,
            are_drawn: false,
            blocks: make(block_bytes, BufferUsageFlags::TRANSFER_DST, Location::Readback)?,
            seen: make(seen_bytes, BufferUsageFlags::STORAGE_BUFFER, Location::Readback)?,
        })
    }

    /// Compresses so many times; reads the first page of a layer back where one is named. Milliseconds of the first compression.
    fn frame(&mut self, gpu: &Gpu, layer: Option<usize>, repeats: usize) -> Result<Option<f64>, Error> {
        let wrong = |error: &dyn std::fmt::Display| Error::Engine(error.to_string());
        self.graph.wait_for_place()?;
        let mut frame = self.graph.begin();
        let mut handles = self.atlas.import(&mut frame, &gpu.sparse);
        self.atlas.declare_allocate(&mut frame, &mut handles);
        let mut drawn: [Option<ImageHandle>; 3] = [None; 3];
        for ((image, source), slot) in self.targets.iter().zip(&mut drawn) {
            let mut handle = frame.import_image(image, ImportState::Undefined, None);
            if !self.are_drawn {
                let pass = frame.pass("Draw", Queue::Graphics).write(&mut handle, Access::CopyDestination);
                pass.record(move |pass| {
                    let all: Vec<(u64, ImageRegion)> =
                        (0..BATCH_PAGES as u32).map(|l| (0, ImageRegion::mip(image, l, 0))).collect();
                    let layout = ImageLayout::TRANSFER_DST_OPTIMAL;
                    pass.encoder().copy_buffer_to_regions(source, image, layout, &all);
                    Ok(())
                });
            }
            *slot = Some(handle);
        }
        for _ in 0..repeats {
            let atlas = (&self.atlas, &mut handles);
            gpu.compressor.declare(&mut frame, &self.batch, drawn, atlas, true).map_err(|e| wrong(&e))?;
        }
        if let Some(layer) = layer {
            let what = (layer, self.batch.pages[0]);
            let mut out = frame.import_buffer(&self.blocks, Some(Access::HostRead));
            let to = (&self.blocks, &mut out, 0);
            self.atlas.declare_read(&mut frame, &handles, what, to).map_err(|e| wrong(&e))?;
            let mut out = frame.import_buffer(&self.seen, Some(Access::HostRead));
            let to = (&self.seen, &mut out, 0);
            let from = (&self.atlas, &handles);
            gpu.decoder.declare(&mut frame, from, what, to).map_err(|e| wrong(&e))?;
        }
        frame.compile()?.record()?.submit(&[], PresentSync::default())?;
        let times = self.graph.wait_for_all()?;
        self.are_drawn = true;
        let compress = times.into_iter().flatten().find(|(name, _)| *name == "VirtualTextureCompress");
        Ok(compress.map(|(_, ms)| ms))
    }
}
