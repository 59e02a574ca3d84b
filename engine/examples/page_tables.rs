//! Draws page tables: how a growable buffer grows and shrinks, and how pages of fragmented resources move together.
//!
//! ```text
//! cargo run -p vasa --example page_tables -- target/pages
//! ```
//!
//! Writes `grow-1.png` to `grow-3.png` and `defragment-1.png`, `defragment-2.png` into the folder, and prints the page
//! tables. The pictures of the book's chapter on reserved resources are made with this.

use std::error::Error;
use std::path::{Path, PathBuf};

use ash::vk::{BufferUsageFlags, Format, ImageLayout, ImageUsageFlags};
use vasa::sparse::tiles::TileCoord;
use vasa::sparse::{
    ChunkPolicy, Contents, Defragmentation, GrowableBuffer, GrowableDesc, PagedBuffer, PagedDesc,
    PartiallyResidentDesc, PartiallyResidentImage, SparseKnobs, SparseMemory,
};
use vasa::vk::{Device, DeviceOptions, ImageDesc, Instance, InstanceOptions};

const MIB: u64 = 1 << 20;
const TILE: u64 = 64 << 10;

fn main() -> Result<(), Box<dyn Error>> {
    // The first argument, unless it is a flag: those of the other examples mean nothing here.
    let folder = std::env::args().nth(1).filter(|argument| !argument.starts_with("--"));
    let folder = PathBuf::from(folder.unwrap_or("target/pages".into()));
    std::fs::create_dir_all(&folder)?;
    let instance = Instance::new(InstanceOptions::default())?;
    let device = Device::open(&instance, &DeviceOptions::default())?;
    if !device.capabilities().sparse.growable_buffers() {
        return Err(
            format!("{} cannot bind buffers partly: there are no pages", device.capabilities().name).into()
        );
    }
    grow(&device, &folder)?;
    defragment(&device, &folder)?;
    Ok(())
}

/// The worked example: 640 tiles, 300, then 400, with chunks as large as what is missing.
fn grow(device: &std::sync::Arc<Device>, folder: &Path) -> Result<(), Box<dyn Error>> {
    let knobs = SparseKnobs { chunk_policy: ChunkPolicy::Exact, check: true, ..Default::default() };
    let sparse = SparseMemory::new(device, knobs);
    let desc = GrowableDesc::new("Example.Vertices", 64 * MIB, BufferUsageFlags::VERTEX_BUFFER);
    let mut buffer = GrowableBuffer::new(&sparse, &desc)?;
    for (step, tiles) in [640, 300, 400].into_iter().enumerate() {
        buffer.commit(tiles * TILE)?;
        sparse.flush(None)?;
        println!("{tiles} tiles\n{}", sparse.checker().page_table(buffer.id()).ok_or("no page table")?);
        picture(&sparse, &folder.join(format!("grow-{}.png", step + 1)))?;
    }
    device.wait_idle()?;
    Ok(())
}

/// A paged buffer and an image that lost most of their tiles, before and after their pages moved together.
fn defragment(device: &std::sync::Arc<Device>, folder: &Path) -> Result<(), Box<dyn Error>> {
    let sparse = SparseMemory::new(device, SparseKnobs { check: true, ..Default::default() });
    let desc = PagedDesc {
        name: "Example.Blocks",
        capacity: 48 * MIB,
        usage: BufferUsageFlags::VERTEX_BUFFER,
        contents: Contents::Undefined,
    };
    let mut blocks = PagedBuffer::new(&sparse, &desc)?;
    let usage = ImageUsageFlags::SAMPLED;
    let image = ImageDesc { mips: 6, ..ImageDesc::new_2d(Format::R8G8B8A8_UNORM, [2048, 2048], usage) };
    let mut texture = PartiallyResidentImage::new(
        &sparse,
        &PartiallyResidentDesc {
            name: "Example.Texture",
            image,
            rest_layout: ImageLayout::SHADER_READ_ONLY_OPTIMAL,
            missing: Default::default(),
        },
    )?;
    let all: Vec<TileCoord> = (0..texture.layout().standard_mips())
        .flat_map(|mip| texture.layout().mip_block(0, mip).tiles())
        .collect();
    // Tiles of both come in turn, as they do in a running program.
    for (round, tiles) in all.chunks(64).enumerate() {
        blocks.map(round as u64 * 128..(round as u64 + 1) * 128)?;
        texture.map(tiles)?;
        sparse.flush(None)?;
    }
    let is_kept = |index: usize| index.wrapping_mul(0x9E37_79B9) % 100 < 35;
    let floor = texture.layout().floor_lod();
    let gone: Vec<TileCoord> =
        all.iter().enumerate().filter(|(i, t)| !is_kept(*i) && t.mip < floor).map(|(_, t)| *t).collect();
    texture.unmap(&gone)?;
    let gone: Vec<u64> = blocks.mapped_tiles().into_iter().filter(|t| !is_kept(*t as usize + 7)).collect();
    blocks.unmap_each(&gone)?;
    sparse.flush(None)?;
    sparse.trim();
    picture(&sparse, &folder.join("defragment-1.png"))?;
    let before = sparse.stats();
    sparse.set_defragmentation(Some(Defragmentation { bytes_per_frame: 4 * MIB, max_fill: 0.9 }));
    let mut flushes = 0;
    while sparse.is_defragmenting() {
        sparse.flush(None)?;
        sparse.end_frame();
        device.collect()?;
        flushes += 1;
    }
    sparse.set_defragmentation(None);
    sparse.flush(None)?;
    sparse.trim();
    device.wait_idle()?;
    picture(&sparse, &folder.join("defragment-2.png"))?;
    let after = sparse.stats();
    println!(
        "{} tiles moved in {flushes} flushes; {} chunks before, {} after, {} MiB freed",
        after.remapped_tiles,
        before.chunks,
        after.chunks,
        after.defragmented_bytes / MIB
    );
    Ok(())
}

fn picture(sparse: &SparseMemory, path: &Path) -> Result<(), Box<dyn Error>> {
    let picture = sparse.checker().picture().ok_or("the checker is off")?;
    let image = image::RgbImage::from_raw(picture.width, picture.height, picture.pixels);
    image.ok_or("a picture of the wrong size")?.save(path)?;
    println!("{}", path.display());
    Ok(())
}
