//! What one can see of a streamed image.

use std::fmt;

use serde::Serialize;

/// A streamed image in numbers. "Last frame" is the last one that was prepared.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ResidencyStats {
    /// Debug name of the image.
    pub name: String,
    /// Whether tiles are bound one by one (`false`: all of the image has memory, and the plans are book-keeping).
    pub in_place: bool,
    /// Width and height in texels.
    pub extent: [u32; 2],
    /// One tile, bytes.
    pub tile_bytes: u64,
    /// Tiles of the image, all mips in tiles: what it would need to be there whole.
    pub tiles: u64,
    /// Tiles that may be mapped, those that are pinned and those in exchange included: the budget of the caller.
    pub budget_tiles: u64,
    /// Of these: for streaming at present; lower while memory is short.
    pub streaming_tiles: u64,
    /// Of these: pinned, because they are of mips smaller than a tile.
    pub pinned_tiles: u64,
    /// Streamed tiles that are mapped.
    pub mapped_tiles: u64,
    /// The most so far.
    pub mapped_tiles_max: u64,
    /// Streamed tiles that are mapped, by mip.
    pub mapped_per_mip: Vec<u64>,
    /// Tiles of each of these mips.
    pub tiles_per_mip: Vec<u64>,
    /// Texels of the residency map (mip-0 tiles of the image) by the finest mip that may be sampled there; the last
    /// entry is the first pinned mip.
    pub resident_levels: Vec<u64>,
    /// Tiles that the view asked for in the last frame.
    pub requested: u64,
    /// Tiles mapped in the last frame.
    pub mapped: u64,
    /// Tiles unmapped in the last frame.
    pub unmapped: u64,
    /// Tiles wanted in the last frame, and not mapped.
    pub deferred: u64,
    /// Tiles mapped so far.
    pub maps: u64,
    /// Tiles unmapped so far.
    pub unmaps: u64,
    /// Bytes of texels uploaded so far.
    pub uploaded_bytes: u64,
    /// Frames in which tiles could not be mapped because there was no memory.
    pub map_failures: u64,
    /// Frames whose binds were refused.
    pub bind_failures: u64,
    /// Frames so far in which tiles came or went.
    pub unsettled_frames: u64,
    /// Frames that the last stretch of coming and going took; `null` while it goes on.
    pub frames_until_settled: Option<u64>,
}

impl fmt::Display for ResidencyStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = if self.in_place { "bound tile by tile" } else { "all of it has memory (fallback)" };
        writeln!(f, "{}: {} x {}, {how}", self.name, self.extent[0], self.extent[1])?;
        writeln!(
            f,
            "  {} of {} tiles of {} KiB mapped (budget {}, pinned {})",
            self.mapped_tiles,
            self.tiles,
            self.tile_bytes >> 10,
            self.budget_tiles,
            self.pinned_tiles
        )?;
        for (mip, (mapped, all)) in self.mapped_per_mip.iter().zip(&self.tiles_per_mip).enumerate() {
            writeln!(f, "  mip {mip}: {mapped} of {all}")?;
        }
        write!(
            f,
            "  last frame: {} mapped, {} unmapped, {} deferred; ever: {} and {}",
            self.mapped, self.unmapped, self.deferred, self.maps, self.unmaps
        )
    }
}
