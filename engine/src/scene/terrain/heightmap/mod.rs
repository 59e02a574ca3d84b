//! Reading a height map: a file in, metres on a regular grid out.
//!
//! ```text
//! path -> (error.rs: missing, folder, empty, ...)
//!      -> magic bytes -> geotiff.rs + georef.rs  \  samples, holes   -> scale -> fill.rs -> HeightMap
//!                     -> png.rs                  /  pixel size if known
//! ```
//!
//! The kind of file is told by its first bytes, never by its name. Sizes are checked in the header,
//! before anything is allocated. Whatever a file holds, reading it ends in a [`HeightMap`] or in a
//! [`HeightMapError`] of one line.

mod error;
mod fill;
mod georef;
mod geotiff;
mod png;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

pub use error::HeightMapError;

/// The most samples that are read: 16384 x 16384, one gibibyte of heights.
pub const MAX_SAMPLES: u64 = 16384 * 16384;
/// The sizes of a pixel that are believed, in metres.
pub const PIXEL_SIZE_RANGE: (f64, f64) = (0.001, 1.0e6);
/// The scales of a height value that are taken, in metres a unit.
pub const HEIGHT_SCALE_RANGE: (f64, f64) = (1.0e-6, 1.0e6);
/// Pixel size in metres for files that say nothing about it: that of the 1 arc-second world models.
pub const DEFAULT_PIXEL_SIZE: f64 = 30.0;
/// Values of a PNG, or of an 8-bit TIFF without a georeference, are taken for metres while they span
/// no more than this; above it (and for all 8-bit files) they are taken for a picture of heights.
pub const MAX_BELIEVED_RELIEF: f32 = 9000.0;
/// The relief given to a picture of heights, as a share of the map's shorter side, for its full
/// range of values: 2.4 km over 30 km, as in the high mountains.
pub const PICTURE_RELIEF: f64 = 0.08;
/// Heights beyond this (metres above or below the sea) are on no map: they are fill values.
const MAX_HEIGHT: f64 = 100_000.0;

/// What the caller knows better than the file.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HeightMapOptions {
    /// Side of a pixel in metres, both ways, instead of the georeference.
    pub pixel_size: Option<f32>,
    /// Metres for one unit of the stored values, instead of what is assumed.
    pub height_scale: Option<f32>,
}

/// Heights on a regular grid.
#[derive(Clone, Debug, PartialEq)]
pub struct HeightMap {
    /// Samples a row, at least 2.
    pub width: u32,
    /// Rows, at least 2.
    pub height: u32,
    /// `width * height` heights in metres, row by row, the north row first, from west to east.
    /// All finite.
    pub heights: Vec<f32>,
    /// Distance between neighbouring samples in metres: (east-west, north-south). Both positive.
    pub pixel_size_metres: (f64, f64),
    /// How many samples had no data and were filled from around them.
    pub filled: u64,
    /// Whether the pixel size came from the file's georeference.
    pub georeferenced: bool,
}

/// What a decoder hands over: raw values, holes as NaN.
struct Raster {
    width: u32,
    height: u32,
    values: Vec<f32>,
    /// From the georeference, if there is one that makes sense of the pixel size.
    pixel_size: Option<(f64, f64)>,
    /// Metres a unit, if the file says so.
    unit_metres: Option<f64>,
    /// The largest value the sample type holds, for pictures of heights: 255 or 65535.
    picture_range: Option<f32>,
}

impl HeightMap {
    /// Reads a height map with no options and nobody watching. See [`HeightMap::open_with`].
    ///
    /// # Errors
    /// As [`HeightMap::open_with`].
    pub fn open(path: &Path) -> Result<HeightMap, HeightMapError> {
        HeightMap::open_with(path, HeightMapOptions::default(), &mut |_| {})
    }

    /// Reads a GeoTIFF or TIFF (one channel of 8, 16 or 32 bits, integer or float, or 64-bit float;
    /// strips or tiles) or a grey PNG of 8 or 16 bits.
    ///
    /// `progress` is called with a share done from 0 to 1, never falling.
    ///
    /// The pixel size is `options.pixel_size`, or the georeference, or [`DEFAULT_PIXEL_SIZE`]. Values
    /// are metres (feet if a GeoTIFF says so), except in files that hold a picture of heights: 8-bit
    /// PNG, 8-bit TIFF without a georeference, and 16-bit PNG that span more than
    /// [`MAX_BELIEVED_RELIEF`]. There the full range of the sample type becomes [`PICTURE_RELIEF`] of the map's
    /// shorter side. `options.height_scale` overrides both.
    ///
    /// # Errors
    /// A [`HeightMapError`] that names the file and says what to do.
    pub fn open_with(
        path: &Path,
        options: HeightMapOptions,
        progress: &mut dyn FnMut(f32),
    ) -> Result<HeightMap, HeightMapError> {
        let unreadable = |source: std::io::Error| match source.kind() {
            std::io::ErrorKind::NotFound => HeightMapError::Missing { path: path.into() },
            _ => HeightMapError::Unreadable { path: path.into(), source },
        };
        let metadata = std::fs::metadata(path).map_err(unreadable)?;
        if metadata.is_dir() {
            return Err(HeightMapError::IsDirectory { path: path.into() });
        }
        if !metadata.is_file() {
            return Err(HeightMapError::NotAFile { path: path.into() });
        }
        let file = File::open(path).map_err(unreadable)?;
        HeightMap::read_from(BufReader::with_capacity(1 << 16, file), path, options, progress)
    }

    /// As [`HeightMap::open_with`], from anything that can be read and sought in; `name` stands in errors.
    ///
    /// # Errors
    /// As [`HeightMap::open_with`].
    pub fn read_from<R: BufRead + Seek>(
        mut reader: R,
        name: &Path,
        options: HeightMapOptions,
        progress: &mut dyn FnMut(f32),
    ) -> Result<HeightMap, HeightMapError> {
        check_option(name, "the pixel size", options.pixel_size, PIXEL_SIZE_RANGE)?;
        check_option(name, "the height scale", options.height_scale, HEIGHT_SCALE_RANGE)?;
        progress(0.0);
        let unreadable = |source| HeightMapError::Unreadable { path: name.into(), source };
        let len = reader.seek(SeekFrom::End(0)).map_err(unreadable)?;
        reader.seek(SeekFrom::Start(0)).map_err(unreadable)?;
        let mut head = Vec::with_capacity(16);
        reader.by_ref().take(16).read_to_end(&mut head).map_err(unreadable)?;
        reader.seek(SeekFrom::Start(0)).map_err(unreadable)?;

        let mut decoding = |share: f32| progress(share * 0.9);
        let raster = match sniff(&head) {
            Kind::Empty => return Err(HeightMapError::Empty { path: name.into() }),
            Kind::Cut => return Err(HeightMapError::Truncated { path: name.into(), len }),
            Kind::Tiff => geotiff::decode(reader, len, name, &mut decoding)?,
            Kind::Png => png::decode(reader, len, name, &mut decoding)?,
            Kind::Other(found) => return Err(HeightMapError::NotAnImage { path: name.into(), found }),
        };
        let map = finish(raster, name, options)?;
        progress(1.0);
        Ok(map)
    }

    /// The lowest and the highest height in metres.
    pub fn height_range(&self) -> (f32, f32) {
        self.heights
            .iter()
            .fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), &h| (low.min(h), high.max(h)))
    }
}

/// From decoded values to metres without holes.
fn finish(raster: Raster, name: &Path, options: HeightMapOptions) -> Result<HeightMap, HeightMapError> {
    let Raster { width, height, mut values, pixel_size, unit_metres, picture_range } = raster;
    let georeferenced = options.pixel_size.is_none() && pixel_size.is_some();
    let (east, north) = match (options.pixel_size, pixel_size) {
        (Some(side), _) => (f64::from(side), f64::from(side)),
        (None, Some(size)) => size,
        (None, None) => (DEFAULT_PIXEL_SIZE, DEFAULT_PIXEL_SIZE),
    };
    let (min, max) = PIXEL_SIZE_RANGE;
    if !(min..=max).contains(&east) || !(min..=max).contains(&north) {
        return Err(HeightMapError::AbsurdPixelSize { path: name.into(), east, north, min, max });
    }

    let (mut low, mut high) = (f32::INFINITY, f32::NEG_INFINITY);
    for value in &mut values {
        if f64::from(value.abs()) > MAX_HEIGHT {
            *value = f32::NAN;
        }
        // `min` and `max` pass over NaN.
        low = low.min(*value);
        high = high.max(*value);
    }
    if low > high {
        return Err(HeightMapError::AllNodata { path: name.into() });
    }

    let picture = picture_range.filter(|&range| range <= 255.0 || high - low > MAX_BELIEVED_RELIEF);
    let scale = match (options.height_scale, unit_metres, picture) {
        (Some(scale), _, _) => f64::from(scale),
        (None, Some(unit), _) => unit,
        (None, None, Some(range)) => {
            let side = (f64::from(width - 1) * east).min(f64::from(height - 1) * north);
            PICTURE_RELIEF * side / f64::from(range)
        }
        (None, None, None) => 1.0,
    };
    if scale != 1.0 {
        for value in &mut values {
            *value = (f64::from(*value) * scale) as f32;
        }
    }
    let filled = fill::fill_holes(width as usize, height as usize, &mut values);
    Ok(HeightMap { width, height, heights: values, pixel_size_metres: (east, north), filled, georeferenced })
}

/// Checks a size given in a header. Both decoders call it before they allocate.
fn check_size(name: &Path, width: u32, height: u32) -> Result<(), HeightMapError> {
    if u64::from(width) * u64::from(height) > MAX_SAMPLES {
        return Err(HeightMapError::TooLarge { path: name.into(), width, height, limit: MAX_SAMPLES });
    }
    if width < 2 || height < 2 {
        return Err(HeightMapError::TooSmall { path: name.into(), width, height });
    }
    Ok(())
}

fn check_option(
    name: &Path,
    option: &'static str,
    value: Option<f32>,
    (min, max): (f64, f64),
) -> Result<(), HeightMapError> {
    match value {
        // NaN is in no range.
        Some(value) if !(min..=max).contains(&f64::from(value)) => {
            Err(HeightMapError::BadOption { path: name.into(), option, value, min, max })
        }
        _ => Ok(()),
    }
}

enum Kind {
    Empty,
    /// The beginning of a magic number and no more.
    Cut,
    Tiff,
    Png,
    Other(&'static str),
}

const PNG_MAGIC: &[u8] = b"\x89PNG\r\n\x1a\n";
const TIFF_MAGICS: [&[u8]; 4] = [b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"];

fn sniff(head: &[u8]) -> Kind {
    const OTHERS: [(&[u8], &str); 12] = [
        (b"\xff\xd8\xff", "a JPEG picture"),
        (b"GIF8", "a GIF picture"),
        (b"BM", "a BMP picture"),
        (b"RIFF", "a RIFF file (WebP?)"),
        (b"PK\x03\x04", "a ZIP archive (unpack it first)"),
        (b"\x1f\x8b", "a gzip archive (unpack it first)"),
        (b"7z\xbc\xaf", "a 7z archive (unpack it first)"),
        (b"\x89HDF", "an HDF5 or NetCDF-4 file"),
        (b"CDF", "a NetCDF file"),
        (b"ncols", "an Esri ASCII grid (GDAL: gdal_translate -of GTiff)"),
        (b"version https://git-lfs", "a Git LFS pointer (run `git lfs pull`)"),
        (b"<", "HTML or XML (a failed download?)"),
    ];
    if head.is_empty() {
        return Kind::Empty;
    }
    if head.starts_with(PNG_MAGIC) {
        return Kind::Png;
    }
    if TIFF_MAGICS.iter().any(|magic| head.starts_with(magic)) {
        return Kind::Tiff;
    }
    if PNG_MAGIC.starts_with(head) || TIFF_MAGICS.iter().any(|magic| magic.starts_with(head)) {
        return Kind::Cut;
    }
    let starts = |magic: &[u8]| head.starts_with(&magic[..magic.len().min(16)]);
    match OTHERS.iter().find(|(magic, _)| starts(magic)) {
        Some((_, found)) => Kind::Other(found),
        None if head.iter().all(|b| b.is_ascii_graphic() || b.is_ascii_whitespace()) => {
            Kind::Other("a text file")
        }
        None => Kind::Other("a file of unknown kind"),
    }
}
