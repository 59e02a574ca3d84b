//! Partially resident images: tiles come and go, and each mapped one keeps its texels where the image says they lie.

use std::collections::BTreeMap;

use ash::vk::Format;
use vasa::sparse::tiles::TileCoord;
use vasa::sparse::{Error, PartiallyResidentImage};
use vasa::vk::{ImageDesc, Point, Site};
use vasa_tests::growable::waits;
use vasa_tests::images::{self, Texels, USAGE, all_tiles, contents, resident, tile_region};
use vasa_tests::random::Random;
use vasa_tests::{Harness, on_device};

/// What every mapped tile should hold, by tile.
type Model = BTreeMap<TileKey, (TileCoord, u64)>;
type TileKey = (u32, u32, u32, u32, u32);

fn key(tile: TileCoord) -> TileKey {
    (tile.layer, tile.mip, tile.z, tile.y, tile.x)
}

fn texels(image: &PartiallyResidentImage, tile: TileCoord, seed: u64) -> Texels {
    contents(image.image().desc().format, tile_region(image.layout(), tile), seed)
}

/// Everything of the model, through the image and from the chunks.
fn expect_model(h: &Harness, image: &PartiallyResidentImage, model: &Model, wait: &[Point]) {
    let all: Vec<(TileCoord, Texels)> =
        model.values().map(|(tile, seed)| (*tile, texels(image, *tile, *seed))).collect();
    let through: Vec<Texels> = all.iter().map(|(_, texels)| texels.clone()).collect();
    h.expect_texels(image.image(), &through, wait);
    let tiles: Vec<_> = all.into_iter().map(|(tile, (_, bytes))| (tile, bytes)).collect();
    h.expect_tiles_in_chunks(image, &tiles);
}

/// Maps, unmaps and maps again at random, and writes what was mapped.
fn churn(h: &Harness, name: &str, desc: ImageDesc, rounds: u32) {
    let sparse = h.small_chunks();
    let mut image = resident(&sparse, name, desc);
    let mut random = Random::new(u64::from(desc.format.as_raw() as u32) + u64::from(desc.depth));
    let every = all_tiles(image.layout());
    let floor = image.layout().floor_lod();
    let mut model = Model::new();
    let wait = waits(sparse.flush(None).unwrap());
    sparse.end_frame();
    let mut seed = 0;
    let mut write =
        |image: &PartiallyResidentImage, model: &mut Model, tiles: &[TileCoord], wait: &[Point]| {
            let mut all = Vec::new();
            for tile in tiles {
                seed += 1;
                model.insert(key(*tile), (*tile, seed));
                all.push(texels(image, *tile, seed));
            }
            h.write_texels(image.image(), &all, wait);
        };
    // What is always there needs no map.
    let always: Vec<TileCoord> = every.iter().copied().filter(|t| t.mip >= floor).collect();
    assert!(always.iter().all(|tile| image.is_mapped(*tile)));
    assert!(every.iter().all(|t| t.mip >= floor || !image.is_mapped(*t)), "nothing else is mapped at first");
    write(&image, &mut model, &always, &wait);
    for round in 0..rounds {
        let movable: Vec<TileCoord> = every.iter().copied().filter(|t| t.mip < floor).collect();
        let gone = random.some(&movable, 6);
        let wanted = random.some(&movable, 12);
        let had = gone.iter().filter(|tile| model.contains_key(&key(**tile))).count() as u64;
        assert_eq!(image.unmap(&gone).unwrap(), had);
        model.retain(|_, (tile, _)| !gone.contains(tile));
        let fresh: Vec<TileCoord> =
            wanted.iter().copied().filter(|tile| !model.contains_key(&key(*tile))).collect();
        assert_eq!(image.map(&wanted).unwrap(), fresh.len() as u64);
        let wait = waits(sparse.flush(None).unwrap());
        write(&image, &mut model, &fresh, &wait);
        sparse.end_frame();
        let mapped: Vec<TileKey> = image.mapped_tiles().into_iter().map(key).collect();
        assert!(mapped.iter().all(|k| model.contains_key(k)) && mapped.len() == model.len());
        if round % 4 == 3 || round + 1 == rounds {
            expect_model(h, &image, &model, &wait);
        }
    }
    assert_eq!(image.in_place(), h.in_place() && h.device.sparse_format(&desc).is_some());
    let stats = sparse.stats();
    let tile = image.layout().tile_bytes();
    let bytes = if image.in_place() { image.mapped() * tile } else { image.layout().tiles() * tile };
    assert_eq!((stats.committed_bytes, stats.committed_image_bytes), (bytes, bytes));
    assert!(stats.max_bind_calls_per_frame <= 1);
}

fn flat(format: Format, extent: [u32; 2]) -> ImageDesc {
    ImageDesc::new_2d(format, extent, USAGE)
}

#[test]
fn tiles_of_an_rgba8_image_of_odd_size_come_and_go() {
    on_device(|h| {
        let desc = flat(Format::R8G8B8A8_UNORM, [1000, 700]);
        churn(h, "Odd", ImageDesc { mips: desc.full_mips(), ..desc }, 16);
    });
}

#[test]
fn tiles_of_a_bc1_image_come_and_go() {
    on_device(|h| {
        let desc = flat(Format::BC1_RGBA_UNORM_BLOCK, [2300, 1500]);
        churn(h, "BC1", ImageDesc { mips: desc.full_mips(), ..desc }, 16);
    });
}

#[test]
fn tiles_of_a_bc5_array_come_and_go() {
    on_device(|h| {
        let desc = flat(Format::BC5_UNORM_BLOCK, [1024, 520]);
        churn(h, "BC5", ImageDesc { layers: 3, mips: 4, ..desc }, 16);
    });
}

#[test]
fn tiles_of_an_integer_array_come_and_go() {
    on_device(|h| {
        let desc = flat(Format::R32G32B32A32_UINT, [256, 200]);
        churn(h, "Integers", ImageDesc { layers: 4, mips: 3, ..desc }, 16);
    });
}

#[test]
fn tiles_of_a_volume_come_and_go() {
    on_device(|h| {
        let desc = ImageDesc::new_3d(Format::R8G8B8A8_UNORM, [100, 70, 50], USAGE);
        churn(h, "Volume", ImageDesc { mips: 3, ..desc }, 16);
    });
}

#[test]
fn the_end_of_the_mips_is_there_from_the_first_flush_on_and_stays() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let desc = flat(Format::R8G8B8A8_UNORM, [1000, 700]);
        let mut image = resident(&sparse, "Floor", ImageDesc { mips: 10, ..desc });
        let wait = waits(sparse.flush(None).unwrap());
        let floor = image.layout().floor_lod();
        let region = images::all_mips(image.image()).into_iter().filter(|r| r.mip >= floor);
        let all: Vec<Texels> = region.enumerate().map(|(i, r)| contents(desc.format, r, i as u64)).collect();
        h.write_texels(image.image(), &all, &wait);
        let tile = TileCoord { mip: floor, ..TileCoord::default() };
        let error = image.unmap(&[TileCoord::default(), tile]).unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, Error::NoTile { .. }), "{text}");
        assert!(text.contains("Floor") && text.contains("always stays"), "{text}");
        // Mapping and unmapping everything else leaves it alone.
        let rest: Vec<TileCoord> = all_tiles(image.layout()).into_iter().filter(|t| t.mip < floor).collect();
        assert_eq!(image.map(&rest).unwrap(), rest.len() as u64);
        sparse.flush(None).unwrap();
        assert_eq!(image.unmap(&rest).unwrap(), rest.len() as u64);
        let wait = waits(sparse.flush(None).unwrap());
        h.expect_texels(image.image(), &all, &wait);
    });
}

#[test]
fn unknown_tiles_are_named_and_change_nothing() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let desc = flat(Format::R8G8B8A8_UNORM, [1000, 700]);
        let mut image = resident(&sparse, "Unknown", ImageDesc { mips: 3, layers: 2, ..desc });
        sparse.flush(None).unwrap();
        h.settle();
        let before = image.mapped();
        let [w, h_, _] = image.layout().mip_tiles(0);
        let good = TileCoord::default();
        let bad = [
            TileCoord { x: w, ..good },
            TileCoord { y: h_, ..good },
            TileCoord { z: 1, ..good },
            TileCoord { layer: 2, ..good },
            TileCoord { mip: 3, ..good },
            TileCoord { mip: u32::MAX, layer: u32::MAX, x: u32::MAX, y: u32::MAX, z: u32::MAX },
        ];
        for tile in bad {
            let error = image.map(&[good, tile]).unwrap_err();
            assert!(matches!(error, Error::NoTile { .. }), "{error}");
            assert!(error.to_string().contains("Unknown"), "{error}");
            assert!(image.unmap(&[good, tile]).is_err());
            assert_eq!(image.locate(tile).map(|(_, at)| at), None);
            assert!(!image.is_mapped(tile));
        }
        assert_eq!(image.mapped(), before);
        assert_eq!(sparse.flush(None).unwrap().wait, None, "nothing is pending");
    });
}

#[test]
fn the_same_tile_twice_is_one_tile_and_nothing_is_bound_for_nothing() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let mut image = resident(&sparse, "Twice", flat(Format::R8G8B8A8_UNORM, [2048, 2048]));
        sparse.flush(None).unwrap();
        let mut two =
            resident(&sparse, "Two", ImageDesc { mips: 2, ..flat(Format::R8G8B8A8_UNORM, [1024, 1024]) });
        sparse.flush(None).unwrap();
        let tile = TileCoord { x: 1, y: 1, ..TileCoord::default() };
        assert_eq!(two.map(&[tile, tile, tile]).unwrap(), 1);
        assert_eq!(two.map(&[tile]).unwrap(), 0);
        assert_eq!(two.unmap(&[tile, tile]).unwrap(), 1);
        assert_eq!(two.unmap(&[tile]).unwrap(), 0);
        assert_eq!(image.map(&[]).unwrap(), 0);
        let flushed = sparse.flush(None).unwrap();
        assert!(!two.is_mapped(tile));
        let wait = waits(flushed);
        // A tile that went and came back in one flush has memory and can be written.
        assert_eq!(two.map(&[tile]).unwrap(), 1);
        sparse.flush(None).unwrap();
        two.unmap(&[tile]).unwrap();
        two.map(&[tile]).unwrap();
        let wait: Vec<Point> = wait.into_iter().chain(waits(sparse.flush(None).unwrap())).collect();
        let written = texels(&two, tile, 9);
        h.write_texels(two.image(), std::slice::from_ref(&written), &wait);
        h.expect_tiles_in_chunks(&two, &[(tile, written.1)]);
    });
}

#[test]
fn a_refused_first_flush_is_tried_again_and_maps_are_rolled_back() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let desc = ImageDesc { mips: 3, ..flat(Format::R8G8B8A8_UNORM, [1700, 700]) };
        let mut image = resident(&sparse, "Refused", desc);
        let tile = TileCoord { x: 2, y: 1, ..TileCoord::default() };
        image.map(&[tile]).unwrap();
        h.device.faults().refuse(Site::Bind, 0);
        let flushed = sparse.flush(None);
        h.device.faults().clear();
        if !image.in_place() {
            assert!(flushed.is_ok(), "nothing is bound, so nothing can be refused");
            return;
        }
        assert!(matches!(flushed, Err(Error::Vulkan(_))), "{flushed:?}");
        assert!(!image.is_mapped(tile), "rolled back");
        let wait = waits(sparse.flush(None).unwrap());
        assert_eq!(image.map(&[tile]).unwrap(), 1);
        let wait: Vec<Point> = wait.into_iter().chain(waits(sparse.flush(None).unwrap())).collect();
        let floor = image.layout().floor_lod();
        let tiles: Vec<TileCoord> =
            all_tiles(image.layout()).into_iter().filter(|t| t.mip >= floor || *t == tile).collect();
        let model: Model = tiles.iter().zip(1..).map(|(tile, seed)| (key(*tile), (*tile, seed))).collect();
        let all: Vec<Texels> = model.values().map(|(tile, seed)| texels(&image, *tile, *seed)).collect();
        h.write_texels(image.image(), &all, &wait);
        expect_model(h, &image, &model, &[]);
    });
}

#[test]
fn a_refused_unmap_keeps_the_tile_and_its_texels() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let desc = ImageDesc { mips: 3, ..flat(Format::R8G8B8A8_UNORM, [1000, 700]) };
        let mut image = resident(&sparse, "Kept", desc);
        let [kept, other] = [0, 1].map(|x| TileCoord { x, ..TileCoord::default() });
        image.map(&[kept]).unwrap();
        let wait = waits(sparse.flush(None).unwrap());
        let written = texels(&image, kept, 5);
        h.write_texels(image.image(), std::slice::from_ref(&written), &wait);
        let place = image.locate(kept).map(|(chunk, at)| (chunk.id(), at));
        image.unmap(&[kept]).unwrap();
        image.map(&[kept, other]).unwrap();
        image.unmap(&[kept]).unwrap();
        h.device.faults().refuse(Site::Bind, 0);
        let flushed = sparse.flush(None);
        h.device.faults().clear();
        if image.in_place() {
            assert!(flushed.is_err());
            assert!(image.is_mapped(kept) && !image.is_mapped(other));
            assert_eq!(image.locate(kept).map(|(chunk, at)| (chunk.id(), at)), place);
            h.expect_tiles_in_chunks(&image, &[(kept, written.1)]);
        }
    });
}

#[test]
fn dropping_an_image_before_its_first_flush_and_with_tiles_pending_leaves_nothing() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let desc = ImageDesc { mips: 3, ..flat(Format::R8G8B8A8_UNORM, [2100, 700]) };
        drop(resident(&sparse, "Unflushed", desc));
        sparse.flush(None).unwrap();
        for round in 0..4u32 {
            let mut image = resident(&sparse, "Pending", desc);
            image.map(&[TileCoord::default()]).unwrap();
            let wait = waits(sparse.flush(None).unwrap());
            let tile = texels(&image, TileCoord::default(), 1);
            h.write_texels(image.image(), &[tile], &wait);
            image.unmap(&[TileCoord::default()]).unwrap();
            image.map(&[TileCoord { x: round, ..TileCoord::default() }]).unwrap();
            drop(image);
            sparse.flush(None).unwrap();
            sparse.end_frame();
        }
        h.settle();
        sparse.end_frame();
        sparse.trim();
        let stats = sparse.stats();
        assert_eq!((stats.resources.len(), stats.chunks, stats.physical_bytes), (0, 0, 0), "pages leaked");
    });
}
