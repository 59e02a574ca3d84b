//! Grey PNG. The chunks are walked first, so that a file cut short or too large is told from its
//! headers alone; the pixels come from the `image` crate.

use std::io::{BufRead, Cursor, ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;

use image::codecs::png::PngDecoder;
use image::{ImageDecoder, ImageError};

use super::{HeightMapError, Raster, check_size};

struct Header {
    width: u32,
    height: u32,
    bits: u8,
    color: u8,
}

/// Reads a grey PNG. `len` is the file's length in bytes.
pub(super) fn decode<R: BufRead + Seek>(
    mut reader: R,
    len: u64,
    name: &Path,
    progress: &mut dyn FnMut(f32),
) -> Result<Raster, HeightMapError> {
    let header = walk(&mut reader, len, name)?;
    let found = match header.color {
        0 => None,
        2 => Some("3 channels (RGB)"),
        3 => Some("a palette of colours"),
        4 => Some("2 channels (grey and alpha)"),
        6 => Some("4 channels (RGBA)"),
        other => return Err(malformed(name, format!("unknown colour type {other}"))),
    };
    if let Some(found) = found {
        return Err(HeightMapError::NotSingleChannel { path: name.into(), found: found.into() });
    }
    check_size(name, header.width, header.height)?;
    progress(0.1);

    let fail = |error| lower_error(error, name, len);
    reader
        .seek(SeekFrom::Start(0))
        .map_err(|source| HeightMapError::Unreadable { path: name.into(), source })?;
    let mut limits = image::Limits::no_limits();
    limits.max_alloc = Some(4 * super::MAX_SAMPLES);
    let decoder = PngDecoder::with_limits(reader, limits).map_err(fail)?;
    let bytes_a_sample = match decoder.color_type() {
        image::ColorType::L8 => 1,
        image::ColorType::L16 => 2,
        // A transparent colour (tRNS) on grey data comes out as a second channel.
        _ => {
            let found = "grey with a transparent value".to_owned();
            return Err(HeightMapError::NotSingleChannel { path: name.into(), found });
        }
    };
    let samples = header.width as usize * header.height as usize;
    if decoder.dimensions() != (header.width, header.height)
        || decoder.total_bytes() != (samples * bytes_a_sample) as u64
    {
        return Err(malformed(name, "the header contradicts itself".to_owned()));
    }
    let mut bytes = vec![0; samples * bytes_a_sample];
    decoder.read_image(&mut bytes).map_err(fail)?;
    progress(0.9);
    let values = if bytes_a_sample == 1 {
        bytes.iter().map(|&byte| f32::from(byte)).collect()
    } else {
        bytes.chunks_exact(2).map(|pair| f32::from(u16::from_ne_bytes([pair[0], pair[1]]))).collect()
    };
    Ok(Raster {
        width: header.width,
        height: header.height,
        values,
        pixel_size: None,
        unit_metres: None,
        // Fewer than 8 bits are stretched to 8 by the decoder.
        picture_range: Some(if header.bits == 16 { 65535.0 } else { 255.0 }),
    })
}

/// The header, after checking that every chunk up to the end mark lies inside the file.
fn walk<R: BufRead + Seek>(reader: &mut R, len: u64, name: &Path) -> Result<Header, HeightMapError> {
    let truncated = || HeightMapError::Truncated { path: name.into(), len };
    let lower = |source: std::io::Error| match source.kind() {
        ErrorKind::UnexpectedEof => truncated(),
        _ => HeightMapError::Unreadable { path: name.into(), source },
    };
    let mut header = None;
    let mut at = super::PNG_MAGIC.len() as u64;
    loop {
        let mut prefix = [0; 8];
        reader.seek(SeekFrom::Start(at)).map_err(lower)?;
        reader.read_exact(&mut prefix).map_err(lower)?;
        let size = u64::from(u32::from_be_bytes([prefix[0], prefix[1], prefix[2], prefix[3]]));
        let kind = &prefix[4..];
        if !kind.iter().all(u8::is_ascii_alphabetic) {
            return Err(malformed(name, "a chunk has no valid name".to_owned()));
        }
        at += 8 + size + 4;
        if at > len {
            return Err(truncated());
        }
        if header.is_none() {
            if kind != b"IHDR" || size != 13 {
                return Err(malformed(name, "it does not begin with a header".to_owned()));
            }
            let mut body = [0; 13];
            reader.read_exact(&mut body).map_err(lower)?;
            let mut fields = Cursor::new(body);
            let mut word = || {
                let mut bytes = [0; 4];
                fields.read_exact(&mut bytes).map(|()| u32::from_be_bytes(bytes)).map_err(lower)
            };
            header = Some(Header { width: word()?, height: word()?, bits: body[8], color: body[9] });
        }
        if kind == b"IEND" {
            break;
        }
    }
    header.ok_or_else(truncated)
}

fn malformed(name: &Path, reason: String) -> HeightMapError {
    HeightMapError::Malformed { path: name.into(), format: "PNG", reason }
}

fn lower_error(error: ImageError, name: &Path, len: u64) -> HeightMapError {
    let path = name.to_path_buf();
    match error {
        ImageError::IoError(source) if source.kind() == ErrorKind::UnexpectedEof => {
            HeightMapError::Truncated { path, len }
        }
        ImageError::IoError(source) => HeightMapError::Unreadable { path, source },
        ImageError::Unsupported(what) => HeightMapError::Unsupported { path, what: what.to_string() },
        other => malformed(name, other.to_string().replace('\n', " ")),
    }
}
