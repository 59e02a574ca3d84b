//! The page tables to read: runs of tiles and where they lie, and each chunk with who lies in it.

use std::fmt;
use std::ops::Range;

use super::report::{PointText, tiles};
use super::state::{Owner, Resource};
use super::{ChunkId, Kind, ResourceId, Shadow, Users};
use crate::vk::{Bytes, Point};

/// The state of a run of tiles.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum RowState {
    /// It has memory.
    Mapped {
        /// The chunk.
        chunk: ChunkId,
        /// Its name.
        chunk_name: String,
        /// Tiles of the chunk, in the resource's tile size.
        chunk_tiles: Range<u64>,
        /// The bind that mapped it.
        since: Point,
        /// The last users of this mapping.
        users: Users,
    },
    /// Only addresses.
    Reserved {
        /// The bind that took its memory away; `None` when it never had any.
        unbound: Option<Point>,
    },
}

/// A run of tiles in one state.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct TableRow {
    /// The tiles.
    pub tiles: Range<u64>,
    /// Their state.
    #[serde(flatten)]
    pub state: RowState,
}

/// The page table of one resource: rows ascending, without gaps, from its first tile to its last.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct PageTable {
    /// The resource.
    pub resource: ResourceId,
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// Addresses, bytes.
    pub bytes: u64,
    /// One tile, bytes.
    pub tile_bytes: u64,
    /// Bytes that are mapped.
    pub mapped_bytes: u64,
    /// The runs.
    pub rows: Vec<TableRow>,
}

/// Whose tiles lie in a run of a chunk.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Sharer {
    /// The resource.
    pub resource: ResourceId,
    /// Its name.
    pub name: String,
    /// Its tiles.
    pub tiles: Range<u64>,
}

/// A run of a chunk with the same owners throughout.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct ChunkRun {
    /// Pages of the chunk, see [`ChunkMap::page_bytes`].
    pub pages: Range<u64>,
    /// Who lies there; nobody where it is free, more than one where memory is shared.
    pub owners: Vec<Sharer>,
}

/// One chunk, from its first page to its last.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct ChunkMap {
    /// The chunk.
    pub chunk: ChunkId,
    /// Its name.
    pub name: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// The unit of `pages`: the tile of who lies in it, 64 KiB when nobody does.
    pub page_bytes: u64,
    /// Bytes that are mapped, counted once where they are shared.
    pub mapped_bytes: u64,
    /// Bytes that are not.
    pub free_bytes: u64,
    /// The runs, ascending, without gaps.
    pub runs: Vec<ChunkRun>,
}

impl Shadow {
    /// The page table of a resource; `None` when it is not known.
    pub fn page_table(&self, id: ResourceId) -> Option<PageTable> {
        let resource = self.resources.get(&id)?;
        let desc = &resource.desc;
        Some(PageTable {
            resource: id,
            name: desc.name.clone(),
            kind: desc.kind,
            bytes: desc.bytes,
            tile_bytes: desc.tile_bytes,
            mapped_bytes: resource.mapped_bytes(),
            rows: self.rows(resource),
        })
    }

    fn rows(&self, resource: &Resource) -> Vec<TableRow> {
        let tile_bytes = resource.desc.tile_bytes;
        let pieces = resource.tiles.pieces(0..resource.desc.bytes);
        let row = |(range, tile): (Range<u64>, Option<super::state::Tile>)| {
            let state = match tile.as_ref().and_then(|tile| Some((tile, tile.memory?))) {
                None => RowState::Reserved { unbound: tile.map(|tile| tile.since) },
                Some((tile, (chunk, offset))) => RowState::Mapped {
                    chunk,
                    chunk_name: self.chunk_name(chunk),
                    chunk_tiles: tiles(&(offset..offset.saturating_add(range.end - range.start)), tile_bytes),
                    since: tile.since,
                    users: tile.users,
                },
            };
            TableRow { tiles: tiles(&range, tile_bytes), state }
        };
        pieces.into_iter().map(row).collect()
    }

    /// Every chunk, by id.
    pub fn chunk_map(&self) -> Vec<ChunkMap> {
        self.chunks.keys().filter_map(|id| self.map_of(*id)).collect()
    }

    pub(super) fn map_of(&self, id: ChunkId) -> Option<ChunkMap> {
        let chunk = self.chunks.get(&id)?;
        let page_bytes = self.page_bytes(id);
        let mut mapped_bytes = 0;
        let mut runs: Vec<ChunkRun> = Vec::new();
        for (range, page) in chunk.pages.pieces(0..chunk.bytes) {
            let owners = page.map(|page| page.owners).unwrap_or_default();
            let bytes = range.end - range.start;
            let pages = tiles(&range, page_bytes);
            match runs.last_mut() {
                // What was used before and what never was differ for the checks, not for a reader.
                Some(last) if last.owners.is_empty() && owners.is_empty() => last.pages.end = pages.end,
                _ => {
                    let owners = owners.iter().map(|owner| self.sharer(owner, bytes)).collect::<Vec<_>>();
                    mapped_bytes += if owners.is_empty() { 0 } else { bytes };
                    runs.push(ChunkRun { pages, owners });
                }
            }
        }
        let (name, bytes) = (chunk.name.clone(), chunk.bytes);
        let free_bytes = bytes - mapped_bytes;
        Some(ChunkMap { chunk: id, name, bytes, page_bytes, mapped_bytes, free_bytes, runs })
    }

    fn sharer(&self, owner: &Owner, bytes: u64) -> Sharer {
        let desc = self.resources.get(&owner.resource).map(|resource| &resource.desc);
        let name = desc.map_or_else(|| format!("resource {}", owner.resource.0), |desc| desc.name.clone());
        let bytes = owner.offset..owner.offset.saturating_add(bytes);
        let tiles = tiles(&bytes, desc.map_or(1, |desc| desc.tile_bytes));
        Sharer { resource: owner.resource, name, tiles }
    }
}

impl fmt::Display for PageTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let uncommitted = self.bytes.saturating_sub(self.mapped_bytes);
        writeln!(
            f,
            "\"{}\" {}: {} reserved = {} committed + {} uncommitted, tiles of {}",
            self.name,
            self.kind,
            Bytes(self.bytes),
            Bytes(self.mapped_bytes),
            Bytes(uncommitted),
            Bytes(self.tile_bytes),
        )?;
        for TableRow { tiles, state } in &self.rows {
            write!(f, "  tiles {}..{} -> ", tiles.start, tiles.end)?;
            match state {
                RowState::Reserved { unbound: None } => writeln!(f, "reserved only")?,
                RowState::Reserved { unbound: Some(at) } => {
                    writeln!(f, "reserved only, since {}", PointText(*at))?;
                }
                RowState::Mapped { chunk_name, chunk_tiles, since, users, .. } => {
                    let (from, to) = (chunk_tiles.start, chunk_tiles.end);
                    let since = PointText(*since);
                    writeln!(f, "\"{chunk_name}\" tiles {from}..{to}, since {since}, users [{users}]")?;
                }
            }
        }
        Ok(())
    }
}

impl fmt::Display for ChunkMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (bytes, mapped, free) = (Bytes(self.bytes), Bytes(self.mapped_bytes), Bytes(self.free_bytes));
        let page = Bytes(self.page_bytes);
        writeln!(f, "\"{}\" {bytes} = {mapped} mapped + {free} free, pages of {page}", self.name)?;
        for ChunkRun { pages, owners } in &self.runs {
            write!(f, "  pages {}..{} -> ", pages.start, pages.end)?;
            if owners.is_empty() {
                f.write_str("free")?;
            }
            for (i, Sharer { name, tiles, .. }) in owners.iter().enumerate() {
                let joint = if i > 0 { " and " } else { "" };
                write!(f, "{joint}\"{name}\" tiles {}..{}", tiles.start, tiles.end)?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
