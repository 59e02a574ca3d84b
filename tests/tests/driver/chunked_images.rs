//! Chunked images: all of their bytes lie in chunks, every texel is there, and they exist as a whole or not at all.

use ash::vk::{Format, Handle, ImageLayout};
use vasa::sparse::{ChunkedImage, Error, SparseKnobs, SparseMemory};
use vasa::vk::{BindBatch, Image, ImageBinds, ImageDesc, MemoryBind, Point, Site, SparseImage, Timeline};
use vasa_tests::growable::waits;
use vasa_tests::harness::ANY;
use vasa_tests::hooks::{self, OpaqueRange};
use vasa_tests::images::{REST, Texels, USAGE, all_mips, contents};
use vasa_tests::{Harness, MIB, on_device};

fn flat(format: Format, extent: [u32; 2]) -> ImageDesc {
    ImageDesc::new_2d(format, extent, USAGE)
}

/// One of each kind, all larger than a chunk but the line.
fn descs() -> Vec<(&'static str, ImageDesc)> {
    vec![
        ("Line", ImageDesc { layers: 6, mips: 5, ..ImageDesc::new_1d(Format::R32_UINT, 8192, USAGE) }),
        ("Plane", ImageDesc { mips: 11, ..flat(Format::R8G8B8A8_UNORM, [1500, 1100]) }),
        ("Array", ImageDesc { layers: 5, mips: 3, ..flat(Format::R16G16B16A16_UINT, [300, 400]) }),
        ("BC1", ImageDesc { layers: 2, mips: 12, ..flat(Format::BC1_RGBA_UNORM_BLOCK, [2052, 2000]) }),
        ("BC5", flat(Format::BC5_UNORM_BLOCK, [1400, 1000])),
        ("Volume", ImageDesc { mips: 4, ..ImageDesc::new_3d(Format::R32_UINT, [130, 90, 70], USAGE) }),
    ]
}

/// Texels of every mip and layer.
fn all_texels(image: &Image, seed: u64) -> Vec<Texels> {
    let seeds = (seed..).zip(all_mips(image));
    seeds.map(|(seed, region)| contents(image.desc().format, region, seed)).collect()
}

/// Every byte of the image was bound once, to memory that nothing else of it was bound to.
fn expect_whole(image: &ChunkedImage, ranges: &[OpaqueRange]) {
    let mut ranges: Vec<OpaqueRange> =
        ranges.iter().copied().filter(|r| r.image == image.image().raw()).collect();
    ranges.sort_by_key(|r| r.offset);
    let mut end = 0;
    for r in &ranges {
        assert_eq!(r.offset, end, "a hole, or bytes that were bound twice");
        assert!(r.size > 0 && !r.memory.is_null());
        end += r.size;
    }
    assert_eq!(end, image.bytes(), "the end is not bound");
    let mut places: Vec<_> = ranges.iter().map(|r| (r.memory.as_raw(), r.memory_offset, r.size)).collect();
    places.sort_unstable();
    assert!(places.windows(2).all(|p| p[0].0 != p[1].0 || p[0].1 + p[0].2 <= p[1].1), "memory bound twice");
    let of_chunks: Vec<u64> = image.chunks().iter().map(|chunk| chunk.raw().as_raw()).collect();
    assert!(places.iter().all(|(memory, ..)| of_chunks.contains(memory)));
}

#[test]
fn every_texel_of_every_kind_is_there_and_every_byte_is_bound() {
    on_device(|h| {
        let sparse = h.small_chunks();
        hooks::take_bind_calls();
        let made: Vec<(&str, ChunkedImage)> = descs()
            .into_iter()
            .map(|(name, desc)| (name, ChunkedImage::new(&sparse, name, desc).unwrap()))
            .collect();
        let wait = waits(sparse.flush(None).unwrap());
        let calls = hooks::take_bind_calls();
        assert_eq!(calls.len(), usize::from(h.in_place()), "one call for all of them");
        let ranges: Vec<OpaqueRange> = calls.into_iter().flatten().flat_map(|batch| batch.opaque).collect();
        let texels: Vec<Vec<Texels>> =
            (1u64..).zip(&made).map(|(i, (_, image))| all_texels(image.image(), i * 1000)).collect();
        for ((_, image), texels) in made.iter().zip(&texels) {
            h.lay_out(image.image(), &wait);
            h.write_texels(image.image(), texels, &[]);
        }
        // All are written before one is read: memory that two of them shared would show.
        for ((name, image), texels) in made.iter().zip(&texels) {
            h.expect_texels(image.image(), texels, &[]);
            assert_eq!(image.in_chunks(), h.in_place(), "{name}");
            if !image.in_chunks() {
                assert!(image.image().sparse().is_none() && image.chunks().is_empty());
                continue;
            }
            expect_whole(image, &ranges);
            expect_in_chunks(h, image, texels);
            let sizes: Vec<u64> = image.chunks().iter().map(|chunk| chunk.bytes()).collect();
            assert_eq!(sizes.len() as u64, image.bytes().div_ceil(MIB), "{name}: {sizes:?}");
            assert!(sizes[..sizes.len() - 1].iter().all(|bytes| *bytes == MIB), "{name}: {sizes:?}");
            assert!(image.chunks().iter().all(|chunk| chunk.name().starts_with(name)));
            let table = sparse.checker().page_table(image.id()).expect("the checker is on in tests");
            assert_eq!((table.mapped_bytes, table.rows.len() as u64), (image.bytes(), sizes.len() as u64));
        }
        let stats = sparse.stats();
        let bytes: u64 = made.iter().map(|(_, image)| image.bytes()).sum();
        assert_eq!((stats.committed_bytes, stats.committed_image_bytes), (bytes, bytes));
        assert!(
            stats.resources.iter().all(|r| r.uncommitted_bytes == 0 && r.kind.starts_with("chunked image"))
        );
    });
}

/// Reads the chunks through a second image. That one says that it shares its memory and the chunked image does not, so
/// this is for software drivers, where memory is memory.
fn expect_in_chunks(h: &Harness, image: &ChunkedImage, texels: &[Texels]) {
    if !h.is_software() {
        return;
    }
    let sparse = SparseImage { residency: false, aliased: true };
    let twin = Image::reserved(&h.device, "Twin", *image.image().desc(), sparse).unwrap();
    let mut at = 0;
    let mut binds = Vec::new();
    for chunk in image.chunks() {
        let bytes = chunk.bytes().min(image.bytes() - at);
        binds.push(MemoryBind::new(at, bytes, Some((chunk.raw(), 0))));
        at += bytes;
    }
    let images = [ImageBinds { image: &twin, binds: &binds }];
    let writers = [h.device.submitted(Timeline::Graphics)];
    let batch = BindBatch { images: &images, waits: &writers, ..Default::default() };
    let bound: Vec<Point> = h.device.bind_sparse(&[batch], false).unwrap().into_iter().collect();
    h.lay_out(&twin, &bound);
    h.expect_texels(&twin, texels, &[]);
}

#[test]
fn images_that_capture_tools_can_replay_have_residency_flags() {
    on_device(|h| {
        let knobs =
            SparseKnobs { check: true, chunk_bytes: MIB, capture_friendly: true, ..Default::default() };
        let sparse = SparseMemory::new(&h.device, knobs);
        for (name, desc) in descs() {
            let image = ChunkedImage::new(&sparse, name, desc).unwrap();
            let wait = waits(sparse.flush(None).unwrap());
            let tiled = SparseImage { residency: true, aliased: false };
            let can = tiled.is_supported(&h.device, &desc);
            assert_eq!(can, h.in_place() && name != "Line", "{name}");
            assert_eq!(image.image().is_partially_resident(), can, "{name}");
            let texels = all_texels(image.image(), 7);
            h.lay_out(image.image(), &wait);
            h.write_texels(image.image(), &texels, &[]);
            h.expect_texels(image.image(), &texels, &[]);
            if let Some(table) = sparse.checker().page_table(image.id()) {
                assert_eq!(table.mapped_bytes, table.bytes, "{name} has tiles without memory");
            }
        }
        let desc = vasa::sparse::GrowableDesc::new("Small", 1 << 40, ash::vk::BufferUsageFlags::INDEX_BUFFER);
        let buffer = vasa::sparse::GrowableBuffer::new(&sparse, &desc).unwrap();
        assert!(buffer.capacity() <= 256 * MIB, "captures pay for the whole reservation");
    });
}

#[test]
fn part_of_it_cannot_be_committed() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let desc = flat(Format::R8G8B8A8_UNORM, [800, 800]);
        let image = ChunkedImage::new(&sparse, "Whole", desc).unwrap();
        let wait = waits(sparse.flush(None).unwrap());
        let texels = all_texels(image.image(), 3);
        h.lay_out(image.image(), &wait);
        h.write_texels(image.image(), &texels, &[]);
        let before = sparse.stats();
        for bytes in [0, MIB, image.bytes() - 1, image.bytes() + 1] {
            let error = image.commit(bytes).unwrap_err();
            assert!(matches!(error, Error::Whole { .. }), "{error}");
            assert!(error.to_string().contains("partially resident"), "what to do instead: {error}");
        }
        image.commit(u64::MAX).unwrap();
        image.commit(image.bytes()).unwrap();
        let after = sparse.stats();
        assert_eq!(after.resources, before.resources);
        h.expect_texels(image.image(), &texels, &[]);
    });
}

#[test]
fn a_refused_chunk_leaves_nothing_and_a_refused_bind_is_tried_again() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let desc = flat(Format::R32_UINT, [1024, 1024]);
        h.settle();
        let before = (h.device.object_counts(), h.device.reserved_addresses());
        let chunks = if h.in_place() { 4 } else { 1 };
        for nth in 0..chunks {
            h.device.faults().refuse(Site::Allocate, nth);
            let made = ChunkedImage::new(&sparse, "Refused", desc);
            h.device.faults().clear();
            assert!(matches!(made, Err(Error::Vulkan(ref e)) if e.is_out_of_memory()), "{nth}: {made:?}");
            sparse.trim();
            h.settle();
            let after = (h.device.object_counts(), h.device.reserved_addresses());
            assert_eq!((after.0.live, after.1), (before.0.live, before.1), "{nth}");
            assert_eq!(sparse.stats().resources.len(), 0);
        }
        let image = ChunkedImage::new(&sparse, "Again", desc).unwrap();
        h.device.faults().refuse(Site::Bind, 0);
        let refused = sparse.flush(None);
        h.device.faults().clear();
        assert_eq!(refused.is_err(), h.in_place());
        let wait = waits(sparse.flush(None).unwrap());
        let texels = all_texels(image.image(), 1);
        h.lay_out(image.image(), &wait);
        h.write_texels(image.image(), &texels, &[]);
        h.expect_texels(image.image(), &texels, &[]);
    });
}

#[test]
fn dropped_before_its_first_flush_it_is_never_bound() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let desc = flat(Format::R8G8B8A8_UNORM, [800, 800]);
        drop(ChunkedImage::new(&sparse, "Early", desc).unwrap());
        let kept = ChunkedImage::new(&sparse, "Kept", desc).unwrap();
        hooks::take_bind_calls();
        let wait = waits(sparse.flush(None).unwrap());
        let images: Vec<_> = hooks::take_bind_calls().into_iter().flatten().flat_map(|b| b.opaque).collect();
        assert!(images.iter().all(|r| r.image == kept.image().raw()));
        // And in use.
        let texels = all_texels(kept.image(), 1);
        h.lay_out(kept.image(), &wait);
        h.write_texels(kept.image(), &texels, &[]);
        drop(kept);
        assert_eq!(sparse.stats().chunks, 0);
        let error = ChunkedImage::new(&sparse, "Zero", ImageDesc { extent: [0, 8], ..desc }).unwrap_err();
        assert!(error.to_string().contains("Zero"), "{error}");
    });
}

#[test]
fn the_fallback_is_one_dedicated_allocation() {
    on_device(|h| {
        let device = h.open_fallback();
        let sparse =
            SparseMemory::new(&device, SparseKnobs { check: true, chunk_bytes: MIB, ..Default::default() });
        let before = device.object_counts().chunk_allocations;
        let image = ChunkedImage::new(&sparse, "Dedicated", flat(Format::R32_UINT, [1024, 1024])).unwrap();
        assert_eq!(device.object_counts().chunk_allocations, before + 1);
        assert_eq!(sparse.flush(None).unwrap().wait, None, "there is nothing to bind");
        let stats = image.stats();
        assert_eq!((stats.kind, stats.chunks), ("chunked image (fallback)", 1));
        let other = h.on(&device).unwrap();
        let texels = all_texels(image.image(), 1);
        other.submit("LayOut", &[], |encoder| {
            let layouts = (ImageLayout::UNDEFINED, REST);
            encoder.image_barrier(image.image().raw(), image.image().desc().aspect(), layouts, ANY, ANY);
        });
        other.write_texels(image.image(), &texels, &[]);
        other.expect_texels(image.image(), &texels, &[]);
        drop(image);
        other.settle();
        assert_eq!(device.object_counts().chunk_allocations, before);
        drop((sparse, other));
        device.wait_idle().unwrap();
    });
}
