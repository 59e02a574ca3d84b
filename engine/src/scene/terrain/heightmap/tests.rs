//! Files made at run time, good and bad.

use std::io::Cursor;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use tiff::encoder::{Compression, TiffEncoder, colortype};
use tiff::tags::Tag;

use super::georef::{GeoTags, interpret, metres_per_radian};
use super::*;

fn read(bytes: &[u8], options: HeightMapOptions) -> Result<HeightMap, HeightMapError> {
    HeightMap::read_from(Cursor::new(bytes), Path::new("test file"), options, &mut |_| {})
}

fn read_plain(bytes: &[u8]) -> Result<HeightMap, HeightMapError> {
    read(bytes, HeightMapOptions::default())
}

/// A TIFF of one colour type, with tags written by `tags`.
macro_rules! tiff_bytes {
    ($color:ty, $width:expr, $height:expr, $data:expr, $compression:expr, $tags:expr) => {{
        let mut bytes = Cursor::new(Vec::new());
        let mut encoder = TiffEncoder::new(&mut bytes).unwrap().with_compression($compression);
        let mut image = encoder.new_image::<$color>($width, $height).unwrap();
        let tags: &dyn Fn(&mut dyn FnMut(Tag, TagData<'_>)) = &$tags;
        tags(&mut |tag, data| match data {
            TagData::Doubles(values) => image.encoder().write_tag(tag, values).unwrap(),
            TagData::Shorts(values) => image.encoder().write_tag(tag, values).unwrap(),
            TagData::Text(text) => image.encoder().write_tag(tag, text).unwrap(),
        });
        image.write_data($data).unwrap();
        bytes.into_inner()
    }};
}

enum TagData<'a> {
    Doubles(&'a [f64]),
    Shorts(&'a [u16]),
    Text(&'a str),
}

fn no_tags(_: &mut dyn FnMut(Tag, TagData<'_>)) {}

fn geographic_tags(write: &mut dyn FnMut(Tag, TagData<'_>)) {
    write(Tag::ModelPixelScaleTag, TagData::Doubles(&[1.0 / 1200.0, 1.0 / 1200.0, 0.0]));
    write(Tag::ModelTiepointTag, TagData::Doubles(&[0.0, 0.0, 0.0, 40.0, 40.0, 0.0]));
    write(Tag::GeoKeyDirectoryTag, TagData::Shorts(&[1, 1, 0, 2, 1024, 0, 1, 2, 2054, 0, 1, 9102]));
    write(Tag::GdalNodata, TagData::Text("-9999"));
}

fn small_tiff() -> Vec<u8> {
    let data: Vec<i16> = (0..7 * 5).map(|i| i * 3 + 100).collect();
    tiff_bytes!(colortype::GrayI16, 7, 5, &data, Compression::Uncompressed, geographic_tags)
}

fn png_bytes(width: u32, height: u32, color: image::ExtendedColorType, data: &[u8]) -> Vec<u8> {
    use image::ImageEncoder;
    let mut bytes = Vec::new();
    image::codecs::png::PngEncoder::new(&mut bytes).write_image(data, width, height, color).unwrap();
    bytes
}

fn small_png16(values: &[u16], width: u32) -> Vec<u8> {
    let data: Vec<u8> = values.iter().flat_map(|v| v.to_ne_bytes()).collect();
    png_bytes(width, values.len() as u32 / width, image::ExtendedColorType::L16, &data)
}

fn asset() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../assets/anatolia_srtm3.tif")
}

#[test]
fn the_real_map_has_its_known_size_and_range() {
    let map = HeightMap::open(&asset()).unwrap();
    assert_eq!((map.width, map.height), (1000, 1000));
    assert_eq!(map.height_range(), (1111.0, 3270.0));
    assert!((map.pixel_size_metres.0 - 71.4).abs() < 0.3, "{:?}", map.pixel_size_metres);
    assert!((map.pixel_size_metres.1 - 92.5).abs() < 0.1, "{:?}", map.pixel_size_metres);
    assert!(map.georeferenced);
}

#[test]
fn every_sample_type_and_compression_gives_the_same_heights() {
    const EXPECTED: [f32; 12] = [1.0, 2.0, 3.0, 100.0, 120.0, 90.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0];
    let options = HeightMapOptions { height_scale: Some(1.0), ..HeightMapOptions::default() };
    macro_rules! check {
        ($color:ty, $sample:ty) => {
            for compression in [
                Compression::Uncompressed,
                Compression::Lzw,
                Compression::Deflate(Default::default()),
                Compression::Packbits,
            ] {
                let data = EXPECTED.map(|v| v as $sample);
                let bytes = tiff_bytes!($color, 4, 3, &data, compression, no_tags);
                let map = read(&bytes, options).unwrap();
                assert_eq!(map.heights, EXPECTED, "{}", stringify!($sample));
                assert_eq!((map.width, map.height, map.filled), (4, 3, 0));
                assert!(!map.georeferenced);
            }
        };
    }
    check!(colortype::Gray8, u8);
    check!(colortype::GrayI8, i8);
    check!(colortype::Gray16, u16);
    check!(colortype::GrayI16, i16);
    check!(colortype::Gray32, u32);
    check!(colortype::GrayI32, i32);
    check!(colortype::Gray32Float, f32);
    check!(colortype::Gray64Float, f64);
}

/// A tiled TIFF, which the `tiff` crate cannot write: 20 x 18 samples of 16 bits in tiles of 16 x 16.
fn tiled_tiff() -> Vec<u8> {
    let mut bytes = b"II*\0\x08\0\0\0".to_vec();
    let entries: [(u16, u16, u32, u32); 12] = [
        (256, 3, 1, 20),
        (257, 3, 1, 18),
        (258, 3, 1, 16),
        (259, 3, 1, 1),
        (262, 3, 1, 1),
        (277, 3, 1, 1),
        (284, 3, 1, 1),
        (322, 3, 1, 16),
        (323, 3, 1, 16),
        (324, 4, 4, 8 + 2 + 12 * 12 + 4),
        (325, 4, 4, 8 + 2 + 12 * 12 + 4 + 16),
        (339, 3, 1, 1),
    ];
    bytes.extend((entries.len() as u16).to_le_bytes());
    for (tag, kind, count, value) in entries {
        bytes.extend(tag.to_le_bytes());
        bytes.extend(kind.to_le_bytes());
        bytes.extend(count.to_le_bytes());
        bytes.extend(value.to_le_bytes());
    }
    bytes.extend(0_u32.to_le_bytes());
    let first = bytes.len() as u32 + 32;
    for tile in 0..4 {
        bytes.extend((first + tile * 512).to_le_bytes());
    }
    for _ in 0..4 {
        bytes.extend(512_u32.to_le_bytes());
    }
    for tile in 0..4_u16 {
        for i in 0..256_u16 {
            let (x, y) = (tile % 2 * 16 + i % 16, tile / 2 * 16 + i / 16);
            bytes.extend((y * 100 + x).to_le_bytes());
        }
    }
    bytes
}

#[test]
fn tiles_land_where_they_belong() {
    let map = read_plain(&tiled_tiff()).unwrap();
    assert_eq!((map.width, map.height), (20, 18));
    for y in 0..18 {
        for x in 0..20 {
            assert_eq!(map.heights[y * 20 + x], (y * 100 + x) as f32);
        }
    }
}

#[test]
fn png_of_16_bits_is_metres_until_that_is_absurd() {
    let map = read_plain(&small_png16(&[100, 200, 300, 400, 500, 9000], 3)).unwrap();
    assert_eq!(map.heights, [100.0, 200.0, 300.0, 400.0, 500.0, 9000.0]);
    assert_eq!(map.pixel_size_metres, (DEFAULT_PIXEL_SIZE, DEFAULT_PIXEL_SIZE));
    let map = read_plain(&small_png16(&[0, 65535, 0, 65535], 2)).unwrap();
    assert_eq!(map.height_range(), (0.0, (PICTURE_RELIEF * 30.0) as f32));
    let options = HeightMapOptions { pixel_size: Some(5.0), height_scale: Some(0.1) };
    let map = read(&small_png16(&[0, 65535, 0, 65535], 2), options).unwrap();
    assert_eq!(map.height_range(), (0.0, 6553.5));
    assert_eq!(map.pixel_size_metres, (5.0, 5.0));
}

#[test]
fn png_of_8_bits_is_a_picture_of_heights() {
    let data: Vec<u8> = (0..11 * 21).map(|i| if i == 5 { 255 } else { 0 }).collect();
    let map = read_plain(&png_bytes(11, 21, image::ExtendedColorType::L8, &data)).unwrap();
    let (low, high) = map.height_range();
    assert_eq!(low, 0.0);
    assert!((high - (PICTURE_RELIEF * 300.0) as f32).abs() < 1e-3, "{high}");
}

#[test]
fn holes_are_counted_and_filled_between_their_neighbours() {
    // A plane with a square hole: the fill must come back to the plane.
    let (width, height) = (40, 30);
    let plane = |x: usize, y: usize| (1000 + 7 * x + 3 * y) as i16;
    let mut data: Vec<i16> = (0..width * height).map(|i| plane(i % width, i / width)).collect();
    for y in 8..18 {
        for x in 10..22 {
            data[y * width + x] = if x % 2 == 0 { -32768 } else { -9999 };
        }
    }
    let bytes = tiff_bytes!(colortype::GrayI16, 40, 30, &data, Compression::Uncompressed, geographic_tags);
    let map = read_plain(&bytes).unwrap();
    assert_eq!(map.filled, 120);
    for y in 0..height {
        for x in 0..width {
            let (got, want) = (map.heights[y * width + x], f32::from(plane(x, y)));
            let tolerance = if (8..18).contains(&y) && (10..22).contains(&x) { 25.0 } else { 0.0 };
            assert!((got - want).abs() <= tolerance, "({x}, {y}): {got}, plane {want}");
        }
    }
}

#[test]
fn floats_that_are_no_numbers_are_holes() {
    let data = [f32::NAN, 1.0, f32::INFINITY, 3.0, -3.402_823_5e38, 5.0];
    let bytes = tiff_bytes!(colortype::Gray32Float, 3, 2, &data, Compression::Uncompressed, no_tags);
    let map = read_plain(&bytes).unwrap();
    assert_eq!(map.filled, 3);
    assert!(map.heights.iter().all(|h| (1.0..=5.0).contains(h)), "{:?}", map.heights);
}

#[test]
fn a_georeference_gives_metres() {
    // A degree of latitude: 110574 m at the equator, 111694 m at the pole; of longitude 111320 m, 0.
    let degree = 1.0_f64.to_radians();
    let (parallel, meridian) = metres_per_radian(0.0);
    assert!((parallel * degree - 111_319.5).abs() < 1.0);
    assert!((meridian * degree - 110_574.3).abs() < 1.0);
    let (parallel, meridian) = metres_per_radian(90.0_f64.to_radians());
    assert!(parallel.abs() < 1e-6);
    assert!((meridian * degree - 111_693.9).abs() < 1.0);

    let projected = |keys: &[u16], doubles: &[f64]| {
        let tags = GeoTags {
            pixel_scale: vec![10.0, 20.0, 0.0],
            tiepoints: vec![0.0, 0.0, 0.0, 500_000.0, 4_000_000.0, 0.0],
            keys: [&[1, 1, 0, 3][..], keys].concat(),
            doubles: doubles.to_vec(),
            ..GeoTags::default()
        };
        interpret(&tags, 100, 100)
    };
    let metres = projected(&[1024, 0, 1, 1, 3076, 0, 1, 9001], &[]);
    assert_eq!(metres.pixel_size, Some((10.0, 20.0)));
    let feet = projected(&[1024, 0, 1, 1, 3076, 0, 1, 9002, 4099, 0, 1, 9002], &[]);
    assert_eq!(feet.pixel_size, Some((10.0 * 0.3048, 20.0 * 0.3048)));
    assert_eq!(feet.unit_metres, Some(0.3048));
    let own = projected(&[1024, 0, 1, 1, 3076, 0, 1, 32767, 3077, 34736, 1, 1], &[0.0, 2.0]);
    assert_eq!(own.pixel_size, Some((20.0, 40.0)));
    assert_eq!(projected(&[], &[]).pixel_size, Some((10.0, 20.0)), "no keys, no globe: metres");
}

#[test]
fn a_matrix_may_rotate_and_flip() {
    let mut tags = GeoTags {
        transformation: vec![3.0, 4.0, 0.0, 0.0, 4.0, -3.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0],
        keys: vec![1, 1, 0, 1, 1024, 0, 1, 1],
        ..GeoTags::default()
    };
    let rotated = interpret(&tags, 10, 10);
    assert_eq!(rotated.pixel_size, Some((5.0, 5.0)));
    assert!(!rotated.south_up && !rotated.east_first);
    tags.transformation[5] = 3.0;
    tags.transformation[0] = -3.0;
    let flipped = interpret(&tags, 10, 10);
    assert!(flipped.south_up && flipped.east_first);
}

#[test]
fn a_map_stored_from_the_south_is_turned() {
    let tags = |write: &mut dyn FnMut(Tag, TagData<'_>)| {
        let matrix = [5.0, 0.0, 0.0, 0.0, 0.0, 5.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0];
        write(Tag::ModelTransformationTag, TagData::Doubles(&matrix));
        write(Tag::GeoKeyDirectoryTag, TagData::Shorts(&[1, 1, 0, 1, 1024, 0, 1, 1]));
    };
    let data: [u16; 6] = [1, 2, 3, 4, 5, 6];
    let bytes = tiff_bytes!(colortype::Gray16, 2, 3, &data, Compression::Uncompressed, tags);
    let map = read_plain(&bytes).unwrap();
    assert_eq!(map.heights, [5.0, 6.0, 3.0, 4.0, 1.0, 2.0]);
    assert_eq!(map.pixel_size_metres, (5.0, 5.0));
}

#[test]
fn flat_is_allowed() {
    let map = read_plain(&png_bytes(4, 4, image::ExtendedColorType::L8, &[7; 16])).unwrap();
    let (low, high) = map.height_range();
    assert_eq!(low, high);
}

#[test]
fn progress_rises_to_one() {
    let mut steps = Vec::new();
    HeightMap::open_with(&asset(), HeightMapOptions::default(), &mut |share| steps.push(share)).unwrap();
    assert!(steps.len() > 10);
    assert!(steps.windows(2).all(|pair| pair[0] <= pair[1]), "{steps:?}");
    assert_eq!((steps[0], *steps.last().unwrap()), (0.0, 1.0));
}

fn one_line(error: &HeightMapError) -> String {
    let text = error.to_string();
    assert!(!text.contains('\n'), "{text}");
    text
}

#[test]
fn each_bad_path_has_its_own_error() {
    let folder = tempfile::tempdir().unwrap();
    let open = |path: &Path| {
        let error = HeightMap::open(path).unwrap_err();
        assert!(one_line(&error).starts_with(&path.display().to_string()), "{error}");
        error
    };
    assert!(matches!(open(&folder.path().join("none.tif")), HeightMapError::Missing { .. }));
    assert!(matches!(open(folder.path()), HeightMapError::IsDirectory { .. }));
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    assert!(matches!(open(&write("empty.tif", b"")), HeightMapError::Empty { .. }));
    assert!(matches!(open(&write("a.tif", b"II")), HeightMapError::Truncated { .. }));
    let jpeg = open(&write("b.tif", b"\xff\xd8\xff\xe0 and so on"));
    assert!(matches!(jpeg, HeightMapError::NotAnImage { found: "a JPEG picture", .. }));
    let text = open(&write("c.png", b"hello, I am a mountain"));
    assert!(matches!(text, HeightMapError::NotAnImage { found: "a text file", .. }));
    // The extension does not matter.
    assert!(HeightMap::open(&write("tiff.png", &small_tiff())).is_ok());
    if cfg!(target_os = "linux") {
        assert!(matches!(open(Path::new("/dev/null")), HeightMapError::NotAFile { .. }));
    }
}

#[test]
fn each_bad_image_has_its_own_error() {
    let error = |bytes: &[u8]| {
        let error = read_plain(bytes).unwrap_err();
        assert!(one_line(&error).starts_with("test file: "), "{error}");
        error
    };
    let void = tiff_bytes!(colortype::GrayI16, 2, 2, &[-32768; 4], Compression::Uncompressed, no_tags);
    assert!(matches!(error(&void), HeightMapError::AllNodata { .. }));
    let one = tiff_bytes!(colortype::GrayI16, 1, 1, &[5], Compression::Uncompressed, no_tags);
    assert!(matches!(error(&one), HeightMapError::TooSmall { width: 1, height: 1, .. }));
    let one = png_bytes(1, 1, image::ExtendedColorType::L8, &[5]);
    assert!(matches!(error(&one), HeightMapError::TooSmall { .. }));
    let rgb = tiff_bytes!(colortype::RGB8, 2, 2, &[0; 12], Compression::Uncompressed, no_tags);
    let text = one_line(&error(&rgb));
    assert!(text.contains("3 channels") && text.contains("single channel"), "{text}");
    let rgb = png_bytes(2, 2, image::ExtendedColorType::Rgb8, &[0; 12]);
    assert!(matches!(error(&rgb), HeightMapError::NotSingleChannel { .. }));

    let mut palette = small_tiff();
    let photometric = tag_value_offset(&palette, 262);
    palette[photometric] = 3;
    let error_of_palette = error(&palette);
    assert!(one_line(&error_of_palette).contains("palette"), "{error_of_palette}");

    let absurd = |write: &mut dyn FnMut(Tag, TagData<'_>)| {
        write(Tag::ModelPixelScaleTag, TagData::Doubles(&[0.0, 1e12, 0.0]));
    };
    let bytes = tiff_bytes!(colortype::GrayI16, 2, 2, &[1; 4], Compression::Uncompressed, absurd);
    assert!(matches!(error(&bytes), HeightMapError::AbsurdPixelSize { .. }));
    let options = HeightMapOptions { pixel_size: Some(10.0), ..HeightMapOptions::default() };
    assert_eq!(read(&bytes, options).unwrap().pixel_size_metres, (10.0, 10.0));
    for bad in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        let options = HeightMapOptions { pixel_size: Some(bad), ..HeightMapOptions::default() };
        assert!(matches!(read(&small_tiff(), options), Err(HeightMapError::BadOption { .. })));
        let options = HeightMapOptions { height_scale: Some(bad), ..HeightMapOptions::default() };
        assert!(matches!(read(&small_tiff(), options), Err(HeightMapError::BadOption { .. })));
    }
}

/// Where the value of a tag lies in a little-endian classic TIFF.
fn tag_value_offset(bytes: &[u8], tag: u16) -> usize {
    let directory = u32::from_le_bytes(bytes[4..8].try_into().unwrap()) as usize;
    let count = usize::from(u16::from_le_bytes(bytes[directory..directory + 2].try_into().unwrap()));
    let entry = (0..count)
        .map(|i| directory + 2 + 12 * i)
        .find(|&at| bytes[at..at + 2] == tag.to_le_bytes())
        .unwrap();
    entry + 8
}

#[test]
fn a_huge_header_is_refused_before_anything_is_allocated() {
    let mut tiff = tiled_tiff();
    for tag in [256_u16, 257] {
        let at = tag_value_offset(&tiff, tag);
        tiff[at - 6] = 4; // as a 32-bit value
        tiff[at..at + 4].copy_from_slice(&60_000_u32.to_le_bytes());
    }
    assert!(matches!(read_plain(&tiff), Err(HeightMapError::TooLarge { width: 60_000, .. })));
    let mut png = small_png16(&[1, 2, 3, 4], 2);
    png[16..20].copy_from_slice(&60_000_u32.to_be_bytes());
    png[20..24].copy_from_slice(&60_000_u32.to_be_bytes());
    assert!(matches!(read_plain(&png), Err(HeightMapError::TooLarge { height: 60_000, .. })));
}

/// Every prefix is refused, and as cut short wherever that can be told.
fn check_prefixes(bytes: &[u8], needed: usize, header: usize) {
    for len in 0..needed {
        let error = read_plain(&bytes[..len]).expect_err("a part of a file");
        let text = one_line(&error);
        match len {
            0 => assert!(matches!(error, HeightMapError::Empty { .. }), "{text}"),
            _ if len >= header => assert!(matches!(error, HeightMapError::Truncated { .. }), "{len}: {text}"),
            _ => {}
        }
    }
}

#[test]
fn every_prefix_is_an_error() {
    let data: Vec<u16> = (0..64).collect();
    let png = small_png16(&data, 8);
    check_prefixes(&png, png.len(), 1);
    let tiled = tiled_tiff();
    check_prefixes(&tiled, tiled.len(), 1);
    // The encoder puts the directory last: without it there is no telling.
    let tiff = small_tiff();
    let directory = u32::from_le_bytes(tiff[4..8].try_into().unwrap()) as usize;
    check_prefixes(&tiff, directory + 2, 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn damaged_files_never_panic(
        which in 0_usize..4,
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let data: Vec<u16> = (0..64).map(|i| i * 911).collect();
        let mut bytes = match which {
            0 => small_tiff(),
            1 => tiled_tiff(),
            2 => {
                let lzw = Compression::Lzw;
                tiff_bytes!(colortype::Gray16, 8, 8, &data, lzw, geographic_tags)
            }
            _ => small_png16(&data, 8),
        };
        for (at, value) in flips {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        match read_plain(&bytes) {
            Ok(map) => {
                prop_assert_eq!(map.heights.len(), map.width as usize * map.height as usize);
                prop_assert!(map.heights.iter().all(|h| h.is_finite()));
            }
            Err(error) => { one_line(&error); }
        }
    }

    #[test]
    fn any_bytes_after_a_magic_number_never_panic(
        magic in 0_usize..5,
        rest in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let mut bytes = [TIFF_MAGICS[0], TIFF_MAGICS[1], TIFF_MAGICS[2], TIFF_MAGICS[3], PNG_MAGIC][magic].to_vec();
        bytes.extend(rest);
        if let Err(error) = read_plain(&bytes) {
            one_line(&error);
        }
    }

    #[test]
    fn fill_stays_between_the_known_values(
        width in 2_usize..40,
        height in 2_usize..40,
        seed in any::<u32>(),
    ) {
        let mut state = seed | 1;
        let mut next = || { state ^= state << 13; state ^= state >> 17; state ^= state << 5; state };
        let mut values: Vec<f32> = (0..width * height)
            .map(|_| if next() % 3 == 0 { (next() % 1000) as f32 } else { f32::NAN })
            .collect();
        let known: Vec<f32> = values.clone();
        let holes = known.iter().filter(|v| v.is_nan()).count();
        fill::fill_holes(width, height, &mut values);
        if holes < known.len() {
            let low = known.iter().copied().fold(f32::INFINITY, f32::min);
            let high = known.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            for (filled, known) in values.iter().zip(&known) {
                prop_assert!(known.is_nan() || filled == known);
                prop_assert!(*filled >= low - 1e-3 && *filled <= high + 1e-3);
            }
        }
    }
}
