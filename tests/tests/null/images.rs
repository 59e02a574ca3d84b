//! Images on the null driver: what lavapipe has not (mip tails, queues of their own), and limits that no driver enforces.

use std::sync::Arc;

use ash::vk::{Format, ImageLayout, ImageUsageFlags, QueueFlags};
use vasa::sparse::tiles::{TileCoord, TileError};
use vasa::sparse::{
    ChunkedImage, Contents, Defragmentation, Error, Missing, PagedBuffer, PagedDesc, PartiallyResidentDesc,
    PartiallyResidentImage, SparseKnobs, SparseMemory,
};
use vasa::vk::null::{BindPlace, NullConfig, NullDevice, NullDriver};
use vasa::vk::{AddressBudgetError, Device, DeviceOptions, ImageDesc, Site, Timeline};
use vasa_tests::{MIB, TILE};

use crate::devices::{DRAWS, open};

const USAGE: ImageUsageFlags = ImageUsageFlags::SAMPLED;

fn memory(device: &Arc<Device>) -> SparseMemory {
    SparseMemory::new(device, SparseKnobs { chunk_bytes: MIB, ..Default::default() })
}

fn resident(sparse: &SparseMemory, name: &str, image: ImageDesc) -> Result<PartiallyResidentImage, Error> {
    let rest_layout = ImageLayout::SHADER_READ_ONLY_OPTIMAL;
    let desc = PartiallyResidentDesc { name, image, rest_layout, missing: Missing::Refuse };
    PartiallyResidentImage::new(sparse, &desc)
}

/// Drops everything and looks for what is left.
fn end(driver: &NullDriver, device: Arc<Device>) {
    device.wait_idle().unwrap();
    assert_eq!(device.object_counts().chunk_allocations, 0);
    drop(device);
    driver.assert_clean();
}

#[test]
fn tails_are_bound_whole_with_the_first_flush_one_a_layer() {
    let driver = NullDriver::new(NullConfig::default());
    let device = open(&driver, &DeviceOptions::default()).unwrap();
    let sparse = memory(&device);
    let desc =
        ImageDesc { layers: 3, mips: 10, ..ImageDesc::new_2d(Format::R8G8B8A8_UNORM, [1000, 700], USAGE) };
    let mut image = resident(&sparse, "Tails", desc).unwrap();
    let layout = image.layout().clone();
    assert!(layout.has_tail(), "the null driver has tails where lavapipe has none");
    sparse.flush(None).unwrap();
    let opaque: Vec<(u64, u64)> = driver
        .binds()
        .iter()
        .filter_map(|bind| match bind.place {
            BindPlace::Buffer { .. } => None,
            BindPlace::ImageOpaque { offset, size } => Some((offset, size)),
            _ => panic!("nothing but tails: {bind:?}"),
        })
        .collect();
    let tails: Vec<(u64, u64)> = layout.tails().map(|tail| (tail.offset, tail.bytes)).collect();
    assert_eq!((opaque.len(), &opaque), (3, &tails));
    assert_eq!(image.mapped() * layout.tile_bytes(), tails.iter().map(|(_, bytes)| bytes).sum::<u64>());
    let tail = TileCoord { mip: layout.tail_first_lod(), ..TileCoord::default() };
    let error = image.map(&[tail]).unwrap_err().to_string();
    assert!(error.contains("tail"), "{error}");
    assert!(image.unmap(&[tail]).is_err());
    drop((image, sparse));
    end(&driver, device);
}

#[test]
fn a_tail_larger_than_a_chunk_is_an_error_that_names_the_knob() {
    let driver = NullDriver::new(NullConfig::default());
    let device = open(&driver, &DeviceOptions::default()).unwrap();
    let sparse = SparseMemory::new(&device, SparseKnobs { chunk_bytes: TILE, ..Default::default() });
    // As flat as this, every mip is smaller than a tile in one axis.
    let desc = ImageDesc { mips: 12, ..ImageDesc::new_2d(Format::R8G8B8A8_UNORM, [4096, 100], USAGE) };
    let error = resident(&sparse, "AllTail", desc).unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, Error::Tiles { source: TileError::TailPastChunk { .. }, .. }), "{text}");
    assert!(text.contains("AllTail") && text.contains("chunk"), "{text}");
    assert_eq!(sparse.stats().resources.len(), 0);
    drop(sparse);
    end(&driver, device);
}

#[test]
fn defragmentation_never_moves_a_tail() {
    let driver = NullDriver::new(NullConfig::default());
    let device = open(&driver, &DeviceOptions::default()).unwrap();
    let sparse = memory(&device);
    let desc = ImageDesc { mips: 4, ..ImageDesc::new_2d(Format::R8G8B8A8_UNORM, [1000, 700], USAGE) };
    let mut images: Vec<PartiallyResidentImage> =
        (0..6).map(|i| resident(&sparse, &format!("Image{i}"), desc).unwrap()).collect();
    let tiles: Vec<TileCoord> =
        (0..7).flat_map(|x| (0..5).map(move |y| TileCoord { x, y, ..TileCoord::default() })).collect();
    for image in &mut images {
        image.map(&tiles).unwrap();
    }
    sparse.flush(None).unwrap();
    for image in &mut images {
        image.unmap(&tiles[3..]).unwrap();
    }
    sparse.flush(None).unwrap();
    let tails = driver.binds().len();
    sparse.set_defragmentation(Some(Defragmentation { max_fill: 1.0, ..Default::default() }));
    for _ in 0..20 {
        sparse.flush(None).unwrap();
        sparse.end_frame();
    }
    assert!(!sparse.is_defragmenting() && sparse.stats().remapped_tiles > 0);
    let moved_tails =
        driver.binds()[tails..].iter().any(|b| matches!(b.place, BindPlace::ImageOpaque { .. }));
    assert!(!moved_tails, "a tail was bound again");
    drop((images, sparse));
    end(&driver, device);
}

#[test]
fn where_graphics_cannot_bind_images_go_in_lockstep_too() {
    let empty = NullDevice::default().without_queue_families();
    let device = empty.queue_family(DRAWS, 1).queue_family(QueueFlags::SPARSE_BINDING, 1);
    let driver = NullDriver::new(NullConfig::with_devices(vec![device]));
    let device = open(&driver, &DeviceOptions::default()).unwrap();
    let sparse = memory(&device);
    let desc = ImageDesc::new_2d(Format::R8G8B8A8_UNORM, [1000, 700], USAGE);
    let chunked = ChunkedImage::new(&sparse, "Chunked", desc).unwrap();
    let mut image = resident(&sparse, "Tiles", ImageDesc { mips: 2, ..desc }).unwrap();
    device.submit(Timeline::Graphics, Vec::new(), &[]).unwrap();
    sparse.flush(None).unwrap();
    image.map(&[TileCoord::default()]).unwrap();
    let last = device.submit(Timeline::Graphics, Vec::new(), &[]).unwrap();
    let flushed = sparse.flush(None).unwrap();
    let bound = flushed.wait.unwrap();
    assert!(device.is_ordered(last, bound), "growth waits for what was submitted before it");
    assert!(driver.binds().iter().all(|bind| bind.queue_family == 1));
    drop((chunked, image, sparse));
    end(&driver, device);
}

#[test]
fn images_and_what_waits_for_the_gpu_count_against_the_addresses() {
    let driver = NullDriver::new(NullConfig::with_devices(vec![
        NullDevice::default().limits(|limits| limits.sparse_address_space_size = 16 * MIB),
    ]));
    let device = open(&driver, &DeviceOptions::default()).unwrap();
    let sparse = memory(&device);
    let desc = ImageDesc::new_2d(Format::R8G8B8A8_UNORM, [1024, 1024], USAGE);
    let chunked = ChunkedImage::new(&sparse, "Pool", desc).unwrap();
    let image = resident(&sparse, "Streamed", desc).unwrap();
    let usage = ash::vk::BufferUsageFlags::STORAGE_BUFFER;
    let buffer = |bytes| {
        let contents = Contents::Undefined;
        PagedBuffer::new(&sparse, &PagedDesc { name: "Buffer", capacity: bytes, usage, contents })
    };
    let held = device.reserved_addresses();
    assert!(held >= 8 * MIB, "{held}");
    let error = buffer(16 * MIB - held + TILE).unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, Error::Addresses(AddressBudgetError::Exceeded { .. })), "{text}");
    assert!(["Pool", "Streamed", "Buffer"].iter().all(|name| text.contains(name)), "{text}");
    let full = buffer(16 * MIB - held).unwrap();
    assert_eq!(device.reserved_addresses(), 16 * MIB);
    // The GPU is at work: what is dropped keeps its addresses until that is done.
    sparse.flush(None).unwrap();
    driver.hold_work_after(0);
    device.submit(Timeline::Graphics, Vec::new(), &[]).unwrap();
    drop(full);
    assert!(buffer(TILE).is_err());
    assert_eq!(device.reserved_addresses(), 16 * MIB);
    driver.release_work();
    // Asked for now, what is done makes room by itself.
    device.wait_idle().unwrap();
    drop(buffer(TILE).unwrap());
    drop((chunked, image, sparse));
    end(&driver, device);
}

#[test]
fn each_choke_point_refuses_the_call_that_it_was_told_to() {
    let driver = NullDriver::new(NullConfig::default());
    let device = open(&driver, &DeviceOptions::default()).unwrap();
    let sparse = memory(&device);
    let faults = device.faults();
    let desc = ImageDesc::new_2d(Format::R8G8B8A8_UNORM, [1024, 1024], USAGE);
    let allocated = driver.calls("vkAllocateMemory");
    faults.refuse(Site::Allocate, 2);
    let error = ChunkedImage::new(&sparse, "Third", desc).unwrap_err();
    assert!(matches!(error, Error::Vulkan(ref e) if e.is_out_of_memory()), "{error}");
    assert_eq!(driver.calls("vkAllocateMemory") - allocated, 2, "the refused call never reaches the driver");
    let image = ChunkedImage::new(&sparse, "Whole", desc).unwrap();
    let bound = driver.calls("vkQueueBindSparse");
    faults.refuse(Site::Bind, 0);
    assert!(sparse.flush(None).is_err());
    assert_eq!(driver.calls("vkQueueBindSparse"), bound);
    sparse.flush(None).unwrap();
    assert_eq!(driver.calls("vkQueueBindSparse"), bound + 1);
    faults.refuse(Site::Submit, 1);
    device.submit(Timeline::Graphics, Vec::new(), &[]).unwrap();
    assert!(device.submit(Timeline::Graphics, Vec::new(), &[]).is_err());
    device.submit(Timeline::Graphics, Vec::new(), &[]).unwrap();
    assert!(!faults.clear(), "nothing is left to refuse");
    assert_eq!(device.submitted(Timeline::Graphics).value, 2, "a refused submission takes no moment");
    drop((image, sparse));
    end(&driver, device);
}
