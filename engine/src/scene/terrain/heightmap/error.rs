//! What can be wrong with a height map file: one line each, with the file's name and the way out.

use std::path::PathBuf;

/// Why a height map could not be read. Every text names the file and says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HeightMapError {
    /// Nothing is at that path.
    #[error("{}: no such file; check the path", .path.display())]
    Missing {
        /// The file asked for.
        path: PathBuf,
    },
    /// The path is a folder.
    #[error("{}: is a directory; name the height map file inside it", .path.display())]
    IsDirectory {
        /// The path asked for.
        path: PathBuf,
    },
    /// The path is a device, a pipe or a socket: decoding needs to seek.
    #[error("{}: is not a regular file; save the data to a file and name that", .path.display())]
    NotAFile {
        /// The path asked for.
        path: PathBuf,
    },
    /// The system refused to open or read the file.
    #[error("{}: cannot be read ({source}); check its permissions and the disk", .path.display())]
    Unreadable {
        /// The file asked for.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file has no bytes.
    #[error("{}: the file is empty; fetch or export it again", .path.display())]
    Empty {
        /// The file asked for.
        path: PathBuf,
    },
    /// The file ends before its data does.
    #[error("{}: the file is truncated ({len} bytes are there, more are described); fetch or export it again", .path.display())]
    Truncated {
        /// The file asked for.
        path: PathBuf,
        /// Bytes that are there.
        len: u64,
    },
    /// The first bytes are neither those of a TIFF nor of a PNG.
    #[error("{}: not a height map image but {found}; give a GeoTIFF/TIFF or a grey PNG", .path.display())]
    NotAnImage {
        /// The file asked for.
        path: PathBuf,
        /// What the first bytes look like.
        found: &'static str,
    },
    /// The file breaks the rules of its own format.
    #[error("{}: the {format} data are damaged ({reason}); fetch or export it again", .path.display())]
    Malformed {
        /// The file asked for.
        path: PathBuf,
        /// "TIFF" or "PNG".
        format: &'static str,
        /// What the decoder said.
        reason: String,
    },
    /// A valid file of a kind that is not read here.
    #[error("{}: {what} is not supported; convert to uncompressed or Deflate, 8, 16 or 32 bits (GDAL: gdal_translate -co COMPRESS=DEFLATE)", .path.display())]
    Unsupported {
        /// The file asked for.
        path: PathBuf,
        /// The feature in question.
        what: String,
    },
    /// The image has more than one channel, or colours instead of numbers.
    #[error("{}: {found}; a height map has a single channel: export one band as grey (GDAL: gdal_translate -b 1)", .path.display())]
    NotSingleChannel {
        /// The file asked for.
        path: PathBuf,
        /// What the image has instead, as "3 channels (RGB)".
        found: String,
    },
    /// Fewer than two samples on a side: no surface can be spanned.
    #[error("{}: {width} x {height} samples are too few; at least 2 x 2 are needed", .path.display())]
    TooSmall {
        /// The file asked for.
        path: PathBuf,
        /// Samples a row.
        width: u32,
        /// Rows.
        height: u32,
    },
    /// More samples than [`MAX_SAMPLES`](super::MAX_SAMPLES). Read from the header, before anything is allocated.
    #[error("{}: {width} x {height} samples exceed the limit of {limit} (16384 x 16384); crop or resample it (GDAL: gdal_translate -outsize)", .path.display())]
    TooLarge {
        /// The file asked for.
        path: PathBuf,
        /// Samples a row.
        width: u32,
        /// Rows.
        height: u32,
        /// The most samples that are read.
        limit: u64,
    },
    /// Not one sample holds a height.
    #[error("{}: every sample is marked as having no data; choose a tile that holds land", .path.display())]
    AllNodata {
        /// The file asked for.
        path: PathBuf,
    },
    /// The georeference gives a pixel size that cannot be true.
    #[error("{}: the georeference gives pixels of {east} m x {north} m, outside {min} m to {max} m; correct the file or give the pixel size yourself", .path.display())]
    AbsurdPixelSize {
        /// The file asked for.
        path: PathBuf,
        /// East-west size in metres.
        east: f64,
        /// North-south size in metres.
        north: f64,
        /// The smallest size taken.
        min: f64,
        /// The largest size taken.
        max: f64,
    },
    /// An option given by the caller is out of its range.
    #[error("{}: {option} is {value}, but must be a number from {min} to {max}", .path.display())]
    BadOption {
        /// The file asked for.
        path: PathBuf,
        /// The option's name.
        option: &'static str,
        /// What was given.
        value: f32,
        /// The smallest value taken.
        min: f64,
        /// The largest value taken.
        max: f64,
    },
}
