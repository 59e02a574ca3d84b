//! What can be wrong with the numbers of a tiled image.

/// What can be wrong with a tiling, a chunk size, or the size of what is made from a layout.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TileError {
    /// Something that is counted or divided by is zero.
    #[error("the {what} of a tiled image is zero: it must be at least one (a 2D image has depth 1)")]
    Zero {
        /// Which number.
        what: &'static str,
    },
    /// More mips than halving the extent gives.
    #[error(
        "{mips} mips were asked for, but an extent of {}x{}x{} texels has at most {limit}: ask for fewer",
        extent[0], extent[1], extent[2]
    )]
    TooManyMips {
        /// What was asked for.
        mips: u32,
        /// The most that the extent has.
        limit: u32,
        /// The extent in texels.
        extent: [u32; 3],
    },
    /// A tail cannot be bound in whole tiles.
    #[error(
        "the {what} of the {part} is {bytes} bytes, which is no multiple of the tile ({tile_bytes} bytes): \
         opaque binds need whole tiles, pass what the driver reports for this image"
    )]
    UnalignedTail {
        /// The mip tail or the metadata.
        part: &'static str,
        /// Its size, offset or stride.
        what: &'static str,
        /// The number that was given, in bytes.
        bytes: u64,
        /// The tile, in bytes.
        tile_bytes: u64,
    },
    /// The tails of two layers would lie on each other.
    #[error(
        "the {part} has a stride of {stride} bytes a layer, but is {bytes} bytes in each of {layers} layers: \
         the stride must not be smaller, or the tail must be a single one"
    )]
    OverlappingTails {
        /// The mip tail or the metadata.
        part: &'static str,
        /// The stride that was given, in bytes.
        stride: u64,
        /// The size of one tail, in bytes.
        bytes: u64,
        /// The layers of the image.
        layers: u32,
    },
    /// The image does not count in 64 bits.
    #[error(
        "an image of {}x{}x{} texels in {layers} layers passes 2^64 bytes of tiles or tail: ask for less",
        extent[0], extent[1], extent[2]
    )]
    TooLarge {
        /// The extent in texels.
        extent: [u32; 3],
        /// The layers of the image.
        layers: u32,
    },
    /// A tail is mapped whole and in one chunk, and does not fit.
    #[error(
        "the {part} is {bytes} bytes, but a chunk is {chunk_bytes} bytes, and a tail must lie in one chunk: \
         raise the knob sparse.chunk to at least {bytes} bytes"
    )]
    TailPastChunk {
        /// The mip tail or the metadata.
        part: &'static str,
        /// Its size, in bytes.
        bytes: u64,
        /// The chunk, in bytes.
        chunk_bytes: u64,
    },
    /// A residency map or a streamer would need more entries than it can count.
    #[error("{tiles} tiles were to be tracked, but at most {limit} can be: split the image into several")]
    TooManyTiles {
        /// The tiles of the layout.
        tiles: u64,
        /// The limit.
        limit: u64,
    },
    /// There is no such layer.
    #[error("layer {layer} was asked for, but the image has {layers} layers, counted from zero")]
    NoSuchLayer {
        /// What was asked for.
        layer: u32,
        /// The layers of the image.
        layers: u32,
    },
}
