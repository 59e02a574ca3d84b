//! What shaders may look at: a residency map that leads to mapped tiles only, and images on devices that cannot map
//! single tiles.

use ash::vk::Format;
use vasa::sparse::tiles::{ResidencyMap, TileCoord, TileLocation};
use vasa::sparse::{Missing, PartiallyResidentDesc, PartiallyResidentImage, SparseKnobs, SparseMemory};
use vasa::vk::{Device, FeatureMask, ImageDesc};
use vasa_tests::growable::waits;
use vasa_tests::images::{REST, Texels, USAGE, all_tiles, contents, resident, tile_region};
use vasa_tests::random::Random;
use vasa_tests::{Harness, MIB, on_device};

fn texels(image: &PartiallyResidentImage, tile: TileCoord, seed: u64) -> Texels {
    contents(image.image().desc().format, tile_region(image.layout(), tile), seed)
}

fn flat(format: Format, extent: [u32; 2]) -> ImageDesc {
    ImageDesc::new_2d(format, extent, USAGE)
}

/// The test's device without a feature.
fn without(h: &Harness, feature: &str) -> std::sync::Arc<Device> {
    let mut options = h.device_options();
    options.mask = options.mask.and(FeatureMask::parse(feature).unwrap());
    Device::open(h.device.instance(), &options).unwrap()
}

#[test]
fn a_missing_feature_is_named_or_all_of_the_image_has_memory() {
    on_device(|h| {
        let volume = ImageDesc::new_3d(Format::R8_UINT, [64, 64, 64], USAGE);
        let plane = flat(Format::R8_UINT, [512, 512]);
        let cases = [
            ("sparse_residency_image_3d", "sparseResidencyImage3D", volume),
            ("sparse_residency_image_2d", "sparseResidencyImage2D", plane),
        ];
        for (mask, feature, image) in cases {
            let device = without(h, mask);
            let sparse = SparseMemory::new(
                &device,
                SparseKnobs { check: true, chunk_bytes: MIB, ..Default::default() },
            );
            let desc =
                PartiallyResidentDesc { name: "Missing", image, rest_layout: REST, missing: Missing::Refuse };
            let text = PartiallyResidentImage::new(&sparse, &desc).unwrap_err().to_string();
            let named = if h.in_place() { feature } else { "sparseBinding" };
            assert!(text.contains("Missing") && text.contains(named), "{text}");
            assert_eq!(sparse.stats().resources.len(), 0);
            assert_eq!(device.reserved_addresses(), 0);
            // Committed whole, the same tiles hold the same texels.
            let other = h.on(&device).unwrap();
            churn_on(&other, &sparse, image);
            other.settle();
            drop((sparse, other));
            device.wait_idle().unwrap();
        }
        let line = ImageDesc::new_1d(Format::R8_UINT, 4096, USAGE);
        let sparse = h.small_chunks();
        let desc =
            PartiallyResidentDesc { name: "Line", image: line, rest_layout: REST, missing: Missing::Refuse };
        assert!(
            PartiallyResidentImage::new(&sparse, &desc).is_err(),
            "no device maps tiles of one dimension"
        );
    });
}

fn churn_on(h: &Harness, sparse: &SparseMemory, desc: ImageDesc) {
    let mut image = resident(sparse, "Whole", desc);
    assert!(!image.in_place() && image.image().sparse().is_none());
    let wait = waits(sparse.flush(None).unwrap());
    let tile = TileCoord::default();
    image.map(&[tile]).unwrap();
    sparse.flush(None).unwrap();
    let written = texels(&image, tile, 3);
    h.write_texels(image.image(), std::slice::from_ref(&written), &wait);
    h.expect_texels(image.image(), &[written], &[]);
    let stats = image.stats();
    assert!(stats.kind.ends_with("(fallback)"), "{}", stats.kind);
    assert_eq!((stats.uncommitted_bytes, stats.chunks), (0, 1));
}

#[test]
fn a_shader_that_obeys_the_residency_map_meets_mapped_tiles_only() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let desc = flat(Format::R8G8B8A8_UNORM, [1500, 900]);
        let desc = ImageDesc { mips: desc.full_mips(), ..desc };
        let mut image = resident(&sparse, "Mapped", desc);
        let layout = image.layout().clone();
        let floor = layout.floor_lod();
        let mut map = ResidencyMap::new(&layout, 0, [false; 3]).unwrap();
        let movable: Vec<TileCoord> = all_tiles(&layout).into_iter().filter(|t| t.mip < floor).collect();
        let mut random = Random::new(11);
        for round in 0..8 {
            image.unmap(&random.some(&movable, 10)).unwrap();
            image.map(&random.some(&movable, 40)).unwrap();
            let wait = waits(sparse.flush(None).unwrap());
            map.update(|tile| image.is_mapped(tile));
            // What a sampler may touch at each place: the mip of the map, and all coarser ones.
            let [w, h_, _] = map.size();
            let mut regions = Vec::new();
            for (index, lod) in map.texels().iter().enumerate() {
                let (x, y) = (index as u32 % w, index as u32 / w);
                assert!(y < h_);
                for mip in u32::from(*lod)..floor {
                    let [gw, gh, _] = layout.tiling().granularity;
                    let [mw, mh, _] = layout.mip_extent(mip);
                    let texel = [((x * gw) >> mip).min(mw - 1), ((y * gh) >> mip).min(mh - 1), 0];
                    let Some(TileLocation::Tile(tile)) = layout.tile_of_texel(0, mip, texel) else {
                        panic!("mip {mip} lies in front of the tail")
                    };
                    assert!(
                        image.is_mapped(tile),
                        "round {round}: the map leads to {tile}, which has no memory"
                    );
                    regions.push(layout.tile_index(tile).unwrap());
                }
            }
            regions.sort_unstable();
            regions.dedup();
            // The checker knows of every tile that these reads touch, and would report one without memory.
            let boxes: Vec<_> = regions
                .iter()
                .filter_map(|index| match layout.locate(*index)? {
                    TileLocation::Tile(tile) => Some(tile_region(&layout, tile)),
                    TileLocation::Tail { .. } => None,
                })
                .collect();
            let at = h.submit("Reads", &wait, |_| {});
            let bytes = layout.tile_bytes();
            for index in regions {
                if image.in_place() {
                    sparse.declare_use(image.id(), index * bytes..(index + 1) * bytes, at);
                }
            }
            assert_eq!(h.read_texels(image.image(), &boxes, &[]).len(), boxes.len());
        }
    });
}
