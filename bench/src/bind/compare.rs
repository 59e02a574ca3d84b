//! The engine against the driver called bare, in turn.

use std::sync::Arc;
use std::time::Instant;

use ash::vk::{BufferUsageFlags, Format, ImageUsageFlags};
use vasa::sparse::tiles::granularity_in_texels;
use vasa::sparse::{
    ChunkedImage, Contents, GrowableBuffer, GrowableDesc, Missing, PagedBuffer, PagedDesc,
    PartiallyResidentDesc, PartiallyResidentImage, SparseKnobs, SparseMemory,
};
use vasa::vk::{Device, Image, ImageDesc, SparseImage, Timeline};

use super::raw::{BareQueue, Binds};
use super::subjects::{Chunks, ImageTiles, ScatteredTiles, Subject, block, checkerboard, range, scattered};
use super::{CHUNK_BYTES, Measured, Ours, Plan, Queue, RunFigures, TILE_BYTES, Times, Work};
use crate::error::Error;
use crate::report::size;
use crate::stats;

/// Tiles of the images' first mip, in x and y.
const IMAGE_TILES: [u32; 2] = [32, 64];

/// A format of partially resident images.
#[derive(Debug, Clone, Copy)]
struct TexelFormat {
    format: Format,
    name: &'static str,
    /// Width and height of a block in texels, and its bytes.
    block: ([u32; 2], u64),
}

const FORMATS: [TexelFormat; 2] = [
    TexelFormat { format: Format::R8G8B8A8_UNORM, name: "RGBA8", block: ([1, 1], 4) },
    TexelFormat { format: Format::BC1_RGB_UNORM_BLOCK, name: "BC1", block: ([4, 4], 8) },
];

/// What both sides need.
struct Rig<'a> {
    device: &'a Arc<Device>,
    queue: Queue,
    sparse: SparseMemory,
    bare: BareQueue,
    turns: u64,
}

/// Every work that the engine and the driver are compared on.
///
/// # Errors
/// A lost device. Running out of memory leaves a work out.
pub(super) fn all(
    device: &Arc<Device>,
    queue: Queue,
    plan: &Plan,
    figures: &mut RunFigures,
) -> Result<(), Error> {
    let most = plan.chunks.iter().copied().max().unwrap_or(0);
    let knobs = SparseKnobs {
        bind_on_graphics: queue == Queue::Graphics,
        check: false,
        // Allocations have rows of their own: chunks stay ready from turn to turn.
        cached_chunks: usize::try_from(most).unwrap_or(usize::MAX),
        cache_frames: u64::MAX,
        ..Default::default()
    };
    let sparse = SparseMemory::new(device, knobs);
    let mut rig = Rig { device, queue, sparse, bare: BareQueue::new(device, queue)?, turns: plan.turns };
    if device.capabilities().sparse.growable_buffers() {
        for &count in &plan.chunks {
            let chunks = if count == 1 { "chunk" } else { "chunks" };
            let name = format!("{count} {chunks} of {}", size(CHUNK_BYTES));
            rig.chunks(name.clone(), count, figures).or_else(|e| leave_out(e, name, figures))?;
        }
        for &count in &plan.scattered {
            let name = format!("{count} tiles of a buffer, scattered");
            rig.scattered(name.clone(), count, figures).or_else(|e| leave_out(e, name, figures))?;
        }
    } else {
        figures.skip("chunks and tiles of buffers", "the device cannot bind buffers partly");
    }
    for format in FORMATS {
        rig.image_tiles(format, plan, figures)
            .or_else(|e| leave_out(e, format!("tiles of {} images", format.name), figures))?;
    }
    for &bytes in &plan.images {
        let name = format!("whole image of {}", size(bytes));
        rig.whole_image(name.clone(), bytes, figures).or_else(|e| leave_out(e, name, figures))?;
    }
    drop(rig);
    device.wait_idle()?;
    Ok(())
}

/// Goes on without a work that the device has no memory for, or cannot do.
pub(super) fn leave_out(error: Error, name: String, figures: &mut RunFigures) -> Result<(), Error> {
    if !error.is_out_of_memory() && !error.is_refusal() {
        return Err(error);
    }
    figures.skip(name, error.one_line());
    Ok(())
}

/// One turn through the engine.
struct OurTurn {
    times: Times,
    planning_us: f64,
}

impl Rig<'_> {
    fn chunks(&mut self, name: String, count: u64, figures: &mut RunFigures) -> Result<(), Error> {
        let bytes = count * CHUNK_BYTES;
        let usage = BufferUsageFlags::VERTEX_BUFFER;
        let data = GrowableBuffer::new(&self.sparse, &GrowableDesc::new("Bench.Chunks", bytes, usage))?;
        self.compare(name, bytes, Chunks { data, bytes, chunk: CHUNK_BYTES }, figures)
    }

    fn scattered(&mut self, name: String, count: u64, figures: &mut RunFigures) -> Result<(), Error> {
        let desc = PagedDesc {
            name: "Bench.Tiles",
            capacity: count * 4 * self.device.sparse_buffer_alignment().max(TILE_BYTES),
            usage: BufferUsageFlags::VERTEX_BUFFER,
            contents: Contents::Undefined,
        };
        let data = PagedBuffer::new(&self.sparse, &desc)?;
        let bytes = count * data.tile_bytes();
        self.compare(name, bytes, ScatteredTiles { data, tiles: scattered(count) }, figures)
    }

    fn image_tiles(
        &mut self,
        TexelFormat { format, name: format_name, block: (texels, bytes) }: TexelFormat,
        plan: &Plan,
        figures: &mut RunFigures,
    ) -> Result<(), Error> {
        let usage = ImageUsageFlags::SAMPLED | ImageUsageFlags::TRANSFER_SRC | ImageUsageFlags::TRANSFER_DST;
        let mut image = ImageDesc::new_2d(format, [1, 1], usage);
        let c = self.device.capabilities();
        let can = c.sparse.residency_image_2d && (format_name != "BC1" || c.optional.bc);
        let Some(reported) = self.device.sparse_format(&image).filter(|_| can) else {
            let why = "the device cannot bind single tiles of such images";
            figures.skip(format!("tiles of {format_name} images"), why);
            return Ok(());
        };
        let [width, height, _] = granularity_in_texels(reported, texels, bytes, TILE_BYTES);
        image.extent = [width * IMAGE_TILES[0], height * IMAGE_TILES[1]];
        image.mips = image.full_mips();
        for &count in &plan.image_tiles {
            let layouts = [
                ("scattered", checkerboard(count, IMAGE_TILES[0])),
                ("in rows", block(count, IMAGE_TILES[0])),
            ];
            for (layout, tiles) in layouts {
                if count == 1 && layout != "scattered" {
                    continue;
                }
                let desc = PartiallyResidentDesc {
                    name: "Bench.Image",
                    image,
                    rest_layout: ash::vk::ImageLayout::GENERAL,
                    missing: Missing::Refuse,
                };
                let image = PartiallyResidentImage::new(&self.sparse, &desc)?;
                let name = match count {
                    1 => format!("1 tile of {format_name}"),
                    _ => format!("{count} tiles of {format_name}, {layout}"),
                };
                let bytes = count * image.layout().tile_bytes();
                self.flush_all()?;
                self.compare(name, bytes, ImageTiles { image, tiles }, figures)?;
            }
        }
        Ok(())
    }

    /// An image without residency flags, in chunks. It is bound once in its life, so each turn makes a new one.
    fn whole_image(&mut self, name: String, bytes: u64, figures: &mut RunFigures) -> Result<(), Error> {
        let side = (bytes / 4).isqrt() as u32;
        let usage = ImageUsageFlags::SAMPLED | ImageUsageFlags::TRANSFER_DST;
        let desc = ImageDesc::new_2d(Format::R8G8B8A8_UNORM, [side, side], usage);
        let (mut ours, mut bare, mut binds) = (Vec::new(), Vec::new(), (0, 0));
        for turn in 0..=self.turns {
            let image = ChunkedImage::new(&self.sparse, "Bench.Whole", desc)?;
            let stats = self.sparse.stats();
            let our_turn = self.ours(|| Ok(()))?;
            let after = self.sparse.stats();
            binds = (after.bind_calls - stats.bind_calls, after.binds - stats.binds);
            // The same memory once more, for an image without the engine.
            let chunks = image.chunks().to_vec();
            drop(image);
            self.device.wait_idle()?;
            let sparse = SparseImage { residency: false, aliased: false };
            let image = Image::reserved(self.device, "Bench.Whole", desc, sparse)?;
            let mut offset = 0;
            let mut ranges = Vec::new();
            for chunk in &chunks {
                let part = chunk.bytes().min(image.requirements().bytes - offset);
                ranges.push(range(offset, part, (chunk.raw(), 0)));
                offset += part;
            }
            let theirs = self.bare.bind(&Binds::Image(image.raw(), ranges), &[])?;
            drop(image);
            self.device.wait_idle()?;
            if turn > 0 {
                ours.push(our_turn);
                bare.push(theirs);
            }
        }
        let work = Work { queue: self.queue, name, operation: "bind", binds: binds.1, bytes };
        figures.measured.extend(measured(work, binds, &ours, &bare));
        Ok(())
    }

    /// Binds and unbinds a subject through the engine and bare, taking turns at going first.
    fn compare(
        &mut self,
        name: String,
        bytes: u64,
        mut subject: impl Subject,
        figures: &mut RunFigures,
    ) -> Result<(), Error> {
        let (mut ours, mut bare) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
        let mut counts = [(0, 0); 2];
        let (mut bind, mut unbind) = self.engine_turn(&mut subject, &mut counts)?.0;
        self.bare_turn(&bind, &unbind)?;
        for turn in 0..self.turns {
            let mut theirs = None;
            if turn % 2 == 1 {
                theirs = Some(self.bare_turn(&bind, &unbind)?);
            }
            let (binds, turns) = self.engine_turn(&mut subject, &mut counts)?;
            (bind, unbind) = binds;
            let theirs = match theirs {
                Some(theirs) => theirs,
                None => self.bare_turn(&bind, &unbind)?,
            };
            ours.iter_mut().zip(turns).for_each(|(all, one)| all.push(one));
            bare.iter_mut().zip(theirs).for_each(|(all, one)| all.push(one));
        }
        drop(subject);
        self.device.wait_idle()?;
        for (i, (operation, binds)) in [("bind", &bind), ("unbind", &unbind)].into_iter().enumerate() {
            let work = Work { queue: self.queue, name: name.clone(), operation, binds: binds.len(), bytes };
            figures.measured.extend(measured(work, counts[i], &ours[i], &bare[i]));
        }
        Ok(())
    }

    /// Binds and unbinds through the engine. Gives the same as bare binds, too. `counts` are calls and binds of each.
    fn engine_turn(
        &mut self,
        subject: &mut impl Subject,
        counts: &mut [(u64, u64); 2],
    ) -> Result<((Binds, Binds), [OurTurn; 2]), Error> {
        let before = self.sparse.stats();
        let bound = self.ours(|| subject.bind())?;
        let between = self.sparse.stats();
        let bind = subject.bound();
        let unbind = subject.unbound(&bind);
        let unbound = self.ours(|| subject.unbind())?;
        let after = self.sparse.stats();
        counts[0] = (between.bind_calls - before.bind_calls, between.binds - before.binds);
        counts[1] = (after.bind_calls - between.bind_calls, after.unbinds - between.unbinds);
        Ok(((bind, unbind), [bound, unbound]))
    }

    /// An operation through the engine: asked for and flushed.
    fn ours(&self, ask: impl FnOnce() -> Result<(), Error>) -> Result<OurTurn, Error> {
        let driver = self.device.bind_driver_time();
        let started = Instant::now();
        ask()?;
        let flushed = self.sparse.flush(None)?;
        let call_us = started.elapsed().as_secs_f64() * 1e6;
        self.device.wait(flushed.wait.as_slice())?;
        let usable_us = started.elapsed().as_secs_f64() * 1e6;
        let driver_us = (self.device.bind_driver_time() - driver).as_secs_f64() * 1e6;
        self.device.collect()?;
        Ok(OurTurn { times: Times { call_us, usable_us }, planning_us: call_us - driver_us })
    }

    /// The same binds and unbinds, bare. Unbinds wait for what the engine's wait for.
    fn bare_turn(&mut self, bind: &Binds, unbind: &Binds) -> Result<[Times; 2], Error> {
        let users = Timeline::USERS.map(|timeline| self.device.submitted(timeline));
        Ok([self.bare.bind(bind, &[])?, self.bare.bind(unbind, &users)?])
    }

    fn flush_all(&self) -> Result<(), Error> {
        self.sparse.flush(None)?;
        self.device.wait_idle()?;
        Ok(())
    }
}

fn measured(work: Work, (calls, binds): (u64, u64), ours: &[OurTurn], bare: &[Times]) -> Option<Measured> {
    let times: Vec<Times> = ours.iter().map(|turn| turn.times).collect();
    let planning: Vec<f64> = ours.iter().map(|turn| turn.planning_us).collect();
    let planning_us = stats::median(&planning)?;
    let ours = Ours { times: Times::median(&times)?, planning_us, calls, binds };
    Some(Measured { work, ours: Some(ours), bare: Times::median(bare)? })
}
