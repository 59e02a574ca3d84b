//! Where the texels of tiles come from.

use std::fmt::Debug;
use std::num::NonZero;
use std::thread;

use crate::sparse::tiles::TexelRegion;

/// Makes or reads the texels of tiles. Called from several threads at once.
pub trait TileSource: Debug + Send + Sync {
    /// Fills the texels of `region` in `mip` of the image: rows from the top, without padding, in the image's format
    /// (rows of blocks in compressed ones). `bytes` is exactly as long as that takes.
    ///
    /// Equal arguments give equal texels, or pictures differ from run to run.
    fn fill(&self, mip: u32, region: TexelRegion, bytes: &mut [u8]);
}

/// One piece to fill.
#[derive(Debug, Clone)]
pub(super) struct Piece {
    pub(super) mip: u32,
    pub(super) region: TexelRegion,
    pub(super) bytes: Vec<u8>,
}

/// Fills all pieces, on as many threads as the machine has. Which thread fills which does not matter.
pub(super) fn fill_all(source: &dyn TileSource, pieces: &mut [Piece]) {
    profiling::scope!("TileSource::fill");
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(pieces.len());
    let fill = |pieces: &mut [Piece]| {
        pieces.iter_mut().for_each(|piece| source.fill(piece.mip, piece.region, &mut piece.bytes));
    };
    if threads < 2 {
        return fill(pieces);
    }
    thread::scope(|scope| {
        for share in pieces.chunks_mut(pieces.len().div_ceil(threads)) {
            scope.spawn(|| fill(share));
        }
    });
}
