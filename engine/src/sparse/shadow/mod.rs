//! The shadow page table: what the driver's page tables must hold by now, and a checker over it.
//!
//! The validation layer does not look at sparse synchronisation, and misses misaligned binds, empty binds, a
//! range bound twice, use of unbound ranges and the freeing of bound memory. So debug builds tell a
//! [`Shadow`] everything that goes through the choke points for binding, submitting and freeing:
//!
//! ```text
//! add_resource, add_chunk ----.
//! bind (one vkQueueBindSparse) --> Shadow --> Vec<Report>     what was wrong, in one line each
//! use_range (at a submission) --'    |-> PageTable, ChunkMap  who lies where: text and JSON
//! free_chunk, remove_resource --'    `-> PageView -> PagePicture   the same as coloured cells
//!                   ^
//!                 Order   which moments are ordered by semaphores, which are done: the caller knows
//! ```
//!
//! Everything here is pure. The shadow knows no semaphores: whoever tells it of a bind or a submission
//! answers through [`Order`] what that bind or submission waits for. A bind that the driver refused is not
//! told, so rolling back needs nothing here.
//!
//! Resources and chunks are addressed in bytes, and their state is kept in runs: a terabyte of addresses with
//! three mappings costs three entries. A resource is a linear space of tiles: a buffer and an opaquely bound
//! image by their bytes, a tiled image by tile index times tile size.
//!
//! What is wrong is reported and then applied all the same, as far as it makes sense, because the driver was
//! told too; so one mistake gives one report and not a flood of consequences.
//!
//! - `runs.rs`: interval map. `state.rs`: what is kept of a resource and a chunk.
//! - `bind.rs`, `usage.rs`, `release.rs`: the checks. `report.rs`, `log.rs`: what they find.
//! - `dump.rs`: text and JSON. `view.rs`: input of pictures; `picture.rs`, `cells.rs`: their layout;
//!   `canvas.rs`, `font.rs`: pixels.

mod bind;
pub(crate) mod canvas;
mod cells;
mod dump;
pub(crate) mod font;
mod log;
mod picture;
mod release;
mod report;
mod runs;
mod state;
mod usage;
mod view;

#[cfg(test)]
mod bind_tests;
#[cfg(test)]
mod dump_tests;
#[cfg(test)]
mod model;
#[cfg(test)]
mod model_tests;
#[cfg(test)]
mod picture_tests;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;

pub use bind::{Batch, BindRange};
pub use dump::{ChunkMap, ChunkRun, PageTable, RowState, Sharer, TableRow};
pub use log::REPORTS_KEPT;
pub use picture::PagePicture;
pub use report::{MemoryPlace, Operation, Place, Report, ReportKind};
pub use view::{ChunkView, PageView, ResourceView};

use crate::vk::{Point, Timeline};
use log::ReportLog;
use state::{Chunk, Graves, Resource};

/// A reserved resource, by a number that the caller gives and never gives again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
pub struct ResourceId(pub u64);

/// A chunk (a device memory allocation), by a number that the caller gives and never gives again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
pub struct ChunkId(pub u64);

/// What a reserved resource is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A buffer that is committed up to a line.
    Buffer,
    /// A buffer whose tiles come and go one by one.
    PagedBuffer,
    /// An image bound by ranges of bytes: fully bound chunks, no tile has a place in the image.
    OpaqueImage,
    /// A partially resident image, addressed by tile index times tile size.
    TiledImage,
}

impl Kind {
    /// Whether its tiles are pages of chunks that others may take pages of too.
    fn is_pooled(self) -> bool {
        matches!(self, Kind::PagedBuffer | Kind::TiledImage)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Buffer => "growable buffer",
            Kind::PagedBuffer => "paged buffer",
            Kind::OpaqueImage => "chunked image",
            Kind::TiledImage => "partially resident image",
        })
    }
}

/// What the shadow has to know of a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceDesc {
    /// Debug name, as reports show it.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// Addresses in bytes: tiles times tile size, or less where an opaque image ends within a tile.
    pub bytes: u64,
    /// One tile in bytes, the alignment of binds. Zero is taken as one.
    pub tile_bytes: u64,
    /// Whether it was created `SPARSE_ALIASED`: it may share memory with others that were.
    pub aliased: bool,
    /// Mip tails in bytes of the tile space, one a layer or one for all. Tails never share memory.
    pub tails: Vec<std::ops::Range<u64>>,
}

/// What the caller knows of time: the answers come from the waits of submissions, kept elsewhere.
pub trait Order {
    /// Whether everything up to `earlier` is ordered before the submission or bind that signals `later`
    /// begins: by semaphore waits, its own or those of what it waits for, or because the host had seen
    /// `earlier` reached before it submitted. Having happened earlier by luck is no order.
    fn is_before(&self, earlier: Point, later: Point) -> bool;

    /// Whether the GPU has reached `point`.
    fn is_done(&self, point: Point) -> bool;
}

/// Whether `earlier` is ordered before `later`. Nothing (value 0) is before everything, and the binds of one
/// batch, which share a point, count as ordered: what is wrong among them has reports of its own.
fn is_ordered(order: &dyn Order, earlier: Point, later: Point) -> bool {
    earlier.value == 0 || earlier == later || order.is_before(earlier, later)
}

fn is_done(order: &dyn Order, point: Point) -> bool {
    point.value == 0 || order.is_done(point)
}

/// The last users of something: one value a timeline, 0 for none. Enough, since a timeline only goes forward:
/// whoever waits for the last user has waited for those before it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Users(pub [u64; Timeline::ALL.len()]);

impl Users {
    /// The users as points, in timeline order.
    pub fn points(&self) -> impl Iterator<Item = Point> + '_ {
        let of = |(timeline, value): (Timeline, &u64)| Point { timeline, value: *value };
        Timeline::ALL.into_iter().zip(&self.0).map(of).filter(|point| point.value > 0)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0 == [0; Timeline::ALL.len()]
    }

    fn add(&mut self, point: Point) {
        if let Some(value) = self.0.get_mut(point.timeline as usize) {
            *value = (*value).max(point.value);
        }
    }

    fn add_all(&mut self, others: &Users) {
        others.points().for_each(|point| self.add(point));
    }

    /// Those that `keep` says yes to.
    fn only(&self, keep: impl Fn(Point) -> bool) -> Users {
        let mut users = Users::default();
        self.points().filter(|point| keep(*point)).for_each(|point| users.add(point));
        users
    }
}

/// `Graphics 40, Transfer 3`; `none` without users.
impl fmt::Display for Users {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("none");
        }
        for (i, Point { timeline, value }) in self.points().enumerate() {
            write!(f, "{}{timeline:?} {value}", if i > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
}

/// A list of points.
impl serde::Serialize for Users {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.points())
    }
}

/// The page tables of all reserved resources of a device, as they must be by now.
#[derive(Debug, Default)]
pub struct Shadow {
    resources: BTreeMap<ResourceId, Resource>,
    chunks: BTreeMap<ChunkId, Chunk>,
    removed: Graves<ResourceId>,
    freed: Graves<ChunkId>,
    log: ReportLog,
}

impl Shadow {
    /// A shadow of nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Tells of a new resource, all of it reserved only. An id that is live already is taken for a caller's
    /// slip: the former resource is forgotten without checks.
    pub fn add_resource(&mut self, id: ResourceId, desc: ResourceDesc) {
        self.forget_resource(id, |_| false);
        self.resources.insert(id, Resource::new(desc));
    }

    /// Tells of a new chunk of `bytes`. An id that is live already replaces the former chunk.
    pub fn add_chunk(&mut self, id: ChunkId, name: &str, bytes: u64) {
        self.chunks.insert(id, Chunk::new(name, bytes));
    }

    /// Live resources with their descriptions, by id.
    pub fn resources(&self) -> impl Iterator<Item = (ResourceId, &ResourceDesc)> {
        self.resources.iter().map(|(id, resource)| (*id, &resource.desc))
    }

    /// Bytes of a resource that are mapped; 0 when it is not known.
    pub fn mapped_bytes(&self, id: ResourceId) -> u64 {
        self.resources.get(&id).map_or(0, Resource::mapped_bytes)
    }

    /// Reports ever made.
    pub fn reports_total(&self) -> u64 {
        self.log.total()
    }

    /// Reports ever made, by the name of their kind.
    pub fn reports_by_kind(&self) -> &BTreeMap<&'static str, u64> {
        self.log.by_kind()
    }

    /// The last [`REPORTS_KEPT`] reports, oldest first.
    pub fn last_reports(&self) -> impl Iterator<Item = &Report> {
        self.log.last()
    }

    /// The name of a chunk, live or freed.
    fn chunk_name(&self, id: ChunkId) -> String {
        let live = self.chunks.get(&id).map(|chunk| chunk.name.as_str());
        live.or(self.freed.name(id)).map_or_else(|| format!("chunk {}", id.0), str::to_owned)
    }
}
