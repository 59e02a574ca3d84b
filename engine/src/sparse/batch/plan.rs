//! What comes out: binds that may run together, and how they print.

use std::fmt;

use super::{Memory, Phase};

/// A byte range to bind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByteBind {
    /// The first byte of the resource.
    pub offset: u64,
    /// How many, never zero.
    pub bytes: u64,
    /// Where the first byte lies; `None` unbinds.
    pub memory: Option<Memory>,
    /// Whether this is the metadata aspect of an image.
    pub metadata: bool,
}

/// Image tiles to bind: one, or several side by side along x.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TileBind {
    /// The aspect, as its Vulkan bit.
    pub aspect: u32,
    /// The array layer.
    pub layer: u32,
    /// The mip level.
    pub mip: u32,
    /// The place in texels.
    pub offset: [u32; 3],
    /// The size in texels, cut at the edge of the mip.
    pub extent: [u32; 3],
    /// The memory of all its tiles in bytes, never zero.
    pub bytes: u64,
    /// Where the first tile lies, the others right behind it; `None` unbinds.
    pub memory: Option<Memory>,
}

/// Whether `right` goes on in memory where `bytes` at `left` end, or both have none.
fn memory_goes_on(left: Option<Memory>, bytes: u64, right: Option<Memory>) -> bool {
    match (left, right) {
        (None, None) => true,
        (Some(left), Some(_)) => left.advanced(bytes) == right,
        _ => false,
    }
}

impl ByteBind {
    /// Takes `right` in if it begins where this one ends, in the resource and in memory.
    pub(super) fn absorb(&mut self, right: &Self) -> bool {
        let fits = self.metadata == right.metadata
            && self.offset.checked_add(self.bytes) == Some(right.offset)
            && memory_goes_on(self.memory, self.bytes, right.memory);
        match self.bytes.checked_add(right.bytes) {
            Some(bytes) if fits => {
                self.bytes = bytes;
                true
            }
            _ => false,
        }
    }
}

impl TileBind {
    /// Takes `right` in if it begins where this one ends, along x in the same row and in memory.
    ///
    /// Never across rows: tiles of a region take memory row by row, x first, so rows would merge only if all
    /// of them were whole. They are left apart on purpose.
    pub(super) fn absorb(&mut self, right: &Self) -> bool {
        let place = |bind: &Self| (bind.aspect, bind.layer, bind.mip);
        let [x, y, z] = self.offset;
        let [width, height, depth] = self.extent;
        let [right_x, right_y, right_z] = right.offset;
        let [right_width, right_height, right_depth] = right.extent;
        let fits = place(self) == place(right)
            && (y, z, height, depth) == (right_y, right_z, right_height, right_depth)
            && x.checked_add(width) == Some(right_x)
            && memory_goes_on(self.memory, self.bytes, right.memory);
        match (width.checked_add(right_width), self.bytes.checked_add(right.bytes)) {
            (Some(width), Some(bytes)) if fits => {
                self.extent = [width, height, depth];
                self.bytes = bytes;
                true
            }
            _ => false,
        }
    }
}

/// The binds of one resource in one phase. At least one of the lists is not empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceBinds {
    /// The caller's identity of the resource.
    pub resource: u64,
    /// Byte ranges by ascending offset; of equal ones the metadata last.
    pub bytes: Vec<ByteBind>,
    /// Tiles by ascending aspect, layer, mip, z, y, x.
    pub tiles: Vec<TileBind>,
}

impl ResourceBinds {
    fn binds(&self) -> u64 {
        self.bytes.len() as u64 + self.tiles.len() as u64
    }
}

/// The sparse work of a frame, for one `vkQueueBindSparse` call with one bind info a phase that has work.
///
/// The counts add up: `requests - dropped - replaced + split - merged` is the number of binds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BindPlan {
    /// Binds that wait for nobody, by the order of each resource's first request.
    pub growth: Vec<ResourceBinds>,
    /// Binds that wait for every earlier user, in the same order.
    pub shrink: Vec<ResourceBinds>,
    /// Requests that were pushed; those refused with an error are not counted.
    pub requests: u64,
    /// Requests about nothing: zero bytes.
    pub dropped: u64,
    /// Requests of which later ones left nothing.
    pub replaced: u64,
    /// Pieces gained because later requests cut earlier ones in parts.
    pub split: u64,
    /// Binds saved because neighbours became one.
    pub merged: u64,
    /// Growth requests that wait like shrink because they touch addresses with a shrink pending.
    pub delayed: u64,
}

impl BindPlan {
    /// Whether there is nothing to bind. Empty bind lists must never reach a driver.
    pub fn is_empty(&self) -> bool {
        self.growth.is_empty() && self.shrink.is_empty()
    }

    /// The number of binds, both phases.
    pub fn binds(&self) -> u64 {
        self.growth.iter().chain(&self.shrink).map(ResourceBinds::binds).sum()
    }

    /// The binds of a phase.
    pub fn phase(&self, phase: Phase) -> &[ResourceBinds] {
        match phase {
            Phase::Growth => &self.growth,
            Phase::Shrink => &self.shrink,
        }
    }
}

struct Target(Option<Memory>);

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(memory) => write!(f, "chunk {} at {}", memory.chunk, memory.offset),
            None => f.write_str("no memory"),
        }
    }
}

impl fmt::Display for ByteBind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.metadata { "metadata" } else { "bytes" };
        let end = self.offset.saturating_add(self.bytes);
        write!(f, "{what} {}..{end} -> {}", self.offset, Target(self.memory))
    }
}

impl fmt::Display for TileBind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { aspect, layer, mip, offset, extent, .. } = self;
        let ([x, y, z], [width, height, depth]) = (offset, extent);
        write!(
            f,
            "aspect {aspect} layer {layer} mip {mip} at ({x}, {y}, {z}) size {width}x{height}x{depth}"
        )?;
        write!(f, " -> {}", Target(self.memory))
    }
}

/// One line a bind, then the counts.
impl fmt::Display for BindPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, phase) in [("growth", &self.growth), ("shrink", &self.shrink)] {
            for ResourceBinds { resource, bytes, tiles } in phase {
                for bind in bytes {
                    writeln!(f, "{name}: resource {resource} {bind}")?;
                }
                for bind in tiles {
                    writeln!(f, "{name}: resource {resource} {bind}")?;
                }
            }
        }
        let Self { requests, dropped, replaced, split, merged, delayed, .. } = self;
        writeln!(
            f,
            "{} binds = {requests} requests - {dropped} dropped - {replaced} replaced + {split} split \
             - {merged} merged; {delayed} delayed",
            self.binds()
        )
    }
}
