//! TIFF and GeoTIFF, chunk by chunk, through the `tiff` crate.

use std::io::{self, BufRead, ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;

use tiff::decoder::{ChunkType, Decoder, DecodingResult, Limits};
use tiff::tags::Tag;
use tiff::{ColorType, TiffError};

use super::georef::{self, GeoTags};
use super::{HeightMapError, Raster, check_size};

/// The void of the Shuttle Radar Topography Mission, and of most 16-bit files since.
const SRTM_VOID: f64 = -32768.0;
/// PhotometricInterpretation of an image of indices into a table of colours.
const PALETTE: u16 = 3;

/// What every value goes through: which ones are holes.
struct Nodata {
    /// From GDAL_NODATA 42113.
    tagged: Option<f64>,
}

impl Nodata {
    /// The value, or NaN if it stands for none. `single` says that the file holds 32-bit floats, in which
    /// case the tag's decimal text means the nearest of those.
    fn keep(&self, value: f64, single: bool) -> f32 {
        let hole = match self.tagged {
            Some(nodata) if single => value as f32 == nodata as f32,
            Some(nodata) => value == nodata,
            None => false,
        };
        if hole || !value.is_finite() { f32::NAN } else { value as f32 }
    }

    fn copy<T: Copy + Into<f64>>(&self, from: &[T], to: &mut [f32]) {
        for (to, from) in to.iter_mut().zip(from) {
            *to = self.keep((*from).into(), false);
        }
    }
}

/// Reads the first image of a TIFF. `len` is the file's length in bytes.
pub(super) fn decode<R: BufRead + Seek>(
    mut reader: R,
    len: u64,
    name: &Path,
    progress: &mut dyn FnMut(f32),
) -> Result<Raster, HeightMapError> {
    let fail = |error| lower_error(error, name, len);
    // Before the decoder, which reads the tables of chunks first and gives up on very long ones.
    if let Some((width, height)) = peek_size(&mut reader) {
        check_size(name, width, height)?;
    }
    reader
        .seek(SeekFrom::Start(0))
        .map_err(|source| HeightMapError::Unreadable { path: name.into(), source })?;
    let decoder = Decoder::new(reader).map_err(fail)?;
    let mut decoder = decoder.with_limits(limits(0));
    let (width, height) = decoder.dimensions().map_err(fail)?;
    if decoder.find_tag_unsigned(Tag::PhotometricInterpretation).ok().flatten() == Some(PALETTE) {
        let found = "a palette of colours".to_owned();
        return Err(HeightMapError::NotSingleChannel { path: name.into(), found });
    }
    check_channels(decoder.colortype(), name, len)?;
    check_size(name, width, height)?;
    let (chunk_width, chunk_height, chunks) = check_chunks(&mut decoder, width, height, len, name)?;

    let georeference = georef::interpret(&geo_tags(&mut decoder), width, height);
    let nodata_text = decoder.find_tag(Tag::GdalNodata).ok().flatten().and_then(|v| v.into_string().ok());
    let nodata = nodata_text.and_then(|text| text.trim_matches(['\0', ' ', '\n']).parse::<f64>().ok());

    // The largest sample is eight bytes; a chunk may be padded to its full size.
    decoder = decoder.with_limits(limits(u64::from(chunk_width) * u64::from(chunk_height) * 8));
    let (columns, width_usize) = (u64::from(width.div_ceil(chunk_width)), width as usize);
    let mut values = vec![0.0; width_usize * height as usize];
    let mut picture_range = None;
    for index in 0..chunks {
        let chunk = decoder.read_chunk(index).map_err(fail)?;
        let column = u64::from(index) % columns;
        let row = u64::from(index) / columns;
        let (x0, y0) = ((column * u64::from(chunk_width)) as usize, (row * u64::from(chunk_height)) as usize);
        let chunk_columns = (chunk_width as usize).min(width_usize - x0);
        let chunk_rows = (chunk_height as usize).min(height as usize - y0);
        for y in 0..chunk_rows {
            let start = (y0 + y) * width_usize + x0;
            let to = &mut values[start..start + chunk_columns];
            if !copy_row(&chunk, y * chunk_columns..(y + 1) * chunk_columns, nodata, to) {
                return Err(HeightMapError::Malformed {
                    path: name.into(),
                    format: "TIFF",
                    reason: format!("chunk {index} holds fewer samples than it should"),
                });
            }
        }
        if matches!(chunk, DecodingResult::U8(_)) {
            picture_range = Some(255.0);
        }
        progress((index + 1) as f32 / chunks as f32);
    }
    if georeference.pixel_size.is_some() {
        picture_range = None;
    }
    if georeference.south_up {
        flip_rows(&mut values, width_usize);
    }
    if georeference.east_first {
        values.chunks_exact_mut(width_usize).for_each(<[f32]>::reverse);
    }
    Ok(Raster {
        width,
        height,
        values,
        pixel_size: georeference.pixel_size,
        unit_metres: georeference.unit_metres,
        picture_range,
    })
}

fn limits(chunk_bytes: u64) -> Limits {
    let mut limits = Limits::default();
    let bytes = usize::try_from(chunk_bytes).unwrap_or(usize::MAX);
    limits.decoding_buffer_size = limits.decoding_buffer_size.max(bytes);
    limits.intermediate_buffer_size = limits.intermediate_buffer_size.max(bytes);
    limits
}

fn flip_rows(values: &mut [f32], width: usize) {
    let rows = values.len() / width;
    for row in 0..rows / 2 {
        let (upper, lower) = values.split_at_mut((rows - 1 - row) * width);
        upper[row * width..(row + 1) * width].swap_with_slice(&mut lower[..width]);
    }
}

/// Copies one row of a chunk, holes as NaN. False if the chunk is too short.
fn copy_row(
    chunk: &DecodingResult,
    range: std::ops::Range<usize>,
    tagged: Option<f64>,
    to: &mut [f32],
) -> bool {
    let nodata = Nodata { tagged };
    macro_rules! copy {
        ($values:expr) => {
            match $values.get(range) {
                Some(from) => nodata.copy(from, to),
                None => return false,
            }
        };
    }
    match chunk {
        DecodingResult::U8(values) => copy!(values),
        DecodingResult::U16(values) => copy!(values),
        DecodingResult::U32(values) => copy!(values),
        DecodingResult::I8(values) => copy!(values),
        DecodingResult::I32(values) => copy!(values),
        DecodingResult::F64(values) => copy!(values),
        DecodingResult::I16(values) => {
            let Some(from) = values.get(range) else { return false };
            for (to, &from) in to.iter_mut().zip(from) {
                let value = f64::from(from);
                *to = if value == SRTM_VOID { f32::NAN } else { nodata.keep(value, false) };
            }
        }
        DecodingResult::F32(values) => {
            let Some(from) = values.get(range) else { return false };
            for (to, &from) in to.iter_mut().zip(from) {
                *to = nodata.keep(f64::from(from), true);
            }
        }
        DecodingResult::F16(values) => {
            let Some(from) = values.get(range) else { return false };
            for (to, from) in to.iter_mut().zip(from) {
                *to = nodata.keep(from.to_f64(), true);
            }
        }
        // Nobody measures heights in 64-bit integers; f64 holds every height exactly all the same.
        DecodingResult::U64(values) => {
            let Some(from) = values.get(range) else { return false };
            for (to, &from) in to.iter_mut().zip(from) {
                *to = nodata.keep(from as f64, false);
            }
        }
        DecodingResult::I64(values) => {
            let Some(from) = values.get(range) else { return false };
            for (to, &from) in to.iter_mut().zip(from) {
                *to = nodata.keep(from as f64, false);
            }
        }
    }
    true
}

/// Width and height from the first directory, if both stand where they should. Anything odd is left to
/// the decoder to report.
fn peek_size<R: BufRead + Seek>(reader: &mut R) -> Option<(u32, u32)> {
    fn bytes<const N: usize>(reader: &mut impl Read) -> io::Result<[u8; N]> {
        let mut buffer = [0; N];
        reader.read_exact(&mut buffer).map(|()| buffer)
    }
    let magic: [u8; 4] = bytes(reader).ok()?;
    let (little, big_tiff) = (magic[0] == b'I', magic[2] == 43 || magic[3] == 43);
    let mut number = |at: Option<u64>, size: usize| -> Option<u64> {
        if let Some(at) = at {
            reader.seek(SeekFrom::Start(at)).ok()?;
        }
        let mut buffer: [u8; 8] = [0; 8];
        reader.read_exact(&mut buffer[..size]).ok()?;
        if !little {
            buffer[..size].reverse();
        }
        Some(u64::from_le_bytes(buffer))
    };
    let (word, count_size, entry_size) = if big_tiff { (8, 8, 20) } else { (4, 2, 12) };
    let directory = number(Some(if big_tiff { 8 } else { 4 }), word)?;
    let entries = number(Some(directory), count_size)?.min(4096);
    let (mut width, mut height) = (None, None);
    for entry in 0..entries {
        let at = directory.checked_add(count_size as u64 + entry * entry_size)?;
        let tag = number(Some(at), 2)?;
        if tag == 256 || tag == 257 {
            let size = match number(None, 2)? {
                3 => 2,
                4 => 4,
                16 => 8,
                _ => return None,
            };
            let value = number(Some(at.checked_add(4 + word as u64)?), size)?;
            *(if tag == 256 { &mut width } else { &mut height }) = u32::try_from(value).ok();
        }
    }
    Some((width?, height?))
}

fn check_channels(color: Result<ColorType, TiffError>, name: &Path, len: u64) -> Result<(), HeightMapError> {
    let found = match color.map_err(|error| lower_error(error, name, len))? {
        ColorType::Gray(8 | 16 | 32 | 64) => return Ok(()),
        ColorType::Gray(bits) => {
            let what = format!("a TIFF of {bits} bits a sample");
            return Err(HeightMapError::Unsupported { path: name.into(), what });
        }
        ColorType::Palette(_) => "a palette of colours".to_owned(),
        ColorType::GrayA(_) => "2 channels (grey and alpha)".to_owned(),
        ColorType::RGB(_) => "3 channels (RGB)".to_owned(),
        ColorType::RGBA(_) => "4 channels (RGBA)".to_owned(),
        ColorType::Multiband { num_samples, .. } => format!("{num_samples} channels"),
        other => format!("{} channels ({other:?})", other.num_samples()),
    };
    Err(HeightMapError::NotSingleChannel { path: name.into(), found })
}

/// Chunk width, height and count; and that all chunks lie inside the file, before any is decoded.
fn check_chunks<R: BufRead + Seek>(
    decoder: &mut Decoder<R>,
    width: u32,
    height: u32,
    len: u64,
    name: &Path,
) -> Result<(u32, u32, u32), HeightMapError> {
    let fail = |error| lower_error(error, name, len);
    let strips = decoder.get_chunk_type() == ChunkType::Strip;
    let (chunk_width, chunk_height) = decoder.chunk_dimensions();
    // A strip may claim to be taller than the image: "all rows in one".
    let chunk_height = if strips { chunk_height.min(height) } else { chunk_height };
    let chunks = u64::from(width.div_ceil(chunk_width)) * u64::from(height.div_ceil(chunk_height));
    let (offsets, counts) = if strips {
        (Tag::StripOffsets, Tag::StripByteCounts)
    } else {
        (Tag::TileOffsets, Tag::TileByteCounts)
    };
    let offsets = decoder.get_tag_u64_vec(offsets).map_err(fail)?;
    let counts = decoder.get_tag_u64_vec(counts).map_err(fail)?;
    let padded = u64::from(chunk_width) * u64::from(chunk_height);
    if chunks != offsets.len() as u64 || chunks != counts.len() as u64 || padded > 4 * super::MAX_SAMPLES {
        return Err(HeightMapError::Malformed {
            path: name.into(),
            format: "TIFF",
            reason: format!("{} chunks do not make up {width} x {height} samples", offsets.len()),
        });
    }
    if offsets.iter().zip(&counts).any(|(&offset, &count)| offset.saturating_add(count) > len) {
        return Err(HeightMapError::Truncated { path: name.into(), len });
    }
    // `chunks` equals the length of a vector of a file of at most 1 MiB of tag data.
    Ok((chunk_width, chunk_height, u32::try_from(chunks).unwrap_or(u32::MAX)))
}

/// The georeference's tags; one that is absent or of the wrong type counts as empty.
fn geo_tags<R: BufRead + Seek>(decoder: &mut Decoder<R>) -> GeoTags {
    let mut doubles = |tag| decoder.get_tag_f64_vec(tag).unwrap_or_default();
    GeoTags {
        pixel_scale: doubles(Tag::ModelPixelScaleTag),
        tiepoints: doubles(Tag::ModelTiepointTag),
        transformation: doubles(Tag::ModelTransformationTag),
        doubles: doubles(Tag::GeoDoubleParamsTag),
        keys: decoder.get_tag_u16_vec(Tag::GeoKeyDirectoryTag).unwrap_or_default(),
    }
}

fn lower_error(error: TiffError, name: &Path, len: u64) -> HeightMapError {
    let path = name.to_path_buf();
    match error {
        TiffError::IoError(source) if source.kind() == ErrorKind::UnexpectedEof => {
            HeightMapError::Truncated { path, len }
        }
        // Decompressors report damaged data as I/O errors of these kinds.
        TiffError::IoError(source)
            if !matches!(
                source.kind(),
                ErrorKind::InvalidData | ErrorKind::InvalidInput | ErrorKind::Other
            ) =>
        {
            HeightMapError::Unreadable { path, source }
        }
        TiffError::UnsupportedError(what) => HeightMapError::Unsupported { path, what: what.to_string() },
        other => HeightMapError::Malformed { path, format: "TIFF", reason: other.to_string() },
    }
}
